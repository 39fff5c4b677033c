//! `docsphere verify`: checks by brute force, without the engine's search, that every document is
//! in its nearest cluster.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use docsphere::{ClusterId, Model, UnitRows};
use docsphere_result::edits::{Edits, base_of};
use docsphere_result::{ClustersFile, ReadAssignment, names, read_assignments};
use rayon::prelude::*;
use serde_json::json;

use super::model_rows::{rows_for_model, rows_of_result};
use crate::args::{InputArgs, KeepArgs};
use crate::console::{People, print_json, tell};
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::progress::Progress;

/// Documents compared with all centroids at a time; their similarities are kept in memory.
const BATCH_DOCS: usize = 1 << 16;

/// Maximum number of mismatches listed.
const LISTED_MISMATCHES: usize = 20;

/// Compare every assignment of a result with all centroids, by brute force
#[derive(clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.required(false)),
    after_help = "Without INPUT the documents are those that the result keeps."
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,
    #[command(flatten)]
    input: InputArgs,

    /// Check only this many documents, evenly spread
    #[arg(long, value_name = "N", help_heading = "Output")]
    sample: Option<usize>,

    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Similarities that a result was made with.
struct Limits {
    /// Below it, documents are outliers; 0 if it was not given.
    min_similarity: f64,
    /// From it on, documents are copies.
    duplicate_similarity: f64,
}

/// A document that is not in its nearest cluster, or whose stored similarity is wrong.
struct Mismatch {
    doc: usize,
    what: String,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let model = Model::load_within(self.result.join(names::MODEL), &memory::of_readers())?;
        // The clusters of the run, which edits do not change.
        let base = base_of(&self.result);
        let n_edits = Edits::read(&self.result, &memory::of_readers())?.edits.len();
        if n_edits > 0 && !self.json {
            tell(&format!(
                "note: the result has {}; verified are the clusters of the run",
                counted(n_edits, "edit")
            ));
        }
        let assignments = read_assignments(&base, &memory::of_readers())?;
        let Limits { min_similarity, duplicate_similarity } = self.limits()?;
        let mut progress = Progress::new(self.json);
        let rows = if self.input.inputs.is_empty() {
            let kept =
                rows_of_result(&self.result, assignments.iter().map(|line| line.id.clone()).collect())?;
            ensure!(
                kept.rows.n_rows() == assignments.len() && kept.rows.n_terms() == model.centroids().n_terms(),
                "{}: {} is not of these documents: the files do not belong together; give the input of the run",
                self.result.display(),
                names::ROWS
            );
            kept
        } else {
            rows_for_model(&model, &self.input, &KeepArgs::default(), &mut progress)?
        };
        progress.finish();
        ensure!(
            rows.ids.len() == assignments.len(),
            "the input has {}, but the result has {}; give the same input and input options as to cluster",
            counted(rows.ids.len(), "document"),
            grouped(assignments.len())
        );
        if let Some(doc) = (0..rows.ids.len()).find(|&doc| rows.ids[doc] != assignments[doc].id) {
            bail!(
                "document {} is {:?} in the input, but {:?} in the result; give the same input and input options as to cluster",
                doc + 1,
                rows.ids[doc],
                assignments[doc].id
            );
        }
        let docs = self.chosen(rows.ids.len());
        let (copies, clustered): (Vec<usize>, Vec<usize>) =
            docs.iter().partition(|&&doc| assignments[doc].duplicate_of.is_some());
        let mut mismatches = check_copies(&rows.rows, &copies, &assignments, duplicate_similarity);
        for batch in clustered.chunks(BATCH_DOCS) {
            mismatches.extend(check(&model, &rows.rows, batch, &assignments, min_similarity));
        }
        mismatches.sort_by_key(|mismatch| mismatch.doc);
        self.report(&model, &rows.ids, docs.len(), &mismatches)
    }

    fn limits(&self) -> Result<Limits> {
        if !self.result.join(names::CLUSTERS).exists() {
            return Ok(Limits { min_similarity: 0.0, duplicate_similarity: 1.0 });
        }
        let clusters = ClustersFile::read(&self.result, &memory::of_readers())?;
        Ok(Limits {
            min_similarity: clusters.min_similarity.unwrap_or(0.0),
            duplicate_similarity: clusters.duplicates.map_or(1.0, |duplicates| duplicates.similarity),
        })
    }

    /// The numbers of the documents to check.
    fn chosen(&self, n_docs: usize) -> Vec<usize> {
        let n_checked = self.sample.unwrap_or(n_docs).min(n_docs);
        (0..n_checked).map(|place| place * n_docs / n_checked).collect()
    }

    fn report(&self, model: &Model, ids: &[String], n_checked: usize, mismatches: &[Mismatch]) -> Result<()> {
        let k = model.centroids().n_clusters();
        if self.json {
            let list: Vec<_> = mismatches.iter().map(|m| json!({"id": ids[m.doc], "what": m.what})).collect();
            let report =
                json!({"checked": n_checked, "clusters": k, "mismatches": mismatches.len(), "list": list});
            print_json(&report)?;
        } else {
            let mut out = People::new();
            for mismatch in mismatches.iter().take(LISTED_MISMATCHES) {
                out.line(format_args!("{}: {}", ids[mismatch.doc], mismatch.what))?;
            }
            if mismatches.len() > LISTED_MISMATCHES {
                let n_more = grouped(mismatches.len() - LISTED_MISMATCHES);
                out.line(format_args!("and {n_more} more; --json lists all"))?;
            }
            out.line(format_args!(
                "checked {} against {}: {} mismatches",
                counted(n_checked, "document"),
                counted(k, "centroid"),
                grouped(mismatches.len())
            ))?;
        }
        ensure!(
            mismatches.is_empty(),
            "the result does not hold for {}",
            counted(mismatches.len(), "document")
        );
        Ok(())
    }
}

