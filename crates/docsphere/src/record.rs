//! Facts about a run: the strategy, counts that show where work was saved, seconds, the stop
//! reason.

use serde::{Deserialize, Serialize};

use crate::names::impl_names;

/// How labels are found. All strategies return the same bits; they differ in time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// The fastest of the others, chosen in each iteration by estimated cost.
    #[default]
    Auto,
    /// Every document against every centroid, one dot product each.
    Baseline,
    /// The paper's non-changing clusters (section 3.1).
    Ncc,
    /// The paper's dot-product index with several thresholds (section 3.2).
    Index,
    /// The paper's full approach: both.
    NccIndex,
    /// Posting lists over the centroids: all similarities of a document at once.
    Inverted,
    /// Only the centroids that moved further than the document's slack, using upper bounds in small
    /// integers.
    Drift,
    /// On a CUDA device: in records of runs with such a [`Device`], never chosen by name.
    Cuda,
}

impl Strategy {
    /// All strategies that can be chosen.
    pub const ALL: &'static [Strategy] = &[
        Strategy::Auto,
        Strategy::Baseline,
        Strategy::Ncc,
        Strategy::Index,
        Strategy::NccIndex,
        Strategy::Inverted,
        Strategy::Drift,
    ];

    /// The name on the command line, in files and in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Baseline => "baseline",
            Strategy::Ncc => "ncc",
            Strategy::Index => "index",
            Strategy::NccIndex => "ncc-index",
            Strategy::Inverted => "inverted",
            Strategy::Drift => "drift",
            Strategy::Cuda => "cuda",
        }
    }
}

impl_names!(Strategy, "strategy");

/// Where labels are found. Never changes the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// On the CPU.
    #[default]
    Cpu,
    /// On a GPU if there is one that can be used, otherwise on the CPU.
    Auto,
    /// On the first CUDA device, with compute capability 7.5 or above; needs the feature `cuda`.
    /// It is an error if there is none; if it fails later, the run goes on on the CPU, after
    /// [`Event::DeviceLeft`](crate::Event::DeviceLeft).
    Cuda,
    /// The kernels on the CPU, for tests; the device is lost after some launches.
    #[cfg(feature = "cuda-emulation")]
    #[doc(hidden)]
    Emulated {
        /// After how many.
        launches: u64,
    },
}

impl Device {
    /// All devices that can be chosen by name.
    pub const ALL: &'static [Device] = &[Device::Cpu, Device::Auto, Device::Cuda];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Auto => "auto",
            Device::Cuda => "cuda",
            #[cfg(feature = "cuda-emulation")]
            Device::Emulated { .. } => "emulated",
        }
    }
}

impl_names!(Device, "device");

/// How much time to spend on a greater objective: a preset of several options, see
/// [`Params::effort`](crate::Params::effort).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effort {
    /// Fewer small clusters before the merges, no first variation: about two thirds of the time of
    /// the default (docs/quality.md).
    Fast,
    /// The defaults of all options.
    #[default]
    Default,
    /// Five runs from seeds, then ten that perturb the best one: about six times the time of the
    /// default.
    Best,
}

impl Effort {
    /// All of them.
    pub const ALL: &'static [Effort] = &[Effort::Fast, Effort::Default, Effort::Best];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Fast => "fast",
            Effort::Default => "default",
            Effort::Best => "best",
        }
    }
}

impl_names!(Effort, "effort");

/// What follows the loop, for clusters that agree better with people's judgement than the optimum
/// of spherical k-means does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Refine {
    /// Nothing.
    #[default]
    None,
    /// Root centroids: the entries of a centroid are the roots of the entries of the sum of its
    /// documents, so that a few frequent terms do not dominate. For up to ten passes each document
    /// moves to the cluster with the most similar root centroid, its own contribution left out.
    /// Labels and centroids of the result belong together as always, but the objective is no longer
    /// that of spherical k-means.
    Root,
}

impl Refine {
    /// All refinements.
    pub const ALL: &'static [Refine] = &[Refine::None, Refine::Root];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Refine::None => "none",
            Refine::Root => "root",
        }
    }
}

impl_names!(Refine, "refine");

/// The cost of an assignment, in machine-independent counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Computed similarities between a document and a centroid.
    pub similarities: u64,
    /// Postings read from an index over the centroids.
    pub postings: u64,
    /// Documents whose label was settled without any computation.
    pub skipped_docs: u64,
}

impl Counters {
    /// The sum of two counts. Saturates: counts may come from a file.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Counters {
            similarities: self.similarities.saturating_add(other.similarities),
            postings: self.postings.saturating_add(other.postings),
            skipped_docs: self.skipped_docs.saturating_add(other.skipped_docs),
        }
    }
}

/// How the paper's index was used in one assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IndexUse {
    /// Seconds to build it: the maps G and P for all thresholds.
    pub build_seconds: f64,
    /// The thresholds, ascending.
    pub lambdas: Vec<f64>,
    /// Documents that used no threshold, because the similarity to their own centroid was not yet
    /// known or below all thresholds; then the documents that used each threshold.
    pub docs: Vec<u64>,
    /// The candidates returned for those documents, before candidates with an unchanged centroid
    /// are dropped.
    pub candidates: Vec<u64>,
}

impl IndexUse {
    /// The combined use by two shards.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.build_seconds += other.build_seconds;
        self.docs.iter_mut().zip(&other.docs).for_each(|(sum, docs)| *sum += docs);
        self.candidates.iter_mut().zip(&other.candidates).for_each(|(sum, more)| *sum += more);
        self
    }
}

