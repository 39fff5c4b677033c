//! Signals, kills, checkpoints, limits: what a run of hours must survive.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{Done, Place, generated_corpus, signal};

const RESULT_FILES: [&str; 2] = ["assignments.csv", "clusters.json"];

/// A folder with a corpus that takes a while.
fn place_with_corpus(n_documents: usize) -> Place {
    let place = Place::new();
    place.write("in.txt", generated_corpus(n_documents));
    place
}

/// Waits until a file is there.
#[track_caller]
fn wait_for(place: &Place, name: &str, child: &mut Child) {
    let start = Instant::now();
    while !place.path(name).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it wrote {name}");
        assert!(start.elapsed() < Duration::from_secs(600), "{name} never came");
        sleep(Duration::from_millis(2));
    }
}

#[track_caller]
fn assert_same_result(place: &Place, a: &str, b: &str) {
    for file in RESULT_FILES {
        assert!(
            place.read(&format!("{a}/{file}")) == place.read(&format!("{b}/{file}")),
            "{file} of {a} and {b}"
        );
    }
}

/// The names of everything that a run must not leave behind.
fn left_behind(place: &Place) -> Vec<String> {
    place.names(".").into_iter().filter(|name| name.starts_with('.')).collect()
}

/// Iterations that take long: every similarity is computed.
const SLOW: &str = "cluster in.txt -k 400 --init random --strategy baseline --tol 0 --seed 3 --threads 2";

#[test]
fn a_signal_ends_the_iteration_and_writes_a_result_that_can_be_continued_to_the_same_bytes() {
    let place = place_with_corpus(6_000);
    place.ok(&format!("{SLOW} -o whole -q"));
    place.assert_complete("whole");
    for name in ["INT", "TERM"] {
        let mut tries = 0;
        let done = loop {
            let mut child = place.spawn(&format!(
                "{SLOW} -o {name} --force --index --checkpoint {name}.check --checkpoint-every 1"
            ));
            wait_for(&place, &format!("{name}.check"), &mut child);
            signal(&child, name);
            let done = Done::from(child.wait_with_output().unwrap());
            tries += 1;
            // The machine may stand still between the two, and the run end by itself.
            if done.code != Some(0) || tries == 3 {
                break done;
            }
            fs::remove_file(place.path(&format!("{name}.check"))).unwrap();
        };
        assert_eq!(done.code, Some(130), "{}", done.stderr);
        assert_eq!(
            done.stderr,
            "docsphere: finishing this iteration, then writing the result; press Ctrl-C again to stop at once\n"
        );
        assert!(done.stdout.contains("\ninterrupted after "), "{}", done.stdout);
        place.assert_complete(name);
        assert!(place.path(&format!("{name}/documents.sqlite")).exists(), "the index belongs to the result");
        assert_eq!(place.json(&format!("{name}/clusters.json"))["converged"], false);
        assert_eq!(
            place.ok(&format!("verify {name} in.txt")),
            "checked 6,000 documents against 400 centroids: 0 mismatches\n"
        );
        assert!(left_behind(&place).is_empty(), "{:?}", left_behind(&place));
        place.ok(&format!("{SLOW} -o resumed-{name} --resume {name}.check -q"));
        assert_same_result(&place, "whole", &format!("resumed-{name}"));
    }
}

#[test]
fn a_second_signal_stops_at_once_and_leaves_nothing() {
    let place = place_with_corpus(20_000);
    let slow = SLOW.replace("-k 400", "-k 4000");
    let mut child = place.spawn(&format!("{slow} -o out --checkpoint check --checkpoint-every 1"));
    wait_for(&place, "check", &mut child);
    signal(&child, "INT");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("docsphere: finishing this iteration"), "{line}");
    signal(&child, "INT");
    let status = child.wait().unwrap();
    line.clear();
    stderr.read_to_string(&mut line).unwrap();
    assert_eq!((status.code(), line.as_str()), (Some(130), "docsphere: interrupted; nothing was written\n"));
    assert_eq!(place.names("."), ["check", "in.txt"]);
}

#[test]
fn a_signal_while_reading_stops_at_once_and_leaves_nothing_not_even_a_temporary_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("tmp")).unwrap();
    let mut command = place.command("cluster - --format lines -k 2 -o out".split(' '));
    let mut child = command.stdin(Stdio::piped()).env("TMPDIR", place.path("tmp")).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"cats purr\ndogs bark\n").unwrap();
    let staging = format!(".out.partial-{}/texts.docsphere", child.id());
    wait_for(&place, &staging, &mut child);
    signal(&child, "INT");
    let status = child.wait().unwrap();
    drop(stdin);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(
        (status.code(), stderr.as_str()),
        (Some(130), "docsphere: interrupted; nothing was written\n")
    );
    assert_eq!(place.names("."), ["tmp"]);
    assert!(place.names("tmp").is_empty());
}

