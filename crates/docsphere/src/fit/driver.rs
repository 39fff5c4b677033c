//! The only loop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;

use super::checkpoint::{Checkpoint, CheckpointPlan, Fingerprint, SavedHead, SavedRun};
use super::params::Params;
use super::trace::{IterationRecord, RunRecord, StageSeconds, StopReason, Trace};
use super::{Fit, FitOptions};
use crate::assign::{self, Assigner, Labels, Step, Strategy};
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
    let needs_fingerprint = options.resume.is_some() || options.checkpoint.is_some();
    let fingerprint = needs_fingerprint.then(|| Fingerprint::new(rows, &weights, params));
    if let (Some(checkpoint), Some(fingerprint)) = (&options.resume, &fingerprint) {
        checkpoint.check_against(fingerprint)?;
    }
    let mut silent = Silent;
    let mut driver = Driver {
        rows,
        weights,
        params,
        observer: options.observer.unwrap_or(&mut silent),
        checkpoints: options.checkpoint.zip(fingerprint),
        records: Vec::new(),
        best: None,
        cancel: options.cancel,
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(params.n_threads.unwrap_or_else(all_cores))
        .build()
        .map_err(|error| Error::io("start threads", std::io::Error::other(error)))?;
    pool.install(|| driver.all_runs(options.resume))?;
    Ok(driver.into_fit())
}

/// Asked of the system, since rayon's own default would read the environment.
fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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

/// All runs of a fit.
struct Driver<'a> {
    rows: &'a UnitRows<'a>,
    weights: RowWeights<'a>,
    params: &'a Params,
    observer: &'a mut dyn Observer,
    checkpoints: Option<(CheckpointPlan, Fingerprint)>,
    /// The runs that have ended.
    records: Vec<RunRecord>,
    /// The best of them.
    best: Option<Run>,
    cancel: Option<&'a AtomicBool>,
}

