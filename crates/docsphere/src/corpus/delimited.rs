//! CSV and TSV with a header. `dialect.rs` finds what separates and quotes the fields.
//!
//! The id of a record without an id field is its number below the header. Messages name the line on
//! which it begins.

use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, SendChunk};
use super::dialect::{Dialect, blank_bytes, field, header_names, separator_line};
use super::document::{ChunkTally, Document, Emit, NumberedId, find_field, find_required, lossy_bytes};
use super::format::CorpusFormat;
use super::kept::Kept;
use super::options::CorpusOptions;
use super::stream::{RecordEnds, Start, TextStream, count_lines};
use crate::error::{Error, ErrorKind, Result};

/// The content of the header.
#[derive(Debug)]
struct Table {
    format: CorpusFormat,
    dialect: Dialect,
    n_columns: usize,
    text_columns: Vec<usize>,
    id_column: Option<usize>,
    /// The kept columns with their names.
    kept: Vec<(String, usize)>,
}

impl Table {
    /// Finds the wanted columns in the bytes of the header record.
    fn from_header(
        bytes: &[u8],
        format: CorpusFormat,
        dialect: Dialect,
        options: &CorpusOptions,
    ) -> Result<Table> {
        let mut record = csv::ByteRecord::new();
        let read = dialect.reader(bytes).read_byte_record(&mut record);
        read.map_err(|error| bad_record(format, "a header", error))?;
        let names = header_names(&record);
        let required = |field: &String, option| find_required(&names, field, option);
        let text_columns: Result<Vec<usize>> =
            options.text_fields.iter().map(|field| required(field, "text_fields")).collect();
        let id_column = match &options.id_field {
            Some(field) => Some(required(field, "id_field")?),
            None => find_field(&names, "id"),
        };
        let text_columns = text_columns?;
        let taken: Vec<usize> = text_columns.iter().copied().chain(id_column).collect();
        let kept = options.keep.of_table(&names, &taken)?;
        Ok(Table { format, dialect, n_columns: names.len(), text_columns, id_column, kept })
    }
}

/// Cuts a stream of records that follow a header.
pub(super) fn cut(
    format: CorpusFormat,
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let (dialect, reader) = match format {
        CorpusFormat::Sheet => (Dialect { delimiter: b',', quote: b'"' }, reader),
        _ => Dialect::find(format, reader, input.options)?,
    };
    let ends = || RecordEnds::delimited(dialect);
    let mut table: Option<Arc<Table>> = None;
    // Records above the table: the header, and a line that names the delimiter.
    let mut n_above = 0;
    TextStream::new(input, format, ends()).cut(reader, send, |mut bytes, Start { mut line, record }| {
        while table.is_none() {
            let n_blank = blank_bytes(&bytes);
            line += count_lines(&bytes[..n_blank]);
            // Several carriage returns are a record elsewhere.
            let mut blank = ends();
            blank.last_end(&bytes[..n_blank]);
            n_above += blank.n_records();
            bytes.drain(..n_blank);
            if bytes.is_empty() {
                return Ok(None);
            }
            let mut length = ends().first_end(&bytes).unwrap_or(bytes.len());
            let separator = separator_line(&bytes).filter(|_| n_above == 0 && format != CorpusFormat::Sheet);
            n_above += 1;
            if let Some((_, n_bytes)) = separator {
                length = n_bytes;
            } else {
                if length > LONG_BYTES {
                    // One name per field, of which there may be one per byte.
                    let asked = input.options.memory.check(LONG_RECORD, 64 * length as u64);
                    asked.map_err(|error| error.at_line(line))?;
                }
                let found = Table::from_header(&bytes[..length], format, dialect, input.options);
                table = Some(Arc::new(found.map_err(|error| error.at_line(line))?));
            }
            line += count_lines(&bytes[..length]);
            bytes.drain(..length);
        }
        let table = table.as_ref().filter(|_| !bytes.is_empty()).map(Arc::clone);
        // The header may be in this chunk or in an earlier one.
        let first_record = (record + 1).saturating_sub(n_above).max(1);
        Ok(table.map(|table| -> Box<dyn Chunk> {
            Box::new(Records { bytes, first_line: line, first_record, table })
        }))
    })
}

/// Records of a table.
struct Records {
    bytes: Vec<u8>,
    first_line: u64,
    /// The number of the first record, from 1.
    first_record: u64,
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
        let n_fields = memchr::memchr_iter(self.table.dialect.delimiter, &self.bytes).count();
        3 * self.bytes.len() as u64 + 24 * n_fields as u64 + lossy_bytes(&self.bytes)
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let (table, bytes) = (&*self.table, &self.bytes[..]);
        // A table has all fields or none.
        let mut tally = ChunkTally { found_fields: u128::MAX, ..ChunkTally::default() };
        let mut numbered = NumberedId::new(input.id_prefix);
        // The parser drops a byte order mark at its start, which within a file is text. It also
        // skips blank lines.
        let n_before = usize::from(bytes.starts_with("\u{feff}".as_bytes()));
        let mut reader = table.dialect.reader(b"\n"[..n_before].chain(bytes));
        let mut record = csv::ByteRecord::new();
        let mut text = Vec::new();
        let mut record_number = self.first_record - 1;
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| bad_record(table.format, "a record", error))?
        {
            let (line, start) = self.start_of(&record, n_before);
            if record.len() == 1 && field(&record, 0).is_empty() && bytes[start] == b'\r' {
                continue; // a blank line; the reader skips those without a carriage return
            }
            record_number += 1;
            if record.len() != table.n_columns {
                let expected = format!("{} fields, as in the header", table.n_columns);
                let error = bad_record(table.format, expected, record.len());
                tally.bad_record(input.options, error.at_line(line))?;
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
                _ => numbered.with(record_number),
            };
            tally.n_documents += 1;
            let place = if table.format == CorpusFormat::Sheet { record_number } else { line };
            let values: Vec<Cow<'_, str>> = table
                .kept
                .iter()
                .map(|&(_, column)| String::from_utf8_lossy(field(&record, column)))
                .collect();
            let values: Vec<(&str, &str)> = table
                .kept
                .iter()
                .zip(&values)
                .map(|((name, _), value)| (&name[..], value.trim()))
                .filter(|(_, value)| !value.is_empty())
                .collect();
            emit(Document { id, text: &text, kept: Kept::new(&values, place) })?;
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

fn bad_record(format: CorpusFormat, expected: impl Into<String>, found: impl ToString) -> Error {
    ErrorKind::Record { format: format.title(), expected: expected.into(), found: found.to_string() }.into()
}
