//! Compares every level with the scalar one.

use super::*;
use proptest::prelude::*;

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

fn consecutive(n_docs: usize, n_terms: usize, blank: u32) -> Vec<Span> {
    let span = |span| Span { start: (span * n_terms) as u32, end: ((span + 1) * n_terms) as u32, blank };
    (0..n_docs).map(span).collect()
}

#[test]
fn every_column_has_a_byte_of_its_own() {
    let mut lookups: Vec<usize> = (0..TILE).map(byte_of).collect();
    assert_eq!(byte_of(TILE + 5), byte_of(5));
    lookups.sort_unstable();
    assert_eq!(lookups, (0..TILE).collect::<Vec<_>>());
}

#[test]
fn eight_columns_stand_side_by_side() {
    let line = Line(std::array::from_fn(|at| (0..TILE).find(|&column| byte_of(column) == at).unwrap() as u8));
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
        let spans = consecutive(n_docs, n_terms, blank);
        let spans = Spans { rows: &rows, spans: &spans };
        let tile = Tile { number, lines: &lines, next: &lines[..7], first_sum: 1, sums_per_span: 2 };
        let start: Vec<TileSums> = (0..2 * n_docs + 1)
            .map(|_| TileSums(std::array::from_fn(|_| random(&mut seed, 1000) as u16)))
            .collect();
        for level in Simd::ALL.iter().copied().filter_map(Level::of) {
            let mut sums = start.clone();
            let mut greatest = vec![0; sums.len()];
            accumulate(level, tile, spans, &mut sums, &mut greatest);
            for (place, (sums, start)) in sums.iter().zip(&start).enumerate() {
                let span = place / 2;
                let mut expected = start.0;
                if place % 2 == 1 {
                    for row in &rows[span * n_terms..(span + 1) * n_terms] {
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
        let mut place = || Lookup {
            row: if random(&mut seed, 5) == 0 { u32::MAX } else { random(&mut seed, 50) as u32 },
            scale: random(&mut seed, 65_000) as f32 + random(&mut seed, 100) as f32 / 128.0,
            carried: [7, 7],
        };
        let lookups: Vec<Lookup> = (0..100).map(|_| place()).collect();
        let terms: Vec<u32> = (0..n_terms).map(|_| random(&mut seed, 100) as u32).collect();
        let packing = Packing::for_terms(100 << random(&mut seed, 20));
        let mut value = || random(&mut seed, 1001) as f32 / 1000.0;
        let entries: Vec<u32> = terms.iter().map(|&term| packing.pack(term, value())).collect();
        let packed = Packed { entries: &entries, packing };
        let expected: Vec<(u32, Weighted)> = terms.iter().zip(&entries).map(|(&term, &entry)| {
            let Lookup { row, scale, .. } = lookups[term as usize];
            let value = packing.value_of(entry);
            (term, Weighted { row: row as u16, weight: (value * scale) as u16 + 1 })
        }).collect();
        let in_table = |&&(term, _): &&(u32, Weighted)| lookups[term as usize].row < n_rows;
        let expected_rows: Vec<Weighted> = expected.iter().filter(in_table).map(|&(_, w)| w).collect();
        let expected_rest: Vec<Rest> = expected.iter().filter(|entry| !in_table(entry))
            .map(|&(term, w)| Rest { term, weight: u32::from(w.weight) }).collect();
        let expected_total = expected.iter().map(|(_, w)| u32::from(w.weight)).sum::<u32>();
        for level in Simd::ALL.iter().copied().filter_map(Level::of) {
            let mut rows = vec![Weighted::default(); n_terms + SPARE];
            let mut rest = vec![Rest::default(); n_terms + SPARE];
            let (n, total) = weigh(level, &lookups, n_rows, packed, &mut rows, &mut rest);
            prop_assert_eq!(&rows[..n], &expected_rows[..]);
            prop_assert_eq!(&rest[..n_terms - n], &expected_rest[..]);
            prop_assert_eq!(total, expected_total);
        }
    }
}

#[test]
#[should_panic(expected = "no place")]
fn a_term_without_a_place_is_refused() {
    let lookups = [Lookup { row: 0, scale: 1.0, carried: [0, 0] }; 20];
    let packing = Packing::for_terms(21);
    let entries = [1, 2, 20].map(|term| packing.pack(term, 0.5));
    weigh(
        Level::of(Simd::Auto).unwrap(),
        &lookups,
        1,
        Packed { entries: &entries, packing },
        &mut [Weighted::default(); 3 + SPARE],
        &mut [Rest::default(); 3 + SPARE],
    );
}
