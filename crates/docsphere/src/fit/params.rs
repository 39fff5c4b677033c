//! Options of a fit: the only place for their names, defaults and ranges.

use crate::assign::AssignerSettings;
use crate::centroids::MAX_CLUSTERS;
use crate::error::{Error, Result};
use crate::fit::{Fit, FitOptions};
use crate::record::{Device, Effort, Refine, Strategy};
use crate::seeding::Init;
use crate::simd::{Level, Simd};
use crate::threads;
use crate::vectors::UnitRows;

/// Spherical k-means. Start with [`SphericalKMeans::params`].
#[derive(Debug)]
pub struct SphericalKMeans;

impl SphericalKMeans {
    /// Default parameters for `n_clusters` clusters.
    ///
    /// ```
    /// use docsphere::SphericalKMeans;
    ///
    /// let params = SphericalKMeans::params(20).max_iter(50);
    /// assert_eq!((params.n_clusters, params.max_iter, params.n_init), (20, 50, 1));
    /// ```
    pub fn params(n_clusters: usize) -> Params {
        Params::new(n_clusters)
    }

    /// The number of clusters if nobody has chosen one: the square root of half the number of
    /// documents, rounded, and at least 2 (an old rule of thumb: Mardia, Kent and Bibby,
    /// Multivariate Analysis, 1979). [`choose_n_clusters`](crate::choose_n_clusters) looks at the
    /// documents.
    ///
    /// ```
    /// use docsphere::SphericalKMeans;
    ///
    /// assert_eq!([1, 4, 480, 20_000].map(SphericalKMeans::rule_of_thumb), [1, 2, 15, 100]);
    /// ```
    pub fn rule_of_thumb(n_docs: usize) -> usize {
        ((n_docs as f64 / 2.0).sqrt().round() as usize).max(2).min(n_docs)
    }
}

/// Options of a fit, not yet checked.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `n_clusters` | | the number of clusters, k |
/// | `init` | merge | how the first centroids are chosen |
/// | `n_init` | 1 | runs with different seeds; the one with the greatest objective is kept |
/// | `variation` | on | when the loop has converged, single documents move if the objective gains, and the loop goes on |
/// | `rounds` | 0 | times that the best run is perturbed (small clusters added, iterated and merged again) and run again |
/// | `refine` | none | a last step that leaves the objective of spherical k-means: see [`Refine`] |
/// | `max_iter` | 100 | maximum number of iterations per run |
/// | `tol` | 0.0001 | stop when no centroid moved by a squared distance of this or more; 0 to continue until no label changes |
/// | `seed` | 0 | seed of all random numbers |
/// | `strategy` | auto | how labels are found; changes time and memory, never the result |
/// | `device` | cpu | where labels are found: on the CPU, or a GPU; never changes the result |
/// | `lambdas` | 0.1, 0.25, 0.4, 0.6 | thresholds of the paper's index |
/// | `index_min_changed` | 100 | `ncc-index` builds its index only while more clusters than this changed |
/// | `n_threads` | all cores | threads; never changes the result |
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The number of clusters.
    pub n_clusters: usize,
    /// How the first centroids are chosen.
    pub init: Init,
    /// The number of runs with different seeds.
    pub n_init: usize,
    /// Whether single documents move if the objective gains, once the loop has converged.
    pub variation: bool,
    /// The number of further runs that start from the best one, perturbed.
    pub rounds: usize,
    /// What follows the loop.
    pub refine: Refine,
    /// The maximum number of iterations per run.
    pub max_iter: usize,
    /// A run stops when every centroid moved by less than this, as a squared distance.
    pub tol: f64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How labels are found.
    pub strategy: Strategy,
    /// Where labels are found.
    pub device: Device,
    /// The thresholds of the paper's index; ascending once they have been checked.
    pub lambdas: Vec<f64>,
    /// `ncc-index` builds its index only while more clusters than this changed.
    pub index_min_changed: usize,
    /// Which vector instructions may be used.
    pub simd: Simd,
    /// The number of threads; `None` for one per core.
    pub n_threads: Option<usize>,
}

/// Checked options: only these can fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidParams(pub(super) Params);

impl Params {
    fn new(n_clusters: usize) -> Self {
        Params {
            n_clusters,
            init: Init::default(),
            n_init: 1,
            variation: true,
            rounds: 0,
            refine: Refine::None,
            max_iter: 100,
            tol: 1e-4,
            seed: 0,
            strategy: Strategy::default(),
            device: Device::default(),
            lambdas: vec![0.1, 0.25, 0.4, 0.6],
            index_min_changed: 100,
            simd: Simd::Auto,
            n_threads: None,
        }
    }

