//! Cuts streams of text into chunks of whole records. Runs on one thread, so it only decompresses
//! and searches for line feeds.
//!
//! In text, the last line feed ends the chunk. In CSV, a line feed may be quoted (`records.rs`);
//! records are counted there, too, since their numbers are ids.

use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use super::format::CorpusFormat;
use super::json_layout::Values;
use super::records::{PLAIN_QUOTES, TableEnds};
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
            let step = self.input.chunk_bytes;
            let n_read = read_up_to(&mut *reader, step, &mut buffer).map_err(read_error)?;
            whole = self.ends.last_end(&buffer, scanned, n_read == 0).unwrap_or(whole);
            scanned = buffer.len();
            if n_read == 0 {
                self.check_closed(&buffer)?;
                whole = buffer.len();
            }
            if whole > 0 {
                let rest = buffer[whole..].to_vec();
                buffer.truncate(whole);
                if n_read > 0 {
                    self.ends.forget(whole);
                }
                scanned = rest.len();
                whole = 0;
                let mut records = std::mem::replace(&mut buffer, rest);
                // The chunk of a small file would keep room for a large one while it waits.
                if records.capacity() > 2 * records.len() {
                    records.shrink_to_fit();
                }
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
        let RecordEnds::Table(ends) = &self.ends else { return Ok(()) };
        let Some(open) = ends.open_at() else { return Ok(()) };
        let expected = "a closing quote for the field that begins with a quote on this line";
        let found = format!("the end of the file; {PLAIN_QUOTES}");
        let error = Error::malformed(self.format.title(), expected, found);
        Err(error.at_line(self.line + count_lines(&rest[..open])))
    }
}

/// Bytes that are asked for first.
const FIRST_BYTES: usize = 1 << 16;

/// Appends up to `step` bytes, fewer only at the end. Asks for more and more at a time, which a
/// decompressor writes in place; so a small file touches little memory.
fn read_up_to(reader: &mut dyn Read, step: usize, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let start = buffer.len();
    let mut end = start;
    loop {
        let n_read = end - start;
        if n_read == step {
            break;
        }
        buffer.resize(start + step.min(n_read + n_read.max(FIRST_BYTES)), 0);
        let (n_read, result) = read_into(reader, &mut buffer[end..]);
        end += n_read;
        result?;
        if end < buffer.len() {
            break;
        }
    }
    buffer.truncate(end);
    Ok(end - start)
}

/// Fills a buffer, as far as there are bytes. Returns how many there were, also before an error.
pub(super) fn read_into(reader: &mut dyn Read, buffer: &mut [u8]) -> (usize, io::Result<()>) {
    let mut end = 0;
    while end < buffer.len() {
        match reader.read(&mut buffer[end..]) {
            Ok(0) => break,
            Ok(n_read) => end += n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (end, Err(error)),
        }
    }
    (end, Ok(()))
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Finds where records end.
pub(super) enum RecordEnds {
    Lines,
    Table(TableEnds),
    /// Values of JSON.
    Values(Values),
}

impl RecordEnds {
    /// End of the last record that ends in the bytes from `scanned` on; those before have been
    /// scanned. `is_last` says that no more bytes follow.
    fn last_end(&mut self, bytes: &[u8], scanned: usize, is_last: bool) -> Option<usize> {
        let rest = &bytes[scanned..];
        match self {
            RecordEnds::Lines => memchr::memrchr(b'\n', rest).map(|at| scanned + at + 1),
            RecordEnds::Table(ends) => ends.scan(bytes, false, is_last),
            RecordEnds::Values(values) => values.scan(rest, false).map(|at| scanned + at),
        }
    }

    /// Forgets so many bytes at the beginning, all of them in records that have ended.
    fn forget(&mut self, length: usize) {
        if let RecordEnds::Table(ends) = self {
            ends.forget(length);
        }
    }

    /// Records of a table, or values, that have ended; 0 for lines, which are not counted here.
    fn n_records(&self) -> u64 {
        match self {
            RecordEnds::Lines => 0,
            RecordEnds::Table(ends) => ends.n_records(),
            RecordEnds::Values(values) => values.n_values,
        }
    }
}
