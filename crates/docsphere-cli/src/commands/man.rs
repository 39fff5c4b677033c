//! `docsphere man`: manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::Cli;
use crate::output::whole_file::write_whole;

/// Write manual pages into a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the pages, created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let folder = self.folder.display();
        fs::create_dir_all(&self.folder).with_context(|| format!("{folder}: cannot write manual pages"))?;
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        self.write(&command)
    }

    /// Writes the page of a command, after those of its subcommands.
    fn write(&self, command: &Command) -> Result<()> {
        command.get_subcommands().filter(|part| !part.is_hide_set()).try_for_each(|part| self.write(part))?;
        let page = Man::new(command.clone());
        write_whole(&self.folder.join(page.get_filename()), |out| Ok(page.render(out)?))
    }
}
