//! Runs kept in a file, one line each as soon as it is done, so that an experiment of hours can be cut and continued.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use docsphere::Strategy;
use serde::{Deserialize, Serialize};

use super::Run;

/// What a run was made with. A run is taken over only if all of it is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunKey {
    /// Corpus, k and seed, as they are shown.
    pub(crate) title: String,
    /// How the seeds were found.
    pub(crate) init: String,
    pub(crate) n_rows: usize,
    pub(crate) nnz: usize,
    pub(crate) n_threads: usize,
    pub(crate) max_iter: usize,
    pub(crate) tol: f64,
    pub(crate) cap: Option<f64>,
    pub(crate) strategy: Strategy,
    /// From 0.
    pub(crate) number: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: RunKey,
    run: Run,
}

/// The file, and what was in it at the start.
pub(crate) struct Journal {
    path: PathBuf,
    known: Vec<Line>,
}

impl Journal {
    /// Opens the file; what is in it is kept if `resume`. A line that was cut off in the middle is left out.
    pub(crate) fn open(path: &Path, resume: bool) -> Result<Self> {
        let mut known: Vec<Line> = Vec::new();
        if resume && path.exists() {
            let text =
                fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
            known = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        }
        let journal = Journal { path: path.to_owned(), known };
        let write = || -> Result<()> {
            let mut file = File::create(path)?;
            journal.known.iter().try_for_each(|line| append(&mut file, line))
        };
        write().with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(journal)
    }

    /// The run that was made with the same, if there is one.
    pub(crate) fn find(&self, key: &RunKey) -> Option<Run> {
        self.known.iter().find(|line| line.key == *key).map(|line| line.run.clone())
    }

    /// Keeps a run.
    pub(crate) fn add(&self, key: RunKey, run: &Run) -> Result<()> {
        let write =
            || append(&mut File::options().append(true).open(&self.path)?, &Line { key, run: run.clone() });
        write().with_context(|| format!("{}: cannot write", self.path.display()))
    }
}

fn append(file: &mut File, line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    Ok(file.write_all(text.as_bytes())?)
}
