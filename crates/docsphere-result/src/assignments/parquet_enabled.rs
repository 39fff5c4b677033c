//! Parquet, for builds that include it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use docsphere::{
    Cell, ColumnKind, ColumnReading, ColumnValue, Corpus, CorpusFormat, CorpusOptions, Document, Html,
    MemoryLimit, Moment,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{AssignedColumns, AssignedValues, Assignment, Assignments, ReadAssignment, WHAT, rounded};
use crate::error::{Error, Result};

/// The time zone of points in time.
const ZONE: &str = "UTC";

const BATCH_ROWS: usize = 65_536;

/// Fewer, since kept columns may hold long texts.
const KEPT_BATCH_ROWS: usize = 4_096;

/// Bytes of a row group, which is in memory until it is written.
const GROUP_BYTES: usize = 64 << 20;

pub(super) fn write(path: &Path, assignments: &Assignments<'_>) -> Result<()> {
    let write = || -> parquet::errors::Result<()> {
        let mut fields = vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("cluster", DataType::Int32, false),
            Field::new("similarity", DataType::Float64, false),
        ];
        if assignments.nearest.is_some() {
            fields.push(Field::new("runner_up", DataType::Int32, true));
            fields.push(Field::new("runner_up_similarity", DataType::Float64, true));
        }
        if assignments.silhouettes.is_some() {
            fields.push(Field::new("silhouette", DataType::Float64, true));
        }
        if assignments.copies.is_some() {
            fields.push(Field::new("duplicate_of", DataType::Utf8, true));
        }
        if let Some(columns) = assignments.columns {
            let field =
                |(name, reading): (&String, &ColumnReading)| Field::new(name, data_type(reading), true);
            fields.extend(columns.names.iter().zip(columns.readings()).map(field));
        }
        let mut values = assignments.columns.map(AssignedColumns::values);
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = ArrowWriter::try_new(File::create(path)?, Arc::clone(&schema), Some(properties))?;
        let mut lines = assignments.iter().peekable();
        while lines.peek().is_some() {
            let n_rows = if values.is_some() { KEPT_BATCH_ROWS } else { BATCH_ROWS };
            let batch: Vec<Assignment<'_>> = lines.by_ref().take(n_rows).collect();
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(StringArray::from_iter_values(batch.iter().map(|line| line.id))),
                Arc::new(Int32Array::from_iter_values(batch.iter().map(|line| line.cluster))),
                Arc::new(Float64Array::from_iter_values(batch.iter().map(|line| rounded(line.similarity)))),
            ];
            if assignments.nearest.is_some() {
                columns.push(Arc::new(Int32Array::from_iter(batch.iter().map(|line| line.runner_up))));
                columns.push(Arc::new(Float64Array::from_iter(
                    batch.iter().map(|line| line.runner_up_similarity),
                )));
            }
            if assignments.silhouettes.is_some() {
                let silhouettes = batch.iter().map(|line| line.silhouette.flatten());
                columns.push(Arc::new(Float64Array::from_iter(silhouettes)));
            }
            if assignments.copies.is_some() {
                columns.push(Arc::new(StringArray::from_iter(batch.iter().map(|line| line.duplicate_of))));
            }
            if let Some(values) = &mut values {
                let kept = kept_columns(values, batch.len());
                columns
                    .extend(kept.map_err(|error| parquet::errors::ParquetError::External(Box::new(error)))?);
            }
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
            if writer.in_progress_size() > GROUP_BYTES {
                writer.flush()?;
            }
        }
        writer.close()?;
        Ok(())
    };
    write().map_err(|error| Error::writing(io::Error::other(error), path))
}

/// The type of a kept column.
fn data_type(reading: &ColumnReading) -> DataType {
    match reading.kind {
        ColumnKind::Date if reading.has_time => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
        ColumnKind::Date => DataType::Date32,
        ColumnKind::Number if reading.is_integer => DataType::Int64,
        ColumnKind::Number => DataType::Float64,
        _ => DataType::Utf8,
    }
}

