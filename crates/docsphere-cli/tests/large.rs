//! Runs over rows in a file: full disks, damage, kills and signals leave old results whole.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use docsphere::{SparseRows, UnitRows};

use crate::command::{Done, Place, signal};

/// 80,000 rows of 150 terms: 96 MB.
fn place_with_rows() -> Place {
    let place = Place::new();
    let (n_rows, n_entries, n_terms) = (80_000u32, 150, 5_000);
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for _ in 0..n_rows {
        let topic = draw() % 40;
        for entry in 0..n_entries {
            terms.push(33 * entry + (7 * topic + draw() % 12) % 33);
            values.push(1.0 + (draw() % 3) as f32);
        }
    }
    let offsets: Vec<u64> = (0..=n_rows).map(|row| u64::from(row * n_entries)).collect();
    let rows = UnitRows::new(SparseRows::from_parts(n_terms, offsets, terms, values).unwrap());
    rows.save_open(place.path("rows.docsphere")).unwrap();
    place
}

/// A run with a limit below the size of the rows, which it therefore takes from their file; what it
/// needs beside them is less.
fn limited(words: &str) -> String {
    format!("{words} --max-memory 90M")
}

/// Names and contents of a result.
fn contents(place: &Place, out: &str) -> Vec<(String, Vec<u8>)> {
    let content = |name: String| {
        let bytes = fs::read(place.path(out).join(&name)).unwrap();
        (name, bytes)
    };
    place.names(out).into_iter().map(content).collect()
}

/// What a run must not leave behind.
fn left_behind(place: &Place) -> Vec<String> {
    place.names(".").into_iter().filter(|name| name.starts_with('.')).collect()
}

const RUN: &str = "cluster rows.docsphere -k 8 --init random --max-iter 6 --tol 0 --effort fast --threads 2 -q --no-report --no-rows --force";

/// A result that is there before, of fewer clusters.
fn old_result(place: &Place) -> Vec<(String, Vec<u8>)> {
    place.ok(&RUN.replace("-k 8", "-k 3 -o out"));
    contents(place, "out")
}

#[test]
fn a_full_disk_within_the_run_is_an_error_and_leaves_the_old_result() {
    if !Path::new("/bin/bash").exists() {
        eprintln!("SKIPPED: there is no /bin/bash to limit the size of files with");
        return;
    }
    let place = place_with_rows();
    let before = old_result(&place);
    let words = limited(&format!("{RUN} -o out"));
    // Labels of single documents take 320 kB, what is scanned of rows 48 MB. No file may have more
    // blocks of 1,024 bytes.
    for limit in [100, 1_000, 20_000] {
        let script =
            format!("trap '' XFSZ; ulimit -f {limit}; exec {} {words}", env!("CARGO_BIN_EXE_docsphere"));
        let mut command = Command::new("/bin/bash");
        command.args(["-c", &script]).current_dir(place.path(".")).stdin(Stdio::null());
        let done = Done::from(command.output().unwrap());
        assert_eq!(done.code, Some(1), "{limit}: {}", done.stdout);
        let says = |text: &str| done.stderr.contains(text);
        assert!(says("make room in a scratch file") && says("File too large"), "{limit}: {}", done.stderr);
        assert!(contents(&place, "out") == before, "{limit}");
        assert!(left_behind(&place).is_empty(), "{limit}");
    }
    place.ok(&words);
    assert!(contents(&place, "out") != before);
}

#[test]
fn a_damaged_file_of_rows_is_an_error_and_leaves_the_old_result() {
    let place = place_with_rows();
    let before = old_result(&place);
    let words = limited(&format!("{RUN} -o out"));
    let path = place.path("rows.docsphere");
    let refused = |what: &str| {
        let done = place.run(&words);
        assert_eq!(done.code, Some(1), "{what}");
        assert!(done.stderr.starts_with("docsphere: error: rows.docsphere: "), "{what}: {}", done.stderr);
        assert!(contents(&place, "out") == before && left_behind(&place).is_empty(), "{what}");
        done.stderr
    };
    let length = fs::metadata(&path).unwrap().len();
    for place_of_bit in [4_096 + 8, length / 3, length / 2, length - 5_000] {
        flip_bit(&path, place_of_bit);
        let told = refused("a flipped bit");
        assert!(told.contains("damaged") || told.contains("ascend"), "{told}");
        flip_bit(&path, place_of_bit);
    }
    let file = File::options().write(true).open(&path).unwrap();
    fs::copy(&path, place.path("whole")).unwrap();
    file.set_len(length - 1).unwrap();
    assert!(refused("cut short").contains("truncated or damaged"));
    fs::rename(place.path("whole"), &path).unwrap();
    place.ok(&words);
}

