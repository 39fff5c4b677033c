//! Vector kernels for tables of bytes, for every machine; and prefetching.
//!
//! Each kernel is integer arithmetic with one defined result, so that all levels return the same
//! bits; the plain one in `scalar.rs` is the definition. The level is detected once at run time, or
//! forced by [`Simd`] for tests and comparisons.
//!
//! This is the only module with `unsafe`: instructions beyond the build's target may only be called
//! if the machine has them, and vector loads and stores take pointers. Every function that is
//! called from outside is safe: it holds the proof that the machine has the instructions (a
//! [`Level`] can only be made by detecting them) and checks all lengths.

#![allow(unsafe_code)]

mod level;
mod packing;
mod prefetch;
mod scalar;
mod tile;

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

pub(crate) use level::Level;
pub use level::Simd;
pub(crate) use packing::{GREATEST, Packed, Packing};
pub(crate) use prefetch::prefetch;
pub(crate) use tile::{
    Line, Lookup, Rest, Span, Spans, TILE, Tile, TileSums, Weighted, byte_of, greatest_of_eights,
};

/// For each span: adds to each of its sums in this tile, for every row of the span,
/// `byte * weight / 256` (rounded down), saturating at 65,535. Writes the greatest of these sums to
/// `greatest`, at the same index.
///
/// # Panics
/// If a row or a sum does not exist.
#[inline]
pub(crate) fn accumulate(
    level: Level,
    tile: Tile<'_>,
    spans: Spans<'_>,
    sums: &mut [TileSums],
    greatest: &mut [u16],
) {
    match level.0 {
        // SAFETY: a Level is made only after the machine was found to have the instructions.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512::accumulate(tile, spans, sums, greatest) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2::accumulate(tile, spans, sums, greatest) },
        #[cfg(target_arch = "aarch64")]
        Simd::Neon => neon::accumulate(tile, spans, sums, greatest),
        _ => scalar::accumulate(tile, spans, sums, greatest),
    }
}

/// Number of entries past the last that [`weigh`] may write.
pub(crate) const SPARE: usize = 16;

/// Weights the terms of a document, whose entries are packed: `value * scale`, rounded down, plus
/// 1, must fit into 16 bits.
/// Terms with a table row below `n_rows` go to `rows`, the others to `rest`, both in order. Returns
/// the number of terms in `rows`, and the sum of all weights.
///
/// # Panics
/// If a term has no lookup, or `rows` and `rest` do not have [`SPARE`] entries more than there are
/// terms.
#[inline]
pub(crate) fn weigh(
    level: Level,
    lookups: &[Lookup],
    n_rows: u32,
    row: Packed<'_>,
    rows: &mut [Weighted],
    rest: &mut [Rest],
) -> (usize, u32) {
    assert!(rows.len().min(rest.len()) >= row.nnz() + SPARE, "room for all terms");
    match level.0 {
        // SAFETY: a Level is made only after the machine was found to have the instructions.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512::weigh(lookups, n_rows, row, rows, rest) },
        _ => scalar::weigh(lookups, n_rows, row, rows, rest),
    }
}