/// Compares copies with their originals: they must be similar enough, and have the same line.
fn check_copies(
    rows: &UnitRows<'_>,
    copies: &[usize],
    assignments: &[ReadAssignment],
    least: f64,
) -> Vec<Mismatch> {
    // An id may occur several times.
    let mut originals: HashMap<&str, Vec<usize>> = HashMap::new();
    for original in copies.iter().filter_map(|&doc| assignments[doc].duplicate_of.as_deref()) {
        originals.entry(original).or_default();
    }
    for (doc, line) in assignments.iter().enumerate().filter(|(_, line)| line.duplicate_of.is_none()) {
        if let Some(docs) = originals.get_mut(line.id.as_str()) {
            docs.push(doc);
        }
    }
    let mismatch = |&doc: &usize| {
        let (copy, row) = (&assignments[doc], rows.row(doc));
        let original = copy.duplicate_of.as_deref().unwrap_or_default();
        let is_copy = |&&other: &&usize| {
            let other_row = rows.row(other);
            other < doc && row.nnz() > 0 && (row == other_row || row.dot(other_row) >= least)
        };
        let mut found = originals[original].iter().filter(is_copy).peekable();
        let same_line = |&other: &usize| {
            let other = &assignments[other];
            (other.cluster, other.similarity) == (copy.cluster, copy.similarity)
        };
        let what = if found.peek().is_none() {
            format!(
                "is written as a copy of {original:?}, but no earlier document of this id is similar enough"
            )
        } else if !found.any(same_line) {
            format!("is a copy of {original:?}, but has another cluster or similarity")
        } else {
            return None;
        };
        Some(Mismatch { doc, what })
    };
    copies.iter().filter_map(mismatch).collect()
}

/// Compares some documents with every centroid: one dense centroid at a time, one multiplication
/// for each term of a document.
fn check(
    model: &Model,
    rows: &UnitRows<'_>,
    docs: &[usize],
    assignments: &[ReadAssignment],
    min_similarity: f64,
) -> Vec<Mismatch> {
    let centroids = model.centroids();
    let mut best = vec![f64::NEG_INFINITY; docs.len()];
    let mut own = vec![f64::NEG_INFINITY; docs.len()];
    let mut dense = vec![0f32; centroids.n_terms()];
    for cluster in 0..centroids.n_clusters() {
        let centroid = centroids.centroid(ClusterId::new(cluster as u32));
        if centroid.nnz() == 0 {
            continue;
        }
        centroid.iter().for_each(|(term, value)| dense[term as usize] = value);
        let places = docs.par_iter().zip(&mut best).zip(&mut own).with_min_len(512);
        places.for_each(|((&doc, best), own)| {
            let mut similarity = 0.0;
            for (term, x) in rows.row(doc).iter() {
                similarity += f64::from(x) * f64::from(dense[term as usize]);
            }
            *best = best.max(similarity);
            if assignments[doc].cluster == cluster as i32 {
                *own = similarity;
            }
        });
        centroid.terms.iter().for_each(|&term| dense[term as usize] = 0.0);
    }
    let mismatch = |(place, &doc): (usize, &usize)| {
        let written = &assignments[doc];
        let what = if rows.row(doc).nnz() == 0 {
            (written.cluster != -1).then(|| format!("has no term, but cluster {}", written.cluster))
        } else if best[place] <= 0.0 {
            (written.cluster != -1)
                .then(|| format!("is similar to no cluster, but has cluster {}", written.cluster))
        } else if best[place] < min_similarity {
            (written.cluster != -1).then(|| {
                let (cluster, best) = (written.cluster, best[place]);
                format!("has cluster {cluster}, but is an outlier: {best:.6} is below {min_similarity}")
            })
        } else if written.cluster == -1 {
            Some(format!("has no cluster, but there is one with similarity {:.6}", best[place]))
        } else if own[place] < best[place] {
            Some(format!(
                "cluster {} has similarity {:.6}, another has {:.6}",
                written.cluster, own[place], best[place]
            ))
        } else if (written.similarity - own[place]).abs() > 1e-6 {
            Some(format!("similarity {:.6} is written, but it is {:.6}", written.similarity, own[place]))
        } else {
            None
        };
        what.map(|what| Mismatch { doc, what })
    };
    docs.iter().enumerate().filter_map(mismatch).collect()
}
