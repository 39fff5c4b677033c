//! Several numbers of clusters in one run, and a number of clusters that nobody chose.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::{Done, PETS, Place, generated_corpus, signal};

fn place_with_corpus() -> Place {
    let place = Place::new();
    place.write("in.txt", generated_corpus(600));
    place
}

#[test]
fn a_device_that_is_not_there_is_named_once() {
    let place = place_with_corpus();
    let done = place.run("sweep in.txt -k 4,9 -o out --stability 1 --device auto");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // None on a machine with a GPU.
    assert!(done.stderr.matches("the CPU is used").count() <= 1, "{}", done.stderr);
    if !Path::new("/dev/nvidia0").exists() {
        assert!(done.stderr.contains("docsphere: note: the CPU is used: device cuda: "), "{}", done.stderr);
    }
}

#[test]
fn every_number_has_a_whole_result_that_other_commands_take() {
    let place = place_with_corpus();
    let shown = place.ok("sweep in.txt -k 4,9,20 -o out --stability 1");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(place.names("."), ["in.txt", "out"]);
    assert_eq!(place.names("out"), ["k-20", "k-4", "k-9", "run.toml", "sweep.html", "sweep.json"]);
    for k in ["4", "9", "20"] {
        let folder = format!("out/k-{k}");
        place.assert_complete(&folder);
        let checked = place.ok(&format!("verify {folder} in.txt"));
        assert_eq!(checked, format!("checked 600 documents against {k} centroids: 0 mismatches\n"));
        place.ok(&format!("inspect {folder} --cluster 0"));
        place.ok(&format!("merge {folder} --groups 2"));
        place.ok(&format!("report {folder}"));
        place.ok(&format!("assign {folder} in.txt -o assigned-{k}.csv"));
        let trace = place.json(&format!("{folder}/trace.json"));
        let number = |setting: &&Value| setting["name"] == "--n-clusters";
        let settings = trace["settings"].as_array().unwrap();
        assert_eq!(settings.iter().find(number).unwrap()["values"][0], k);
    }
    let file = place.json("out/sweep.json");
    assert_eq!((&file["complete"], &file["n_documents"]), (&true.into(), &600.into()));
    let results = file["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for entry in results {
        for measure in ["margin", "silhouette", "simplified_silhouette", "mean_similarity"] {
            assert!(entry[measure].is_number(), "{measure}");
        }
        assert!(entry["halves"]["ari"].is_number() && entry["seeds"]["nmi"].is_number());
        let clusters = place.json(&format!("out/{}/clusters.json", entry["folder"].as_str().unwrap()));
        assert_eq!(clusters["objective"], entry["objective"]);
        let largest = clusters["clusters"].as_array().unwrap().iter().map(|c| c["size"].as_u64()).max();
        assert_eq!(largest.flatten(), entry["largest"].as_u64());
    }
    // With an index of its own for the server, and without reports.
    let shown = place.ok("sweep in.txt -k 4..9:3 -o out --force --stability off --json --no-report");
    let file: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(file, place.json("out/sweep.json"));
    assert_eq!(place.names("out"), ["k-4", "k-6", "k-9", "run.toml", "sweep.html", "sweep.json"]);
    assert!(file["stability"].is_null() && file["results"][0]["report"].is_null());
}

#[test]
fn the_greatest_number_is_an_ordinary_run_and_threads_and_strategies_change_nothing() {
    let place = place_with_corpus();
    place.ok("sweep in.txt -k 5,12 -o out -q --stability 1 --threads 1");
    place.ok("cluster in.txt -k 12 -o alone -q");
    assert_eq!(place.read("out/k-12/assignments.csv"), place.read("alone/assignments.csv"));
    place.ok("sweep in.txt -k 5,12 -o other -q --stability 1 --threads 3 --strategy inverted");
    let without_seconds = |name: &str| {
        let mut file = place.json(name);
        file["seconds"] = 0.into();
        file["settings"] = Value::Null;
        file["results"].as_array_mut().unwrap().iter_mut().for_each(|entry| entry["seconds"] = 0.into());
        file
    };
    assert_eq!(without_seconds("out/sweep.json"), without_seconds("other/sweep.json"));
    for k in ["k-5", "k-12"] {
        let of = |folder: &str| place.read(&format!("{folder}/{k}/assignments.csv"));
        assert_eq!(of("out"), of("other"));
    }
}

