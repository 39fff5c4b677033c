//! The counterpart of `office_enabled.rs` for builds without it: refuses such files.

use super::{Extract, RawFile, Take};
use crate::error::{ErrorKind, Result};

pub(super) struct Docx;
pub(super) struct Odt;
pub(super) struct Epub;

fn refused(name: &str) -> Result<()> {
    let hint =
        "it is not in this build: build docsphere with the cargo feature `office`, or convert the file, \
                for example with pandoc -t plain"
            .to_owned();
    Err(ErrorKind::Unsupported { what: name.to_owned(), hint }.into())
}

impl Extract for Docx {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        refused("DOCX")
    }
}

impl Extract for Odt {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        refused("ODT")
    }
}

impl Extract for Epub {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        refused("EPUB")
    }
}
