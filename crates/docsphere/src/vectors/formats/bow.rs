//! UCI bag-of-words files: `docword.NAME.txt` and `vocab.NAME.txt`.
//!
//! ```text
//! 3                documents
//! 4                words of the vocabulary
//! 2                entries
//! 1 2 5            document, word (both from 1), count
//! 3 4 1
//! ```
//!
//! The vocabulary has one word per line, the first line for word 1. Entries may come in any order,
//! entries at the same position are summed, and there must be as many as stated. Counts are usually
//! integers, but any number is read and written, so that tf-idf weights survive too.
//!
//! A file may claim up to a million documents without further checks; above that it must have an
//! entry per 64 documents.
//!
//! Memory while reading: 8 bytes per entry and up to 16 per document; up to 24 bytes per entry if
//! the documents are not in order. The vocabulary takes its text and 24 bytes per word.
//!
//! Reference: Newman, "Bag of Words", UCI Machine Learning Repository (2008),
//! <https://doi.org/10.24432/C5ZG6P>.

use std::io::{BufRead, Write};
use std::path::Path;

use super::entries::{Layout, Promise, Values, read_entries, write_entries};
use super::lines::{Lines, SHORT_LINE, excerpt};
use super::numbers::parse_index;
use crate::compression;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::vectors::SparseRows;

const FORMAT: &str = "bag-of-words";
const VOCABULARY_FORMAT: &str = "bag-of-words vocabulary";

/// Documents and, if it was read, their vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct BagOfWords {
    /// One row per document.
    pub rows: SparseRows<'static>,
    /// The word of each term.
    pub vocabulary: Option<Vec<String>>,
}

/// Reads a `docword` file and its vocabulary. Both may be compressed.
///
/// # Errors
/// A file that cannot be read or is damaged; a vocabulary of another length than the `docword` file
/// states.
pub fn read_bag_of_words(docword: impl AsRef<Path>, vocab: Option<&Path>) -> Result<BagOfWords> {
    let rows = read_within(docword.as_ref(), &NO_LIMIT)?;
    let vocabulary = vocab.map(|path| {
        compression::open(path)
            .and_then(|reader| read_vocabulary_from(reader, rows.n_terms()))
            .map_err(|error| error.at_path(path))
    });
    Ok(BagOfWords { vocabulary: vocabulary.transpose()?, rows })
}

pub(super) fn read_within(docword: &Path, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let read = compression::open(docword).and_then(|reader| parse(reader, memory));
    read.map_err(|error| error.at_path(docword))
}

/// Reads a `docword` file from any source.
///
/// ```
/// let rows = docsphere::formats::bow::read_from(&b"2\n3\n2\n1 1 4\n2 3 6\n"[..])?;
/// assert_eq!((rows.n_rows(), rows.n_terms()), (2, 3));
/// assert_eq!((rows.row(1).terms, rows.row(1).values), (&[2][..], &[6.0][..]));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// As [`read_bag_of_words`].
pub fn read_from(reader: impl BufRead) -> Result<SparseRows<'static>> {
    parse(reader, &NO_LIMIT)
}

fn parse(reader: impl BufRead, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let mut lines = Lines::new(reader, FORMAT, SHORT_LINE, memory);
    let n_rows = read_size(&mut lines, "the number of documents, alone on its line")?;
    let n_terms = read_size(&mut lines, "the number of words, alone on its line")?;
    let nnz = read_size(&mut lines, "the number of entries, alone on its line")?;
    let promise = Promise { n_rows, n_terms, nnz };
    promise.check(FORMAT).map_err(|error| lines.locate(error))?;
    read_entries(&mut lines, Layout { promise, values: Values::Real, comment: None }, memory)
}

fn read_size<R: BufRead>(lines: &mut Lines<'_, R>, expected: &str) -> Result<u64> {
    let line = lines.expect_content(None, expected)?.trim_ascii();
    match parse_index(line) {
        Some(size) => Ok(size),
        None => {
            let found = excerpt(line);
            Err(lines.malformed(expected, found))
        }
    }
}

/// Reads a vocabulary of `n_terms` words from any source.
///
/// # Errors
/// More or fewer words; text that is not UTF-8.
pub fn read_vocabulary_from(reader: impl BufRead, n_terms: usize) -> Result<Vec<String>> {
    let expected = || format!("{n_terms} words, as the docword file promises");
    let mut lines = Lines::new(reader, VOCABULARY_FORMAT, SHORT_LINE, &NO_LIMIT);
    let mut words = Vec::new();
    while let Some(line) = lines.next_line()? {
        match str::from_utf8(line) {
            Ok(_) if words.len() == n_terms => return Err(lines.malformed(expected(), "more")),
            Ok(word) => words.push(word.to_owned()),
            Err(_) => {
                let found = excerpt(line);
                return Err(lines.malformed("a word in UTF-8", found));
            }
        }
    }
    if words.len() < n_terms {
        return Err(lines.malformed(expected(), format!("the end of the file after {}", words.len())));
    }
    Ok(words)
}

/// Writes a `docword` file and, if given, the file and the words of its vocabulary. Each is written
/// atomically, and compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// A vocabulary that does not have one word per term, or a word that contains a line break: nothing
/// is written then. And those of the system.
pub fn write_bag_of_words(
    docword: impl AsRef<Path>,
    rows: &SparseRows<'_>,
    vocab: Option<(&Path, &[String])>,
) -> Result<()> {
    if let Some((path, words)) = vocab {
        check_vocabulary(words, rows.n_terms())?;
        compression::write_packed(path, |out| {
            words
                .iter()
                .try_for_each(|word| writeln!(out, "{word}"))
                .map_err(|source| Error::io("write", source))
        })?;
    }
    compression::write_packed(docword.as_ref(), |out| write_to(out, rows))
}

