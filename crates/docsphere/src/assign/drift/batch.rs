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

use std::ops::Range;

use super::columns::{Columns, NO_ROW, Table, UNITS};
use crate::assign::Sizes;
use crate::simd::{self, Level, Lookup, Rest, SPARE, Span, Spans, TILE, Tile, TileSums, Weighted};
use crate::vectors::Row;

/// A document with more candidates than this gets all its similarities through posting lists.
const MAX_CANDIDATES: u32 = 32;

/// Tiles processed together, so that the sums of a batch in them stay in cache.
const BLOCK_TILES: usize = 40;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Batch {
    /// The table rows of all documents; for each document, those of columns precede those of groups
    /// only. The first `n_rows` are in use.
    rows: Vec<Weighted>,
    n_rows: usize,
    /// The terms of one document that have no table row of columns.
    rest: Vec<Rest>,
    /// The posting lists of all documents.
    lists: Vec<List>,
    list_ends: Vec<u32>,
    /// The documents and their spans for scanning columns.
    of_columns: Vec<Span>,
    /// The documents and their spans for scanning groups.
    of_groups: Vec<Span>,
    pub(super) docs: Vec<DocBounds>,
    /// Tiles still to scan, and their documents.
    remaining: Vec<(u32, u32)>,
    /// The documents of one of these tiles.
    remaining_docs: Vec<Span>,
    /// Candidates, by document and column.
    candidates: Vec<Candidate>,
    /// The sums of some tiles, document by document.
    sums: Vec<TileSums>,
    greatest: Vec<u16>,
    /// Number of table bytes and postings read.
    pub(super) n_read: u64,
}

/// Bounds on a document's sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocBounds {
    n_tiles: u32,
    /// The smallest sum that a column with the own similarity can have; negative if every column
    /// can.
    reaches_own: i32,
    /// `sum + below >= UNITS * similarity`.
    below: i32,
    /// `sum <= UNITS * similarity + above`, for a column.
    above: i32,
    /// The greatest sum of a column so far.
    best: i32,
    /// The greatest sum of a column that is not a candidate, or of a group that was left out.
    best_loser: i32,
    n_candidates: u32,
}

/// A column that a document may belong to.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    doc: u32,
    column: u32,
    sum: u16,
}

/// A posting list and its weight.
#[derive(Clone, Copy, Default)]
struct List {
    start: u32,
    len: u32,
    weight: u16,
    /// Whether groups have a table row for it.
    in_groups: bool,
}

/// What is summed: columns, or groups of columns.
#[derive(Clone, Copy)]
struct Layer<'a> {
    table: &'a Table,
    /// Columns per sum.
    len: usize,
}

impl DocBounds {
    /// The smallest sum that the best column can have, as far as is known.
    fn threshold(&self) -> i32 {
        // The similarity of the best column is at least `best - above`; others must reach that.
        self.reaches_own.max(self.best - self.above - self.below - 1).max(0)
    }

    /// Upper bound on the similarity to any column that is not a candidate.
    pub(super) fn loser_bound(&self) -> f64 {
        f64::from(self.best_loser + self.below) / UNITS
    }

    /// Whether there were too many candidates to keep them.
    pub(super) fn is_heavy(&self) -> bool {
        self.n_candidates > MAX_CANDIDATES
    }
}

impl Batch {
    /// Removes all documents.
    pub(super) fn clear(&mut self) {
        self.n_rows = 0;
        self.lists.clear();
        self.list_ends.clear();
        self.of_columns.clear();
        self.of_groups.clear();
        self.docs.clear();
        self.remaining.clear();
        self.candidates.clear();
        self.n_read = 0;
    }

