//! The centroids in bytes, rounded up: upper bounds of many similarities at once.
//!
//! Each centroid is a *column*; the order of columns is the caller's. A term that occurs in a good share of the centroids has a *table row*: one byte a column, the value
//! divided by the greatest value of that term, in units of 1/255, rounded up. Rarer terms have a list of columns and bytes. For a document, `value * greatest` of each term is a 16-bit weight,
//! rounded up; adding `byte * weight` over its terms in 16-bit integers (`simd/`) gives, but for known rounding, an upper bound of every similarity.
//!
//! # Proof
//!
//! Let `S` = [`UNITS`]. For a term with the greatest centroid value `r`, a centroid value `c <= r` and a row value `x`, all not negative:
//!
//! - the byte `q` satisfies `255 c / r <= q <= 255 c / r + 1 + 2^-10`: it is the ceiling of `c * inverse` with `inverse >= 255 / r`, or 255 if that is less, and `255 c / r` never exceeds 255;
//! - the weight `w` satisfies `256/255 S x r (1 + 1e-6) <= w <= 256/255 S x r (1 + 3e-6) + 1`: three roundings to f32 err by less than 2e-7 in all;
//! - so `q w / 256 >= S x c (1 + 1e-6)`, and the product rounded down is less by less than 1.
//!
//! Adding up over the n terms of a row that have a weight: `sum + n >= S * similarity`, where the factor `1 + 1e-6` covers the rounding of the computed similarity
//! for rows of up to 2^30 terms. Sums that reach 65,535 stop there and bound nothing: callers take such columns as candidates. In the other direction
//! `q w / 256 <= S x c (1 + 4e-6) + w / 256 + 2`, so `sum <= S * similarity * (1 + 4e-6) + E` with `E = sum of (w / 256 + 2)`.
//!
//! **Cost.** Memory: a table row is k bytes (rounded up to whole tiles) for a term with at least `k / `[`MIN_SHARE`] entries, so at most [`MIN_SHARE`] bytes for each of these; at most 65,536 such rows; 4 bytes for every other entry; 24 bytes a term.
//! A batch of 1,024 documents has 5 MB of sums.

use std::ops::Range;

use rayon::prelude::*;

use super::arranged::TermRanks;
use crate::simd::{self, Docs, Level, Line, TILE, Tile, TileSums, Weighted};
use crate::update::Centroids;
use crate::vectors::Row;

/// What a similarity of 1 is in the integers of the bounds. Weights, which may exceed this by a part in 200, fit into 16 bits.
pub(super) const UNITS: f64 = 65_000.0;

/// A term has a table row if at least one column in so many has an entry.
const MIN_SHARE: usize = 48;

/// A document with more candidates than this gets all its similarities through posting lists.
const MAX_CANDIDATES: u32 = 32;

/// Table rows have numbers of 16 bits; what is left over goes into lists.
const MAX_TABLE_ROWS: usize = 1 << 16;

/// Terms are divided into so many ranges for each thread.
const RANGES_PER_THREAD: usize = 4;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Columns {
    n_columns: usize,
    /// By rank.
    places: Vec<Place>,
    /// By term; used while columns are built.
    by_term: Vec<Place>,
    /// Tile by tile; in each, one row after the other.
    table: Vec<Line>,
    n_table_rows: usize,
    /// Column times 256 plus byte, ascending for each term.
    postings: Vec<u32>,
}

/// Where the entries of one term are.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The number of the table row, or where the postings begin (while they are filled in: where the next one goes).
    start: u32,
    /// How many postings there are, or [`IN_TABLE`].
    len: u32,
    /// The greatest value; 0 if there are no entries.
    greatest: f32,
}

const IN_TABLE: u32 = u32::MAX;

/// Tiles that are worked on together: the sums of a batch in them are to stay in cache.
const BLOCK_TILES: usize = 40;

