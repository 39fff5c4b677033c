//! Options for the files and the text that a run writes.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use docsphere_result::AssignmentsFormat;

/// Options for the files and the text that a run writes.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder for the result; it appears whole or not at all
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

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

/// The formats of the assignments, by name.
fn assignments_formats() -> impl TypedValueParser<Value = AssignmentsFormat> {
    let names = AssignmentsFormat::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AssignmentsFormat>())
}
