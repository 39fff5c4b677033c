//! The most similar other centroids of each centroid.
//!
//! Centroids are cut into *blocks* of [`BLOCK_COLUMNS`], whose columns are built
//! ([`columns`](super::columns)), and all centroids scan them as documents do, packed like these,
//! with values rounded up. The sum of a column bounds its similarity from above. So in the first
//! block of a centroid the exact similarities of the m columns with the greatest sums give a bound
//! for the m-th best; then only columns whose sums reach that are compared, there and in all
//! further blocks, while the bound rises.
//!
//! A centroid of which that bound leaves out nothing, since hardly any other has a term of it, is
//! left to the caller: posting lists are best for it.
//!
//! Similarities are sums over the terms in ascending order, as everywhere: see ARCHITECTURE.md,
//! definition 2. Blocks are cut by the number of centroids alone, and nothing depends on threads.
//!
//! **Cost.** For k centroids with n entries: `k n` byte products, 64 at a time, and some hundred
//! exact similarities of each. Memory: the columns of one block, m neighbours of 16 bytes per
//! centroid; and per thread 8 kB for each of [`BATCH_ROWS`] rows, up to 36 bytes for each of their
//! entries, of which there are [`BATCH_ENTRIES`] or those of one row, and 8 per term.

use std::ops::Range;

use rayon::prelude::*;

use super::arranged::TermRanks;
use super::batch::Input;
use super::columns::{Columns, UNITS};
use crate::centroids::Centroids;
use crate::pool::Pool;
use crate::simd::{self, Level, Packed, Packing, Simd, Spans, TILE, Tile, TileSums};
use crate::vectors::Row;

/// Columns per block, at most.
const BLOCK_COLUMNS: usize = 64 * TILE;

/// Rows that scan a block together, at most.
const BATCH_ROWS: usize = 64;

/// Entries of these rows, unless one has more.
const BATCH_ENTRIES: usize = 1 << 15;

/// A centroid and its similarity.
pub(crate) type Near = (u32, f64);

/// The m most similar other centroids of each of `live`, most similar first, ties in ascending
/// order. `None` where posting lists are better, and for all if a value is negative.
///
/// `live` are the centroids that are not empty; there must be more than `m`.
pub(crate) fn nearest(centroids: &Centroids, live: &[u32], m: usize) -> Vec<Option<Vec<Near>>> {
    nearest_in_blocks(centroids, live, m, BLOCK_COLUMNS)
}

/// Upper bound on the memory of [`nearest`], its result included.
pub(crate) fn most_bytes(k: u64, n_terms: u64, n_entries: u64, m: u64, n_threads: u64) -> u64 {
    let columns = super::columns::most_plain_bytes(k.min(BLOCK_COLUMNS as u64), n_entries);
    let sums = (2 * BLOCK_COLUMNS + BLOCK_COLUMNS / 8) as u64;
    let rows = 36 * n_entries.min(BATCH_ENTRIES as u64 + n_terms);
    columns + 60 * n_terms + (40 * m + 100) * k + n_threads * (BATCH_ROWS as u64 * sums + rows + 8 * n_terms)
}

fn nearest_in_blocks(
    centroids: &Centroids,
    live: &[u32],
    m: usize,
    block_columns: usize,
) -> Vec<Option<Vec<Near>>> {
    assert!(m < live.len(), "fewer neighbours than centroids");
    let Some(level) = Level::of(Simd::Auto).filter(|_| centroids.is_non_negative()) else {
        return vec![None; live.len()];
    };
    let ranks = TermRanks::none(centroids.n_terms());
    let packing = Packing::for_terms(centroids.n_terms());
    let n_blocks = live.len().div_ceil(block_columns);
    let block_len = live.len().div_ceil(n_blocks).next_multiple_of(TILE);
    let mut columns = Columns::default();
    let scratch: Pool<Scratch> = Pool::default();
    let batches = batches(centroids, live);
    let mut found: Vec<Found> = live.par_iter().map(|_| Found::Some(Vec::new())).collect();
    for (number, block) in live.chunks(block_len).enumerate() {
        columns.build_plain(centroids, &ranks, block);
        let block = Block { centroids, clusters: block, columns: &columns, level, packing, m };
        let mut tasks = Vec::with_capacity(batches.len());
        let mut rest = &mut found[..];
        for batch in &batches {
            let (own, others) = rest.split_at_mut(batch.len());
            rest = others;
            tasks.push((batch.clone(), own));
        }
        tasks.into_par_iter().with_max_len(1).for_each(|(batch, found)| {
            let (first, clusters) = (batch.start, &live[batch]);
            scratch.with(|scratch| scratch.scan(&block, number * block_len, first, clusters, found));
        });
    }
    found.into_iter().map(Found::done).collect()
}

