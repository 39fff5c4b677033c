//! Stage 8: the rows of a run, and all that is known of each, wherever they live.
//!
//! The loop holds centroids and integer sums, and never sees a row. It asks [`Shards`], which
//! answer with integers, or with facts about single documents: how rows are divided among shards
//! cannot change a bit.
//!
//! | down | up |
//! |---|---|
//! | [`Step`]: centroids, what changed | [`Passed`]: touched clusters, objective, counts |
//! | how many documents to offer | [`Candidate`]s for empty clusters, worst first |
//! | [`Refill`]s | the clusters that they touch |
//! | a [`Contest`] | the clusters that its moves touch |
//! | some clusters | the [`Delta`] of their sums, in parts |
//! | what seeding asks for | see [`SeedSource`] |
//!
//! [`LocalShards`] are in this process. Others need no change to the loop.

mod contest;
mod local;

pub(crate) use contest::{Contest, Rule};
pub(crate) use local::{CONTEST_DOCS, Common, LocalShard, LocalShards, ShardSettings, clusters_per_delta};

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::assign::Step;
use crate::error::{Error, Result};
use crate::record::{Counters, IndexUse, PhaseSeconds, Strategy, Transferred};
use crate::seeding::SeedSource;
use crate::update::{Candidate, Delta, Fitting, Refill, Touched, batch_clusters};
use crate::vectors::{RowWeights, UnitRows};

/// Rows of a shard, if they are in a file: so many are in memory at a time.
pub(crate) const MAPPED_SHARD_ROWS: usize = 1 << 20;

/// What is known of all rows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowFacts {
    pub(crate) n_rows: usize,
    pub(crate) n_terms: usize,
    pub(crate) nnz: usize,
    pub(crate) n_nonzero_rows: usize,
    /// Rows that are not zero and have weight.
    pub(crate) n_usable: usize,
}

impl RowFacts {
    pub(crate) fn of(rows: &UnitRows<'_>, weights: &RowWeights<'_>) -> Self {
        // No row is read: they may be in a file.
        let has_weight = |&doc: &usize| weights.weight(doc) > 0.0;
        let n_usable = match weights.is_given() {
            true => {
                let n_zero = rows.zero_rows().iter().map(|doc| doc.index()).filter(has_weight).count();
                (0..rows.n_rows()).filter(has_weight).count() - n_zero
            }
            false => rows.n_nonzero_rows(),
        };
        RowFacts {
            n_rows: rows.n_rows(),
            n_terms: rows.n_terms(),
            nnz: rows.nnz(),
            n_nonzero_rows: rows.n_nonzero_rows(),
            n_usable,
        }
    }

    /// The facts of two sets of rows over the same terms.
    pub(crate) fn plus(self, other: Self) -> Self {
        RowFacts {
            n_rows: self.n_rows + other.n_rows,
            n_terms: self.n_terms,
            nnz: self.nnz + other.nnz,
            n_nonzero_rows: self.n_nonzero_rows + other.n_nonzero_rows,
            n_usable: self.n_usable + other.n_usable,
        }
    }
}

/// Checksums of rows and of their weights, as if they were written one after the other: those of
/// consecutive shards combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checksums {
    pub(crate) rows: u32,
    pub(crate) weights: u32,
}

/// What one pass over all documents came to.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The clusters that documents joined or left since the last pass (and the refills since),
    /// ascending.
    pub(crate) touched: Vec<Touched>,
    /// The weighted sum of the similarities in fixed point; see
    /// [`WeightScale`](crate::vectors::WeightScale).
    pub(crate) objective: i128,
    /// Documents whose label is not the one of the last pass.
    pub(crate) moved_docs: u64,
    /// Documents whose own centroid changed before this pass.
    pub(crate) unsettled_docs: u64,
    pub(crate) counters: Counters,
    /// What was used; by the first shard, if they differ.
    pub(crate) strategy: Strategy,
    /// Whether any shard had to switch a filter off.
    pub(crate) filters_off: bool,
    pub(crate) index: Option<IndexUse>,
    pub(crate) seconds: PassSeconds,
    pub(crate) strategy_bytes: u64,
    /// Bytes to and from a device since the last pass, if there is one.
    pub(crate) transferred: Option<Transferred>,
    /// Why a device was left, if that is so since the last pass.
    pub(crate) left_device: Option<Error>,
}

/// Where the time of a pass went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassSeconds {
    pub(crate) prepare: f64,
    pub(crate) assign: f64,
    /// Finding out who moved.
    pub(crate) compare: f64,
    /// Where the time of the assignment went, if the strategy of every shard says so.
    pub(crate) phases: Option<PhaseSeconds>,
}

