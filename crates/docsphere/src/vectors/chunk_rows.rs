//! Unit rows in chunks, as threads make them from texts, and their concatenation into a matrix.

use super::rows::SparseRows;
use super::unit::UnitRows;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// What takes the memory, for messages.
pub(super) const MATRIX: &str = "the matrix";

/// Number of texts per chunk when texts are given directly.
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

/// Concatenates chunks of unit rows; each is freed as soon as it is copied.
///
/// # Errors
/// More rows than a matrix may have; not enough memory.
pub(super) fn join(
    chunks: Vec<ChunkRows>,
    n_terms: usize,
    memory: &MemoryLimit,
) -> Result<(UnitRows<'static>, Vec<String>)> {
    let n_rows: usize = chunks.iter().map(|chunk| chunk.row_ends.len()).sum();
    let nnz: usize = chunks.iter().map(|chunk| chunk.terms.len()).sum();
    // The memory of a freed chunk is reused, but the process may keep holding it.
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
