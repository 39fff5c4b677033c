//! Every command that writes, with a fault at every operation on its files: the device fails, the
//! disk is full or read-only, the process ends before an operation or in the middle of it, or gets
//! a signal.
//!
//! `faults/faults.c` runs the command and makes the fault, from outside: nothing of this is in the
//! binary. By default each operation fails in one way, in turn; `DOCSPHERE_FAULTS=all` tries all
//! ways.
//!
//! Whatever happens: the old result is whole or the new one is, an error names a file, nothing that
//! is half written has a name that people see, and the same command then works.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::command::{Done, Place};

/// A command, in a folder where others have been run first.
struct Case {
    setup: &'static [&'static str],
    words: &'static str,
    /// Files that may be missing, or old while others are new, if the command does not end well.
    /// The documentation names them. Of a folder (`pages/`) each file is whole by itself.
    apart: &'static [&'static str],
}

impl Case {
    /// The folder of its result.
    fn target(&self) -> &'static str {
        let mut words = self.words.split_whitespace().skip_while(|&word| word != "-o").skip(1);
        words.next().unwrap_or("out")
    }
}

const RESULT: &str = "cluster pets.txt -k 2 -o out --index -q";
const OTHER: &str = "cluster pets.txt -k 3 -o other -q";

const CASES: [Case; 21] = [
    Case { setup: &[], words: RESULT, apart: &[] },
    Case { setup: &[RESULT], words: "cluster new.txt -k 2 -o out --force -q --seed 3", apart: &[] },
    Case {
        setup: &[],
        words: "cluster pets.txt -k 2 -o out -q --no-report --checkpoint state --checkpoint-every 1",
        apart: &["state"],
    },
    Case { setup: &[], words: "sweep pets.txt -k 2,3 -o sweep -q --stability off", apart: &[] },
    Case { setup: &[], words: "vectorize pets.txt -o rows --rows -q", apart: &[] },
    Case {
        setup: &[RESULT, "merge out --groups 1"],
        words: "merge out --groups 2",
        apart: &["out/groups.csv"],
    },
    Case { setup: &[RESULT], words: "report out --report-chars 5", apart: &[] },
    Case { setup: &["cluster pets.txt -k 2 -o out -q"], words: "index out pets.txt", apart: &[] },
    Case { setup: &[RESULT], words: "edit out rename 0 animals", apart: &[] },
    Case { setup: &[RESULT, "edit out merge 0 1"], words: "edit out undo", apart: &[] },
    Case { setup: &[RESULT], words: "add out new.txt -q", apart: &[] },
    Case { setup: &[RESULT], words: "remove out --ids ids.txt -q", apart: &[] },
    Case { setup: &[RESULT], words: "assign out new.txt -o assigned.csv", apart: &[] },
    Case { setup: &[RESULT], words: "export out -o export --force", apart: &[] },
    Case {
        setup: &[RESULT, "export out --table table.csv"],
        words: "export out --table table.csv",
        apart: &[],
    },
    Case { setup: &[RESULT], words: "export out --table table.xlsx", apart: &[] },
    Case { setup: &[RESULT], words: "export out --html report.html", apart: &[] },
    Case { setup: &[RESULT, "export out --svg map.svg"], words: "export out --svg map.svg", apart: &[] },
    Case { setup: &[RESULT, OTHER], words: "compare out other -o flow.html", apart: &[] },
    Case { setup: &[], words: "man pages", apart: &["pages/"] },
    Case { setup: &[], words: "demo -o demo -k 2", apart: &["demo.jsonl"] },
];

/// Commands that write nothing but what they print.
const READERS: [&str; 5] = [
    "inspect out --cluster 0",
    "verify out pets.txt",
    "compare out other",
    "assign out new.txt",
    "completions bash",
];

const HOWS: [&str; 4] = ["fail", "half", "full", "stop"];

/// What a message names at least a part of.
const TARGETS: [&str; 12] = [
    "out",
    "sweep",
    "rows",
    "state",
    "assigned.csv",
    "export",
    "table.",
    "report.html",
    "map.svg",
    "flow.html",
    "pages",
    "demo",
];

/// The program that makes the faults. `None`, told aloud, where one process may not watch another.
static FAULTS: LazyLock<Option<(TempDir, PathBuf)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("faults");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/faults.c");
    let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.expect("a C compiler, which SQLite needs, too").success());
    let log = folder.path().join("log");
    let tried = Command::new(&program).arg(folder.path()).args(["list", "0"]).arg(log).arg("true").status();
    if tried.unwrap().success() {
        return Some((folder, program));
    }
    // Not captured, as the output of a test that passes would be.
    let message = "no process may watch another here (ptrace): all tests of faults are LEFT OUT\n";
    std::io::stderr().write_all(message.as_bytes()).unwrap();
    None
});

