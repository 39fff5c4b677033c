//! `docsphere inspect`: shows the contents of a model or a result.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use docsphere::{ClusterId, Model, TermId};
use docsphere_result::{ClusterEntry, ClustersFile, term_name};
use serde_json::json;

use crate::console::{People, print_json};
use crate::memory;
use crate::numbers::{counted, percent};
use crate::output::table;

/// Show the contents of a model or a result
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A model file, or a result folder
    #[arg(value_name = "MODEL|OUT")]
    path: PathBuf,

    /// Show this cluster
    #[arg(long, value_name = "N")]
    cluster: Option<u32>,

    /// Number of clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let model = Model::load_within(super::model_path(&self.path), &memory::of_readers())?;
        let read = || ClustersFile::read(&self.path, &memory::of_readers());
        let file = self.path.is_dir().then(read).transpose()?;
        if let Some(cluster) = self.cluster {
            // A cluster that was split has parts with further numbers.
            let k = file.as_ref().map_or(model.centroids().n_clusters(), |file| file.clusters.len());
            if cluster as usize >= k {
                bail!("there is no cluster {cluster}; they run from 0 to {}", k - 1);
            }
        }
        match (&file, self.cluster) {
            (Some(file), Some(cluster)) => {
                let entry = file.clusters.iter().find(|entry| entry.id == cluster);
                let entry = entry.context("clusters.json and model.docsphere do not belong together")?;
                self.show_cluster(entry, &file.clusters)
            }
            (None, Some(cluster)) => self.show_centroid(&model, ClusterId::new(cluster)),
            (file, None) => self.show_model(&model, file.as_ref()),
        }
    }

    fn show_model(&self, model: &Model, file: Option<&ClustersFile>) -> Result<()> {
        let (info, centroids) = (model.info(), model.centroids());
        if self.json {
            let model = json!({
                "n_clusters": centroids.n_clusters(),
                "n_terms": centroids.n_terms(),
                "n_entries": centroids.nnz(),
                "info": info,
                "text": model.text().map(|text| json!({"text": text.text_options(), "tfidf": text.tfidf_options()})),
            });
            return print_json(&model);
        }
        let mut out = People::new();
        out.line(format_args!(
            "{} over {}, from {}",
            counted(centroids.n_clusters(), "cluster"),
            counted(centroids.n_terms(), "term"),
            counted(info.n_docs, "document")
        ))?;
        out.line(format_args!(
            "{} after {}, objective {:.1}; init {}, seed {}",
            if info.converged { "converged" } else { "not converged" },
            counted(info.n_iter, "iteration"),
            info.objective,
            info.init,
            info.seed
        ))?;
        let source = if model.text().is_some() { "text: new documents can be assigned" } else { "a matrix" };
        out.line(format_args!("made by docsphere {} from {source}", info.version))?;
        if let Some(file) = file {
            out.line("")?;
            table::write_largest(&mut out, file, self.show)?;
        }
        Ok(())
    }

    /// Shows everything that a result holds about a cluster.
    fn show_cluster(&self, cluster: &ClusterEntry, clusters: &[ClusterEntry]) -> Result<()> {
        if self.json {
            return print_json(cluster);
        }
        let mut out = People::new();
        out.line(format_args!(
            "cluster {}: {}, cohesion {:.3}{}{}",
            cluster.id,
            counted(cluster.size, "document"),
            cluster.cohesion,
            cluster.silhouette.map_or_else(String::new, |value| format!(", silhouette {value:.3}")),
            if cluster.heap { ", a heap: its documents have little in common" } else { "" }
        ))?;
        out.line(cluster.title())?;
        if let Some(former) = &cluster.renamed {
            out.line(format_args!("called {former} by the run"))?;
        }
        if cluster.hidden {
            out.line("hidden")?;
        }
        if let Some(note) = &cluster.note {
            out.line(format_args!("note: {note}"))?;
        }
        out.line("")?;
        let has_shares = cluster.keywords.iter().any(|keyword| keyword.share.is_some());
        out.line(if has_shares { "keywords: score, share of the documents" } else { "keywords" })?;
        for keyword in &cluster.keywords {
            let share = keyword.share.map_or_else(String::new, |share| format!("{:>6}", percent(share)));
            out.line(format_args!("  {:.3}{share}  {}", keyword.score, keyword.shown()))?;
        }
        out.line("")?;
        out.line("representatives")?;
        for representative in &cluster.representatives {
            let duplicates = match representative.near_duplicates {
                0 => String::new(),
                n => format!(", and {}", counted(n as usize, "near-duplicate")),
            };
            out.line(format_args!("  {:.3}  {}{duplicates}", representative.similarity, representative.id))?;
            if let Some(text) = &representative.text {
                out.line(format_args!(
                    "         {}",
                    table::shortened(text, table::width().saturating_sub(9))
                ))?;
            }
        }
        out.line("")?;
        out.line("nearest clusters")?;
        for neighbour in &cluster.neighbours {
            let name = clusters.iter().find(|other| other.id == neighbour.id).map(ClusterEntry::title);
            let line = format!("  {:.3}  {:>5}  ", neighbour.similarity, neighbour.id);
            let room = table::width().saturating_sub(line.len());
            out.line(format_args!("{line}{}", table::shortened(&name.unwrap_or_default(), room)))?;
        }
        Ok(())
    }

    /// Shows the heaviest terms of a centroid, for a model without a result.
    fn show_centroid(&self, model: &Model, cluster: ClusterId) -> Result<()> {
        let mut entries: Vec<(u32, f32)> = model.centroids().centroid(cluster).iter().collect();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.truncate(self.show);
        let named = entries.iter().map(|&(term, weight)| (term_name(model, TermId::new(term)), weight));
        if self.json {
            let terms: Vec<_> = named.map(|(term, weight)| json!({"term": term, "weight": weight})).collect();
            let centroid = json!({"id": cluster.number(), "terms": terms});
            return print_json(&centroid);
        }
        let mut out = People::new();
        out.line(format_args!("cluster {cluster}: heaviest terms of the centroid"))?;
        for (term, weight) in named {
            out.line(format_args!("  {weight:.3}  {term}"))?;
        }
        Ok(())
    }
}
