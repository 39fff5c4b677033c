//! Runs on a GPU, emulated on the CPU unless `DOCSPHERE_TEST_DEVICE` says `cuda`: the bits of the
//! reference for any division of the rows, and after a loss of the device at any moment.

use std::ops::ControlFlow;

#[cfg(feature = "cuda-emulation")]
use docsphere::MergeTree;
use docsphere::{
    Checkpoint, Device, Event, Fit, FitOptions, Init, Simd, SparseRows, SphericalKMeans, Strategy, UnitRows,
};
use docsphere_testkit::random_rows::random_rows;
use docsphere_testkit::reference::reference_fit;
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

use crate::conformance::{assert_same, device_of, emulated, fit_like_with_options, fitted_to, random_case};

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn text_like(n_docs: usize) -> UnitRows<'static> {
    ZipfText { n_docs, n_terms: 1_000, n_topics: 20, mean_terms: 12, seed: 7 }.rows()
}

/// A fit, and the messages of the device.
fn watched(rows: &UnitRows<'_>, params: &docsphere::Params) -> (docsphere::Result<Fit>, Vec<String>) {
    let mut messages = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::DeviceLeft { error } = event {
            messages.push(error.to_string());
        }
        ControlFlow::Continue(())
    };
    let fit = params.clone().fit_with(rows, FitOptions::default().observer(&mut observer));
    (fit, messages)
}

fn assert_equal(fit: &Fit, expected: &Fit, place: &str) {
    assert_eq!(fit.labels, expected.labels, "{place}");
    assert_eq!(fit.similarities, expected.similarities, "{place}");
    assert_eq!(fit.model.centroids(), expected.model.centroids(), "{place}");
    assert_eq!(fit.objective.to_bits(), expected.objective.to_bits(), "{place}");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_cut_gives_the_reference(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        n_threads in 1usize..4,
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let mut cuts: Vec<usize> = places.iter().map(|place| place.index(rows.n_rows() + 1)).collect();
        cuts.sort_unstable();
        let options = FitOptions::default().cuts(cuts.clone());
        let fit = fit_like_with_options(&rows, &params, Strategy::Cuda, n_threads, Simd::Auto, options);
        assert_same(&fit, &reference_fit(&rows, &params), &format!("cuts {cuts:?}"));
    }
}

