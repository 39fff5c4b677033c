//! The library's only error type.
//!
//! [`Error`] says what is wrong and, for input, where: file and line. [`ErrorKind`] lets a program
//! distinguish the causes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A `Result` with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and where.
#[derive(Debug)]
pub struct Error {
    // Boxed so that a `Result` stays as small as a pointer.
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    line: Option<u64>,
}

/// The causes of an [`Error`], each with its data. The doc comments say what the user can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused. Check that the file exists, may be read or written, and that
    /// the disk has room.
    #[error("cannot {action}: {source}")]
    Io {
        /// The failed action, as an infinitive: "read", "write".
        action: &'static str,
        /// The system's own error.
        source: io::Error,
    },
    /// An option is outside its range. Give a value in the range that the message names.
    #[error("{name} must be {expected}, got {got}")]
    Parameter {
        /// The option's name, as in [`Params`](crate::Params).
        name: &'static str,
        /// The allowed range, in words.
        expected: String,
        /// The given value.
        got: String,
    },
    /// A device cannot be used. Install what the message names, or choose another device.
    #[error("device {device}: {problem}")]
    Device {
        /// The device's name.
        device: &'static str,
        /// What is wrong, as the driver or the device says it.
        problem: String,
    },
    /// An option does not fit the data, or two data sets do not fit each other.
    #[error("{what} must be {expected}, got {got}")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
        /// What would fit.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A row of a matrix holds an invalid value or index.
    #[error("row {row}: {problem}")]
    Row {
        /// The row, counted from 0.
        row: u64,
        /// The problem.
        problem: RowProblem,
    },
    /// Compressed sparse row parts that contradict each other.
    #[error("not a valid sparse matrix: {what} should be {expected}, got {got}")]
    Structure {
        /// The part that is wrong.
        what: &'static str,
        /// The expected value.
        expected: String,
        /// The actual value.
        got: String,
    },
    /// A file that breaks the rules of its format: damaged, truncated, or of another format.
    #[error("not valid {format}: expected {expected}, found {found}")]
    Malformed {
        /// The format that the file was read as.
        format: &'static str,
        /// What the format requires at this place.
        expected: String,
        /// What is there instead.
        found: String,
    },
    /// A file of a kind that this library does not read. Convert it, or name its format.
    #[error("{what} is not supported; {hint}")]
    Unsupported {
        /// What was found.
        what: String,
        /// What to do instead.
        hint: String,
    },
    /// A record of a corpus that breaks the rules of its format. Correct it, or leave such records
    /// out with [`CorpusOptions::skip_bad_records`](crate::CorpusOptions::skip_bad_records).
    #[error(
        "bad {format} record: expected {expected}, found {found}; mend it, or set skip_bad_records to leave such records out"
    )]
    Record {
        /// The format that the record was read as.
        format: &'static str,
        /// What the format requires.
        expected: String,
        /// What is there instead.
        found: String,
    },
    /// More than a small share of the documents has bytes that are not text. Name the encoding with
    /// [`CorpusOptions::encoding`](crate::CorpusOptions::encoding).
    #[error(
        "{n_damaged} of {n_documents} documents have bytes that are not text in the encoding that was found; encoding names another one, such as windows-1252, or utf-8 to replace such bytes"
    )]
    Encoding {
        /// Documents with such bytes.
        n_damaged: u64,
        /// All documents.
        n_documents: u64,
    },
    /// A record or table lacks a requested field. Name the fields that hold the text and the id.
    #[error("there is no field \"{field}\"; the fields are {found}; {option} names the field to take")]
    MissingField {
        /// The requested field.
        field: String,
        /// The option that names it.
        option: &'static str,
        /// The existing fields, for a message.
        found: String,
    },
    /// A number above the limit of the data structures.
    #[error("{what} is limited to {limit}, got {got}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The largest allowed number.
        limit: u64,
        /// The number found.
        got: u64,
    },
    /// Reading would take more memory than the [`MemoryLimit`](crate::MemoryLimit) allows, or than
    /// there is. Allow more, or read less: fewer or shorter documents, or another file if this one
    /// holds more than it should.
    #[error("reading {what} takes {needed} bytes or more, but {limit} are allowed; allow more, or read less")]
    Memory {
        /// What was being read.
        what: &'static str,
        /// Bytes that the process would hold, at least.
        needed: u64,
        /// Bytes that it may hold.
        limit: u64,
    },
    /// The file was written by a later version. Update docsphere, or rewrite the file with this
    /// version.
    #[error(
        "written in format version {found}, this build reads up to version {supported}; update docsphere to read it"
    )]
    NewerFormat {
        /// The version in the file.
        found: u32,
        /// The newest version that this build reads.
        supported: u32,
    },
    /// A worker of a cluster lost its rows again and again: its process was killed, or its machine
    /// is gone. Often it ran out of memory: use more shards, or machines with more memory.
    #[error(
        "worker {worker} was lost while {stage}; if it ran out of memory, use more shards or larger machines"
    )]
    WorkerLost {
        /// The number of the worker, from 0.
        worker: usize,
        /// What it was doing.
        stage: &'static str,
    },
    /// A worker of a cluster reported an error. Its message says what to do.
    #[error("worker {worker}: {message}")]
    Worker {
        /// The number of the worker, from 0.
        worker: usize,
        /// The error there, with file and line.
        message: String,
    },
    /// The observer stopped the run before there was a result to return.
    #[error("stopped by the observer during {stage}, before there was a result")]
    Stopped {
        /// The stage that was running.
        stage: &'static str,
    },
}

