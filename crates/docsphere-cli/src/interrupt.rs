//! Ctrl-C: the first asks the run to come to an end, the second stops at once and leaves nothing half-written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the process returns when it was interrupted, as shells do: 128 + SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Begins to listen.
pub(crate) fn listen() {
    // Without a handler Ctrl-C ends the process at once: staging folders are then left behind, nothing worse.
    let _ = ctrlc::set_handler(|| {
        if SIGNALS.fetch_add(1, Ordering::SeqCst) == 0 {
            eprintln!("\ndocsphere: finishing this iteration; press Ctrl-C again to stop at once");
            return;
        }
        if let Ok(unfinished) = UNFINISHED.lock() {
            for folder in unfinished.iter() {
                let _ = fs::remove_dir_all(folder);
            }
        }
        std::process::exit(i32::from(EXIT_CODE));
    });
}

/// Whether Ctrl-C has been pressed.
pub(crate) fn asked_to_stop() -> bool {
    SIGNALS.load(Ordering::SeqCst) > 0
}

/// This folder is to be removed if the process is stopped at once.
pub(crate) fn remember_unfinished(folder: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.push(folder.to_owned());
    }
}

/// This folder is complete, or gone.
pub(crate) fn forget_unfinished(folder: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.retain(|other| other != folder);
    }
}