const MEDIUM: &str = "cluster in.txt -k 60 --tol 0 --max-iter 12 --threads 2 -q";

/// Random seeds, so that there are several iterations and checkpoints.
const CRASHED: &str = "cluster in.txt -k 60 --init random --tol 0 --max-iter 8 --threads 2 -q";

/// Kills a run at some moment. Whether it had come to its end by then.
fn killed_after(mut child: Child, moment: Duration) -> bool {
    sleep(moment);
    child.kill().unwrap();
    let code = child.wait().unwrap().code();
    assert!(matches!(code, None | Some(0)), "it failed: {code:?}");
    code.is_some()
}

/// Moments from the start of a run to its end and a little beyond.
fn moments(place: &Place, words: &str) -> impl Iterator<Item = Duration> + use<> {
    let start = Instant::now();
    place.ok(words);
    let whole = start.elapsed();
    (1..=5).map(move |part| whole * part / 4)
}

/// A result, if there is one, is whole; if not, the checkpoint goes on to the same bytes.
fn assert_whole_or_continued(place: &Place, out: &str, checkpoint: &str, words: &str) {
    if !place.path(out).exists() {
        if !place.path(checkpoint).exists() {
            return;
        }
        place.ok(&format!("{words} -o {out} --resume {checkpoint}"));
    }
    place.assert_complete(out);
    assert_same_result(place, "whole", out);
}

#[test]
fn a_run_that_crashes_anywhere_leaves_a_whole_result_or_none_and_is_continued_to_the_same_bytes() {
    let place = place_with_corpus(1_500);
    let words = format!("{CRASHED} --index");
    let points = place.fail_points(&format!("{words} -o whole --checkpoint check --checkpoint-every 1"));
    for wanted in [
        "staging made",
        "documents read",
        "file written",
        "file synced",
        "file in place",
        "loop ended",
        "assignments written",
        "description written",
        "page written",
        "index written",
        "trace written",
        "result synced",
        "result in place",
    ] {
        assert!(points.contains(&format!("{wanted}:1")), "{wanted} is missing in {points:?}");
    }
    let (mut n_whole, mut n_resumed) = (0, 0);
    for (number, point) in points.iter().enumerate() {
        let (out, checkpoint) = (format!("out{number}"), format!("check{number}"));
        let run = format!("{words} -o {out} --checkpoint {checkpoint} --checkpoint-every 1");
        place.crash(&run, point);
        let is_there = place.path(&out).exists();
        let is_committed = point.starts_with("result in place") || point.starts_with("old result");
        assert_eq!(is_there, is_committed, "after a crash at {point}");
        n_whole += usize::from(is_there);
        n_resumed += usize::from(!is_there && place.path(&checkpoint).exists());
        assert_whole_or_continued(&place, &out, &checkpoint, &words);
        // What is left behind has a name by which the next run knows it.
        assert!(left_behind(&place).iter().all(|name| name.contains("partial-") || name.ends_with(".tmp")));
    }
    assert!(n_whole >= 2 && n_resumed >= 10, "{n_whole} results, {n_resumed} continued");

    for (number, moment) in moments(&place, &format!("{words} -o timed")).enumerate() {
        let (out, checkpoint) = (format!("killed{number}"), format!("killed-check{number}"));
        let run = format!("{words} -o {out} --checkpoint {checkpoint} --checkpoint-every 1");
        let has_ended = killed_after(place.spawn(&run), moment);
        assert!(place.path(&out).exists() || !has_ended, "it ended without a result");
        assert_whole_or_continued(&place, &out, &checkpoint, &words);
    }
}

#[test]
fn a_crash_while_a_result_is_replaced_leaves_one_whole_result_and_the_next_run_clears_up() {
    let place = place_with_corpus(1_500);
    for seed in [0, 1] {
        place.ok(&format!("{CRASHED} -o seed-{seed} --seed {seed}"));
    }
    place.ok(&format!("{CRASHED} -o out --seed 1"));
    let points = place.fail_points(&format!("{CRASHED} -o out --force --seed 0"));
    assert!(points.contains(&"old result cleared away:1".to_owned()), "{points:?}");
    let seed_of_result = || place.json("out/clusters.json")["seed"].as_u64().unwrap();
    let assert_one_result = |before: u64, has_ended: bool, when: &str| {
        place.assert_complete("out");
        let after = seed_of_result();
        assert_same_result(&place, "out", &format!("seed-{after}"));
        assert!(after != before || !has_ended, "{when}: it ended without a result");
        assert!(left_behind(&place).len() <= 1, "{when}: {:?}", left_behind(&place));
        after
    };
    let mut n_replaced = 0;
    for point in &points {
        let before = seed_of_result();
        place.crash(&format!("{CRASHED} -o out --force --seed {}", 1 - before), point);
        let after = assert_one_result(before, false, point);
        n_replaced += usize::from(after != before);
    }
    assert!(n_replaced == 2, "the result was replaced after {n_replaced} of {points:?}");
    for moment in moments(&place, &format!("{CRASHED} -o timed")) {
        let before = seed_of_result();
        let child = place.spawn(&format!("{CRASHED} -o out --force --seed {}", 1 - before));
        let has_ended = killed_after(child, moment);
        assert_one_result(before, has_ended, &format!("killed after {moment:?}"));
    }
    place.ok(&format!("{CRASHED} -o out --force"));
    assert!(left_behind(&place).is_empty(), "{:?}", left_behind(&place));
}

