//! A single file that appears whole or not at all, as [`ResultFolder`](super::folder::ResultFolder) does for folders.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::interrupt;

/// Writes `path` with what `write` gives, in place of a file that was there. Devices and pipes are written to directly.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let attempt = || {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let mut file = BufWriter::new(File::options().write(true).open(path)?);
            write(&mut file)?;
            return Ok(file.flush()?);
        }
        let name = path.file_name().context("is no name for a file")?.to_string_lossy();
        let staging = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
        interrupt::remember_unfinished(&staging);
        let outcome = write_and_rename(&staging, path, write);
        if outcome.is_err() {
            let _ = fs::remove_file(&staging);
        }
        interrupt::forget_unfinished(&staging);
        outcome
    };
    attempt().with_context(|| format!("{}: cannot write", path.display()))
}

fn write_and_rename(
    staging: &Path,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut file = BufWriter::new(File::create(staging)?);
    write(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(interrupt::uninterrupted(|| fs::rename(staging, path))?)
}
