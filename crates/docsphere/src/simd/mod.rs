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
    pub const ALL: [Simd; 5] = [Simd::Auto, Simd::Scalar, Simd::Avx2, Simd::Avx512, Simd::Neon];

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
pub(crate) struct Weighted {
    /// The number of the row.
    pub(crate) row: u16,
    pub(crate) weight: u16,
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
    /// Documents that look at it.
    pub(crate) n_docs: usize,
    /// Where its sums stand: for each document after so many others.
    pub(crate) first_sum: usize,
    pub(crate) sums_a_doc: usize,
}

/// Some documents and their rows.
#[derive(Clone, Copy)]
pub(crate) struct Docs<'a> {
    /// The rows of all documents, one document after the other.
    pub(crate) rows: &'a [Weighted],
    /// Where the rows of each document end.
    pub(crate) ends: &'a [u32],
    /// A column of each document whose sum is to be 0, whatever its rows say.
    pub(crate) blanks: &'a [u32],
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

/// For the first `n_docs` documents: adds to each of their sums in this tile, for every row of the document, `byte * weight / 256` (rounded down), and stops at
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
    let next_a_doc = n_next.div_ceil(tile.n_docs.max(1));
    let mut start = 0;
    for doc in 0..tile.n_docs {
        let place = tile.first_sum + doc * tile.sums_a_doc;
        let end = docs.ends[doc];
        for line in doc * next_a_doc..((doc + 1) * next_a_doc).min(n_next) {
            prefetch_second(tile.next, line);
        }
        let blank = docs.blanks[doc] as usize;
        let blank = (blank / TILE == tile.number).then_some(blank % TILE);
        greatest[place] = add(start as usize..end as usize, &mut sums[place].0, blank);
        start = end;
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

    #[test]
    fn every_column_has_a_byte_of_its_own() {
        let mut places: Vec<usize> = (0..TILE).map(byte_of).collect();
        assert_eq!(byte_of(TILE + 5), byte_of(5));
        places.sort_unstable();
        assert_eq!(places, (0..TILE).collect::<Vec<_>>());
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
            let ends: Vec<u32> = (1..=n_docs).map(|doc| (doc * n_terms) as u32).collect();
            let blanks = vec![blank; n_docs];
            let docs = Docs { rows: &rows, ends: &ends, blanks: &blanks };
            let tile =
                Tile { number, lines: &lines, next: &lines[..7], n_docs, first_sum: 1, sums_a_doc: 2 };
            let start: Vec<TileSums> = (0..2 * n_docs + 1)
                .map(|_| TileSums(std::array::from_fn(|_| random(&mut seed, 1000) as u16)))
                .collect();
            for level in Simd::ALL.into_iter().filter_map(Level::of) {
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

    #[test]
    #[ignore = "a measurement: cargo test --release -p docsphere --lib multiply_add -- --ignored --nocapture"]
    fn nanoseconds_per_64_multiply_adds() {
        let (n_docs, mut seed) = (1024, 1);
        for simd in Simd::ALL.into_iter().skip(1) {
            let Some(level) = Level::of(simd) else { continue };
            for (n_lines, n_terms) in [(128, 61), (2048, 61), (8192, 61), (32_768, 61), (2048, 13)] {
                let lines = random_lines(&mut seed, n_lines);
                let rows = random_rows(&mut seed, n_docs * n_terms, n_lines, 2000);
                let ends: Vec<u32> = (1..=n_docs).map(|doc| (doc * n_terms) as u32).collect();
                let blanks = vec![u32::MAX; n_docs];
                let docs = Docs { rows: &rows, ends: &ends, blanks: &blanks };
                let tile = Tile { number: 0, lines: &lines, next: &[], n_docs, first_sum: 0, sums_a_doc: 1 };
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
