//! The files with a line per document, relabelled: everything in a line that edits do not change
//! stays as it is.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use docsphere::MemoryLimit;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::moves::{Placed, Relabelled};
use crate::assignments::{AssignmentsFormat, rounded};
use crate::error::{Error, Result};
use crate::files::Reading;
use crate::names;

#[cfg(feature = "parquet")]
#[path = "documents/parquet_enabled.rs"]
mod parquet_file;

#[cfg(not(feature = "parquet"))]
#[path = "documents/parquet_disabled.rs"]
mod parquet_file;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 30;

/// The fields of a line that edits change, in the order of [`Line`].
const FIELDS: [&str; 5] = ["cluster", "similarity", "runner_up", "runner_up_similarity", "silhouette"];

/// What edits change of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    cluster: i32,
    similarity: f64,
    /// The second-nearest cluster and its similarity, if the file has them.
    runner_up: Option<(i32, f64)>,
    silhouette: Option<f64>,
}

impl Line {
    /// The line of the document with this number after all edits; `None` if it stays as it is.
    fn edited(self, number: usize, moves: &Relabelled) -> Option<Self> {
        let Placed { cluster, similarity, is_touched } = moves.place(self.cluster, number);
        let mut line = Line { cluster, similarity: similarity.unwrap_or(self.similarity), ..self };
        if is_touched {
            line.silhouette = None;
        }
        line.runner_up = self.runner_up.map(|(other, similarity)| {
            let other = moves.cluster(other);
            if other < 0 || other == cluster { (-1, 0.0) } else { (other, similarity) }
        });
        (line != self).then_some(line)
    }

    /// As text, in the order of [`FIELDS`].
    fn texts(self) -> [String; 5] {
        let number = |value: f64| format!("{value:.6}");
        let (other, similarity) = self.runner_up.unwrap_or((-1, 0.0));
        [
            self.cluster.to_string(),
            number(self.similarity),
            other.to_string(),
            number(similarity),
            self.silhouette.map_or_else(String::new, number),
        ]
    }
}

/// Writes the assignments of a base into another folder, with the clusters after all edits.
pub(super) fn relabel(base: &Path, out: &Path, moves: &Relabelled, limit: &MemoryLimit) -> Result<()> {
    for &format in AssignmentsFormat::ALL {
        let name = format.file_name();
        if base.join(name).exists() {
            relabel_file(
                &base.join(name),
                &out.join(name),
                format,
                &Relabelling { moves, number: Cell::new(0), limit },
            )?;
        }
    }
    let parts = base.join(names::ASSIGNMENT_PARTS);
    if !parts.is_dir() {
        return Ok(());
    }
    let failed = |error: io::Error| Error::reading(error, &parts);
    let mut found = Vec::new();
    for entry in fs::read_dir(&parts).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        found.extend(name.to_str().and_then(AssignmentsFormat::of_part));
    }
    found.sort_by_key(|&(_, number)| number);
    let place = out.join(names::ASSIGNMENT_PARTS);
    fs::create_dir_all(&place).map_err(|error| Error::writing(error, &place))?;
    let relabelling = Relabelling { moves, number: Cell::new(0), limit };
    for (format, number) in found {
        let name = format.part_name(number);
        relabel_file(&parts.join(&name), &place.join(&name), format, &relabelling)?;
    }
    Ok(())
}

/// How files are relabelled.
struct Relabelling<'a> {
    moves: &'a Relabelled,
    /// The number of the next document.
    number: Cell<usize>,
    limit: &'a MemoryLimit,
}

impl Relabelling<'_> {
    fn edited(&self, line: Line) -> Option<Line> {
        let number = self.number.replace(self.number.get() + 1);
        line.edited(number, self.moves)
    }
}

fn relabel_file(
    from: &Path,
    to: &Path,
    format: AssignmentsFormat,
    relabelling: &Relabelling<'_>,
) -> Result<()> {
    format.check_build().map_err(|error| error.at_path(from))?;
    match format {
        AssignmentsFormat::Csv => relabel_csv(from, to, relabelling),
        AssignmentsFormat::Jsonl => relabel_jsonl(from, to, relabelling),
        AssignmentsFormat::Parquet => parquet_file::relabel(from, to, relabelling),
    }
}

