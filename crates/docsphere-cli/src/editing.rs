//! Changes of the edits of a result: by `docsphere edit`, and from the page under `docsphere
//! serve`.
//!
//! A new folder is made beside the result and takes its place in one step, as for documents that
//! are added. Files that stay as they are get a second name in it, so that they are not copied.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use docsphere::{Moment, fail_point};
use docsphere_result::edits::{self, Edits, Operation};
use docsphere_result::{ClustersFile, Configuration, GroupsFile, PageLimits, names, read_assignments};

use crate::memory;
use crate::output::folder::{Existing, ResultFolder};
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::result_lock::ResultLock;

/// A change that makes no sense, with the reason.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// This moment as ISO 8601.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let moment = Moment::from_micros(since.as_secs() as i64 * 1_000_000);
    moment.map(|moment| moment.iso(true).to_string()).unwrap_or_default()
}

/// Changes the edits of a result, and with them all its files, or nothing. Returns the edits.
pub(crate) fn change(result: &Path, change: impl FnOnce(&mut Edits) -> Result<(), String>) -> Result<Edits> {
    rewrite(result, change, &|_| Ok(()))
}

/// Cuts the groups of an edited result to another number, and writes the group of every document.
pub(crate) fn recut(result: &Path, n_groups: usize) -> Result<()> {
    let limit = memory::of_readers();
    let cut = |base: &Path| {
        let clusters = ClustersFile::read(base, &limit)?;
        let groups = GroupsFile::read(base, &limit)?.recut(&clusters.clusters, n_groups)?;
        let lines = read_assignments(base, &limit)?;
        // Not written into the old files, which are those of the result, too.
        for name in [names::GROUPS, names::GROUP_TABLE] {
            let path = base.join(name);
            if path.exists() {
                fs::remove_file(&path)?;
            }
        }
        groups.write(base)?;
        let mut file = BufWriter::new(File::create(base.join(names::GROUP_TABLE))?);
        groups.write_table(&lines, &mut file)?;
        Ok(file.flush()?)
    };
    // Fewer groups than the edited result has clusters.
    let edits = Edits::read(result, &limit)?;
    let edited = edits::apply(&edits::base_of(result), result, &edits, &limit)?;
    if let Some(groups) = edited.groups {
        groups.recut(&edited.clusters.clusters, n_groups)?;
    }
    rewrite(result, |_| Ok(()), &cut).map(drop)
}

/// Applies the edits of a result to a new one that was made from it, in the folder `out`.
pub(crate) fn carry_over(result: &Path, out: &Path) -> Result<()> {
    let limit = memory::of_readers();
    let edits = Edits::read(result, &limit)?;
    if edits.is_empty() {
        return Ok(());
    }
    let n_clusters =
        |folder: &Path| Ok::<_, anyhow::Error>(ClustersFile::read(folder, &limit)?.clusters.len());
    let has_split = edits.edits.iter().any(|edit| matches!(edit.operation, Operation::Split { .. }));
    if has_split && n_clusters(&edits::base_of(result))? != n_clusters(out)? {
        bail!(
            "clusters of the result were split, and their parts have the numbers after the others, so no clusters can be opened; remove these edits first with docsphere edit"
        );
    }
    let base = out.join(names::BASE);
    fs::create_dir(&base).with_context(|| format!("{}: cannot make this folder", base.display()))?;
    for name in of_base().filter(|name| out.join(name).exists()) {
        fs::rename(out.join(name), base.join(name)).with_context(|| format!("{name}: cannot move"))?;
    }
    let applied = edits::derive(out, &edits, limits_of(result), &limit);
    applied.context("the edits of the result do not fit any more; remove those with docsphere edit first")?;
    #[cfg(feature = "serve")]
    put_index(&base, out)?;
    Ok(())
}

/// The files that edits may change, and the folder of assignments in parts.
fn of_base() -> impl Iterator<Item = &'static str> {
    names::EDITED.iter().copied().chain([names::ASSIGNMENT_PARTS])
}

