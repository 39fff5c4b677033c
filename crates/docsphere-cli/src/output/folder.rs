//! The result folder, which appears whole or not at all.
//!
//! Files are written into a staging folder beside the target, synced, and the folder is renamed.
//! With `--force` the new folder and the old one are exchanged in one step, so that one whole
//! result exists at every moment. Where the file system cannot do that, it takes three renames: a
//! process that is killed between them leaves the old result beside its place, and the next run
//! puts it back.
//!
//! Only files that docsphere wrote are ever deleted ([`names`](super::names)). A folder with
//! anything else in it is refused before the work begins. Files that appear in it during the run
//! are kept: the whole old folder then stays as `OUT.old`. A result that cannot be put in its place
//! stays as `OUT.new`.
//!
//! A result that is *changed*, not replaced, may hold files of others: they go along into the new
//! folder ([`carried`]). Meanwhile it is locked ([`ResultLock`]).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use docsphere::fail_point;

use super::carried;
use super::names::{FolderKind, remove_own};
use super::reads::Reads;
use super::result_lock::ResultLock;
use super::staging::{Role, free_name, parent_of, remove_left_behind};
use crate::console::tell;
use crate::interrupt;

/// What happens to a result that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The command is refused.
    Refused,
    /// The new one takes its place (`--force`).
    Replaced,
    /// It was read, and the new one is made from it.
    Changed,
}

impl From<bool> for Existing {
    fn from(force: bool) -> Self {
        if force { Existing::Replaced } else { Existing::Refused }
    }
}

/// A result folder that is being written.
pub(crate) struct ResultFolder {
    target: PathBuf,
    staging: PathBuf,
    kind: FolderKind,
    existing: Existing,
    /// Of a result that is changed.
    changed: Option<ResultLock>,
    /// Held as long as this process writes; distinguishes a folder in use from a leftover.
    _lock: Option<File>,
}

impl ResultFolder {
    /// Checks before the work begins that the result can be put in place at the end, with a trial.
    /// `reads` are the files that the command reads.
    pub(crate) fn check(
        target: &Path,
        existing: impl Into<Existing>,
        kind: FolderKind,
        reads: &Reads,
    ) -> Result<()> {
        let shown = target.display();
        let target = &without_slashes(target);
        if target.file_name().is_none() {
            bail!("{shown}: is no name for a new folder; give one, such as {}", target.join("out").display());
        }
        let parent = parent_of(target);
        if !parent.is_dir() {
            bail!("{shown}: the folder {} does not exist; make it first", parent.display());
        }
        put_back(target);
        let found = fs::symlink_metadata(target).ok();
        match &found {
            Some(found) if found.is_symlink() => {
                bail!("{shown}: is a link; give the name of the folder itself, or another one")
            }
            Some(found) if !found.is_dir() => {
                bail!("{shown}: is there already and is not a folder; choose another name")
            }
            Some(_) if is_mount_point(target) => {
                bail!("{shown}: is a mount point, which cannot be replaced; choose a folder in it")
            }
            _ => reads.check_folder(target)?,
        }
        let is_replaced = found.is_some() && !is_empty(target);
        if is_replaced {
            check_replaced(target, existing.into(), kind).with_context(|| shown.to_string())?;
        }
        remove_left_behind(target);
        try_out(target, is_replaced).with_context(|| shown.to_string())
    }

    /// Creates the staging folder.
    pub(crate) fn create(target: &Path, existing: impl Into<Existing>, kind: FolderKind) -> Result<Self> {
        let existing = existing.into();
        let target = without_slashes(target);
        let staging = Role::Partial.path(&target);
        interrupt::remember_unfinished(&staging);
        fs::create_dir(&staging)
            .with_context(|| format!("{}: cannot make this folder", staging.display()))?;
        fail_point("staging made");
        let lock = File::open(&staging).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(ResultFolder { target, staging, kind, existing, changed: None, _lock: lock })
    }

