//! `docsphere verify`: checks by brute force, without the engine's search, that every document is
//! in its nearest cluster.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use docsphere::{ClusterId, Model, UnitRows};
use docsphere_result::edits::{Edits, base_of};
use docsphere_result::{ClustersFile, ReadAssignment, for_each_assignment, names};
use rayon::prelude::*;
use serde_json::json;

use super::model_rows::{rows_for_model, rows_of_result};
use crate::args::{InputArgs, KeepArgs, MemoryArgs};
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

    #[command(flatten)]
    memory: MemoryArgs,

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
    id: String,
    what: String,
}

/// A document to check, and its line.
type Checked = (usize, ReadAssignment);

/// Checks documents while their lines are read: no more of them are held than are compared with
/// all centroids at a time, and the lines of copies.
struct Checks<'a> {
    model: &'a Model,
    rows: &'a UnitRows<'a>,
    limits: Limits,
    /// The number of documents to check, evenly spread, and how many of them were met.
    n_checked: usize,
    n_met: usize,
    batch: Vec<Checked>,
    copies: Vec<Checked>,
    mismatches: Vec<Mismatch>,
}

impl<'a> Checks<'a> {
    fn new(model: &'a Model, rows: &'a UnitRows<'a>, limits: Limits, sample: Option<usize>) -> Self {
        let n_checked = sample.unwrap_or(rows.n_rows()).min(rows.n_rows());
        let (batch, copies, mismatches) = (Vec::new(), Vec::new(), Vec::new());
        Checks { model, rows, limits, n_checked, n_met: 0, batch, copies, mismatches }
    }

    /// Takes the line of the next document.
    fn take(&mut self, doc: usize, line: ReadAssignment) {
        if self.n_met == self.n_checked || doc != self.n_met * self.rows.n_rows() / self.n_checked {
            return;
        }
        self.n_met += 1;
        match line.duplicate_of {
            Some(_) => self.copies.push((doc, line)),
            None => self.batch.push((doc, line)),
        }
        if self.batch.len() == BATCH_DOCS {
            self.check_batch();
        }
    }

    fn check_batch(&mut self) {
        let found = check(self.model, self.rows, &self.batch, self.limits.min_similarity);
        self.mismatches.extend(found);
        self.batch.clear();
    }

    /// The mismatches of all documents, in order. Reads the lines once more if there are copies.
    fn finish(mut self, base: &Path) -> Result<Vec<Mismatch>> {
        self.check_batch();
        if !self.copies.is_empty() {
            let found = check_copies(self.rows, &self.copies, base, self.limits.duplicate_similarity)?;
            self.mismatches.extend(found);
        }
        self.mismatches.sort_by_key(|mismatch| mismatch.doc);
        Ok(self.mismatches)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        memory::allow(self.memory.max_memory);
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
        let is_kept = self.input.inputs.is_empty();
        let mut progress = Progress::new(self.json);
        let rows = match is_kept {
            true => rows_of_result(&self.result)?,
            false => rows_for_model(&model, &self.input, &KeepArgs::default(), &mut progress)?,
        };
        progress.finish();
        if is_kept && rows.rows.n_terms() != model.centroids().n_terms() {
            return Err(self.other_rows());
        }
        let mut checks = Checks::new(&model, &rows.rows, self.limits()?, self.sample);
        // Kept rows have no ids of their own.
        let ids = (!is_kept).then_some(&rows.ids);
        let (mut n_lines, mut other_id) = (0, None);
        for_each_assignment(&base, &memory::of_readers(), |line| {
            let id = ids.and_then(|ids| ids.get(n_lines)).filter(|id| *id != line.id);
            if let (Some(id), None) = (id, &other_id) {
                other_id = Some((n_lines, id, line.id.clone()));
            }
            if other_id.is_none() {
                checks.take(n_lines, line);
            }
            n_lines += 1;
        })?;
        let n_rows = rows.rows.n_rows();
        if is_kept && n_rows != n_lines {
            return Err(self.other_rows());
        }
        ensure!(
            n_rows == n_lines,
            "the input has {}, but the result has {}; give the same input and input options as to cluster",
            counted(n_rows, "document"),
            grouped(n_lines)
        );
        if let Some((doc, id, written)) = other_id {
            bail!(
                "document {} is {id:?} in the input, but {written:?} in the result; give the same input and input options as to cluster",
                doc + 1
            );
        }
        let n_checked = checks.n_checked;
        let mismatches = checks.finish(&base)?;
        self.report(&model, n_checked, &mismatches)
    }

