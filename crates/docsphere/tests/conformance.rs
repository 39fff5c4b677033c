//! Every strategy, with 1, 2 and 7 threads and every kind of vector instructions that the machine
//! has, returns the bits of the slow reference: labels, similarities, centroids, objective,
//! iterations, and in every iteration the moved documents, changed and refilled clusters and the
//! movement.
//!
//! To add a strategy: one line at the end of this file.

use std::sync::LazyLock;

use docsphere::{
    Centroids, ClusterId, Device, Fit, FitOptions, Init, IterationRecord, Refine, Simd, SparseRows,
    SphericalKMeans, StopReason, Strategy, UnitRows,
};
use docsphere_testkit::edge_cases::{EdgeCase, edge_cases};
use docsphere_testkit::random_rows::{RandomRows, random_rows, random_seeds};
use docsphere_testkit::reference::{
    ReferenceFit, ReferenceIteration, ReferenceParams, ReferenceSeeding, ReferenceStop, SparseVector,
    reference_fit,
};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use proptest::test_runner::TestRunner;

const THREADS: [usize; 3] = [1, 2, 7];

/// A library fit with the parameters of a reference fit.
pub(crate) fn fit_like(
    rows: &UnitRows<'_>,
    params: &ReferenceParams,
    strategy: Strategy,
    n_threads: usize,
) -> Fit {
    fit_like_with(rows, params, strategy, n_threads, Simd::Auto)
}

fn fit_like_with(
    rows: &UnitRows<'_>,
    params: &ReferenceParams,
    strategy: Strategy,
    n_threads: usize,
    simd: Simd,
) -> Fit {
    fit_like_with_options(rows, params, strategy, n_threads, simd, FitOptions::default())
}

/// Like [`fit_like`], with further options; weights are those of the reference.
pub(crate) fn fit_like_with_options<'a>(
    rows: &UnitRows<'_>,
    params: &'a ReferenceParams,
    strategy: Strategy,
    n_threads: usize,
    simd: Simd,
    options: FitOptions<'a>,
) -> Fit {
    let init = match &params.seeding {
        ReferenceSeeding::Random => Init::Random,
        ReferenceSeeding::PlusPlus => Init::PlainPlusPlus,
        ReferenceSeeding::Greedy { candidates } => Init::PlusPlus { candidates: Some(*candidates) },
        ReferenceSeeding::Merge { fine } => Init::Merge { fine: Some(*fine) },
        ReferenceSeeding::Given(centroids) => Init::Given(given(rows.n_terms(), centroids)),
    };
    let checked = SphericalKMeans::params(params.n_clusters)
        .init(init)
        .seed(params.seed)
        .variation(params.variation)
        .rounds(params.rounds)
        .refine(if params.refine { Refine::Root } else { Refine::None })
        .max_iter(params.max_iter)
        .tol(params.tol)
        .strategy(strategy)
        .device(device_of(strategy))
        // So that ncc-index uses its index on small inputs, too.
        .index_min_changed(3)
        .n_threads(n_threads)
        .simd(simd)
        .check()
        .unwrap();
    match &params.weights {
        Some(weights) => checked.fit_with(rows, options.weights(weights)).unwrap(),
        None => checked.fit_with(rows, options).unwrap(),
    }
}

/// Where a strategy runs. `cuda` is emulated, unless the environment names a device.
pub(crate) fn device_of(strategy: Strategy) -> Device {
    match (strategy, std::env::var("DOCSPHERE_TEST_DEVICE")) {
        (Strategy::Cuda, Ok(device)) => device.parse().expect("DOCSPHERE_TEST_DEVICE is a device"),
        (Strategy::Cuda, Err(_)) => emulated(u64::MAX),
        _ => Device::Cpu,
    }
}

/// The emulation of a device, which is lost after so many launches.
#[cfg(feature = "cuda-emulation")]
pub(crate) fn emulated(launches: u64) -> Device {
    Device::Emulated { launches }
}

/// Without the emulation, the tests of `cuda` test the CPU once more.
#[cfg(not(feature = "cuda-emulation"))]
pub(crate) fn emulated(_launches: u64) -> Device {
    eprintln!("built without the feature cuda-emulation: the kernels of GPUs are NOT tested");
    Device::Cpu
}

fn given(n_terms: usize, centroids: &[SparseVector]) -> Centroids {
    let mut offsets = vec![0];
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for &(term, value) in centroids.iter().flatten() {
        terms.push(term);
        values.push(value);
    }
    offsets.extend(centroids.iter().scan(0, |end, centroid| {
        *end += centroid.len() as u64;
        Some(*end)
    }));
    Centroids::from_rows(SparseRows::from_parts(n_terms, offsets, terms, values).unwrap())
}

