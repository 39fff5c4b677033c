//! `assignments.csv`, `.jsonl` or `.parquet`: one line per document, in the order of the input.
//!
//! Or the same lines in parts: `assignments/part-00000.csv` and so on. Each part is a whole file of
//! its format; the documents of a part follow those of the part before.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use docsphere::{Cell, ColumnReading, ColumnValue, DocId, Ids, KeptColumns, KeptRows, Labels, Nearest};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::names;
pub(crate) use reading::assignment_files;
pub use reading::{for_each_assignment, read_assignments};

mod reading;

#[cfg(feature = "parquet")]
#[path = "assignments/parquet_enabled.rs"]
mod parquet_file;

#[cfg(not(feature = "parquet"))]
#[path = "assignments/parquet_disabled.rs"]
mod parquet_file;

/// The format of the assignments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssignmentsFormat {
    /// Comma-separated, with a header.
    #[default]
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// Parquet; needs the feature `parquet`.
    Parquet,
}

impl AssignmentsFormat {
    /// All formats.
    pub const ALL: &'static [AssignmentsFormat] =
        &[AssignmentsFormat::Csv, AssignmentsFormat::Jsonl, AssignmentsFormat::Parquet];

    /// The name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            AssignmentsFormat::Csv => "csv",
            AssignmentsFormat::Jsonl => "jsonl",
            AssignmentsFormat::Parquet => "parquet",
        }
    }

    /// The name of the file.
    pub const fn file_name(self) -> &'static str {
        match self {
            AssignmentsFormat::Csv => "assignments.csv",
            AssignmentsFormat::Jsonl => "assignments.jsonl",
            AssignmentsFormat::Parquet => "assignments.parquet",
        }
    }

    /// The name of the file of whole documents; see [`documents`](crate::documents).
    pub const fn documents_name(self) -> &'static str {
        match self {
            AssignmentsFormat::Csv => "documents.csv",
            AssignmentsFormat::Jsonl => "documents.jsonl",
            AssignmentsFormat::Parquet => "documents.parquet",
        }
    }

    /// The name of a part in the folder [`names::ASSIGNMENT_PARTS`].
    pub fn part_name(self, number: u32) -> String {
        format!("{PART_PREFIX}{number:05}.{}", self.name())
    }

    /// The format and the number of a part with this name; `None` if it is not the name of a part.
    pub fn of_part(name: &str) -> Option<(Self, u32)> {
        let (number, ending) = name.strip_prefix(PART_PREFIX)?.split_once('.')?;
        let (format, number) = (ending.parse::<Self>().ok()?, number.parse().ok()?);
        (format.part_name(number) == name).then_some((format, number))
    }

    /// Checks before any work begins that this build can read and write the format.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] if it cannot.
    pub fn check_build(self) -> Result<()> {
        match self {
            AssignmentsFormat::Parquet if !cfg!(feature = "parquet") => Err(not_built()),
            _ => Ok(()),
        }
    }
}

/// The beginning of the names of parts.
const PART_PREFIX: &str = "part-";

fn not_built() -> Error {
    ErrorKind::NotBuilt { what: "Parquet", feature: "parquet", instead: "csv or jsonl" }.into()
}

impl fmt::Display for AssignmentsFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AssignmentsFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| format!("must be csv, jsonl or parquet, got \"{name}\""))
    }
}

/// The assignments of all documents. The slices have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Assignments<'a> {
    /// The id of each document.
    pub ids: &'a Ids,
    /// The cluster of each document.
    pub labels: &'a Labels,
    /// The similarity of each document to its centroid.
    pub similarities: &'a [f64],
    /// The two nearest clusters of each document, if runners-up are wanted.
    pub nearest: Option<&'a Nearest>,
    /// The silhouette of each document, if wanted; NaN for documents without a cluster.
    pub silhouettes: Option<&'a [f64]>,
    /// The kept columns, if there are any.
    pub columns: Option<AssignedColumns<'a>>,
    /// The documents that were clustered as copies of those above, if they were looked for.
    pub copies: Option<Copies<'a>>,
}

/// All documents of a result, of which some are copies of others and were not clustered. A copy has
/// the line of its original, with its own id.
#[derive(Clone, Copy, Debug)]
pub struct Copies<'a> {
    /// The ids of all documents, in the order of the input.
    pub ids: &'a Ids,
    /// For each of them the number of its line among those that were clustered.
    pub lines: &'a [u32],
    /// For each line the number of its document.
    pub originals: &'a [u32],
}

