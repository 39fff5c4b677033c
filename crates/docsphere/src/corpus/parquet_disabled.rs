//! The counterpart of `parquet_enabled.rs` for builds without Parquet: returns an error.

use std::fs::File;
use std::ops::{ControlFlow, Range};

use super::chunk::{InputContext, SendChunk};
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use crate::error::{ErrorKind, Result};

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
    _: &File,
    _: Option<Range<usize>>,
    _: &InputContext<'_>,
    _: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    check_build(CorpusFormat::Parquet).map(ControlFlow::Continue)
}

pub(super) fn group_sizes(_: &File, _: &CorpusOptions) -> Result<Vec<u64>> {
    check_build(CorpusFormat::Parquet).map(|()| Vec::new())
}
