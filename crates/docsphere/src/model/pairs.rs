//! Similarities between centroids.
//!
//! **All pairs.** Centroids have many terms, and share many: so several of them are processed
//! together. A posting list is read once for all of them, and their sums are adjacent in memory, so
//! that the processor adds to several at once. A centroid without the term adds zero, which changes
//! no bit of a sum; so every similarity has the summation order of the reference, and is the same
//! in both directions.
//!
//! **Neighbours.** Most pairs need no exact similarity: the bounds of the strategy `drift` leave
//! some hundred for each centroid ([`nearest`]). Posting lists serve the centroids for which bounds
//! leave out nothing, few centroids, and negative values.
//!
//! **On a device** all of that is exact and brute: [`LentDevice`], `kernels/pairs.cu` of
//! docsphere-cuda.
//!
//! **Cost.** For 5,000 centroids of 6 million entries, all pairs take half the time of processing
//! one centroid after the other. Memory: [`Postings`], and `8 * LANES * k` bytes per thread;
//! [`nearest`] says what neighbours take.

use rayon::prelude::*;

use super::predict::first;
use super::{LentDevice, Neighbour};
use crate::assign::{LANES, OpenDevice, Postings, most_nearest_bytes, most_transfer_bytes, nearest};
use crate::centroids::Centroids;
use crate::error::Result;
use crate::ids::ClusterId;

/// From this many centroids on, bounds are used. For 5,000 of a million tweets they took 7.0 s and
/// posting lists 2.0 s, on two threads. With 20,000 of abstracts bounds took 4.6 s, where the work
/// of posting lists grows with the square. In between nothing was measured.
const BOUNDED_FROM: usize = 8192;

/// Bounds do not pay off if more than one in so many centroids is a neighbour.
const MOST_SHARE: usize = 4;

/// All pairs of nonempty centroids.
pub(crate) struct Pairs<'a> {
    centroids: &'a Centroids,
    live: Vec<u32>,
    device: &'a LentDevice,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(centroids: &'a Centroids, device: &'a LentDevice) -> Self {
        Pairs { centroids, live: centroids.live(), device }
    }

    /// The nonempty clusters, ascending.
    pub(crate) fn live(&self) -> &[u32] {
        &self.live
    }

    /// Calls `work` with every item of `items`, one per live cluster, the cluster's position among
    /// the live ones, and its similarities to all clusters: minus infinity for empty ones. With
    /// `is_half` only those to greater clusters are valid. If a device fails, `work` may be called
    /// twice.
    pub(crate) fn for_each<T: Send>(
        &self,
        is_half: bool,
        items: &mut [T],
        work: impl Fn(&mut T, usize, &mut [f64]) + Sync,
    ) {
        assert_eq!(items.len(), self.live.len());
        if self.device.try_on(|device| self.for_each_on(device, is_half, items, &work)).is_some() {
            return;
        }
        let mut postings = Postings::default();
        postings.build(self.centroids);
        let n_clusters = self.centroids.n_clusters();
        let chunks = items.par_chunks_mut(LANES).zip(self.live.par_chunks(LANES)).enumerate();
        chunks.for_each_init(
            || (vec![[0.0; LANES]; n_clusters], vec![0.0; n_clusters]),
            |(sums, similarities), (number, (items, clusters))| {
                let rows: Vec<_> =
                    clusters.iter().map(|&cluster| self.centroids.row(cluster as usize)).collect();
                let from = if is_half { clusters[0] } else { 0 };
                postings.similarities_of_some(&rows, from, sums);
                for (lane, item) in items.iter_mut().enumerate() {
                    similarities.iter_mut().zip(&*sums).for_each(|(to, from)| *to = from[lane]);
                    work(item, number * LANES + lane, similarities);
                }
            },
        );
    }

    /// The same on a device.
    fn for_each_on<T: Send>(
        &self,
        device: &OpenDevice,
        is_half: bool,
        items: &mut [T],
        work: &(impl Fn(&mut T, usize, &mut [f64]) + Sync),
    ) -> Result<()> {
        let n_clusters = self.centroids.n_clusters();
        let empty: Vec<usize> = (0..n_clusters).filter(|&cluster| self.centroids.is_empty(cluster)).collect();
        device.pairs(self.centroids)?.compare(&self.live, is_half, |first, from, similarities| {
            let rows = similarities.par_chunks(n_clusters - from);
            let items = items[first..].par_iter_mut().zip(rows).enumerate().with_min_len(LANES);
            items.for_each_init(
                || vec![0.0; n_clusters],
                |similarities, (position, (item, found))| {
                    similarities[from..].copy_from_slice(found);
                    empty.iter().for_each(|&cluster| similarities[cluster] = f64::NEG_INFINITY);
                    work(item, first + position, similarities);
                },
            );
        })
    }

    /// Upper bound on the memory of all pairs, without what the caller keeps of them.
    pub(crate) fn most_bytes(k: u64, n_terms: u64, n_entries: u64, n_threads: u64) -> u64 {
        8 * n_entries + 8 * n_terms + 24 * k + (8 * (LANES as u64 + 1) * k + 1000) * n_threads
    }

    /// The `m` most similar other clusters of each cluster.
    fn neighbours(&self, m: usize) -> Vec<Vec<Neighbour>> {
        let mut found = vec![Vec::new(); self.live.len()];
        self.for_each(false, &mut found, |found, position, similarities| {
            similarities[self.live[position] as usize] = f64::NEG_INFINITY;
            *found = first(m, similarities, &mut Vec::new());
        });
        found
    }
}

/// The `m` most similar other clusters of each cluster; none for empty clusters.
pub(super) fn neighbours(centroids: &Centroids, m: usize, device: &LentDevice) -> Vec<Vec<Neighbour>> {
    let live = centroids.live();
    let m = m.min(live.len().saturating_sub(1));
    let mut all = vec![Vec::new(); centroids.n_clusters()];
    if m == 0 {
        return all;
    }
    // More than it can select are all pairs.
    let found = device.try_on(|device| device.pairs(centroids)?.nearest(&live, m));
    let is_bounded = found.is_none() && live.len() >= BOUNDED_FROM && m <= live.len() / MOST_SHARE;
    let found = match found.flatten() {
        Some(found) => found.into_iter().map(Some).collect(),
        None if is_bounded => nearest(centroids, &live, m),
        None => vec![None; live.len()],
    };
    let mut left = Vec::new();
    for (&cluster, found) in live.iter().zip(found) {
        match found {
            Some(near) => {
                let near = near.into_iter().map(|(other, x)| Neighbour::new(ClusterId::new(other), x));
                all[cluster as usize] = near.collect();
            }
            None => left.push(cluster),
        }
    }
    if !left.is_empty() {
        let pairs = Pairs { centroids, live: left, device };
        let found = pairs.neighbours(m);
        pairs.live.iter().zip(found).for_each(|(&cluster, found)| all[cluster as usize] = found);
    }
    all
}

/// Upper bound on the memory of [`neighbours`], their result included.
pub(crate) fn most_bytes(k: u64, n_terms: u64, n_entries: u64, m: u64, n_threads: u64) -> u64 {
    most_nearest_bytes(k, n_terms, n_entries, m, n_threads)
        .max(Pairs::most_bytes(k, n_terms, n_entries, n_threads) + (16 * m + 48) * k)
}

/// Upper bound on the memory of the host that both take on a device, their results included.
pub(crate) fn most_device_bytes(k: u64, n_entries: u64, m: u64, n_threads: u64) -> u64 {
    most_transfer_bytes(k, n_entries) + (32 * m + 72) * k + (8 * k + 1000) * n_threads
}
