//! The only loop.

mod merge;
mod over_cluster;
mod refine;
mod variation;

pub(super) use merge::{most_bytes as merge_bytes, most_bytes_of_cuts as cut_bytes};

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use super::checkpoint::{Checkpoint, CheckpointPlan, Fingerprint, SavedRun};
use super::continued::Frozen;
use super::params::Params;
use super::run::{History, Run, Start};
use super::starts::Starts;
use super::{Continued, Fit, FitOptions};
use crate::assign::{AssignerSettings, PassedSoFar, Step, open_device};
use crate::centroids::{Centroids, Movement, Resting};
use crate::error::{Error, ErrorKind, Result};
use crate::mapping::give_back_freed;
use crate::model::LentDevice;
use crate::observer::{Event, Observer, Silent};
use crate::record::{Device, IterationRecord, Refine, RunRecord, SeedingSeconds, StageSeconds, StopReason};
use crate::seeding::{Init, Seeding};
use crate::shards::{LocalShards, MAPPED_SHARD_ROWS, Passed, RowFacts, ShardSettings, Shards};
use crate::threads::on_threads;
use crate::update::{Delta, Touched, refill};
use crate::vectors::{RowWeights, UnitRows, WeightScale};

/// Clusters rows in this process.
pub(super) fn fit(rows: &UnitRows<'_>, params: &Params, mut options: FitOptions<'_>) -> Result<Fit> {
    if options.frozen {
        let params = Params { refine: Refine::None, ..params.clone() };
        let mut silent = Silent;
        let mut frozen = Frozen(options.observer.take().unwrap_or(&mut silent));
        let options = FitOptions { frozen: false, observer: Some(&mut frozen), ..options };
        return fit(rows, &params, options);
    }
    let weights = match options.weights {
        Some(weights) => RowWeights::new(weights, rows.n_rows())?,
        None => RowWeights::UNIFORM,
    };
    let settings = settings(rows, params, &mut options)?;
    let mut shards = LocalShards::new(rows, weights, &cuts(rows, &settings, &options), &settings);
    let facts = shards.facts();
    let outcome = on_threads(params.n_threads, || {
        let options = LoopOptions::new(options);
        run_all(&mut shards, facts, weights.scale(), params, options)
    })??;
    let mut fit = Fit::new(outcome, shards.into_kept(), facts, params, weights.is_given());
    fit.model = fit.model.with_device(LentDevice::new(settings.assigner.device));
    give_back_freed();
    Ok(fit)
}

/// The first updates of a run change nearly all sums, and leave gaps in memory that are worth
/// giving back, which takes some milliseconds.
const EARLY_UPDATES: usize = 2;

/// The rows that a device works on at a time.
const DEVICE_SHARD_ROWS: usize = 1 << 22;

/// Where to divide rows into shards.
fn cuts(rows: &UnitRows<'_>, settings: &ShardSettings, options: &FitOptions<'_>) -> Vec<usize> {
    let most = match &settings.assigner.device {
        _ if !options.cuts.is_empty() => return options.cuts.clone(),
        _ if rows.is_mapped() => MAPPED_SHARD_ROWS,
        None => return Vec::new(),
        Some(_) => DEVICE_SHARD_ROWS,
    };
    (0..rows.n_rows()).step_by(most).skip(1).collect()
}

/// How shards find labels. The observer hears if that is not as the params say.
fn settings(rows: &UnitRows<'_>, params: &Params, options: &mut FitOptions<'_>) -> Result<ShardSettings> {
    let scratch = options.scratch.clone().filter(|_| rows.is_mapped());
    let device = match open_device(params.device) {
        Err(error) if params.device == Device::Auto => {
            if let Some(observer) = &mut options.observer {
                // A wish to stop is heard again when the run begins.
                let _ = observer.observe(&Event::DeviceLeft { error: &error });
            }
            None
        }
        opened => opened?,
    };
    let assigner = AssignerSettings { scratch, device, ..params.assigner_settings() };
    Ok(ShardSettings { strategy: params.strategy, assigner, kept_folder: options.scratch.clone() })
}

