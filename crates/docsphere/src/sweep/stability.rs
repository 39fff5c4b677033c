//! Whether clusters come again from other documents, and from other seeds.
//!
//! *Halves*: a sample of the documents is cut into two random halves, each is clustered by itself,
//! and both label the whole sample. *Seeds*: the whole sample is clustered with another seed. How
//! far the two labellings agree says whether the clusters are in the data or in the draw. Documents
//! that share no term with any cluster count as one more cluster.
//!
//! **Cost.** One tree per half and per seed, once. Then for each number of clusters and pair of
//! halves two fits of half the sample, and for each other seed one of the whole sample; for a
//! sample that is not all documents, or a sweep with further rounds, one more. Memory: a copy of
//! the sample, and one more per pair of halves; per tree, that of [`Starts`].

use super::SweepOptions;
use crate::agreement::{Agreement, agreement};
use crate::error::{ErrorKind, Result};
use crate::fit::{Fit, FitOptions, Params, Starts};
use crate::labels::Labels;
use crate::observer::{Event, Observer};
use crate::record::StopReason;
use crate::seeding::{Init, SeedRng};
use crate::threads::on_threads;
use crate::vectors::UnitRows;

/// Documents that a half must have for each cluster, at least: below, chance alone decides.
const DOCS_PER_CLUSTER: usize = 2;

/// Streams of random numbers from here on draw samples; those of runs are far below.
const STREAMS: usize = 1 << 48;

/// How far clusterings of the same documents agree, pair by pair.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stability {
    /// One for each pair of clusterings.
    pub pairs: Vec<Agreement>,
}

impl Stability {
    /// The mean adjusted Rand index.
    pub fn ari(&self) -> f64 {
        mean(self.pairs.iter().map(|pair| pair.ari))
    }

    /// The mean normalised mutual information.
    pub fn nmi(&self) -> f64 {
        mean(self.pairs.iter().map(|pair| pair.nmi))
    }

    /// The least and the greatest adjusted Rand index.
    pub fn ari_range(&self) -> (f64, f64) {
        let all = || self.pairs.iter().map(|pair| pair.ari);
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// Samples, halves, and the trees from which their runs start.
pub(super) struct Resampling<'a> {
    /// All rows, or a sample.
    sample: UnitRows<'a>,
    /// Whether the fits of the sweep are those of the sample with the sweep's seed: it is all rows,
    /// and the sweep has no further rounds.
    takes_fits: bool,
    halves: Vec<[Half; 2]>,
    /// Trees of the sample, one per seed; without the seed of the sweep if its fits are taken.
    seeds: Vec<(u64, Starts)>,
    params: Params,
}

struct Half {
    rows: UnitRows<'static>,
    starts: Starts,
}

/// Stability at one number of clusters.
pub(super) struct Found {
    pub(super) halves: Stability,
    pub(super) seeds: Stability,
}

impl<'a> Resampling<'a> {
    /// Draws the samples, and finds their trees. `None` if no half has documents enough.
    pub(super) fn new(
        rows: &'a UnitRows<'a>,
        params: &Params,
        n_clusters: &[usize],
        options: &SweepOptions,
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>> {
        let most = n_clusters.iter().copied().max().unwrap_or(0);
        let mut docs = sampled(rows, params.seed, options.sample_size(rows, most));
        let is_all = docs.len() == rows.n_nonzero_rows();
        let measured: Vec<usize> =
            n_clusters.iter().copied().filter(|k| k * DOCS_PER_CLUSTER <= docs.len() / 2).collect();
        if options.stability == 0 || measured.is_empty() {
            return Ok(None);
        }
        let sample = if is_all { rows.part(0..rows.n_rows()) } else { rows.select(&docs)? };
        let takes_fits = is_all && params.rounds == 0;
        // Further rounds would gain a little everywhere, for many times the cost.
        let params = Params { rounds: 0, ..params.clone() };
        let total = trees(options, takes_fits);
        let mut n_done = 0;
        let mut tree = |rows: &UnitRows<'_>, seed: u64| {
            tell(observer, n_done, total)?;
            n_done += 1;
            let options = FitOptions::default().observer(observer).cuts(Vec::new());
            Params { seed, ..params.clone() }.check()?.starts(rows, &measured, options)
        };
        let mut halves = Vec::with_capacity(options.stability);
        for pair in 1..=options.stability {
            shuffle(&mut docs, params.seed, pair);
            let (a, b) = docs.split_at(docs.len() / 2);
            let half = |docs: &[u32]| {
                let mut docs = docs.to_vec();
                docs.sort_unstable();
                rows.select(&docs)
            };
            let [a, b] = [half(a)?, half(b)?];
            let [starts_a, starts_b] = [tree(&a, params.seed)?, tree(&b, params.seed)?];
            halves.push([Half { rows: a, starts: starts_a }, Half { rows: b, starts: starts_b }]);
        }
        let mut seeds = Vec::with_capacity(options.stability + 1);
        for other in usize::from(takes_fits)..=options.stability {
            let seed = params.seed.wrapping_add(other as u64);
            seeds.push((seed, tree(&sample, seed)?));
        }
        Ok(Some(Resampling { sample, takes_fits, halves, seeds, params }))
    }

