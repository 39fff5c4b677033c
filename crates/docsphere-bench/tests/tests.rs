//! The real binary on tiny input: each subcommand, the form of what it prints and writes. Seconds
//! are never judged.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// What a run left behind.
struct Done {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    folder: TempDir,
}

/// Runs words separated by spaces in an empty folder, where `OUT` is not yet there.
fn run(words: &str) -> Done {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_docsphere-bench"))
        .args(words.split_whitespace())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr), folder }
}

/// Runs what must succeed.
fn ok(words: &str) -> Done {
    let done = run(words);
    assert_eq!(done.code, Some(0), "{words}: {}", done.stderr);
    done
}

impl Done {
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("OUT")).unwrap();
        let names: BTreeSet<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.into_iter().collect()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("OUT").join(name)).unwrap()
    }

    /// The values of one column.
    fn column(&self, file: &str, name: &str) -> Vec<String> {
        let text = self.read(file);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers().unwrap().clone();
        let position = headers
            .iter()
            .position(|header| header == name)
            .unwrap_or_else(|| panic!("{file} has no {name}, but {headers:?}"));
        reader.records().map(|record| record.unwrap()[position].to_owned()).collect()
    }

    /// Whether machine, date and command stand at the top, and Markdown and file agree.
    fn assert_headed(&self, name: &str) {
        assert!(self.stdout.starts_with(&format!("# docsphere-bench {name}\n")), "{}", self.stdout);
        for key in ["command: `docsphere-bench ", "date: 20", "CPU: ", "cores: ", "SIMD: ", "version: "] {
            assert!(self.stdout.contains(&format!("\n- {key}")), "no {key} in {}", self.stdout);
        }
        assert!(
            self.stdout.contains("ther processes had") || self.stdout.contains("machine other processes")
        );
        let file = self.read(&format!("{name}.md"));
        assert!(self.stdout.lines().all(|line| file.contains(line)));
    }
}

#[test]
fn device_measures_stages_in_turn() {
    let done = ok("device --docs 300 --k 5,9 --device cpu --threads 2 --repeats 2 --out OUT");
    assert_eq!(done.files(), ["device.csv", "device.md"]);
    assert_eq!(done.column("device.csv", "k"), ["5", "5", "5", "5", "9", "9", "9", "9"]);
    for stage in ["small_clusters", "merges", "loop", "neighbours", "tree"] {
        let seconds = done.column("device.csv", stage);
        assert!(seconds.iter().all(|seconds| seconds.parse::<f64>().unwrap() > 0.0), "{stage}: {seconds:?}");
    }
}

#[test]
fn speed_compares_strategies() {
    let done =
        ok("speed --docs 300 --k 5,12 --strategies inverted,auto,ncc --threads 2 --repeats 2 --out OUT");
    done.assert_headed("speed");
    assert_eq!(done.files(), ["speed-iterations.csv", "speed-runs.csv", "speed.csv", "speed.md"]);
    assert_eq!(done.column("speed.csv", "strategy"), ["inverted", "auto", "ncc", "inverted", "auto", "ncc"]);
    assert_eq!(done.column("speed.csv", "k"), ["5", "5", "5", "12", "12", "12"]);
    assert_eq!(done.column("speed.csv", "ratio")[0], "1");
    assert_eq!(done.column("speed-runs.csv", "run").len(), 2 * 3 * 2);
    let fingerprints: BTreeSet<_> = done.column("speed-runs.csv", "fingerprint").into_iter().collect();
    assert_eq!(fingerprints.len(), 2, "one for each k");
    for name in ["seconds", "CPU_seconds", "update", "prepare", "assign", "peak_MB", "objective"] {
        let values = done.column("speed.csv", name);
        assert!(values.iter().all(|value| value.parse::<f64>().is_ok()), "{name}: {values:?}");
    }
    assert!(done.stdout.contains("seeding by plain-k-means++, seed 0, took "));
}