/// The options of a fit that concern the loop, wherever the rows are.
pub(crate) struct LoopOptions<'a> {
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) checkpoint: Option<CheckpointPlan>,
    pub(crate) resume: Option<Checkpoint>,
    pub(crate) continued: Option<Continued>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// The folder whose disk takes the centroids of the best run while others go on.
    scratch: Option<PathBuf>,
}

impl<'a> LoopOptions<'a> {
    pub(crate) fn new(options: FitOptions<'a>) -> Self {
        let FitOptions { observer, checkpoint, resume, continued, cancel, scratch, .. } = options;
        LoopOptions { observer, checkpoint, resume, continued, cancel, scratch }
    }
}

/// The best run of a fit, and the records of all of them. Its labels and similarities are kept in
/// the shards.
pub(crate) struct Outcome {
    pub(crate) best: Run,
    pub(crate) records: Vec<RunRecord>,
}

/// Checks the options against the data, then executes all runs and keeps the best.
pub(crate) fn run_all(
    shards: &mut dyn Shards,
    facts: RowFacts,
    weights: WeightScale,
    params: &Params,
    options: LoopOptions<'_>,
) -> Result<Outcome> {
    check_against_data(facts, params)?;
    if let Some(continued) = &options.continued {
        continued.check(facts, params)?;
    }
    let mut silent = Silent;
    let observer = options.observer.unwrap_or(&mut silent);
    let mut driver = Driver::new(shards, facts, weights, params, observer, options.cancel);
    driver.scratch = options.scratch;
    driver.all_runs(options.checkpoint, options.resume, options.continued)?;
    driver.wake_best()?;
    if params.refine == Refine::Root {
        driver.refine()?;
    }
    let Driver { best, records, .. } = driver;
    let best = best.expect("n_init is at least 1, and the first run has either ended or returned its error");
    Ok(Outcome { best, records })
}

/// Finds the first centroids for several numbers of clusters, which descend; the first of them is
/// that of the params.
pub(super) fn starts(
    rows: &UnitRows<'_>,
    params: &Params,
    n_clusters: &[usize],
    mut options: FitOptions<'_>,
) -> Result<Starts> {
    let weights = match options.weights {
        Some(weights) => RowWeights::new(weights, rows.n_rows())?,
        None => RowWeights::UNIFORM,
    };
    let settings = settings(rows, params, &mut options)?;
    let mut shards = LocalShards::new(rows, weights, &cuts(rows, &settings, &options), &settings);
    let facts = shards.facts();
    check_against_data(facts, params)?;
    let mut silent = Silent;
    let observer = options.observer.unwrap_or(&mut silent);
    on_threads(params.n_threads, || {
        Driver::new(&mut shards, facts, weights.scale(), params, observer, options.cancel).cut(n_clusters)
    })?
}

/// Puts labels and similarities of a finished run back into shards that have lost them.
#[cfg_attr(not(feature = "distributed"), expect(dead_code, reason = "only workers can be lost"))]
pub(crate) fn restore(shards: &mut dyn Shards, centroids: &Centroids, iteration: usize) -> Result<()> {
    let labels = shards.kept_labels()?;
    assign_again(shards, &Step::new(iteration, centroids, None, None), &labels)
}

/// Finds the similarities of a run that has ended, and keeps it. Labels stay: each is among the
/// best for its centroids.
fn assign_again(shards: &mut dyn Shards, last_step: &Step<'_>, labels: &[u32]) -> Result<()> {
    shards.start(Some(labels))?;
    shards.pass(last_step)?;
    shards.keep()
}

