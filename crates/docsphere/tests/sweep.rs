//! Sweeps: the same bits for every strategy, thread count and division into shards, and for each
//! number of clusters those of a fit from the same start.

use std::ops::ControlFlow;

use docsphere::{
    ClusterGrid, Event, Fit, FitOptions, Init, Params, SphericalKMeans, Strategy, Sweep, SweepOptions,
    SweepStep, UnitRows,
};
use docsphere_testkit::random_rows::{RandomRows, random_rows};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

fn go_on(_: &Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn steps(rows: &UnitRows<'_>, params: Params, grid: &ClusterGrid, options: SweepOptions) -> Vec<SweepStep> {
    let mut sweep = Sweep::new(rows, params, grid, options, &mut go_on).unwrap();
    std::iter::from_fn(|| sweep.step(&mut go_on).unwrap()).collect()
}

/// What must be the same: all that does not say how it was found.
fn bits(fit: &Fit) -> (Vec<i32>, Vec<u64>, u64, usize, docsphere::Centroids) {
    let similarities = fit.similarities.iter().map(|similarity| similarity.to_bits()).collect();
    let centroids = fit.model.centroids().clone();
    (fit.labels.as_slice().to_vec(), similarities, fit.objective.to_bits(), fit.n_iter, centroids)
}

fn grid(n_clusters: &[usize]) -> ClusterGrid {
    ClusterGrid::new(n_clusters).unwrap()
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(60, |cases| cases.parse().expect("a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn strategies_threads_and_shards_change_no_bit(
        (n_docs, n_terms, density, negative) in (12usize..70, 3usize..25, 0.05f64..0.5, any::<bool>()),
        n_clusters in prop::collection::vec(2usize..12, 1..4),
        (seed, variation, fine) in (any::<u64>(), any::<bool>(), 2usize..5),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        which in any::<prop::sample::Index>(),
        n_threads in 1usize..4,
    ) {
        let negative_share = if negative { 0.3 } else { 0.0 };
        let shape = RandomRows { n_docs, n_terms, density, negative_share, seed, ..RandomRows::default() };
        let rows = random_rows(&shape);
        let n_usable = rows.n_nonzero_rows();
        let n_clusters: Vec<usize> = n_clusters.into_iter().filter(|&k| k <= n_usable).collect();
        if n_clusters.is_empty() {
            return Ok(());
        }
        let grid = grid(&n_clusters);
        let params = || {
            let init = Init::Merge { fine: Some(fine) };
            SphericalKMeans::params(2).init(init).seed(seed).variation(variation).max_iter(6)
        };
        let options = || SweepOptions::default().stability(1);
        let plain = params().strategy(Strategy::Baseline).n_threads(1);
        let expected = steps(&rows, plain, &grid, options());
        let mut cuts: Vec<usize> = places.iter().map(|place| place.index(n_docs + 1)).collect();
        cuts.sort_unstable();
        let strategy = Strategy::ALL[which.index(Strategy::ALL.len())];
        let other = params().strategy(strategy).n_threads(n_threads);
        let found = steps(&rows, other.clone(), &grid, options().cuts(cuts));
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(bits(&found.fit), bits(&expected.fit));
            prop_assert_eq!(&found.measures, &expected.measures);
        }
        // Each number of clusters has the fit from its start.
        let starts = other.clone().check().unwrap();
        let starts = starts.starts(&rows, grid.as_slice(), FitOptions::default()).unwrap();
        prop_assert_eq!(starts.n_clusters(), grid.as_slice());
        for (step, &k) in found.iter().zip(grid.as_slice()) {
            let given = SphericalKMeans::params(k).init(Init::Given(starts.centroids(k).unwrap()));
            let given = given.seed(seed).variation(variation).max_iter(6).fit(&rows).unwrap();
            prop_assert_eq!(bits(&given), bits(&step.fit));
        }
        // The greatest has that of an ordinary run.
        let most = *grid.as_slice().last().unwrap();
        let init = Init::Merge { fine: Some(fine) };
        let alone = SphericalKMeans::params(most).init(init).seed(seed).variation(variation).max_iter(6);
        prop_assert_eq!(bits(&alone.fit(&rows).unwrap()), bits(&found.last().unwrap().fit));
    }
}

fn topics() -> UnitRows<'static> {
    ZipfText { n_docs: 5_000, n_terms: 4_000, n_topics: 60, mean_terms: 12, seed: 2 }.rows()
}

