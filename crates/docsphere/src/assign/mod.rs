//! Stage 7: rows to labels. Interchangeable strategies, one file each, with identical results.
//!
//! | strategy | what it skips |
//! |---|---|
//! | [`baseline`](Strategy::Baseline) | nothing: every document against every centroid |
//! | [`ncc`](Strategy::Ncc) | centroids that did not change, for documents whose own centroid did not change |
//! | [`index`](Strategy::Index) | centroids that cannot reach the document's present similarity, by the paper's maps G and P |
//! | [`ncc-index`](Strategy::NccIndex) | both: the paper's full approach |
//! | [`inverted`](Strategy::Inverted) | nothing, but computes all similarities of a document at once through posting lists |
//! | [`drift`](Strategy::Drift) | centroids that did not move further than the document's slack |
//! | [`auto`](Strategy::Auto) | chooses by cost in each iteration |
//!
//! To add one: see CONTRIBUTING.md.

mod auto;
mod baseline;
mod bounds;
mod choice;
#[cfg(feature = "cuda")]
#[path = "cuda_enabled.rs"]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "cuda_disabled.rs"]
mod cuda;
mod documents;
mod drift;
mod index;
mod inverted;
mod lookup;
mod memory;
mod ncc;
mod ncc_index;
mod paper;
mod postings;
mod rivals;
mod sizes;
mod term_ranges;

use std::ops::{Deref, Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::centroids::{Centroids, Movement};
use crate::error::{Error, Result};
use crate::labels::Assignment;
use crate::record::{Counters, IndexUse, PhaseSeconds, Strategy, Transferred};
use crate::simd::Level;
use crate::update::{Changes, Delta};
use crate::vectors::{RowWeights, UnitRows};

pub(crate) use choice::greatest;
#[cfg(feature = "cuda")]
pub use cuda::keep_kernels_in;
pub(crate) use cuda::{OpenDevice, forget as forget_device, open as open_device};
pub(crate) use drift::{Comparer, Directories, most_nearest_bytes, nearest};
pub(crate) use memory::{device_bytes, most_bytes, most_transfer_bytes, resting_bytes};
pub(crate) use postings::{LANES, Postings};
pub(crate) use rivals::{Rival, Rivals, Wanted};
pub(crate) use sizes::{N_FREQUENT, Sizes, Spread};

/// The centroids to which every shard assigns its documents, and their changes: the same for all
/// shards.
pub(crate) struct Step<'a> {
    /// 0 for the first assignment, to the seeds.
    pub(crate) iteration: usize,
    pub(crate) centroids: &'a Centroids,
    /// The changes since the last assignment; `None` at first.
    pub(crate) movement: Option<&'a Movement>,
    /// Clusters whose centroid is not empty, ascending.
    pub(crate) live: Vec<u32>,
    /// Once it is true, the run is abandoned.
    cancel: Option<&'a AtomicBool>,
    /// Hears how far a pass over several shards has come.
    watcher: Option<&'a (dyn Fn(PassedSoFar) + Sync)>,
}

/// How far a pass over several shards has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedSoFar {
    pub(crate) n_docs: u64,
    /// Nonzeros of these documents.
    pub(crate) nnz: u64,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        iteration: usize,
        centroids: &'a Centroids,
        movement: Option<&'a Movement>,
        cancel: Option<&'a AtomicBool>,
    ) -> Self {
        Step { iteration, centroids, movement, live: centroids.live(), cancel, watcher: None }
    }

    /// The same with a watcher.
    pub(crate) fn watched<'b>(&'b self, watcher: &'b (dyn Fn(PassedSoFar) + Sync)) -> Step<'b> {
        let &Step { iteration, centroids, movement, ref live, cancel, .. } = self;
        Step { iteration, centroids, movement, live: live.clone(), cancel, watcher: Some(watcher) }
    }

    /// Tells the watcher how far a pass has come.
    pub(crate) fn passed(&self, so_far: PassedSoFar) {
        if let Some(watcher) = self.watcher {
            watcher(so_far);
        }
    }

    /// Whether all further work would be wasted: anything written to the assignment will be
    /// discarded.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Relaxed))
    }

    /// The changes since the assignment of an iteration; `None` if that was not the last one.
    pub(crate) fn movement_since(&self, iteration: Option<usize>) -> Option<&'a Movement> {
        self.movement.filter(|_| iteration.is_some_and(|iteration| iteration + 1 == self.iteration))
    }

    /// The number of changed clusters; all of them at first.
    pub(crate) fn n_changed(&self) -> usize {
        self.movement.map_or(self.centroids.n_clusters(), |movement| movement.changed().len())
    }

    /// Whether a document with this label need only be compared with the changed centroids: its own
    /// has not changed since the last assignment, or it has no label, since none was similar to it
    /// then.
    pub(crate) fn is_settled(&self, label: u32) -> bool {
        self.movement
            .is_some_and(|movement| label == Assignment::NO_LABEL || !movement.is_changed(label as usize))
    }
}