fn check_against_data(facts: RowFacts, params: &Params) -> Result<()> {
    let RowFacts { n_usable, n_terms, .. } = facts;
    if params.n_clusters > n_usable {
        return Err(ErrorKind::Mismatch {
            what: "n_clusters",
            expected: format!("at most {n_usable}, the number of rows that are not zero and have weight"),
            got: params.n_clusters.to_string(),
        }
        .into());
    }
    match &params.init {
        Init::Given(centroids) if centroids.n_terms() != n_terms => Err(ErrorKind::Mismatch {
            what: "the number of terms of the given centroids",
            expected: format!("{n_terms}, as in the rows"),
            got: centroids.n_terms().to_string(),
        }
        .into()),
        _ => Ok(()),
    }
}

/// All runs of a fit.
struct Driver<'a> {
    /// Labels and similarities of the best run are kept there, too.
    shards: &'a mut dyn Shards,
    facts: RowFacts,
    weights: WeightScale,
    params: &'a Params,
    observer: &'a mut dyn Observer,
    checkpoints: Option<(CheckpointPlan, Fingerprint)>,
    /// The runs that have ended.
    records: Vec<RunRecord>,
    /// The best result so far.
    best: Option<Run>,
    /// Its centroids, if they are in a file: `best` has none then.
    resting: Option<Resting>,
    /// The folder for that file.
    scratch: Option<PathBuf>,
    /// The present run after its last iteration, if rows may be lost.
    resting_point: Option<RestingPoint>,
    /// Where it started, until its first iteration from there has ended.
    again: Option<Start>,
    cancel: Option<&'a AtomicBool>,
    /// Whether the observer asked to stop during a pass; it is heard afterwards.
    asked_to_stop: bool,
    /// Of the present run.
    seeding_phases: SeedingSeconds,
}

impl<'a> Driver<'a> {
    fn new(
        shards: &'a mut dyn Shards,
        facts: RowFacts,
        weights: WeightScale,
        params: &'a Params,
        observer: &'a mut dyn Observer,
        cancel: Option<&'a AtomicBool>,
    ) -> Self {
        Driver {
            shards,
            facts,
            weights,
            params,
            observer,
            checkpoints: None,
            records: Vec::new(),
            best: None,
            resting: None,
            scratch: None,
            resting_point: None,
            again: None,
            cancel,
            asked_to_stop: false,
            seeding_phases: SeedingSeconds::default(),
        }
    }
}

