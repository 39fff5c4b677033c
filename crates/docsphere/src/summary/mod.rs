//! Stage 11: human-readable summaries. Size, cohesion, keywords, representative and least typical
//! documents, a histogram and neighbours of every cluster.
//!
//! The documents come from a [`SummarySource`]: one matrix, or any number of shards. Clusters are
//! processed in batches, so that the candidates of all clusters are never held at once.
//!
//! **Cost.** Keywords: one pass over the centroids, 16 bytes per term, and one over the rows for
//! the numbers of documents that have them. Representatives: two passes over the documents, the
//! rows of some candidates of one batch, and one pass over the rows for the numbers of
//! near-duplicates. Neighbours: each centroid against all others (`model/pairs.rs`).

mod keywords;
mod representatives;
mod separation;
mod silhouette;
pub(crate) mod source;

pub use separation::{Separation, separation};
pub use silhouette::{Silhouette, silhouette};

use std::ops::Range;

use rayon::prelude::*;

use self::representatives::Candidates;
use self::source::{ClusterFacts, LocalSource, Members, SummarySource};
use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::ids::{ClusterId, DocId, TermId};
use crate::labels::Labels;
use crate::model::{Model, Neighbour};
use crate::vectors::UnitRows;

/// How many items a summary contains per cluster.
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryOptions {
    /// Keywords per cluster.
    pub n_keywords: usize,
    /// Representative documents per cluster.
    pub n_representatives: usize,
    /// Least typical documents per cluster.
    pub n_least_typical: usize,
    /// Nearest clusters per cluster.
    pub n_neighbours: usize,
    /// Documents per cluster whose texts may name it.
    pub n_sample: usize,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        SummaryOptions {
            n_keywords: 10,
            n_representatives: 3,
            n_least_typical: 3,
            n_neighbours: 5,
            n_sample: 0,
        }
    }
}

impl SummaryOptions {
    /// Keywords per cluster.
    #[must_use]
    pub fn n_keywords(mut self, n_keywords: usize) -> Self {
        self.n_keywords = n_keywords;
        self
    }

    /// Representative documents per cluster.
    #[must_use]
    pub fn n_representatives(mut self, n_representatives: usize) -> Self {
        self.n_representatives = n_representatives;
        self
    }

    /// Least typical documents per cluster.
    #[must_use]
    pub fn n_least_typical(mut self, n_least_typical: usize) -> Self {
        self.n_least_typical = n_least_typical;
        self
    }

    /// Nearest clusters per cluster.
    #[must_use]
    pub fn n_neighbours(mut self, n_neighbours: usize) -> Self {
        self.n_neighbours = n_neighbours;
        self
    }

    /// Documents per cluster whose texts may name it.
    #[must_use]
    pub fn n_sample(mut self, n_sample: usize) -> Self {
        self.n_sample = n_sample;
        self
    }
}

/// Number of steps of [`ClusterSummary::histogram`].
pub const HISTOGRAM_STEPS: usize = 20;

/// The summary of a cluster.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClusterSummary {
    /// The cluster.
    pub cluster: ClusterId,
    /// The number of its documents.
    pub size: usize,
    /// The mean similarity of its documents to its centroid; 0 for an empty cluster. The sum is
    /// taken in integers, each document counting as `round(similarity * 2^40)`, so that the mean
    /// does not depend on the order of the documents.
    pub cohesion: f64,
    /// Terms that distinguish it from the others, best first.
    pub keywords: Vec<Keyword>,
    /// Documents near its centroid that have several of its keywords, differ from each other, and
    /// are not the shortest: by maximal marginal relevance, in the order in which they are chosen.
    pub representatives: Vec<Representative>,
    /// Documents farthest from its centroid that are not among the representatives, farthest first.
    pub least_typical: Vec<Representative>,
    /// Its documents by their similarity to its centroid, in [`HISTOGRAM_STEPS`] equal steps from 0
    /// to 1.
    pub histogram: Vec<u32>,
    /// The clusters with the most similar centroids, most similar first.
    pub neighbours: Vec<Neighbour>,
    /// The [`SummaryOptions::n_sample`] documents nearest to its centroid, nearest first.
    pub sample: Vec<DocId>,
}

