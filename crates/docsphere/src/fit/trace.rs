//! What happened in a run: counts that prove where work was saved, and seconds.

use serde::{Deserialize, Serialize};

use crate::assign::{Counters, IndexUse, Strategy};

/// The record of one iteration. Iteration 0 is the first assignment, to the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IterationRecord {
    /// The number of the iteration.
    pub iteration: usize,
    /// The strategy that was used: for `auto` the one it picked, for `ncc-index` `ncc` while the index is off.
    pub strategy: Strategy,
    /// Whether a filter of the strategy was switched off because the rows or centroids hold negative values.
    pub filters_off: bool,
    /// Documents whose label changed.
    pub moved_docs: u64,
    /// Clusters whose centroid changed before this assignment; all in iteration 0.
    pub changed_clusters: u64,
    /// Documents whose own centroid changed before this assignment; all in iteration 0. The others need only be compared with the changed centroids (the paper's section 3.1).
    pub unsettled_docs: u64,
    /// Empty clusters that were given a document before this assignment.
    pub refilled_clusters: u64,
    /// What the assignment cost, in counts.
    #[serde(flatten)]
    pub counters: Counters,
    /// How the paper's index was used, by the strategies that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexUse>,
    /// The objective after this assignment: the weighted sum of the similarities to the own centroid.
    pub objective: f64,
    /// The largest squared distance that a centroid moved before this assignment.
    pub max_squared_movement: f64,
    /// Where the time went.
    pub seconds: StageSeconds,
    /// Bytes held by the strategy beside rows and centroids.
    pub strategy_bytes: u64,
}

/// Seconds by stage of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageSeconds {
    /// Labels to centroids.
    pub update: f64,
    /// Building what the strategy needs.
    pub prepare: f64,
    /// Rows to labels.
    pub assign: f64,
}

impl StageSeconds {
    /// All stages together.
    pub fn total(self) -> f64 {
        self.update + self.prepare + self.assign
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// No document changed its cluster: nothing can change any more.
    NoLabelChanged,
    /// No centroid moved by `tol` or more.
    CentroidsStandStill,
    /// `max_iter` iterations were done.
    MaxIter,
    /// The observer asked for it.
    Observer,
}

impl StopReason {
    /// Whether the run came to its end by itself.
    pub const fn is_converged(self) -> bool {
        matches!(self, StopReason::NoLabelChanged | StopReason::CentroidsStandStill)
    }
}

/// One run of the `n_init`, in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// The number of the run, from 0.
    pub run: usize,
    /// Its final objective.
    pub objective: f64,
    /// Its iterations.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Seconds that its seeding took.
    pub seeding_seconds: f64,
}

/// The record of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// All runs in brief.
    pub runs: Vec<RunRecord>,
    /// The run whose result was kept.
    pub best_run: usize,
    /// The iterations of that run, iteration 0 first.
    pub iterations: Vec<IterationRecord>,
}

impl Trace {
    /// The counts of all iterations added up.
    pub fn total(&self) -> Counters {
        self.iterations.iter().fold(Counters::default(), |sum, record| sum.plus(record.counters))
    }
}
