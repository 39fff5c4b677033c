//! CSV and TSV with a header.

use std::io::{BufRead, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, SendChunk};
use super::document::{ChunkTally, Document, Emit, NumberedId, field_list, lossy_bytes};
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use super::stream::{RecordEnds, TextStream, blank_bytes, count_lines};
use crate::error::{Error, ErrorKind, Result};

/// The content of the header.
#[derive(Debug)]
struct Table {
    format: CorpusFormat,
    n_columns: usize,
    text_columns: Vec<usize>,
    id_column: Option<usize>,
}

impl Table {
    /// Finds the wanted columns in the bytes of the header record.
    fn from_header(bytes: &[u8], format: CorpusFormat, options: &CorpusOptions) -> Result<Table> {
        let mut record = csv::ByteRecord::new();
        let read = reader(format, bytes).read_byte_record(&mut record);
        read.map_err(|error| bad_record(format, "a header", error))?;
        let name = |column| String::from_utf8_lossy(field(&record, column)).trim().to_owned();
        let names: Vec<String> = (0..record.len()).map(name).collect();
        let column = |field: &str| names.iter().position(|name| name == field);
        let required = |field: &String, option| {
            column(field).ok_or_else(|| {
                let found = field_list(&names);
                Error::from(ErrorKind::MissingField { field: field.clone(), option, found })
            })
        };
        let text_columns: Result<_> =
            options.text_fields.iter().map(|field| required(field, "text_fields")).collect();
        let id_column = match &options.id_field {
            Some(field) => Some(required(field, "id_field")?),
            None => column("id"),
        };
        Ok(Table { format, n_columns: names.len(), text_columns: text_columns?, id_column })
    }
}

/// Cuts a stream of records that follow a header.
pub(super) fn cut(
    format: CorpusFormat,
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let ends = || RecordEnds::delimited(delimiter(format));
    let mut table: Option<Arc<Table>> = None;
    TextStream::new(input, format, ends()).cut(reader, send, |mut bytes, mut line| {
        if table.is_none() {
            let n_blank = blank_bytes(&bytes);
            let header = &bytes[n_blank..];
            if header.is_empty() {
                return Ok(None);
            }
            let length = ends().first_end(header).unwrap_or(header.len());
            line += count_lines(&bytes[..n_blank]);
            if length > LONG_BYTES {
                // One name per field, of which there may be one per byte.
                let asked = input.options.memory.check(LONG_RECORD, 64 * length as u64);
                asked.map_err(|error| error.at_line(line))?;
            }
            let found = Table::from_header(&header[..length], format, input.options);
            table = Some(Arc::new(found.map_err(|error| error.at_line(line))?));
            line += count_lines(&header[..length]);
            bytes.drain(..n_blank + length);
        }
        let table = table.as_ref().filter(|_| !bytes.is_empty()).map(Arc::clone);
        Ok(table.map(|table| -> Box<dyn Chunk> { Box::new(Records { bytes, first_line: line, table }) }))
    })
}

/// Records of a table.
struct Records {
    bytes: Vec<u8>,
    first_line: u64,
    table: Arc<Table>,
}

impl Chunk for Records {
    fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn first_line(&self) -> Option<u64> {
        Some(self.first_line)
    }

    fn parse_bytes(&self) -> u64 {
        // The fields, the end of each, and the text.
        let n_fields = memchr::memchr_iter(delimiter(self.table.format), &self.bytes).count();
        3 * self.bytes.len() as u64 + 24 * n_fields as u64 + lossy_bytes(&self.bytes)
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let (table, bytes) = (&*self.table, &self.bytes[..]);
        let mut tally = ChunkTally::default();
        let mut numbered = NumberedId::new(input.id_prefix);
        // The parser drops a byte order mark at its start, which within a file is text. It also
        // skips blank lines.
        let n_before = usize::from(bytes.starts_with("\u{feff}".as_bytes()));
        let mut reader = reader(table.format, b"\n"[..n_before].chain(bytes));
        let mut record = csv::ByteRecord::new();
        let mut text = Vec::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| bad_record(table.format, "a record", error))?
        {
            let (number, start) = self.start_of(&record, n_before);
            if record.len() == 1 && field(&record, 0).is_empty() && bytes[start] == b'\r' {
                continue; // a blank line; the reader skips those without a carriage return
            }
            if record.len() != table.n_columns {
                let expected = format!("{} fields, as in the header", table.n_columns);
                let error = bad_record(table.format, expected, record.len());
                tally.bad_record(input.options, error.at_line(number))?;
                continue;
            }
            text.clear();
            for (position, &column) in table.text_columns.iter().enumerate() {
                text.extend_from_slice(if position == 0 { b"" } else { b"\n" });
                text.extend_from_slice(field(&record, column));
            }
            let text = tally.text(&text);
            let own = table.id_column.map(|column| String::from_utf8_lossy(field(&record, column)));
            let id = match &own {
                Some(id) if !id.is_empty() => id,
                _ => numbered.with(number),
            };
            tally.n_documents += 1;
            emit(Document { id, text: &text })?;
        }
        Ok(tally)
    }
}

impl Records {
    /// The line of the file on which a record begins, and its first byte in the chunk. The reader
    /// saw `n_before` blank lines before the chunk.
    fn start_of(&self, record: &csv::ByteRecord, n_before: usize) -> (u64, usize) {
        let position = record.position().expect("read by a reader");
        // The reader's position is before the blank lines that it skipped.
        let (from, line) = match position.byte() as usize {
            0 => (0, 0),
            from => (from - n_before, position.line() - 1 - n_before as u64),
        };
        let n_blank = self.bytes[from..].iter().take_while(|&&byte| byte == b'\n').count();
        (self.first_line + line + n_blank as u64, from + n_blank)
    }
}

fn delimiter(format: CorpusFormat) -> u8 {
    if format == CorpusFormat::Tsv { b'\t' } else { b',' }
}

/// A reader of records that end in line feeds; a carriage return before one is left to [`field`].
fn reader<R: Read>(format: CorpusFormat, bytes: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter(format))
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(bytes)
}

/// A field of a record, the last without its carriage return.
fn field(record: &csv::ByteRecord, position: usize) -> &[u8] {
    match &record[position] {
        [head @ .., b'\r'] if position + 1 == record.len() => head,
        field => field,
    }
}

fn bad_record(format: CorpusFormat, expected: impl Into<String>, found: impl ToString) -> Error {
    ErrorKind::Record { format: format.title(), expected: expected.into(), found: found.to_string() }.into()
}
