//! Similarities between centroids.
//!
//! Centroids have many terms, and share many: so several of them are processed together. A posting
//! list is read once for all of them, and their sums are adjacent in memory, so that the processor
//! adds to several at once. A centroid without the term adds zero, which changes no bit of a sum;
//! so every similarity has the summation order of the reference, and is the same in both
//! directions.
//!
//! **Cost.** For 5,000 centroids of 6 million entries, half the time of processing one centroid
//! after the other: 5 s on two threads for all neighbours plus each pair once for the merge tree.
//! Memory: [`Postings`], and `8 * LANES * k` bytes per thread.

use rayon::prelude::*;

use super::Neighbour;
use super::predict::first;
use crate::assign::{LANES, Postings};
use crate::centroids::Centroids;

/// All pairs of nonempty centroids.
pub(crate) struct Pairs<'a> {
    centroids: &'a Centroids,
    postings: Postings,
    live: Vec<u32>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(centroids: &'a Centroids) -> Self {
        let mut postings = Postings::default();
        postings.build(centroids);
        Pairs { centroids, postings, live: centroids.live() }
    }

    /// The nonempty clusters, ascending.
    pub(crate) fn live(&self) -> &[u32] {
        &self.live
    }

    /// Calls `work` with every item of `items`, one per live cluster, the cluster's position among
    /// the live ones, and its similarities to all clusters: minus infinity for empty ones. With
    /// `is_half` only those to greater clusters are valid.
    pub(crate) fn for_each<T: Send>(
        &self,
        is_half: bool,
        items: &mut [T],
        work: impl Fn(&mut T, usize, &mut [f64]) + Sync,
    ) {
        assert_eq!(items.len(), self.live.len());
        let n_clusters = self.centroids.n_clusters();
        let chunks = items.par_chunks_mut(LANES).zip(self.live.par_chunks(LANES)).enumerate();
        chunks.for_each_init(
            || (vec![[0.0; LANES]; n_clusters], vec![0.0; n_clusters]),
            |(sums, similarities), (number, (items, clusters))| {
                let rows: Vec<_> =
                    clusters.iter().map(|&cluster| self.centroids.row(cluster as usize)).collect();
                let from = if is_half { clusters[0] } else { 0 };
                self.postings.similarities_of_some(&rows, from, sums);
                for (lane, item) in items.iter_mut().enumerate() {
                    similarities.iter_mut().zip(&*sums).for_each(|(to, from)| *to = from[lane]);
                    work(item, number * LANES + lane, similarities);
                }
            },
        );
    }

    /// The `m` most similar other clusters of each cluster.
    pub(super) fn neighbours(&self, m: usize) -> Vec<Vec<Neighbour>> {
        let m = m.min(self.live.len().saturating_sub(1));
        let mut found = vec![Vec::new(); self.live.len()];
        self.for_each(false, &mut found, |found, position, similarities| {
            similarities[self.live[position] as usize] = f64::NEG_INFINITY;
            *found = first(m, similarities, &mut Vec::new());
        });
        let mut all = vec![Vec::new(); self.centroids.n_clusters()];
        for (&cluster, found) in self.live.iter().zip(found) {
            all[cluster as usize] = found;
        }
        all
    }
}
