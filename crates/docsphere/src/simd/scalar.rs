//! The definition of every kernel, in plain loops.

use super::{Lookup, Packed, Rest, Spans, TILE, Tile, TileSums, Weighted, tile::for_each_span};

pub(super) fn accumulate(tile: Tile<'_>, spans: Spans<'_>, sums: &mut [TileSums], greatest: &mut [u16]) {
    for_each_span(tile, spans, sums, greatest, |rows, sums, blank| {
        let (low, high) = sums.split_at_mut(TILE / 2);
        for &Weighted { row, weight } in &spans.rows[rows] {
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

pub(super) fn weigh(
    lookups: &[Lookup],
    n_rows: u32,
    row: Packed<'_>,
    rows: &mut [Weighted],
    rest: &mut [Rest],
) -> (usize, u32) {
    // The branch is unpredictable, so both are written and one is kept.
    let (mut n_in_rows, mut n_rest, mut total) = (0, 0, 0);
    for &entry in row.entries {
        let (term, value) = (row.packing.number_of(entry), row.packing.value_of(entry));
        let Some(&Lookup { row, scale, .. }) = lookups.get(term as usize) else {
            panic!("term {term} has no place")
        };
        let weight = (value * scale) as u16 + 1;
        total += u32::from(weight);
        rows[n_in_rows] = Weighted { row: row as u16, weight };
        rest[n_rest] = Rest { term, weight: u32::from(weight) };
        n_in_rows += usize::from(row < n_rows);
        n_rest += usize::from(row >= n_rows);
    }
    (n_in_rows, total)
}
