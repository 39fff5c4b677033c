//! The index over the documents draws the same seeds as the plain O(N k) method.
//!
//! Seeds are seen through the first objective of a fit with one iteration: the conformance suite
//! compares everything that follows from them. Here the draws themselves are compared, on inputs
//! that span several blocks of the index.

use docsphere::{FitOptions, Init, SphericalKMeans, UnitRows};
use docsphere_testkit::plain_seeding::PlainSeeding;
use docsphere_testkit::random_rows::{RandomRows, random_rows};
use docsphere_testkit::reference::{ReferenceParams, ReferenceSeeding, reference_fit};
use docsphere_testkit::rows_from;
use docsphere_testkit::zipf::ZipfText;

use crate::conformance::{assert_same, fit_like};
use docsphere::Strategy;

/// Centroids after zero iterations are not available, so the seeds are checked through a whole
/// short fit.
fn same_as_plain(rows: &UnitRows<'_>, n_clusters: usize, weights: Option<Vec<f64>>) {
    let seedings =
        [ReferenceSeeding::Random, ReferenceSeeding::PlusPlus, ReferenceSeeding::Greedy { candidates: 5 }];
    for seeding in seedings {
        let params = ReferenceParams {
            seeding: seeding.clone(),
            seed: 11,
            max_iter: 1,
            weights: weights.clone(),
            ..ReferenceParams::new(n_clusters)
        };
        let reference = reference_fit(rows, &params);
        for n_threads in [1, 2, 7] {
            let fit = fit_like(rows, &params, Strategy::Inverted, n_threads);
            assert_same(&fit, &reference, &format!("{seeding:?}, {n_threads} threads"));
        }
    }
}

#[test]
fn on_text_like_rows_over_several_blocks() {
    let rows = ZipfText { n_docs: 40_000, n_terms: 5_000, n_topics: 20, mean_terms: 6, seed: 8 }.rows();
    same_as_plain(&rows, 25, None);
}

/// Later seeds leave frequent terms out, and pooled candidates are judged again from their lists.
#[test]
fn with_many_seeds() {
    let rows = ZipfText { n_docs: 4_000, n_terms: 3_000, n_topics: 40, mean_terms: 30, seed: 4 }.rows();
    same_as_plain(&rows, 250, None);
}

#[test]
fn with_row_weights_negative_values_and_duplicates() {
    let rows = random_rows(&RandomRows {
        n_docs: 300,
        negative_share: 0.2,
        duplicate_share: 0.4,
        ..RandomRows::default()
    });
    let weights = (0..300).map(|doc| [1.0, 0.0, 2.5][doc % 3]).collect();
    same_as_plain(&rows, 40, Some(weights));
    same_as_plain(&rows, 40, None);
}

#[test]
fn the_default_number_of_greedy_candidates_is_the_one_that_is_stated() {
    let rows = ZipfText { n_docs: 400, n_terms: 800, n_topics: 10, mean_terms: 8, seed: 2 }.rows();
    let objective = |candidates| {
        let params = SphericalKMeans::params(60).init(Init::PlusPlus { candidates }).max_iter(1);
        params.fit(&rows).unwrap().objective
    };
    assert_eq!(objective(None), objective(Some(Init::DEFAULT_CANDIDATES)));
    assert_ne!(objective(None), objective(Some(Init::DEFAULT_CANDIDATES + 1)));
}

#[test]
fn runs_and_seeds_draw_differently_and_the_plain_method_agrees_on_each_run() {
    let rows = ZipfText { n_docs: 500, n_terms: 900, n_topics: 10, mean_terms: 8, seed: 2 }.rows();
    let plain = |seed, run| PlainSeeding { rows: &rows, weights: None, n_clusters: 9, seed, run }.plus_plus();
    assert_ne!(plain(1, 0), plain(1, 1));
    assert_ne!(plain(1, 0), plain(2, 0));

    let fit =
        SphericalKMeans::params(9).init(Init::PlainPlusPlus).seed(1).n_init(4).max_iter(3).check().unwrap();
    let fit = fit.fit_with(&rows, FitOptions::default()).unwrap();
    let by_run = |run| {
        let seeding = ReferenceSeeding::PlusPlus;
        let params =
            ReferenceParams { seeding, seed: 1, run, max_iter: 3, tol: 1e-4, ..ReferenceParams::new(9) };
        reference_fit(&rows, &params).objective
    };
    let objectives: Vec<f64> = fit.trace.runs.iter().map(|run| run.objective).collect();
    assert_eq!(objectives, [0, 1, 2, 3].map(by_run));
    let best = objectives.iter().copied().fold(f64::MIN, f64::max);
    assert_eq!(fit.objective, best, "the best run is kept");
}

/// The result depends neither on the order of the rows nor on whether a row is repeated or has a
/// weight.
#[test]
fn the_order_of_rows_and_repeated_rows_change_nothing() {
    let rows = ZipfText { n_docs: 300, n_terms: 500, n_topics: 10, mean_terms: 8, seed: 5 }.rows();
    let weights: Vec<f64> = (0..300).map(|doc| f64::from(doc % 4)).collect();
    let pick = |docs: &[usize]| {
        let rows: Vec<Vec<(u32, f32)>> = docs.iter().map(|&doc| rows.row(doc).iter().collect()).collect();
        rows_from(500, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let backwards: Vec<usize> = (0..300).rev().collect();
    let repeated: Vec<usize> = (0..300).flat_map(|doc| vec![doc; doc % 4]).collect();
    for init in [Init::PlainPlusPlus, Init::PlusPlus { candidates: None }] {
        let params = || SphericalKMeans::params(20).init(init.clone()).seed(3).check().unwrap();
        let plain = params().fit(&rows).unwrap();
        let turned = params().fit(&pick(&backwards)).unwrap();
        assert_eq!(turned.model.centroids(), plain.model.centroids());
        let turned_labels: Vec<i32> = turned.labels.as_slice().iter().rev().copied().collect();
        assert_eq!(turned_labels, plain.labels.as_slice());

        let weighted = params().fit_with(&rows, FitOptions::default().weights(&weights)).unwrap();
        let repeated_fit = params().fit(&pick(&repeated)).unwrap();
        let labels: Vec<i32> = repeated.iter().map(|&doc| weighted.labels.as_slice()[doc]).collect();
        assert_eq!(repeated_fit.labels.as_slice(), labels);
        assert_eq!(repeated_fit.objective, weighted.objective);
    }
}
