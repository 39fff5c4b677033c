//! The centroids in bytes, rounded up: upper bounds of many similarities at once.
//!
//! Each centroid is a *column*; the caller chooses the order of columns. A term that occurs in a
//! good share of the centroids has a *table row*: one byte per column, the value divided by the
//! greatest value of that term, in units of 1/255, rounded up. Rarer terms have a list of columns
//! and bytes. For a document, `value * greatest` of each term is a 16-bit weight, rounded up;
//! summing `byte * weight` over its terms in 16-bit integers (`simd/`) gives, up to known rounding,
//! an upper bound on every similarity.
//!
//! # Groups
//!
//! Consecutive columns form *groups*: a table of groups has one byte per group, the greatest of its
//! columns. The sum over these bytes bounds every similarity to a centroid of the group. It is far
//! from tight, but a document has few terms and its own centroid is much more similar than most: of
//! 312 random groups of 16 among 5,000 centroids, it rules out all but two or three, and one of
//! these is that of the own centroid. So a document scans all groups first, and then only the tiles
//! of those that remain ([`batch`](super::batch)).
//!
//! # Proof
//!
//! Let `S` = [`UNITS`]. For a term with the greatest centroid value `r`, a centroid value `c <= r`
//! and a row value `x`, all not negative:
//!
//! - the byte `q` satisfies `255 c / r <= q <= 255 c / r + 1 + 2^-10`: it is the ceiling of
//!   `c * inverse` with `inverse >= 255 / r`, or 255 if that is less, and `255 c / r` never exceeds
//!   255;
//! - the weight `w` satisfies `256/255 S x r (1 + 1e-6) <= w <= 256/255 S x r (1 + 3e-6) + 1`:
//!   three roundings to f32 err by less than 2e-7 in all;
//! - so `q w / 256 >= S x c (1 + 1e-6)`, and the product rounded down is less by less than 1.
//!
//! Summing over the n terms of a row that have a weight: `sum + n >= S * similarity`, where the
//! factor `1 + 1e-6` covers the rounding of the computed similarity for rows of up to 2^30 terms.
//! Sums saturate at 65,535 and then bound nothing: callers treat such columns as candidates. In the
//! other direction `q w / 256 <= S x c (1 + 4e-6) + w / 256 + 2`, so
//! `sum <= S * similarity * (1 + 4e-6) + E` with `E = sum of (w / 256 + 2)`.
//!
//! The row values here are the packed ones (`simd/packing.rs`), which are not less than those of
//! the row and exceed them by at most a step. So the sums bound the similarities from above as
//! stated. In the other direction `x . c` grows by at most `step * sum of c`, summed over the n
//! terms of the row, which is at most `step * sqrt(n) |c|` by Cauchy-Schwarz: `E` is greater by
//! `S step sqrt(n) (1 + 1e-5)`. Packed values are at most `1 + 3 UNIT_TOLERANCE`, so that weights
//! still fit.
//!
//! A group's byte for a term is at least that of each of its columns, and if a term has a list, the
//! products of all columns of a group are added to the group's sum: so a group's sum is at least
//! the sum of each of its columns.
//!
//! **Cost.** Memory: a table row is k bytes (rounded up to whole tiles) for a term with at least
//! `k / `[`MIN_SHARE`] entries, so at most [`MIN_SHARE`] bytes per entry; the same for groups, with
//! [`MIN_GROUP_SHARE`]; at most 65,536 rows; 4 bytes for every other entry; 16 bytes per term,
//! and 16 more while columns are built.

use rayon::prelude::*;

use super::arranged::TermRanks;
use crate::assign::term_ranges::TermRanges;
use crate::assign::{N_FREQUENT, Sizes};
use crate::centroids::{Centroids, MAX_CLUSTERS};
use crate::simd::{self, Line, Lookup, Packed, TILE};
use crate::vectors::Row;

/// The integer that represents a similarity of 1. Weights, which may exceed this by a part in 200,
/// fit into 16 bits.
pub(super) const UNITS: f64 = 65_000.0;

/// A term has a table row if at least one column in `MIN_SHARE` has an entry.
const MIN_SHARE: usize = 48;

/// Table rows have 16-bit numbers; further terms go into lists.
const MAX_TABLE_ROWS: usize = N_FREQUENT;
const _: () = assert!(MAX_TABLE_ROWS == 1 << 16);

/// A term has a table row for groups if at least one group in `MIN_GROUP_SHARE` has an entry.
const MIN_GROUP_SHARE: usize = 8;

/// Rows of the table of groups filled per task.
const TASK_ROWS: usize = 1024;

