//! Exact similarities of many documents to one centroid.
//!
//! **Cost.** `4 * n_terms` bytes per thread for the current centroid.

use super::arranged::{Arranged, TermRanks};
use super::mean_nnz;
use crate::pool::Pool;
use crate::vectors::{Row, UnitRows};

/// Compares documents with one centroid at a time.
#[derive(Default)]
pub(super) struct Comparer {
    /// Dense rows, all zero.
    dense: Pool<Vec<f32>>,
}

impl Comparer {
    /// Calls `visit` with the similarity of each document to the centroid, in order:
    /// ARCHITECTURE.md, definition 2.
    ///
    /// For many documents the centroid is first expanded into a dense row; for a few its entries
    /// are searched.
    pub(super) fn similarities(
        &self,
        rows: &UnitRows<'_>,
        arranged: &Arranged,
        ranks: &TermRanks,
        centroid: Row<'_>,
        positions: impl ExactSizeIterator<Item = usize>,
        mut visit: impl FnMut(usize, f64),
    ) {
        let search_cost = positions.len() * mean_nnz(rows) * (centroid.nnz().max(1).ilog2() as usize + 1);
        if search_cost < 2 * centroid.nnz() {
            for position in positions {
                let doc = arranged.docs()[position] as usize;
                visit(position, rows.row(doc).dot(centroid));
            }
            return;
        }
        self.dense.with(|dense| {
            dense.resize(ranks.rank_of.len(), 0.0);
            for (term, value) in centroid.iter() {
                dense[ranks.rank_of[term as usize] as usize] = value;
            }
            for position in positions {
                let mut sum = 0.0;
                for (rank, x) in arranged.row(position).iter() {
                    sum += f64::from(x) * f64::from(dense[rank as usize]);
                }
                visit(position, sum);
            }
            for &term in centroid.terms {
                dense[ranks.rank_of[term as usize] as usize] = 0.0;
            }
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.dense.sum(|dense| size_of_val(&dense[..]))
    }
}
