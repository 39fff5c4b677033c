//! The loop and its documented policies, as a caller sees them. Each policy of the crate docs has a
//! test here.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use docsphere::{
    Centroids, DocId, ErrorKind, Event, Fit, FitOptions, Init, SparseRows, SphericalKMeans, StopReason,
    Strategy, UnitRows,
};
use docsphere_testkit::reference::{SparseVector, reference_assign, reference_objective};
use docsphere_testkit::rows_from;
use docsphere_testkit::zipf::ZipfText;

fn text() -> UnitRows<'static> {
    ZipfText { n_docs: 1_500, n_terms: 3_000, n_topics: 30, mean_terms: 15, seed: 4 }.rows()
}

fn given(n_terms: usize, rows: &[&[(u32, f32)]]) -> Init {
    let rows = rows_from(n_terms, rows);
    Init::Given(Centroids::from_rows(rows.as_sparse().clone()))
}

fn centroids_of(fit: &Fit) -> Vec<SparseVector> {
    let matrix = fit.model.centroids().to_sparse_rows();
    matrix.iter().map(|row| row.iter().collect()).collect()
}

/// Checks that labels are the best for the centroids, and that similarities and objective match.
fn assert_belongs_together(rows: &UnitRows<'_>, fit: &Fit) {
    let assigned = reference_assign(rows, &centroids_of(fit), fit.labels.as_slice());
    assert_eq!(assigned.labels, fit.labels.as_slice());
    assert_eq!(assigned.similarities, fit.similarities);
    assert_eq!(reference_objective(&fit.similarities, None), fit.objective);
}

#[test]
fn labels_centroids_and_objective_belong_together_whatever_stops_the_run() {
    let rows = text();
    // Better seeds would converge too soon.
    let params = || SphericalKMeans::params(40).init(Init::PlusPlus { candidates: None }).seed(2);
    let stops = [
        (params().tol(0.0), StopReason::NoLabelChanged),
        (params().tol(0.5), StopReason::CentroidsStandStill),
        (params().max_iter(2), StopReason::MaxIter),
    ];
    for (params, stop) in stops {
        let fit = params.fit(&rows).unwrap();
        assert_eq!(fit.stop, stop);
        assert_eq!(fit.converged(), stop != StopReason::MaxIter);
        assert_belongs_together(&rows, &fit);
    }
}

#[test]
fn the_observer_sees_every_event_and_can_stop_after_an_iteration() {
    let rows = text();
    let (mut seeds, mut iterations) = (0, Vec::new());
    let mut observer = |event: &Event<'_>| {
        match event {
            Event::Seeding { done, total } => {
                seeds += 1;
                assert_eq!((*done, *total), (seeds, 40));
            }
            Event::Iteration(record) => iterations.push(record.iteration),
            _ => {}
        }
        if iterations.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // Greedy seeds would converge after two iterations.
    let params = SphericalKMeans::params(40).init(Init::PlainPlusPlus).n_init(5).check().unwrap();
    let fit = params.fit_with(&rows, FitOptions::default().observer(&mut observer)).unwrap();
    assert_eq!((seeds, iterations), (40, vec![0, 1, 2]));
    assert_eq!((fit.stop, fit.n_iter, fit.trace.runs.len()), (StopReason::Observer, 2, 1));
    assert!(!fit.converged());
    assert_belongs_together(&rows, &fit);
}

#[test]
fn a_stop_during_seeding_is_an_error_unless_an_earlier_run_left_a_result() {
    let rows = text();
    let stop_at = |run_to_stop: usize, rows: &UnitRows<'_>, init: &Init| {
        let mut current = 0;
        let mut observer = |event: &Event<'_>| {
            if let Event::RunStarted { run, .. } = event {
                current = *run;
            }
            let stop = matches!(event, Event::Seeding { done: 2, .. }) && current == run_to_stop;
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let params = SphericalKMeans::params(10).init(init.clone()).n_init(3).check().unwrap();
        params.fit_with(rows, FitOptions::default().observer(&mut observer))
    };
    for init in [Init::default(), Init::Random] {
        let error = stop_at(0, &rows, &init).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stopped { stage: "seeding" }));
        let fit = stop_at(1, &rows, &init).unwrap();
        assert_eq!(fit.trace.runs.len(), 1);
        assert_belongs_together(&rows, &fit);
    }
}

