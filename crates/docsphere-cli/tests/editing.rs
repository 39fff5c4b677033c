//! Edits by people: they apply to every file, survive other commands, and can be taken back.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::command::Place;

/// Three subjects with a category, some twice.
fn table() -> String {
    let mut table = "id,text,kind,day\n".to_owned();
    let subjects = [
        ["cats purr softly", "cats sleep all day", "cats hunt mice", "kittens and cats purr"],
        ["dogs bark loudly", "dogs run and bark", "dogs dig holes", "puppies and dogs bark"],
        ["stocks fall sharply", "stocks rise again", "bonds and stocks fall", "stocks and bonds rise"],
        ["rain falls softly", "rain and wind again", "wind and storm", "rain and storm all day"],
    ];
    for (number, texts) in subjects.iter().enumerate() {
        for (place, text) in texts.iter().enumerate() {
            table.push_str(&format!("{number}-{place},{text},k{number},2024-0{}-01\n", place + 1));
        }
    }
    table
}

fn place() -> Place {
    let place = Place::new();
    place.write("in.csv", table());
    place
}

/// Every file of a folder, with its content.
fn content(place: &Place, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in place.names(folder) {
        let path = format!("{folder}/{name}");
        if place.path(&path).is_dir() {
            all.extend(content(place, &path));
        } else {
            let bytes = fs::read(place.path(&path)).unwrap();
            all.insert(path, bytes);
        }
    }
    all
}

/// The cluster of a document, by the assignments as CSV.
fn cluster_of(place: &Place, out: &str, id: &str) -> i32 {
    let text = place.read(&format!("{out}/assignments.csv"));
    let line = text.lines().find(|line| line.starts_with(&format!("{id},"))).unwrap();
    line.split(',').nth(1).unwrap().parse().unwrap()
}

const RUN: &str = "cluster in.csv --keep kind,day -k 4 --runner-up --silhouette --index -q";

#[track_caller]
fn refused(place: &Place, words: &str, message: &str) {
    let before = content(place, ".");
    let done = place.run(words);
    assert_eq!(done.stderr, format!("docsphere: error: {message}\n"), "{words}");
    assert_ne!(done.code, Some(0));
    assert!(content(place, ".") == before, "{words}: something has changed");
}

#[test]
fn edits_apply_to_every_file_and_can_be_removed_to_the_byte() {
    for format in ["csv", "jsonl", "parquet"] {
        let place = place();
        place.ok(&format!("{RUN} --assignments {format} -o out"));
        place.ok("merge out --groups 2");
        let before = content(&place, "out");
        let clusters = place.json("out/clusters.json");
        let name = |cluster: usize| clusters["clusters"][cluster]["name"].as_str().unwrap().to_owned();
        place.ok("edit out rename 0 First");
        let entry = place.json("out/clusters.json")["clusters"][0].clone();
        assert_eq!((&entry["name"], entry["renamed"].as_str()), (&Value::from("First"), Some(&name(0)[..])));
        assert!(place.read("out/report.html").contains("\"First\""));
        assert_eq!(content(&place, "out")["out/model.docsphere"], before["out/model.docsphere"]);
        let shown = place.ok("edit out merge 0 1");
        assert!(shown.contains("edit 2: merge 0 1\ncluster 0: First, 8 documents\n"), "{shown}");
        let edited = place.json("out/clusters.json");
        assert_eq!((&edited["clusters"][1]["size"], &edited["n_empty_clusters"]), (&0.into(), &1.into()));
        assert!(edited.get("silhouette").is_none());
        let counts: u64 = place.json("out/columns.json")["columns"][0]["bins"]["clusters"][0]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell[1].as_u64().unwrap())
            .sum();
        assert_eq!(counts, 8);
        let groups = place.json("out/groups.json");
        assert_eq!(groups["group_of_cluster"][1], -1);
        assert_eq!(groups["merges"].as_array().unwrap().len(), 2);
        assert!(!place.read("out/groups.csv").lines().any(|line| line.split(',').nth(2) == Some("1")));
        place.ok("edit out outliers 2");
        place.ok("edit out hide 3");
        place.ok("edit out note 3 Later.");
        assert_eq!(place.json("out/clusters.json")["n_outliers"], 4);
        assert!(place.ok("inspect out").contains("1 cluster hidden"));
        assert!(place.ok("inspect out --cluster 3").contains("\nhidden\nnote: Later.\n"));
        let list = place.ok("edit out list");
        assert!(list.lines().count() == 5 && list.contains("  merge 0 1\n"), "{list}");
        // The report is that of the files.
        let report = place.read("out/report.html");
        place.ok("report out");
        assert_eq!(place.read("out/report.html"), report);
        let done = place.run("verify out in.csv");
        assert_eq!(
            done.stderr,
            "docsphere: note: the result has 5 edits; verified are the clusters of the run\n"
        );
        assert!(done.stdout.contains(": 0 mismatches"), "{}", done.stdout);
        place.ok("edit out undo");
        assert!(place.json("out/clusters.json")["clusters"][3].get("note").is_none());
        assert_eq!(place.ok("edit out remove 3"), "removed edit 3: outliers 2\n3 edits left\n");
        assert_eq!(place.json("out/clusters.json")["n_outliers"], 0);
        place.ok("edit out remove --all");
        assert!(content(&place, "out") == before, "{format}");
        assert_eq!(place.ok("edit out list"), "no edits\n");
    }
}

