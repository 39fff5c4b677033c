//! `docsphere man`: manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::Cli;

/// Write manual pages into a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the pages, created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let write = || -> Result<()> {
            fs::create_dir_all(&self.folder)?;
            Ok(clap_mangen::generate_to(Cli::command(), &self.folder)?)
        };
        write().with_context(|| format!("{}: cannot write manual pages", self.folder.display()))
    }
}
