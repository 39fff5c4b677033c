//! `docsphere report`: writes the report of a result again.

use std::path::PathBuf;

use anyhow::Result;
use docsphere_result::{StoredPage, names};

use crate::args::PageArgs;
use crate::console::{People, tell};
use crate::memory;
use crate::output::reads::Reads;
use crate::output::result_lock::ResultLock;
use crate::output::whole_file::write_whole;

/// Write the report of a result again, as a single file, report.html
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
        let path = self.result.join(names::REPORT);
        let mut reads = Reads::default();
        reads.add_result(&self.result, &[names::REPORT]);
        reads.check_file(&path)?;
        let lock = ResultLock::take(&self.result)?;
        let rendered =
            StoredPage::read(&self.result, &memory::of_readers())?.page().render(self.limits.limits(), false);
        if let Some(remark) = self.limits.remark(&rendered) {
            tell(&remark);
        }
        write_whole(&path, |out| {
            out.write_all(rendered.html.as_bytes())?;
            lock.check(&self.result)
        })?;
        Ok(People::new().line(format_args!("written to {}", path.display()))?)
    }
}
