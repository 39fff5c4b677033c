//! "Both strategies significantly reduce the average number of pairwise distance calculations": in
//! counts, which do not depend on the machine.

use docsphere::{Init, SphericalKMeans, Strategy};
use docsphere_testkit::zipf::ZipfText;

#[test]
fn each_strategy_of_the_paper_computes_fewer_similarities_and_both_together_the_fewest() {
    let rows = ZipfText { n_docs: 6_000, n_terms: 12_000, n_topics: 80, mean_terms: 20, seed: 3 }.rows();
    let similarities = |strategy| {
        let fit =
            SphericalKMeans::params(400).init(Init::Random).strategy(strategy).tol(0.0).fit(&rows).unwrap();
        assert!(fit.n_iter >= 5, "a run that is over at once shows nothing");
        fit.trace.total().similarities
    };
    let [baseline, ncc, index, both] =
        [Strategy::Baseline, Strategy::Ncc, Strategy::Index, Strategy::NccIndex].map(similarities);
    let counts = format!("baseline {baseline}, ncc {ncc}, index {index}, ncc-index {both}");
    assert!(ncc < baseline, "{counts}");
    assert!(index < baseline, "{counts}");
    assert!(both < ncc && both < index, "{counts}");
}

#[test]
fn higher_thresholds_leave_fewer_candidates() {
    let rows = ZipfText { n_docs: 2_000, n_terms: 6_000, n_topics: 40, mean_terms: 20, seed: 3 }.rows();
    let similarities = |lambdas: &[f64]| {
        let params = SphericalKMeans::params(200).strategy(Strategy::Index).lambdas(lambdas).max_iter(5);
        params.fit(&rows).unwrap().trace.total().similarities
    };
    assert!(similarities(&[0.1, 0.25, 0.4, 0.6]) < similarities(&[0.1]));
    assert!(
        similarities(&[0.1]) < similarities(&[1.0]),
        "a threshold nobody reaches filters nothing but zeros"
    );
}

#[test]
fn the_work_of_ncc_is_told_by_the_changed_clusters_and_their_documents() {
    let (n_docs, k) = (3_000, 60);
    let rows = ZipfText { n_docs, n_terms: 6_000, n_topics: 40, mean_terms: 20, seed: 3 }.rows();
    let fit =
        SphericalKMeans::params(k).strategy(Strategy::Ncc).tol(0.0).variation(false).fit(&rows).unwrap();
    let mut n_quiet = 0;
    for record in &fit.trace.iterations {
        // The own centroid comes first; its similarity need not be recomputed if it did not change.
        let settled = n_docs as u64 - record.unsettled_docs;
        let expected = record.unsettled_docs * k as u64 + settled * record.changed_clusters;
        assert_eq!(record.counters.similarities, expected, "iteration {}", record.iteration);
        n_quiet += usize::from(settled > 0);
    }
    assert!(n_quiet >= 3, "too few iterations with clusters that stand still: {n_quiet}");
}

#[test]
fn the_use_of_the_index_is_told() {
    let rows = ZipfText { n_docs: 2_000, n_terms: 6_000, n_topics: 40, mean_terms: 20, seed: 3 }.rows();
    let params = SphericalKMeans::params(200).max_iter(5).variation(false);
    let fit = |strategy| params.clone().strategy(strategy).fit(&rows).unwrap();
    let lambdas = [0.1, 0.25, 0.4, 0.6];
    for record in &fit(Strategy::Index).trace.iterations {
        let index = record.index.as_ref().expect("the index is always on");
        assert_eq!(index.lambdas, lambdas);
        assert_eq!(index.docs.iter().sum::<u64>(), 2_000);
        assert!(index.build_seconds > 0.0 && index.build_seconds <= record.seconds.prepare);
        if record.iteration == 0 {
            // No document has a similarity yet.
            assert_eq!(index.docs[1..], [0; 4]);
            assert_eq!(index.candidates[0], record.counters.similarities);
        } else {
            // The own centroid is always a candidate, and the only one whose similarity is known.
            assert_eq!(index.candidates.iter().sum::<u64>(), record.counters.similarities);
            assert!(index.docs[1..].iter().sum::<u64>() > 1_000, "{:?}", index.docs);
        }
    }
    assert!(fit(Strategy::Ncc).trace.iterations.iter().all(|record| record.index.is_none()));
    let (mut off, mut on) = (0, 0);
    for record in &fit(Strategy::NccIndex).trace.iterations {
        let is_on = record.strategy == Strategy::NccIndex;
        assert_eq!(record.index.is_some(), is_on);
        *(if is_on { &mut on } else { &mut off }) += 1;
    }
    assert!(on > 0, "the index was never on, {off} times off");
}