/// Some documents: [`Batch::clear`], then [`Columns::add`] each, those that look at more tiles first; then [`Columns::scan`].
#[derive(Default)]
pub(super) struct Batch {
    /// The table rows of all documents; the first `n_rows` are in use.
    rows: Vec<Weighted>,
    n_rows: usize,
    row_ends: Vec<u32>,
    /// The posting lists of all documents; the first `n_lists` are in use. They are shortened as they are read.
    lists: Vec<List>,
    n_lists: usize,
    list_ends: Vec<u32>,
    blanks: Vec<u32>,
    pub(super) docs: Vec<DocBounds>,
    /// Candidates, by document and column.
    candidates: Vec<Candidate>,
    /// The sums of some tiles, document by document.
    sums: Vec<TileSums>,
    greatest: Vec<u16>,
    /// Table bytes and postings that were read.
    pub(super) n_read: u64,
}

/// What is known of a document's sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocBounds {
    n_tiles: u32,
    /// The least sum that a column with the own similarity can have; below zero if every one can.
    reaches_own: i32,
    /// `sum + below >= UNITS * similarity`.
    below: i32,
    /// `sum <= UNITS * similarity + above`.
    above: i32,
    /// The greatest sum so far.
    best: i32,
    /// The greatest sum of a column that is no candidate.
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

impl DocBounds {
    /// The least sum that the best column can have, as far as is known.
    fn threshold(&self) -> i32 {
        // The similarity of the best column is at least `best - above`; others must reach that.
        self.reaches_own.max(self.best - self.above - self.below - 1).max(0)
    }

    /// At least the similarity to any column that is no candidate.
    pub(super) fn loser_bound(&self) -> f64 {
        f64::from(self.best_loser + self.below) / UNITS
    }

    /// Whether there were too many candidates to keep them.
    pub(super) fn is_heavy(&self) -> bool {
        self.n_candidates > MAX_CANDIDATES
    }
}

impl Batch {
    /// Forgets all documents.
    pub(super) fn clear(&mut self) {
        self.n_rows = 0;
        self.row_ends.clear();
        self.n_lists = 0;
        self.list_ends.clear();
        self.blanks.clear();
        self.docs.clear();
        self.candidates.clear();
        self.n_read = 0;
    }

    fn make_room(&mut self, n_terms: usize) {
        if self.rows.len() < self.n_rows + n_terms {
            self.rows.resize(2 * (self.n_rows + n_terms), Weighted::default());
        }
        if self.lists.len() < self.n_lists + n_terms {
            self.lists.resize(2 * (self.n_lists + n_terms), List::default());
        }
    }

    /// Reads candidates off the sums of some tiles.
    fn collect(&mut self, tiles: Range<usize>, sums_a_doc: usize, n_docs: usize, n_columns: usize) {
        for (number, doc) in self.docs[..n_docs].iter_mut().enumerate() {
            let n_tiles = tiles.len().min(doc.n_tiles as usize - tiles.start);
            let first = number * sums_a_doc;
            for (tile, &greatest) in self.greatest[first..first + n_tiles].iter().enumerate() {
                let greatest = i32::from(greatest);
                doc.best = doc.best.max(greatest);
                let threshold = doc.threshold();
                if greatest < threshold {
                    doc.best_loser = doc.best_loser.max(greatest);
                    continue;
                }
                let first_column = (tiles.start + tile) * TILE;
                let sums = self.sums[first + tile].0.iter().take(n_columns - first_column);
                for (column, &sum) in sums.enumerate() {
                    let column = (first_column + column) as u32;
                    if i32::from(sum) < threshold {
                        doc.best_loser = doc.best_loser.max(i32::from(sum));
                    } else if column != self.blanks[number] {
                        doc.n_candidates += 1;
                        if !doc.is_heavy() {
                            self.candidates.push(Candidate { doc: number as u32, column, sum });
                        }
                    }
                }
            }
        }
    }

