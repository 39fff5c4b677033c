//! Centroids against centroids; see `kernels/pairs.cu`.
//!
//! **Cost.** On the device, 16 bytes per entry, 4 per term and tile of [`Shape::pair_tile`]
//! clusters, and what comes back at a time: at most [`MOST_VALUES`] similarities, or those of one
//! centroid. On the host, 8 bytes per entry and the same, and both half as much again.
//!
//! [`Shape::pair_tile`]: crate::arguments::Shape

#![allow(unsafe_code)]

use std::sync::Arc;

use super::Step;
use super::centroids::StoredCentroids;
use super::sums::RunningSums;
use crate::arguments::{COMPARE_PAIRS, COUNT_PAIRS, FILL_PAIRS, NEAREST_PAIRS, PairsArguments};
use crate::device::{Buffer, Device, Host, Pointer};
use crate::error::{Error, Result};

/// Similarities that come back at a time.
const MOST_VALUES: usize = 1 << 22;

/// The similarities between the centroids of a step, on a device.
pub struct Pairs {
    device: Arc<Device>,
    centroids: StoredCentroids,
    ends: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<f32>,
    rows: Buffer<u32>,
    similarities: Buffer<f64>,
    nearest: Buffer<u32>,
    host_similarities: Host<f64>,
    host_nearest: Host<u32>,
    n_clusters: usize,
}

/// Some clusters, and their similarities to others.
pub struct Compared<'a> {
    /// The place of the first of these clusters among all that were asked for.
    pub first: usize,
    /// The first of the others: a row has all from there on.
    pub from: usize,
    /// Row by row.
    pub similarities: &'a [f64],
}

impl Pairs {
    /// Sends the centroids, and builds lists by term.
    ///
    /// # Errors
    /// As [`Engine::begin`](super::Engine::begin).
    pub fn new(device: Arc<Device>, step: &Step<'_>) -> Result<Self> {
        let mut pairs = Pairs {
            device,
            centroids: StoredCentroids::default(),
            ends: Buffer::default(),
            columns: Buffer::default(),
            values: Buffer::default(),
            rows: Buffer::default(),
            similarities: Buffer::default(),
            nearest: Buffer::default(),
            host_similarities: Host::default(),
            host_nearest: Host::default(),
            n_clusters: step.n_clusters,
        };
        pairs.build(step)?;
        Ok(pairs)
    }

    fn build(&mut self, step: &Step<'_>) -> Result<()> {
        let device = Arc::clone(&self.device);
        device.wait()?;
        self.centroids.follow(&device, step, false)?;
        let n_entries = self.centroids.nnz();
        if n_entries >= u32::MAX as usize {
            let most = u32::MAX as usize - 1;
            return Err(Error::TooMany { what: "entries of centroids", got: n_entries, most });
        }
        let n_lists = step.n_terms * self.n_tiles();
        device.reserve(&mut self.ends, n_lists + 1)?;
        device.clear(&mut self.ends, 0..n_lists + 1)?;
        device.reserve(&mut self.columns, n_entries.max(1))?;
        device.reserve(&mut self.values, n_entries.max(1))?;
        let arguments = self.arguments();
        let (n_blocks, threads) = (device.n_blocks(8), device.shape().threads);
        // SAFETY: there is an end for every term and tile, and one more; and as many entries as the
        // centroids have.
        unsafe {
            device.launch(&COUNT_PAIRS, n_blocks, threads, arguments)?;
            RunningSums::default().replace(&device, self.ends.pointer().plus(1), n_lists)?;
            device.launch(&FILL_PAIRS, n_blocks, threads, arguments)?;
        }
        device.wait()
    }

    fn n_tiles(&self) -> usize {
        self.n_clusters.div_ceil(self.device.shape().pair_tile as usize)
    }

    fn arguments(&self) -> PairsArguments {
        PairsArguments {
            centroids: self.centroids.matrix(),
            ends: self.ends.pointer(),
            columns: self.columns.pointer(),
            values: self.values.pointer(),
            rows: Pointer::NULL,
            similarities: self.similarities.pointer(),
            nearest: self.nearest.pointer(),
            n_clusters: self.n_clusters as u32,
            n_tiles: self.n_tiles() as u32,
            n_rows: 0,
            first_column: 0,
            n_wanted: 0,
        }
    }

