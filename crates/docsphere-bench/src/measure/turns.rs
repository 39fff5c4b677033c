//! Runs strategies in turn (A B A B A B), so that a noisy minute affects all of them alike.

use anyhow::{Context, Result};
use clap::ValueEnum;
use docsphere::{Centroids, Strategy};

use super::cap::Timing;
use super::{Job, Journal, Run, RunKey, identity};

/// Which clock is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// Wall-clock time.
    Wall,
    /// CPU time: less affected by other processes on the machine, but it does not show idle cores.
    Cpu,
}

impl Clock {
    /// The prefix of "seconds" in texts.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Clock::Wall => "",
            Clock::Cpu => "CPU ",
        }
    }

    /// The seconds of a run by this clock.
    pub(crate) fn read(self, run: &Run) -> f64 {
        match self {
            Clock::Wall => run.seconds,
            Clock::Cpu => run.cpu_seconds,
        }
    }
}

/// All runs of one strategy.
pub(crate) struct Outcome {
    pub(crate) strategy: Strategy,
    pub(crate) runs: Vec<Run>,
}

impl Outcome {
    /// The runs that count: the finished ones, or if there are none, the one that was stopped.
    pub(crate) fn counting(&self) -> impl Iterator<Item = &Run> {
        let is_finished = self.is_finished();
        self.runs.iter().filter(move |run| !is_finished || !run.is_capped())
    }

    /// The run that represents all of them in what they share: counts, iterations, the result.
    ///
    /// # Panics
    /// If there was no run.
    pub(crate) fn first(&self) -> &Run {
        self.counting().next().expect("every strategy was run")
    }

    /// Whether a run finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.runs.iter().any(|run| !run.is_capped())
    }

    /// A number of every run that counts, reduced to one.
    pub(crate) fn over_runs(&self, reduce: fn(Vec<f64>) -> f64, number: impl Fn(&Run) -> f64) -> f64 {
        reduce(self.counting().map(number).collect())
    }

    /// The seconds, reduced to one number. If no run of this strategy finished, they are
    /// extrapolated with a finished run of another, or `None` if there is none.
    pub(crate) fn timing(
        &self,
        clock: Clock,
        reduce: fn(Vec<f64>) -> f64,
        finished: Option<&Run>,
    ) -> Option<Timing> {
        if self.is_finished() {
            return Some(Timing::measured(self.over_runs(reduce, |run| clock.read(run))));
        }
        let run = self.first();
        Some(Timing::extrapolated(self.strategy, clock.read(run), &run.iterations, &finished?.iterations))
    }
}

/// A finished run, if there is one; all of them have the same iterations.
pub(crate) fn finished(outcomes: &[Outcome]) -> Option<&Run> {
    let mut runs = outcomes.iter().flat_map(|outcome| &outcome.runs);
    runs.find(|run| !run.is_capped())
}

/// Repeated runs of several strategies from the same seeds.
pub(crate) struct Turns<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) seeds: &'a Centroids,
    /// Seconds after which a run is stopped.
    pub(crate) cap: Option<f64>,
    /// A run is also stopped after this multiple of the seconds of the fastest run so far.
    pub(crate) give_up: Option<f64>,
    /// Description of the measurement, for lines on standard error.
    pub(crate) title: String,
    /// The journal of runs, and the seeding method.
    pub(crate) journal: Option<(&'a Journal, &'a str)>,
}

