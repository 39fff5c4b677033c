//! Exact similarities of many documents to one centroid.
//!
//! The rows of these documents lie apart, so each is prefetched while others are compared.
//!
//! **Cost.** `4 * n_terms` bytes per thread for the current centroid.

use super::mean_nnz;
use crate::pool::Pool;
use crate::simd;
use crate::vectors::{Row, UnitRows};

/// How many documents ahead to prefetch rows, and how many ahead to find out where they are.
const ROWS_AHEAD: usize = 8;
const PLACES_AHEAD: usize = 16;

/// Numbers in a cache line.
const LINE: usize = 16;

/// Compares documents with one centroid at a time.
#[derive(Default)]
pub(super) struct Comparer {
    /// Dense rows, all zero.
    dense: Pool<Vec<f32>>,
}

impl Comparer {
    /// Calls `visit` with the number of each document, in order, and its similarity to the
    /// centroid: ARCHITECTURE.md, definition 2.
    ///
    /// For many documents the centroid is first expanded into a dense row; for a few its entries
    /// are searched.
    pub(super) fn similarities(
        &self,
        rows: &UnitRows<'_>,
        centroid: Row<'_>,
        docs: impl ExactSizeIterator<Item = usize> + Clone,
        mut visit: impl FnMut(usize, f64),
    ) {
        let search_cost = docs.len() * mean_nnz(rows) * (centroid.nnz().max(1).ilog2() as usize + 1);
        if search_cost < 2 * centroid.nnz() {
            docs.enumerate().for_each(|(number, doc)| visit(number, rows.row(doc).dot(centroid)));
            return;
        }
        self.dense.with(|dense| {
            dense.resize(rows.n_terms(), 0.0);
            centroid.iter().for_each(|(term, value)| dense[term as usize] = value);
            let offsets = rows.as_sparse().offsets();
            let (mut rows_ahead, mut places_ahead) = (docs.clone(), docs.clone());
            places_ahead.by_ref().take(PLACES_AHEAD).for_each(|doc| simd::prefetch(offsets, doc));
            rows_ahead.by_ref().take(ROWS_AHEAD).for_each(|doc| prefetch(rows.row(doc)));
            for (number, doc) in docs.enumerate() {
                if let Some(ahead) = places_ahead.next() {
                    simd::prefetch(offsets, ahead);
                }
                if let Some(ahead) = rows_ahead.next() {
                    prefetch(rows.row(ahead));
                }
                let mut sum = 0.0;
                for (term, x) in rows.row(doc).iter() {
                    sum += f64::from(x) * f64::from(dense[term as usize]);
                }
                visit(number, sum);
            }
            centroid.terms.iter().for_each(|&term| dense[term as usize] = 0.0);
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.dense.sum(|dense| size_of_val(&dense[..]))
    }
}

/// Prefetches a row.
#[inline]
fn prefetch(row: Row<'_>) {
    for start in (0..row.nnz()).step_by(LINE) {
        simd::prefetch(row.terms, start);
        simd::prefetch(row.values, start);
    }
}
