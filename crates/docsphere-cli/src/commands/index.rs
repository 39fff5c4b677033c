//! `docsphere index`: builds the search index of a result after the run.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use docsphere::{Corpus, Keep};
use docsphere_result::edits::base_of;
use docsphere_result::{ClustersFile, ColumnsFile, ReadTrace, names, read_assignments};

use crate::args::{InputArgs, KeepArgs, UsageError};
use crate::console::People;
use crate::memory;
use crate::numbers::counted;
use crate::output::reads::Reads;
use crate::output::result_lock::ResultLock;
use crate::output::whole_file::make_whole;
use crate::progress::Progress;
use crate::serve::index::{self, Columns, KnownTexts, Line, Texts};

/// Build the search index of a result, for docsphere serve
#[derive(clap::Args)]
#[command(
    after_help = "Writes OUT/documents.sqlite, which holds all texts. docsphere cluster --index builds it during the run.\n\nExample:\n  docsphere index out tickets.csv --text-field subject --text-field body"
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
    /// The columns of the run. If it kept all, some may have names that the input does not have:
    /// those without one, and those whose name an earlier one has.
    fn keep(&self, columns: &ColumnsFile) -> Result<Keep> {
        let has_trace = self.result.join(names::TRACE).exists();
        let trace = has_trace.then(|| ReadTrace::read(&self.result, &memory::of_readers())).transpose()?;
        let settings = trace.iter().flat_map(|trace| &trace.settings);
        let keep = settings.filter(|setting| setting.name == "--keep").flat_map(|setting| &setting.values);
        let names = columns.columns.iter().map(|column| column.field.clone());
        let keep = KeepArgs { keep: keep.cloned().collect(), date_field: None };
        Ok(match keep.keep() {
            Keep::All => Keep::All,
            _ => Keep::Named(names.collect()),
        })
    }

    pub(crate) fn run(self) -> Result<()> {
        if self.input.matrix_format().is_some() {
            let message = "a matrix has no texts to search; give the documents of the run";
            return Err(UsageError(message.to_owned()).into());
        }
        self.input.check_for_documents()?;
        let path = self.result.join(names::DOCUMENTS);
        let mut reads = Reads::of_input(&self.input);
        reads.add_result(&self.result, &[names::DOCUMENTS]);
        reads.check_file(&path)?;
        let lock = ResultLock::take(&self.result)?;
        let lines = read_assignments(&self.result, &memory::of_readers())?;
        let clusters = ClustersFile::read(&self.result, &memory::of_readers())?;
        let mut known = KnownTexts::new();
        let told = clusters
            .clusters
            .iter()
            .flat_map(|entry| entry.representatives.iter().chain(&entry.least_typical));
        for document in told {
            if let Some(text) = &document.text {
                known.entry(&document.id).or_default().push(text);
            }
        }
        // For an id that occurs several times, the texts are compared only if all of them are
        // known.
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for line in lines.iter().filter(|line| known.contains_key(line.id.as_str())) {
            *counts.entry(&line.id).or_default() += 1;
        }
        known.retain(|id, texts| counts.get(id) == Some(&texts.len()));
        // The columns of the run are kept again.
        let columns = ColumnsFile::read(&self.result, &memory::of_readers())?.unwrap_or_default();
        let split = clusters.passages.map(|passages| passages.split);
        let mut options = self.input.corpus_options_of_result(split);
        if !columns.columns.is_empty() {
            options.keep = self.keep(&columns)?;
        }
        let corpus = Corpus::open(&self.input.inputs, options)?;
        let columns = Columns { entries: &columns.columns, kept: None };
        let mut progress = Progress::new(self.quiet);
        let line = |number: usize| {
            let line = &lines[number];
            Line { id: &line.id, cluster: line.cluster, similarity: line.similarity }
        };
        let written = make_whole(&path, |staging| {
            let texts = (Texts::Corpus(&corpus), columns);
            index::write(staging, texts, &mut progress, lines.len(), &known, line)?;
            lock.check(&self.result)
        });
        progress.finish();
        written?;
        // The index of the run is older than this one, which has the clusters after all edits.
        let of_run = base_of(&self.result).join(names::DOCUMENTS);
        if of_run != path && of_run.exists() {
            fs::remove_file(&of_run).with_context(|| format!("{}: cannot remove", of_run.display()))?;
        }
        if !self.quiet {
            let n_documents = counted(lines.len(), "document");
            People::new().line(format_args!("{n_documents} written to {}", path.display()))?;
        }
        Ok(())
    }
}
