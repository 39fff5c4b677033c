//! Stage 10: the whole run. Options, the only loop, the record of the run.

mod checkpoint;
mod continued;
mod driver;
mod forecast;
mod params;
mod run;
mod starts;

pub use checkpoint::Checkpoint;
pub use forecast::MemoryForecast;
pub use params::{Params, SphericalKMeans, ValidParams};
pub use starts::Starts;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use checkpoint::CheckpointPlan;
use continued::Continued;
use driver::Outcome;
#[cfg(feature = "distributed")]
pub(crate) use driver::{LoopOptions, restore, run_all};

use crate::centroids::{Centroids, MAX_CLUSTERS};
use crate::error::{Error, Result};
use crate::labels::{Assignment, Labels};
use crate::model::{Model, ModelInfo};
use crate::observer::Observer;
use crate::record::{RunRecord, StopReason, Trace};
use crate::seeding::Init;
use crate::shards::RowFacts;
use crate::vectors::UnitRows;

/// Optional inputs of a fit.
#[derive(Default)]
pub struct FitOptions<'a> {
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) checkpoint: Option<CheckpointPlan>,
    pub(crate) resume: Option<Checkpoint>,
    pub(crate) continued: Option<Continued>,
    pub(crate) frozen: bool,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) cuts: Vec<usize>,
    pub(crate) scratch: Option<PathBuf>,
}

impl<'a> FitOptions<'a> {
    /// One weight per row: how often it counts. Rows of weight 0 are labelled, but move no
    /// centroid.
    #[must_use]
    pub fn weights(mut self, weights: &'a [f64]) -> Self {
        self.weights = Some(weights);
        self
    }

    /// An observer, which watches the run and may stop it.
    #[must_use]
    pub fn observer(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Writes a checkpoint to `path` after every `every` iterations (at least 1), and when the
    /// observer stops the run. A failure to write is reported to the observer and does not end the
    /// run.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: usize) -> Self {
        self.checkpoint = Some(CheckpointPlan { path: path.into(), every: every.max(1) });
        self
    }

    /// Continues an interrupted run, with the bits of an uninterrupted one. Rows, weights and
    /// options must be the same, except for strategy, threads and `max_iter`.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Starts from the centroids and labels of an earlier run instead of seeds, over the same rows
    /// or others: rows with label -1, such as new ones, first get the label of their nearest
    /// centroid. Then the run continues until it converges.
    ///
    /// The labels (one per row) decide ties, so an earlier run that had converged stays unchanged,
    /// unless first variation ([`Params::variation`]), which begins again, still gains.
    /// Only with `n_init` 1; [`Params::init`] is not used.
    ///
    /// ```
    /// use docsphere::{FitOptions, Labels, SparseRows, SphericalKMeans, UnitRows};
    ///
    /// let rows = |n: usize| {
    ///     let (terms, values) = ([0, 1, 1, 0], [1.0, 1.0, 2.0, 3.0]);
    ///     let offsets = (0..=n as u64).collect::<Vec<_>>();
    ///     let (terms, values) = (terms[..n].to_vec(), values[..n].to_vec());
    ///     UnitRows::new(SparseRows::from_parts(2, offsets, terms, values).unwrap())
    /// };
    /// let params = SphericalKMeans::params(2);
    /// let fit = params.clone().fit(&rows(2))?;
    /// // Two documents more.
    /// let mut labels: Vec<i32> = fit.labels.into();
    /// labels.extend([-1, -1]);
    /// let centroids = fit.model.centroids().clone();
    /// let options = FitOptions::default().continue_from(centroids, Labels::from(labels));
    /// let grown = params.fit_with(&rows(4), options)?;
    /// assert_eq!(grown.labels.as_slice()[1], grown.labels.as_slice()[2]);
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    #[must_use]
    pub fn continue_from(mut self, centroids: Centroids, labels: Labels) -> Self {
        self.continued = Some(Continued { centroids, labels });
        self
    }