#[test]
fn rounds_do_not_change_the_stability_over_seeds() {
    // The sample is all rows: with rounds, the fits of the sweep are not those of its seed alone.
    let rows = ZipfText { n_docs: 800, n_terms: 600, n_topics: 12, mean_terms: 8, seed: 3 }.rows();
    let found = |rounds| {
        let params = SphericalKMeans::params(2).seed(1).rounds(rounds);
        let found = steps(&rows, params, &grid(&[8, 20]), SweepOptions::default().stability(1));
        found.into_iter().map(|step| (step.measures.seeds, step.fit.objective)).collect::<Vec<_>>()
    };
    let (without, with) = (found(0), found(4));
    assert!(without.iter().zip(&with).any(|(without, with)| without.1 < with.1), "rounds gain");
    for (without, with) in without.iter().zip(&with) {
        assert!(without.0.is_some());
        assert_eq!(without.0, with.0);
    }
}

#[test]
fn many_small_clusters_have_good_cuts_at_few_clusters() {
    // 3,300 small clusters: partners down to the first cut, then all pairs.
    let rows = topics();
    let grid = grid(&[60, 300, 1_100]);
    let params = |n_threads| {
        SphericalKMeans::params(2).init(Init::Merge { fine: Some(3) }).max_iter(3).n_threads(n_threads)
    };
    let options = || SweepOptions::default().stability(0);
    let found = steps(&rows, params(1), &grid, options());
    let other = steps(&rows, params(3), &grid, options().cuts(vec![1_000, 1_001, 4_000]));
    for (found, other) in found.iter().zip(&other) {
        assert_eq!(bits(&found.fit), bits(&other.fit), "k = {}", found.n_clusters);
        assert_eq!(found.measures, other.measures);
    }
    for step in &found {
        let random = SphericalKMeans::params(step.n_clusters).init(Init::Random).max_iter(3);
        let random = random.fit(&rows).unwrap().objective;
        assert!(step.fit.objective > random, "k = {}: {} {random}", step.n_clusters, step.fit.objective);
    }
}

#[test]
fn stability_is_that_of_fits_by_hand() {
    let rows = topics();
    let grid = grid(&[5, 40]);
    let params = SphericalKMeans::params(2).max_iter(4).seed(3);
    let found = steps(&rows, params.clone(), &grid, SweepOptions::default().stability(2));
    for step in &found {
        let (halves, seeds) = (step.measures.halves.as_ref().unwrap(), step.measures.seeds.as_ref().unwrap());
        assert_eq!((halves.pairs.len(), seeds.pairs.len()), (2, 2));
        for (place, pair) in seeds.pairs.iter().enumerate() {
            let other = params.clone().seed(4 + place as u64);
            let starts = other.clone().check().unwrap();
            let starts = starts.starts(&rows, grid.as_slice(), FitOptions::default()).unwrap();
            let given = Init::Given(starts.centroids(step.n_clusters).unwrap());
            let other = SphericalKMeans::params(step.n_clusters).init(given).max_iter(4).fit(&rows).unwrap();
            let expected = docsphere::agreement(&step.fit.labels, &other.labels).unwrap();
            assert!((pair.ari - expected.ari).abs() < 0.02, "ties aside: {} {}", pair.ari, expected.ari);
        }
        let (least, greatest) = halves.ari_range();
        assert!(least <= halves.ari() && halves.ari() <= greatest, "{halves:?}");
    }
    // A sample: other numbers, but the same fits.
    let sampled = steps(&rows, params, &grid, SweepOptions::default().stability(1).stability_sample(1_000));
    for (sampled, found) in sampled.iter().zip(&found) {
        assert_eq!(bits(&sampled.fit), bits(&found.fit));
        assert_ne!(sampled.measures.halves, found.measures.halves);
    }
}

