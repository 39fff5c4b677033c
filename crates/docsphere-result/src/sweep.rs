//! `sweep.json`: several numbers of clusters beside each other.

use std::path::Path;

use docsphere::{Advice, Fit, Measures, MemoryLimit, Stability};
use serde::{Deserialize, Serialize};

use crate::assignments::rounded;
use crate::clusters::{ClusterEntry, ClustersFile};
use crate::error::Result;
use crate::files;
use crate::html::grouped;
use crate::names;
use crate::trace::Setting;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFile {
    /// The version that made it.
    pub version: String,
    /// The number of documents.
    pub n_documents: usize,
    /// Documents without any term, which are in no cluster.
    pub n_without_terms: usize,
    /// The number of terms.
    pub n_terms: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The numbers of clusters that were asked for, ascending.
    pub wanted: Vec<usize>,
    /// Whether all of them were done, rather than the sweep being interrupted.
    pub complete: bool,
    /// How stability was measured. Absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<StabilityEntry>,
    /// The options of input, text and clustering.
    pub settings: Vec<Setting>,
    /// Time of the whole sweep.
    pub seconds: f64,
    /// The results, by ascending number of clusters.
    pub results: Vec<SweepEntry>,
    /// The recommendation. Absent if fewer than two results can be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<Recommendation>,
}

/// How stability was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StabilityEntry {
    /// Pairs of random halves, and other seeds.
    pub pairs: usize,
    /// The number of documents on which it was measured.
    pub n_documents: usize,
}

/// One number of clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepEntry {
    /// The number of clusters.
    pub n_clusters: usize,
    /// The folder of its result, within that of the sweep.
    pub folder: String,
    /// The page of its result, within the folder of the sweep. Absent with `--no-report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The sum of the similarities.
    pub objective: f64,
    /// The mean similarity of a document to its centroid.
    pub mean_similarity: f64,
    /// The exact cosine silhouette. Absent if only one cluster has documents; so are the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silhouette: Option<f64>,
    /// The simplified silhouette: own centroid against the nearest other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simplified_silhouette: Option<f64>,
    /// The margin: the similarity to the own centroid without the document itself, minus the
    /// greatest similarity to another centroid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// How far clusterings of random halves agree. Absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<AgreementEntry>,
    /// How far clusterings with other seeds agree. Absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<AgreementEntry>,
    /// The number of iterations.
    pub iterations: usize,
    /// Whether the run converged.
    pub converged: bool,
    /// Clusters without a document.
    pub n_empty_clusters: usize,
    /// Documents that share no term with any cluster.
    pub n_outliers: usize,
    /// The number of documents of the smallest cluster that has any.
    pub smallest: usize,
    /// The number of documents of the largest cluster.
    pub largest: usize,
    /// Time for this number: the run, the measures, the files.
    pub seconds: f64,
    /// Some clusters, from the largest to the smallest.
    pub examples: Vec<ExampleEntry>,
}

/// How far clusterings of the same documents agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementEntry {
    /// The adjusted Rand index, as a mean over the pairs: 1 for the same clusters, 0 for chance.
    pub ari: f64,
    /// The least of the pairs.
    pub ari_least: f64,
    /// The greatest of the pairs.
    pub ari_greatest: f64,
    /// The normalised mutual information, as a mean over the pairs.
    pub nmi: f64,
}

/// A cluster as an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExampleEntry {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The number of its documents.
    pub size: usize,
}

/// The recommendation, with its reason and its uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The recommended number of clusters.
    pub n_clusters: usize,
    /// The least number that may be as good.
    pub from: usize,
    /// The greatest number that may be as good.
    pub to: usize,
    /// The number with the greatest margin.
    pub by_margin: usize,
    /// The number with the greatest stability over halves. Absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_stability: Option<usize>,
    /// Why, in words.
    pub reason: String,
    /// How sure this is, in words.
    pub uncertainty: String,
}

/// What is known of recommendations (docs/guide/choosing-k.md has the measurement).
const UNSURE: &str = "any number may suit you better: stability tends to too few clusters, the margin to too many. On seven labelled corpora such recommendations were off by a factor of 1.9 on average, and 5 at worst. Look at the clusters.";

/// Number of clusters shown as examples.
const EXAMPLES: usize = 6;

