//! `clusters.json`: every cluster with its size, keywords, representative and least typical
//! documents, histogram and neighbours.

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{ClusterSummary, Keyword, MemoryLimit, Model, Representative, Split, TermId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::assignments::rounded;
use crate::error::Result;
use crate::files;
use crate::heaps::heaps;
use crate::names;
use crate::naming::Names;

/// A document that a description shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownDocument {
    /// The document's id.
    pub id: String,
    /// Its text, if known.
    pub text: Option<String>,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClustersFile {
    /// The number of documents; of passages, if documents were cut into them.
    pub n_documents: usize,
    /// The number of terms.
    pub n_terms: usize,
    /// The number of clusters, empty ones included.
    pub n_clusters: usize,
    /// The sum of the similarities of all documents to their centroids.
    pub objective: f64,
    /// The number of iterations.
    pub iterations: usize,
    /// Whether the run converged.
    pub converged: bool,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Documents without any term: they have the label -1.
    pub n_without_terms: usize,
    /// Documents that share no term with any cluster, or are less similar to all of them than
    /// [`min_similarity`](Self::min_similarity): they have the label -1, too. 0 in results of older
    /// versions.
    #[serde(default)]
    pub n_outliers: usize,
    /// The similarity below which documents are outliers. Absent if it was not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_similarity: Option<f64>,
    /// The mean silhouette of all documents that have a cluster. Absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silhouette: Option<f64>,
    /// Clusters without a document.
    pub n_empty_clusters: usize,
    /// How documents were cut into passages, which are then the documents of the result. Absent if
    /// they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<PassagesEntry>,
    /// The copies of documents, which are in no count of this file but the near-duplicates of their
    /// originals. Absent if they were not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicatesEntry>,
    /// The clusters, in the order of their numbers.
    pub clusters: Vec<ClusterEntry>,
}

/// The passages of a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassagesEntry {
    /// How documents were cut.
    pub split: Split,
    /// The number of documents that were cut.
    pub n_documents: u64,
}

/// The copies among the documents of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicatesEntry {
    /// What was done with them: `drop` (only the first document of each set was clustered) or
    /// `weight` (the first document counts as often as there are copies).
    pub kept_as: String,
    /// The similarity from which on a document is a copy of an earlier one.
    pub similarity: f64,
    /// The number of copies.
    pub n_copies: usize,
    /// Those of them that have the same terms, equally often, as their originals.
    pub n_equal: usize,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterEntry {
    /// Its number.
    pub id: u32,
    /// Its name: keywords, or phrases with them. No other cluster has the same. Empty for a cluster
    /// without keywords, and in results of older versions; see [`title`](Self::title).
    #[serde(default)]
    pub name: String,
    /// Its name by the run, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
    /// Whether it is hidden: an edit leaves it out of tables, lists and the map.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// A note about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The number of its documents.
    pub size: usize,
    /// The number of copies of its documents, which do not count in its size. Absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies: u64,
    /// The mean similarity of its documents to its centroid.
    pub cohesion: f64,
    /// Whether it is a heap: its cohesion is below 0.7 times the median of the clusters of at least
    /// two documents, and it has at least two itself. False in results of older versions.
    #[serde(default)]
    pub heap: bool,
    /// The mean silhouette of its documents. Absent unless it was asked for, and for a cluster
    /// without documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silhouette: Option<f64>,
    /// The terms that distinguish it from the others, best first.
    pub keywords: Vec<KeywordEntry>,
    /// Documents near its centroid that have several of its keywords and differ from each other.
    pub representatives: Vec<DocumentEntry>,
    /// The documents farthest from its centroid, farthest first. Results of older versions have
    /// none.
    #[serde(default)]
    pub least_typical: Vec<DocumentEntry>,
    /// Documents by similarity, in equal steps from 0 to 1. Results of older versions have none.
    #[serde(default)]
    pub histogram: Vec<u32>,
    /// The clusters with the most similar centroids, most similar first.
    pub neighbours: Vec<NeighbourEntry>,
}

