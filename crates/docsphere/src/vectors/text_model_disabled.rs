//! The counterpart of `text_model.rs` in builds without the feature `text`: a model file that was
//! made from text keeps its text part, unread.

use crate::error::Result;
use crate::ids::TermId;

/// The text part of a model, which this build cannot use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextModel {
    bytes: Vec<u8>,
}

impl TextModel {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(TextModel { bytes: bytes.to_vec() })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Unknown in this build.
    pub(crate) fn term(&self, _: TermId) -> Option<&str> {
        None
    }
}