/// Terms per task of numbering rows.
const TASK_RANKS: usize = 1 << 13;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Columns {
    pub(super) n_columns: usize,
    /// By rank: the number of the table row, or [`NO_ROW`], the greatest value in the units of
    /// weights, and the location of the postings. Numbers from the table's number of rows on are
    /// rows that only groups have.
    pub(super) lookups: Vec<Lookup>,
    /// By term, while columns are built.
    by_term: Vec<Term>,
    pub(super) table: Table,
    /// The bytes of groups; their first rows belong to the same terms as those of `table`.
    pub(super) groups: Table,
    /// Columns per group; 0 if there are no groups.
    pub(super) group_len: usize,
    /// Column times 256 plus byte, ascending for each term.
    pub(super) postings: Vec<u32>,
}

/// Lines of bytes.
#[derive(Default)]
pub(super) struct Table {
    /// Tile by tile; within a tile, row by row.
    lines: Vec<Line>,
    pub(super) n_rows: usize,
}

/// Location of the entries of one term.
#[derive(Clone, Copy)]
struct Term {
    row: u32,
    /// Start of the postings (while they are filled in: position of the next one).
    start: u32,
    /// Number of postings: 0 if columns have a table row.
    len: u32,
    /// The greatest value; 0 if there are no entries.
    greatest: f32,
}

pub(super) const NO_ROW: u32 = u32::MAX;

impl Default for Term {
    fn default() -> Self {
        Term { row: NO_ROW, start: 0, len: 0, greatest: 0.0 }
    }
}

/// With fewer columns there are no groups.
const GROUPED_FROM: usize = 3 * TILE;

/// A term has a table row if so many of these columns have an entry.
fn least_of_table(n_columns: usize) -> u32 {
    (n_columns / MIN_SHARE).max(2) as u32
}

/// Number of columns per group; 0 for no groups.
fn group_len(n_columns: usize) -> usize {
    match n_columns {
        0..GROUPED_FROM => 0,
        GROUPED_FROM..=1024 => 8,
        1025..=8192 => 16,
        _ => 32,
    }
}

impl Table {
    pub(super) fn tile(&self, tile: usize) -> &[Line] {
        self.lines.get(tile * self.n_rows..(tile + 1) * self.n_rows).unwrap_or_default()
    }

    fn resize(&mut self, n_rows: usize, n_tiles: usize) {
        self.n_rows = n_rows;
        resize(&mut self.lines, n_rows * n_tiles, Line([0; TILE]));
    }

    /// All tiles; none if there are no rows.
    fn tiles_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [Line]> {
        self.lines.par_chunks_exact_mut(self.n_rows.max(1))
    }
}

/// Gives a list this length, before everything in it is written. Threads, not the allocator, are
/// the first to touch new memory: tables have tens of megabytes.
fn resize<T: Copy + Send + Sync>(list: &mut Vec<T>, len: usize, blank: T) {
    if len <= list.capacity() {
        list.resize(len, blank);
        return;
    }
    *list = Vec::new();
    *list = (0..len).into_par_iter().with_min_len(TASK_RANKS).map(|_| blank).collect();
}

impl Columns {
    /// Builds the columns from these clusters, in groups if they are many.
    pub(super) fn build(&mut self, centroids: &Centroids, ranks: &TermRanks, clusters: &[u32]) {
        self.build_grouped(centroids, ranks, clusters, group_len(clusters.len()));
    }

    /// Builds the columns from these clusters without groups.
    pub(super) fn build_plain(&mut self, centroids: &Centroids, ranks: &TermRanks, clusters: &[u32]) {
        self.build_grouped(centroids, ranks, clusters, 0);
    }

    fn build_grouped(
        &mut self,
        centroids: &Centroids,
        ranks: &TermRanks,
        clusters: &[u32],
        group_len: usize,
    ) {
        assert!(clusters.len() <= MAX_CLUSTERS, "a posting has no room for the number of a column");
        let n_terms = centroids.n_terms();
        self.n_columns = clusters.len();
        self.group_len = group_len;
        let columns: Vec<Row<'_>> = clusters.iter().map(|&j| centroids.row(j as usize)).collect();
        let ranges = TermRanges::new(&columns, n_terms);

        // Number of entries and greatest value of each term.
        // Threads, not the allocator, are the first to touch the memory.
        self.by_term =
            (0..n_terms).into_par_iter().with_min_len(TASK_RANKS).map(|_| Term::default()).collect();
        self.by_term.par_chunks_mut(ranges.width).enumerate().with_max_len(1).for_each(|(range, terms)| {
            terms.fill(Term::default());
            let first = range * ranges.width;
            for (column, row) in columns.iter().enumerate() {
                for (term, value) in ranges.part(row, column, range).iter() {
                    let term = &mut terms[term as usize - first];
                    term.len += 1;
                    term.greatest = term.greatest.max(value);
                }
            }
        });

        let only_groups = self.number_rows(ranks);
        let ends = self.place_postings(ranges.width);
        let by_term = &self.by_term;
        self.lookups.par_iter_mut().zip(&ranks.term_of).with_min_len(TASK_RANKS).for_each(
            |(lookup, &term)| {
                let Term { start, len, .. } = by_term[term as usize];
                lookup.carried = [start, len];
            },
        );

        self.fill_table(&columns);
        self.fill_postings(&columns, &ranges, &ends);
        self.fill_groups(&only_groups);
        self.by_term = Vec::new();
    }