#[test]
fn a_run_goes_from_the_cpu_to_a_device_and_back_through_checkpoints() {
    let rows = text_like(1_500);
    let params = SphericalKMeans::params(40).n_threads(2);
    let whole = params.clone().fit(&rows).unwrap();
    let on_device = params.clone().device(device_of(Strategy::Cuda)).fit(&rows).unwrap();
    assert_equal(&on_device, &whole, "on the device");
    #[cfg(feature = "cuda-emulation")]
    assert!(on_device.trace.iterations.iter().all(|record| record.strategy == Strategy::Cuda));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    for (first, second) in
        [(Device::Cpu, device_of(Strategy::Cuda)), (device_of(Strategy::Cuda), Device::Cpu)]
    {
        let mut stop = |event: &Event<'_>| match event {
            Event::Iteration(record) if record.iteration == 3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let options = FitOptions::default().checkpoint(&path, 1).observer(&mut stop);
        params.clone().device(first).fit_with(&rows, options).unwrap();
        let options = FitOptions::default().resume(Checkpoint::load(&path).unwrap());
        let continued = params.clone().device(second).fit_with(&rows, options).unwrap();
        assert_equal(&continued, &whole, &format!("{first}, then {second}"));
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error_or_with_auto_a_note() {
    let rows = text_like(200);
    let params = SphericalKMeans::params(4).n_threads(1);
    let (fit, messages) = watched(&rows, &params.clone().device(Device::Cuda));
    let error = match fit {
        Err(error) => error.to_string(),
        // It has said so before the first test that needs it.
        Ok(_) => return eprintln!("this machine has a GPU: what is said without one is NOT tested"),
    };
    assert_eq!(messages, [""; 0]);
    let expected = match cfg!(feature = "cuda-emulation") {
        true => "device cuda: no CUDA driver was found",
        false => "device cuda: this build has no support for it (feature cuda)",
    };
    assert_eq!(error, expected);
    let (fit, messages) = watched(&rows, &params.clone().device(Device::Auto));
    assert_equal(&fit.unwrap(), &params.fit(&rows).unwrap(), "auto");
    assert_eq!(messages, [expected]);
}

#[cfg(feature = "cuda-emulation")]
#[test]
fn a_device_that_is_lost_at_any_launch_leaves_the_bits_as_they_are() {
    let rows = text_like(300);
    // And how many launches seeding has at least: two per pass over the documents of a shard, which
    // takes up to four candidates. The first seed is drawn alone.
    for (init, cuts, n_seeding) in [
        (Init::Random, vec![], 0),
        (Init::default(), vec![100, 100, 250], 0),
        (Init::PlusPlus { candidates: Some(5) }, vec![], 2 + 11 * 4),
        (Init::PlusPlus { candidates: None }, vec![100, 250], 12 * 2 * 3),
        (Init::PlainPlusPlus, vec![], 12 * 2),
    ] {
        let params = SphericalKMeans::params(12).init(init).n_threads(2).max_iter(8);
        let expected = params.clone().fit(&rows).unwrap();
        let (mut n_lost, mut launches) = (0, 0);
        loop {
            let mut messages = Vec::new();
            let mut observer = |event: &Event<'_>| {
                if let Event::DeviceLeft { error } = event {
                    messages.push(error.to_string());
                }
                ControlFlow::Continue(())
            };
            let options = FitOptions::default().cuts(cuts.clone()).observer(&mut observer);
            let fit = params.clone().device(emulated(launches)).fit_with(&rows, options).unwrap();
            assert_equal(&fit, &expected, &format!("lost after {launches} launches"));
            if messages.is_empty() {
                break;
            }
            let lost = "the CUDA driver failed in a launch: the emulated device is lost";
            let [later, seeding] = ["", "while seeding: "].map(|when| format!("device cuda: {when}{lost}"));
            let is_known = |found: &String| *found == later || *found == seeding;
            assert!(messages.iter().all(is_known), "{messages:?}");
            if launches < n_seeding {
                assert_eq!(messages[0], seeding, "lost after {launches} launches");
            }
            n_lost += 1;
            // Every launch of the first steps, then some.
            launches += if launches < 60 { 1 } else { 13 };
        }
        assert!(n_lost >= 60, "the device was lost {n_lost} times");
    }
}

#[cfg(feature = "cuda-emulation")]
#[test]
fn neighbours_and_trees_are_those_of_the_cpu_wherever_the_device_is_lost() {
    let rows = text_like(120);
    let params = SphericalKMeans::params(30).init(Init::Random).n_threads(2).max_iter(1);
    let expected = params.clone().fit(&rows).unwrap().model;
    let (mut n_lost, mut launches) = (0, 0);
    loop {
        let (fit, messages) = watched(&rows, &params.clone().device(emulated(launches)));
        let model = fit.unwrap().model;
        // The kernels select up to 4; more are selected on the CPU.
        for m in [1, 4, 10, 40] {
            assert_eq!(model.neighbours(m), expected.neighbours(m), "{m}, lost after {launches} launches");
        }
        assert_eq!(MergeTree::new(&model), MergeTree::new(&expected), "lost after {launches} launches");
        let Some(problem) = model.left_device() else { break };
        assert_eq!(problem, "device cuda: the CUDA driver failed in a launch: the emulated device is lost");
        n_lost += u32::from(messages.is_empty());
        launches += 1;
    }
    assert!(n_lost >= 60, "the device was lost {n_lost} times after the fit");
}

#[cfg(feature = "cuda-emulation")]
#[test]
fn negative_values_are_for_the_cpu_and_a_note_says_so() {
    let values = vec![1.0, -1.0, 2.0, 1.0];
    let rows = SparseRows::from_parts(3, vec![0, 2, 3, 4], vec![0, 1, 1, 2], values).unwrap();
    let rows = UnitRows::new(rows);
    let params = SphericalKMeans::params(2).init(Init::Random).n_threads(1);
    let (fit, messages) = watched(&rows, &params.clone().device(emulated(u64::MAX)));
    let fit = fit.unwrap();
    assert_equal(&fit, &params.fit(&rows).unwrap(), "negative values");
    assert_eq!(messages, ["device cuda: its bounds do not hold for negative values"]);
    assert!(fit.trace.iterations.iter().all(|record| record.strategy != Strategy::Cuda));
}

/// Of rows, labels and centroids only what has changed: rows once for the small clusters of seeding
/// and the loop, centroids that moved, and moves while there are some.
#[test]
fn only_what_has_changed_is_sent() {
    let rows = text_like(2_000);
    let params = SphericalKMeans::params(60).variation(false).tol(0.0).n_threads(2);
    let fit = params.device(device_of(Strategy::Cuda)).fit(&rows).unwrap();
    let bytes = |record: &docsphere::IterationRecord| record.transferred.expect("it was on the device");
    let records = &fit.trace.iterations;
    let (of_rows, of_centroids) = (8 * rows.nnz() as u64, 8 * fit.model.centroids().nnz() as u64);
    assert!(bytes(&records[0]).sent < of_rows / 2 + 2 * of_centroids, "{:?}", bytes(&records[0]));
    let last = &records[records.len() - 1];
    assert!(last.moved_docs == 0 && last.changed_clusters < 20, "{last:?}");
    // What there is for each cluster and each document takes less than all centroids.
    assert!(bytes(last).sent < of_centroids / 2, "{:?} of {of_centroids}", bytes(last));
    assert!(bytes(last).received < 16 * 2_000, "{:?}", bytes(last));
    assert!(records.iter().all(|record| bytes(record).received > 0));
}

#[test]
fn a_device_holds_no_more_of_the_hosts_memory_than_the_forecast() {
    for (n_docs, k) in [(2_000, 5), (2_000, 300), (100, 90)] {
        let rows = text_like(n_docs);
        let params = SphericalKMeans::params(k).init(Init::Random).n_threads(2).max_iter(8);
        let params = params.device(device_of(Strategy::Cuda)).check().unwrap();
        let forecast = params.memory_forecast(&rows).strategy;
        let fit = params.fit(&rows).unwrap();
        let held = fit.trace.iterations.iter().map(|record| record.strategy_bytes).max().unwrap();
        assert!(
            held > 0 && held <= forecast,
            "{n_docs} documents, k = {k}: {held} held, {forecast} forecast"
        );
    }
}
