//! No file that docsphere did not write is ever deleted or written over.

use std::fs;
use std::os::unix::fs::symlink;

use crate::command::{PETS, Place};

/// Everything in a folder, with its content.
fn content(place: &Place, folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for name in place.names(folder) {
        let path = format!("{folder}/{name}");
        if place.path(&path).is_dir() {
            all.extend(content(place, &path));
        } else {
            let bytes = fs::read(place.path(&path)).unwrap();
            all.push((path, bytes));
        }
    }
    all
}

/// Runs words that must be refused with this message, and leave everything as it was.
#[track_caller]
fn assert_refused(place: &Place, words: &str, message: &str) {
    let before = content(place, ".");
    let done = place.run(words);
    assert_eq!(done.stderr, format!("docsphere: error: {message}\n"), "docsphere {words}");
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "docsphere {words}");
    assert!(content(place, ".") == before, "docsphere {words}: something has changed");
}

/// Runs long enough for a checkpoint.
fn write_checkpoint(place: &Place, name: &str, options: &str) {
    place.write("in.txt", crate::command::generated_corpus(1_000));
    let run =
        "cluster in.txt -k 30 --init random --max-iter 2 --tol 0 -o long --force -q --checkpoint-every 1";
    place.ok(&format!("{run} --checkpoint {name} {options}"));
}

#[test]
fn a_folder_with_anything_foreign_in_it_is_not_replaced() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --index -q");
    place.ok("vectorize pets.txt -o vectors -q");
    place.ok("export out -o export");
    let refusal = |out: &str, name: &str| {
        format!(
            "{out}: holds {name}, which docsphere did not write, so it is not replaced, even with --force; move that elsewhere, or choose another name"
        )
    };
    for (out, words) in [
        ("out", "cluster pets.txt -k 2 -o out --force"),
        ("vectors", "vectorize pets.txt -o vectors --force"),
        ("export", "export out -o export --force"),
    ] {
        for name in ["notes.txt", ".hidden", "clusters.json.bak", "sub"] {
            let foreign = format!("{out}/{name}");
            if name == "sub" {
                place.write(&format!("{foreign}/deep.txt"), "precious");
            } else {
                place.write(&foreign, "precious");
            }
            assert_refused(&place, words, &refusal(out, name));
            let path = place.path(&foreign);
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        // A link is nothing that docsphere made, whatever its name.
        let link =
            place.path(&format!("{out}/{}", if out == "out" { "groups.csv" } else { "vocabulary.txt" }));
        let _ = fs::remove_file(&link);
        symlink(place.path("pets.txt"), &link).unwrap();
        let name = link.file_name().unwrap().to_str().unwrap();
        assert_refused(&place, words, &refusal(out, name));
        fs::remove_file(&link).unwrap();
        place.ok(words);
    }
    assert_eq!(place.read("pets.txt"), PETS);
}

#[test]
fn what_later_commands_add_to_a_result_is_replaced_with_it() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --assignments jsonl -q");
    place.ok("merge out --groups 2");
    place.ok("index out pets.txt");
    place.ok("report out");
    // What killed processes left of its files, too.
    place.write("out/.documents.sqlite.partial-999999999", "half");
    place.write("out/.docsphere-999999999-Ab1.tmp", "half");
    place.ok("cluster pets.txt -k 2 -o out --force -q");
    place.assert_complete("out");
    assert_eq!(place.names("."), ["out", "pets.txt"]);
}