    fn make_room(&mut self, n_terms: usize) {
        let n_rows = self.n_rows + n_terms + SPARE;
        if self.rows.len() < n_rows {
            self.rows.resize(2 * n_rows, Weighted::default());
        }
        if self.rest.len() < n_terms + SPARE {
            self.rest.resize(n_terms + SPARE, Rest::default());
        }
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
        row: Row<'_>,
        n_tiles: usize,
        own_column: u32,
        own: f64,
    ) {
        self.make_room(row.nnz());
        let start = self.n_rows as u32;
        let rows = &mut self.rows[self.n_rows..];
        let n_table_rows = columns.table.n_rows as u32;
        let entries = (row.terms, row.values);
        let (n_rows, total) =
            simd::weigh(level, &columns.lookups, n_table_rows, entries, rows, &mut self.rest);
        self.n_rows += n_rows;
        self.of_columns.push(Span { start, end: self.n_rows as u32, blank: own_column });
        for &Rest { term, weight } in &self.rest[..row.nnz() - n_rows] {
            let Lookup { row, carried: [start, len], .. } = columns.lookups[term as usize];
            if len > 0 {
                let weight = weight as u16;
                if row != NO_ROW {
                    self.rows[self.n_rows] = Weighted { row: row as u16, weight };
                    self.n_rows += 1;
                }
                simd::prefetch(&columns.postings, start as usize);
                self.lists.push(List { start, len, weight, in_groups: row != NO_ROW });
            }
        }
        self.of_groups.push(Span { start, end: self.n_rows as u32, blank: u32::MAX });
        self.list_ends.push(self.lists.len() as u32);
        let below = row.nnz() as i32;
        self.docs.push(DocBounds {
            n_tiles: n_tiles as u32,
            reaches_own: (own * UNITS).floor().max(-1.0) as i32 - below - 1,
            below,
            above: (total / 256) as i32 + 1 + 2 * below,
            best: 0,
            best_loser: 0,
            n_candidates: 0,
        });
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
        self.sums.resize(n_docs * sums_per_span, TileSums([0; TILE]));
        self.greatest.resize(n_docs * sums_per_span, 0);
        for first in (0..n_tiles).step_by(BLOCK_TILES) {
            let tiles = first..n_tiles.min(first + BLOCK_TILES);
            n_docs = self.docs[..n_docs].partition_point(|doc| tiles_of(doc) > first);
            self.sums[..n_docs * sums_per_span].fill(TileSums([0; TILE]));
            self.add_lists(columns, layer, tiles.clone(), sums_per_span, n_docs);
            let docs = if layer.len == 1 { &self.of_columns } else { &self.of_groups };
            for number in tiles.clone() {
                let tile = Tile {
                    number,
                    lines: layer.table.tile(number),
                    next: if number + 1 < n_tiles { layer.table.tile(number + 1) } else { &[] },
                    first_sum: number - first,
                    sums_per_span,
                };
                let n_here = self.docs[..n_docs].partition_point(|doc| tiles_of(doc) > number);
                let docs = Spans { rows: &self.rows[..self.n_rows], spans: &docs[..n_here] };
                self.n_read += TILE as u64 * docs.spans.last().map_or(0, |doc| u64::from(doc.end));
                simd::accumulate(level, tile, docs, &mut self.sums, &mut self.greatest);
            }
            collect(self, tiles, sums_per_span, n_docs);
        }
    }

    /// Adds the posting lists for some tiles.
    fn add_lists(
        &mut self,
        columns: &Columns,
        layer: Layer<'_>,
        tiles: Range<usize>,
        sums_per_span: usize,
        n_docs: usize,
    ) {
        let (first_column, end_column) = (tiles.start * TILE * layer.len, tiles.end * TILE * layer.len);
        let shift = layer.len.ilog2();
        let mut first = 0;
        let sums = self.sums.chunks_exact_mut(sums_per_span.max(1));
        for (sums, &end) in sums.zip(&self.list_ends[..n_docs]) {
            for list in &self.lists[first as usize..end as usize] {
                if layer.len > 1 && list.in_groups {
                    continue;
                }
                self.n_read += list.add(columns, first_column, end_column, |column, amount| {
                    let place = column >> shift;
                    let sum = &mut sums[place / TILE].0[place % TILE];
                    *sum = sum.saturating_add(amount);
                });
            }
            first = end;
        }
    }