/// All files with their content, by path. Names that begin with a dot are not seen by people.
fn files(folder: &Path, hidden: bool) -> BTreeMap<String, Vec<u8>> {
    fn add(folder: &Path, prefix: &str, hidden: bool, all: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            match entry.path() {
                _ if name.starts_with('.') && !hidden => {}
                below if below.is_dir() => {
                    add(&below, &format!("{path}/"), hidden, all);
                    all.insert(format!("{path}/"), Vec::new());
                }
                file => drop(all.insert(path, fs::read(file).unwrap())),
            }
        }
    }
    let mut all = BTreeMap::new();
    add(folder, "", hidden, &mut all);
    all
}

fn copy(from: &Path, to: &Path) {
    for (path, content) in files(from, true) {
        let to = to.join(&path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        if path.ends_with('/') {
            fs::create_dir_all(to).unwrap();
        } else {
            fs::write(to, content).unwrap();
        }
    }
}

/// Files with times in them, which differ from run to run.
const VARYING: [&str; 6] =
    ["trace.json", "report.html", "sweep.html", "sweep.json", "edits.json", "documents.sqlite"];

/// Whether a file is what a run wrote.
fn is_like(path: &str, found: &[u8], expected: &[u8]) -> bool {
    if !VARYING.iter().any(|name| path.ends_with(name)) {
        return found == expected;
    }
    let [n_found, n_expected] = [found, expected].map(|file| file.len() as f64);
    let ends = |file: &[u8]| file.last().copied();
    (n_found / n_expected - 1.0).abs() < 0.2
        && (found.starts_with(b"SQLite") || ends(found) == ends(expected))
}

struct Trial<'a> {
    case: &'a Case,
    template: Place,
    before: BTreeMap<String, Vec<u8>>,
    after: BTreeMap<String, Vec<u8>>,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case) -> Self {
        let template = Place::with_pets();
        template.write("new.txt", "cats eat fish\nbirds sing\ndogs eat meat\nbirds fly\n");
        template.write("ids.txt", "2\n");
        case.setup.iter().for_each(|words| assert_eq!(template.run(words).code, Some(0), "{words}"));
        let place = Place::new();
        copy(&template.path("."), &place.path("."));
        let done = place.run(case.words);
        assert_eq!(done.code, Some(0), "{}: {}", case.words, done.stderr);
        let after = files(&place.path("."), true);
        let before = files(&template.path("."), true);
        Trial { case, template, before, after }
    }

    /// Runs the command with a fault. Returns how it ended, the place, and the operations until
    /// then.
    fn run(&self, how: &str, n: usize) -> (Done, Place, Vec<String>) {
        let place = Place::new();
        copy(&self.template.path("."), &place.path("."));
        let (folder, program) = FAULTS.as_ref().unwrap();
        let log = folder.path().join(format!("log-{:?}", std::thread::current().id()));
        let plain = place.command(self.case.words.split_whitespace());
        let mut command = Command::new(program);
        command.arg(place.path(".").canonicalize().unwrap()).args([how, &n.to_string()]).arg(&log);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(place.path("."));
        let done: Done = command.output().unwrap().into();
        let log = fs::read_to_string(&log).unwrap();
        (done, place, log.lines().map(str::to_owned).collect())
    }

    /// Whether the files that people see are all as they were ("old"), or all as they should become
    /// ("new"), or "both" if these are alike.
    /// A folder beside its place may hold a whole new result that could not be put there.
    fn state(&self, place: &Place, stderr: &str) -> Result<&'static str, String> {
        // A result is not thrown away for its search index, which can be made later.
        let without_index = stderr.contains("warning: there is no search index: ");
        let is_apart = |path: &str| {
            let is_of = |apart: &&str| path == *apart || (apart.ends_with('/') && path.starts_with(*apart));
            self.case.apart.iter().any(is_of) || (without_index && path.ends_with("/documents.sqlite"))
        };
        let mut found = files(&place.path("."), false);
        for (path, content) in found.iter().filter(|(path, _)| is_apart(path) && path.contains('/')) {
            let is_like = |all: &BTreeMap<String, Vec<u8>>| {
                all.get(path).is_some_and(|expected| is_like(path, content, expected))
            };
            if !is_like(&self.before) && !is_like(&self.after) {
                return Err(format!("{path} is neither the old one nor the new one"));
            }
        }
        found.retain(|path, _| !is_apart(path));
        if stderr.contains("; it is in ") {
            // What could not be put in place, because the last step failed.
            let is_kept = |path: &String| path.contains(".new/");
            let kept: Vec<String> = found.keys().filter(|path| is_kept(path)).cloned().collect();
            for path in &kept {
                let content = found.remove(path).unwrap();
                let is_like = |expected: &Vec<u8>| is_like(path, &content, expected);
                let is_whole = self.after.get(&path.replacen(".new/", "/", 1)).is_some_and(is_like);
                if !is_whole {
                    return Err(format!("{path} is not what it should become"));
                }
            }
            if kept.is_empty() {
                return Err("the new result is not where the message says".to_owned());
            }
        }
        let is_as = |expected: &BTreeMap<String, Vec<u8>>| -> Result<(), String> {
            let is_seen = |path: &str| !path.split('/').any(|name| name.starts_with('.'));
            let expected = expected.iter().filter(|(path, _)| is_seen(path) && !is_apart(path));
            let expected: BTreeMap<_, _> = expected.collect();
            if let Some(missing) = expected.keys().find(|path| !found.contains_key(**path)) {
                return Err(format!("{missing} is missing"));
            }
            for (path, content) in &found {
                match expected.get(path) {
                    Some(expected) if is_like(path, content, expected) => {}
                    Some(_) => return Err(format!("{path} is another")),
                    None => return Err(format!("{path} is new")),
                }
            }
            Ok(())
        };
        if stderr.contains("; the numbers before it were: ") {
            // A sweep keeps the numbers that are done.
            let is_whole = |(path, content): (&String, &Vec<u8>)| {
                let of_all = ["sweep/sweep.json", "sweep/sweep.html"].contains(&&path[..]);
                let is_like = |expected: &Vec<u8>| is_like(path, content, expected);
                of_all || self.after.get(path).is_some_and(is_like)
            };
            let other = found.iter().find(|&file| !is_whole(file));
            return other.map_or(Ok("begun"), |(path, _)| Err(format!("{path} is another")));
        }
        let (old, new) = (is_as(&self.before), is_as(&self.after));
        match (&old, &new) {
            // All that differs are times.
            (Ok(()), Ok(())) => Ok("both"),
            (Ok(()), _) => Ok("old"),
            (_, Ok(())) => Ok("new"),
            (Err(old), Err(new)) => Err(format!("not the old one: {old}; not the new one: {new}")),
        }
    }

    fn check(&self, how: &str, n: usize) {
        let (done, place, log) = self.run(how, n);
        let at = format!("{}: {how} at {n}: {}\n{}", self.case.words, log.last().unwrap(), done.stderr);
        let state = self.state(&place, &done.stderr).unwrap_or_else(|problem| panic!("{problem}\n{at}"));
        match (done.code, how) {
            // Some operations can be done without: folders that cannot be synced, traces.
            (Some(0), "fail" | "full") => assert!(["new", "both"].contains(&state), "{at}"),
            (Some(1), "fail" | "full" | "keep") => {
                assert!(
                    done.stderr.contains("docsphere: error: ") && done.stderr.lines().count() < 4,
                    "{at}"
                );
                assert!(TARGETS.iter().any(|name| done.stderr.contains(name)), "no file is named: {at}");
                let left = left_behind(&place);
                assert!(left.is_empty(), "{left:?} are left: {at}");
            }
            (Some(137), "half" | "stop") => {}
            other => panic!("ended with {other:?}: {at}"),
        }
        // After an error nothing is left that could be in the way.
        if state == "old" && done.code == Some(137) {
            let again = place.run(self.case.words);
            assert_eq!(again.code, Some(0), "again: {}\n{at}", again.stderr);
            let after = self.state(&place, "");
            assert!(after.as_ref().is_ok_and(|state| *state != "old"), "again: {after:?}: {at}");
            let left = left_behind(&place);
            assert!(left.is_empty(), "{left:?} are left by two runs: {at}");
        }
    }
}

