//! `docsphere completions`: completion scripts for shells.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        clap_complete::generate(self.shell, &mut Cli::command(), "docsphere", &mut std::io::stdout());
        Ok(())
    }
}
