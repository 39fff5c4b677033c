//! Describes a finished run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use docsphere::{
    ClusterSummary, ErrorKind, Ids, Labels, MAP_NEIGHBOURS, MergeTree, Model, Neighbour, Silhouette,
    SummaryOptions, UnitRows, summarize,
};

use crate::assignments::rounded;
use crate::clusters::{self, ClusterEntry, ClustersFile, DuplicatesEntry, PassagesEntry, ShownDocument};
use crate::error::Result;
use crate::groups::{GroupEntry, GroupsFile};
use crate::map::MapFile;
use crate::naming::{Names, Sample, Stems, sample_size};
use crate::trace::{Phases, timed};

/// Documents and their clusters.
#[derive(Clone, Copy, Debug)]
pub struct Clustering<'a> {
    /// The documents.
    pub rows: &'a UnitRows<'a>,
    /// Their ids, one per row.
    pub ids: &'a Ids,
    /// Their clusters, one per row.
    pub labels: &'a Labels,
    /// Their similarities to their centroids, one per row.
    pub similarities: &'a [f64],
    /// The centroids, with the names of terms if they are known.
    pub model: &'a Model,
    /// The number of copies of each document that were not clustered; they count as its
    /// near-duplicates. `None` if there are none.
    pub n_copies: Option<&'a [u32]>,
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
    /// The groups.
    pub groups: GroupsFile,
    /// The map. Absent if it is not wanted.
    pub map: Option<MapFile>,
}

impl Description {
    /// Describes a clustering. `texts` is called with the ascending numbers of some documents that
    /// are shown or that name clusters, and returns the texts that are known.
    ///
    /// # Errors
    /// If the parts of the clustering do not belong together.
    pub fn new(
        clustering: &Clustering<'_>,
        options: SummaryOptions,
        wants_map: bool,
        texts: impl FnMut(&[u64]) -> BTreeMap<u64, String>,
    ) -> docsphere::Result<Self> {
        Self::timed(clustering, options, wants_map, texts, &mut Phases::default())
    }

    /// The same, with the time of its phases.
    ///
    /// # Errors
    /// As [`Description::new`].
    pub fn timed(
        clustering: &Clustering<'_>,
        options: SummaryOptions,
        wants_map: bool,
        mut texts: impl FnMut(&[u64]) -> BTreeMap<u64, String>,
        phases: &mut Phases,
    ) -> docsphere::Result<Self> {
        let Clustering { rows, ids, labels, similarities, model, n_copies, objective } = *clustering;
        let n_clusters = model.centroids().n_clusters();
        let options = Self::summary_options(options, n_clusters, wants_map);
        let documents_only = options.n_neighbours(0);
        let totals =
            Totals { n_documents: rows.n_rows(), n_without_terms: rows.zero_rows().len(), objective };
        let documents = |numbers: &[u64]| {
            let mut texts = texts(numbers);
            let document = |number: &u64| ShownDocument {
                id: ids[*number as usize].to_owned(),
                text: texts.remove(number),
            };
            Ok::<_, docsphere::Error>(numbers.iter().map(document).collect())
        };
        let neighbours = phases.time("neighbours", || model.neighbours(options.n_neighbours));
        let mut is_used = vec![false; n_clusters];
        for &label in labels.as_slice() {
            if let Some(used) = usize::try_from(label).ok().and_then(|label| is_used.get_mut(label)) {
                *used = true;
            }
        }
        let near: Vec<&[Neighbour]> = neighbours.iter().map(Vec::as_slice).collect();
        let map_seed = wants_map.then_some(model.info().seed);
        let (told, shape) = Shape::beside(
            model,
            &near,
            |cluster| !is_used[cluster],
            map_seed,
            || {
                let mut summaries = phases
                    .time("documents", || summarize(rows, labels, similarities, model, documents_only))?;
                if let Some(n_copies) = n_copies {
                    let documents = summaries.iter_mut().flat_map(|summary| {
                        summary.representatives.iter_mut().chain(&mut summary.least_typical)
                    });
                    for document in documents {
                        document.n_duplicates += u64::from(n_copies[document.doc.index()]);
                    }
                }
                check_numbers(&summaries, model, totals)?;
                let told = Told::new(&summaries, model, documents, phases)?;
                Ok::<_, docsphere::Error>((summaries, told))
            },
        );
        let (mut summaries, told) = told?;
        summaries.iter_mut().zip(neighbours).for_each(|(summary, near)| summary.neighbours = near);
        let mut description = Self::put_together(&summaries, model, totals, &told, shape, phases)?;
        for (&label, &n_copies) in labels.as_slice().iter().zip(n_copies.unwrap_or_default()) {
            if let Ok(cluster) = usize::try_from(label) {
                description.clusters.clusters[cluster].copies += u64::from(n_copies);
            }
        }
        Ok(description)
    }

