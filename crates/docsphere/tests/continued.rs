//! Runs that start from the centroids and labels of an earlier one.

use std::ops::ControlFlow;

use docsphere::{
    Centroids, Checkpoint, Event, Fit, FitOptions, Labels, Params, SparseRows, SphericalKMeans, Strategy,
    UnitRows,
};
use docsphere_testkit::zipf::ZipfText;
use tempfile::TempDir;

fn rows() -> UnitRows<'static> {
    ZipfText { n_docs: 3_000, n_terms: 8_000, n_topics: 60, mean_terms: 40, seed: 6 }.rows()
}

/// Without first variation: that begins again in a run that goes on from a result.
fn params() -> Params {
    SphericalKMeans::params(40).seed(4).tol(0.0).variation(false)
}

fn continued(fit: &Fit) -> FitOptions<'static> {
    FitOptions::default().continue_from(fit.model.centroids().clone(), fit.labels.clone())
}

fn assert_same(a: &Fit, b: &Fit) {
    assert_eq!((&a.labels, &a.similarities, a.objective), (&b.labels, &b.similarities, b.objective));
    assert_eq!(a.model.centroids(), b.model.centroids());
}

/// Stops a fit after some events of an iteration.
fn stopped_after(n_iterations: usize) -> impl FnMut(&Event<'_>) -> ControlFlow<()> {
    let mut seen = 0;
    move |event| {
        seen += usize::from(matches!(event, Event::Iteration(_)));
        if seen >= n_iterations { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_result_that_was_stopped_anywhere_goes_on_to_the_same_bits() {
    let rows = rows();
    let whole = params().fit(&rows).unwrap();
    assert!(whole.n_iter > 6);
    for (n, &strategy) in (1..=whole.n_iter).zip(Strategy::ALL.iter().cycle()) {
        let mut stop = stopped_after(n);
        let part = params().fit_with(&rows, FitOptions::default().observer(&mut stop)).unwrap();
        let options = continued(&part).cuts(vec![n, 17 * n]);
        let rest = params().strategy(strategy).fit_with(&rows, options).unwrap();
        assert_same(&whole, &rest);
        assert_eq!(rest.n_iter, whole.n_iter - (n - 1));
    }
}

#[test]
fn a_result_that_has_converged_stays_as_it_is() {
    let rows = rows();
    let fit = params().fit(&rows).unwrap();
    let again = params().fit_with(&rows, continued(&fit)).unwrap();
    assert_same(&fit, &again);
    assert_eq!((again.n_iter, again.trace.iterations[1].moved_docs), (1, 0));
}

#[test]
fn first_variation_goes_on_from_a_result_with_the_same_bits_for_every_strategy_and_cut() {
    let rows = rows();
    let params = || params().variation(true);
    let fit = params().fit(&rows).unwrap();
    let further = params().fit_with(&rows, continued(&fit)).unwrap();
    assert!(further.objective > fit.objective, "otherwise nothing would be seen");
    for (n, &strategy) in Strategy::ALL.iter().enumerate() {
        let options = continued(&fit).cuts(vec![100 * n, 400 * n + 7]);
        assert_same(&further, &params().strategy(strategy).fit_with(&rows, options).unwrap());
    }
}

#[test]
fn documents_come_and_go_with_the_same_bits_for_every_strategy_and_cut() {
    let all = rows();
    // The result covers rows 500 to 2,499. The first of these are removed, the last 500 rows are
    // added.
    let part = |from: usize, to: usize| {
        let sparse = all.as_sparse();
        let offsets = &sparse.offsets()[from..=to];
        let (start, end) = (offsets[0] as usize, offsets[to - from] as usize);
        let offsets: Vec<u64> = offsets.iter().map(|offset| offset - start as u64).collect();
        let (terms, values) = (sparse.terms()[start..end].to_vec(), sparse.values()[start..end].to_vec());
        UnitRows::new(SparseRows::from_parts(sparse.n_terms(), offsets, terms, values).unwrap())
    };
    let before = params().fit(&part(500, 2_500)).unwrap();
    let mut labels = before.labels.as_slice()[300..].to_vec();
    labels.extend([-1; 500]);
    let options = |cuts: Vec<usize>| {
        let labels = Labels::from(labels.clone());
        FitOptions::default().continue_from(before.model.centroids().clone(), labels).cuts(cuts)
    };
    let now = part(800, 3_000);
    let grown = params().fit_with(&now, options(Vec::new())).unwrap();
    assert!(grown.converged() && grown.n_iter > 1);
    for strategy in Strategy::ALL.iter().copied() {
        for cuts in [vec![1_700], vec![0, 5, 5, 2_000]] {
            assert_same(&grown, &params().strategy(strategy).fit_with(&now, options(cuts)).unwrap());
        }
    }
    // A checkpoint of such a run can be continued, but not as that of another.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let mut stop = stopped_after(2);
    let options_of_part = options(Vec::new()).observer(&mut stop).checkpoint(&path, 1_000);
    params().fit_with(&now, options_of_part).unwrap();
    let checkpoint = Checkpoint::load(&path).unwrap();
    let resumed = params().fit_with(&now, options(Vec::new()).resume(checkpoint.clone())).unwrap();
    assert_same(&grown, &resumed);
    let error = params().fit_with(&now, FitOptions::default().resume(checkpoint)).unwrap_err().to_string();
    assert!(error.starts_with("init must be continued "), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let rows =
        UnitRows::new(SparseRows::from_parts(2, vec![0, 1, 2, 2], vec![0, 1], vec![1.0, 1.0]).unwrap());
    let centroids = |n_terms: usize| {
        Centroids::from_rows(
            SparseRows::from_parts(n_terms, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]).unwrap(),
        )
    };
    let error = |params: Params, n_terms: usize, labels: &[i32]| {
        let options = FitOptions::default().continue_from(centroids(n_terms), Labels::from(labels.to_vec()));
        params.fit_with(&rows, options).unwrap_err().to_string()
    };
    let params = SphericalKMeans::params;
    assert_eq!(
        error(params(1), 2, &[0, 1, -1]),
        "n_clusters must be 2, the number of centroids to continue from, got 1"
    );
    assert_eq!(
        error(params(2), 3, &[0, 1, -1]),
        "the number of terms of the centroids to continue from must be 2, as in the rows, got 3"
    );
    assert_eq!(
        error(params(2), 2, &[0, 1]),
        "the number of labels to continue from must be 3, one per row, got 2"
    );
    assert_eq!(
        error(params(2).n_init(3), 2, &[0, 1, -1]),
        "n_init must be 1 with centroids and labels to continue from, got 3"
    );
    for label in [2, -2, i32::MIN, i32::MAX] {
        assert_eq!(
            error(params(2), 2, &[0, label, -1]),
            format!("the labels to continue from must be numbers from 0 to 1, or -1, got {label} for row 1")
        );
    }
    assert_eq!(
        error(params(2), 2, &[0, 1, 1]),
        "the label of a row without terms must be -1, got cluster 1 for row 2"
    );
}