/// A term that distinguishes a cluster from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Keyword {
    /// The term.
    pub term: TermId,
    /// Its value in the centroid, whose length is 1.
    pub weight: f64,
    /// From 0 to 1: its share in this centroid relative to its share in all others; 1 for a term
    /// that no other centroid has.
    pub score: f64,
    /// How evenly its weight is spread over all clusters: 0 for a term that only one has, near 1
    /// for one that all have alike, such as "also". With n and k, the effective numbers of clusters
    /// with the term and of all clusters (the inverse of the sum of their squared shares), it is
    /// `(n - 1) / (k - 1)`.
    pub spread: f64,
    /// The number of documents of the cluster that have the term. `None` if there were no rows, as
    /// in [`cluster_keywords`].
    pub n_docs: Option<u64>,
}

/// A document that represents its cluster, or its periphery.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Representative {
    /// The document.
    pub doc: DocId,
    /// Its similarity to the centroid.
    pub similarity: f64,
    /// The number of its near-duplicates in the cluster, which are not shown: documents with a
    /// similarity of at least 0.9 to it, and less to the representatives before it. 0 for least
    /// typical documents.
    pub n_duplicates: u64,
}

/// Summarises every cluster of a model, in cluster order. `labels` and `similarities` are those of
/// `rows`.
///
/// ```
/// use docsphere::{SphericalKMeans, SummaryOptions, Vectorizer, summarize};
///
/// let texts = ["cats purr", "a cat that purrs: cats", "stocks fall", "stocks rise, stocks fall"];
/// let text = Vectorizer::new().fit_texts(&texts)?;
/// let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows)?;
/// let model = fit.model.with_text(text.model)?;
/// let options = SummaryOptions::default();
/// let summary = summarize(&text.rows, &fit.labels, &fit.similarities, &model, options)?;
/// let of_stocks = &summary[fit.labels.as_slice()[2] as usize];
/// assert_eq!(of_stocks.size, 2);
/// assert_eq!(model.term_name(of_stocks.keywords[0].term), Some("stocks"));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if the rows are over another number of terms than the model, if there is
/// not one label and one similarity per row, or if a label is neither a cluster nor -1.
pub fn summarize(
    rows: &UnitRows<'_>,
    labels: &Labels,
    similarities: &[f64],
    model: &Model,
    options: SummaryOptions,
) -> Result<Vec<ClusterSummary>> {
    check(rows, labels, similarities, model)?;
    // As a `u32`, -1 is `NO_LABEL`.
    let labels = labels.as_slice().iter().map(|&label| label as u32);
    let members = Members::new(model.centroids().n_clusters(), labels);
    summarize_source(&LocalSource { first_doc: 0, rows, similarities, members: &members }, model, options)
}

/// Maximum number of clusters per batch.
const BATCH_CLUSTERS: usize = 256;

/// Maximum number of documents that a batch asks for, unless one cluster asks for more.
const BATCH_DOCUMENTS: usize = 1 << 15;

