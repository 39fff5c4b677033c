//! Compares some documents with columns: finds candidates, and a bound for all other columns.
//!
//! [`Batch::clear`], then [`Batch::add`] documents, those that scan more tiles first; then
//! [`Batch::scan`], which bounds every column of the tiles that they scan, or
//! [`Batch::scan_groups`], which scans groups of columns first and then only the tiles of groups
//! that may hold a winner. [`columns.rs`](super::columns) has the proof of the bounds.
//!
//! **Cost.** A batch of 1,024 documents has 5 MB of sums, and up to 36 bytes per term of its
//! documents: twice 4 for its table row, and 12 for its posting list in a vector that may be copied
//! while it doubles.

mod doc_bounds;
mod input;
mod sums;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::doc_bounds::DocBounds;
pub(super) use self::input::Input;
use self::sums::{Layer, Sums};
use super::columns::Columns;
use crate::assign::Sizes;
use crate::simd::{Level, Packed, Span, TILE, Tile, TileSums};

/// Tiles processed together, so that the sums of a batch in them stay in cache.
const BLOCK_TILES: usize = 40;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Batch {
    input: Input,
    pub(super) docs: Vec<DocBounds>,
    /// Tiles still to scan, and their documents.
    remaining: Vec<(u32, u32)>,
    /// The documents of one of these tiles.
    remaining_docs: Vec<Span>,
    /// Candidates, by document and column.
    candidates: Vec<Candidate>,
    sums: Sums,
}

/// A column that a document may belong to.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    doc: u32,
    column: u32,
    sum: u16,
}

impl Batch {
    /// Removes all documents.
    pub(super) fn clear(&mut self) {
        self.input.clear();
        self.docs.clear();
        self.remaining.clear();
        self.candidates.clear();
        self.sums.n_read = 0;
    }

    /// Bytes held for the next documents.
    pub(super) fn memory_bytes(&self) -> usize {
        self.input.memory_bytes()
            + self.sums.memory_bytes()
            + size_of::<DocBounds>() * self.docs.capacity()
            + size_of::<Candidate>() * self.candidates.capacity()
            + 8 * self.remaining.capacity()
            + size_of::<Span>() * self.remaining_docs.capacity()
    }

    /// Number of table bytes and postings read since the last [`clear`](Self::clear).
    pub(super) fn n_read(&self) -> u64 {
        self.sums.n_read
    }

    /// Adds a document: it scans the columns of the first tiles, except `own_column`, for
    /// candidates that reach the similarity `own`.
    ///
    /// The row's terms are ranks.
    #[inline]
    pub(super) fn add(
        &mut self,
        columns: &Columns,
        level: Level,
        row: Packed<'_>,
        n_tiles: usize,
        own_column: u32,
        own: f64,
    ) {
        let total = self.input.add(columns, level, row, own_column);
        self.docs.push(DocBounds::new(n_tiles, row, total, own));
    }

    /// Bounds the similarities of all documents to all columns that they scan. Calls `found` with
    /// document and column of every candidate, document by document.
    ///
    /// Columns whose bit is set in `masks` (one mask per tile, or none at all) are skipped.
    pub(super) fn scan(
        &mut self,
        columns: &Columns,
        masks: &[u64],
        level: Level,
        found: impl FnMut(usize, usize),
    ) {
        let layer = Layer { table: &columns.table, len: 1 };
        self.sweep(columns, layer, level, |batch, tiles, sums_per_span, n_docs| {
            for number in 0..n_docs {
                let n_tiles = tiles.len().min(batch.docs[number].n_tiles as usize - tiles.start);
                for tile in 0..n_tiles {
                    let place = number * sums_per_span + tile;
                    batch.collect(columns, masks, number, place, tiles.start + tile);
                }
            }
        });
        self.settle(found);
    }