#[test]
fn lines_of_other_documents_stay_to_the_byte() {
    let place = place();
    place.ok(&format!("{RUN} -o out"));
    place.ok(&format!("{RUN} --assignments jsonl -o json"));
    for out in ["out/assignments.csv", "json/assignments.jsonl"] {
        let folder = out.split('/').next().unwrap();
        let before = place.read(out);
        place.ok(&format!("edit {folder} outliers 2"));
        let after = place.read(out);
        let changed = before.lines().zip(after.lines()).filter(|(a, b)| a != b).count();
        // Those whose runner-up the cluster was change, too.
        assert!((4..=16).contains(&changed), "{changed}");
        let json = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        if folder == "json" {
            for (a, b) in before.lines().map(json).zip(after.lines().map(json)) {
                assert_eq!((&a["id"], &a["kind"], &a["day"]), (&b["id"], &b["kind"], &b["day"]));
                match a["cluster"].as_i64() {
                    Some(2) => {
                        assert_eq!((&b["cluster"], &b["similarity"]), (&(-1).into(), &0.0.into()));
                        assert!(b["silhouette"].is_null());
                    }
                    _ => assert_eq!((&a["cluster"], &a["similarity"]), (&b["cluster"], &b["similarity"])),
                }
            }
        }
    }
}

