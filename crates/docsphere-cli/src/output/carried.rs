//! Files of others in a result that is changed: they are in the new folder, too.
//!
//! Before the folders change places, files get a second name in the new folder (a copy where that
//! is not possible), so that they are in the result at every moment. Afterwards the first name is
//! removed; what has appeared or changed in between is moved.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

use super::names::FolderKind;

/// Puts everything in `from` that docsphere did not write into `to`, too.
pub(super) fn carry(from: &Path, to: &Path, kind: FolderKind) -> Result<()> {
    for name in kind.all_foreign(from).with_context(|| format!("{}: cannot read", from.display()))? {
        let place = to.join(&name);
        double(&from.join(&name), &place).with_context(|| format!("{}: cannot write", place.display()))?;
    }
    Ok(())
}

/// Makes a file or folder known under a second name.
fn double(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if found.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            double(&from.join(&name), &to.join(&name))?;
        }
        return fs::set_permissions(to, found.permissions());
    }
    // A link gets a second name, too: it is not followed.
    match fs::hard_link(from, to) {
        Err(_) if found.is_file() => fs::copy(from, to).map(drop),
        outcome => outcome,
    }
}

/// Removes from the old folder what the new one has. What it does not have is moved there; if that
/// fails, it stays.
pub(super) fn settle(old: &Path, new: &Path, kind: FolderKind) {
    for name in kind.all_foreign(old).unwrap_or_default() {
        let _ = settle_entry(&old.join(&name), &new.join(&name));
    }
}

fn settle_entry(old: &Path, new: &Path) -> io::Result<()> {
    let (was, is) = (fs::symlink_metadata(old)?, fs::symlink_metadata(new));
    match is {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(old, new),
        Ok(is) if was.is_dir() && is.is_dir() => {
            for entry in fs::read_dir(old)? {
                let name = entry?.file_name();
                settle_entry(&old.join(&name), &new.join(&name))?;
            }
            fs::remove_dir(old)
        }
        Ok(is) if are_one(&was, &is) => fs::remove_file(old),
        _ => Ok(()),
    }
}

/// Whether two names are of one file, or of a file and its unchanged copy.
fn are_one(a: &Metadata, b: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if (a.dev(), a.ino()) == (b.dev(), b.ino()) {
            return true;
        }
    }
    let older = a.modified().ok().zip(b.modified().ok()).is_some_and(|(a, b)| a <= b);
    a.is_file() && b.is_file() && a.len() == b.len() && older
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_in_both_folders_and_then_in_the_new_one() {
        let home = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| home.path().join(name));
        fs::create_dir_all(old.join("mine/deep")).unwrap();
        fs::create_dir(&new).unwrap();
        for (name, text) in
            [("clusters.json", "{}"), ("notes.txt", "n"), ("mine/a", "a"), ("mine/deep/b", "b")]
        {
            fs::write(old.join(name), text).unwrap();
        }
        carry(&old, &new, FolderKind::Result).unwrap();
        for folder in [&old, &new] {
            assert_eq!(fs::read_to_string(folder.join("mine/deep/b")).unwrap(), "b");
        }
        assert!(!new.join("clusters.json").exists(), "that is docsphere's own");
        // A file that has appeared meanwhile.
        fs::write(old.join("mine/late"), "late").unwrap();
        settle(&old, &new, FolderKind::Result);
        assert_eq!(fs::read_dir(&old).unwrap().count(), 1, "only docsphere's own is left");
        for (name, text) in [("notes.txt", "n"), ("mine/a", "a"), ("mine/deep/b", "b"), ("mine/late", "late")]
        {
            assert_eq!(fs::read_to_string(new.join(name)).unwrap(), text);
        }
    }
}