    /// The options of the summaries from which [`Description::from_summaries`] makes a description:
    /// a map needs more neighbours of each cluster, and so does the tree of many clusters; names
    /// need a sample of its documents. There is
    /// no sample if no documents are shown: then names are made of keywords alone, and no text is
    /// needed.
    #[must_use]
    pub fn summary_options(options: SummaryOptions, n_clusters: usize, wants_map: bool) -> SummaryOptions {
        let shows_documents = options.n_representatives > 0 || options.n_least_typical > 0;
        let options = options.n_sample(if shows_documents { sample_size(n_clusters) } else { 0 });
        let of_map = if wants_map { MAP_NEIGHBOURS } else { 0 };
        let of_tree = if n_clusters > MergeTree::ALL_PAIRS { MergeTree::NEIGHBOURS } else { 0 };
        match of_map.max(of_tree) {
            0 => options,
            n_neighbours => options.n_neighbours(n_neighbours),
        }
    }

    /// Describes a clustering whose documents may be elsewhere. The summaries are those of all
    /// clusters of the model, in order, made with [`Description::summary_options`]. `documents` is
    /// called with the ascending numbers of some documents, those that are shown or that name
    /// clusters, and returns these documents in the same order. The numbers of a call follow those
    /// of the call before; a call asks for a few megabytes.
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
        documents: impl FnMut(&[u64]) -> Result<Vec<ShownDocument>, E>,
    ) -> Result<Self, E> {
        check_numbers(summaries, model, totals)?;
        let phases = &mut Phases::default();
        let near: Vec<&[Neighbour]> = summaries.iter().map(|summary| &summary.neighbours[..]).collect();
        let is_empty = |cluster: usize| summaries[cluster].size == 0;
        let map_seed = wants_map.then_some(model.info().seed);
        let (told, shape) = Shape::beside(model, &near, is_empty, map_seed, || {
            Told::new(summaries, model, documents, phases)
        });
        Ok(Self::put_together(summaries, model, totals, &told?, shape, phases)?)
    }

    fn put_together(
        summaries: &[ClusterSummary],
        model: &Model,
        totals: Totals,
        told: &Told,
        shape: Shape,
        phases: &mut Phases,
    ) -> docsphere::Result<Self> {
        let Totals { n_documents, n_without_terms, objective } = totals;
        let (info, n_clusters) = (model.info(), summaries.len());
        let n_labelled: usize = summaries.iter().map(|summary| summary.size).sum();
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
            min_similarity: None,
            silhouette: None,
            n_empty_clusters: summaries.iter().filter(|summary| summary.size == 0).count(),
            passages: None,
            duplicates: None,
            clusters: clusters::entries(summaries, model, &told.shown, &told.names),
        };
        phases.note("tree", shape.tree.1);
        let groups = phases.time("groups", || {
            GroupsFile::new(model, summaries, &shape.tree.0, &clusters.clusters, &told.names)
        })?;
        let map = shape.map.map(|(map, seconds)| {
            phases.note("map", seconds);
            map
        });
        Ok(Description { clusters, groups, map })
    }

    /// Adds the similarity below which documents were [set apart](crate::set_outliers_apart) as
    /// outliers before they were described.
    #[must_use]
    pub fn with_min_similarity(mut self, min_similarity: f64) -> Self {
        self.clusters.min_similarity = Some(min_similarity);
        self
    }

    /// Adds how documents were cut into the passages that are clustered.
    #[must_use]
    pub fn with_passages(mut self, passages: PassagesEntry) -> Self {
        self.clusters.passages = Some(passages);
        self
    }

    /// Adds the number of copies that were not clustered.
    #[must_use]
    pub fn with_duplicates(mut self, duplicates: DuplicatesEntry) -> Self {
        self.clusters.duplicates = Some(duplicates);
        self
    }

    /// Adds the silhouettes of the clusters, and of all documents.
    ///
    /// # Panics
    /// If they are those of another number of clusters.
    #[must_use]
    pub fn with_silhouette(mut self, found: &Silhouette) -> Self {
        assert_eq!(found.of_clusters.len(), self.clusters.n_clusters, "one silhouette for each cluster");
        // NaN, which JSON does not have, is that of no document.
        let known = |value: f64| (!value.is_nan()).then(|| rounded(value));
        self.clusters.silhouette = known(found.mean);
        for (cluster, &value) in self.clusters.clusters.iter_mut().zip(&found.of_clusters) {
            cluster.silhouette = known(value);
        }
        self
    }

    /// Gives clusters the names that they had before, if their keywords are the same, so that names
    /// stay while few documents come and go. `before` has the clusters of the same numbers.
    pub fn keep_names(&mut self, before: &ClustersFile) {
        let terms = |entry: &ClusterEntry| -> BTreeSet<String> {
            entry.keywords.iter().map(|keyword| keyword.term.clone()).collect()
        };
        let mut groups: Vec<&mut GroupEntry> = self.groups.groups.iter_mut().collect();
        let mut taken: BTreeSet<String> =
            self.clusters.clusters.iter().map(|entry| entry.name.clone()).collect();
        taken.extend(groups.iter().map(|group| group.name.clone()));
        for (entry, old) in self.clusters.clusters.iter_mut().zip(&before.clusters) {
            let is_same = !entry.keywords.is_empty() && terms(entry) == terms(old);
            if !is_same || old.name.is_empty() || taken.contains(&old.name) {
                continue;
            }
            taken.insert(old.name.clone());
            // A group of this cluster alone has its name.
            if let Some(group) = groups.iter_mut().find(|group| group.clusters == [entry.id]) {
                group.name.clone_from(&old.name);
            }
            entry.name.clone_from(&old.name);
        }
    }

    /// Writes the files into a folder. They are not synced.
    ///
    /// # Errors
    /// If the system cannot write them.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.clusters.write(folder)?;
        self.groups.write(folder)?;
        self.map.as_ref().map_or(Ok(()), |map| map.write(folder))
    }
}