    /// Like [`scan`](Self::scan), but scans groups first, and then only the columns of tiles in
    /// which a group may hold a candidate.
    pub(super) fn scan_groups(
        &mut self,
        columns: &Columns,
        masks: &[u64],
        level: Level,
        found: impl FnMut(usize, usize),
    ) {
        let layer = Layer { table: &columns.groups, len: columns.group_len };
        let n_groups = columns.n_columns.div_ceil(columns.group_len);
        self.sweep(columns, layer, level, |batch, tiles, sums_per_span, n_docs| {
            for number in 0..n_docs {
                let n_tiles = (batch.docs[number].n_tiles as usize).div_ceil(columns.group_len);
                for tile in tiles.start..tiles.end.min(n_tiles) {
                    let place = number * sums_per_span + tile - tiles.start;
                    batch.collect_groups(number, place, tile, n_groups, columns.group_len);
                }
            }
        });
        self.look_at_remaining(columns, masks, level);
        self.settle(found);
    }

    /// Sums a block of tiles at a time, and calls `collect` with the tiles, the number of sums per
    /// document, and the number of documents that scan them.
    fn sweep(
        &mut self,
        columns: &Columns,
        layer: Layer<'_>,
        level: Level,
        mut collect: impl FnMut(&mut Batch, Range<usize>, usize, usize),
    ) {
        let tiles_of = |doc: &DocBounds| (doc.n_tiles as usize).div_ceil(layer.len);
        let n_tiles = self.docs.first().map_or(0, tiles_of);
        let mut n_docs = self.docs.len();
        let sums_per_span = n_tiles.min(BLOCK_TILES);
        self.sums.sums.resize(n_docs * sums_per_span, TileSums([0; TILE]));
        self.sums.greatest.resize(n_docs * sums_per_span, 0);
        for first in (0..n_tiles).step_by(BLOCK_TILES) {
            let tiles = first..n_tiles.min(first + BLOCK_TILES);
            n_docs = self.docs[..n_docs].partition_point(|doc| tiles_of(doc) > first);
            self.sums.sums[..n_docs * sums_per_span].fill(TileSums([0; TILE]));
            self.sums.add_lists(&self.input, columns, layer, tiles.clone(), sums_per_span, n_docs);
            let spans = if layer.len == 1 { &self.input.of_columns } else { &self.input.of_groups };
            for number in tiles.clone() {
                let tile = Tile {
                    number,
                    lines: layer.table.tile(number),
                    next: if number + 1 < n_tiles { layer.table.tile(number + 1) } else { &[] },
                    first_sum: number - first,
                    sums_per_span,
                };
                let n_here = self.docs[..n_docs].partition_point(|doc| tiles_of(doc) > number);
                let spans = &spans[..n_here];
                self.sums.n_read += TILE as u64 * spans.last().map_or(0, |span| u64::from(span.end));
                self.sums.add_rows(&self.input, spans, tile, level);
            }
            collect(self, tiles, sums_per_span, n_docs);
        }
    }