    /// Sets [`Params::init`], [`Params::n_init`], [`Params::variation`] and [`Params::rounds`]:
    ///
    /// | effort | init | n_init | variation | rounds |
    /// |---|---|---|---|---|
    /// | fast | merge, 2 small clusters per cluster | 1 | off | 0 |
    /// | default | merge | 1 | on | 0 |
    /// | best | merge | 5 | on | 10 |
    ///
    /// Options that are set afterwards replace these.
    #[must_use]
    pub fn effort(self, effort: Effort) -> Self {
        let defaults = Params::new(self.n_clusters);
        let (fine, n_init, variation, rounds) = match effort {
            Effort::Fast => (Some(2), 1, false, 0),
            Effort::Default => (None, defaults.n_init, defaults.variation, defaults.rounds),
            Effort::Best => (None, 5, true, 10),
        };
        Params { init: Init::Merge { fine }, n_init, variation, rounds, ..self }
    }

    /// The number of clusters.
    #[must_use]
    pub fn n_clusters(mut self, n_clusters: usize) -> Self {
        self.n_clusters = n_clusters;
        self
    }

    /// How the first centroids are chosen.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The number of runs with different seeds.
    #[must_use]
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// Whether single documents move if the objective gains, once the loop has converged (first
    /// variation, Dhillon, Guan and Kogan 2002); then the loop goes on.
    #[must_use]
    pub fn variation(mut self, variation: bool) -> Self {
        self.variation = variation;
        self
    }

    /// The number of further runs that start from the best one so far: half as many random
    /// documents as there are clusters become small clusters beside the others, and after a few
    /// iterations the clusters whose union loses least are merged.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// What follows the loop.
    #[must_use]
    pub fn refine(mut self, refine: Refine) -> Self {
        self.refine = refine;
        self
    }

    /// The maximum number of iterations per run.
    #[must_use]
    pub fn max_iter(mut self, max_iter: usize) -> Self {
        self.max_iter = max_iter;
        self
    }

    /// A run stops when every centroid moved by less than this, as a squared distance.
    #[must_use]
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// The seed of all random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How labels are found.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Where labels are found. A GPU takes the place of any strategy.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// The thresholds of the paper's index, in any order.
    #[must_use]
    pub fn lambdas(mut self, lambdas: impl Into<Vec<f64>>) -> Self {
        self.lambdas = lambdas.into();
        self
    }

    /// `ncc-index` builds its index only while more clusters than this changed.
    #[must_use]
    pub fn index_min_changed(mut self, index_min_changed: usize) -> Self {
        self.index_min_changed = index_min_changed;
        self
    }

    /// Which vector instructions may be used: the widest by default. For tests and comparisons;
    /// never changes the result.
    #[must_use]
    pub fn simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// The number of threads; `None` for one per core.
    #[must_use]
    pub fn n_threads(mut self, n_threads: impl Into<Option<usize>>) -> Self {
        self.n_threads = n_threads.into();
        self
    }

    /// Checks every option on its own.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for the first option that is out of
    /// its range.
    pub fn check(mut self) -> Result<ValidParams> {
        let fits = (1..=MAX_CLUSTERS).contains(&self.n_clusters);
        Error::unless(fits, "n_clusters", "from 1 to 16777216", self.n_clusters)?;
        Error::unless(self.n_init >= 1, "n_init", "at least 1", self.n_init)?;
        let fits = self.rounds <= 10_000;
        Error::unless(fits, "rounds", "from 0 to 10000", self.rounds)?;
        Error::unless(self.max_iter >= 1, "max_iter", "at least 1", self.max_iter)?;
        Error::unless(
            self.tol.is_finite() && self.tol >= 0.0,
            "tol",
            "a finite number, at least 0",
            self.tol,
        )?;
        threads::check(self.n_threads)?;
        Error::unless(
            self.simd.is_available(),
            "simd",
            "instructions that this machine has",
            self.simd.name(),
        )?;
        for &lambda in &self.lambdas {
            Error::unless(lambda > 0.0 && lambda <= 1.0, "lambdas", "numbers above 0, at most 1", lambda)?;
        }
        let n_lambdas = self.lambdas.len();
        Error::unless((1..=64).contains(&n_lambdas), "lambdas", "from 1 to 64 numbers", n_lambdas)?;
        self.lambdas.sort_unstable_by(f64::total_cmp);
        self.lambdas.dedup();
        match &self.init {
            Init::PlusPlus { candidates: Some(candidates) } => {
                Error::unless(
                    (1..=10_000).contains(candidates),
                    "candidates",
                    "from 1 to 10000",
                    candidates,
                )?;
            }
            Init::Merge { fine: Some(fine) } => {
                Error::unless((2..=100).contains(fine), "fine", "from 2 to 100", fine)?;
            }
            Init::Given(centroids) => {
                let n_given = centroids.n_clusters();
                let expected = format!("{n_given}, the number of given centroids");
                Error::unless(self.n_clusters == n_given, "n_clusters", expected, self.n_clusters)?;
                Error::unless(self.n_init == 1, "n_init", "1 with given centroids", self.n_init)?;
                let found = "only empty centroids";
                Error::unless(centroids.nnz() > 0, "init", "at least one centroid that is not zero", found)?;
            }
            _ => {}
        }
        Ok(ValidParams(self))
    }

