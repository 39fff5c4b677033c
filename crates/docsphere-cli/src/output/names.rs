//! The files that docsphere writes: only these are deleted when a folder is replaced.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use docsphere_result::names::{ALL, ASSIGNMENT_PARTS, CLUSTERS, is_part_name};

/// Part of the names of files and folders that are being written.
pub(super) const PARTIAL: &str = "partial";
/// The matrix of `vectorize`.
pub(crate) const MATRIX: &str = "matrix.npz";
/// The ids of the rows of a matrix.
pub(crate) const IDS: &str = "ids.txt";
/// The names of the columns of a matrix.
pub(crate) const VOCABULARY: &str = "vocabulary.txt";
/// The centroids of `export`.
pub(crate) const CENTROIDS: &str = "centroids.npz";

/// The kind of a folder that docsphere writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// The result of `cluster`, with the files that later commands add to it.
    Result,
    /// The result of `vectorize`.
    Matrix,
    /// The result of `export`.
    Centroids,
}

impl FolderKind {
    pub(super) const ALL: [FolderKind; 3] = [FolderKind::Result, FolderKind::Matrix, FolderKind::Centroids];

    /// A file that every such folder has. A folder without it is never replaced.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            FolderKind::Result => CLUSTERS,
            FolderKind::Matrix => MATRIX,
            FolderKind::Centroids => CENTROIDS,
        }
    }

    /// All files that docsphere writes into such a folder, during the run or later, except parts.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            FolderKind::Result => ALL,
            FolderKind::Matrix => &[IDS, MATRIX, VOCABULARY],
            FolderKind::Centroids => &[CENTROIDS, VOCABULARY],
        }
    }

    /// Whether docsphere wrote this entry of such a folder: one of its files, or a leftover of one
    /// from a killed process. Never true for a link; for a folder only if it is that of the
    /// [parts](ASSIGNMENT_PARTS), whatever it holds.
    pub(super) fn is_own(self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|found| found.is_dir()) {
            return self == FolderKind::Result && name == ASSIGNMENT_PARTS;
        }
        let is_named = |name: &str| {
            let is_staged = |file: &&str| {
                let rest = name.strip_prefix('.').and_then(|rest| rest.strip_prefix(*file));
                let rest = rest.and_then(|rest| rest.strip_prefix('.')?.strip_prefix(PARTIAL));
                rest.and_then(|rest| rest.strip_prefix('-')).is_some_and(is_number)
            };
            self.files().contains(&name)
                || self.files().iter().any(is_staged)
                || docsphere::is_temporary_name(name)
        };
        entry.file_type().is_ok_and(|found| found.is_file()) && name.to_str().is_some_and(is_named)
    }

    /// The first entry, by name, that docsphere did not write.
    pub(super) fn foreign(self, folder: &Path) -> io::Result<Option<PathBuf>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = PathBuf::from(entry.file_name());
            if !self.is_own(&entry) {
                all.push(name);
            } else if entry.file_type()?.is_dir() {
                for part in fs::read_dir(entry.path())? {
                    let part = part?;
                    all.extend((!is_own_part(&part)).then(|| name.join(part.file_name())));
                }
            }
        }
        Ok(all.into_iter().min())
    }
}

/// Whether docsphere wrote this entry of the folder of parts.
fn is_own_part(entry: &DirEntry) -> bool {
    let is_named = |name: &str| is_part_name(name) || docsphere::is_temporary_name(name);
    entry.file_type().is_ok_and(|found| found.is_file()) && entry.file_name().to_str().is_some_and(is_named)
}

/// Removes a folder whose entries are all docsphere's own, file by file, so that files that appear
/// meanwhile stay. Returns whether the folder is gone.
pub(super) fn remove_own(folder: &Path, is_own: impl Fn(&DirEntry) -> bool) -> bool {
    let remove = || -> io::Result<bool> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !is_own(&entry) {
                return Ok(false);
            }
            if !entry.file_type()?.is_dir() {
                files.push(entry.path());
                continue;
            }
            for part in fs::read_dir(entry.path())? {
                let part = part?;
                if !is_own_part(&part) {
                    return Ok(false);
                }
                files.push(part.path());
            }
            folders.push(entry.path());
        }
        files.iter().try_for_each(fs::remove_file)?;
        folders.iter().try_for_each(fs::remove_dir)?;
        fs::remove_dir(folder).map(|()| true)
    };
    remove().unwrap_or(false)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ours_are_known_by_name_and_nothing_else_is() {
        let home = tempfile::tempdir().unwrap();
        let kind = FolderKind::Result;
        let own = [
            "clusters.json",
            "groups.csv",
            "documents.sqlite",
            ".documents.sqlite.partial-17",
            ".docsphere-17-aBc.tmp",
        ];
        for name in own {
            fs::write(home.path().join(name), "").unwrap();
        }
        assert_eq!(kind.foreign(home.path()).unwrap(), None);
        assert_eq!(
            FolderKind::Matrix.foreign(home.path()).unwrap().unwrap(),
            Path::new(".documents.sqlite.partial-17")
        );
        for name in ["notes.txt", "matrix.npz", ".notes.txt.partial-17", ".clusters.json.partial-", ".git"] {
            fs::write(home.path().join(name), "").unwrap();
            assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), Path::new(name));
            assert!(!remove_own(home.path(), |entry| kind.is_own(entry)));
            fs::remove_file(home.path().join(name)).unwrap();
        }
        // The folder of parts is ours, but not what others put into it.
        let parts = home.path().join("assignments");
        fs::create_dir(&parts).unwrap();
        for name in ["part-00000.csv", "part-00001.csv", ".docsphere-17-aBc.tmp"] {
            fs::write(parts.join(name), "").unwrap();
        }
        assert_eq!(kind.foreign(home.path()).unwrap(), None);
        let others = FolderKind::Centroids.foreign(home.path()).unwrap();
        assert_eq!(others.unwrap(), Path::new(".documents.sqlite.partial-17"));
        for name in ["notes.txt", "part-1.csv", "clusters.json", "sub"] {
            let path = parts.join(name);
            if name == "sub" {
                fs::create_dir(&path).unwrap()
            } else {
                fs::write(&path, "").unwrap()
            }
            assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), Path::new("assignments").join(name));
            assert!(!remove_own(home.path(), |entry| kind.is_own(entry)));
            if name == "sub" { fs::remove_dir(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
        assert_eq!(fs::read_dir(&parts).unwrap().count(), 3, "nothing was removed");
        fs::create_dir(home.path().join("report.html")).unwrap();
        assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), Path::new("report.html"));
        fs::remove_dir(home.path().join("report.html")).unwrap();
        assert!(remove_own(home.path(), |entry| kind.is_own(entry)));
        assert!(!home.path().exists());
    }
}