    /// Leaves the centroids as they are: the run ends after the first assignment, without root
    /// centroids. With [`continue_from`](Self::continue_from), rows without a label get that of
    /// their nearest centroid, and the others keep theirs if it is among the best. Since the
    /// centroids stay, rows may come in any number of such runs: a later run that goes on from
    /// there gives the bits of one to which all of them are new.
    #[must_use]
    pub fn frozen(mut self, frozen: bool) -> Self {
        self.frozen = frozen;
        self
    }

    /// The folder whose disk takes the best result so far while a run goes on, in files without a
    /// name: 12 bytes per row and 8 per entry of a centroid. If the rows are in a [mapped
    /// file](UnitRows::open_mapped), also what a strategy derives from single rows: 4 bytes per
    /// nonzero. Without a folder they are in memory.
    #[must_use]
    pub fn scratch(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = Some(folder.into());
        self
    }

    /// Once this is true, the run is abandoned, within a fraction of an iteration: there is no
    /// result, and the fit ends with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped). An
    /// observer, in contrast, stops a run after an iteration, with the result so far.
    #[must_use]
    pub fn cancel(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }
}

impl FitOptions<'_> {
    /// Divides the rows into shards before each of these rows, which ascend: for tests, since it
    /// changes no bit of the result.
    #[doc(hidden)]
    #[must_use]
    pub fn cuts(mut self, cuts: Vec<usize>) -> Self {
        self.cuts = cuts;
        self
    }
}

impl std::fmt::Debug for FitOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let observer = self.observer.as_ref().map(|_| "…");
        f.debug_struct("FitOptions")
            .field("weights", &self.weights)
            .field("observer", &observer)
            .field("checkpoint", &self.checkpoint)
            .field("resume", &self.resume)
            .field("continued", &self.continued)
            .field("frozen", &self.frozen)
            .field("cancel", &self.cancel)
            .field("cuts", &self.cuts)
            .field("scratch", &self.scratch)
            .finish()
    }
}

/// The result of a fit. Labels, centroids and objective are consistent: each label is the best for
/// the returned centroids.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fit {
    /// Centroids and their provenance; labels new rows.
    pub model: Model,
    /// The cluster of each row; -1 for zero rows and for outliers.
    pub labels: Labels,
    /// The similarity of each row to its centroid; 0 without a label.
    pub similarities: Vec<f64>,
    /// The weighted sum of the similarities: the quantity that the algorithm maximises.
    pub objective: f64,
    /// The number of iterations.
    pub n_iter: usize,
    /// Why the run ended.
    pub stop: StopReason,
    /// Clusters without any document. There are some if k is above the number of distinct rows, or
    /// if the run was stopped before an empty cluster could be refilled.
    pub n_empty_clusters: usize,
    /// Nonzero rows without a similarity above 0 to any centroid: they belong to no cluster.
    pub n_outliers: usize,
    /// The record of the run, iteration by iteration.
    pub trace: Trace,
}

impl Fit {
    /// The result of the best run.
    fn new(
        outcome: Outcome,
        assignment: Assignment,
        facts: RowFacts,
        params: &Params,
        weighted: bool,
    ) -> Self {
        let Finished { model, objective, n_iter, stop, trace } =
            outcome.finished(params, weighted, assignment.labels.len());
        let mut has_documents = vec![false; model.centroids().n_clusters()];
        let mut n_labelled = 0;
        for &label in assignment.labels.iter().filter(|&&label| label != Assignment::NO_LABEL) {
            has_documents[label as usize] = true;
            n_labelled += 1;
        }
        Fit {
            labels: Labels::from(&assignment),
            similarities: assignment.similarities.into_vec(),
            objective,
            n_iter,
            stop,
            n_empty_clusters: has_documents.iter().filter(|&&has| !has).count(),
            n_outliers: facts.n_nonzero_rows - n_labelled,
            model,
            trace,
        }
    }

    /// Whether the run converged, rather than being ended by `max_iter` or the observer.
    pub fn converged(&self) -> bool {
        self.stop.is_converged()
    }
}

/// The parts of a result that do not grow with the number of documents.
pub(crate) struct Finished {
    pub(crate) model: Model,
    pub(crate) objective: f64,
    pub(crate) n_iter: usize,
    pub(crate) stop: StopReason,
    pub(crate) trace: Trace,
}

