//! Names of files and folders that are being written, and the leftovers of killed processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::names::{FolderKind, PARTIAL, remove_own};
use crate::console::tell;

/// The purpose of a temporary name beside the target. The name ends with the process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A file or folder that is being written.
    Partial,
    /// An empty folder, to test what the file system supports.
    Trial,
    /// The old result while it is replaced, where that takes several steps.
    Previous,
}

impl Role {
    fn prefix(self, target: &Path) -> String {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let role = match self {
            Role::Partial => PARTIAL,
            Role::Trial => "trial",
            Role::Previous => "previous",
        };
        format!(".{name}.{role}-")
    }

    /// The name that this process uses.
    pub(super) fn path(self, target: &Path) -> PathBuf {
        parent_of(target).join(format!("{}{}", self.prefix(target), std::process::id()))
    }

    /// The names left by processes that are gone. If in doubt, a process counts as alive.
    pub(super) fn left_behind(self, target: &Path) -> Vec<PathBuf> {
        if !Path::new("/proc/self").exists() {
            return Vec::new();
        }
        let prefix = self.prefix(target);
        let is_left = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            let process = name.and_then(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok());
            process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
                // A process of another container is not listed under /proc, but holds the lock.
                && File::open(path).is_ok_and(|found| found.try_lock().is_ok())
        };
        let entries = fs::read_dir(parent_of(target)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_left).collect()
    }
}

/// Removes the half-written leftovers of killed processes. A folder that holds foreign files stays,
/// and is reported.
pub(super) fn remove_left_behind(target: &Path) {
    for path in [Role::Partial, Role::Trial].iter().flat_map(|role| role.left_behind(target)) {
        if !path.is_dir() {
            let _ = fs::remove_file(path);
        } else if !remove_own(&path, &FolderKind::ALL) {
            tell(&format!(
                "note: {}: was left by a run that was killed, and holds files that docsphere did not write; look at it, then delete it",
                path.display()
            ));
        }
    }
}

/// The first free name among `out.old`, `out.old-2`, `out.old-3`, ...
pub(super) fn free_name(target: &Path, ending: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let candidate = |number: u32| {
        let mut name = name.to_owned();
        name.push(if number == 1 { format!(".{ending}") } else { format!(".{ending}-{number}") });
        target.with_file_name(name)
    };
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    (1..).map(candidate).find(is_free).expect("some name is free")
}

/// The folder that holds a path.
pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
