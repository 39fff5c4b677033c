//! All files of an edited result from those of its base.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use docsphere::MemoryLimit;

use super::applied::{Edited, Rest};
use super::documents::relabel;
use super::moves::Relabelled;
use super::operation::{Edits, Operation};
use crate::assignments::{AssignmentsFormat, read_assignments};
use crate::clusters::ClustersFile;
use crate::columns::ColumnsFile;
use crate::documents;
use crate::error::{Error, ErrorKind, Result};
use crate::groups::GroupsFile;
use crate::map::MapFile;
use crate::names;
use crate::page::{PageLimits, StoredPage};
use crate::points::Points;

/// The folder with the files of a result as the run has written them: the folder [`names::BASE`] in
/// it, or the result itself if it has no edits.
pub fn base_of(result: &Path) -> PathBuf {
    let base = result.join(names::BASE);
    if base.is_dir() { base } else { result.to_owned() }
}

/// Puts a file, or a folder of files, of one result into another: under a second name, or as a copy
/// where that is not possible. Nothing happens if it is not there.
///
/// # Errors
/// If the system cannot write it.
pub fn put(from: &Path, to: &Path, name: &str) -> Result<()> {
    let (from, to) = (from.join(name), to.join(name));
    let Ok(found) = fs::symlink_metadata(&from) else { return Ok(()) };
    if !found.is_dir() {
        return fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(drop))
            .map_err(|error| Error::writing(error, &to));
    }
    fs::create_dir(&to).map_err(|error| Error::writing(error, &to))?;
    for entry in fs::read_dir(&from).map_err(|error| Error::reading(error, &from))? {
        let name = entry.map_err(|error| Error::reading(error, &from))?.file_name();
        let name = name.to_str().filter(|name| names::is_part_name(name));
        name.map_or(Ok(()), |name| put(&from, &to, name))?;
    }
    Ok(())
}

/// Reads the clusters, groups, map and columns of a base, and applies all edits to them. `result`
/// is the folder of the whole result.
///
/// # Errors
/// [`ErrorKind::Edit`] if an edit cannot be made; those of the files.
pub fn apply(base: &Path, result: &Path, edits: &Edits, limit: &MemoryLimit) -> Result<Edited> {
    apply_with_new(base, result, (edits, None), limit)
}

/// As [`apply`]. An error of the edit with the number `new`, which is being made, does not name it;
/// those of others do.
///
/// # Errors
/// As [`apply`].
pub fn apply_with_new(
    base: &Path,
    result: &Path,
    (edits, new): (&Edits, Option<u32>),
    limit: &MemoryLimit,
) -> Result<Edited> {
    let clusters = ClustersFile::read(base, limit)?;
    let has_groups = base.join(names::GROUPS).exists();
    let groups = has_groups.then(|| GroupsFile::read(base, limit)).transpose()?;
    let (map, columns) = (MapFile::read(base, limit)?, ColumnsFile::read(base, limit)?);
    let mut edited = Edited::new(clusters, groups, map, columns);
    let has_split = edits.edits.iter().any(|edit| matches!(edit.operation, Operation::Split { .. }));
    edited.points = if has_split { Points::read(base, limit)? } else { None };
    let rest = Rest::new(base, result, limit);
    for edit in &edits.edits {
        edited.apply(edit, &rest).map_err(|error| match error.kind() {
            ErrorKind::Edit { problem } if new != Some(edit.id) => {
                let problem = format!("edit {} ({}): {problem}", edit.id, edit.operation);
                ErrorKind::Edit { problem }.into()
            }
            _ => error,
        })?;
    }
    edited.finish()?;
    Ok(edited)
}

/// Writes the files of an edited result, all except the search index, into the folder `out`, which
/// holds the files that edits do not change and, in its folder [`names::BASE`], the others as the
/// run has written them. Files that stay the same are those of the base. Returns what has become
/// of the documents.
///
/// # Errors
/// [`ErrorKind::Edit`] if an edit cannot be made; those of reading and writing.
pub fn derive(out: &Path, edits: &Edits, limits: PageLimits, limit: &MemoryLimit) -> Result<Relabelled> {
    let base = &out.join(names::BASE);
    let edited = apply(base, out, edits, limit)?;
    let moves = &edited.moves;
    edits.write(out)?;
    edited.clusters.write(out)?;
    edited.groups.as_ref().map_or(Ok(()), |groups| groups.write(out))?;
    edited.map.as_ref().map_or(Ok(()), |map| map.write(out))?;
    edited.columns.as_ref().map_or(Ok(()), |columns| columns.write(out))?;
    let of_documents = names::EDITED.iter().filter(|name| {
        name.starts_with("assignments.") || name.starts_with("documents.") && **name != names::DOCUMENTS
    });
    if moves.is_empty() {
        of_documents.chain([&names::ASSIGNMENT_PARTS]).try_for_each(|name| put(base, out, name))?;
    } else {
        relabel(base, out, moves, limit)?;
    }
    let has = |name: &str| base.join(name).exists();
    match Points::read(base, limit)?.filter(|_| !moves.is_empty()) {
        Some(points) => points.relabelled(|cluster, document| moves.place(cluster, document)).write(out)?,
        None => put(base, out, names::POINTS)?,
    }
    let whole = AssignmentsFormat::ALL.iter().find(|format| has(format.documents_name()));
    if has(names::GROUP_TABLE) || (whole.is_some() && !moves.is_empty()) {
        let lines = read_assignments(out, limit)?;
        if let Some(&format) = whole.filter(|_| !moves.is_empty()) {
            let passages = lines.iter().map(|line| (&line.id[..], line.cluster));
            documents::write(out, format, passages)?;
        }
        if let Some(groups) = edited.groups.as_ref().filter(|_| has(names::GROUP_TABLE)) {
            let path = out.join(names::GROUP_TABLE);
            let write = || -> io::Result<()> {
                let mut file = BufWriter::new(File::create(&path)?);
                groups.write_table(&lines, &mut file)?;
                file.flush()
            };
            write().map_err(|error| Error::writing(error, &path))?;
        }
    }
    if has(names::REPORT) {
        let path = out.join(names::REPORT);
        let page = StoredPage::read(out, limit)?;
        fs::write(&path, page.page().render(limits, false).html)
            .map_err(|error| Error::writing(error, &path))?;
    }
    Ok(edited.moves)
}
