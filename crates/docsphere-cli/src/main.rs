//! The `docsphere` command: arguments in, library objects, files and text out.
//!
//! `args/` defines the options and turns them into library objects; `commands/` has one file per
//! subcommand; `output/` writes the results. Exit codes: 0 done, 1 failed, 2 wrong usage,
//! 130 interrupted.

mod args;
mod commands;
mod console;
mod copies;
#[cfg(debug_assertions)]
mod fail_points;
mod failure;
mod files;
mod input;
mod interrupt;
mod memory;
mod numbers;
mod output;
mod progress;
#[cfg(feature = "serve")]
mod serve;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::commands::Command;

/// Cluster documents by topic: exact spherical k-means on TF-IDF vectors
#[derive(Parser)]
#[command(name = "docsphere", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Parses a command line, which begins with the name of the command.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(words)?;
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        if let Some((name, matches)) = matches.subcommand() {
            let command = command.find_subcommand(name).expect("it was typed");
            match &mut cli.command {
                Command::Cluster(args) => args.note_settings(command, matches),
                Command::Sweep(args) => args.note_settings(command, matches),
                Command::Add(args) => args.note_typed(command, matches),
                _ => {}
            }
        }
        Ok(cli)
    }
}

fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return failure::report_usage(error),
    };
    interrupt::listen();
    #[cfg(debug_assertions)]
    fail_points::listen();
    match cli.command.run() {
        Ok(()) if interrupt::asked_to_stop() => ExitCode::from(interrupt::EXIT_CODE),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