    /// Reads candidates off the sums of one document in one tile.
    fn collect(&mut self, columns: &Columns, masks: &[u64], number: usize, place: usize, tile: usize) {
        let doc = &mut self.docs[number];
        let sums = &mut self.sums.sums[place].0;
        let mut greatest = self.sums.greatest[place];
        let mask = masks.get(tile).copied().unwrap_or(0);
        if mask != 0 && i32::from(greatest) >= doc.threshold() {
            sums.iter_mut().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).for_each(|(_, sum)| *sum = 0);
            greatest = sums.iter().copied().fold(0, u16::max);
        }
        // A masked column that does not reach the threshold does not raise it, either.
        let greatest = i32::from(greatest);
        doc.best = doc.best.max(greatest);
        let threshold = doc.threshold();
        if greatest < threshold {
            doc.best_loser = doc.best_loser.max(greatest);
            return;
        }
        let first_column = tile * TILE;
        let blank = self.input.of_columns[number].blank;
        for (bit, &sum) in sums.iter().take(columns.n_columns - first_column).enumerate() {
            let column = (first_column + bit) as u32;
            if i32::from(sum) < threshold {
                doc.best_loser = doc.best_loser.max(i32::from(sum));
            } else if column != blank && mask >> bit & 1 == 0 {
                doc.n_candidates += 1;
                if !doc.is_heavy() {
                    self.candidates.push(Candidate { doc: number as u32, column, sum });
                }
            }
        }
    }

    /// Reads the sums of one document in one tile of groups, and notes the tiles that it must scan.
    fn collect_groups(
        &mut self,
        number: usize,
        place: usize,
        tile: usize,
        n_groups: usize,
        group_len: usize,
    ) {
        let doc = &mut self.docs[number];
        let (greatest, threshold) = (i32::from(self.sums.greatest[place]), doc.threshold());
        if greatest < threshold {
            doc.best_loser = doc.best_loser.max(greatest);
            return;
        }
        for (group, &sum) in self.sums.sums[place].0.iter().take(n_groups - tile * TILE).enumerate() {
            if i32::from(sum) < threshold {
                doc.best_loser = doc.best_loser.max(i32::from(sum));
            } else {
                let remaining = (((tile * TILE + group) * group_len / TILE) as u32, number as u32);
                if self.remaining.last() != Some(&remaining) {
                    self.remaining.push(remaining);
                }
            }
        }
    }

    /// Bounds the similarities to the columns of the remaining tiles.
    fn look_at_remaining(&mut self, columns: &Columns, masks: &[u64], level: Level) {
        let mut remaining = std::mem::take(&mut self.remaining);
        remaining.sort_unstable();
        for group in remaining.chunk_by(|a, b| a.0 == b.0) {
            let number = group[0].0 as usize;
            self.remaining_docs.clear();
            self.remaining_docs.extend(group.iter().map(|&(_, doc)| self.input.of_columns[doc as usize]));
            let docs = group.iter().map(|&(_, doc)| doc as usize);
            self.sums.set_to_lists(&self.input, columns, number, docs);
            let tile =
                Tile { number, lines: columns.table.tile(number), next: &[], first_sum: 0, sums_per_span: 1 };
            let spans = &self.remaining_docs;
            self.sums.n_read +=
                spans.iter().map(|span| TILE as u64 * u64::from(span.end - span.start)).sum::<u64>();
            self.sums.add_rows(&self.input, spans, tile, level);
            for (place, &(_, doc)) in group.iter().enumerate() {
                self.collect(columns, masks, doc as usize, place, number);
            }
        }
        self.remaining = remaining;
    }

    /// Calls `found` with document and column of every candidate, document by document, except
    /// heavy documents.
    fn settle(&mut self, mut found: impl FnMut(usize, usize)) {
        self.candidates.sort_unstable_by_key(|candidate| (candidate.doc, candidate.column));
        for candidate in &self.candidates {
            let doc = &mut self.docs[candidate.doc as usize];
            if doc.is_heavy() {
                continue;
            }
            if i32::from(candidate.sum) >= doc.threshold() {
                found(candidate.doc as usize, candidate.column as usize);
            } else {
                doc.best_loser = doc.best_loser.max(i32::from(candidate.sum));
            }
        }
    }
}

/// Upper bound on the memory of a batch of at most `n_docs` documents with `n_terms` terms (or one
/// longer document).
pub(super) fn most_bytes(sizes: &Sizes, n_docs: usize, n_terms: usize) -> u64 {
    let n_tiles = sizes.n_clusters.div_ceil(TILE as u64).min(BLOCK_TILES as u64);
    let n_terms = sizes.nnz.min(sizes.max_row_nnz.max(n_terms as u64));
    let sums = (2 * TILE as u64 + 2) * sizes.n_rows.min(n_docs as u64) * n_tiles;
    sums + 36 * n_terms + 8 * sizes.max_row_nnz + 10_000
}
