//! A single file that appears whole or not at all, as [`ResultFolder`](super::folder::ResultFolder) does for folders.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::interrupt;

/// Writes `path` with what `write` gives, in place of a file that was there. Devices and pipes are written to directly.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let fill = |path: &Path, options: &OpenOptions| -> Result<()> {
        let mut file = BufWriter::new(options.open(path)?);
        write(&mut file)?;
        Ok(file.flush()?)
    };
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fill(path, File::options().write(true)).with_context(|| cannot_write(path));
    }
    make_whole(path, |staging| fill(staging, File::options().write(true).create(true).truncate(true)))
}

/// The same for whoever makes the file under the name that it is given.
pub(crate) fn make_whole(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let attempt = || {
        let name = path.file_name().context("is no name for a file")?.to_string_lossy();
        let staging = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
        interrupt::remember_unfinished(&staging);
        let outcome = make(&staging).and_then(|()| {
            File::open(&staging)?.sync_all()?;
            Ok(interrupt::uninterrupted(|| fs::rename(&staging, path))?)
        });
        if outcome.is_err() {
            let _ = fs::remove_file(&staging);
        }
        interrupt::forget_unfinished(&staging);
        outcome
    };
    attempt().with_context(|| cannot_write(path))
}

fn cannot_write(path: &Path) -> String {
    format!("{}: cannot write", path.display())
}
