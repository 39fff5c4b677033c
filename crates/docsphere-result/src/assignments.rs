//! `assignments.csv`, `.jsonl` or `.parquet`: one line per document, in the order of the input.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use docsphere::{DocId, Labels, MemoryLimit, Nearest};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::files::Reading;

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

fn not_built() -> Error {
    ErrorKind::NotBuilt { what: "Parquet", feature: "parquet" }.into()
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
    pub ids: &'a [String],
    /// The cluster of each document.
    pub labels: &'a Labels,
    /// The similarity of each document to its centroid.
    pub similarities: &'a [f64],
    /// The two nearest clusters of each document, if runners-up are wanted.
    pub nearest: Option<&'a Nearest>,
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
}

/// The name of the file's content in messages.
const WHAT: &str = "the assignments";

/// Memory of an assignment per byte of a short line: its own id, and its slot in a list that grows
/// by doubling.
const LINE_COPIES: u64 = 20;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 30;

/// Reads the assignments of a result, in any of the formats.
///
/// # Errors
/// If there are none, or the file is damaged, needs more memory than `limit` allows, or is in a
/// format that is not in this build.
pub fn read_assignments(folder: &Path, limit: &MemoryLimit) -> Result<Vec<ReadAssignment>> {
    let existing = |format: &&AssignmentsFormat| folder.join(format.file_name()).exists();
    let Some(format) = AssignmentsFormat::ALL.iter().find(existing) else {
        return Err(Error::malformed("there are no assignments; is it a result folder?").at_path(folder));
    };
    let path = folder.join(format.file_name());
    format.check_build().map_err(|error| error.at_path(&path))?;
    let reading = Reading { what: WHAT, kept: LINE_COPIES, limit };
    match format {
        AssignmentsFormat::Csv => {
            let mut reader = csv::Reader::from_reader(reading.open(&path)?);
            // Read first: if the header cannot be read, `deserialize` treats the file as empty.
            let headers = reader.headers().map(drop);
            let lines = headers.and_then(|()| reader.deserialize().collect());
            lines.map_err(|error| {
                let text = error.to_string();
                match error.into_kind() {
                    csv::ErrorKind::Io(error) => Error::reading(error, &path),
                    _ => Error::malformed(format!("cannot read: {text}")).at_path(&path),
                }
            })
        }
        AssignmentsFormat::Jsonl => {
            let mut lines = Vec::new();
            reading.for_each_line(&path, MAX_LINE_BYTES, |line| {
                lines.push(serde_json::from_str(line).map_err(|error| error.to_string())?);
                Ok(())
            })?;
            Ok(lines)
        }
        AssignmentsFormat::Parquet => parquet_file::read(&path, limit),
    }
}

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
        let path = folder.join(format.file_name());
        format.check_build().map_err(|error| error.at_path(&path))?;
        let create = || File::create(&path).map(BufWriter::new);
        match format {
            AssignmentsFormat::Csv => create().and_then(|file| self.write_csv(file)),
            AssignmentsFormat::Jsonl => create().and_then(|file| self.write_jsonl(file)),
            AssignmentsFormat::Parquet => return parquet_file::write(&path, self),
        }
        .map_err(|error| Error::writing(error, &path))
    }

    /// All lines, in order.
    pub fn iter(&self) -> impl Iterator<Item = Assignment<'a>> {
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

    fn write_csv(&self, file: impl Write) -> io::Result<()> {
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
        writer.flush()
    }

    fn write_jsonl(&self, mut file: impl Write) -> io::Result<()> {
        for line in self.iter() {
            serde_json::to_writer(&mut file, &line)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }
}

#[cfg(test)]
mod tests {
    use docsphere::MemoryLimit;

    use super::*;

    #[test]
    fn what_is_written_is_read_in_every_format_of_this_build() {
        let ids = ["a", "b, \"quoted\"\nline"].map(str::to_owned);
        let labels = Labels::from(vec![3, -1]);
        let lines =
            Assignments { ids: &ids, labels: &labels, similarities: &[0.123_456_7, 0.0], nearest: None };
        let line = |id: &String, cluster, similarity| ReadAssignment { id: id.clone(), cluster, similarity };
        let expected = [line(&ids[0], 3, 0.123_457), line(&ids[1], -1, 0.0)];
        for &format in AssignmentsFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            let folder = tempfile::tempdir().unwrap();
            let written = lines.write(folder.path(), format);
            if format.check_build().is_ok() {
                written.unwrap();
                let found = read_assignments(folder.path(), &MemoryLimit::default()).unwrap();
                assert_eq!(found, expected, "{format}");
            } else {
                assert!(matches!(written.unwrap_err().kind(), ErrorKind::NotBuilt { .. }), "{format}");
            }
        }
        assert_eq!(AssignmentsFormat::Parquet.check_build().is_ok(), cfg!(feature = "parquet"));
        let problem = "must be csv, jsonl or parquet, got \"xml\"";
        assert_eq!("xml".parse::<AssignmentsFormat>(), Err(problem.to_owned()));
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
        assert!(matches!(kind, Some(docsphere::ErrorKind::Memory { what: WHAT, .. })), "{error}");
        assert!(error.path().is_some_and(|path| path.ends_with("assignments.csv")));
    }
}
