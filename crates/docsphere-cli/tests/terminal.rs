//! What goes to the terminal: nothing that it would obey, and no error that is swallowed.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::command::{Done, PETS, Place, signal};

/// Sets a title, rings the bell, turns red, writes from right to left, clears a line.
const HOSTILE: &str = "\x1b]0;owned\x07\x1b[31m\u{202e}\u{9b}2K\u{2067}\u{200f}\x7f";

/// The same as it is shown.
const SHOWN: &str = "\\x1b]0;owned\\x07\\x1b[31m\\u{202e}\\u{9b}2K\\u{2067}\\u{200f}\\x7f";

/// Whether a terminal just shows this text.
#[track_caller]
fn assert_harmless(text: &str, words: &str) {
    let is_obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_obeyed), "docsphere {words:?}: {text:?}");
}

/// Documents with hostile ids, texts and field names, in a file with a hostile name.
fn hostile_place() -> Place {
    let place = Place::new();
    let mut table = format!("id,text,te{HOSTILE}xt\n");
    for (id, text) in ["cats purr softly", "dogs bark loudly", "cats sleep", "dogs run"].iter().enumerate() {
        table.push_str(&format!("\"{HOSTILE}\n{id}\",{text} {HOSTILE},x\n"));
    }
    place.write(&format!("{HOSTILE}.csv"), table);
    place.write(&format!("{HOSTILE}.txt"), format!("dogs\n\nzzz {HOSTILE}\n"));
    place.write("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    place.write("names.txt", format!("cat{HOSTILE}\ndog{HOSTILE}\n"));
    place
}

#[test]
fn no_command_sends_anything_to_the_terminal_that_it_would_obey() {
    let place = hostile_place();
    let (input, out) = (format!("{HOSTILE}.csv"), format!("out{HOSTILE}"));
    let mut n_shown = 0;
    for (words, code) in [
        (format!("cluster {input} -k 2 -o {out}"), 0),
        (format!("cluster {input} -k 2 -o {out}"), 1),
        (format!("inspect {out}"), 0),
        (format!("inspect {out} --cluster 0"), 0),
        (format!("inspect {out}/model.docsphere --cluster 0"), 0),
        (format!("merge {out} --groups 2"), 0),
        (format!("report {out}"), 0),
        (format!("index {out} {input}"), 0),
        (format!("verify {out} {input}"), 0),
        (format!("verify {out} {HOSTILE}.txt"), 1),
        (format!("vectorize {input} -o v{HOSTILE}"), 0),
        (format!("export {out} -o e{HOSTILE}"), 0),
        (format!("assign {out} {HOSTILE}.txt -o labels{HOSTILE}.csv"), 0),
        (format!("demo -o demo{HOSTILE}"), 0),
        ("cluster m.mtx --vocabulary names.txt -k 2 -o matrix".to_owned(), 0),
        ("inspect matrix".to_owned(), 0),
        ("inspect matrix --cluster 0".to_owned(), 0),
        ("merge matrix --groups 1".to_owned(), 0),
        // Errors: of the file system, of the library, and of the parser of the command line.
        (format!("cluster none{HOSTILE}.txt -k 2 -o x"), 1),
        (format!("cluster {input} --text-field body{HOSTILE} -k 2 -o x"), 1),
        (format!("cluster {input} -k 2 -o x --init {HOSTILE}"), 2),
        (format!("cluster {input} -k 2 -o x --stem {HOSTILE}"), 2),
        (format!("cluster {input} -k {HOSTILE} -o x"), 2),
        (format!("cluster --{HOSTILE}"), 2),
        (HOSTILE.to_owned(), 2),
    ] {
        let done = place.run(&words);
        assert_eq!(done.code, Some(code), "docsphere {words:?}: {}", done.stderr);
        assert_harmless(&done.stdout, &words);
        assert_harmless(&done.stderr, &words);
        n_shown += usize::from((done.stdout + &done.stderr).contains("b]0;owned\\x07"));
    }
    assert!(n_shown >= 17, "only {n_shown} showed the escapes");
    // A document that is not where it belongs is named.
    let table = place.read(&format!("{out}/assignments.csv"));
    let moved = table.replace("0\",0,", "0\",_,").replace("0\",1,", "0\",0,").replace("0\",_,", "0\",1,");
    assert_ne!(table, moved);
    place.write(&format!("{out}/assignments.csv"), moved);
    let words = format!("verify {out} {input}");
    let done = place.run(&words);
    assert_eq!(done.code, Some(1));
    assert_harmless(&done.stdout, &words);
    assert!(done.stdout.starts_with(&format!("{SHOWN}\\n0: cluster ")), "{}", done.stdout);
}

#[test]
fn colours_are_added_to_lines_that_are_escaped() {
    let place = hostile_place();
    place.ok("cluster m.mtx --vocabulary names.txt -k 2 -o matrix -q");
    let output = place.command(["inspect", "matrix"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("\x1b[1mcluster     size"), "{shown:?}");
    assert_harmless(&shown.replace("\x1b[1m", "").replace("\x1b[0m", ""), "inspect matrix");
    assert!(shown.contains("  cat\\x1b]0;owned\\x07\\x1b[31m"), "{shown:?}");
}

#[test]
fn a_server_says_where_it_is_without_escapes() {
    let place = Place::with_pets();
    let words = format!("cluster pets.txt -k 2 -o out{HOSTILE} --index -q");
    place.ok(&words);
    let mut child = place.spawn(&format!("serve out{HOSTILE} --port 0"));
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_harmless(&line, "serve");
    assert!(line.starts_with(&format!("serving out{SHOWN} at http://")), "{line:?}");
}

#[test]
fn data_is_written_as_it_is() {
    let place = hostile_place();
    let input = format!("{HOSTILE}.csv");
    place.ok(&format!("cluster {input} -k 2 -o out -q"));
    let id = format!("{HOSTILE}\n0");
    let table = place.ok(&format!("assign out {input}"));
    assert!(table.contains(&format!("\n\"{id}\",")), "{table:?}");
    let lines = place.ok(&format!("assign out {input} --as jsonl"));
    let line: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(line["id"], id);
    let ids = |cluster: u32| {
        let text = place.ok(&format!("inspect out --cluster {cluster} --json"));
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        found["representatives"].as_array().unwrap().clone()
    };
    assert!(ids(0).iter().chain(&ids(1)).any(|document| document["id"] == id));
}

/// Runs words with a standard output that nobody reads.
fn unread(place: &Place, words: &str) -> Done {
    let mut child = place.command(words.split_whitespace()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_judgement_does_not_depend_on_who_reads_it() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    let text = place.read("out/assignments.csv");
    place.write("out/assignments.csv", text.replace("0.75", "0.25"));
    for words in ["verify out pets.txt", "verify out pets.txt --json"] {
        let done = unread(&place, words);
        let message = "docsphere: error: the result does not hold for 4 documents\n";
        assert_eq!((done.code, done.stderr.as_str()), (Some(1), message), "{words}");
    }
}

#[test]
fn what_is_printed_first_does_not_keep_a_command_from_its_work() {
    let place = Place::new();
    let done = unread(&place, "demo");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    place.assert_complete("docsphere-demo");
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_of_every_command() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    for words in [
        "cluster pets.txt -k 2 -o again",
        "cluster pets.txt -k 2 -o json --json",
        "assign out pets.txt",
        "assign out pets.txt --as jsonl",
        "inspect out",
        "inspect out --json",
        "inspect out --cluster 0",
        "inspect out/model.docsphere --cluster 0",
        "report out",
        "index out pets.txt",
        "merge out --groups 1",
        "merge out --groups 1 --json",
        "verify out pets.txt",
        "verify out pets.txt --json",
        "vectorize pets.txt -o vectors",
        "export out -o export",
        "demo",
        "completions bash",
        "--help",
        "cluster --help",
        "--version",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = Done::from(place.command(words.split(' ')).stdout(full).output().unwrap());
        let message =
            "docsphere: error: standard output: cannot write: No space left on device (os error 28)\n";
        assert_eq!((done.code, done.stderr.as_str()), (Some(1), message), "docsphere {words}");
    }
    place.assert_complete("again");
}

#[test]
fn a_named_pipe_that_is_closed_early_is_no_failure() {
    let place = Place::new();
    place.write("in.txt", PETS.repeat(20_000));
    place.ok("cluster in.txt -k 2 -o out --max-iter 1 -q");
    let pipe = place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = place.spawn("assign out in.txt -o pipe -q");
    let mut line = String::new();
    BufReader::new(File::open(&pipe).unwrap()).read_line(&mut line).unwrap();
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(line, "id,cluster,similarity,unknown_share\n");
}