/// A step as seen by one strategy: with the rows of one block, and no others; or with all to which
/// it is attached, when it [begins](Assigner::begin).
pub(crate) struct ShardStep<'a> {
    step: &'a Step<'a>,
    pub(crate) rows: &'a UnitRows<'a>,
    /// The number of the block.
    pub(crate) block: usize,
    /// Of how many.
    pub(crate) n_blocks: usize,
    /// The documents that were given to empty clusters since the last assignment, and so have new
    /// labels.
    pub(crate) refilled: &'a [u32],
}

impl<'a> ShardStep<'a> {
    /// With all rows in one block.
    pub(crate) fn new(step: &'a Step<'a>, rows: &'a UnitRows<'a>, refilled: &'a [u32]) -> Self {
        ShardStep { step, rows, block: 0, n_blocks: 1, refilled }
    }

    /// Says which block these rows are.
    pub(crate) fn of_block(self, block: usize, n_blocks: usize) -> Self {
        ShardStep { block, n_blocks, ..self }
    }

    /// The number of blocks that have not been assigned yet in this step, this one included.
    pub(crate) fn n_blocks_left(&self) -> usize {
        self.n_blocks - self.block
    }

    /// Whether the paper's index may be used: its order of entries and its fallback assume that no
    /// value is negative.
    pub(crate) fn allows_index(&self) -> bool {
        self.rows.is_non_negative() && self.centroids.is_non_negative()
    }
}

impl<'a> Deref for ShardStep<'a> {
    type Target = Step<'a>;

    fn deref(&self) -> &Step<'a> {
        self.step
    }
}

/// Finds the label of every document to which it is attached.
///
/// The rows come in *blocks*: parts of consecutive rows, often only one. What a strategy derives
/// from centroids it derives once in a step, and all blocks share it; only one block's rows are
/// read at a time.
///
/// # Contract
///
/// `attach` is called once, with all rows. Then for each step comes one `begin`, with all rows, and
/// one `assign` per block, with its rows, in the order of the blocks, which are always the same.
/// Steps have ascending iterations. In `begin` a strategy reads no row, except to count how many
/// have each term when it is first used. After a `restart` that has succeeded all this begins anew,
/// with the same rows in the same blocks.
///
/// After `assign(step, assignment)`, every document of the block that is not a zero row has the
/// label and the similarity that ARCHITECTURE.md defines for `step.centroids` and the label it had
/// before: the greatest similarity; on ties the old label if it is among the best, otherwise the
/// smallest id; no label if none is above 0; empty centroids attract nothing. The bits depend
/// neither on the thread count nor on which other documents are attached.
///
/// On entry, if `step.movement` is present, every document's label was correct for the centroids
/// before that movement, and its similarity was the one to that centroid, except for
/// `step.refilled`, the documents that were moved into a refilled cluster: that cluster counts as
/// changed.
///
/// Once the step is cancelled, `assign` may leave any labels behind. A strategy that cannot
/// continue, because a device or a worker is gone, returns the error.
pub(crate) trait Assigner: Send {
    /// Prepares data that depends only on the rows: an order of terms, an upload.
    fn attach(&mut self, _rows: &UnitRows<'_>) -> Result<()> {
        Ok(())
    }

    /// Prepares what all blocks share in a step. `n_unsettled` documents have a centroid that has
    /// changed.
    fn begin(&mut self, step: &ShardStep<'_>, n_unsettled: u64) -> Result<()>;

    /// Assigns every document of a block.
    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned>;

    /// The documents at some places of a block, in the order in which their rivals are found
    /// fastest. Every document that is not a zero row has one place, below the number of rows; a
    /// place may be empty.
    fn in_order(&mut self, _step: &ShardStep<'_>, places: Range<usize>) -> Vec<u32> {
        (places.start as u32..places.end as u32).collect()
    }

    /// The rivals of some documents of a block, which have labels, in their order: for each the
    /// most similar other centroid of the step, on ties the one with the smallest number, or `None`
    /// if its similarity is less than wanted.
    ///
    /// The step is the one of the last `assign`, and `labels` are those that it has found, except
    /// for documents that have been given to empty clusters since: these are not asked for.
    fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        rivals::through_postings(step, wanted, labels)
    }

