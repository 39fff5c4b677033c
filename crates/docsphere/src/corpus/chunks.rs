//! Cuts inputs into chunks of whole records. Runs on one thread, so it does no more than unpack and look for line feeds.
//!
//! In a text the last line feed ends the chunk. In CSV a line feed may stand between quotes, so a small machine follows the quotes, by the same
//! rules as the crate `csv`: a quote opens a quoted field only at the field's beginning, and two quotes in it are one.

use std::io::{BufRead, Read};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::delimited::Table;
use super::input::{Corpus, Input, Source};
use super::options::CorpusFormat;
use super::parquet_input;
use super::parse::without_bom;
use crate::compression::{open_counted, read_error};
use crate::error::{Error, ErrorKind, Result};

/// The size of a chunk, unless a record is longer.
pub(super) const CHUNK_BYTES: usize = 1 << 21;

/// What takes the memory, for messages.
pub(super) const LONG_RECORD: &str = "a long record";

/// The longest record.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 30;

/// A chunk longer than this holds a long record: what it needs is asked for, record by record.
pub(super) const LONG_BYTES: usize = 2 * CHUNK_BYTES;

/// What a record that has become so long will take at least: itself, and a copy with other letters.
const RECORD_COPIES: u64 = 1;

/// Whole records of one input.
pub(super) struct Chunk {
    /// The number of the input.
    pub(super) input: usize,
    pub(super) content: Content,
}

impl Chunk {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.content, Content::Text { .. })
    }

    /// The line that the chunk begins with.
    pub(super) fn first_line(&self) -> Option<u64> {
        match self.content {
            Content::Text { first_line, .. } => Some(first_line),
            Content::Files(_) | Content::Rows(_) => None,
        }
    }

    /// Bytes that wait to be parsed. Files are read later, about as much of them as a chunk has.
    pub(super) fn n_bytes(&self) -> usize {
        match &self.content {
            Content::Text { bytes, .. } => bytes.len(),
            Content::Files(_) => CHUNK_BYTES,
            Content::Rows(rows) => rows.n_bytes(),
        }
    }
}

pub(super) enum Content {
    /// Whole lines; or, with a table, whole records of it.
    Text { bytes: Vec<u8>, first_line: u64, table: Option<Arc<Table>> },
    /// Files of a folder.
    Files(Range<usize>),
    /// Rows of a Parquet file.
    Rows(parquet_input::Rows),
}

/// Takes the chunks; `Break` when no more are wanted.
pub(super) type Send<'a> = &'a mut dyn FnMut(Chunk) -> ControlFlow<()>;

/// Cuts all inputs, in order.
pub(super) fn cut(corpus: &Corpus, n_bytes: &Arc<AtomicU64>, send: Send<'_>) -> Result<()> {
    for (number, input) in corpus.inputs.iter().enumerate() {
        let flow = cut_input(corpus, number, input, n_bytes, send);
        if flow.map_err(|error| error.at_path(&input.path))?.is_break() {
            break;
        }
    }
    Ok(())
}

fn cut_input(
    corpus: &Corpus,
    number: usize,
    input: &Input,
    n_bytes: &Arc<AtomicU64>,
    send: Send<'_>,
) -> Result<ControlFlow<()>> {
    let mut send = |content| send(Chunk { input: number, content });
    if let Source::Folder(files) = &input.source {
        let mut start = 0;
        while start < files.len() {
            let mut size = 0;
            let full = |file: &super::folder::FolderFile| {
                size += file.n_bytes + 256; // opening a file costs something too
                size >= corpus.chunk_bytes as u64
            };
            let length = files[start..].iter().position(full).map_or(files.len() - start, |last| last + 1);
            if send(Content::Files(start..start + length)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            start += length;
        }
        return Ok(ControlFlow::Continue(()));
    }
    if input.format == CorpusFormat::Parquet {
        let (options, chunk_bytes) = (&corpus.options, corpus.chunk_bytes);
        let mut send = |rows| send(Content::Rows(rows));
        return parquet_input::cut(input.file(), options, chunk_bytes, n_bytes, &mut send);
    }
    let reader = open_counted(input.file(), Arc::clone(n_bytes))
        .map_err(|error| rename(error, input.file(), &input.path))?;
    let stream = Stream {
        corpus,
        format: input.format,
        ends: match input.format {
            CorpusFormat::Csv => RecordEnds::delimited(b','),
            CorpusFormat::Tsv => RecordEnds::delimited(b'\t'),
            _ => RecordEnds::Lines,
        },
        line: 1,
        table: None,
    };
    stream.cut(reader, &mut send)
}

/// An error about a spooled file is an error about what was spooled.
fn rename(error: Error, file: &Path, shown: &Path) -> Error {
    if file == shown { error } else { error.with_path(shown) }
}

/// A stream of text on its way into chunks.
struct Stream<'a> {
    corpus: &'a Corpus,
    format: CorpusFormat,
    ends: RecordEnds,
    /// The line that the buffer begins with.
    line: u64,
    table: Option<Arc<Table>>,
}

