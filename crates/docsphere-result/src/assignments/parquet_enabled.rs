//! Parquet, for builds that include it.

use std::path::Path;

use docsphere::{
    Cell, ColumnKind, ColumnReading, ColumnValue, Corpus, CorpusFormat, CorpusOptions, Document, Html,
    MemoryLimit,
};

use super::reading::{Sink, WHAT};
use super::{AssignedColumns, AssignedValues, Assignment, Assignments, ReadAssignment, rounded};
use crate::error::{Error, Result};
use crate::parquet_table::{Field, Kind, Table, Value};

/// Lines after which a reader asks for more memory.
const BATCH_ROWS: usize = 65_536;

pub(super) fn write(path: &Path, assignments: &Assignments<'_>) -> Result<()> {
    let mut table = Table::create(path, &fields(assignments))?;
    let mut values = assignments.columns.map(AssignedColumns::values);
    for line in assignments.iter() {
        let mut row = own_values(assignments, &line);
        let mut kept = Vec::new();
        if let Some(values) = &mut values {
            kept = kept_values(values)?;
        }
        row.extend(kept.iter().map(Kept::value));
        table.push(row)?;
    }
    table.close().map(drop)
}

/// The columns of the file.
fn fields<'a>(assignments: &Assignments<'a>) -> Vec<Field<'a>> {
    let mut fields = vec![
        Field::new("id", Kind::Text, false),
        Field::new("cluster", Kind::Int32, false),
        Field::new("similarity", Kind::Float64, false),
    ];
    if assignments.nearest.is_some() {
        fields.push(Field::new("runner_up", Kind::Int32, true));
        fields.push(Field::new("runner_up_similarity", Kind::Float64, true));
    }
    if assignments.silhouettes.is_some() {
        fields.push(Field::new("silhouette", Kind::Float64, true));
    }
    if assignments.copies.is_some() {
        fields.push(Field::new("duplicate_of", Kind::Text, true));
    }
    if let Some(columns) = assignments.columns {
        let field = |(name, reading): (&'a String, &ColumnReading)| Field::new(name, kind(reading), true);
        fields.extend(columns.names.iter().zip(columns.readings()).map(field));
    }
    fields
}

/// The type of a kept column.
fn kind(reading: &ColumnReading) -> Kind {
    match reading.kind {
        ColumnKind::Date if reading.has_time => Kind::Moment,
        ColumnKind::Date => Kind::Date,
        ColumnKind::Number if reading.is_integer => Kind::Int64,
        ColumnKind::Number => Kind::Float64,
        _ => Kind::Text,
    }
}

/// The values of a line, without those of kept columns.
fn own_values<'a>(assignments: &Assignments<'_>, line: &Assignment<'a>) -> Vec<Value<'a>> {
    let similarity = Value::Float64(rounded(line.similarity));
    let mut row = vec![Value::Text(line.id), Value::Int32(line.cluster), similarity];
    if assignments.nearest.is_some() {
        row.push(line.runner_up.into());
        row.push(line.runner_up_similarity.into());
    }
    if assignments.silhouettes.is_some() {
        row.push(line.silhouette.flatten().into());
    }
    if assignments.copies.is_some() {
        row.push(line.duplicate_of.into());
    }
    row
}

/// A value of a kept column.
enum Kept {
    Missing,
    Text(String),
    Int32(i32),
    Int64(i64),
    Float64(f64),
}

impl Kept {
    fn value(&self) -> Value<'_> {
        match self {
            Kept::Missing => Value::Missing,
            Kept::Text(text) => Value::Text(text),
            &Kept::Int32(number) => Value::Int32(number),
            &Kept::Int64(number) => Value::Int64(number),
            &Kept::Float64(number) => Value::Float64(number),
        }
    }
}

/// The values of the kept columns of the next document.
fn kept_values(values: &mut AssignedValues<'_>) -> Result<Vec<Kept>> {
    let columns = values.columns;
    let value = |(cell, reading): (Cell<'_>, &ColumnReading)| match cell {
        Cell::Good(ColumnValue::Date(moment)) if reading.has_time => Kept::Int64(moment.micros),
        Cell::Good(ColumnValue::Date(moment)) => Kept::Int32(moment.days() as i32),
        Cell::Good(ColumnValue::Number(number)) if reading.is_integer => Kept::Int64(number as i64),
        Cell::Good(ColumnValue::Number(number)) => Kept::Float64(number),
        Cell::Good(ColumnValue::Text(text)) => Kept::Text(text.to_owned()),
        _ => Kept::Missing,
    };
    Ok(values.cells()?.into_iter().zip(columns.readings()).map(value).collect())
}

/// Adds the lines of a file, with the reader of documents, which trusts nothing in the file.
pub(super) fn read(path: &Path, limit: &MemoryLimit, lines: &mut impl Sink) -> Result<()> {
    // The last column is there only if copies were looked for.
    match read_columns(path, limit, lines, &["cluster", "similarity", "duplicate_of"]) {
        Err(error) if is_without_copies(&error) => {
            read_columns(path, limit, lines, &["cluster", "similarity"])
        }
        outcome => outcome,
    }
}

fn is_without_copies(error: &Error) -> bool {
    let kind = error.library().map(docsphere::Error::kind);
    matches!(kind, Some(docsphere::ErrorKind::MissingField { field, .. }) if field == "duplicate_of")
}

fn read_columns(path: &Path, limit: &MemoryLimit, lines: &mut impl Sink, columns: &[&str]) -> Result<()> {
    let options = CorpusOptions::default()
        .format(CorpusFormat::Parquet)
        .text_fields(columns.iter().copied())
        .html(Html::Keep)
        .id_field("id")
        .memory(limit.clone());
    let mut n_read = 0;
    let mut outcome: Result<()> = Ok(());
    Corpus::open([path], options)?.for_each_document(|document| {
        if outcome.is_err() {
            return;
        }
        let room = if n_read % BATCH_ROWS == 0 {
            // An id for each document, and a list that grows by doubling.
            let held = if lines.holds() { 64 * n_read } else { 0 };
            limit.check(WHAT, (150 * BATCH_ROWS + held) as u64)
        } else {
            Ok(())
        };
        let line = line(document).map_err(|problem| {
            Error::malformed(format!("cannot read: row {}: {problem}", n_read + 1)).at_path(path)
        });
        match room.map_err(|error| Error::from(error).at_path(path)).and(line) {
            Ok(line) => {
                lines.take(line);
                n_read += 1;
            }
            Err(error) => outcome = Err(error),
        }
    })?;
    outcome
}

fn line(document: Document<'_>) -> Result<ReadAssignment, String> {
    let (cluster, rest) = document.text.split_once('\n').ok_or("two columns")?;
    let (similarity, original) = rest.split_once('\n').unwrap_or((rest, ""));
    Ok(ReadAssignment {
        id: document.id.to_owned(),
        cluster: cluster.parse().map_err(|error| format!("cluster \"{cluster}\": {error}"))?,
        similarity: similarity.parse().map_err(|error| format!("similarity \"{similarity}\": {error}"))?,
        duplicate_of: (!original.is_empty()).then(|| original.to_owned()),
    })
}
