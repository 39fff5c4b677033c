//! The `docsphere` command: arguments in, library objects, files and text out.
//!
//! `args/` defines the options and turns them into library objects; `commands/` has one file per
//! subcommand; `output/` writes the results. Exit codes: 0 done, 1 failed, 2 wrong usage,
//! 130 interrupted.
//!
//! [`run`] is the whole command. The binary calls it, and so does the Python package, whose wheel
//! has the command as well. It is not meant for other programs: it installs signal handlers, writes
//! to standard output, and may end the process. Programs use the crate `docsphere`.

mod args;
mod commands;
mod console;
mod copies;
mod editing;
#[cfg(debug_assertions)]
mod fail_points;
mod failure;
mod files;
mod input;
mod interrupt;
#[cfg(feature = "cuda")]
mod kernels;
mod memory;
mod numbers;
mod output;
mod progress;
#[cfg(feature = "serve")]
mod serve;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::args::MoreWords;
use crate::commands::Command;

/// Cluster documents by topic: exact spherical k-means on TF-IDF vectors
#[derive(Parser)]
#[command(name = "docsphere", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    /// What the user should know about the options, if anything.
    #[arg(skip)]
    note: Option<String>,
}

/// Why a command line cannot be run.
#[derive(Debug)]
pub(crate) enum BadWords {
    /// Its words, or a wish for help.
    Typed(clap::Error),
    /// A file that it takes options from.
    File(anyhow::Error),
}

impl std::fmt::Display for BadWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BadWords::Typed(error) => error.fmt(f),
            BadWords::File(error) => write!(f, "{error:#}"),
        }
    }
}

impl std::error::Error for BadWords {}

impl From<clap::Error> for BadWords {
    fn from(error: clap::Error) -> Self {
        BadWords::Typed(error)
    }
}

impl Cli {
    /// Parses a command line, which begins with the name of the command. Options that were not
    /// typed may come from a file.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, BadWords> {
        let mut words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let mut command = Cli::command();
        let mut matches = command.try_get_matches_from_mut(&words)?;
        let more = MoreWords::new(&command, &matches).map_err(BadWords::File)?;
        if !more.words.is_empty() {
            // After the names of the command and of the subcommand.
            words.splice(2..2, more.words);
            matches = command.try_get_matches_from_mut(&words)?;
        }
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        cli.note = more.note;
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

/// Runs a command line, whose first word is the name of the command, and returns the exit code.
/// Call it once per process, and end the process afterwards.
#[must_use]
pub fn run(words: Vec<OsString>) -> u8 {
    let cli = match Cli::read(&words) {
        Ok(cli) => cli,
        Err(BadWords::Typed(error)) => return failure::report_usage(error, &words),
        Err(BadWords::File(error)) => return failure::report(&error),
    };
    cli.note.iter().for_each(|note| console::tell(note));
    interrupt::listen();
    #[cfg(feature = "cuda")]
    kernels::keep();
    #[cfg(debug_assertions)]
    fail_points::listen();
    match cli.command.run() {
        Ok(()) if interrupt::asked_to_stop() => interrupt::EXIT_CODE,
        Ok(()) => 0,
        Err(error) => failure::report(&error),
    }
}