    /// Calls `found` with document and column of every candidate, document by document, heavy ones left out.
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

/// A posting list and what it counts.
#[derive(Clone, Copy, Default)]
struct List {
    start: u32,
    len: u32,
    weight: u16,
}

impl Columns {
    /// Takes these clusters as columns.
    pub(super) fn build(&mut self, centroids: &Centroids, ranks: &TermRanks, clusters: &[u32]) {
        let n_terms = centroids.n_terms();
        self.n_columns = clusters.len();
        let columns: Vec<Row<'_>> = clusters.iter().map(|&j| centroids.row(j as usize)).collect();
        let ranges = TermRanges::new(&columns, n_terms);

        // Entries and greatest value of each term.
        self.by_term.clear();
        self.by_term.resize(n_terms, Place::default());
        self.by_term.par_chunks_mut(ranges.width).enumerate().for_each(|(range, terms)| {
            let first = range * ranges.width;
            for (column, row) in columns.iter().enumerate() {
                for (term, value) in ranges.part(row, column, range).iter() {
                    let term = &mut terms[term as usize - first];
                    term.len += 1;
                    term.greatest = term.greatest.max(value);
                }
            }
        });

        // Where everything will stand: postings in the order of terms, table rows in that of ranks.
        let min_len = (clusters.len() / MIN_SHARE).max(2) as u32;
        let mut in_table = 0;
        for &term in &ranks.term_of {
            let term = &mut self.by_term[term as usize];
            if term.len >= min_len {
                term.len = IN_TABLE;
                in_table += 1;
                if in_table == MAX_TABLE_ROWS {
                    break;
                }
            }
        }
        let mut n_postings = 0u32;
        let mut ends = Vec::with_capacity(ranges.n_ranges);
        for terms in self.by_term.chunks_mut(ranges.width) {
            for term in terms {
                if term.len != IN_TABLE {
                    term.start = n_postings;
                    n_postings = n_postings.checked_add(term.len).expect("fewer than 2^32 postings");
                }
            }
            ends.push(n_postings as usize);
        }
        self.places.clear();
        let mut n_table_rows = 0;
        self.places.extend(ranks.term_of.iter().map(|&term| {
            let term = &mut self.by_term[term as usize];
            if term.len == IN_TABLE {
                term.start = n_table_rows;
                n_table_rows += 1;
            }
            *term
        }));
        self.n_table_rows = n_table_rows as usize;

        // Each tile is filled by itself; and so is each range of postings.
        let n_tiles = clusters.len().div_ceil(TILE);
        self.table.resize(self.n_table_rows * n_tiles, Line([0; TILE]));
        let by_term = &self.by_term;
        if self.n_table_rows > 0 {
            let tiles = self.table.par_chunks_exact_mut(self.n_table_rows).zip(columns.par_chunks(TILE));
            tiles.for_each(|(lines, columns)| {
                lines.fill(Line([0; TILE]));
                for (column, row) in columns.iter().enumerate() {
                    let byte_at = simd::byte_of(column);
                    for (term, value) in row.iter() {
                        let term = by_term[term as usize];
                        if term.len == IN_TABLE {
                            lines[term.start as usize].0[byte_at] = byte_above(value, term.greatest);
                        }
                    }
                }
            });
        }
        self.postings.resize(n_postings as usize, 0);
        let mut parts = Vec::with_capacity(ends.len());
        let (mut postings, mut begin) = (&mut self.postings[..], 0);
        for &end in &ends {
            let (own, rest) = postings.split_at_mut(end - begin);
            postings = rest;
            parts.push((begin, own));
            begin = end;
        }
        let terms = self.by_term.par_chunks_mut(ranges.width);
        terms.zip(parts).enumerate().for_each(|(range, (terms, (first_posting, postings)))| {
            if postings.is_empty() {
                return;
            }
            let first = range * ranges.width;
            for (column, row) in columns.iter().enumerate() {
                for (term, value) in ranges.part(row, column, range).iter() {
                    let term = &mut terms[term as usize - first];
                    if term.len != IN_TABLE {
                        let byte = byte_above(value, term.greatest);
                        postings[term.start as usize - first_posting] =
                            (column as u32) << 8 | u32::from(byte);
                        term.start += 1;
                    }
                }
            }
        });
    }

