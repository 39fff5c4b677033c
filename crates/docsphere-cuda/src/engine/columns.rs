//! Centroids in order of growth, and by term in lists and rows; see `kernels/postings.cu`.

#![allow(unsafe_code)]

use rayon::prelude::*;

use super::centroids::StoredCentroids;
use super::sums::RunningSums;
use super::{NO_LABEL, Step};
use crate::arguments::{
    CHOOSE_ROWS, CLEAR_ROWS, COUNT_POSTINGS, FILL_POSTINGS, MEASURE_ROWS, Postings, PostingsArguments,
    Ranking, SPARSE,
};
use crate::device::{Buffer, Device};
use crate::error::{Error, Result};

/// The number of classes of columns fits into a byte.
const MAX_CLASSES: usize = 255;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Columns {
    rank_of: Buffer<u32>,
    cluster_of: Buffer<u32>,
    growth: Buffer<f64>,
    /// By cluster: 1 if its centroid changed.
    changed: Buffer<u8>,
    ends: Buffer<u32>,
    entries: Buffer<u32>,
    row_of: Buffer<u32>,
    greatest: Buffer<u32>,
    rows: Buffer<u8>,
    n_rows: Buffer<u32>,
    most_rows: usize,
    n_columns: usize,
    n_classes: usize,
    n_changed_classes: usize,
    n_clusters: usize,
}

impl Columns {
    pub(super) fn ranking(&self) -> Ranking {
        Ranking {
            rank_of: self.rank_of.pointer(),
            cluster_of: self.cluster_of.pointer(),
            growth: self.growth.pointer(),
            n_columns: self.n_columns as u32,
            n_classes: self.n_classes as u32,
        }
    }

    pub(super) fn postings(&self) -> Postings {
        Postings {
            ends: self.ends.pointer(),
            entries: self.entries.pointer(),
            row_of: self.row_of.pointer(),
            greatest: self.greatest.pointer(),
            rows: self.rows.pointer(),
            n_rows: self.n_rows.pointer(),
            stride: stride(self.n_columns) as u64,
            most_rows: self.most_rows as u32,
        }
    }

    pub(super) fn changed(&self) -> &Buffer<u8> {
        &self.changed
    }

    /// How many classes have centroids that changed.
    pub(super) fn n_changed_classes(&self) -> usize {
        self.n_changed_classes
    }

    /// Bytes on the host, while a step begins.
    pub(super) fn host_bytes(&self) -> usize {
        25 * self.n_clusters
    }

    /// Ranks the centroids of a step, and builds lists and rows.
    pub(super) fn build(
        &mut self,
        device: &Device,
        step: &Step<'_>,
        centroids: &StoredCentroids,
        sums: &mut RunningSums,
        continues: bool,
    ) -> Result<()> {
        let shape = device.shape();
        let n_entries = centroids.nnz();
        self.n_clusters = step.n_clusters;
        self.n_columns = step.live.len();
        self.n_classes = shape.n_classes(self.n_columns);
        if self.n_classes > MAX_CLASSES {
            let most = shape.first_of(MAX_CLASSES);
            return Err(Error::TooMany { what: "clusters", got: self.n_columns, most });
        }
        if n_entries >= u32::MAX as usize {
            let most = u32::MAX as usize - 1;
            return Err(Error::TooMany { what: "entries of centroids", got: n_entries, most });
        }
        self.rank(device, step, continues)?;

        let n_lists = step.n_terms * self.n_classes;
        device.reserve(&mut self.ends, n_lists + 1)?;
        device.reserve(&mut self.entries, n_entries.max(1))?;
        device.clear(&mut self.ends, 0..n_lists + 1)?;
        // Each row has so many entries at least.
        let least = self.n_columns.div_ceil(SPARSE).max(1);
        self.most_rows = (n_entries / least).min(step.n_terms);
        device.reserve(&mut self.row_of, step.n_terms.max(1))?;
        device.reserve(&mut self.greatest, self.most_rows.max(1))?;
        device.reserve(&mut self.rows, (self.most_rows * stride(self.n_columns)).max(4))?;
        device.upload(&mut self.n_rows, &[0])?;
        let arguments = PostingsArguments {
            centroids: centroids.matrix(),
            ranking: self.ranking(),
            postings: self.postings(),
            n_clusters: step.n_clusters as u32,
            n_terms: step.n_terms as u32,
        };
        let n_blocks = device.n_blocks(8);
        // SAFETY: there is an end for every term and class, and one more; ranks are below the
        // number of columns; there are as many entries as the centroids have, and no more rows are
        // used than there are.
        unsafe {
            device.launch(&COUNT_POSTINGS, n_blocks, shape.threads, arguments)?;
            device.launch(&CHOOSE_ROWS, n_blocks, shape.threads, arguments)?;
            device.launch(&CLEAR_ROWS, n_blocks, shape.threads, arguments)?;
            device.launch(&MEASURE_ROWS, n_blocks, shape.threads, arguments)?;
            sums.replace(device, self.ends.pointer().plus(1), n_lists)?;
            device.launch(&FILL_POSTINGS, n_blocks, shape.threads, arguments)
        }
    }

    fn rank(&mut self, device: &Device, step: &Step<'_>, continues: bool) -> Result<()> {
        let shape = device.shape();
        let mut is_changed = vec![u8::from(!continues); step.n_clusters];
        let mut ranked: Vec<(f64, u32)> = Vec::new();
        if let (true, Some(changes)) = (continues, &step.changes) {
            changes.clusters.iter().for_each(|&cluster| is_changed[cluster as usize] = 1);
            let is_live = |cluster: &&u32| step.live.binary_search(cluster).is_ok();
            let grown = changes.clusters.par_iter().filter(is_live);
            ranked = grown.map(|&cluster| ((changes.growth)(cluster), cluster)).collect();
            ranked.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let n_changed = if continues { ranked.len() } else { step.live.len() };
        let mut clusters: Vec<u32> = ranked.iter().map(|&(_, cluster)| cluster).collect();
        let others = step.live.iter().filter(|&&cluster| !continues || is_changed[cluster as usize] == 0);
        clusters.extend(others);
        let mut rank_of = vec![NO_LABEL; step.n_clusters];
        clusters.iter().zip(0..).for_each(|(&cluster, rank)| rank_of[cluster as usize] = rank);
        let growth = |class| ranked.get(shape.first_of(class)).map_or(0.0, |&(growth, _)| growth);
        let growth: Vec<f64> = (0..self.n_classes).map(growth).collect();
        self.n_changed_classes = shape.n_classes(n_changed);
        device.upload(&mut self.rank_of, &rank_of)?;
        device.upload(&mut self.cluster_of, &clusters)?;
        device.upload(&mut self.growth, &growth)?;
        device.upload(&mut self.changed, &is_changed)
    }
}

/// Bytes of a row.
fn stride(n_columns: usize) -> usize {
    n_columns.next_multiple_of(16)
}
