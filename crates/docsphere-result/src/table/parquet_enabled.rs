//! Tables as Parquet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;

use super::{Head, Kind, TableWriter, Value};
use crate::error::{Error, Result};

/// Rows at a time.
const BATCH_ROWS: usize = 4_096;

/// Bytes of a row group, which is in memory until it is written.
const GROUP_BYTES: usize = 64 << 20;

struct Table {
    path: PathBuf,
    kinds: Vec<Kind>,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    rows: Vec<Vec<Value>>,
}

pub(super) fn create(path: &Path, heads: &[Head]) -> Result<Box<dyn TableWriter>> {
    let field = |head: &Head| {
        let kind = match head.kind {
            Kind::Text => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Number => DataType::Float64,
        };
        Field::new(&head.name, kind, true)
    };
    let schema = Arc::new(Schema::new(heads.iter().map(field).collect::<Vec<_>>()));
    let file = File::create(path).map_err(|error| Error::writing(error, path))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
        .map_err(|error| Error::writing(io::Error::other(error), path))?;
    let kinds = heads.iter().map(|head| head.kind).collect();
    Ok(Box::new(Table { path: path.to_owned(), kinds, schema, writer, rows: Vec::new() }))
}

impl Table {
    fn flush(&mut self) -> ParquetResult<()> {
        let rows = std::mem::take(&mut self.rows);
        let column = |(place, kind): (usize, &Kind)| -> ArrayRef {
            let values = rows.iter().map(|row| &row[place]);
            match kind {
                Kind::Text => Arc::new(StringArray::from_iter(values.map(|value| match value {
                    Value::Text(text) => Some(text),
                    _ => None,
                }))),
                Kind::Integer => Arc::new(Int64Array::from_iter(values.map(|value| match value {
                    Value::Integer(number) => Some(*number),
                    _ => None,
                }))),
                Kind::Number => Arc::new(Float64Array::from_iter(values.map(|value| match value {
                    Value::Number(number) => Some(*number),
                    _ => None,
                }))),
            }
        };
        let columns = self.kinds.iter().enumerate().map(column).collect();
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(())
    }
}

impl TableWriter for Table {
    fn row(&mut self, values: Vec<Value>) -> Result<()> {
        self.rows.push(values);
        if self.rows.len() < BATCH_ROWS {
            return Ok(());
        }
        self.flush().map_err(|error| Error::writing(io::Error::other(error), &self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<usize> {
        let path = self.path.clone();
        let mut close = || -> ParquetResult<()> {
            self.flush()?;
            self.writer.finish().map(drop)
        };
        close().map(|()| 0).map_err(|error| Error::writing(io::Error::other(error), &path))
    }
}
