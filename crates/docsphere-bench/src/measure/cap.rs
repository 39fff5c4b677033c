//! The time cap of runs, and the extrapolation of stopped runs.

use docsphere::{IterationRecord, Strategy};

/// Whether another iteration as long as the last one would end beyond the cap.
pub(super) fn would_exceed(elapsed: f64, last_iteration: f64, cap: f64) -> bool {
    elapsed + last_iteration > cap
}

/// Measured or extrapolated seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) seconds: f64,
    /// Whether the run was stopped, so that the seconds are extrapolated.
    pub(crate) is_extrapolated: bool,
}

/// How a stopped run is extrapolated, for the remarks of reports.
pub(crate) const EXTRAPOLATION: &str = "\\*: extrapolated. The run was stopped after whole iterations: its seconds per iteration (except the first), times the iterations of a finished \
     strategy. That is too much for strategies whose later iterations are cheaper; for ncc, similarities stand for iterations, since their number is known for every iteration.";

impl Timing {
    /// The seconds of a finished run.
    pub(crate) fn measured(seconds: f64) -> Self {
        Timing { seconds, is_extrapolated: false }
    }

    /// Extrapolates a stopped run from its own iterations and those of a finished run, which are
    /// known since results are identical.
    pub(crate) fn extrapolated(
        strategy: Strategy,
        seconds: f64,
        done: &[IterationRecord],
        all: &[IterationRecord],
    ) -> Self {
        let first = first_by_later(done);
        let (work_done, work) = match strategy {
            Strategy::Ncc => (ncc_work(done, first), ncc_work(all, first)),
            _ => (first + (done.len() - 1) as f64, first + (all.len() - 1) as f64),
        };
        Timing { seconds: seconds / work_done * work, is_extrapolated: true }
    }
}

/// The work of `ncc`, in full iterations: for documents whose own centroid changed, all
/// similarities are computed; for the others, those with changed centroids. The first iteration
/// counts as `first` full ones. (Empty clusters are included.)
fn ncc_work(records: &[IterationRecord], first: f64) -> f64 {
    let (n_docs, n_clusters) = (records[0].unsettled_docs as f64, records[0].changed_clusters as f64);
    let share = |record: &IterationRecord| {
        let unsettled = record.unsettled_docs as f64 / n_docs.max(1.0);
        unsettled + (1.0 - unsettled) * record.changed_clusters as f64 / n_clusters
    };
    first + records[1..].iter().map(share).sum::<f64>()
}

/// The duration of the first iteration in units of later ones. The first has no labels to begin
/// with, and compares with seeds, which have few entries.
fn first_by_later(done: &[IterationRecord]) -> f64 {
    let later: f64 = done[1..].iter().map(|record| record.seconds.total()).sum();
    if later > 0.0 { done[0].seconds.total() / (later / (done.len() - 1) as f64) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use docsphere::{Init, SphericalKMeans};
    use docsphere_testkit::zipf::ZipfText;

    use super::*;

    fn records(strategy: Strategy) -> Vec<IterationRecord> {
        let rows = ZipfText { n_docs: 400, n_terms: 2000, n_topics: 10, mean_terms: 15, seed: 1 }.rows();
        let params =
            SphericalKMeans::params(20).init(Init::Random).strategy(strategy).tol(0.0).variation(false);
        params.fit(&rows).unwrap().trace.iterations
    }

    #[test]
    fn a_run_is_stopped_before_it_exceeds_its_cap() {
        assert!(!would_exceed(4.0, 2.0, 6.0));
        assert!(would_exceed(4.5, 2.0, 6.0));
    }

    #[test]
    fn a_stopped_run_is_extrapolated_by_iterations_the_first_one_apart() {
        let all = records(Strategy::Auto);
        let mut done = all[..3].to_vec();
        for (record, seconds) in done.iter_mut().zip([4.0, 1.5, 0.5]) {
            (record.seconds.update, record.seconds.prepare, record.seconds.assign) = (0.0, 0.0, seconds);
        }
        let later = (all.len() - 1) as f64;
        let timing = Timing::extrapolated(Strategy::Index, 6.0, &done, &all);
        assert!(timing.is_extrapolated && (timing.seconds - (4.0 + later)).abs() < 1e-9, "{timing:?}");
        let timing = Timing::extrapolated(Strategy::Index, 4.0, &done[..1], &all);
        assert!((timing.seconds - 4.0 * (1.0 + later)).abs() < 1e-9, "{timing:?}");
    }

    #[test]
    fn ncc_is_extrapolated_by_similarities() {
        // Known from the iterations of any strategy.
        let (all, mut ncc) = (records(Strategy::Auto), records(Strategy::Ncc));
        let similarities: Vec<f64> = ncc.iter().map(|record| record.counters.similarities as f64).collect();
        // Time proportional to similarities, but the first iteration is three times as fast.
        for (record, similarities) in ncc.iter_mut().zip(&similarities) {
            record.seconds.update = 0.0;
            record.seconds.prepare = 0.0;
            record.seconds.assign = similarities / if record.iteration == 0 { 3.0 } else { 1.0 };
        }
        // Everything changes in the first iterations, so they are full ones.
        assert_eq!(similarities[0], similarities[1]);
        let done: f64 = ncc[..2].iter().map(|record| record.seconds.total()).sum();
        let timing = Timing::extrapolated(Strategy::Ncc, done, &ncc[..2], &all);
        let expected: f64 = ncc.iter().map(|record| record.seconds.total()).sum();
        assert!((timing.seconds / expected - 1.0).abs() < 1e-9, "{timing:?}, expected {expected}");
        assert!(expected < similarities[0] * all.len() as f64, "clusters that stand still save something");
    }
}
