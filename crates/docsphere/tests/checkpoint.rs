//! Interrupted runs, continued to the bits of uninterrupted ones.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use docsphere::{
    Checkpoint, Event, Fit, FitOptions, Init, Params, SphericalKMeans, StopReason, Strategy, UnitRows,
};
use docsphere_testkit::zipf::ZipfText;
use tempfile::TempDir;

fn rows() -> UnitRows<'static> {
    ZipfText { n_docs: 3_000, n_terms: 8_000, n_topics: 60, mean_terms: 40, seed: 6 }.rows()
}

/// Runs until `n_iterations` events of an iteration have come, then stops with a checkpoint.
fn interrupted(params: Params, rows: &UnitRows<'_>, n_iterations: usize, path: &Path) -> Fit {
    let mut seen = 0;
    let mut observer = |event: &Event<'_>| {
        seen += usize::from(matches!(event, Event::Iteration(_)));
        if seen >= n_iterations { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = FitOptions::default().observer(&mut observer).checkpoint(path, 1_000);
    params.check().unwrap().fit_with(rows, options).unwrap()
}

fn resumed(params: Params, rows: &UnitRows<'_>, path: &Path) -> Fit {
    let options = FitOptions::default().resume(Checkpoint::load(path).unwrap());
    params.check().unwrap().fit_with(rows, options).unwrap()
}

fn assert_same(a: &Fit, b: &Fit) {
    assert_eq!((&a.labels, &a.similarities, a.objective), (&b.labels, &b.similarities, b.objective));
    assert_eq!((a.n_iter, a.stop, a.n_empty_clusters), (b.n_iter, b.stop, b.n_empty_clusters));
    assert_eq!(a.model.centroids(), b.model.centroids());
    let moves = |fit: &Fit| -> Vec<(usize, u64, u64, f64, f64)> {
        let of = |r: &docsphere::IterationRecord| {
            (r.iteration, r.moved_docs, r.changed_clusters, r.objective, r.max_squared_movement)
        };
        fit.trace.iterations.iter().map(of).collect()
    };
    assert_eq!(moves(a), moves(b));
}

#[test]
fn a_run_continued_from_any_iteration_ends_in_the_same_bits() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let params = || SphericalKMeans::params(40).seed(4).tol(0.0);
    let whole = params().fit(&rows).unwrap();
    assert!(whole.n_iter > 6);
    for (n, &strategy) in (1..=whole.n_iter).zip(Strategy::ALL.iter().cycle()) {
        let part = interrupted(params(), &rows, n, &path);
        assert_eq!((part.stop, part.n_iter), (StopReason::Observer, n - 1));
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_eq!(checkpoint.n_iter(), n - 1);
        let rest = resumed(params().strategy(strategy).n_threads(1 + n % 3), &rows, &path);
        assert_same(&whole, &rest);
    }
}

/// The result before first variation is in the checkpoint, though its run has not ended.
#[test]
fn a_stop_right_after_a_resume_gives_the_result_of_the_run_so_far() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let params = || SphericalKMeans::params(40).seed(4).tol(0.0);
    let whole = params().fit(&rows).unwrap();
    let varied = whole.trace.iterations.iter().position(|record| record.varied_docs.is_some()).unwrap();
    interrupted(params(), &rows, varied + 1, &path);
    let mut at_once = |_: &Event<'_>| ControlFlow::Break(());
    let options = FitOptions::default().resume(Checkpoint::load(&path).unwrap()).observer(&mut at_once);
    let stopped = params().check().unwrap().fit_with(&rows, options).unwrap();
    assert_eq!((stopped.stop, stopped.n_iter), (StopReason::Observer, varied - 1));
    assert_eq!(stopped.objective, whole.trace.iterations[varied - 1].objective);
    assert_eq!(stopped.trace.runs.len(), 1);
}

#[test]
fn the_best_of_the_runs_before_is_kept() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let params = || SphericalKMeans::params(20).seed(1).n_init(4).init(Init::Random).max_iter(5);
    let whole = params().fit(&rows).unwrap();
    for n in [3, 8, 15, 20] {
        interrupted(params(), &rows, n, &path);
        let rest = resumed(params(), &rows, &path);
        assert_same(&whole, &rest);
        assert_eq!(whole.trace.best_run, rest.trace.best_run);
        let objectives = |fit: &Fit| fit.trace.runs.iter().map(|run| run.objective).collect::<Vec<_>>();
        assert_eq!(objectives(&whole), objectives(&rest));
    }
}

#[test]
fn more_iterations_may_be_allowed_when_it_goes_on() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let params = |max_iter| SphericalKMeans::params(40).seed(4).max_iter(max_iter);
    let options = FitOptions::default().checkpoint(&path, 1);
    let short = params(3).check().unwrap().fit_with(&rows, options).unwrap();
    assert_eq!(short.stop, StopReason::MaxIter);
    assert_same(&params(100).fit(&rows).unwrap(), &resumed(params(100), &rows, &path));
}

#[test]
fn another_run_is_refused_with_what_differs() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    interrupted(SphericalKMeans::params(20), &rows, 2, &path);
    let message = |params: Params, rows: &UnitRows<'_>| {
        let options = FitOptions::default().resume(Checkpoint::load(&path).unwrap());
        params.check().unwrap().fit_with(rows, options).unwrap_err().to_string()
    };
    assert_eq!(
        message(SphericalKMeans::params(21), &rows),
        "n_clusters must be 20, as in the checkpoint, got 21"
    );
    assert_eq!(
        message(SphericalKMeans::params(20).seed(9), &rows),
        "seed must be 0, as in the checkpoint, got 9"
    );
    let others = ZipfText { n_docs: 3_000, n_terms: 8_000, n_topics: 60, mean_terms: 40, seed: 7 }.rows();
    let differs = message(SphericalKMeans::params(20), &others);
    assert!(differs.starts_with("the rows must be 3000 rows over 8000 terms, checksum"), "{differs}");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.checkpoint");
    let fit = interrupted(SphericalKMeans::params(5), &rows, 2, &path);
    let bytes = fs::read(&path).unwrap();
    for position in (0..bytes.len()).step_by(997) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 4;
        fs::write(&path, &damaged).unwrap();
        assert!(Checkpoint::load(&path).is_err(), "flipped bit in byte {position}");
        fs::write(&path, &bytes[..position]).unwrap();
        assert!(Checkpoint::load(&path).is_err(), "cut to {position} bytes");
    }
    fit.model.save(&path).unwrap();
    let message = Checkpoint::load(&path).unwrap_err().to_string();
    assert!(message.contains("not valid docsphere checkpoint"), "{message}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_told_and_does_not_end_the_run() {
    let rows = rows();
    let folder = TempDir::new().unwrap();
    let nowhere = folder.path().join("no-such-folder").join("run.checkpoint");
    let mut failures = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::CheckpointFailed { error } = event {
            failures.push(error.to_string());
        }
        ControlFlow::Continue(())
    };
    let options = FitOptions::default().observer(&mut observer).checkpoint(&nowhere, 1);
    let fit = SphericalKMeans::params(10).max_iter(2).check().unwrap().fit_with(&rows, options).unwrap();
    assert_eq!(fit.n_iter, 2);
    assert_eq!(failures.len(), 2);
    assert!(failures[0].contains("no-such-folder"), "{}", failures[0]);
}