#[test]
fn a_stop_at_the_first_assignment_still_gives_labels() {
    let rows = text();
    let mut observer = |event: &Event<'_>| match event {
        Event::Iteration(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let params = SphericalKMeans::params(10).check().unwrap();
    let fit = params.fit_with(&rows, FitOptions::default().observer(&mut observer)).unwrap();
    assert_eq!((fit.n_iter, fit.stop), (0, StopReason::Observer));
    assert_belongs_together(&rows, &fit);
}

#[test]
fn zero_rows_have_no_label_and_take_no_part() {
    let rows = rows_from(4, &[&[], &[(0, 1.0)], &[], &[(1, 1.0)], &[(0, 2.0), (1, 0.1)]]);
    let without = rows_from(4, &[&[(0, 1.0)], &[(1, 1.0)], &[(0, 2.0), (1, 0.1)]]);
    let init = || given(4, &[&[(0, 1.0)], &[(1, 1.0)]]);
    let fit = SphericalKMeans::params(2).init(init()).fit(&rows).unwrap();
    let plain = SphericalKMeans::params(2).init(init()).fit(&without).unwrap();
    assert_eq!(fit.labels.as_slice(), [-1, 0, -1, 1, 0]);
    assert_eq!(fit.labels.get(DocId::new(2)), None);
    assert_eq!((fit.similarities[0], fit.similarities[2]), (0.0, 0.0));
    assert_eq!(fit.objective, plain.objective);
    assert_eq!(fit.model.centroids(), plain.model.centroids());
}

#[test]
fn more_clusters_than_rows_is_an_error_that_says_how_many_there_may_be() {
    let rows = rows_from(4, &[&[(0, 1.0)], &[], &[(1, 1.0)]]);
    let error = SphericalKMeans::params(3).fit(&rows).unwrap_err();
    assert_eq!(
        error.to_string(),
        "n_clusters must be at most 2, the number of rows that are not zero and have weight, got 3"
    );
    let nothing = rows_from(4, &[&[], &[]]);
    assert!(SphericalKMeans::params(1).fit(&nothing).unwrap_err().to_string().contains("at most 0"));
}

#[test]
fn more_clusters_than_distinct_rows_leaves_the_surplus_empty() {
    let rows = rows_from(3, &[&[(0, 1.0)], &[(0, 2.0)], &[(1, 1.0)], &[(1, 5.0)], &[(0, 3.0)]]);
    for init in [Init::Random, Init::PlainPlusPlus, Init::PlusPlus { candidates: None }, Init::default()] {
        let fit = SphericalKMeans::params(4).init(init).fit(&rows).unwrap();
        assert_eq!(fit.n_empty_clusters, 2);
        assert_eq!(fit.objective, 5.0);
        let labels = fit.labels.as_slice();
        assert!(labels[0] == labels[1] && labels[0] == labels[4] && labels[2] == labels[3]);
        assert_ne!(labels[0], labels[2]);
    }
}

#[test]
fn an_empty_cluster_takes_the_worst_fitting_document() {
    // Everything is nearest to seed 0; seed 1 has nothing in common with any row.
    let rows =
        rows_from(9, &[&[(0, 1.0)], &[(0, 1.0), (1, 0.2)], &[(0, 0.1), (2, 1.0)], &[(0, 1.0), (1, 0.1)]]);
    let init = given(9, &[&[(0, 1.0)], &[(8, 1.0)]]);
    let fit = SphericalKMeans::params(2).init(init).fit(&rows).unwrap();
    assert_eq!(fit.trace.iterations[1].refilled_clusters, 1);
    assert_eq!(fit.labels.as_slice(), [0, 0, 1, 0], "document 2 fitted worst");
    assert_eq!(fit.n_empty_clusters, 0);
}

#[test]
fn duplicates_share_a_cluster() {
    let rows = rows_from(3, &[&[(0, 1.0), (1, 2.0)], &[(2, 1.0)], &[(0, 2.0), (1, 4.0)], &[(2, 7.0)]]);
    let fit = SphericalKMeans::params(2).fit(&rows).unwrap();
    let labels = fit.labels.as_slice();
    assert!(labels[0] == labels[2] && labels[1] == labels[3]);
}

#[test]
fn an_exact_tie_goes_to_the_smallest_cluster_at_first_and_then_stays() {
    // Document 1 is equally near to both seeds.
    let rows = rows_from(2, &[&[(0, 1.0)], &[(0, 1.0), (1, 1.0)], &[(1, 1.0)]]);
    let init = given(2, &[&[(1, 1.0)], &[(0, 1.0)]]);
    let fit = SphericalKMeans::params(2).init(init).max_iter(1).fit(&rows).unwrap();
    assert_eq!(fit.labels.as_slice(), [1, 0, 0]);
}

#[test]
fn negative_values_switch_filters_off_and_the_trace_says_so() {
    let rows = rows_from(3, &[&[(0, 1.0), (1, -1.0)], &[(0, 1.0)], &[(1, -2.0), (2, 0.1)], &[(2, -1.0)]]);
    for &strategy in Strategy::ALL {
        let fit = SphericalKMeans::params(2).strategy(strategy).index_min_changed(0).fit(&rows).unwrap();
        let filters = matches!(strategy, Strategy::Index | Strategy::NccIndex | Strategy::Drift);
        assert!(fit.trace.iterations.iter().all(|record| record.filters_off == filters), "{strategy}");
        assert_belongs_together(&rows, &fit);
    }
}

#[test]
fn one_cluster_holds_everything_and_as_many_clusters_as_rows_hold_one_each() {
    let rows = text();
    let one = SphericalKMeans::params(1).fit(&rows).unwrap();
    assert!(one.labels.as_slice().iter().all(|&label| label <= 0));
    assert!(one.n_iter <= 2 && one.converged());

    let rows = rows_from(6, &[&[(0, 1.0)], &[(1, 1.0)], &[(2, 1.0), (3, 1.0)], &[(3, 1.0)], &[(4, 2.0)]]);
    let all = SphericalKMeans::params(5).fit(&rows).unwrap();
    let mut labels: Vec<i32> = all.labels.clone().into();
    labels.sort_unstable();
    assert_eq!(labels, [0, 1, 2, 3, 4]);
    assert!((all.objective - 5.0).abs() < 1e-6);
}

#[test]
fn integer_weights_equal_repeated_rows_and_weights_of_one_equal_none() {
    let rows =
        rows_from(4, &[&[(0, 1.0), (1, 0.3)], &[(1, 1.0)], &[(0, 0.2), (2, 1.0)], &[(2, 1.0), (3, 1.0)]]);
    let repeated = rows_from(
        4,
        &[
            &[(0, 1.0), (1, 0.3)],
            &[(1, 1.0)],
            &[(1, 1.0)],
            &[(1, 1.0)],
            &[(0, 0.2), (2, 1.0)],
            &[(2, 1.0), (3, 1.0)],
            &[(2, 1.0), (3, 1.0)],
        ],
    );
    let params = || SphericalKMeans::params(2).init(given(4, &[&[(0, 1.0)], &[(2, 1.0)]])).check().unwrap();
    let weighted = params().fit_with(&rows, FitOptions::default().weights(&[1.0, 3.0, 1.0, 2.0])).unwrap();
    let plain = params().fit(&repeated).unwrap();
    assert_eq!(weighted.model.centroids(), plain.model.centroids());
    assert_eq!(weighted.objective, plain.objective);

    let ones = params().fit_with(&rows, FitOptions::default().weights(&[1.0; 4])).unwrap();
    let none = params().fit(&rows).unwrap();
    assert_eq!(
        (ones.labels, ones.similarities, ones.objective),
        (none.labels, none.similarities, none.objective)
    );
}

#[test]
fn a_row_of_weight_zero_is_labelled_but_moves_nothing() {
    let rows = rows_from(4, &[&[(0, 1.0)], &[(1, 1.0)], &[(0, 1.0), (3, 9.0)]]);
    let without = rows_from(4, &[&[(0, 1.0)], &[(1, 1.0)]]);
    let params = || SphericalKMeans::params(2).init(given(4, &[&[(0, 1.0)], &[(1, 1.0)]])).check().unwrap();
    let fit = params().fit_with(&rows, FitOptions::default().weights(&[1.0, 1.0, 0.0])).unwrap();
    let plain = params().fit(&without).unwrap();
    assert_eq!(fit.labels.as_slice(), [0, 1, 0]);
    assert_eq!(fit.model.centroids(), plain.model.centroids());
    assert_eq!(fit.objective, plain.objective);
}

#[test]
fn given_centroids_over_other_terms_are_refused() {
    let rows = rows_from(4, &[&[(0, 1.0)], &[(1, 1.0)]]);
    let error = SphericalKMeans::params(1).init(given(5, &[&[(0, 1.0)]])).fit(&rows).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the number of terms of the given centroids must be 4, as in the rows, got 5"
    );
}

