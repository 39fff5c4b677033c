//! The sums of the documents of a batch in some tiles.

use std::ops::Range;

use super::input::Input;
use crate::assign::drift::columns::{Columns, Table};
use crate::simd::{self, Level, Span, Spans, TILE, Tile, TileSums};

/// What is summed: columns, or groups of columns.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) table: &'a Table,
    /// Columns per sum.
    pub(super) len: usize,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Sums {
    /// The sums of some tiles, document by document.
    pub(super) sums: Vec<TileSums>,
    pub(super) greatest: Vec<u16>,
    /// Number of table bytes and postings read.
    pub(super) n_read: u64,
}

impl Sums {
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<TileSums>() * self.sums.capacity() + 2 * self.greatest.capacity()
    }

    /// Adds the posting lists of the first documents for some tiles.
    pub(super) fn add_lists(
        &mut self,
        input: &Input,
        columns: &Columns,
        layer: Layer<'_>,
        tiles: Range<usize>,
        sums_per_span: usize,
        n_docs: usize,
    ) {
        let (first_column, end_column) = (tiles.start * TILE * layer.len, tiles.end * TILE * layer.len);
        let shift = layer.len.ilog2();
        let sums = self.sums.chunks_exact_mut(sums_per_span.max(1));
        for (sums, doc) in sums.zip(0..n_docs) {
            for list in input.lists(doc) {
                if layer.len > 1 && list.in_groups {
                    continue;
                }
                self.n_read += list.add(columns, first_column, end_column, |column, amount| {
                    let place = column >> shift;
                    let sum = &mut sums[place / TILE].0[place % TILE];
                    *sum = sum.saturating_add(amount);
                });
            }
        }
    }

    /// Sets the sums of some documents in one tile to those of their posting lists.
    pub(super) fn set_to_lists(
        &mut self,
        input: &Input,
        columns: &Columns,
        tile: usize,
        docs: impl ExactSizeIterator<Item = usize>,
    ) {
        if self.sums.len() < docs.len() {
            self.sums.resize(docs.len(), TileSums([0; TILE]));
            self.greatest.resize(docs.len(), 0);
        }
        for (sums, doc) in self.sums.iter_mut().zip(docs) {
            sums.0.fill(0);
            for list in input.lists(doc) {
                self.n_read += list.add(columns, tile * TILE, (tile + 1) * TILE, |column, amount| {
                    let sum = &mut sums.0[column];
                    *sum = sum.saturating_add(amount);
                });
            }
        }
    }

    /// Adds the table rows of some documents for one tile.
    pub(super) fn add_rows(&mut self, input: &Input, spans: &[Span], tile: Tile<'_>, level: Level) {
        let docs = Spans { rows: input.rows(), spans };
        simd::accumulate(level, tile, docs, &mut self.sums, &mut self.greatest);
    }
}
