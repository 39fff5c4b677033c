//! The result folder: there whole, or not at all.
//!
//! Files are written into a staging folder beside the target, synced, and the folder is renamed. With `--force` the new folder and the old one change places in one step
//! (where the system can), so that at every moment one whole result is there. A process that was killed leaves its staging folder; the next run removes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::interrupt;

/// A result folder that is being written.
pub(crate) struct ResultFolder {
    target: PathBuf,
    staging: PathBuf,
    force: bool,
    /// Held as long as this process writes: tells a folder in use from one that was left behind.
    _lock: Option<File>,
}

impl ResultFolder {
    /// Refuses early what would be refused in the end. `mark` is a file that only such results have: a folder without it is never replaced.
    pub(crate) fn check(target: &Path, force: bool, mark: &str) -> Result<()> {
        let shown = target.display();
        let Some(name) = target.file_name() else {
            bail!("{shown}: is no name for a new folder; give one, such as {}", target.join("out").display());
        };
        let parent = parent_of(target);
        if !parent.is_dir() {
            bail!("{shown}: the folder {} does not exist; make it first", parent.display());
        }
        match fs::symlink_metadata(target) {
            Ok(found) if !found.is_dir() => {
                bail!("{shown}: is there already and is not a folder; choose another name")
            }
            Ok(_) if is_empty(target) => {}
            Ok(_) if !target.join(mark).exists() => bail!(
                "{shown}: is there already and holds no such result (there is no {mark}), so it is not replaced, even with --force; choose another name"
            ),
            Ok(_) if !force => bail!("{shown}: {}", taken()),
            _ => {}
        }
        remove_left_behind(parent, &staging_prefix(&name.to_string_lossy()));
        // Better to learn now than after hours that nothing can be written there.
        let staging = staging_of(target);
        fs::create_dir(&staging)
            .and_then(|()| fs::remove_dir(&staging))
            .with_context(|| format!("{shown}: cannot make a folder there"))
    }

    /// Makes the staging folder, after the same checks.
    pub(crate) fn create(target: &Path, force: bool, mark: &str) -> Result<Self> {
        Self::check(target, force, mark)?;
        let staging = staging_of(target);
        interrupt::remember_unfinished(&staging);
        fs::create_dir(&staging)
            .with_context(|| format!("{}: cannot make this folder", staging.display()))?;
        let lock = File::open(&staging).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(ResultFolder { target: target.to_owned(), staging, force, _lock: lock })
    }

    /// Where to write a file of the result.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    /// Syncs everything and puts the folder in its place.
    pub(crate) fn commit(self) -> Result<()> {
        let put = || -> Result<()> {
            for entry in fs::read_dir(&self.staging)? {
                File::open(entry?.path())?.sync_all()?;
            }
            sync_folder(&self.staging);
            interrupt::uninterrupted(|| self.put_in_place())?;
            sync_folder(parent_of(&self.target));
            Ok(())
        };
        put().with_context(|| format!("{}: cannot put the result there", self.target.display()))
        // What stands in the staging folder now, if anything, is the old result: dropping removes it.
    }

    fn put_in_place(&self) -> Result<()> {
        if self.force && self.target.exists() && !is_empty(&self.target) {
            return exchange(&self.staging, &self.target);
        }
        // Over an empty folder, too. If another run has put its result there in the meantime, this one fails.
        match fs::rename(&self.staging, &self.target) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => bail!(taken()),
            outcome => Ok(outcome?),
        }
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.staging);
        interrupt::forget_unfinished(&self.staging);
    }
}

fn taken() -> &'static str {
    "is there already; choose another name, or replace it with --force"
}

pub(super) fn staging_prefix(name: &str) -> String {
    format!(".{name}.partial-")
}

pub(super) fn staging_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    parent_of(target).join(format!("{}{}", staging_prefix(&name), std::process::id()))
}

/// Removes the staging folders and files of processes that were killed. In doubt one stays.
pub(super) fn remove_left_behind(parent: &Path, prefix: &str) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse::<u32>().ok());
        let is_gone = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        // A process of another container is not under /proc, but holds the lock.
        if is_gone && File::open(entry.path()).is_ok_and(|found| found.try_lock().is_ok()) {
            let is_folder = entry.file_type().is_ok_and(|found| found.is_dir());
            let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
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
    let name = b.file_name().unwrap_or_default().to_string_lossy();
    let aside = b.with_file_name(format!(".{name}.previous-{}", std::process::id()));
    fs::rename(b, &aside)?;
    if let Err(error) = fs::rename(a, b) {
        fs::rename(&aside, b)?;
        return Err(error.into());
    }
    Ok(fs::rename(&aside, a)?)
}

pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn sync_folder(folder: &Path) {
    // Not every system can; the files themselves are safe already.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_change_places_also_where_the_system_cannot_do_it_in_one_step() {
        let home = tempfile::tempdir().unwrap();
        let (a, b) = (home.path().join("a"), home.path().join("b"));
        for folder in [&a, &b] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("name"), folder.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        exchange_in_steps(&a, &b).unwrap();
        assert_eq!(fs::read_to_string(a.join("name")).unwrap(), "b");
        assert_eq!(fs::read_to_string(b.join("name")).unwrap(), "a");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }
}