    /// Creates the staging folder of a result that is changed. The lock is held until the end.
    pub(crate) fn of_changed(target: &Path, kind: FolderKind, lock: ResultLock) -> Result<Self> {
        let mut folder = Self::create(target, Existing::Changed, kind)?;
        folder.changed = Some(lock);
        Ok(folder)
    }

    /// The folder to write the result's files into.
    pub(crate) fn path(&self) -> &Path {
        &self.staging
    }

    /// The path at which to write a file of the result.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    /// Removes a temporary file that is not part of the result.
    pub(crate) fn discard(&self, name: &str) {
        // If it cannot be removed: it is our own file, and does no harm in the result.
        let _ = fs::remove_file(self.file(name));
    }

    /// Syncs everything and puts the folder in its place.
    pub(crate) fn commit(self) -> Result<()> {
        let cannot = || format!("{}: cannot put the result there", self.target.display());
        docsphere_result::sync_folder(&self.staging).with_context(cannot)?;
        fail_point("result synced");
        // Together with clearing away: a signal in between would leave the old result behind.
        let put = || -> Result<()> {
            let old = self.put_in_place()?;
            fail_point("result in place");
            sync_folder(parent_of(&self.target));
            if let Some(old) = old {
                self.clear_away(&old);
            }
            fail_point("old result cleared away");
            Ok(())
        };
        match interrupt::uninterrupted(&[&self.staging], put) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Do not discard hours of work.
                let kept = free_name(&self.target, "new");
                let place = if fs::rename(&self.staging, &kept).is_ok() { &kept } else { &self.staging };
                bail!("{}: {error:#}; it is in {}", cannot(), place.display())
            }
        }
    }

    /// Syncs everything and puts the folder beside its place, where an older result stays. Returns
    /// its path.
    pub(crate) fn commit_beside(self) -> Result<PathBuf> {
        docsphere_result::sync_folder(&self.staging)
            .with_context(|| format!("{}: cannot sync", self.staging.display()))?;
        let place = free_name(&self.target, "new");
        interrupt::uninterrupted(&[&self.staging], || fs::rename(&self.staging, &place))
            .with_context(|| format!("{}: cannot put the result there", place.display()))?;
        sync_folder(parent_of(&self.target));
        Ok(place)
    }

    /// Puts the new folder in place and returns the path of the old one, if there was one.
    fn put_in_place(&self) -> Result<Option<PathBuf>> {
        if let Some(lock) = &self.changed {
            lock.check(&self.target)?;
            carried::carry(&self.target, &self.staging, self.kind)?;
            fail_point("files of others carried");
            lock.check(&self.target)?;
        }
        if self.existing != Existing::Refused && self.target.is_dir() && !is_empty(&self.target) {
            return exchange(&self.staging, &self.target, &Role::Previous.path(&self.target)).map(Some);
        }
        // Also replaces an empty folder. Fails if another run has put its result there in the
        // meantime.
        match fs::rename(&self.staging, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => bail!(taken()),
            outcome => outcome.map(|()| None).map_err(Into::into),
        }
    }

    /// Removes the old result, unless foreign files have appeared in it.
    fn clear_away(&self, old: &Path) {
        if self.changed.is_some() {
            carried::settle(old, &self.target, self.kind);
        }
        let foreign = self.kind.foreign(old).ok().flatten();
        if foreign.is_none() && remove_own(old, &[self.kind]) {
            return;
        }
        keep_old(old, &self.target);
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        // It was unregistered as soon as it might be anything other than this process's own output.
        interrupt::remove_unfinished(&self.staging);
    }
}

fn taken() -> &'static str {
    "is there already; choose another name with -o, or replace it with --force"
}

/// Refuses a folder that is not a result, or that holds anything besides one.
fn check_replaced(target: &Path, existing: Existing, kind: FolderKind) -> Result<()> {
    let mark = kind.mark();
    if existing == Existing::Changed {
        return Ok(());
    }
    if !target.join(mark).exists() {
        bail!(
            "is there already and holds no such result (there is no {mark}), so it is not replaced, even with --force; choose another name"
        );
    }
    if existing == Existing::Refused {
        bail!(taken());
    }
    if let Some(name) = kind.foreign(target).context("cannot read")? {
        bail!(
            "holds {}, which docsphere did not write, so it is not replaced, even with --force; move that elsewhere, or choose another name",
            name.display()
        );
    }
    Ok(())
}