#[test]
fn what_does_not_fit_is_refused_before_the_work() {
    let place = place_with_corpus();
    let refused = |words: &str, code: i32, message: &str| {
        let done = place.run(words);
        assert_eq!(done.code, Some(code), "docsphere {words}: {}", done.stderr);
        assert!(done.stderr.contains(message), "docsphere {words}: {}", done.stderr);
        assert_eq!(place.names("."), ["in.txt"], "docsphere {words}");
    };
    refused(
        "sweep in.txt -k 5,700 -o out",
        1,
        "-k must be at most 600, the number of documents that have a term",
    );
    refused("sweep in.txt -k 1..5 -o out", 2, "from 2 to 16777216 in a sweep, got 1");
    refused("sweep in.txt -k five -o out", 2, "a range such as 20..2000 or 20..2000:15, or a list");
    refused("sweep in.txt -k 5 --n-init 3 -o out", 2, "--n-init must be 1 in a sweep");
    refused("sweep in.txt -k 5 --init random -o out", 2, "--init must be merge");
    refused("sweep in.txt -k 5 --stability often -o out", 2, "give a whole number, or off");
    refused("sweep in.txt -k 5 --stability 1000 -o out", 2, "--stability must be from 0 to 100");
    refused("sweep in.txt -k 5..50 --max-memory 1M -o out", 1, "--max-memory");
    refused("cluster in.txt -k 5..50 -o out", 2, "docsphere sweep compares several");
    refused("cluster in.txt -k many -o out", 2, "give a number, or auto");
    place.ok("sweep in.txt -k 2,3 -o out -q --stability off");
    place.write("out/k-2/notes.txt", "precious");
    let done = place.run("sweep in.txt -k 2,3 -o out --force");
    assert!(done.stderr.contains("holds k-2/notes.txt, which docsphere did not write"), "{}", done.stderr);
    assert_eq!(place.read("out/k-2/notes.txt"), "precious");
    let done = place.run("cluster in.txt -k 2 -o out --force");
    assert!(done.stderr.contains("there is no clusters.json"), "{}", done.stderr);
}

#[test]
fn a_choice_that_needs_too_much_memory_is_refused() {
    let place = Place::new();
    // Of 8,000 documents 2,000 small clusters are merged, pair by pair; a run with few needs less.
    place.write("in.txt", generated_corpus(8_000));
    let done = place.run("cluster in.txt -k auto --max-memory 70M --threads 2 -o out");
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("-k auto: clustering may need up to"), "{}", done.stderr);
    assert_eq!(place.names("."), ["in.txt"]);
}

#[test]
fn a_killed_sweep_leaves_nothing_in_its_place_and_the_next_one_clears_up() {
    let place = place_with_corpus();
    let words = "sweep in.txt -k 4,9 -o out -q --stability 1";
    place.ok(words);
    let again = format!("{words} --force");
    let points = place.fail_points(&again);
    let old = place.read("out/sweep.json");
    let named = |name: &str| points.iter().any(|point| point.starts_with(name));
    assert!(named("step written") && named("sweep written") && named("result in place"), "{points:?}");
    let places =
        ["documents read:1", "step written:1", "trace written:2", "sweep written:1", "result synced:1"];
    for point in places {
        let mut command = place.command(again.split_whitespace());
        let done = command.env("DOCSPHERE_FAIL_AT", point).output().unwrap();
        assert_eq!(done.status.code(), None, "{point}");
        // Seconds differ from run to run, so this is the old file.
        assert!(place.read("out/sweep.json") == old, "{point}");
        place.assert_complete("out/k-9");
    }
    let _ = fs::remove_file(place.path("fail-points"));
    place.ok(&again);
    assert_eq!(place.names("."), ["in.txt", "out"]);
}

/// Sends a signal to a sweep to `out` once its second number, 3, is written.
fn end_after_the_second_number(place: &Place, words: &str) -> Done {
    let child = place.spawn(words);
    let staging = format!(".out.partial-{}", child.id());
    let start = Instant::now();
    while !place.path(&format!("{staging}/k-3/trace.json")).exists() {
        assert!(start.elapsed() < Duration::from_secs(600), "no second number came");
        sleep(Duration::from_millis(2));
    }
    signal(&child, "INT");
    Done::from(child.wait_with_output().unwrap())
}