    /// Reads candidates off the sums of one document in one tile.
    fn collect(&mut self, columns: &Columns, masks: &[u64], number: usize, place: usize, tile: usize) {
        let doc = &mut self.docs[number];
        let sums = &mut self.sums[place].0;
        let mut greatest = self.greatest[place];
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
        let blank = self.of_columns[number].blank;
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
        let (greatest, threshold) = (i32::from(self.greatest[place]), doc.threshold());
        if greatest < threshold {
            doc.best_loser = doc.best_loser.max(greatest);
            return;
        }
        for (group, &sum) in self.sums[place].0.iter().take(n_groups - tile * TILE).enumerate() {
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
            self.remaining_docs.extend(group.iter().map(|&(_, doc)| self.of_columns[doc as usize]));
            if self.sums.len() < group.len() {
                self.sums.resize(group.len(), TileSums([0; TILE]));
                self.greatest.resize(group.len(), 0);
            }
            for (sums, &(_, doc)) in self.sums.iter_mut().zip(group) {
                sums.0.fill(0);
                let doc = doc as usize;
                let first = if doc == 0 { 0 } else { self.list_ends[doc - 1] };
                for list in &self.lists[first as usize..self.list_ends[doc] as usize] {
                    self.n_read += list.add(columns, number * TILE, (number + 1) * TILE, |column, amount| {
                        let sum = &mut sums.0[column];
                        *sum = sum.saturating_add(amount);
                    });
                }
            }
            let tile =
                Tile { number, lines: columns.table.tile(number), next: &[], first_sum: 0, sums_per_span: 1 };
            let docs = Spans { rows: &self.rows[..self.n_rows], spans: &self.remaining_docs };
            self.n_read +=
                docs.spans.iter().map(|doc| TILE as u64 * u64::from(doc.end - doc.start)).sum::<u64>();
            simd::accumulate(level, tile, docs, &mut self.sums, &mut self.greatest);
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

impl List {
    /// Calls `add` with column, counted from the first, and amount for each posting between the
    /// first and the last column. Returns the number of postings.
    #[inline]
    fn add(
        &self,
        columns: &Columns,
        first_column: usize,
        end_column: usize,
        mut add: impl FnMut(usize, u16),
    ) -> u64 {
        let mut postings = &columns.postings[self.start as usize..(self.start + self.len) as usize];
        if first_column > 0 {
            postings =
                &postings[postings.partition_point(|&posting| ((posting >> 8) as usize) < first_column)..];
        }
        let mut n_read = 0;
        for &posting in postings {
            let (column, byte) = ((posting >> 8) as usize, posting & 255);
            if column >= end_column {
                break;
            }
            add(column - first_column, ((byte * u32::from(self.weight)) >> 8) as u16);
            n_read += 1;
        }
        n_read
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::drift::arranged::TermRanks;
    use crate::assign::reference_similarity;
    use crate::centroids::Centroids;
    use crate::simd::Simd;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rows(n_terms: usize, list: &[BTreeMap<u32, f32>]) -> UnitRows<'static> {
        UnitRows::new(SparseRows::from_maps(n_terms, list))
    }

    fn entries(n_terms: u32, most: usize) -> impl Strategy<Value = BTreeMap<u32, f32>> {
        let value = prop_oneof![4 => 0.001f32..1.0, 1 => Just(1.0), 1 => 1e-30f32..1e-3];
        prop::collection::btree_map(0..n_terms, value, 1..most)
    }

    /// A row with ranks as terms.
    fn ranked(row: Row<'_>, ranks: &TermRanks) -> (Vec<u32>, Vec<f32>) {
        (row.terms.iter().map(|&term| ranks.rank_of[term as usize]).collect(), row.values.to_vec())
    }

    proptest! {
        /// Both inequalities of `columns.rs`, for every column, in the table or in lists, with and
        /// without groups, on every SIMD level.
        #[test]
        fn sums_bound_similarities_from_both_sides(
            centroids in prop_oneof![
                prop::collection::vec(entries(30, 30), 1..150),
                prop::collection::vec(entries(300, 4), 300..400),
            ],
            docs in prop::collection::vec(entries(300, 30), 1..5),
            own in prop_oneof![Just(f64::NEG_INFINITY), 0.0..0.7],
            masks in prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u64>(), 7)],
        ) {
            let docs = rows(300, &docs);
            let centroids = Centroids::from_rows(rows(300, &centroids).as_sparse().clone());
            let ranks = TermRanks::new(&docs);
            let live = centroids.live();
            let n_tiles = live.len().div_ceil(TILE);
            let mut columns = Columns::default();
            for (level, grouped) in Simd::ALL.iter().copied().filter_map(Level::of).flat_map(|level| [(level, false), (level, true)]) {
                columns.build(&centroids, &ranks, &live);
                if grouped && columns.group_len == 0 {
                    continue;
                }
                let mut batch = Batch::default();
                batch.clear();
                let ranked: Vec<_> = (0..docs.n_rows()).map(|doc| ranked(docs.row(doc), &ranks)).collect();
                for (terms, values) in &ranked {
                    batch.add(&columns, level, Row { terms, values }, n_tiles, u32::MAX, own);
                }
                let mut candidates = Vec::new();
                if grouped {
                    batch.scan_groups(&columns, &masks, level, |doc, column| candidates.push((doc, column)));
                } else {
                    batch.scan(&columns, &masks, level, |doc, column| candidates.push((doc, column)));
                }
                for (doc, &bounds) in batch.docs.iter().enumerate() {
                    let is_masked = |column: usize| {
                        masks.get(column / TILE).is_some_and(|mask| mask >> (column % TILE) & 1 == 1)
                    };
                    prop_assert!(candidates.iter().all(|&(_, column)| !is_masked(column)));
                    let of_column = |(column, &j): (usize, &u32)| {
                        let similarity = reference_similarity(docs.row(doc), centroids.row(j as usize));
                        (!is_masked(column)).then_some((column, similarity))
                    };
                    let similarities: Vec<(usize, f64)> =
                        live.iter().enumerate().filter_map(of_column).collect();
                    let best = similarities.iter().map(|&(_, similarity)| similarity).fold(0.0, f64::max);
                    for &(column, similarity) in &similarities {
                        if candidates.contains(&(doc, column)) || bounds.is_heavy() {
                            continue;
                        }
                        prop_assert!(similarity < best || best < own, "the best is a candidate");
                        prop_assert!(similarity <= bounds.loser_bound(), "a loser is bounded");
                    }
                    // Also tight: the best sum exceeds the best similarity by no more than stated,
                    // unless it is of a masked column that decides nothing.
                    if bounds.best >= bounds.reaches_own {
                        prop_assert!(f64::from(bounds.best) <= UNITS * best * (1.0 + 4e-6) + f64::from(bounds.above));
                    }
                }
            }
        }
    }
}
