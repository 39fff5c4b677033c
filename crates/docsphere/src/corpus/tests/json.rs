//! JSON.

use super::*;

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
        message("{\"doc\":{\"day\":[]},\"authors\":[{}],\"key\":{\"n\":1}}"),
        "d.jsonl:1: there is no field \"doc.title\"; the fields are authors, doc, key; text_fields names the field to take"
    );
    // A record may lack some of several fields, but not all records the same one.
    let some = "{\"doc\":{\"tags\":[]},\"authors\":[{\"name\":\"A\"}],\"key\":{\"n\":1}}";
    assert_eq!(
        message(some),
        "text_fields must be fields that some record has, got \"doc.title\", which none has"
    );
    let (found, _) = read(&folder.file("d.jsonl", format!("{some}\n{jsonl}")), options.clone()).unwrap();
    assert_eq!(found[0], ("1".to_owned(), "\n\nA".to_owned()));
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
fn numbers_keep_their_spelling() {
    let folder = Folder::new();
    let ids =
        ["7", "-0", "1.0", "1e5", "18446744073709551616", "123456789012345678901234567890", "-8.50", "0.10"];
    for id in ids {
        let record = format!("{{\"x\": [1.5, {{\"y\": \"-2.0 \\\" 3\"}}], \"text\": {id} , \"id\":{id}}}\n");
        let (found, _) = read(&folder.file("d.jsonl", &record), CorpusOptions::default()).unwrap();
        assert_eq!(found, pairs(&[(id, id)]), "{record}");
    }
    let list = "[{\"text\": [\"a\", 1.0, 2e3], \"id\": 5.0}]";
    let (found, _) = read(&folder.file("d.json", list), CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("5.0", "a\n1.0\n2e3")]));
}
