//! For any division of the rows into shards, the result is that of one shard, to the bit.

use docsphere::{Checkpoint, Event, FitOptions, Init, Simd, SphericalKMeans, Strategy, UnitRows};
use docsphere_testkit::random_rows::random_rows;
use docsphere_testkit::reference::{ReferenceParams, reference_fit};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;
use std::ops::ControlFlow;

use crate::conformance::{assert_same, fit_like_with_options, fitted_to, random_case};

/// Ascending cuts anywhere: several at one place make empty shards.
fn cuts_at(places: &[prop::sample::Index], n_rows: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = places.iter().map(|place| place.index(n_rows + 1)).collect();
    cuts.sort_unstable();
    cuts
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn one_row_each(n_rows: usize) -> Vec<usize> {
    (1..n_rows).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_cut_gives_the_reference_for_every_strategy(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        n_threads in 1usize..4,
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let reference = reference_fit(&rows, &params);
        for cuts in [cuts_at(&places, rows.n_rows()), one_row_each(rows.n_rows())] {
            for &strategy in Strategy::ALL {
                let options = FitOptions::default().cuts(cuts.clone());
                let fit = fit_like_with_options(&rows, &params, strategy, n_threads, Simd::Auto, options);
                assert_same(&fit, &reference, &format!("{strategy}, cuts {cuts:?}"));
            }
        }
    }

    /// Several runs, stopped after some iterations and continued with other cuts and another
    /// strategy.
    #[test]
    fn any_cut_goes_through_checkpoints_and_several_runs(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        others in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        which in any::<prop::sample::Index>(),
        stop_after in 1usize..6,
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let strategy = Strategy::ALL[which.index(Strategy::ALL.len())];
        let whole = several_runs(&rows, &params, strategy, FitOptions::default()).unwrap();
        let cut = FitOptions::default().cuts(cuts_at(&places, rows.n_rows()));
        prop_assert_eq!(comparable(whole.clone()), comparable(several_runs(&rows, &params, strategy, cut).unwrap()));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let mut n_iterations = 0;
        let mut stop = |event: &Event<'_>| {
            n_iterations += usize::from(matches!(event, Event::Iteration(_)));
            if n_iterations >= stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options =
            FitOptions::default().cuts(cuts_at(&places, rows.n_rows())).checkpoint(&path, 1).observer(&mut stop);
        several_runs(&rows, &params, strategy, options).unwrap();
        // A run that ended before it was stopped leaves no checkpoint.
        if let Ok(checkpoint) = Checkpoint::load(&path) {
            let options = FitOptions::default().cuts(cuts_at(&others, rows.n_rows())).resume(checkpoint);
            let continued = several_runs(&rows, &params, Strategy::Auto, options).unwrap();
            prop_assert_eq!(continued.labels, whole.labels);
            prop_assert_eq!(continued.similarities, whole.similarities);
            prop_assert_eq!(continued.model.centroids(), whole.model.centroids());
            prop_assert_eq!(continued.objective.to_bits(), whole.objective.to_bits());
        }
    }
}

#[test]
fn many_small_clusters_merge_the_same_on_any_threads_and_shards() {
    // More than 3,072 small clusters: only partners merge.
    let rows = ZipfText { n_docs: 5_000, n_terms: 4_000, n_topics: 60, mean_terms: 12, seed: 2 }.rows();
    let fit = |n_threads, cuts: Vec<usize>| {
        let params = SphericalKMeans::params(1_200).init(Init::Merge { fine: Some(3) }).max_iter(2);
        let params = params.n_threads(n_threads).check().unwrap();
        params.fit_with(&rows, FitOptions::default().cuts(cuts)).unwrap()
    };
    let whole = fit(1, Vec::new());
    let other = fit(3, vec![1_000, 1_001, 4_000]);
    assert_eq!((whole.labels, whole.similarities), (other.labels, other.similarities));
    assert_eq!(whole.model.centroids(), other.model.centroids());
    let random = SphericalKMeans::params(1_200).init(Init::Random).max_iter(2).fit(&rows).unwrap();
    assert!(whole.objective > random.objective, "{} {}", whole.objective, random.objective);
}

/// Three runs with seeds of their own.
fn several_runs<'a>(
    rows: &UnitRows<'_>,
    params: &'a ReferenceParams,
    strategy: Strategy,
    options: FitOptions<'a>,
) -> docsphere::Result<docsphere::Fit> {
    let init = match params.seed % 2 {
        0 => Init::PlusPlus { candidates: Some(2) },
        _ => Init::Merge { fine: Some(3) },
    };
    let checked = SphericalKMeans::params(params.n_clusters)
        .init(init)
        .n_init(3)
        .seed(params.seed)
        .max_iter(params.max_iter)
        .tol(params.tol)
        .strategy(strategy)
        .index_min_changed(3)
        .n_threads(2)
        .check()?;
    match &params.weights {
        Some(weights) => checked.fit_with(rows, options.weights(weights)),
        None => checked.fit_with(rows, options),
    }
}

/// The best result so far is in files while first variation goes on, or the next run.
#[test]
fn the_best_result_comes_back_from_a_disk() {
    let home = tempfile::tempdir().unwrap();
    for seed in 0..6 {
        let rows = ZipfText { n_docs: 600, n_terms: 900, n_topics: 12, mean_terms: 9, seed }.rows();
        let params = SphericalKMeans::params(40).seed(seed).n_init(3).rounds(1).check().unwrap();
        let options = FitOptions::default().scratch(home.path());
        let found = params.fit_with(&rows, options).unwrap();
        assert_eq!(comparable(found), comparable(params.fit(&rows).unwrap()), "seed {seed}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

/// The fit without seconds, and without bytes that each shard holds separately.
fn comparable(mut fit: docsphere::Fit) -> docsphere::Fit {
    for record in &mut fit.trace.iterations {
        record.seconds = docsphere::StageSeconds::default();
        record.strategy_bytes = 0;
        record.transferred = None;
        record.index = None;
        record.counters = docsphere::Counters::default();
        record.strategy = Strategy::Auto;
        record.filters_off = false;
    }
    for run in &mut fit.trace.runs {
        (run.seeding_seconds, run.seeding_phases) = (0.0, None);
    }
    fit
}
