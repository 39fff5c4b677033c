//! Ranges of terms, so that threads can fill the data of different terms in parallel.

use rayon::prelude::*;

use crate::vectors::Row;

/// Ranges per thread.
const RANGES_PER_THREAD: usize = 4;

/// Start of each range of terms in each centroid.
pub(super) struct TermRanges {
    /// Terms per range.
    pub(super) width: usize,
    n_ranges: usize,
    /// For each column, the start of each range, and one more entry for the end.
    cuts: Vec<u32>,
}

impl TermRanges {
    pub(super) fn new(columns: &[Row<'_>], n_terms: usize) -> Self {
        let n_ranges = RANGES_PER_THREAD * rayon::current_num_threads();
        let width = n_terms.div_ceil(n_ranges).max(1);
        let n_ranges = n_terms.div_ceil(width);
        let mut cuts = vec![0; columns.len() * (n_ranges + 1)];
        cuts.par_chunks_mut(n_ranges + 1).zip(columns).for_each(|(cuts, row)| {
            for (range, cut) in cuts.iter_mut().enumerate() {
                *cut = row.terms.partition_point(|&term| (term as usize) < range * width) as u32;
            }
        });
        TermRanges { width, n_ranges, cuts }
    }

    /// The part of a column that falls into a range.
    pub(super) fn part<'a>(&self, row: &Row<'a>, column: usize, range: usize) -> Row<'a> {
        let cuts = &self.cuts[column * (self.n_ranges + 1)..][range..range + 2];
        let part = cuts[0] as usize..cuts[1] as usize;
        Row { terms: &row.terms[part.clone()], values: &row.values[part] }
    }
}
