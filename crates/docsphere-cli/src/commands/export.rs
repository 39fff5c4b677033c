//! `docsphere export`: a model's centroids for other programs.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use docsphere::{Model, TermId, formats};
use docsphere_result::term_name;

use super::vectorize::lines;
use crate::console::People;
use crate::memory;
use crate::numbers::counted;
use crate::output::folder::ResultFolder;
use crate::output::names::{self, FolderKind};
use crate::output::reads::Reads;

/// Write a model's centroids as a matrix (centroids.npz, vocabulary.txt)
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A model file, or the result folder that holds it
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Folder for the files; it appears whole or not at all
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Replace an existing result; a folder that holds anything else is refused
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let mut reads = Reads::default();
        reads.add("the model", Some(super::model_path(&self.model)));
        ResultFolder::check(&self.output, self.force, FolderKind::Centroids, &reads)?;
        let model = Model::load_within(super::model_path(&self.model), &memory::of_readers())?;
        let folder = ResultFolder::create(&self.output, self.force, FolderKind::Centroids)?;
        let centroids = model.centroids();
        formats::write(folder.file(names::CENTROIDS), &centroids.to_sparse_rows())?;
        let names: Vec<String> =
            (0..centroids.n_terms()).map(|term| term_name(&model, TermId::new(term as u32))).collect();
        fs::write(folder.file(names::VOCABULARY), lines(names.iter().map(String::as_str)))?;
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
