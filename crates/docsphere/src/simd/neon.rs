//! NEON, which every AArch64 has.

use std::arch::aarch64::*;

use super::{Spans, Tile, TileSums, Weighted, tile::for_each_span};

/// Four registers for a line, eight for its sums.
pub(super) fn accumulate(tile: Tile<'_>, spans: Spans<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    for_each_span(tile, spans, sums, greatest, |rows, sums, blank| {
        let start: *mut u16 = sums.as_mut_ptr();
        // SAFETY: NEON is part of every AArch64; 64 numbers are eight vectors of 8.
        let mut parts: [uint16x8_t; 8] = std::array::from_fn(|p| unsafe { vld1q_u16(start.add(8 * p)) });
        for &Weighted { row, weight } in &spans.rows[rows] {
            let bytes = tile.lines[usize::from(row)].0.as_ptr();
            for lane in 0..4 {
                // SAFETY: a line has four times 16 bytes.
                unsafe {
                    let bytes = vld1q_u8(bytes.add(16 * lane));
                    parts[lane] = added(parts[lane], vshll_n_u8::<8>(vget_low_u8(bytes)), weight);
                    parts[4 + lane] = added(parts[4 + lane], vshll_n_u8::<8>(vget_high_u8(bytes)), weight);
                }
            }
        }
        for (p, &part) in parts.iter().enumerate() {
            // SAFETY: as for the loads.
            unsafe { vst1q_u16(start.add(8 * p), part) };
        }
        if let Some(blank) = blank {
            sums[blank] = 0;
        }
        sums.iter().fold(0, |greatest, &sum| greatest.max(sum))
    });
}

/// `sums + values * weight / 65536`, at most 65,535.
#[inline(always)]
fn added(sums: uint16x8_t, values: uint16x8_t, weight: u16) -> uint16x8_t {
    // SAFETY: NEON is part of every AArch64.
    unsafe {
        let low = vshrn_n_u32::<16>(vmull_n_u16(vget_low_u16(values), weight));
        let high = vshrn_n_u32::<16>(vmull_n_u16(vget_high_u16(values), weight));
        vqaddq_u16(sums, vcombine_u16(low, high))
    }
}
