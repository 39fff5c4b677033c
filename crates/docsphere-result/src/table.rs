//! All documents of a result as one table: for spreadsheets and data frames.
//!
//! A row has the id, the text (if the result keeps texts), the cluster with its name, the group
//! with its name, the similarity, then what else the assignments have (the second-nearest cluster,
//! the silhouette), the kept columns, and which document it is a copy of. The rows are written as
//! they are read: the texts of some documents are in memory at a time.

use std::path::{Path, PathBuf};

use docsphere::{
    ColumnKind, Corpus, CorpusFormat, CorpusOptions, DocId, Html, Keep, MemoryLimit, Quote, TextStore,
};

use crate::assignments::{AssignmentsFormat, ReadAssignment, assignment_files, read_assignments};
use crate::clusters::{ClusterEntry, ClustersFile};
use crate::columns::ColumnsFile;
use crate::error::{Error, ErrorKind, Result};
use crate::groups::GroupsFile;
use crate::names;

mod lines;
#[cfg(feature = "parquet")]
#[path = "table/parquet_enabled.rs"]
mod parquet_file;
#[cfg(not(feature = "parquet"))]
#[path = "table/parquet_disabled.rs"]
mod parquet_file;
#[cfg(feature = "xlsx")]
#[path = "table/xlsx_enabled.rs"]
mod xlsx;
#[cfg(not(feature = "xlsx"))]
#[path = "table/xlsx_disabled.rs"]
mod xlsx;

/// Documents whose texts are read at a time.
const BATCH_DOCS: usize = 1_024;

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// JSON objects, one per line.
    Jsonl,
    /// Parquet.
    Parquet,
    /// A workbook of Excel with one sheet.
    Xlsx,
}

impl TableFormat {
    /// The format of a file by its name.
    ///
    /// # Errors
    /// If the name does not end as one of them does; the message names all.
    pub fn from_path(path: &Path) -> Result<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("csv") => Ok(TableFormat::Csv),
            Some("jsonl" | "ndjson") => Ok(TableFormat::Jsonl),
            Some("parquet") => Ok(TableFormat::Parquet),
            Some("xlsx") => Ok(TableFormat::Xlsx),
            _ => {
                let problem = "a table is written as .csv, .jsonl, .parquet or .xlsx; give such a name";
                Err(Error::malformed(problem).at_path(path))
            }
        }
    }

    /// Checks before any work begins that this build can write the format.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] if it cannot.
    pub fn check_build(self) -> Result<()> {
        let (what, feature) = match self {
            TableFormat::Parquet if !cfg!(feature = "parquet") => ("Parquet", "parquet"),
            TableFormat::Xlsx if !cfg!(feature = "xlsx") => ("XLSX", "xlsx"),
            _ => return Ok(()),
        };
        Err(ErrorKind::NotBuilt { what, feature, instead: "csv or jsonl" }.into())
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenTable {
    /// The number of documents.
    pub n_documents: usize,
    /// Whether there is a column of texts.
    pub has_texts: bool,
    /// Texts that are longer than the format allows, and were cut.
    pub n_cut: usize,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
}

/// A column of a table.
#[derive(Clone, Debug)]
struct Head {
    name: String,
    kind: Kind,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Missing,
    Text(String),
    Integer(i64),
    Number(f64),
}

/// Writes rows in one format.
trait TableWriter {
    /// Writes one row, with a value for each column.
    fn row(&mut self, values: Vec<Value>) -> Result<()>;

    /// Completes the file. Returns the number of texts that were cut.
    fn finish(self: Box<Self>) -> Result<usize>;
}

/// Writes the table of a result as the file `path`. It is not synced.
///
/// # Errors
/// If a file of the result is missing or damaged, or needs more memory than `limit` allows; if the
/// format cannot hold so many documents, or is not in this build; those of writing.
pub fn write_table(
    folder: &Path,
    path: &Path,
    format: TableFormat,
    limit: &MemoryLimit,
) -> Result<WrittenTable> {
    format.check_build()?;
    let source = Source::open(folder, limit)?;
    let heads = source.heads();
    let mut writer: Box<dyn TableWriter> = match format {
        TableFormat::Csv => Box::new(lines::Csv::create(path, &heads)?),
        TableFormat::Jsonl => Box::new(lines::Jsonl::create(path, &heads)?),
        TableFormat::Parquet => parquet_file::create(path, &heads)?,
        TableFormat::Xlsx => xlsx::create(path, &heads, source.lines.len())?,
    };
    source.write(&mut *writer)?;
    let n_cut = writer.finish()?;
    Ok(WrittenTable { n_documents: source.lines.len(), has_texts: source.texts.is_some(), n_cut })
}

/// What a table is made of.
struct Source<'a> {
    lines: Vec<ReadAssignment>,
    clusters: ClustersFile,
    groups: Option<GroupsFile>,
    texts: Option<TextStore>,
    /// What the assignments have beside [`ReadAssignment`].
    more: Vec<Head>,
    format: AssignmentsFormat,
    files: Vec<PathBuf>,
    limit: &'a MemoryLimit,
}