/// Kept columns, and their [names](crate::column_names) in the files.
#[derive(Clone, Copy, Debug)]
pub struct AssignedColumns<'a> {
    /// The columns, with as many documents as there are assignments.
    pub kept: &'a KeptColumns,
    /// A name for each.
    pub names: &'a [String],
}

impl<'a> AssignedColumns<'a> {
    /// The columns as they are written after the other fields.
    pub fn values(self) -> AssignedValues<'a> {
        AssignedValues { columns: self, rows: self.kept.rows() }
    }

    fn readings(self) -> impl Iterator<Item = &'a ColumnReading> {
        self.kept.columns().iter().map(|column| &column.reading)
    }
}

/// The kept values of all documents, in order.
#[derive(Debug)]
pub struct AssignedValues<'a> {
    columns: AssignedColumns<'a>,
    rows: KeptRows<'a>,
}

impl AssignedValues<'_> {
    /// The cells of the next document; missing ones if there is none.
    fn cells(&mut self) -> Result<Vec<Cell<'_>>> {
        let n_columns = self.columns.names.len();
        let row = self.rows.next_row()?;
        Ok(row.map_or_else(|| vec![Cell::Missing; n_columns], |row| row.cells()))
    }

    /// The values of the next document as text: dates as ISO 8601, numbers as digits. A missing or
    /// bad value is empty.
    ///
    /// # Errors
    /// If the values cannot be read.
    pub fn next_texts(&mut self) -> Result<Vec<String>> {
        let columns = self.columns;
        let text = |(cell, reading): (Cell<'_>, &ColumnReading)| match cell {
            Cell::Good(value) => reading.written(value),
            _ => String::new(),
        };
        Ok(self.cells()?.into_iter().zip(columns.readings()).map(text).collect())
    }

    /// The values of the next document, with their names: dates as ISO 8601, numbers as numbers. A
    /// missing or bad value is null.
    ///
    /// # Errors
    /// If the values cannot be read.
    pub fn next_json(&mut self) -> Result<serde_json::Map<String, serde_json::Value>> {
        let columns = self.columns;
        let value = |(cell, reading): (Cell<'_>, &ColumnReading)| match cell {
            Cell::Good(ColumnValue::Number(number)) if reading.is_integer => (number as i64).into(),
            Cell::Good(ColumnValue::Number(number)) => number.into(),
            Cell::Good(value) => reading.written(value).into(),
            _ => serde_json::Value::Null,
        };
        let values = self.cells()?.into_iter().zip(columns.readings()).map(value);
        Ok(columns.names.iter().cloned().zip(values).collect())
    }
}

/// A document's line, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assignment<'a> {
    /// The document's id.
    pub id: &'a str,
    /// Its cluster; -1 for none.
    pub cluster: i32,
    /// Its similarity to the centroid.
    #[serde(serialize_with = "as_number")]
    pub similarity: f64,
    /// The second-nearest cluster, if wanted; -1 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<i32>,
    /// The similarity to the second-nearest centroid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up_similarity: Option<f64>,
    /// The silhouette, if wanted; without a value for a document without a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silhouette: Option<Option<f64>>,
    /// The id of the document that it is a copy of. Absent if it is no copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<&'a str>,
}

/// A line and the kept columns of its document.
#[derive(Serialize)]
struct WithColumns<'a> {
    #[serde(flatten)]
    line: Assignment<'a>,
    #[serde(flatten)]
    kept: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

/// A document's line, as it is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ReadAssignment {
    /// The document's id.
    pub id: String,
    /// Its cluster; -1 for none.
    pub cluster: i32,
    /// Its similarity to the centroid, rounded.
    pub similarity: f64,
    /// The id of the document that it is a copy of. Absent if it is no copy, and in results of
    /// older versions.
    #[serde(default)]
    pub duplicate_of: Option<String>,
}

/// Some lines, each with the kept values of its document.
type Lines<'a, 'v, V> = &'v mut dyn Iterator<Item = (Assignment<'a>, Option<&'v V>)>;

/// Lines that a thread formats at a time.
const LINES_PER_PIECE: usize = 1 << 10;

/// Pieces per thread that are held before they are written.
const PIECES_PER_THREAD: usize = 4;

/// A similarity rounded to six decimals, as in files; more would be meaningless.
pub fn rounded(similarity: f64) -> f64 {
    (similarity * 1e6).round() / 1e6
}