/// A problem in a single row.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// A value that is not a number, or infinite.
    #[error("the value of term {term} is {value}; values must be finite")]
    NotFinite {
        /// The term's id.
        term: u32,
        /// The value.
        value: f32,
    },
    /// A value outside the range of f32.
    #[error("the value {value} of term {term} is too large for a 32-bit float")]
    TooLarge {
        /// The term's id.
        term: u32,
        /// The value.
        value: f64,
    },
    /// A term id that is not below the number of terms.
    #[error("term id {term} is out of range: {}", ids_in_range(*.n_terms))]
    TermOutOfRange {
        /// The term's id.
        term: u64,
        /// The number of terms of the matrix.
        n_terms: u64,
    },
    /// A row weight that is negative, not a number, or infinite.
    #[error("the row weight is {weight}; weights must be finite and not negative")]
    BadWeight {
        /// The weight.
        weight: f64,
    },
}

fn ids_in_range(n_terms: u64) -> String {
    match n_terms.checked_sub(1) {
        None => "there are no terms".to_owned(),
        Some(last) => format!("ids run from 0 to {last}"),
    }
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// The file that the error is about, if any.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// The line of the file, counted from 1, if it has lines.
    pub fn line(&self) -> Option<u64> {
        self.inner.line
    }

    /// Adds the file, unless an inner layer has already named one.
    #[must_use]
    pub(crate) fn at_path(mut self, path: &Path) -> Self {
        self.inner.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the line, counted from 1, unless an inner layer has already named one.
    #[must_use]
    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.inner.line.get_or_insert(line);
        self
    }

    /// An [`ErrorKind::Io`] for `action` (an infinitive: "read", "write").
    pub(crate) fn io(action: &'static str, source: io::Error) -> Self {
        ErrorKind::Io { action, source }.into()
    }

    /// An [`ErrorKind::Malformed`].
    pub(crate) fn malformed(
        format: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        ErrorKind::Malformed { format, expected: expected.into(), found: found.into() }.into()
    }

    /// An [`ErrorKind::Parameter`], unless `ok`.
    pub(crate) fn unless(
        ok: bool,
        name: &'static str,
        expected: impl Into<String>,
        got: impl fmt::Display,
    ) -> Result<()> {
        if ok {
            return Ok(());
        }
        Err(ErrorKind::Parameter { name, expected: expected.into(), got: got.to_string() }.into())
    }

    /// An [`ErrorKind::Structure`].
    pub(crate) fn structure(what: &'static str, expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        ErrorKind::Structure { what, expected: expected.to_string(), got: got.to_string() }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { inner: Box::new(Inner { kind, path: None, line: None }) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.inner.path {
            write!(f, "{}", path.display())?;
            if let Some(line) = self.inner.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        } else if let Some(line) = self.inner.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.inner.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.kind {
            ErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_begins_with_file_and_line() {
        let error = Error::malformed("Matrix Market", "three numbers", "two").at_line(7);
        assert_eq!(error.to_string(), "line 7: not valid Matrix Market: expected three numbers, found two");
        let error = error.at_path(Path::new("a.mtx")).at_path(Path::new("outer.mtx")).at_line(9);
        assert_eq!(error.to_string(), "a.mtx:7: not valid Matrix Market: expected three numbers, found two");
    }
}
