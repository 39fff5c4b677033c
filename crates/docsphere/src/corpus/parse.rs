//! Chunks to documents. Runs on the threads of the pool.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::chunks::{Chunk, Content};
use super::input::{Corpus, Input, Source};
use super::options::CorpusFormat;
use super::{delimited, folder, jsonl, parquet_input};
use crate::error::{Error, ErrorKind, Result};

/// A document as it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Document<'a> {
    /// Its id: unique within the corpus, unless an id field repeats itself.
    pub id: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Takes the documents of a chunk, in order.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Document<'_>) -> Result<()>;

/// What was seen in a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ChunkTally {
    pub(super) n_documents: u64,
    pub(super) n_bad_records: u64,
    pub(super) n_invalid_utf8: u64,
}

impl ChunkTally {
    /// Bytes of one document as text; what is not UTF-8 is replaced and the document counted.
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.n_invalid_utf8 += 1;
        }
        text
    }

    /// Counts a bad record where such are skipped; else it is an error.
    pub(super) fn bad_record(&mut self, corpus: &Corpus, error: Error) -> Result<()> {
        if !corpus.options.skip_bad_records {
            return Err(error);
        }
        self.n_bad_records += 1;
        Ok(())
    }
}

/// What a text may take once its bytes that are not UTF-8 are replaced, three for one; 0 if there are none.
pub(super) fn lossy_bytes(bytes: &[u8]) -> u64 {
    if std::str::from_utf8(bytes).is_ok() { 0 } else { 3 * bytes.len() as u64 }
}

/// What parsing a chunk with a long record takes, beside its bytes.
pub(super) fn long_record_bytes(corpus: &Corpus, chunk: &Chunk) -> u64 {
    let Content::Text { bytes, .. } = &chunk.content else { return 0 };
    let n_bytes = bytes.len() as u64;
    let copies = match corpus.inputs[chunk.input].format {
        // Texts with escapes, and a buffer that may be twice as long.
        CorpusFormat::JsonLines => 3 * n_bytes,
        // The fields, where each ends, and the text.
        CorpusFormat::Csv => 3 * n_bytes + 24 * memchr::memchr_iter(b',', bytes).count() as u64,
        CorpusFormat::Tsv => 3 * n_bytes + 24 * memchr::memchr_iter(b'\t', bytes).count() as u64,
        _ => 0,
    };
    copies + lossy_bytes(bytes)
}

/// Calls `emit` for every document of a chunk.
pub(super) fn parse(
    corpus: &Corpus,
    chunk: &Chunk,
    n_bytes: &Arc<AtomicU64>,
    emit: Emit<'_>,
) -> Result<ChunkTally> {
    let input = &corpus.inputs[chunk.input];
    let tally = match (&chunk.content, &input.source) {
        (Content::Files(range), Source::Folder(files)) => {
            folder::parse(&files[range.clone()], &input.id_prefix, n_bytes, &corpus.options.memory, emit)
        }
        (Content::Files(_), _) => unreachable!("only folders are cut into files"),
        (Content::Rows(rows), _) => parquet_input::parse(rows, &input.id_prefix, emit),
        (Content::Text { bytes, first_line, table }, _) => match table {
            Some(table) => {
                delimited::Records { corpus, input, table, first_line: *first_line }.parse(bytes, emit)
            }
            None if input.format == CorpusFormat::JsonLines => {
                jsonl::Records { corpus, input }.parse(ChunkLines::new(bytes, *first_line), emit)
            }
            None => parse_lines(input, ChunkLines::new(bytes, *first_line), emit),
        },
    };
    tally.map_err(|error| error.at_path(&input.path))
}

/// Every line a document.
fn parse_lines(input: &Input, mut lines: ChunkLines<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
    let mut tally = ChunkTally::default();
    let mut id = NumberedId::new(&input.id_prefix);
    while let Some((number, line)) = lines.next_line() {
        let text = match line {
            Line::Valid(text) => Cow::Borrowed(text),
            Line::Unknown(bytes) => tally.text(bytes),
        };
        tally.n_documents += 1;
        emit(Document { id: id.with(number), text: &text })?;
    }
    Ok(tally)
}

/// An id made of a prefix and a number, in memory that is used again.
pub(super) struct NumberedId {
    id: String,
    prefix_bytes: usize,
}

impl NumberedId {
    pub(super) fn new(prefix: &str) -> Self {
        NumberedId { id: prefix.to_owned(), prefix_bytes: prefix.len() }
    }

    pub(super) fn with(&mut self, number: u64) -> &str {
        use std::fmt::Write;
        self.id.truncate(self.prefix_bytes);
        write!(self.id, "{number}").expect("writing to memory");
        &self.id
    }
}

/// The lines of a chunk with their numbers in the file.
pub(super) struct ChunkLines<'a> {
    bytes: &'a [u8],
    /// The whole chunk as text, if all of it is UTF-8: one check for all lines.
    text: Option<&'a str>,
    at: usize,
    number: u64,
}

/// A line without its end.
pub(super) enum Line<'a> {
    Valid(&'a str),
    /// May hold bytes that are not UTF-8.
    Unknown(&'a [u8]),
}

impl<'a> ChunkLines<'a> {
    pub(super) fn new(bytes: &'a [u8], first_line: u64) -> Self {
        ChunkLines { bytes, text: std::str::from_utf8(bytes).ok(), at: 0, number: first_line }
    }

    /// The next line and its number.
    pub(super) fn next_line(&mut self) -> Option<(u64, Line<'a>)> {
        if self.at == self.bytes.len() {
            return None;
        }
        let start = self.at;
        let rest = &self.bytes[start..];
        let mut end = match memchr::memchr(b'\n', rest) {
            Some(length) => {
                self.at = start + length + 1;
                start + length
            }
            None => {
                self.at = self.bytes.len();
                self.at
            }
        };
        if end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        let number = self.number;
        self.number += 1;
        Some(match self.text {
            Some(text) => (number, Line::Valid(&text[start..end])),
            None => (number, Line::Unknown(&self.bytes[start..end])),
        })
    }
}

/// The bytes after a UTF-8 byte order mark, if there is one.
///
/// # Errors
/// A byte order mark of UTF-16.
pub(super) fn without_bom(bytes: &[u8]) -> Result<&[u8]> {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(rest),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(ErrorKind::Unsupported {
            what: "text in UTF-16".to_owned(),
            hint: "convert the file to UTF-8, for example with iconv -f UTF-16 -t UTF-8".to_owned(),
        }
        .into()),
        _ => Ok(bytes),
    }
}

/// Names that a message shows.
pub(super) const MAX_SHOWN: usize = 20;

/// Names of fields for a message.
pub(super) fn field_list<S: AsRef<str>>(fields: &[S]) -> String {
    if fields.is_empty() {
        return "none".to_owned();
    }
    let mut shown: Vec<&str> = fields.iter().take(MAX_SHOWN).map(AsRef::as_ref).collect();
    if fields.len() > MAX_SHOWN {
        shown.push("…");
    }
    shown.join(", ")
}