    /// Assigns table rows to frequent terms, in rank order. Returns the terms for which only groups
    /// have a row.
    fn number_rows(&mut self, ranks: &TermRanks) -> Vec<u32> {
        let n_groups = self.n_columns.checked_div(self.group_len);
        let least = least_of_table(self.n_columns);
        let least_of_groups =
            n_groups.map_or(u32::MAX, |n_groups| (n_groups / MIN_GROUP_SHARE).max(2) as u32);
        let by_term = &self.by_term;
        self.lookups.resize(ranks.term_of.len(), Lookup::default());

        // The numbers of terms of each kind by task, then those of the tasks before.
        let tasks = self.lookups.par_chunks_mut(TASK_RANKS).zip(ranks.term_of.par_chunks(TASK_RANKS));
        let count = |(lookups, terms): (&mut [Lookup], &[u32])| {
            let mut counts = [0, 0];
            for (lookup, &term) in lookups.iter_mut().zip(terms) {
                let Term { len, greatest, .. } = by_term[term as usize];
                counts[0] += usize::from(len >= least);
                counts[1] += usize::from((least_of_groups..least).contains(&len));
                *lookup = Lookup { row: NO_ROW, scale: scale_of(greatest), carried: [0, len] };
            }
            counts
        };
        let mut before: Vec<[usize; 2]> = tasks.map(count).collect();
        let mut all = [0, 0];
        for before in &mut before {
            for (before, all) in before.iter_mut().zip(&mut all) {
                *all += std::mem::replace(before, *all);
            }
        }
        let n_rows = all[0].min(MAX_TABLE_ROWS);
        let n_group_rows = (n_rows + all[1]).min(MAX_TABLE_ROWS);

        let tasks = self.lookups.par_chunks_mut(TASK_RANKS).zip(ranks.term_of.par_chunks(TASK_RANKS));
        let number = |((lookups, terms), [mut row, mut group_row]): ((&mut [Lookup], &[u32]), [usize; 2])| {
            let mut only_groups = Vec::new();
            for (lookup, &term) in lookups.iter_mut().zip(terms) {
                let len = lookup.carried[1];
                if len >= least {
                    lookup.row = if row < n_rows { row as u32 } else { NO_ROW };
                    row += 1;
                } else if len >= least_of_groups {
                    if n_rows + group_row < n_group_rows {
                        lookup.row = (n_rows + group_row) as u32;
                        only_groups.push(term);
                    }
                    group_row += 1;
                }
            }
            only_groups
        };
        let only_groups: Vec<Vec<u32>> = tasks.zip(before).map(number).collect();

        let lookups = &self.lookups;
        self.by_term.par_iter_mut().zip(&ranks.rank_of).with_min_len(TASK_RANKS).for_each(|(term, &rank)| {
            term.row = lookups[rank as usize].row;
            if (term.row as usize) < n_rows {
                term.len = 0;
            }
        });
        let n_tiles = self.n_tiles();
        self.table.resize(n_rows, n_tiles);
        let n_group_tiles = if self.group_len > 0 { n_tiles.div_ceil(self.group_len) } else { 0 };
        self.groups.resize(n_group_rows, n_group_tiles);
        only_groups.concat()
    }

    /// Assigns positions to the postings in term order. Returns the end of each range of terms.
    fn place_postings(&mut self, width: usize) -> Vec<usize> {
        let counted = |terms: &[Term]| terms.iter().map(|term| u64::from(term.len)).sum::<u64>();
        let counts: Vec<u64> = self.by_term.par_chunks(width).map(counted).collect();
        let mut end = 0;
        let start = |count: &u64| {
            end += count;
            end - count
        };
        let starts: Vec<u64> = counts.iter().map(start).collect();
        let n_postings = u32::try_from(end).expect("fewer than 2^32 postings");
        self.by_term.par_chunks_mut(width).zip(&starts).for_each(|(terms, &start)| {
            let mut start = start as u32;
            for term in terms {
                term.start = start;
                start += term.len;
            }
        });
        resize(&mut self.postings, n_postings as usize, 0);
        starts.iter().zip(counts).map(|(start, count)| (start + count) as usize).collect()
    }