/// A column of some documents.
enum Values {
    Dates(Vec<Option<Moment>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Values {
    fn push(&mut self, cell: Cell<'_>) {
        let value = match cell {
            Cell::Good(value) => Some(value),
            _ => None,
        };
        match (self, value) {
            (Values::Dates(dates), Some(ColumnValue::Date(moment))) => dates.push(Some(moment)),
            (Values::Numbers(numbers), Some(ColumnValue::Number(number))) => numbers.push(Some(number)),
            (Values::Texts(texts), Some(ColumnValue::Text(text))) => texts.push(Some(text.to_owned())),
            (Values::Dates(dates), _) => dates.push(None),
            (Values::Numbers(numbers), _) => numbers.push(None),
            (Values::Texts(texts), _) => texts.push(None),
        }
    }

    fn into_array(self, reading: &ColumnReading) -> ArrayRef {
        match self {
            Values::Dates(dates) if reading.has_time => {
                let micros = dates.into_iter().map(|date| date.map(|moment| moment.micros));
                Arc::new(TimestampMicrosecondArray::from_iter(micros).with_timezone(ZONE))
            }
            Values::Dates(dates) => {
                let days = dates.into_iter().map(|date| date.map(|moment| moment.days() as i32));
                Arc::new(Date32Array::from_iter(days))
            }
            Values::Numbers(numbers) if reading.is_integer => {
                let integers = numbers.into_iter().map(|number| number.map(|number| number as i64));
                Arc::new(Int64Array::from_iter(integers))
            }
            Values::Numbers(numbers) => Arc::new(Float64Array::from_iter(numbers)),
            Values::Texts(texts) => Arc::new(StringArray::from_iter(texts)),
        }
    }
}

/// The kept columns of the next documents.
fn kept_columns(values: &mut AssignedValues<'_>, n_docs: usize) -> Result<Vec<ArrayRef>> {
    let columns = values.columns;
    let empty = |reading: &ColumnReading| match reading.kind {
        ColumnKind::Date => Values::Dates(Vec::with_capacity(n_docs)),
        ColumnKind::Number => Values::Numbers(Vec::with_capacity(n_docs)),
        _ => Values::Texts(Vec::with_capacity(n_docs)),
    };
    let mut found: Vec<Values> = columns.readings().map(empty).collect();
    for _ in 0..n_docs {
        found.iter_mut().zip(values.cells()?).for_each(|(column, cell)| column.push(cell));
    }
    Ok(found
        .into_iter()
        .zip(columns.readings())
        .map(|(column, reading)| column.into_array(reading))
        .collect())
}

/// Adds the lines of a file, with the reader of documents, which trusts nothing in the file.
pub(super) fn read(path: &Path, limit: &MemoryLimit, lines: &mut Vec<ReadAssignment>) -> Result<()> {
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

fn read_columns(
    path: &Path,
    limit: &MemoryLimit,
    lines: &mut Vec<ReadAssignment>,
    columns: &[&str],
) -> Result<()> {
    let options = CorpusOptions::default()
        .format(CorpusFormat::Parquet)
        .text_fields(columns.iter().copied())
        .html(Html::Keep)
        .id_field("id")
        .memory(limit.clone());
    let n_before = lines.len();
    let mut outcome: Result<()> = Ok(());
    Corpus::open([path], options)?.for_each_document(|document| {
        if outcome.is_err() {
            return;
        }
        let n_read = lines.len() - n_before;
        let room = if n_read.is_multiple_of(BATCH_ROWS) {
            // An id for each document, and a list that grows by doubling.
            limit.check(WHAT, (150 * BATCH_ROWS + 64 * lines.len()) as u64)
        } else {
            Ok(())
        };
        let line = line(document).map_err(|problem| {
            Error::malformed(format!("cannot read: row {}: {problem}", n_read + 1)).at_path(path)
        });
        match room.map_err(|error| Error::from(error).at_path(path)).and(line) {
            Ok(line) => lines.push(line),
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
