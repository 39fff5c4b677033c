//! Results against each other, and against known labels.

use crate::command::Place;

/// Twelve texts on cats, dogs and boats, with a label that is wrong once and missing once.
const TEXTS: [(&str, &str); 12] = [
    ("cats purr softly and sleep", "animal"),
    ("cats sleep all day, cats purr", "animal"),
    ("a cat purrs: cats purr softly", "animal"),
    ("sleep, cats, sleep softly", "animal"),
    ("dogs bark loudly and run", "animal"),
    ("dogs run and dogs bark", "animal"),
    ("the dog barks: dogs bark loudly", "animal"),
    ("run, dogs, run loudly", "boat"),
    ("boats sail over stormy seas", "boat"),
    ("sail the seas in boats", "boat"),
    ("stormy seas, boats and sail", "boat"),
    ("a boat: boats sail stormy seas", ""),
];

fn place() -> Place {
    let place = Place::new();
    let mut table = String::from("id,text,kind\n");
    for (number, (text, kind)) in TEXTS.iter().enumerate() {
        table.push_str(&format!("d{number},\"{text}\",{kind}\n"));
    }
    place.write("texts.csv", &table);
    place.ok("cluster texts.csv -k 3 -o three --min-df 1");
    place.ok("cluster texts.csv -k 1 -o one --min-df 1");
    place
}

