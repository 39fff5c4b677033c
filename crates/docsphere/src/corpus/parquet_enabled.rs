//! Parquet files. `parquet_disabled.rs` is the twin for builds without them.
//!
//! Only the wanted columns are read, in batches of rows; the cutting thread decodes them, the pool takes the texts out of them.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::options::{CorpusFormat, CorpusOptions};
use super::parse::{ChunkTally, Document, Emit, NumberedId, field_list};
use crate::error::{Error, ErrorKind, Result};

/// Rows decoded at a time.
const BATCH_ROWS: usize = 4096;

/// Some rows.
pub(super) struct Rows {
    batch: RecordBatch,
    /// Columns of the batch that hold the text.
    text_columns: Vec<usize>,
    id_column: Option<usize>,
    /// The number of the first row, from 1.
    first_row: u64,
}

/// Parquet is in this build.
#[expect(clippy::unnecessary_wraps, reason = "the twin returns an error")]
pub(super) fn check_build(_: CorpusFormat) -> Result<()> {
    Ok(())
}

fn damaged(error: impl ToString) -> Error {
    Error::malformed("Parquet", "an undamaged file", error.to_string())
}

pub(super) fn cut(
    path: &Path,
    options: &CorpusOptions,
    n_bytes: &Arc<AtomicU64>,
    send: &mut dyn FnMut(Rows) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let file = File::open(path).map_err(|source| Error::io("read", source))?;
    let file_bytes = file.metadata().map_err(|source| Error::io("read", source))?.len();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let column = |field: &str| names.iter().position(|name| name == field);
    let required = |field: &String, option| {
        column(field).ok_or_else(|| {
            let found = field_list(&names);
            Error::from(ErrorKind::MissingField { field: field.clone(), option, found })
        })
    };
    let text_roots: Result<Vec<usize>> =
        options.text_fields.iter().map(|field| required(field, "text_fields")).collect();
    let text_roots = text_roots?;
    let id_root = match &options.id_field {
        Some(field) => Some(required(field, "id_field")?),
        None => column("id"),
    };
    let mut roots: Vec<usize> = text_roots.iter().copied().chain(id_root).collect();
    roots.sort_unstable();
    roots.dedup();
    let place = |root: usize| roots.binary_search(&root).expect("one of the roots");
    let (text_columns, id_column) =
        (text_roots.into_iter().map(place).collect::<Vec<_>>(), id_root.map(place));
    for &root in &roots {
        check_type(&names[root], builder.schema().field(root).data_type())?;
    }
    let n_rows = builder.metadata().file_metadata().num_rows().max(1) as u64;
    let projection = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
    let reader = builder.with_projection(projection).with_batch_size(BATCH_ROWS).build().map_err(damaged)?;
    let (mut first_row, mut counted) = (1, 0);
    for batch in reader {
        let batch = batch.map_err(damaged)?;
        let n_batch = batch.num_rows() as u64;
        // The reader jumps about in the file: progress goes by rows.
        let done = ((first_row - 1 + n_batch) as u128 * u128::from(file_bytes) / u128::from(n_rows)) as u64;
        n_bytes.fetch_add(done.saturating_sub(counted), Ordering::Relaxed);
        counted = counted.max(done);
        if send(Rows { batch, text_columns: text_columns.clone(), id_column, first_row }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        first_row += n_batch;
    }
    Ok(ControlFlow::Continue(()))
}

/// Columns that can be taken for text.
fn check_type(name: &str, data_type: &DataType) -> Result<()> {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let fits = match data_type {
        DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64 => true,
        DataType::Dictionary(_, values) => is_text(values),
        kind => is_text(kind),
    };
    if fits {
        return Ok(());
    }
    let what = format!("a column of type {data_type} ({name})");
    let hint = "text and ids are read from columns of strings or integers".to_owned();
    Err(ErrorKind::Unsupported { what, hint }.into())
}

pub(super) fn parse(rows: &Rows, id_prefix: &str, emit: Emit<'_>) -> Result<ChunkTally> {
    let mut tally = ChunkTally::default();
    let mut numbered = NumberedId::new(id_prefix);
    let (mut text, mut own_id) = (String::new(), String::new());
    let text_columns: Vec<Column> =
        rows.text_columns.iter().map(|&at| Column::new(rows.batch.column(at))).collect();
    let id_column = rows.id_column.map(|at| Column::new(rows.batch.column(at)));
    for row in 0..rows.batch.num_rows() {
        text.clear();
        for (position, column) in text_columns.iter().enumerate() {
            text.push_str(if position == 0 { "" } else { "\n" });
            column.push_value(row, &mut text);
        }
        own_id.clear();
        if let Some(column) = &id_column {
            column.push_value(row, &mut own_id);
        }
        let id = if own_id.is_empty() { numbered.with(rows.first_row + row as u64) } else { &own_id };
        tally.n_documents += 1;
        emit(Document { id, text: &text })?;
    }
    Ok(tally)
}

/// A column, and for a dictionary where each row's value is.
struct Column<'a> {
    rows: &'a ArrayRef,
    values: &'a ArrayRef,
    keys: Option<Vec<usize>>,
}

impl<'a> Column<'a> {
    fn new(rows: &'a ArrayRef) -> Self {
        match rows.as_any_dictionary_opt() {
            Some(dictionary) if !dictionary.values().is_empty() => {
                Column { rows, values: dictionary.values(), keys: Some(dictionary.normalized_keys()) }
            }
            _ => Column { rows, values: rows, keys: None },
        }
    }

    /// Appends a value; null is empty.
    fn push_value(&self, row: usize, text: &mut String) {
        if self.rows.is_null(row) {
            return;
        }
        let at = self.keys.as_ref().map_or(row, |keys| keys[row]);
        let column = self.values;
        if column.is_null(at) {
            return;
        }
        match column.data_type() {
            DataType::Utf8 => text.push_str(column.as_string::<i32>().value(at)),
            DataType::LargeUtf8 => text.push_str(column.as_string::<i64>().value(at)),
            DataType::Utf8View => text.push_str(column.as_string_view().value(at)),
            DataType::Int32 => text.push_str(&column.as_primitive::<Int32Type>().value(at).to_string()),
            DataType::Int64 => text.push_str(&column.as_primitive::<Int64Type>().value(at).to_string()),
            DataType::UInt32 => text.push_str(&column.as_primitive::<UInt32Type>().value(at).to_string()),
            DataType::UInt64 => text.push_str(&column.as_primitive::<UInt64Type>().value(at).to_string()),
            other => unreachable!("refused before reading: {other}"),
        }
    }
}