    /// The error for kept rows that are not those of the assignments.
    fn other_rows(&self) -> anyhow::Error {
        anyhow!(
            "{}: {} is not of these documents: the files do not belong together; give the input of the run",
            self.result.display(),
            names::ROWS
        )
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

    fn report(&self, model: &Model, n_checked: usize, mismatches: &[Mismatch]) -> Result<()> {
        let k = model.centroids().n_clusters();
        if self.json {
            let list: Vec<_> = mismatches.iter().map(|m| json!({"id": m.id, "what": m.what})).collect();
            let report =
                json!({"checked": n_checked, "clusters": k, "mismatches": mismatches.len(), "list": list});
            print_json(&report)?;
        } else {
            let mut out = People::new();
            for mismatch in mismatches.iter().take(LISTED_MISMATCHES) {
                out.line(format_args!("{}: {}", mismatch.id, mismatch.what))?;
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
fn check_copies(rows: &UnitRows<'_>, copies: &[Checked], base: &Path, least: f64) -> Result<Vec<Mismatch>> {
    // An id may occur several times.
    let mut originals: HashMap<&str, Vec<Checked>> = HashMap::new();
    for original in copies.iter().filter_map(|(_, line)| line.duplicate_of.as_deref()) {
        originals.entry(original).or_default();
    }
    let mut n_lines = 0;
    for_each_assignment(base, &memory::of_readers(), |line| {
        if line.duplicate_of.is_none()
            && let Some(lines) = originals.get_mut(line.id.as_str())
        {
            lines.push((n_lines, line));
        }
        n_lines += 1;
    })?;
    let mismatch = |(doc, copy): &Checked| {
        let (doc, row) = (*doc, rows.row(*doc));
        let original = copy.duplicate_of.as_deref().unwrap_or_default();
        let is_copy = |(other, _): &&Checked| {
            let other_row = rows.row(*other);
            *other < doc && row.nnz() > 0 && (row == other_row || row.dot(other_row) >= least)
        };
        let mut found = originals[original].iter().filter(is_copy).peekable();
        let same_line =
            |(_, other): &Checked| (other.cluster, other.similarity) == (copy.cluster, copy.similarity);
        let what = if found.peek().is_none() {
            format!(
                "is written as a copy of {original:?}, but no earlier document of this id is similar enough"
            )
        } else if !found.any(same_line) {
            format!("is a copy of {original:?}, but has another cluster or similarity")
        } else {
            return None;
        };
        Some(Mismatch { doc, id: copy.id.clone(), what })
    };
    Ok(copies.iter().filter_map(mismatch).collect())
}

/// Compares some documents with every centroid: one dense centroid at a time, one multiplication
/// for each term of a document.
fn check(model: &Model, rows: &UnitRows<'_>, docs: &[Checked], min_similarity: f64) -> Vec<Mismatch> {
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
        places.for_each(|(((doc, line), best), own)| {
            let mut similarity = 0.0;
            for (term, x) in rows.row(*doc).iter() {
                similarity += f64::from(x) * f64::from(dense[term as usize]);
            }
            *best = best.max(similarity);
            if line.cluster == cluster as i32 {
                *own = similarity;
            }
        });
        centroid.terms.iter().for_each(|&term| dense[term as usize] = 0.0);
    }
    let mismatch = |(place, (doc, written)): (usize, &Checked)| {
        let what = if rows.row(*doc).nnz() == 0 {
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
        what.map(|what| Mismatch { doc: *doc, id: written.id.clone(), what })
    };
    docs.iter().enumerate().filter_map(mismatch).collect()
}
