//! Cuts streams of text into chunks of whole records. Runs on one thread, so it only decompresses
//! and searches for line feeds.
//!
//! In text, the last line feed ends the chunk. In CSV, a line feed may be quoted, so a small state
//! machine tracks the quotes, by the same rules as the crate `csv`: a quote opens a quoted field
//! only at the field's beginning, and two quotes in it are one.

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use super::document::without_bom;
use super::format::CorpusFormat;
use crate::compression::read_error;
use crate::error::{Error, ErrorKind, Result};

/// Copies of a long record that its processing makes at least: one in lower case.
const RECORD_COPIES: u64 = 1;

/// A stream of text to be cut into chunks.
pub(super) struct TextStream<'a> {
    input: &'a InputContext<'a>,
    format: CorpusFormat,
    ends: RecordEnds,
    /// The line number at the start of the buffer.
    line: u64,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(input: &'a InputContext<'a>, format: CorpusFormat, ends: RecordEnds) -> Self {
        TextStream { input, format, ends, line: input.first_line }
    }

    /// Cuts the whole stream. `chunk` makes a chunk from whole records and the number of their
    /// first line, or returns `None` if they hold no document.
    pub(super) fn cut(
        mut self,
        mut reader: Box<dyn BufRead>,
        send: SendChunk<'_>,
        mut chunk: impl FnMut(Vec<u8>, u64) -> Result<Option<Box<dyn Chunk>>>,
    ) -> Result<ControlFlow<()>> {
        let mut buffer = Vec::new();
        let (mut scanned, mut whole, mut at_start) = (0, 0, self.line == 1);
        loop {
            self.make_room(&mut buffer)?;
            // The first step includes a whole byte order mark.
            let step = self.input.chunk_bytes.max(if at_start { 3 } else { 1 }) as u64;
            let n_read = reader.by_ref().take(step).read_to_end(&mut buffer).map_err(read_error)?;
            if at_start {
                at_start = false;
                buffer.drain(..buffer.len() - without_bom(&buffer)?.len());
            }
            if let Some(end) = self.ends.last_end(&buffer[scanned..]) {
                whole = scanned + end;
            }
            scanned = buffer.len();
            if n_read == 0 {
                self.check_closed(&buffer)?;
                whole = buffer.len();
            }
            if whole > 0 {
                let rest = buffer[whole..].to_vec();
                buffer.truncate(whole);
                scanned = rest.len();
                whole = 0;
                let records = std::mem::replace(&mut buffer, rest);
                let first_line = self.line;
                self.line += count_lines(&records);
                if let Some(chunk) = chunk(records, first_line)?
                    && send(chunk).is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if n_read == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            if buffer.len() > MAX_RECORD_BYTES {
                let (limit, got) = (MAX_RECORD_BYTES as u64, buffer.len() as u64);
                let kind = ErrorKind::TooLarge { what: "a record's size in bytes", limit, got };
                return Err(Error::from(kind).at_line(self.line));
            }
        }
    }

    /// Makes room for one more chunk. Checks the memory limit if the buffer already holds a long
    /// record.
    fn make_room(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let (step, memory) = (self.input.chunk_bytes, &self.input.options.memory);
        if buffer.len() + step > LONG_BYTES {
            // Other threads may hold memory for a while: long records that are being parsed.
            let more = step as u64 + RECORD_COPIES * buffer.len() as u64;
            let asked = memory.reserve(LONG_RECORD, more);
            drop(asked.map_err(|error| error.at_line(self.line))?);
        }
        buffer.reserve(step);
        Ok(())
    }

    /// Checks that no quote is open at the end of the file.
    fn check_closed(&self, rest: &[u8]) -> Result<()> {
        if !matches!(self.ends, RecordEnds::Delimited { state: State::Quoted, .. }) {
            return Ok(());
        }
        let n_blank = blank_bytes(rest);
        let expected = "a closing quote for the field that this record opens";
        let error = Error::malformed(self.format.title(), expected, "the end of the file");
        Err(error.at_line(self.line + count_lines(&rest[..n_blank])))
    }
}

/// The length of the blank lines at the beginning: those of carriage returns alone. A carriage
/// return before anything else is text.
pub(super) fn blank_bytes(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        let line = &bytes[length..];
        let n_returns = line.iter().take_while(|&&byte| byte == b'\r').count();
        match line.get(n_returns) {
            Some(b'\n') => length += n_returns + 1,
            Some(_) => return length,
            None => return bytes.len(),
        }
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Finds where records end.
pub(super) enum RecordEnds {
    Lines,
    Delimited { delimiter: u8, state: State },
}

#[derive(Clone, Copy)]
pub(super) enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// A quote in a quoted field: its end, or the first of two.
    QuoteSeen,
}

impl RecordEnds {
    pub(super) fn delimited(delimiter: u8) -> Self {
        RecordEnds::Delimited { delimiter, state: State::FieldStart }
    }

    /// End of the last record that ends in these bytes, which follow those of the previous call.
    fn last_end(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            RecordEnds::Lines => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Delimited { delimiter, state } => {
                let mut last = None;
                for (at, &byte) in bytes.iter().enumerate() {
                    if state.step(byte, *delimiter) {
                        last = Some(at + 1);
                    }
                }
                last
            }
        }
    }

    /// End of the first record that ends in these bytes.
    pub(super) fn first_end(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            RecordEnds::Lines => memchr::memchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Delimited { delimiter, state } => {
                bytes.iter().position(|&byte| state.step(byte, *delimiter)).map(|at| at + 1)
            }
        }
    }
}

impl State {
    /// Advances over a byte; returns whether it ends a record.
    #[inline]
    fn step(&mut self, byte: u8, delimiter: u8) -> bool {
        *self = match (*self, byte) {
            (State::Quoted, b'"') => State::QuoteSeen,
            (State::Quoted, _) => State::Quoted,
            (State::QuoteSeen, b'"') => State::Quoted,
            (State::FieldStart, b'"') => State::Quoted,
            (_, b'\n') => State::FieldStart,
            (_, byte) if byte == delimiter => State::FieldStart,
            _ => State::Unquoted,
        };
        byte == b'\n' && matches!(self, State::FieldStart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a quote after the carriage return would open a field in the header, but not where
    /// records are cut: the header would depend on the size of the chunks.
    #[test]
    fn a_carriage_return_before_text_is_no_blank_line() {
        let blank =
            [("", 0), ("a\n", 0), ("\n\r\n\r\r\na", 6), ("\n\r\"a\nb\"\n", 1), ("\r", 1), ("\n\r\r", 3)];
        for (text, expected) in blank {
            assert_eq!(blank_bytes(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(RecordEnds::delimited(b',').first_end(b"\r\"a\nb\"\n"), Some(4));
    }
}