#[test]
fn ncc_index_uses_its_index_only_while_enough_clusters_change() {
    let rows = text();
    let used = |min_changed| {
        let params = SphericalKMeans::params(60).strategy(Strategy::NccIndex).index_min_changed(min_changed);
        let fit = params.fit(&rows).unwrap();
        let of = |record: &docsphere::IterationRecord| (record.changed_clusters, record.strategy);
        fit.trace.iterations.iter().map(of).collect::<Vec<_>>()
    };
    for (changed, strategy) in used(20) {
        assert_eq!(strategy == Strategy::NccIndex, changed > 20, "{changed} changed: {strategy}");
    }
    assert!(used(20).iter().any(|(_, strategy)| *strategy == Strategy::Ncc), "the end of a run is quiet");
    assert!(used(1_000).iter().all(|(_, strategy)| *strategy == Strategy::Ncc));
}

#[test]
fn the_trace_is_plain_json() {
    let rows = text();
    let fit = SphericalKMeans::params(5).max_iter(2).fit(&rows).unwrap();
    let text = serde_json::to_string(&fit.trace).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let record = &json["iterations"][1];
    for key in
        ["iteration", "strategy", "moved_docs", "similarities", "postings", "skipped_docs", "objective"]
    {
        assert!(!record[key].is_null(), "{key} is missing in {record}");
    }
    assert!(record["seconds"]["assign"].is_number());
    assert_eq!(serde_json::from_str::<docsphere::Trace>(&text).unwrap(), fit.trace, "to the bit");
}