fn as_number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

impl<'a> Assignments<'a> {
    /// Writes them into a folder, under the name of their format. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it, or the format is not in this build.
    pub fn write(&self, folder: &Path, format: AssignmentsFormat) -> Result<()> {
        self.write_file(&folder.join(format.file_name()), format)
    }

    /// Writes them into a folder as one of several parts, numbered from 0: a file in its folder
    /// [`names::ASSIGNMENT_PARTS`], which is created if it is missing. The documents of a part
    /// follow those of the part before. Returns the length of the file in bytes.
    ///
    /// The file is synced, and appears whole or not at all: another machine may read it, and a
    /// second process may write the same part.
    ///
    /// # Errors
    /// If the system cannot write it, or the format is not in this build.
    pub fn write_part(&self, folder: &Path, format: AssignmentsFormat, number: u32) -> Result<u64> {
        let parts = folder.join(names::ASSIGNMENT_PARTS);
        let path = parts.join(format.part_name(number));
        fs::create_dir_all(&parts).map_err(|error| Error::writing(error, &parts))?;
        let failed = |error: io::Error| Error::writing(error, &path);
        let prefix = docsphere::temporary_prefix(std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(docsphere::TEMPORARY_SUFFIX);
        #[cfg(unix)]
        {
            // Temporary files are private by default; this one becomes an ordinary file, so let the
            // umask decide.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let staged = builder.tempfile_in(&parts).map_err(failed)?.into_temp_path();
        self.write_file(&staged, format)?;
        let n_bytes = File::open(&staged).and_then(|file| {
            file.sync_all()?;
            Ok(file.metadata()?.len())
        });
        let n_bytes = n_bytes.map_err(failed)?;
        staged.persist(&path).map_err(|error| failed(error.error))?;
        Ok(n_bytes)
    }

    fn write_file(&self, path: &Path, format: AssignmentsFormat) -> Result<()> {
        format.check_build().map_err(|error| error.at_path(path))?;
        let create = || File::create(path).map(BufWriter::new);
        let failed = |error: io::Error| Error::writing(error, path);
        match format {
            AssignmentsFormat::Csv => self.write_csv(create().map_err(failed)?, failed),
            AssignmentsFormat::Jsonl => self.write_jsonl(create().map_err(failed)?, failed),
            AssignmentsFormat::Parquet => parquet_file::write(path, self),
        }
    }

    /// All lines, in order.
    pub fn iter(&self) -> impl Iterator<Item = Assignment<'a>> {
        let lines = *self;
        (0..self.n_lines()).map(move |document| lines.line(document))
    }

    fn n_lines(&self) -> usize {
        self.copies.map_or(self.similarities.len(), |copies| copies.ids.len())
    }

    /// The line of a document.
    fn line(&self, document: usize) -> Assignment<'a> {
        let (ids, copies) = (self.ids, self.copies);
        let doc = copies.map_or(document, |copies| copies.lines[document] as usize);
        let original = copies.map_or(document, |copies| copies.originals[doc] as usize);
        let (cluster, similarity) = (self.labels.as_slice()[doc], self.similarities[doc]);
        let other = self.nearest.map(|nearest| {
            let found = nearest.of(DocId::new(doc as u32));
            // A document without a cluster has no second-nearest one.
            let is_other = |number: u32| cluster >= 0 && number as i32 != cluster;
            let other = found.iter().find(|neighbour| is_other(neighbour.cluster.number()));
            other.map_or((-1, 0.0), |n| (n.cluster.number() as i32, rounded(n.similarity)))
        });
        Assignment {
            id: copies.map_or(&ids[doc], |copies| &copies.ids[document]),
            cluster,
            similarity,
            runner_up: other.map(|other| other.0),
            runner_up_similarity: other.map(|other| other.1),
            silhouette: self
                .silhouettes
                .map(|all| Some(all[doc]).filter(|value| !value.is_nan()).map(rounded)),
            duplicate_of: (original != document).then_some(&ids[doc]),
        }
    }