#[test]
fn nothing_that_a_run_reads_may_lie_in_the_place_of_its_result() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out -q");
    write_checkpoint(&place, "check", "");
    place.ok("vectorize pets.txt -o vectors -q");
    place.ok("export out -o export");
    // Under names that the result has, so that nothing else stands out.
    place.write("out/assignments.jsonl", PETS);
    place.write("vectors/ids.txt", PETS);
    fs::copy(place.path("check"), place.path("out/groups.csv")).unwrap();
    fs::copy(place.path("export/centroids.npz"), place.path("out/centroids.npz")).unwrap();
    symlink("out/assignments.jsonl", place.path("link.txt")).unwrap();
    let refusal = |out: &str, path: &str, what: &str| {
        format!(
            "{out}: is the place for the result, but {path}, {what}, lies there; move that elsewhere, or choose another place for the result"
        )
    };
    for (words, out, path, what) in [
        (
            "cluster out/assignments.jsonl --format lines -k 2 -o out --force",
            "out",
            "out/assignments.jsonl",
            "the input",
        ),
        (
            "cluster pets.txt ./out/../out/assignments.jsonl --format lines -k 2 -o ./out --force",
            "./out",
            "./out/../out/assignments.jsonl",
            "the input",
        ),
        ("cluster link.txt -k 2 -o out --force", "out", "link.txt", "the input"),
        ("cluster out -k 2 -o out --force", "out", "out", "the input"),
        (
            "cluster pets.txt -k 2 -o out --force --stop-words-file out/assignments.jsonl",
            "out",
            "out/assignments.jsonl",
            "the file of --stop-words-file",
        ),
        (
            "cluster pets.txt -k 2 -o out --force --resume out/groups.csv",
            "out",
            "out/groups.csv",
            "the checkpoint of --resume",
        ),
        (
            "cluster pets.txt -k 2 -o out --force --init out/centroids.npz",
            "out",
            "out/centroids.npz",
            "the file of --init",
        ),
        (
            "cluster vectors/matrix.npz --vocabulary out/assignments.jsonl -k 2 -o out --force",
            "out",
            "out/assignments.jsonl",
            "the file of --vocabulary",
        ),
        ("vectorize vectors/ids.txt -o vectors --force", "vectors", "vectors/ids.txt", "the input"),
        (
            "vectorize pets.txt --stop-words-file vectors/ids.txt -o vectors --force",
            "vectors",
            "vectors/ids.txt",
            "the file of --stop-words-file",
        ),
        ("export out -o out --force", "out", "out/model.docsphere", "the model"),
        // Without --force, too, so that nobody is told to use it.
        (
            "cluster out/assignments.jsonl --format lines -k 2 -o out",
            "out",
            "out/assignments.jsonl",
            "the input",
        ),
    ] {
        assert_refused(&place, words, &refusal(out, path, what));
    }
}

#[test]
fn a_result_is_not_put_among_the_documents_it_is_made_of() {
    let place = Place::new();
    for (number, line) in PETS.lines().enumerate() {
        place.write(&format!("docs/{number}.txt"), line);
    }
    symlink("docs", place.path("link")).unwrap();
    for (words, out, input) in [
        ("cluster docs -k 2 -o docs/out", "docs/out", "docs"),
        ("cluster link -k 2 -o docs/out", "docs/out", "link"),
        ("cluster . -k 2 -o out", "out", "."),
        ("vectorize docs -o docs/vectors", "docs/vectors", "docs"),
    ] {
        let message = format!(
            "{out}: lies in {input}, the input, and would be read as documents; choose a place outside of it"
        );
        assert_refused(&place, words, &message);
    }
    place.ok("cluster docs -k 2 -o out -q");
    assert_refused(
        &place,
        "assign out docs -o docs/labels.csv",
        "docs/labels.csv: lies in docs, the input, and would be read as a document; choose a place outside of it",
    );
}

