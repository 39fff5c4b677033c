//! Parquet, for builds that include it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use docsphere::{Corpus, CorpusFormat, CorpusOptions, Document, Html, MemoryLimit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{Assignment, Assignments, ReadAssignment, WHAT, rounded};
use crate::error::{Error, Result};

const BATCH_ROWS: usize = 65_536;

pub(super) fn write(path: &Path, assignments: &Assignments<'_>) -> Result<()> {
    let write = || -> parquet::errors::Result<()> {
        let mut fields = vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("cluster", DataType::Int32, false),
            Field::new("similarity", DataType::Float64, false),
        ];
        if assignments.nearest.is_some() {
            fields.push(Field::new("runner_up", DataType::Int32, true));
            fields.push(Field::new("runner_up_similarity", DataType::Float64, true));
        }
        if assignments.silhouettes.is_some() {
            fields.push(Field::new("silhouette", DataType::Float64, true));
        }
        if assignments.copies.is_some() {
            fields.push(Field::new("duplicate_of", DataType::Utf8, true));
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
            if assignments.silhouettes.is_some() {
                let silhouettes = batch.iter().map(|line| line.silhouette.flatten());
                columns.push(Arc::new(Float64Array::from_iter(silhouettes)));
            }
            if assignments.copies.is_some() {
                columns.push(Arc::new(StringArray::from_iter(batch.iter().map(|line| line.duplicate_of))));
            }
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        }
        writer.close()?;
        Ok(())
    };
    write().map_err(|error| Error::writing(io::Error::other(error), path))
}

/// Adds the lines of a file, with the reader of documents, which trusts nothing in the file.
pub(super) fn read(path: &Path, limit: &MemoryLimit, lines: &mut Vec<ReadAssignment>) -> Result<()> {
    // The last column is there only if copies were looked for.
    match read_columns(path, limit, lines, &["cluster", "similarity", "duplicate_of"]) {
        Err(error) if is_without_copies(&error) => {
            read_columns(path, limit, lines, &["cluster", "similarity"])
        }
        outcome => outcome,
    }
}

fn is_without_copies(error: &Error) -> bool {
    let kind = error.library().map(docsphere::Error::kind);
    matches!(kind, Some(docsphere::ErrorKind::MissingField { field, .. }) if field == "duplicate_of")
}

fn read_columns(
    path: &Path,
    limit: &MemoryLimit,
    lines: &mut Vec<ReadAssignment>,
    columns: &[&str],
) -> Result<()> {
    let options = CorpusOptions::default()
        .format(CorpusFormat::Parquet)
        .text_fields(columns.iter().copied())
        .html(Html::Keep)
        .id_field("id")
        .memory(limit.clone());
    let n_before = lines.len();
    let mut outcome: Result<()> = Ok(());
    Corpus::open([path], options)?.for_each_document(|document| {
        if outcome.is_err() {
            return;
        }
        let n_read = lines.len() - n_before;
        let room = if n_read.is_multiple_of(BATCH_ROWS) {
            // An id for each document, and a list that grows by doubling.
            limit.check(WHAT, (150 * BATCH_ROWS + 64 * lines.len()) as u64)
        } else {
            Ok(())
        };
        let line = line(document).map_err(|problem| {
            Error::malformed(format!("cannot read: row {}: {problem}", n_read + 1)).at_path(path)
        });
        match room.map_err(|error| Error::from(error).at_path(path)).and(line) {
            Ok(line) => lines.push(line),
            Err(error) => outcome = Err(error),
        }
    })?;
    outcome
}

fn line(document: Document<'_>) -> Result<ReadAssignment, String> {
    let (cluster, rest) = document.text.split_once('\n').ok_or("two columns")?;
    let (similarity, original) = rest.split_once('\n').unwrap_or((rest, ""));
    Ok(ReadAssignment {
        id: document.id.to_owned(),
        cluster: cluster.parse().map_err(|error| format!("cluster \"{cluster}\": {error}"))?,
        similarity: similarity.parse().map_err(|error| format!("similarity \"{similarity}\": {error}"))?,
        duplicate_of: (!original.is_empty()).then(|| original.to_owned()),
    })
}