#[test]
fn speed_says_if_nothing_can_be_extrapolated() {
    let done =
        ok("speed --docs 1500 --k 20 --strategies auto,baseline --repeats 2 --cap 0 --threads 1 --out OUT");
    assert!(done.stdout.contains("--cap stopped every run"), "{}", done.stdout);
    assert_eq!(done.column("speed.csv", "stop"), ["capped after 1", "capped after 1"]);
    assert_eq!(done.column("speed.csv", "runs"), ["1", "1"], "not run again");
    assert_eq!(done.column("speed.csv", "seconds"), ["", ""]);
}

#[test]
fn grid_extrapolates_what_it_gives_up() {
    // No time at all, measured by the first run, which comes to its end.
    let words = "grid --docs 1500 --k 20 --strategies auto,baseline --repeats 1 --give-up 0 --tolerance 1e9 --threads 1";
    let done = ok(&format!("{words} --out OUT"));
    assert_eq!(done.column("grid-runs.csv", "stop")[1], "capped after 1");
    let number = |file, name, row: usize| done.column(file, name)[row].parse::<f64>().unwrap();
    // Two assignments were measured, of which the second stands for all others.
    let seconds = number("grid-runs.csv", "seconds", 1);
    let n_later = number("grid-runs.csv", "assignments", 0) - 1.0;
    let extrapolated = number("grid.csv", "baseline", 0);
    assert!(seconds < extrapolated && extrapolated < seconds * n_later, "{seconds} {extrapolated}");
    let row = done.stdout.lines().find(|line| line.starts_with("| generated:40")).unwrap();
    assert_eq!(row.matches(r"\*").count(), 1, "{row}");
}

#[test]
fn speed_reads_a_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pets.txt");
    fs::write(&path, "cats purr softly\ndogs bark loudly\ncats sleep\ndogs run\ncats eat\nmore lines\n")
        .unwrap();
    let done = ok(&format!("speed --corpus {} --docs 5 --k 2 --repeats 1", path.display()));
    assert!(done.stdout.contains("- pets: 5 rows, "), "{}", done.stdout);
    let done = run(&format!("speed --corpus {} --docs 50 --k 2", path.display()));
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("--docs 50"), "{}", done.stderr);
}

#[test]
fn grid_judges_auto() {
    let words = "grid --corpus generated --corpus generated:8 --docs 200,150 --k 4,9 --threads 1,2 --strategies inverted,auto --repeats 1 --out OUT";
    let done = ok(&format!("{words} --tolerance 1e9"));
    done.assert_headed("grid");
    assert_eq!(done.files(), ["grid-runs.csv", "grid.csv", "grid.md"]);
    assert_eq!(done.column("grid.csv", "verdict"), ["ok"; 8]);
    assert_eq!(done.column("grid.csv", "best"), ["inverted"; 8]);
    assert_eq!(done.column("grid.csv", "documents")[..5], ["200", "200", "200", "200", "150"]);
    assert!(done.column("grid.csv", "auto").iter().all(|seconds| seconds.parse::<f64>().unwrap() > 0.0));

    let done = run(&format!("{words} --tolerance=-100 --retries 1 --by cpu"));
    assert_eq!(done.code, Some(1));
    assert_eq!(done.column("grid.csv", "verdict"), ["SLOW"; 8]);
    assert_eq!(done.column("grid.csv", "measured_again"), ["1"; 8]);
    assert!(
        done.stderr
            .contains("error: auto is more than -100% slower than the best strategy: generated:40, k = 4")
    );
}