/// What only depends on the neighbours of clusters, with its seconds: much of it takes few threads,
/// so it is found beside what is read of the documents.
struct Shape {
    tree: (MergeTree, f64),
    map: Option<(MapFile, f64)>,
}

impl Shape {
    /// Does some work on this thread, and finds the shape on the others. A map is wanted if it has
    /// a seed; `is_empty` says which clusters have no documents.
    fn beside<T>(
        model: &Model,
        neighbours: &[&[Neighbour]],
        is_empty: impl Fn(usize) -> bool + Sync,
        map_seed: Option<u64>,
        work: impl FnOnce() -> T,
    ) -> (T, Self) {
        let (mut tree, mut map) = (None, None);
        let done = rayon::in_place_scope(|scope| {
            scope.spawn(|_| tree = Some(timed(|| MergeTree::from_neighbours(model, neighbours))));
            if let Some(seed) = map_seed {
                let (map, is_empty) = (&mut map, &is_empty);
                scope.spawn(move |_| {
                    *map = Some(timed(|| MapFile::of_neighbours(neighbours, is_empty, seed)));
                });
            }
            work()
        });
        (done, Shape { tree: tree.expect("the scope has ended"), map })
    }
}

/// What is known of the documents that are shown or in the sample.
struct Told {
    shown: BTreeMap<u64, ShownDocument>,
    names: Names,
}

