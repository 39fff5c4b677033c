//! The parts of a split cluster: spherical k-means over the rows of its documents.
//!
//! The rows and texts are those that the result keeps. The parts are found again whenever the files
//! of the result are derived, with the seed of the run, so that they are the same every time; they
//! are numbered by size, the largest first. A copy of a document is in the part of the document
//! that it is a copy of.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use docsphere::{
    Centroids, ClusterId, DocId, Ids, MemoryLimit, Model, Row, SphericalKMeans, SummaryOptions, TextStore,
    UnitRows,
};

use super::applied::refused;
use crate::assignments::{ReadAssignment, read_assignments};
use crate::clusters::ClusterEntry;
use crate::description::{Clustering, Description};
use crate::error::{Error, Result};
use crate::names;

/// The documents of a result, which are read when a cluster is split.
pub(super) struct Documents {
    /// Their lines as the run has written them.
    pub(super) lines: Vec<ReadAssignment>,
    rows: UnitRows<'static>,
    texts: Option<TextStore>,
}

/// A cluster that was split.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// The numbers of the parts: that of the cluster, then new ones.
    pub(super) numbers: Vec<u32>,
    /// For each document of the cluster its part, and its similarity to the centroid of the part.
    pub(super) of_documents: Arc<HashMap<usize, (u32, f64)>>,
    pub(super) centroids: Arc<Centroids>,
}

impl PartialEq for Split {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers && self.of_documents == other.of_documents
    }
}

impl Split {
    /// The part of a new document: that of the nearest centroid, on a tie the first.
    pub(super) fn nearest(&self, row: Row<'_>) -> (u32, f64) {
        let mut best = (0, f64::NEG_INFINITY);
        for part in 0..self.numbers.len() as u32 {
            let similarity = row.dot(self.centroids.centroid(ClusterId::new(part)));
            if similarity > best.1 {
                best = (part, similarity);
            }
        }
        best
    }
}

impl Documents {
    /// Reads what a split needs.
    pub(super) fn read(base: &Path, result: &Path, limit: &MemoryLimit) -> Result<Self> {
        let path = result.join(names::ROWS);
        if !path.exists() {
            return Err(refused(format!(
                "a split needs the rows of the documents, but the result has no {}: it was made with --no-rows or by an older version",
                names::ROWS
            )));
        }
        let rows = UnitRows::load_within(&path, limit)?;
        let lines = read_assignments(base, limit)?;
        if rows.n_rows() != lines.len() {
            return Err(refused(format!(
                "{} is of {} documents, the assignments are of {}: they do not belong together",
                names::ROWS,
                rows.n_rows(),
                lines.len()
            )));
        }
        let path = result.join(names::TEXTS);
        let texts = path.exists().then(|| TextStore::open_within(&path, limit)).transpose()?;
        Ok(Documents { lines, rows, texts })
    }

    /// Splits the documents with these numbers, ascending. Returns the parts with entries that are
    /// numbered from 0.
    pub(super) fn split(
        &self,
        documents: &[usize],
        (cluster, n_parts): (&ClusterEntry, usize),
        (model, seed): (&Model, u64),
        limit: &MemoryLimit,
    ) -> Result<(Split, Vec<ClusterEntry>)> {
        let own: Vec<usize> =
            documents.iter().copied().filter(|&doc| self.lines[doc].duplicate_of.is_none()).collect();
        let too_few = || too_few(cluster, n_parts);
        if own.len() < n_parts {
            return Err(too_few());
        }
        let rows = self.rows.filtered(|doc| own.binary_search(&doc).is_ok(), limit)?;
        if rows.n_nonzero_rows() < n_parts {
            return Err(too_few());
        }
        let fit = SphericalKMeans::params(n_parts).seed(seed).fit(&rows)?;
        let mut sizes = vec![0; n_parts];
        for &label in fit.labels.as_slice().iter().filter(|label| **label >= 0) {
            sizes[label as usize] += 1;
        }
        if sizes.contains(&0) {
            return Err(too_few());
        }
        let part_model = named(fit.model.clone(), model)?;
        let ids: Ids = own.iter().map(|&doc| &self.lines[doc].id).collect();
        let clustering = Clustering {
            rows: &rows,
            ids: &ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            model: &part_model,
            n_copies: None,
            objective: fit.objective,
        };
        let options = SummaryOptions::default()
            .n_keywords(cluster.keywords.len())
            .n_representatives(cluster.representatives.len())
            .n_least_typical(cluster.least_typical.len());
        let texts = |numbers: &[u64]| self.texts_of(numbers, &own);
        let description = Description::new(&clustering, options, false, texts)?;
        let places = by_size(&sizes);
        // A document that shares no term with any part stays with the first.
        let part = |label: i32| usize::try_from(label).map_or(0, |label| places[label]);
        let found = own.iter().zip(fit.labels.as_slice()).zip(&fit.similarities);
        let mut of_documents: HashMap<usize, (u32, f64)> =
            found.map(|((&doc, &label), &similarity)| (doc, (part(label), similarity))).collect();
        let mut entries: Vec<ClusterEntry> = description.clusters.clusters;
        for entry in &mut entries {
            entry.id = places[entry.id as usize];
            entry.neighbours.iter_mut().for_each(|other| other.id = places[other.id as usize]);
        }
        entries.sort_by_key(|entry| entry.id);
        self.add_copies(documents, &mut of_documents, &mut entries);
        let mut order: Vec<u32> = (0..n_parts as u32).collect();
        order.sort_by_key(|&part| places[part as usize]);
        let rows = order.iter().map(|&part| part_model.centroids().centroid(ClusterId::new(part)));
        let centroids = Arc::new(joined(rows, model)?);
        let split = Split { numbers: Vec::new(), of_documents: Arc::new(of_documents), centroids };
        Ok((split, entries))
    }

