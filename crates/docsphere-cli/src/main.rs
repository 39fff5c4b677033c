//! The `docsphere` command: arguments in, library objects, files and text out.
//!
//! `args/` says what may be typed and turns it into library objects; `commands/` has one file a subcommand; `output/` writes what a run leaves behind. Exit codes: 0 done, 1 failed,
//! 2 wrong usage, 130 interrupted.

mod args;
mod commands;
mod input;
mod interrupt;
mod memory;
mod numbers;
mod output;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Groups documents by what they are about: exact spherical k-means on TF-IDF vectors
#[derive(Parser)]
#[command(name = "docsphere", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::listen();
    match cli.command.run() {
        Ok(()) if interrupt::asked_to_stop() => ExitCode::from(interrupt::EXIT_CODE),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::report(&error),
    }
}
