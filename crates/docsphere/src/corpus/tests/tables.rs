//! CSV and TSV.

use super::*;

#[test]
fn carriage_returns_at_line_ends_do_not_matter() {
    let folder = Folder::new();
    let csv = "id,text\r\na,\"one\r\ntwo\"\r\n\r\nb,\"three\"\r\n,four\r\n";
    let (found, _) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("a", "one\r\ntwo"), ("b", "three"), ("3", "four")]));
    for csv in ["text\none\n\n\"\"\n\ntwo\n", "text\r\none\r\n\r\n\"\"\r\n\r\ntwo\r\n"] {
        let (found, _) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
        assert_eq!(found, pairs(&[("1", "one"), ("2", ""), ("3", "two")]));
    }
    let jsonl = "{\"text\":\"one\"}\r\n\r\n{\"text\":\"two\"}\r\n";
    let (found, _) = read(&folder.file("d.jsonl", jsonl), CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("1", "one"), ("3", "two")]));
}

#[test]
fn carriage_returns_alone_end_lines() {
    let folder = Folder::new();
    for (name, csv) in
        [("d.csv", "id,text\ra,\"one, two\"\rb,three\r"), ("d.tsv", "id\ttext\ra\tone, two\rb\tthree")]
    {
        let (found, _) = read(&folder.file(name, csv), CorpusOptions::default()).unwrap();
        assert_eq!(found, pairs(&[("a", "one, two"), ("b", "three")]));
    }
}

#[test]
fn missing_columns_and_open_quotes_are_errors_whatever_is_skipped() {
    let folder = Folder::new();
    let message = |name: &str, content: &str, options: CorpusOptions| {
        folder.strip(&read(&folder.file(name, content), options).unwrap_err())
    };
    assert_eq!(
        message("d.csv", "\nid,body\n1,a\n", skipping()),
        "d.csv:2: there is no field \"text\"; the fields are id, body; text_fields names the field to take"
    );
    let options = CorpusOptions { id_field: Some("key".to_owned()), ..CorpusOptions::default() };
    assert_eq!(
        message("d.tsv", "id\ttext\n", options.clone()),
        "d.tsv:1: there is no field \"key\"; the fields are id, text; id_field names the field to take"
    );
    assert_eq!(
        message("d.jsonl", "{\"text\":\"a\",\"id\":1}", options),
        "d.jsonl:1: there is no field \"key\"; the fields are id, text; id_field names the field to take"
    );
    assert_eq!(
        message("e.csv", "id,text\na,b\nb,\"open\nc,d\n", skipping()),
        "e.csv:3: not valid CSV: expected a closing quote for the field that begins with a quote on this line, \
         found the end of the file; if quotes are plain characters there, set quote to none"
    );
}

#[test]
fn quotes_within_a_field_that_does_not_begin_with_one_are_plain() {
    let folder = Folder::new();
    let csv = "id,text\na,5\" disk\nb,\"say \"\"hi\"\", ok\"\nc,x\n";
    let (found, _) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("a", "5\" disk"), ("b", "say \"hi\", ok"), ("c", "x")]));
}

#[test]
fn tables_of_every_dialect_are_read_and_records_numbered() {
    let folder = Folder::new();
    let expected = pairs(&[("1", "one, two"), ("2", "three\nfour; |"), ("3", "")]);
    for csv in [
        "Text;n\none, two;1\n\"three\nfour; |\";2\n;3\n",
        "\u{feff}\"TEXT\";\"n\"\r\n\"one, two\";1\r\n\r\n\"three\nfour; |\";2\r\n\"\";3\r\n",
        "n\ttext\n1\tone, two\n2\t\"three\nfour; |\"\n3\t\n",
        "n|text\n1|one, two\n2|\"three\nfour; |\"\n3|\n",
        "sep=;\n\n\nn;text\n1;one, two\n\n2;\"three\nfour; |\"\n3;\n",
        "\r\r\n\nn;text\n1;one, two\n2;\"three\nfour; |\"\n3;",
    ] {
        let (found, _) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
        assert_eq!(found, expected, "{csv:?}");
    }
    let named = "n#text\n1#one, two\n2#\"three\nfour; |\"\n3#\n";
    for name in ["d.csv", "d.tsv"] {
        let (found, _) = read(&folder.file(name, named), CorpusOptions::default().delimiter('#')).unwrap();
        assert_eq!(found, expected);
    }
    // Bad records have numbers, too; messages name the line.
    let path = folder.file("d.csv", "sep=;\nn;text\n1;\"a\nb\"\n2\n3;c\n");
    assert_eq!(read(&path, skipping()).unwrap().0, pairs(&[("1", "a\nb"), ("3", "c")]));
    assert!(
        folder.strip(&read(&path, CorpusOptions::default()).unwrap_err()).starts_with("d.csv:5: bad CSV")
    );
}

#[test]
fn field_names_are_found_in_another_letter_case_unless_that_is_ambiguous() {
    let folder = Folder::new();
    let message = |csv: &str| {
        let read = read(&folder.file("d.csv", csv), CorpusOptions::default());
        read.map(|(found, _)| found).map_err(|error| folder.strip(&error))
    };
    assert_eq!(message("ID,Text\n7,a\n"), Ok(pairs(&[("7", "a")])));
    assert_eq!(message("Text,text\na,b\n"), Ok(pairs(&[("1", "b")])));
    let refused =
        "d.csv:1: there is no field \"text\"; the fields are Text, TEXT; text_fields names the field to take";
    assert_eq!(message("Text,TEXT\na,b\n"), Err(refused.to_owned()));
    let options = CorpusOptions::default().text_fields(["größe"]);
    assert_eq!(read(&folder.file("d.csv", "GRÖSSE,Größe\n1,2\n"), options).unwrap().0, pairs(&[("1", "2")]));
}