impl<'a> Source<'a> {
    fn open(folder: &Path, limit: &'a MemoryLimit) -> Result<Self> {
        let clusters = ClustersFile::read(folder, limit)?;
        let has_groups = folder.join(names::GROUPS).exists();
        let groups = has_groups.then(|| GroupsFile::read(folder, limit)).transpose()?;
        let lines = read_assignments(folder, limit)?;
        let path = folder.join(names::TEXTS);
        let texts = path.exists().then(|| TextStore::open_within(&path, limit)).transpose()?;
        if let Some(found) = texts.as_ref().map(TextStore::n_documents).filter(|&n| n != lines.len() as u64) {
            let problem = format!(
                "is of {found} documents, the assignments are of {}: they do not belong together",
                lines.len()
            );
            return Err(Error::malformed(problem).at_path(&path));
        }
        let (format, files) = assignment_files(folder)?;
        let mut more = Vec::new();
        let head = |name: &str, kind| Head { name: name.to_owned(), kind };
        let found = columns_of(&files[0], format, limit)?;
        let numbers = [
            ("runner_up", Kind::Integer),
            ("runner_up_similarity", Kind::Number),
            ("silhouette", Kind::Number),
        ];
        more.extend(
            numbers.iter().filter(|(name, _)| found.iter().any(|own| own == name)).map(|n| head(n.0, n.1)),
        );
        let columns = ColumnsFile::read(folder, limit)?.unwrap_or_default();
        for entry in columns.columns.iter().filter(|entry| found.contains(&entry.name)) {
            let kind = match entry.reading.kind {
                ColumnKind::Number if entry.reading.is_integer => Kind::Integer,
                ColumnKind::Number => Kind::Number,
                _ => Kind::Text,
            };
            more.push(head(&entry.name, kind));
        }
        Ok(Source { lines, clusters, groups, texts, more, format, files, limit })
    }

    fn heads(&self) -> Vec<Head> {
        let head = |name: &str, kind| Head { name: name.to_owned(), kind };
        let mut heads = vec![head("id", Kind::Text)];
        if self.texts.is_some() {
            heads.push(head("text", Kind::Text));
        }
        heads.extend([head("cluster", Kind::Integer), head("name", Kind::Text)]);
        if self.groups.is_some() {
            heads.extend([head("group", Kind::Integer), head("group_name", Kind::Text)]);
        }
        heads.push(head("similarity", Kind::Number));
        let mut more = self.more.clone();
        // A kept column may have the name of another column here.
        for column in &mut more {
            while heads.iter().any(|other| other.name == column.name) {
                column.name.insert_str(0, "input_");
            }
        }
        heads.extend(more);
        if self.lines.iter().any(|line| line.duplicate_of.is_some()) {
            heads.push(head("duplicate_of", Kind::Text));
        }
        heads
    }

    fn write(&self, writer: &mut dyn TableWriter) -> Result<()> {
        let has_copies = self.lines.iter().any(|line| line.duplicate_of.is_some());
        let titles: Vec<String> = self.clusters.clusters.iter().map(ClusterEntry::title).collect();
        let mut batch: Vec<Vec<Value>> = Vec::new();
        let mut n_done = 0;
        let mut flush = |batch: &mut Vec<Vec<Value>>| -> Result<()> {
            let docs: Vec<DocId> = (n_done..n_done + batch.len()).map(|doc| DocId::new(doc as u32)).collect();
            n_done += batch.len();
            let texts = self.texts.as_ref().map(|texts| texts.get_many(&docs)).transpose()?;
            let mut texts = texts.into_iter().flatten();
            for mut row in batch.drain(..) {
                if let Some(document) = texts.next() {
                    row.insert(1, Value::Text(document.text));
                }
                writer.row(row)?;
            }
            Ok(())
        };
        let mut number = 0;
        for file in &self.files {
            let mut outcome = Ok(());
            let corpus = Corpus::open([file], corpus_options(self.format, self.limit))?;
            corpus.for_each_document(|document| {
                if outcome.is_err() {
                    return;
                }
                let Some(line) = self.lines.get(number) else { return };
                number += 1;
                batch.push(self.row(line, &titles, document.kept.values(), has_copies));
                if batch.len() == BATCH_DOCS {
                    outcome = flush(&mut batch);
                }
            })?;
            outcome?;
        }
        flush(&mut batch)
    }

