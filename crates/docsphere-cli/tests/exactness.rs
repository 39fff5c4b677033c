//! The same assignments whatever the strategy and the number of threads.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use docsphere::Strategy;

use crate::command::{Place, repository};

/// The built-in corpus.
fn corpus() -> PathBuf {
    repository().join("crates/docsphere-cli/corpora/everyday.jsonl")
}

/// Clusters the same input with many settings and compares every byte of assignments.csv with the
/// first.
fn assert_same(place: &Place, input: &str, options: &str, settings: &[(Strategy, usize)]) {
    let mut expected: Option<(String, String)> = None;
    for (strategy, threads) in settings {
        let out = format!("{strategy}-{threads}");
        place.ok(&format!(
            "cluster {input} {options} -o {out} --strategy {strategy} --threads {threads} --quiet"
        ));
        let found =
            (place.read(&format!("{out}/assignments.csv")), place.read(&format!("{out}/clusters.json")));
        match &expected {
            None => expected = Some(found),
            Some(expected) => assert!(&found == expected, "{out} differs from {:?}", settings[0]),
        }
    }
}

#[test]
fn everyday_texts_are_assigned_alike_by_every_strategy_on_1_2_and_7_threads() {
    let place = Place::new();
    fs::copy(corpus(), place.path("everyday.jsonl")).unwrap();
    let settings: Vec<_> =
        Strategy::ALL.iter().flat_map(|&strategy| [1, 2, 7].map(|threads| (strategy, threads))).collect();
    assert_same(&place, "everyday.jsonl", "-k 20 --n-init 3", &settings);
}

#[test]
fn searches_and_refinements_are_alike_for_every_strategy_and_can_be_verified() {
    let place = Place::new();
    fs::copy(corpus(), place.path("everyday.jsonl")).unwrap();
    let settings: Vec<_> = Strategy::ALL.iter().map(|&strategy| (strategy, 2)).collect();
    let options = "-k 30 --rounds 2 --refine root";
    assert_same(&place, "everyday.jsonl", options, &settings);
    assert_eq!(
        place.ok("verify drift-2 everyday.jsonl"),
        "checked 480 documents against 30 centroids: 0 mismatches\n"
    );
    // Root centroids are in the model, so new documents are judged by them.
    let again = place.ok("assign drift-2 everyday.jsonl");
    let clusters = |text: String| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(clusters(again.clone()), clusters(place.read("drift-2/assignments.csv")));
    place.ok("cluster everyday.jsonl -k 30 --rounds 2 -o plain --quiet");
    assert_ne!(clusters(place.read("plain/assignments.csv")), clusters(again));
}

#[test]
fn an_effort_is_what_its_options_are() {
    let place = Place::new();
    fs::copy(corpus(), place.path("everyday.jsonl")).unwrap();
    let assigned = |options: &str| {
        place.ok(&format!("cluster everyday.jsonl -k 40 --no-report -o out --force --quiet {options}"));
        place.read("out/assignments.csv")
    };
    assert_eq!(assigned("--effort best"), assigned("--n-init 5 --rounds 10 --variation on"));
    assert_eq!(assigned("--effort fast"), assigned("--fine 2 --variation off"));
    assert_eq!(assigned("--effort default"), assigned(""));
    assert_ne!(assigned("--effort fast"), assigned(""), "otherwise nothing would be seen");
    let done = place.run("cluster everyday.jsonl -k 40 -o out --effort most");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("fast, default, best"), "{}", done.stderr);
}

/// All documents start in the one cluster whose seed is not empty; the other one comes to life by a
/// refill.
#[test]
fn a_cluster_that_comes_to_life_is_looked_at_by_every_strategy() {
    let place = Place::new();
    let header = "%%MatrixMarket matrix coordinate real general";
    let rows =
        "6 2 10\n1 1 1\n2 1 0.9\n2 2 0.1\n3 1 0.95\n3 2 0.05\n4 1 0.1\n4 2 0.9\n5 1 0.05\n5 2 0.95\n6 2 1\n";
    place.write("rows.mtx", format!("{header}\n{rows}"));
    place.write("seeds.mtx", format!("{header}\n2 2 2\n1 1 1\n1 2 0.2\n"));
    for &strategy in Strategy::ALL {
        place.ok(&format!(
            "cluster rows.mtx -k 2 --init seeds.mtx --strategy {strategy} -o {strategy} --quiet"
        ));
        assert_eq!(
            place.ok(&format!("verify {strategy} rows.mtx")),
            "checked 6 documents against 2 centroids: 0 mismatches\n",
            "{strategy}"
        );
        let labels: Vec<i32> =
            place.assignments(strategy.name()).into_iter().map(|(_, cluster)| cluster).collect();
        assert_eq!(labels, [0, 0, 0, 1, 1, 1], "{strategy}");
    }
}

#[test]
fn arxiv_abstracts_are_assigned_alike_by_every_strategy_and_number_of_threads() {
    let Some(source) = std::env::var_os("DOCSPHERE_TEST_CORPUS") else {
        eprintln!("SKIPPED: DOCSPHERE_TEST_CORPUS names no corpus of abstracts (JSON Lines, zstd)");
        return;
    };
    let file = File::open(source).unwrap();
    let place = Place::new();
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    let mut input = std::io::BufWriter::new(File::create(place.path("arxiv.jsonl")).unwrap());
    for line in lines.take(20_000) {
        writeln!(input, "{}", line.unwrap()).unwrap();
    }
    input.into_inner().unwrap();
    let others = Strategy::ALL.iter().copied().filter(|&strategy| strategy != Strategy::Auto);
    let settings: Vec<_> = [1, 2, 7]
        .map(|threads| (Strategy::Auto, threads))
        .into_iter()
        .chain(others.zip([2, 7, 1, 3, 2].into_iter().cycle()))
        .collect();
    assert_same(&place, "arxiv.jsonl", "-k 100 --max-iter 5", &settings);
    assert_eq!(place.assignments("auto-1").len(), 20_000);
    assert_eq!(
        place.ok("verify auto-7 arxiv.jsonl --sample 500"),
        "checked 500 documents against 100 centroids: 0 mismatches\n"
    );
}
