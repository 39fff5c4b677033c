//! `docsphere remove`: documents leave a result.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use docsphere::NewClusters;
use docsphere_result::documents::id_of_passage;
use docsphere_result::files::Reading;

use super::growing::{Growing, GrowingArgs, Selection};
use crate::console::tell;
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::output::reads::Reads;

/// Maximum length of an id.
const MAX_ID_BYTES: usize = 1_000_000;

/// Memory of an id for each byte of a short line: a string of its own, and slots in two tables.
const ID_COPIES: u64 = 100;

/// Maximum number of unknown ids that are named.
const NAMED_IDS: usize = 20;

/// Remove documents from a result; then the run goes on over those that stay
#[derive(clap::Args)]
#[command(
    after_help = "A cluster that loses its last document takes the document that fits its own cluster worst, as in\nevery run; with --freeze it stays empty. Numbers of clusters stay.\n\nExample:\n  docsphere remove out --ids withdrawn.txt"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    /// File with the ids of the documents, one per line; of documents that were cut into passages,
    /// the ids of documents, which lose all of their passages
    #[arg(long, value_name = "FILE")]
    ids: PathBuf,

    #[command(flatten)]
    growing: GrowingArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let mut reads = Reads::default();
        reads.add("the file of --ids", Some(&self.ids));
        let mut growing = Growing::begin(&self.growing, &self.result, &reads, (&[], &[]))?;
        let ids = read_ids(&self.ids)?;
        let has_passages = growing.before.has_passages();
        let lines = &growing.before.lines;
        let whole = |id: &'_ str| if has_passages { id_of_passage(id).to_owned() } else { id.to_owned() };
        let stays: Vec<bool> = lines.iter().map(|line| !ids.contains(&whole(&line.id))).collect();
        let known: HashSet<String> =
            lines.iter().zip(&stays).filter(|(_, stays)| !**stays).map(|(line, _)| whole(&line.id)).collect();
        let unknown: BTreeSet<&str> =
            ids.iter().filter(|id| !known.contains(*id)).map(String::as_str).collect();
        if !unknown.is_empty() && !self.growing.quiet {
            tell(&told(&unknown));
        }
        if known.is_empty() {
            return growing.leave(&format!(
                "it has none of the {} of {}",
                counted(ids.len(), "id"),
                self.ids.display()
            ));
        }
        ensure!(
            stays.contains(&true),
            "{}: all of its documents would be removed; delete the folder instead",
            self.result.display()
        );
        let after = growing.after(None, &Selection { old: stays, new: Vec::new() })?;
        growing.finish(after, NewClusters::None)
    }
}

/// Which ids were not found.
fn told(unknown: &BTreeSet<&str>) -> String {
    let named: Vec<String> = unknown.iter().take(NAMED_IDS).map(|id| format!("{id:?}")).collect();
    let more = match unknown.len() - named.len() {
        0 => String::new(),
        n => format!(" and {} more", grouped(n)),
    };
    let are = if unknown.len() == 1 { "is" } else { "are" };
    format!("note: {} {are} not in the result: {}{more}", counted(unknown.len(), "id"), named.join(", "))
}

/// Reads ids, one per line. Empty lines count for nothing.
fn read_ids(path: &Path) -> Result<HashSet<String>> {
    let mut ids = HashSet::new();
    let limit = memory::of_readers();
    let reading = Reading { what: "the ids", kept: ID_COPIES, limit: &limit };
    reading.for_each_line(path, MAX_ID_BYTES, |id| {
        if !id.is_empty() {
            ids.insert(id.to_owned());
        }
        Ok(())
    })?;
    Ok(ids)
}