#[test]
fn growth_fits_exponents() {
    let done = ok(
        "growth --docs 100,200,400 --at-k 5 --k 4,8 --at-docs 200 --strategies auto,inverted --threads 1 --out OUT",
    );
    done.assert_headed("growth");
    assert_eq!(
        done.files(),
        ["growth-exponents.csv", "growth-runs.csv", "growth.csv", "growth.md", "growth.png", "growth.svg"]
    );
    assert_eq!(done.column("growth.csv", "grows").len(), 2 * (3 + 2));
    let exponents = done.column("growth-exponents.csv", "exponent_of_an_iteration");
    assert!(exponents.len() == 4 && exponents.iter().all(|b| b.parse::<f64>().unwrap().is_finite()));
    assert_eq!(done.column("growth-exponents.csv", "sizes"), ["3", "3", "2", "2"]);
    let figure = done.read("growth.svg");
    assert!(figure.contains("seconds an iteration") && figure.contains("auto, exponent"));
    let done = ok("growth --grow k --k 4,8 --at-docs 200 --by cpu --out OUT");
    assert_eq!(done.column("growth.csv", "grows"), ["k", "k"]);
    assert!(done.read("growth.svg").contains("CPU seconds an iteration"));
}

#[test]
fn seeding_compares_ways() {
    let done = ok(
        "seeding --docs 200 --k 5 --seeds 2 --inits random,plain-k-means++,greedy,greedy:3 --threads 1 --out OUT",
    );
    done.assert_headed("seeding");
    assert_eq!(done.files(), ["seeding-runs.csv", "seeding.csv", "seeding.md", "seeding.png", "seeding.svg"]);
    assert_eq!(done.column("seeding.csv", "init"), ["random", "plain-k-means++", "k-means++", "k-means++:3"]);
    assert_eq!(done.column("seeding.csv", "gain_over_random_%")[0], "0");
    assert_eq!(done.column("seeding-runs.csv", "seed"), ["0", "0", "0", "0", "1", "1", "1", "1"]);
    assert!(done.read("seeding.svg").contains("k-means++"));
}

#[test]
fn workers_count_bytes_and_give_the_bits_of_one_process() {
    let done = ok("workers --docs 300 --k 6 --workers 1,3 --own-threads 1 --out OUT");
    assert!(done.stdout.contains("identical to the bit"));
    assert_eq!(done.files(), ["workers-iterations.csv", "workers.csv", "workers.md"]);
    assert_eq!(done.column("workers.csv", "workers"), ["one process", "1", "3"]);
    let iterations = done.column("workers.csv", "iterations");
    assert_eq!(iterations[0], iterations[2]);
    // Iteration 0 included, once per number of workers.
    let n_iterations: usize = iterations[0].parse().unwrap();
    let down = done.column("workers-iterations.csv", "bytes_down");
    assert_eq!(down.len(), 2 * (n_iterations + 1));
    assert!(down.iter().all(|bytes| bytes.parse::<u64>().unwrap() > 0));
}

#[test]
fn paper_repeats_the_evaluation() {
    let done = ok(
        "paper --corpus generated:8 --corpus generated:20 --docs 400,300 --k 5,120 --runs 3 --seed 7 --threads 2 --out OUT",
    );
    done.assert_headed("paper");
    let tables = ["paper-counts", "paper-data", "paper-index", "paper-runs", "paper-seconds", "paper-table1"];
    let mut files: Vec<String> = tables.map(|name| format!("{name}.csv")).into();
    files.extend(
        ["paper-figure.png", "paper-figure.svg", "paper-journal.jsonl", "paper-table1.tex", "paper.md"]
            .map(str::to_owned),
    );
    files.sort();
    assert_eq!(done.files(), files);
    let modes = ["baseline", "ncc", "index", "ncc-index", "inverted", "auto"];
    assert_eq!(done.column("paper-table1.csv", "mode"), modes);
    assert!(done.read("paper-table1.tex").contains("ncc-index & 0.0"));
    assert_eq!(done.column("paper-seconds.csv", "mode").len(), 2 * 2 * 6);
    assert_eq!(done.column("paper-seconds.csv", "ratio")[0], "1");
    let number = |file, name: &str, row: usize| done.column(file, name)[row].parse::<f64>().unwrap();
    for row in 0..24 {
        let quartile = |name| number("paper-seconds.csv", name, row);
        assert!(quartile("first_quartile") <= quartile("median"));
        assert!(quartile("median") <= quartile("third_quartile"));
    }
    // The same way for all modes, another one for each seed.
    let (seeds, prints) =
        (done.column("paper-runs.csv", "seed"), done.column("paper-runs.csv", "fingerprint"));
    let pairs: BTreeSet<_> = seeds.iter().zip(&prints).collect();
    assert_eq!((seeds.len(), pairs.len()), (2 * 2 * 3 * 6, 2 * 2 * 3));
    assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 3);
    // Counts: every document against every centroid, in each assignment.
    assert_eq!(number("paper-counts.csv", "similarities_a_document", 0), 5.0);
    assert!(number("paper-counts.csv", "similarities", 1) <= number("paper-counts.csv", "similarities", 0));
    // The index asks for every document with one threshold or none.
    let shares = ["none", "0.1", "0.25", "0.4", "0.6"]
        .map(|name| number("paper-index.csv", &format!("docs_%_{name}"), 0));
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{shares:?}");
    assert!((0.0..1.0).contains(&number("paper-data.csv", "met", 1)));
    assert!(done.read("paper-figure.svg").contains("generated:20, 300 documents"));
    assert!(!done.stdout.contains("extrapolated. The run"));
}