#[test]
fn subjects_that_are_plain_are_recommended() {
    // Twenty subjects with words of their own.
    let docs: Vec<(Vec<u32>, Vec<f32>)> = (0..2_000u32)
        .map(|doc| {
            let subject = doc % 20;
            let mut terms: Vec<u32> = (0..6)
                .map(|word| subject * 30 + (doc.wrapping_mul(7919 + 104_729 * word) >> 5) % 30)
                .collect();
            terms.push(600 + doc.wrapping_mul(31) % 200);
            terms.sort_unstable();
            terms.dedup();
            let values = vec![1.0; terms.len()];
            (terms, values)
        })
        .collect();
    let mut offsets = vec![0u64];
    docs.iter().for_each(|doc| offsets.push(offsets[offsets.len() - 1] + doc.0.len() as u64));
    let (terms, values): (Vec<_>, Vec<_>) = docs.into_iter().unzip();
    let rows = docsphere::SparseRows::from_parts(800, offsets, terms.concat(), values.concat()).unwrap();
    let rows = UnitRows::new(rows);
    let grid = grid(&[5, 10, 20, 40, 80, 160]);
    let params = SphericalKMeans::params(2);
    let mut sweep = Sweep::new(&rows, params, &grid, SweepOptions::default(), &mut go_on).unwrap();
    assert_eq!(sweep.advice(), None);
    while sweep.step(&mut go_on).unwrap().is_some() {}
    let advice = sweep.advice().unwrap();
    assert_eq!(advice.n_clusters, 20, "{advice:?} {:#?}", sweep.measures());
    let stability = |k: usize| {
        let measures = sweep.measures().iter().find(|measures| measures.n_clusters == k).unwrap();
        [measures.halves.as_ref().unwrap().ari(), measures.seeds.as_ref().unwrap().ari()]
    };
    assert!(stability(20).iter().all(|&ari| ari > 0.95), "{:?}", stability(20));
    assert!(stability(160).iter().all(|&ari| ari < 0.8), "{:?}", stability(160));
}

#[test]
fn a_stop_leaves_the_numbers_that_are_done() {
    let rows = topics();
    let grid = grid(&[5, 40, 100]);
    let options = SweepOptions::default().stability(0);
    let mut sweep =
        Sweep::new(&rows, SphericalKMeans::params(2), &grid, options.clone(), &mut go_on).unwrap();
    sweep.step(&mut go_on).unwrap().unwrap();
    let mut n_left = 2;
    let mut stop = |event: &Event<'_>| {
        n_left -= usize::from(matches!(event, Event::Iteration(_)) && n_left > 0);
        if n_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let error = sweep.step(&mut stop).unwrap_err();
    assert!(matches!(error.kind(), docsphere::ErrorKind::Stopped { .. }), "{error}");
    assert_eq!(sweep.measures().len(), 1);
    // It can go on, and then nothing is different.
    let rest: Vec<SweepStep> = std::iter::from_fn(|| sweep.step(&mut go_on).unwrap()).collect();
    let whole = steps(&rows, SphericalKMeans::params(2), &grid, options);
    for (rest, whole) in rest.iter().zip(&whole[1..]) {
        assert_eq!(bits(&rest.fit), bits(&whole.fit));
    }
    assert_eq!((rest.len(), sweep.measures().len()), (2, 3));
}

#[test]
fn what_does_not_fit_is_refused() {
    let rows = topics();
    let message = |params: Params, numbers: &[usize], options: SweepOptions| {
        Sweep::new(&rows, params, &grid(numbers), options, &mut go_on).unwrap_err().to_string()
    };
    let (params, options) = (|| SphericalKMeans::params(2), SweepOptions::default);
    assert_eq!(
        message(params().n_init(3), &[5], options()),
        "n_init must be 1 in a sweep, since each number of clusters has one start, got 3"
    );
    assert_eq!(
        message(params().init(Init::Random), &[5], options()),
        "init must be merge, since all starts come from one tree of merges, got random"
    );
    assert!(message(params(), &[5, 6_000], options()).starts_with("n_clusters must be at most "));
    assert_eq!(message(params(), &[5], options().stability(101)), "stability must be from 0 to 100, got 101");
    assert_eq!(
        message(params(), &[5], options().stability_sample(5)),
        "stability_sample must be at least 100, got 5"
    );
}
