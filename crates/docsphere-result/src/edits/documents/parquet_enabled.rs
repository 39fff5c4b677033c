//! Parquet, for builds that include it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, RecordBatch};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{FIELDS, Line, Relabelling};
use crate::error::{Error, Result};

/// Rows at a time: kept columns may hold long texts.
const BATCH_ROWS: usize = 4_096;

/// Bytes of a row group, which is in memory until it is written.
const GROUP_BYTES: usize = 64 << 20;

pub(super) fn relabel(from: &Path, to: &Path, relabelling: &Relabelling<'_>) -> Result<()> {
    let unreadable = |error: ParquetError| Error::malformed(format!("cannot read: {error}")).at_path(from);
    let unwritable = |error: ParquetError| Error::writing(io::Error::other(error), to);
    let file = File::open(from).map_err(|error| Error::reading(error, from))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(unreadable)?;
    // Without what the writer of the file noted about its schema: it is noted again.
    let schema = Arc::new(Schema::new(builder.schema().fields().clone()));
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(unreadable)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(to).map_err(|error| Error::writing(error, to))?;
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(unwritable)?;
    for batch in reader {
        let batch = batch.map_err(|error| unreadable(error.into()))?;
        let columns = relabelled(&batch, relabelling)
            .ok_or_else(|| Error::malformed("holds no assignments").at_path(from))?;
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| unreadable(error.into()))?;
        writer.write(&batch).map_err(unwritable)?;
        if writer.in_progress_size() > GROUP_BYTES {
            writer.flush().map_err(unwritable)?;
        }
    }
    writer.close().map_err(unwritable).map(drop)
}

/// The columns of some lines after all edits; `None` if the file has other columns.
fn relabelled(batch: &RecordBatch, relabelling: &Relabelling<'_>) -> Option<Vec<ArrayRef>> {
    let place = |field: usize| batch.schema_ref().index_of(FIELDS[field]).ok();
    let integers = |field: usize| batch.column(place(field)?).as_primitive_opt::<Int32Type>();
    let numbers = |field: usize| batch.column(place(field)?).as_primitive_opt::<Float64Type>();
    let (clusters, similarities) = (integers(0)?, numbers(1)?);
    let (others, other_similarities, silhouettes) = (integers(2), numbers(3), numbers(4));
    let integer = |array: &Int32Array, row: usize| array.is_valid(row).then(|| array.value(row));
    let number = |array: &Float64Array, row: usize| array.is_valid(row).then(|| array.value(row));
    let line = |row: usize| {
        let line = Line {
            cluster: clusters.value(row),
            similarity: similarities.value(row),
            runner_up: others
                .and_then(|others| integer(others, row))
                .zip(other_similarities.and_then(|similarities| number(similarities, row))),
            silhouette: silhouettes.and_then(|silhouettes| number(silhouettes, row)),
        };
        relabelling.edited(line).unwrap_or(line)
    };
    let lines: Vec<Line> = (0..batch.num_rows()).map(line).collect();
    let mut columns = batch.columns().to_vec();
    let edited: [ArrayRef; 5] = [
        Arc::new(Int32Array::from_iter_values(lines.iter().map(|line| line.cluster))),
        Arc::new(Float64Array::from_iter_values(lines.iter().map(|line| line.similarity))),
        Arc::new(Int32Array::from_iter(lines.iter().map(|line| line.runner_up.map(|other| other.0)))),
        Arc::new(Float64Array::from_iter(lines.iter().map(|line| line.runner_up.map(|other| other.1)))),
        Arc::new(Float64Array::from_iter(lines.iter().map(|line| line.silhouette))),
    ];
    for (field, values) in edited.into_iter().enumerate() {
        if let Some(place) = place(field) {
            columns[place] = values;
        }
    }
    Some(columns)
}
