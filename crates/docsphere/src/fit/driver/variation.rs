//! First variation: single documents move when the loop has converged, and the loop goes on.
//!
//! Everything here follows from the records of a run, so that an interrupted run goes on in the
//! same way.

use std::time::Instant;

use super::{Driver, Run};
use crate::error::Result;
use crate::fit::run::Varied;
use crate::record::{IterationRecord, StopReason};
use crate::shards::{Contest, Contested, Rule};
use crate::update::{Delta, Touched};

/// First variation goes on as long as an iteration with it gains this share of the objective.
const VARIATION_GAIN: f64 = 1e-3;

/// Afterwards the loop goes on as long as an iteration gains this share, unless it converges
/// before.
const ITERATION_GAIN: f64 = 1e-4;

impl Driver<'_> {
    /// Whether a run has converged, and how.
    pub(super) fn reached(&self, run: &Run) -> Option<StopReason> {
        let last = run.history.iterations.last().filter(|last| last.iteration > 0)?;
        if last.moved_docs == 0 {
            return Some(StopReason::NoLabelChanged);
        }
        if last.max_squared_movement < self.params.tol {
            return Some(StopReason::CentroidsStandStill);
        }
        let [.., before, _] = &run.history.iterations[..] else { return None };
        let is_little = run.has_varied() && !gains(before, last, ITERATION_GAIN);
        (is_little && self.params.tol > 0.0).then_some(StopReason::LittleGained)
    }

    /// Whether first variation precedes the next iteration: when the run has converged for the
    /// first time, and then as long as it gains.
    pub(super) fn varies(&self, run: &Run) -> bool {
        let [.., before, last] = &run.history.iterations[..] else { return false };
        self.params.variation
            && match last.varied_docs {
                Some(_) => gains(before, last, VARIATION_GAIN),
                None => self.reached(run).is_some() && !run.has_varied(),
            }
    }

    /// Moves documents if the objective gains by it.
    pub(super) fn vary(&mut self, run: &mut Run) -> Result<()> {
        let batch = self.shards.clusters_per_delta(run.pending.len());
        let deltas = |clusters, take: &mut dyn FnMut(Delta)| self.shards.deltas(clusters, take);
        let sizes = run.sums.lengths_after(&run.pending, batch, deltas)?;
        self.contest(run, &Contest { rule: Rule::FirstVariation, sizes })
    }

    /// Lets documents move to their rivals.
    pub(super) fn contest(&mut self, run: &mut Run, contest: &Contest) -> Result<()> {
        let start = Instant::now();
        let step = run.last_step(self.cancel);
        let Contested { touched, n_docs, counters } = self.shards.contest(&step, contest)?;
        let clusters = touched.iter().map(|touched| touched.cluster).collect();
        let seconds = start.elapsed().as_secs_f64();
        run.varied = Some(Varied { n_docs, counters, seconds, clusters });
        Touched::add(&mut run.pending, touched);
        Ok(())
    }
}

/// Whether an iteration gained this share of the objective.
fn gains(before: &IterationRecord, record: &IterationRecord, share: f64) -> bool {
    record.objective - before.objective >= share * before.objective.abs()
}