    /// Asks for what [`Columns::add`] will look up.
    #[inline]
    pub(super) fn prefetch(&self, row: Row<'_>) {
        row.terms.iter().for_each(|&rank| simd::prefetch(&self.places, rank as usize));
    }

    /// Adds a document to a batch: it looks at the columns of the first tiles, but not at `own_column`, for candidates that reach the similarity `own`.
    ///
    /// The row's terms are ranks.
    #[inline]
    pub(super) fn add(&self, row: Row<'_>, n_tiles: usize, own_column: u32, own: f64, batch: &mut Batch) {
        // Whether a term is in the table or in a list cannot be foreseen, so it is written to both, and one of them is kept.
        batch.make_room(row.nnz());
        let rows = &mut batch.rows[batch.n_rows..][..row.nnz()];
        let lists = &mut batch.lists[batch.n_lists..][..row.nnz()];
        let (mut n_rows, mut n_lists, mut total) = (0, 0, 0u32);
        for (rank, value) in row.iter() {
            let Place { start, len, greatest } = self.places[rank as usize];
            let weight = weight_above(value, greatest);
            total += u32::from(weight);
            rows[n_rows] = Weighted { row: start as u16, weight };
            lists[n_lists] = List { start, len, weight };
            let in_table = usize::from(len == IN_TABLE);
            n_rows += in_table;
            n_lists += usize::from(len != IN_TABLE && len > 0);
        }
        lists[..n_lists].iter().for_each(|list| simd::prefetch(&self.postings, list.start as usize));
        batch.n_rows += n_rows;
        batch.row_ends.push(batch.n_rows as u32);
        batch.n_lists += n_lists;
        batch.list_ends.push(batch.n_lists as u32);
        batch.blanks.push(own_column);
        batch.n_read += (n_tiles * TILE * n_rows) as u64;
        let below = row.nnz() as i32;
        batch.docs.push(DocBounds {
            n_tiles: n_tiles as u32,
            reaches_own: (own * UNITS).floor().max(-1.0) as i32 - below - 1,
            below,
            above: (total / 256) as i32 + 1 + 2 * below,
            best: 0,
            best_loser: 0,
            n_candidates: 0,
        });
    }

    /// Bounds the similarities of all documents of a batch. Calls `found` with document and column of every candidate, document by document.
    pub(super) fn scan(&self, level: Level, batch: &mut Batch, found: impl FnMut(usize, usize)) {
        let n_rows = self.n_table_rows;
        let tile_lines = |tile: usize| self.table.get(tile * n_rows..(tile + 1) * n_rows).unwrap_or_default();
        let n_tiles = batch.docs.first().map_or(0, |doc| doc.n_tiles as usize);
        let mut n_docs = batch.docs.len();
        let sums_a_doc = n_tiles.min(BLOCK_TILES);
        batch.sums.resize(n_docs * sums_a_doc, TileSums([0; TILE]));
        batch.greatest.resize(n_docs * sums_a_doc, 0);
        for first in (0..n_tiles).step_by(BLOCK_TILES) {
            let tiles = first..n_tiles.min(first + BLOCK_TILES);
            n_docs = batch.docs[..n_docs].partition_point(|doc| doc.n_tiles as usize > first);
            batch.sums[..n_docs * sums_a_doc].fill(TileSums([0; TILE]));
            self.add_lists(batch, tiles.clone(), sums_a_doc, n_docs);
            let docs =
                Docs { rows: &batch.rows[..batch.n_rows], ends: &batch.row_ends, blanks: &batch.blanks };
            for number in tiles.clone() {
                let tile = Tile {
                    number,
                    lines: tile_lines(number),
                    next: if number + 1 < n_tiles { tile_lines(number + 1) } else { &[] },
                    n_docs: batch.docs[..n_docs].partition_point(|doc| doc.n_tiles as usize > number),
                    first_sum: number - first,
                    sums_a_doc,
                };
                simd::accumulate(level, tile, docs, &mut batch.sums, &mut batch.greatest);
            }
            batch.collect(tiles, sums_a_doc, n_docs, self.n_columns);
        }
        batch.settle(found);
    }

