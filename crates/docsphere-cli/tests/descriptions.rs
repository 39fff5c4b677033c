//! How clusters and groups are described: names, outliers, silhouettes.

use std::collections::BTreeSet;

use docsphere::{StopWords, TextOptions, Tokenizer};
use serde_json::Value;

use crate::command::Place;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Checks that no name of a cluster, group or merge has two words of one stem, and that no two have
/// the same name. Returns the names of the clusters.
#[track_caller]
fn checked_names(place: &Place, out: &str) -> Vec<String> {
    let options = TextOptions::default().stop_words(StopWords::None).stemmer("english".to_owned());
    let stemmer = Tokenizer::new(&options).unwrap();
    let clusters = place.json(&format!("{out}/clusters.json"));
    let groups = place.json(&format!("{out}/groups.json"));
    let of_clusters: Vec<&str> = list(&clusters["clusters"]).iter().map(|c| text(&c["name"])).collect();
    let of_merges: Vec<&str> = list(&groups["merges"]).iter().map(|merge| text(&merge["name"])).collect();
    let mut all = BTreeSet::new();
    for &name in of_clusters.iter().chain(&of_merges) {
        let stems = stemmer.terms(name);
        let distinct: BTreeSet<&String> = stems.iter().collect();
        assert!(stems.len() == distinct.len() && !stems.is_empty(), "{out}: {name}");
        // The same words in another order are the same name.
        let mut parts: Vec<&str> = name.split(", ").collect();
        parts.sort_unstable();
        assert!(all.insert(parts), "{out}: two are called {name}");
    }
    of_clusters.into_iter().map(str::to_owned).collect()
}

#[test]
fn no_name_repeats_a_stem_and_no_two_are_equal_with_any_effort_and_seed() {
    let place = Place::new();
    place.ok("demo");
    let names = checked_names(&place, "docsphere-demo");
    assert!(names.iter().any(|name| name.split(", ").any(|part| part.contains(' '))), "no phrase: {names:?}");
    let runs = [
        "-k 20 --effort fast",
        "-k 20 --effort fast --seed 1",
        "-k 20 --effort best --seed 2",
        "-k 60 --seed 3",
        "-k 60 --seed 4 --stem english --min-df 2",
        "-k 150 --seed 5",
        "-k 150 --seed 6 --stem english",
        "-k 20 --refine root --seed 7",
        "-k 30 --ngrams 1..2 --seed 8",
        "-k 30 --stop-words none --seed 9",
        "-k 2 --seed 10",
        "-k 40 --representatives 0 --least-typical 0",
    ];
    for (number, options) in runs.iter().enumerate() {
        place.ok(&format!("cluster docsphere-demo.jsonl {options} -o out{number} --quiet"));
        checked_names(&place, &format!("out{number}"));
    }
}

