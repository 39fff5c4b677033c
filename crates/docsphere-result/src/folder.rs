//! A folder that appears whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Creates the folder `target` with the files that `write` puts into the folder that it is given.
///
/// Files are written to a temporary folder beside the target and synced, and the folder is renamed.
/// The target may already exist if it is empty; nothing is ever replaced.
///
/// # Errors
/// Those of `write`, and those of the system; also if the target already exists. No folder is then
/// left behind.
pub fn write_folder(target: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    check_free(target)?;
    let failed = |error: io::Error| Error::writing(error, target);
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
    // Something may have appeared meanwhile: a folder that is not empty is not replaced.
    fs::rename(staging.path(), target).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => taken(target),
        _ => failed(error),
    })?;
    // The folder has its final name; there is nothing to remove. Not every system can sync a
    // folder.
    let _ = staging.keep();
    let _ = File::open(parent).and_then(|folder| folder.sync_all());
    Ok(())
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

fn check_free(target: &Path) -> Result<()> {
    match fs::symlink_metadata(target) {
        Err(_) => Ok(()),
        Ok(found) if found.is_dir() && fs::read_dir(target).is_ok_and(|mut all| all.next().is_none()) => {
            Ok(())
        }
        Ok(_) => Err(taken(target)),
    }
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
}
