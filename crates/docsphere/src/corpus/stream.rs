//! Cuts streams of text into chunks of whole records. Runs on one thread, so it only decompresses
//! and searches for line feeds.
//!
//! In text, the last line feed ends the chunk. In CSV, a line feed may be quoted, so a small state
//! machine tracks the quotes, by the same rules as the crate `csv`: a quote opens a quoted field
//! only at the field's beginning, and two quotes in it are one. It also counts the records, since
//! their numbers are ids.

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use super::dialect::{Dialect, blank_bytes};
use super::format::CorpusFormat;
use super::json_layout::Values;
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

/// Where a chunk begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// The number of its first line, from 1.
    pub(super) line: u64,
    /// The number of values before it, or of records of a table, with its header.
    pub(super) record: u64,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(input: &'a InputContext<'a>, format: CorpusFormat, ends: RecordEnds) -> Self {
        TextStream { input, format, ends, line: input.first_line }
    }

    /// The same for a stream that begins after so many lines of its file.
    pub(super) fn after_lines(mut self, n_lines: u64) -> Self {
        self.line += n_lines;
        self
    }

    /// Cuts the whole stream. `chunk` makes a chunk from whole records and their
    /// start, or returns `None` if they hold no document.
    pub(super) fn cut(
        mut self,
        mut reader: Box<dyn BufRead>,
        send: SendChunk<'_>,
        mut chunk: impl FnMut(Vec<u8>, Start) -> Result<Option<Box<dyn Chunk>>>,
    ) -> Result<ControlFlow<()>> {
        let mut buffer = Vec::new();
        let (mut scanned, mut whole) = (0, 0);
        let mut n_records = 0;
        loop {
            self.make_room(&mut buffer)?;
            let step = self.input.chunk_bytes as u64;
            let n_read = reader.by_ref().take(step).read_to_end(&mut buffer).map_err(read_error)?;
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
                let start = Start { line: self.line, record: n_records };
                self.line += count_lines(&records);
                n_records = self.ends.n_records();
                if let Some(chunk) = chunk(records, start)?
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
        if !matches!(self.ends, RecordEnds::Delimited(DelimitedEnds { state: State::Quoted, .. })) {
            return Ok(());
        }
        let n_blank = blank_bytes(rest);
        let expected = "a closing quote for the field that this record opens";
        let error = Error::malformed(self.format.title(), expected, "the end of the file");
        Err(error.at_line(self.line + count_lines(&rest[..n_blank])))
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Finds where records end.
pub(super) enum RecordEnds {
    Lines,
    Delimited(DelimitedEnds),
    /// Values of JSON.
    Values(Values),
}

/// Finds where the records of a table end.
pub(super) struct DelimitedEnds {
    dialect: Dialect,
    state: State,
    /// Records that have ended, except blank lines.
    n_records: u64,
    /// Bytes of the record that has not ended.
    n_open: usize,
    /// Whether these are a carriage return.
    open_is_return: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// A quote in a quoted field: its end, or the first of two.
    QuoteSeen,
}

impl RecordEnds {
    pub(super) fn delimited(dialect: Dialect) -> Self {
        let (n_records, n_open) = (0, 0);
        let state = State::FieldStart;
        RecordEnds::Delimited(DelimitedEnds { dialect, state, n_records, n_open, open_is_return: false })
    }

    /// End of the last record that ends in these bytes, which follow those of the previous call.
    pub(super) fn last_end(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            RecordEnds::Lines => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Delimited(ends) => ends.scan(bytes, false),
            RecordEnds::Values(values) => values.scan(bytes, false),
        }
    }

    /// End of the first record that ends in these bytes.
    pub(super) fn first_end(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            RecordEnds::Lines => memchr::memchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Delimited(ends) => ends.scan(bytes, true),
            RecordEnds::Values(values) => values.scan(bytes, true),
        }
    }

    /// Records of a table, or values, that have ended; 0 for lines, which are not counted here.
    pub(super) fn n_records(&self) -> u64 {
        match self {
            RecordEnds::Lines => 0,
            RecordEnds::Delimited(ends) => ends.n_records,
            RecordEnds::Values(values) => values.n_values,
        }
    }
}

