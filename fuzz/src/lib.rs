//! What the targets and the writer of their seeds share.

pub mod checkpoints;
pub mod readers;
pub mod texts;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A file that is written anew for each input. In memory, where the system has a folder for that.
pub struct ScratchFile {
    path: PathBuf,
    /// Removed when dropped.
    own_folder: TempDir,
}

impl ScratchFile {
    /// A file of this name in a folder of its own.
    pub fn new(name: &str) -> Self {
        let shared_memory = PathBuf::from("/dev/shm");
        let folder = if shared_memory.is_dir() {
            tempfile::tempdir_in(shared_memory).or_else(|_| tempfile::tempdir())
        } else {
            tempfile::tempdir()
        };
        let folder = folder.expect("a folder for temporary files");
        ScratchFile { path: folder.path().join(name), own_folder: folder }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.own_folder.path()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path, after `bytes` have been written to it.
    pub fn holding(&self, bytes: &[u8]) -> &Path {
        std::fs::write(&self.path, bytes).expect("room for a temporary file");
        &self.path
    }
}
