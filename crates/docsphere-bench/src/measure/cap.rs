//! Runs that would take too long, and what is said of them instead.

use docsphere::{IterationRecord, Strategy};

/// Whether another iteration as long as the last one would end beyond the cap.
pub(super) fn would_exceed(elapsed: f64, last_iteration: f64, cap: f64) -> bool {
    elapsed + last_iteration > cap
}

/// Seconds that were measured, or would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) seconds: f64,
    /// Whether the run was stopped, and this is what it would have taken.
    pub(crate) is_extrapolated: bool,
}

/// How a stopped run is extrapolated, for the remarks of reports.
pub(crate) const EXTRAPOLATION: &str = "\\*: extrapolated. The run was stopped after whole iterations: its seconds an iteration (the first one apart), times the iterations of a finished \
     strategy. That is too much for strategies whose later iterations are cheaper; for ncc, similarities stand for iterations, since their number is known for every iteration.";

impl Timing {
    /// Seconds of a run that came to its end.
    pub(crate) fn measured(seconds: f64) -> Self {
        Timing { seconds, is_extrapolated: false }
    }

    /// What a stopped run would have taken, by its own iterations and by those of a run that came to its end: results are identical, so those are known.
    pub(crate) fn extrapolated(
        strategy: Strategy,
        seconds: f64,
        done: &[IterationRecord],
        all: &[IterationRecord],
    ) -> Self {
        let (work_done, work) = match strategy {
            Strategy::Ncc => (ncc_similarities(done), ncc_similarities(all)),
            _ => {
                let first = first_by_later(done);
                (first + (done.len() - 1) as f64, first + (all.len() - 1) as f64)
            }
        };
        Timing { seconds: seconds / work_done * work, is_extrapolated: true }
    }
}

/// The similarities that `ncc` computes: all for documents whose own centroid changed, those with changed centroids for the others. (Empty clusters are not left out.)
fn ncc_similarities(records: &[IterationRecord]) -> f64 {
    let first = &records[0];
    let similarities = |record: &IterationRecord| {
        let settled = first.unsettled_docs - record.unsettled_docs;
        (record.unsettled_docs * first.changed_clusters + settled * record.changed_clusters) as f64
    };
    records.iter().map(similarities).sum()
}

/// How many later iterations the first takes as long as. The first has no labels to begin with, which some strategies feel.
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
        let params = SphericalKMeans::params(20).init(Init::Random).strategy(strategy).tol(0.0);
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
        // Known by the iterations of any strategy.
        let (all, ncc) = (records(Strategy::Auto), records(Strategy::Ncc));
        let counted: u64 = ncc.iter().map(|record| record.counters.similarities).sum();
        let timing = Timing::extrapolated(Strategy::Ncc, 2.0, &ncc[..1], &all);
        let expected = 2.0 * counted as f64 / ncc[0].counters.similarities as f64;
        assert!((timing.seconds - expected).abs() < 1e-9, "{timing:?}");
        assert!(expected < 2.0 * all.len() as f64, "clusters that stand still save something");
    }
}