/// Writes a result again, with other edits, and from other files of the run.
fn rewrite(
    result: &Path,
    change: impl FnOnce(&mut Edits) -> Result<(), String>,
    change_base: &dyn Fn(&Path) -> Result<()>,
) -> Result<Edits> {
    // A link stays what it is: the folder that it names changes.
    let shown = result.display();
    let result = &fs::canonicalize(result).with_context(|| format!("{shown}: cannot read"))?;
    if !result.join(names::CLUSTERS).is_file() {
        bail!("{shown}: is no result (there is no {})", names::CLUSTERS);
    }
    ResultFolder::check(result, Existing::Changed, FolderKind::Result, &Reads::default())?;
    let lock = ResultLock::take(result)?;
    let limit = memory::of_readers();
    let mut edits = Edits::read(result, &limit)?;
    let last = edits.edits.last().map_or(0, |edit| edit.id);
    change(&mut edits).map_err(Refused)?;
    // Whatever can be refused is refused before anything is written.
    let new = edits.edits.last().map(|edit| edit.id).filter(|&id| id > last);
    edits::apply_with_new(&edits::base_of(result), result, (&edits, new), &limit)?;
    let folder = ResultFolder::of_changed(result, FolderKind::Result, lock)?;
    let filled = fill(folder.path(), result, &edits, change_base);
    filled.with_context(|| format!("{shown}: cannot be edited"))?;
    fail_point("edited files written");
    folder.commit()?;
    Ok(edits)
}

/// Writes all files of a result with these edits into a new folder.
fn fill(out: &Path, result: &Path, edits: &Edits, change_base: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
    let base = edits::base_of(result);
    let is_unchanged = |name: &&&str| !names::EDITED.contains(name) && **name != names::EDITS;
    names::ALL.iter().filter(is_unchanged).try_for_each(|name| edits::put(result, out, name))?;
    if edits.is_empty() {
        of_base().try_for_each(|name| edits::put(&base, out, name))?;
    } else {
        let place = out.join(names::BASE);
        fs::create_dir(&place).with_context(|| format!("{}: cannot make this folder", place.display()))?;
        of_base().try_for_each(|name| edits::put(&base, &place, name))?;
        fail_point("base kept");
        change_base(&place)?;
        edits::derive(out, edits, limits_of(result), &memory::of_readers())?;
    }
    fail_point("result derived");
    #[cfg(feature = "serve")]
    put_index(result, out)?;
    Ok(())
}

/// The limits of the report of a run.
pub(crate) fn limits_of(result: &Path) -> PageLimits {
    let mut limits = PageLimits::default();
    let options = Configuration::of_result(result, &memory::of_readers()).ok().flatten().unwrap_or_default();
    let value = |key: &str| options.get(key).and_then(|option| option.value.values().first().cloned());
    if let Some(n_chars) = value("report-chars").and_then(|text| text.parse().ok()) {
        limits.max_chars = n_chars;
    }
    if let Some(n_bytes) = value("report-size").and_then(|text| memory::parse_bytes(&text).ok()) {
        limits.max_bytes = n_bytes;
    }
    limits
}

/// Writes the search index of an edited result, unless it is there: that of the run or of the
/// folder `from`, if its clusters are the same; else that of `from` with other clusters.
#[cfg(feature = "serve")]
fn put_index(from: &Path, out: &Path) -> Result<()> {
    let limit = memory::of_readers();
    let (path, base) = (out.join(names::DOCUMENTS), out.join(names::BASE));
    if path.exists() || !from.join(names::DOCUMENTS).exists() {
        return Ok(());
    }
    let lines = read_assignments(out, &limit)?;
    for folder in [&*base, from] {
        if !folder.join(names::DOCUMENTS).exists() {
            continue;
        }
        let others = read_assignments(folder, &limit)?;
        let mut pairs = lines.iter().zip(&others);
        let is_same = pairs.all(|(a, b)| (a.cluster, a.similarity) == (b.cluster, b.similarity));
        if is_same && lines.len() == others.len() {
            return Ok(edits::put(folder, out, names::DOCUMENTS)?);
        }
    }
    crate::serve::index::relabel(&from.join(names::DOCUMENTS), &path, &lines)
}
