//! A file of completed runs, one line per run, so that an experiment of hours can be interrupted
//! and continued.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use docsphere::Strategy;
use serde::{Deserialize, Serialize};

use super::Run;

/// The settings of a run. A run is reused only if all of them are the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunKey {
    /// Version of the program.
    pub(crate) version: String,
    /// Corpus, k and seed, as shown.
    pub(crate) title: String,
    /// The seeding method.
    pub(crate) init: String,
    pub(crate) n_rows: usize,
    pub(crate) nnz: usize,
    pub(crate) n_threads: usize,
    pub(crate) max_iter: usize,
    pub(crate) tol: f64,
    pub(crate) cap: Option<f64>,
    pub(crate) strategy: Strategy,
    /// Number of the run, from 0.
    pub(crate) number: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: RunKey,
    run: Run,
}

/// The file, and the runs that it held at the start.
pub(crate) struct Journal {
    path: PathBuf,
    known: Vec<Line>,
}

impl Journal {
    /// Opens or creates the file. Its runs are reused if `resume`; otherwise the old file is
    /// renamed to end in `.old`, `.old-2` and so on. Unreadable lines (truncated, or of another
    /// version) stay in the file and are ignored.
    pub(crate) fn open(path: &Path, resume: bool) -> Result<Self> {
        let open = || -> Result<Self> {
            if !resume && path.exists() {
                put_aside(path)?;
            }
            // Fail now, not after the first run, if nothing can be written there.
            let mut file = File::options().create(true).append(true).open(path)?;
            let bytes = fs::read(path)?;
            if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                file.write_all(b"\n")?;
            }
            let lines = || bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let known: Vec<Line> = lines().filter_map(|line| serde_json::from_slice(line).ok()).collect();
            let n_left_out = lines().count() - known.len();
            if n_left_out > 0 {
                eprintln!("{}: {n_left_out} runs cannot be read and are made again", path.display());
            }
            Ok(Journal { path: path.to_owned(), known })
        };
        open().with_context(|| format!("{}: cannot be used", path.display()))
    }

    /// The run with the same settings, if there is one.
    pub(crate) fn find(&self, key: &RunKey) -> Option<Run> {
        self.known.iter().find(|line| line.key == *key).map(|line| line.run.clone())
    }

    /// Appends a run.
    pub(crate) fn add(&self, key: RunKey, run: &Run) -> Result<()> {
        let write = || append(&self.path, &Line { key, run: run.clone() });
        write().with_context(|| format!("{}: cannot write", self.path.display()))
    }
}

/// Renames a journal without replacing another.
fn put_aside(path: &Path) -> Result<()> {
    let named = |number: u32| {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        path.with_extension(format!("jsonl.old{suffix}"))
    };
    let free = (1..).map(named).find(|old| !old.exists()).expect("there are more names than files");
    Ok(fs::rename(path, free)?)
}

fn append(path: &Path, line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    Ok(File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_put_aside_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        for content in ["first", "second", "third"] {
            fs::write(&path, content).unwrap();
            assert!(Journal::open(&path, false).unwrap().known.is_empty());
            assert_eq!(fs::read(&path).unwrap(), b"");
        }
        for (name, content) in [("old", "first"), ("old-2", "second"), ("old-3", "third")] {
            let old = folder.path().join(format!("runs.jsonl.{name}"));
            assert_eq!(fs::read_to_string(old).unwrap(), content);
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let error = Journal::open(&folder.path().join("missing/runs.jsonl"), true).err().unwrap();
        assert!(error.to_string().ends_with("runs.jsonl: cannot be used"), "{error}");
    }
}
