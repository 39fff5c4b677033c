//! Stage 13: several numbers of clusters beside each other, with measures that help to choose.
//!
//! One tree of small clusters, cut at every number, gives all starts ([`Starts`]); each number then
//! has an ordinary fit from its start, by the only loop. What a sweep adds are measures:
//!
//! | file | measure |
//! |---|---|
//! | [`separation`] | silhouettes and margin, of all documents |
//! | `stability.rs` | stability over halves and seeds, of a sample |
//! | `advice.rs` | the recommendation |
//! | `auto.rs` | a number of clusters without anybody's choice |
//! | `grid.rs` | which numbers to compare |
//! | `forecast.rs` | the memory of a sweep |

mod advice;
mod auto;
mod forecast;
mod grid;
mod stability;

pub use advice::Advice;
pub use auto::{Chosen, choice_forecast_bytes, choose_n_clusters};
pub use grid::ClusterGrid;
pub use stability::Stability;

use self::stability::{Resampling, started_at};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::{Fit, FitOptions, Params, Starts};
use crate::observer::Observer;
use crate::record::StopReason;
use crate::summary::{Separation, separation};
use crate::threads::on_threads;
use crate::vectors::UnitRows;

/// Documents per cluster of the greatest number that a sample has, at least, if there are so many.
const SAMPLE_PER_CLUSTER: usize = 10;

/// Options of a sweep.
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepOptions {
    /// How often stability is measured: pairs of random halves, and other seeds; 0 for not at all.
    /// Each costs about two fits of the sample, for every number of clusters.
    pub stability: usize,
    /// The number of documents on which stability is measured; at least ten for each cluster of the
    /// greatest number. Fewer documents are taken all.
    pub stability_sample: usize,
    cuts: Vec<usize>,
}

impl Default for SweepOptions {
    fn default() -> Self {
        SweepOptions { stability: 2, stability_sample: 20_000, cuts: Vec::new() }
    }
}

impl SweepOptions {
    /// How often stability is measured.
    #[must_use]
    pub fn stability(mut self, stability: usize) -> Self {
        self.stability = stability;
        self
    }

    /// The number of documents on which stability is measured.
    #[must_use]
    pub fn stability_sample(mut self, stability_sample: usize) -> Self {
        self.stability_sample = stability_sample;
        self
    }

    /// Divides the rows into shards before each of these rows: for tests, since it changes no bit.
    #[doc(hidden)]
    #[must_use]
    pub fn cuts(mut self, cuts: Vec<usize>) -> Self {
        self.cuts = cuts;
        self
    }

    /// Refuses values out of range. [`Sweep::new`] checks them, too.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParam`](crate::ErrorKind) with the option and its range.
    pub fn check(&self) -> Result<()> {
        Error::unless(self.stability <= 100, "stability", "from 0 to 100", self.stability)?;
        let n_sample = self.stability_sample;
        Error::unless(n_sample >= 100, "stability_sample", "at least 100", n_sample)
    }

    /// The number of documents of the sample, for this greatest number of clusters.
    fn sample_size(&self, rows: &UnitRows<'_>, most: usize) -> usize {
        self.stability_sample.max(most.saturating_mul(SAMPLE_PER_CLUSTER)).min(rows.n_nonzero_rows())
    }
}

/// The measures of one number of clusters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measures {
    /// The number of clusters.
    pub n_clusters: usize,
    /// The sum of the similarities of all documents to their centroids.
    pub objective: f64,
    /// The mean similarity of the documents that have a cluster.
    pub mean_similarity: f64,
    /// How far the clusters are apart; `None` if only one has documents.
    pub separation: Option<Separation>,
    /// How far the clusterings of random halves of the sample agree; `None` if that was not
    /// measured.
    pub halves: Option<Stability>,
    /// How far the clusterings of the sample with other seeds agree with that of the sweep's seed.
    pub seeds: Option<Stability>,
}

/// The result for one number of clusters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SweepStep {
    /// The number of clusters.
    pub n_clusters: usize,
    /// The fit.
    pub fit: Fit,
    /// Its measures.
    pub measures: Measures,
}

/// Several numbers of clusters beside each other, one [`step`](Sweep::step) each, in ascending
/// order.
///
/// ```
/// use docsphere::{ClusterGrid, Observer, SphericalKMeans, Sweep, SweepOptions, Vectorizer};
/// # fn main() -> docsphere::Result<()> {
/// let texts: Vec<String> = (0..300)
///     .map(|number| format!("subject{} word{} word{}", number % 3, number % 50, number % 7))
///     .collect();
/// let rows = Vectorizer::new().fit_texts(&texts)?.rows;
/// let grid: ClusterGrid = "2..12:5".parse()?;
/// let mut observer = |_: &docsphere::Event<'_>| std::ops::ControlFlow::Continue(());
///
/// let params = SphericalKMeans::params(2).seed(1);
/// let mut sweep = Sweep::new(&rows, params, &grid, SweepOptions::default(), &mut observer)?;
/// while let Some(step) = sweep.step(&mut observer)? {
///     println!("k = {}: objective {:.1}", step.n_clusters, step.fit.objective);
/// }
/// let advice = sweep.advice().expect("at least two numbers were measured");
/// assert!(advice.from <= advice.n_clusters && advice.n_clusters <= advice.to);
/// # Ok(())
/// # }
/// ```
pub struct Sweep<'a> {
    rows: &'a UnitRows<'a>,
    params: Params,
    grid: ClusterGrid,
    cuts: Vec<usize>,
    starts: Starts,
    resampling: Option<Resampling<'a>>,
    measures: Vec<Measures>,
}