/// Whether a fault at operation `n` is one that others are not: a second write to the same file and
/// the last but one differ in nothing.
fn is_telling(log: &[String], n: usize) -> bool {
    let others = |lines: &[String]| lines.iter().filter(|other| **other == log[n - 1]).count();
    others(&log[..n - 1]) <= 1 || others(&log[n..]) == 0
}

/// What has names that people do not see.
fn left_behind(place: &Place) -> Vec<String> {
    let is_hidden = |path: &String| path.split('/').any(|name| name.starts_with('.'));
    files(&place.path("."), true).into_keys().filter(is_hidden).collect()
}

fn try_all(cases: &[Case]) {
    if FAULTS.is_none() {
        return;
    }
    let all = std::env::var("DOCSPHERE_FAULTS").is_ok_and(|value| value == "all");
    let mut turn = 0;
    for case in cases {
        let trial = Trial::new(case);
        let (done, place, log) = trial.run("list", 0);
        let state = trial.state(&place, "");
        assert!(done.code == Some(0) && state.is_ok_and(|state| state != "old"), "{}", case.words);
        assert!(log.len() > 3, "{}: {log:?}", case.words);
        trial.check("keep", 1);
        for n in (1..=log.len()).filter(|&n| all || is_telling(&log, n)) {
            turn += 1;
            for (number, how) in HOWS.iter().enumerate() {
                if all || number == turn % HOWS.len() {
                    trial.check(how, n);
                }
            }
        }
    }
}

