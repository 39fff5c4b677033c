//! Counts and unit rows in chunks, as threads make them from texts, and the concatenation of rows
//! into a matrix.

use rayon::prelude::*;

use super::rows::SparseRows;
use super::unit::UnitRows;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// What takes the memory, for messages.
pub(super) const MATRIX: &str = "the matrix";

/// Number of texts per chunk when texts are given directly.
pub(super) const TEXTS_PER_CHUNK: usize = 1024;

/// The counts of a chunk: rows of unsorted terms.
#[derive(Default)]
pub(super) struct ChunkTerms {
    /// End of each row.
    pub(super) row_ends: Vec<usize>,
    pub(super) terms: Vec<u32>,
    pub(super) counts: Vec<u32>,
}

impl ChunkTerms {
    /// Bytes in memory.
    pub(super) fn n_bytes(&self) -> u64 {
        8 * (self.row_ends.len() + self.terms.len()) as u64
    }

    /// The nonzeros of the longest row.
    pub(super) fn longest(&self) -> usize {
        let starts = [0].into_iter().chain(self.row_ends.iter().copied());
        self.row_ends.iter().zip(starts).map(|(end, start)| end - start).max().unwrap_or(0)
    }
}

/// Unit rows of a chunk, as [`weigh_row`](super::tfidf::TfidfOptions::weigh_row) makes them: terms
/// ascend, values are above zero.
#[derive(Default)]
pub(super) struct ChunkRows {
    pub(super) row_ends: Vec<usize>,
    pub(super) terms: Vec<u32>,
    /// The values, as bits.
    pub(super) values: Vec<u32>,
}

/// Memory for [`join`]. That of a freed chunk is reused, but the process may keep holding it.
pub(super) fn join_bytes(chunks: &[ChunkRows]) -> u64 {
    let n_bytes = |chunk: &ChunkRows| 8 * (chunk.terms.len() + chunk.row_ends.len()) as u64;
    chunks.iter().map(n_bytes).sum()
}

/// Concatenates chunks of unit rows; each is freed as soon as it is copied. On all threads, which
/// are also the first to touch the memory of the matrix.
///
/// # Errors
/// More rows than a matrix may have; not enough memory.
pub(super) fn join(
    chunks: Vec<ChunkRows>,
    n_terms: usize,
    memory: &MemoryLimit,
) -> Result<UnitRows<'static>> {
    memory.check(MATRIX, join_bytes(&chunks))?;
    let n_rows: usize = chunks.iter().map(|chunk| chunk.row_ends.len()).sum();
    let nnz: usize = chunks.iter().map(|chunk| chunk.terms.len()).sum();
    // Zeros come from the system page by page, when a page is touched.
    let (mut offsets, mut terms, mut values) = (vec![0; n_rows + 1], vec![0; nnz], vec![0.0; nnz]);
    let mut rest = (&mut offsets[1..], &mut terms[..], &mut values[..]);
    let mut before = 0;
    let mut places = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let (n_rows, nnz) = (chunk.row_ends.len(), chunk.terms.len());
        let place = (
            rest.0.split_off_mut(..n_rows).expect("room for all rows"),
            rest.1.split_off_mut(..nnz).expect("room for all terms"),
            rest.2.split_off_mut(..nnz).expect("room for all values"),
        );
        places.push((place, chunk, before));
        before += nnz;
    }
    places.into_par_iter().with_max_len(1).for_each(|(place, chunk, before)| {
        let (offsets, terms, values) = place;
        offsets.iter_mut().zip(chunk.row_ends).for_each(|(offset, end)| *offset = (before + end) as u64);
        terms.copy_from_slice(&chunk.terms);
        values.iter_mut().zip(chunk.values).for_each(|(value, bits)| *value = f32::from_bits(bits));
    });
    Ok(UnitRows::trusted(SparseRows::trusted(n_terms, offsets, terms, values)?))
}