fn flip_bit(path: &Path, at: u64) {
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

/// A file that takes the place of another is another file: the run goes on with the one that it
/// has.
#[test]
fn a_file_of_rows_may_be_replaced_while_the_run_goes_on() {
    let place = place_with_rows();
    let words = limited(&format!("{RUN} --checkpoint check --checkpoint-every 1"));
    place.ok(&format!("{words} -o whole"));
    fs::remove_file(place.path("check")).unwrap();
    let mut child = place.spawn(&format!("{words} -o out"));
    wait_for(&place, "check", &mut child);
    place.write("other", "no rows at all");
    fs::rename(place.path("other"), place.path("rows.docsphere")).unwrap();
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    for name in ["assignments.csv", "model.docsphere", "clusters.json"] {
        assert!(place.read_bytes("out", name) == place.read_bytes("whole", name), "{name}");
    }
}

impl Place {
    fn read_bytes(&self, out: &str, name: &str) -> Vec<u8> {
        fs::read(self.path(out).join(name)).unwrap()
    }
}

#[track_caller]
fn wait_for(place: &Place, name: &str, child: &mut std::process::Child) {
    let start = Instant::now();
    while !place.path(name).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it wrote {name}");
        assert!(start.elapsed() < Duration::from_secs(600), "{name} never came");
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_kill_in_the_loop_leaves_the_old_result_and_a_checkpoint_to_go_on_from() {
    let place = place_with_rows();
    let before = old_result(&place);
    let words = limited(&format!("{RUN} --checkpoint check --checkpoint-every 1"));
    place.ok(&format!("{words} -o whole"));
    fs::remove_file(place.path("check")).unwrap();
    place.crash(&format!("{words} -o out"), "rows passed:4");
    assert!(contents(&place, "out") == before);
    // Only the folder that the result was to come from, which the next run removes.
    assert_eq!(left_behind(&place).len(), 1, "{:?}", left_behind(&place));
    place.ok(&format!("{words} -o out --resume check"));
    assert!(left_behind(&place).is_empty(), "{:?}", left_behind(&place));
    for name in ["assignments.csv", "model.docsphere", "clusters.json"] {
        assert!(place.read_bytes("out", name) == place.read_bytes("whole", name), "{name}");
    }
}

#[test]
fn a_signal_in_the_loop_ends_the_iteration_and_writes_a_result_that_holds() {
    let place = place_with_rows();
    let slow = RUN.replace("--max-iter 6", "--max-iter 300 --checkpoint check --checkpoint-every 1");
    let words = limited(&slow.replace(" -q", ""));
    let mut tries = 0;
    let done = loop {
        let mut child = place.spawn(&format!("{words} -o out"));
        wait_for(&place, "check", &mut child);
        signal(&child, "INT");
        let done = Done::from(child.wait_with_output().unwrap());
        tries += 1;
        // The machine may stand still between the two, and the run end by itself.
        if done.code != Some(0) || tries == 3 {
            break done;
        }
        fs::remove_file(place.path("check")).unwrap();
    };
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    assert!(left_behind(&place).is_empty(), "{:?}", left_behind(&place));
    assert_eq!(place.json("out/clusters.json")["converged"], false);
    let limit = &words[words.find("--max-memory").unwrap()..];
    assert_eq!(
        place.ok(&format!("verify out rows.docsphere --sample 2000 {limit}")),
        "checked 2,000 documents against 8 centroids: 0 mismatches\n"
    );
    // And from the file, the same assignments as from memory.
    let in_memory = place.ok("assign out rows.docsphere --top 2");
    assert!(place.ok(&format!("assign out rows.docsphere --top 2 {limit}")) == in_memory);
    assert_eq!(in_memory.lines().count(), 80_001);
}
