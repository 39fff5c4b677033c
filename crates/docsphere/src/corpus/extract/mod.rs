//! Files of a folder to text, by content.
//!
//! `kind.rs` says what a file is. One extractor per kind turns its bytes into text:
//!
//! | kind | extractor | limits |
//! |---|---|---|
//! | text, Markdown, HTML | `plain.rs` | tags are removed later, see `html.rs` |
//! | mail, mailboxes | `mail_enabled.rs` (feature `mail`) | the subject and the text parts; attachments are left out |
//! | DOCX, ODT, EPUB | `office_enabled.rs` (feature `office`) | text alone: no images, charts, comments or deleted text |
//! | PDF | `pdf/` (feature `pdf`) | text alone, without marked headers and footers; no pictures of pages |
//! | RTF, old and encrypted Office files | none | refused, with the program that converts them |
//! | images, sound, film, archives, programs | none | skipped and counted |
//!
//! An extractor takes whole files: their memory is checked while they are read. What an archive
//! expands to is bounded by [`expansion_limit`].

mod kind;
#[cfg(feature = "mail")]
#[path = "mail_enabled.rs"]
mod mail;
#[cfg(not(feature = "mail"))]
#[path = "mail_disabled.rs"]
mod mail;
#[cfg(feature = "office")]
#[path = "office_enabled.rs"]
mod office;
#[cfg(not(feature = "office"))]
#[path = "office_disabled.rs"]
mod office;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(not(feature = "pdf"))]
#[path = "pdf_disabled.rs"]
mod pdf;
mod plain;

use std::cell::RefCell;
use std::path::Path;

use super::document::ChunkTally;
use super::encoding::Guesses;
use super::kept::KnownValues;
use super::options::CorpusOptions;
use crate::error::{Error, ErrorKind, Result};
pub(super) use kind::{Kind, SAMPLE_BYTES, Skipped, is_single_document};
pub(super) use mail::Messages;

/// Takes a text with the number of the part of the file that it is, if the file has several; or why
/// this part cannot be read.
pub(super) type Take<'a> = &'a mut dyn FnMut(Option<u64>, Result<&[u8]>) -> Result<()>;

/// A file to be turned into text.
pub(super) struct RawFile<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) options: &'a CorpusOptions,
    pub(super) guesses: &'a std::sync::Arc<Guesses>,
    /// The columns of the text that is passed on next; without its path.
    #[cfg_attr(
        not(any(feature = "office", feature = "mail")),
        expect(dead_code, reason = "no kind has columns")
    )]
    pub(super) columns: &'a RefCell<KnownValues>,
}

/// Turns files of one kind into text.
pub(super) trait Extract {
    /// Passes on the texts of a file, in order. Before each, adds the columns that it has.
    ///
    /// # Errors
    /// [`ErrorKind::Record`] for a damaged or encrypted file, [`ErrorKind::Unsupported`] for a kind
    /// that is not in this build; or the error of `take`.
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()>;
}

/// The extractor of a kind; `None` for kinds that are skipped.
pub(super) fn extractor(kind: Kind) -> Option<Box<dyn Extract>> {
    Some(match kind {
        Kind::Text => Box::new(plain::Plain),
        Kind::Message => Box::new(mail::Message),
        Kind::Mailbox => Box::new(mail::Mailbox),
        Kind::Docx => Box::new(office::Docx),
        Kind::Odt => Box::new(office::Odt),
        Kind::Epub => Box::new(office::Epub),
        Kind::Pdf => Box::new(pdf::Pdf),
        Kind::Other { name, tool } => Box::new(Refused { name, tool }),
        Kind::Skipped(_) => return None,
    })
}

/// A kind without an extractor.
struct Refused {
    name: &'static str,
    tool: &'static str,
}

impl Extract for Refused {
    fn extract(&self, _: RawFile<'_>, _: Take<'_>) -> Result<()> {
        let hint = format!(
            "convert the file, for example with {}, leave it out with glob, or set skip_bad_records",
            self.tool
        );
        Err(ErrorKind::Unsupported { what: format!("a file of the kind {}", self.name), hint }.into())
    }
}

/// The most bytes to which a part of an archive of this size may expand.
#[cfg_attr(not(any(feature = "office", feature = "pdf")), expect(dead_code, reason = "no archive is read"))]
fn expansion_limit(archive_bytes: usize) -> u64 {
    (archive_bytes as u64).saturating_mul(100).max(64 << 20)
}

/// A damaged file.
#[cfg_attr(
    not(any(feature = "office", feature = "mail", feature = "pdf")),
    expect(dead_code, reason = "nothing is parsed")
)]
fn damaged(format: &'static str, expected: &str, found: impl ToString) -> Error {
    ErrorKind::Record { format, expected: expected.to_owned(), found: found.to_string() }.into()
}

/// Counts a file that is skipped.
pub(super) fn count_skipped(tally: &mut ChunkTally, skipped: Skipped, path: &Path) {
    tally.skipped.name(path);
    let count = match skipped {
        Skipped::Image => &mut tally.skipped.n_images,
        Skipped::Media => &mut tally.skipped.n_media,
        Skipped::Archive => &mut tally.skipped.n_archives,
        Skipped::Binary => &mut tally.skipped.n_binaries,
    };
    *count += 1;
}
