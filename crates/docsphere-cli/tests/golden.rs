//! Texts that people read, against files in tests/golden; UPDATE_GOLDEN=1 writes them anew.

use std::fs;
use std::path::Path;

use crate::command::{Place, repository};

/// Compares with a file in tests/golden, or writes it.
#[track_caller]
pub(crate) fn assert_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} differs; UPDATE_GOLDEN=1 writes it anew. Found:\n{found}\nExpected:\n{expected}"
    );
}

/// Replaces the seconds of a run, which differ from run to run.
fn without_seconds(text: &str) -> String {
    let mask = |line: &str| match line.rsplit_once(", ") {
        Some((start, end)) if end.ends_with(" s") && line.contains("objective") => {
            format!("{start}, _.__ s\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(mask).collect()
}

#[test]
fn the_demo_prints_the_same_table_and_writes_the_same_clusters() {
    let place = Place::new();
    let shown = place.ok("demo");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_golden("demo.txt", &without_seconds(&shown));
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let table =
        shown.find("cluster     size").zip(shown.find("\n\nwritten to")).map(|(from, to)| &shown[from..to]);
    assert!(readme.contains(table.expect("a table")), "the README shows another table than the demo prints");
    assert_golden("demo-clusters.json", &place.read("docsphere-demo/clusters.json"));
    assert_golden("demo-assignments.csv", &place.read("docsphere-demo/assignments.csv"));
    let inspected =
        place.ok("inspect docsphere-demo") + "\n" + &place.ok("inspect docsphere-demo --cluster 0");
    assert!(inspected.lines().all(|line| line.chars().count() <= 80), "{inspected}");
    assert_golden("demo-inspect.txt", &inspected);
    assert_eq!(
        place.ok("verify docsphere-demo docsphere-demo.jsonl"),
        "checked 480 documents against 20 centroids: 0 mismatches\n"
    );
}