#[test]
fn a_checkpoint_is_written_over_nothing_but_a_checkpoint() {
    let place = Place::with_pets();
    place.write("words.txt", "cats\n");
    place.write("notes.txt", "precious");
    fs::hard_link(place.path("pets.txt"), place.path("hard.txt")).unwrap();
    place.ok("cluster pets.txt -k 2 -o out -q");
    let run = "cluster pets.txt -k 2 -o new --stop-words-file words.txt --checkpoint";
    for (words, message) in [
        (
            format!("{run} pets.txt"),
            "--checkpoint: pets.txt: is the input (pets.txt), which would be overwritten; choose another name",
        ),
        (
            format!("{run} hard.txt"),
            "--checkpoint: hard.txt: is the input (pets.txt), which would be overwritten; choose another name",
        ),
        (
            format!("{run} words.txt"),
            "--checkpoint: words.txt: is the file of --stop-words-file (words.txt), which would be overwritten; choose another name",
        ),
        (
            format!("{run} notes.txt"),
            "--checkpoint notes.txt: is there already and is not a checkpoint; choose another name",
        ),
        (format!("{run} /dev/null"), "--checkpoint /dev/null: is not a regular file; choose another name"),
        (
            "cluster pets.txt -k 2 -o out --force --checkpoint out/check".to_owned(),
            "--checkpoint out/check: lies in the place of the result, which is written as a whole; choose a name outside of it",
        ),
    ] {
        assert_refused(&place, &words, message);
    }
    // An earlier checkpoint, that of the run which is continued, and an empty file are fine.
    place.write("check", "");
    for options in ["", "", "--resume check"] {
        write_checkpoint(&place, "check", options);
        assert!(fs::metadata(place.path("check")).unwrap().len() > 100);
    }
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --index -q");
    symlink("pets.txt", place.path("link.csv")).unwrap();
    fs::hard_link(place.path("pets.txt"), place.path("hard.csv")).unwrap();
    for (file, what, path) in [
        ("pets.txt", "the input", "pets.txt"),
        ("./out/../pets.txt", "the input", "pets.txt"),
        ("link.csv", "the input", "pets.txt"),
        ("hard.csv", "the input", "pets.txt"),
        ("out/model.docsphere", "the model", "out/model.docsphere"),
        ("out/assignments.csv", "a file of the result", "out/assignments.csv"),
    ] {
        let message = format!("{file}: is {what} ({path}), which would be overwritten; choose another name");
        assert_refused(&place, &format!("assign out pets.txt -o {file}"), &message);
    }
    // Files of a result may be links to other places. If they lead to what is read, they are not
    // written.
    for (written, words, read, what) in [
        ("documents.sqlite", "index out pets.txt", "pets.txt", "the input"),
        ("report.html", "report out", "out/clusters.json", "a file of the result"),
        ("groups.csv", "merge out --groups 1", "out/assignments.csv", "a file of the result"),
        ("groups.csv", "merge out --groups 1", "out/groups.json", "a file of the result"),
    ] {
        let link = place.path(&format!("out/{written}"));
        for is_hard in [false, true] {
            let _ = fs::remove_file(&link);
            let made = if is_hard {
                fs::hard_link(place.path(read), &link)
            } else {
                symlink(place.path(read), &link)
            };
            made.unwrap();
            let done = place.run(words);
            let message = format!("is {what} ({read}), which would be overwritten; choose another name\n");
            assert!(done.code == Some(1) && done.stderr.ends_with(&message), "{words}: {}", done.stderr);
        }
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(place.read("pets.txt"), PETS);
    place.ok("report out");
    place.ok("merge out --groups 1");
}

#[test]
fn the_demo_writes_over_no_corpus_that_it_cannot_read() {
    let place = Place::new();
    let refusal = "mine.jsonl: is there already and is not the demo's corpus; choose another --output";
    fs::create_dir(place.path("mine.jsonl")).unwrap();
    assert_refused(&place, "demo -o mine", refusal);
    fs::remove_dir(place.path("mine.jsonl")).unwrap();
    symlink("nowhere", place.path("mine.jsonl")).unwrap();
    let done = place.run("demo -o mine");
    assert_eq!((done.code, done.stderr), (Some(1), format!("docsphere: error: {refusal}\n")));
    assert_eq!(place.names("."), ["mine.jsonl"]);
}

#[test]
fn what_appears_in_a_folder_during_the_run_is_kept() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out -q");
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe.txt")).status().unwrap().success());
    let child = place.spawn("cluster pipe.txt -k 3 -o out --force -q");
    // Opens when the run reads, and so after its checks.
    let mut pipe = fs::File::options().write(true).open(place.path("pipe.txt")).unwrap();
    place.write("out/notes.txt", "precious");
    std::io::Write::write_all(&mut pipe, PETS.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "docsphere: note: out: the old folder holds files that docsphere did not write; it is kept as out.old\n"
    );
    place.assert_complete("out");
    assert_eq!(place.json("out/clusters.json")["n_clusters"], 3);
    assert_eq!(place.read("out.old/notes.txt"), "precious");
    assert_eq!(place.json("out.old/clusters.json")["n_clusters"], 2);
    assert_eq!(place.names("."), ["out", "out.old", "pets.txt", "pipe.txt"]);
}

