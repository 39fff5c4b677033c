//! No strategy holds more memory than forecast.

use docsphere::{Centroids, FitOptions, Init, SparseRows, SphericalKMeans, Strategy, UnitRows};
use docsphere_testkit::random_rows::{RandomRows, random_rows};
use docsphere_testkit::zipf::ZipfText;

fn assert_covered(rows: &UnitRows<'_>, n_clusters: usize, what: &str) {
    for &strategy in Strategy::ALL {
        for n_threads in [1, 3] {
            // Random seeds: few of the strategies are made for the small clusters before merges.
            let params = SphericalKMeans::params(n_clusters).init(Init::Random);
            let params = params.strategy(strategy).n_threads(n_threads).max_iter(8).check().unwrap();
            let forecast = params.memory_forecast(rows).strategy;
            let fit = params.fit(rows).unwrap();
            let held = fit.trace.iterations.iter().map(|record| record.strategy_bytes).max().unwrap();
            assert!(
                held <= forecast,
                "{what}, {strategy}, {n_threads} threads: {held} held, {forecast} forecast"
            );
            assert!(held > 0, "{what}, {strategy}: nothing was counted");
        }
    }
}

#[test]
fn strategies_hold_no_more_than_the_forecast() {
    let text =
        |n_docs, n_terms, mean_terms| ZipfText { n_docs, n_terms, n_topics: 50, mean_terms, seed: 3 }.rows();
    assert_covered(&text(2_000, 6_000, 40), 5, "few clusters");
    assert_covered(&text(2_000, 6_000, 40), 300, "many clusters");
    assert_covered(&text(3_000, 20_000, 8), 1_000, "short texts");
    assert_covered(&text(300, 500, 120), 290, "long texts");
    let negative =
        random_rows(&RandomRows { n_docs: 200, n_terms: 50, negative_share: 0.3, ..RandomRows::default() });
    assert_covered(&negative, 20, "negative values");
}

/// Rows in a file, one shard after the other: what is derived from single rows is in files, too.
#[test]
fn strategies_hold_no_more_than_the_forecast_for_rows_in_a_file() {
    let rows = ZipfText { n_docs: 3_000, n_terms: 20_000, n_topics: 50, mean_terms: 20, seed: 3 }.rows();
    let home = tempfile::tempdir().unwrap();
    rows.save_open(home.path().join("rows")).unwrap();
    let mapped = UnitRows::open_mapped(home.path().join("rows")).unwrap();
    for &strategy in Strategy::ALL {
        for n_clusters in [5, 300] {
            let params = SphericalKMeans::params(n_clusters).init(Init::Random).strategy(strategy);
            let params = params.n_threads(2).max_iter(8).check().unwrap();
            let forecast = params.memory_forecast(&mapped).strategy;
            let options = FitOptions::default().cuts(vec![1_000, 1_700, 2_900]).scratch(home.path());
            let fit = params.fit_with(&mapped, options).unwrap();
            let held = fit.trace.iterations.iter().map(|record| record.strategy_bytes).max().unwrap();
            assert!(held <= forecast, "{strategy}, k = {n_clusters}: {held} held, {forecast} forecast");
            let in_memory = params.fit(&rows).unwrap();
            assert_eq!(fit.labels, in_memory.labels, "{strategy}");
        }
    }
}

#[test]
fn every_part_grows_with_what_it_depends_on() {
    let rows = |n_docs| ZipfText { n_docs, n_terms: 3_000, n_topics: 20, mean_terms: 20, seed: 1 }.rows();
    let (small, large) = (rows(200), rows(2_000));
    let of = |rows: &UnitRows<'_>, k, n_threads, n_init| {
        let params = SphericalKMeans::params(k).n_threads(n_threads).n_init(n_init).variation(false);
        params.check().unwrap().memory_forecast(rows)
    };
    let base = of(&small, 10, 1, 1);
    let more_rows = of(&large, 10, 1, 1);
    assert!(more_rows.documents > base.documents && more_rows.seeding > base.seeding);
    assert!(of(&small, 100, 1, 1).centroids > base.centroids);
    assert!(of(&small, 10, 4, 1).strategy > base.strategy);
    assert!(of(&small, 10, 1, 5).documents > base.documents);
    let varied = SphericalKMeans::params(10).n_threads(1).check().unwrap().memory_forecast(&small);
    assert!(varied.variation > base.variation, "first variation keeps a result, and needs rivals");
    assert!(varied.total() >= base.total() && base.variation == 0);
    assert_eq!(base.total(), base.documents + base.seeding.max(base.centroids + base.strategy));
    let later = varied.centroids + varied.strategy + varied.variation;
    assert_eq!(varied.total(), varied.documents + varied.seeding.max(later));
}

/// Centroids that the caller gives may have many more entries than the rows.
#[test]
fn given_centroids_are_counted() {
    let rows = ZipfText { n_docs: 100, n_terms: 3_000, n_topics: 5, mean_terms: 5, seed: 1 }.rows();
    let dense = |n: usize| {
        let offsets = (0..=20).map(|row| row * n as u64).collect::<Vec<_>>();
        let terms = (0..20).flat_map(|_| 0..n as u32).collect::<Vec<_>>();
        SparseRows::from_parts(3_000, offsets, terms, vec![1.0; 20 * n]).unwrap()
    };
    let given = Init::Given(Centroids::from_rows(dense(2_500)));
    for &strategy in Strategy::ALL {
        let params = SphericalKMeans::params(20).init(given.clone()).strategy(strategy).n_threads(1);
        let params = params.max_iter(1).check().unwrap();
        let fit = params.fit(&rows).unwrap();
        let held = fit.trace.iterations[0].strategy_bytes;
        let forecast = params.memory_forecast(&rows).strategy;
        assert!(held <= forecast, "{strategy}: {held} held, {forecast} forecast");
    }
}
