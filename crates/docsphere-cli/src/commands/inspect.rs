//! `docsphere inspect`: what a model or a result holds.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use docsphere::{ClusterId, Model, TermId};
use serde_json::json;

use crate::numbers::counted;
use crate::output::clusters::{self, ClusterEntry, ClustersFile, term_name};
use crate::output::table;

/// Show what a model or a result holds
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A model file, or a result folder
    #[arg(value_name = "MODEL|OUT")]
    path: PathBuf,

    /// Show this cluster
    #[arg(long, value_name = "N")]
    cluster: Option<u32>,

    /// Clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let model = Model::load(super::model_path(&self.path))?;
        let file = self.path.is_dir().then(|| clusters::read(&self.path)).transpose()?;
        if let Some(cluster) = self.cluster {
            let k = model.centroids().n_clusters();
            if cluster as usize >= k {
                bail!("there is no cluster {cluster}; they run from 0 to {}", k - 1);
            }
        }
        match (&file, self.cluster) {
            (Some(file), Some(cluster)) => {
                let entry = file.clusters.iter().find(|entry| entry.id == cluster);
                self.show_cluster(entry.context("clusters.json and model.docsphere do not belong together")?)
            }
            (None, Some(cluster)) => self.show_centroid(&model, ClusterId::new(cluster)),
            (file, None) => self.show_model(&model, file.as_ref()),
        }
    }

    fn show_model(&self, model: &Model, file: Option<&ClustersFile>) -> Result<()> {
        let mut out = anstream::stdout().lock();
        let (info, centroids) = (model.info(), model.centroids());
        if self.json {
            let model = json!({
                "n_clusters": centroids.n_clusters(),
                "n_terms": centroids.n_terms(),
                "n_entries": centroids.nnz(),
                "info": info,
                "text": model.text().map(|text| json!({"text": text.text_options(), "tfidf": text.tfidf_options()})),
            });
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&model)?)?);
        }
        writeln!(
            out,
            "{} over {}, from {}",
            counted(centroids.n_clusters(), "cluster"),
            counted(centroids.n_terms(), "term"),
            counted(info.n_docs, "document")
        )?;
        writeln!(
            out,
            "{} after {}, objective {:.1}; init {}, seed {}",
            if info.converged { "converged" } else { "not converged" },
            counted(info.n_iter, "iteration"),
            info.objective,
            info.init,
            info.seed
        )?;
        let source = if model.text().is_some() { "text: new documents can be assigned" } else { "a matrix" };
        writeln!(out, "made by docsphere {} from {source}", info.version)?;
        if let Some(file) = file {
            writeln!(out)?;
            table::write_largest(&mut out, &file.clusters, self.show)?;
        }
        Ok(())
    }

    /// All that is known of a cluster of a result.
    fn show_cluster(&self, cluster: &ClusterEntry) -> Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(cluster)?)?);
        }
        writeln!(
            out,
            "cluster {}: {}, cohesion {:.3}\n",
            cluster.id,
            counted(cluster.size, "document"),
            cluster.cohesion
        )?;
        writeln!(out, "keywords")?;
        for keyword in &cluster.keywords {
            writeln!(out, "  {:.3}  {}", keyword.score, keyword.term)?;
        }
        writeln!(out, "\nrepresentatives")?;
        for representative in &cluster.representatives {
            writeln!(out, "  {:.3}  {}", representative.similarity, representative.id)?;
            if let Some(text) = &representative.text {
                writeln!(out, "         {}", shortened(text, table::width().saturating_sub(9)))?;
            }
        }
        writeln!(out, "\nnearest clusters")?;
        for neighbour in &cluster.neighbours {
            writeln!(out, "  {:.3}  {}", neighbour.similarity, neighbour.id)?;
        }
        Ok(())
    }

    /// Of a model alone, the heaviest terms of a centroid.
    fn show_centroid(&self, model: &Model, cluster: ClusterId) -> Result<()> {
        let mut out = io::stdout().lock();
        let mut entries: Vec<(u32, f32)> = model.centroids().centroid(cluster).iter().collect();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.truncate(self.show);
        let named = entries.iter().map(|&(term, weight)| (term_name(model, TermId::new(term)), weight));
        if self.json {
            let terms: Vec<_> = named.map(|(term, weight)| json!({"term": term, "weight": weight})).collect();
            let centroid = json!({"id": cluster.number(), "terms": terms});
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&centroid)?)?);
        }
        writeln!(out, "cluster {cluster}: heaviest terms of the centroid")?;
        for (term, weight) in named {
            writeln!(out, "  {weight:.3}  {term}")?;
        }
        Ok(())
    }
}

/// The first words of a text, on one line.
fn shortened(text: &str, room: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= room {
        return line;
    }
    let cut: String = line.chars().take(room.saturating_sub(1)).collect();
    format!("{cut}…")
}
