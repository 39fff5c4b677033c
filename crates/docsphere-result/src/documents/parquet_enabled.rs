//! Parquet, for builds that include it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::DocumentClusters;
use crate::error::{Error, Result};

const BATCH_ROWS: usize = 65_536;

/// Writes lines; the other clusters are two lists, `other_clusters` and `other_shares`. Returns the
/// number of lines.
pub(super) fn write<'a>(path: &Path, documents: impl Iterator<Item = DocumentClusters<'a>>) -> Result<usize> {
    let write = || -> parquet::errors::Result<usize> {
        let mut documents = documents.peekable();
        let (mut batch, mut n_written) = (batch(&mut documents)?, 0);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), Some(properties))?;
        loop {
            n_written += batch.num_rows();
            writer.write(&batch)?;
            if documents.peek().is_none() {
                break;
            }
            batch = self::batch(&mut documents)?;
        }
        writer.close()?;
        Ok(n_written)
    };
    write().map_err(|error| Error::writing(io::Error::other(error), path))
}

/// The next lines as columns.
fn batch<'a>(
    documents: &mut impl Iterator<Item = DocumentClusters<'a>>,
) -> parquet::errors::Result<RecordBatch> {
    let lines: Vec<DocumentClusters<'a>> = documents.by_ref().take(BATCH_ROWS).collect();
    let mut other_clusters = ListBuilder::new(Int32Builder::new());
    let mut other_shares = ListBuilder::new(Float64Builder::new());
    for line in &lines {
        for other in &line.others {
            other_clusters.values().append_value(other.cluster);
            other_shares.values().append_value(other.share);
        }
        other_clusters.append(true);
        other_shares.append(true);
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(StringArray::from_iter_values(lines.iter().map(|line| line.id)))),
        // A document of more passages would need more memory than any machine has.
        (
            "n_passages",
            Arc::new(Int32Array::from_iter_values(lines.iter().map(|line| line.n_passages as i32))),
        ),
        ("cluster", Arc::new(Int32Array::from_iter_values(lines.iter().map(|line| line.cluster)))),
        ("share", Arc::new(Float64Array::from_iter_values(lines.iter().map(|line| line.share)))),
        ("other_clusters", Arc::new(other_clusters.finish())),
        ("other_shares", Arc::new(other_shares.finish())),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}
