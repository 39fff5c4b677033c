//! The files that docsphere writes: only these are deleted when a folder is replaced.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use docsphere_result::names::{
    ALL, ASSIGNMENT_PARTS, BASE, CLUSTERS, COLUMN_VALUES, CONFIGURATION, NEW_STORES, ROWS, SWEEP, SWEEP_PAGE,
    TEXTS, is_part_name, is_step_folder,
};

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
    /// The result of `sweep`: a folder of results.
    Sweep,
}

/// What a folder holds.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// Files of one of these kinds.
    Files(&'a [FolderKind]),
    /// Parts of assignments.
    Parts,
}

impl FolderKind {
    pub(super) const ALL: [FolderKind; 4] =
        [FolderKind::Result, FolderKind::Matrix, FolderKind::Centroids, FolderKind::Sweep];

    /// A file that every such folder has. A folder without it is never replaced.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            FolderKind::Result => CLUSTERS,
            FolderKind::Matrix => MATRIX,
            FolderKind::Centroids => CENTROIDS,
            FolderKind::Sweep => SWEEP,
        }
    }

    /// All files that docsphere writes into such a folder, during the run or later, except parts.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            FolderKind::Result => ALL,
            FolderKind::Matrix => &[IDS, MATRIX, ROWS, VOCABULARY],
            FolderKind::Centroids => &[CENTROIDS, VOCABULARY],
            FolderKind::Sweep => {
                &[SWEEP, SWEEP_PAGE, TEXTS, COLUMN_VALUES, CONFIGURATION, NEW_STORES[0], NEW_STORES[1]]
            }
        }
    }

    /// What a folder in such a folder holds, if docsphere made it.
    fn within(self, name: &OsStr) -> Option<Content<'static>> {
        match self {
            FolderKind::Result if name == ASSIGNMENT_PARTS => Some(Content::Parts),
            FolderKind::Result if name == BASE => Some(Content::Files(&[FolderKind::Result])),
            FolderKind::Sweep if name.to_str().is_some_and(is_step_folder) => {
                Some(Content::Files(&[FolderKind::Result]))
            }
            _ => None,
        }
    }

    /// Whether docsphere writes a file of this name into such a folder: one of its files, or a
    /// leftover of one from a killed process.
    fn has_file(self, name: &str) -> bool {
        let is_staged = |file: &&str| {
            let rest = name.strip_prefix('.').and_then(|rest| rest.strip_prefix(*file));
            let rest = rest.and_then(|rest| rest.strip_prefix('.')?.strip_prefix(PARTIAL));
            rest.and_then(|rest| rest.strip_prefix('-')).is_some_and(is_number)
        };
        self.files().contains(&name)
            || self.files().iter().any(is_staged)
            || docsphere::is_temporary_name(name)
    }

    /// The first entry, by name, that docsphere did not write.
    pub(super) fn foreign(self, folder: &Path) -> io::Result<Option<PathBuf>> {
        Ok(self.all_foreign(folder)?.into_iter().next())
    }

    /// All entries that docsphere did not write, by name, within the folder.
    pub(super) fn all_foreign(self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Entries::default();
        found.collect(folder, Content::Files(&[self]))?;
        let within = |path: PathBuf| path.strip_prefix(folder).map_or(path.clone(), Path::to_owned);
        let mut foreign: Vec<PathBuf> = found.foreign.into_iter().map(within).collect();
        foreign.sort();
        Ok(foreign)
    }
}

/// The entries of a folder and of the folders within it.
#[derive(Default)]
struct Entries {
    files: Vec<PathBuf>,
    /// Those within others come first.
    folders: Vec<PathBuf>,
    /// What docsphere did not write. A link is never its own, nor is a folder but those of
    /// [`FolderKind::within`].
    foreign: Vec<PathBuf>,
}

impl Entries {
    fn collect(&mut self, folder: &Path, content: Content<'_>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let within = if entry.file_type()?.is_dir() { content.within(&entry.file_name()) } else { None };
            if let Some(within) = within {
                self.collect(&entry.path(), within)?;
                self.folders.push(entry.path());
            } else if content.is_own_file(&entry) {
                self.files.push(entry.path());
            } else {
                self.foreign.push(entry.path());
            }
        }
        Ok(())
    }
}

impl Content<'_> {
    fn within(self, name: &OsStr) -> Option<Content<'static>> {
        match self {
            Content::Files(kinds) => kinds.iter().find_map(|kind| kind.within(name)),
            Content::Parts => None,
        }
    }

    fn is_own_file(self, entry: &DirEntry) -> bool {
        let is_named = |name: &str| match self {
            Content::Files(kinds) => kinds.iter().any(|kind| kind.has_file(name)),
            Content::Parts => is_part_name(name) || docsphere::is_temporary_name(name),
        };
        entry.file_type().is_ok_and(|found| found.is_file())
            && entry.file_name().to_str().is_some_and(is_named)
    }
}

/// Removes a folder of one of these kinds whose entries are all docsphere's own, file by file, so
/// that files that appear meanwhile stay. Returns whether the folder is gone.
pub(super) fn remove_own(folder: &Path, kinds: &[FolderKind]) -> bool {
    let remove = || -> io::Result<bool> {
        let mut found = Entries::default();
        found.collect(folder, Content::Files(kinds))?;
        if !found.foreign.is_empty() {
            return Ok(false);
        }
        found.files.iter().try_for_each(fs::remove_file)?;
        found.folders.iter().try_for_each(fs::remove_dir)?;
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
            assert!(!remove_own(home.path(), &[kind]));
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
            assert!(!remove_own(home.path(), &[kind]));
            if name == "sub" { fs::remove_dir(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
        assert_eq!(fs::read_dir(&parts).unwrap().count(), 3, "nothing was removed");
        fs::create_dir(home.path().join("report.html")).unwrap();
        assert_eq!(kind.foreign(home.path()).unwrap().unwrap(), Path::new("report.html"));
        fs::remove_dir(home.path().join("report.html")).unwrap();
        assert!(remove_own(home.path(), &[kind]));
        assert!(!home.path().exists());
    }

    #[test]
    fn a_sweep_holds_results_and_nothing_of_others() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let (kind, results) = (FolderKind::Sweep, ["k-20/clusters.json", "k-5/assignments/part-00000.csv"]);
        ["sweep.json", "sweep.html"].into_iter().chain(results).for_each(write);
        assert_eq!(kind.foreign(home.path()).unwrap(), None);
        for name in ["k-20/notes.txt", "k-5/assignments/a", "k-05/clusters.json", "clusters.json", "k-7"] {
            write(name);
            let found = kind.foreign(home.path()).unwrap().unwrap();
            assert!(Path::new(name).starts_with(&found), "{name}");
            assert!(!remove_own(home.path(), &[kind]), "{name}");
            fs::remove_file(home.path().join(name)).unwrap();
            let _ = fs::remove_dir(home.path().join("k-05"));
        }
        assert!(FolderKind::Result.foreign(home.path()).unwrap().is_some());
        assert!(remove_own(home.path(), &FolderKind::ALL));
        assert!(!home.path().exists());
    }
}
