//! The only loop.

use std::ops::ControlFlow;
use std::time::Instant;

use super::params::Params;
use super::trace::{IterationRecord, RunRecord, StageSeconds, StopReason, Trace};
use super::{Fit, FitOptions};
use crate::assign::{self, Assigner, Labels, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, ModelInfo};
use crate::observer::{Event, Observer, Silent};
use crate::seeding::{Init, Seeding};
use crate::update::{Assignment, Centroids, Updater};
use crate::vectors::{RowWeights, UnitRows};

/// Checks the options against the data, then does all runs and keeps the best.
pub(super) fn fit(rows: &UnitRows<'_>, params: &Params, options: FitOptions<'_>) -> Result<Fit> {
    let weights = match options.weights {
        Some(weights) => RowWeights::new(weights, rows.n_rows())?,
        None => RowWeights::UNIFORM,
    };
    check_against_data(rows, params, &weights)?;
    let mut silent = Silent;
    let observer = options.observer.unwrap_or(&mut silent);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(params.n_threads.unwrap_or(0))
        .build()
        .map_err(|error| Error::io("start threads", std::io::Error::other(error)))?;
    pool.install(|| best_of_runs(rows, weights, params, observer))
}

fn check_against_data(rows: &UnitRows<'_>, params: &Params, weights: &RowWeights<'_>) -> Result<()> {
    let n_usable =
        (0..rows.n_rows()).filter(|&doc| rows.row(doc).nnz() > 0 && weights.weight(doc) > 0.0).count();
    if params.n_clusters > n_usable {
        return Err(ErrorKind::Mismatch {
            what: "n_clusters",
            expected: format!("at most {n_usable}, the number of rows that are not zero and have weight"),
            got: params.n_clusters.to_string(),
        }
        .into());
    }
    match &params.init {
        Init::Given(centroids) if centroids.n_terms() != rows.n_terms() => Err(ErrorKind::Mismatch {
            what: "the number of terms of the given centroids",
            expected: format!("{}, as in the rows", rows.n_terms()),
            got: centroids.n_terms().to_string(),
        }
        .into()),
        _ => Ok(()),
    }
}

fn best_of_runs(
    rows: &UnitRows<'_>,
    weights: RowWeights<'_>,
    params: &Params,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    let mut records: Vec<RunRecord> = Vec::new();
    let mut best: Option<Run<'_>> = None;
    for run in 0..params.n_init {
        let mut candidate = match Run::seeded(rows, weights, params, run, observer) {
            Ok(candidate) => candidate,
            Err(error) if best.is_some() && matches!(error.kind(), ErrorKind::Stopped { .. }) => break,
            Err(error) => return Err(error),
        };
        let stop = candidate.iterate(params, observer);
        records.push(candidate.record(stop));
        if best.as_ref().is_none_or(|best| candidate.objective() > best.objective()) {
            best = Some(candidate);
        }
        if stop == StopReason::Observer {
            break;
        }
    }
    let best = best.expect("n_init is at least 1, and the first run has either ended or returned its error");
    Ok(best.into_fit(params, records))
}

/// One run: everything that its iterations read and write.
struct Run<'a> {
    rows: &'a UnitRows<'a>,
    weights: RowWeights<'a>,
    number: usize,
    centroids: Centroids,
    assignment: Assignment,
    iterations: Vec<IterationRecord>,
    seeding_seconds: f64,
}