    /// Labels of the sample with one more cluster, for documents that share no term with any: that
    /// two halves leave different documents without a cluster is no agreement.
    fn with_outliers(&self, labels: Labels, n_clusters: usize) -> Labels {
        let has_terms = |doc: usize| !self.sample.row(doc).values.is_empty();
        let label = |(doc, &label): (usize, &i32)| match label {
            -1 if has_terms(doc) => n_clusters as i32,
            _ => label,
        };
        labels.as_slice().iter().enumerate().map(label).collect::<Vec<i32>>().into()
    }

    /// The number of documents on which stability is measured.
    pub(super) fn n_sample(&self) -> usize {
        self.sample.n_nonzero_rows()
    }

    /// Measures one number of clusters. `fit` is that of all rows. `None` if there are too few
    /// documents for it.
    pub(super) fn measure(
        &self,
        n_clusters: usize,
        fit: &Fit,
        observer: &mut dyn Observer,
    ) -> Result<Option<Found>> {
        if !self.halves.iter().flatten().all(|half| half.starts.n_clusters().contains(&n_clusters)) {
            return Ok(None);
        }
        let total = 2 * self.halves.len() + self.seeds.len();
        let mut n_done = 0;
        let mut labels = |rows: &UnitRows<'_>, starts: &Starts, seed: u64| -> Result<Labels> {
            tell(observer, n_done, total)?;
            n_done += 1;
            let fit = self.fit(rows, starts, n_clusters, seed, observer)?;
            let predict = || Ok(fit.model.predictor().predict(&self.sample)?.labels);
            on_threads(self.params.n_threads, predict)?.map(|labels| self.with_outliers(labels, n_clusters))
        };
        let mut halves = Vec::with_capacity(self.halves.len());
        for [a, b] in &self.halves {
            let seed = self.params.seed;
            halves.push(agreement(&labels(&a.rows, &a.starts, seed)?, &labels(&b.rows, &b.starts, seed)?)?);
        }
        let mut seeds = self.seeds.iter();
        let first = if self.takes_fits {
            self.with_outliers(fit.labels.clone(), n_clusters)
        } else {
            let (seed, starts) = seeds.next().expect("the seed of the sweep comes first");
            labels(&self.sample, starts, *seed)?
        };
        let seeds = seeds.map(|(seed, starts)| agreement(&first, &labels(&self.sample, starts, *seed)?));
        let seeds = seeds.collect::<Result<Vec<_>>>()?;
        Ok(Some(Found { halves: Stability { pairs: halves }, seeds: Stability { pairs: seeds } }))
    }

    fn fit(
        &self,
        rows: &UnitRows<'_>,
        starts: &Starts,
        n_clusters: usize,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let params = Params { seed, ..self.params.clone() };
        let fit = started_at(&params, starts, n_clusters)
            .fit_with(rows, FitOptions::default().observer(observer))?;
        match fit.stop {
            StopReason::Observer => Err(ErrorKind::Stopped { stage: "a sweep" }.into()),
            _ => Ok(fit),
        }
    }
}

/// The params of a fit from a cut of a tree.
pub(super) fn started_at(params: &Params, starts: &Starts, n_clusters: usize) -> Params {
    let centroids = starts.centroids(n_clusters).expect("the tree was cut there");
    Params { n_clusters, init: Init::Given(centroids), ..params.clone() }
}

/// The number of trees of a resampling.
fn trees(options: &SweepOptions, takes_fits: bool) -> usize {
    3 * options.stability + usize::from(!takes_fits)
}

fn tell(observer: &mut dyn Observer, done: usize, total: usize) -> Result<()> {
    match observer.observe(&Event::Stability { done, total }) {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(()) => Err(ErrorKind::Stopped { stage: "a sweep" }.into()),
    }
}

/// A random sample of the documents that are not zero, ascending; all if they are no more.
pub(super) fn sampled(rows: &UnitRows<'_>, seed: u64, n_sample: usize) -> Vec<u32> {
    let usable = (0..rows.n_rows() as u32).filter(|&doc| rows.row(doc as usize).nnz() > 0);
    let mut docs: Vec<u32> = usable.collect();
    if n_sample < docs.len() {
        shuffle(&mut docs, seed, 0);
        docs.truncate(n_sample);
        docs.sort_unstable();
    }
    docs
}

/// A random order, by the seed and the number of the draw alone.
fn shuffle(docs: &mut [u32], seed: u64, draw: usize) {
    docs.sort_unstable();
    let mut random = SeedRng::new(seed, STREAMS + draw);
    let mut keyed: Vec<(u64, u32)> = docs.iter().map(|&doc| (random.next(), doc)).collect();
    keyed.sort_unstable();
    docs.iter_mut().zip(keyed).for_each(|(doc, (_, drawn))| *doc = drawn);
}
