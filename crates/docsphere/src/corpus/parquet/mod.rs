//! Reads the top-level columns of Parquet files that hold texts or numbers.
//!
//! This is our own reader, because a file's claims must be checked before they are trusted: the
//! crate `parquet` takes damaged lengths for strings without a check, panics on damaged pages, and
//! allocates whatever headers claim. Here every length is compared with the available bytes before
//! any allocation, values are bytes (callers that need text check it), and nothing is `unsafe`.
//!
//! | file | what it reads |
//! |---|---|
//! | `thrift.rs` | the encoding of all headers |
//! | `footer.rs` | the end of the file: columns, row groups, location of their pages |
//! | `pages.rs` | pages: header, then bytes, decompressed by `codecs.rs` |
//! | `values.rs` | the encodings of values within a page |
//! | `column.rs` | a column of a row group, one value after the other |
//!
//! **Memory.** For each column read: one page, compressed and decompressed, and one decompressed
//! dictionary, with 8 bytes per text. A page may expand to [`pages::FREE_PAGE_BYTES`], or to
//! [`pages::MAX_PAGE_RATIO`] times its size in the file; larger pages are refused. Values that
//! repeat, by a dictionary or a prefix, are passed on one at a time.

mod codecs;
mod column;
mod footer;
mod pages;
mod thrift;
mod values;

pub(super) use column::{Column, Value};
pub(super) use footer::{ColumnType, Footer, RowGroup};

use crate::error::{Error, ErrorKind};

/// Why a file cannot be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file breaks the rules of the format.
    Damaged { expected: String, found: String },
    /// The file uses an unsupported part of the format.
    Unsupported { what: String, hint: &'static str },
    /// Everything else.
    Other(Error),
}

type Result<T> = std::result::Result<T, Fault>;

fn damaged(expected: impl ToString, found: impl ToString) -> Fault {
    Fault::Damaged { expected: expected.to_string(), found: found.to_string() }
}

fn unsupported(what: impl ToString) -> Fault {
    let hint = "write the file anew with a current program, or convert it to JSON Lines";
    Fault::Unsupported { what: what.to_string(), hint }
}

fn read_failed(error: std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("more bytes", "the end of the file"),
        _ => Fault::Other(Error::io("read", error)),
    }
}

impl Fault {
    /// The error, with the column that it is about.
    pub(super) fn in_column(self, name: &str) -> Error {
        match self {
            Fault::Damaged { expected, found } => {
                Error::malformed("Parquet", expected, format!("{found} (in column \"{name}\")"))
            }
            other => other.into(),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Damaged { expected, found } => Error::malformed("Parquet", expected, found),
            Fault::Unsupported { what, hint } => {
                ErrorKind::Unsupported { what, hint: hint.to_owned() }.into()
            }
            Fault::Other(error) => error,
        }
    }
}

#[cfg(test)]
mod tests;