/// Fails, naming the place, unless both fits are identical to the bit.
pub(crate) fn assert_same(fit: &Fit, reference: &ReferenceFit, place: &str) {
    assert_eq!(fit.labels.as_slice(), reference.labels, "labels: {place}");
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&fit.similarities), bits(&reference.similarities), "similarities: {place}");
    for (cluster, expected) in reference.centroids.iter().enumerate() {
        let centroid = fit.model.centroids().centroid(ClusterId::new(cluster as u32));
        let got = centroid.iter().map(|(term, value)| (term, value.to_bits()));
        let expected = expected.iter().map(|&(term, value)| (term, value.to_bits()));
        assert!(got.eq(expected), "centroid {cluster}: {place}");
    }
    assert_eq!(fit.objective.to_bits(), reference.objective.to_bits(), "objective: {place}");
    assert_eq!(fit.n_iter, reference.n_iter, "iterations: {place}");
    let stop = match reference.stop {
        ReferenceStop::NoLabelChanged => StopReason::NoLabelChanged,
        ReferenceStop::CentroidsStandStill => StopReason::CentroidsStandStill,
        ReferenceStop::LittleGained => StopReason::LittleGained,
        ReferenceStop::MaxIter => StopReason::MaxIter,
    };
    assert_eq!(fit.stop, stop, "reason to stop: {place}");
    assert_same_iterations(&fit.trace.iterations, &reference.history, place);
    assert_same_iterations(&fit.trace.refinement, &reference.refinement, &format!("refinement, {place}"));
}

fn assert_same_iterations(records: &[IterationRecord], expected: &[ReferenceIteration], place: &str) {
    assert_eq!(records.len(), expected.len(), "trace: {place}");
    for (record, expected) in records.iter().zip(expected) {
        let place = format!("iteration {}: {place}", record.iteration);
        assert_eq!(record.objective.to_bits(), expected.objective.to_bits(), "objective, {place}");
        assert_eq!(record.moved_docs, expected.moved as u64, "moved, {place}");
        let varied = expected.varied.map(|varied| varied as u64);
        assert_eq!(record.varied_docs, varied, "varied, {place}");
        assert_eq!(record.refilled_clusters, expected.refilled.len() as u64, "refilled, {place}");
        let movement = expected.max_squared_movement;
        assert_eq!(record.max_squared_movement.to_bits(), movement.to_bits(), "movement, {place}");
        if record.iteration > 0 {
            assert_eq!(record.changed_clusters, expected.changed.len() as u64, "changed, {place}");
        }
    }
}

fn check(
    rows: &UnitRows<'_>,
    params: &ReferenceParams,
    reference: &ReferenceFit,
    strategy: Strategy,
    place: &str,
) {
    // One thread drives a device.
    let threads = if strategy == Strategy::Cuda { &[2] } else { &THREADS[..] };
    for &n_threads in threads {
        let fit = fit_like(rows, params, strategy, n_threads);
        assert_same(&fit, reference, &format!("{place}, {strategy}, {n_threads} threads"));
    }
    // Only these two have vector kernels.
    if matches!(strategy, Strategy::Drift | Strategy::Auto) {
        for simd in Simd::ALL.iter().copied().filter(|simd| simd.is_available()) {
            let fit = fit_like_with(rows, params, strategy, 2, simd);
            assert_same(&fit, reference, &format!("{place}, {strategy}, {}", simd.name()));
        }
    }
}

/// Number of random cases per test; `make test-long` sets more.
fn n_cases() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(150, |cases| cases.parse().expect("PROPTEST_CASES is a number"))
}

fn on_edge_cases(strategy: Strategy) {
    static CASES: LazyLock<Vec<(EdgeCase, ReferenceFit)>> = LazyLock::new(|| {
        edge_cases()
            .into_iter()
            .map(|case| (case.clone(), reference_fit(&case.rows, &case.params())))
            .collect()
    });
    for (case, reference) in CASES.iter() {
        check(&case.rows, &case.params(), reference, strategy, case.name);
    }
}

