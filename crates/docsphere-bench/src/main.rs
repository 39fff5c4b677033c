//! `docsphere-bench`: the benchmarks of docsphere.
//!
//! | subcommand | question |
//! |---|---|
//! | `speed` | how long does each strategy take, side by side, from the same seeds? |
//! | `grid` | is `auto` near the best strategy for every corpus, k and number of threads? |
//! | `growth` | how does the time of an iteration grow with documents and with k? |
//! | `seeding` | what does each seeding method cost, and what does it gain? |
//! | `paper` | what did the paper's evaluation show, and what does it show here? |
//! | `threads` | how much faster is the whole job on more threads, stage by stage? |
//! | `device` | what does a device save in each stage, beside the CPU of the same machine? |
//! | `workers` | what do messages cost, and how does a job scale with the number of workers? |
//!
//! `recombine` makes corpora of any size for such questions.
//!
//! The stages of a measurement: [`args`] (options), [`input`] (a corpus, a matrix or generated
//! rows), [`measure`] (seeds, loops, repeats in turn, proof that results are identical),
//! [`statistics`], [`report`] (tables, figures, the machine). [`commands`] has one file per
//! subcommand.
//!
//! Exit codes: 0 done, 1 failed (also: results differ, or `auto` is too slow), 2 wrong usage.

mod args;
mod commands;
mod input;
mod measure;
mod report;
mod statistics;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Benchmarks of docsphere: strategies side by side, growth, seeding, the paper's evaluation
#[derive(Parser)]
#[command(name = "docsphere-bench", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("docsphere-bench: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