#[test]
fn a_signal_drops_the_number_in_progress_and_writes_those_that_are_done() {
    let place = Place::new();
    place.write("in.txt", generated_corpus(3_000));
    // The last numbers take long.
    let numbers: Vec<String> = (2..6).chain(300..340).map(|k| k.to_string()).collect();
    let words =
        format!("sweep in.txt -k {} -o out --stability off --strategy baseline --fine 2", numbers.join(","));
    let done = end_after_the_second_number(&place, &words);
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    assert!(done.stderr.contains("dropping the number of clusters in progress"), "{}", done.stderr);
    assert_eq!(place.names("."), ["in.txt", "out"]);
    let file = place.json("out/sweep.json");
    let n_done = file["results"].as_array().unwrap().len();
    assert!((2..numbers.len()).contains(&n_done), "{n_done}");
    assert_eq!(file["complete"], false);
    let told = format!("\ninterrupted after {n_done} of {} numbers: those are written\n", numbers.len());
    assert!(done.stdout.contains(&told), "{}", done.stdout);
    assert_eq!(place.names("out").len(), n_done + 3, "run.toml, sweep.html, sweep.json");
    numbers[..n_done].iter().for_each(|k| place.assert_complete(&format!("out/k-{k}")));
    assert!(place.read("out/sweep.html").contains("The sweep was ended after "));
}

#[test]
fn a_sweep_that_is_ended_early_does_not_replace_a_complete_one() {
    let place = Place::new();
    place.write("in.txt", generated_corpus(3_000));
    place.ok("sweep in.txt -k 4,9 -o out -q --stability off");
    let whole = place.read("out/sweep.json");
    let numbers: Vec<String> = (2..4).chain(300..340).map(|k| k.to_string()).collect();
    let words = format!(
        "sweep in.txt -k {} -o out --force --stability off --strategy baseline --fine 2",
        numbers.join(",")
    );
    let ended = end_after_the_second_number(&place, &words);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(place.names("."), ["in.txt", "out", "out.new"]);
    assert_eq!(place.read("out/sweep.json"), whole);
    let note = "note: out: holds a complete sweep, which stays; the one that was ended early is in out.new\n";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    assert!(ended.stdout.contains("\nwritten to out.new\n"), "{}", ended.stdout);
    assert_eq!(place.json("out.new/sweep.json")["complete"], false);
    // One that was ended early is replaced.
    place.ok("sweep in.txt -k 3,5 -o out.new -q --force --stability off");
    assert_eq!(place.json("out.new/sweep.json")["complete"], true);
}

#[test]
fn a_sweep_in_place_of_a_result_is_said() {
    let place = place_with_corpus();
    place.ok("sweep in.txt -k 9,4,12 -o out -q --stability off");
    for words in
        ["inspect out", "assign out in.txt", "verify out in.txt", "merge out --groups 2", "report out"]
    {
        let done = place.run(words);
        assert_eq!(done.code, Some(1), "docsphere {words}");
        let hint = "; out is a sweep: give one of its results, such as out/k-4\n";
        assert!(done.stderr.ends_with(hint), "docsphere {words}: {}", done.stderr);
    }
}

#[test]
fn time_ends_a_sweep_with_what_is_done() {
    let place = place_with_corpus();
    let done = place.run("cluster in.txt -k auto -o out --time-limit 0.000001");
    assert!(
        done.stderr.contains("the time was over before k was chosen; nothing was written"),
        "{}",
        done.stderr
    );
    let done = place.run("sweep in.txt -k 4..100:12 -o out --time-limit 0.000001");
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("the time was over before -k 4 was done; nothing was written"),
        "{}",
        done.stderr
    );
    assert_eq!(place.names("."), ["in.txt"]);
}

#[test]
fn documents_are_clustered_without_any_option() {
    let place = Place::new();
    for (number, line) in PETS.lines().enumerate() {
        place.write(&format!("notes/{number}.txt"), line);
    }
    let done = place.run("cluster notes/");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(
        done.stderr,
        "docsphere: note: -k 2, the square root of half the number of documents; give another, or compare some with docsphere sweep\n"
    );
    place.assert_complete("notes-clusters");
    assert_eq!(place.json("notes-clusters/clusters.json")["n_clusters"], 2);
    assert_eq!(place.run("cluster notes").code, Some(1), "it is there already");
    // Standard input has no name.
    let done = place.run_with_input("cluster - --format lines -q", PETS.as_bytes());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    place.assert_complete("documents-clusters");
    // As many as there are initial centroids.
    place.ok("cluster notes -k 3 -o three -q");
    place.ok("export three -o centroids");
    place.ok("cluster notes --init centroids/centroids.npz -o again -q");
    assert_eq!(place.json("again/clusters.json")["n_clusters"], 3);
}

