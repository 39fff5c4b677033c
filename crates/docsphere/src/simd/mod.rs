//! Vector kernels: the innermost loops of [`drift`](crate::Strategy::Drift), for every machine.
//!
//! Each kernel is integer arithmetic with one defined result, so that all levels return the same bits; the plain one in `scalar.rs` is the definition. The
//! level is found at run time, once, or forced by [`Simd`] for tests and comparisons.
//!
//! This is the only module with `unsafe`: instructions beyond the build's target may only be called where the machine has them, and vector loads and stores take
//! pointers. Every function that is called from outside is safe: it holds the proof that the machine has the instructions (a [`Level`] can only be made by asking the
//! machine) and checks all lengths.

#![allow(unsafe_code)]

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use serde::{Deserialize, Serialize};

use crate::names::impl_names;

/// Columns of a tile. The bytes of one row in one tile are a cache line. Their order within it suits vector instructions: see [`byte_of`].
pub(crate) const TILE: usize = 64;

/// Which vector instructions the library may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Simd {
    /// The widest that the machine has.
    #[default]
    Auto,
    /// None beyond what the build assumes.
    Scalar,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F and BW.
    Avx512,
    /// AArch64.
    Neon,
}

impl Simd {
    /// All of them.
    pub const ALL: &'static [Simd] = &[Simd::Auto, Simd::Scalar, Simd::Avx2, Simd::Avx512, Simd::Neon];

    /// The name in messages and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Simd::Auto => "auto",
            Simd::Scalar => "scalar",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
            Simd::Neon => "neon",
        }
    }

    /// Whether this machine has these instructions.
    pub fn is_available(self) -> bool {
        Level::of(self).is_some()
    }
}

impl_names!(Simd, "simd");

/// Instructions that this machine has. Only [`Level::of`] makes one, after asking the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level(Simd);

impl Level {
    /// The level for a wish; `None` if the machine cannot do it.
    pub(crate) fn of(wish: Simd) -> Option<Self> {
        let has = match wish {
            Simd::Auto => {
                return [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Scalar].into_iter().find_map(Level::of);
            }
            Simd::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
            // Every AArch64 has it.
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => true,
            #[allow(unreachable_patterns)]
            _ => false,
        };
        has.then_some(Level(wish))
    }
}

/// The bytes of one row in one tile.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u8; TILE]);

/// A row of a table and what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Weighted {
    /// The number of the row.
    pub(crate) row: u16,
    pub(crate) weight: u16,
}

/// What is looked up for a term of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Place {
    /// The number of its table row; of [`weigh`]'s `n_rows` or more if the table has none.
    pub(crate) row: u32,
    /// What values are to be multiplied by.
    pub(crate) scale: f32,
    /// Where its postings begin, and how many there are: not used here, but wanted next for terms without a row.
    pub(crate) postings: [u32; 2],
}

/// A term that has no table row, and what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) term: u32,
    pub(crate) weight: u32,
}

/// The sums of one document in one tile.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct TileSums(pub(crate) [u16; TILE]);

/// A tile of a table.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    pub(crate) number: usize,
    /// One for each row.
    pub(crate) lines: &'a [Line],
    /// Those of the next tile.
    pub(crate) next: &'a [Line],
    /// Where its sums stand: for each document after so many others.
    pub(crate) first_sum: usize,
    pub(crate) sums_a_doc: usize,
}

/// Some documents and their rows.
#[derive(Clone, Copy)]
pub(crate) struct Docs<'a> {
    /// The rows of all documents, one document after the other.
    pub(crate) rows: &'a [Weighted],
    pub(crate) docs: &'a [Doc],
}

/// A document that looks at a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    /// Where its rows begin.
    pub(crate) start: u32,
    /// Where they end.
    pub(crate) end: u32,
    /// A column whose sum is to be 0, whatever the rows say.
    pub(crate) blank: u32,
}

/// Where the byte of a column stands in its line.
///
/// A vector instruction that interleaves the low (or high) halves of 16 bytes with zeros widens the eight bytes from `16 l` (or `16 l + 8`) on.
/// So those are columns `8 l` to `8 l + 7`, and those 32 further on: then both results are sums in their natural order, for any width of vectors.
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

