//! Rows for scanning: ordered by cluster, with terms numbered by frequency, 4 bytes per nonzero.
//!
//! Documents of one cluster share terms, so the data looked up for one is still in cache for the
//! next, and the hardware prefetches adjacent rows. Frequent terms have the smallest numbers, so
//! that their data is adjacent, too.
//!
//! Scanning only bounds similarities, so each entry is packed: the rank of its term, and its value
//! rounded up ([`Packing`]). Exact similarities read the rows themselves.
//!
//! **Cost.** 4 bytes per nonzero, 8 per row (12 from 2^32 nonzeros on) and 8 per term. Those per
//! nonzero, most of what `drift` holds of documents, and those per row are in scratch files if the
//! rows are in a file.
//! Arranging reads the rows once; it is repeated only after many documents have moved.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::offsets::Offsets;
use super::positions::Positions;
use crate::error::Result;
use crate::mapping::Spillable;
use crate::simd::{GREATEST, Packed, Packing};
use crate::vectors::{UNIT_TOLERANCE, UnitRows};

/// Ranks of terms by document frequency, the most frequent first.
#[derive(Default)]
pub(super) struct TermRanks {
    pub(super) rank_of: Vec<u32>,
    pub(super) term_of: Vec<u32>,
}

impl TermRanks {
    pub(super) fn new(rows: &UnitRows<'_>) -> Self {
        let frequencies = rows.doc_frequencies();
        let mut term_of: Vec<u32> = (0..rows.n_terms() as u32).collect();
        term_of.par_sort_by_key(|&term| std::cmp::Reverse(frequencies[term as usize]));
        TermRanks { rank_of: inverse(&term_of), term_of }
    }

    /// The terms as they are.
    pub(super) fn none(n_terms: usize) -> Self {
        let terms: Vec<u32> = (0..n_terms as u32).collect();
        TermRanks { rank_of: terms.clone(), term_of: terms }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.rank_of[..]) + size_of_val(&self.term_of[..])
    }
}

/// See the [module](self). Zero rows are left out.
#[derive(Default)]
pub(super) struct Arranged {
    /// Which arrangement of which rows this is; 0 for none.
    number: u64,
    /// The document at each position.
    docs: Spillable<u32>,
    offsets: Offsets,
    /// Ranks and values, in the ascending order of the terms themselves.
    entries: Spillable<u32>,
    packing: Packing,
}

/// Rows copied per task.
const TASK_ROWS: usize = 4096;

impl Arranged {
    /// Packs the rows of these documents, in this order, in memory or on the disk of a folder. No
    /// other arrangement has this number.
    pub(super) fn new(
        number: u64,
        rows: &UnitRows<'_>,
        ranks: &TermRanks,
        docs: Vec<u32>,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let offsets = Offsets::new(&docs, |doc| rows.row(doc as usize).nnz(), folder)?;
        const { assert!(1.0 + UNIT_TOLERANCE <= GREATEST, "every value of a unit row can be packed") };
        let packing = Packing::for_terms(rows.n_terms());
        let mut entries = Spillable::zeros(offsets.n_entries(), folder)?;
        let mut tasks = Vec::new();
        let mut left = &mut entries[..];
        for (task, docs) in docs.chunks(TASK_ROWS).enumerate() {
            let first = task * TASK_ROWS;
            let len = offsets.range(first + docs.len() - 1).end - offsets.range(first).start;
            let (here, rest) = left.split_at_mut(len);
            left = rest;
            tasks.push((docs, here));
        }
        tasks.into_par_iter().for_each(|(docs, mut entries)| {
            for &doc in docs {
                let row = rows.row(doc as usize);
                let (here, rest) = entries.split_at_mut(row.nnz());
                entries = rest;
                for (entry, (term, value)) in here.iter_mut().zip(row.iter()) {
                    *entry = packing.pack(ranks.rank_of[term as usize], value);
                }
            }
        });
        Ok(Arranged { number, docs: Spillable::new(docs, folder)?, offsets, entries, packing })
    }

    /// The document at each position.
    pub(super) fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// Finds the position of each document; there are `n_rows` with zero rows.
    pub(super) fn find(&self, positions: &mut Positions, n_rows: usize) {
        positions.find(self.number, &self.docs, n_rows);
    }

    /// The row at a position.
    #[inline]
    pub(super) fn row(&self, position: usize) -> Packed<'_> {
        Packed { entries: &self.entries[self.offsets.range(position)], packing: self.packing }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.docs.memory_bytes() + self.offsets.memory_bytes() + self.entries.memory_bytes()
    }
}

/// The place of each term in a list of all of them.
fn inverse(list: &[u32]) -> Vec<u32> {
    let tasks = (0..list.len()).into_par_iter().with_min_len(TASK_ROWS);
    let places: Vec<AtomicU32> = tasks.map(|_| AtomicU32::new(0)).collect();
    let numbers = list.par_iter().enumerate().with_min_len(TASK_ROWS);
    numbers.for_each(|(place, &number)| places[number as usize].store(place as u32, Relaxed));
    places.into_par_iter().with_min_len(TASK_ROWS).map(AtomicU32::into_inner).collect()
}