    /// Puts copies into the parts of their originals.
    fn add_copies(
        &self,
        documents: &[usize],
        of_documents: &mut HashMap<usize, (u32, f64)>,
        entries: &mut [ClusterEntry],
    ) {
        // Of several documents with one id the last before the copy.
        let mut originals: HashMap<&str, usize> = HashMap::new();
        for &doc in documents {
            let line = &self.lines[doc];
            let Some(original) = &line.duplicate_of else {
                originals.insert(&line.id, doc);
                continue;
            };
            let known = originals.get(&original[..]).and_then(|original| of_documents.get(original)).copied();
            let found = known.unwrap_or((0, line.similarity));
            entries[found.0 as usize].copies += 1;
            of_documents.insert(doc, found);
        }
    }

    fn texts_of(&self, numbers: &[u64], own: &[usize]) -> BTreeMap<u64, String> {
        let Some(texts) = &self.texts else { return BTreeMap::new() };
        let docs: Vec<DocId> =
            numbers.iter().map(|&number| DocId::new(own[number as usize] as u32)).collect();
        // A text that cannot be read is one that is not shown.
        let found = texts.get_many(&docs).unwrap_or_default();
        numbers.iter().copied().zip(found.into_iter().map(|document| document.text)).collect()
    }
}

fn too_few(cluster: &ClusterEntry, n_parts: usize) -> Error {
    refused(format!("cluster {} has not enough different documents for {n_parts} parts", cluster.id))
}

/// The place of each part in the order by size, the largest first.
fn by_size(sizes: &[usize]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&part| (std::cmp::Reverse(sizes[part]), part));
    let mut places = vec![0; sizes.len()];
    order.iter().zip(0..).for_each(|(&part, place)| places[part] = place);
    places
}

/// A model with the terms of another.
fn named(parts: Model, model: &Model) -> Result<Model> {
    Ok(match (model.text(), term_names(model)) {
        (Some(text), _) => parts.with_text(text.clone())?,
        (None, Some(names)) => parts.with_term_names(names)?,
        (None, None) => parts,
    })
}

/// Centroids of these rows, over the terms of a model.
fn joined<'a>(rows: impl Iterator<Item = Row<'a>>, model: &Model) -> Result<Centroids> {
    let mut offsets = vec![0u64];
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        terms.extend_from_slice(row.terms);
        values.extend_from_slice(row.values);
        offsets.push(terms.len() as u64);
    }
    let n_terms = model.centroids().n_terms();
    Ok(Centroids::from_rows(docsphere::SparseRows::from_parts(n_terms, offsets, terms, values)?))
}

/// The names of the terms of a model that was made from a matrix, if it has them.
fn term_names(model: &Model) -> Option<Vec<String>> {
    let n_terms = model.centroids().n_terms() as u32;
    (0..n_terms).map(|term| model.term_name(docsphere::TermId::new(term)).map(str::to_owned)).collect()
}