    /// Adds what stands in lists for some tiles.
    fn add_lists(&self, batch: &mut Batch, tiles: Range<usize>, sums_a_doc: usize, n_docs: usize) {
        let end_column = tiles.end * TILE;
        let mut first = 0;
        let sums = batch.sums.chunks_exact_mut(sums_a_doc.max(1));
        for (sums, &end) in sums.zip(&batch.list_ends[..n_docs]) {
            for list in &mut batch.lists[first as usize..end as usize] {
                let postings = &self.postings[list.start as usize..(list.start + list.len) as usize];
                let mut n_read = 0;
                for &posting in postings {
                    let (column, byte) = ((posting >> 8) as usize, posting & 255);
                    if column >= end_column {
                        break;
                    }
                    let column = column - tiles.start * TILE;
                    let sum = &mut sums[column / TILE].0[column % TILE];
                    *sum = sum.saturating_add(((byte * u32::from(list.weight)) >> 8) as u16);
                    n_read += 1;
                }
                list.start += n_read;
                list.len -= n_read;
                batch.n_read += u64::from(n_read);
            }
            first = end;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        24 * self.places.len() + size_of_val(&self.table[..]) + size_of_val(&self.postings[..])
    }
}

/// Where each range of terms begins in each centroid.
struct TermRanges {
    /// Terms a range.
    width: usize,
    n_ranges: usize,
    /// For each column, where each range begins, and one more at the end.
    cuts: Vec<u32>,
}

impl TermRanges {
    fn new(columns: &[Row<'_>], n_terms: usize) -> Self {
        let n_ranges = RANGES_PER_THREAD * rayon::current_num_threads();
        let width = n_terms.div_ceil(n_ranges).max(1);
        let n_ranges = n_terms.div_ceil(width);
        let mut cuts = vec![0; columns.len() * (n_ranges + 1)];
        cuts.par_chunks_mut(n_ranges + 1).zip(columns).for_each(|(cuts, row)| {
            for (range, cut) in cuts.iter_mut().enumerate() {
                *cut = row.terms.partition_point(|&term| (term as usize) < range * width) as u32;
            }
        });
        TermRanges { width, n_ranges, cuts }
    }

    fn part<'a>(&self, row: &Row<'a>, column: usize, range: usize) -> Row<'a> {
        let cuts = &self.cuts[column * (self.n_ranges + 1)..][range..range + 2];
        let part = cuts[0] as usize..cuts[1] as usize;
        Row { terms: &row.terms[part.clone()], values: &row.values[part] }
    }
}

/// `255 value / greatest`, rounded up.
#[inline]
fn byte_above(value: f32, greatest: f32) -> u8 {
    const ABOVE: f32 = 255.0 * (1.0 + 1e-6);
    let units = (value * (ABOVE / greatest)).min(255.0);
    let floor = units as i32;
    (floor + i32::from(units > floor as f32)) as u8
}

/// `256/255 UNITS value greatest`, rounded up and a little more.
#[inline]
fn weight_above(value: f32, greatest: f32) -> u16 {
    const ABOVE: f32 = (UNITS * 256.0 / 255.0 * (1.0 + 2e-6)) as f32;
    (value * greatest * ABOVE) as u16 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::reference_similarity;
    use crate::simd::Simd;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rows(n_terms: usize, list: &[BTreeMap<u32, f32>]) -> UnitRows<'static> {
        let mut offsets = vec![0u64];
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        for row in list {
            terms.extend(row.keys());
            values.extend(row.values());
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(n_terms, offsets, terms, values).unwrap())
    }

