//! CSV and TSV with a header.

use super::input::{Corpus, Input};
use super::options::{CorpusFormat, CorpusOptions};
use super::parse::{ChunkTally, Document, Emit, NumberedId, field_list};
use crate::error::{Error, ErrorKind, Result};

/// What the header says.
#[derive(Debug)]
pub(super) struct Table {
    format: CorpusFormat,
    n_columns: usize,
    text_columns: Vec<usize>,
    id_column: Option<usize>,
}

impl Table {
    /// Finds the wanted columns in the bytes of the header record.
    pub(super) fn from_header(bytes: &[u8], format: CorpusFormat, options: &CorpusOptions) -> Result<Table> {
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

/// Parses the records of a table.
pub(super) struct Records<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) input: &'a Input,
    pub(super) table: &'a Table,
    pub(super) first_line: u64,
}

impl Records<'_> {
    pub(super) fn parse(&self, bytes: &[u8], emit: Emit<'_>) -> Result<ChunkTally> {
        let table = self.table;
        let mut tally = ChunkTally::default();
        let mut numbered = NumberedId::new(&self.input.id_prefix);
        let mut reader = reader(table.format, bytes);
        let mut record = csv::ByteRecord::new();
        let mut text = Vec::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| bad_record(table.format, "a record", error))?
        {
            let (number, start) = self.start_of(&record, bytes);
            if record.len() == 1 && field(&record, 0).is_empty() && bytes[start] == b'\r' {
                continue; // a blank line; the reader skips those without a carriage return
            }
            if record.len() != table.n_columns {
                let expected = format!("{} fields, as in the header", table.n_columns);
                let error = bad_record(table.format, expected, record.len());
                tally.bad_record(self.corpus, error.at_line(number))?;
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

    /// The line of the file on which a record begins, and its first byte in the chunk.
    fn start_of(&self, record: &csv::ByteRecord, bytes: &[u8]) -> (u64, usize) {
        let position = record.position().expect("read by a reader");
        // The reader's position is before the blank lines that it skipped.
        let from = position.byte() as usize;
        let n_blank = bytes[from..].iter().take_while(|&&byte| byte == b'\n').count();
        (self.first_line + position.line() - 1 + n_blank as u64, from + n_blank)
    }
}

/// A reader of records that end in line feeds; a carriage return before one is left to [`field`].
fn reader(format: CorpusFormat, bytes: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(if format == CorpusFormat::Tsv { b'\t' } else { b',' })
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
