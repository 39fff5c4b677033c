//! The counterpart of `pdf_enabled.rs` for builds without it: refuses such files.

use super::{Extract, RawFile, Take};
use crate::error::{ErrorKind, Result};

pub(super) struct Pdf;

impl Extract for Pdf {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        let hint =
            "it is not in this build: build docsphere with the cargo feature `pdf`, convert the file, \
                    for example with pdftotext, leave it out with glob, or set skip_bad_records"
                .to_owned();
        Err(ErrorKind::Unsupported { what: "PDF".to_owned(), hint }.into())
    }
}
