//! The result folder: there whole, or not at all.
//!
//! Files are written into a staging folder beside the target, synced, and the folder is renamed. With `--force` the new folder and the old one change places in one step
//! (where the system can), so that at every moment one whole result is there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::interrupt;

/// A file that only our results have: a folder without it is never replaced.
const MARK: &str = "clusters.json";

/// A result folder that is being written.
pub(crate) struct ResultFolder {
    target: PathBuf,
    staging: PathBuf,
    committed: bool,
}

impl ResultFolder {
    /// Refuses early what would be refused in the end.
    pub(crate) fn check(target: &Path, force: bool, mark: &str) -> Result<()> {
        let shown = target.display();
        match fs::symlink_metadata(target) {
            Err(_) => {
                let parent = parent_of(target);
                if !parent.is_dir() {
                    bail!("{shown}: the folder {} does not exist; make it first", parent.display());
                }
                Ok(())
            }
            Ok(metadata) if !metadata.is_dir() => {
                bail!("{shown}: is there already and is not a folder; choose another name")
            }
            Ok(_) if is_empty(target) => Ok(()),
            Ok(_) if !force => {
                bail!("{shown}: is there already; choose another name, or replace it with --force")
            }
            Ok(_) if !target.join(mark).exists() => {
                bail!(
                    "{shown}: holds no result of docsphere (there is no {mark}), so it is not replaced, even with --force; choose another name"
                )
            }
            Ok(_) => Ok(()),
        }
    }

    /// Makes the staging folder.
    pub(crate) fn create(target: &Path, force: bool) -> Result<Self> {
        Self::create_marked(target, force, MARK)
    }

    /// As [`create`](Self::create), for results that are known by another file.
    pub(crate) fn create_marked(target: &Path, force: bool, mark: &str) -> Result<Self> {
        Self::check(target, force, mark)?;
        let name =
            target.file_name().with_context(|| format!("{}: is no name for a folder", target.display()))?;
        let staging =
            parent_of(target).join(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id()));
        fs::create_dir(&staging)
            .with_context(|| format!("{}: cannot make this folder", staging.display()))?;
        interrupt::remember_unfinished(&staging);
        Ok(ResultFolder { target: target.to_owned(), staging, committed: false })
    }

    /// Where to write a file of the result.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    /// Syncs everything and puts the folder in its place.
    pub(crate) fn commit(mut self) -> Result<()> {
        for entry in fs::read_dir(&self.staging)? {
            File::open(entry?.path())?.sync_all()?;
        }
        sync_folder(&self.staging);
        self.put_in_place()
            .with_context(|| format!("{}: cannot put the result there", self.target.display()))?;
        self.committed = true;
        interrupt::forget_unfinished(&self.staging);
        sync_folder(parent_of(&self.target));
        Ok(())
    }

    fn put_in_place(&self) -> Result<()> {
        if self.target.exists() && !is_empty(&self.target) {
            exchange(&self.staging, &self.target)?;
            // What stands in the staging folder now is the old result.
            return Ok(fs::remove_dir_all(&self.staging)?);
        }
        // Over an empty folder, too.
        Ok(fs::rename(&self.staging, &self.target)?)
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_dir_all(&self.staging);
            interrupt::forget_unfinished(&self.staging);
        }
    }
}

/// Two folders change places.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems cannot.
        Err(_) => exchange_in_steps(a, b),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path) -> Result<()> {
    exchange_in_steps(a, b)
}

fn exchange_in_steps(a: &Path, b: &Path) -> Result<()> {
    let aside = a.with_extension("old");
    fs::rename(b, &aside)?;
    fs::rename(a, b)?;
    Ok(fs::rename(&aside, a)?)
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn sync_folder(folder: &Path) {
    // Not every system can; the files themselves are safe already.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