#[test]
fn paper_extrapolates_what_the_cap_stopped() {
    // No time at all: every mode is stopped after its second assignment, and nothing is known of
    // the rest.
    let done = ok("paper --corpus generated:8 --docs 1500 --k 20 --runs 2 --cap 0 --threads 1 --out OUT");
    assert_eq!(done.column("paper-seconds.csv", "stopped"), ["1"; 6]);
    assert_eq!(done.column("paper-seconds.csv", "median"), [""; 6]);
    assert!(done.stdout.contains("extrapolated. The run was stopped after whole iterations"));
    assert_eq!(run("paper --modes auto,auto --docs 100 --k 3").code, Some(1));
}

#[test]
fn paper_goes_on_where_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("OUT");
    let words = |more: &str| {
        format!(
            "paper --corpus generated:8 --docs 400 --k 5 --modes ncc,auto --threads 2 --out {} {more}",
            out.display()
        )
    };
    let seconds = || {
        let text = fs::read_to_string(out.join("paper-runs.csv")).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let position = reader.headers().unwrap().iter().position(|name| name == "seconds").unwrap();
        reader.records().map(|record| record.unwrap()[position].to_owned()).collect::<Vec<_>>()
    };
    ok(&words("--runs 1"));
    let first = seconds();
    // What was being written when it was cut.
    let journal = out.join("paper-journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}{}", &text[..100])).unwrap();
    let done = ok(&words("--runs 2 --resume"));
    assert_eq!(done.stderr.matches("as before: ").count(), 2, "{}", done.stderr);
    assert!(done.stderr.contains("1 runs cannot be read and are made again"), "{}", done.stderr);
    assert_eq!(seconds()[..2], first, "taken over with all digits");
    assert_eq!(seconds().len(), 4);
    // Other settings are another experiment.
    let done = ok(&words("--runs 2 --resume --max-iter 3"));
    assert!(!done.stderr.contains("as before: "), "{}", done.stderr);
    assert_eq!(ok(&words("--runs 2")).stderr.matches("as before: ").count(), 0, "without --resume, all anew");
    assert!(out.join("paper-journal.jsonl.old").exists(), "and what was there is put aside");
}

#[test]
fn paper_reads_other_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pets.csv");
    fs::write(&path, "title,body\ncats,purr softly\ndogs,bark loudly\ncats,sleep\ndogs,run\n").unwrap();
    let done = ok(&format!("paper --corpus {} --text-field title,body --k 2 --runs 1", path.display()));
    assert!(done.stdout.contains("- pets: 4 rows, 8 terms"), "{}", done.stdout);
}

