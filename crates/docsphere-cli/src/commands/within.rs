//! The documents of one cluster of a result, as the input of a run of their own.
//!
//! They are written from the stores of the result into a file of records, which the run then reads
//! as any other input. Fields have names that no column is likely to have.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::CommandFactory;
use docsphere::{ColumnStore, CorpusFormat, Html, StoredRow, TextStore};
use docsphere_result::{ClustersFile, ReadTrace, Setting, names, read_assignments};

use super::{Command, cluster};
use crate::Cli;
use crate::args::{AnyFormat, InputArgs};
use crate::memory;
use crate::numbers::grouped;

/// The fields of the records.
const TEXT: &str = "docsphere text";
const ID: &str = "docsphere id";

/// Options of the run that are not those of a run over one cluster.
const LEFT_OUT: [&str; 4] = ["--split", "--vocabulary", "--within", "--cluster"];

/// A cluster of a result.
pub(super) struct Within {
    pub(super) result: PathBuf,
    pub(super) cluster: u32,
    /// Whether each document of the result is in the cluster.
    is_in: Vec<bool>,
    texts: TextStore,
    columns: Option<ColumnStore>,
    settings: Vec<Setting>,
}

impl Within {
    /// Opens the stores of a result.
    pub(super) fn open(result: &Path, cluster: u32) -> Result<Self> {
        let limit = memory::of_readers();
        let shown = result.display();
        let clusters = ClustersFile::read(result, &limit)?;
        ensure!(
            (cluster as usize) < clusters.clusters.len(),
            "--cluster must be at most {}, the last cluster of {shown}, got {cluster}",
            clusters.clusters.len().saturating_sub(1)
        );
        ensure!(
            result.join(names::TEXTS).exists(),
            "{shown}: has no texts of its documents ({}): it was made with --no-rows, from a matrix, by sweep, on several machines, or by an older version; cluster its documents again with docsphere cluster",
            names::TEXTS
        );
        let texts = TextStore::open_within(result.join(names::TEXTS), &limit)?;
        let columns = match result.join(names::COLUMN_VALUES).exists() {
            true => Some(ColumnStore::open_within(result.join(names::COLUMN_VALUES), &limit)?),
            false => None,
        };
        let lines = read_assignments(result, &limit)?;
        if lines.len() as u64 != texts.n_documents() {
            bail!(
                "{shown}: {} is of {} documents, the assignments are of {}: they do not belong together",
                names::TEXTS,
                grouped(texts.n_documents() as usize),
                grouped(lines.len())
            );
        }
        let is_in: Vec<bool> =
            lines.iter().map(|line| i64::from(line.cluster) == i64::from(cluster)).collect();
        ensure!(is_in.contains(&true), "{shown}: cluster {cluster} has no documents");
        let settings = ReadTrace::read(result, &limit)?.settings;
        Ok(Within { result: result.to_owned(), cluster, is_in, texts, columns, settings })
    }

    /// The arguments of the run: what was typed, then the options of the result about input and
    /// text.
    pub(super) fn arguments(&self, typed: &[Setting]) -> Result<cluster::Args> {
        let command = Cli::command();
        let cluster = command.find_subcommand("cluster").expect("it is a subcommand");
        let is_taken = |setting: &&Setting| {
            let long = setting.name.strip_prefix("--").unwrap_or_default();
            let arg = cluster.get_arguments().find(|arg| arg.get_long() == Some(long));
            let heading = arg.and_then(|arg| arg.get_help_heading()).unwrap_or_default();
            ["Input", "Text"].contains(&heading)
                && !LEFT_OUT.contains(&&*setting.name)
                && !typed.iter().any(|other| other.name == setting.name)
        };
        let mut words: Vec<OsString> = vec!["docsphere".into(), "cluster".into()];
        let settings = self.settings.iter().filter(is_taken).chain(typed);
        words.extend(settings.flat_map(Setting::words).map(OsString::from));
        let cli = Cli::read(words)
            .with_context(|| format!("{}: its options cannot be read", self.result.display()))?;
        match cli.command {
            Command::Cluster(args) => Ok(*args),
            _ => unreachable!("the words above say cluster"),
        }
    }

    /// Writes the documents into a file. Returns the names of the columns in which one has a value.
    pub(super) fn write(&self, path: &Path) -> Result<Vec<String>> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut rows = self.columns.as_ref().map(ColumnStore::rows);
        let names = self.columns.as_ref().map_or(&[][..], ColumnStore::names);
        let mut has_value = vec![false; names.len()];
        let mut outcome = Ok(());
        let mut is_in = self.is_in.iter();
        let mut put = |id: &str, text: &str| -> Result<()> {
            let is_in = is_in.next().is_some_and(|&is_in| is_in);
            let row = rows.as_mut().map(|rows| rows.next_row()).transpose()?.flatten();
            if !is_in {
                return Ok(());
            }
            let mut record = BTreeMap::from([(ID, id), (TEXT, text)]);
            for (column, value) in row.iter().flat_map(StoredRow::values) {
                has_value[column] = true;
                record.insert(&names[column], value);
            }
            serde_json::to_writer(&mut file, &record)?;
            Ok(file.write_all(b"\n")?)
        };
        self.texts.for_each_document(|document| {
            if outcome.is_ok() {
                outcome = put(document.id, document.text);
            }
        })?;
        outcome.with_context(|| format!("{}: cannot write", path.display()))?;
        file.flush().with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(names.iter().zip(has_value).filter(|(_, has)| *has).map(|(name, _)| name.clone()).collect())
    }

    /// The input of the run, for this file. Texts are as they were read before: without tags, and
    /// cut into passages.
    pub(super) fn input(&self, given: &InputArgs, path: PathBuf) -> InputArgs {
        InputArgs {
            inputs: vec![path],
            format: Some(AnyFormat::Documents(CorpusFormat::JsonLines)),
            text_field: vec![TEXT.to_owned()],
            id_field: Some(ID.to_owned()),
            delimiter: None,
            quote: None,
            sheet: None,
            encoding: None,
            html: Html::Keep,
            keep_quotes: true,
            glob: None,
            ..given.clone()
        }
    }

    /// Whether the result keeps columns; then the run does.
    pub(super) fn has_columns(&self) -> bool {
        self.columns.is_some()
    }
}
