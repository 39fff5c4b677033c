//! The one error type of this crate.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error about a file of a result.
#[derive(Debug)]
pub struct Error {
    // Boxed so that a `Result` stays small.
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    line: Option<u64>,
}

/// The causes of an [`Error`].
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
    /// A file is damaged or holds something else, or the files of a folder do not belong together.
    /// Write the result again.
    #[error("{problem}")]
    Malformed {
        /// The problem, as the predicate of a sentence about the file.
        problem: String,
    },
    /// The target already exists and is not replaced. Choose another name.
    #[error("{problem}")]
    Taken {
        /// What exists there, and what to do.
        problem: String,
    },
    /// An edit cannot be made: choose another cluster or name, or remove the edit.
    #[error("{problem}")]
    Edit {
        /// Why not, and what to do.
        problem: String,
    },
    /// The format is not in this build.
    #[error("{what} is not in this build; build it with the feature \"{feature}\", or use {instead}")]
    NotBuilt {
        /// The format.
        what: &'static str,
        /// The feature that enables it.
        feature: &'static str,
        /// What is there without it.
        instead: &'static str,
    },
    /// An error of the library: a damaged model, or a file that needs more memory than allowed.
    #[error("{0}")]
    Library(docsphere::Error),
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// The file or folder that the error is about. An error of the library may name its own.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// The line of the file, counted from 1, if it has lines.
    pub fn line(&self) -> Option<u64> {
        self.inner.line
    }

    /// The error of the library that is the cause, if one is.
    pub fn library(&self) -> Option<&docsphere::Error> {
        match &self.inner.kind {
            ErrorKind::Library(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn at_path(mut self, path: &Path) -> Self {
        self.inner.path.get_or_insert_with(|| path.to_owned());
        self
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.inner.line.get_or_insert(line);
        self
    }

    pub(crate) fn malformed(problem: impl Into<String>) -> Self {
        ErrorKind::Malformed { problem: problem.into() }.into()
    }

    /// An error of reading `path`. A refusal by the memory limit, which readers pass on as an I/O
    /// error, is recovered.
    pub(crate) fn reading(source: io::Error, path: &Path) -> Self {
        let kind = match source.downcast::<docsphere::Error>() {
            Ok(refusal) => ErrorKind::Library(refusal),
            Err(source) => ErrorKind::Io { action: "read", source },
        };
        Error::from(kind).at_path(path)
    }

    pub(crate) fn writing(source: impl Into<io::Error>, path: &Path) -> Self {
        Error::from(ErrorKind::Io { action: "write", source: source.into() }).at_path(path)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { inner: Box::new(Inner { kind, path: None, line: None }) }
    }
}

impl From<docsphere::Error> for Error {
    fn from(error: docsphere::Error) -> Self {
        ErrorKind::Library(error).into()
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
        }
        write!(f, "{}", self.inner.kind)
    }
}

// Without a source: the message includes it, and printing both would repeat it.
impl std::error::Error for Error {}