    /// What moves of documents of a block change in the sums of clusters; `None` if it does not
    /// find that faster than [`Changes::delta`] does. Labels that it knows may be older.
    fn delta(&mut self, _moved: &Moved<'_>) -> Option<Delta> {
        None
    }

    /// Gives back what is quickly made again, if memory is short: an update follows, which needs
    /// some.
    fn rest(&mut self) {}

    /// Forgets all but the rows, for another run over them. Returns whether it can; otherwise it is
    /// made anew.
    fn restart(&mut self) -> bool {
        false
    }

    /// Bytes held in addition to rows and centroids.
    fn memory_bytes(&self) -> usize;

    /// Bytes to and from a device since the last call, if there is one.
    fn transferred(&mut self) -> Option<Transferred> {
        None
    }
}

/// Documents of a block that have joined or left clusters.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only devices read it"))]
pub(crate) struct Moved<'a> {
    pub(crate) block: usize,
    pub(crate) rows: &'a UnitRows<'a>,
    pub(crate) weights: &'a RowWeights<'a>,
    pub(crate) changes: &'a Changes,
    /// Of which the changes matter.
    pub(crate) clusters: RangeInclusive<u32>,
}

/// The outcome of an assignment.
#[derive(Debug)]
pub(crate) struct Assigned {
    pub(crate) counters: Counters,
    /// The strategy actually used.
    pub(crate) strategy: Strategy,
    /// Whether a filter was switched off because values are negative.
    pub(crate) filters_off: bool,
    /// How the paper's index was used by all blocks so far in this step, if at all.
    pub(crate) index: Option<IndexUse>,
    /// Seconds of `assign` spent building the search structure over the centroids.
    pub(crate) prepare_seconds: f64,
    /// Where the time went, if the strategy says so.
    pub(crate) phases: Option<PhaseSeconds>,
    /// Why a device was left, if that is so since the last assignment.
    pub(crate) left_device: Option<Error>,
}

impl Assigned {
    fn plainly(strategy: Strategy, counters: Counters) -> Self {
        Assigned {
            counters,
            strategy,
            filters_off: false,
            index: None,
            prepare_seconds: 0.0,
            phases: None,
            left_device: None,
        }
    }
}

/// Settings of the strategies.
#[derive(Clone, Debug)]
pub(crate) struct AssignerSettings {
    pub(crate) lambdas: Vec<f64>,
    pub(crate) index_min_changed: usize,
    pub(crate) level: Level,
    /// The folder whose disk takes what is derived from single rows; `None` for memory.
    pub(crate) scratch: Option<PathBuf>,
    /// What takes the place of a strategy on the CPU.
    pub(crate) device: Option<OpenDevice>,
}

/// The only place where a strategy's name becomes an implementation.
pub(crate) fn assigner(strategy: Strategy, settings: &AssignerSettings) -> Box<dyn Assigner> {
    if let Some(device) = &settings.device {
        return cuda::assigner(device, settings);
    }
    let lambdas = settings.lambdas.clone();
    match strategy {
        // `cuda` is a matter of the device.
        Strategy::Auto | Strategy::Cuda => {
            Box::new(auto::Auto::new(settings.level, settings.scratch.clone()))
        }
        Strategy::Baseline => Box::new(baseline::Baseline::default()),
        Strategy::Ncc => Box::new(ncc::Ncc::default()),
        Strategy::Index => Box::new(index::Index::new(lambdas)),
        Strategy::NccIndex => Box::new(ncc_index::NccIndex::new(lambdas, settings.index_min_changed)),
        Strategy::Inverted => Box::new(inverted::Inverted::default()),
        Strategy::Drift => Box::new(drift::Drift::new(settings.level, settings.scratch.clone())),
    }
}

/// The similarity as ARCHITECTURE.md defines it, in its plainest form: the tests of every faster
/// form compare with it.
#[cfg(test)]
pub(crate) fn reference_similarity(x: crate::vectors::Row<'_>, c: crate::vectors::Row<'_>) -> f64 {
    let mut sum = 0.0;
    for (term, value) in x.iter() {
        if let Ok(position) = c.terms.binary_search(&term) {
            sum += f64::from(value) * f64::from(c.values[position]);
        }
    }
    sum
}