    /// Checks the options, then clusters the rows. See [`ValidParams::fit`].
    ///
    /// # Errors
    /// As [`Params::check`] and [`ValidParams::fit`].
    pub fn fit(self, rows: &UnitRows<'_>) -> Result<Fit> {
        self.check()?.fit(rows)
    }

    /// Checks the options, then clusters the rows with row weights, an observer or checkpoints. See
    /// [`ValidParams::fit_with`].
    ///
    /// # Errors
    /// As [`Params::check`] and [`ValidParams::fit_with`].
    pub fn fit_with(self, rows: &UnitRows<'_>, options: FitOptions<'_>) -> Result<Fit> {
        self.check()?.fit_with(rows, options)
    }

    /// The number of runs: from seeds, then from the best one.
    pub fn n_runs(&self) -> usize {
        self.n_init.saturating_add(self.rounds)
    }

    pub(super) fn assigner_settings(&self) -> AssignerSettings {
        AssignerSettings {
            lambdas: self.lambdas.clone(),
            index_min_changed: self.index_min_changed,
            level: Level::of(self.simd).expect("checked"),
            scratch: None,
            device: None,
        }
    }
}

impl ValidParams {
    /// The options.
    pub fn params(&self) -> &Params {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centroids::Centroids;
    use crate::vectors::SparseRows;

    fn message(params: Params) -> String {
        params.check().unwrap_err().to_string()
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_name_range_and_value() {
        let params = || SphericalKMeans::params(3);
        assert_eq!(message(SphericalKMeans::params(0)), "n_clusters must be from 1 to 16777216, got 0");
        assert_eq!(message(params().n_init(0)), "n_init must be at least 1, got 0");
        assert_eq!(message(params().max_iter(0)), "max_iter must be at least 1, got 0");
        assert_eq!(message(params().tol(f64::NAN)), "tol must be a finite number, at least 0, got NaN");
        assert_eq!(message(params().n_threads(0)), "n_threads must be from 1 to 4096, got 0");
        assert_eq!(
            message(params().lambdas([0.5, 1.5])),
            "lambdas must be numbers above 0, at most 1, got 1.5"
        );
        assert_eq!(message(params().lambdas([])), "lambdas must be from 1 to 64 numbers, got 0");
        assert_eq!(
            message(params().init(Init::PlusPlus { candidates: Some(0) })),
            "candidates must be from 1 to 10000, got 0"
        );
    }

    #[test]
    fn given_centroids_must_fit_the_other_options() {
        let given = |values: Vec<f32>| {
            let rows = SparseRows::from_parts(2, vec![0, 1, 2], vec![0, 1], values).unwrap();
            Init::Given(Centroids::from_rows(rows))
        };
        let params = |k| SphericalKMeans::params(k).init(given(vec![1.0, 1.0]));
        assert!(params(2).check().is_ok());
        assert_eq!(message(params(3)), "n_clusters must be 2, the number of given centroids, got 3");
        assert_eq!(message(params(2).n_init(5)), "n_init must be 1 with given centroids, got 5");
        assert_eq!(
            message(SphericalKMeans::params(2).init(given(vec![0.0, 0.0]))),
            "init must be at least one centroid that is not zero, got only empty centroids"
        );
    }

    #[test]
    fn efforts_are_presets_that_other_options_replace() {
        let params = || SphericalKMeans::params(3);
        assert_eq!(params().effort(Effort::Default), params());
        assert_eq!(params().effort(Effort::Best).effort(Effort::Default), params());
        let best = params().effort(Effort::Best).n_init(2);
        assert_eq!((best.n_init, best.rounds, best.variation), (2, 10, true));
        let fast = params().effort(Effort::Fast);
        assert_eq!((fast.init, fast.variation), (Init::Merge { fine: Some(2) }, false));
    }

    #[test]
    fn lambdas_are_sorted_and_repeated_ones_dropped() {
        let params = SphericalKMeans::params(3).lambdas([0.6, 0.1, 0.6]).check().unwrap();
        assert_eq!(params.params().lambdas, [0.1, 0.6]);
    }
}
