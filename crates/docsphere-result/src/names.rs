//! The names of the files.

use crate::AssignmentsFormat;

/// The clusters: the file that every result has.
pub const CLUSTERS: &str = "clusters.json";
/// What people have changed. Absent without changes.
pub const EDITS: &str = "edits.json";
/// The folder with those files of an edited result that edits change, as the run wrote them.
pub const BASE: &str = "base";
/// The groups of clusters, and the merge tree.
pub const GROUPS: &str = "groups.json";
/// The group of every document.
pub const GROUP_TABLE: &str = "groups.csv";
/// The kept columns: what they are, and their values by cluster.
pub const COLUMNS: &str = "columns.json";
/// The positions of the clusters on the map.
pub const MAP: &str = "map.json";
/// The model.
pub const MODEL: &str = "model.docsphere";
/// The documents as points on the map.
pub const POINTS: &str = "points.docsphere";
/// The report.
pub const REPORT: &str = "report.html";
/// The options of the run, from which it can be repeated.
pub const CONFIGURATION: &str = "run.toml";
/// Counts and timings of the run.
pub const TRACE: &str = "trace.json";
/// The search index of the server, which has its own format.
pub const DOCUMENTS: &str = "documents.sqlite";
/// The unit rows of all documents, so that documents can be added and removed.
pub const ROWS: &str = "rows.docsphere";
/// The ids and texts of all documents, likewise. Also in the folder of a run that has not ended.
pub const TEXTS: &str = "texts.docsphere";
/// The values of kept columns, likewise.
pub const COLUMN_VALUES: &str = "columns.docsphere";
/// Texts and columns of documents that are being added. Only in folders that are not finished.
pub const NEW_STORES: [&str; 2] = ["texts.store", "columns.store"];

/// The measures of a sweep: the file that the folder of every sweep has. The folder also holds a
/// result for each number of clusters; see [`step_folder`].
pub const SWEEP: &str = "sweep.json";
/// The page of a sweep.
pub const SWEEP_PAGE: &str = "sweep.html";

/// The folder of a result within that of a sweep, by its number of clusters: `k-20`.
pub fn step_folder(n_clusters: usize) -> String {
    format!("k-{n_clusters}")
}

/// Whether a folder within that of a sweep is a result.
pub fn is_step_folder(name: &str) -> bool {
    let number = name.strip_prefix("k-").and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| step_folder(number) == name)
}

/// The folder of assignments in parts, which a result may have instead of one file:
/// `part-00000.csv`, `part-00001.csv` and so on, or with the ending of another format.
pub const ASSIGNMENT_PARTS: &str = "assignments";

/// Whether a file in the folder [`ASSIGNMENT_PARTS`] is a part.
pub fn is_part_name(name: &str) -> bool {
    AssignmentsFormat::of_part(name).is_some()
}

/// All files that a result may have, except the parts of assignments.
pub const ALL: &[&str] = &[
    "assignments.csv",
    "assignments.jsonl",
    "assignments.parquet",
    CLUSTERS,
    COLUMNS,
    COLUMN_VALUES,
    CONFIGURATION,
    "documents.csv",
    "documents.jsonl",
    "documents.parquet",
    DOCUMENTS,
    EDITS,
    GROUPS,
    GROUP_TABLE,
    MAP,
    MODEL,
    POINTS,
    REPORT,
    ROWS,
    TEXTS,
    TRACE,
    NEW_STORES[0],
    NEW_STORES[1],
];

/// The files that edits may change, except the parts of assignments: those of [`BASE`].
pub const EDITED: &[&str] = &[
    "assignments.csv",
    "assignments.jsonl",
    "assignments.parquet",
    CLUSTERS,
    COLUMNS,
    "documents.csv",
    "documents.jsonl",
    "documents.parquet",
    DOCUMENTS,
    GROUPS,
    GROUP_TABLE,
    MAP,
    POINTS,
    REPORT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_of_the_assignments_has_its_name_in_the_list() {
        for format in AssignmentsFormat::ALL {
            assert!(ALL.contains(&format.file_name()), "{format}");
            assert!(ALL.contains(&format.documents_name()), "{format}");
        }
    }

    #[test]
    fn only_names_that_are_written_are_results_of_a_sweep() {
        assert!(is_step_folder(&step_folder(20)) && is_step_folder("k-2000"));
        for name in ["k-", "k-020", "k-+20", "k-20 ", "K-20", "k20", "20", "k--2", "k-99999999999999999999"] {
            assert!(!is_step_folder(name), "{name}");
        }
    }

    #[test]
    fn only_names_that_are_written_are_names_of_parts() {
        for (number, name) in
            [(0, "part-00000.csv"), (99_999, "part-99999.csv"), (123_456, "part-123456.csv")]
        {
            assert_eq!(AssignmentsFormat::Csv.part_name(number), name);
            assert_eq!(AssignmentsFormat::of_part(name), Some((AssignmentsFormat::Csv, number)));
        }
        assert!(is_part_name("part-00007.jsonl") && is_part_name("part-00007.parquet"));
        for name in
            ["part-7.csv", "part-000007.csv", "part-+0007.csv", "part-00007.txt", "part-00007", "notes.csv"]
        {
            assert!(!is_part_name(name), "{name}");
        }
        assert!(!is_part_name("part-99999999999.csv"), "no number of a part");
    }
}
