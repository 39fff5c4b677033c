//! Formats, compression and errors.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::compression::write_packed;
use crate::error::Result;
use crate::observer::Event;

pub(super) struct Folder(pub(super) TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Writes a file, compressed according to its extension.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_packed(&path, |out| {
            out.write_all(content.as_ref()).unwrap();
            Ok(())
        })
        .unwrap();
        path
    }

    /// A message without the folder's own name.
    pub(super) fn strip(&self, error: &crate::Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

pub(super) type Pairs = Vec<(String, String)>;

pub(super) fn read_all(corpus: &Corpus) -> Result<(Pairs, CorpusStats)> {
    let mut pairs = Vec::new();
    let stats = corpus
        .for_each_document(|document| pairs.push((document.id.to_owned(), document.text.to_owned())))?;
    assert_eq!(stats.n_documents, pairs.len() as u64);
    Ok((pairs, stats))
}

fn read(path: &Path, options: CorpusOptions) -> Result<(Pairs, CorpusStats)> {
    let whole = Corpus::open([path], options.clone()).and_then(|corpus| read_all(&corpus));
    // The result does not depend on the chunk size.
    for chunk_bytes in [1, 7, 64] {
        let cut = Corpus::open([path], options.clone())
            .and_then(|corpus| read_all(&corpus.with_chunk_bytes(chunk_bytes)));
        match (&whole, &cut) {
            (Ok(whole), Ok(cut)) => assert_eq!(whole, cut, "chunks of {chunk_bytes}"),
            (Err(whole), Err(cut)) => {
                assert_eq!(whole.to_string(), cut.to_string(), "chunks of {chunk_bytes}")
            }
            (whole, cut) => panic!("{whole:?} but {cut:?} in chunks of {chunk_bytes}"),
        }
    }
    whole
}

fn pairs(expected: &[(&str, &str)]) -> Pairs {
    expected.iter().map(|&(id, text)| (id.to_owned(), text.to_owned())).collect()
}

pub(super) fn skipping() -> CorpusOptions {
    CorpusOptions { skip_bad_records: true, ..CorpusOptions::default() }
}

#[test]
fn every_format_is_read_in_every_packing() {
    let folder = Folder::new();
    let expected = pairs(&[("a", "one, two"), ("b", "three\nfour"), ("c", "")]);
    let jsonl = "{\"id\":\"a\",\"text\":\"one, two\"}\n{\"text\":\"three\\nfour\",\"x\":[1,{}],\"id\":\"b\"}\n\n{\"id\":\"c\",\"text\":null}";
    let csv = "id,other,text\na,,\"one, two\"\nb,\"\"\"\",\"three\nfour\"\n\nc,x,\n";
    let tsv = "text\tid\none, two\ta\n\"three\nfour\"\tb\n\tc\n";
    for (name, content) in [("d.jsonl", jsonl), ("d.csv", csv), ("d.tsv", tsv)] {
        for ending in ["", ".gz", ".zst"] {
            for (content, change) in
                [(content.to_owned(), "as is"), (format!("\u{feff}{content}"), "with a byte order mark")]
            {
                let path = folder.file(&format!("{name}{ending}"), &content);
                let (found, stats) = read(&path, CorpusOptions::default()).unwrap();
                assert_eq!(found, expected, "{name}{ending} {change}");
                assert_eq!(stats.bytes_read, fs::metadata(&path).unwrap().len());
                assert_eq!((stats.n_bad_records, stats.n_invalid_utf8), (0, 0));
            }
        }
    }
    let expected = pairs(&[("1", "one, two"), ("2", ""), ("3", "three")]);
    for (name, content) in [
        ("d.txt", "one, two\n\nthree\n"),
        ("d.txt.gz", "one, two\r\n\r\nthree"),
        ("d.txt.zst", "\u{feff}one, two\n\nthree\r\n"),
    ] {
        assert_eq!(
            read(&folder.file(name, content), CorpusOptions::default()).unwrap().0,
            expected,
            "{name}"
        );
    }
}

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
fn fields_are_chosen_joined_and_numbers_taken_as_text() {
    let folder = Folder::new();
    let options = CorpusOptions {
        text_fields: vec!["title".to_owned(), "n".to_owned(), "title".to_owned()],
        id_field: Some("n".to_owned()),
        ..CorpusOptions::default()
    };
    let jsonl = "{\"title\":\"a\",\"n\":7}\n{\"n\":-8.5,\"title\":\"\\u00e9\\\"\"}\n{\"title\":\"x\",\"n\":1,\"title\":\"last\"}";
    let expected = pairs(&[("7", "a\n7\na"), ("-8.5", "é\"\n-8.5\né\""), ("1", "last\n1\nlast")]);
    assert_eq!(read(&folder.file("d.jsonl", jsonl), options.clone()).unwrap().0, expected);
    let csv = "title,n\na,7\n";
    assert_eq!(read(&folder.file("d.csv", csv), options).unwrap().0, pairs(&[("7", "a\n7\na")]));
}

#[test]
fn empty_inputs_are_corpora_without_documents() {
    let folder = Folder::new();
    for name in ["d.txt", "d.jsonl", "d.csv", "d.tsv.gz", "d.txt.zst"] {
        for content in ["", "\u{feff}"] {
            let (found, stats) = read(&folder.file(name, content), CorpusOptions::default()).unwrap();
            assert_eq!((found.len(), stats.n_documents), (0, 0), "{name}");
        }
    }
    assert_eq!(read(&folder.file("d.csv", "\n\r\nid,text"), CorpusOptions::default()).unwrap().0, []);
    fs::create_dir(folder.0.path().join("none")).unwrap();
    assert_eq!(read(&folder.0.path().join("none"), CorpusOptions::default()).unwrap().0, []);
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_and_counted_by_document() {
    let folder = Folder::new();
    let cases: [(&str, &[u8]); 4] = [
        ("d.txt", b"good\nb\xff\xffd\nfine"),
        ("d.jsonl", b"{\"text\":\"good\"}\n{\"text\":\"b\xff\xffd\"}\n{\"text\":\"fine\"}"),
        ("d.csv", b"text\ngood\nb\xff\xffd\nfine\n"),
        ("e.jsonl", b"{\"text\":\"good\"}\n{\"text\":\"b\\ud83d\\ude0\\udc00d\"}\n{\"text\":\"f\\u0069ne\"}"),
    ];
    for (name, content) in &cases[..3] {
        let options = CorpusOptions::default().encoding("utf-8");
        let (found, stats) = read(&folder.file(name, content), options).unwrap();
        let texts: Vec<&str> = found.iter().map(|(_, text)| &text[..]).collect();
        assert_eq!(texts, ["good", "b\u{fffd}\u{fffd}d", "fine"], "{name}");
        assert_eq!(stats.n_invalid_utf8, 1, "{name}");
    }
    let lone = "{\"text\":\"\\ud83d\\ude00 \\\\ud83d x\\ud83d \\udc00\"}";
    let (found, stats) = read(&folder.file("e.jsonl", lone), CorpusOptions::default()).unwrap();
    assert_eq!(found[0].1, "😀 \\ud83d x\u{fffd} \u{fffd}");
    assert_eq!(stats.n_invalid_utf8, 1);
    let (_, stats) = read(&folder.file("f.jsonl", cases[3].1), skipping()).unwrap();
    assert_eq!((stats.n_documents, stats.n_bad_records, stats.n_invalid_utf8), (2, 1, 0));
}

#[test]
fn every_format_is_read_in_other_encodings() {
    let folder = Folder::new();
    let text = "Gr\u{fc}\u{df}e aus K\u{f6}ln, sch\u{f6}ne M\u{fc}hle";
    let csv = format!("id;text\r\na;{text}\r\n");
    let jsonl = format!("{{\"text\":\"{text}\",\"id\":\"a\"}}\n");
    for (name, content) in [("d.csv", &csv), ("d.jsonl.gz", &jsonl), ("dir/a", &text.to_owned())] {
        let (cp1252, ..) = encoding_rs::WINDOWS_1252.encode(content);
        let utf16: Vec<u8> =
            "\u{feff}".encode_utf16().chain(content.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for (bytes, guessed) in [(cp1252.to_vec(), Some("windows-1252")), (utf16, None)] {
            let mut path = folder.file(name, bytes);
            if name == "dir/a" {
                path.pop();
            }
            let (found, stats) = read(&path, CorpusOptions::default()).unwrap();
            assert_eq!(found, pairs(&[("a", text)]), "{name}");
            assert_eq!((stats.n_invalid_utf8, stats.n_guessed_encodings), (0, u64::from(guessed.is_some())));
            assert_eq!(stats.guessed_encoding.map(|name| name.to_string()).as_deref(), guessed);
        }
    }
    let path = folder.file("d.txt", b"\x93\xfa\x96{\n");
    let options = CorpusOptions::default().encoding("Shift_JIS");
    assert_eq!(read(&path, options).unwrap().0, pairs(&[("1", "\u{65e5}\u{672c}")]));
    let options = CorpusOptions::default().encoding("klingon");
    let message = Corpus::open([&path], options).unwrap_err().to_string();
    assert!(
        message.starts_with("encoding must be an encoding of the web, such as utf-8, windows-1252"),
        "{message}"
    );
}

#[test]
fn a_corpus_of_which_much_is_damaged_is_refused_unless_its_encoding_is_named() {
    let folder = Folder::new();
    let file = |n_damaged: usize, n_documents: usize| {
        // The first line makes it UTF-8.
        let start = "\u{e9}".repeat(n_documents + 1);
        let damaged = b"caf\xe9\n".repeat(n_damaged);
        let sound = b"tea\n".repeat(n_documents - n_damaged - 1);
        folder.file("d.txt", [start.as_bytes(), b"\n", &damaged, &sound].concat())
    };
    let counted = |n_damaged, n_documents, options| {
        read(&file(n_damaged, n_documents), options).map(|(_, stats)| stats.n_invalid_utf8)
    };
    for (n_damaged, n_documents) in [(1, 4), (10, 100), (10, 1_000), (20, 2_000)] {
        assert_eq!(counted(n_damaged, n_documents, CorpusOptions::default()).unwrap(), n_damaged as u64);
    }
    for (n_damaged, n_documents) in [(2, 4), (11, 100), (11, 1_000), (21, 2_000)] {
        let error = counted(n_damaged, n_documents, CorpusOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{n_damaged} of {n_documents} documents have bytes that are not text in the encoding that was found; \
                 encoding names another one, such as windows-1252, or utf-8 to replace such bytes"
            )
        );
        let options = CorpusOptions::default().encoding("utf-8");
        assert_eq!(counted(n_damaged, n_documents, options).unwrap(), n_damaged as u64);
    }
    // Half characters in JSON are no matter of the encoding.
    let jsonl = "{\"text\":\"\\ud83d\"}\n".repeat(20);
    let (_, stats) = read(&folder.file("d.jsonl", jsonl), CorpusOptions::default()).unwrap();
    assert_eq!((stats.n_invalid_utf8, stats.n_beyond_encoding), (20, 20));
}

#[test]
fn bad_records_are_errors_with_file_and_line_or_are_skipped_and_counted() {
    let folder = Folder::new();
    let advice = "mend it, or set skip_bad_records to leave such records out";
    let good = "{\"text\":\"good\"}\n";
    for (bad, message) in [
        (
            "{\"text\":\"cut",
            format!(
                "bad JSON Lines record: expected a JSON object with text, found EOF while parsing a string at column 12; {advice}"
            ),
        ),
        (
            "[1]",
            format!(
                "bad JSON Lines record: expected a JSON object with text, found invalid type: sequence, expected a JSON object at column 0; {advice}"
            ),
        ),
        (
            "{\"text\":{\"a\":1}}",
            format!(
                "bad JSON Lines record: expected a JSON object with text, found a text field that is an object or truth value at \
                 column 16; {advice}"
            ),
        ),
        (
            "{\"text\":\"a\"} x",
            format!(
                "bad JSON Lines record: expected a JSON object with text, found trailing characters at column 14; {advice}"
            ),
        ),
        (
            "{\"title\":\"a\",\"body\":\"b\"}",
            "there is no field \"text\"; the fields are body, title; text_fields names the field to take"
                .to_owned(),
        ),
        (
            "{}",
            "there is no field \"text\"; the fields are none; text_fields names the field to take".to_owned(),
        ),
    ] {
        let path = folder.file("d.jsonl", format!("{good}\n{bad}\n{good}"));
        let error = read(&path, CorpusOptions::default()).unwrap_err();
        assert_eq!(folder.strip(&error), format!("d.jsonl:3: {message}"));
        let (found, stats) = read(&path, skipping()).unwrap();
        assert_eq!(found, pairs(&[("1", "good"), ("4", "good")]));
        assert_eq!((stats.n_bad_records, stats.n_invalid_utf8), (1, 0));
    }
    let path = folder.file("d.csv", "id,text\na,\"one\ntwo\"\n\n\nb,too,many\nc,last\n");
    assert_eq!(
        folder.strip(&read(&path, CorpusOptions::default()).unwrap_err()),
        format!("d.csv:6: bad CSV record: expected 2 fields, as in the header, found 3; {advice}")
    );
    let (found, stats) = read(&path, skipping()).unwrap();
    assert_eq!((found.len(), stats.n_bad_records), (2, 1));
}

#[test]
fn json_is_read_in_every_layout() {
    let folder = Folder::new();
    let expected = pairs(&[("1", "one"), ("b", "two"), ("3", "")]);
    let records = [
        "{\"text\": \"one\"}",
        "{\"id\": \"b\",\n \"Text\": \"two\", \"x\": [\"]\", {}]}",
        "{\"text\":null}",
    ];
    for (content, line) in [
        (format!("[{}]", records.join(",\n")), 1),
        (format!(" [\n{}\n]\n", records.join("\n,\n")), 2),
        (format!("{{\"n\": 3,\n\"data\": [\n{}], \"more\": [\"no\"]}}", records.join(", ")), 3),
        (format!("\u{feff}{{\n\"text\": \"one\"\n}}\n{}{}", records[1], records[2]), 1),
    ] {
        for name in ["d.json", "d.jsonl.gz"] {
            assert_eq!(
                read(&folder.file(name, &content), CorpusOptions::default()).unwrap().0,
                expected,
                "{content}"
            );
        }
        let broken = content.replace("\"one\"", "one");
        let message =
            folder.strip(&read(&folder.file("d.json", &broken), CorpusOptions::default()).unwrap_err());
        assert!(
            message.starts_with(&format!(
                "d.json:{line}: bad JSON record: expected a JSON object with text, found expected value at "
            )),
            "{message}"
        );
        let (found, stats) = read(&folder.file("d.json", &broken), skipping()).unwrap();
        assert_eq!((found, stats.n_bad_records), (expected[1..].to_vec(), 1), "{broken}");
    }
    let texts = "[\"cats \\\"purr\\\"\", \"dogs, bark]\", 5, null]";
    let (found, stats) = read(&folder.file("d.json", texts), skipping()).unwrap();
    assert_eq!(found, pairs(&[("1", "cats \"purr\""), ("2", "dogs, bark]")]));
    assert_eq!(stats.n_bad_records, 2);
    assert_eq!(read(&folder.file("d.json", "[]"), CorpusOptions::default()).unwrap().0, []);
    let cut = read(&folder.file("d.json", "[{\"text\": \"a\"},"), CorpusOptions::default()).unwrap_err();
    assert_eq!(
        folder.strip(&cut),
        "d.json: not valid JSON: expected a closing bracket for the list of records, found the end of the file"
    );
}

#[test]
fn fields_are_found_by_path_and_lists_joined() {
    let folder = Folder::new();
    let jsonl = "{\"doc\":{\"title\":\"a\",\"tags\":[\"x\",\"y\",null,3]},\"key\":{\"n\":7},\"authors\":[{\"name\":\"A\"},{\"name\":\"B\"}]}\n\
        {\"authors\":[],\"doc.title\":\"literal\",\"doc\":{\"Tags\":\"z\"},\"key\":{\"n\":8},\"authors\":[{\"name\":[\"C\",\"D\"]},{}]}";
    let options =
        CorpusOptions::default().text_fields(["doc.title", "doc.tags", "authors.name"]).id_field("key.n");
    let (found, _) = read(&folder.file("d.jsonl", jsonl), options.clone()).unwrap();
    assert_eq!(found, pairs(&[("7", "a\nx\ny\n3\nA\nB"), ("8", "literal\nz\nC\nD")]));
    let message =
        |record: &str| folder.strip(&read(&folder.file("d.jsonl", record), options.clone()).unwrap_err());
    assert_eq!(
        message("{\"doc\":{\"tags\":[]},\"authors\":[{\"name\":\"\"}],\"key\":{\"n\":1}}"),
        "d.jsonl:1: there is no field \"doc.title\"; the fields are authors, doc, key; text_fields names the field to take"
    );
    // Depth is bounded, and so is the stack.
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = folder.strip(&read(&folder.file("d.jsonl", deep), CorpusOptions::default()).unwrap_err());
    assert!(deep.contains("recursion limit exceeded"), "{deep}");
    let skipped = format!("{{\"x\":{}1{},\"text\":\"a\"}}", "[".repeat(100_000), "]".repeat(100_000));
    let read = read(&folder.file("d.jsonl", skipped), CorpusOptions::default());
    assert!(
        read.map_or_else(
            |error| error.to_string().contains("recursion limit"),
            |(found, _)| found.len() == 1
        )
    );
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
        "e.csv:3: not valid CSV: expected a closing quote for the field that this record opens, found the end of the file"
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
fn a_folder_is_read_by_path_in_order() {
    let folder = Folder::new();
    for (name, text) in [
        ("c/b.txt", "two"),
        ("c/a.txt.gz", "one"),
        ("c/d/e.md", "three"),
        ("c/.hidden", "no"),
        ("c/.git/x", "no"),
    ] {
        folder.file(name, text);
    }
    let root = folder.0.path().join("c");
    let (found, _) = read(&root, CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("a.txt.gz", "one"), ("b.txt", "two"), ("d/e.md", "three")]));
    let options = CorpusOptions { glob: Some("*.txt".to_owned()), ..CorpusOptions::default() };
    assert_eq!(read(&root, options).unwrap().0, pairs(&[("b.txt", "two")]));
}

#[test]
fn files_of_a_folder_are_read_by_content() {
    let folder = Folder::new();
    for (name, content) in [
        ("c/a.md", &b"# Title\ntext"[..]),
        ("c/b", b"<!doctype html><title>Page</title><p>body &amp; soul</p>"),
        ("c/c.txt", b"caf\xe9 au lait, cr\xe8me br\xfbl\xe9e"),
        ("c/d.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("c/e.txt", b"\xff\xd8\xff\xe0\0\x10JFIF"),
        ("c/f.txt", b"a\0\x01b"),
        ("c/g.zip", b"PK\x03\x04\x14\0\0\0a.txt"),
        ("c/h.mp3", b"ID3\x03\0\0\0"),
        ("c/i", b""),
    ] {
        folder.file(name, content);
    }
    let (found, stats) = read(&folder.0.path().join("c"), CorpusOptions::default()).unwrap();
    assert_eq!(
        found,
        pairs(&[
            ("a.md", "# Title\ntext"),
            ("b", "Page\nbody & soul"),
            ("c.txt", "caf\u{e9} au lait, cr\u{e8}me br\u{fb}l\u{e9}e"),
            ("i", ""),
        ])
    );
    let skipped = stats.skipped;
    assert_eq!((skipped.n_images, skipped.n_media, skipped.n_archives, skipped.n_binaries), (2, 1, 1, 1));
    // Kinds that are not read are refused by name, or skipped on demand.
    let rtf = folder.file("c/j.rtf", "{\\rtf1");
    let message = folder.strip(&read(rtf.parent().unwrap(), CorpusOptions::default()).unwrap_err());
    assert!(
        message.starts_with(
            "c/j.rtf: a file of the kind RTF is not supported; convert the file, for example with LibreOffice "
        ),
        "{message}"
    );
    let (found, stats) = read(rtf.parent().unwrap(), skipping()).unwrap();
    assert_eq!((found.len(), stats.n_bad_records), (4, 1));
}

#[test]
fn single_documents_are_inputs_of_their_own() {
    let folder = Folder::new();
    let paths = [
        folder.file("x/a.md", "one"),
        folder.file("y/a.md", "two"),
        folder.file("b.html.gz", "<p>three</p>"),
        folder.file("c.txt", "four\nfive"),
    ];
    let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap();
    let (found, _) = read_all(&corpus).unwrap();
    let found: Pairs = found
        .into_iter()
        .map(|(id, text)| (id.replace(&format!("{}/", folder.0.path().display()), ""), text))
        .collect();
    let expected = pairs(&[
        ("x/a.md", "one"),
        ("y/a.md", "two"),
        ("b.html.gz", "three"),
        ("c.txt:1", "four"),
        ("c.txt:2", "five"),
    ]);
    assert_eq!(found, expected);
    let mut pieces = corpus.pieces(3).unwrap();
    let n_lines: Vec<_> = pieces.iter().map(|piece| piece.count_lines().unwrap()).collect();
    CorpusPiece::number_lines(&mut pieces, &n_lines).unwrap();
    let texts: Vec<String> = pieces
        .into_iter()
        .flat_map(|piece| {
            read_all(&Corpus::from_pieces(&[piece], CorpusOptions::default()).unwrap()).unwrap().0
        })
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["one", "two", "three", "four", "five"]);
    let alone = Corpus::open([&paths[0]], CorpusOptions::default()).unwrap();
    assert_eq!(read_all(&alone).unwrap().0, pairs(&[("a.md", "one")]));
}

#[cfg(feature = "mail")]
#[test]
fn mailboxes_are_read_message_by_message() {
    let folder = Folder::new();
    let message =
        |number: usize| format!("From a@b Mon\nFrom: a@b\nSubject: number {number}\n\nbody\n> quoted\n\n");
    let mailbox: String = (1..=20).map(message).collect();
    let (found, _) = read(&folder.file("d.mbox", &mailbox), CorpusOptions::default()).unwrap();
    assert_eq!(found.len(), 20);
    assert_eq!(found[19], ("20".to_owned(), "number 20\nbody".to_owned()));
    let options = CorpusOptions::default().keep_quotes(true);
    assert_eq!(
        read(&folder.file("d.mbox.gz", &mailbox), options).unwrap().0[0].1,
        "number 1\nbody\n> quoted"
    );
    folder.file("c/inbox", &mailbox);
    folder.file("c/one.eml", &message(7)[13..]);
    let (found, _) = read(&folder.0.path().join("c"), CorpusOptions::default()).unwrap();
    assert_eq!((found.len(), &found[1].0[..], &found[20].0[..]), (21, "inbox#2", "one.eml"));
    assert_eq!(found[20].1, "number 7\nbody");
}

#[test]
fn several_inputs_have_ids_of_their_own() {
    let folder = Folder::new();
    let paths = [
        folder.file("a/x.txt", "one\ntwo"),
        folder.file("b/x.txt", "three"),
        folder.file("y.jsonl", "{\"text\":\"four\"}\n{\"text\":\"five\",\"id\":\"own\"}"),
        folder.file("dir/z", "six").parent().unwrap().to_owned(),
    ];
    let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap();
    let (found, stats) = read_all(&corpus).unwrap();
    let ids: Vec<String> =
        found.iter().map(|(id, _)| id.replace(&format!("{}/", folder.0.path().display()), "")).collect();
    assert_eq!(ids, ["a/x.txt:1", "a/x.txt:2", "b/x.txt:1", "y.jsonl:1", "own", "dir:z"]);
    assert_eq!(stats.bytes_read, corpus.bytes_total());
    let twice = Corpus::open([&paths[2], &paths[2]], CorpusOptions::default()).unwrap_err();
    assert_eq!(folder.strip(&twice), "inputs must be different files, got y.jsonl twice");
    let none = Corpus::open([""; 0], CorpusOptions::default()).unwrap_err();
    assert_eq!(none.to_string(), "inputs must be at least one file or folder, got none");
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let open = |path: &Path, format| {
        let options = CorpusOptions { format, ..CorpusOptions::default() };
        let read = Corpus::open([path], options).and_then(|corpus| read_all(&corpus));
        folder.strip(&read.unwrap_err())
    };
    assert!(open(&folder.0.path().join("none.txt"), None).starts_with("none.txt: cannot read: "));
    let file = folder.file("d.bin", "x");
    assert!(open(&file, None).starts_with("d.bin: guessing the format from this name is not supported; "));
    assert_eq!(open(&file, Some(CorpusFormat::Folder)), "d.bin: cannot read: it is a file, not a folder");
    assert!(
        open(folder.0.path(), Some(CorpusFormat::Csv)).ends_with("cannot read: it is a folder, not a file")
    );
    fs::create_dir(folder.0.path().join("in")).unwrap();
    fs::write(folder.0.path().join("d.txt"), [0x1f, 0x8b, 8, 0, 0]).unwrap();
    fs::copy(folder.0.path().join("d.txt"), folder.0.path().join("in/e")).unwrap();
    let damage =
        "not valid gzip: expected undamaged compressed data, found the end of the file in the middle of it";
    assert_eq!(open(&folder.0.path().join("d.txt"), None), format!("d.txt: {damage}"));
    assert_eq!(open(&folder.0.path().join("in"), None), format!("in/e: {damage}"));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let folder = Folder::new();
    let error = Corpus::open([folder.file("d.parquet", "PAR1")], CorpusOptions::default()).unwrap_err();
    assert_eq!(
        folder.strip(&error),
        "d.parquet: Parquet is not supported; it is not in this build: build docsphere with the cargo feature `parquet`, or \
         convert the file to JSON Lines"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_pages_of_every_compression_are_read() {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::{ArrayRef, RecordBatch, StringArray};

    let folder = Folder::new();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(["one", "two"].repeat(500)));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let path = folder.0.path().join("d.parquet");
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let (found, _) = read(&path, CorpusOptions::default()).unwrap();
        assert_eq!(found.len(), 1000, "{compression}");
        assert_eq!(found[999], ("1000".to_owned(), "two".to_owned()), "{compression}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_of_every_kind_of_text_are_read() {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray};

    let folder = Folder::new();
    let path = folder.0.path().join("d.parquet");
    let dictionary: DictionaryArray<Int32Type> = [Some("x"), None, Some("x")].into_iter().collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("text", Arc::new(StringArray::from(vec![Some("one"), None, Some("three")]))),
        ("other", Arc::new(Int64Array::from(vec![7, 8, 9]))),
        ("large", Arc::new(LargeStringArray::from(vec!["a", "b", "c"]))),
        ("kind", Arc::new(dictionary)),
        ("flag", Arc::new(arrow_array::BooleanArray::from(vec![true, false, true]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

    let options = |texts: &[&str], id: Option<&str>| CorpusOptions {
        text_fields: texts.iter().map(|&name| name.to_owned()).collect(),
        id_field: id.map(str::to_owned),
        ..CorpusOptions::default()
    };
    let (found, stats) = read(&path, CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("1", "one"), ("2", ""), ("3", "three")]));
    assert_eq!(stats.bytes_read, fs::metadata(&path).unwrap().len());
    let (found, _) = read(&path, options(&["large", "kind"], Some("other"))).unwrap();
    assert_eq!(found, pairs(&[("7", "a\nx"), ("8", "b\n"), ("9", "c\nx")]));
    let message = |options| folder.strip(&read(&path, options).unwrap_err());
    assert_eq!(
        message(options(&["body"], None)),
        "d.parquet: there is no field \"body\"; the fields are text, other, large, kind, flag; text_fields names the field to take"
    );
    assert_eq!(
        message(options(&["flag"], None)),
        "d.parquet: a column of type Boolean (flag) is not supported; text and ids are read from columns of strings or numbers"
    );
    fs::write(&path, "PAR1 not really").unwrap();
    assert_eq!(
        message(CorpusOptions::default()),
        "d.parquet: not valid Parquet: expected PAR1 as the last four bytes, found \"ally\"; is the file cut off?"
    );
}

#[test]
fn the_observer_sees_progress_and_may_stop() {
    let folder = Folder::new();
    let corpus = Corpus::open([folder.file("d.txt", "a\n".repeat(1000))], CorpusOptions::default()).unwrap();
    let corpus = corpus.with_chunk_bytes(10);
    let mut last = 0;
    let mut watch = |event: &Event<'_>| {
        if let Event::Reading { bytes_read, bytes_total, n_documents } = *event {
            assert!(bytes_read <= bytes_total && bytes_total == 2000 && n_documents > last);
            last = n_documents;
        }
        ControlFlow::Continue(())
    };
    corpus.for_each_document_watched(&mut watch, |_| ()).unwrap();
    assert_eq!(last, 1000);
    let mut stop = |_: &Event<'_>| ControlFlow::Break(());
    let error = corpus.for_each_document_watched(&mut stop, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "stopped by the observer during reading, before there was a result");
}

#[test]
fn long_lines_are_read() {
    let folder = Folder::new();
    let long = "word ".repeat(1 << 20);
    let corpus =
        Corpus::open([folder.file("d.txt", format!("a\n{long}\nb"))], CorpusOptions::default()).unwrap();
    let (found, _) = read_all(&corpus).unwrap();
    assert_eq!(found.iter().map(|(_, text)| text.len()).collect::<Vec<_>>(), [1, long.len(), 1]);
}
