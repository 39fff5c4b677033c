//! The twin for builds without Parquet.

use std::path::Path;

use docsphere::MemoryLimit;

use super::{Assignments, ReadAssignment};
use crate::error::{Error, ErrorKind, Result};

fn absent(path: &Path) -> Error {
    Error::from(ErrorKind::NotBuilt { what: "Parquet", feature: "parquet" }).at_path(path)
}

pub(super) fn write(path: &Path, _: &Assignments<'_>) -> Result<()> {
    Err(absent(path))
}

pub(super) fn read(path: &Path, _: &MemoryLimit) -> Result<Vec<ReadAssignment>> {
    Err(absent(path))
}
