//! Assignments as they are read: all at once, or one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use docsphere::MemoryLimit;

use super::{AssignmentsFormat, PART_PREFIX, ReadAssignment, parquet_file};
use crate::error::{Error, Result};
use crate::files::Reading;
use crate::names;

/// The name of the file's content in messages.
pub(super) const WHAT: &str = "the assignments";

/// Memory of an assignment per byte of a short line: its own id, and its slot in a list that grows
/// by doubling.
const LINE_COPIES: u64 = 30;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 30;

/// Reads the assignments of a result, in any of the formats, from one file or from parts.
///
/// # Errors
/// If there are none, or a file is damaged, needs more memory than `limit` allows, or is in a
/// format that is not in this build. Also if a part is missing between others, if parts have
/// different formats, and if there are both one file and parts.
pub fn read_assignments(folder: &Path, limit: &MemoryLimit) -> Result<Vec<ReadAssignment>> {
    let (format, paths) = assignment_files(folder)?;
    let mut lines = Vec::new();
    for path in &paths {
        format.check_build().map_err(|error| error.at_path(path))?;
        read_file(path, format, limit, &mut lines)?;
    }
    Ok(lines)
}

/// Gives the assignments of a result to `take`, one after the other: as [`read_assignments`],
/// without holding them.
///
/// # Errors
/// As [`read_assignments`].
pub fn for_each_assignment(
    folder: &Path,
    limit: &MemoryLimit,
    take: impl FnMut(ReadAssignment),
) -> Result<()> {
    let (format, paths) = assignment_files(folder)?;
    let mut each = Each(take);
    for path in &paths {
        format.check_build().map_err(|error| error.at_path(path))?;
        read_file(path, format, limit, &mut each)?;
    }
    Ok(())
}

/// What becomes of the lines that are read.
pub(super) trait Sink {
    fn take(&mut self, line: ReadAssignment);

    /// Whether they are held.
    fn holds(&self) -> bool;
}

impl Sink for Vec<ReadAssignment> {
    fn take(&mut self, line: ReadAssignment) {
        self.push(line);
    }

    fn holds(&self) -> bool {
        true
    }
}

/// Lines that are given away.
struct Each<F>(F);

impl<F: FnMut(ReadAssignment)> Sink for Each<F> {
    fn take(&mut self, line: ReadAssignment) {
        self.0(line);
    }

    fn holds(&self) -> bool {
        false
    }
}

/// The format and the files of the assignments of a result, in order.
pub(crate) fn assignment_files(folder: &Path) -> Result<(AssignmentsFormat, Vec<PathBuf>)> {
    let existing = |format: &&AssignmentsFormat| folder.join(format.file_name()).exists();
    let whole = AssignmentsFormat::ALL.iter().find(existing);
    let parts = folder.join(names::ASSIGNMENT_PARTS);
    match (whole, parts.is_dir()) {
        (Some(whole), true) => {
            let problem = format!(
                "is there beside {}; a result has its assignments in one file or in parts: delete what is not of this result",
                whole.file_name()
            );
            Err(Error::malformed(problem).at_path(&parts))
        }
        (Some(&format), false) => Ok((format, vec![folder.join(format.file_name())])),
        (None, true) => find_parts(&parts),
        (None, false) => {
            Err(Error::malformed("there are no assignments; is it a result folder?").at_path(folder))
        }
    }
}

/// The format and the files of assignments in parts, in order.
fn find_parts(folder: &Path) -> Result<(AssignmentsFormat, Vec<PathBuf>)> {
    let failed = |error: io::Error| Error::reading(error, folder);
    let mut found: BTreeMap<(u32, &'static str), AssignmentsFormat> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        match name.to_str().and_then(AssignmentsFormat::of_part) {
            Some((format, number)) => drop(found.insert((number, format.name()), format)),
            // Almost a part: its documents would be missing.
            None if name.as_encoded_bytes().starts_with(PART_PREFIX.as_bytes()) => {
                let problem = "is not the name of a part; parts are named part-00000.csv, part-00001.csv and so on (or .jsonl, .parquet)";
                return Err(Error::malformed(problem).at_path(&folder.join(name)));
            }
            None => {}
        }
    }
    let Some(&format) = found.values().next() else {
        return Err(Error::malformed("holds no part of the assignments").at_path(folder));
    };
    let mut paths = Vec::with_capacity(found.len());
    for (expected, ((number, _), other)) in (0..).zip(found) {
        if other != format {
            let problem = format!("is a part in another format; the first part is in the format {format}");
            return Err(Error::malformed(problem).at_path(&folder.join(other.part_name(number))));
        }
        let path = folder.join(format.part_name(expected));
        if number != expected {
            let problem = format!("is missing, but there is {}", format.part_name(number));
            return Err(Error::malformed(problem).at_path(&path));
        }
        paths.push(path);
    }
    Ok((format, paths))
}

/// Adds the lines of one file.
fn read_file(
    path: &Path,
    format: AssignmentsFormat,
    limit: &MemoryLimit,
    lines: &mut impl Sink,
) -> Result<()> {
    let reading = Reading { what: WHAT, kept: if lines.holds() { LINE_COPIES } else { 1 }, limit };
    match format {
        AssignmentsFormat::Csv => {
            let mut reader = csv::Reader::from_reader(reading.open(path)?);
            let mut read = || {
                // First: if the header cannot be read, `deserialize` treats the file as empty.
                reader.headers()?;
                for line in reader.deserialize() {
                    lines.take(line?);
                }
                Ok(())
            };
            read().map_err(|error: csv::Error| {
                let text = error.to_string();
                match error.into_kind() {
                    csv::ErrorKind::Io(error) => Error::reading(error, path),
                    _ => Error::malformed(format!("cannot read: {text}")).at_path(path),
                }
            })
        }
        AssignmentsFormat::Jsonl => reading.for_each_line(path, MAX_LINE_BYTES, |line| {
            lines.take(serde_json::from_str(line).map_err(|error| error.to_string())?);
            Ok(())
        }),
        AssignmentsFormat::Parquet => parquet_file::read(path, limit, lines),
    }
}
