//! Describes a finished run.

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{
    ClusterSummary, ErrorKind, Labels, MAP_NEIGHBOURS, MergeTree, Model, SummaryOptions, UnitRows, summarize,
};

use crate::clusters::{self, ClustersFile, ShownDocument};
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

/// The totals of a clustering that its summaries do not contain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// The number of documents.
    pub n_documents: usize,
    /// The number of documents without any term.
    pub n_without_terms: usize,
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
        options: SummaryOptions,
        wants_map: bool,
        texts: impl FnOnce(&[u64]) -> BTreeMap<u64, String>,
    ) -> docsphere::Result<Self> {
        let Clustering { rows, ids, labels, similarities, model, objective } = *clustering;
        let options = Self::summary_options(options, wants_map);
        let summaries = summarize(rows, labels, similarities, model, options)?;
        let totals =
            Totals { n_documents: rows.n_rows(), n_without_terms: rows.zero_rows().len(), objective };
        let documents = |numbers: &[u64]| {
            let mut texts = texts(numbers);
            let document = |number: &u64| ShownDocument {
                id: ids[*number as usize].clone(),
                text: texts.remove(number),
            };
            Ok::<_, docsphere::Error>(numbers.iter().map(document).collect())
        };
        Self::from_summaries(&summaries, model, totals, wants_map, documents)
    }

    /// The options of the summaries from which [`Description::from_summaries`] makes a description:
    /// a map needs more neighbours of each cluster.
    #[must_use]
    pub fn summary_options(options: SummaryOptions, wants_map: bool) -> SummaryOptions {
        if wants_map { options.n_neighbours(MAP_NEIGHBOURS) } else { options }
    }

    /// Describes a clustering whose documents may be elsewhere. The summaries are those of all
    /// clusters of the model, in order, made with [`Description::summary_options`]. `documents` is
    /// called once with the ascending numbers of the documents that are shown, and returns these
    /// documents in the same order.
    ///
    /// # Errors
    /// Those of `documents`; also if the parts of the clustering do not belong together.
    ///
    /// # Panics
    /// If `documents` returns another number of documents than it was asked for.
    pub fn from_summaries<E: From<docsphere::Error>>(
        summaries: &[ClusterSummary],
        model: &Model,
        totals: Totals,
        wants_map: bool,
        documents: impl FnOnce(&[u64]) -> Result<Vec<ShownDocument>, E>,
    ) -> Result<Self, E> {
        let Totals { n_documents, n_without_terms, objective } = totals;
        let (info, n_clusters) = (model.info(), summaries.len());
        check(n_clusters == model.centroids().n_clusters(), "the number of summaries", || {
            (format!("{}, one for each cluster", model.centroids().n_clusters()), n_clusters)
        })?;
        let n_labelled: usize = summaries.iter().map(|summary| summary.size).sum();
        check(n_labelled + n_without_terms <= n_documents, "the number of documents", || {
            let least = n_labelled + n_without_terms;
            (format!("at least {least}, those in clusters and those without terms"), n_documents)
        })?;
        let numbers = shown_documents(summaries);
        let shown = documents(&numbers)?;
        assert_eq!(shown.len(), numbers.len(), "one document for each number");
        let shown: BTreeMap<u64, ShownDocument> = numbers.into_iter().zip(shown).collect();
        let clusters = ClustersFile {
            n_documents,
            n_terms: model.centroids().n_terms(),
            n_clusters,
            objective,
            iterations: info.n_iter,
            converged: info.converged,
            seed: info.seed,
            n_without_terms,
            n_outliers: n_documents - n_without_terms - n_labelled,
            n_empty_clusters: summaries.iter().filter(|summary| summary.size == 0).count(),
            clusters: clusters::entries(summaries, model, &shown),
        };
        drop(shown);
        let has_tree = n_clusters <= MergeTree::MAX_CLUSTERS;
        // The map keeps one thread busy; the tree takes the others.
        let (map, groups) = rayon::join(
            || wants_map.then(|| MapFile::new(summaries, info.seed)),
            || has_tree.then(|| GroupsFile::new(model, summaries, &clusters.clusters)).transpose(),
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

/// Refuses parts that do not belong together; `found` says what is expected, and what there is.
fn check(is_fit: bool, what: &'static str, found: impl FnOnce() -> (String, usize)) -> docsphere::Result<()> {
    if is_fit {
        return Ok(());
    }
    let (expected, got) = found();
    Err(ErrorKind::Mismatch { what, expected, got: got.to_string() }.into())
}

/// The numbers of all documents that summaries name, ascending.
fn shown_documents(summaries: &[ClusterSummary]) -> Vec<u64> {
    let shown =
        summaries.iter().flat_map(|summary| summary.representatives.iter().chain(&summary.least_typical));
    let mut numbers: Vec<u64> = shown.map(|document| u64::from(document.doc.number())).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use docsphere::{SparseRows, SphericalKMeans};

    use super::*;

    #[test]
    fn what_a_coordinator_has_gives_the_same_description() {
        // The last row has no terms.
        let parts =
            (vec![0, 2, 4, 6, 7, 7], vec![0, 1, 0, 2, 3, 4, 3], vec![1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 1.0]);
        let rows = UnitRows::new(SparseRows::from_parts(5, parts.0, parts.1, parts.2).unwrap());
        let fit = SphericalKMeans::params(2).fit(&rows).unwrap();
        let ids: Vec<String> = (0..5).map(|number| format!("d{number}")).collect();
        let clustering = Clustering {
            rows: &rows,
            ids: &ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            model: &fit.model,
            objective: fit.objective,
        };
        let text = |number: &u64| (*number != 2).then(|| format!("text {number}"));
        let texts = |numbers: &[u64]| numbers.iter().filter_map(|n| Some((*n, text(n)?))).collect();
        let options = SummaryOptions::default();
        for wants_map in [false, true] {
            let whole = Description::new(&clustering, options, wants_map, texts).unwrap();
            let options = Description::summary_options(options, wants_map);
            let summaries = summarize(&rows, &fit.labels, &fit.similarities, &fit.model, options).unwrap();
            let totals = Totals { n_documents: 5, n_without_terms: 1, objective: fit.objective };
            let documents = |numbers: &[u64]| {
                assert_eq!(numbers, [0, 1, 2, 3]);
                let shown = |n: &u64| ShownDocument { id: format!("d{n}"), text: text(n) };
                Ok::<_, docsphere::Error>(numbers.iter().map(shown).collect())
            };
            let described =
                |totals| Description::from_summaries(&summaries, &fit.model, totals, wants_map, documents);
            assert_eq!(described(totals).unwrap(), whole);
            assert_eq!((whole.map.is_some(), whole.clusters.n_outliers), (wants_map, 0));
            let error = described(Totals { n_documents: 4, ..totals }).unwrap_err().to_string();
            assert_eq!(
                error,
                "the number of documents must be at least 5, those in clusters and those without terms, got 4"
            );
        }
        let totals = Totals { n_documents: 5, n_without_terms: 1, objective: 0.0 };
        let none = |_: &[u64]| Ok::<_, docsphere::Error>(Vec::new());
        let error = Description::from_summaries(&[], &fit.model, totals, false, none).unwrap_err();
        assert_eq!(error.to_string(), "the number of summaries must be 2, one for each cluster, got 0");
    }
}
