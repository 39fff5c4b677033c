//! The subcommands, one file each, and [`runs`], the table of single runs that several of them write.

mod grid;
mod growth;
mod runs;
mod seeding;
mod speed;

use anyhow::Result;
use clap::Subcommand;

/// What can be measured.
#[derive(Subcommand)]
pub(crate) enum Command {
    Speed(speed::Args),
    Grid(grid::Args),
    Growth(growth::Args),
    Seeding(seeding::Args),
}

impl Command {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Command::Speed(args) => speed::run(args),
            Command::Grid(args) => grid::run(args),
            Command::Growth(args) => growth::run(args),
            Command::Seeding(args) => seeding::run(args),
        }
    }
}