#[test]
fn new_documents_get_the_clusters_after_edits() {
    let place = place();
    place.ok(&format!("{RUN} -o out"));
    let of = |id: &str| cluster_of(&place, "out", id);
    let (cats, dogs, stocks) = (of("0-0"), of("1-0"), of("2-0"));
    place.ok(&format!("edit out merge {cats} {dogs}"));
    place.ok(&format!("edit out outliers {stocks}"));
    place.write("new.csv", "id,text,kind,day\na,dogs bark,k1,\nb,stocks and bonds,k2,\nc,cats hunt,k0,\n");
    let lines = place.ok("assign out new.csv");
    let clusters: Vec<i32> =
        lines.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(clusters, [cats, -1, cats]);
    let found = place.ok("assign out new.csv --top 4 --as jsonl");
    let first: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    let nearest: Vec<i64> =
        first["nearest"].as_array().unwrap().iter().map(|near| near["cluster"].as_i64().unwrap()).collect();
    assert!(nearest[0] == i64::from(cats) && !nearest.contains(&i64::from(dogs)), "{nearest:?}");
    // Documents that join do so under the edits, which then still can be removed.
    let run = place.json("out/base/clusters.json")["n_documents"].clone();
    place.ok("add out new.csv -q");
    assert_eq!((of("a"), of("b"), of("1-1")), (cats, -1, cats));
    assert_eq!(place.json("out/base/clusters.json")["n_documents"].as_u64(), Some(run.as_u64().unwrap() + 3));
    place.ok("edit out remove --all");
    assert_eq!((of("a"), of("b")), (dogs, stocks));
    let done = place.run("verify out");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

#[test]
fn groups_and_the_index_are_made_anew_under_edits() {
    let place = place();
    place.ok(&format!("{RUN} -o out"));
    place.ok("edit out merge 0 1");
    place.ok("merge out --groups 2");
    assert_eq!(place.json("out/groups.json")["n_groups"], 2);
    let index = fs::read(place.path("out/documents.sqlite")).unwrap();
    place.ok("index out in.csv -q");
    place.ok("edit out rename 0 Pets");
    assert_eq!(place.json("out/groups.json")["n_groups"], 2);
    place.ok("edit out undo");
    place.ok("edit out undo");
    assert!(fs::read(place.path("out/documents.sqlite")).unwrap() != index);
    refused(
        &place,
        "merge out --groups 9",
        "--groups must be from 1 to 4, the number of clusters that are not empty, got 9",
    );
}

#[test]
fn what_cannot_be_edited_is_refused_and_nothing_changes() {
    let place = place();
    place.ok(&format!("{RUN} -o out"));
    let clusters = place.json("out/clusters.json");
    let name = clusters["clusters"][1]["name"].as_str().unwrap().to_owned();
    refused(&place, "edit out hide 4", "there is no cluster 4; they run from 0 to 3");
    refused(&place, "edit out merge 1 1", "a merge needs two or more different clusters");
    refused(&place, "edit out undo", "the result has no edits");
    refused(&place, "edit in.csv hide 1", "in.csv: is no result (there is no clusters.json)");
    let done: crate::command::Done =
        place.command(["edit", "out", "rename", "0", &name.to_uppercase()]).output().unwrap().into();
    assert_eq!(
        done.stderr,
        format!(
            "docsphere: error: cluster 1 is called \"{name}\"; names differ, so choose another, or merge the two\n"
        )
    );
    place.ok("edit out rename 0 Zero");
    place.ok("edit out merge 0 1");
    refused(&place, "edit out hide 1", "cluster 1 has no documents");
    refused(&place, "edit out rename 0 Zero", "cluster 0 is called \"Zero\" already");
    refused(&place, "edit out remove 7", "there is no edit 7; docsphere edit OUT list shows all");
    place.ok("edit out hide 0");
    place.ok("edit out note 0 x");
    // What a later edit needs stays.
    place.ok("edit out outliers 2");
    place.ok("edit out remove 2");
    place.ok("edit out outliers 1");
    place.ok("edit out outliers 3");
    refused(&place, "edit out outliers 0", "cluster 0 is the only one with documents");
    place.write("out/edits.json", "[{}]");
    let done = place.run("edit out list");
    assert!(done.stderr.starts_with("docsphere: error: out/edits.json: is not a list of edits: "));
}

#[test]
fn whenever_it_is_killed_the_result_is_whole() {
    let place = place();
    place.ok(&format!("{RUN} -o out"));
    place.ok("edit out rename 0 Zero");
    let before = content(&place, "out");
    place.ok("edit out merge 0 1");
    let after = content(&place, "out");
    place.ok("edit out undo");
    assert!(content(&place, "out") == before);
    let times_differ = |content: &BTreeMap<String, Vec<u8>>| {
        let mut content = content.clone();
        content.remove("out/edits.json");
        content
    };
    let points = place.fail_points("edit out merge 0 1");
    assert!(points.len() > 5, "{points:?}");
    place.ok("edit out undo");
    for point in points {
        place.crash("edit out merge 0 1", &point);
        let found = content(&place, "out");
        let is_new = times_differ(&found) == times_differ(&after);
        assert!(found == before || is_new, "{point}");
        if is_new {
            place.ok("edit out undo");
        }
    }
    place.ok("edit out note 0 x");
    place.ok("edit out undo");
    assert!(content(&place, "out") == before);
    assert_eq!(place.names(".").iter().filter(|name| name.starts_with('.')).count(), 0);
}

#[test]
fn a_cluster_is_split_into_parts_with_new_numbers() {
    let place = place();
    // Two clusters of two subjects each.
    place.ok("cluster in.csv --keep kind,day -k 2 --runner-up --index -o out -q");
    let before = content(&place, "out");
    let n_of = |entry: &Value| entry["size"].as_u64().unwrap();
    let clusters = place.json("out/clusters.json");
    let shown = place.ok("edit out split 0 --into 2");
    assert!(
        shown.starts_with("edit 1: split 0 --into 2\ncluster 0: ") && shown.contains("\ncluster 2: "),
        "{shown}"
    );
    let edited = place.json("out/clusters.json");
    let list = edited["clusters"].as_array().unwrap();
    assert_eq!((list.len(), edited["n_clusters"].as_u64()), (3, Some(3)));
    assert_eq!(n_of(&list[0]) + n_of(&list[2]), n_of(&clusters["clusters"][0]));
    assert!(n_of(&list[0]) >= n_of(&list[2]) && n_of(&list[2]) > 0);
    let names: Vec<&str> = list.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
    // All files agree on the sizes.
    let text = place.read("out/assignments.csv");
    for (number, entry) in list.iter().enumerate() {
        let of_lines =
            text.lines().skip(1).filter(|line| line.split(',').nth(1) == Some(&number.to_string())).count();
        assert_eq!(of_lines as u64, n_of(entry));
        let cells = &place.json("out/columns.json")["columns"][0]["bins"]["clusters"][number];
        let counted: u64 = cells.as_array().unwrap().iter().map(|cell| cell[1].as_u64().unwrap()).sum();
        assert_eq!(counted, n_of(entry), "cluster {number}");
    }
    let groups = place.json("out/groups.json");
    assert_eq!((&groups["n_clusters"], groups["merges"].as_array().unwrap().len()), (&3.into(), 2));
    assert_eq!(place.json("out/map.json")["places"].as_array().unwrap().len(), 3);
    let report = place.read("out/report.html");
    place.ok("report out");
    assert_eq!(place.read("out/report.html"), report);
    // A document that comes again gets the cluster that it has.
    place.write("again.csv", table());
    let assigned = place.ok("assign out again.csv");
    let line = |text: &str, id: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{id},"))).unwrap().to_owned();
        line.split(',').take(3).collect::<Vec<_>>().join(",")
    };
    for id in ["0-0", "1-1", "2-2", "3-3"] {
        assert_eq!(line(&assigned, id), line(&text, id));
    }
    // Edits of the parts; and the split in between stays as long as they need it.
    place.ok("edit out rename 2 Second");
    let inspected = place.ok("inspect out --cluster 2");
    assert!(inspected.contains("\nSecond\n"), "{inspected}");
    refused(
        &place,
        "edit out remove 1",
        "edit 2 (rename 2 \"Second\"): there is no cluster 2; they run from 0 to 1",
    );
    place.ok("edit out merge 2 0");
    assert_eq!(n_of(&place.json("out/clusters.json")["clusters"][2]), n_of(&clusters["clusters"][0]));
    place.ok("edit out remove --all");
    assert!(content(&place, "out") == before);
    refused(&place, "edit out split 0 --into 1", "a split needs two or more parts");
    refused(
        &place,
        "edit out split 0 --into 99",
        "cluster 0 has not enough different documents for 99 parts",
    );
    place.ok("cluster in.csv -k 2 -o lean --no-rows -q");
    let done = place.run("edit lean split 0 --into 2");
    assert!(done.stderr.contains("a split needs the rows of the documents"), "{}", done.stderr);
}