    fn write_csv(&self, mut file: impl Write, failed: impl Fn(io::Error) -> Error) -> Result<()> {
        let mut header = vec!["id", "cluster", "similarity"];
        if self.nearest.is_some() {
            header.extend(["runner_up", "runner_up_similarity"]);
        }
        if self.silhouettes.is_some() {
            header.push("silhouette");
        }
        if self.copies.is_some() {
            header.push("duplicate_of");
        }
        header.extend(self.columns.iter().flat_map(|columns| columns.names).map(String::as_str));
        let mut writer = csv::Writer::from_writer(&mut file);
        let written = writer.write_record(&header).and_then(|()| Ok(writer.flush()?));
        written.map_err(|error| failed(error.into()))?;
        drop(writer);
        let mut values = self.columns.map(AssignedColumns::values);
        let next_values = || values.as_mut().map(AssignedValues::next_texts).transpose();
        self.write_lines(file, failed, next_values, |lines, piece| {
            let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(piece);
            for (line, values) in lines {
                self.write_csv_line(&mut writer, &line, values.map_or(&[][..], Vec::as_slice))?;
            }
            writer.flush()
        })
    }

    fn write_csv_line(
        &self,
        writer: &mut csv::Writer<&mut Vec<u8>>,
        line: &Assignment<'_>,
        values: &[String],
    ) -> csv::Result<()> {
        writer.write_field(line.id)?;
        writer.write_field(line.cluster.to_string())?;
        writer.write_field(format!("{:.6}", line.similarity))?;
        if let (Some(other), Some(similarity)) = (line.runner_up, line.runner_up_similarity) {
            writer.write_field(other.to_string())?;
            writer.write_field(format!("{similarity:.6}"))?;
        }
        if let Some(silhouette) = line.silhouette {
            writer.write_field(silhouette.map_or_else(String::new, |value| format!("{value:.6}")))?;
        }
        if self.copies.is_some() {
            writer.write_field(line.duplicate_of.unwrap_or_default())?;
        }
        writer.write_record(values)
    }

    fn write_jsonl(&self, file: impl Write, failed: impl Fn(io::Error) -> Error) -> Result<()> {
        let mut values = self.columns.map(AssignedColumns::values);
        let next_values = || values.as_mut().map(AssignedValues::next_json).transpose();
        self.write_lines(file, failed, next_values, |lines, piece| {
            for (line, kept) in lines {
                serde_json::to_writer(&mut *piece, &WithColumns { line, kept })?;
                piece.push(b'\n');
            }
            Ok(())
        })
    }

    /// Writes all lines, in order. The threads of the pool, if this is one of them, format pieces;
    /// `next_values` gives the kept values of one document after the other.
    fn write_lines<V: Send + Sync>(
        &self,
        mut file: impl Write,
        failed: impl Fn(io::Error) -> Error,
        mut next_values: impl FnMut() -> Result<Option<V>>,
        format: impl Fn(Lines<'_, '_, V>, &mut Vec<u8>) -> io::Result<()> + Sync,
    ) -> Result<()> {
        let n_threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let (n_lines, n_at_a_time) = (self.n_lines(), PIECES_PER_THREAD * n_threads * LINES_PER_PIECE);
        for start in (0..n_lines).step_by(n_at_a_time) {
            let end = n_lines.min(start + n_at_a_time);
            let values = (start..end).map_while(|_| next_values().transpose());
            let values: Vec<V> = values.collect::<Result<_>>()?;
            let formatted = |first: usize| {
                let mut piece = Vec::new();
                let mut lines = (first..end.min(first + LINES_PER_PIECE))
                    .map(|document| (self.line(document), values.get(document - start)));
                format(&mut lines, &mut piece).map(|()| piece)
            };
            let firsts: Vec<usize> = (start..end).step_by(LINES_PER_PIECE).collect();
            let pieces: Vec<io::Result<Vec<u8>>> = match n_threads {
                1 => firsts.into_iter().map(formatted).collect(),
                _ => firsts.into_par_iter().map(formatted).collect(),
            };
            for piece in pieces {
                piece.and_then(|piece| file.write_all(&piece)).map_err(&failed)?;
            }
        }
        file.flush().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use docsphere::MemoryLimit;

    use super::*;

    #[test]
    fn what_is_written_is_read_in_every_format_of_this_build() {
        let ids: Ids = ["a", "b, \"quoted\"\nline"].into_iter().collect();
        let labels = Labels::from(vec![3, -1]);
        let silhouettes = [0.25, f64::NAN];
        let lines = Assignments {
            ids: &ids,
            labels: &labels,
            similarities: &[0.123_456_7, 0.0],
            nearest: None,
            silhouettes: Some(&silhouettes),
            columns: None,
            copies: None,
        };
        let line = |id: &str, cluster, similarity| ReadAssignment {
            id: id.to_owned(),
            cluster,
            similarity,
            duplicate_of: None,
        };
        let expected = [line(&ids[0], 3, 0.123_457), line(&ids[1], -1, 0.0)];
        for &format in AssignmentsFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            let folder = tempfile::tempdir().unwrap();
            let written = lines.write(folder.path(), format);
            if format.check_build().is_ok() {
                written.unwrap();
                let found = read_assignments(folder.path(), &MemoryLimit::default()).unwrap();
                assert_eq!(found, expected, "{format}");
                let text = fs::read_to_string(folder.path().join(format.file_name())).unwrap_or_default();
                match format {
                    AssignmentsFormat::Csv => {
                        assert!(
                            text.starts_with("id,cluster,similarity,silhouette\na,3,0.123457,0.250000\n")
                        );
                        assert!(text.ends_with(",-1,0.000000,\n"));
                    }
                    AssignmentsFormat::Jsonl => {
                        assert!(text.contains("\"similarity\":0.123457,\"silhouette\":0.25}"));
                        assert!(text.contains("\"cluster\":-1,\"similarity\":0.0,\"silhouette\":null}"));
                    }
                    AssignmentsFormat::Parquet => {}
                }
            } else {
                assert!(matches!(written.unwrap_err().kind(), ErrorKind::NotBuilt { .. }), "{format}");
            }
        }
        assert_eq!(AssignmentsFormat::Parquet.check_build().is_ok(), cfg!(feature = "parquet"));
        let problem = "must be csv, jsonl or parquet, got \"xml\"";
        assert_eq!("xml".parse::<AssignmentsFormat>(), Err(problem.to_owned()));
    }

