//! `docsphere edit`: names, merges and other changes by people, which can be taken back.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use docsphere_result::ClustersFile;
use docsphere_result::edits::{Edit, Edits, Operation};

use crate::args::UsageError;
use crate::console::{People, print_json};
use crate::editing::{self, now};
use crate::memory;
use crate::numbers::counted;
use crate::output::table;

/// Rename, merge, split, hide or annotate clusters of a result, and take that back
#[derive(clap::Args)]
#[command(
    after_help = "Edits apply to all files of the result and are kept in OUT/edits.json. The model stays that of the run; the files of the run are in OUT/base.\n\nExamples:\n  docsphere edit out rename 8 \"Refunds\"\n  docsphere edit out merge 8 3\n  docsphere edit out undo"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Subcommand)]
enum Action {
    /// Give a cluster another name
    Rename {
        /// The number of the cluster
        cluster: u32,
        /// Its new name
        name: String,
    },
    /// Move the documents of clusters into another one, which keeps its number and its name
    Merge {
        /// The cluster that stays
        #[arg(value_name = "INTO")]
        into: u32,
        /// The clusters that become empty
        #[arg(value_name = "CLUSTER", required = true)]
        clusters: Vec<u32>,
    },
    /// Divide a cluster; the largest part keeps its number, the others get new ones at the end
    Split {
        /// The number of the cluster
        cluster: u32,
        /// The number of parts
        #[arg(long, value_name = "N")]
        into: u32,
    },
    /// Leave a cluster out of tables, lists and the map; its documents keep it
    Hide {
        /// The number of the cluster
        cluster: u32,
    },
    /// Make outliers of the documents of a cluster, which becomes empty
    Outliers {
        /// The number of the cluster
        cluster: u32,
    },
    /// Add a note to a cluster; an empty one removes it
    Note {
        /// The number of the cluster
        cluster: u32,
        /// The note
        text: String,
    },
    /// Show all edits
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the last edit
    Undo,
    /// Remove an edit, or all of them
    Remove {
        /// The number of the edit
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<u32>,
        /// Remove all edits: everything is as the run has written it
        #[arg(long)]
        all: bool,
    },
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let operation = match self.action {
            Action::List { json } => return list(&Edits::read(&self.result, &memory::of_readers())?, json),
            Action::Undo | Action::Remove { .. } => return self.take_back(),
            Action::Rename { cluster, name } => Operation::Rename { cluster, name },
            Action::Merge { into, clusters } => {
                Operation::Merge { clusters: [into].into_iter().chain(clusters).collect(), into }
            }
            Action::Split { cluster, into } => Operation::Split { cluster, parts: into },
            Action::Hide { cluster } => Operation::Hide { cluster },
            Action::Outliers { cluster } => Operation::Outliers { cluster },
            Action::Note { cluster, text } => Operation::Note { cluster, text },
        };
        let operation = operation.checked().map_err(UsageError)?;
        let edits = editing::change(&self.result, |edits| edits.add(operation, now()))?;
        let mut out = People::new();
        if let Some(edit) = edits.edits.last() {
            out.line(format_args!("edit {}: {}", edit.id, edit.operation))?;
            let clusters = ClustersFile::read(&self.result, &memory::of_readers())?;
            for cluster in after(edit, clusters.clusters.len() as u32) {
                if let Some(entry) = clusters.clusters.get(cluster as usize).filter(|entry| entry.size > 0) {
                    out.line(format_args!(
                        "cluster {cluster}: {}, {}",
                        entry.title(),
                        counted(entry.size, "document")
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// Removes edits.
    fn take_back(&self) -> Result<()> {
        let mut removed: Vec<Edit> = Vec::new();
        let edits = editing::change(&self.result, |edits| {
            match self.action {
                Action::Remove { id: Some(id), .. } => {
                    let before = edits.edits.clone();
                    if !edits.remove(id) {
                        return Err(format!("there is no edit {id}; docsphere edit OUT list shows all"));
                    }
                    removed.extend(before.into_iter().filter(|edit| edit.id == id));
                }
                Action::Undo => removed.extend(edits.edits.pop()),
                _ => removed.append(&mut edits.edits),
            }
            if removed.is_empty() { Err("the result has no edits".to_owned()) } else { Ok(()) }
        })?;
        let mut out = People::new();
        for edit in &removed {
            out.line(format_args!("removed edit {}: {}", edit.id, edit.operation))?;
        }
        Ok(out.line(format_args!("{} left", counted(edits.edits.len(), "edit")))?)
    }
}

/// The clusters to show after an edit.
fn after(edit: &Edit, n_clusters: u32) -> Vec<u32> {
    match &edit.operation {
        Operation::Merge { into, .. } => vec![*into],
        Operation::Rename { cluster, .. } => vec![*cluster],
        Operation::Split { cluster, parts } => {
            [*cluster].into_iter().chain(n_clusters + 1 - parts..n_clusters).collect()
        }
        _ => Vec::new(),
    }
}

fn list(edits: &Edits, json: bool) -> Result<()> {
    if json {
        return print_json(edits);
    }
    let mut out = People::new();
    if edits.is_empty() {
        return Ok(out.line("no edits")?);
    }
    for edit in &edits.edits {
        let left = format!("{:>4}  {}  ", edit.id, edit.time);
        let room = table::width().saturating_sub(left.len());
        out.line(format_args!("{left}{}", table::shortened(&edit.operation.to_string(), room)))?;
    }
    Ok(())
}