/// Random rows with many ties, and how to cluster them.
pub(crate) fn random_case() -> impl proptest::strategy::Strategy<Value = (RandomRows, ReferenceParams)> {
    let shape = (2usize..60, 1usize..25, 0.02f64..0.6, 1u32..4, any::<u64>());
    let kind = prop_oneof![4 => Just((0.0, 0.1)), 1 => Just((0.0, 0.7)), 1 => Just((0.3, 0.1))];
    let run =
        (1usize..20, 0usize..8, any::<u64>(), prop_oneof![Just(0.0), Just(1e-4), Just(0.05)], 0usize..4);
    let search = (any::<bool>(), prop_oneof![3 => Just(0usize), 1 => Just(2)], any::<bool>());
    (shape, kind, run, search).prop_map(|(shape, kind, run, (variation, rounds, refine))| {
        let (n_docs, n_terms, density, largest_value, seed) = shape;
        let (negative_share, duplicate_share) = kind;
        let rows =
            RandomRows { n_docs, n_terms, density, negative_share, duplicate_share, largest_value, seed };
        let (n_clusters, seeding, seed, tol, weights) = run;
        let seeding = match seeding {
            0 => ReferenceSeeding::Random,
            1 => ReferenceSeeding::Greedy { candidates: 3 },
            6 | 7 => ReferenceSeeding::Merge { fine: 2 + n_terms % 4 },
            2 | 3 => ReferenceSeeding::Given(random_seeds(&rows, n_clusters, seed)),
            _ => ReferenceSeeding::PlusPlus,
        };
        let weights = match weights {
            0 => Some([1.0, 0.5, 3.0, 0.0]),
            // Light documents have no weight in the sums of heavy ones.
            1 => Some([1e30, 1.0, 1e-9, 0.0]),
            _ => None,
        };
        let weights = weights.map(|cycle| (0..n_docs).map(|doc| cycle[(doc + doc / 4) % 4]).collect());
        let params = ReferenceParams {
            n_clusters,
            seeding,
            seed,
            run: 0,
            variation,
            rounds,
            refine,
            max_iter: 20,
            tol,
            weights,
        };
        (rows, params)
    })
}

/// Lowers k to the maximum that the rows allow; `None` if nothing can be clustered.
pub(crate) fn fitted_to(rows: &UnitRows<'_>, params: &ReferenceParams) -> Option<ReferenceParams> {
    let has_weight = |doc: usize| params.weights.as_ref().is_none_or(|weights| weights[doc] > 0.0);
    let n_usable = (0..rows.n_rows()).filter(|&doc| rows.row(doc).nnz() > 0 && has_weight(doc)).count();
    let n_clusters = params.n_clusters.min(n_usable);
    let mut params = ReferenceParams { n_clusters, ..params.clone() };
    let mut has_seeds = true;
    if let ReferenceSeeding::Given(seeds) = &mut params.seeding {
        seeds.truncate(n_clusters);
        has_seeds = seeds.iter().any(|seed| !seed.is_empty());
    }
    (n_clusters > 0 && has_seeds).then_some(params)
}

fn on_random_rows(strategy: Strategy) {
    let config = ProptestConfig { cases: n_cases(), failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&random_case(), |(shape, params)| {
        let rows = random_rows(&shape);
        if let Some(params) = fitted_to(&rows, &params) {
            check(&rows, &params, &reference_fit(&rows, &params), strategy, "random rows");
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn on_text_like_rows(strategy: Strategy) {
    type Case = (UnitRows<'static>, ReferenceParams, ReferenceFit);
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let case = |n_docs, mean_terms, n_clusters, max_iter| {
            let rows = ZipfText { n_docs, n_terms: 8_000, n_topics: 60, mean_terms, seed: 5 }.rows();
            let seeding = match n_clusters {
                300 => ReferenceSeeding::Merge { fine: 3 },
                _ => ReferenceSeeding::PlusPlus,
            };
            let (variation, refine) = (n_clusters < 1000, n_clusters == 30);
            let params = ReferenceParams {
                seeding,
                variation,
                refine,
                max_iter,
                tol: 1e-4,
                ..ReferenceParams::new(n_clusters)
            };
            let reference = reference_fit(&rows, &params);
            (rows, params, reference)
        };
        vec![case(3_000, 40, 30, 40), case(3_000, 25, 300, 30), case(4_000, 12, 2_000, 5)]
    });
    for (rows, params, reference) in CASES.iter() {
        let place = format!("text-like rows, k = {}", params.n_clusters);
        check(rows, params, reference, strategy, &place);
    }
}

macro_rules! conformance {
    ($($module:ident => $strategy:expr,)*) => {
        $(mod $module {
            use docsphere::Strategy;

            #[test]
            fn edge_cases() {
                super::on_edge_cases($strategy);
            }

            #[test]
            fn random_rows() {
                super::on_random_rows($strategy);
            }

            #[test]
            fn text_like_rows() {
                super::on_text_like_rows($strategy);
            }
        })*

        #[test]
        fn every_strategy_is_covered() {
            let covered = [$($strategy),*];
            for &strategy in Strategy::ALL {
                assert!(covered.contains(&strategy), "{strategy} has no line in tests/conformance.rs");
            }
        }
    };
}

conformance! {
    auto => Strategy::Auto,
    baseline => Strategy::Baseline,
    ncc => Strategy::Ncc,
    index => Strategy::Index,
    ncc_index => Strategy::NccIndex,
    inverted => Strategy::Inverted,
    drift => Strategy::Drift,
    cuda => Strategy::Cuda,
}
