//! `docsphere merge`: joins clusters into fewer groups.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use docsphere_result::edits::Edits;
use docsphere_result::{ClustersFile, GroupsFile, names, read_assignments};

use crate::console::{People, print_json};
use crate::editing;
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::output::reads::Reads;
use crate::output::result_lock::ResultLock;
use crate::output::table;
use crate::output::whole_file::{FileToWrite, write_together};

/// The files written: the groups, and the table derived from them.
const WRITTEN: [&str; 2] = [names::GROUPS, names::GROUP_TABLE];

/// Join the clusters of a result into fewer groups, and write the group of every document
#[derive(clap::Args)]
#[command(
    after_help = "Writes OUT/groups.json (groups, and the group of each cluster) and OUT/groups.csv (id, group, cluster, similarity).\n\nExample:\n  docsphere merge out --groups 20"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    /// The number of groups
    #[arg(short, long, value_name = "N")]
    groups: usize,

    /// Number of groups shown in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,

    /// Print the groups as JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let [groups_path, table_path] = WRITTEN.map(|name| self.result.join(name));
        for (path, written) in [(&groups_path, &WRITTEN[..]), (&table_path, &WRITTEN[1..])] {
            let mut reads = Reads::default();
            reads.add_result(&self.result, written);
            reads.check_file(path)?;
        }
        let limit = &memory::of_readers();
        let lock = ResultLock::take(&self.result)?;
        if !Edits::read(&self.result, limit)?.is_empty() {
            drop(lock);
            editing::recut(&self.result, self.groups)?;
            return self.show(&GroupsFile::read(&self.result, limit)?);
        }
        let clusters = ClustersFile::read(&self.result, limit)?;
        let file = GroupsFile::read(&self.result, limit)?;
        ensure!(
            file.n_clusters == clusters.clusters.len(),
            "groups.json has {}, clusters.json has {}: they do not belong together",
            counted(file.n_clusters, "cluster"),
            grouped(clusters.clusters.len())
        );
        let file = file.recut(&clusters.clusters, self.groups)?;
        let assignments = read_assignments(&self.result, limit)?;
        // The last of several parts may be missing.
        ensure!(
            assignments.len() == clusters.n_assigned(),
            "{}: the assignments are of {}, clusters.json is of {}: they do not belong together",
            self.result.display(),
            counted(assignments.len(), "document"),
            grouped(clusters.n_assigned())
        );
        write_together(
            &FileToWrite { path: &groups_path, write: &|out| Ok(file.write_to(out)?) },
            &FileToWrite {
                path: &table_path,
                write: &|out| {
                    file.write_table(&assignments, out)?;
                    lock.check(&self.result)
                },
            },
        )?;
        self.show(&file)
    }

    fn show(&self, file: &GroupsFile) -> Result<()> {
        let table_path = self.result.join(names::GROUP_TABLE);
        if self.json {
            return print_json(&file.groups);
        }
        let mut out = People::new();
        out.line(format_args!(
            "{} joined to {}",
            counted(file.n_clusters, "cluster"),
            counted(file.n_groups, "group")
        ))?;
        out.line("")?;
        table::write_groups(&mut out, &file.groups, self.show)?;
        out.line("")?;
        out.line(format_args!("written to {}", table_path.display()))?;
        if self.result.join(names::REPORT).exists() {
            let result = self.result.display();
            out.line(format_args!("for these groups in report.html: docsphere report {result}"))?;
        }
        Ok(())
    }
}