impl<'a> Run<'a> {
    /// A run with its first centroids.
    fn seeded(
        rows: &'a UnitRows<'a>,
        weights: RowWeights<'a>,
        params: &Params,
        number: usize,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut tell = |event: Event<'_>| match observer.observe(&event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::from(ErrorKind::Stopped { stage: "seeding" })),
        };
        tell(Event::RunStarted { run: number, n_init: params.n_init })?;
        let start = Instant::now();
        let n_clusters = params.n_clusters;
        let seeding = Seeding { rows, weights, n_clusters, seed: params.seed, run: number };
        let centroids =
            seeding.centroids(&params.init, &mut |done| tell(Event::Seeding { done, total: n_clusters }))?;
        Ok(Run {
            rows,
            weights,
            number,
            centroids,
            assignment: Assignment::none(rows.n_rows()),
            iterations: Vec::new(),
            seeding_seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Iterates until something stops it. Afterwards the labels are the best for the centroids.
    fn iterate(&mut self, params: &Params, observer: &mut dyn Observer) -> StopReason {
        let mut assigner = assign::assigner(params.strategy, &params.assigner_settings());
        let mut updater = Updater::new(self.rows, params.n_clusters);
        for iteration in 0..=params.max_iter {
            let record = if iteration == 0 {
                self.first_iteration(assigner.as_mut())
            } else {
                self.iteration(iteration, &mut updater, assigner.as_mut())
            };
            let asked_to_stop = observer.observe(&Event::Iteration(&record)).is_break();
            let (moved, movement) = (record.moved_docs, record.max_squared_movement);
            self.iterations.push(record);
            if iteration > 0 && moved == 0 {
                return StopReason::NoLabelChanged;
            }
            if iteration > 0 && movement < params.tol {
                return StopReason::CentroidsStandStill;
            }
            if asked_to_stop {
                return StopReason::Observer;
            }
        }
        StopReason::MaxIter
    }

    /// Assigns every document to its seed.
    fn first_iteration(&mut self, assigner: &mut dyn Assigner) -> IterationRecord {
        let step = Step::new(0, self.rows, &self.centroids, None);
        let mut record = assign_all(&step, assigner, &mut self.assignment, &self.weights);
        record.moved_docs = self.rows.n_nonzero_rows() as u64;
        record
    }

    /// Labels to centroids, then rows to labels.
    fn iteration(
        &mut self,
        iteration: usize,
        updater: &mut Updater,
        assigner: &mut dyn Assigner,
    ) -> IterationRecord {
        let start = Instant::now();
        let labels_before = self.assignment.labels.clone();
        let update = updater.update(self.rows, &self.weights, &mut self.assignment, &mut self.centroids);
        let update_seconds = start.elapsed().as_secs_f64();

        let step = Step::new(iteration, self.rows, &self.centroids, Some(&update.movement));
        let mut record = assign_all(&step, assigner, &mut self.assignment, &self.weights);
        let labels = labels_before.iter().zip(&self.assignment.labels);
        record.moved_docs = labels.filter(|(before, after)| before != after).count() as u64;
        record.refilled_clusters = update.n_refilled as u64;
        record.max_squared_movement = update.movement.max_squared_distance();
        record.seconds.update = update_seconds;
        record
    }

    fn objective(&self) -> f64 {
        self.iterations.last().map_or(0.0, |record| record.objective)
    }

    fn record(&self, stop: StopReason) -> RunRecord {
        RunRecord {
            run: self.number,
            objective: self.objective(),
            n_iter: self.iterations.len() - 1, // iteration 0 is not counted
            stop,
            seeding_seconds: self.seeding_seconds,
        }
    }

    fn into_fit(self, params: &Params, runs: Vec<RunRecord>) -> Fit {
        let RunRecord { objective, n_iter, stop, .. } = runs[self.number];
        let mut has_documents = vec![false; self.centroids.n_clusters()];
        for &label in self.assignment.labels.iter().filter(|&&label| label != Assignment::NO_LABEL) {
            has_documents[label as usize] = true;
        }
        let info = ModelInfo {
            init: params.init.name().to_owned(),
            n_init: params.n_init,
            max_iter: params.max_iter,
            tol: params.tol,
            seed: params.seed,
            n_docs: self.rows.n_rows(),
            objective,
            n_iter,
            converged: stop.is_converged(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Fit {
            labels: Labels::from(&self.assignment),
            similarities: self.assignment.similarities,
            objective,
            n_iter,
            stop,
            n_empty_clusters: has_documents.iter().filter(|&&has| !has).count(),
            model: Model::new(self.centroids, info),
            trace: Trace { runs, best_run: self.number, iterations: self.iterations },
        }
    }
}

/// Lets the assigner find every label, and notes what it took.
fn assign_all(
    step: &Step<'_>,
    assigner: &mut dyn Assigner,
    assignment: &mut Assignment,
    weights: &RowWeights<'_>,
) -> IterationRecord {
    let start = Instant::now();
    assigner.prepare(step);
    let prepare = start.elapsed().as_secs_f64();
    let counters = assigner.assign(step, assignment);
    let used = assigner.used();
    IterationRecord {
        iteration: step.iteration,
        strategy: used.strategy,
        filters_off: used.filters_off,
        moved_docs: 0,
        changed_clusters: step.n_changed() as u64,
        refilled_clusters: 0,
        counters,
        objective: weights.weighted_sum(&assignment.similarities),
        max_squared_movement: 0.0,
        seconds: StageSeconds { update: 0.0, prepare, assign: start.elapsed().as_secs_f64() - prepare },
        strategy_bytes: assigner.memory_bytes() as u64,
    }
}
