//! A folder that appears whole or not at all.

use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::names;

/// Creates the folder `target` with the files that `write` puts into the folder that it is given.
///
/// Files are written to a temporary folder beside the target and synced, and the folder is renamed.
/// The target may already exist if it is empty; nothing is ever replaced.
///
/// # Errors
/// Those of `write`, and those of the system; also if the target already exists. No folder is then
/// left behind.
pub fn write_folder(target: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    replace_folder(target, false, write)
}

/// Like [`write_folder`], but may replace a result that is there already (`force`): a folder with
/// files of docsphere alone, [`names::CLUSTERS`] among them.
///
/// The old result is moved aside just before the new one takes its place, and then removed. A
/// process that is killed between these two steps leaves both beside the target, under names that
/// begin with `.docsphere-`.
///
/// # Errors
/// As [`write_folder`]; also for a folder that holds anything else.
pub fn replace_folder(target: &Path, force: bool, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    check_output(target, force)?;
    let failed = |error: io::Error| Error::writing(error, target);
    let parent = parent_of(target);
    let mut builder = tempfile::Builder::new();
    let prefix = docsphere::temporary_prefix(std::process::id());
    builder.prefix(&prefix).suffix(docsphere::TEMPORARY_SUFFIX);
    #[cfg(unix)]
    {
        // Temporary folders are private by default; this one becomes an ordinary folder, so let the
        // umask decide.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let staging = builder.tempdir_in(parent).map_err(failed)?;
    write(staging.path())?;
    sync_folder(staging.path()).map_err(failed)?;
    let old = if force && !is_free(target) { Some(Aside::put(target, &builder)?) } else { None };
    // Something may have appeared meanwhile: a folder that is not empty is not replaced.
    if let Err(error) = fs::rename(staging.path(), target) {
        old.map_or(Ok(()), Aside::put_back)?;
        return Err(match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => taken(target),
            _ => failed(error),
        });
    }
    // The folder has its final name; there is nothing to remove. Not every system can sync a
    // folder.
    let _ = staging.keep();
    let _ = File::open(parent).and_then(|folder| folder.sync_all());
    if let Some(old) = old {
        old.remove();
    }
    Ok(())
}

/// An old result that was moved aside.
struct Aside<'a> {
    folder: PathBuf,
    target: &'a Path,
}

impl<'a> Aside<'a> {
    fn put(target: &'a Path, builder: &tempfile::Builder<'_, '_>) -> Result<Self> {
        let failed = |error: io::Error| Error::writing(error, target);
        // An empty folder, which the old result replaces.
        let folder = builder.tempdir_in(parent_of(target)).map_err(failed)?.keep();
        fs::rename(target, &folder).map_err(failed)?;
        Ok(Aside { folder, target })
    }

    fn put_back(self) -> Result<()> {
        fs::rename(&self.folder, self.target).map_err(|error| Error::writing(error, &self.folder))
    }

    /// Removes it, unless foreign files have appeared in it.
    fn remove(self) {
        if foreign(&self.folder).is_ok_and(|foreign| foreign.is_none()) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Syncs all files in a folder and in the folders within it, then the folders.
///
/// # Errors
/// If the system cannot sync a file. Not every system can sync a folder: that is no error.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folder(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Checks that a result can be put there: nothing is there, or an empty folder, or with `force`
/// another result and nothing else.
///
/// # Errors
/// [`ErrorKind::Taken`] otherwise; those of the system if nothing can be made beside it.
pub fn check_output(target: &Path, force: bool) -> Result<()> {
    let parent = parent_of(target);
    // With a trial: a folder in which nothing can be made is noticed before the work begins.
    let trial = tempfile::Builder::new()
        .prefix(&docsphere::temporary_prefix(std::process::id()))
        .suffix(docsphere::TEMPORARY_SUFFIX)
        .tempdir_in(parent);
    trial.map_err(|error| Error::writing(error, target))?;
    if is_free(target) {
        return Ok(());
    }
    if !force {
        return Err(taken(target));
    }
    let refused = |problem: String| Err(Error::from(ErrorKind::Taken { problem }).at_path(target));
    if target.is_symlink() {
        let problem = "is a link; give the name of the folder itself, or another one";
        return refused(problem.to_owned());
    }
    if !target.join(names::CLUSTERS).is_file() {
        let missing = format!("there is no {}", names::CLUSTERS);
        return refused(format!(
            "is there already and is no result ({missing}), so it is not replaced; choose another name"
        ));
    }
    match foreign(target).map_err(|error| Error::reading(error, target))? {
        None => Ok(()),
        Some(name) => refused(format!(
            "holds {}, which docsphere did not write, so it is not replaced; move that elsewhere, or choose another name",
            name.display()
        )),
    }
}

fn parent_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether nothing is there, or an empty folder.
fn is_free(target: &Path) -> bool {
    match fs::symlink_metadata(target) {
        Err(_) => true,
        Ok(found) => found.is_dir() && fs::read_dir(target).is_ok_and(|mut all| all.next().is_none()),
    }
}

/// The first entry of a result, by name, that docsphere did not write.
fn foreign(folder: &Path) -> io::Result<Option<PathBuf>> {
    let is_named = |entry: &DirEntry, is_own: &dyn Fn(&str) -> bool| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| is_own(name) || docsphere::is_temporary_name(name))
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() && name.as_os_str() == names::BASE {
            all.extend(foreign(&entry.path())?.map(|inner| name.join(inner)));
        } else if kind.is_dir() && name.as_os_str() == names::ASSIGNMENT_PARTS {
            for part in fs::read_dir(entry.path())? {
                let part = part?;
                if !(part.file_type()?.is_file() && is_named(&part, &names::is_part_name)) {
                    all.push(name.join(part.file_name()));
                }
            }
        } else if !(kind.is_file() && is_named(&entry, &|name| names::ALL.contains(&name))) {
            all.push(name);
        }
    }
    Ok(all.into_iter().min())
}