impl std::fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep")
            .field("grid", &self.grid)
            .field("measures", &self.measures)
            .finish_non_exhaustive()
    }
}

impl<'a> Sweep<'a> {
    /// Finds the trees from which all fits start. [`Params::n_clusters`] is not used.
    ///
    /// # Errors
    /// As [`ValidParams::starts`](crate::ValidParams::starts) and [`Params::check`]; more than one
    /// run per number (`n_init`).
    pub fn new(
        rows: &'a UnitRows<'a>,
        params: Params,
        grid: &ClusterGrid,
        options: SweepOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        options.check()?;
        let expected = "1 in a sweep, since each number of clusters has one start";
        Error::unless(params.n_init == 1, "n_init", expected, params.n_init)?;
        let n_clusters = grid.as_slice();
        let params = Params { n_clusters: n_clusters[n_clusters.len() - 1], ..params }.check()?;
        let fit_options = FitOptions::default().observer(observer).cuts(options.cuts.clone());
        let starts = params.starts(rows, n_clusters, fit_options)?;
        let params = params.params().clone();
        let resampling = Resampling::new(rows, &params, n_clusters, &options, observer)?;
        let (grid, cuts) = (grid.clone(), options.cuts);
        Ok(Sweep { rows, params, grid, cuts, starts, resampling, measures: Vec::new() })
    }

    /// An upper bound on the memory that a sweep needs in addition to the rows, in bytes, if the
    /// caller keeps the result of one step at a time.
    ///
    /// # Errors
    /// As [`Params::check`].
    pub fn forecast_bytes(
        rows: &UnitRows<'_>,
        params: &Params,
        grid: &ClusterGrid,
        options: &SweepOptions,
    ) -> Result<u64> {
        forecast::forecast_bytes(rows, params, grid, options)
    }

    /// Fits and measures the next number of clusters; `None` after the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Stopped`] if the observer stops the fit; the numbers before it are done. If the
    /// observer stops the measuring of stability, the step comes without it.
    pub fn step(&mut self, observer: &mut dyn Observer) -> Result<Option<SweepStep>> {
        let Some(&n_clusters) = self.grid.as_slice().get(self.measures.len()) else { return Ok(None) };
        let params = started_at(&self.params, &self.starts, n_clusters);
        let options = FitOptions::default().observer(observer).cuts(self.cuts.clone());
        let fit = params.fit_with(self.rows, options)?;
        if fit.stop == StopReason::Observer {
            return Err(ErrorKind::Stopped { stage: "a sweep" }.into());
        }
        let measures = self.measured(n_clusters, &fit, observer)?;
        self.measures.push(measures.clone());
        Ok(Some(SweepStep { n_clusters, fit, measures }))
    }

    fn measured(&self, n_clusters: usize, fit: &Fit, observer: &mut dyn Observer) -> Result<Measures> {
        let n_used = n_clusters - fit.n_empty_clusters;
        let separation = (n_used > 1)
            .then(|| on_threads(self.params.n_threads, || separation(self.rows, &fit.labels, n_clusters))?)
            .transpose()?;
        let found = match &self.resampling {
            Some(resampling) => match resampling.measure(n_clusters, fit, observer) {
                Err(error) if matches!(error.kind(), ErrorKind::Stopped { .. }) => None,
                found => found?,
            },
            None => None,
        };
        let (halves, seeds) = found.map(|found| (found.halves, found.seeds)).unzip();
        let n_labelled = fit.labels.as_slice().iter().filter(|&&label| label >= 0).count();
        let total: f64 = fit.similarities.iter().sum();
        Ok(Measures {
            n_clusters,
            objective: fit.objective,
            mean_similarity: if n_labelled == 0 { 0.0 } else { total / n_labelled as f64 },
            separation,
            halves,
            seeds,
        })
    }

    /// The numbers of clusters of the sweep.
    pub fn grid(&self) -> &ClusterGrid {
        &self.grid
    }

    /// The measures of all steps so far.
    pub fn measures(&self) -> &[Measures] {
        &self.measures
    }

    /// The number of documents on which stability is measured; `None` if it is not.
    pub fn stability_sample(&self) -> Option<usize> {
        self.resampling.as_ref().map(Resampling::n_sample)
    }

    /// Which number of clusters to take, by the steps so far; `None` before there are two that can
    /// be compared.
    pub fn advice(&self) -> Option<Advice> {
        Advice::of(&self.measures)
    }
}
