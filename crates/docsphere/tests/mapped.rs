//! Rows in a mapped file give the bits of rows in memory.

use std::ops::ControlFlow;

use docsphere::{
    Discs, Effort, Event, FitOptions, Init, Simd, SphericalKMeans, StopReason, Strategy, SummaryOptions,
    UnitRows, document_offsets, summarize,
};
use docsphere_testkit::random_rows::random_rows;
use docsphere_testkit::reference::reference_fit;
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

use crate::conformance::{assert_same, fit_like_with_options, fitted_to, random_case};

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(60, |cases| cases.parse().expect("a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The same rows in a file, and its folder.
fn mapped(rows: &UnitRows<'_>) -> (UnitRows<'static>, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rows.docsphere");
    rows.save_open(&path).unwrap();
    let mapped = UnitRows::open_mapped(&path).unwrap();
    assert!(mapped.is_mapped() && !rows.is_mapped());
    (mapped, home)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_strategy_gives_the_reference(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        n_threads in 1usize..4,
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let reference = reference_fit(&rows, &params);
        let (mapped, home) = mapped(&rows);
        let mut cuts: Vec<usize> = places.iter().map(|place| place.index(rows.n_rows() + 1)).collect();
        cuts.sort_unstable();
        for &strategy in Strategy::ALL {
            let options = FitOptions::default().cuts(cuts.clone()).scratch(home.path());
            let fit = fit_like_with_options(&mapped, &params, strategy, n_threads, Simd::Auto, options);
            assert_same(&fit, &reference, &format!("{strategy}, cuts {cuts:?}"));
        }
        prop_assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "only the rows are left");
    }
}

#[test]
fn whole_runs_and_what_follows_them_are_the_same() {
    let rows = ZipfText { n_docs: 3_000, n_terms: 2_000, n_topics: 40, mean_terms: 12, seed: 4 }.rows();
    let (mapped, home) = mapped(&rows);
    for (init, effort) in [
        (Init::Merge { fine: None }, Effort::Default),
        (Init::Random, Effort::Best),
        (Init::PlainPlusPlus, Effort::Fast),
    ] {
        let params = SphericalKMeans::params(60).init(init).effort(effort).seed(3);
        let of =
            |rows: &UnitRows<'_>, options: FitOptions<'_>| params.clone().fit_with(rows, options).unwrap();
        let expected = of(&rows, FitOptions::default());
        let found = of(&mapped, FitOptions::default().scratch(home.path()).cuts(vec![1_000, 1_024, 2_900]));
        assert_eq!(found.labels, expected.labels);
        assert_eq!(found.similarities, expected.similarities);
        assert_eq!(found.objective.to_bits(), expected.objective.to_bits());
        assert_eq!(found.model.centroids(), expected.model.centroids());
        let options = SummaryOptions::default();
        let summary = |rows: &UnitRows<'_>| {
            summarize(rows, &expected.labels, &expected.similarities, &expected.model, options).unwrap()
        };
        let summaries = summary(&rows);
        assert_eq!(summary(&mapped), summaries);
        let neighbours: Vec<_> = summaries.into_iter().map(|summary| summary.neighbours).collect();
        let places: Vec<[f32; 2]> = (0..60).map(|cluster| [cluster as f32, (cluster % 7) as f32]).collect();
        let discs = Discs { places: &places, neighbours: &neighbours };
        let offsets = |rows: &UnitRows<'_>| {
            let (labels, similarities) = (&expected.labels, &expected.similarities);
            document_offsets(rows, labels, similarities, expected.model.centroids(), &discs).unwrap()
        };
        assert_eq!(offsets(&mapped), offsets(&rows));
    }
}

#[test]
fn a_folder_for_scratch_files_that_is_missing_is_an_error_that_names_it() {
    let rows = ZipfText { n_docs: 200, n_terms: 300, n_topics: 5, mean_terms: 9, seed: 1 }.rows();
    let (mapped, home) = mapped(&rows);
    let missing = home.path().join("missing");
    let params = SphericalKMeans::params(10).strategy(Strategy::Drift);
    let error = params.fit_with(&mapped, FitOptions::default().scratch(&missing)).unwrap_err().to_string();
    assert!(error.contains("missing") && error.contains("scratch file"), "{error}");
}

/// For three parts.
fn in_parts<'a>(home: &tempfile::TempDir) -> FitOptions<'a> {
    FitOptions::default().scratch(home.path()).cuts(vec![1_000, 2_900])
}

/// Rows in a file are passed part by part, in seeding and in every iteration.
#[test]
fn an_observer_hears_of_every_part_of_a_pass_and_may_stop_there() {
    let rows = ZipfText { n_docs: 3_000, n_terms: 2_000, n_topics: 40, mean_terms: 12, seed: 4 }.rows();
    let (mapped, home) = mapped(&rows);
    let (nnz, n_rows) = (rows.nnz() as u64, rows.n_rows() as u64);
    let params = SphericalKMeans::params(20).seed(3).n_threads(2);
    let (mut parts, mut n_iterations) = (Vec::new(), 0);
    let mut observer = |event: &Event<'_>| {
        match *event {
            Event::Passing { n_documents, n_documents_total, bytes_read, bytes_total } => {
                assert_eq!((n_documents_total, bytes_total), (n_rows, 8 * (n_rows + nnz)));
                parts.push((n_documents, bytes_read));
            }
            Event::Iteration(_) => n_iterations += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let fit = params.clone().fit_with(&mapped, in_parts(&home).observer(&mut observer)).unwrap();
    // Seeding by merges is a first assignment and three iterations.
    assert!(parts.len() >= 3 * n_iterations && parts.len() <= 3 * (n_iterations + 4), "{}", parts.len());
    let of_two: Vec<u64> = [1_000, 2_900].map(|n| rows.as_sparse().offsets()[n] + n as u64).to_vec();
    for pass in parts.chunks(3) {
        assert_eq!(pass, [(1_000, 8 * of_two[0]), (2_900, 8 * of_two[1]), (n_rows, 8 * (n_rows + nnz))]);
    }

    // A wish within the second pass of the loop is heard when that has ended.
    let (mut n_told, mut in_loop) = (0, 0);
    let mut once = |event: &Event<'_>| {
        n_told += usize::from(matches!(event, Event::Iteration(_)));
        in_loop += usize::from(n_told == 1 && matches!(event, Event::Passing { .. }));
        let stops = in_loop == 1 && matches!(event, Event::Passing { .. });
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stopped = params.clone().fit_with(&mapped, in_parts(&home).observer(&mut once)).unwrap();
    assert_eq!((stopped.stop, stopped.n_iter), (StopReason::Observer, 1));
    assert!(fit.n_iter > 1);

    // In memory there are no parts.
    let mut none = |event: &Event<'_>| {
        assert!(!matches!(event, Event::Passing { .. }));
        ControlFlow::Continue(())
    };
    params.fit_with(&rows, FitOptions::default().observer(&mut none)).unwrap();
}
