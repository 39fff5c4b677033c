//! Stage 6: labels to centroids.
//!
//! [`Changes`] are the moves of some documents; [`Delta`] is their effect on the sums, in integers;
//! [`Sums`] adds deltas, and turns them into centroids and
//! [`Movement`](crate::centroids::Movement). [`refill::choose`] chooses the documents that empty
//! clusters take.

mod delta;
pub(crate) mod refill;
mod sums;

#[cfg(feature = "cuda")]
pub(crate) use delta::ClusterMoves;
pub(crate) use delta::{Change, Changes, ClusterDelta, Delta, DeltaScratch, Touched};
pub(crate) use refill::{Candidate, Fitting, Refill};
pub(crate) use sums::{Shape, Sums, batch_clusters};

/// Upper bound on the memory of centroids, their sums and an update: 16 bytes per entry, 24 more
/// for those of the [clusters that are updated together](batch_clusters), and a dense row per
/// thread.
pub(crate) fn most_bytes(entries: u64, together: u64, n_clusters: u64, n_terms: u64, n_threads: u64) -> u64 {
    resting_bytes(entries, n_clusters, n_terms, n_threads) + 24 * together.min(entries)
}

/// Upper bound on the memory of centroids and their sums, and of the scratch that stays.
pub(crate) fn resting_bytes(entries: u64, n_clusters: u64, n_terms: u64, n_threads: u64) -> u64 {
    let scratch = 8 * n_terms + n_terms / 5 + 48 * n_terms.min(delta::KEPT_ENTRIES as u64);
    16 * entries + 160 * n_clusters + scratch * n_threads
}

/// Upper bound on what an update needs beside [`resting_bytes`] if parts of a delta come one after
/// the other, each with so many entries.
///
/// All touched sums may have terms of their own until their centroids follow, a batch of
/// `together` entries at a time; or the lengths of `batch` entries are found in copies. Each thread
/// adds two vectors, which it first makes too long.
pub(crate) fn parts_bytes(entries: u64, together: u64, batch: u64, part: u64, row: u64) -> u64 {
    (4 * entries + 8 * together).max(12 * batch) + 12 * part + 72 * row
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
        let deltas = |clusters, take: &mut dyn FnMut(Delta)| {
            take(changes.delta(clusters, rows, &weights, &self.scratch));
            Ok(())
        };
        self.sums
            .apply(&touched, &[], centroids, batch_clusters(0, 1), deltas)
            .expect("nothing can fail here")
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
