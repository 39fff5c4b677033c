//! AVX2.

use std::arch::x86_64::*;

use super::{Spans, TILE, Tile, TileSums, Weighted, tile::for_each_span};

/// Two registers for a line, four for its sums.
#[target_feature(enable = "avx2")]
pub(super) fn accumulate(tile: Tile<'_>, spans: Spans<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    let zero = _mm256_setzero_si256();
    for_each_span(tile, spans, sums, greatest, |rows, sums, blank| {
        let mut quarters = load(sums);
        for position in rows {
            let Weighted { row, weight } = spans.rows[position];
            let weight = _mm256_set1_epi16(weight as i16);
            let bytes = tile.lines[usize::from(row)].0.as_ptr();
            for half in 0..2 {
                // SAFETY: a line has twice 32 bytes, and is aligned to 64.
                let bytes = unsafe { _mm256_load_si256(bytes.add(32 * half).cast()) };
                // Columns 16 half to 16 half + 15 are in the low halves, those 32 further on in the
                // high ones. A byte in the upper half of a 16-bit lane is 256 times the byte; the
                // upper half of the product divides by 65,536.
                let products = _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, bytes), weight);
                quarters[half] = _mm256_adds_epu16(quarters[half], products);
                let products = _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, bytes), weight);
                quarters[2 + half] = _mm256_adds_epu16(quarters[2 + half], products);
            }
        }
        let start: *mut u16 = sums.as_mut_ptr();
        for (q, &quarter) in quarters.iter().enumerate() {
            // SAFETY: 64 numbers are four vectors of 16.
            unsafe { _mm256_storeu_si256(start.add(16 * q).cast(), quarter) };
        }
        if let Some(blank) = blank {
            sums[blank] = 0;
            quarters = load(sums);
        }
        let [a, b, c, d] = quarters;
        greatest_of(_mm256_max_epu16(_mm256_max_epu16(a, b), _mm256_max_epu16(c, d)))
    });
}

#[target_feature(enable = "avx2")]
fn load(sums: &[u16; TILE]) -> [__m256i; 4] {
    let start: *const u16 = sums.as_ptr();
    let mut quarters = [_mm256_setzero_si256(); 4];
    for (q, quarter) in quarters.iter_mut().enumerate() {
        // SAFETY: 64 numbers are four vectors of 16.
        *quarter = unsafe { _mm256_loadu_si256(start.add(16 * q).cast()) };
    }
    quarters
}

/// The greatest of 16 numbers. There is an instruction for the minimum of eight.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn greatest_of(numbers: __m256i) -> u16 {
    let numbers = _mm_max_epu16(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    let flipped = _mm_xor_si128(numbers, _mm_set1_epi16(-1));
    !(_mm_extract_epi16::<0>(_mm_minpos_epu16(flipped)) as u16)
}
