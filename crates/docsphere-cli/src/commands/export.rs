//! `docsphere export`: a model's centroids for other programs.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use docsphere::{Model, TermId, formats};

use super::vectorize::lines;
use crate::console::People;
use crate::numbers::counted;
use crate::output::clusters::term_name;
use crate::output::folder::ResultFolder;

/// Write a model's centroids as a matrix (centroids.npz, vocabulary.txt)
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A model file, or the result folder that holds it
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The folder for the files; it appears whole, or not at all
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Replace a result that is there already
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        ResultFolder::check(&self.output, self.force, "centroids.npz")?;
        let model = Model::load(super::model_path(&self.model))?;
        let folder = ResultFolder::create(&self.output, self.force, "centroids.npz")?;
        let centroids = model.centroids();
        formats::write(folder.file("centroids.npz"), &centroids.to_sparse_rows())?;
        let names: Vec<String> =
            (0..centroids.n_terms()).map(|term| term_name(&model, TermId::new(term as u32))).collect();
        fs::write(folder.file("vocabulary.txt"), lines(names.iter().map(String::as_str)))?;
        folder.commit()?;
        People::new().line(format_args!(
            "{} over {} written to {}",
            counted(centroids.n_clusters(), "centroid"),
            counted(centroids.n_terms(), "term"),
            self.output.display()
        ))?;
        Ok(())
    }
}