#[test]
fn scores_are_those_of_the_labels() {
    let place = place();
    let shown = place.ok("score three texts.csv --label-field kind");
    assert!(shown.starts_with("11 documents with a label in a cluster, 2 labels\n\nNMI       0."), "{shown}");
    let score: serde_json::Value =
        serde_json::from_str(&place.ok("score three texts.csv --label-field kind --json")).unwrap();
    // Cats 4 of 4, dogs 3 of 4, boats 3 of 3 with a label; of two labels, two clusters count.
    let share = |n: f64| (n / 11.0 * 1e6_f64).round() / 1e6;
    assert_eq!(score["purity"], share(10.0), "{score}");
    assert_eq!(score["accuracy"], share(7.0), "{score}");
    assert_eq!((score["n_labelled"].as_u64(), score["n_labels"].as_u64()), (Some(11), Some(2)));
    let purities: Vec<f64> = score["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cluster| cluster["purity"].as_f64().unwrap())
        .collect();
    assert_eq!(purities.iter().sum::<f64>(), 2.75, "{score}");
    let one: serde_json::Value =
        serde_json::from_str(&place.ok("score one texts.csv --label-field kind --json")).unwrap();
    assert_eq!((one["nmi"].as_f64(), one["ari"].as_f64()), (Some(0.0), Some(0.0)));
    assert_eq!(
        place.run("score three texts.csv --label-field sort").stderr,
        "docsphere: error: texts.csv:1: there is no field \"sort\"; the fields are id, text, kind; --label-field names the field to take\n"
    );
    // The input must be that of the result.
    place.write("less.csv", "id,text,kind\nd0,cats,animal\n");
    let done = place.run("score three less.csv --label-field kind");
    assert_eq!(
        done.stderr,
        "docsphere: error: the input has 1 document, but the result has 12; give the same input and input options as to cluster\n"
    );
}

#[test]
fn labels_that_a_result_keeps_need_no_input() {
    let place = place();
    for format in ["csv", "jsonl"] {
        place
            .ok(&format!("cluster texts.csv -k 3 -o {format} --min-df 1 --keep kind --assignments {format}"));
        let expected = place.ok("score three texts.csv --label-field kind");
        assert_eq!(place.ok(&format!("score {format} --label-field kind")), expected);
        assert_eq!(place.ok(&format!("score {format} --label-field Kind")), expected);
    }
    place.write("more.csv", "id,text,kind\nnew,cats purr,animal\n");
    place.ok("add csv more.csv -q");
    assert!(place.ok("score csv --label-field kind").starts_with("12 documents with a label in a cluster"));
    let done = place.run("score three --label-field kind");
    assert_eq!(
        (done.stderr.as_str(), done.code),
        ("docsphere: error: three: keeps no column \"kind\"; give the input of the run after it\n", Some(2))
    );
}

#[test]
fn splits_and_mergers_are_told() {
    let place = place();
    let shown = place.ok("compare one three");
    assert!(
        shown.starts_with(
            "first   one: 12 documents in 1 cluster\nsecond  three: 12 documents in 3 clusters\n12 documents are in both: NMI 0.000, ARI 0.000\n"
        ),
        "{shown}"
    );
    assert!(shown.contains("\nsplit: 1\n") && shown.contains("\nkept: 0\n"), "{shown}");
    assert_eq!(shown.matches("    ->").count(), 3, "{shown}");
    let turned = place.ok("compare three one");
    assert!(turned.contains("\nmerged: 1\n") && turned.contains("\nappeared: 0\n"), "{turned}");
    assert_eq!(turned.matches("    <-").count(), 3, "{turned}");
    let same = place.ok("compare three three");
    assert!(same.contains("NMI 1.000, ARI 1.000\n") && same.contains("\nkept: 3\n"), "{same}");
    assert!(same.lines().all(|line| line.chars().count() <= 80), "{same}");
}

#[test]
fn sizes_and_shares_are_of_all_documents_of_a_cluster() {
    let place = Place::new();
    let table = |documents: &[(&str, usize, &str)]| {
        let mut table = String::from("id,text\n");
        for &(prefix, count, text) in documents {
            (0..count)
                .for_each(|number| table.push_str(&format!("{prefix}{number},{text} {prefix}{number}\n")));
        }
        table
    };
    let (cats, dogs, boats) = ("cats purr softly", "dogs bark loudly", "boats sail far");
    // Of the boats, one stays; all others are new.
    place.write("march.csv", table(&[("a", 10, cats), ("b", 10, dogs), ("c", 10, boats)]));
    place.write("april.csv", table(&[("a", 10, cats), ("b", 10, dogs), ("c", 1, boats), ("d", 9, boats)]));
    for month in ["march", "april"] {
        place.ok(&format!("cluster {month}.csv -k 3 -o {month} --min-df 2"));
    }
    let shown = place.ok("compare march april -o flow.html");
    assert!(shown.contains("21 documents are in both"), "{shown}");
    for fate in ["kept: 2", "vanished: 1", "appeared: 1"] {
        assert!(shown.contains(&format!("\n{fate}\n")), "{fate}: {shown}");
    }
    assert!(place.read("flow.html").contains("<h2>Vanished: 1</h2>"));
    // Copies are documents.
    place.ok("cluster march.csv -k 3 -o once --min-df 2 --duplicates drop");
    let json: serde_json::Value = serde_json::from_str(&place.ok("compare once march --json")).unwrap();
    for side in ["first", "second"] {
        for cluster in json[side]["clusters"].as_array().unwrap() {
            assert_eq!(cluster["size"], 10, "{json}");
        }
    }
    assert_eq!(
        json["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| flow["n_documents"].as_u64().unwrap())
            .sum::<u64>(),
        30
    );
}

#[test]
fn other_documents_are_compared_by_centroids() {
    let place = place();
    place.write(
        "new.csv",
        "id,text\nn1,cats purr softly\nn2,cats sleep softly\nn3,kings rule lands\nn4,kings rule\n",
    );
    place.ok("cluster new.csv -k 2 -o new --min-df 1");
    let shown = place.ok("compare three new -o flow.html");
    assert!(shown.contains("clusters are matched by their centroids\n"), "{shown}");
    assert!(shown.contains("\nvanished: 2\n") && shown.contains("\nappeared: 1\n"), "{shown}");
    assert!(shown.contains("\nkept: 1\n") && shown.ends_with("\nwritten to flow.html\n"), "{shown}");
    let page = place.read("flow.html");
    assert!(page.contains("<svg class=\"flow\"") && page.contains("<h2>Vanished: 2</h2>"), "{page}");
    assert!(!page.contains("<script"));
    // A page is not written over, nor is a file of the results.
    let done = place.run("compare three new -o flow.html");
    assert_eq!(
        done.stderr,
        "docsphere: error: flow.html: is there already and is not replaced; choose another name, or give --force\n"
    );
    place.ok("compare three new -o flow.html --force");
    assert_eq!(place.run("compare three new -o three/clusters.json --force").code, Some(1));
    place.assert_complete("three");
    let done = place.run("compare three new --by documents");
    assert!(done.stderr.contains("no document that is in a cluster of both results"), "{}", done.stderr);
    let json: serde_json::Value = serde_json::from_str(&place.ok("compare three new --json")).unwrap();
    assert_eq!(json["by"], "centroids");
    assert_eq!(json["second"]["clusters"].as_array().unwrap().len(), 2);
}
