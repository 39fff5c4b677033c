//! Help texts, and that options are the library's.

use std::fs;

use crate::command::{Place, repository};
use crate::golden::assert_golden;

#[test]
fn help_fits_80_columns_and_changes_only_on_purpose() {
    let place = Place::new();
    let commands = [
        "",
        "cluster",
        "sweep",
        "assign",
        "add",
        "remove",
        "inspect",
        "score",
        "compare",
        "report",
        "serve",
        "index",
        "edit",
        "merge",
        "verify",
        "vectorize",
        "export",
        "demo",
        "completions",
        "man",
    ];
    for command in commands {
        let help = place.ok(&format!("{command} --help"));
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let name = if command.is_empty() { "docsphere" } else { command };
        assert_golden(&format!("help-{name}.txt"), &help);
    }
    assert_eq!(place.ok("--version"), concat!("docsphere ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// The rows of the table above `Params`: name and default.
fn library_options() -> Vec<(String, String)> {
    let source = fs::read_to_string(repository().join("crates/docsphere/src/fit/params.rs")).unwrap();
    let rows = source.lines().filter_map(|line| line.strip_prefix("/// | `"));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let name = cells.next().unwrap().trim_end_matches('`').to_owned();
        (name, cells.next().unwrap().replace(", ", ","))
    })
    .collect()
}

#[test]
fn options_have_the_names_and_defaults_of_the_library() {
    let help = Place::new().ok("cluster --help");
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let options = library_options();
    assert_eq!(options.len(), 14, "{options:?}");
    for (name, default) in options {
        // The one that is shorter here.
        let option = if name == "n_threads" { "threads".to_owned() } else { name.replace('_', "-") };
        let begin = help.find(&format!("--{option} <")).unwrap_or_else(|| panic!("there is no --{option}"));
        let described = &help[begin..];
        let end = described[2..].find(" --").map_or(described.len(), |end| end + 2);
        let expected = format!("[default: {default}]");
        assert!(default.is_empty() || described[..end].contains(&expected), "--{option} {expected}");
    }
}

#[test]
fn every_strategy_and_format_of_the_library_is_named() {
    let help = Place::new().ok("cluster --help");
    let names = docsphere::Strategy::ALL.iter().map(|strategy| strategy.name());
    let formats = docsphere::CorpusFormat::ALL.iter().map(|format| format.name());
    let matrices = docsphere::formats::Format::ALL.iter().map(|format| format.name());
    for name in names.chain(formats).chain(matrices) {
        assert!(help.contains(name), "{name}");
    }
}
