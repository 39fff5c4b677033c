//! Text of PDF files. `pdf_disabled.rs` is the counterpart for builds without it.
//!
//! `lopdf` reads objects and streams, undoes compression and encryption with an empty password, and
//! maps codes to characters. What it does not know is where words end: most programs place words,
//! and write no blanks. So [`page`] follows the operators that place text, [`font`] knows how wide
//! it is, and [`layout`] sets blanks and line breaks where there are gaps.
//!
//! Taken: all text of all pages in the order of the file, also of forms within pages, and the
//! invisible text that character recognition leaves. Left out: headers and footers where the file
//! marks them, comments, fields, attachments. Columns come out right if the program wrote one after
//! the other, as nearly all do. Fonts that do not say what their codes mean give no text.
//!
//! A file is refused if it needs a password, has no text at all (pictures of pages), or unpacks to
//! more than 64 MiB and more than 100 times its size. `lopdf` has been seen to take some ten times
//! a file's size in memory.

mod font;
mod layout;
mod page;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::{DecompressError, Document, LoadOptions, Object};

use super::{Extract, RawFile, Take, damaged, expansion_limit};
use crate::corpus::chunk::LONG_RECORD;
use crate::error::{ErrorKind, Result};
use page::Pages;

pub(super) struct Pdf;

impl Extract for Pdf {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let RawFile { bytes, options, .. } = file;
        options.memory.check(LONG_RECORD, 10 * bytes.len() as u64)?;
        // A parser of so loose a format may have a fault left; it must not take the run with it.
        let text = catch_unwind(AssertUnwindSafe(|| text_of(&bytes)))
            .unwrap_or_else(|_| Err(damaged("PDF", "a file that can be parsed", "one that cannot")))?;
        take(None, Ok(text.as_bytes()))
    }
}

/// The text of a file.
fn text_of(bytes: &[u8]) -> Result<String> {
    let limit = expansion_limit(bytes.len());
    // Some programs put a few bytes before the file. Offsets count from its own beginning.
    let start = memchr::memmem::find(bytes, b"%PDF-").unwrap_or(0);
    let bytes = &bytes[start..];
    // Streams of objects are unpacked while the file is opened, each of them up to a limit.
    let n_streams = memchr::memmem::find_iter(bytes, b"endstream").count().max(1);
    let options = LoadOptions::with_max_decompressed_size(limit as usize / n_streams);
    let document = Document::load_mem_with_options(bytes, options).map_err(refused)?;
    if document.is_encrypted() {
        return Err(password());
    }
    let mut pages = Pages::new(&document, limit as usize);
    let mut n_pages = 0;
    for page in document.page_iter() {
        pages.read(page).map_err(refused)?;
        n_pages += 1;
    }
    if n_pages == 0 {
        return Err(damaged("PDF", "pages", "none"));
    }
    let text = pages.into_text();
    if text.is_empty() && has_images(&document) {
        return Err(damaged(
            "PDF",
            "text",
            "pictures of pages alone (recognise their text, for example with ocrmypdf)",
        ));
    }
    Ok(text)
}

fn has_images(document: &Document) -> bool {
    document.objects.values().any(|object| {
        let Object::Stream(stream) = object else { return false };
        stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image")
    })
}

fn password() -> crate::error::Error {
    damaged(
        "PDF",
        "a file without a password",
        "an encrypted one (save it without, for example with qpdf --decrypt)",
    )
}

fn refused(error: lopdf::Error) -> crate::error::Error {
    match error {
        lopdf::Error::Decompress(DecompressError::MemoryLimitExceeded { limit }) => {
            let (what, limit) = ("the size in bytes of the parts of a document", limit as u64);
            ErrorKind::TooLarge { what, limit, got: limit + 1 }.into()
        }
        lopdf::Error::Decryption(_) | lopdf::Error::InvalidPassword | lopdf::Error::Unimplemented(_) => {
            password()
        }
        error => damaged("PDF", "a well-formed file", error),
    }
}

#[cfg(test)]
mod tests;
