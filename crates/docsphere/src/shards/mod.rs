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
//! | some clusters | the [`Delta`] of their sums |
//! | what seeding asks for | see [`SeedSource`] |
//!
//! [`LocalShards`] are in this process. Others need no change to the loop.

mod local;

pub(crate) use local::{LocalShards, ShardSettings};

use std::ops::RangeInclusive;

use crate::assign::Step;
use crate::error::Result;
use crate::record::{Counters, IndexUse, Strategy};
use crate::seeding::SeedSource;
use crate::update::{Candidate, Delta, Fitting, Refill, Touched};

/// What is known of all rows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowFacts {
    pub(crate) n_rows: usize,
    pub(crate) n_terms: usize,
    pub(crate) nnz: usize,
    pub(crate) n_nonzero_rows: usize,
    /// Rows that are not zero and have weight.
    pub(crate) n_usable: usize,
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
}

/// Where the time of a pass went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassSeconds {
    pub(crate) prepare: f64,
    pub(crate) assign: f64,
    /// Finding out who moved.
    pub(crate) compare: f64,
}

impl Passed {
    /// Adds what another shard did in the same pass.
    fn add(&mut self, other: Passed) {
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
        self.strategy_bytes += other.strategy_bytes;
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

    /// What the last pass and the refills since change in the sums of these clusters.
    fn delta(&self, clusters: RangeInclusive<u32>) -> Result<Delta>;

    /// Keeps labels and similarities of the run that has ended as the best so far.
    fn keep(&mut self) -> Result<()>;

    /// The labels of the present run, for a checkpoint.
    fn labels(&self) -> Result<Vec<u32>>;

    /// The labels that were kept, for a checkpoint.
    fn kept_labels(&self) -> Result<Vec<u32>>;
}
