//! `docsphere completions`: completion scripts for shells.

use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::console::data;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  docsphere completions bash > ~/.local/share/bash-completion/completions/docsphere"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        // Into memory first: the generator panics if the pipe is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "docsphere", &mut script);
        let mut out = data();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
