//! Rows for scanning: ordered by cluster, with terms numbered by frequency, 4 bytes per nonzero.
//!
//! Documents of one cluster share terms, so the data looked up for one is still in cache for the
//! next, and the hardware prefetches adjacent rows. Frequent terms have the smallest numbers, so
//! that their data is adjacent, too.
//!
//! Scanning only bounds similarities, so each entry is packed: the rank of its term, and its value
//! rounded up ([`Packing`]). Exact similarities read the rows themselves.
//!
//! **Cost.** 4 bytes per nonzero, 16 per row and 8 per term. Arranging reads the rows once; it is
//! repeated only after many documents have moved.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

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
        TermRanks { rank_of: inverse(&term_of, term_of.len(), 0), term_of }
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
    /// The document at each position.
    docs: Vec<u32>,
    /// The position of each document; [`NOWHERE`] for a zero row.
    positions: Vec<u32>,
    offsets: Vec<u64>,
    /// Ranks and values, in the ascending order of the terms themselves.
    entries: Vec<u32>,
    packing: Packing,
}

/// The position of a zero row.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Rows copied per task.
const TASK_ROWS: usize = 4096;

impl Arranged {
    /// Packs the rows of these documents, in this order.
    pub(super) fn new(rows: &UnitRows<'_>, ranks: &TermRanks, docs: Vec<u32>) -> Self {
        let offsets = offsets(rows, &docs);
        const { assert!(1.0 + UNIT_TOLERANCE <= GREATEST, "every value of a unit row can be packed") };
        let packing = Packing::for_terms(rows.n_terms());
        let mut entries = vec![0u32; offsets[docs.len()] as usize];
        let mut tasks = Vec::new();
        let mut left = &mut entries[..];
        for (task, docs) in docs.chunks(TASK_ROWS).enumerate() {
            let len = (offsets[task * TASK_ROWS + docs.len()] - offsets[task * TASK_ROWS]) as usize;
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
        Arranged { positions: inverse(&docs, rows.n_rows(), NOWHERE), docs, offsets, entries, packing }
    }

    /// The document at each position.
    pub(super) fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// Frees the rows' memory and keeps the position of each document.
    pub(super) fn into_positions(self) -> Vec<u32> {
        self.positions
    }

    /// The position of each document.
    pub(super) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The row at a position.
    #[inline]
    pub(super) fn row(&self, position: usize) -> Packed<'_> {
        let range = self.offsets[position] as usize..self.offsets[position + 1] as usize;
        Packed { entries: &self.entries[range], packing: self.packing }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.docs[..])
            + size_of_val(&self.positions[..])
            + size_of_val(&self.offsets[..])
            + size_of_val(&self.entries[..])
    }
}

/// The start of each document's row among those of all, and the end of the last.
fn offsets(rows: &UnitRows<'_>, docs: &[u32]) -> Vec<u64> {
    let nnz = |doc: &u32| rows.row(*doc as usize).nnz() as u64;
    let sizes: Vec<u64> = docs.par_chunks(TASK_ROWS).map(|docs| docs.iter().map(nnz).sum()).collect();
    let mut end = 0;
    let start = |size: &u64| {
        end += size;
        end - size
    };
    let starts: Vec<u64> = sizes.iter().map(start).collect();
    let mut offsets = vec![0; docs.len() + 1];
    let tasks = offsets[1..].par_chunks_mut(TASK_ROWS).zip(docs.par_chunks(TASK_ROWS)).zip(starts);
    tasks.for_each(|((offsets, docs), start)| {
        let mut end = start;
        for (offset, doc) in offsets.iter_mut().zip(docs) {
            end += nnz(doc);
            *offset = end;
        }
    });
    offsets
}

/// For each of the numbers below `n`, its place in a list in which it is at most once; `nowhere` if
/// it is not there.
fn inverse(list: &[u32], n: usize, nowhere: u32) -> Vec<u32> {
    let tasks = (0..n).into_par_iter().with_min_len(TASK_ROWS);
    let places: Vec<AtomicU32> = tasks.map(|_| AtomicU32::new(nowhere)).collect();
    let numbers = list.par_iter().enumerate().with_min_len(TASK_ROWS);
    numbers.for_each(|(place, &number)| places[number as usize].store(place as u32, Relaxed));
    places.into_par_iter().with_min_len(TASK_ROWS).map(AtomicU32::into_inner).collect()
}