impl Told {
    fn new<E: From<docsphere::Error>>(
        summaries: &[ClusterSummary],
        model: &Model,
        documents: impl FnMut(&[u64]) -> Result<Vec<ShownDocument>, E>,
        phases: &mut Phases,
    ) -> Result<Self, E> {
        let stems = Stems::new(model)?;
        let (sample, shown) = phases.time("texts", || {
            let sample = Sample::new(summaries, model, &stems)?;
            let shown = read_documents(summaries, &sample, documents)?;
            Ok::<_, E>((sample, shown))
        })?;
        let names = phases.time("names", || Names::new(summaries, model, sample, &stems));
        Ok(Told { shown, names })
    }
}

/// Refuses summaries of another number of clusters, or of more documents than there are.
fn check_numbers(summaries: &[ClusterSummary], model: &Model, totals: Totals) -> docsphere::Result<()> {
    let Totals { n_documents, n_without_terms, .. } = totals;
    let n_clusters = summaries.len();
    check(n_clusters == model.centroids().n_clusters(), "the number of summaries", || {
        (format!("{}, one for each cluster", model.centroids().n_clusters()), n_clusters)
    })?;
    let n_labelled: usize = summaries.iter().map(|summary| summary.size).sum();
    check(n_labelled + n_without_terms <= n_documents, "the number of documents", || {
        let least = n_labelled + n_without_terms;
        (format!("at least {least}, those in clusters and those without terms"), n_documents)
    })
}

/// Refuses parts that do not belong together; `found` says what is expected, and what there is.
fn check(is_fit: bool, what: &'static str, found: impl FnOnce() -> (String, usize)) -> docsphere::Result<()> {
    if is_fit {
        return Ok(());
    }
    let (expected, got) = found();
    Err(ErrorKind::Mismatch { what, expected, got: got.to_string() }.into())
}

/// Number of documents that the first call asks for.
const FIRST_DOCUMENTS: usize = 64;

/// Maximum number of documents that a call asks for.
const MAX_DOCUMENTS: usize = 4096;

/// Bytes of texts that a call should return.
const WANTED_BYTES: usize = 8 << 20;

/// Reads the documents that are shown or in the sample, in one pass; counts those in the sample,
/// and returns those that are shown.
///
/// As many documents at a time as have [`WANTED_BYTES`] if they are as long as the documents before
/// them, so that neither memory nor the number of calls grows.
fn read_documents<E>(
    summaries: &[ClusterSummary],
    sample: &Sample<'_>,
    mut documents: impl FnMut(&[u64]) -> Result<Vec<ShownDocument>, E>,
) -> Result<BTreeMap<u64, ShownDocument>, E> {
    let shown_numbers = shown_documents(summaries);
    let mut numbers: Vec<u64> = shown_numbers.iter().copied().chain(sample.numbers()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut shown = BTreeMap::new();
    let (mut rest, mut n_wanted) = (&numbers[..], FIRST_DOCUMENTS);
    while !rest.is_empty() {
        let (asked, others) = rest.split_at(n_wanted.min(rest.len()));
        rest = others;
        let found = documents(asked)?;
        assert_eq!(found.len(), asked.len(), "one document for each number");
        sample.count(asked, &found);
        let n_bytes: usize = found.iter().map(|document| document.text.as_ref().map_or(0, String::len)).sum();
        let per_document = n_bytes / found.len().max(1) + 1;
        n_wanted = (WANTED_BYTES / per_document).clamp(1, (2 * n_wanted).min(MAX_DOCUMENTS));
        let is_shown = |(number, _): &(u64, ShownDocument)| shown_numbers.binary_search(number).is_ok();
        shown.extend(asked.iter().copied().zip(found).filter(is_shown));
    }
    Ok(shown)
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
        let ids: Ids = (0..5).map(|number| format!("d{number}")).collect();
        let clustering = Clustering {
            rows: &rows,
            ids: &ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            model: &fit.model,
            n_copies: None,
            objective: fit.objective,
        };
        let text = |number: &u64| (*number != 2).then(|| format!("text {number}"));
        let texts = |numbers: &[u64]| numbers.iter().filter_map(|n| Some((*n, text(n)?))).collect();
        let options = SummaryOptions::default();
        for wants_map in [false, true] {
            let whole = Description::new(&clustering, options, wants_map, texts).unwrap();
            let options = Description::summary_options(options, 2, wants_map);
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