/// For each document: adds to each of its sums in this tile, for every row of the document, `byte * weight / 256` (rounded down), and stops at
/// 65,535. Writes the greatest of these sums to `greatest`, in the same place.
///
/// `lines` holds the tile's part of every row of the table; `next` those of the tile after it, which will be asked for ahead of time.
///
/// # Panics
/// If a row or a sum does not exist.
#[inline]
pub(crate) fn accumulate(
    level: Level,
    tile: Tile<'_>,
    docs: Docs<'_>,
    sums: &mut [TileSums],
    greatest: &mut [u16],
) {
    match level.0 {
        // SAFETY: a Level is made only after the machine was found to have the instructions.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512::accumulate(tile, docs, sums, greatest) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2::accumulate(tile, docs, sums, greatest) },
        #[cfg(target_arch = "aarch64")]
        Simd::Neon => neon::accumulate(tile, docs, sums, greatest),
        _ => scalar::accumulate(tile, docs, sums, greatest),
    }
}

/// Places beyond the last that [`weigh`] may write to.
pub(crate) const SPARE: usize = 16;

/// Weighs the terms of a document: `value * scale`, rounded down, plus 1, must fit into 16 bits. Those with a table row below `n_rows` go to `rows`, the others to `rest`, both in order.
/// Returns how many went to `rows`, and the sum of all weights.
///
/// # Panics
/// If a term has no place, or `rows` and `rest` have not [`SPARE`] places more than there are terms.
#[inline]
pub(crate) fn weigh(
    level: Level,
    places: &[Place],
    n_rows: u32,
    (terms, values): (&[u32], &[f32]),
    rows: &mut [Weighted],
    rest: &mut [Rest],
) -> (usize, u32) {
    assert!(terms.len() == values.len(), "a value for each term");
    assert!(rows.len().min(rest.len()) >= terms.len() + SPARE, "room for all terms");
    match level.0 {
        // SAFETY: a Level is made only after the machine was found to have the instructions.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512::weigh(places, n_rows, terms, values, rows, rest) },
        _ => scalar::weigh(places, n_rows, terms, values, rows, rest),
    }
}

/// Rows whose lines are asked for ahead of time.
const AHEAD: i32 = 64;

/// Lines of the next tile that are asked for ahead of time: those of the most frequent terms, half of a second-level cache of 1 MiB.
const NEXT_LINES: usize = 8192;

/// Calls `add` for every document, with the positions of its rows, its sums in this tile, and the place among them that is to be blank.
/// It returns the greatest sum.
#[inline(always)]
fn for_each_doc(
    tile: Tile<'_>,
    docs: Docs<'_>,
    sums: &mut [TileSums],
    greatest: &mut [u16],
    mut add: impl FnMut(std::ops::Range<usize>, &mut [u16; TILE], Option<usize>) -> u16,
) {
    // Not more than a part of those that will be read.
    let n_next = tile.next.len().min(NEXT_LINES).min(docs.rows.len() / 4);
    let next_a_doc = n_next.div_ceil(docs.docs.len().max(1));
    let mut ahead = 0;
    let mut n_ahead = 0;
    for (number, &Doc { start, end, blank }) in docs.docs.iter().enumerate() {
        n_ahead -= (end - start) as i32 * (ahead > number) as i32;
        while n_ahead < AHEAD && ahead < docs.docs.len() {
            let doc = docs.docs[ahead];
            for weighted in &docs.rows[doc.start as usize..doc.end as usize] {
                prefetch(tile.lines, usize::from(weighted.row));
            }
            if ahead > number {
                n_ahead += (doc.end - doc.start) as i32;
            }
            ahead += 1;
        }
        let place = tile.first_sum + number * tile.sums_a_doc;
        for line in number * next_a_doc..((number + 1) * next_a_doc).min(n_next) {
            prefetch_second(tile.next, line);
        }
        let blank = blank as usize;
        let blank = (blank / TILE == tile.number).then_some(blank % TILE);
        greatest[place] = add(start as usize..end as usize, &mut sums[place].0, blank);
    }
}