impl Outcome {
    pub(crate) fn finished(self, params: &Params, weighted: bool, n_docs: usize) -> Finished {
        let Outcome { best, records } = self;
        let RunRecord { objective, n_iter, stop, .. } = records[best.number];
        let mut iterations = best.history.iterations;
        let refinement = best.history.refined_from.map_or(Vec::new(), |from| iterations.split_off(from));
        let objective = refinement.last().map_or(objective, |record| record.objective);
        let info = ModelInfo {
            init: params.init.name().to_owned(),
            candidates: params.init.n_candidates(),
            weighted,
            n_init: params.n_init,
            variation: params.variation,
            rounds: params.rounds,
            refine: params.refine,
            max_iter: params.max_iter,
            tol: params.tol,
            seed: params.seed,
            n_docs,
            objective,
            n_iter,
            converged: stop.is_converged(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let trace = Trace { runs: records, best_run: best.number, iterations, refinement };
        Finished { model: Model::new(best.centroids, info), objective, n_iter, stop, trace }
    }
}

// Here rather than with the options, which the driver uses.
impl ValidParams {
    /// Clusters the rows.
    ///
    /// # Errors
    /// More clusters than nonzero rows; given centroids over another number of terms.
    pub fn fit(&self, rows: &UnitRows<'_>) -> Result<Fit> {
        self.fit_with(rows, FitOptions::default())
    }

    /// Clusters the rows, with row weights or an observer.
    ///
    /// # Errors
    /// As [`ValidParams::fit`]; weights that are negative, not finite, all zero, or not one per
    /// row; a stop by the observer before there was a result.
    pub fn fit_with(&self, rows: &UnitRows<'_>, options: FitOptions<'_>) -> Result<Fit> {
        driver::fit(rows, &self.0, options)
    }

    /// The first centroids for several numbers of clusters: small clusters are found once, as by
    /// [`Init::Merge`] for the greatest number, and merged until as many are left as each number
    /// says. For the greatest number these are the seeds of a fit with the same params;
    /// [`Params::n_clusters`] is not used.
    ///
    /// ```
    /// use docsphere::{FitOptions, Init, SparseRows, SphericalKMeans, UnitRows};
    ///
    /// let terms = vec![0, 1, 0, 2, 3, 4, 3, 5];
    /// let rows = SparseRows::from_parts(6, vec![0, 2, 4, 6, 8], terms, vec![1.0; 8])?;
    /// let rows = UnitRows::new(rows);
    /// let params = SphericalKMeans::params(3).check()?;
    /// let starts = params.starts(&rows, &[2, 3], FitOptions::default())?;
    /// let two = Init::Given(starts.centroids(2).unwrap());
    /// let fit = SphericalKMeans::params(2).init(two).fit(&rows)?;
    /// assert_eq!(fit.labels.as_slice(), [0, 0, 1, 1]);
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for no number, one out of range, or
    /// seeds that are no merges; more clusters than nonzero rows; a stop by the observer. Options
    /// about checkpoints and continued runs have no effect.
    pub fn starts(
        &self,
        rows: &UnitRows<'_>,
        n_clusters: &[usize],
        options: FitOptions<'_>,
    ) -> Result<Starts> {
        let mut wanted = n_clusters.to_vec();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        wanted.dedup();
        let &[most, ..] = &wanted[..] else {
            return Err(Error::unless(false, "n_clusters", "at least one number", "none").unwrap_err());
        };
        let least = wanted[wanted.len() - 1];
        let fits = least >= 1 && most <= MAX_CLUSTERS;
        Error::unless(fits, "n_clusters", "from 1 to 16777216", if least < 1 { least } else { most })?;
        let init = &self.params().init;
        let is_merge = matches!(init, Init::Merge { .. });
        Error::unless(is_merge, "init", "merge, since all starts come from one tree of merges", init)?;
        driver::starts(rows, &Params { n_clusters: most, ..self.params().clone() }, &wanted, options)
    }
}
