//! `docsphere vectorize`: turns documents into a TF-IDF matrix for other programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use docsphere::formats;

use crate::args::{InputArgs, TextArgs};
use crate::console::People;
use crate::input::{self, Source, Staged};
use crate::numbers::counted;
use crate::output::folder::ResultFolder;
use crate::output::names::{self, FolderKind};
use crate::output::reads::Reads;
use crate::progress::Progress;

/// Turn documents into a TF-IDF matrix (matrix.npz, vocabulary.txt, ids.txt)
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    text: TextArgs,

    /// Folder for the files; it appears whole or not at all
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,

    /// Also write the rows as rows.docsphere, which cluster reads at once, and maps rather than
    /// reads if --max-memory has no room for them
    #[arg(long, help_heading = "Output")]
    rows: bool,

    /// Replace an existing result; a folder that holds anything else is refused
    #[arg(long, help_heading = "Output")]
    force: bool,

    /// Number of threads [default: all cores]. Never changes the result
    #[arg(long, value_name = "N", help_heading = "Output")]
    threads: Option<usize>,

    /// Print nothing but errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let text = self.text.options()?;
        let mut reads = Reads::of_input(&self.input);
        reads.add("the file of --stop-words-file", self.text.file());
        ResultFolder::check(&self.output, self.force, FolderKind::Matrix, &reads)?;
        let mut progress = Progress::new(self.quiet);
        let loaded = input::load(&self.input, text, self.threads, Staged::default(), &mut progress)?;
        let folder = ResultFolder::create(&self.output, self.force, FolderKind::Matrix)?;
        formats::write(folder.file(names::MATRIX), loaded.rows.as_sparse())?;
        if self.rows {
            loaded.rows.save_open(folder.file(docsphere_result::names::ROWS))?;
        }
        write_lines(&folder.file(names::IDS), loaded.ids.iter())?;
        match &loaded.source {
            Source::Documents { model, .. } => {
                write_lines(&folder.file(names::VOCABULARY), model.vocabulary().iter())?;
            }
            Source::Matrix { term_names: Some(names) } => {
                write_lines(&folder.file(names::VOCABULARY), names.iter().map(String::as_str))?;
            }
            Source::Matrix { term_names: None } => {}
        }
        folder.commit()?;
        if !self.quiet {
            let mut out = People::new();
            out.line(format_args!(
                "{}, {}, {} written to {}",
                counted(loaded.rows.n_rows(), "document"),
                counted(loaded.rows.n_terms(), "term"),
                counted(loaded.rows.nnz(), "nonzero"),
                self.output.display()
            ))?;
            let mut remarks = loaded.remarks();
            let n_without_terms = loaded.rows.zero_rows().len();
            remarks.add(n_without_terms, "document has no term", "documents have no term");
            remarks.iter().try_for_each(|remark| out.line(remark))?;
        }
        Ok(())
    }
}

/// Writes one text per line. Line breaks within a text become spaces, so that line numbers stay
/// right.
pub(super) fn write_lines<'a>(path: &Path, texts: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut all = String::new();
    for text in texts {
        all.push_str(&text.replace(['\n', '\r'], " "));
        all.push('\n');
    }
    fs::write(path, all).with_context(|| format!("{}: cannot write", path.display()))
}
