//! `docsphere add`: new documents join a result.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{ArgMatches, Args as _};
use docsphere::NewClusters;
use docsphere_result::Setting;
use docsphere_result::documents::id_of_passage;

use super::growing::{Growing, GrowingArgs, NewDocuments, Selection};
use crate::args::{InputArgs, typed_options};
use crate::numbers::{counted, grouped};
use crate::output::reads::Reads;

/// Add new documents to a result: each joins its nearest cluster, then the run goes on over all
#[derive(clap::Args)]
#[command(
    after_help = "Input options that are not given are those of the run that made the result.\n\nExamples:\n  docsphere add out may.csv\n  docsphere add out may.csv --new-clusters auto"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,
    #[command(flatten)]
    input: InputArgs,

    /// Leave out documents whose ids the result has already, instead of refusing them
    #[arg(long, help_heading = "Input", conflicts_with = "replace")]
    skip_known: bool,

    /// Replace documents whose ids the result has already
    #[arg(long, help_heading = "Input")]
    replace: bool,

    /// Open so many clusters for new documents that fit nowhere; auto for as many as they would
    /// fill. The other clusters keep their numbers
    #[arg(long, value_name = "N|auto", help_heading = "Clustering", conflicts_with = "freeze")]
    new_clusters: Option<NewNumber>,

    #[command(flatten)]
    growing: GrowingArgs,

    /// The options that were typed: they take the place of those of the run.
    #[arg(skip)]
    typed: Vec<Setting>,
}

/// The number of new clusters, as typed.
#[derive(Clone, Copy, Debug)]
struct NewNumber(NewClusters);

impl std::str::FromStr for NewNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(NewNumber(NewClusters::Auto)),
            _ => match text.parse() {
                Ok(number) if number <= 1_000_000 => Ok(NewNumber(NewClusters::Number(number))),
                _ => Err("give a number of clusters, or auto".to_owned()),
            },
        }
    }
}

impl Args {
    /// Records which options of the input were typed.
    pub(crate) fn note_typed(&mut self, command: &clap::Command, matches: &ArgMatches) {
        let of_input = InputArgs::augment_args(clap::Command::new("input"));
        let is_of_input = |setting: &Setting| {
            let long = setting.name.strip_prefix("--");
            long.is_some_and(|long| of_input.get_arguments().any(|arg| arg.get_long() == Some(long)))
        };
        self.typed = typed_options(command, matches).into_iter().filter(is_of_input).collect();
    }

    pub(crate) fn run(self) -> Result<()> {
        let reads = Reads::of_input(&self.input);
        let mut growing =
            Growing::begin(&self.growing, &self.result, &reads, (&self.input.inputs, &self.typed))?;
        let new = growing.read()?;
        if new.ids.is_empty() {
            return growing.leave("the input has no documents");
        }
        let selection = self.selection(&growing, &new)?;
        let n_skipped = selection.new.iter().filter(|&&is_added| !is_added).count();
        if n_skipped == new.ids.len() {
            return growing.leave("the result has all of these documents already");
        }
        let n_repeated = new.ids.len() - new.ids.iter().collect::<HashSet<_>>().len();
        let mut after = growing.after(Some(new), &selection)?;
        after.loaded.note(
            n_repeated,
            "new document has an id that an earlier one has too",
            "new documents have an id that an earlier one has too",
        );
        after.loaded.note(
            n_skipped,
            "document is in the result already and was left out",
            "documents are in the result already and were left out",
        );
        growing.finish(after, self.new_clusters.map_or(NewClusters::None, |number| number.0))
    }

    /// Which documents there are afterwards. Refuses ids that the result has, unless it is said
    /// what to do with them.
    fn selection(&self, growing: &Growing<'_>, new: &NewDocuments) -> Result<Selection> {
        let has_passages = growing.before.has_passages();
        let whole =
            |id: &str| -> String { if has_passages { id_of_passage(id).to_owned() } else { id.to_owned() } };
        let lines = &growing.before.lines;
        let added: HashSet<String> = new.ids.iter().map(&whole).collect();
        let known: HashSet<String> =
            lines.iter().map(|line| whole(&line.id)).filter(|id| added.contains(id)).collect();
        let is_known = |id: &str| !known.is_empty() && known.contains(&whole(id));
        let (all_old, all_new) = (vec![true; lines.len()], vec![true; new.ids.len()]);
        if known.is_empty() {
            return Ok(Selection { old: all_old, new: all_new });
        }
        if self.skip_known {
            let new = new.ids.iter().map(|id| !is_known(id)).collect();
            return Ok(Selection { old: all_old, new });
        }
        if self.replace {
            let old = lines.iter().map(|line| !is_known(&line.id)).collect();
            return Ok(Selection { old, new: all_new });
        }
        let first = new.ids.iter().find(|id| is_known(id)).map(whole).unwrap_or_default();
        let others = match known.len() {
            1 => String::new(),
            n => format!(" and {} more", counted(n - 1, "id")),
        };
        bail!(
            "{}: has {first:?}{others} of these {} documents already; --skip-known leaves them out, --replace puts the new ones in their place",
            self.result.display(),
            grouped(added.len())
        );
    }
}
