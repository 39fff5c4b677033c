//! Bytes to one file of a result whose other files are as they should be: what reads results (the
//! report, the server, edits, tables, comparisons) gives an error or goes on, and never panics.
//!
//! The first byte says which file it is, and what reads it: one thing at a time, since pages and
//! tables take longer than all readers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use docsphere::MemoryLimit;
use docsphere_result::edits::{self, Edits};
use docsphere_result::{
    ClustersFile, ColumnsFile, Comparison, Configuration, GroupsFile, MapFile, MatchBy, PageLimits, Points,
    StoredPage, SweepFile, TableFormat, for_each_assignment, kept_values, names, read_assignments,
    write_table,
};

use crate::checkpoints::resealed;

/// The files that may be replaced.
const FILES: [&str; 14] = [
    "assignments.csv",
    "assignments.jsonl",
    "assignments.parquet",
    names::CLUSTERS,
    names::GROUPS,
    names::MAP,
    names::COLUMNS,
    names::POINTS,
    names::TRACE,
    names::EDITS,
    names::CONFIGURATION,
    names::SWEEP,
    names::MODEL,
    names::ROWS,
];

/// A sweep of two numbers, one of which is recommended.
const SWEEP: &str = include_str!("sweep.json");

const PAGE: PageLimits = PageLimits { max_chars: 20, max_bytes: 1 << 20 };

/// Points that are sent.
const MAX_POINTS: usize = 100;

/// All files of the sample.
static SAMPLE: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    crate::sample::write(folder.path());
    crate::file(folder.path(), names::SWEEP, SWEEP.as_bytes());
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("a name of docsphere");
        (name, fs::read(entry.path()).expect("a file that is there"))
    };
    fs::read_dir(folder.path()).expect("a folder").map(|entry| read(entry.expect("an entry"))).collect()
});

/// What reads a result, after each file was read by itself.
const USES: [fn(&Path, &Path, &MemoryLimit); 4] = [show, tabulate, edit, compare];

/// Reads the result with the file that the first byte names replaced by the rest.
pub fn run(data: &[u8], folder: &Path) {
    let Some((&which, content)) = data.split_first() else { return };
    let which = usize::from(which);
    let (name, go_on) = (FILES[which % FILES.len()], USES[which / FILES.len() % USES.len()]);
    let out = folder.join("result");
    let read = |content: &[u8]| {
        sample_with(name, content, &out);
        read_files(&out, &MemoryLimit::default());
        go_on(&out, folder, &MemoryLimit::default());
    };
    read(content);
    if name.ends_with(".docsphere")
        && let Some(resealed) = resealed(content)
    {
        read(&resealed);
    }
}

/// The sample with one other file, in a new folder.
fn sample_with(name: &str, content: &[u8], out: &Path) {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out).expect("a folder");
    let is_lines = name.starts_with("assignments");
    for (file, content) in SAMPLE.iter() {
        // One file of lines only: that which is replaced, or the first.
        let is_other = file.starts_with("assignments") && (is_lines || file != FILES[0]);
        if !is_other && file != name {
            crate::file(out, file, content);
        }
    }
    crate::file(out, name, content);
}

/// As the report and the server do.
fn show(out: &Path, _folder: &Path, limit: &MemoryLimit) {
    let Ok(mut stored) = StoredPage::read(out, limit) else { return };
    let _ = stored.map_picture();
    let _ = stored.page().render(PAGE, true);
    let n_clusters = stored.clusters().clusters.len();
    if let Some(points) = stored.take_points() {
        let _ = points.to_message(n_clusters, MAX_POINTS);
        let bins = points.into_bins();
        if let Ok(filter) = bins.filter(&[(0, vec![0, 1]), (1, vec![0])]) {
            let _ = filter.passes(0);
        }
    }
}

fn tabulate(out: &Path, folder: &Path, limit: &MemoryLimit) {
    let _ = write_table(out, &folder.join("table.csv"), TableFormat::Csv, limit);
    let _ = kept_values(out, "kind", limit);
}

