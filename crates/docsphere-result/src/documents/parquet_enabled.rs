//! Parquet, for builds that include it.

use std::path::Path;

use super::DocumentClusters;
use crate::error::Result;
use crate::parquet_table::{Field, Kind, Table, Value};

/// Writes lines; the other clusters are two lists, `other_clusters` and `other_shares`. Returns the
/// number of lines.
pub(super) fn write<'a>(path: &Path, documents: impl Iterator<Item = DocumentClusters<'a>>) -> Result<usize> {
    let fields = [
        ("id", Kind::Text),
        ("n_passages", Kind::Int32),
        ("cluster", Kind::Int32),
        ("share", Kind::Float64),
        ("other_clusters", Kind::Int32List),
        ("other_shares", Kind::Float64List),
    ];
    let mut table = Table::create(path, &fields.map(|(name, kind)| Field::new(name, kind, false)))?;
    for line in documents {
        let clusters: Vec<i32> = line.others.iter().map(|other| other.cluster).collect();
        let shares: Vec<f64> = line.others.iter().map(|other| other.share).collect();
        table.push([
            Value::Text(line.id),
            // A document of more passages would need more memory than any machine has.
            Value::Int32(line.n_passages as i32),
            Value::Int32(line.cluster),
            Value::Float64(line.share),
            Value::Int32List(&clusters),
            Value::Float64List(&shares),
        ])?;
    }
    table.close()
}