#[cfg(target_os = "linux")]
#[test]
fn the_next_checkpoint_removes_the_leftovers_of_crashed_ones() {
    let place = place_with_corpus(1_500);
    let run =
        |checkpoint: &str| format!("{CRASHED} --force -o out --checkpoint {checkpoint} --checkpoint-every 1");
    let left = || left_behind(&place).into_iter().filter(|name| name.ends_with(".tmp")).collect::<Vec<_>>();
    let points = place.fail_points(&run("check"));
    let mut n_left = 0;
    for point in points.iter().filter(|point| point.starts_with("file ")) {
        place.crash(&run("check"), point);
        // Files of the result are written in its staging folder, not here.
        let found = left();
        assert!(found.len() <= usize::from(!point.starts_with("file in place")), "{point}: {found:?}");
        let Some(name) = found.first() else { continue };
        n_left += 1;
        place.ok(&run("other"));
        assert_eq!(left(), found, "after a checkpoint of another name");
        let (_, rest) = name.strip_prefix(".docsphere-").unwrap().split_once('-').unwrap();
        let living = format!(".docsphere-{}-{rest}", std::process::id());
        place.write(&living, "half");
        place.ok(&run("check"));
        assert_eq!(left(), [living.as_str()], "after the next checkpoint");
        fs::remove_file(place.path(&living)).unwrap();
    }
    assert!(n_left >= 2, "{n_left} leftovers at {points:?}");
}

#[test]
fn what_a_killed_process_left_is_removed_but_nothing_of_a_living_one() {
    let place = Place::with_pets();
    // No process has this number; the highest possible one is 4194304.
    place.write(".out.partial-999999999/clusters.json", "{}");
    let living = format!(".out.partial-{}", std::process::id());
    place.write(&format!("{living}/clusters.json"), "{}");
    place.write(".out.partial-mine/clusters.json", "{}");
    place.write(".other.partial-999999999/clusters.json", "{}");
    place.ok("cluster pets.txt -k 2 -o out");
    assert_eq!(left_behind(&place), [".other.partial-999999999", &living, ".out.partial-mine"]);
}

#[test]
fn of_two_runs_at_once_one_wins_and_the_other_says_so() {
    let place = place_with_corpus(2_000);
    let children: Vec<Child> =
        (0..2).map(|seed| place.spawn(&format!("{MEDIUM} -o out --seed {seed}"))).collect();
    let done: Vec<Done> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
    let mut codes: Vec<_> = done.iter().map(|done| done.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(1)]);
    let loser = done.iter().find(|done| done.code == Some(1)).unwrap();
    assert!(
        loser.stderr.contains("is there already; choose another name with -o, or replace it with --force"),
        "{}",
        loser.stderr
    );
    place.assert_complete("out");
    assert!(left_behind(&place).is_empty());

    let children: Vec<Child> =
        (0..2).map(|seed| place.spawn(&format!("{MEDIUM} -o out --seed {seed} --force"))).collect();
    for child in children {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
    place.assert_complete("out");
    assert!(left_behind(&place).is_empty());
}

/// Names and contents of the files of a folder.
fn contents(place: &Place, folder: &str) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let content = fs::read(place.path(&format!("{folder}/{name}"))).unwrap();
        (name, content)
    };
    place.names(folder).into_iter().map(read).collect()
}