/// Summarises every cluster of a model, in cluster order, over documents that live anywhere.
///
/// The labels of the source must be clusters of the model, its rows over the model's terms.
pub(crate) fn summarize_source(
    source: &dyn SummarySource,
    model: &Model,
    options: SummaryOptions,
) -> Result<Vec<ClusterSummary>> {
    let centroids = model.centroids();
    let facts = source.cluster_facts(centroids.n_clusters())?;
    let sizes: Vec<usize> = facts.iter().map(|facts| facts.size as usize).collect();
    let shares = keywords::TermShares::new(centroids, &sizes);
    let neighbours = model.neighbours(options.n_neighbours);
    let covered = |cluster: u32| {
        let cluster = cluster as usize;
        let keywords = shares.keywords(centroids.row(cluster), sizes[cluster], representatives::N_COVERED);
        keywords.iter().map(|keyword| keyword.term.number()).collect()
    };
    let documents = shown_documents(source, centroids.n_clusters(), covered, options)?;
    let keywords = keywords_with_counts(source, &shares, centroids, &sizes, options.n_keywords)?;
    let summary = |(cluster, (((facts, documents), neighbours), keywords)): (
        usize,
        (((ClusterFacts, Shown), _), _),
    )| ClusterSummary {
        cluster: ClusterId::new(cluster as u32),
        size: facts.size as usize,
        cohesion: facts.cohesion(),
        keywords,
        representatives: documents.representatives,
        least_typical: documents.least_typical,
        histogram: facts.histogram.to_vec(),
        neighbours,
        sample: documents.sample,
    };
    let parts = facts.into_par_iter().zip(documents).zip(neighbours).zip(keywords);
    Ok(parts.enumerate().map(summary).collect())
}

/// The keywords of all clusters, with the number of documents that have them.
fn keywords_with_counts(
    source: &dyn SummarySource,
    shares: &keywords::TermShares,
    centroids: &Centroids,
    sizes: &[usize],
    n_keywords: usize,
) -> Result<Vec<Vec<Keyword>>> {
    let mut all = Vec::with_capacity(sizes.len());
    for clusters in batches(sizes.len(), n_keywords) {
        let of_cluster = |cluster: u32| {
            let cluster = cluster as usize;
            shares.keywords(centroids.row(cluster), sizes[cluster], n_keywords)
        };
        let mut keywords: Vec<Vec<Keyword>> = clusters.clone().into_par_iter().map(of_cluster).collect();
        let terms = |keywords: &Vec<Keyword>| keywords.iter().map(|keyword| keyword.term.number()).collect();
        let terms: Vec<Vec<u32>> = keywords.iter().map(terms).collect();
        let counts = source.term_counts(clusters.start, &terms)?;
        for (keyword, n_docs) in keywords.iter_mut().flatten().zip(counts.into_iter().flatten()) {
            keyword.n_docs = Some(n_docs);
        }
        all.append(&mut keywords);
    }
    Ok(all)
}

/// The documents that the summary of a cluster shows.
struct Shown {
    representatives: Vec<Representative>,
    least_typical: Vec<Representative>,
    sample: Vec<DocId>,
}

/// The documents that the summaries of all clusters show, batch by batch. `covered` gives the
/// keywords of a cluster that its representatives should have.
fn shown_documents(
    source: &dyn SummarySource,
    n_clusters: usize,
    covered: impl Fn(u32) -> Vec<u32> + Sync,
    options: SummaryOptions,
) -> Result<Vec<Shown>> {
    let SummaryOptions { n_representatives, n_least_typical, n_sample, .. } = options;
    let n_candidates = representatives::n_candidates(n_representatives);
    let n_best = n_candidates.max(n_sample);
    let n_worst = representatives::n_farthest(n_least_typical, n_representatives);
    let mut all = Vec::with_capacity(n_clusters);
    for clusters in batches(n_clusters, n_best.saturating_add(n_worst)) {
        let first_cluster = clusters.start;
        let extremes = source.extremes(clusters.clone(), n_best, n_worst)?;
        let candidates = clusters.into_par_iter().zip(&extremes).map(|(cluster, extremes)| Candidates {
            fittings: first(&extremes.best, n_candidates),
            keywords: if n_candidates > 0 { covered(cluster) } else { Vec::new() },
        });
        let candidates: Vec<Candidates<'_>> = candidates.collect();
        let chosen = representatives::choose(source, first_cluster, &candidates, n_representatives)?;
        all.extend(extremes.iter().zip(chosen).map(|(extremes, representatives)| Shown {
            least_typical: representatives::least(&extremes.worst, &representatives, n_least_typical),
            representatives,
            sample: first(&extremes.best, n_sample).iter().map(|fitting| DocId::new(fitting.doc)).collect(),
        }));
    }
    Ok(all)
}