fn check_vocabulary(words: &[String], n_terms: usize) -> Result<()> {
    if words.len() != n_terms {
        let expected = format!("{n_terms}, one for each term");
        let what = "the number of words in the vocabulary";
        return Err(ErrorKind::Mismatch { what, expected, got: words.len().to_string() }.into());
    }
    match words.iter().find(|word| word.contains(['\n', '\r'])) {
        None => Ok(()),
        Some(word) => Err(ErrorKind::Mismatch {
            what: "a word of the vocabulary",
            expected: "free of line breaks".to_owned(),
            got: excerpt(word.as_bytes()),
        }
        .into()),
    }
}

/// Writes a `docword` file to any writer, in small pieces: pass a buffered writer.
///
/// # Errors
/// Those of the writer.
pub fn write_to(mut out: impl Write, rows: &SparseRows<'_>) -> Result<()> {
    let header = format!("{}\n{}\n{}\n", rows.n_rows(), rows.n_terms(), rows.nnz());
    write_entries(&mut out, &header, rows)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::trials;
    use super::*;

    fn message(text: &str) -> String {
        read_from(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn documents_and_vocabulary_make_the_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let (_, rows) = trials::matrices().pop().unwrap();
        let words: Vec<String> =
            ["zero", "", "zwei Wörter", "three", "\u{1F980}", "five"].map(String::from).into();
        for ending in ["", ".gz", ".zst"] {
            let docword = folder.path().join(format!("docword.txt{ending}"));
            let vocab = folder.path().join(format!("vocab.txt{ending}"));
            write_bag_of_words(&docword, &rows, Some((&vocab, &words))).unwrap();
            let bag = read_bag_of_words(&docword, Some(&vocab)).unwrap();
            assert_eq!(bag, BagOfWords { rows: rows.clone(), vocabulary: Some(words.clone()) });
            assert_eq!(read_bag_of_words(&docword, None).unwrap().vocabulary, None);
        }
    }

    #[test]
    fn counts_are_written_as_whole_numbers() {
        let rows = SparseRows::from_parts(4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![7., 0.5, 2.]).unwrap();
        let mut out = Vec::new();
        write_to(&mut out, &rows).unwrap();
        assert_eq!(out, b"3\n4\n3\n1 1 7\n1 4 0.5\n3 2 2\n");
    }

    #[test]
    fn damage_is_reported_with_the_line() {
        let documents = "the number of documents, alone on its line";
        let words = "the number of words, alone on its line";
        let entries = "the number of entries, alone on its line";
        let row = "a row number from 1 to 3";
        let promised = "2 entries, as promised at the top";
        let cases = [
            ("x\n", 1, documents, "\"x\""),
            ("3\n4 5\n", 2, words, "\"4 5\""),
            ("3\n-4\n", 2, words, "\"-4\""),
            ("3\n4\n", 2, entries, "the end of the file"),
            ("3\n4\n1\n4 1 1\n", 4, row, "\"4\""),
            ("3\n4\n1\n# 1 1\n", 4, row, "\"#\""),
            ("3\n4\n2\n1 1 1\n", 4, promised, "the end of the file after 1"),
        ];
        for (text, line, expected, found) in cases {
            let error = format!("line {line}: not valid bag-of-words: expected {expected}, found {found}");
            assert_eq!(message(text), error);
        }
        assert_eq!(message(""), format!("not valid bag-of-words: expected {documents}, found an empty file"));
        assert_eq!(
            message("2000000000\n4\n1\n"),
            "line 3: the number of rows is limited to 1073741824, got 2000000000"
        );
    }

    #[test]
    fn a_vocabulary_that_does_not_fit_is_refused() {
        let read = |text: &[u8]| read_vocabulary_from(text, 2).unwrap_err().to_string();
        let name = "not valid bag-of-words vocabulary: expected";
        let promised = format!("{name} 2 words, as the docword file promises");
        assert_eq!(read(b"a\n"), format!("line 1: {promised}, found the end of the file after 1"));
        assert_eq!(read(b"a\nb\nc"), format!("line 3: {promised}, found more"));
        assert_eq!(read(b"a\nb\xff\n"), format!("line 2: {name} a word in UTF-8, found \"b\u{fffd}\""));
        assert_eq!(read(b""), format!("{promised}, found the end of the file after 0"));
        assert_eq!(read_vocabulary_from(&b"a\r\nb"[..], 2).unwrap(), ["a", "b"]);

        let folder = tempfile::tempdir().unwrap();
        let (docword, vocab) = (folder.path().join("docword"), folder.path().join("vocab"));
        let rows = SparseRows::from_parts(2, vec![0], vec![], vec![]).unwrap();
        let write = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            write_bag_of_words(&docword, &rows, Some((&vocab, &words))).unwrap_err().to_string()
        };
        assert_eq!(
            write(&["a"]),
            "the number of words in the vocabulary must be 2, one for each term, got 1"
        );
        assert_eq!(
            write(&["a", "b\nc"]),
            "a word of the vocabulary must be free of line breaks, got \"b\\nc\""
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn damaged_files_never_panic() {
        for (_, rows) in trials::matrices() {
            let mut file = Vec::new();
            write_to(&mut file, &rows).unwrap();
            let last_line = file[..file.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
            let accepted = trials::accepted_prefixes(&file, |bytes| read_from(bytes));
            assert!(accepted.iter().all(|&length| length > last_line), "{accepted:?}");
            trials::survivors(&file, 4, |bytes| read_from(bytes));
        }
    }
}
