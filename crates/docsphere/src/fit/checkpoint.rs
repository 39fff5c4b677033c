//! A run on disk, which can be continued later with the same bits.
//!
//! After an iteration, a run depends only on its labels and centroids: sums follow from labels,
//! similarities from both. So a checkpoint holds these, the trace so far, and the best result so
//! far (of a run that has ended, or of this one before first variation). A fingerprint of rows,
//! weights and options prevents continuing a different run.
//! Strategy, threads and `max_iter` may differ: they do not affect the bits computed so far.
//!
//! **Cost.** 4 bytes per row and 8 bytes per entry of the centroids, twice if an earlier run of
//! `n_init` is kept; written to a temporary file that is renamed when complete.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::continued::Continued;
use super::params::Params;
use super::run::{History, Run, Start};
use crate::centroids::Centroids;
use crate::container::{Container, Kind};
use crate::error::{ErrorKind, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::record::{IterationRecord, RunRecord};
use crate::seeding::Init;
use crate::shards::{Checksums, RowFacts};

/// The version of the definitions in ARCHITECTURE.md that a run follows: incremented whenever they
/// change. Other versions would give other bits.
const RULES: u32 = 3;

const KIND: Kind = Kind {
    mark: *b"\x89DOCSCK\n",
    name: "docsphere checkpoint",
    whole: "the docsphere checkpoint",
    version: 1,
};

/// Bytes of memory per byte of the file while a checkpoint is decoded: entries of the centroids
/// first as a matrix, then as one list each.
const DECODED: u64 = 3;

/// Where a run writes its checkpoints, and how often.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointPlan {
    pub(crate) path: PathBuf,
    /// Number of iterations between checkpoints.
    pub(crate) every: usize,
}

/// An interrupted run. Pass it to [`FitOptions::resume`](crate::FitOptions::resume).
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub(super) fingerprint: Fingerprint,
    pub(super) finished: Vec<RunRecord>,
    pub(super) best: Option<SavedRun>,
    pub(super) current: SavedRun,
}

/// One run: the state that its further iterations depend on, and its history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SavedRun {
    pub(super) head: SavedHead,
    pub(super) labels: Vec<u32>,
    pub(super) centroids: Centroids,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SavedHead {
    pub(super) number: usize,
    pub(super) seeding_seconds: f64,
    pub(super) iterations: Vec<IterationRecord>,
}

/// The properties that must be equal for a run to be continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    /// [`RULES`]. Absent in checkpoints before version 2.
    #[serde(default)]
    rules: u32,
    n_rows: usize,
    n_terms: usize,
    nnz: usize,
    rows: u32,
    weights: u32,
    n_clusters: usize,
    init: String,
    n_init: usize,
    // Absent before version 3 of the rules.
    #[serde(default)]
    variation: bool,
    #[serde(default)]
    rounds: usize,
    #[serde(default)]
    refine: String,
    tol: f64,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    fingerprint: Fingerprint,
    finished: Vec<RunRecord>,
    best: Option<SavedHead>,
    current: SavedHead,
}

impl Fingerprint {
    pub(super) fn new(
        facts: RowFacts,
        checksums: Checksums,
        params: &Params,
        continued: Option<&Continued>,
    ) -> Self {
        let init = match (continued, &params.init) {
            (Some(continued), _) => format!("continued {:08x}", continued.checksum()),
            (None, Init::Given(centroids)) => {
                format!("given {:08x}", crc32fast::hash(&centroids.to_bytes()))
            }
            (None, Init::Merge { .. }) => {
                format!("{} of {} small clusters", params.init, params.init.n_fine(params.n_clusters))
            }
            (None, init) => match init.n_candidates() {
                Some(candidates) => format!("{} with {candidates} candidates", init.name()),
                None => init.name().to_owned(),
            },
        };
        Fingerprint {
            rules: RULES,
            n_rows: facts.n_rows,
            n_terms: facts.n_terms,
            nnz: facts.nnz,
            rows: checksums.rows,
            weights: checksums.weights,
            n_clusters: params.n_clusters,
            init,
            n_init: params.n_init,
            variation: params.variation,
            rounds: params.rounds,
            refine: params.refine.name().to_owned(),
            tol: params.tol,
            seed: params.seed,
        }
    }

