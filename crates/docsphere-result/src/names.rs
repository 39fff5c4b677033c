//! The names of the files.

/// The clusters: the file that every result has.
pub const CLUSTERS: &str = "clusters.json";
/// The groups of clusters, and the merge tree.
pub const GROUPS: &str = "groups.json";
/// The group of every document.
pub const GROUP_TABLE: &str = "groups.csv";
/// The positions of the clusters on the map.
pub const MAP: &str = "map.json";
/// The model.
pub const MODEL: &str = "model.docsphere";
/// The report.
pub const REPORT: &str = "report.html";
/// Counts and timings of the run.
pub const TRACE: &str = "trace.json";
/// The search index of the server, which has its own format.
pub const DOCUMENTS: &str = "documents.sqlite";
/// The texts of the documents. Exists only in the folder of a run that has not ended.
pub const TEXTS: &str = "texts.store";

/// All files that a result may have.
pub const ALL: &[&str] = &[
    "assignments.csv",
    "assignments.jsonl",
    "assignments.parquet",
    CLUSTERS,
    DOCUMENTS,
    GROUPS,
    GROUP_TABLE,
    MAP,
    MODEL,
    REPORT,
    TEXTS,
    TRACE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AssignmentsFormat;

    #[test]
    fn every_format_of_the_assignments_has_its_name_in_the_list() {
        for format in AssignmentsFormat::ALL {
            assert!(ALL.contains(&format.file_name()), "{format}");
        }
    }
}