fn relabel_csv(from: &Path, to: &Path, relabelling: &Relabelling<'_>) -> Result<()> {
    let reading = Reading { what: "the assignments", kept: 0, limit: relabelling.limit };
    let mut reader = csv::Reader::from_reader(reading.open(from)?);
    let unreadable = |error: csv::Error| {
        let text = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Error::reading(error, from),
            _ => Error::malformed(format!("cannot read: {text}")).at_path(from),
        }
    };
    let unwritable = |error: csv::Error| Error::writing(io::Error::from(error), to);
    let file = File::create(to).map_err(|error| Error::writing(error, to))?;
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let header = reader.headers().map_err(unreadable)?.clone();
    let places = FIELDS.map(|field| header.iter().position(|name| name == field));
    writer.write_record(&header).map_err(unwritable)?;
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(unreadable)? {
        let text = |field: usize| places[field].and_then(|place| record.get(place));
        let wrong = || {
            let line = record.position().map_or(0, csv::Position::line);
            Error::malformed("is not a line of assignments").at_line(line).at_path(from)
        };
        let number = |field: usize| text(field).and_then(|text| text.parse::<f64>().ok());
        let cluster = |field: usize| text(field).and_then(|text| text.parse::<i32>().ok());
        let line = Line {
            cluster: cluster(0).ok_or_else(wrong)?,
            similarity: number(1).ok_or_else(wrong)?,
            runner_up: cluster(2).zip(number(3)),
            silhouette: number(4),
        };
        let Some(edited) = relabelling.edited(line) else {
            writer.write_record(&record).map_err(unwritable)?;
            continue;
        };
        let texts = edited.texts();
        let field = |(place, old)| {
            let own = places.iter().position(|found| *found == Some(place));
            own.map_or(old, |own| &texts[own][..])
        };
        writer.write_record(record.iter().enumerate().map(field)).map_err(unwritable)?;
    }
    writer.flush().map_err(|error| Error::writing(error, to))
}

/// The fields of a JSON object in their order.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl serde::Serialize for Fields {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn relabel_jsonl(from: &Path, to: &Path, relabelling: &Relabelling<'_>) -> Result<()> {
    let reading = Reading { what: "the assignments", kept: 0, limit: relabelling.limit };
    let failed = |error: io::Error| Error::writing(error, to);
    let mut file = BufWriter::new(File::create(to).map_err(failed)?);
    let mut written: io::Result<()> = Ok(());
    reading.for_each_line(from, MAX_LINE_BYTES, |text| {
        let mut fields: Fields = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let number = |field: usize| {
            let found = fields.0.iter().find(|(name, _)| name == FIELDS[field]);
            found.and_then(|(_, value)| value.as_f64())
        };
        let line = Line {
            cluster: number(0).ok_or("has no cluster")? as i32,
            similarity: number(1).ok_or("has no similarity")?,
            runner_up: number(2).map(|cluster| cluster as i32).zip(number(3)),
            silhouette: number(4),
        };
        let Some(edited) = relabelling.edited(line) else {
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(file, "{text}"));
            return Ok(());
        };
        let (other, similarity) = edited.runner_up.unwrap_or((-1, 0.0));
        let values = [
            edited.cluster.into(),
            rounded(edited.similarity).into(),
            other.into(),
            rounded(similarity).into(),
            edited.silhouette.map_or(Value::Null, |value| rounded(value).into()),
        ];
        for (field, value) in FIELDS.iter().zip(values) {
            if let Some((_, place)) = fields.0.iter_mut().find(|(name, _)| name == field) {
                *place = value;
            }
        }
        written = std::mem::replace(&mut written, Ok(())).and_then(|()| {
            serde_json::to_writer(&mut file, &fields)?;
            file.write_all(b"\n")
        });
        Ok(())
    })?;
    written.and_then(|()| file.flush()).map_err(failed)
}
