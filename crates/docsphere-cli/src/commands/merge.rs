//! `docsphere merge`: clusters joined to fewer groups.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::console::{People, print_json};
use crate::numbers::{counted, grouped};
use crate::output::assignments::{self, ReadAssignment};
use crate::output::clusters;
use crate::output::groups::{self, GroupsFile};
use crate::output::names;
use crate::output::page;
use crate::output::reads::Reads;
use crate::output::table;
use crate::output::whole_file::{FileToWrite, write_together};

/// What is written: the groups, and the table that follows from them.
const WRITTEN: [&str; 2] = [groups::NAME, names::GROUP_TABLE];

/// Join the clusters of a result to fewer groups, and write the group of every document
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

    /// Groups shown in the table
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
        let clusters = clusters::read(&self.result)?;
        let file = GroupsFile::read(&self.result)?;
        ensure!(
            file.n_clusters == clusters.clusters.len(),
            "groups.json has {}, clusters.json has {}: they do not belong together",
            counted(file.n_clusters, "cluster"),
            grouped(clusters.clusters.len())
        );
        let file = file.recut(&clusters.clusters, self.groups)?;
        let assignments = assignments::read(&self.result)?;
        write_together(
            &FileToWrite {
                path: &groups_path,
                write: &|out| {
                    serde_json::to_writer_pretty(&mut *out, &file)?;
                    Ok(out.write_all(b"\n")?)
                },
            },
            &FileToWrite { path: &table_path, write: &|out| write_table(out, &assignments, &file) },
        )?;
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
        if self.result.join(page::NAME).exists() {
            let result = self.result.display();
            out.line(format_args!("for these groups in report.html: docsphere report {result}"))?;
        }
        Ok(())
    }
}

/// Writes the group of every document.
fn write_table(out: &mut dyn Write, assignments: &[ReadAssignment], file: &GroupsFile) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["id", "group", "cluster", "similarity"])?;
    for line in assignments {
        let cluster = usize::try_from(line.cluster).ok();
        let group = cluster.map_or(Some(-1), |cluster| file.group_of_cluster.get(cluster).copied());
        ensure!(group.is_some(), "document {:?} is in cluster {}, which is not there", line.id, line.cluster);
        let [group, cluster] = [group.unwrap_or(-1), line.cluster].map(|number| number.to_string());
        writer.write_record([&line.id, &group, &cluster, &format!("{:.6}", line.similarity)])?;
    }
    Ok(writer.flush()?)
}
