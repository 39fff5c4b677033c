//! `assignments.csv`, `.jsonl` or `.parquet`: one line a document, in the order of the input.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use docsphere::{DocId, Labels, Nearest};
use serde::{Deserialize, Serialize};

use crate::files;

/// The format of the assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssignmentsFormat {
    Csv,
    Jsonl,
    Parquet,
}

impl AssignmentsFormat {
    /// The name of the file.
    pub(crate) const fn file_name(self) -> &'static str {
        match self {
            AssignmentsFormat::Csv => "assignments.csv",
            AssignmentsFormat::Jsonl => "assignments.jsonl",
            AssignmentsFormat::Parquet => "assignments.parquet",
        }
    }
}

/// What is written of every document.
pub(crate) struct Assignments<'a> {
    pub(crate) ids: &'a [String],
    pub(crate) labels: &'a Labels,
    pub(crate) similarities: &'a [f64],
    /// The two nearest clusters, if runners-up are wanted.
    pub(crate) nearest: Option<&'a Nearest>,
}

/// A document's line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Assignment<'a> {
    pub(crate) id: &'a str,
    pub(crate) cluster: i32,
    #[serde(serialize_with = "as_number")]
    pub(crate) similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runner_up: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runner_up_similarity: Option<f64>,
}

/// A document's line as it was written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ReadAssignment {
    pub(crate) id: String,
    pub(crate) cluster: i32,
    pub(crate) similarity: f64,
}

/// What is read, for messages.
const WHAT: &str = "the assignments";

/// What a document's line takes for each byte of a short line: an id of its own, and a place in a list that doubles.
const LINE_COPIES: u64 = 20;

/// The longest line.
const MAX_LINE_BYTES: usize = 1 << 30;

/// Reads the assignments of a result, in whichever format they are.
pub(crate) fn read(folder: &Path) -> Result<Vec<ReadAssignment>> {
    let existing = |format: &AssignmentsFormat| folder.join(format.file_name()).exists();
    let Some(format) = AssignmentsFormat::value_variants().iter().copied().find(existing) else {
        bail!("{}: there are no assignments; is it a result folder?", folder.display());
    };
    let path = folder.join(format.file_name());
    match format {
        AssignmentsFormat::Csv => {
            let mut reader = csv::Reader::from_reader(files::Asking::open(&path, WHAT, LINE_COPIES)?);
            let lines: Result<_, csv::Error> = reader.deserialize().collect();
            lines.map_err(|error| {
                let text = error.to_string();
                match error.into_kind() {
                    csv::ErrorKind::Io(error) => files::failed(error, &path),
                    _ => anyhow!("{}: {text}", cannot_read(&path)),
                }
            })
        }
        AssignmentsFormat::Jsonl => {
            let mut lines = Vec::new();
            files::for_each_line(&path, WHAT, LINE_COPIES, MAX_LINE_BYTES, |line| {
                lines.push(serde_json::from_str(line)?);
                Ok(())
            })?;
            Ok(lines)
        }
        AssignmentsFormat::Parquet => parquet_file::read(&path).with_context(|| cannot_read(&path)),
    }
}

fn cannot_read(path: &Path) -> String {
    format!("{}: cannot read", path.display())
}

/// Six decimals: more than means anything, and short enough to read.
pub(crate) fn rounded(similarity: f64) -> f64 {
    (similarity * 1e6).round() / 1e6
}

fn as_number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

impl<'a> Assignments<'a> {
    pub(crate) fn write(&self, path: &Path, format: AssignmentsFormat) -> Result<()> {
        let write = || match format {
            AssignmentsFormat::Csv => self.write_csv(BufWriter::new(File::create(path)?)),
            AssignmentsFormat::Jsonl => self.write_jsonl(BufWriter::new(File::create(path)?)),
            AssignmentsFormat::Parquet => parquet_file::write(path, self),
        };
        write().with_context(|| format!("{}: cannot write", path.display()))
    }