impl Turns<'_> {
    /// Runs every strategy `repeats` times, in turn, and fails unless all results are the same. A
    /// strategy that was stopped is not run again.
    pub(crate) fn run(&self, strategies: &[Strategy], repeats: usize) -> Result<Vec<Outcome>> {
        let outcome = |&strategy| Outcome { strategy, runs: Vec::new() };
        let mut outcomes: Vec<Outcome> = strategies.iter().map(outcome).collect();
        self.run_more(&mut outcomes, strategies, repeats)?;
        Ok(outcomes)
    }

    /// Adds more runs of some of the strategies.
    pub(crate) fn run_more(
        &self,
        outcomes: &mut [Outcome],
        strategies: &[Strategy],
        repeats: usize,
    ) -> Result<()> {
        for _ in 0..repeats {
            for position in 0..outcomes.len() {
                let strategy = outcomes[position].strategy;
                let was_stopped = outcomes[position].runs.iter().any(Run::is_capped);
                if !strategies.contains(&strategy) || was_stopped {
                    continue;
                }
                let run = self.run_or_find(strategy, outcomes[position].runs.len(), self.limit(outcomes))?;
                eprintln!(
                    "{}, {strategy}, run {}: {:.3} s, {} iterations, {}",
                    self.title,
                    outcomes[position].runs.len() + 1,
                    run.seconds,
                    run.n_iter,
                    run.stop_name()
                );
                outcomes[position].runs.push(run);
                identity::check(outcomes).with_context(|| self.title.clone())?;
            }
        }
        Ok(())
    }

    /// Performs a run, unless the journal has it.
    fn run_or_find(&self, strategy: Strategy, number: usize, cap: Option<f64>) -> Result<Run> {
        let Some((journal, init)) = self.journal else {
            return Ok(self.job.run(self.seeds, strategy, cap)?);
        };
        let Job { rows, n_threads, max_iter, tol, .. } = self.job;
        let key = RunKey {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: self.title.clone(),
            init: init.to_owned(),
            n_rows: rows.n_rows(),
            nnz: rows.nnz(),
            n_threads,
            max_iter,
            tol,
            cap,
            strategy,
            number,
        };
        if let Some(run) = journal.find(&key) {
            eprint!("as before: ");
            return Ok(run);
        }
        let run = self.job.run(self.seeds, strategy, cap)?;
        journal.add(key, &run)?;
        Ok(run)
    }

    /// The seconds after which the next run is stopped.
    fn limit(&self, outcomes: &[Outcome]) -> Option<f64> {
        let runs = outcomes.iter().flat_map(|outcome| &outcome.runs);
        let fastest = runs.filter(|run| !run.is_capped()).map(|run| run.seconds).reduce(f64::min);
        let relative = self.give_up.zip(fastest).map(|(factor, fastest)| factor * fastest);
        self.cap.into_iter().chain(relative).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use docsphere::Init;
    use docsphere_testkit::zipf::ZipfText;

    use super::*;
    use crate::statistics::median;

    #[test]
    fn a_capped_strategy_is_run_once_and_extrapolated() {
        let rows = ZipfText { n_docs: 200, n_terms: 1000, n_topics: 5, mean_terms: 15, seed: 1 }.rows();
        let job = Job { rows: &rows, n_clusters: 8, n_threads: 1, max_iter: 20, tol: 0.0 };
        let seeds = job.seed(&Init::PlainPlusPlus, 3).unwrap();
        let turns = |cap| Turns {
            job,
            seeds: &seeds.centroids,
            cap,
            give_up: None,
            title: "test".to_owned(),
            journal: None,
        };
        let mut outcomes = turns(None).run(&[Strategy::Inverted], 3).unwrap();
        assert_eq!(outcomes[0].runs.len(), 3);
        outcomes.extend(turns(Some(0.0)).run(&[Strategy::Baseline], 3).unwrap());
        let capped = &outcomes[1];
        assert_eq!((capped.runs.len(), capped.first().stop_name()), (1, "capped after 1".to_owned()));
        let finished = finished(&outcomes);
        assert_eq!(finished.unwrap().n_iter, outcomes[0].first().n_iter);
        let timing = capped.timing(Clock::Wall, median, finished).unwrap();
        assert!(timing.is_extrapolated && timing.seconds > capped.first().seconds);
        assert_eq!(capped.timing(Clock::Wall, median, None), None);
        assert!(!outcomes[0].timing(Clock::Wall, median, finished).unwrap().is_extrapolated);
        identity::check(&outcomes).unwrap();
    }

    #[test]
    fn seeds_and_loop_apart_give_what_they_give_together() {
        let rows = ZipfText { n_docs: 200, n_terms: 1000, n_topics: 5, mean_terms: 15, seed: 1 }.rows();
        let job = Job { rows: &rows, n_clusters: 8, n_threads: 2, max_iter: 20, tol: 1e-4 };
        let seeds = job.seed(&Init::PlainPlusPlus, 3).unwrap();
        let run = job.run(&seeds.centroids, Strategy::Auto, None).unwrap();
        let params = docsphere::SphericalKMeans::params(8).init(Init::PlainPlusPlus).variation(false);
        let fit = params.seed(3).max_iter(20).fit(&rows).unwrap();
        assert_eq!(run.fingerprint, identity::Fingerprint::new(&fit));
        assert_eq!((run.n_iter, run.objective), (fit.n_iter, fit.objective));
    }
}
