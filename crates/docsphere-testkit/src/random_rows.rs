//! Small random rows for property tests.
//!
//! Values are small integers and rows are often repeated, so that equal similarities, equal rows
//! and empty rows are frequent: the cases that random floats never hit.

use docsphere::UnitRows;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::reference::SparseVector;
use crate::rows_from;

/// Parameters of random rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomRows {
    /// The number of rows.
    pub n_docs: usize,
    /// The number of terms.
    pub n_terms: usize,
    /// The probability that a row has a term. Small densities give zero rows.
    pub density: f64,
    /// The probability that a value is negative.
    pub negative_share: f64,
    /// The probability that a row is a copy of an earlier row.
    pub duplicate_share: f64,
    /// Raw values are integers from 1 to this.
    pub largest_value: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Default for RandomRows {
    /// 100 rows over 30 terms, about 4 terms per row, values 1 to 3, a tenth of the rows copies,
    /// nothing negative.
    fn default() -> Self {
        RandomRows {
            n_docs: 100,
            n_terms: 30,
            density: 0.13,
            negative_share: 0.0,
            duplicate_share: 0.1,
            largest_value: 3,
            seed: 0,
        }
    }
}

/// The rows determined by these parameters: the same on every platform.
///
/// # Panics
/// If `largest_value` is zero, or `n_terms` is larger than a matrix may have.
pub fn random_rows(params: &RandomRows) -> UnitRows<'static> {
    assert!(params.largest_value > 0, "values are at least 1");
    let mut random = ChaCha8Rng::seed_from_u64(params.seed);
    let mut rows: Vec<Vec<(u32, f32)>> = Vec::with_capacity(params.n_docs);
    for doc in 0..params.n_docs {
        let row = if doc > 0 && chance(&mut random, params.duplicate_share) {
            rows[(random.next_u64() % doc as u64) as usize].clone()
        } else {
            random_row(&mut random, params)
        };
        rows.push(row);
    }
    rows_from(params.n_terms, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn random_row(random: &mut ChaCha8Rng, params: &RandomRows) -> Vec<(u32, f32)> {
    let mut row = Vec::new();
    for term in 0..params.n_terms {
        if chance(random, params.density) {
            let size = (1 + random.next_u32() % params.largest_value) as f32;
            let value = if chance(random, params.negative_share) { -size } else { size };
            row.push((term as u32, value));
        }
    }
    row
}

/// Seeds of which some are empty, some equal, some far from every row, and some random rows.
///
/// In a third of all cases exactly one seed is not empty: every document then starts in that
/// cluster, and all other clusters get their first document by refills. The rest is drawn seed by
/// seed. At least one seed has entries.
pub fn random_seeds(params: &RandomRows, n_clusters: usize, seed: u64) -> Vec<SparseVector> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Without zero rows and negative values.
    let dense = RandomRows { density: params.density.max(0.3), negative_share: 0.0, ..*params };
    let one_live = chance(&mut random, 1.0 / 3.0);
    let live = (random.next_u64() % n_clusters as u64) as usize;
    let mut seeds: Vec<SparseVector> = Vec::with_capacity(n_clusters);
    for cluster in 0..n_clusters {
        let kind = if one_live { 0 } else { random.next_u32() % 5 };
        let seed = match kind {
            _ if cluster == live => random_row(&mut random, &dense),
            0 => Vec::new(),
            1 if cluster > 0 => seeds[(random.next_u64() % cluster as u64) as usize].clone(),
            2 => vec![((random.next_u64() % params.n_terms as u64) as u32, 1.0)],
            _ => random_row(&mut random, &dense),
        };
        seeds.push(seed);
    }
    if seeds[live].is_empty() {
        seeds[live].push((0, 1.0));
    }
    seeds
}

/// True with this probability. Always draws one number, regardless of the probability.
fn chance(random: &mut ChaCha8Rng, probability: f64) -> bool {
    let fraction = (random.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0; // 53 bits: in [0, 1)
    fraction < probability
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_the_rows() {
        let params = RandomRows { seed: 3, ..RandomRows::default() };
        assert_eq!(random_rows(&params), random_rows(&params));
        assert_ne!(random_rows(&params), random_rows(&RandomRows { seed: 4, ..params }));
    }

    #[test]
    fn the_shares_are_about_as_asked_for() {
        let params =
            RandomRows { n_docs: 2000, negative_share: 0.25, duplicate_share: 0.5, ..RandomRows::default() };
        let rows = random_rows(&params);
        let per_row = rows.nnz() as f64 / rows.n_rows() as f64;
        assert!((per_row - 30.0 * 0.13).abs() < 0.3, "{per_row} terms a row");
        let negative = rows.as_sparse().values().iter().filter(|&&value| value < 0.0).count();
        let negative_share = negative as f64 / rows.nnz() as f64;
        assert!((negative_share - 0.25).abs() < 0.04, "{negative_share} negative");
        let distinct: std::collections::BTreeSet<Vec<(u32, u32)>> = rows
            .iter()
            .map(|row| row.iter().map(|(term, value)| (term, value.to_bits())).collect())
            .collect();
        assert!((800..1100).contains(&distinct.len()), "{} distinct rows", distinct.len());
    }

    #[test]
    fn seeds_are_empty_equal_and_alone_often_enough() {
        let params = RandomRows::default();
        let (mut n_alone, mut n_equal, mut n_empty) = (0, 0, 0);
        for seed in 0..300 {
            let seeds = random_seeds(&params, 6, seed);
            let n_live = seeds.iter().filter(|seed| !seed.is_empty()).count();
            assert!(n_live > 0, "a fit refuses seeds that are all empty");
            n_alone += usize::from(n_live == 1);
            n_empty += usize::from((2..6).contains(&n_live));
            let twins = |a: usize| (0..a).any(|b| !seeds[a].is_empty() && seeds[a] == seeds[b]);
            n_equal += usize::from((0..6).any(twins));
        }
        assert!(n_alone > 80 && n_equal > 80 && n_empty > 80, "{n_alone} {n_equal} {n_empty}");
    }

    #[test]
    fn small_densities_give_zero_rows_and_large_ones_full_rows() {
        let sparse = random_rows(&RandomRows { density: 0.03, ..RandomRows::default() });
        assert!(!sparse.zero_rows().is_empty() && sparse.n_nonzero_rows() > 0);
        let full = random_rows(&RandomRows { density: 1.0, ..RandomRows::default() });
        assert_eq!(full.nnz(), 3000);
    }
}