#[test]
fn a_number_is_chosen_by_measures_and_told() {
    let place = place_with_corpus();
    let done = place.run("cluster in.txt -k auto -o out");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let k = place.json("out/clusters.json")["n_clusters"].as_u64().unwrap();
    assert!((5..=30).contains(&k), "{k}");
    let told = format!("docsphere: note: -k {k} by margin and stability on 600 documents; from ");
    assert!(done.stderr.starts_with(&told), "{}", done.stderr);
    let settings = place.json("out/trace.json")["settings"].clone();
    let number = settings.as_array().unwrap().iter().find(|setting| setting["name"] == "--n-clusters");
    assert_eq!(number.unwrap()["values"][0], k.to_string());
    // The same number gives the same result.
    place.ok(&format!("cluster in.txt -k {k} -o same -q"));
    assert_eq!(place.read("out/assignments.csv"), place.read("same/assignments.csv"));
    // Too few documents for measures: the rule.
    place.write("few.txt", "cats purr\ndogs bark\ncats sleep\n");
    place.ok("cluster few.txt -k auto -o few -q");
    assert_eq!(place.json("few/clusters.json")["n_clusters"], 2);
}

#[test]
fn documents_that_share_nothing_give_no_advice() {
    let place = Place::new();
    let lines: String = (0..200).map(|number| format!("w{number}x v{number}x\n")).collect();
    place.write("in.txt", lines);
    place.ok("sweep in.txt --keep-numbers -k 3,6,12 -o out -q --stability 1");
    let file = place.json("out/sweep.json");
    assert!(file["recommendation"].is_null(), "{}", file["recommendation"]);
    for entry in file["results"].as_array().unwrap() {
        let ari = entry["halves"]["ari"].as_f64().unwrap();
        assert!(ari < 0.3, "halves have different outliers, and no cluster in common: {ari}");
    }
    let done = place.run("cluster in.txt --keep-numbers -k auto -o auto");
    assert!(done.stderr.contains("no number of clusters is better than others"), "{}", done.stderr);
}

#[test]
fn outliers_and_empty_clusters_are_those_of_the_results() {
    let place = Place::new();
    let lines: String =
        (0..18).map(|number| if number % 2 == 0 { "cats purr\n" } else { "stocks fall\n" }).collect();
    place.write("in.txt", lines);
    let shown = place.ok("sweep in.txt -k 2,9 -o out --stability off");
    assert!(shown.contains("note: k = 9: 7 empty clusters, 0 documents without a cluster"), "{shown}");
    let place = place_with_corpus();
    place.ok("sweep in.txt -k 3,9 -o out -q --stability off --min-similarity 0.3 --silhouette");
    for entry in place.json("out/sweep.json")["results"].as_array().unwrap() {
        let clusters = place.json(&format!("out/{}/clusters.json", entry["folder"].as_str().unwrap()));
        assert_eq!(entry["n_outliers"], clusters["n_outliers"]);
        assert_eq!(entry["n_empty_clusters"], clusters["n_empty_clusters"]);
        assert!(entry["n_outliers"].as_u64().unwrap() > 0, "too few to show anything");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn numbers_that_are_done_survive_one_that_cannot_be_written() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    let place = place_with_corpus();
    place.ok("cluster in.txt -k 4 -o small -q --no-report");
    place.ok("cluster in.txt -k 100 -o large -q --no-report");
    let size = |name: &str| fs::metadata(place.path(name)).unwrap().len();
    let [small, large] = ["small/clusters.json", "large/clusters.json"].map(size);
    // No file may be longer than something between the two, in blocks of 1,024 bytes.
    let most = small.max(size("small/model.docsphere")).max(size("in.txt")).midpoint(large) / 1024;
    let script = format!(
        "trap '' XFSZ; ulimit -f {most}; exec {} sweep in.txt -k 4,100 -o out --no-report --stability off",
        env!("CARGO_BIN_EXE_docsphere")
    );
    let done = Command::new("/bin/bash").args(["-c", &script]).current_dir(place.path(".")).output().unwrap();
    let done = Done::from(done);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("-k 100 was not written; the numbers before it were"), "{}", done.stderr);
    assert_eq!(place.names("out"), ["k-4", "run.toml", "sweep.html", "sweep.json"]);
    assert_eq!(place.json("out/sweep.json")["complete"], false);
    place.ok("verify out/k-4 in.txt");
}