/// A signal at every named point, in turn one of two: nothing half-written is left, and what is
/// there is whole.
fn signal_at_all_points(cases: &[Case]) {
    for case in cases {
        let trial = Trial::new(case);
        let points = {
            let place = Place::new();
            copy(&trial.template.path("."), &place.path("."));
            place.fail_points(case.words)
        };
        for (point, signal) in points.iter().zip(["INT", "TERM"].into_iter().cycle()) {
            let place = Place::new();
            copy(&trial.template.path("."), &place.path("."));
            let mut command = place.command(case.words.split_whitespace());
            command.env("DOCSPHERE_FAIL_AT", point).env("DOCSPHERE_FAIL_SIGNAL", signal);
            let done: Done = command.output().unwrap().into();
            let at = format!("{}: {signal} at {point}: {}", case.words, done.stderr);
            assert!(matches!(done.code, Some(0 | 130)), "ended with {:?}: {at}", done.code);
            let left = left_behind(&place);
            assert!(left.is_empty(), "{left:?} are left: {at}");
            if done.stderr.contains("press Ctrl-C again to stop at once") {
                // Of fewer iterations, or of fewer numbers of clusters.
                let result = ["", "/k-2"].map(|below| format!("{}{below}", case.target()));
                let found =
                    result.iter().find(|result| place.path(&format!("{result}/clusters.json")).exists());
                let found = found.unwrap_or_else(|| panic!("there is no result: {at}"));
                place.ok(&format!("inspect {found} --cluster 0"));
                continue;
            }
            let state = trial.state(&place, "").unwrap_or_else(|problem| panic!("{problem}\n{at}"));
            let is_told = done.stderr.contains("interrupted; nothing was written");
            assert!(!(is_told && state == "new"), "{at}");
            assert!(done.code != Some(0) || state != "old", "{at}");
        }
    }
}

#[test]
fn new_folders() {
    try_all(&CASES[..5]);
}

#[test]
fn results_that_are_changed() {
    try_all(&CASES[5..10]);
}

#[test]
fn results_that_grow_and_files_beside_them() {
    try_all(&CASES[10..15]);
}

#[test]
fn single_files() {
    try_all(&CASES[15..]);
}

#[test]
fn signals_while_folders_are_made_and_changed() {
    signal_at_all_points(&CASES[..10]);
}

#[test]
fn signals_while_results_grow_and_files_are_made() {
    signal_at_all_points(&CASES[10..]);
}

#[test]
fn what_only_reads_works_where_nothing_can_be_written() {
    let Some((folder, program)) = FAULTS.as_ref() else { return };
    let place = Place::with_pets();
    place.write("new.txt", "cats eat fish\ndogs eat meat\n");
    [RESULT, OTHER].into_iter().for_each(|words| drop(place.ok(words)));
    let log = folder.path().join("log-readers");
    for words in READERS {
        let plain = place.command(words.split_whitespace());
        let mut command = Command::new(program);
        command.arg(place.path(".").canonicalize().unwrap()).args(["keep", "1"]).arg(&log);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(place.path("."));
        let done: Done = command.output().unwrap().into();
        assert_eq!(done.code, Some(0), "{words}: {}", done.stderr);
        assert_eq!(fs::read_to_string(&log).unwrap(), "", "{words} writes files");
    }
}
