//! Errors of the library as exceptions: one class for each kind of cause. The classes are Python
//! (`_errors.py`), since they have several bases.

use docsphere::{Error, ErrorKind};
use pyo3::prelude::*;

/// The exception for an error. Causes that are not named here are new: they come out as the base
/// class.
pub(crate) fn exception(error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Parameter { .. } | ErrorKind::Mismatch { .. } => "ParameterError",
        ErrorKind::Row { .. } | ErrorKind::Structure { .. } => "MatrixError",
        ErrorKind::TooLarge { .. } | ErrorKind::Memory { .. } => "TooLargeError",
        ErrorKind::Io { .. } => "FileError",
        ErrorKind::Malformed { .. }
        | ErrorKind::Unsupported { .. }
        | ErrorKind::Record { .. }
        | ErrorKind::MissingField { .. }
        | ErrorKind::NewerFormat { .. } => "FormatError",
        ErrorKind::Stopped { .. } => "StoppedError",
        ErrorKind::WorkerLost { .. } | ErrorKind::Worker { .. } => "ClusterError",
        _ => "DocsphereError",
    };
    named(class, error.to_string())
}

/// The exception for an error with a file of a result.
fn result_exception(error: &docsphere_result::Error) -> PyErr {
    use docsphere_result::ErrorKind;
    let class = match error.kind() {
        ErrorKind::Library(cause) if error.path().is_none() => return exception(cause),
        ErrorKind::Io { .. } | ErrorKind::Taken { .. } => "FileError",
        ErrorKind::Malformed { .. } | ErrorKind::NotBuilt { .. } => "FormatError",
        _ => "DocsphereError",
    };
    named(class, error.to_string())
}

/// An exception of this class.
pub(crate) fn named(class: &str, message: String) -> PyErr {
    let make = |py: Python<'_>| -> PyResult<PyErr> {
        let class = py.import("docsphere._errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    Python::attach(|py| make(py).unwrap_or_else(|error| error))
}

/// A `Result` of the library for Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for docsphere::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error))
    }
}

impl<T> OrRaise<T> for docsphere_result::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| result_exception(&error))
    }
}
