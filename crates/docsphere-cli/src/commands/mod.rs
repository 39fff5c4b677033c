//! One file per subcommand, each with its `Args` and its `run`.

mod add;
mod assign;
mod cluster;
mod compare;
mod completions;
mod demo;
mod edit;
mod export;
mod growing;
#[cfg(feature = "serve")]
mod index;
mod inspect;
mod man;
mod merge;
mod model_rows;
mod remove;
mod report;
mod score;
#[cfg(feature = "serve")]
mod serve;
mod sweep;
mod vectorize;
mod verify;
mod within;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use docsphere_result::names;

/// The subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Cluster(Box<cluster::Args>),
    Sweep(Box<sweep::Args>),
    Assign(assign::Args),
    Add(Box<add::Args>),
    Remove(remove::Args),
    Inspect(inspect::Args),
    Score(score::Args),
    Compare(compare::Args),
    Report(report::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    #[cfg(feature = "serve")]
    Index(index::Args),
    Edit(edit::Args),
    Merge(merge::Args),
    Verify(verify::Args),
    Vectorize(vectorize::Args),
    Export(export::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Command::Cluster(args) => args.run(),
            Command::Sweep(args) => args.run(),
            Command::Assign(args) => args.run(),
            Command::Add(args) => args.run(),
            Command::Remove(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Score(args) => args.run(),
            Command::Compare(args) => args.run(),
            Command::Report(args) => args.run(),
            #[cfg(feature = "serve")]
            Command::Serve(args) => args.run(),
            #[cfg(feature = "serve")]
            Command::Index(args) => args.run(),
            Command::Edit(args) => args.run(),
            Command::Merge(args) => args.run(),
            Command::Verify(args) => args.run(),
            Command::Vectorize(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }
}

/// The model file of a result folder, or the path itself if it is a file.
fn model_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(names::MODEL) } else { path.to_owned() }
}
