//! `clusters.json`: every cluster with its size, keywords, representative and least typical documents, histogram and neighbours.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use docsphere::{ClusterSummary, Model, Representative, TermId};
use serde::{Deserialize, Serialize};

use super::assignments::rounded;
use super::names;
use crate::files;

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClustersFile {
    pub(crate) n_documents: usize,
    pub(crate) n_terms: usize,
    pub(crate) n_clusters: usize,
    pub(crate) objective: f64,
    pub(crate) iterations: usize,
    pub(crate) converged: bool,
    pub(crate) seed: u64,
    /// Documents without any term: they have the label -1.
    pub(crate) n_without_terms: usize,
    /// Documents that share no term with any cluster: they have the label -1, too. Results of older versions have none.
    #[serde(default)]
    pub(crate) n_outliers: usize,
    pub(crate) n_empty_clusters: usize,
    pub(crate) clusters: Vec<ClusterEntry>,
}

/// One cluster.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterEntry {
    pub(crate) id: u32,
    pub(crate) size: usize,
    pub(crate) cohesion: f64,
    pub(crate) keywords: Vec<KeywordEntry>,
    pub(crate) representatives: Vec<DocumentEntry>,
    /// Documents at the rim. Results of older versions have none, and no histogram.
    #[serde(default)]
    pub(crate) least_typical: Vec<DocumentEntry>,
    /// Documents by similarity, in equal steps from 0 to 1.
    #[serde(default)]
    pub(crate) histogram: Vec<u32>,
    pub(crate) neighbours: Vec<NeighbourEntry>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeywordEntry {
    pub(crate) term: String,
    /// In the centroid. Results of older versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    pub(crate) score: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentEntry {
    pub(crate) id: String,
    pub(crate) similarity: f64,
    /// Absent if the rows came from a matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NeighbourEntry {
    pub(crate) id: u32,
    pub(crate) similarity: f64,
}

/// Nearest clusters of a cluster that are told.
const NEIGHBOURS: usize = 5;

/// The entries of all clusters. `texts` are those of the documents that are told of, by number.
pub(crate) fn entries(
    summaries: &[ClusterSummary],
    model: &Model,
    ids: &[String],
    texts: &BTreeMap<u64, String>,
) -> Vec<ClusterEntry> {
    let document = |told: &Representative| DocumentEntry {
        id: ids[told.doc.index()].clone(),
        similarity: rounded(told.similarity),
        text: texts.get(&u64::from(told.doc.number())).cloned(),
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
        histogram: summary.histogram.clone(),
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

/// The name of a term, or its number where names are not known.
pub(crate) fn term_name(model: &Model, term: TermId) -> String {
    model.term_name(term).map_or_else(|| format!("#{term}"), str::to_owned)
}

/// Reads the clusters of a result.
pub(crate) fn read(folder: &Path) -> Result<ClustersFile> {
    files::read_json(&folder.join(names::CLUSTERS), "the clusters", "is not a list of clusters")
}

/// Writes any value as indented JSON.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let write = || -> Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer_pretty(&mut file, value)?;
        file.write_all(b"\n")?;
        Ok(file.flush()?)
    };
    write().with_context(|| format!("{}: cannot write", path.display()))
}
