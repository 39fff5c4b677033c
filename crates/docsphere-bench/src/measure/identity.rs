//! The proof that strategies agree: a speed-up counts only if every bit of the result is the same.

use anyhow::{Result, ensure};
use docsphere::{Fit, IterationRecord};
use serde::{Deserialize, Serialize};

use super::{Outcome, Run};

/// Hashes of the bits of a result. They are kept instead of the result, which would add to the
/// memory of later runs. They are the same on every machine, so that runs of different days can be
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    labels: u64,
    similarities: u64,
    centroids: u64,
    objective: u64,
}

impl Fingerprint {
    pub(super) fn new(fit: &Fit) -> Self {
        let centroids = fit.model.centroids().to_sparse_rows();
        let parts = centroids.offsets().iter().copied();
        let parts = parts.chain(centroids.terms().iter().map(|&term| u64::from(term)));
        Fingerprint {
            labels: hash(fit.labels.as_slice().iter().map(|&label| u64::from(label as u32))),
            similarities: hash(fit.similarities.iter().map(|similarity| similarity.to_bits())),
            centroids: hash(parts.chain(centroids.values().iter().map(|value| u64::from(value.to_bits())))),
            objective: fit.objective.to_bits(),
        }
    }

    /// The parts that differ from another result.
    fn differences(&self, other: &Fingerprint) -> Vec<&'static str> {
        let pairs = [
            ("labels", self.labels == other.labels),
            ("similarities", self.similarities == other.similarities),
            ("centroids", self.centroids == other.centroids),
            ("objective", self.objective == other.objective),
        ];
        pairs.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", hash([self.labels, self.similarities, self.centroids, self.objective]))
    }
}

/// FNV-1a over words: each step is a bijection, so a single differing word always changes the hash.
fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
}

/// Fails unless all runs agree: finished ones in every bit of their results, stopped ones in every
/// iteration that they completed.
pub(super) fn check(outcomes: &[Outcome]) -> Result<()> {
    let runs =
        || outcomes.iter().flat_map(|outcome| outcome.runs.iter().map(move |run| (outcome.strategy, run)));
    let Some((longest, reference)) = runs().max_by_key(|(_, run)| (run.iterations.len(), !run.is_capped()))
    else {
        return Ok(());
    };
    for (strategy, run) in runs() {
        for (ours, theirs) in run.iterations.iter().zip(&reference.iterations) {
            ensure!(
                same_step(ours, theirs),
                "results differ: {strategy} takes another way than {longest} in iteration {}",
                ours.iteration
            );
        }
        if !run.is_capped() && !reference.is_capped() {
            let differences = differences(run, reference);
            ensure!(
                differences.is_empty(),
                "results differ: {} of {strategy} are not those of {longest}",
                differences.join(", ")
            );
        }
    }
    Ok(())
}

fn differences(run: &Run, reference: &Run) -> Vec<&'static str> {
    let mut differences = run.fingerprint.differences(&reference.fingerprint);
    if run.n_iter != reference.n_iter {
        differences.push("iterations");
    }
    differences
}

/// Whether two records agree in everything about the result of an iteration, ignoring its cost.
fn same_step(a: &IterationRecord, b: &IterationRecord) -> bool {
    let bits = |record: &IterationRecord| {
        let counts = [record.moved_docs, record.changed_clusters, record.refilled_clusters];
        (counts, record.objective.to_bits(), record.max_squared_movement.to_bits())
    };
    bits(a) == bits(b)
}

#[cfg(test)]
mod tests {
    use docsphere::Strategy;
    use docsphere_testkit::zipf::ZipfText;

    use super::super::{Job, Outcome};
    use super::*;

    fn outcomes() -> Vec<Outcome> {
        let rows = ZipfText { n_docs: 200, n_terms: 1000, n_topics: 5, mean_terms: 15, seed: 1 }.rows();
        let job = Job { rows: &rows, n_clusters: 8, n_threads: 1, max_iter: 20, tol: 0.0 };
        let seeds = job.seed(&docsphere::Init::Random, 0).unwrap();
        let run = |strategy| job.run(&seeds.centroids, strategy, None).unwrap();
        [Strategy::Baseline, Strategy::Inverted]
            .map(|strategy| Outcome { strategy, runs: vec![run(strategy)] })
            .into()
    }

    #[test]
    fn equal_results_pass() {
        let outcomes = outcomes();
        check(&outcomes).unwrap();
        assert_eq!(outcomes[0].runs[0].fingerprint.to_string(), outcomes[1].runs[0].fingerprint.to_string());
    }

    #[test]
    fn a_single_bit_is_told_by_name() {
        let mut outcomes = outcomes();
        outcomes[1].runs[0].fingerprint.centroids ^= 1;
        let message = check(&outcomes).unwrap_err().to_string();
        assert!(message.starts_with("results differ: centroids of "), "{message}");
    }

    #[test]
    fn another_way_to_the_same_end_is_found_too() {
        let mut outcomes = outcomes();
        outcomes[0].runs[0].iterations[1].moved_docs += 1;
        let message = check(&outcomes).unwrap_err().to_string();
        assert!(message.ends_with("in iteration 1"), "{message}");
    }

    #[test]
    fn a_stopped_run_is_held_to_the_iterations_it_did() {
        let mut outcomes = outcomes();
        let run = &mut outcomes[1].runs[0];
        (run.stop, run.fingerprint.labels) = (docsphere::StopReason::Observer, 0);
        run.iterations.truncate(2);
        check(&outcomes).unwrap();
        outcomes[1].runs[0].iterations[0].objective += 1e-9;
        assert!(check(&outcomes).is_err());
    }

    #[test]
    fn order_matters_to_the_hash() {
        assert_ne!(hash([1, 2]), hash([2, 1]));
        assert_ne!(hash([0]), hash([0, 0]));
    }
}