    /// Calls `work` with some clusters after the other and their similarities: to all clusters, or
    /// if `is_half` at least to those after them. The clusters ascend.
    ///
    /// # Errors
    /// As [`Engine::begin`](super::Engine::begin). Then `work` has been called for some.
    pub fn compare(
        &mut self,
        clusters: &[u32],
        is_half: bool,
        mut work: impl FnMut(Compared<'_>),
    ) -> Result<()> {
        let device = Arc::clone(&self.device);
        let tile = device.shape().pair_tile as usize;
        device.upload(&mut self.rows, clusters)?;
        let mut first = 0;
        while first < clusters.len() {
            let from = if is_half { clusters[first] as usize / tile * tile } else { 0 };
            let width = self.n_clusters - from;
            let n = self.n_rows(4, width).min(clusters.len() - first);
            device.reserve(&mut self.similarities, n * width)?;
            let arguments = PairsArguments {
                rows: self.rows.pointer().plus(first),
                n_rows: n as u32,
                first_column: from as u32,
                ..self.arguments()
            };
            // SAFETY: there are so many rows, which are clusters, and room for their similarities.
            unsafe { device.launch(&COMPARE_PAIRS, device.n_blocks(8), device.shape().threads, arguments)? };
            device.download_host(&self.similarities, &mut self.host_similarities, n * width)?;
            let similarities = &device.host_values(&mut self.host_similarities)?[..n * width];
            work(Compared { first, from, similarities });
            first += n;
        }
        Ok(())
    }

    /// The most of the nearest clusters that [`Pairs::nearest`] finds.
    pub fn most_nearest(&self) -> usize {
        self.device.shape().pair_wanted as usize
    }

    /// For each of these clusters the `n_wanted` most similar others whose centroids are not empty,
    /// most similar first, ties in ascending order; there are as many.
    ///
    /// # Panics
    /// If none are wanted, or more than [`Pairs::most_nearest`].
    ///
    /// # Errors
    /// As [`Engine::begin`](super::Engine::begin).
    pub fn nearest(&mut self, clusters: &[u32], n_wanted: usize) -> Result<Vec<Vec<(u32, f64)>>> {
        assert!((1..=self.most_nearest()).contains(&n_wanted), "{n_wanted} neighbours");
        let device = Arc::clone(&self.device);
        device.upload(&mut self.rows, clusters)?;
        let mut all = Vec::with_capacity(clusters.len());
        while all.len() < clusters.len() {
            let first = all.len();
            let n = self.n_rows(32, n_wanted).min(clusters.len() - first);
            device.reserve(&mut self.similarities, n * n_wanted)?;
            device.reserve(&mut self.nearest, n * n_wanted)?;
            let arguments = PairsArguments {
                rows: self.rows.pointer().plus(first),
                n_rows: n as u32,
                n_wanted: n_wanted as u32,
                ..self.arguments()
            };
            // SAFETY: there are so many rows, which are clusters, and room for so many of each.
            unsafe { device.launch(&NEAREST_PAIRS, device.n_blocks(8), device.shape().threads, arguments)? };
            device.download_host(&self.similarities, &mut self.host_similarities, n * n_wanted)?;
            device.download_host(&self.nearest, &mut self.host_nearest, n * n_wanted)?;
            let similarities =
                device.host_values(&mut self.host_similarities)?[..n * n_wanted].chunks(n_wanted);
            let nearest = device.host_values(&mut self.host_nearest)?[..n * n_wanted].chunks(n_wanted);
            let pairs = |(clusters, found): (&[u32], &[f64])| {
                clusters.iter().copied().zip(found.iter().copied()).collect()
            };
            all.extend(nearest.zip(similarities).map(pairs));
        }
        Ok(all)
    }

    /// Bytes on the host, in addition to the centroids.
    pub fn host_bytes(&self) -> usize {
        self.centroids.host_bytes() + self.host_similarities.bytes() + self.host_nearest.bytes()
    }

    /// The rows of a launch, with so many values each.
    fn n_rows(&self, per_multiprocessor: u32, width: usize) -> usize {
        (self.device.n_blocks(per_multiprocessor) as usize).min(MOST_VALUES / width).max(1)
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // What is on its way must arrive before the host's memory goes. A device that is lost does
        // nothing more.
        let _ = self.device.wait();
    }
}