/// Ranges of centroids that scan blocks together.
fn batches(centroids: &Centroids, live: &[u32]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut n_entries) = (0, 0);
    for (place, &cluster) in live.iter().enumerate() {
        let nnz = centroids.row(cluster as usize).nnz();
        if place > start && (place - start == BATCH_ROWS || n_entries + nnz > BATCH_ENTRIES) {
            batches.push(start..place);
            (start, n_entries) = (place, 0);
        }
        n_entries += nnz;
    }
    batches.push(start..live.len());
    batches
}

/// What is known of the neighbours of a centroid.
enum Found {
    /// The best so far, sorted; as many as wanted if so many were seen.
    Some(Vec<Near>),
    /// Posting lists are better.
    Left,
}

impl Found {
    fn done(self) -> Option<Vec<Near>> {
        match self {
            Found::Some(near) => Some(near),
            Found::Left => None,
        }
    }
}

/// Some columns, and what is sought in them.
struct Block<'a> {
    centroids: &'a Centroids,
    /// The centroid of each column.
    clusters: &'a [u32],
    columns: &'a Columns,
    level: Level,
    packing: Packing,
    m: usize,
}

/// The memory of a task.
#[derive(Default)]
struct Scratch {
    input: Input,
    /// A centroid as the scan reads it.
    entries: Vec<u32>,
    sums: Vec<TileSums>,
    greatest: Vec<u16>,
    /// A centroid by term; all zero.
    dense: Vec<f32>,
    /// Sums and columns of one row.
    candidates: Vec<(u16, u32)>,
    similar: Vec<Near>,
}

impl Scratch {
    /// Looks for neighbours of some centroids in a block. `first_column` is the place of its first
    /// column among all, `first_row` that of these centroids.
    fn scan(
        &mut self,
        block: &Block<'_>,
        first_column: usize,
        first_row: usize,
        clusters: &[u32],
        found: &mut [Found],
    ) {
        self.input.clear();
        for (row, &cluster) in clusters.iter().enumerate() {
            // In this block or not: tiles compare it with their columns.
            let own = (first_row + row).checked_sub(first_column).map_or(u32::MAX, |own| own as u32);
            let entries = block.centroids.row(cluster as usize).iter();
            self.entries.clear();
            self.entries.extend(entries.map(|(term, value)| block.packing.pack(term, value)));
            let row = Packed { entries: &self.entries, packing: block.packing };
            self.input.add(block.columns, block.level, row, own);
        }
        let n_tiles = block.columns.n_tiles();
        self.sums.clear();
        self.sums.resize(clusters.len() * n_tiles, TileSums([0; TILE]));
        self.greatest.clear();
        self.greatest.resize(clusters.len() * n_tiles, 0);
        for (row, sums) in self.sums.chunks_exact_mut(n_tiles).enumerate() {
            for list in self.input.lists(row) {
                list.add(block.columns, 0, n_tiles * TILE, |column, amount| {
                    let sum = &mut sums[column / TILE].0[column % TILE];
                    *sum = sum.saturating_add(amount);
                });
            }
        }
        let spans = Spans { rows: self.input.rows(), spans: &self.input.of_columns };
        for number in 0..n_tiles {
            let tile = Tile {
                number,
                lines: block.columns.table.tile(number),
                next: if number + 1 < n_tiles { block.columns.table.tile(number + 1) } else { &[] },
                first_sum: number,
                sums_per_span: n_tiles,
            };
            simd::accumulate(block.level, tile, spans, &mut self.sums, &mut self.greatest);
        }
        self.dense.resize(block.centroids.n_terms(), 0.0);
        for (row, (found, &cluster)) in found.iter_mut().zip(clusters).enumerate() {
            let Found::Some(near) = found else { continue };
            let own = self.input.of_columns[row].blank;
            if !self.improve(block, row, own, block.centroids.row(cluster as usize), near) {
                *found = Found::Left;
            }
        }
    }

