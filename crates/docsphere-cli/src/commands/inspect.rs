//! `docsphere inspect`: what a model or a result holds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docsphere::{ClusterId, Model, TermId};
use serde_json::json;

use crate::output::clusters::{ClusterEntry, ClustersFile, term_name};
use crate::output::table;
use crate::progress::grouped;

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
        let file = self.path.is_dir().then(|| read_clusters(&self.path)).transpose()?;
        if let Some(cluster) = self.cluster {
            let k = model.centroids().n_clusters();
            if cluster as usize >= k {
                bail!("there is no cluster {cluster}; they run from 0 to {}", k - 1);
            }
        }
        match (&file, self.cluster) {
            (Some(file), Some(cluster)) => self.show_cluster(&file.clusters[cluster as usize]),
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
            println!("{}", serde_json::to_string_pretty(&model)?);
            return Ok(());
        }
        println!(
            "{} clusters over {} terms, from {} documents",
            grouped(centroids.n_clusters() as u64),
            grouped(centroids.n_terms() as u64),
            grouped(info.n_docs as u64)
        );
        println!(
            "{} after {} iterations, objective {:.1}; init {}, seed {}; made by docsphere {}",
            if info.converged { "converged" } else { "not converged" },
            info.n_iter,
            info.objective,
            info.init,
            info.seed,
            info.version
        );
        match model.text() {
            Some(_) => println!("made from text: new documents can be assigned"),
            None => println!("made from a matrix"),
        }
        if let Some(file) = file {
            println!();
            table::print_largest(&file.clusters, self.show)?;
        }
        Ok(())
    }

    /// All that is known of a cluster of a result.
    fn show_cluster(&self, cluster: &ClusterEntry) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(cluster)?);
            return Ok(());
        }
        println!(
            "cluster {}: {} documents, cohesion {:.3}\n",
            cluster.id,
            grouped(cluster.size as u64),
            cluster.cohesion
        );
        println!("keywords");
        for keyword in &cluster.keywords {
            println!("  {:.3}  {}", keyword.score, keyword.term);
        }
        println!("\nrepresentatives");
        for representative in &cluster.representatives {
            println!("  {:.3}  {}", representative.similarity, representative.id);
            if let Some(text) = &representative.text {
                println!("         {}", shortened(text, table::width().saturating_sub(9)));
            }
        }
        println!("\nnearest clusters");
        for neighbour in &cluster.neighbours {
            println!("  {:.3}  {}", neighbour.similarity, neighbour.id);
        }
        Ok(())
    }

    /// Of a model alone, the heaviest terms of a centroid.
    fn show_centroid(&self, model: &Model, cluster: ClusterId) -> Result<()> {
        let mut entries: Vec<(u32, f32)> = model.centroids().centroid(cluster).iter().collect();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.truncate(self.show);
        let named = entries.iter().map(|&(term, weight)| (term_name(model, TermId::new(term)), weight));
        if self.json {
            let terms: Vec<_> = named.map(|(term, weight)| json!({"term": term, "weight": weight})).collect();
            println!("{}", serde_json::to_string_pretty(&json!({"id": cluster.number(), "terms": terms}))?);
            return Ok(());
        }
        println!("cluster {cluster}: heaviest terms of the centroid");
        for (term, weight) in named {
            println!("  {weight:.3}  {term}");
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

fn read_clusters(folder: &Path) -> Result<ClustersFile> {
    let path = folder.join("clusters.json");
    let text = fs::read_to_string(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: is not a list of clusters", path.display()))
}
