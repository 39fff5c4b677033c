//! What the fuzz targets of `fuzz/` do: bytes that no one has checked, given to everything that
//! reads. Never published.
//!
//! [`TARGETS`] lists them. A target is a function that takes bytes, and fails by a panic: because
//! what it calls has panicked, or because two ways of doing the same have not given the same. The
//! programs in `fuzz/` call it with what the fuzzer makes up; the test of this crate calls it with
//! seeds, with inputs of the folder `fuzz/seeds`, and with changes of both that are always the
//! same.
//!
//! | target | from bytes | must hold |
//! |---|---|---|
//! | [`readers`] | files of other programs | whole files and their pieces agree, texts are UTF-8 |
//! | [`parquet`] | a Parquet file | texts are UTF-8, memory stays small |
//! | [`matrices`] | matrix files of all formats | what is written again is the same |
//! | [`rows`] | `rows.docsphere`, both forms | mapped rows are those in memory |
//! | [`models`] | `model.docsphere` | what is saved again is the same; it can be used |
//! | [`texts`] | stores of texts and of columns | texts are UTF-8, counts are right |
//! | [`results`] | one file of a result | every program that reads results survives it |
//! | [`checkpoints`] | a checkpoint | the run goes on to its end |
//! | [`words`] | a text | the short way through ASCII finds the words of the general way |
//! | [`requests`] | parameters and names of a request | SQLite takes every search; no foreign name passes |
//! | [`fits`] | a matrix and options | strategies, shards and mapped rows give the reference's bits |

use std::path::{Path, PathBuf};

use tempfile::TempDir;

#[cfg(test)]
mod changes;
pub mod checkpoints;
pub mod fits;
pub mod matrices;
pub mod models;
pub mod parquet;
pub mod readers;
pub mod requests;
pub mod results;
pub mod rows;
mod sample;
pub mod texts;
pub mod words;

/// Something to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the program in `fuzz/`.
    pub name: &'static str,
    /// Takes bytes, and a folder for temporary files.
    pub run: fn(&[u8], &Path),
    /// Small valid inputs; the folder is for temporary files.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
    /// The number of changes of each seed in the plain test: fewer if they are slow.
    pub n_changes: u64,
}

/// A kind of file that [`readers`] reads.
macro_rules! reader {
    ($name:literal) => {
        Target {
            name: $name,
            run: |data, folder| readers::read($name, data, folder),
            seeds: |_| readers::seeds($name),
            n_changes: 60,
        }
    };
}

/// All targets.
pub const TARGETS: &[Target] = &[
    reader!("encodings"),
    reader!("files"),
    reader!("html"),
    reader!("json"),
    reader!("mail"),
    reader!("office"),
    reader!("sheet"),
    reader!("table"),
    Target { name: "checkpoint", run: checkpoints::run, seeds: checkpoints::seeds, n_changes: 10 },
    Target { name: "fits", run: fits::run, seeds: fits::seeds, n_changes: 20 },
    Target { name: "matrix", run: matrices::run, seeds: matrices::seeds, n_changes: 60 },
    Target { name: "model", run: models::run, seeds: models::seeds, n_changes: 100 },
    Target { name: "parquet", run: parquet::run, seeds: parquet::seeds, n_changes: 60 },
    Target { name: "requests", run: requests::run, seeds: requests::seeds, n_changes: 100 },
    Target { name: "result", run: results::run, seeds: results::seeds, n_changes: 10 },
    Target { name: "rows", run: rows::run, seeds: rows::seeds, n_changes: 60 },
    Target { name: "texts", run: texts::run, seeds: texts::seeds, n_changes: 40 },
    Target { name: "words", run: words::run, seeds: words::seeds, n_changes: 400 },
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target {name}"))
}

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
}

/// Writes a file into a folder for temporary files.
fn file(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("room for a temporary file");
    path
}

/// The content of a file, which is removed.
fn taken(path: &Path) -> Vec<u8> {
    let content = std::fs::read(path).expect("a file that is there");
    std::fs::remove_file(path).expect("a file that is there");
    content
}
