//! A single file that appears whole or not at all, as [`ResultFolder`](super::folder::ResultFolder) does for folders.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::folder::{parent_of, remove_left_behind, staging_of, staging_prefix};
use crate::console::UntilClosed;
use crate::interrupt;

/// Writes `path` with what `write` gives, in place of a file that was there. Devices and pipes are written to directly.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let put = |path: &Path, options: &OpenOptions| -> Result<()> {
        // Of a pipe the reader may go away; a regular file is never closed.
        let mut file = BufWriter::new(UntilClosed::new(options.open(path)?));
        write(&mut file)?;
        Ok(file.flush()?)
    };
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return put(path, File::options().write(true)).with_context(|| cannot_write(path));
    }
    make_whole(path, |staging| put(staging, File::options().write(true)))
}

/// The same for whoever makes the file under the name that it is given. There is an empty file already.
pub(crate) fn make_whole(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let attempt = || {
        // A link stays one: what it leads to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = target.file_name().context("is no name for a file")?.to_string_lossy();
        let staging = staging_of(&target);
        remove_left_behind(parent_of(&target), &staging_prefix(&name));
        interrupt::remember_unfinished(&staging);
        let outcome = fill(&target, &staging, make);
        if outcome.is_err() {
            let _ = fs::remove_file(&staging);
        }
        interrupt::forget_unfinished(&staging);
        outcome
    };
    attempt().with_context(|| cannot_write(path))
}

fn fill(target: &Path, staging: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let file = File::create(staging)?;
    // Held as long as this process writes: tells a file in use from one that was left behind. (Elsewhere a lock would keep the writer out.)
    let _ = cfg!(unix).then(|| file.try_lock());
    // A private file stays private, from the first byte on.
    let old = fs::metadata(target).ok().map(|old| old.permissions());
    if let Some(old) = &old {
        file.set_permissions(writable(old.clone()))?;
    }
    make(staging)?;
    if let Some(old) = old {
        file.set_permissions(old)?;
    }
    file.sync_all()?;
    Ok(interrupt::uninterrupted(|| fs::rename(staging, target))?)
}

/// The same permissions, and that the owner may write.
fn writable(mut permissions: Permissions) -> Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        permissions.set_mode(permissions.mode() | 0o200);
    }
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    permissions
}

fn cannot_write(path: &Path) -> String {
    format!("{}: cannot write", path.display())
}
