//! Results whose assignments are in parts: every command treats them as results with one file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use docsphere::{Ids, Labels, MemoryLimit};
use docsphere_result::{Assignments, AssignmentsFormat, ReadAssignment, read_assignments};

use crate::command::{Place, generated_corpus};
use crate::explorer::Server;

/// Converts the assignments of a result into parts, one for each of these numbers of documents.
fn convert(folder: &Path, format: AssignmentsFormat, n_documents: &[usize]) {
    let lines = read_assignments(folder, &MemoryLimit::default()).unwrap();
    let mut rest = &lines[..];
    for (number, &n) in n_documents.iter().enumerate() {
        let (part, others) = rest.split_at(n);
        rest = others;
        write_part(folder, format, number as u32, part);
    }
    assert!(rest.is_empty(), "all documents are in parts");
    fs::remove_file(folder.join(format.file_name())).unwrap();
}

fn write_part(folder: &Path, format: AssignmentsFormat, number: u32, lines: &[ReadAssignment]) {
    let ids: Ids = lines.iter().map(|line| &line.id).collect();
    let labels = Labels::from(lines.iter().map(|line| line.cluster).collect::<Vec<_>>());
    let similarities: Vec<f64> = lines.iter().map(|line| line.similarity).collect();
    let similarities = &similarities[..];
    let lines = Assignments {
        ids: &ids,
        labels: &labels,
        similarities,
        nearest: None,
        silhouettes: None,
        copies: None,
        columns: None,
    };
    lines.write_part(folder, format, number).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The results `whole` of 60 documents, and `out`, the same in three parts and one without
/// documents.
fn with_both(format: AssignmentsFormat) -> Place {
    let place = Place::new();
    place.write("in.txt", generated_corpus(60));
    place.ok(&format!("cluster in.txt -k 5 -o whole -q --assignments {format}"));
    copy(&place.path("whole"), &place.path("out"));
    convert(&place.path("out"), format, &[20, 0, 39, 1]);
    place
}

/// The result `out` of four documents, in two parts.
fn pets_in_parts() -> Place {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 --init k-means++ -o out -q");
    convert(&place.path("out"), AssignmentsFormat::Csv, &[3, 1]);
    place
}

#[test]
fn every_command_works_on_parts_as_on_one_file() {
    for &format in AssignmentsFormat::ALL.iter().filter(|format| format.check_build().is_ok()) {
        let place = with_both(format);
        let ending = format.name();
        let parts = ["00000", "00001", "00002", "00003"].map(|number| format!("part-{number}.{ending}"));
        assert_eq!(place.names("out/assignments"), parts);
        let both = |words: &str| {
            let [whole, parts] = ["whole", "out"].map(|out| place.ok(&words.replace("OUT", out)));
            assert_eq!(parts.replace("out/", "whole/"), whole, "{format}: {words}");
            whole
        };
        let checked = both("verify OUT in.txt");
        assert!(checked.starts_with("checked 60 documents against 5 centroids: 0 mismatches"), "{checked}");
        both("inspect OUT");
        both("inspect OUT --cluster 1");
        both("assign OUT in.txt --top 2");
        both("merge OUT --groups 2 --json");
        both("report OUT");
        for name in ["groups.csv", "groups.json", "report.html"] {
            assert_eq!(place.read(&format!("out/{name}")), place.read(&format!("whole/{name}")), "{name}");
        }
        assert_eq!(place.read("out/groups.csv").lines().count(), 61);
        both("index OUT in.txt");
        let index = |out: &str| fs::read(place.path(&format!("{out}/documents.sqlite"))).unwrap();
        assert!(index("out") == index("whole"), "the same search index");
    }
}

#[test]
fn a_result_in_parts_is_served() {
    let place = pets_in_parts();
    place.ok("index out pets.txt");
    let mut server = Server::start(&place);
    let (status, answer) = server.get("/api/documents?q=purr");
    assert!(status == 200 && answer.contains("cats purr softly"), "{status}: {answer}");
    assert_eq!(server.stop("INT"), Some(0));
}

#[test]
fn csv_parts_are_whole_files() {
    let place = pets_in_parts();
    assert_eq!(
        place.read("out/assignments/part-00000.csv"),
        "id,cluster,similarity\n1,0,0.757981\n2,1,0.757981\n3,0,0.757981\n"
    );
    assert_eq!(place.read("out/assignments/part-00001.csv"), "id,cluster,similarity\n4,1,0.757981\n");
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let place = pets_in_parts();
    let part = |number: u32| format!("out/assignments/part-0000{number}.csv");
    let commands = ["verify out pets.txt", "merge out --groups 1", "index out pets.txt"];
    let refused = |message: &str| {
        for words in commands {
            let done = place.run(words);
            assert_eq!(
                (done.code, done.stderr.as_str()),
                (Some(1), format!("docsphere: error: {message}\n").as_str()),
                "{words}"
            );
        }
    };
    fs::rename(place.path(&part(0)), place.path("kept")).unwrap();
    refused("out/assignments/part-00000.csv: is missing, but there is part-00001.csv");
    fs::rename(place.path("kept"), place.path(&part(0))).unwrap();
    place.write("out/assignments/part-00002.jsonl", "");
    refused(
        "out/assignments/part-00002.jsonl: is a part in another format; the first part is in the format csv",
    );
    fs::remove_file(place.path("out/assignments/part-00002.jsonl")).unwrap();
    place.write("out/assignments.jsonl", "");
    refused(
        "out/assignments: is there beside assignments.jsonl; a result has its assignments in one file or in parts: delete what is not of this result",
    );
    fs::remove_file(place.path("out/assignments.jsonl")).unwrap();
    // The last part leaves no gap, but its documents are missing.
    fs::rename(place.path(&part(1)), place.path("kept")).unwrap();
    let done = place.run("verify out pets.txt");
    assert!(done.stderr.contains("the input has 4 documents, but the result has 3; "), "{}", done.stderr);
    let done = place.run("merge out --groups 1");
    assert_eq!(
        done.stderr,
        "docsphere: error: out: the assignments are of 3 documents, clusters.json is of 4: they do not belong together\n"
    );
    assert!(!place.names("out").contains(&"groups.csv".to_owned()));
    fs::rename(place.path("kept"), place.path(&part(1))).unwrap();
    place.ok("verify out pets.txt");
}

#[test]
fn force_replaces_parts_but_nothing_foreign_among_them() {
    let place = pets_in_parts();
    let words = "cluster pets.txt -k 2 -o out --force -q";
    let refused = |name: &str| {
        let done = place.run(words);
        let message = format!(
            "docsphere: error: out: holds assignments/{name}, which docsphere did not write, so it is not replaced, even with --force; move that elsewhere, or choose another name\n"
        );
        assert_eq!((done.code, done.stderr), (Some(1), message));
        assert_eq!(place.names("out/assignments").len(), 3, "{name}: nothing is deleted");
    };
    for name in ["notes.txt", "part-2.csv"] {
        place.write(&format!("out/assignments/{name}"), "precious");
        refused(name);
        fs::remove_file(place.path(&format!("out/assignments/{name}"))).unwrap();
    }
    // A link is nothing that docsphere made.
    let link = place.path("out/assignments/part-00002.csv");
    symlink(place.path("pets.txt"), &link).unwrap();
    refused("part-00002.csv");
    fs::remove_file(&link).unwrap();
    place.ok(words);
    place.assert_complete("out");
    assert_eq!(place.names("."), ["out", "pets.txt"]);
}

#[test]
fn no_command_writes_over_a_part_or_adds_one() {
    let place = pets_in_parts();
    for (file, message) in [
        (
            "out/assignments/part-00001.csv",
            "is a file of the result (out/assignments/part-00001.csv), which would be overwritten; choose another name",
        ),
        (
            "out/assignments/part-00002.csv",
            "lies in out/assignments, the folder of the result's assignments, and would be read as a document; choose a place outside of it",
        ),
    ] {
        let done = place.run(&format!("assign out pets.txt -o {file}"));
        assert_eq!((done.code, done.stderr), (Some(1), format!("docsphere: error: {file}: {message}\n")));
    }
    place.ok("verify out pets.txt");
    let done = place.run("cluster out/assignments/part-00000.csv --text-field id -k 2 -o out --force");
    assert!(done.stderr.contains("out/assignments/part-00000.csv, the input, lies there"), "{}", done.stderr);
    assert_eq!(place.names("out/assignments").len(), 2);
}
