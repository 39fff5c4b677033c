//! A stage uses only the stages above it, in the order of the `mod` lines of `lib.rs`; modules that
//! serve all stages use none. Within a folder the files use each other without a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of `lib.rs` in order: folders are stages, except `simd` and `mapping`, which serve
/// all of them.
fn modules() -> Vec<(String, bool)> {
    let library = fs::read_to_string(source().join("lib.rs")).unwrap();
    let name = |line: &str| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    let is_stage = |name: &String| source().join(name).is_dir() && name != "simd" && name != "mapping";
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
        // What benches call shows parts of all stages, as the root of the library does.
        if inner == Path::new("lib.rs") || inner == Path::new("kernels.rs") || is_test {
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

/// The location of a file: `["corpus", "jsonl"]`.
type ModulePath = Vec<String>;

/// The text of each module, without tests and comments. Counterparts that represent one module are
/// one text.
fn module_texts(files: &BTreeMap<String, String>) -> BTreeMap<ModulePath, String> {
    let mut texts: BTreeMap<ModulePath, String> = BTreeMap::new();
    for (file, text) in files {
        let mut path: ModulePath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let name = path.pop().unwrap();
        if name == "tests" || name == "trials" {
            continue;
        }
        let folder = path.iter().map(|part| format!("{part}/")).collect::<String>();
        if name != "mod" {
            let attribute = format!("#[path = \"{name}.rs\"]");
            let of_folder = files.get(&format!("{folder}mod.rs")).map_or("", |text| text);
            let renamed = of_folder.split(&attribute).nth(1).and_then(|rest| rest.split("mod ").nth(1));
            path.push(renamed.map_or(name, |rest| rest.split(';').next().unwrap().to_owned()));
        }
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        texts.entry(path).or_default().extend(code.flat_map(|line| [line, "\n"]));
    }
    texts
}

/// All paths that begin with one of these words, with groups in braces expanded.
fn paths_from(code: &str, starts: &[&str]) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    for start in starts {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c)) {
                read_tree(&code[at..], &[], &mut paths);
            }
        }
    }
    paths
}

/// Reads one path, or a group of them, after `prefix`. Returns the remaining text.
fn read_tree<'a>(code: &'a str, prefix: &[String], paths: &mut Vec<ModulePath>) -> &'a str {
    let mut rest = code.trim_start();
    let mut path = prefix.to_vec();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                rest = read_tree(rest, &path, paths).trim_start().trim_start_matches(',').trim_start();
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length == 0 {
            // Not a name, such as `*`: it belongs to the path so far.
            paths.push(path);
            return rest.get(1..).unwrap_or_default();
        }
        path.push(rest[..length].to_owned());
        rest = &rest[length..];
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => {
                paths.push(path);
                // `as name`
                return rest.find([',', '}', ';']).map_or("", |end| &rest[end..]);
            }
        }
    }
}

/// The module in which a path ends, following the re-exports of folders.
fn module_of(path: &[String], texts: &BTreeMap<ModulePath, String>) -> Option<ModulePath> {
    let module = (1..=path.len()).rev().map(|length| &path[..length]).find(|p| texts.contains_key(*p))?;
    let Some(name) = path.get(module.len()) else { return Some(module.to_vec()) };
    let children: Vec<&str> = texts
        .keys()
        .filter(|other| other.len() == module.len() + 1 && other.starts_with(module))
        .map(|other| other[module.len()].as_str())
        .collect();
    let handed_on = texts[module].split("use ").skip(1).flat_map(|code| {
        let mut paths = Vec::new();
        read_tree(code.trim_start().trim_start_matches("self::"), &[], &mut paths);
        paths
    });
    // Words such as `cause {` look like an import without a path.
    let is_child = |first: &String| children.contains(&first.as_str());
    let mut handed_on =
        handed_on.filter(|path| path.first().is_some_and(is_child) && path.last() == Some(name));
    match handed_on.next() {
        Some(inner) => module_of(&[module, &inner[..]].concat(), texts),
        None => Some(module.to_vec()),
    }
}

