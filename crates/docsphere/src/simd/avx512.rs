//! AVX-512 F and BW.

use std::arch::x86_64::*;

use super::avx2::greatest_of;
use super::{Docs, Tile, TileSums, Weighted, for_each_doc, prefetch};

/// Rows whose lines are asked for ahead of time.
const AHEAD: usize = 64;

/// One register for a line, two for its sums.
#[target_feature(enable = "avx512f,avx512bw,avx2")]
pub(super) fn accumulate(tile: Tile<'_>, docs: Docs<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    let zero = _mm512_setzero_si512();
    for_each_doc(tile, docs, sums, greatest, |rows, sums, blank| {
        let start: *mut u16 = sums.as_mut_ptr();
        // SAFETY: 64 numbers are two vectors of 32.
        let (mut low, mut high) =
            unsafe { (_mm512_loadu_si512(start.cast()), _mm512_loadu_si512(start.add(32).cast())) };
        for position in rows {
            let Weighted { row, weight } = docs.rows[position];
            if let Some(ahead) = docs.rows.get(position + AHEAD) {
                prefetch(tile.lines, usize::from(ahead.row));
            }
            let weight = _mm512_set1_epi16(weight as i16);
            // SAFETY: a line has 64 bytes, and stands at a multiple of 64.
            let bytes = unsafe { _mm512_load_si512(tile.lines[usize::from(row)].0.as_ptr().cast()) };
            // A byte in the upper half of a 16-bit lane is 256 times the byte; the upper half of the product divides by 65,536.
            let products = _mm512_mulhi_epu16(_mm512_unpacklo_epi8(zero, bytes), weight);
            low = _mm512_adds_epu16(low, products);
            let products = _mm512_mulhi_epu16(_mm512_unpackhi_epi8(zero, bytes), weight);
            high = _mm512_adds_epu16(high, products);
        }
        // SAFETY: as for the loads.
        unsafe {
            _mm512_storeu_si512(start.cast(), low);
            _mm512_storeu_si512(start.add(32).cast(), high);
        }
        if let Some(blank) = blank {
            sums[blank] = 0;
            let start: *const u16 = sums.as_ptr();
            // SAFETY: as for the loads above.
            unsafe {
                low = _mm512_loadu_si512(start.cast());
                high = _mm512_loadu_si512(start.add(32).cast());
            }
        }
        let both = _mm512_max_epu16(low, high);
        greatest_of(_mm256_max_epu16(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both)))
    });
}
