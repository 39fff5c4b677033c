//! Input that can be read only once: named pipes, process substitution, standard input by its
//! names.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{Done, PETS, Place};

/// Longer than any of these runs takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes a named pipe, and writes into it once, when somebody reads it.
fn pipe(place: &Place, name: &str, content: Vec<u8>) {
    let path = place.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    thread::spawn(move || {
        // A second reader would wait for ever. That nobody reads at all is found out by the caller.
        if let Ok(mut file) = File::options().write(true).open(path) {
            let _ = file.write_all(&content);
        }
    });
}

/// Waits for the end, but not for ever.
#[track_caller]
fn ended(mut child: Child, words: &str) -> Done {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("docsphere {words}: does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap().into()
}

#[track_caller]
fn ok(place: &Place, words: &str) -> String {
    let done = ended(place.spawn(words), words);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "docsphere {words}");
    done.stdout
}

#[test]
fn documents_are_read_from_a_named_pipe_by_every_command() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o file -q");
    let next = |number: u32| {
        let name = format!("pipe{number}.txt");
        pipe(&place, &name, PETS.into());
        name
    };
    ok(&place, &format!("cluster {} -k 2 -o out --index -q", next(0)));
    place.assert_complete("out");
    // With the texts of representatives and the index, although a pipe can be read only once.
    assert_eq!(place.read("out/clusters.json"), place.read("file/clusters.json"));
    assert_eq!(ok(&place, &format!("assign out {}", next(1))), place.ok("assign out pets.txt"));
    let verified = ok(&place, &format!("verify out {}", next(2)));
    assert_eq!(verified, "checked 4 documents against 2 centroids: 0 mismatches\n");
    let indexed = ok(&place, &format!("index out {}", next(3)));
    assert_eq!(indexed, "4 documents written to out/documents.sqlite\n");
    ok(&place, &format!("vectorize {} -o vectors -q", next(4)));
    assert_eq!(place.read("vectors/ids.txt"), "1\n2\n3\n4\n");
    // Compressed, and beside a file.
    pipe(&place, "packed.txt.zst", zstd::encode_all(PETS.as_bytes(), 1).unwrap());
    ok(&place, "cluster packed.txt.zst pets.txt -k 2 -o both -q");
    assert_eq!(place.json("both/clusters.json")["n_documents"], 8);
}

#[test]
fn a_table_in_parquet_is_read_from_a_named_pipe() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --assignments parquet -q");
    pipe(&place, "pipe.parquet", fs::read(place.path("out/assignments.parquet")).unwrap());
    ok(&place, "vectorize pipe.parquet --text-field id --keep-numbers --min-chars 1 -o vectors -q");
    assert_eq!(place.read("vectors/ids.txt"), "1\n2\n3\n4\n");
}

#[test]
fn every_file_that_an_option_names_may_be_a_pipe() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o first -q");
    place.ok("export first -o export");
    place.ok("vectorize pets.txt -o vectors -q");
    pipe(&place, "words", b"cats\n".to_vec());
    ok(&place, "cluster pets.txt -k 2 -o out --stop-words-file words -q");
    assert!(!place.read("out/clusters.json").contains("\"term\": \"cats\""));
    pipe(&place, "more-words", b"cats\n".to_vec());
    ok(&place, "vectorize pets.txt -o terms --stop-words-file more-words -q");
    assert!(!place.read("terms/vocabulary.txt").contains("cats"));
    pipe(&place, "seeds.npz", fs::read(place.path("export/centroids.npz")).unwrap());
    ok(&place, "cluster pets.txt -k 2 -o seeded --init seeds.npz -q");
    assert_eq!(place.assignments("seeded"), place.assignments("first"));
    pipe(&place, "matrix.npz", fs::read(place.path("vectors/matrix.npz")).unwrap());
    pipe(&place, "names", fs::read(place.path("vectors/vocabulary.txt")).unwrap());
    ok(&place, "cluster matrix.npz --vocabulary names -k 2 -o rows -q");
    assert_eq!(place.assignments("rows"), place.assignments("first"));
}

#[test]
fn other_names_of_standard_input_and_process_substitution_are_read() {
    let place = Place::with_pets();
    place.write("words.txt", "cats\n");
    for (number, (name, is_file)) in
        [("/dev/stdin", false), ("/dev/stdin", true), ("/dev/fd/0", false), ("/proc/self/fd/0", false)]
            .into_iter()
            .enumerate()
    {
        let words = format!("cluster {name} --format lines -k 2 -o out{number} -q");
        let mut command = place.command(words.split(' '));
        let done = if is_file {
            let file = File::open(place.path("pets.txt")).unwrap();
            ended(command.stdin(file).spawn().unwrap(), &words)
        } else {
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(PETS.as_bytes()).unwrap();
            ended(child, &words)
        };
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{words}");
        place.assert_complete(&format!("out{number}"));
        place.assert_pets(&format!("out{number}"), ["1", "2", "3", "4"]);
        assert!(place.read(&format!("out{number}/clusters.json")).contains("\"text\": \"cats sleep\""));
    }
    if Path::new("/bin/bash").exists() {
        let script = format!(
            "{} cluster <(cat pets.txt) --format lines --stop-words-file <(cat words.txt) -k 2 -o out -q",
            env!("CARGO_BIN_EXE_docsphere")
        );
        let mut command = Command::new("/bin/bash");
        command.args(["-c", &script]).current_dir(place.path("."));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let done = ended(command.spawn().unwrap(), &script);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        place.assert_complete("out");
        assert!(!place.read("out/clusters.json").contains("\"term\": \"cats\""));
    }
}

#[test]
fn a_pipe_whose_format_is_not_known_is_refused_without_waiting_for_it() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let words = "cluster pipe -k 2 -o out";
    let done = ended(place.spawn(words), words);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("for other names and standard input name it with --format"),
        "{}",
        done.stderr
    );
}
