//! Kept columns: what the fields of records beside id and text mean.
//!
//! While documents are read, raw values are written to a file
//! ([`ColumnStoreWriter`](crate::ColumnStoreWriter)). Then one pass over the file decides what each
//! column is ([`KeptColumns::recognise`]; rules in `reading.rs`): dates, numbers, categories,
//! addresses or text. Later passes return typed values, document by document, and count them by
//! cluster.
//!
//! Clustering does not know of columns: labels, centroids and the objective are the same bits with
//! and without them.
//!
//! # Cost
//!
//! Memory: none per document; up to 500 kB per column while columns are recognised; the blocks of
//! the file that are read. Disk: the values once, compressed, until the result is written. Time:
//! one pass over the values on one thread.

mod date;
mod number;
mod reading;
mod timeline;

use crate::error::{ErrorKind, Result};
use crate::memory::MemoryLimit;
use crate::store::{ColumnRows, ColumnStore, StoredRow};

pub use date::Moment;
pub use reading::{ColumnKind, ColumnReading, ColumnValue, DateForm, host};
pub use timeline::{TimeStep, Timeline};

use reading::{COUNTS_BYTES, ColumnCounts, Recognised};

/// What takes the memory, for messages.
const COLUMNS: &str = "the kept columns";

/// A column, as it was recognised.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// Its name in the input.
    pub name: String,
    /// How its values are read.
    pub reading: ColumnReading,
    /// Documents that have a value.
    pub n_values: u64,
    /// Those of them whose value is not what the column is.
    pub n_bad: u64,
    /// The first of these.
    pub first_bad: Option<BadCell>,
    /// Dates that could be read both day first and month first, if none of them decides.
    pub n_undecided: u64,
    /// The first and last date, in microseconds since 1970, or the least and greatest number.
    pub range: Option<(f64, f64)>,
    /// The distinct values of a category, or the hosts of addresses, with their counts: the most
    /// frequent first. `None` for other kinds, or if there are too many.
    pub values: Option<Vec<(String, u64)>>,
}

/// A value that is not what its column is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadCell {
    /// The number of the document in the corpus, from 0.
    pub doc: u64,
    /// Where the document is in the input: `notes.csv:17`.
    pub place: String,
    /// The value; of a long one, the beginning.
    pub value: String,
}

/// Characters that are told of a bad value.
const BAD_CHARS: usize = 100;

/// The kept columns of a corpus: their values in a file, and what they mean.
#[derive(Debug)]
pub struct KeptColumns {
    store: ColumnStore,
    columns: Vec<Column>,
}

impl KeptColumns {
    /// Reads all values once and decides what each column is. `date_field` names the column that
    /// must hold dates.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if no value of the named column is a date;
    /// [`ErrorKind::MissingField`] if there is no such column; [`ErrorKind::Memory`]; a file that
    /// cannot be read.
    pub fn recognise(store: ColumnStore, date_field: Option<&str>, memory: &MemoryLimit) -> Result<Self> {
        let date_column = date_field.map(|name| store.find(name, "date_field")).transpose()?;
        memory.check(COLUMNS, COUNTS_BYTES * store.names().len() as u64)?;
        let mut counts = vec![ColumnCounts::default(); store.names().len()];
        let mut first_value = String::new();
        let mut rows = store.rows();
        while let Some(row) = rows.next_row()? {
            for (column, raw) in row.values() {
                counts[column].add(raw, Some(column) == date_column);
                if Some(column) == date_column && first_value.is_empty() {
                    raw.clone_into(&mut first_value);
                }
            }
        }
        drop(rows);
        let mut columns = Vec::with_capacity(counts.len());
        for (position, (counts, name)) in counts.iter().zip(store.names()).enumerate() {
            let Recognised { reading, n_values, n_bad, range, values, n_undecided } =
                counts.reading(Some(position) == date_column);
            if Some(position) == date_column && n_values == n_bad {
                let expected = "a column of dates".to_owned();
                let got = match n_values {
                    0 => format!("\"{name}\", which has no values"),
                    _ => format!("\"{name}\", whose first value is \"{first_value}\""),
                };
                return Err(ErrorKind::Mismatch { what: "date_field", expected, got }.into());
            }
            let (name, first_bad) = (name.clone(), None);
            columns.push(Column { name, reading, n_values, n_bad, first_bad, n_undecided, range, values });
        }
        let mut kept = KeptColumns { store, columns };
        kept.find_first_bad()?;
        Ok(kept)
    }

    /// Finds the first bad value of each column that has one.
    fn find_first_bad(&mut self) -> Result<()> {
        let mut n_left = self.columns.iter().filter(|column| column.n_bad > 0).count();
        let mut rows = self.store.rows();
        let mut doc = 0;
        while n_left > 0
            && let Some(row) = rows.next_row()?
        {
            for (column, raw) in row.values() {
                let column = &mut self.columns[column];
                let is_sought = column.n_bad > 0 && column.first_bad.is_none();
                if is_sought && column.reading.value(raw).is_none() {
                    let value = raw.chars().take(BAD_CHARS).collect();
                    column.first_bad = Some(BadCell { doc, place: row.place().to_owned(), value });
                    n_left -= 1;
                }
            }
            doc += 1;
        }
        Ok(())
    }

    /// The columns, in the order in which they were asked for, or first occur.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of documents.
    pub fn n_documents(&self) -> u64 {
        self.store.n_documents()
    }

    /// The values of all documents, in order.
    pub fn rows(&self) -> KeptRows<'_> {
        KeptRows { rows: self.store.rows(), columns: &self.columns }
    }
}

/// The values of all documents, in order.
#[derive(Debug)]
pub struct KeptRows<'a> {
    rows: ColumnRows<'a>,
    columns: &'a [Column],
}

impl KeptRows<'_> {
    /// The values of the next document; `None` after the last.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn next_row(&mut self) -> Result<Option<KeptRow<'_>>> {
        let columns = self.columns;
        Ok(self.rows.next_row()?.map(|row| KeptRow { row, columns }))
    }
}

/// The values of a document.
#[derive(Clone, Copy, Debug)]
pub struct KeptRow<'a> {
    row: StoredRow<'a>,
    columns: &'a [Column],
}

/// A value, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// The record has no value.
    Missing,
    /// The value is not what its column is.
    Bad(&'a str),
    /// A value.
    Good(ColumnValue<'a>),
}

impl<'a> KeptRow<'a> {
    /// The cells, one per column.
    pub fn cells(&self) -> Vec<Cell<'a>> {
        let mut cells = vec![Cell::Missing; self.columns.len()];
        for (column, raw) in self.row.values() {
            let value = self.columns[column].reading.value(raw);
            cells[column] = value.map_or(Cell::Bad(raw), Cell::Good);
        }
        cells
    }

    /// Where the document is in the input, for a message: `notes.csv:17`.
    pub fn place(&self) -> &'a str {
        self.row.place()
    }
}
