//! Reading every format. This file has what concerns all of them, and what the others share.

mod encodings;
mod folders;
mod json;
mod parquet_files;
mod tables;
mod unpacking;

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
    let message = open(folder.0.path(), Some(CorpusFormat::Csv));
    assert!(message.starts_with("d.bin:1: there is no field \"text\"; the fields are x; "), "{message}");
    fs::create_dir(folder.0.path().join("in")).unwrap();
    fs::write(folder.0.path().join("d.txt"), [0x1f, 0x8b, 8, 0, 0]).unwrap();
    fs::copy(folder.0.path().join("d.txt"), folder.0.path().join("in/e")).unwrap();
    let damage =
        "not valid gzip: expected undamaged compressed data, found the end of the file in the middle of it";
    assert_eq!(open(&folder.0.path().join("d.txt"), None), format!("d.txt: {damage}"));
    assert_eq!(open(&folder.0.path().join("in"), None), format!("in/e: {damage}"));
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
