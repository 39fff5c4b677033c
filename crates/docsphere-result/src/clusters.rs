//! `clusters.json`: every cluster with its size, keywords, representative and least typical
//! documents, histogram and neighbours.

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{ClusterSummary, MemoryLimit, Model, Representative, TermId};
use serde::{Deserialize, Serialize};

use crate::assignments::rounded;
use crate::error::Result;
use crate::files;
use crate::names;

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
    /// The number of documents.
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
    /// Documents that share no term with any cluster: they have the label -1, too. 0 in results of
    /// older versions.
    #[serde(default)]
    pub n_outliers: usize,
    /// Clusters without a document.
    pub n_empty_clusters: usize,
    /// The clusters, in the order of their numbers.
    pub clusters: Vec<ClusterEntry>,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterEntry {
    /// Its number.
    pub id: u32,
    /// The number of its documents.
    pub size: usize,
    /// The mean similarity of its documents to its centroid.
    pub cohesion: f64,
    /// The terms that distinguish it from the others, best first.
    pub keywords: Vec<KeywordEntry>,
    /// The documents nearest to its centroid, nearest first.
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
    /// Its value in the centroid. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Its share in this centroid relative to its share in all others, from 0 to 1.
    pub score: f64,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentEntry {
    /// The document's id.
    pub id: String,
    /// Its similarity to the centroid.
    pub similarity: f64,
    /// Its text. Absent if the rows came from a matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A cluster near another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeighbourEntry {
    /// Its number.
    pub id: u32,
    /// The similarity of the centroids.
    pub similarity: f64,
}

/// Number of neighbours written per cluster.
const NEIGHBOURS: usize = 5;

impl ClustersFile {
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
) -> Vec<ClusterEntry> {
    let document = |told: &Representative| {
        let ShownDocument { id, text } = documents[&u64::from(told.doc.number())].clone();
        DocumentEntry { id, similarity: rounded(told.similarity), text }
    };
    let entry = |summary: &ClusterSummary| ClusterEntry {
        id: summary.cluster.number(),
        size: summary.size,
        cohesion: rounded(summary.cohesion),
        keywords: summary
            .keywords
            .iter()
            .map(|keyword| KeywordEntry {
                term: term_name(model, keyword.term),
                weight: Some(rounded(keyword.weight)),
                score: rounded(keyword.score),
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
    summaries.iter().map(entry).collect()
}

/// The name of a term, or its number if names are unknown.
pub fn term_name(model: &Model, term: TermId) -> String {
    model.term_name(term).map_or_else(|| format!("#{term}"), str::to_owned)
}