/// The record of one iteration. Iteration 0 is the first assignment, to the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IterationRecord {
    /// The number of the iteration.
    pub iteration: usize,
    /// The strategy used: for `auto` the one it chose, for `ncc-index` `ncc` while the index is
    /// off.
    pub strategy: Strategy,
    /// Whether a filter of the strategy was switched off because the rows or centroids hold
    /// negative values.
    pub filters_off: bool,
    /// Documents whose label changed.
    pub moved_docs: u64,
    /// Clusters whose centroid changed before this assignment; all in iteration 0.
    pub changed_clusters: u64,
    /// Documents whose own centroid changed before this assignment; all in iteration 0. The others
    /// need only be compared with the changed centroids (the paper's section 3.1).
    pub unsettled_docs: u64,
    /// Empty clusters that were refilled before this assignment.
    pub refilled_clusters: u64,
    /// Documents that first variation moved before this assignment; `None` if it did not take
    /// place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varied_docs: Option<u64>,
    /// The cost of the assignment, in counts.
    #[serde(flatten)]
    pub counters: Counters,
    /// How the paper's index was used, for strategies that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexUse>,
    /// The objective after this assignment: the weighted sum of the documents' similarities to
    /// their own centroids.
    pub objective: f64,
    /// The largest squared distance by which a centroid moved before this assignment.
    pub max_squared_movement: f64,
    /// Time per stage.
    pub seconds: StageSeconds,
    /// Bytes held by the strategy in addition to rows and centroids.
    pub strategy_bytes: u64,
    /// Bytes to and from a device since the iteration before, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transferred: Option<Transferred>,
}

/// Bytes that were transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Transferred {
    /// To the device.
    pub sent: u64,
    /// From the device.
    pub received: u64,
}

/// Seconds per stage of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageSeconds {
    /// Labels to centroids.
    pub update: f64,
    /// Building the strategy's data structures.
    pub prepare: f64,
    /// Rows to labels.
    pub assign: f64,
    /// Where the time of `prepare` and `assign` went, for a strategy that says so, in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseSeconds>,
}

/// Seconds per phase of an assignment by [`Strategy::Drift`], or on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseSeconds {
    /// Sorting the rows by cluster when many documents have moved, and the members of each cluster.
    pub arrange: f64,
    /// Similarities of documents to their own centroids.
    pub own: f64,
    /// Choosing the documents that are compared with other centroids.
    pub choose: f64,
    /// Ranking the centroids, and building columns from them.
    pub columns: f64,
    /// Comparing documents with columns.
    pub scan: f64,
    /// Exact similarities of the candidates, and the labels that follow from them.
    pub settle: f64,
    /// Documents that are compared with all centroids, through posting lists.
    pub postings: f64,
    /// Writing labels and similarities.
    pub write: f64,
    /// Sending rows and labels to a device.
    #[serde(default)]
    pub upload: f64,
}

impl PhaseSeconds {
    /// Those of two parts of the documents.
    pub(crate) fn plus(self, other: Self) -> Self {
        PhaseSeconds {
            arrange: self.arrange + other.arrange,
            own: self.own + other.own,
            choose: self.choose + other.choose,
            columns: self.columns + other.columns,
            scan: self.scan + other.scan,
            settle: self.settle + other.settle,
            postings: self.postings + other.postings,
            write: self.write + other.write,
            upload: self.upload + other.upload,
        }
    }
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
    /// No document changed its cluster, so nothing can change any more.
    NoLabelChanged,
    /// No centroid moved by `tol` or more.
    CentroidsStandStill,
    /// After first variation, an iteration gained less than 1/10,000 of the objective.
    LittleGained,
    /// `max_iter` iterations were done.
    MaxIter,
    /// The observer stopped the run.
    Observer,
}

impl StopReason {
    /// Whether the run converged.
    pub const fn is_converged(self) -> bool {
        matches!(
            self,
            StopReason::NoLabelChanged | StopReason::CentroidsStandStill | StopReason::LittleGained
        )
    }
}

/// Summary of one of the `n_init` runs.
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
    /// Seconds spent on seeding.
    pub seeding_seconds: f64,
    /// Where they went, if the run has not been continued since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeding_phases: Option<SeedingSeconds>,
}

/// Seconds per phase of seeding. Which phases there are depends on [`Init`](crate::Init).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SeedingSeconds {
    /// The order of the documents, and the index over them.
    pub index: f64,
    /// Drawing documents.
    pub draw: f64,
    /// Finding the documents that candidates improve; with few threads without those of earlier
    /// steps.
    pub search: f64,
    /// Choosing the best candidate, and lowering the weights of the documents that it improves.
    pub choose: f64,
    /// Random documents, and the iterations over small clusters.
    pub small_clusters: f64,
    /// Finding which small clusters may merge.
    pub partners: f64,
    /// Merging them.
    pub merge: f64,
}

/// The record of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// Summaries of all runs.
    pub runs: Vec<RunRecord>,
    /// The run whose result was kept.
    pub best_run: usize,
    /// The iterations of that run, iteration 0 first.
    pub iterations: Vec<IterationRecord>,
    /// The passes of the refinement. Their objective is not that of the iterations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refinement: Vec<IterationRecord>,
}

impl Trace {
    /// The counts summed over all iterations.
    pub fn total(&self) -> Counters {
        self.iterations.iter().fold(Counters::default(), |sum, record| sum.plus(record.counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_found_by_its_name() {
        for &strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse::<Strategy>().unwrap(), strategy);
            assert_eq!(serde_json::to_string(&strategy).unwrap(), format!("\"{strategy}\""));
        }
        assert_eq!(
            "fast".parse::<Strategy>().unwrap_err().to_string(),
            "strategy must be one of auto, baseline, ncc, index, ncc-index, inverted, drift, got \"fast\""
        );
    }
}
