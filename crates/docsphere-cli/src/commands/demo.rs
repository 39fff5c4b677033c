//! `docsphere demo`: the built-in corpus, from start to finish.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use super::Command;
use crate::Cli;

/// Texts written for this: 20 everyday and technical subjects.
const CORPUS: &str = include_str!("../../../../corpora/everyday.jsonl");

/// Cluster the built-in corpus: 480 short texts on 20 subjects
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder for the result and the texts
    #[arg(short, long, value_name = "OUT", default_value = "docsphere-demo")]
    output: PathBuf,

    /// The number of clusters
    #[arg(short = 'k', long, value_name = "K", default_value_t = 20)]
    n_clusters: usize,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let corpus = self.output.with_extension("jsonl");
        fs::write(&corpus, CORPUS).with_context(|| format!("{}: cannot write", corpus.display()))?;
        let (corpus, output) = (corpus.display().to_string(), self.output.display().to_string());
        let k = self.n_clusters.to_string();
        // Exactly what a person would type.
        let words = [
            "docsphere",
            "cluster",
            &corpus,
            "-k",
            &k,
            "-o",
            &output,
            "--force",
            "--init",
            "greedy-k-means++",
            "--n-init",
            "10",
            "--min-df",
            "2",
        ];
        println!("$ {}\n", words.join(" "));
        match Cli::try_parse_from(words)?.command {
            Command::Cluster(args) => args.run()?,
            _ => unreachable!("the words above say cluster"),
        }
        println!("\ntry next: docsphere inspect {output} --cluster 0");
        Ok(())
    }
}
