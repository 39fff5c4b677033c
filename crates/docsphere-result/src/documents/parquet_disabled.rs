//! The counterpart for builds without Parquet: refuses it.

use std::path::Path;

use super::DocumentClusters;
use crate::error::{ErrorKind, Result};

pub(super) fn write<'a>(
    _path: &Path,
    _documents: impl Iterator<Item = DocumentClusters<'a>>,
) -> Result<usize> {
    Err(ErrorKind::NotBuilt { what: "Parquet", feature: "parquet", instead: "csv or jsonl" }.into())
}
