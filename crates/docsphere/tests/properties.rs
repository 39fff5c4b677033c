//! Facts that hold for all inputs, on random rows with many ties and duplicates. The properties of
//! single bounds are tested next to the bounds, in `src/assign/`.

use docsphere::{Init, SparseRows, SphericalKMeans, Strategy, UnitRows};
use docsphere_testkit::random_rows::random_rows;
use docsphere_testkit::reference::{ReferenceParams, ReferenceSeeding, reference_assign};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

use crate::conformance::{fit_like, fitted_to, random_case};

/// The maximum loss of the objective per document from rounding centroids to 32 bits.
const ROUNDING: f64 = 1e-6;

/// The rows as parts, to be changed and reassembled.
struct Parts {
    offsets: Vec<u64>,
    terms: Vec<u32>,
    values: Vec<f32>,
    n_terms: usize,
}

impl Parts {
    fn of(rows: &UnitRows<'_>) -> Self {
        let rows = rows.as_sparse();
        Parts {
            offsets: rows.offsets().to_vec(),
            terms: rows.terms().to_vec(),
            values: rows.values().to_vec(),
            n_terms: rows.n_terms(),
        }
    }

    fn unit(self) -> UnitRows<'static> {
        UnitRows::new(SparseRows::from_parts(self.n_terms, self.offsets, self.terms, self.values).unwrap())
    }
}

/// Params with seeds that do not depend on the rows around them.
fn with_given_seeds(rows: &UnitRows<'_>, params: ReferenceParams) -> ReferenceParams {
    let seeds = rows.iter().filter(|row| row.nnz() > 0).take(params.n_clusters);
    let seeds = seeds.map(|row| row.iter().collect()).collect();
    ReferenceParams { seeding: ReferenceSeeding::Given(seeds), weights: None, ..params }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_objective_never_falls_unless_a_cluster_was_refilled((shape, params) in random_case()) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let fit = fit_like(&rows, &params, Strategy::Auto, 2);
        for pair in fit.trace.iterations.windows(2) {
            let slack = ROUNDING * 3.0 * rows.n_rows() as f64;
            let fell = pair[1].objective < pair[0].objective - slack;
            // First variation moves documents at once that would gain one by one.
            let is_free = pair[1].refilled_clusters > 0 || pair[1].varied_docs.is_some();
            prop_assert!(!fell || is_free, "{:?}", pair);
        }
        // But then an earlier result is kept.
        if let Some(first) = fit.trace.iterations.iter().find(|record| record.varied_docs.is_some()) {
            prop_assert!(fit.objective >= fit.trace.iterations[first.iteration - 1].objective || params.refine);
        }
    }

    #[test]
    fn labels_are_the_best_for_the_returned_centroids((shape, params) in random_case(), max_iter in 1usize..4) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &ReferenceParams { max_iter, ..params }) else { return Ok(()) };
        let fit = fit_like(&rows, &params, Strategy::Auto, 2);
        let matrix = fit.model.centroids().to_sparse_rows();
        let centroids: Vec<_> = matrix.iter().map(|row| row.iter().collect()).collect();
        let assigned = reference_assign(&rows, &centroids, fit.labels.as_slice());
        prop_assert_eq!(&assigned.labels[..], fit.labels.as_slice());
    }

    #[test]
    fn doubling_raw_values_changes_nothing((shape, params) in random_case(), which in any::<u64>()) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let params = with_given_seeds(&rows, params);
        // Lengths far from one, so that every row is normalised, doubled or not.
        let scaled = |factor: f32| {
            let mut parts = Parts::of(&rows);
            for row in 0..rows.n_rows() {
                let times = if which >> (row % 64) & 1 == 1 { factor } else { 1.0 };
                let range = parts.offsets[row] as usize..parts.offsets[row + 1] as usize;
                parts.values[range].iter_mut().for_each(|value| *value *= 4.0 * times);
            }
            fit_like(&parts.unit(), &params, Strategy::Auto, 1)
        };
        let (plain, doubled) = (scaled(1.0), scaled(2.0));
        prop_assert_eq!(plain.labels, doubled.labels);
        prop_assert_eq!(plain.objective, doubled.objective);
    }

    #[test]
    fn appending_empty_rows_changes_no_other_label((shape, params) in random_case(), n_empty in 1usize..5) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &ReferenceParams { weights: None, ..params }) else { return Ok(()) };
        let mut parts = Parts::of(&rows);
        parts.offsets.extend(vec![rows.nnz() as u64; n_empty]);
        let longer = parts.unit();
        let plain = fit_like(&rows, &params, Strategy::Auto, 1);
        let with_empty = fit_like(&longer, &params, Strategy::Auto, 1);
        prop_assert_eq!(plain.labels.as_slice(), &with_empty.labels.as_slice()[..rows.n_rows()]);
        prop_assert!(with_empty.labels.as_slice()[rows.n_rows()..].iter().all(|&label| label == -1));
        prop_assert_eq!(plain.objective, with_empty.objective);
    }

    /// With given seeds: draws depend on a hash of the rows' term numbers.
    #[test]
    fn unused_terms_change_nothing((shape, params) in random_case(), which in any::<prop::sample::Index>()) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let mut parts = Parts::of(&rows);
        parts.n_terms = 2 * parts.n_terms + 100;
        parts.terms.iter_mut().for_each(|term| *term = 2 * *term + 7);
        let wider = parts.unit();
        let seeds_of = |rows: &UnitRows<'_>| -> ReferenceParams {
            let docs: Vec<usize> = (0..rows.n_rows()).filter(|&doc| rows.row(doc).nnz() > 0).collect();
            let first = which.index(docs.len());
            let seeds = docs.iter().cycle().skip(first).take(params.n_clusters);
            let seeding = ReferenceSeeding::Given(seeds.map(|&doc| rows.row(doc).iter().collect()).collect());
            ReferenceParams { seeding, rounds: 0, ..params.clone() }
        };
        let plain = fit_like(&rows, &seeds_of(&rows), Strategy::Auto, 1);
        let wide = fit_like(&wider, &seeds_of(&wider), Strategy::Auto, 1);
        prop_assert_eq!(plain.labels, wide.labels);
        prop_assert_eq!(plain.objective, wide.objective);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let rows = ZipfText { n_docs: 2_000, n_terms: 4_000, n_topics: 30, mean_terms: 20, seed: 9 }.rows();
    let fit = |seed| SphericalKMeans::params(50).init(Init::PlainPlusPlus).seed(seed).fit(&rows).unwrap();
    let (a, b, c) = (fit(1), fit(1), fit(2));
    assert_eq!((&a.labels, &a.similarities, &a.model), (&b.labels, &b.similarities, &b.model));
    assert_ne!(a.labels, c.labels);
}
