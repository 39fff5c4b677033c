//! The counterpart of `dictionary_enabled.rs` for builds without dictionaries: refuses them.

use crate::error::{ErrorKind, Result};

/// An error: dictionaries are not in this build.
pub(super) fn check_build() -> Result<()> {
    Err(ErrorKind::Unsupported {
        what: "splitting text without spaces by dictionary".to_owned(),
        hint: "it is not in this build: build docsphere with the cargo feature `dictionary`, or choose `bigrams`; \
               a model that was made with dictionaries needs a build that has them"
            .to_owned(),
    }
    .into())
}

/// Never called: [`check_build`] refuses the option.
pub(super) fn words<'a>(text: &'a str, word: &mut impl FnMut(&'a str)) {
    word(text);
}