/// For each folder, which of its files and folders uses which others. The uses in a folder's
/// `mod.rs` do not count: it names all of them.
fn uses_within(files: &BTreeMap<String, String>) -> BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> {
    let texts = module_texts(files);
    let mut graphs: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, code) in &texts {
        for path in paths_from(code, &["super", "crate"]) {
            let n_up = path.iter().take_while(|part| *part == "super").count();
            let base = if n_up == 0 { &[][..] } else { &module[..module.len().saturating_sub(n_up)] };
            let path = [base, &path[n_up.max(1)..]].concat();
            let Some(used) = module_of(&path, &texts) else { continue };
            let n_common = module.iter().zip(&used).take_while(|(a, b)| a == b).count();
            if n_common > 0 && n_common < module.len() && n_common < used.len() {
                let graph = graphs.entry(module[..n_common].to_vec()).or_default();
                graph.entry(module[n_common].clone()).or_default().insert(used[n_common].clone());
            }
        }
    }
    graphs
}

/// A path from a name back to itself.
fn find_cycle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn follow(
        name: &str,
        graph: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(at) = way.iter().position(|other| other == name) {
            return Some(way[at..].to_vec());
        }
        if !done.insert(name.to_owned()) {
            return None;
        }
        way.push(name.to_owned());
        let found = graph.get(name).into_iter().flatten().find_map(|next| follow(next, graph, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|name| follow(name, graph, &mut Vec::new(), &mut done))
}

#[test]
fn files_of_a_folder_use_each_other_without_a_cycle() {
    let mut paths = Vec::new();
    files_below(&source(), &mut paths);
    let name = |path: &PathBuf| path.strip_prefix(source()).unwrap().to_string_lossy().replace('\\', "/");
    let files = paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    let graphs = uses_within(&files);
    assert!(graphs[&vec!["corpus".to_owned()]]["jsonl"].contains("lines"), "paths are found");
    assert!(graphs[&vec!["corpus".to_owned(), "parquet".to_owned()]]["column"].contains("pages"));
    for (folder, graph) in &graphs {
        let cycle = find_cycle(graph);
        assert!(cycle.is_none(), "{}: files use each other in a circle: {cycle:?}", folder.join("/"));
    }
}

#[test]
fn a_cycle_of_files_is_found_through_names_that_are_handed_on() {
    let cycle_of = |files: &[(&str, &str)]| {
        let files = files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        uses_within(&files).values().find_map(find_cycle)
    };
    let folder = "mod a;\n#[path = \"b_twin.rs\"]\nmod b;\nmod c;\npub use b::{B, Other as C};\n";
    let (a, b) = ("use super::{c::{D, E}, B};\n", "fn f() { super::c::g(); }\n");
    let made_up = |c| [("s/mod.rs", folder), ("s/a.rs", a), ("s/b_twin.rs", b), ("s/c.rs", c)];
    assert_eq!(cycle_of(&made_up("use crate::error::Error;\n")), None);
    assert_eq!(
        cycle_of(&made_up("// super::a\n#[cfg(test)]\nmod tests { use super::super::a::A; }\n")),
        None
    );
    let sorted = |cycle: Option<Vec<String>>| cycle.map(BTreeSet::from_iter);
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(sorted(cycle_of(&made_up("use super::b;\n"))), names(&["b", "c"]));
    let through_all = [
        ("s/mod.rs", folder),
        ("s/a.rs", "use super::B;\n"),
        ("s/b_twin.rs", b),
        ("s/c.rs", "pub(super) use crate::s::a::A;\n"),
    ];
    assert_eq!(sorted(cycle_of(&through_all)), names(&["a", "b", "c"]));
    // A folder within a folder is one of its files.
    let deep = [
        ("s/mod.rs", ""),
        ("s/a.rs", "use super::d::e::E;\n"),
        ("s/d/mod.rs", ""),
        ("s/d/e.rs", "use super::super::a::A;\n"),
    ];
    assert_eq!(sorted(cycle_of(&deep)), names(&["a", "d"]));
}
