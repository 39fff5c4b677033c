//! Stage 6: labels to centroids.
//!
//! [`Changes`] are the moves of some documents; [`Delta`] is their effect on the sums, in integers;
//! [`Sums`] adds deltas, and turns them into centroids and
//! [`Movement`](crate::centroids::Movement). [`refill::choose`] chooses the documents that empty
//! clusters take.

mod delta;
pub(crate) mod refill;
mod sums;

pub(crate) use delta::{Change, Changes, ClusterDelta, Delta, DeltaScratch, Touched};
pub(crate) use refill::{Candidate, Fitting, Refill};
pub(crate) use sums::{Shape, Sums, batch_clusters};

/// Upper bound on the memory of centroids, their sums and an update: 16 bytes per entry, 24 more
/// for those of the [clusters that are updated together](batch_clusters), and a dense row per
/// thread.
pub(crate) fn most_bytes(entries: u64, together: u64, n_clusters: u64, n_terms: u64, n_threads: u64) -> u64 {
    let together = together.min(entries);
    16 * entries + 24 * together + 160 * n_clusters + (8 * n_terms + n_terms / 8) * n_threads
}

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
        let weights = crate::vectors::RowWeights::UNIFORM;
        let (changes, touched) = Changes::between(&self.summed, labels, &weights);
        self.summed.copy_from_slice(labels);
        self.sums.count(&touched);
        let delta = |clusters| Ok(changes.delta(clusters, rows, &weights, &self.scratch));
        self.sums.apply(&touched, &[], centroids, batch_clusters(1), delta).expect("nothing can fail here")
    }
}

/// The sums of these labels, and their directions: for tests of other stages.
#[cfg(test)]
pub(crate) fn sums_of(
    rows: &crate::vectors::UnitRows<'_>,
    labels: &[u32],
    n_clusters: usize,
) -> (Sums, crate::centroids::Centroids) {
    use crate::centroids::{Centroid, Centroids};
    let mut follower = Follower::new(labels.len(), n_clusters);
    let mut centroids = Centroids::new(rows.n_terms(), vec![Centroid::default(); n_clusters]);
    follower.update(rows, labels, &mut centroids);
    (follower.sums, centroids)
}
