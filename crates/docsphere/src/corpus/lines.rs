//! One document per line; and lines for other line-based formats.

use std::borrow::Cow;
use std::io::BufRead;
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, SendChunk};
use super::document::{ChunkTally, Document, Emit, NumberedId, lossy_bytes};
use super::format::CorpusFormat;
use super::stream::{RecordEnds, TextStream};
use crate::error::Result;

/// Cuts a stream of lines.
pub(super) fn cut(
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let stream = TextStream::new(input, CorpusFormat::Lines, RecordEnds::Lines);
    stream.cut(reader, send, |bytes, start| Ok(Some(Box::new(Lines { bytes, first_line: start.line }))))
}

struct Lines {
    bytes: Vec<u8>,
    first_line: u64,
}

impl Chunk for Lines {
    fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn first_line(&self) -> Option<u64> {
        Some(self.first_line)
    }

    fn parse_bytes(&self) -> u64 {
        lossy_bytes(&self.bytes)
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut lines = ChunkLines::new(&self.bytes, self.first_line);
        let mut tally = ChunkTally::default();
        let mut id = NumberedId::new(input.id_prefix);
        while let Some((number, line)) = lines.next_line() {
            let text = match line {
                Line::Valid(text) => Cow::Borrowed(text),
                Line::Unknown(bytes) => tally.text(bytes),
            };
            tally.n_documents += 1;
            emit(Document::new(id.with(number), &text))?;
        }
        Ok(tally)
    }
}

/// The lines of a chunk with their numbers in the file.
pub(super) struct ChunkLines<'a> {
    bytes: &'a [u8],
    /// The whole chunk as text, if it is valid UTF-8: one check for all lines.
    text: Option<&'a str>,
    at: usize,
    number: u64,
}

/// A line without its terminator.
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
