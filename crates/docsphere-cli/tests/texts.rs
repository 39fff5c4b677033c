//! The texts of a run: read once, kept beside the result, gone in the end.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{Done, PETS, Place, generated_corpus};

/// Waits until a file is there.
#[track_caller]
fn wait_for(path: &Path, child: &mut Child) {
    let start = Instant::now();
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it wrote {}", path.display());
        assert!(start.elapsed() < Duration::from_secs(600), "{} never came", path.display());
        sleep(Duration::from_millis(2));
    }
}

/// The representatives of all clusters with their texts.
fn described(place: &Place, out: &str) -> serde_json::Value {
    let described = place.json(&format!("{out}/clusters.json"))["clusters"].clone();
    assert!(described[0]["representatives"][0]["text"].as_str().is_some_and(|text| text.len() > 10));
    described
}

#[test]
fn a_file_that_changes_or_vanishes_after_it_was_read_does_not_matter() {
    let place = Place::new();
    let corpus = generated_corpus(6_000);
    // Iterations that take long, so that there is time after reading.
    let run =
        "cluster in.txt -k 400 --init random --strategy baseline --tol 0 --max-iter 8 --threads 2 --index -q";
    place.write("in.txt", &corpus);
    place.ok(&format!("{run} -o whole"));
    for (out, change) in [("changed", Some(generated_corpus(100))), ("vanished", None)] {
        place.write("in.txt", &corpus);
        let words = format!("{run} -o {out} --checkpoint {out}.check --checkpoint-every 1");
        let mut child = place.spawn(&words);
        wait_for(&place.path(&format!("{out}.check")), &mut child);
        match change {
            Some(other) => place.write("in.txt", other),
            None => fs::remove_file(place.path("in.txt")).unwrap(),
        }
        assert!(child.try_wait().unwrap().is_none(), "changed before the end of the run");
        let done = Done::from(child.wait_with_output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{out}");
        place.assert_complete(out);
        assert_eq!(described(&place, out), described(&place, "whole"), "{out}");
        let index = |out: &str| fs::read(place.path(&format!("{out}/documents.sqlite"))).unwrap();
        assert!(index(out) == index("whole"), "the index of {out}");
    }
}

#[test]
fn standard_input_needs_no_temporary_folder() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o file --index -q");
    let mut command = place.command("cluster - --format lines -k 2 -o out --index -q".split(' '));
    let mut child = command.stdin(Stdio::piped()).env("TMPDIR", "/there/is/no/such/folder").spawn().unwrap();
    child.stdin.take().unwrap().write_all(PETS.as_bytes()).unwrap();
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    place.assert_complete("out");
    assert_eq!(place.read("out/clusters.json"), place.read("file/clusters.json"));
    assert!(place.path("out/documents.sqlite").exists());
}

#[test]
fn what_a_killed_run_kept_of_the_texts_is_removed_by_the_next_one() {
    let place = Place::with_pets();
    let mut command = place.command("cluster - --format lines -k 2 -o out".split(' '));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(PETS.as_bytes()).unwrap();
    let staging = format!(".out.partial-{}", child.id());
    wait_for(&place.path(&format!("{staging}/texts.docsphere")), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    assert_eq!(place.names("."), [staging.as_str(), "pets.txt"]);
    place.ok("cluster pets.txt -k 2 -o out -q");
    assert_eq!(place.names("."), ["out", "pets.txt"]);
    place.assert_complete("out");
}

#[test]
fn texts_are_kept_only_if_they_are_wanted() {
    let place = Place::with_pets();
    let run = "cluster - --format lines -k 2 -o out --representatives 0 --least-typical 0 --no-rows";
    for (options, is_kept) in [("", false), (" --index", true)] {
        let mut child = {
            let words = format!("{run}{options}");
            place.command(words.split(' ')).stdin(Stdio::piped()).spawn().unwrap()
        };
        let staging = place.path(&format!(".out.partial-{}", child.id()));
        wait_for(&staging, &mut child);
        if is_kept {
            wait_for(&staging.join("texts.docsphere"), &mut child);
        } else {
            // The folder is made just before the store would be.
            sleep(Duration::from_millis(300));
            assert!(!staging.join("texts.docsphere").exists());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_told_with_the_name_of_the_file() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    let place = Place::new();
    place.write("in.txt", generated_corpus(3_000));
    // No file may have more than 20 blocks of 1,024 bytes.
    let script = format!(
        "trap '' XFSZ; ulimit -f 20; exec {} cluster in.txt -k 20 -o out",
        env!("CARGO_BIN_EXE_docsphere")
    );
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &script]).current_dir(place.path("."));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let staging = format!(".out.partial-{}", child.id());
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let begin =
        format!("docsphere: error: ./{staging}/texts.docsphere: cannot write the texts of the documents: ");
    assert!(done.stderr.starts_with(&begin), "{}", done.stderr);
    assert_eq!(place.names("."), ["in.txt"]);
}
