//! Stage 4: sparse unit centroids, and how far they moved.
//!
//! Made by seeding, by the update and by callers; used by every later stage.

mod movement;
mod resting;

use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use movement::{Moved, Movement};
pub(crate) use resting::Resting;

use crate::container::Kind;
use crate::error::Result;
use crate::ids::ClusterId;
use crate::vectors::{Row, SparseRows, UnitRows};

/// The greatest number of clusters, also of small ones before merges: `drift` packs the number of a
/// column into 24 bits of a posting.
pub(crate) const MAX_CLUSTERS: usize = 1 << 24;

/// The centroids of all clusters: sparse vectors of length one, or without entries for an empty
/// cluster.
///
/// Memory: 8 bytes per entry; during a run, 8 more for the integer sum behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Centroids {
    n_terms: usize,
    list: Vec<Centroid>,
}

/// One centroid. The terms are shared with the integer sum that it was computed from, and both with
/// copies of the centroid, which is replaced and never changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Centroid {
    pub(crate) terms: Arc<[u32]>,
    pub(crate) values: Arc<[f32]>,
}

impl Centroid {
    pub(crate) fn as_row(&self) -> Row<'_> {
        Row { terms: &self.terms, values: &self.values }
    }

    /// A centroid with the direction of a unit row.
    pub(crate) fn from_row(row: Row<'_>) -> Self {
        Centroid { terms: row.terms.into(), values: row.values.into() }
    }
}

impl Centroids {
    pub(crate) fn new(n_terms: usize, list: Vec<Centroid>) -> Self {
        Centroids { n_terms, list }
    }

    /// Those that are not empty.
    pub(crate) fn without_empty(mut self) -> Self {
        self.list.retain(|centroid| !centroid.terms.is_empty());
        self
    }

    /// All of them, cluster by cluster.
    pub(crate) fn into_list(self) -> Vec<Centroid> {
        self.list
    }

    /// Normalises the rows of a matrix and takes them as centroids. Zero rows become empty
    /// centroids.
    pub fn from_rows(rows: SparseRows<'_>) -> Self {
        let rows = UnitRows::new(rows);
        Centroids::new(rows.n_terms(), rows.iter().map(Centroid::from_row).collect())
    }

    /// The number of clusters, empty ones included.
    pub fn n_clusters(&self) -> usize {
        self.list.len()
    }

    /// The number of terms.
    pub fn n_terms(&self) -> usize {
        self.n_terms
    }

    /// The number of entries of all centroids.
    pub fn nnz(&self) -> usize {
        self.list.iter().map(|centroid| centroid.terms.len()).sum()
    }

    /// The entries of one centroid; none for an empty cluster.
    ///
    /// # Panics
    /// If there is no such cluster.
    pub fn centroid(&self, cluster: ClusterId) -> Row<'_> {
        self.row(cluster.index())
    }

    /// All centroids as a sparse matrix, one row per cluster.
    pub fn to_sparse_rows(&self) -> SparseRows<'static> {
        let mut offsets = vec![0u64];
        let (mut terms, mut values) = (Vec::with_capacity(self.nnz()), Vec::with_capacity(self.nnz()));
        for centroid in &self.list {
            terms.extend_from_slice(&centroid.terms);
            values.extend_from_slice(&centroid.values);
            offsets.push(terms.len() as u64);
        }
        SparseRows::from_parts(self.n_terms, offsets, terms, values).expect("centroids form a valid matrix")
    }

    #[inline]
    pub(crate) fn row(&self, cluster: usize) -> Row<'_> {
        self.list[cluster].as_row()
    }

    #[inline]
    pub(crate) fn is_empty(&self, cluster: usize) -> bool {
        self.list[cluster].terms.is_empty()
    }

    /// Clusters with a centroid that can attract documents, ascending.
    pub(crate) fn live(&self) -> Vec<u32> {
        (0..self.n_clusters()).filter(|&j| !self.is_empty(j)).map(|j| j as u32).collect()
    }

    /// Whether no value is negative. Always true for centroids of rows without negative values.
    pub(crate) fn is_non_negative(&self) -> bool {
        self.list.par_iter().all(|centroid| centroid.values.iter().all(|&value| value >= 0.0))
    }

    pub(crate) fn get(&self, cluster: usize) -> &Centroid {
        &self.list[cluster]
    }

    /// Sets a centroid. Returns the one before, as freeing many takes time.
    pub(crate) fn set(&mut self, cluster: usize, centroid: Centroid) -> Centroid {
        std::mem::replace(&mut self.list[cluster], centroid)
    }

    /// The file form, little endian: number of clusters, of terms, of entries (8 bytes each);
    /// offsets (8 bytes each, one more than clusters); term ids (4 bytes each); values (32-bit
    /// floats).
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (n_clusters, nnz) = (self.n_clusters(), self.nnz());
        let mut bytes = Vec::with_capacity(8 * (4 + n_clusters) + 8 * nnz);
        for number in [n_clusters, self.n_terms, nnz] {
            bytes.extend((number as u64).to_le_bytes());
        }
        let mut end = 0u64;
        bytes.extend(end.to_le_bytes());
        for centroid in &self.list {
            end += centroid.terms.len() as u64;
            bytes.extend(end.to_le_bytes());
        }
        self.list.iter().flat_map(|c| &c.terms[..]).for_each(|term| bytes.extend(term.to_le_bytes()));
        self.list.iter().flat_map(|c| &c.values[..]).for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes
    }

    /// Reads the bytes that [`Centroids::to_bytes`] wrote. Allocates no more than the bytes account
    /// for.
    pub(crate) fn from_bytes(bytes: &[u8], kind: &Kind) -> Result<Self> {
        let wrong_size = || {
            kind.damaged(
                "a section of centroids of the size that it states",
                format!("{} bytes", bytes.len()),
            )
        };
        let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let short = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        let (head, rest) = bytes.split_at_checked(24).ok_or_else(wrong_size)?;
        let [n_clusters, n_terms, nnz] = [long(&head[..8]), long(&head[8..16]), long(&head[16..])];
        if rest.len() as u128 != u128::from(n_clusters) * 8 + 8 + u128::from(nnz) * 8 {
            return Err(wrong_size());
        }
        // Each number is now bounded by the section's size.
        let (offsets, rest) = rest.split_at(n_clusters as usize * 8 + 8);
        let (terms, values) = rest.split_at(nnz as usize * 4);
        let offsets: Vec<u64> = offsets.chunks_exact(8).map(long).collect();
        let terms: Vec<u32> = terms.chunks_exact(4).map(short).collect();
        let values: Vec<f32> = values.chunks_exact(4).map(|bytes| f32::from_bits(short(bytes))).collect();
        Ok(Centroids::from_rows(SparseRows::from_parts(n_terms as usize, offsets, terms, values)?))
    }

    /// Bytes of all entries.
    pub fn memory_bytes(&self) -> usize {
        8 * self.nnz() + size_of_val(&self.list[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centroids_from_rows_are_normalised_and_round_trip() {
        let rows = SparseRows::from_parts(5, vec![0, 2, 2, 3], vec![1, 4, 0], vec![3.0, 4.0, 9.0]).unwrap();
        let centroids = Centroids::from_rows(rows);
        assert_eq!(centroids.centroid(ClusterId::new(0)).values, [0.6, 0.8]);
        assert_eq!(centroids.live(), [0, 2]);
        assert_eq!(Centroids::from_rows(centroids.to_sparse_rows()), centroids);
    }
}