#[test]
fn while_a_result_is_changed_no_other_process_changes_it_or_a_file_in_it() {
    let place = Place::with_pets();
    place.write("ids.txt", "2\n");
    place.ok("cluster pets.txt -k 2 -o out -q");
    let before = contents(&place, "out");
    let words = ["add", "out", "-", "--format", "jsonl", "--id-field", "id", "-q"];
    let mut child = place.command(words).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"id\": \"new\", \"text\": \"cats eat fish\"}\n").unwrap();
    let start = Instant::now();
    while left_behind(&place).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(600), "it never began");
        sleep(Duration::from_millis(2));
    }
    for words in [
        "add out pets.txt",
        "remove out --ids ids.txt",
        "edit out rename 0 animals",
        "merge out --groups 1",
        "report out",
        "index out pets.txt",
    ] {
        let done = place.run(words);
        let message = "out: another process is changing this result; wait until it has ended\n";
        assert!(done.code == Some(1) && done.stderr.ends_with(message), "{words}: {}", done.stderr);
        assert!(contents(&place, "out") == before, "{words}");
    }
    // What only reads does not wait.
    place.ok("inspect out");
    place.ok("verify out pets.txt");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(place.assignments("out").len(), 5);
    place.ok("merge out --groups 1");
    assert!(left_behind(&place).is_empty(), "{:?}", left_behind(&place));
}

#[test]
fn a_file_made_of_a_result_is_not_put_into_the_one_that_has_replaced_it() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out -q");
    // The index waits for its documents; meanwhile another result takes the place of this one.
    let words = ["index", "out", "-", "--format", "lines"];
    let mut child = place.command(words).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let start = Instant::now();
    while !place.names("out").iter().any(|name| name.starts_with('.')) {
        assert!(start.elapsed() < Duration::from_secs(600), "it never began");
        sleep(Duration::from_millis(2));
    }
    place.ok("cluster pets.txt -k 3 -o out -q --force");
    stdin.write_all(crate::command::PETS.as_bytes()).unwrap();
    drop(stdin);
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("out/documents.sqlite: cannot write"), "{}", done.stderr);
    assert!(!place.names("out").contains(&"documents.sqlite".to_owned()));
}

#[test]
fn a_checkpoint_continues_only_the_same_run() {
    let place = place_with_corpus(2_000);
    place.ok(&format!("{MEDIUM} -o whole --checkpoint check --checkpoint-every 1 --max-iter 2")
        .replace(" --max-iter 12", ""));
    place.ok(&format!("{MEDIUM} -o longer"));
    // More iterations, another strategy and other threads are allowed.
    place
        .ok(&format!("{MEDIUM} -o resumed --resume check --strategy ncc")
            .replace("--threads 2", "--threads 1"));
    assert_same_result(&place, "longer", "resumed");
    for (options, message) in [
        ("--seed 1", "--seed must be 0, as in the checkpoint, got 1"),
        ("--n-init 2", "--n-init must be 1, as in the checkpoint, got 2"),
        ("--init random", "--init must be merge of 600 small clusters, as in the checkpoint, got random"),
    ] {
        let done = place.run(&format!("{MEDIUM} -o other --resume check {options}"));
        assert_eq!((done.code, done.stderr), (Some(1), format!("docsphere: error: {message}\n")));
    }
    place.write("in.txt", generated_corpus(2_001));
    let done = place.run(&format!("{MEDIUM} -o other --resume check"));
    assert!(done.stderr.starts_with("docsphere: error: the rows must be 2000 rows over "), "{}", done.stderr);
    assert!(!place.path("other").exists());
}

#[test]
fn a_time_limit_ends_a_run_with_the_result_so_far() {
    let place = place_with_corpus(3_000);
    let shown = place.ok("cluster in.txt -k 200 --tol 0 --strategy baseline -o out --time-limit 0.001s");
    assert!(shown.contains("\nstopped by the time limit after 0 iterations, objective "), "{shown}");
    place.assert_complete("out");
    assert_eq!(place.json("out/clusters.json")["converged"], false);
    let shown = place.ok("cluster in.txt -k 200 --tol 0 --n-init 3 -o some --time-limit 0.001s");
    assert!(shown.contains(", only 0 of 3 runs were done, "), "{shown}");
}

#[test]
fn a_run_that_may_need_too_much_memory_is_refused_with_numbers() {
    let place = place_with_corpus(3_000);
    for (limit, begin, end) in [
        (
            "1M",
            "reading the documents takes ",
            " MB or more, but --max-memory allows 1.0 MB; give fewer or shorter documents, or raise --max-memory\n",
        ),
        (
            "500M",
            "clustering may need up to ",
            " MB for the run), but --max-memory allows 500 MB; take fewer clusters, drop rare terms (--min-df), or raise --max-memory\n",
        ),
    ] {
        // Terms by the million would take too long: threads are what makes the forecast large.
        let done = place.run(&format!("cluster in.txt -k 2900 -o out --threads 200 --max-memory {limit}"));
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.starts_with(&format!("docsphere: error: {begin}")), "{}", done.stderr);
        assert!(done.stderr.ends_with(end), "{}", done.stderr);
        assert_eq!(place.names("."), ["in.txt"]);
    }
    place.ok("cluster in.txt -k 20 -o out --threads 2 --max-memory 2G");
}
