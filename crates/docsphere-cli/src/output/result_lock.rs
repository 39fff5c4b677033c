//! A lock on a result while it, or a file in it, is changed: of two processes at once the second is
//! refused.
//!
//! The lock is on the folder itself, not on a file in it: a changed result is a new folder, which
//! takes the place of the old one. A process that opened the old folder just before notices by its
//! identity that the result is another one now. Where folders cannot be locked, the identity is
//! still compared.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Held while a result is changed.
pub(crate) struct ResultLock {
    folder: Option<File>,
    identity: Option<(u64, u64)>,
}

impl ResultLock {
    /// Locks a result. Refused if another process changes it.
    pub(crate) fn take(result: &Path) -> Result<Self> {
        let shown = result.display();
        let found = fs::metadata(result).with_context(|| format!("{shown}: cannot read"))?;
        if !found.is_dir() {
            bail!("{shown}: is not a folder; give the folder of a result");
        }
        // Not every system can open folders.
        let folder = File::open(result).ok();
        if let Some(folder) = &folder
            && matches!(folder.try_lock(), Err(TryLockError::WouldBlock))
        {
            bail!("{shown}: another process is changing this result; wait until it has ended");
        }
        let identity = folder.as_ref().and_then(|folder| folder.metadata().ok()).and_then(identity);
        let lock = ResultLock { folder, identity };
        lock.check(result)?;
        Ok(lock)
    }

    /// Refuses if the result has been replaced since.
    pub(crate) fn check(&self, result: &Path) -> Result<()> {
        let now = fs::metadata(result).ok().and_then(identity);
        if self.folder.is_some() && now != self.identity {
            bail!("another process has replaced the result meanwhile; give the command again");
        }
        Ok(())
    }
}

#[cfg(unix)]
fn identity(found: fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: fs::Metadata) -> Option<(u64, u64)> {
    None
}