    #[test]
    fn copies_have_the_lines_of_their_originals_in_every_format_of_this_build() {
        let [ids, all] = [&["a", "b"][..], &["a", "a2", "b", "b2", "a3"]];
        let owned = |ids: &[&str]| ids.iter().collect::<Ids>();
        let (ids, all) = (owned(ids), owned(all));
        let lines = Assignments {
            ids: &ids,
            labels: &Labels::from(vec![3, 4]),
            similarities: &[0.5, 0.25],
            nearest: None,
            silhouettes: None,
            copies: Some(Copies { ids: &all, lines: &[0, 0, 1, 1, 0], originals: &[0, 2] }),
            columns: None,
        };
        for &format in AssignmentsFormat::ALL.iter().filter(|format| format.check_build().is_ok()) {
            let folder = tempfile::tempdir().unwrap();
            lines.write(folder.path(), format).unwrap();
            let found = read_assignments(folder.path(), &MemoryLimit::default()).unwrap();
            let facts = |line: &ReadAssignment| {
                (line.id.clone(), line.cluster, line.similarity, line.duplicate_of.clone())
            };
            let line = |id: &str, cluster, similarity, of: Option<&str>| {
                (id.to_owned(), cluster, similarity, of.map(str::to_owned))
            };
            let expected = [
                line("a", 3, 0.5, None),
                line("a2", 3, 0.5, Some("a")),
                line("b", 4, 0.25, None),
                line("b2", 4, 0.25, Some("b")),
                line("a3", 3, 0.5, Some("a")),
            ];
            assert_eq!(found.iter().map(facts).collect::<Vec<_>>(), expected, "{format}");
        }
    }

    /// The lines of some documents, of which each is in the cluster of its number.
    fn written(folder: &Path, format: AssignmentsFormat, number: u32, docs: std::ops::Range<i32>) {
        let ids: Ids = docs.clone().map(|doc| format!("d{doc}")).collect();
        let labels = Labels::from(docs.collect::<Vec<_>>());
        let similarities = vec![0.5; ids.len()];
        let similarities = &similarities[..];
        let lines = Assignments {
            ids: &ids,
            labels: &labels,
            similarities,
            nearest: None,
            silhouettes: None,
            copies: None,
            columns: None,
        };
        lines.write_part(folder, format, number).unwrap();
    }