impl Stream<'_> {
    fn cut(
        mut self,
        mut reader: Box<dyn BufRead>,
        send: &mut dyn FnMut(Content) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut buffer = Vec::new();
        let (mut scanned, mut whole, mut at_start) = (0, 0, true);
        loop {
            self.make_room(&mut buffer)?;
            // At first at least a whole byte order mark.
            let step = self.corpus.chunk_bytes.max(if at_start { 3 } else { 1 }) as u64;
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
                if self.send(std::mem::replace(&mut buffer, rest), send)?.is_break() {
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
        let (step, memory) = (self.corpus.chunk_bytes, &self.corpus.options.memory);
        if buffer.len() + step > LONG_BYTES {
            // Others may hold memory for a while: long records that are being parsed.
            let more = step as u64 + RECORD_COPIES * buffer.len() as u64;
            let asked = memory.reserve(LONG_RECORD, more);
            drop(asked.map_err(|error| error.at_line(self.line))?);
        }
        buffer.reserve(step);
        Ok(())
    }

    fn send(
        &mut self,
        mut bytes: Vec<u8>,
        send: &mut dyn FnMut(Content) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let is_table = matches!(self.format, CorpusFormat::Csv | CorpusFormat::Tsv);
        if is_table && self.table.is_none() {
            let n_blank = bytes.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count();
            let header = &bytes[n_blank..];
            if header.is_empty() {
                self.line += count_lines(&bytes);
                return Ok(ControlFlow::Continue(()));
            }
            let length = self.ends.fresh().first_end(header).unwrap_or(header.len());
            self.line += count_lines(&bytes[..n_blank]);
            if length > LONG_BYTES {
                // A name for each of the fields, of which there may be one per byte.
                let memory = &self.corpus.options.memory;
                memory.check(LONG_RECORD, 64 * length as u64).map_err(|error| error.at_line(self.line))?;
            }
            let table = Table::from_header(&header[..length], self.format, &self.corpus.options)
                .map_err(|error| error.at_line(self.line))?;
            self.table = Some(Arc::new(table));
            self.line += count_lines(&header[..length]);
            bytes.drain(..n_blank + length);
        }
        if bytes.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let first_line = self.line;
        self.line += count_lines(&bytes);
        Ok(send(Content::Text { bytes, first_line, table: self.table.clone() }))
    }

    /// At the end of the file no quote may be open.
    fn check_closed(&self, rest: &[u8]) -> Result<()> {
        if !matches!(self.ends, RecordEnds::Delimited { state: State::Quoted, .. }) {
            return Ok(());
        }
        let n_blank = rest.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count();
        let expected = "a closing quote for the field that this record opens";
        let error = Error::malformed(self.format.title(), expected, "the end of the file");
        Err(error.at_line(self.line + count_lines(&rest[..n_blank])))
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Finds where records end.
enum RecordEnds {
    Lines,
    Delimited { delimiter: u8, state: State },
}

#[derive(Clone, Copy)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// A quote in a quoted field: its end, or the first of two.
    QuoteSeen,
}

impl RecordEnds {
    fn delimited(delimiter: u8) -> Self {
        RecordEnds::Delimited { delimiter, state: State::FieldStart }
    }

    /// The same from the beginning.
    fn fresh(&self) -> Self {
        match self {
            RecordEnds::Lines => RecordEnds::Lines,
            RecordEnds::Delimited { delimiter, .. } => RecordEnds::delimited(*delimiter),
        }
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
    fn first_end(&mut self, bytes: &[u8]) -> Option<usize> {
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
