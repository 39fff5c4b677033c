//! Options for the files and the text that a run writes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use docsphere_result::AssignmentsFormat;

use super::{InputArgs, UsageError};

/// Options for the files and the text that a run writes.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder for the result; it appears whole or not at all [default: named after the input, in
    /// the current folder]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace an existing result; a folder that holds anything else is refused
    #[arg(long)]
    pub(crate) force: bool,

    /// Format of the assignments
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = assignments_formats())]
    pub(crate) assignments: AssignmentsFormat,

    /// Also write the second-nearest cluster of each document
    #[arg(long)]
    pub(crate) runner_up: bool,

    /// A document less similar than this to every centroid is an outlier: it gets cluster -1
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_similarity)]
    pub(crate) min_similarity: f64,

    /// Also write the silhouette of each document, each cluster and all: how much better a document
    /// fits its cluster than the next one (costs one more assignment pass)
    #[arg(long)]
    pub(crate) silhouette: bool,

    /// Number of keywords per cluster
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) keywords: usize,

    /// Number of representative documents per cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) representatives: usize,

    /// Number of least typical documents per cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) least_typical: usize,

    /// Do not write the report, report.html
    #[arg(long)]
    pub(crate) no_report: bool,

    /// Also write a search index over all documents, for docsphere serve; it holds all texts
    #[cfg(feature = "serve")]
    #[arg(long)]
    pub(crate) index: bool,

    /// Number of clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) show: usize,

    /// Print the summary as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl OutputArgs {
    /// Chooses the folder if none was given: `notes-clusters` for the input `notes/` or
    /// `notes.csv.gz`, and this ending. Must be called before [`OutputArgs::folder`].
    pub(crate) fn choose_folder(&mut self, input: &Path, ending: &str) {
        if self.output.is_none() {
            self.output = Some(PathBuf::from(format!("{}-{ending}", stem_of(input))));
        }
    }

    /// The folder for the result.
    pub(crate) fn folder(&self) -> &Path {
        self.output.as_deref().expect("chosen first")
    }

    /// Refuses options that contradict each other or the input.
    pub(crate) fn check(&self, input: &InputArgs) -> Result<()> {
        self.assignments.check_build()?;
        if self.json && self.quiet {
            return Err(UsageError("--json and --quiet contradict each other".to_owned()).into());
        }
        #[cfg(feature = "serve")]
        if self.index && input.matrix_format().is_some() {
            return Err(UsageError("--index: a matrix has no texts to search".to_owned()).into());
        }
        let _ = input;
        Ok(())
    }

    /// Whether progress is hidden.
    pub(crate) fn is_silent(&self) -> bool {
        self.quiet || self.json
    }

    /// Whether texts are written or shown.
    pub(crate) fn needs_texts(&self) -> bool {
        #[cfg(feature = "serve")]
        if self.index {
            return true;
        }
        self.representatives > 0 || self.least_typical > 0
    }
}

/// Reads a similarity: cosines lie between -1 and 1.
pub(crate) fn parse_similarity(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (-1.0..=1.0).contains(number));
    number.ok_or("give a number from -1 to 1".to_owned())
}

/// The name of an input without its endings; `documents` for one that has no name.
fn stem_of(input: &Path) -> String {
    let path = fs::canonicalize(input).ok().filter(|_| input.file_name().is_none());
    let name = path.as_deref().unwrap_or(input).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| name != "-").unwrap_or_default();
    let stem = if input.is_dir() {
        &name[..]
    } else {
        let plain = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        plain.rsplit_once('.').map_or(plain, |(stem, _)| stem)
    };
    if stem.is_empty() { "documents".to_owned() } else { stem.to_owned() }
}

/// The formats of the assignments, by name.
fn assignments_formats() -> impl TypedValueParser<Value = AssignmentsFormat> {
    let names = AssignmentsFormat::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AssignmentsFormat>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_their_input() {
        let of = |input: &str| stem_of(Path::new(input));
        for name in ["notes.csv", "a/notes.jsonl.zst", "notes.txt.gz", "notes", "notes.", "/b/notes.npz"] {
            assert_eq!(of(name), "notes", "{name}");
        }
        assert_eq!((of("-").as_str(), of("v1.2.csv").as_str()), ("documents", "v1.2"));
        assert_eq!((of(".gz").as_str(), of("/").as_str()), ("documents", "documents"));
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("notes.d");
        fs::create_dir(&folder).unwrap();
        assert_eq!(stem_of(&folder.join("")), "notes.d");
        assert_eq!(stem_of(&folder.join("..").join("notes.d").join(".")), "notes.d");
    }
}
