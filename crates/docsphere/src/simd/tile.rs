//! The data of the kernels: tiles of a table of bytes, and spans of weighted rows.

use super::prefetch::{prefetch, prefetch_second};

/// Columns per tile. The bytes of one row in one tile are a cache line. Their order within it suits
/// vector instructions: see [`byte_of`].
pub(crate) const TILE: usize = 64;

/// The bytes of one row in one tile.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u8; TILE]);

/// A row of a table and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Weighted {
    /// The number of the row.
    pub(crate) row: u16,
    pub(crate) weight: u16,
}

/// The lookup entry of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Lookup {
    /// The number of its table row; [`weigh`](super::weigh)'s `n_rows` or more if the table has
    /// none.
    pub(crate) row: u32,
    /// Factor for values.
    pub(crate) scale: f32,
    /// Data for the caller, in the same cache line.
    pub(crate) carried: [u32; 2],
}

/// A term without a table row, and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) term: u32,
    pub(crate) weight: u32,
}

/// The sums of one span in one tile.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct TileSums(pub(crate) [u16; TILE]);

/// A tile of a table.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    pub(crate) number: usize,
    /// One per row of the table.
    pub(crate) lines: &'a [Line],
    /// Lines of the next tile.
    pub(crate) next: &'a [Line],
    /// Index of this tile among the sums of each span.
    pub(crate) first_sum: usize,
    /// Sums per span.
    pub(crate) sums_per_span: usize,
}

/// Rows to sum, in spans.
#[derive(Clone, Copy)]
pub(crate) struct Spans<'a> {
    /// The rows of all spans, concatenated.
    pub(crate) rows: &'a [Weighted],
    pub(crate) spans: &'a [Span],
}

/// Rows whose lines are summed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Start of its rows.
    pub(crate) start: u32,
    /// End of its rows.
    pub(crate) end: u32,
    /// A column whose sum is forced to 0.
    pub(crate) blank: u32,
}

/// Position of a column's byte in its line.
///
/// A vector instruction that interleaves the low (or high) halves of 16 bytes with zeros widens the
/// eight bytes from `16 l` (or `16 l + 8`) on. So those are columns `8 l` to `8 l + 7`, and those
/// 32 further on: then both results are sums in their natural order, for any width of vectors.
#[inline]
pub(crate) fn byte_of(column: usize) -> usize {
    let column = column % TILE;
    let (half, lane, element) = (column / 32, column % 32 / 8, column % 8);
    16 * lane + 8 * half + element
}

/// The greatest byte of columns 0 to 7, of columns 8 to 15, and so on.
#[inline]
pub(crate) fn greatest_of_eights(line: &Line) -> [u8; 8] {
    std::array::from_fn(|eight| {
        let first = byte_of(8 * eight);
        line.0[first..first + 8].iter().fold(0, |most, &byte| most.max(byte))
    })
}

/// How many rows ahead to prefetch lines.
const AHEAD: i32 = 64;

/// Lines of the next tile to prefetch: its first ones, half of an L2 cache of 1 MiB.
const NEXT_LINES: usize = 8192;

/// Calls `add` for every span, with the positions of its rows, its sums in this tile, and the
/// column whose sum is blanked. It returns the greatest sum.
#[inline(always)]
pub(super) fn for_each_span(
    tile: Tile<'_>,
    spans: Spans<'_>,
    sums: &mut [TileSums],
    greatest: &mut [u16],
    mut add: impl FnMut(std::ops::Range<usize>, &mut [u16; TILE], Option<usize>) -> u16,
) {
    // At most a part of those that will be read.
    let n_next = tile.next.len().min(NEXT_LINES).min(spans.rows.len() / 4);
    let next_per_span = n_next.div_ceil(spans.spans.len().max(1));
    let mut ahead = 0;
    let mut n_ahead = 0;
    for (number, &Span { start, end, blank }) in spans.spans.iter().enumerate() {
        n_ahead -= (end - start) as i32 * (ahead > number) as i32;
        while n_ahead < AHEAD && ahead < spans.spans.len() {
            let span = spans.spans[ahead];
            for weighted in &spans.rows[span.start as usize..span.end as usize] {
                prefetch(tile.lines, usize::from(weighted.row));
            }
            if ahead > number {
                n_ahead += (span.end - span.start) as i32;
            }
            ahead += 1;
        }
        let place = tile.first_sum + number * tile.sums_per_span;
        for line in number * next_per_span..((number + 1) * next_per_span).min(n_next) {
            prefetch_second(tile.next, line);
        }
        let blank = blank as usize;
        let blank = (blank / TILE == tile.number).then_some(blank % TILE);
        greatest[place] = add(start as usize..end as usize, &mut sums[place].0, blank);
    }
}
