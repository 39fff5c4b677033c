//! AVX-512 F and BW.

use std::arch::x86_64::*;

use super::avx2::greatest_of;
use super::{Lookup, Packed, Rest, SPARE, Spans, Tile, TileSums, Weighted, tile::for_each_span};

/// One register for a line, two for its sums.
#[target_feature(enable = "avx512f,avx512bw,avx2")]
pub(super) fn accumulate(tile: Tile<'_>, spans: Spans<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    let zero = _mm512_setzero_si512();
    for_each_span(tile, spans, sums, greatest, |rows, sums, blank| {
        let start: *mut u16 = sums.as_mut_ptr();
        // SAFETY: 64 numbers are two vectors of 32.
        let (mut low, mut high) =
            unsafe { (_mm512_loadu_si512(start.cast()), _mm512_loadu_si512(start.add(32).cast())) };
        for position in rows {
            let Weighted { row, weight } = spans.rows[position];
            let weight = _mm512_set1_epi16(weight as i16);
            // SAFETY: a line has 64 bytes, and is aligned to 64.
            let bytes = unsafe { _mm512_load_si512(tile.lines[usize::from(row)].0.as_ptr().cast()) };
            // A byte in the upper half of a 16-bit lane is 256 times the byte; the upper half of
            // the product divides by 65,536.
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

/// Sixteen terms at a time.
#[target_feature(enable = "avx512f")]
pub(super) fn weigh(
    lookups: &[Lookup],
    n_rows: u32,
    row: Packed<'_>,
    rows: &mut [Weighted],
    rest: &mut [Rest],
) -> (usize, u32) {
    const LANES: usize = 16;
    const { assert!(SPARE >= LANES && size_of::<Lookup>() == 16 && size_of::<Weighted>() == 4) };
    let Packed { entries, packing } = row;
    assert!(rows.len().min(rest.len()) >= entries.len() + SPARE);
    let value_bits = _mm_cvtsi32_si128(packing.value_bits as i32);
    let of_value = _mm512_set1_epi32((1 << packing.value_bits) - 1);
    let step = _mm512_set1_ps(packing.step);
    let n_places = _mm512_set1_epi32(lookups.len().min(1 << 30) as i32);
    let n_table = _mm512_set1_epi32(n_rows as i32);
    let (even, odd) = (lanes(|lane| 2 * lane), lanes(|lane| 2 * lane + 1));
    let (first, second) =
        (lanes(|lane| lane / 2 + 16 * (lane % 2)), lanes(|lane| 8 + lane / 2 + 16 * (lane % 2)));
    let mut total = _mm512_setzero_si512();
    let (mut n_in_rows, mut n_rest) = (0, 0);
    for start in (0..entries.len()).step_by(LANES) {
        let n = LANES.min(entries.len() - start);
        let used = ((1u32 << n) - 1) as __mmask16;
        // SAFETY: only the lanes in `used` are read, and these are inside the slice.
        let entry = unsafe { _mm512_maskz_loadu_epi32(used, entries.as_ptr().add(start).cast()) };
        let term = _mm512_srl_epi32(entry, value_bits);
        let value = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_and_si512(entry, of_value)), step);
        let placed = _mm512_mask_cmplt_epu32_mask(used, term, n_places);
        assert!(placed == used, "a term has no place");
        let (zero, twice) = (_mm512_setzero_si512(), _mm512_slli_epi32::<1>(term));
        let (low, high) = (_mm512_castsi512_si256(twice), _mm512_extracti64x4_epi64::<1>(twice));
        // SAFETY: all terms in `used` are lookups, of which there are at most 2^30, so twice their
        // numbers are not negative; a lookup is twice eight bytes, and unused lanes are not read.
        let (low, high) = unsafe {
            let base = lookups.as_ptr().cast();
            (
                _mm512_mask_i32gather_epi64::<8>(zero, used as __mmask8, low, base),
                _mm512_mask_i32gather_epi64::<8>(zero, (used >> 8) as __mmask8, high, base),
            )
        };
        let row = _mm512_permutex2var_epi32(low, even, high);
        let scale = _mm512_castsi512_ps(_mm512_permutex2var_epi32(low, odd, high));
        let weight = _mm512_cvttps_epi32(_mm512_mul_ps(value, scale));
        let weight = _mm512_add_epi32(weight, _mm512_set1_epi32(1));
        total = _mm512_mask_add_epi32(total, used, total, weight);
        let in_rows = _mm512_mask_cmplt_epu32_mask(used, row, n_table);
        let weighted = _mm512_or_si512(
            _mm512_and_si512(row, _mm512_set1_epi32(0xffff)),
            _mm512_slli_epi32::<16>(weight),
        );
        let others = used & !in_rows;
        let (term, weight) =
            (_mm512_maskz_compress_epi32(others, term), _mm512_maskz_compress_epi32(others, weight));
        // SAFETY: both lists hold at most `start` entries so far, and have room for SPARE more than
        // there are terms.
        unsafe {
            _mm512_storeu_si512(
                rows.as_mut_ptr().add(n_in_rows).cast(),
                _mm512_maskz_compress_epi32(in_rows, weighted),
            );
            let to = rest.as_mut_ptr().add(n_rest).cast::<i32>();
            _mm512_storeu_si512(to.cast(), _mm512_permutex2var_epi32(term, first, weight));
            _mm512_storeu_si512(to.add(16).cast(), _mm512_permutex2var_epi32(term, second, weight));
        }
        n_in_rows += in_rows.count_ones() as usize;
        n_rest += others.count_ones() as usize;
    }
    (n_in_rows, _mm512_reduce_add_epi32(total) as u32)
}

/// One number per lane.
#[target_feature(enable = "avx512f")]
fn lanes(number: impl Fn(i32) -> i32) -> __m512i {
    let numbers: [i32; 16] = std::array::from_fn(|lane| number(lane as i32));
    // SAFETY: sixteen numbers are one vector.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}