impl Driver<'_> {
    /// Executes all remaining runs, and keeps the best.
    fn all_runs(
        &mut self,
        plan: Option<CheckpointPlan>,
        resume: Option<Checkpoint>,
        continued: Option<Continued>,
    ) -> Result<()> {
        if plan.is_some() || resume.is_some() {
            let checksums = self.shards.checksums()?;
            let fingerprint = Fingerprint::new(self.facts, checksums, self.params, continued.as_ref());
            if let Some(checkpoint) = &resume {
                checkpoint.check_against(&fingerprint)?;
            }
            self.checkpoints = plan.zip(Some(fingerprint));
        }
        let mut start = continued.map_or(Start::Seeds, Start::from);
        if let Some(Checkpoint { finished, best, current, .. }) = resume {
            self.records = finished;
            if let Some(best) = best {
                self.keep_again(best.head.number, &Start::from(best))?;
            }
            start = Start::from(current);
        }
        let mut is_told = false;
        loop {
            self.again = self.shards.may_be_lost().then(|| start.clone());
            match self.remaining_runs(start, is_told) {
                Ok(()) => return Ok(()),
                Err(error) => start = self.start_after_loss(error)?,
            }
            // The observer knows of a run that goes on.
            is_told = matches!(&start, Start::Continue { history, .. } if !history.iterations.is_empty());
        }
    }

    /// Where to start again if the error was a loss of rows, which are back now; otherwise the
    /// error.
    fn start_after_loss(&mut self, error: Error) -> Result<Start> {
        if !self.recover(&error)? {
            return Err(error);
        }
        let start = match self.resting_point.take() {
            Some(point) => point.start(self.shards.labels()?),
            None => self.again.take().unwrap_or(Start::Seeds),
        };
        self.wake_best()?;
        if let Some(best) = &self.best {
            let kept = RestingPoint::of(best).start(self.shards.kept_labels()?);
            self.keep_again(best.number, &kept)?;
        }
        Ok(start)
    }

    /// Executes the runs that have not ended, the first of them from here; `is_told` if the
    /// observer knows that it has started.
    fn remaining_runs(&mut self, mut start: Start, mut is_told: bool) -> Result<()> {
        for number in self.records.len()..self.params.n_runs() {
            let start = std::mem::replace(&mut start, Start::Seeds);
            let is_told = std::mem::replace(&mut is_told, false);
            let started = if is_told { self.begun(number, start) } else { self.started(number, start) };
            let mut run = match started {
                Ok(run) => run,
                Err(error)
                    if self.best.is_some()
                        && !self.is_cancelled()
                        && matches!(error.kind(), ErrorKind::Stopped { .. }) =>
                {
                    self.record_best_of(number, StopReason::Observer);
                    break;
                }
                Err(error) => return Err(error),
            };
            let asked_to_stop = self.execute(&mut run)?;
            (self.resting_point, self.again) = (None, None);
            if asked_to_stop {
                break;
            }
        }
        Ok(())
    }

    /// Executes a run, and keeps it if it is the best so far. Returns whether the observer requests
    /// a stop.
    fn execute(&mut self, run: &mut Run) -> Result<bool> {
        let Ended { stop, asked_to_stop } = self.iterate(run)?;
        if self.is_best(run) {
            self.keep_surely(run)?;
            self.set_best(run);
        }
        if !self.record_best_of(run.number, stop) {
            self.records.push(run.record(stop));
        }
        Ok(asked_to_stop)
    }

    fn is_best(&self, run: &Run) -> bool {
        self.best.as_ref().is_none_or(|best| run.objective() > best.objective())
    }

    /// The result of a run is the best so far.
    fn set_best(&mut self, run: &Run) {
        (self.best, self.resting) = (Some(run.result()), None);
    }

    /// Puts the centroids of the best result into a file, if there is a folder: once the centroids
    /// of the run have changed, they would be in memory twice.
    fn rest_best(&mut self) {
        let (Some(best), Some(folder)) = (&mut self.best, &self.scratch) else { return };
        // In memory they do no harm but take room.
        self.resting = Resting::new(&best.centroids, folder).ok();
        if self.resting.is_some() {
            best.centroids = Centroids::new(self.facts.n_terms, Vec::new());
        }
    }

    /// Takes the centroids of the best result into memory again.
    fn wake_best(&mut self) -> Result<()> {
        if let (Some(best), Some(resting)) = (&mut self.best, self.resting.take()) {
            best.centroids = resting.read()?;
        }
        Ok(())
    }

    /// Records this run, which has ended so, if its result is the best so far: that may be an
    /// earlier one than its last, since first variation need not gain anything. Returns whether it
    /// is.
    fn record_best_of(&mut self, number: usize, stop: StopReason) -> bool {
        let Some(best) = self.best.as_ref().filter(|best| best.number == number) else { return false };
        let stop = if stop.is_converged() { self.reached(best).unwrap_or(stop) } else { stop };
        self.records.push(best.record(stop));
        true
    }

    /// Keeps a run that had ended before.
    fn keep_again(&mut self, number: usize, start: &Start) -> Result<()> {
        loop {
            let kept = self.begun(number, start.clone()).and_then(|run| {
                self.shards.keep()?;
                Ok(run)
            });
            match kept {
                Ok(run) => {
                    self.set_best(&run);
                    return Ok(());
                }
                Err(error) => self.recover(&error)?.then_some(()).ok_or(error)?,
            }
        }
    }

    /// Keeps a run that has just ended, and must not iterate again if its rows are lost now.
    fn keep_surely(&mut self, run: &Run) -> Result<()> {
        let mut kept = self.shards.keep();
        while let Err(error) = kept {
            self.recover(&error)?.then_some(()).ok_or(error)?;
            let labels = self.shards.labels()?;
            kept = assign_again(self.shards, &run.last_step(self.cancel), &labels);
        }
        Ok(())
    }

    /// Whether the error was a loss of rows, which are back now.
    fn recover(&mut self, error: &Error) -> Result<bool> {
        if !self.shards.recover(error)? {
            return Ok(false);
        }
        // A wish to stop is heard again after the next iteration, when there is a result.
        let _ = self.observer.observe(&Event::Recovered { error });
        Ok(!self.is_cancelled())
    }

    fn is_cancelled(&self) -> bool {
        is_set(self.cancel)
    }

    fn tell(&mut self, event: &Event<'_>) -> Result<()> {
        let asked_before = std::mem::take(&mut self.asked_to_stop);
        tell(self.observer, self.cancel, event)?;
        if asked_before { Err(ErrorKind::Stopped { stage: "seeding" }.into()) } else { Ok(()) }
    }

    /// Assigns every document to the centroids of a step, and tells the observer how far that has
    /// come.
    fn pass(&mut self, step: &Step<'_>) -> Result<Passed> {
        let RowFacts { n_rows, nnz, .. } = self.facts;
        let bytes = |n_docs: u64, nnz: u64| 8 * (n_docs + nnz);
        let observer = Mutex::new((&mut *self.observer, &mut self.asked_to_stop));
        let watcher = |so_far: PassedSoFar| {
            let (observer, asked_to_stop) = &mut *observer.lock().expect("observers do not panic");
            let event = Event::Passing {
                n_documents: so_far.n_docs,
                n_documents_total: n_rows as u64,
                bytes_read: bytes(so_far.n_docs, so_far.nnz),
                bytes_total: bytes(n_rows as u64, nnz as u64),
            };
            **asked_to_stop |= observer.observe(&event).is_break();
        };
        let mut passed = self.shards.pass(&step.watched(&watcher))?;
        if let Some(error) = passed.left_device.take() {
            let event = Event::DeviceLeft { error: &error };
            self.asked_to_stop |= self.observer.observe(&event).is_break();
        }
        Ok(passed)
    }

    /// A run that is ready for its next iteration.
    fn started(&mut self, number: usize, start: Start) -> Result<Run> {
        self.tell(&Event::RunStarted { run: number, n_init: self.params.n_runs() })?;
        self.begun(number, start)
    }

    fn begun(&mut self, number: usize, start: Start) -> Result<Run> {
        let (centroids, labels, history) = match start {
            Start::Continue { centroids, labels, history } => (centroids, Some(labels), history),
            Start::Seeds => {
                let start = Instant::now();
                self.seeding_phases = SeedingSeconds::default();
                let centroids = self.seeds(number)?;
                give_back_freed();
                let seeding_seconds = start.elapsed().as_secs_f64();
                let seeding_phases = Some(self.seeding_phases);
                (centroids, None, History { seeding_seconds, seeding_phases, ..History::default() })
            }
        };
        self.shards.start(labels.as_deref())?;
        let mut run = Run::new(number, centroids, history);
        if !run.history.iterations.is_empty() {
            // Similarities and sums are not in a checkpoint. Labels stay: each is among the best
            // for its centroids.
            run.pending = self.pass(&run.last_step(self.cancel))?.touched;
        }
        Ok(run)
    }

    /// The first centroids of a run.
    fn seeds(&mut self, number: usize) -> Result<Centroids> {
        let Params { n_clusters, init, seed, .. } = self.params;
        let (n_clusters, n_terms) = (*n_clusters, self.facts.n_terms);
        self.wake_best()?;
        if let Some(best) = self.best.as_ref().filter(|_| number >= self.params.n_init) {
            let best = best.centroids.clone();
            return self.perturbed(number, best);
        }
        if let Init::Merge { .. } = init {
            return self.over_clustered(number);
        }
        let seeding = Seeding { init, n_clusters, n_terms, seed: *seed, run: number };
        let (observer, cancel) = (&mut *self.observer, self.cancel);
        seeding.centroids(self.shards, &mut self.seeding_phases, &mut |done| {
            tell(observer, cancel, &Event::Seeding { done, total: n_clusters })
        })
    }

    /// Iterates until a stop condition holds. Afterwards the labels are the best for the centroids.
    fn iterate(&mut self, run: &mut Run) -> Result<Ended> {
        let params = self.params;
        for iteration in run.history.iterations.len()..=params.max_iter {
            if self.varies(run) {
                if self.reached(run).is_some() && self.is_best(run) {
                    // If this fails because rows are lost, the run comes back to this point.
                    self.shards.keep()?;
                    self.set_best(run);
                    self.rest_best();
                }
                self.vary(run)?;
                if self.is_cancelled() {
                    return Err(ErrorKind::Stopped { stage: "an iteration" }.into());
                }
                if run.stands_still() {
                    return Ok(Ended { stop: StopReason::NoLabelChanged, asked_to_stop: false });
                }
            }
            let record = self.step(run)?;
            let asked_to_stop = self.observer.observe(&Event::Iteration(&record)).is_break()
                | std::mem::take(&mut self.asked_to_stop);
            if self.is_cancelled() {
                return Err(ErrorKind::Stopped { stage: "an iteration" }.into());
            }
            run.history.iterations.push(record);
            self.shards.progressed();
            if self.shards.may_be_lost() {
                self.resting_point = Some(RestingPoint::of(run));
                self.again = None;
            }
            if let Some(stop) = self.reached(run)
                && (!self.varies(run) || iteration == params.max_iter)
            {
                return Ok(Ended { stop, asked_to_stop });
            }
            let asked_to_stop = self.write_checkpoint(run, iteration, asked_to_stop)? || asked_to_stop;
            if asked_to_stop {
                return Ok(Ended { stop: StopReason::Observer, asked_to_stop });
            }
        }
        Ok(Ended { stop: StopReason::MaxIter, asked_to_stop: false })
    }

    /// The first assignment, or the next iteration.
    fn step(&mut self, run: &mut Run) -> Result<IterationRecord> {
        if run.history.iterations.is_empty() { self.first_iteration(run) } else { self.iteration(run) }
    }

    /// Assigns every document to its seed.
    fn first_iteration(&mut self, run: &mut Run) -> Result<IterationRecord> {
        let step = Step::new(0, &run.centroids, None, self.cancel);
        let passed = self.pass(&step)?;
        let (record, touched) = self.record(&step, passed);
        run.pending = touched;
        Ok(record)
    }

    /// Labels to centroids, then rows to labels.
    fn iteration(&mut self, run: &mut Run) -> Result<IterationRecord> {
        let start = Instant::now();
        let varied = run.varied.take();
        let given = varied.as_ref().map_or(&[][..], |varied| &varied.clusters);
        let (movement, n_refills) = self.update(run, given)?;
        let update_seconds = start.elapsed().as_secs_f64();

        let step = Step::new(run.history.iterations.len(), &run.centroids, Some(&movement), self.cancel);
        let passed = self.pass(&step)?;
        let (mut record, touched) = self.record(&step, passed);
        run.pending = touched;
        record.refilled_clusters = n_refills as u64;
        if let Some(varied) = varied {
            record.varied_docs = Some(varied.n_docs);
            record.counters = record.counters.plus(varied.counters);
            record.seconds.assign += varied.seconds;
        }
        record.max_squared_movement = movement.max_squared_distance();
        record.seconds.update += update_seconds;
        Ok(record)
    }

    /// Labels to centroids; a contest has touched the clusters in `given`. Returns how far the
    /// centroids moved, and how many were refilled.
    fn update(&mut self, run: &mut Run, given: &[u32]) -> Result<(Movement, usize)> {
        let mut touched = std::mem::take(&mut run.pending);
        run.sums.count(&touched);
        let refills = refill::choose(run.sums.n_members(), |after, n| self.shards.worst(after, n))?;
        if !refills.is_empty() {
            Touched::add(&mut touched, self.shards.refill(&refills)?);
        }
        let batch = self.shards.clusters_per_update(touched.len());
        let shards = &mut *self.shards;
        let deltas = |clusters, take: &mut dyn FnMut(Delta)| shards.deltas(clusters, take);
        let mut given = given.to_vec();
        given.extend(refills.iter().map(|refill| refill.cluster));
        let movement = run.sums.apply(&touched, &given, &mut run.centroids, batch, deltas)?;
        if run.history.iterations.len() <= EARLY_UPDATES {
            // New sums lie between old ones, which are gaps now.
            give_back_freed();
        }
        Ok((movement, refills.len()))
    }

    /// The record of a pass, and the touched clusters for the next update.
    fn record(&self, step: &Step<'_>, passed: Passed) -> (IterationRecord, Vec<Touched>) {
        let record = IterationRecord {
            iteration: step.iteration,
            strategy: passed.strategy,
            filters_off: passed.filters_off,
            moved_docs: passed.moved_docs,
            changed_clusters: step.n_changed() as u64,
            unsettled_docs: passed.unsettled_docs,
            refilled_clusters: 0,
            varied_docs: None,
            counters: passed.counters,
            index: passed.index,
            objective: self.weights.objective(passed.objective),
            max_squared_movement: 0.0,
            seconds: StageSeconds {
                update: passed.seconds.compare,
                prepare: passed.seconds.prepare,
                assign: passed.seconds.assign,
                phases: passed.seconds.phases,
            },
            strategy_bytes: passed.strategy_bytes,
            transferred: passed.transferred,
        };
        (record, passed.touched)
    }

    /// Writes a checkpoint if it is due, or if the run is about to stop. Returns whether the
    /// observer then requests a stop.
    fn write_checkpoint(&mut self, run: &Run, iteration: usize, stopping: bool) -> Result<bool> {
        let is_due =
            |plan: &CheckpointPlan| stopping || (iteration > 0 && iteration.is_multiple_of(plan.every));
        if !self.checkpoints.as_ref().is_some_and(|(plan, _)| is_due(plan)) {
            return Ok(false);
        }
        self.wake_best()?;
        let Some((plan, fingerprint)) = &self.checkpoints else { return Ok(false) };
        let best = match &self.best {
            Some(best) => Some(SavedRun::new(best, self.shards.kept_labels()?)),
            None => None,
        };
        let checkpoint = Checkpoint {
            fingerprint: fingerprint.clone(),
            finished: self.records.clone(),
            best,
            current: SavedRun::new(run, self.shards.labels()?),
        };
        let event = match &checkpoint.save(&plan.path) {
            Ok(()) => self.observer.observe(&Event::CheckpointWritten { path: &plan.path }),
            Err(error) => self.observer.observe(&Event::CheckpointFailed { error }),
        };
        Ok(event.is_break())
    }
}

fn is_set(cancel: Option<&AtomicBool>) -> bool {
    cancel.is_some_and(|cancel| cancel.load(Relaxed))
}

/// Reports an event to the observer, which may stop the run before there is a result.
fn tell(observer: &mut dyn Observer, cancel: Option<&AtomicBool>, event: &Event<'_>) -> Result<()> {
    match observer.observe(event) {
        ControlFlow::Continue(()) if !is_set(cancel) => Ok(()),
        _ => Err(ErrorKind::Stopped { stage: "seeding" }.into()),
    }
}

/// A run after an iteration: together with the labels, all that its further iterations depend on.
struct RestingPoint {
    centroids: Centroids,
    history: History,
}

impl RestingPoint {
    fn of(run: &Run) -> Self {
        RestingPoint { centroids: run.centroids.clone(), history: run.history.clone() }
    }

    fn start(&self, labels: Vec<u32>) -> Start {
        Start::Continue { centroids: self.centroids.clone(), labels, history: self.history.clone() }
    }
}

/// How a run ended. The observer may request a stop in the very iteration in which the run
/// converges: then no further run begins.
struct Ended {
    stop: StopReason,
    asked_to_stop: bool,
}