/// The first `n` of a list, or all.
fn first<T>(list: &[T], n: usize) -> &[T] {
    &list[..list.len().min(n)]
}

/// Batches of clusters with at most `n_documents` documents each.
fn batches(n_clusters: usize, n_documents: usize) -> impl Iterator<Item = Range<u32>> {
    let size = (BATCH_DOCUMENTS / n_documents.max(1)).clamp(1, BATCH_CLUSTERS);
    (0..n_clusters).step_by(size).map(move |start| start as u32..n_clusters.min(start + size) as u32)
}

/// The keywords of every cluster of a model, in cluster order: those of [`summarize`], without the
/// rows. `labels` are those of the clustered rows.
///
/// ```
/// use docsphere::{SphericalKMeans, Vectorizer, cluster_keywords};
///
/// let texts = ["cats purr", "a cat that purrs: cats", "stocks fall", "stocks rise, stocks fall"];
/// let text = Vectorizer::new().fit_texts(&texts)?;
/// let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows)?;
/// let keywords = cluster_keywords(&fit.model, &fit.labels, 1)?;
/// let of_stocks = &keywords[fit.labels.as_slice()[2] as usize];
/// assert_eq!(text.model.vocabulary().term(of_stocks[0].term), "stocks");
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if a label is neither a cluster nor -1.
pub fn cluster_keywords(model: &Model, labels: &Labels, n_keywords: usize) -> Result<Vec<Vec<Keyword>>> {
    let centroids = model.centroids();
    check_labels(labels, centroids.n_clusters())?;
    let mut sizes = vec![0; centroids.n_clusters()];
    for &label in labels.as_slice() {
        if let Ok(cluster) = usize::try_from(label) {
            sizes[cluster] += 1;
        }
    }
    let shares = keywords::TermShares::new(centroids, &sizes);
    let of_cluster =
        |(cluster, &size): (usize, &usize)| shares.keywords(centroids.row(cluster), size, n_keywords);
    Ok(sizes.par_iter().enumerate().map(of_cluster).collect())
}

/// The keywords of one cluster among others with these centroids and numbers of documents, best
/// first: those of a cluster that was made from others after the run.
///
/// ```
/// use docsphere::{Centroids, ClusterId, SparseRows, keywords_among};
///
/// let values = vec![4.0, 3.0, 4.0, 3.0];
/// let rows = SparseRows::from_parts(3, vec![0, 2, 4], vec![0, 1, 0, 2], values)?;
/// let keywords = keywords_among(&Centroids::from_rows(rows), &[2, 2], ClusterId::new(0), 1)?;
/// assert_eq!(keywords[0].term.number(), 1);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if there is not one number per centroid, or no such cluster.
pub fn keywords_among(
    centroids: &Centroids,
    sizes: &[usize],
    cluster: ClusterId,
    n_keywords: usize,
) -> Result<Vec<Keyword>> {
    let n_clusters = centroids.n_clusters();
    if sizes.len() != n_clusters || cluster.index() >= n_clusters {
        let expected = format!("{n_clusters}, one for each centroid");
        let got = format!("{}, for cluster {cluster}", sizes.len());
        return Err(ErrorKind::Mismatch { what: "the number of sizes", expected, got }.into());
    }
    let shares = keywords::TermShares::new(centroids, sizes);
    Ok(shares.keywords(centroids.row(cluster.index()), sizes[cluster.index()], n_keywords))
}

fn check(rows: &UnitRows<'_>, labels: &Labels, similarities: &[f64], model: &Model) -> Result<()> {
    let n_rows = rows.n_rows();
    let (what, expected, got) = if rows.n_terms() != model.centroids().n_terms() {
        let expected = format!("{}, as in the model", model.centroids().n_terms());
        ("the number of terms of the rows", expected, rows.n_terms().to_string())
    } else if labels.len() != n_rows {
        ("the number of labels", format!("{n_rows}, one for each row"), labels.len().to_string())
    } else if similarities.len() != n_rows {
        ("the number of similarities", format!("{n_rows}, one for each row"), similarities.len().to_string())
    } else {
        return check_labels(labels, model.centroids().n_clusters());
    };
    Err(ErrorKind::Mismatch { what, expected, got }.into())
}