fn taken(target: &Path) -> Error {
    let problem = "is there already and is not replaced; delete it first, or choose another name";
    Error::from(ErrorKind::Taken { problem: problem.to_owned() }).at_path(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_made_and_an_empty_one_is_filled_but_nothing_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            write_folder(&home.path().join(name), |folder| {
                fs::write(folder.join("a"), "new").map_err(|error| Error::writing(error, folder))
            })
        };
        put("made").unwrap();
        fs::create_dir(home.path().join("empty")).unwrap();
        put("empty").unwrap();
        fs::write(home.path().join("file"), "mine").unwrap();
        fs::create_dir(home.path().join("full")).unwrap();
        fs::write(home.path().join("full/mine"), "mine").unwrap();
        for taken in ["made", "file", "full"] {
            let error = put(taken).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Taken { .. }), "{error}");
        }
        assert_eq!(names(home.path()), ["empty", "file", "full", "made"]);
        assert_eq!(names(&home.path().join("full")), ["mine"]);
        assert_eq!(fs::read(home.path().join("made/a")).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn folders_within_the_folder_are_synced_and_put_in_place_with_it() {
        let home = tempfile::tempdir().unwrap();
        let put = |name: &str, deep: bool| {
            write_folder(&home.path().join(name), |folder| {
                fs::create_dir(folder.join("parts")).unwrap();
                fs::write(folder.join("parts/a"), "deep").unwrap();
                if deep {
                    // Cannot be opened, so that it cannot be synced.
                    std::os::unix::fs::symlink("nowhere", folder.join("parts/b")).unwrap();
                }
                Ok(())
            })
        };
        put("out", false).unwrap();
        assert_eq!(fs::read(home.path().join("out/parts/a")).unwrap(), b"deep");
        let error = put("other", true).unwrap_err().to_string();
        assert!(error.contains("other: cannot write: "), "files in folders are synced: {error}");
        assert_eq!(names(home.path()), ["out"]);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let error = write_folder(&home.path().join("out"), |folder| {
            fs::write(folder.join("a"), "half").unwrap();
            Err(Error::malformed("no"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no");
        assert_eq!(names(home.path()), [""; 0]);
        let error = write_folder(&home.path().join("none/out"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("none/out: cannot write: "), "{error}");
    }

    #[test]
    fn a_result_is_replaced_on_demand_but_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        let put = |force| {
            replace_folder(&target, force, |folder| {
                let write = |name: &str| fs::write(folder.join(name), "new");
                let written = write("trace.json").and_then(|()| write("clusters.json"));
                written.map_err(|error| Error::writing(error, folder))
            })
        };
        put(false).unwrap();
        assert!(put(false).is_err());
        fs::create_dir(target.join("assignments")).unwrap();
        fs::write(target.join("assignments/part-00000.csv"), "old").unwrap();
        put(true).unwrap();
        assert_eq!(names(home.path()), ["out"]);
        assert_eq!(names(&target), ["clusters.json", "trace.json"]);
        for name in ["mine.txt", "assignments/mine.txt"] {
            fs::create_dir_all(target.join("assignments")).unwrap();
            fs::write(target.join(name), "mine").unwrap();
            let error = put(true).unwrap_err().to_string();
            assert!(error.contains(&format!("holds {name}, which docsphere did not write")), "{error}");
            fs::remove_file(target.join(name)).unwrap();
        }
        fs::remove_file(target.join("clusters.json")).unwrap();
        let error = put(true).unwrap_err().to_string();
        assert!(error.contains("there is no clusters.json"), "{error}");
        assert_eq!(names(&target), ["assignments", "trace.json"]);
    }
}
