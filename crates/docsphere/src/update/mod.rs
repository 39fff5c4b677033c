//! Stage 6: labels to centroids.
//!
//! [`Delta`] is what the moves of some documents change, in integers; [`Sums`] adds deltas up, and turns them into
//! centroids and [`Movement`](crate::centroids::Movement). [`refill::choose`] says which documents empty clusters take.

mod delta;
pub(crate) mod refill;
mod sums;

pub(crate) use delta::{Change, Delta, DeltaScratch};
pub(crate) use refill::{Candidate, Fitting, Refill};
pub(crate) use sums::Sums;

/// Labels to centroids, without refills: for tests of other stages.
#[cfg(test)]
pub(crate) struct Follower {
    sums: Sums,
    summed: Vec<u32>,
    scratch: DeltaScratch,
}

#[cfg(test)]
impl Follower {
    pub(crate) fn new(n_docs: usize, n_clusters: usize) -> Self {
        let summed = vec![crate::labels::Assignment::NO_LABEL; n_docs];
        Follower { sums: Sums::new(n_clusters), summed, scratch: DeltaScratch::default() }
    }

    pub(crate) fn update(
        &mut self,
        rows: &crate::vectors::UnitRows<'_>,
        labels: &[u32],
        centroids: &mut crate::centroids::Centroids,
    ) -> crate::centroids::Movement {
        let changes = Change::between(&self.summed, labels);
        self.summed.copy_from_slice(labels);
        let delta = Delta::of(rows, &crate::vectors::RowWeights::UNIFORM, changes, &self.scratch);
        self.sums.count(&delta);
        self.sums.apply(delta, &[], centroids)
    }
}
