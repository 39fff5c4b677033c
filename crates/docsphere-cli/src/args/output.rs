//! What is written and shown.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use docsphere_result::AssignmentsFormat;

/// What is written and shown.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The folder for the result; it appears whole, or not at all
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Replace a result that is there already; a folder that holds anything else is refused
    #[arg(long)]
    pub(crate) force: bool,

    /// The format of the assignments
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = assignments_formats())]
    pub(crate) assignments: AssignmentsFormat,

    /// Also write the second nearest cluster of each document
    #[arg(long)]
    pub(crate) runner_up: bool,

    /// Keywords a cluster
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) keywords: usize,

    /// Representative documents a cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) representatives: usize,

    /// Least typical documents a cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) least_typical: usize,

    /// Do not write report.html, the page to look at
    #[arg(long)]
    pub(crate) no_report: bool,

    /// Also write a search index over all documents, for docsphere serve; it holds all texts
    #[cfg(feature = "serve")]
    #[arg(long)]
    pub(crate) index: bool,

    /// Clusters shown in the table
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
    /// Whether no progress is shown.
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

/// The formats of the assignments, by name.
fn assignments_formats() -> impl TypedValueParser<Value = AssignmentsFormat> {
    let names = AssignmentsFormat::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AssignmentsFormat>())
}
