//! The counterpart of `detection_enabled.rs` for builds without detection: refuses it.

use super::language_names::Language;
use crate::error::{ErrorKind, Result};

/// An error: detection is not in this build.
pub(super) fn check_build() -> Result<()> {
    Err(ErrorKind::Unsupported {
        what: "detecting the language of each document".to_owned(),
        hint: "it is not in this build: build docsphere with the cargo feature `languages`, or name the languages of \
               all documents as stop words; a model that was made with it needs a build that has it"
            .to_owned(),
    }
    .into())
}

/// Never made: [`check_build`] refuses the option.
pub(super) struct Detector;

impl Detector {
    pub(super) fn new(_: &[Language]) -> Self {
        Detector
    }

    pub(super) fn language_of(&self, _: &str) -> Option<Language> {
        None
    }
}
