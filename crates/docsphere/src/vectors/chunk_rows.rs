//! Unit rows in chunks, as threads make them from texts, and their concatenation into a matrix.

use rayon::prelude::*;

use super::id_list::IdList;
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
    pub(super) ids: IdList,
    pub(super) row_ends: Vec<usize>,
    pub(super) terms: Vec<u32>,
    /// The values, as bits.
    pub(super) values: Vec<u32>,
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
) -> Result<(UnitRows<'static>, Vec<String>)> {
    let n_rows: usize = chunks.iter().map(|chunk| chunk.row_ends.len()).sum();
    let nnz: usize = chunks.iter().map(|chunk| chunk.terms.len()).sum();
    // The memory of a freed chunk is reused, but the process may keep holding it.
    memory.check(MATRIX, 8 * nnz as u64 + (8 + size_of::<String>() as u64) * n_rows as u64)?;
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
    let copied = places.into_par_iter().with_max_len(1).map(|(place, chunk, before)| {
        let (offsets, terms, values) = place;
        offsets.iter_mut().zip(chunk.row_ends).for_each(|(offset, end)| *offset = (before + end) as u64);
        terms.copy_from_slice(&chunk.terms);
        values.iter_mut().zip(chunk.values).for_each(|(value, bits)| *value = f32::from_bits(bits));
        chunk.ids
    });
    let lists: Vec<IdList> = copied.collect();
    // Strings come after the chunks have gone: in between, they would keep the memory from the
    // system.
    let mut ids: Vec<String> = Vec::new();
    (0..n_rows).into_par_iter().map(|_| String::new()).collect_into_vec(&mut ids);
    let mut rest = &mut ids[..];
    let place_of = |list: IdList| (rest.split_off_mut(..list.len()).expect("room for all ids"), list);
    let places: Vec<_> = lists.into_iter().map(place_of).collect();
    places.into_par_iter().with_max_len(1).for_each(|(ids, list)| {
        ids.iter_mut().zip(list.iter()).for_each(|(place, id)| *place = id.to_owned());
    });
    Ok((UnitRows::trusted(SparseRows::trusted(n_terms, offsets, terms, values)?), ids))
}
