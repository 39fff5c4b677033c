//! A single file that appears whole or not at all, as [`ResultFolder`](super::folder::ResultFolder)
//! does for folders; and two files that belong together.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use docsphere::fail_point;

use super::staging::{Role, parent_of, remove_left_behind};
use crate::console::UntilClosed;
use crate::interrupt;

/// Writes `path` with the output of `write`, replacing an existing file. Devices and pipes are
/// written to directly.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return put(path, File::options().write(true), write).with_context(|| cannot_write(path));
    }
    make_whole(path, |staging| put(staging, File::options().write(true), write))
}

fn put(path: &Path, options: &OpenOptions, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    // A pipe may be closed by its reader; a regular file never is.
    let mut file = BufWriter::new(UntilClosed::new(options.open(path)?));
    write(&mut file)?;
    Ok(file.flush()?)
}

/// The same, for a `make` that writes the file under the name that it is given. An empty file of
/// that name already exists.
pub(crate) fn make_whole(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let attempt = || -> Result<()> {
        let staged = Staged::make(path, make)?;
        Ok(interrupt::uninterrupted(&[&staged.staging], || staged.take_place())?)
    };
    attempt().with_context(|| cannot_write(path))
}

/// A file with its content.
pub(crate) struct FileToWrite<'a> {
    pub(crate) path: &'a Path,
    pub(crate) write: &'a dyn Fn(&mut dyn Write) -> Result<()>,
}

/// Writes two files of which `derived` is derived from `main`. Whenever the process is killed, an
/// existing `derived` belongs to the `main` beside it: the old one is removed before the new `main`
/// takes its place. If it is missing, both can be written again from the rest of the result. The
/// caller keeps other processes away from both.
pub(crate) fn write_together(main: &FileToWrite<'_>, derived: &FileToWrite<'_>) -> Result<()> {
    let stage = |file: &FileToWrite<'_>| {
        let attempt = || {
            let is_other = fs::metadata(file.path).is_ok_and(|found| !found.is_file());
            ensure!(!is_other, "is there already and is not a regular file");
            Staged::make(file.path, |staging| put(staging, File::options().write(true), file.write))
        };
        attempt().with_context(|| cannot_write(file.path))
    };
    let (main, derived) = (stage(main)?, stage(derived)?);
    let put = || steps(&main, &derived).iter().try_for_each(|step| step());
    interrupt::uninterrupted(&[&main.staging, &derived.staging], put).with_context(|| {
        format!("{}: cannot write, nor {}; try again", main.target.display(), derived.target.display())
    })
}

type Step<'a> = Box<dyn Fn() -> io::Result<()> + 'a>;

/// The steps by which two files take their places. The folders are synced in between, so that after
/// a power failure no later step is kept without the earlier ones.
fn steps<'a>(main: &'a Staged, derived: &'a Staged) -> [Step<'a>; 3] {
    let remove_old = || match fs::remove_file(&derived.target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => {
            derived.sync_folder();
            Ok(())
        }
    };
    [
        Box::new(move || remove_old().inspect(|()| fail_point("old file removed"))),
        Box::new(|| main.take_place().inspect(|()| fail_point("first file in place"))),
        Box::new(|| derived.take_place().inspect(|()| fail_point("second file in place"))),
    ]
}

/// A file that is written but does not have its final name yet. Removed when dropped, unless it has
/// taken its place.
struct Staged {
    target: PathBuf,
    staging: PathBuf,
    /// Holds a lock as long as this process writes; distinguishes a file in use from a leftover.
    file: File,
}

impl Staged {
    fn make(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        // A link is kept: its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        target.file_name().context("is no name for a file")?;
        let staging = Role::Partial.path(&target);
        remove_left_behind(&target);
        interrupt::remember_unfinished(&staging);
        let file = File::create(&staging).inspect_err(|_| {
            interrupt::forget_unfinished(&staging);
        })?;
        let staged = Staged { target, staging, file };
        staged.fill(make)?;
        Ok(staged)
    }

    fn fill(&self, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let file = &self.file;
        // On other systems a lock would block the writer.
        let _ = cfg!(unix).then(|| file.try_lock());
        // A private file stays private from the first byte on.
        let old = fs::metadata(&self.target).ok().map(|old| old.permissions());
        if let Some(old) = &old {
            file.set_permissions(writable(old.clone()))?;
        }
        make(&self.staging)?;
        if let Some(old) = old {
            file.set_permissions(old)?;
        }
        fail_point("file filled");
        Ok(file.sync_all()?)
    }

    fn take_place(&self) -> io::Result<()> {
        fs::rename(&self.staging, &self.target)?;
        self.sync_folder();
        Ok(())
    }

    fn sync_folder(&self) {
        // Not supported on every system; the file itself is already synced.
        let _ = File::open(parent_of(&self.target)).and_then(|folder| folder.sync_all());
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.staging);
        interrupt::forget_unfinished(&self.staging);
    }
}

/// The same permissions, and write permission for the owner.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(path: &Path, content: &str) -> Staged {
        Staged::make(path, |staging| Ok(fs::write(staging, content)?)).unwrap()
    }

    #[test]
    fn two_files_are_never_of_different_writes_whenever_a_process_is_killed() {
        for has_old in [false, true] {
            for n_steps in 0..=3 {
                let home = tempfile::tempdir().unwrap();
                let [main, derived] = ["main", "derived"].map(|name| home.path().join(name));
                fs::write(&main, "old").unwrap();
                if has_old {
                    fs::write(&derived, "old").unwrap();
                }
                let staged = (stage(&main, "new"), stage(&derived, "new"));
                steps(&staged.0, &staged.1).iter().take(n_steps).for_each(|step| step().unwrap());
                let main = fs::read_to_string(&main).unwrap();
                let derived = fs::read_to_string(&derived).ok();
                assert!(derived.is_none_or(|derived| derived == main), "after {n_steps} steps");
                assert_eq!(main, if n_steps < 2 { "old" } else { "new" });
                drop(staged);
                let n_files = fs::read_dir(home.path()).unwrap().count();
                assert_eq!(n_files, if n_steps == 3 || (has_old && n_steps == 0) { 2 } else { 1 });
            }
        }
    }
}