/// Moves an old folder that holds foreign files to a visible name.
fn keep_old(folder: &Path, target: &Path) {
    let kept = free_name(target, "old");
    let place = if fs::rename(folder, &kept).is_ok() { &kept } else { folder };
    tell(&format!(
        "note: {}: the old folder holds files that docsphere did not write; it is kept as {}",
        target.display(),
        place.display()
    ));
}

/// Puts back the old result of a run that was killed while replacing it in several steps.
fn put_back(target: &Path) {
    for old in Role::Previous.left_behind(target) {
        if fs::symlink_metadata(target).is_err() && fs::rename(&old, target).is_ok() {
            tell(&format!(
                "note: {}: is the old result again; a run was killed while it replaced it",
                target.display()
            ));
        } else if !remove_own(&old, &FolderKind::ALL) {
            keep_old(&old, target);
        }
    }
}

/// Tries with empty folders what the end of the run will do, so that it fails now and not after
/// hours.
fn try_out(target: &Path, is_replaced: bool) -> Result<()> {
    let [a, b, aside] = [Role::Partial, Role::Trial, Role::Previous].map(|role| role.path(target));
    let attempt = || -> Result<()> {
        fs::create_dir(&a).context("cannot make a folder there")?;
        fs::rename(&a, &b).context("cannot rename a folder there")?;
        if is_replaced {
            fs::create_dir(&a).context("cannot make a folder there")?;
            exchange(&a, &b, &aside).context("folders there cannot change places")?;
        }
        Ok(())
    };
    [&a, &b].into_iter().for_each(|folder| interrupt::remember_unfinished(folder));
    let outcome = attempt();
    for folder in [a, b, aside] {
        let _ = fs::remove_dir(&folder);
        interrupt::forget_unfinished(&folder);
    }
    outcome
}

/// Exchanges two folders; `aside` is a free name, used where this takes several steps. Returns the
/// new path of `b`: `a`, or still `aside` if the last step failed.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path, aside: &Path) -> Result<PathBuf> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        // Some file systems do not support it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            exchange_in_steps([a, b, aside], |from, to| fs::rename(from, to))
        }
        outcome => Ok(outcome.map(|()| a.to_owned())?),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path, aside: &Path) -> Result<PathBuf> {
    exchange_in_steps([a, b, aside], |from, to| fs::rename(from, to))
}

/// Exchanges two folders by three renames. A process that is killed in between leaves the old
/// folder `b` as `aside`, where [`put_back`] finds it.
fn exchange_in_steps(
    [a, b, aside]: [&Path; 3],
    mut rename: impl FnMut(&Path, &Path) -> io::Result<()>,
) -> Result<PathBuf> {
    rename(b, aside)?;
    if let Err(error) = rename(a, b) {
        return Err(match rename(aside, b) {
            Ok(()) => error.into(),
            Err(_) => {
                let place = aside.display();
                anyhow!("{error}; the old folder could not be put back, it is in {place}")
            }
        });
    }
    // Whether or not this succeeds, both folders are whole, and the new one is in place.
    let old = if rename(aside, a).is_ok() { a } else { aside };
    Ok(old.to_owned())
}