    /// All lines, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Assignment<'a>> {
        let (ids, labels, nearest) = (self.ids, self.labels.as_slice(), self.nearest);
        self.similarities.iter().enumerate().map(move |(doc, &similarity)| {
            let cluster = labels[doc];
            let other = nearest.map(|nearest| {
                let found = nearest.of(DocId::new(doc as u32));
                let other = found.iter().find(|neighbour| neighbour.cluster.number() as i32 != cluster);
                other.map_or((-1, 0.0), |n| (n.cluster.number() as i32, rounded(n.similarity)))
            });
            Assignment {
                id: &ids[doc],
                cluster,
                similarity,
                runner_up: other.map(|other| other.0),
                runner_up_similarity: other.map(|other| other.1),
            }
        })
    }

    fn write_csv(&self, file: impl Write) -> Result<()> {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(file);
        let mut header = vec!["id", "cluster", "similarity"];
        if self.nearest.is_some() {
            header.extend(["runner_up", "runner_up_similarity"]);
        }
        writer.write_record(&header)?;
        for line in self.iter() {
            let mut record =
                vec![line.id.to_owned(), line.cluster.to_string(), format!("{:.6}", line.similarity)];
            if let (Some(other), Some(similarity)) = (line.runner_up, line.runner_up_similarity) {
                record.extend([other.to_string(), format!("{similarity:.6}")]);
            }
            writer.write_record(&record)?;
        }
        Ok(writer.flush()?)
    }

    fn write_jsonl(&self, mut file: impl Write) -> Result<()> {
        for line in self.iter() {
            serde_json::to_writer(&mut file, &line)?;
            file.write_all(b"\n")?;
        }
        Ok(file.flush()?)
    }
}

#[cfg(feature = "parquet")]
mod parquet_file {
    //! Parquet, in this build.

    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use docsphere::{Corpus, CorpusFormat, CorpusOptions, Document};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    use super::{Assignment, Assignments, ReadAssignment, rounded};
    use crate::memory;

    const BATCH_ROWS: usize = 65_536;

    pub(super) fn write(path: &Path, assignments: &Assignments<'_>) -> Result<()> {
        let mut fields = vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("cluster", DataType::Int32, false),
            Field::new("similarity", DataType::Float64, false),
        ];
        if assignments.nearest.is_some() {
            fields.push(Field::new("runner_up", DataType::Int32, true));
            fields.push(Field::new("runner_up_similarity", DataType::Float64, true));
        }
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = ArrowWriter::try_new(File::create(path)?, Arc::clone(&schema), Some(properties))?;
        let mut lines = assignments.iter().peekable();
        while lines.peek().is_some() {
            let batch: Vec<Assignment<'_>> = lines.by_ref().take(BATCH_ROWS).collect();
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(StringArray::from_iter_values(batch.iter().map(|line| line.id))),
                Arc::new(Int32Array::from_iter_values(batch.iter().map(|line| line.cluster))),
                Arc::new(Float64Array::from_iter_values(batch.iter().map(|line| rounded(line.similarity)))),
            ];
            if assignments.nearest.is_some() {
                columns.push(Arc::new(Int32Array::from_iter(batch.iter().map(|line| line.runner_up))));
                columns.push(Arc::new(Float64Array::from_iter(
                    batch.iter().map(|line| line.runner_up_similarity),
                )));
            }
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        }
        writer.close()?;
        Ok(())
    }

    /// Read like documents, because that reader trusts nothing that stands in the file.
    pub(super) fn read(path: &Path) -> Result<Vec<ReadAssignment>> {
        let options = CorpusOptions::default()
            .format(CorpusFormat::Parquet)
            .text_fields(["cluster", "similarity"])
            .id_field("id")
            .memory(memory::of_readers());
        let mut lines: Result<Vec<ReadAssignment>> = Ok(Vec::new());
        Corpus::open([path], options)?.for_each_document(|document| {
            let Ok(found) = &mut lines else { return };
            let room = if found.len().is_multiple_of(BATCH_ROWS) {
                // An id of its own for each document, and a list that doubles.
                memory::of_readers().check(super::WHAT, (100 * BATCH_ROWS + 40 * found.len()) as u64)
            } else {
                Ok(())
            };
            let line = line(document).with_context(|| format!("row {}", found.len() + 1));
            match room.map_err(anyhow::Error::from).and(line) {
                Ok(line) => found.push(line),
                Err(error) => lines = Err(error),
            }
        })?;
        lines
    }

    fn line(document: Document<'_>) -> Result<ReadAssignment> {
        let (cluster, similarity) = document.text.split_once('\n').context("two columns")?;
        Ok(ReadAssignment {
            id: document.id.to_owned(),
            cluster: cluster.parse().with_context(|| format!("cluster \"{cluster}\""))?,
            similarity: similarity.parse().with_context(|| format!("similarity \"{similarity}\""))?,
        })
    }
}

#[cfg(not(feature = "parquet"))]
mod parquet_file {
    //! The twin for builds without Parquet.

    use std::path::Path;

    use anyhow::{Result, bail};

    use super::{Assignments, ReadAssignment};

    const ABSENT: &str =
        "Parquet is not in this build; build docsphere-cli with its feature \"parquet\", or use csv or jsonl";

    pub(super) fn write(_: &Path, _: &Assignments<'_>) -> Result<()> {
        bail!(ABSENT)
    }

    pub(super) fn read(_: &Path) -> Result<Vec<ReadAssignment>> {
        bail!(ABSENT)
    }
}