    /// The first property in which `given` differs from this, as name, expected and got.
    fn difference(&self, given: &Self) -> Option<(&'static str, String, String)> {
        let rows = |f: &Self| format!("{} rows over {} terms, checksum {:08x}", f.n_rows, f.n_terms, f.rows);
        let pairs = [
            ("the version of the rules", self.rules.to_string(), given.rules.to_string()),
            ("the rows", rows(self), rows(given)),
            (
                "the checksum of the row weights",
                format!("{:08x}", self.weights),
                format!("{:08x}", given.weights),
            ),
            ("n_clusters", self.n_clusters.to_string(), given.n_clusters.to_string()),
            ("init", self.init.clone(), given.init.clone()),
            ("n_init", self.n_init.to_string(), given.n_init.to_string()),
            ("variation", self.variation.to_string(), given.variation.to_string()),
            ("rounds", self.rounds.to_string(), given.rounds.to_string()),
            ("refine", self.refine.clone(), given.refine.clone()),
            ("tol", self.tol.to_string(), given.tol.to_string()),
            ("seed", self.seed.to_string(), given.seed.to_string()),
        ];
        pairs.into_iter().find(|(_, expected, got)| expected != got)
    }
}

impl Checkpoint {
    /// Reads a checkpoint.
    ///
    /// # Errors
    /// A file that is not a docsphere checkpoint, is damaged, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_within(path, &NO_LIMIT)
    }

    /// Reads a checkpoint within a memory limit.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::Memory`] for a file that is too large.
    pub fn load_within(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<Self> {
        let path = path.as_ref();
        let container = Container::read(path, &KIND, DECODED, memory)?;
        Checkpoint::from_container(&container).map_err(|error| error.at_path(path))
    }

    /// The number of iterations that the interrupted run had completed.
    pub fn n_iter(&self) -> usize {
        self.current.head.iterations.len().saturating_sub(1)
    }

    pub(super) fn save(&self, path: &Path) -> Result<()> {
        let state = State {
            fingerprint: self.fingerprint.clone(),
            finished: self.finished.clone(),
            best: self.best.as_ref().map(|run| run.head.clone()),
            current: self.current.head.clone(),
        };
        let mut container = Container::default();
        container.push("state", serde_json::to_vec(&state).expect("plain numbers and strings"));
        self.current.push_to(&mut container, ["labels", "centroids"]);
        if let Some(best) = &self.best {
            best.push_to(&mut container, ["best labels", "best centroids"]);
        }
        container.write(path, &KIND)
    }

    fn from_container(container: &Container) -> Result<Self> {
        let state: State = serde_json::from_slice(container.section("state", &KIND)?)
            .map_err(|error| KIND.damaged("the state of a run", error))?;
        let current = SavedRun::from_container(container, state.current, ["labels", "centroids"])?;
        let best = state
            .best
            .map(|head| SavedRun::from_container(container, head, ["best labels", "best centroids"]));
        let checkpoint = Checkpoint {
            fingerprint: state.fingerprint,
            finished: state.finished,
            best: best.transpose()?,
            current,
        };
        checkpoint.check()?;
        Ok(checkpoint)
    }

    /// Checks that the parts are consistent, so that continuing cannot go out of bounds.
    fn check(&self) -> Result<()> {
        let Fingerprint { n_rows, n_clusters, n_terms, .. } = self.fingerprint;
        for run in self.best.iter().chain([&self.current]) {
            let labels_fit = run.labels.len() == n_rows
                && run.labels.iter().all(|&label| label == u32::MAX || (label as usize) < n_clusters);
            let centroids_fit =
                run.centroids.n_clusters() == n_clusters && run.centroids.n_terms() == n_terms;
            if !labels_fit || !centroids_fit || run.head.iterations.is_empty() {
                return Err(KIND.damaged("labels and centroids that fit each other", "others"));
            }
        }
        let numbers_fit = self.finished.iter().enumerate().all(|(number, run)| run.run == number)
            && self.current.head.number == self.finished.len()
            && self.best.as_ref().is_none_or(|best| best.head.number <= self.finished.len())
            && (self.best.is_some() || self.finished.is_empty());
        if numbers_fit { Ok(()) } else { Err(KIND.damaged("the runs in their order", "others")) }
    }

    /// Rejects continuing a run with other data or other options.
    pub(super) fn check_against(&self, given: &Fingerprint) -> Result<()> {
        match self.fingerprint.difference(given) {
            None => Ok(()),
            Some((what, expected, got)) => {
                let expected = format!("{expected}, as in the checkpoint");
                Err(ErrorKind::Mismatch { what, expected, got }.into())
            }
        }
    }
}

