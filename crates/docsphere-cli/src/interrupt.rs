//! Ctrl-C and other termination signals.
//!
//! While a run iterates or a server runs, the first signal requests a graceful stop and the second
//! stops at once; at all other times the first one stops at once. In every case nothing
//! half-written is left: unfinished results are removed, and so are the library's temporary files.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::console::tell;

/// Exit code of an interrupted process, as in shells: 128 + SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

static SIGNALS: AtomicUsize = AtomicUsize::new(0);
/// Whether a result has been put in its place.
static IS_WRITTEN: AtomicBool = AtomicBool::new(false);
/// The message printed on the first signal, if that requests a graceful stop.
static CALM_ANSWER: Mutex<Option<&'static str>> = Mutex::new(None);
static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { results: Vec::new(), folders: Vec::new() });

/// Files and folders that must not be left behind.
struct Unfinished {
    /// Files and folders that are being written.
    results: Vec<PathBuf>,
    /// Folders in which the library may have temporary files.
    folders: Vec<PathBuf>,
}

/// Installs the signal handler.
pub(crate) fn listen() {
    // Without a handler a signal ends the process at once: staging folders are then left behind,
    // but nothing worse happens.
    let _ = ctrlc::set_handler(|| {
        let is_first = SIGNALS.fetch_add(1, Ordering::SeqCst) == 0;
        if io::stderr().is_terminal() {
            // Ends the line that shows "^C" and the progress bar.
            eprintln!();
        }
        let answer = *CALM_ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Some(answer) if is_first => tell(answer),
            _ => stop_at_once(),
        }
    });
}

/// Ends the process. The lock is never released: a thread about to put a result in place blocks
/// until the process is gone.
fn stop_at_once() -> ! {
    let unfinished = unfinished();
    let is_written = IS_WRITTEN.load(Ordering::SeqCst);
    tell(if is_written { "interrupted; the result is written" } else { "interrupted; nothing was written" });
    for path in &unfinished.results {
        let _ = if path.is_dir() { remove_folder(path) } else { fs::remove_file(path) };
    }
    let prefix = docsphere::temporary_prefix(std::process::id());
    for folder in &unfinished.folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    std::process::exit(i32::from(EXIT_CODE));
}

/// Removes a folder, with retries: another thread may still be writing into it.
fn remove_folder(folder: &Path) -> io::Result<()> {
    (0..10).map(|_| fs::remove_dir_all(folder)).find(Result::is_ok).unwrap_or(Ok(()))
}

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on the first signal prints this line and requests a graceful stop: see
/// [`asked_to_stop`].
pub(crate) fn stop_calmly(answer: &'static str) {
    *CALM_ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
}

/// Marks the request to stop as fulfilled: the process ends as if no signal had arrived.
#[cfg(feature = "serve")]
pub(crate) fn settle() {
    SIGNALS.store(0, Ordering::SeqCst);
}

/// Whether a signal has arrived.
pub(crate) fn asked_to_stop() -> bool {
    SIGNALS.load(Ordering::SeqCst) > 0
}

/// Puts a result in its place, a step that must not be interrupted. Afterwards these files or
/// folders are no longer removed if the process is stopped: they may be something else.
pub(crate) fn uninterrupted<T, E>(results: &[&Path], step: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut unfinished = unfinished();
    let outcome = step();
    unfinished.results.retain(|other| !results.contains(&other.as_path()));
    IS_WRITTEN.fetch_or(outcome.is_ok(), Ordering::SeqCst);
    outcome
}

/// States that the files put in place so far are only preparation: an interrupted process still
/// reports that nothing was written.
pub(crate) fn only_prepared() {
    IS_WRITTEN.store(false, Ordering::SeqCst);
}

/// Registers a file or folder to be removed if the process is stopped at once.
pub(crate) fn remember_unfinished(path: &Path) {
    unfinished().results.push(path.to_owned());
}

/// Unregisters a file or folder that is complete, or gone.
pub(crate) fn forget_unfinished(path: &Path) {
    unfinished().results.retain(|other| other != path);
}

/// Removes a folder, if it is registered, and then unregisters it: if the process is stopped
/// meanwhile, the rest is removed as well.
pub(crate) fn remove_unfinished(folder: &Path) {
    let is_registered = unfinished().results.iter().any(|other| other == folder);
    if is_registered {
        let _ = fs::remove_dir_all(folder);
        forget_unfinished(folder);
    }
}

/// Registers a folder into which the library will write temporary files.
pub(crate) fn remember_folder(folder: &Path) {
    unfinished().folders.push(folder.to_owned());
}
