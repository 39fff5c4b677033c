//! Exact similarities of many documents to one centroid.
//!
//! The rows of these documents lie apart, so each is prefetched while others are compared. For many
//! documents the centroid is expanded into a dense row; for a few, a directory of its terms
//! ([`directory.rs`](super::directory)) is faster.
//!
//! **Cost.** `4 * n_terms` bytes per thread for the current centroid.

use super::directory::Directory;
use super::mean_nnz;
use crate::pool::Pool;
use crate::simd;
use crate::vectors::{Row, UnitRows};

/// How many documents ahead to prefetch rows, and how many ahead to find out where they are.
const ROWS_AHEAD: usize = 8;
const PLACES_AHEAD: usize = 16;

/// The cost of looking a term up in a directory beyond that in a dense row, in entries written to
/// one.
const LOOKUP_COST: usize = 3;

/// Numbers in a cache line.
const LINE: usize = 16;

/// Compares documents with one centroid at a time.
#[derive(Default)]
pub(crate) struct Comparer {
    /// Dense rows, all zero.
    dense: Pool<Vec<f32>>,
}

impl Comparer {
    /// Calls `visit` with the number of each document, in order, and its similarity to the
    /// centroid: ARCHITECTURE.md, definition 2.
    ///
    /// `directory` is that of the centroid.
    pub(crate) fn similarities(
        &self,
        rows: &UnitRows<'_>,
        centroid: Row<'_>,
        directory: &Directory,
        docs: impl ExactSizeIterator<Item = usize> + Clone,
        mut visit: impl FnMut(usize, f64),
    ) {
        if LOOKUP_COST * docs.len() * mean_nnz(rows) < 2 * centroid.nnz() {
            for_each_row(rows, docs, |number, row| visit(number, directory.similarity(row, centroid)));
            return;
        }
        self.dense.with(|dense| {
            dense.resize(rows.n_terms(), 0.0);
            centroid.iter().for_each(|(term, value)| dense[term as usize] = value);
            for_each_row(rows, docs, |number, row| {
                let mut sum = 0.0;
                for (term, x) in row.iter() {
                    sum += f64::from(x) * f64::from(dense[term as usize]);
                }
                visit(number, sum);
            });
            centroid.terms.iter().for_each(|&term| dense[term as usize] = 0.0);
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.dense.sum(|dense| size_of_val(&dense[..]))
    }
}

/// Calls `visit` with the number and the row of each of these documents, in order.
#[inline]
fn for_each_row<'a>(
    rows: &'a UnitRows<'_>,
    docs: impl ExactSizeIterator<Item = usize> + Clone,
    mut visit: impl FnMut(usize, Row<'a>),
) {
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
        visit(number, rows.row(doc));
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