    /// A row without its text.
    fn row(
        &self,
        line: &ReadAssignment,
        titles: &[String],
        kept: &[(&str, &str)],
        has_copies: bool,
    ) -> Vec<Value> {
        let cluster = usize::try_from(line.cluster).ok();
        let text = |text: Option<&String>| text.map_or(Value::Missing, |text| Value::Text(text.clone()));
        let mut row = vec![Value::Text(line.id.clone()), Value::Integer(line.cluster.into())];
        row.push(text(cluster.and_then(|cluster| titles.get(cluster))));
        if let Some(groups) = &self.groups {
            let group =
                cluster.and_then(|cluster| groups.group_of_cluster.get(cluster)).copied().unwrap_or(-1);
            let entry = usize::try_from(group).ok().and_then(|group| groups.groups.get(group));
            row.extend([Value::Integer(group.into()), text(entry.map(|entry| &entry.name))]);
        }
        row.push(Value::Number(line.similarity));
        for head in &self.more {
            let found = kept.iter().find(|(name, _)| *name == head.name).map(|(_, value)| *value);
            row.push(
                found.filter(|value| !value.is_empty()).map_or(Value::Missing, |value| head.value(value)),
            );
        }
        if has_copies {
            row.push(text(line.duplicate_of.as_ref()));
        }
        row
    }
}

impl Head {
    fn value(&self, text: &str) -> Value {
        let number = || text.parse().map(Value::Number).ok();
        match self.kind {
            Kind::Text => Value::Text(text.to_owned()),
            Kind::Number => number().unwrap_or(Value::Missing),
            Kind::Integer => text.parse().map(Value::Integer).unwrap_or(Value::Missing),
        }
    }
}

/// How assignments are read as a table: all columns, as they are.
fn corpus_options(format: AssignmentsFormat, limit: &MemoryLimit) -> CorpusOptions {
    let options = CorpusOptions::default()
        .text_fields(["cluster"])
        .id_field("id")
        .html(Html::Keep)
        .keep(Keep::All)
        .memory(limit.clone());
    match format {
        AssignmentsFormat::Csv => {
            options.format(CorpusFormat::Csv).delimiter(',').quote(Quote::Double).encoding("utf-8")
        }
        AssignmentsFormat::Jsonl => options.format(CorpusFormat::JsonLines).encoding("utf-8"),
        AssignmentsFormat::Parquet => options.format(CorpusFormat::Parquet),
    }
}

/// The values of a kept column, by its name in the input: one for each document, in their order,
/// empty where there is none. `None` if the result keeps no such column.
///
/// # Errors
/// If a file of the result is missing or damaged, or needs more memory than `limit` allows.
pub fn kept_values(folder: &Path, field: &str, limit: &MemoryLimit) -> Result<Option<Vec<String>>> {
    let columns = ColumnsFile::read(folder, limit)?.unwrap_or_default().columns;
    let named = |is_named: &dyn Fn(&str) -> bool| {
        columns.iter().find(|column| is_named(&column.field) || is_named(&column.name))
    };
    let found = named(&|name| name == field).or_else(|| named(&|name| name.eq_ignore_ascii_case(field)));
    let Some(column) = found else { return Ok(None) };
    let (format, files) = assignment_files(folder)?;
    let mut values = Vec::new();
    Corpus::open(&files, corpus_options(format, limit))?.for_each_document(|document| {
        let kept = document.kept.values().iter().find(|(name, _)| *name == column.name);
        values.push(kept.map_or_else(String::new, |(_, value)| (*value).to_owned()));
    })?;
    Ok(Some(values))
}

/// The names of the columns of assignments. Of JSON, those that a document has.
fn columns_of(file: &Path, format: AssignmentsFormat, limit: &MemoryLimit) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    Corpus::open([file], corpus_options(format, limit))?.for_each_document(|document| {
        for (name, _) in document.kept.values() {
            if !names.iter().any(|known| known == name) {
                names.push((*name).to_owned());
            }
        }
    })?;
    Ok(names)
}
