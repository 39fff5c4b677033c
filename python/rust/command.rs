//! The command `docsphere`, which the wheel has as well.

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process::exit;

use pyo3::prelude::*;

/// Exit code of a program that panicked, as in Rust.
const PANICKED: u8 = 101;

/// Runs a command line, whose first word is the name of the command, and ends the process with its
/// exit code.
///
/// The process ends here, and not by a return to Python, so that it ends as the binary does: what
/// was printed is flushed, and no thread has to come to an end first.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) {
    py.detach(|| {
        // A panic has been reported when it gets here.
        let code = catch_unwind(|| docsphere_cli::run(words)).unwrap_or(PANICKED);
        exit(i32::from(code))
    })
}
