//! The same assignments whatever the strategy and the number of threads.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};

use docsphere::Strategy;

use crate::command::{Place, repository};

/// Clusters the same input with many settings and compares every byte of assignments.csv with the first.
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
    fs::copy(repository().join("corpora/everyday.jsonl"), place.path("everyday.jsonl")).unwrap();
    let settings: Vec<_> =
        Strategy::ALL.into_iter().flat_map(|strategy| [1, 2, 7].map(|threads| (strategy, threads))).collect();
    assert_same(&place, "everyday.jsonl", "-k 20 --n-init 3", &settings);
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
    let others = Strategy::ALL.into_iter().filter(|&strategy| strategy != Strategy::Auto);
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
