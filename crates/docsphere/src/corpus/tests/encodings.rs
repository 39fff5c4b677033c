//! Text that is not UTF-8.

use super::*;

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
