//! Cuts streams of text into chunks of whole records. Runs on one thread, so it does no more than
//! unpack and look for line feeds.
//!
//! In a text the last line feed ends the chunk. In CSV a line feed may stand between quotes, so a
//! small machine follows the quotes, by the same rules as the crate `csv`: a quote opens a quoted
//! field only at the field's beginning, and two quotes in it are one.

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use super::document::without_bom;
use super::format::CorpusFormat;
use crate::compression::read_error;
use crate::error::{Error, ErrorKind, Result};

/// What a record that has become so long will take at least: itself, and a copy with other letters.
const RECORD_COPIES: u64 = 1;

/// A stream of text on its way into chunks.
pub(super) struct TextStream<'a> {
    input: &'a InputContext<'a>,
    format: CorpusFormat,
    ends: RecordEnds,
    /// The line that the buffer begins with.
    line: u64,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(input: &'a InputContext<'a>, format: CorpusFormat, ends: RecordEnds) -> Self {
        TextStream { input, format, ends, line: 1 }
    }

    /// Cuts all of it. `chunk` makes a chunk of whole records and the number of their first line,
    /// or nothing if there is no document in them.
    pub(super) fn cut(
        mut self,
        mut reader: Box<dyn BufRead>,
        send: SendChunk<'_>,
        mut chunk: impl FnMut(Vec<u8>, u64) -> Result<Option<Box<dyn Chunk>>>,
    ) -> Result<ControlFlow<()>> {
        let mut buffer = Vec::new();
        let (mut scanned, mut whole, mut at_start) = (0, 0, true);
        loop {
            self.make_room(&mut buffer)?;
            // At first at least a whole byte order mark.
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

    /// Room for one more chunk. Asks if the buffer holds a long record already.
    fn make_room(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let (step, memory) = (self.input.chunk_bytes, &self.input.options.memory);
        if buffer.len() + step > LONG_BYTES {
            // Others may hold memory for a while: long records that are being parsed.
            let more = step as u64 + RECORD_COPIES * buffer.len() as u64;
            let asked = memory.reserve(LONG_RECORD, more);
            drop(asked.map_err(|error| error.at_line(self.line))?);
        }
        buffer.reserve(step);
        Ok(())
    }

    /// At the end of the file no quote may be open.
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

/// The length of the blank lines at the beginning.
pub(super) fn blank_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count()
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

    /// Behind the last record that ends in these bytes, which follow those of the call before.
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

    /// Behind the first record that ends in these bytes.
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
    /// Moves over a byte; whether it ends a record.
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
