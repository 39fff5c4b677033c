//! The refinement by root centroids, after the best run.
//!
//! Each pass is an iteration of the same loop with centroids of another shape, and a contest in
//! which the documents' own contributions are left out. Every pass ends with an ordinary
//! assignment, so labels and centroids belong together whenever it stops.

use super::{Driver, RestingPoint, Run};
use crate::error::Result;
use crate::observer::Event;
use crate::shards::{Contest, Rule};
use crate::update::{Shape, Sums};

/// The most passes.
const PASSES: usize = 10;

/// The passes end when fewer than one document in this many moves.
const STILL_SHARE: u64 = 1000;

impl Driver<'_> {
    /// Refines the best run, and keeps it.
    pub(super) fn refine(&mut self) -> Result<()> {
        let Some(best) = self.best.take() else { return Ok(()) };
        loop {
            match self.refined(&best) {
                Ok(run) => {
                    self.keep_surely(&run)?;
                    self.set_best(&run);
                    return Ok(());
                }
                Err(error) => self.recover(&error)?.then_some(()).ok_or(error)?,
            }
        }
    }

    fn refined(&mut self, best: &Run) -> Result<Run> {
        let start = RestingPoint::of(best).start(self.shards.kept_labels()?);
        let mut run = self.begun(best.number, start)?;
        run.sums = Sums::with_shape(Shape::Root, run.centroids.n_clusters());
        run.history.refined_from = Some(run.history.iterations.len());
        for pass in 1..=PASSES {
            let record = self.iteration(&mut run)?;
            let is_still = record.moved_docs * STILL_SHARE < self.facts.n_usable as u64;
            let asked_to_stop = self.observer.observe(&Event::Iteration(&record)).is_break()
                | std::mem::take(&mut self.asked_to_stop);
            run.history.iterations.push(record);
            if asked_to_stop || pass == PASSES || (is_still && pass > 1) {
                break;
            }
            let contest = Contest { rule: Rule::LeaveOneOut, sizes: run.sums.magnitudes() };
            self.contest(&mut run, &contest)?;
        }
        Ok(run)
    }
}