/// Every file by itself: what is read is the same when it is written and read again.
fn read_files(out: &Path, limit: &MemoryLimit) {
    let again = out.join("again");
    fs::create_dir_all(&again).expect("a folder");
    if let Ok(clusters) = ClustersFile::read(out, limit) {
        clusters.write(&again).expect("room for a file");
        assert_eq!(ClustersFile::read(&again, limit).expect("as written"), clusters);
    }
    if let Ok(groups) = GroupsFile::read(out, limit) {
        groups.write(&again).expect("room for a file");
        assert_eq!(GroupsFile::read(&again, limit).expect("as written"), groups);
        if let Ok(lines) = read_assignments(out, limit) {
            let mut n_lines = 0;
            for_each_assignment(out, limit, |_| n_lines += 1).expect("it was read before");
            assert_eq!(n_lines, lines.len());
            let _ = groups.write_table(&lines, &mut Vec::new());
        }
    }
    if let Ok(Some(map)) = MapFile::read(out, limit) {
        map.write(&again).expect("room for a file");
        assert_eq!(MapFile::read(&again, limit).expect("as written").as_ref(), Some(&map));
    }
    if let Ok(Some(columns)) = ColumnsFile::read(out, limit) {
        columns.write(&again).expect("room for a file");
        assert_eq!(ColumnsFile::read(&again, limit).expect("as written").as_ref(), Some(&columns));
    }
    if let Ok(Some(points)) = Points::read(out, limit) {
        points.write(&again).expect("room for a file");
        assert_eq!(Points::read(&again, limit).expect("as written").as_ref(), Some(&points));
    }
    if let Ok(sweep) = SweepFile::read(out, limit) {
        let _ = sweep.page();
    }
    if let Ok(Some(configuration)) = Configuration::of_result(out, limit) {
        let text = configuration.to_text("");
        let path = crate::file(&again, names::CONFIGURATION, text.as_bytes());
        let read = Configuration::read(&path, limit).expect("as written");
        assert_eq!(read.to_text(""), text);
    }
}

/// Applies the edits of the result.
fn edit(out: &Path, _folder: &Path, limit: &MemoryLimit) {
    let Ok(edits) = Edits::read(out, limit) else { return };
    let base = out.join(names::BASE);
    fs::create_dir_all(&base).expect("a folder");
    for entry in fs::read_dir(out).expect("a folder") {
        let path: PathBuf = entry.expect("an entry").path();
        if path.is_file() {
            fs::copy(&path, base.join(path.file_name().expect("a name"))).expect("room for a copy");
        }
    }
    // One after the other, so that one that cannot be made does not hide those behind it.
    for edit in &edits.edits {
        let _ = edits::apply(&base, out, &Edits { edits: vec![edit.clone()] }, limit);
    }
    let _ = edits::derive(out, &edits, PAGE, limit);
}

fn compare(out: &Path, folder: &Path, limit: &MemoryLimit) {
    let other = folder.join("other");
    if !other.exists() {
        sample_with(names::EDITS, b"[]", &other);
    }
    for by in [None, Some(MatchBy::Documents)] {
        if let Ok(comparison) = Comparison::read(&other, out, by, limit) {
            let _ = comparison.page();
        }
    }
}

/// Every file of the sample, for everything that reads it.
pub fn seeds(_folder: &Path) -> Vec<Vec<u8>> {
    let n_seeds = FILES.len() * USES.len();
    (0..n_seeds).map(|which| [&[which as u8][..], &SAMPLE[FILES[which % FILES.len()]]].concat()).collect()
}

#[cfg(test)]
mod tests {
    use docsphere::{Model, UnitRows};

    use super::*;

    #[test]
    fn the_sample_is_a_whole_result() {
        let (out, limit) = (tempfile::tempdir().unwrap(), &MemoryLimit::default());
        let out = &out.path().join("result");
        for lines in &FILES[..3] {
            sample_with(lines, &SAMPLE[*lines], out);
            assert_eq!(read_assignments(out, limit).unwrap().len(), 8);
        }
        let mut stored = StoredPage::read(out, limit).unwrap();
        let bins = stored.take_points().unwrap().into_bins();
        assert_eq!(bins.filter(&[(0, vec![0, 1]), (1, vec![0])]).err(), None);
        assert!(kept_values(out, "kind", limit).unwrap().is_some());
        assert!(SweepFile::read(out, limit).unwrap().page().contains("cats"));
        assert!(Configuration::of_result(out, limit).unwrap().unwrap().get("clusters").is_some());
        assert!(Model::load(out.join(names::MODEL)).is_ok());
        assert_eq!(UnitRows::load(out.join(names::ROWS)).unwrap().n_rows(), 8);
        let edits = Edits::read(out, limit).unwrap();
        assert_eq!(edits.edits.len(), 6);
        for edit in edits.edits {
            let edits = Edits { edits: vec![edit] };
            assert!(edits::apply(out, out, &edits, limit).is_ok(), "{edits:?}");
        }
    }
}