impl Passed {
    /// Adds what another shard did in the same pass.
    pub(crate) fn add(&mut self, other: Passed) {
        Touched::add(&mut self.touched, other.touched);
        self.objective += other.objective;
        self.moved_docs += other.moved_docs;
        self.unsettled_docs += other.unsettled_docs;
        self.counters = self.counters.plus(other.counters);
        self.filters_off |= other.filters_off;
        self.index = match (self.index.take(), other.index) {
            (Some(index), Some(other)) => Some(index.plus(&other)),
            (index, other) => index.or(other),
        };
        self.seconds.prepare += other.seconds.prepare;
        self.seconds.assign += other.seconds.assign;
        self.seconds.compare += other.seconds.compare;
        self.seconds.phases =
            self.seconds.phases.zip(other.seconds.phases).map(|(own, other)| own.plus(other));
        self.strategy_bytes += other.strategy_bytes;
        self.left_device = self.left_device.take().or(other.left_device);
    }
}

/// What a contest came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contested {
    /// The clusters that documents joined or left, ascending.
    pub(crate) touched: Vec<Touched>,
    /// Documents that moved.
    pub(crate) n_docs: u64,
    /// What it took to find their rivals.
    pub(crate) counters: Counters,
}

impl Contested {
    /// Adds what the documents of another shard did.
    pub(crate) fn add(&mut self, other: Contested) {
        Touched::add(&mut self.touched, other.touched);
        self.n_docs += other.n_docs;
        self.counters = self.counters.plus(other.counters);
    }
}

/// See the [module](self). Documents have numbers that go on from shard to shard.
pub(crate) trait Shards: SeedSource + Send {
    /// What is known of all rows together.
    fn facts(&self) -> RowFacts;

    /// Checksums of all rows and of their weights.
    fn checksums(&self) -> Result<Checksums>;

    /// Begins a run: with these labels, one per document, or without any.
    fn start(&mut self, labels: Option<&[u32]>) -> Result<()>;

    /// Assigns every document to the centroids of a step.
    ///
    /// Fails with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) once the step is cancelled.
    fn pass(&mut self, step: &Step<'_>) -> Result<Passed>;

    /// The `n` worst-fitting documents after `after` that have weight and do not sit on their
    /// centroid, worst first.
    fn worst(&self, after: Option<Fitting>, n: usize) -> Result<Vec<Candidate>>;

    /// Gives documents to empty clusters. The clusters that this touches, ascending.
    fn refill(&mut self, refills: &[Refill]) -> Result<Vec<Touched>>;

    /// Lets documents move to their rivals, by the centroids of the last step. Documents without
    /// weight or label take no part, and with [`Rule::LeaveOneOut`] those that moved in the last
    /// pass: the centroids do not have them yet.
    fn contest(&mut self, step: &Step<'_>, contest: &Contest) -> Result<Contested>;

    /// What the last pass, and the refills and contests since, change in the sums of these
    /// clusters: in parts that add up to it, one after the other, so that a sum of all need not be
    /// held.
    fn deltas(&mut self, clusters: RangeInclusive<u32>, take: &mut dyn FnMut(Delta)) -> Result<()>;

    /// For how many of `n_touched` clusters to ask for deltas at a time. Changes the time and the
    /// memory, never the sums.
    fn clusters_per_delta(&self, n_touched: usize) -> usize {
        batch_clusters(n_touched, rayon::current_num_threads())
    }

    /// The same for an update, which adds the parts to the sums at once.
    fn clusters_per_update(&self, n_touched: usize) -> usize {
        self.clusters_per_delta(n_touched)
    }

    /// Gives back what the present run holds, which goes no further; what was kept stays.
    fn rest(&mut self) {}

    /// Keeps labels and similarities of the run that has ended as the best so far.
    fn keep(&mut self) -> Result<()>;

    /// The labels after the last pass of the present run, for a checkpoint.
    fn labels(&self) -> Result<Vec<u32>>;

    /// The labels that were kept, for a checkpoint.
    fn kept_labels(&self) -> Result<Vec<u32>>;

    /// Whether a call may fail because rows and all that was known of them are lost, and be
    /// repeated after [`Shards::recover`].
    fn may_be_lost(&self) -> bool {
        false
    }

    /// An iteration has ended: losses from now on count anew.
    fn progressed(&mut self) {}

    /// Brings rows back after an error. Returns whether the error was such a loss; then the run
    /// must [start](Shards::start) again from the labels and centroids of its last pass. What was
    /// kept is lost as well, but [`Shards::labels`] and [`Shards::kept_labels`] are as before.
    fn recover(&mut self, _error: &Error) -> Result<bool> {
        Ok(false)
    }
}
