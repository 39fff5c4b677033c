//! The twin of `parquet_enabled.rs` for builds without Parquet: says so.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::options::{CorpusFormat, CorpusOptions};
use super::parse::{ChunkTally, Emit};
use crate::error::{ErrorKind, Result};

/// Rows that there can never be.
pub(super) struct Rows(Infallible);

impl Rows {
    pub(super) fn n_bytes(&self) -> usize {
        match self.0 {}
    }
}

/// An error for Parquet.
pub(super) fn check_build(format: CorpusFormat) -> Result<()> {
    if format != CorpusFormat::Parquet {
        return Ok(());
    }
    Err(ErrorKind::Unsupported {
        what: "Parquet".to_owned(),
        hint: "it is not in this build: build docsphere with the cargo feature `parquet`, or convert the file to JSON Lines"
            .to_owned(),
    }
    .into())
}

pub(super) fn cut(
    _: &Path,
    _: &CorpusOptions,
    _: usize,
    _: &Arc<AtomicU64>,
    _: &mut dyn FnMut(Rows) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    check_build(CorpusFormat::Parquet).map(ControlFlow::Continue)
}

pub(super) fn parse(rows: &Rows, _: &str, _: Emit<'_>) -> Result<ChunkTally> {
    match rows.0 {}
}
