//! The definition of every kernel, in plain loops.

use super::{Docs, TILE, Tile, TileSums, Weighted, for_each_doc};

pub(super) fn accumulate(tile: Tile<'_>, docs: Docs<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    for_each_doc(tile, docs, sums, greatest, |rows, sums, blank| {
        let (low, high) = sums.split_at_mut(TILE / 2);
        for &Weighted { row, weight } in &docs.rows[rows] {
            let weight = u32::from(weight);
            let parts = low.chunks_exact_mut(8).zip(high.chunks_exact_mut(8));
            for (bytes, (low, high)) in tile.lines[usize::from(row)].0.chunks_exact(16).zip(parts) {
                for (sums, bytes) in [low, high].into_iter().zip(bytes.chunks_exact(8)) {
                    for (sum, &byte) in sums.iter_mut().zip(bytes) {
                        *sum = sum.saturating_add(((u32::from(byte) * weight) >> 8) as u16);
                    }
                }
            }
        }
        if let Some(blank) = blank {
            sums[blank] = 0;
        }
        sums.iter().fold(0, |greatest, &sum| greatest.max(sum))
    });
}
