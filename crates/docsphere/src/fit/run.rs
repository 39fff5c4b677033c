//! One run and its start.

use std::sync::atomic::AtomicBool;

use crate::assign::Step;
use crate::centroids::Centroids;
use crate::record::{Counters, IterationRecord, RunRecord, SeedingSeconds, StopReason};
use crate::update::{Sums, Touched};

/// Where a run starts.
#[derive(Clone)]
pub(super) enum Start {
    /// From seeds, drawn according to [`Params::init`](crate::Params::init).
    Seeds,
    /// From centroids, and labels for those documents that have one. An interrupted run comes with
    /// its history; without one, the first iteration finds every document's label, and keeps the
    /// given one on ties.
    Continue { centroids: Centroids, labels: Vec<u32>, history: History },
}

/// The history of a run so far.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// Iteration 0 is the first assignment.
    pub(crate) iterations: Vec<IterationRecord>,
    pub(super) seeding_seconds: f64,
    /// `None` if the run was continued.
    pub(super) seeding_phases: Option<SeedingSeconds>,
    /// The first iteration of the refinement.
    pub(super) refined_from: Option<usize>,
}

/// One run: all state of its iterations, except the part held by the shards.
pub(crate) struct Run {
    pub(crate) number: usize,
    pub(super) sums: Sums,
    pub(crate) centroids: Centroids,
    /// The clusters that the last pass touched, not yet in the sums.
    pub(super) pending: Vec<Touched>,
    /// The moves of a contest that are pending, too.
    pub(super) varied: Option<Varied>,
    pub(crate) history: History,
}

/// What a contest moved since the last pass.
pub(super) struct Varied {
    pub(super) n_docs: u64,
    /// What it took.
    pub(super) counters: Counters,
    pub(super) seconds: f64,
    /// The clusters that documents joined or left.
    pub(super) clusters: Vec<u32>,
}

impl Run {
    /// A run whose documents do not contribute to the sums yet.
    pub(super) fn new(number: usize, centroids: Centroids, history: History) -> Self {
        let sums = Sums::new(centroids.n_clusters());
        Run { number, sums, centroids, pending: Vec::new(), varied: None, history }
    }

    /// A copy without the state that only further iterations need.
    pub(super) fn result(&self) -> Self {
        Run { sums: Sums::new(0), ..Run::new(self.number, self.centroids.clone(), self.history.clone()) }
    }

    /// The last completed step, again.
    pub(super) fn last_step<'a>(&'a self, cancel: Option<&'a AtomicBool>) -> Step<'a> {
        Step::new(self.history.iterations.len() - 1, &self.centroids, None, cancel)
    }

    pub(super) fn objective(&self) -> f64 {
        self.history.iterations.last().map_or(0.0, |record| record.objective)
    }

    /// Whether first variation moves no document, and the iteration before it moved none.
    pub(super) fn stands_still(&self) -> bool {
        let moved = |record: &IterationRecord| record.moved_docs > 0 || record.varied_docs.is_some();
        self.varied.as_ref().is_some_and(|varied| varied.n_docs == 0)
            && self.history.iterations.last().is_some_and(|last| !moved(last))
    }

    /// Whether first variation has begun.
    pub(super) fn has_varied(&self) -> bool {
        self.history.iterations.iter().any(|record| record.varied_docs.is_some())
    }

    pub(super) fn record(&self, stop: StopReason) -> RunRecord {
        RunRecord {
            run: self.number,
            objective: self.objective(),
            n_iter: self.history.iterations.len() - 1, // iteration 0 is not counted
            stop,
            seeding_seconds: self.history.seeding_seconds,
            seeding_phases: self.history.seeding_phases,
        }
    }
}
