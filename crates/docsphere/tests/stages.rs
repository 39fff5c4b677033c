//! A stage uses only the stages above it, in the order of the `mod` lines of `lib.rs`; what serves all stages uses none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of `lib.rs` in order: those that are folders are stages, but for `simd`, which serves all of them.
fn modules() -> Vec<(String, bool)> {
    let library = fs::read_to_string(source().join("lib.rs")).unwrap();
    let name = |line: &str| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    let is_stage = |name: &String| source().join(name).is_dir() && name != "simd";
    library.lines().filter_map(name).map(|name| (name.clone(), is_stage(&name))).collect()
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a file names as `crate::…`, without its comments and tests.
fn named_modules(text: &str) -> BTreeSet<String> {
    let tests = ["#[cfg(test)]", "#[cfg(all(test"].map(|start| text.find(start).unwrap_or(text.len()));
    let code = &text[..tests[0].min(tests[1])];
    let mut named = BTreeSet::new();
    for line in code.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        for (at, _) in line.match_indices("crate::") {
            let is_path = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
            let rest = &line[at + "crate::".len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if is_path && !name.is_empty() {
                named.insert(name);
            }
        }
    }
    named
}

/// Which module uses which others.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    files_below(&source(), &mut files);
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let inner = file.strip_prefix(source()).unwrap();
        let is_test = inner.file_name().is_some_and(|name| name == "tests.rs" || name == "trials.rs");
        if inner == Path::new("lib.rs") || is_test {
            continue;
        }
        let module = inner.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let named = named_modules(&fs::read_to_string(&file).unwrap());
        uses.entry(module.clone()).or_default().extend(named.into_iter().filter(|name| *name != module));
    }
    uses
}

#[test]
fn no_stage_uses_a_later_one_and_what_serves_all_uses_none() {
    let modules = modules();
    let stages: Vec<&String> =
        modules.iter().filter(|(_, is_stage)| *is_stage).map(|(name, _)| name).collect();
    assert!(stages.len() >= 10, "lib.rs was read: {stages:?}");
    let place = |name: &String| stages.iter().position(|stage| *stage == name);
    let uses = uses();
    assert!(uses["fit"].contains("shards") && uses["vectors"].contains("corpus"), "paths are found");
    for (module, used) in &uses {
        for used in used {
            let (Some(to), from) = (place(used), place(module)) else { continue };
            assert!(
                from.is_some_and(|from| to < from),
                "{module} uses {used}, which comes later; see ARCHITECTURE.md"
            );
        }
    }
}