#[test]
fn wrong_usage_is_told_apart() {
    for words in ["speed --repeats 0", "speed --strategies fast", "seeding --inits best", "fast"] {
        assert_eq!(run(words).code, Some(2), "{words}");
    }
    assert_eq!(run("grid --strategies inverted,ncc").code, Some(1));
}

/// A command in the place of `docsphere`, in which a line of the shell writes the assignments.
#[cfg(unix)]
fn run_threads(assignments: &str) -> Done {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("docsphere");
    let script = format!(
        r#"#!/bin/sh
k=$4 threads=$6
while [ $# -gt 1 ]; do shift; done
mkdir "$1"
{assignments} > "$1/assignments.csv"
echo model > "$1/model.docsphere"
echo '{{"seconds": {{"read": 0.5, "seed": 1.0, "cluster": '$((12 / threads))', "summarize": '$k', "total": 20}},
  "iterations": [{{"seconds": {{"assign": 3, "phases": {{"scan": 2}}}}}}], "peak_memory_bytes": 2000000}}' > "$1/trace.json"
"#
    );
    fs::write(&command, script).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let done = run(&format!(
        "threads --corpus {0} --command {0} --k 5,7 --threads 1,2,4 --repeats 2 --out OUT -- --force",
        command.display()
    ));
    drop(folder);
    done
}

#[cfg(unix)]
#[test]
fn threads_has_seconds_by_stage_and_number_of_threads() {
    let done = run_threads("echo doc,0");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let files =
        ["threads-5.csv", "threads-7.csv", "threads-runs.csv", "threads.md", "threads.png", "threads.svg"];
    assert_eq!(done.files(), files);
    let stages = done.column("threads-5.csv", "stage");
    let cluster = stages.iter().position(|stage| stage == "cluster").unwrap();
    assert_eq!(done.column("threads-5.csv", "4")[cluster], "3");
    assert_eq!(done.column("threads-5.csv", "times_as_fast")[cluster], "4");
    assert!(stages.contains(&"cluster phases scan".to_owned()), "{stages:?}");
    assert_eq!(done.column("threads-7.csv", "1")[stages.iter().position(|s| s == "summarize").unwrap()], "7");
    assert_eq!(done.column("threads-runs.csv", "stage").len(), 2 * 3 * 2 * 7);
}

#[cfg(unix)]
#[test]
fn threads_fails_if_results_differ() {
    let done = run_threads("echo doc,$threads");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("the result with 2 threads is another than with 1"), "{}", done.stderr);
    assert_eq!(done.column("threads-runs.csv", "threads").len(), 7, "what was measured is kept");
}

#[test]
fn recombine_makes_documents_of_the_words_of_others_by_number_and_seed() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |n: u32, group: &str| -> String {
        (0..n)
            .map(|doc| {
                format!("{{\"id\":\"{group}/{doc}\",\"text\":\"{group}a{doc} {group}b{doc} {group}c\"}}\n")
            })
            .collect()
    };
    fs::write(folder.path().join("some.jsonl"), lines(9, "x") + &lines(5, "y")).unwrap();
    let made = |words: &str, out: &str| -> Vec<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_docsphere-bench"))
            .args(["recombine", "--corpus", "some.jsonl", "--out", out])
            .args(words.split_whitespace())
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let packed = fs::File::open(folder.path().join(out)).unwrap();
        let text = std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let (many, few) = (made("--documents 300", "many.jsonl.zst"), made("--documents 40", "few.jsonl.zst"));
    assert_eq!((many.len(), &many[..40]), (300, &few[..]));
    assert_ne!(made("--documents 40 --seed 2", "other.jsonl.zst"), few);
    assert!(many.iter().collect::<BTreeSet<_>>().len() > 200);
    for line in &many {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = document["text"].as_str().unwrap();
        // Of one group, and each word from a place that it has in a document.
        assert!(!(text.contains('x') && text.contains('y')), "{text}");
        assert!(text.split(' ').filter(|word| word.ends_with('c')).count() <= 2, "{text}");
    }
}