#[test]
fn unsorted_rows_and_raw_lengths_do_not_matter() {
    let sorted =
        SparseRows::from_parts(5, vec![0, 2, 4], vec![0, 3, 1, 4], vec![1.0, 2.0, 3.0, 1.0]).unwrap();
    let messy =
        SparseRows::from_parts(5, vec![0, 3, 5], vec![3, 0, 3, 4, 1], vec![8.0, 8.0, 8.0, 0.5, 1.5]).unwrap();
    assert_eq!(UnitRows::new(sorted), UnitRows::new(messy));
}

#[test]
fn the_counts_say_what_was_done() {
    let rows = text();
    let k = 40u64;
    let n_docs = rows.n_nonzero_rows() as u64;
    let params = || SphericalKMeans::params(k as usize).tol(0.0).variation(false);
    let fit = |strategy| params().strategy(strategy).fit(&rows).unwrap();

    let baseline = fit(Strategy::Baseline);
    assert!(baseline.trace.iterations.iter().all(|record| record.counters.similarities == n_docs * k));
    assert!(baseline.trace.iterations.iter().all(|record| record.strategy_bytes > 0));

    let inverted = fit(Strategy::Inverted);
    for record in &inverted.trace.iterations {
        assert!(record.counters.postings > 0 && record.counters.similarities == n_docs * k);
    }
    // The postings of the last iteration, counted by hand: each term of each row meets the
    // centroids that have it.
    let centroids = inverted.model.centroids().to_sparse_rows();
    let mut n_centroids = vec![0u64; rows.n_terms()];
    centroids.terms().iter().for_each(|&term| n_centroids[term as usize] += 1);
    let expected: u64 = rows.as_sparse().terms().iter().map(|&term| n_centroids[term as usize]).sum();
    assert_eq!(inverted.trace.iterations.last().unwrap().counters.postings, expected);

    // In ncc, a document whose centroid did not change is compared with the changed ones only.
    let ncc = fit(Strategy::Ncc);
    assert_eq!(ncc.trace.total().skipped_docs, 0, "no iteration here leaves all centroids unchanged");
    let last = ncc.trace.iterations.last().unwrap();
    assert!(last.changed_clusters < k && last.counters.similarities < n_docs * k);
    // A run that begins where another ended finds no centroid to move.
    let again = Init::Given(ncc.model.centroids().clone());
    let quiet = params().init(again).strategy(Strategy::Ncc).fit(&rows).unwrap();
    assert_eq!(
        quiet.trace.iterations.last().unwrap().counters.skipped_docs,
        n_docs,
        "nothing changed: all are skipped"
    );
    // First variation asks for the rivals of all documents, beside an ordinary iteration.
    let varied = params().variation(true).strategy(Strategy::Inverted).fit(&rows).unwrap();
    let record = varied.trace.iterations.iter().find(|record| record.varied_docs.is_some()).unwrap();
    assert!(record.varied_docs > Some(0), "otherwise nothing would be seen");
    assert_eq!(record.counters.similarities, 2 * n_docs * k);
    assert!(varied.objective > inverted.objective);
}