impl Driver<'_> {
    /// Does all runs that have not been done, and keeps the best.
    fn all_runs(&mut self, resume: Option<Checkpoint>) -> Result<()> {
        let mut resumed = resume.map(|checkpoint| {
            self.records = checkpoint.finished;
            self.best = checkpoint.best.map(Run::restored);
            Run::restored(checkpoint.current)
        });
        if let Some(best) = &mut self.best {
            best.assign_again(
                self.rows,
                assign::assigner(Strategy::Inverted, &self.params.assigner_settings()).as_mut(),
                self.cancel,
            );
        }
        for number in self.records.len()..self.params.n_init {
            let run = match resumed.take() {
                Some(run) => {
                    self.tell(&Event::RunStarted { run: number, n_init: self.params.n_init }).map(|()| run)
                }
                None => self.seeded(number),
            };
            let mut run = match run {
                Ok(run) => run,
                Err(error)
                    if self.best.is_some()
                        && !self.is_cancelled()
                        && matches!(error.kind(), ErrorKind::Stopped { .. }) =>
                {
                    break;
                }
                Err(error) => return Err(error),
            };
            let Ended { stop, asked_to_stop } = self.iterate(&mut run);
            if self.is_cancelled() {
                return Err(ErrorKind::Stopped { stage: "an iteration" }.into());
            }
            self.records.push(run.record(stop));
            if self.best.as_ref().is_none_or(|best| run.objective() > best.objective()) {
                self.best = Some(run);
            }
            if asked_to_stop {
                break;
            }
        }
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Relaxed))
    }

    /// Tells the observer, which may stop the run before there is a result.
    fn tell(&mut self, event: &Event<'_>) -> Result<()> {
        match self.observer.observe(event) {
            ControlFlow::Continue(()) if !self.is_cancelled() => Ok(()),
            _ => Err(ErrorKind::Stopped { stage: "seeding" }.into()),
        }
    }

    /// A run with its first centroids.
    fn seeded(&mut self, number: usize) -> Result<Run> {
        let (rows, weights, params) = (self.rows, self.weights, self.params);
        self.tell(&Event::RunStarted { run: number, n_init: params.n_init })?;
        let start = Instant::now();
        let n_clusters = params.n_clusters;
        let seeding = Seeding { rows, weights, n_clusters, seed: params.seed, run: number };
        let centroids = seeding
            .centroids(&params.init, &mut |done| self.tell(&Event::Seeding { done, total: n_clusters }))?;
        Ok(Run {
            number,
            centroids,
            assignment: Assignment::none(rows.n_rows()),
            iterations: Vec::new(),
            seeding_seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Iterates until something stops it. Afterwards the labels are the best for the centroids.
    fn iterate(&mut self, run: &mut Run) -> Ended {
        let params = self.params;
        let mut assigner = assign::assigner(params.strategy, &params.assigner_settings());
        let mut updater = Updater::new(self.rows, params.n_clusters);
        if !run.iterations.is_empty() {
            run.assign_again(self.rows, assigner.as_mut(), self.cancel);
        }
        for iteration in run.iterations.len()..=params.max_iter {
            let record = if iteration == 0 {
                run.first_iteration(self.rows, &self.weights, assigner.as_mut(), self.cancel)
            } else {
                run.iteration(self.rows, &self.weights, &mut updater, assigner.as_mut(), self.cancel)
            };
            if self.is_cancelled() {
                return Ended { stop: StopReason::Observer, asked_to_stop: true };
            }
            let asked_to_stop = self.observer.observe(&Event::Iteration(&record)).is_break();
            let (moved, movement) = (record.moved_docs, record.max_squared_movement);
            run.iterations.push(record);
            if iteration > 0 && moved == 0 {
                return Ended { stop: StopReason::NoLabelChanged, asked_to_stop };
            }
            if iteration > 0 && movement < params.tol {
                return Ended { stop: StopReason::CentroidsStandStill, asked_to_stop };
            }
            let asked_to_stop = self.write_checkpoint(run, iteration, asked_to_stop) || asked_to_stop;
            if asked_to_stop {
                return Ended { stop: StopReason::Observer, asked_to_stop };
            }
        }
        Ended { stop: StopReason::MaxIter, asked_to_stop: false }
    }

    /// Writes a checkpoint if it is time, or if the run is about to stop. Whether the observer then asks to stop.
    fn write_checkpoint(&mut self, run: &Run, iteration: usize, stopping: bool) -> bool {
        let Some((plan, fingerprint)) = &self.checkpoints else { return false };
        if !(stopping || (iteration > 0 && iteration.is_multiple_of(plan.every))) {
            return false;
        }
        let checkpoint = Checkpoint {
            fingerprint: fingerprint.clone(),
            finished: self.records.clone(),
            best: self.best.as_ref().map(Run::saved),
            current: run.saved(),
        };
        let event = match &checkpoint.save(&plan.path) {
            Ok(()) => self.observer.observe(&Event::CheckpointWritten { path: &plan.path }),
            Err(error) => self.observer.observe(&Event::CheckpointFailed { error }),
        };
        event.is_break()
    }

    fn into_fit(self) -> Fit {
        let best = self
            .best
            .expect("n_init is at least 1, and the first run has either ended or returned its error");
        best.into_fit(self.rows, self.params, self.weights.is_given(), self.records)
    }
}

/// How a run ended. The observer may ask to stop in the very iteration in which the run ends by itself: then no further run begins.
struct Ended {
    stop: StopReason,
    asked_to_stop: bool,
}

/// One run: everything that its iterations read and write.
struct Run {
    number: usize,
    centroids: Centroids,
    assignment: Assignment,
    /// What happened so far; iteration 0 is the first assignment.
    iterations: Vec<IterationRecord>,
    seeding_seconds: f64,
}

impl Run {
    /// A run from a checkpoint. Similarities are not kept there: see [`Run::assign_again`].
    fn restored(saved: SavedRun) -> Self {
        let SavedRun { head, labels, centroids } = saved;
        Run {
            number: head.number,
            centroids,
            assignment: Assignment { similarities: vec![0.0; labels.len()], labels },
            iterations: head.iterations,
            seeding_seconds: head.seeding_seconds,
        }
    }

    fn saved(&self) -> SavedRun {
        let head = SavedHead {
            number: self.number,
            seeding_seconds: self.seeding_seconds,
            iterations: self.iterations.clone(),
        };
        SavedRun { head, labels: self.assignment.labels.clone(), centroids: self.centroids.clone() }
    }

    /// Finds the similarities of a restored run. Labels stay: each is among the best for its centroids, and ties keep it.
    fn assign_again(
        &mut self,
        rows: &UnitRows<'_>,
        assigner: &mut dyn Assigner,
        cancel: Option<&AtomicBool>,
    ) {
        let step = Step::new(self.iterations.len() - 1, rows, &self.centroids, None).cancelled_by(cancel);
        assigner.prepare(&step);
        assigner.assign(&step, &mut self.assignment);
    }

    /// Assigns every document to its seed.
    fn first_iteration(
        &mut self,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        assigner: &mut dyn Assigner,
        cancel: Option<&AtomicBool>,
    ) -> IterationRecord {
        let step = Step::new(0, rows, &self.centroids, None).cancelled_by(cancel);
        let mut record = assign_all(&step, assigner, &mut self.assignment, weights);
        record.moved_docs = rows.n_nonzero_rows() as u64;
        record
    }

    /// Labels to centroids, then rows to labels.
    fn iteration(
        &mut self,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        updater: &mut Updater,
        assigner: &mut dyn Assigner,
        cancel: Option<&AtomicBool>,
    ) -> IterationRecord {
        let start = Instant::now();
        let labels_before = self.assignment.labels.clone();
        let update = updater.update(rows, weights, &mut self.assignment, &mut self.centroids);
        let update_seconds = start.elapsed().as_secs_f64();

        let step = Step::new(self.iterations.len(), rows, &self.centroids, Some(&update.movement));
        let step = step.cancelled_by(cancel);
        let mut record = assign_all(&step, assigner, &mut self.assignment, weights);
        let labels = labels_before.par_iter().with_min_len(1 << 13).zip(&self.assignment.labels);
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

    fn into_fit(self, rows: &UnitRows<'_>, params: &Params, weighted: bool, runs: Vec<RunRecord>) -> Fit {
        let RunRecord { objective, n_iter, stop, .. } = runs[self.number];
        let mut has_documents = vec![false; self.centroids.n_clusters()];
        for &label in self.assignment.labels.iter().filter(|&&label| label != Assignment::NO_LABEL) {
            has_documents[label as usize] = true;
        }
        let info = ModelInfo {
            init: params.init.name().to_owned(),
            candidates: params.init.n_candidates(),
            weighted,
            n_init: params.n_init,
            max_iter: params.max_iter,
            tol: params.tol,
            seed: params.seed,
            n_docs: rows.n_rows(),
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

/// Documents whose own centroid changed.
fn unsettled(step: &Step<'_>, assignment: &Assignment) -> u64 {
    let n_docs = step.rows.n_nonzero_rows();
    if step.n_changed() == step.centroids.n_clusters() {
        return n_docs as u64;
    }
    let labels = assignment.labels.par_iter().with_min_len(1 << 13);
    (n_docs - labels.filter(|&&label| step.is_unchanged(label)).count()) as u64
}

/// Lets the assigner find every label, and notes what it took.
fn assign_all(
    step: &Step<'_>,
    assigner: &mut dyn Assigner,
    assignment: &mut Assignment,
    weights: &RowWeights<'_>,
) -> IterationRecord {
    let unsettled_docs = unsettled(step, assignment);
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
        unsettled_docs,
        refilled_clusters: 0,
        counters,
        index: assigner.index_use(),
        objective: weights.weighted_sum(&assignment.similarities),
        max_squared_movement: 0.0,
        seconds: StageSeconds { update: 0.0, prepare, assign: start.elapsed().as_secs_f64() - prepare },
        strategy_bytes: assigner.memory_bytes() as u64,
    }
}