/// Asks the machine to have the element at this place in cache soon. Does nothing if there is no such place.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: part of the base of x86-64; a hint about a valid address, which changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// The same, but into the second-level cache.
#[inline(always)]
fn prefetch_second<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: part of the base of x86-64; a hint about a valid address, which changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    /// A linear congruential generator: enough to fill tables.
    fn random(seed: &mut u64, n: usize) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % n
    }

    fn random_lines(seed: &mut u64, n: usize) -> Vec<Line> {
        (0..n).map(|_| Line(std::array::from_fn(|_| random(seed, 256) as u8))).collect()
    }

    fn random_rows(seed: &mut u64, n: usize, n_lines: usize, greatest: usize) -> Vec<Weighted> {
        let mut row =
            || Weighted { row: random(seed, n_lines) as u16, weight: random(seed, greatest + 1) as u16 };
        (0..n).map(|_| row()).collect()
    }

    fn consecutive(n_docs: usize, n_terms: usize, blank: u32) -> Vec<Doc> {
        let doc = |doc| Doc { start: (doc * n_terms) as u32, end: ((doc + 1) * n_terms) as u32, blank };
        (0..n_docs).map(doc).collect()
    }

    #[test]
    fn every_column_has_a_byte_of_its_own() {
        let mut places: Vec<usize> = (0..TILE).map(byte_of).collect();
        assert_eq!(byte_of(TILE + 5), byte_of(5));
        places.sort_unstable();
        assert_eq!(places, (0..TILE).collect::<Vec<_>>());
    }

    #[test]
    fn eight_columns_stand_side_by_side() {
        let line =
            Line(std::array::from_fn(|at| (0..TILE).find(|&column| byte_of(column) == at).unwrap() as u8));
        assert_eq!(greatest_of_eights(&line), [7, 15, 23, 31, 39, 47, 55, 63]);
    }

    #[test]
    fn there_is_always_a_level() {
        assert!(Level::of(Simd::Auto).is_some() && Simd::Scalar.is_available());
        assert!(!(Simd::Avx2.is_available() && Simd::Neon.is_available()));
    }

    proptest! {
        /// The definition, column by column, and every level.
        #[test]
        fn all_levels_return_the_defined_sums(
            seed in any::<u64>(), n_docs in 1usize..5, n_terms in 0usize..40, number in 0usize..3, blank in 0u32..256,
            greatest_weight in prop_oneof![Just(500usize), Just(65_535)],
        ) {
            let mut seed = seed;
            let lines = random_lines(&mut seed, 20);
            let rows = random_rows(&mut seed, n_docs * n_terms, 20, greatest_weight);
            let docs = consecutive(n_docs, n_terms, blank);
            let docs = Docs { rows: &rows, docs: &docs };
            let tile = Tile { number, lines: &lines, next: &lines[..7], first_sum: 1, sums_a_doc: 2 };
            let start: Vec<TileSums> = (0..2 * n_docs + 1)
                .map(|_| TileSums(std::array::from_fn(|_| random(&mut seed, 1000) as u16)))
                .collect();
            for level in Simd::ALL.iter().copied().filter_map(Level::of) {
                let mut sums = start.clone();
                let mut greatest = vec![0; sums.len()];
                accumulate(level, tile, docs, &mut sums, &mut greatest);
                for (place, (sums, start)) in sums.iter().zip(&start).enumerate() {
                    let doc = place / 2;
                    let mut expected = start.0;
                    if place % 2 == 1 {
                        for row in &rows[doc * n_terms..(doc + 1) * n_terms] {
                            for (column, sum) in expected.iter_mut().enumerate() {
                                let byte = u32::from(lines[usize::from(row.row)].0[byte_of(column)]);
                                *sum = sum.saturating_add(((byte * u32::from(row.weight)) >> 8) as u16);
                            }
                        }
                        if blank as usize / TILE == number {
                            expected[blank as usize % TILE] = 0;
                        }
                        prop_assert_eq!(greatest[place], *expected.iter().max().unwrap());
                    }
                    prop_assert_eq!(sums.0, expected, "{:?}, place {}", level, place);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_levels_weigh_alike(
            seed in any::<u64>(), n_terms in 0usize..70, n_rows in 0u32..40,
        ) {
            let mut seed = seed;
            let mut place = || Place {
                row: if random(&mut seed, 5) == 0 { u32::MAX } else { random(&mut seed, 50) as u32 },
                scale: random(&mut seed, 65_000) as f32 + random(&mut seed, 100) as f32 / 128.0,
                postings: [7, 7],
            };
            let places: Vec<Place> = (0..100).map(|_| place()).collect();
            let terms: Vec<u32> = (0..n_terms).map(|_| random(&mut seed, 100) as u32).collect();
            let values: Vec<f32> = (0..n_terms).map(|_| random(&mut seed, 1001) as f32 / 1000.0).collect();
            let expected: Vec<(u32, Weighted)> = terms.iter().zip(&values).map(|(&term, &value)| {
                let Place { row, scale, .. } = places[term as usize];
                (term, Weighted { row: row as u16, weight: (value * scale) as u16 + 1 })
            }).collect();
            let in_table = |&&(term, _): &&(u32, Weighted)| places[term as usize].row < n_rows;
            let expected_rows: Vec<Weighted> = expected.iter().filter(in_table).map(|&(_, w)| w).collect();
            let expected_rest: Vec<Rest> = expected.iter().filter(|entry| !in_table(entry))
                .map(|&(term, w)| Rest { term, weight: u32::from(w.weight) }).collect();
            let expected_total = expected.iter().map(|(_, w)| u32::from(w.weight)).sum::<u32>();
            for level in Simd::ALL.iter().copied().filter_map(Level::of) {
                let mut rows = vec![Weighted::default(); n_terms + SPARE];
                let mut rest = vec![Rest::default(); n_terms + SPARE];
                let (n, total) = weigh(level, &places, n_rows, (&terms, &values), &mut rows, &mut rest);
                prop_assert_eq!(&rows[..n], &expected_rows[..]);
                prop_assert_eq!(&rest[..n_terms - n], &expected_rest[..]);
                prop_assert_eq!(total, expected_total);
            }
        }
    }

    #[test]
    #[should_panic(expected = "no place")]
    fn a_term_without_a_place_is_refused() {
        let places = [Place { row: 0, scale: 1.0, postings: [0, 0] }; 20];
        let terms = [1, 2, 20];
        weigh(
            Level::of(Simd::Auto).unwrap(),
            &places,
            1,
            (&terms, &[0.5; 3]),
            &mut [Weighted::default(); 3 + SPARE],
            &mut [Rest::default(); 3 + SPARE],
        );
    }

    #[test]
    #[ignore = "a measurement: cargo test --release -p docsphere --lib multiply_add -- --ignored --nocapture"]
    fn nanoseconds_per_64_multiply_adds() {
        let (n_docs, mut seed) = (1024, 1);
        for simd in Simd::ALL.iter().copied().skip(1) {
            let Some(level) = Level::of(simd) else { continue };
            for (n_lines, n_terms) in [(128, 61), (2048, 61), (8192, 61), (32_768, 61), (2048, 13)] {
                let lines = random_lines(&mut seed, n_lines);
                let rows = random_rows(&mut seed, n_docs * n_terms, n_lines, 2000);
                let docs = consecutive(n_docs, n_terms, u32::MAX);
                let docs = Docs { rows: &rows, docs: &docs };
                let tile = Tile { number: 0, lines: &lines, next: &[], first_sum: 0, sums_a_doc: 1 };
                let mut sums = vec![TileSums([0; TILE]); n_docs];
                let mut greatest = vec![0; n_docs];
                let mut best = f64::INFINITY;
                for _ in 0..30 {
                    let start = Instant::now();
                    accumulate(level, tile, docs, &mut sums, &mut greatest);
                    best = best.min(start.elapsed().as_secs_f64());
                }
                println!(
                    "{:<7}{n_terms:>3} terms a document, lines of {:>5} KB: {:.2} ns for 64",
                    simd.name(),
                    n_lines * TILE / 1024,
                    best * 1e9 / (n_docs * n_terms) as f64
                );
            }
        }
    }
}