    fn fill_table(&mut self, columns: &[Row<'_>]) {
        let (n_rows, by_term) = (self.table.n_rows, &self.by_term);
        self.table.tiles_mut().zip(columns.par_chunks(TILE)).with_max_len(1).for_each(|(lines, columns)| {
            lines.fill(Line([0; TILE]));
            for (column, row) in columns.iter().enumerate() {
                let byte_at = simd::byte_of(column);
                for (term, value) in row.iter() {
                    let term = by_term[term as usize];
                    if (term.row as usize) < n_rows {
                        lines[term.row as usize].0[byte_at] = byte_above(value, term.greatest);
                    }
                }
            }
        });
    }

    fn fill_postings(&mut self, columns: &[Row<'_>], ranges: &TermRanges, ends: &[usize]) {
        let n_rows = self.table.n_rows;
        let mut parts = Vec::with_capacity(ends.len());
        let (mut postings, mut begin) = (&mut self.postings[..], 0);
        for &end in ends {
            let (own, rest) = postings.split_at_mut(end - begin);
            postings = rest;
            parts.push((begin, own));
            begin = end;
        }
        let terms = self.by_term.par_chunks_mut(ranges.width);
        terms.zip(parts).enumerate().with_max_len(1).for_each(
            |(range, (terms, (first_posting, postings)))| {
                if postings.is_empty() {
                    return;
                }
                let first = range * ranges.width;
                for (column, row) in columns.iter().enumerate() {
                    for (term, value) in ranges.part(row, column, range).iter() {
                        let term = &mut terms[term as usize - first];
                        if term.row as usize >= n_rows {
                            let byte = byte_above(value, term.greatest);
                            postings[term.start as usize - first_posting] =
                                (column as u32) << 8 | u32::from(byte);
                            term.start += 1;
                        }
                    }
                }
            },
        );
    }

    /// Fills the bytes of groups: from those of columns, or from the lists of terms for which
    /// columns have no row.
    fn fill_groups(&mut self, only_groups: &[u32]) {
        let (table, group_len) = (&self.table, self.group_len);
        let (by_term, postings) = (&self.by_term, &self.postings);
        self.groups.tiles_mut().enumerate().for_each(|(tile, lines)| {
            let (of_table, of_lists) = lines.split_at_mut(table.n_rows);
            of_table.par_chunks_mut(TASK_ROWS).enumerate().for_each(|(task, lines)| {
                lines.fill(Line([0; TILE]));
                for part in 0..group_len {
                    let from = table.tile(tile * group_len + part);
                    let first = part * TILE / group_len;
                    for (line, from) in lines.iter_mut().zip(from.iter().skip(task * TASK_ROWS)) {
                        for (eight, most) in simd::greatest_of_eights(from).into_iter().enumerate() {
                            let byte = &mut line.0[simd::byte_of(first + 8 * eight / group_len)];
                            *byte = most.max(*byte);
                        }
                    }
                }
            });
            let first_column = (tile * TILE * group_len) as u32;
            let end_column = first_column + (TILE * group_len) as u32;
            let tasks = of_lists.par_chunks_mut(TASK_ROWS).zip(only_groups.par_chunks(TASK_ROWS));
            tasks.for_each(|(lines, terms)| {
                lines.fill(Line([0; TILE]));
                for (line, &term) in lines.iter_mut().zip(terms) {
                    let Term { start: end, len, .. } = by_term[term as usize];
                    let postings = &postings[(end - len) as usize..end as usize];
                    let from = postings.partition_point(|&posting| posting >> 8 < first_column);
                    for &posting in postings[from..].iter().take_while(|&&p| p >> 8 < end_column) {
                        let group = ((posting >> 8) - first_column) as usize / group_len;
                        let byte = &mut line.0[simd::byte_of(group)];
                        *byte = (posting as u8).max(*byte);
                    }
                }
            });
        });
    }

    /// Prefetches the lookups for the terms of a row.
    #[inline]
    pub(super) fn prefetch(&self, row: Packed<'_>) {
        row.numbers().for_each(|rank| simd::prefetch(&self.lookups, rank as usize));
    }

    pub(super) fn n_tiles(&self) -> usize {
        self.n_columns.div_ceil(TILE)
    }

    /// The number of tiles that a document scans if it needs `n_needed` of them (with groups, those
    /// of whole tiles of groups), and whether it scans groups.
    pub(super) fn tiles_looked_at(&self, n_needed: usize) -> (usize, bool) {
        let grouped = self.group_len > 0 && n_needed * TILE >= GROUPED_FROM;
        let n_tiles = if grouped { n_needed.next_multiple_of(self.group_len) } else { n_needed };
        (n_tiles.min(self.n_tiles()), grouped)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.lookups[..])
            + size_of_val(&self.table.lines[..])
            + size_of_val(&self.groups.lines[..])
            + size_of_val(&self.postings[..])
    }
}

/// Upper bound on the memory of columns of all centroids, except for the part per term.
pub(super) fn most_bytes(sizes: &Sizes) -> u64 {
    let (entries, n_clusters) = (sizes.entries(), sizes.n_clusters);
    // Tables of columns and of groups, and the postings of all other entries.
    let n_rows = sizes.n_terms.min(MAX_TABLE_ROWS as u64);
    let n_tiles = n_clusters.div_ceil(TILE as u64);
    let table = (MIN_SHARE as u64 * entries).min(n_rows * TILE as u64 * n_tiles);
    let groups = (MIN_GROUP_SHARE as u64 * entries).min(n_rows * TILE as u64 * most_group_tiles(n_clusters));
    if sizes.given_entries > 0 {
        return table + groups + 4 * entries;
    }
    // Whatever they are, centroids of the rows have a term at most as often as there are rows with
    // it. Rows are given out in the order of these frequencies: so a term without one is either in
    // few columns, or it is none of the most frequent.
    let by_rows = |share: usize| sizes.spread.table_bytes(n_clusters, share as u64);
    let postings = sizes.spread.beside_table(n_clusters, least_of_table(n_clusters as usize) as u64);
    table.min(by_rows(MIN_SHARE)) + groups.min(by_rows(MIN_GROUP_SHARE)) + 4 * postings.min(entries)
}

/// The most tiles of groups for so many columns or fewer.
fn most_group_tiles(n_columns: u64) -> u64 {
    // With more columns they only grow, except where groups become longer.
    let few = [1024, 8192].into_iter().filter(|&few| few < n_columns);
    few.chain([n_columns])
        .map(|n| n.div_ceil(TILE as u64).div_ceil(group_len(n as usize).max(1) as u64))
        .max()
        .unwrap_or(0)
}

/// The same for columns of at most `n_columns` of the centroids, without groups.
pub(super) fn most_plain_bytes(n_columns: u64, n_entries: u64) -> u64 {
    (MIN_SHARE as u64 * n_entries).min(MAX_TABLE_ROWS as u64 * n_columns.next_multiple_of(TILE as u64))
        + 4 * n_entries
}

/// `255 value / greatest`, rounded up.
#[inline]
fn byte_above(value: f32, greatest: f32) -> u8 {
    const ABOVE: f32 = 255.0 * (1.0 + 1e-6);
    let units = (value * (ABOVE / greatest)).min(255.0);
    let floor = units as i32;
    (floor + i32::from(units > floor as f32)) as u8
}

/// `256/255 UNITS greatest`, slightly increased. A value times this, rounded down, plus 1 is its
/// weight.
#[inline]
fn scale_of(greatest: f32) -> f32 {
    const ABOVE: f32 = (UNITS * 256.0 / 255.0 * (1.0 + 2e-6)) as f32;
    greatest * ABOVE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_byte_and_a_weight_are_never_too_small(value in 1e-38f32..1.0, share in 0.0f32..=1.0, x in 1e-38f32..1.0) {
            let (greatest, value) = (value, value * share);
            let byte = f64::from(byte_above(value, greatest));
            prop_assert!(byte >= 255.0 * f64::from(value) / f64::from(greatest) && byte <= 255.0);
            let weight = ((x * scale_of(greatest)) as u16 + 1) as f64;
            let exact = 256.0 / 255.0 * UNITS * f64::from(x) * f64::from(greatest);
            prop_assert!(weight >= exact * (1.0 + 1e-6) && weight <= exact * (1.0 + 3e-6) + 1.0);
        }
    }

    #[test]
    fn the_greatest_weight_fits() {
        let longest = 1.0 + crate::vectors::UNIT_TOLERANCE as f32;
        let packed = 1.0 + 3.0 * crate::vectors::UNIT_TOLERANCE as f32;
        assert!((65_000.0..65_534.0).contains(&(packed * scale_of(longest))));
    }
}