#[test]
fn as_many_threads_work_as_were_asked_for() {
    let rows = text();
    for n_threads in [1, 2, 7] {
        let mut seen = 0;
        let mut observer = |_: &Event<'_>| {
            seen = rayon::current_num_threads();
            ControlFlow::Continue(())
        };
        let params = SphericalKMeans::params(3).n_threads(n_threads);
        params.fit_with(&rows, FitOptions::default().observer(&mut observer)).unwrap();
        assert_eq!(seen, n_threads);
    }
}

#[test]
fn a_stop_in_the_last_iteration_of_a_run_lets_no_other_run_begin() {
    let rows = text();
    let mut asked = false;
    let mut observer = |event: &Event<'_>| {
        let last =
            matches!(event, Event::Iteration(record) if record.iteration > 0 && record.moved_docs == 0);
        let ask = last && !asked;
        asked |= last;
        if ask { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let params = SphericalKMeans::params(10).tol(0.0).n_init(3).variation(false);
    let fit = params.fit_with(&rows, FitOptions::default().observer(&mut observer)).unwrap();
    assert_eq!(fit.trace.runs.len(), 1);
    assert_eq!(fit.stop, StopReason::NoLabelChanged, "it had come to its end by itself");
}

#[test]
fn a_stop_before_first_variation_gives_the_result_without_it() {
    let rows = text();
    let params = SphericalKMeans::params(10).tol(0.0);
    let plain = params.clone().variation(false).fit(&rows).unwrap();
    let mut observer = |event: &Event<'_>| match event {
        Event::Iteration(record) if record.iteration > 0 && record.moved_docs == 0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = params.clone().fit_with(&rows, FitOptions::default().observer(&mut observer)).unwrap();
    assert_eq!((stopped.stop, stopped.n_iter), (StopReason::Observer, plain.n_iter));
    assert_eq!((stopped.labels, stopped.objective), (plain.labels, plain.objective));
    assert!(params.fit(&rows).unwrap().objective > plain.objective);
}

/// Whenever the flag is raised, in any iteration: there is no result, and nothing panics.
#[test]
fn a_cancelled_run_ends_at_once_without_a_result() {
    let rows = ZipfText { n_docs: 3_000, n_terms: 3_000, n_topics: 30, mean_terms: 20, seed: 1 }.rows();
    for &strategy in Strategy::ALL {
        for at in [0, 1, 2] {
            let cancel = AtomicBool::new(false);
            let mut observer = |event: &Event<'_>| {
                if matches!(event, Event::Iteration(record) if record.iteration == at) {
                    cancel.store(true, Ordering::Relaxed);
                }
                ControlFlow::Continue(())
            };
            let options = FitOptions::default().observer(&mut observer).cancel(&cancel);
            let params = SphericalKMeans::params(40).strategy(strategy).tol(0.0).n_threads(2);
            let error = params.fit_with(&rows, options).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Stopped { stage: "an iteration" }),
                "{strategy}: {error}"
            );
        }
    }
    // Also in the seeding of a later run, when an earlier one has left a result.
    let cancel = AtomicBool::new(false);
    let mut observer = |event: &Event<'_>| {
        if matches!(event, Event::RunStarted { run: 1, .. }) {
            cancel.store(true, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let options = FitOptions::default().observer(&mut observer).cancel(&cancel);
    let error = SphericalKMeans::params(4).n_init(2).fit_with(&rows, options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stopped { stage: "seeding" }));
    let cancel = AtomicBool::new(true);
    let error =
        SphericalKMeans::params(40).fit_with(&rows, FitOptions::default().cancel(&cancel)).unwrap_err();
    assert_eq!(error.to_string(), "stopped by the observer during seeding, before there was a result");
}
