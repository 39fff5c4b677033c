//! Measuring: seeds once, then the whole loop by each strategy in turn.
//!
//! The timed part is the call that clusters with given seeds: every iteration, and everything that
//! a strategy builds or frees between them; also the start of the threads, which takes well below a
//! millisecond. Seeding, reading and vectorising are not included.

mod cap;
mod identity;
mod journal;
mod resources;
mod turns;

pub(crate) use cap::{EXTRAPOLATION, Timing};
pub(crate) use journal::{Journal, RunKey};
pub(crate) use resources::cpu_seconds;
pub(crate) use turns::{Clock, Outcome, Turns, finished};

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use docsphere::{
    Centroids, Counters, Event, FitOptions, Init, IterationRecord, Params, Result, SphericalKMeans,
    StageSeconds, StopReason, Strategy, UnitRows,
};

use serde::{Deserialize, Serialize};

use identity::Fingerprint;
use resources::MachineTicks;

/// The rows to cluster, and the options.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) rows: &'a UnitRows<'a>,
    pub(crate) n_clusters: usize,
    pub(crate) n_threads: usize,
    pub(crate) max_iter: usize,
    pub(crate) tol: f64,
}

/// The initial centroids, and the seconds that it took to find them.
pub(crate) struct Seeds {
    pub(crate) centroids: Centroids,
    pub(crate) seconds: f64,
}

/// One run of the loop, measured.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Seconds of the whole loop.
    pub(crate) seconds: f64,
    /// Seconds of work on all cores together.
    pub(crate) cpu_seconds: f64,
    /// The share of all cores that other processes used meanwhile; `None` if unknown. If it is
    /// large, seconds mean little.
    pub(crate) others: Option<f64>,
    /// The peak memory of the process meanwhile; `None` where the system does not report it.
    pub(crate) peak_bytes: Option<u64>,
    pub(crate) stop: StopReason,
    pub(crate) n_iter: usize,
    pub(crate) objective: f64,
    pub(crate) fingerprint: Fingerprint,
    /// The records of all iterations, beginning with the first assignment.
    pub(crate) iterations: Vec<IterationRecord>,
}

impl Job<'_> {
    fn params(&self) -> Params {
        // The loop alone: strategies differ in nothing else.
        SphericalKMeans::params(self.n_clusters)
            .variation(false)
            .n_threads(self.n_threads)
            .max_iter(self.max_iter)
            .tol(self.tol)
    }

    /// Computes the seeds. The library exposes seeds only as the centroids of a run, so a run is
    /// stopped after its first assignment, when they have not moved yet.
    pub(crate) fn seed(&self, init: &Init, seed: u64) -> Result<Seeds> {
        let mut stop_at_once = |event: &Event<'_>| match event {
            Event::Iteration(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let params = self.params().init(init.clone()).seed(seed);
        let fit = params.fit_with(self.rows, FitOptions::default().observer(&mut stop_at_once))?;
        Ok(Seeds { seconds: fit.trace.runs[0].seeding_seconds, centroids: fit.model.centroids().clone() })
    }

    /// Runs the loop from given seeds. With a cap, it stops as soon as another iteration like the
    /// last would exceed the cap, but not before iteration 1: the first assignment is to the seeds,
    /// which are single documents, and says little about the cost of later ones.
    pub(crate) fn run(&self, seeds: &Centroids, strategy: Strategy, cap: Option<f64>) -> Result<Run> {
        let params = self.params().init(Init::Given(seeds.clone())).strategy(strategy).check()?;
        resources::forget_peak();
        let ticks_before = MachineTicks::now();
        let cpu_before = resources::cpu_seconds();
        let start = Instant::now();
        let mut last = 0.0;
        let mut watch = |event: &Event<'_>| {
            let Event::Iteration(record) = event else { return ControlFlow::Continue(()) };
            let elapsed = start.elapsed().as_secs_f64();
            let iteration = elapsed - last;
            last = elapsed;
            match cap {
                Some(cap) if record.iteration > 0 && cap::would_exceed(elapsed, iteration, cap) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        };
        let fit = params.fit_with(self.rows, FitOptions::default().observer(&mut watch))?;
        let seconds = start.elapsed().as_secs_f64();
        let cpu_seconds = resources::cpu_seconds() - cpu_before;
        let others = ticks_before
            .zip(MachineTicks::now())
            .and_then(|(before, after)| before.share_of_others(after, cpu_seconds, seconds));
        Ok(Run {
            seconds,
            cpu_seconds,
            others,
            peak_bytes: resources::peak_bytes(),
            stop: fit.stop,
            n_iter: fit.n_iter,
            objective: fit.objective,
            fingerprint: Fingerprint::new(&fit),
            iterations: fit.trace.iterations,
        })
    }
}

impl Run {
    /// Whether the cap stopped it.
    pub(crate) fn is_capped(&self) -> bool {
        self.stop == StopReason::Observer
    }

    /// A short description of how it ended.
    pub(crate) fn stop_name(&self) -> String {
        match self.stop {
            StopReason::NoLabelChanged => "no label changed".to_owned(),
            StopReason::CentroidsStandStill => "below tol".to_owned(),
            StopReason::MaxIter => "max-iter".to_owned(),
            StopReason::Observer => format!("capped after {}", self.n_iter),
            _ => "other".to_owned(),
        }
    }

    /// Seconds by stage, summed over all iterations.
    pub(crate) fn stages(&self) -> StageSeconds {
        let mut sum = StageSeconds::default();
        for record in &self.iterations {
            sum.update += record.seconds.update;
            sum.prepare += record.seconds.prepare;
            sum.assign += record.seconds.assign;
        }
        sum
    }

    /// The counts, summed over all iterations.
    pub(crate) fn counters(&self) -> Counters {
        self.iterations.iter().fold(Counters::default(), |sum, record| sum.plus(record.counters))
    }

    /// The peak memory of the strategy, beside rows and centroids.
    pub(crate) fn strategy_bytes(&self) -> u64 {
        self.iterations.iter().map(|record| record.strategy_bytes).max().unwrap_or(0)
    }

    /// The strategies actually used, and in how many assignments: `inverted 15, ncc 8`.
    pub(crate) fn used(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for record in &self.iterations {
            *counts.entry(record.strategy.name()).or_default() += 1;
        }
        let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        parts.join(", ")
    }
}
