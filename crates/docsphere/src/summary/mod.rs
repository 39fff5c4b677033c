//! Stage 9: what people read. Size, cohesion, keywords, representative documents and neighbours of every cluster.
//!
//! **Cost.** Keywords: one pass over the centroids, 8 bytes a term. Representatives: one pass over the documents. Neighbours: each centroid against all others through posting
//! lists, as much as labelling k documents as long as centroids.

mod keywords;
mod representatives;

use rayon::prelude::*;

use crate::assign::Labels;
use crate::error::Result;
use crate::ids::{ClusterId, DocId, TermId};
use crate::model::{Model, Neighbour};
use crate::vectors::UnitRows;

/// How much of each cluster is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryOptions {
    /// Keywords a cluster.
    pub n_keywords: usize,
    /// Representative documents a cluster.
    pub n_representatives: usize,
    /// Nearest clusters of a cluster.
    pub n_neighbours: usize,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        SummaryOptions { n_keywords: 10, n_representatives: 3, n_neighbours: 5 }
    }
}

/// What there is to say about a cluster.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClusterSummary {
    /// The cluster.
    pub cluster: ClusterId,
    /// The number of its documents.
    pub size: usize,
    /// The mean similarity of its documents to its centroid; 0 for an empty cluster.
    pub cohesion: f64,
    /// Terms that tell it from the others, best first.
    pub keywords: Vec<Keyword>,
    /// Documents nearest to its centroid, without near-duplicates, nearest first.
    pub representatives: Vec<Representative>,
    /// The clusters with the most similar centroids, most similar first.
    pub neighbours: Vec<Neighbour>,
}

/// A term that tells a cluster from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Keyword {
    /// The term.
    pub term: TermId,
    /// From 0 to 1: its share in this centroid against its share in all others; 1 for a term that no other centroid has.
    pub score: f64,
}

/// A document that stands for its cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Representative {
    /// The document.
    pub doc: DocId,
    /// Its similarity to the centroid.
    pub similarity: f64,
}

/// Summarises every cluster of a model, in the order of their numbers. `labels` and `similarities` are those of `rows`.
///
/// ```
/// use docsphere::{SphericalKMeans, SummaryOptions, Vectorizer, summarize};
///
/// let texts = ["cats purr", "a cat that purrs: cats", "stocks fall", "stocks rise, stocks fall"];
/// let text = Vectorizer::new().fit_texts(&texts)?;
/// let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows)?;
/// let model = fit.model.with_text(text.model)?;
/// let summary = summarize(&text.rows, &fit.labels, &fit.similarities, &model, SummaryOptions::default())?;
/// let of_stocks = &summary[fit.labels.as_slice()[2] as usize];
/// assert_eq!(of_stocks.size, 2);
/// assert_eq!(model.term_name(of_stocks.keywords[0].term), Some("stocks"));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if the rows are over another number of terms than the model.
///
/// # Panics
/// If there is not one label and one similarity a row.
pub fn summarize(
    rows: &UnitRows<'_>,
    labels: &Labels,
    similarities: &[f64],
    model: &Model,
    options: SummaryOptions,
) -> Result<Vec<ClusterSummary>> {
    assert_eq!(
        (labels.len(), similarities.len()),
        (rows.n_rows(), rows.n_rows()),
        "one label and similarity a row"
    );
    let centroids = model.centroids();
    let members = members_by_cluster(labels, centroids.n_clusters());
    let shares = keywords::TermShares::new(centroids, &members);
    let centroid_rows = UnitRows::new(centroids.to_sparse_rows());
    // One more, since every centroid is its own nearest.
    let nearest = model.predictor().nearest(&centroid_rows, options.n_neighbours + 1)?;
    let summary = |(cluster, docs): (usize, &Vec<u32>)| {
        let id = ClusterId::new(cluster as u32);
        let total: f64 = docs.iter().map(|&doc| similarities[doc as usize]).sum();
        let others =
            nearest.of(DocId::new(cluster as u32)).iter().filter(|neighbour| neighbour.cluster != id);
        ClusterSummary {
            cluster: id,
            size: docs.len(),
            cohesion: if docs.is_empty() { 0.0 } else { total / docs.len() as f64 },
            keywords: shares.keywords(centroids.row(cluster), docs.len(), options.n_keywords),
            representatives: representatives::choose(rows, docs, similarities, options.n_representatives),
            neighbours: others.take(options.n_neighbours).copied().collect(),
        }
    };
    Ok(members.par_iter().enumerate().map(summary).collect())
}

fn members_by_cluster(labels: &Labels, n_clusters: usize) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); n_clusters];
    for (doc, &label) in labels.as_slice().iter().enumerate() {
        if let Ok(cluster) = usize::try_from(label) {
            members[cluster].push(doc as u32);
        }
    }
    members
}