/// The path without trailing slashes, which would make a link be followed.
fn without_slashes(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Whether this is a mount point. Such a folder cannot be renamed.
#[cfg(target_os = "linux")]
fn is_mount_point(folder: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let mount = |path: &Path| {
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    };
    matches!((mount(folder), mount(&folder.join(".."))), (Some(here), Some(above)) if here != above)
}

#[cfg(not(target_os = "linux"))]
fn is_mount_point(_: &Path) -> bool {
    false
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn sync_folder(folder: &Path) {
    // Not supported on every system; the files themselves are already synced.
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
        exchange_in_steps([&a, &b, &home.path().join("aside")], |from, to| fs::rename(from, to)).unwrap();
        assert_eq!(fs::read_to_string(a.join("name")).unwrap(), "b");
        assert_eq!(fs::read_to_string(b.join("name")).unwrap(), "a");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }

    #[test]
    fn whichever_rename_fails_it_is_said_where_both_folders_are() {
        // The renames that fail, the resulting path of the old folder, and the message.
        let cases = [
            (&[1][..], "out", Some("no")),
            (&[2], "out", Some("no")),
            (&[2, 3], "aside", Some("no; the old folder could not be put back, it is in ")),
            (&[3], "aside", None),
        ];
        for (failing, old, message) in cases {
            let home = tempfile::tempdir().unwrap();
            let [staging, out, aside] = ["staging", "out", "aside"].map(|name| home.path().join(name));
            for (folder, content) in [(&staging, "new"), (&out, "old")] {
                fs::create_dir(folder).unwrap();
                fs::write(folder.join("name"), content).unwrap();
            }
            let mut step = 0;
            let outcome = exchange_in_steps([&staging, &out, &aside], |from, to| {
                step += 1;
                if failing.contains(&step) { Err(io::Error::other("no")) } else { fs::rename(from, to) }
            });
            let old = home.path().join(old);
            assert_eq!(fs::read_to_string(old.join("name")).unwrap(), "old", "{failing:?}");
            match (outcome, message) {
                (Ok(told), None) => {
                    assert_eq!(told, old);
                    assert_eq!(fs::read_to_string(out.join("name")).unwrap(), "new");
                }
                (Err(error), Some(message)) => {
                    let error = error.to_string();
                    assert!(error.starts_with(message), "{error}");
                    assert!(old == out || error.ends_with(&aside.display().to_string()), "{error}");
                    assert_eq!(fs::read_to_string(staging.join("name")).unwrap(), "new");
                }
                (outcome, _) => panic!("{failing:?}: {outcome:?}"),
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mount_point_is_told_from_a_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("folder");
        fs::create_dir(&folder).unwrap();
        assert!(!is_mount_point(&folder));
        assert!(is_mount_point(Path::new("/proc")));
    }

    #[test]
    fn files_that_appear_during_the_run_are_kept_with_the_old_folder() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        let write = |name: &str| {
            let folder = ResultFolder::create(&target, true, FolderKind::Result).unwrap();
            fs::write(folder.file("clusters.json"), name).unwrap();
            fs::create_dir(folder.file("assignments")).unwrap();
            fs::write(folder.file("assignments/part-00000.csv"), name).unwrap();
            folder
        };
        write("first").commit().unwrap();
        for (ending, name, notes) in
            [("old", "second", "notes.txt"), ("old-2", "third", "assignments/notes.txt")]
        {
            let before = fs::read(target.join("clusters.json")).unwrap();
            let folder = write(name);
            fs::write(target.join(notes), "precious").unwrap();
            folder.commit().unwrap();
            let kept = home.path().join(format!("out.{ending}"));
            assert_eq!(fs::read(kept.join(notes)).unwrap(), b"precious");
            assert_eq!(fs::read(kept.join("assignments/part-00000.csv")).unwrap(), before);
            assert_eq!(fs::read(kept.join("clusters.json")).unwrap(), before);
            assert_eq!(fs::read(target.join("clusters.json")).unwrap(), name.as_bytes());
            assert_eq!(fs::read_dir(&target).unwrap().count(), 2);
            assert_eq!(fs::read_dir(target.join("assignments")).unwrap().count(), 1);
        }
        write("fourth").commit().unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_result_that_cannot_be_put_in_its_place_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        let folder = ResultFolder::create(&target, false, FolderKind::Result).unwrap();
        fs::write(folder.file("clusters.json"), "new").unwrap();
        fs::write(&target, "a file of the user's").unwrap();
        let error = format!("{:#}", folder.commit().unwrap_err());
        assert!(error.ends_with(&format!("; it is in {}.new", target.display())), "{error}");
        assert_eq!(fs::read(home.path().join("out.new/clusters.json")).unwrap(), b"new");
        assert_eq!(fs::read(&target).unwrap(), b"a file of the user's");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }
}
