//! CSV and TSV with a header. `dialect.rs` finds what separates and quotes the fields.
//!
//! The id of a record without an id field is its number below the header. Messages name the line on
//! which it begins.
//!
//! Lines end with a line feed, perhaps after a carriage return. If a table begins with carriage
//! returns and no line feed, as old programs of the Macintosh wrote it, they end its lines.

use std::borrow::Cow;
use std::io::{self, BufRead, Cursor, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, SendChunk};
use super::dialect::{blank_bytes, header_names, separator_line};
use super::document::{ChunkTally, Document, Emit, NumberedId, lossy_bytes};
use super::field_names::{find_field, find_required};
use super::format::CorpusFormat;
use super::kept::Kept;
use super::options::CorpusOptions;
use super::records::{Dialect, Fields, PLAIN_QUOTES, RecordReader, RecordSpan, TableEnds};
use super::stream::{RecordEnds, Start, TextStream, count_lines};
use crate::compression::read_error;
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
        let mut fields = Fields::default();
        RecordReader::new(dialect, bytes).next_record(&mut fields);
        let names = header_names(&fields);
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

/// Bytes in which a line end is searched.
const LINE_END_BYTES: u64 = 1 << 16;

/// The same table, with line feeds if its lines end with carriage returns alone.
fn with_line_feeds(mut reader: Box<dyn BufRead>) -> Result<Box<dyn BufRead>> {
    let mut start = Vec::new();
    reader.by_ref().take(LINE_END_BYTES).read_to_end(&mut start).map_err(read_error)?;
    let ends_with_returns = start.contains(&b'\r') && !start.contains(&b'\n');
    let reader = Cursor::new(start).chain(reader);
    Ok(match ends_with_returns {
        true => Box::new(io::BufReader::new(LineFeeds(reader))),
        false => Box::new(reader),
    })
}

/// A stream with a line feed in place of every carriage return.
struct LineFeeds<R>(R);

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.0.read(buffer)?;
        for byte in buffer[..n_read].iter_mut().filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
        Ok(n_read)
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
        CorpusFormat::Sheet => (Dialect::quoted(b',', b'"'), reader),
        _ => Dialect::find(format, with_line_feeds(reader)?, input.options)?,
    };
    let ends = || TableEnds::new(dialect);
    let mut table: Option<Arc<Table>> = None;
    // Records above the table: the header, and a line that names the delimiter.
    let mut n_above = 0;
    let stream = TextStream::new(input, format, RecordEnds::Table(ends()));
    stream.cut(reader, send, |mut bytes, Start { mut line, record }| {
        while table.is_none() {
            let n_blank = blank_bytes(&bytes);
            line += count_lines(&bytes[..n_blank]);
            // Several carriage returns are a record elsewhere.
            let mut blank = ends();
            blank.scan(&bytes[..n_blank], false, true);
            n_above += blank.n_records();
            bytes.drain(..n_blank);
            if bytes.is_empty() {
                return Ok(None);
            }
            let mut length = ends().scan(&bytes, true, true).unwrap_or(bytes.len());
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
        let table = &*self.table;
        // A table has all fields or none.
        let mut tally = ChunkTally { found_fields: u128::MAX, ..ChunkTally::default() };
        let mut numbered = NumberedId::new(input.id_prefix);
        let mut reader = RecordReader::new(table.dialect, &self.bytes);
        let mut fields = Fields::default();
        let mut joined = Vec::new();
        let mut number = self.first_record - 1;
        while let Some(place) = reader.next_record(&mut fields) {
            number += 1;
            if !self.fit(&mut fields, place) {
                let error = self.bad_record(&fields, place);
                tally.bad_record(input.options, error.at_line(self.first_line + place.line))?;
                continue;
            }
            tally.n_stray_quotes += fields.n_stray;
            let text = match table.text_columns[..] {
                [column] => fields.get(column),
                ref columns => {
                    joined.clear();
                    for (position, &column) in columns.iter().enumerate() {
                        joined.extend_from_slice(if position == 0 { b"" } else { b"\n" });
                        joined.extend_from_slice(fields.get(column));
                    }
                    &joined
                }
            };
            let text = tally.text(text);
            let own = table.id_column.map(|column| String::from_utf8_lossy(fields.get(column)));
            let id = match &own {
                Some(id) if !id.is_empty() => id,
                _ => numbered.with(number),
            };
            tally.n_documents += 1;
            let place =
                if table.format == CorpusFormat::Sheet { number } else { self.first_line + place.line };
            let values: Vec<Cow<'_, str>> =
                table.kept.iter().map(|&(_, column)| String::from_utf8_lossy(fields.get(column))).collect();
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
    /// Whether a record has as many fields as the header. A line that has them only without its
    /// quotes is read so: they enclose no fields.
    fn fit<'a>(&'a self, fields: &mut Fields<'a>, place: RecordSpan) -> bool {
        let Table { dialect, n_columns, .. } = *self.table;
        if fields.fit(n_columns) {
            return true;
        }
        let Some(quote) = dialect.quote.filter(|_| dialect.rows.is_some() && place.n_lines == 1) else {
            return false;
        };
        let line = &self.bytes[place.start..place.end];
        if memchr::memchr(quote, line).is_none() {
            return false;
        }
        let mut unquoted = Fields::default();
        unquoted.take_unquoted(line, dialect.delimiter);
        let fits = unquoted.len() == n_columns;
        if fits {
            *fields = unquoted;
            fields.n_stray = 1;
        }
        fits
    }

    fn bad_record(&self, fields: &Fields<'_>, place: RecordSpan) -> Error {
        let Table { format, n_columns, .. } = *self.table;
        let expected = format!("{n_columns} fields, as in the header");
        let found = match place.n_lines {
            1 => fields.len().to_string(),
            n_lines => format!("{} over {n_lines} lines ({PLAIN_QUOTES})", fields.len()),
        };
        ErrorKind::Record { format: format.title(), expected, found }.into()
    }
}