    /// Adds the columns of a block that are among the m most similar to a row. Returns whether
    /// bounds left anything out.
    fn improve(
        &mut self,
        block: &Block<'_>,
        row: usize,
        own: u32,
        centroid: Row<'_>,
        near: &mut Vec<Near>,
    ) -> bool {
        let n_tiles = block.columns.n_tiles();
        let tiles = row * n_tiles..(row + 1) * n_tiles;
        let sums = || {
            let sums = self.sums[tiles.clone()].iter().flat_map(|sums| sums.0);
            sums.zip(0u32..).take(block.clusters.len()).filter(|&(_, column)| column != own)
        };
        // The sum that a column as similar as the m-th has at least, if that is known.
        let lowest = |near: &[Near]| {
            let (_, similarity) = near.get(block.m - 1)?;
            let sum = (similarity * UNITS).floor() as i64 - centroid.nnz() as i64 - 1;
            // Sums end there.
            Some(sum.min(i64::from(u16::MAX)))
        };
        centroid.iter().for_each(|(term, value)| self.dense[term as usize] = value);
        self.similar.clear();
        let mut least = lowest(near);
        let mut compared_from = u32::MAX;
        if least.is_none() {
            // All columns with a sum as great as the m-th greatest.
            self.candidates.clear();
            self.candidates.extend(sums());
            let m = block.m.min(self.candidates.len());
            if m > 0 {
                let (_, &mut (sum, _), _) = self.candidates.select_nth_unstable_by(m - 1, |a, b| b.cmp(a));
                compared_from = u32::from(sum);
            }
            let first = self.candidates.iter().filter(|candidate| u32::from(candidate.0) >= compared_from);
            for &(_, column) in first {
                self.similar.push(similar(block, &self.dense, column));
            }
            take_best(near, &mut self.similar, block.m);
            least = lowest(near);
        }
        let is_bounded = least.is_some_and(|least| least > 0);
        // Without a bound every column counts: fewer than m were seen, or there is nothing in
        // common.
        if is_bounded || near.len() < block.m {
            let least = least.unwrap_or(0).max(0) as u32;
            for tile in 0..n_tiles {
                if u32::from(self.greatest[row * n_tiles + tile]) < least {
                    continue;
                }
                let first = tile * TILE;
                for (column, &sum) in (first as u32..).zip(&self.sums[row * n_tiles + tile].0) {
                    let sum = u32::from(sum);
                    let is_new = sum >= least && sum < compared_from;
                    if is_new && column != own && (column as usize) < block.clusters.len() {
                        self.similar.push(similar(block, &self.dense, column));
                    }
                }
            }
            take_best(near, &mut self.similar, block.m);
        }
        centroid.terms.iter().for_each(|&term| self.dense[term as usize] = 0.0);
        is_bounded || near.len() < block.m
    }
}

/// A column and its similarity to a centroid that is given by term.
fn similar(block: &Block<'_>, dense: &[f32], column: u32) -> Near {
    let cluster = block.clusters[column as usize];
    let mut sum = 0.0;
    for (term, value) in block.centroids.row(cluster as usize).iter() {
        sum += f64::from(value) * f64::from(dense[term as usize]);
    }
    (cluster, sum)
}

/// Puts the best of both lists into the first, sorted.
fn take_best(best: &mut Vec<Near>, others: &mut Vec<Near>, m: usize) {
    let order = |a: &Near, b: &Near| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    best.append(others);
    if best.len() > m {
        best.select_nth_unstable_by(m - 1, order);
        best.truncate(m);
    }
    best.sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vectors::{SparseRows, UnitRows};

    fn plainly(centroids: &Centroids, live: &[u32], own: u32, m: usize) -> Vec<Near> {
        let row = centroids.row(own as usize);
        let others = live.iter().filter(|&&other| other != own);
        let mut all: Vec<Near> =
            others.map(|&other| (other, row.dot(centroids.row(other as usize)))).collect();
        take_best(&mut all, &mut Vec::new(), m);
        all
    }

    proptest! {
        #[test]
        fn neighbours_are_those_of_all_pairs(
            rows in prop_oneof![
                prop::collection::vec(prop::collection::btree_map(0u32..40, 0.01f32..1.0, 0..30), 3..300),
                prop::collection::vec(prop::collection::btree_map(0u32..400, 0.01f32..1.0, 1..6), 3..300),
                prop::collection::vec(prop::collection::btree_map(0u32..30, Just(1.0f32), 1..3), 3..300),
            ],
            m in 1usize..20,
            block_columns in prop_oneof![Just(64usize), Just(128), Just(BLOCK_COLUMNS)],
        ) {
            let rows = UnitRows::new(SparseRows::from_maps(400, &rows));
            let centroids = Centroids::from_rows(rows.as_sparse().clone());
            let live = centroids.live();
            let m = m.min(live.len().saturating_sub(1));
            prop_assume!(m > 0);
            let on = |n_threads| {
                let work = || nearest_in_blocks(&centroids, &live, m, block_columns);
                crate::threads::on_threads(Some(n_threads), work).unwrap()
            };
            let found = on(1);
            prop_assert!([2, 7].iter().all(|&n_threads| on(n_threads) == found));
            for (&own, found) in live.iter().zip(found) {
                if let Some(found) = found {
                    prop_assert_eq!(found, plainly(&centroids, &live, own, m));
                }
            }
        }
    }

    #[test]
    fn what_has_much_in_common_is_found_by_bounds_and_negative_values_are_left() {
        let of = |sign: f32| {
            let row =
                |n: u32| (0..20).map(|t| ((n * 7 + t * t) % 50, sign * (1 + (n + t) % 9) as f32)).collect();
            let rows: Vec<std::collections::BTreeMap<u32, f32>> = (0..500).map(row).collect();
            let centroids = Centroids::from_rows(SparseRows::from_maps(50, &rows));
            let found = nearest(&centroids, &centroids.live(), 5);
            found.iter().filter(|found| found.is_some()).count()
        };
        assert_eq!([of(1.0), of(-1.0)], [500, 0]);
    }
}