/// A keyword of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeywordEntry {
    /// The term.
    pub term: String,
    /// For a stem: its most frequent full form in the texts nearest to the centroid. Absent if the
    /// term is a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// Its value in the centroid. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Its share in this centroid relative to its share in all others, from 0 to 1.
    pub score: f64,
    /// The share of the cluster's documents that have the term. Absent in results of older
    /// versions, and in clusters without documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentEntry {
    /// The document's id.
    pub id: String,
    /// Its similarity to the centroid.
    pub similarity: f64,
    /// The number of its near-duplicates in the cluster, which are not shown. Absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub near_duplicates: u64,
    /// Its text. Absent if the rows came from a matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A cluster near another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeighbourEntry {
    /// Its number.
    pub id: u32,
    /// The similarity of the centroids.
    pub similarity: f64,
}

/// Number of keywords in the title of a cluster that has no name.
const TITLE_KEYWORDS: usize = 3;

impl ClusterEntry {
    /// What to call it: its name, or else its first keywords, or else its number.
    pub fn title(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        if self.keywords.is_empty() {
            return format!("cluster {}", self.id);
        }
        let terms: Vec<&str> =
            self.keywords.iter().take(TITLE_KEYWORDS).map(|keyword| keyword.term.as_str()).collect();
        terms.join(", ")
    }
}

impl KeywordEntry {
    /// The term as people write it.
    pub fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.term)
    }
}

/// Number of neighbours written per cluster.
const NEIGHBOURS: usize = 5;

impl ClustersFile {
    /// The number of documents in the assignments and in the search index: those that were
    /// clustered, and their copies.
    pub fn n_assigned(&self) -> usize {
        self.n_documents + self.duplicates.as_ref().map_or(0, |duplicates| duplicates.n_copies)
    }

    /// Reads the clusters of a result.
    ///
    /// # Errors
    /// If the file is missing or damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        files::read_json(&folder.join(names::CLUSTERS), "the clusters", "is not a list of clusters", limit)
    }

    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::CLUSTERS), self)
    }
}

/// The entries of all clusters. `documents` holds the documents that the summaries name, by
/// document number.
pub(crate) fn entries(
    summaries: &[ClusterSummary],
    model: &Model,
    documents: &BTreeMap<u64, ShownDocument>,
    cluster_names: &Names,
) -> Vec<ClusterEntry> {
    let document = |told: &Representative| {
        let ShownDocument { id, text } = documents[&u64::from(told.doc.number())].clone();
        let (similarity, near_duplicates) = (rounded(told.similarity), told.n_duplicates);
        DocumentEntry { id, similarity, near_duplicates, text }
    };
    let heaps = heaps(summaries);
    let entry = |summary: &ClusterSummary| ClusterEntry {
        id: summary.cluster.number(),
        name: cluster_names.of_clusters[summary.cluster.index()].clone(),
        renamed: None,
        hidden: false,
        note: None,
        size: summary.size,
        copies: 0,
        cohesion: rounded(summary.cohesion),
        heap: heaps[summary.cluster.index()],
        silhouette: None,
        keywords: summary
            .keywords
            .iter()
            .zip(&cluster_names.written[summary.cluster.index()])
            .map(|(keyword, written)| KeywordEntry {
                term: term_name(model, keyword.term),
                written: written.clone(),
                weight: Some(rounded(keyword.weight)),
                score: rounded(keyword.score),
                share: share(keyword, summary.size),
            })
            .collect(),
        representatives: summary.representatives.iter().map(document).collect(),
        least_typical: summary.least_typical.iter().map(document).collect(),
        histogram: summary.histogram.to_vec(),
        neighbours: summary
            .neighbours
            .iter()
            .take(NEIGHBOURS)
            .map(|neighbour| NeighbourEntry {
                id: neighbour.cluster.number(),
                similarity: rounded(neighbour.similarity),
            })
            .collect(),
    };
    summaries.par_iter().map(entry).collect()
}

/// The share of the documents of a cluster of this size that have a keyword.
fn share(keyword: &Keyword, size: usize) -> Option<f64> {
    keyword.n_docs.filter(|_| size > 0).map(|n_docs| rounded(n_docs as f64 / size as f64))
}

/// The name of a term, or its number if names are unknown.
pub fn term_name(model: &Model, term: TermId) -> String {
    model.term_name(term).map_or_else(|| format!("#{term}"), str::to_owned)
}
