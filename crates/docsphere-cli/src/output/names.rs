//! The files that docsphere writes: only these are deleted when a folder is replaced.

use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use docsphere_result::names::{ALL, CLUSTERS};

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

    /// All files that docsphere writes into such a folder, during the run or later.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            FolderKind::Result => ALL,
            FolderKind::Matrix => &[IDS, MATRIX, VOCABULARY],
            FolderKind::Centroids => &[CENTROIDS, VOCABULARY],
        }
    }

    /// Whether docsphere wrote this entry of such a folder: one of its files, or a leftover of one
    /// from a killed process. Never true for a link or a folder.
    pub(super) fn is_own(self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
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
    pub(super) fn foreign(self, folder: &Path) -> io::Result<Option<OsString>> {
        let mut found = None;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !self.is_own(&entry) && found.as_ref().is_none_or(|other| entry.file_name() < *other) {
                found = Some(entry.file_name());
            }
        }
        Ok(found)
    }
}

/// Removes a folder whose entries are all docsphere's own, file by file, so that files that appear
/// meanwhile stay. Returns whether the folder is gone.
pub(super) fn remove_own(folder: &Path, is_own: impl Fn(&DirEntry) -> bool) -> bool {
    let remove = || -> io::Result<bool> {
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        if !entries.iter().all(is_own) {
            return Ok(false);
        }
        for entry in &entries {
            fs::remove_file(entry.path())?;
        }
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
        assert_eq!(FolderKind::Matrix.foreign(home.path()).unwrap().unwrap(), ".documents.sqlite.partial-17");
        for name in ["notes.txt", "matrix.npz", ".notes.txt.partial-17", ".clusters.json.partial-", ".git"] {
            fs::write(home.path().join(name), "").unwrap();
            assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), name);
            assert!(!remove_own(home.path(), |entry| kind.is_own(entry)));
            fs::remove_file(home.path().join(name)).unwrap();
        }
        fs::create_dir(home.path().join("report.html")).unwrap();
        assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), "report.html");
        fs::remove_dir(home.path().join("report.html")).unwrap();
        assert!(remove_own(home.path(), |entry| kind.is_own(entry)));
        assert!(!home.path().exists());
    }
}