#[test]
fn a_result_whose_place_was_taken_during_the_run_is_kept() {
    let place = Place::with_pets();
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe.txt")).status().unwrap().success());
    let child = place.spawn("cluster pipe.txt -k 2 -o out -q");
    let mut pipe = fs::File::options().write(true).open(place.path("pipe.txt")).unwrap();
    place.write("out/notes.txt", "precious");
    std::io::Write::write_all(&mut pipe, PETS.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "docsphere: error: out: cannot put the result there: is there already; choose another name with -o, or replace it with --force; it is in out.new\n"
    );
    place.assert_complete("out.new");
    assert_eq!(place.names("out"), ["notes.txt"]);
}

#[test]
fn a_link_is_no_place_for_a_result_with_or_without_a_slash() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out -q");
    symlink("out", place.path("link")).unwrap();
    symlink("nowhere", place.path("broken")).unwrap();
    for link in ["link", "link/", "link//", "broken", "broken/"] {
        for force in ["", " --force"] {
            // The input is not there: whatever is refused is refused before it is looked at.
            let done = place.run(&format!("cluster none.txt -k 2 -o {link}{force}"));
            let message = format!(
                "docsphere: error: {link}: is a link; give the name of the folder itself, or another one\n"
            );
            assert_eq!((done.code, done.stderr), (Some(1), message));
        }
    }
    assert_eq!(place.names("."), ["broken", "link", "out", "pets.txt"]);
}

#[test]
fn a_result_that_a_killed_run_had_moved_aside_is_put_back() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out -q");
    // As it is between two of the three renames; no process has this number.
    fs::rename(place.path("out"), place.path(".out.previous-999999999")).unwrap();
    place.write(".out.partial-999999999/clusters.json", "{}");
    let done = place.run("cluster pets.txt -k 3 -o out");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: note: out: is the old result again; a run was killed while it replaced it\ndocsphere: error: out: is there already; choose another name with -o, or replace it with --force\n"
        )
    );
    place.assert_complete("out");
    // Before the last rename: the new result has its place, and the old one is in the way.
    place.write(".out.previous-999999999/clusters.json", "{}");
    place.ok("cluster pets.txt -k 3 -o out --force -q");
    assert_eq!(place.names("."), ["out", "pets.txt"]);
    // Nor is anything foreign lost that was in it.
    for name in [".out.previous-999999999", ".out.partial-999999999"] {
        place.write(&format!("{name}/notes.txt"), "precious");
    }
    let done = place.run("cluster pets.txt -k 2 -o out --force -q");
    assert_eq!(done.code, Some(0));
    assert_eq!(
        done.stderr,
        "docsphere: note: out: the old folder holds files that docsphere did not write; it is kept as out.old\ndocsphere: note: ./.out.partial-999999999: was left by a run that was killed, and holds files that docsphere did not write; look at it, then delete it\n"
    );
    assert_eq!(place.read("out.old/notes.txt"), "precious");
    assert_eq!(place.read(".out.partial-999999999/notes.txt"), "precious");
}

#[test]
fn the_files_of_merge_are_of_one_cut_wherever_it_crashes() {
    let place = Place::new();
    place.write("in.txt", crate::command::generated_corpus(600));
    place.ok("cluster in.txt -k 40 -o out --max-iter 1 --no-report -q");
    let points = place.fail_points("merge out --groups 2");
    for wanted in ["old file removed:1", "first file in place:1", "second file in place:1"] {
        assert!(points.iter().any(|point| point == wanted), "{wanted} is missing in {points:?}");
    }
    for (number, point) in points.iter().enumerate() {
        place.crash(&format!("merge out --groups {}", 3 + number), point);
        let file = place.json("out/groups.json");
        if !place.path("out/groups.csv").exists() {
            continue;
        }
        for line in place.read("out/groups.csv").lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let group = &file["group_of_cluster"][fields[2].parse::<usize>().unwrap()];
            assert_eq!(group.to_string(), fields[1], "crash at {point}");
        }
    }
    place.ok("merge out --groups 5");
    assert_eq!(place.json("out/groups.json")["n_groups"], 5);
    assert!(place.path("out/groups.csv").exists());
    assert!(place.names("out").iter().all(|name| !name.starts_with('.')), "{:?}", place.names("out"));
}
