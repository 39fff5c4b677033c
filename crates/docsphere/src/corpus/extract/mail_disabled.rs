//! The counterpart of `mail_enabled.rs` for builds without mail: refuses it.

use std::io::BufRead;
use std::ops::ControlFlow;

use super::{Extract, RawFile, Take};
use crate::corpus::chunk::{InputContext, SendChunk};
use crate::error::{Error, ErrorKind, Result};

pub(super) struct Message;
pub(super) struct Mailbox;

fn refused() -> Error {
    let hint = "it is not in this build: build docsphere with the cargo feature `mail`".to_owned();
    ErrorKind::Unsupported { what: "mail".to_owned(), hint }.into()
}

impl Extract for Message {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        Err(refused())
    }
}

impl Extract for Mailbox {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        Err(refused())
    }
}

/// Messages of a mailbox.
pub(in crate::corpus) struct Messages;

impl Messages {
    /// Refuses a mailbox.
    pub(in crate::corpus) fn cut(
        _: Box<dyn BufRead>,
        _: &InputContext<'_>,
        _: SendChunk<'_>,
    ) -> Result<ControlFlow<()>> {
        Err(refused())
    }
}