impl SavedRun {
    /// The current state of a run, with the labels that the shards hold.
    pub(super) fn new(run: &Run, labels: Vec<u32>) -> Self {
        let History { seeding_seconds, iterations, .. } = &run.history;
        let (seeding_seconds, iterations) = (*seeding_seconds, iterations.clone());
        let head = SavedHead { number: run.number, seeding_seconds, iterations };
        SavedRun { head, labels, centroids: run.centroids.clone() }
    }

    fn push_to(&self, container: &mut Container, [labels, centroids]: [&str; 2]) {
        container.push(labels, self.labels.iter().flat_map(|label| label.to_le_bytes()).collect());
        container.push(centroids, self.centroids.to_bytes());
    }

    fn from_container(
        container: &Container,
        head: SavedHead,
        [labels, centroids]: [&str; 2],
    ) -> Result<Self> {
        let short = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        let labels = container.section(labels, &KIND)?;
        if !labels.len().is_multiple_of(4) {
            return Err(KIND.damaged("labels of 4 bytes each", format!("{} bytes", labels.len())));
        }
        Ok(SavedRun {
            head,
            labels: labels.chunks_exact(4).map(short).collect(),
            centroids: Centroids::from_bytes(container.section(centroids, &KIND)?, &KIND)?,
        })
    }
}

impl From<SavedRun> for Start {
    fn from(saved: SavedRun) -> Self {
        let SavedRun { head: SavedHead { seeding_seconds, iterations, .. }, labels, centroids } = saved;
        Start::Continue {
            centroids,
            labels,
            history: History { iterations, seeding_seconds, ..History::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FitOptions, SphericalKMeans};
    use crate::vectors::{SparseRows, UnitRows};

    /// Four rows, the third one empty.
    fn rows() -> UnitRows<'static> {
        let rows = SparseRows::from_parts(2, vec![0, 1, 2, 2, 4], vec![0, 1, 0, 1], vec![1.0, 1.0, 2.0, 1.0]);
        UnitRows::new(rows.unwrap())
    }

    /// The result of continuing from a checkpoint after `change` was applied to it and all
    /// checksums were recomputed.
    fn continued(change: impl FnOnce(&mut Checkpoint)) -> Result<crate::Fit> {
        let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
        let path = folder.path().join("run.checkpoint");
        let params = SphericalKMeans::params(2).tol(0.0).n_threads(1);
        let mut observer = |event: &crate::Event<'_>| match event {
            crate::Event::Iteration(_) => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        };
        let options = FitOptions::default().observer(&mut observer).checkpoint(&path, 1);
        params.clone().fit_with(&rows, options).unwrap();
        let mut checkpoint = Checkpoint::load(&path).unwrap();
        change(&mut checkpoint);
        checkpoint.save(&path).unwrap();
        params.fit_with(&rows, FitOptions::default().resume(Checkpoint::load(&path)?))
    }

    #[test]
    fn labels_that_the_rows_cannot_have_are_refused() {
        let whole = continued(|_| ()).unwrap();
        assert_eq!(whole.labels.as_slice()[2], -1);
        // The row without terms has a label. (The fuzz target found this: the document count went
        // below zero.)
        let error = continued(|checkpoint| checkpoint.current.labels[2] = 1).unwrap_err();
        assert_eq!(error.to_string(), "the label of a row without terms must be -1, got cluster 1 for row 2");
        // A row with terms may have no label; its label is found again.
        let found = continued(|checkpoint| checkpoint.current.labels[0] = u32::MAX).unwrap();
        assert_eq!(found.labels, whole.labels);
    }

    #[test]
    fn counts_that_no_run_can_have_are_added_up_without_overflow() {
        let fit =
            continued(|checkpoint| checkpoint.current.head.iterations[0].counters.similarities = u64::MAX);
        assert_eq!(fit.unwrap().trace.total().similarities, u64::MAX);
    }
}