impl SweepEntry {
    /// The entry of a result.
    pub fn new(
        measures: &Measures,
        fit: &Fit,
        clusters: &ClustersFile,
        has_report: bool,
        seconds: f64,
    ) -> Self {
        let folder = names::step_folder(measures.n_clusters);
        let mut by_size: Vec<&ClusterEntry> =
            clusters.clusters.iter().filter(|cluster| cluster.size > 0).collect();
        by_size.sort_by_key(|cluster| (std::cmp::Reverse(cluster.size), cluster.id));
        let size_of = |cluster: Option<&&ClusterEntry>| cluster.map_or(0, |cluster| cluster.size);
        SweepEntry {
            n_clusters: measures.n_clusters,
            report: has_report.then(|| format!("{folder}/{}", names::REPORT)),
            folder,
            objective: measures.objective,
            mean_similarity: rounded(measures.mean_similarity),
            silhouette: measures.separation.map(|found| rounded(found.silhouette)),
            simplified_silhouette: measures.separation.map(|found| rounded(found.simplified_silhouette)),
            margin: measures.separation.map(|found| rounded(found.margin)),
            halves: measures.halves.as_ref().map(AgreementEntry::new),
            seeds: measures.seeds.as_ref().map(AgreementEntry::new),
            iterations: fit.n_iter,
            converged: fit.converged(),
            n_empty_clusters: clusters.n_empty_clusters,
            n_outliers: clusters.n_outliers,
            smallest: size_of(by_size.last()),
            largest: size_of(by_size.first()),
            seconds,
            examples: examples(&by_size),
        }
    }
}

impl AgreementEntry {
    fn new(found: &Stability) -> Self {
        let (least, greatest) = found.ari_range();
        AgreementEntry {
            ari: rounded(found.ari()),
            ari_least: rounded(least),
            ari_greatest: rounded(greatest),
            nmi: rounded(found.nmi()),
        }
    }
}

/// Clusters in equal steps from the largest to the smallest.
fn examples(by_size: &[&ClusterEntry]) -> Vec<ExampleEntry> {
    let n_shown = EXAMPLES.min(by_size.len());
    let place = |number: usize| number * (by_size.len() - 1) / (n_shown - 1).max(1);
    let shown = (0..n_shown).map(|number| by_size[place(number)]);
    shown.map(|cluster| ExampleEntry { id: cluster.id, name: cluster.title(), size: cluster.size }).collect()
}

impl Recommendation {
    /// The recommendation in words.
    pub fn new(advice: &Advice, results: &[SweepEntry]) -> Self {
        let Advice { n_clusters, from, to, by_margin, by_stability, .. } = *advice;
        let of = |k: usize| results.iter().find(|entry| entry.n_clusters == k);
        let margin = of(by_margin).and_then(|entry| entry.margin).unwrap_or(0.0);
        let ari = by_stability.and_then(of).and_then(|entry| entry.halves).map_or(0.0, |halves| halves.ari);
        let k = grouped(n_clusters);
        let reason = match by_stability {
            None => format!(
                "k = {k}: its clusters are farthest apart (margin {margin:.3}). Stability was not measured; with it, the recommendation is better."
            ),
            Some(by_stability) if by_stability == by_margin => format!(
                "k = {k}: its clusters come again best from other documents (stability over halves {ari:.2}), and they are farthest apart (margin {margin:.3})."
            ),
            Some(by_stability) => format!(
                "k = {k}, halfway between k = {}, whose clusters come again best from other documents (stability over halves {ari:.2}), and k = {}, whose clusters are farthest apart (margin {margin:.3}).",
                grouped(by_stability),
                grouped(by_margin)
            ),
        };
        let mut uncertainty = format!("From {} to {}, {UNSURE}", grouped(from), grouped(to));
        let is_end = |entry: Option<&SweepEntry>| {
            entry.is_some_and(|entry| {
                [by_margin, by_stability.unwrap_or(by_margin)].contains(&entry.n_clusters)
            })
        };
        if is_end(results.first()) || is_end(results.last()) {
            uncertainty.push_str(
                " A measure is greatest at an end of the range that was compared: a wider range may change this.",
            );
        }
        Recommendation { n_clusters, from, to, by_margin, by_stability, reason, uncertainty }
    }
}

impl SweepFile {
    /// Reads the measures of a sweep.
    ///
    /// # Errors
    /// If the file is missing or damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        files::read_json(&folder.join(names::SWEEP), "the sweep", "is not a sweep", limit)
    }

    /// The page that shows it: one file, without a script, that needs no network.
    pub fn page(&self) -> String {
        crate::sweep_page::render(self)
    }

    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::SWEEP), self)
    }
}
