//! The subcommands, one file each, and [`runs`], the table of single runs that several of them
//! write.

mod device;
mod grid;
mod growth;
mod paper;
mod recombine;
mod runs;
mod seeding;
mod speed;
mod threads;
mod workers;

use anyhow::{Result, ensure};
use clap::Subcommand;

/// The subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Speed(speed::Args),
    Grid(grid::Args),
    Growth(growth::Args),
    Seeding(seeding::Args),
    Paper(paper::Args),
    Threads(threads::Args),
    Workers(workers::Args),
    Device(device::Args),
    Recombine(recombine::Args),
}

impl Command {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Command::Speed(args) => speed::run(args),
            Command::Grid(args) => grid::run(args),
            Command::Growth(args) => growth::run(args),
            Command::Seeding(args) => seeding::run(args),
            Command::Paper(args) => paper::run(args),
            Command::Threads(args) => threads::run(args),
            Command::Workers(args) => workers::run(args),
            Command::Device(args) => device::run(args),
            Command::Recombine(args) => recombine::run(args),
        }
    }
}

/// The number of documents used of each corpus: all, the same number of each, or a number for each.
fn docs_by_corpus(docs: &[usize], n_corpora: usize) -> Result<Vec<Option<usize>>> {
    match docs {
        [] => Ok(vec![None; n_corpora]),
        [n_docs] => Ok(vec![Some(*n_docs); n_corpora]),
        _ => {
            ensure!(
                docs.len() == n_corpora,
                "--docs must be one number, or one for each of the {n_corpora} corpora"
            );
            Ok(docs.iter().copied().map(Some).collect())
        }
    }
}