    fn entries(n_terms: u32) -> impl Strategy<Value = BTreeMap<u32, f32>> {
        let value = prop_oneof![4 => 0.001f32..1.0, 1 => Just(1.0), 1 => 1e-30f32..1e-3];
        prop::collection::btree_map(0..n_terms, value, 1..(n_terms as usize))
    }

    /// A row with ranks for terms.
    fn ranked(row: Row<'_>, ranks: &TermRanks) -> (Vec<u32>, Vec<f32>) {
        (row.terms.iter().map(|&term| ranks.rank_of[term as usize]).collect(), row.values.to_vec())
    }

    proptest! {
        /// Both inequalities of the module, for every column, in the table or in lists, on every level.
        #[test]
        fn sums_bound_similarities_from_both_sides(
            centroids in prop::collection::vec(entries(30), 1..150),
            docs in prop::collection::vec(entries(30), 1..5),
        ) {
            let docs = rows(30, &docs);
            let centroids = Centroids::from_rows(rows(30, &centroids).as_sparse().clone());
            let ranks = TermRanks::new(&docs);
            let live = centroids.live();
            let mut columns = Columns::default();
            columns.build(&centroids, &ranks, &live);
            for level in Simd::ALL.into_iter().filter_map(Level::of) {
                for doc in 0..docs.n_rows() {
                    let (terms, values) = ranked(docs.row(doc), &ranks);
                    let mut batch = Batch::default();
                    // With an own similarity of minus infinity only the best column decides who is a candidate.
                    let row = Row { terms: &terms, values: &values };
                    let n_tiles = live.len().div_ceil(TILE);
                    columns.add(row, n_tiles, u32::MAX, f64::NEG_INFINITY, &mut batch);
                    let mut candidates = Vec::new();
                    columns.scan(level, &mut batch, |_, column| candidates.push(column));
                    let bounds = batch.docs[0];
                    let similarities: Vec<f64> = live
                        .iter()
                        .map(|&j| reference_similarity(docs.row(doc), centroids.row(j as usize)))
                        .collect();
                    let best = similarities.iter().copied().fold(0.0, f64::max);
                    for (column, &similarity) in similarities.iter().enumerate() {
                        if candidates.contains(&column) || bounds.is_heavy() {
                            continue;
                        }
                        prop_assert!(similarity < best, "the best is a candidate");
                        prop_assert!(similarity <= bounds.loser_bound(), "a loser is bounded");
                    }
                    // Tight, too: the best sum is no further above the best similarity than stated.
                    prop_assert!(f64::from(bounds.best) <= UNITS * best * (1.0 + 4e-6) + f64::from(bounds.above));
                }
            }
        }

        #[test]
        fn a_byte_and_a_weight_are_never_too_small(value in 1e-38f32..1.0, share in 0.0f32..=1.0, x in 1e-38f32..1.0) {
            let (greatest, value) = (value, value * share);
            let byte = f64::from(byte_above(value, greatest));
            prop_assert!(byte >= 255.0 * f64::from(value) / f64::from(greatest) && byte <= 255.0);
            let weight = f64::from(weight_above(x, greatest));
            let exact = 256.0 / 255.0 * UNITS * f64::from(x) * f64::from(greatest);
            prop_assert!(weight >= exact * (1.0 + 1e-6) && weight <= exact * (1.0 + 3e-6) + 1.0);
        }
    }

    #[test]
    fn the_greatest_weight_fits() {
        let longest = 1.0 + crate::vectors::UNIT_TOLERANCE as f32;
        assert!(weight_above(longest, longest) > 65_000);
    }
}