    #[test]
    fn parts_are_read_in_order_in_every_format_of_this_build() {
        for &format in AssignmentsFormat::ALL.iter().filter(|format| format.check_build().is_ok()) {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            // Eleven parts, so that the order is that of numbers; one without documents.
            for number in (0..11u32).rev() {
                let n = number as i32;
                written(folder, format, number, 10 * n..10 * n + if n == 4 { 0 } else { 10 });
            }
            fs::write(folder.join("assignments/.DS_Store"), "not a part").unwrap();
            let found = read_assignments(folder, &MemoryLimit::default()).unwrap();
            let clusters: Vec<i32> = found.iter().map(|line| line.cluster).collect();
            assert_eq!(clusters, (0..40).chain(50..110).collect::<Vec<_>>(), "{format}");
            assert!(found.iter().all(|line| line.id == format!("d{}", line.cluster)), "{format}");
        }
    }

    #[test]
    fn parts_that_are_not_of_one_result_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let message = || {
            let error = read_assignments(folder, &MemoryLimit::default()).unwrap_err().to_string();
            error.replace(&format!("{}/", folder.display()), "")
        };
        fs::create_dir(folder.join("assignments")).unwrap();
        assert_eq!(message(), "assignments: holds no part of the assignments");
        for (number, docs) in [(1, 3..5), (2, 5..9), (4, 9..10)] {
            written(folder, AssignmentsFormat::Csv, number, docs);
        }
        assert_eq!(message(), "assignments/part-00000.csv: is missing, but there is part-00001.csv");
        written(folder, AssignmentsFormat::Csv, 0, 0..3);
        assert_eq!(message(), "assignments/part-00003.csv: is missing, but there is part-00004.csv");
        written(folder, AssignmentsFormat::Jsonl, 3, 0..3);
        assert_eq!(
            message(),
            "assignments/part-00003.jsonl: is a part in another format; the first part is in the format csv"
        );
        fs::remove_file(folder.join("assignments/part-00003.jsonl")).unwrap();
        fs::remove_file(folder.join("assignments/part-00004.csv")).unwrap();
        assert_eq!(read_assignments(folder, &MemoryLimit::default()).unwrap().len(), 9);
        // The same part in two formats.
        written(folder, AssignmentsFormat::Jsonl, 1, 0..3);
        assert!(message().starts_with("assignments/part-00001.jsonl: is a part in another format; "));
        fs::remove_file(folder.join("assignments/part-00001.jsonl")).unwrap();
        fs::write(folder.join("assignments/part-3.csv"), "").unwrap();
        assert!(message().starts_with("assignments/part-3.csv: is not the name of a part; "));
        fs::remove_file(folder.join("assignments/part-3.csv")).unwrap();
        fs::write(folder.join("assignments/part-00001.csv"), "id,cluster,similarity\na,zero,1\n").unwrap();
        assert!(message().starts_with("assignments/part-00001.csv: cannot read: CSV deserialize error"));
        fs::write(folder.join("assignments.csv"), "id,cluster,similarity\n").unwrap();
        assert_eq!(
            message(),
            "assignments: is there beside assignments.csv; a result has its assignments in one file or in parts: delete what is not of this result"
        );
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = |name: &str, content: &str| {
            std::fs::write(folder.path().join(name), content).unwrap();
            let error = read_assignments(folder.path(), &MemoryLimit::default()).unwrap_err().to_string();
            std::fs::remove_file(folder.path().join(name)).unwrap();
            error.replace(&format!("{}/", folder.path().display()), "")
        };
        let good = "{\"id\": \"a\", \"cluster\": 0, \"similarity\": 1}\n";
        let error = message("assignments.jsonl", &format!("{good}{{\"id\": \"b\"}}\n"));
        assert!(error.starts_with("assignments.jsonl:2: missing field `cluster`"), "{error}");
        let error = message("assignments.csv", "id,cluster,similarity\na,zero,1\n");
        assert!(error.starts_with("assignments.csv: cannot read: CSV deserialize error"), "{error}");
        let error = read_assignments(folder.path(), &MemoryLimit::default()).unwrap_err().to_string();
        assert!(error.ends_with(": there are no assignments; is it a result folder?"), "{error}");
        let limit = MemoryLimit::new(1_000, || 900);
        std::fs::write(folder.path().join("assignments.csv"), "id,cluster,similarity\na,0,1\n").unwrap();
        let error = read_assignments(folder.path(), &limit).unwrap_err();
        let kind = error.library().map(docsphere::Error::kind);
        assert!(matches!(kind, Some(docsphere::ErrorKind::Memory { what: reading::WHAT, .. })), "{error}");
        assert!(error.path().is_some_and(|path| path.ends_with("assignments.csv")));
    }
}
