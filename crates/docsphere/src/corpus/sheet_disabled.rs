//! The counterpart of `sheet_enabled.rs` for builds without spreadsheets: refuses them.

use std::fs::File;
use std::io::BufRead;

use super::options::CorpusOptions;
use crate::error::{ErrorKind, Result};

/// Refuses a spreadsheet.
pub(super) fn rows(_: File, _: &CorpusOptions) -> Result<Box<dyn BufRead>> {
    let hint = "it is not in this build: build docsphere with the cargo feature `office`, or convert the file to CSV, \
                for example with LibreOffice (soffice --headless --convert-to csv)"
        .to_owned();
    Err(ErrorKind::Unsupported { what: "a spreadsheet".to_owned(), hint }.into())
}
