//! `docsphere index`: the search index of a result, made after the run.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use docsphere::Corpus;

use crate::args::{InputArgs, UsageError};
use crate::interrupt;
use crate::numbers::counted;
use crate::output::assignments;
use crate::progress::Progress;
use crate::serve::documents::{self, Line};

/// Make the search index of a result, for docsphere serve
#[derive(clap::Args)]
#[command(
    after_help = "Writes OUT/documents.sqlite, which holds all texts. docsphere cluster --index does the same in the run.\n\nExample:\n  docsphere index out tickets.csv --text-field subject --text-field body"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if self.input.matrix_format().is_some() {
            let message = "a matrix has no texts to search; give the documents of the run";
            return Err(UsageError(message.to_owned()).into());
        }
        self.input.check_for_documents()?;
        let lines = assignments::read(&self.result)?;
        let corpus = Corpus::open(&self.input.inputs, self.input.corpus_options())?;
        let mut progress = Progress::new(self.quiet);
        let path = self.result.join(documents::NAME);
        let staging = self.result.join(format!(".{}.partial-{}", documents::NAME, std::process::id()));
        interrupt::remember_unfinished(&staging);
        let written = documents::write(&staging, &corpus, &mut progress, lines.len(), |number| {
            let line = &lines[number];
            Line { id: &line.id, cluster: line.cluster, similarity: line.similarity }
        });
        progress.finish();
        let written =
            written.and_then(|()| Ok(interrupt::uninterrupted(|| std::fs::rename(&staging, &path))?));
        interrupt::forget_unfinished(&staging);
        written.with_context(|| format!("{}: cannot write", path.display()))?;
        if !self.quiet {
            writeln!(io::stdout(), "{} written to {}", counted(lines.len(), "document"), path.display())?;
        }
        Ok(())
    }
}
