//! `docsphere report`: the page of a result, made again.

use std::path::PathBuf;

use anyhow::Result;

use crate::args::PageArgs;
use crate::console::{People, tell};
use crate::output::page::{self, StoredPage};
use crate::output::reads::Reads;
use crate::output::whole_file::write_whole;

/// Write report.html of a result again: a page to look at, in one file
#[derive(clap::Args)]
#[command(after_help = "Example:\n  docsphere report out --report-chars 2000 --report-size 50M")]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    #[command(flatten)]
    limits: PageArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let path = self.result.join(page::NAME);
        let mut reads = Reads::default();
        reads.add_result(&self.result, &[page::NAME]);
        reads.check_file(&path)?;
        let rendered = StoredPage::read(&self.result)?.page().render(&self.limits, false)?;
        if let Some(remark) = &rendered.remark {
            tell(remark);
        }
        write_whole(&path, |out| Ok(out.write_all(rendered.html.as_bytes())?))?;
        Ok(People::new().line(format_args!("written to {}", path.display()))?)
    }
}
