//! Unit rows in chunks, as threads make them from texts; and how they become one matrix.

use super::rows::SparseRows;
use super::unit::UnitRows;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// What takes the memory, for messages.
pub(super) const MATRIX: &str = "the matrix";

/// Texts given directly are handed to threads in groups of this many.
pub(super) const TEXTS_PER_CHUNK: usize = 1024;

/// Unit rows of a chunk, as [`weigh_row`](super::tfidf::TfidfOptions::weigh_row) makes them: terms
/// ascend, values are above zero.
#[derive(Default)]
pub(super) struct ChunkRows {
    pub(super) ids: Vec<String>,
    pub(super) row_ends: Vec<usize>,
    pub(super) terms: Vec<u32>,
    /// The values, as bits.
    pub(super) values: Vec<u32>,
}

/// Puts chunks of unit rows together; each is freed as soon as it is copied.
///
/// # Errors
/// More rows than a matrix may have; no memory.
pub(super) fn join(
    chunks: Vec<ChunkRows>,
    n_terms: usize,
    memory: &MemoryLimit,
) -> Result<(UnitRows<'static>, Vec<String>)> {
    let n_rows: usize = chunks.iter().map(|chunk| chunk.row_ends.len()).sum();
    let nnz: usize = chunks.iter().map(|chunk| chunk.terms.len()).sum();
    // The memory of a chunk that is freed serves others, but the process may go on holding it.
    memory.check(MATRIX, 8 * nnz as u64 + (8 + size_of::<String>() as u64) * n_rows as u64)?;
    let mut offsets = Vec::with_capacity(n_rows + 1);
    let mut ids = Vec::with_capacity(n_rows);
    let (mut terms, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
    offsets.push(0);
    for chunk in chunks {
        let before = terms.len();
        offsets.extend(chunk.row_ends.iter().map(|&end| (before + end) as u64));
        terms.extend_from_slice(&chunk.terms);
        values.extend(chunk.values.iter().map(|&bits| f32::from_bits(bits)));
        ids.extend(chunk.ids);
    }
    Ok((UnitRows::trusted(SparseRows::trusted(n_terms, offsets, terms, values)?), ids))
}