impl DelimitedEnds {
    /// Advances over bytes and returns the last end of a record in them, or the first if it stops
    /// there.
    fn scan(&mut self, bytes: &[u8], stops: bool) -> Option<usize> {
        let Dialect { delimiter, quote } = self.dialect;
        let mut last = None;
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Quoted {
                let found = memchr::memchr(quote, &bytes[at..]);
                at = found.map_or(bytes.len(), |length| at + length + 1);
                self.state = if found.is_some() { State::QuoteSeen } else { State::Quoted };
                continue;
            }
            // Up to the next quote, every line feed ends a record.
            let found = memchr::memchr(quote, &bytes[at..]);
            let end = found.map_or(bytes.len(), |length| at + length);
            for feed in memchr::memchr_iter(b'\n', &bytes[at..end]).map(|feed| at + feed) {
                self.end_record(&bytes[last.unwrap_or(0)..feed]);
                last = Some(feed + 1);
                if stops {
                    return last;
                }
            }
            if end > at {
                let is_start = [b'\n', delimiter].contains(&bytes[end - 1]);
                self.state = if is_start { State::FieldStart } else { State::Unquoted };
            }
            at = end;
            if found.is_some() {
                let opens = matches!(self.state, State::FieldStart | State::QuoteSeen);
                self.state = if opens { State::Quoted } else { State::Unquoted };
                at += 1;
            }
        }
        let open = &bytes[last.unwrap_or(0)..];
        self.open_is_return = self.n_open + open.len() == 1 && (self.open_is_return || open == b"\r");
        self.n_open += open.len();
        last
    }

    /// Counts a record that ends with these bytes, unless it is a blank line.
    fn end_record(&mut self, bytes: &[u8]) {
        let is_blank = match self.n_open {
            0 => matches!(bytes, b"" | b"\r"),
            1 => bytes.is_empty() && self.open_is_return,
            _ => false,
        };
        self.n_records += u64::from(!is_blank);
        (self.n_open, self.open_is_return) = (0, false);
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
        let comma = Dialect { delimiter: b',', quote: b'"' };
        assert_eq!(RecordEnds::delimited(comma).first_end(b"\r\"a\nb\"\n"), Some(4));
    }

    /// The rules, byte by byte.
    fn slow_ends(bytes: &[u8]) -> (Vec<usize>, u64) {
        let (mut state, mut ends, mut start, mut n_records) = (State::FieldStart, Vec::new(), 0, 0);
        for (at, &byte) in bytes.iter().enumerate() {
            state = match (state, byte) {
                (State::Quoted, b'"') => State::QuoteSeen,
                (State::Quoted, _) => State::Quoted,
                (State::QuoteSeen | State::FieldStart, b'"') => State::Quoted,
                (_, b'\n' | b',') => State::FieldStart,
                _ => State::Unquoted,
            };
            if byte == b'\n' && state == State::FieldStart {
                n_records += u64::from(!matches!(&bytes[start..at], b"" | b"\r"));
                start = at + 1;
                ends.push(start);
            }
        }
        (ends, n_records)
    }

    proptest::proptest! {
        #[test]
        fn records_end_where_the_rules_say_in_any_steps(text in "[a\"\n\r,]{0,24}", step in 1usize..9) {
            let (expected, n_records) = slow_ends(text.as_bytes());
            let comma = Dialect { delimiter: b',', quote: b'"' };
            let mut ends = RecordEnds::delimited(comma);
            let (mut last, mut before) = (None, 0);
            for bytes in text.as_bytes().chunks(step) {
                last = ends.last_end(bytes).map(|end| before + end).or(last);
                before += bytes.len();
            }
            proptest::prop_assert_eq!(last, expected.last().copied());
            proptest::prop_assert_eq!(ends.n_records(), n_records);
            let first = RecordEnds::delimited(comma).first_end(text.as_bytes());
            proptest::prop_assert_eq!(first, expected.first().copied());
        }
    }
}
