//! Describes a finished run.

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{
    ClusterSummary, Labels, MAP_NEIGHBOURS, MergeTree, Model, SummaryOptions, UnitRows, summarize,
};

use crate::clusters::{self, ClustersFile};
use crate::error::Result;
use crate::groups::GroupsFile;
use crate::map::MapFile;

/// Documents and their clusters.
#[derive(Clone, Copy, Debug)]
pub struct Clustering<'a> {
    /// The documents.
    pub rows: &'a UnitRows<'a>,
    /// Their ids, one per row.
    pub ids: &'a [String],
    /// Their clusters, one per row.
    pub labels: &'a Labels,
    /// Their similarities to their centroids, one per row.
    pub similarities: &'a [f64],
    /// The centroids, with the names of terms if they are known.
    pub model: &'a Model,
    /// The sum of the similarities, weighted if the rows were.
    pub objective: f64,
}

/// The description of a clustering: the files `clusters.json`, `groups.json` and `map.json`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The clusters.
    pub clusters: ClustersFile,
    /// The groups. Absent if there are more than [`MergeTree::MAX_CLUSTERS`] clusters.
    pub groups: Option<GroupsFile>,
    /// The map. Absent if it is not wanted.
    pub map: Option<MapFile>,
}

impl Description {
    /// Describes a clustering. `texts` is called once with the ascending numbers of the documents
    /// that are shown, and returns the texts that are known.
    ///
    /// # Errors
    /// If the parts of the clustering do not belong together.
    pub fn new(
        clustering: &Clustering<'_>,
        mut options: SummaryOptions,
        wants_map: bool,
        texts: impl FnOnce(&[u64]) -> BTreeMap<u64, String>,
    ) -> docsphere::Result<Self> {
        let Clustering { rows, ids, labels, similarities, model, objective } = *clustering;
        if wants_map {
            options.n_neighbours = MAP_NEIGHBOURS;
        }
        let summaries = summarize(rows, labels, similarities, model, options)?;
        let texts = texts(&shown_documents(&summaries));
        let entries = clusters::entries(&summaries, model, ids, &texts);
        let n_labelled: usize = summaries.iter().map(|summary| summary.size).sum();
        let n_without_terms = rows.zero_rows().len();
        let (info, n_clusters) = (model.info(), summaries.len());
        let clusters = ClustersFile {
            n_documents: rows.n_rows(),
            n_terms: rows.n_terms(),
            n_clusters,
            objective,
            iterations: info.n_iter,
            converged: info.converged,
            seed: info.seed,
            n_without_terms,
            n_outliers: rows.n_rows() - n_without_terms - n_labelled,
            n_empty_clusters: summaries.iter().filter(|summary| summary.size == 0).count(),
            clusters: entries,
        };
        let has_tree = n_clusters <= MergeTree::MAX_CLUSTERS;
        // The map keeps one thread busy; the tree takes the others.
        let (map, groups) = rayon::join(
            || wants_map.then(|| MapFile::new(&summaries, info.seed)),
            || has_tree.then(|| GroupsFile::new(model, &summaries, &clusters.clusters)).transpose(),
        );
        Ok(Description { clusters, groups: groups?, map })
    }

    /// Writes the files into a folder. They are not synced.
    ///
    /// # Errors
    /// If the system cannot write them.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.clusters.write(folder)?;
        self.groups.as_ref().map_or(Ok(()), |groups| groups.write(folder))?;
        self.map.as_ref().map_or(Ok(()), |map| map.write(folder))
    }
}

/// The numbers of all documents that summaries name, ascending.
fn shown_documents(summaries: &[ClusterSummary]) -> Vec<u64> {
    let shown =
        summaries.iter().flat_map(|summary| summary.representatives.iter().chain(&summary.least_typical));
    let mut numbers: Vec<u64> = shown.map(|document| u64::from(document.doc.number())).collect();
    numbers.sort_unstable();
    numbers
}
