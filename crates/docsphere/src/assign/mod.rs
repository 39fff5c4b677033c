//! Stage 6: rows to labels. Interchangeable strategies, one file each, with identical results.
//!
//! | strategy | what it skips |
//! |---|---|
//! | [`baseline`](Strategy::Baseline) | nothing: every document against every centroid |
//! | [`ncc`](Strategy::Ncc) | centroids that did not change, for documents whose own centroid did not change |
//! | [`index`](Strategy::Index) | centroids that cannot reach the document's present similarity, by the paper's maps G and P |
//! | [`ncc-index`](Strategy::NccIndex) | both: the paper's full approach |
//! | [`inverted`](Strategy::Inverted) | nothing, but computes all similarities of a document at once through posting lists |
//! | [`drift`](Strategy::Drift) | centroids that did not move further than the document's slack |
//! | [`auto`](Strategy::Auto) | picks by cost, anew in each iteration |
//!
//! To add one: see CONTRIBUTING.md.

mod arranged;
mod auto;
mod baseline;
mod batch;
mod bounds;
mod choice;
mod chunks;
mod columns;
mod comparer;
mod drift;
mod drifts;
mod index;
mod inverted;
mod kept;
mod labels;
mod lookup;

mod ncc;
mod ncc_index;
mod overlap;
mod postings;
mod scan;
mod states;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::simd::Level;
use crate::update::{Assignment, Centroids, Movement};
use crate::vectors::UnitRows;

pub use labels::Labels;
pub(crate) use postings::{LANES, Postings, greatest};

/// How labels are found. All strategies return the same bits; they differ in time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// The fastest of the others, chosen anew in each iteration by an estimate of their cost.
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
    /// Posting lists over the centroids, all similarities of a document at once.
    Inverted,
    /// Only the centroids that moved further than the document's slack, by upper bounds in small integers.
    Drift,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 7] = [
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
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            ErrorKind::Parameter {
                name: "strategy",
                expected: format!("one of {names}"),
                got: format!("\"{name}\""),
            }
            .into()
        })
    }
}

/// What one assignment works on.
pub(crate) struct Step<'a> {
    /// 0 for the first assignment, to the seeds.
    pub(crate) iteration: usize,
    pub(crate) rows: &'a UnitRows<'a>,
    pub(crate) centroids: &'a Centroids,
    /// What changed since the last assignment; `None` at first.
    pub(crate) movement: Option<&'a Movement>,
    /// Clusters whose centroid is not empty, ascending.
    pub(crate) live: Vec<u32>,
    /// Once it is true, the run is abandoned.
    cancel: Option<&'a AtomicBool>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        iteration: usize,
        rows: &'a UnitRows<'a>,
        centroids: &'a Centroids,
        movement: Option<&'a Movement>,
    ) -> Self {
        Step { iteration, rows, centroids, movement, live: centroids.live(), cancel: None }
    }

    /// A step that may be abandoned.
    pub(crate) fn cancelled_by(self, cancel: Option<&'a AtomicBool>) -> Self {
        Step { cancel, ..self }
    }

    /// Whether all further work would be for nothing: whatever is written to the assignment will be thrown away.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Relaxed))
    }

    /// Whether the paper's index may be used: its order of entries and its fallback assume that no value is negative.
    pub(crate) fn allows_index(&self) -> bool {
        self.rows.is_non_negative() && self.centroids.is_non_negative()
    }

    /// The changed clusters; all of them at first.
    pub(crate) fn n_changed(&self) -> usize {
        self.movement.map_or(self.centroids.n_clusters(), |movement| movement.changed().len())
    }

    /// Whether this is the label of a cluster whose centroid is what it was at the last assignment.
    pub(crate) fn is_unchanged(&self, label: u32) -> bool {
        label != Assignment::NO_LABEL
            && self.movement.is_some_and(|movement| !movement.is_changed(label as usize))
    }
}

/// Finds the label of every document.
///
/// # Contract
///
/// After `prepare(step)` and `assign(step, assignment)`, every document that is not a zero row has the label and the similarity that
/// ARCHITECTURE.md defines for `step.centroids` and the label it had before: the greatest similarity; on ties the old
/// label if it is among the best, else the smallest id; empty centroids attract nothing. The bits do not depend on the thread count.
///
/// On entry, if `step.movement` is there, every document's label was the right one for the centroids before that movement, and its
/// similarity the one to that centroid, except for documents that were moved into a refilled cluster: that cluster counts as changed.
pub(crate) trait Assigner: Send {
    /// Builds what the search of `step.centroids` needs.
    fn prepare(&mut self, step: &Step<'_>);

    /// Assigns every document.
    fn assign(&mut self, step: &Step<'_>, assignment: &mut Assignment) -> Counters;

    /// What was really done in the last assignment.
    fn used(&self) -> Used;

    /// How the paper's index was used in the last assignment, if it was.
    fn index_use(&self) -> Option<IndexUse> {
        None
    }

    /// Bytes held beside rows and centroids.
    fn memory_bytes(&self) -> usize;
}

/// What an assigner really did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Used {
    pub(crate) strategy: Strategy,
    /// Whether a filter was switched off because values are negative.
    pub(crate) filters_off: bool,
}

impl Used {
    fn plainly(strategy: Strategy) -> Self {
        Used { strategy, filters_off: false }
    }
}

/// What an assignment cost, in counts that do not depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Pairs of document and centroid whose similarity was computed.
    pub similarities: u64,
    /// Postings of an index over the centroids that were read.
    pub postings: u64,
    /// Documents whose label was settled without computing anything.
    pub skipped_docs: u64,
}

impl Counters {
    /// The sum of two counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Counters {
            similarities: self.similarities + other.similarities,
            postings: self.postings + other.postings,
            skipped_docs: self.skipped_docs + other.skipped_docs,
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
    /// Documents that asked without a threshold, because their similarity to the own centroid was not known yet or below all of them; then those that asked with each threshold.
    pub docs: Vec<u64>,
    /// The candidates that those documents were given, before candidates whose centroid did not change are dropped.
    pub candidates: Vec<u64>,
}

/// Settings of the strategies.
#[derive(Clone, Debug)]
pub(crate) struct AssignerSettings {
    pub(crate) lambdas: Vec<f64>,
    pub(crate) index_min_changed: usize,
    pub(crate) level: Level,
}

/// The one place where a strategy's name becomes the thing itself.
pub(crate) fn assigner(strategy: Strategy, settings: &AssignerSettings) -> Box<dyn Assigner> {
    let lambdas = settings.lambdas.clone();
    match strategy {
        Strategy::Auto => Box::new(auto::Auto::new(settings.level)),
        Strategy::Baseline => Box::new(baseline::Baseline::default()),
        Strategy::Ncc => Box::new(ncc::Ncc::default()),
        Strategy::Index => Box::new(index::Index::new(lambdas)),
        Strategy::NccIndex => Box::new(ncc_index::NccIndex::new(lambdas, settings.index_min_changed)),
        Strategy::Inverted => Box::new(inverted::Inverted::default()),
        Strategy::Drift => Box::new(drift::Drift::new(settings.level)),
    }
}

/// The similarity as ARCHITECTURE.md defines it, in its plainest form: what the tests of every faster form compare with.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_found_by_its_name() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse::<Strategy>().unwrap(), strategy);
            assert_eq!(serde_json::to_string(&strategy).unwrap(), format!("\"{strategy}\""));
        }
        assert_eq!(
            "fast".parse::<Strategy>().unwrap_err().to_string(),
            "strategy must be one of auto, baseline, ncc, index, ncc-index, inverted, drift, got \"fast\""
        );
    }
}