fn check_labels(labels: &Labels, n_clusters: usize) -> Result<()> {
    let is_known = |label: i32| usize::try_from(label).map_or(label == -1, |cluster| cluster < n_clusters);
    let Some(doc) = labels.as_slice().iter().position(|&label| !is_known(label)) else { return Ok(()) };
    let expected = format!("-1 or less than {n_clusters}, the number of clusters");
    let got = format!("{} for row {doc}", labels.as_slice()[doc]);
    Err(ErrorKind::Mismatch { what: "every label", expected, got }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::SphericalKMeans;
    use crate::vectors::SparseRows;

    #[test]
    fn batches_cover_all_clusters_and_ask_for_a_bounded_number_of_documents() {
        let of = |n_clusters, n_documents| batches(n_clusters, n_documents).collect::<Vec<_>>();
        assert_eq!(of(600, 66), [0..256, 256..512, 512..600]);
        assert_eq!(of(5, BATCH_DOCUMENTS / 2), [0..2, 2..4, 4..5]);
        assert_eq!(of(2, usize::MAX), [0..1, 1..2]);
        assert_eq!(of(300, 0), [0..256, 256..300]);
        assert!(of(0, 1).is_empty());
    }

    #[test]
    fn keywords_without_rows_are_those_of_the_summary() {
        let parts = (vec![0, 2, 4, 6, 7], vec![0, 1, 0, 2, 3, 4, 3], vec![1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 1.0]);
        let rows = UnitRows::new(SparseRows::from_parts(5, parts.0, parts.1, parts.2).unwrap());
        let fit = SphericalKMeans::params(2).fit(&rows).unwrap();
        let options = SummaryOptions { n_keywords: 2, ..SummaryOptions::default() };
        let summaries = summarize(&rows, &fit.labels, &fit.similarities, &fit.model, options).unwrap();
        let keywords = cluster_keywords(&fit.model, &fit.labels, 2).unwrap();
        assert_eq!(keywords.iter().map(Vec::len).sum::<usize>(), 4);
        for (summary, keywords) in summaries.iter().zip(&keywords) {
            let without_rows = |keyword: &Keyword| Keyword { n_docs: None, ..*keyword };
            assert_eq!(&summary.keywords.iter().map(without_rows).collect::<Vec<_>>(), keywords);
        }
        let error = cluster_keywords(&fit.model, &vec![2].into(), 2).unwrap_err().to_string();
        assert_eq!(error, "every label must be -1 or less than 2, the number of clusters, got 2 for row 0");
    }

    #[test]
    fn labels_and_similarities_that_do_not_belong_to_the_rows_are_refused() {
        let rows = |n_terms| {
            UnitRows::new(SparseRows::from_parts(n_terms, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]).unwrap())
        };
        let model = SphericalKMeans::params(2).fit(&rows(2)).unwrap().model;
        let message = |rows: &UnitRows<'_>, labels: Vec<i32>, similarities: &[f64]| {
            summarize(rows, &labels.into(), similarities, &model, SummaryOptions::default())
                .unwrap_err()
                .to_string()
        };
        let both = [1.0, 1.0];
        assert_eq!(
            message(&rows(3), vec![0, 1], &both),
            "the number of terms of the rows must be 2, as in the model, got 3"
        );
        assert_eq!(
            message(&rows(2), vec![0], &both),
            "the number of labels must be 2, one for each row, got 1"
        );
        assert_eq!(
            message(&rows(2), vec![0, 1], &both[1..]),
            "the number of similarities must be 2, one for each row, got 1"
        );
        for label in [2, -2] {
            let expected = format!(
                "every label must be -1 or less than 2, the number of clusters, got {label} for row 1"
            );
            assert_eq!(message(&rows(2), vec![0, label], &both), expected);
        }
    }
}
