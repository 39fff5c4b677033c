//! The counterpart for builds without Parquet. It is never reached, since the format is refused
//! first.

use std::path::Path;

use docsphere::MemoryLimit;

use super::reading::Sink;
use super::{Assignments, not_built};
use crate::error::Result;

pub(super) fn write(_: &Path, _: &Assignments<'_>) -> Result<()> {
    Err(not_built())
}

pub(super) fn read(_: &Path, _: &MemoryLimit, _: &mut impl Sink) -> Result<()> {
    Err(not_built())
}
