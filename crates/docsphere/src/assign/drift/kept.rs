//! Columns of all centroids, kept from one iteration to the next.
//!
//! In late iterations few centroids change, but some documents still have to scan all of them:
//! those whose own centroid became less similar. Columns of centroids that did not change are still
//! valid. So all columns are built once and kept; centroids that have changed since are in other
//! columns, and are masked here. When many have changed, all columns are rebuilt.
//!
//! **Cost.** The memory stated in [`columns.rs`](super::columns), once more.

use super::arranged::TermRanks;
use super::columns::Columns;
use super::growth::Ranking;
use crate::centroids::Centroids;
use crate::simd::TILE;

/// Rebuild the columns once 1/`STALE_SHARE` of the centroids have changed.
const STALE_SHARE: usize = 4;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Kept {
    pub(super) columns: Columns,
    /// The cluster of each column; empty if there are no columns.
    pub(super) clusters: Vec<u32>,
    /// The column of each cluster.
    pub(super) column_of: Vec<u32>,
    /// By cluster: whether it has changed since the columns were built.
    pub(super) changed: Vec<bool>,
}

impl Kept {
    /// Discards the columns.
    pub(super) fn reset(&mut self, n_clusters: usize) {
        self.clusters.clear();
        self.changed.clear();
        self.changed.resize(n_clusters, false);
    }

    /// Records that these clusters have changed.
    pub(super) fn note(&mut self, changed: &[u32]) {
        changed.iter().for_each(|&cluster| self.changed[cluster as usize] = true);
    }

    /// The number of these clusters that have changed; `None` if too many to keep using these
    /// columns.
    pub(super) fn n_changed(&self, live: &[u32]) -> Option<usize> {
        let n_changed = live.iter().filter(|&&cluster| self.changed[cluster as usize]).count();
        (!self.clusters.is_empty() && n_changed * STALE_SHARE <= live.len()).then_some(n_changed)
    }

    /// Builds all columns in the order of a ranking.
    pub(super) fn build(&mut self, centroids: &Centroids, ranks: &TermRanks, ranking: &Ranking) {
        self.reset(centroids.n_clusters());
        self.columns.build(centroids, ranks, &ranking.clusters);
        self.clusters.clone_from(&ranking.clusters);
        self.column_of.clone_from(&ranking.column_of);
    }

    /// One bit per column, tile by tile: whether it has changed, or is among the first columns of
    /// this ranking.
    pub(super) fn masks(&self, ranking: &Ranking, n_columns: usize) -> Vec<u64> {
        let is_masked = |cluster: u32| {
            self.changed[cluster as usize] || (ranking.column_of(cluster) as usize) < n_columns
        };
        let mask = |tile: &[u32]| {
            (0..).zip(tile).fold(0, |mask, (bit, &cluster)| mask | u64::from(is_masked(cluster)) << bit)
        };
        self.clusters.chunks(TILE).map(mask).collect()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.columns.memory_bytes() + 4 * (self.clusters.len() + self.column_of.len()) + self.changed.len()
    }
}