#[test]
fn documents_that_are_not_similar_enough_are_outliers() {
    let place = Place::new();
    place.ok("demo");
    let run = "cluster docsphere-demo.jsonl -k 20 --min-df 2";
    place.ok(&format!("{run} -o all"));
    let shown = place.ok(&format!("{run} --min-similarity 0.3 -o strict --runner-up"));
    // The model is the same, and so are the documents that are similar enough.
    let model = |out: &str| std::fs::read(place.path(out).join("model.docsphere")).unwrap();
    assert!(model("all") == model("strict"));
    let (all, strict) = (place.read("all/assignments.csv"), place.read("strict/assignments.csv"));
    let mut n_outliers = 0;
    for (whole, line) in all.lines().zip(strict.lines()).skip(1) {
        let (fields, found): (Vec<&str>, Vec<&str>) = (whole.split(',').collect(), line.split(',').collect());
        if fields[2].parse::<f64>().unwrap() < 0.3 {
            assert_eq!(found[1..], ["-1", "0.000000", "-1", "0.000000"], "{line}");
            n_outliers += 1;
        } else {
            assert_eq!(found[..3], fields[..]);
        }
    }
    assert!(n_outliers > 10 && n_outliers < 240, "{n_outliers}");
    let file = place.json("strict/clusters.json");
    assert_eq!(file["n_outliers"].as_u64(), Some(n_outliers));
    assert_eq!(file["min_similarity"].as_f64(), Some(0.3));
    let sizes: u64 = list(&file["clusters"]).iter().map(|cluster| cluster["size"].as_u64().unwrap()).sum();
    assert_eq!(sizes, 480 - n_outliers);
    assert!(list(&file["clusters"]).iter().all(|cluster| cluster["cohesion"].as_f64().unwrap() >= 0.3));
    let note = format!(
        "note: {n_outliers} documents are outliers: their similarity to every cluster is below 0.3 (-1)"
    );
    assert!(shown.contains(&note), "{shown}");
    assert!(place.read("strict/report.html").contains("\"minSimilarity\":0.3"));

    // As assign does.
    let assigned = place.ok("assign all docsphere-demo.jsonl --min-similarity 0.3 --quiet");
    let clusters = |table: &str| -> Vec<String> {
        table.lines().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(clusters(&assigned), clusters(&strict));
    assert_eq!(
        place.ok("verify strict docsphere-demo.jsonl"),
        "checked 480 documents against 20 centroids: 0 mismatches\n"
    );
    // Without the number, the same assignments are wrong; so are others with it.
    std::fs::copy(place.path("all/clusters.json"), place.path("strict/clusters.json")).unwrap();
    let done = place.run("verify strict docsphere-demo.jsonl");
    assert!(
        done.code == Some(1) && done.stdout.contains("has no cluster, but there is one"),
        "{}",
        done.stdout
    );
    place.write("all/clusters.json", file.to_string());
    let done = place.run("verify all docsphere-demo.jsonl");
    assert!(done.code == Some(1) && done.stdout.contains("but is an outlier: 0."), "{}", done.stdout);
}

#[test]
fn a_result_of_outliers_alone_is_written() {
    let place = Place::with_pets();
    let done = place.run("cluster pets.txt -k 2 -o out --min-similarity 0.99 --silhouette");
    let note = "docsphere: note: there are no silhouettes: fewer than two clusters have documents\n";
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), note));
    let shown = done.stdout;
    assert!(shown.contains("note: 4 documents are outliers: "), "{shown}");
    assert!(
        shown.contains("note: 2 clusters are empty: all of their documents are outliers, or "),
        "{shown}"
    );
    let file = place.json("out/clusters.json");
    assert_eq!((&file["n_outliers"], &file["silhouette"]), (&4.into(), &Value::Null));
    assert_eq!(place.ok("verify out pets.txt"), "checked 4 documents against 2 centroids: 0 mismatches\n");
    place.ok("inspect out");
    place.ok("report out");
}

#[test]
fn silhouettes_are_written_if_they_are_wanted() {
    let place = Place::with_pets();
    let shown = place.ok("cluster pets.txt -k 2 -o out --silhouette --init k-means++");
    let table = place.read("out/assignments.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("id,cluster,similarity,silhouette"));
    let values: Vec<f64> = lines.map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect();
    // Documents of different clusters share no term: b is 1. Those of one share one of theirs.
    assert_eq!(values.len(), 4);
    let mean = values.iter().sum::<f64>() / 4.0;
    let file = place.json("out/clusters.json");
    assert!((file["silhouette"].as_f64().unwrap() - mean).abs() < 1e-5, "{table}");
    let of_clusters: f64 = list(&file["clusters"]).iter().map(|c| c["silhouette"].as_f64().unwrap()).sum();
    assert!((of_clusters / 2.0 - mean).abs() < 1e-5 && mean > 0.0, "{of_clusters} {mean}");
    assert!(shown.contains(&format!("\nmean silhouette {mean:.3}, ")), "{shown}");
    assert!(place.ok("inspect out").contains("\nmean silhouette "));
    assert!(place.ok("inspect out --cluster 0").contains(", silhouette 0."));
    assert!(place.read("out/report.html").contains("\"silhouette\":0."));
    // Readers of assignments pass over the column.
    assert_eq!(place.ok("verify out pets.txt"), "checked 4 documents against 2 centroids: 0 mismatches\n");
    place.ok("merge out --groups 1");
    // Without the option there is nothing of it.
    place.ok("cluster pets.txt -k 2 -o plain");
    assert!(!place.read("plain/clusters.json").contains("silhouette"));
    let done = place.run("cluster pets.txt -k 1 -o one --silhouette");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("--silhouette compares clusters: give -k 2 or more"), "{}", done.stderr);
}
