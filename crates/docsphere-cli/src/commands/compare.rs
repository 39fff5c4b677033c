//! `docsphere compare`: how clusters flow from one result to another.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use docsphere_result::{ComparedCluster, Comparison, Fate, MatchBy};

use crate::console::{People, escaped, print_json, tell};
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::output::reads::Reads;
use crate::output::table;
use crate::output::whole_file::write_whole;

/// Compare two results: which clusters were kept, split, merged, vanished and appeared
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  docsphere compare march april\n  docsphere compare march april -o flow.html"
)]
pub(crate) struct Args {
    /// The first result folder
    #[arg(value_name = "OUT1")]
    first: PathBuf,

    /// The second result folder
    #[arg(value_name = "OUT2")]
    second: PathBuf,

    /// How clusters are matched: by documents with the same id, by centroids, or auto (documents if
    /// at least half of the smaller result is in both)
    #[arg(long, value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    by: By,

    /// Also write a page with a flow diagram to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace this file if it is there already
    #[arg(long)]
    force: bool,

    /// Number of clusters shown in each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    Auto,
    Documents,
    Centroids,
}

/// Below this adjusted Rand index, two results have no more in common than by chance.
const CHANCE: f64 = 0.02;

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(path) = &self.output {
            let mut reads = Reads::default();
            reads.add_result(&self.first, &[]);
            reads.add_result(&self.second, &[]);
            reads.check_file(path)?;
            anyhow::ensure!(
                self.force || !path.exists(),
                "{}: is there already and is not replaced; choose another name, or give --force",
                path.display()
            );
        }
        let by = match self.by {
            By::Auto => None,
            By::Documents => Some(MatchBy::Documents),
            By::Centroids => Some(MatchBy::Centroids),
        };
        let comparison = Comparison::read(&self.first, &self.second, by, &memory::of_readers())?;
        if let Some(path) = &self.output {
            let page = comparison.page();
            write_whole(path, |out| Ok(out.write_all(page.as_bytes())?))?;
        }
        if self.json {
            print_json(&comparison)?;
        } else {
            self.show(&comparison)?;
        }
        let has_several = comparison.first.clusters.len().min(comparison.second.clusters.len()) > 1;
        let is_chance = comparison.ari.is_some_and(|ari| ari < CHANCE);
        if comparison.by == MatchBy::Documents && has_several && is_chance {
            tell(
                "note: the clusters have no more in common than by chance; do the same ids stand for the same documents? --by centroids compares clusters by their words",
            );
        }
        Ok(())
    }

    fn show(&self, comparison: &Comparison) -> Result<()> {
        let mut out = People::new();
        for (title, result) in [("first", &comparison.first), ("second", &comparison.second)] {
            out.line(format_args!(
                "{title:<7} {}: {} in {}",
                escaped(&result.name),
                counted(result.n_documents, "document"),
                counted(result.clusters.len(), "cluster")
            ))?;
        }
        let shared = match comparison.n_shared_documents {
            1 => "1 document is in both".to_owned(),
            n => format!("{} documents are in both", grouped(n)),
        };
        match (comparison.nmi, comparison.ari) {
            (Some(nmi), Some(ari)) => out.line(format_args!("{shared}: NMI {nmi:.3}, ARI {ari:.3}"))?,
            _ => out.line(shared)?,
        }
        if comparison.by == MatchBy::Centroids {
            out.line("clusters are matched by their centroids")?;
        }
        for (fate, title) in [
            (Fate::Split, "split"),
            (Fate::Merged, "merged"),
            (Fate::Vanished, "vanished"),
            (Fate::Appeared, "appeared"),
            (Fate::Kept, "kept"),
        ] {
            let all: Vec<&ComparedCluster> = comparison.of_fate(fate).collect();
            out.line("")?;
            out.bold(format_args!("{title}: {}", grouped(all.len())))?;
            self.list(&mut out, comparison, fate, &all)?;
        }
        if let Some(path) = &self.output {
            out.line("")?;
            out.line(format_args!("written to {}", path.display()))?;
        }
        Ok(())
    }

    fn list(
        &self,
        out: &mut People,
        comparison: &Comparison,
        fate: Fate,
        all: &[&ComparedCluster],
    ) -> Result<()> {
        let is_of_second = matches!(fate, Fate::Merged | Fate::Appeared);
        let other = if is_of_second { &comparison.first } else { &comparison.second };
        let others: HashMap<u32, &ComparedCluster> =
            other.clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
        let line = |cluster: &ComparedCluster, before: &str| {
            let left = format!("{before}{:>7} {:>8}  ", cluster.id, grouped(cluster.size));
            let room = table::width().saturating_sub(left.chars().count());
            format!("{left}{}", table::shortened(&cluster.name, room))
        };
        for cluster in all.iter().take(self.show) {
            out.line(line(cluster, ""))?;
            let arrow = if is_of_second { "    <-" } else { "    ->" };
            for other in cluster.others.iter().filter_map(|id| others.get(id)) {
                if fate != Fate::Kept || other.name != cluster.name {
                    out.line(line(other, arrow))?;
                }
            }
        }
        if all.len() > self.show {
            out.dim(format_args!(
                "and {}; see --show and --json",
                counted(all.len() - self.show, "more cluster")
            ))?;
        }
        Ok(())
    }
}