#[test]
fn a_delimiter_is_for_tables_and_one_character_of_ascii() {
    let folder = Folder::new();
    let open = |name: &str, delimiter| {
        let options = CorpusOptions::default().delimiter(delimiter);
        Corpus::open([folder.file(name, "text\n")], options).unwrap_err().to_string()
    };
    assert_eq!(open("d.txt", ';'), "delimiter must be given with CSV or TSV input only, got ';'");
    let expected = "delimiter must be an ASCII character, and neither a quote nor a line end, got ";
    assert_eq!(open("d.csv", '\n'), format!("{expected}'\\n'"));
    assert_eq!(open("d.csv", '、'), format!("{expected}'、'"));
}

#[test]
fn a_byte_order_mark_within_a_table_is_text() {
    let folder = Folder::new();
    let csv = "text\n\u{feff}one\n\n\u{feff}\"two\"\n\u{feff}\nthree\n";
    let (found, _) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
    let expected =
        pairs(&[("1", "\u{feff}one"), ("2", "\u{feff}\"two\""), ("3", "\u{feff}"), ("4", "three")]);
    assert_eq!(found, expected);
}

#[test]
fn stray_quotes_swallow_no_rows() {
    let folder = Folder::new();
    let tweets =
        "id\ttext\n1\t\"unclosed\n2\tfine\n3\t\"Hi\" she said\n4\t24\" screen\n5\t\"a\tb\"\n6\tends in 5\"\n";
    let expected = [
        ("1", "\"unclosed"),
        ("2", "fine"),
        ("3", "\"Hi\" she said"),
        ("4", "24\" screen"),
        ("5", "a\tb"),
        ("6", "ends in 5\""),
    ];
    let (found, stats) = read(&folder.file("d.tsv", tweets), skipping()).unwrap();
    assert_eq!((found, stats.n_bad_records, stats.n_stray_quotes), (pairs(&expected), 0, 2));
    let csv = "id,text\n1,\"unclosed\n2,fine\n3,ends in 5\"\n";
    let (found, stats) = read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("1", "\"unclosed"), ("2", "fine"), ("3", "ends in 5\"")]));
    assert_eq!((stats.n_stray_quotes, stats.n_bad_records), (1, 0));
    // A line that fits only without its quotes.
    let tsv = "a\ttext\tb\n1\t\"x\ty\"\n2\t\"z\"\tw\n";
    let (found, stats) = read(&folder.file("d.tsv", tsv), CorpusOptions::default()).unwrap();
    assert_eq!((found, stats.n_stray_quotes), (pairs(&[("1", "\"x"), ("2", "z")]), 1));
}

#[test]
fn the_quote_can_be_named() {
    let folder = Folder::new();
    let csv = folder.file("d.csv", "id,text\n1,\"two\n2,'lines'\"\n");
    let with = |quote| read(&csv, CorpusOptions::default().quote(quote)).unwrap().0;
    assert_eq!(with(Quote::Double), pairs(&[("1", "two\n2,'lines'")]));
    assert_eq!(with(Quote::Single), pairs(&[("1", "\"two"), ("2", "'lines'\"")]));
    assert_eq!(with(Quote::None), pairs(&[("1", "\"two"), ("2", "'lines'\"")]));
    let error = Corpus::open([folder.file("d.txt", "a")], CorpusOptions::default().quote(Quote::None));
    assert_eq!(error.unwrap_err().to_string(), "quote must be given with CSV or TSV input only, got none");
    // A record that quotes have made of several lines says so.
    let broken = folder.file("d.csv", "id,text\na,\"two\nlines\",x\n");
    assert_eq!(
        folder.strip(&read(&broken, CorpusOptions::default()).unwrap_err()),
        "d.csv:2: bad CSV record: expected 2 fields, as in the header, found 3 over 2 lines (if quotes are plain characters \
         there, set quote to none); mend it, or set skip_bad_records to leave such records out"
    );
}

#[test]
fn a_delimiter_may_follow_the_last_field() {
    let folder = Folder::new();
    let expected = pairs(&[("1", "one"), ("2", "two")]);
    for csv in ["id;text\n1;one;\n2;two;\n", "id;text\n1;one\n2;two;;\n", "id;text;\n1;one;\n2;two;\n"] {
        assert_eq!(
            read(&folder.file("d.csv", csv), CorpusOptions::default()).unwrap().0,
            expected,
            "{csv:?}"
        );
    }
    let message = folder
        .strip(&read(&folder.file("d.csv", "id;text\n1;one;x\n"), CorpusOptions::default()).unwrap_err());
    assert!(message.starts_with("d.csv:2: bad CSV record: expected 2 fields"), "{message}");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Chunks of any size give the same documents and the same error.
        #[test]
        fn tables_are_read_the_same_in_chunks_of_any_size(
            header in prop::sample::select(vec!["id,text\n", "text\n", "id\ttext\n", "\"id\";'text'\n", ""]),
            tokens in prop::collection::vec(
                prop::sample::select(vec![
                    "\"", "\"", "\"\"", "'", ",", ";", "\t", "\n", "\r\n", "\r", " ", "a", "5", "1,b\n", "2\tc\n",
                    "3,\"d\n", "4\t\"e\n", "5,f\"\n", "\u{feff}",
                ]),
                0..40,
            ),
            skips in any::<bool>(),
            name in prop::sample::select(vec!["d.csv", "d.tsv"]),
        ) {
            let folder = Folder::new();
            let path = folder.file(name, format!("{header}{}", tokens.concat()));
            let _ = read(&path, CorpusOptions::default().skip_bad_records(skips));
        }
    }
}
