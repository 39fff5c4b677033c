//! The `docsphere` command: arguments in, library objects, files and text out.
//!
//! `args/` says what may be typed and turns it into library objects; `commands/` has one file a subcommand; `output/` writes what a run leaves behind. Exit codes: 0 done, 1 failed,
//! 2 wrong usage, 130 interrupted.

mod args;
mod commands;
mod input;
mod interrupt;
mod memory;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use docsphere::ErrorKind;

use crate::commands::Command;

/// Groups documents by what they are about: exact spherical k-means on TF-IDF vectors.
#[derive(Parser)]
#[command(name = "docsphere", version, about, max_term_width = 100)]
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
        Err(error) => report(&error),
    }
}

/// Prints the error on one line and says how the process ends.
fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let kind = error.downcast_ref::<docsphere::Error>().map(docsphere::Error::kind);
    if interrupt::asked_to_stop() && matches!(kind, Some(ErrorKind::Stopped { .. })) {
        eprintln!("docsphere: interrupted; nothing was written");
        return ExitCode::from(interrupt::EXIT_CODE);
    }
    eprintln!("docsphere: error: {error:#}");
    let is_usage = matches!(kind, Some(ErrorKind::Parameter { .. })) || error.is::<args::UsageError>();
    ExitCode::from(if is_usage { 2 } else { 1 })
}

/// Whoever reads our output has seen enough: that is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    };
    error.chain().any(is_pipe)
}
