//! Checks that files and numbers named in prose still exist and hold.

use std::fs;
use std::path::{Path, PathBuf};

use docsphere::Strategy;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Quoted text that looks like a path: has a slash or ends in a known extension.
fn paths_in(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &str| {
        let known =
            [".rs", ".md", ".toml", ".py", ".ts", ".mjs", ".html"].iter().any(|end| word.ends_with(end));
        let plain = word.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c));
        // A file of results, not of the repository.
        let is_result = word == "run.toml";
        plain && (known || word.ends_with('/')) && !word.starts_with('.') && !is_result
    };
    quoted.filter(|word| is_path(word)).map(str::to_owned).collect()
}

#[test]
fn every_path_that_architecture_and_contributing_name_exists() {
    let files = tree(&root().join("crates")).into_iter().chain(tree(&root().join("docs")));
    // Of explorer/, without what npm puts there.
    let folders = ["benchmarks", "fuzz/src", "python", "explorer/src", "explorer/tests"]
        .map(|folder| tree(&root().join(folder)));
    let entries = [root(), root().join("explorer")].map(|folder| fs::read_dir(folder).unwrap());
    let entries = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    let known: Vec<PathBuf> = files.chain(folders.into_iter().flatten()).chain(entries).collect();
    let mut n_paths = 0;
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for path in paths_in(&text) {
            assert!(
                known.iter().any(|known| known.ends_with(&path)),
                "{document} names {path}, which does not exist"
            );
            n_paths += 1;
        }
    }
    assert!(n_paths > 20, "only {n_paths} paths found: has the way of quoting changed?");
}

/// Every file and folder below a folder.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below =
        |path: PathBuf| if path.is_dir() { [vec![path.clone()], tree(&path)].concat() } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn the_guide_has_a_line_for_every_strategy() {
    let text = fs::read_to_string(root().join("docs/strategies.md")).unwrap();
    for &strategy in Strategy::ALL {
        assert!(text.contains(&format!("| `{strategy}` |")), "docs/strategies.md has no row for {strategy}");
    }
}
