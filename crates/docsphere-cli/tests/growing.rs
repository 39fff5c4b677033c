//! Documents that are added to a result and removed from it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use docsphere::{FitOptions, Labels, Model, SphericalKMeans, UnitRows};
use serde_json::{Value, json};

use crate::command::{Done, Place, generated_corpus};

/// The texts of some documents.
fn texts(n: usize) -> Vec<String> {
    generated_corpus(n).lines().map(str::to_owned).collect()
}

/// Documents with ids and a field beside the text, as JSON Lines.
fn records(texts: &[String], from: usize, to: usize) -> String {
    let record = |(number, text): (usize, &String)| {
        let day = format!("2024-{:02}-{:02}", number % 12 + 1, number % 28 + 1);
        format!(
            "{}\n",
            json!({"id": format!("d{number}"), "text": text, "day": day, "kind": (if number % 2 == 0 { "a" } else { "b" })})
        )
    };
    texts.iter().enumerate().skip(from).take(to - from).map(record).collect()
}

/// A place with `base.jsonl` (the first documents), and all texts.
fn place_with_base(n: usize, n_base: usize) -> (Place, Vec<String>) {
    let (place, texts) = (Place::new(), texts(n));
    place.write("base.jsonl", records(&texts, 0, n_base));
    (place, texts)
}

/// Every file of a result but those with times in them, by name.
fn contents(place: &Place, out: &str) -> Vec<(String, Vec<u8>)> {
    let is_timed = |name: &String| name == "trace.json" || name.ends_with("sqlite");
    // Blocks of a store depend on how often it was written.
    let is_store =
        |name: &String| ["rows.docsphere", "texts.docsphere", "columns.docsphere"].contains(&&name[..]);
    let names = place.names(out).into_iter().filter(|name| !is_timed(name) && !is_store(name));
    names.map(|name| (name.clone(), fs::read(place.path(&format!("{out}/{name}"))).unwrap())).collect()
}

/// Whether two results are the same, except for the course of the run.
#[track_caller]
fn assert_same(place: &Place, a: &str, b: &str) {
    // The curves of the report have the documents that moved in each iteration.
    let of = |out: &str| {
        contents(place, out).into_iter().filter(|file| file.0 != "report.html").collect::<Vec<_>>()
    };
    let (a_files, b_files) = (of(a), of(b));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&a_files), names(&b_files));
    for (a_file, b_file) in a_files.iter().zip(&b_files) {
        assert!(a_file == b_file, "{} of {a} and {b}", a_file.0);
    }
}

fn copy(place: &Place, from: &str, to: &str) {
    fs::create_dir(place.path(to)).unwrap();
    for name in place.names(from) {
        fs::copy(place.path(&format!("{from}/{name}")), place.path(&format!("{to}/{name}"))).unwrap();
    }
}

fn changes(place: &Place, out: &str) -> Vec<Value> {
    place.json(&format!("{out}/trace.json"))["changes"].as_array().cloned().unwrap_or_default()
}

/// Clusters and similarities of all documents, as they are written.
fn lines(place: &Place, out: &str) -> Vec<String> {
    place.read(&format!("{out}/assignments.csv")).lines().skip(1).map(str::to_owned).collect()
}

/// What the library gives for the documents of `texts` and the clusters that `out` had.
fn warm_start(
    place: &Place,
    out: &str,
    added: &[String],
    stays: impl Fn(usize) -> bool,
) -> (Vec<String>, Vec<u8>) {
    let model = Model::load(place.path(&format!("{out}/model.docsphere"))).unwrap();
    let rows = UnitRows::load(place.path(&format!("{out}/rows.docsphere"))).unwrap();
    let limit = docsphere::MemoryLimit::default();
    let new = model.text().unwrap().transform(added).unwrap().rows;
    let known = place.assignments(out);
    let labels: Vec<i32> = (0..known.len()).filter(|&n| stays(n)).map(|n| known[n].1).collect();
    let labels: Vec<i32> = labels.into_iter().chain(vec![-1; added.len()]).collect();
    let rows = rows.filtered(stays, &limit).unwrap().joined(&new, &limit).unwrap();
    let k = model.centroids().n_clusters();
    let options = FitOptions::default().continue_from(model.centroids().clone(), Labels::from(labels));
    let fit = SphericalKMeans::params(k).fit_with(&rows, options).unwrap();
    let line = |(label, similarity): (&i32, &f64)| format!("{label},{similarity:.6}");
    let lines = fit.labels.as_slice().iter().zip(&fit.similarities).map(line).collect();
    let bytes = fit.model.with_text(model.text().unwrap().clone()).unwrap().to_bytes();
    (lines, bytes)
}

#[test]
fn documents_added_in_any_slices_are_one_warm_start_of_the_library_to_the_bit() {
    let (place, texts) = place_with_base(1_500, 1_000);
    place.write("new.jsonl", records(&texts, 1_000, 1_500));
    place.ok("cluster base.jsonl -k 25 -o base -q");
    let (expected, model) = warm_start(&place, "base", &texts[1_000..], |_| true);
    copy(&place, "base", "whole");
    let shown = place.ok("add whole new.jsonl");
    assert!(
        shown.starts_with("500 documents added\n1,500 documents, 25 clusters\nconverged after "),
        "{shown}"
    );
    place.assert_complete("whole");
    let found: Vec<String> =
        lines(&place, "whole").iter().map(|line| line.split_once(',').unwrap().1.to_owned()).collect();
    assert_eq!(found, expected);
    assert!(fs::read(place.path("whole/model.docsphere")).unwrap() == model, "the model");
    assert_ne!(lines(&place, "whole")[..1_000], lines(&place, "base")[..], "otherwise nothing would be seen");
    assert_eq!(
        place.ok("verify whole base.jsonl new.jsonl"),
        "checked 1,500 documents against 25 centroids: 0 mismatches\n"
    );
    assert_eq!(place.ok("verify whole"), "checked 1,500 documents against 25 centroids: 0 mismatches\n");
    // Slices that are assigned, and a last one after which the run goes on.
    for (number, cuts) in [vec![1_200], vec![1_001, 1_003, 1_400], vec![1_499]].iter().enumerate() {
        let out = format!("slices{number}");
        copy(&place, "base", &out);
        let ends: Vec<usize> = cuts.iter().copied().chain([1_500]).collect();
        let mut from = 1_000;
        for &to in &ends {
            place.write("slice.jsonl", records(&texts, from, to));
            let freeze = if to < 1_500 { "--freeze" } else { "" };
            place.ok(&format!("add {out} slice.jsonl {freeze} --threads {} -q", number + 1));
            if to < 1_500 {
                let model = |out: &str| fs::read(place.path(&format!("{out}/model.docsphere"))).unwrap();
                assert!(model(&out) == model("base"), "the centroids stay");
            }
            from = to;
        }
        assert_same(&place, "whole", &out);
        assert_eq!(changes(&place, &out).len(), ends.len());
    }
    let change = &changes(&place, "whole")[0];
    assert_eq!(
        (&change["added"], &change["removed"], &change["n_documents"]),
        (&json!(500), &json!(0), &json!(1_500))
    );
    assert!(change["time"].as_str().unwrap().starts_with("20"), "{change}");
    assert!(change["iterations"].as_u64().unwrap() > 0 && change["frozen"] == false);
}

#[test]
fn new_documents_are_in_every_file_of_the_result() {
    let (place, texts) = place_with_base(700, 500);
    place.write("new.jsonl", records(&texts, 500, 700));
    let options = "--keep kind --date-field day --runner-up --silhouette --min-similarity 0.15 --keywords 6 --assignments jsonl";
    place.ok(&format!("cluster base.jsonl -k 12 -o out --index -q {options}"));
    place.ok("merge out --groups 4");
    place.write("out/notes.txt", "mine");
    place.write("out/mine/more.txt", "mine, too");
    place.ok("add out new.jsonl -q");
    let names = place.names("out");
    for name in ["columns.docsphere", "columns.json", "documents.sqlite", "groups.csv", "mine", "notes.txt"] {
        assert!(names.contains(&name.to_owned()), "{name} is missing in {names:?}");
    }
    assert_eq!(
        (place.read("out/notes.txt").as_str(), place.read("out/mine/more.txt").as_str()),
        ("mine", "mine, too")
    );
    let text = place.read("out/assignments.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 700);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["id"], format!("d{number}"));
        assert_eq!(line["kind"], ["a", "b"][number % 2]);
        assert_eq!(line["day"], format!("2024-{:02}-{:02}", number % 12 + 1, number % 28 + 1));
        assert!(line["runner_up"].is_i64() && line.get("silhouette").is_some(), "{line}");
        assert!(line["cluster"] == -1 || line["similarity"].as_f64().unwrap() >= 0.15);
    }
    let clusters = place.json("out/clusters.json");
    assert_eq!((&clusters["n_documents"], &clusters["min_similarity"]), (&json!(700), &json!(0.15)));
    assert!(clusters["clusters"][0]["keywords"].as_array().unwrap().len() <= 6);
    let columns = place.json("out/columns.json");
    let kinds = &columns["columns"][0];
    assert_eq!(
        (&kinds["name"], &kinds["n_values"], &kinds["bins"]["counts"]),
        (&json!("kind"), &json!(700), &json!([350, 350]))
    );
    assert_eq!(columns["columns"][1]["kind"], "date");
    assert_eq!(place.json("out/groups.json")["n_groups"], 4);
    assert_eq!(place.read("out/groups.csv").lines().count(), 701);
    // The index is of all documents: it can be written again from the input.
    place.ok("index out base.jsonl new.jsonl -q");
    place.ok("report out");
    // A run that had the same documents from the start keeps the same columns.
    place.write("all.jsonl", records(&texts, 0, 700));
    place.ok(&format!("cluster all.jsonl -k 12 -o all -q {options}"));
    let fields = |out: &str| -> Vec<Value> {
        let file = place.json(&format!("{out}/columns.json"));
        let of = |column: &Value| {
            json!([column["name"], column["kind"], column["n_values"], column["bins"]["counts"]])
        };
        file["columns"].as_array().unwrap().iter().map(of).collect()
    };
    assert_eq!(fields("out"), fields("all"));
}

#[test]
fn known_ids_are_refused_skipped_or_replaced() {
    let (place, texts) = place_with_base(320, 300);
    place.write("new.jsonl", records(&texts, 290, 320));
    place.ok("cluster base.jsonl -k 6 -o out -q");
    let before = contents(&place, "out");
    let done = place.run("add out new.jsonl");
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "docsphere: error: out: has \"d290\" and 9 ids more of these 30 documents already; --skip-known leaves them out, --replace puts the new ones in their place\n"
    );
    assert!(contents(&place, "out") == before, "nothing changed");
    assert_eq!(place.names("."), ["base.jsonl", "new.jsonl", "out"]);
    copy(&place, "out", "skipped");
    let shown = place.ok("add skipped new.jsonl --skip-known");
    assert!(shown.starts_with("20 documents added\n320 documents, 6 clusters\n"), "{shown}");
    assert!(shown.contains("note: 10 documents are in the result already and were left out\n"), "{shown}");
    let ids = |out: &str| place.assignments(out).into_iter().map(|line| line.0).collect::<Vec<_>>();
    assert_eq!(ids("skipped"), (0..320).map(|n| format!("d{n}")).collect::<Vec<_>>());
    let shown = place.run("add skipped new.jsonl --skip-known");
    assert_eq!(
        (shown.code, shown.stderr.as_str()),
        (Some(0), "docsphere: skipped: nothing changes: the result has all of these documents already\n")
    );
    // New texts for known ids: those documents go to the end.
    let mut changed = texts.clone();
    changed[..300].reverse();
    place.write("new.jsonl", records(&changed, 290, 320));
    let shown = place.ok("add out new.jsonl --replace");
    assert!(
        shown.starts_with("30 documents added\n10 documents removed\n320 documents, 6 clusters\n"),
        "{shown}"
    );
    assert_eq!(ids("out"), (0..320).map(|n| format!("d{n}")).collect::<Vec<_>>());
    let mut all = records(&texts, 0, 290);
    all.push_str(&records(&changed, 290, 320));
    place.write("all.jsonl", all);
    assert_eq!(place.ok("verify out all.jsonl"), "checked 320 documents against 6 centroids: 0 mismatches\n");
    place.write("empty.jsonl", "");
    let done = place.run("add out empty.jsonl");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (Some(0), "docsphere: out: nothing changes: the input has no documents\n")
    );
}

#[test]
fn input_options_are_those_of_the_run_unless_they_are_given() {
    let place = Place::new();
    let table = |from: usize, to: usize, header: &str| {
        let texts = texts(200);
        let rows = (from..to).map(|n| format!("k{n};{};word{n}\n", texts[n].trim())).collect::<String>();
        format!("{header}\n{rows}")
    };
    place.write("base.csv", table(0, 150, "key;body;rest"));
    place.write("new.csv", table(150, 180, "key;body;rest"));
    place.write("other.csv", table(180, 200, "number;content;rest"));
    place.ok("cluster base.csv -k 5 -o out -q --text-field body --id-field key --delimiter ;");
    place.ok("add out new.csv -q");
    let done = place.run("add out other.csv");
    assert!(done.stderr.contains("there is no field \"key\""), "{}", done.stderr);
    place.ok("add out other.csv -q --text-field content --id-field number");
    let ids: Vec<String> = place.assignments("out").into_iter().map(|line| line.0).collect();
    assert_eq!(ids, (0..200).map(|n| format!("k{n}")).collect::<Vec<_>>());
    // Lines have no ids: new ones are named after their file.
    place.write("base.txt", generated_corpus(50));
    place.write("may.txt", "w1 w2 w3\nw1001 w1002\n");
    place.ok("cluster base.txt -k 3 -o lines -q");
    place.ok("add lines may.txt -q");
    let ids: Vec<String> = place.assignments("lines").into_iter().map(|line| line.0).collect();
    assert_eq!(ids[49..], ["50", "may.txt:1", "may.txt:2"]);
}

#[test]
fn passages_and_copies_are_those_of_one_run_over_all_documents() {
    let place = Place::new();
    let texts = texts(160);
    let record = |n: usize, text: &str| format!("{}\n", json!({"id": format!("d{n}"), "text": text}));
    let long = |n: usize| record(n, &format!("{}\n\n{}", texts[2 * n], texts[2 * n + 1]));
    place.write("base.jsonl", (0..50).map(long).collect::<String>());
    place.write("new.jsonl", (50..80).map(long).collect::<String>());
    place.ok("cluster base.jsonl -k 4 -o split -q --split words:25");
    place.ok("add split new.jsonl -q");
    let passages = place.json("split/clusters.json")["passages"].clone();
    assert_eq!(passages["n_documents"], 80);
    assert_eq!(place.read("split/documents.csv").lines().count(), 81);
    place.write("ids", "d3\nd79\n");
    let shown = place.ok("remove split --ids ids");
    assert!(shown.contains(" passages removed\n"), "{shown}");
    assert_eq!(place.json("split/clusters.json")["passages"]["n_documents"], 78);
    let ids = place.read("split/documents.csv");
    assert!(!ids.contains("\nd3,") && !ids.contains("\nd79,") && ids.contains("\nd4,"));
    let done = place.run("add split new.jsonl --split paragraphs --replace");
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    // Copies: of documents of the result, and among the new ones.
    place.write("base.jsonl", (0..60).map(|n| record(n, &texts[n % 50])).collect::<String>());
    place.write("new.jsonl", (60..90).map(|n| record(n, &texts[n - 20])).collect::<String>());
    for way in ["drop", "weight"] {
        let out = format!("copies-{way}");
        place.ok(&format!("cluster base.jsonl -k 4 -o {out} -q --duplicates {way} --duplicate-similarity 1"));
        place.ok(&format!("add {out} new.jsonl -q"));
        let found = place.json(&format!("{out}/clusters.json"));
        // Documents 50 to 59 are copies of the first ten; 60 to 69 of 40 to 49.
        assert_eq!((&found["duplicates"]["n_copies"], &found["n_documents"]), (&json!(20), &json!(70)));
        let text = place.read(&format!("{out}/assignments.csv"));
        assert!(text.contains("\nd61,") && text.lines().nth(62).unwrap().ends_with(",d41"), "{text}");
        assert!(place.ok(&format!("verify {out} base.jsonl new.jsonl")).ends_with(": 0 mismatches\n"));
        // The original goes: its copy takes its place.
        place.write("ids", "d41\n");
        place.ok(&format!("remove {out} --ids ids -q"));
        let text = place.read(&format!("{out}/assignments.csv"));
        assert!(text.lines().find(|line| line.starts_with("d61,")).unwrap().ends_with(','), "{text}");
    }
}

#[test]
fn removed_documents_leave_a_warm_start_over_the_others() {
    let (place, texts) = place_with_base(800, 800);
    place.ok("cluster base.jsonl -k 15 -o base --index -q");
    let gone: HashSet<usize> = (0..800).filter(|n| n % 7 == 3).collect();
    let list: String = gone.iter().map(|n| format!("d{n}\n")).collect();
    place.write("ids.txt", format!("{list}\nnobody\nd9999\n"));
    let (expected, model) = warm_start(&place, "base", &[], |n| !gone.contains(&n));
    copy(&place, "base", "out");
    let done = place.run("remove out --ids ids.txt");
    assert_eq!(done.code, Some(0));
    assert_eq!(done.stderr, "docsphere: note: 2 ids are not in the result: \"d9999\", \"nobody\"\n");
    let n_gone = gone.len();
    assert!(
        done.stdout
            .starts_with(&format!("{n_gone} documents removed\n{} documents, 15 clusters\n", 800 - n_gone)),
        "{}",
        done.stdout
    );
    let found: Vec<String> =
        lines(&place, "out").iter().map(|line| line.split_once(',').unwrap().1.to_owned()).collect();
    assert_eq!(found, expected);
    assert!(fs::read(place.path("out/model.docsphere")).unwrap() == model, "the model");
    let left: String = (0..800).filter(|n| !gone.contains(n)).map(|n| records(&texts, n, n + 1)).collect();
    place.write("left.jsonl", left);
    place.ok("verify out left.jsonl");
    place.ok("index out left.jsonl -q");
    // With the centroids as they are, and back again.
    copy(&place, "base", "frozen");
    place.ok("remove frozen --ids ids.txt --freeze -q");
    let of_base: Vec<String> = lines(&place, "base")
        .into_iter()
        .enumerate()
        .filter(|(n, _)| !gone.contains(n))
        .map(|(_, line)| line)
        .collect();
    assert_eq!(lines(&place, "frozen"), of_base);
    let before = contents(&place, "frozen");
    place.write("none.txt", "nobody\n");
    let done = place.run("remove frozen --ids none.txt");
    assert_eq!(done.code, Some(0));
    assert!(
        done.stderr.ends_with("docsphere: frozen: nothing changes: it has none of the 1 id of none.txt\n"),
        "{}",
        done.stderr
    );
    assert!(contents(&place, "frozen") == before);
    place.write("all.txt", (0..800).map(|n| format!("d{n}\n")).collect::<String>());
    let done = place.run("remove frozen --ids all.txt -q");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: frozen: all of its documents would be removed; delete the folder instead\n"
        )
    );
    assert!(contents(&place, "frozen") == before);
}

#[test]
fn documents_on_a_new_subject_get_clusters_of_their_own() {
    let (place, texts) = place_with_base(600, 600);
    // A subject of which each word is in one other document, so that it is known.
    let words = |n: usize| format!("zebra{} stripe{} savanna{} zebra", n % 3, n % 4, n % 5);
    let subject = |n: usize| format!("{}\n", json!({"id": format!("s{n}"), "text": words(n)}));
    let mut mixed = texts.clone();
    let known = (0..60).flat_map(|n| words(n).split(' ').map(str::to_owned).collect::<Vec<_>>());
    let known: std::collections::BTreeSet<String> = known.collect();
    known.iter().enumerate().for_each(|(n, word)| mixed[40 * n].push_str(word));
    place.write("base.jsonl", records(&mixed, 0, 600));
    place.ok("cluster base.jsonl -k 12 -o base -q --min-df 1");
    place.write("new.jsonl", (0..160).map(subject).collect::<String>());
    for (number, n_new) in [("auto", None), ("2", Some(2))] {
        let out = format!("out-{number}");
        copy(&place, "base", &out);
        let shown = place.ok(&format!("add {out} new.jsonl --new-clusters {number}"));
        assert!(shown.contains(" of them new\n"), "{shown}");
        let k = place.json(&format!("{out}/clusters.json"))["n_clusters"].as_u64().unwrap();
        let opened = changes(&place, &out)[0]["opened_clusters"].as_u64().unwrap();
        assert_eq!(k, 12 + opened);
        assert!(n_new.map_or((2..=4).contains(&opened), |n| opened == n), "{opened}");
        let found = place.assignments(&out);
        let inside = found[600..].iter().filter(|line| line.1 >= 12).count();
        assert!(inside > 140, "{inside}");
        let others = found[..600].iter().filter(|line| line.1 >= 12).count();
        assert!(others < 20, "{others}");
    }
    copy(&place, "base", "plain");
    place.ok("add plain new.jsonl -q");
    assert_eq!(place.json("plain/clusters.json")["n_clusters"], 12);
    let done = place.run("add plain new.jsonl --new-clusters some");
    assert_eq!(done.code, Some(2));
}

#[test]
fn a_matrix_grows_by_rows_that_are_numbered_on() {
    let place = Place::new();
    let matrix = |rows: std::ops::Range<usize>| -> String {
        let line = |n: usize| format!("{} {}:1 {}:2\n", n, n % 4 * 10 + 1, n % 4 * 10 + 2 + n % 3);
        rows.map(line).collect()
    };
    // The first row has the last column, so that both files have as many.
    place.write("base.svmlight", format!("0 40:1 1:3\n{}", matrix(1..60)));
    place.write("new.svmlight", matrix(60..70));
    place.ok("cluster base.svmlight -k 4 -o out -q");
    assert!(!place.names("out").contains(&"texts.docsphere".to_owned()));
    place.ok("add out new.svmlight -q");
    let ids: Vec<String> = place.assignments("out").into_iter().map(|line| line.0).collect();
    assert_eq!(ids, (1..=70).map(|n| n.to_string()).collect::<Vec<_>>());
    place.write("ids", "7\n70\n");
    place.ok("remove out --ids ids -q");
    assert_eq!(place.assignments("out").len(), 68);
    place.write("texts.txt", "a b\n");
    let done = place.run("add out texts.txt");
    assert!(
        done.stderr.contains("out: is the result of a matrix and does not know how to read text"),
        "{}",
        done.stderr
    );
}

#[test]
fn results_without_rows_say_what_to_do() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --no-rows -q");
    assert!(!place.names("out").iter().any(|name| name == "rows.docsphere" || name == "texts.docsphere"));
    place.write("ids", "1\n");
    for words in ["add out pets.txt", "remove out --ids ids"] {
        let done = place.run(words);
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.starts_with("docsphere: error: out: has no rows of its documents (rows.docsphere)"),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains("cluster again"), "{}", done.stderr);
    }
    assert_eq!(place.run("add nothing pets.txt").code, Some(1));
    // Damage is told with the name of the file.
    place.ok("cluster pets.txt -k 2 -o out --force -q");
    for name in ["rows.docsphere", "texts.docsphere"] {
        let path = place.path(&format!("out/{name}"));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let done = place.run("remove out --ids ids");
        assert!(done.stderr.starts_with(&format!("docsphere: error: out/{name}: ")), "{}", done.stderr);
        fs::write(&path, whole).unwrap();
    }
    place.ok("remove out --ids ids -q");
}

/// What is left beside the results.
fn left_behind(place: &Place) -> Vec<String> {
    place.names(".").into_iter().filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_crash_anywhere_leaves_the_old_result_or_the_new_one_whole() {
    let (place, texts) = place_with_base(260, 200);
    place.write("new.jsonl", records(&texts, 200, 260));
    place.write("ids", "d3\nd4\n");
    let run = "cluster base.jsonl -k 5 --index --keep kind -q -o";
    place.ok(&format!("{run} before"));
    for words in ["add OUT new.jsonl -q", "remove OUT --ids ids -q"] {
        let words = |out: &str| words.replace("OUT", out);
        let name = words("x").split(' ').next().unwrap().to_owned();
        let after = format!("after-{name}");
        copy(&place, "before", &after);
        let points = place.fail_points(&words(&after));
        fs::remove_file(place.path("fail-points")).unwrap();
        for wanted in [
            "texts written",
            "rows written",
            "loop ended",
            "files written",
            "files of others carried",
            "result in place",
        ] {
            assert!(points.contains(&format!("{wanted}:1")), "{wanted} is missing in {points:?}");
        }
        let (mut n_old, mut n_new) = (0, 0);
        for point in &points {
            copy(&place, "before", "out");
            place.write("out/notes.txt", "mine");
            place.crash(&words("out"), point);
            assert_eq!(place.read("out/notes.txt"), "mine", "{point}");
            fs::remove_file(place.path("out/notes.txt")).unwrap();
            let is_new = place.path("out/trace.json").exists() && changes(&place, "out").len() == 1;
            assert_same(&place, "out", if is_new { &after } else { "before" });
            (n_old, n_new) = (n_old + usize::from(!is_new), n_new + usize::from(is_new));
            // The result can still be changed, and leftovers are cleared away or told of.
            let done = place.run("inspect out --cluster 0");
            assert_eq!(done.code, Some(0), "{point}");
            fs::remove_dir_all(place.path("out")).unwrap();
            for left in left_behind(&place) {
                assert!(left.starts_with(".out.partial-"), "{left}");
                fs::remove_dir_all(place.path(&left)).unwrap();
            }
        }
        assert!(n_old > 10 && n_new == 2, "{n_old} old, {n_new} new of {points:?}");
    }
    // The next change clears up after a crash.
    copy(&place, "before", "out");
    place.crash("add out new.jsonl -q", "loop ended:1");
    assert_eq!(left_behind(&place).len(), 1);
    place.ok("add out new.jsonl -q");
    assert!(left_behind(&place).is_empty());
    assert_same(&place, "out", "after-add");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_result() {
    if !Path::new("/bin/bash").exists() {
        eprintln!("SKIPPED: there is no /bin/bash to limit the size of files with");
        return;
    }
    let (place, texts) = place_with_base(3_000, 2_500);
    place.write("new.jsonl", records(&texts, 2_500, 3_000));
    place.write("ids", "d3\nd4\n");
    place.ok("cluster base.jsonl -k 20 -o out -q");
    let before = contents(&place, "out");
    let sizes: Vec<u64> = ["rows.docsphere", "assignments.csv", "report.html"]
        .iter()
        .map(|name| fs::metadata(place.path(&format!("out/{name}"))).unwrap().len() / 1_024)
        .collect();
    for words in ["add out new.jsonl", "remove out --ids ids", "edit out merge 0 1"] {
        let limits = [1, 20, sizes[1] / 2, sizes[0] / 2];
        // An edit does not write the rows again.
        for &limit in &limits[..if words.starts_with("edit") { 3 } else { 4 }] {
            // No file may have more blocks of 1,024 bytes.
            let script =
                format!("trap '' XFSZ; ulimit -f {limit}; exec {} {words}", env!("CARGO_BIN_EXE_docsphere"));
            let mut command = Command::new("/bin/bash");
            command.args(["-c", &script]).current_dir(place.path(".")).stdin(Stdio::null());
            let done = Done::from(command.output().unwrap());
            assert_eq!(done.code, Some(1), "{words}, {limit}: {}", done.stdout);
            assert!(done.stderr.contains("File too large"), "{words}, {limit}: {}", done.stderr);
            assert!(contents(&place, "out") == before, "{words}, {limit}");
            assert!(left_behind(&place).is_empty(), "{words}, {limit}");
        }
    }
    place.ok("remove out --ids ids -q");
}

#[test]
fn of_two_changes_at_once_one_wins_and_none_is_lost() {
    let (place, texts) = place_with_base(3_300, 3_000);
    place.ok("cluster base.jsonl -k 30 -o out -q");
    for number in 0..3 {
        place.write(
            &format!("new{number}.jsonl"),
            records(&texts, 3_000 + 100 * number, 3_100 + 100 * number),
        );
    }
    let children: Vec<_> =
        (0..3).map(|number| place.spawn(&format!("add out new{number}.jsonl -q"))).collect();
    let done: Vec<Done> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
    let n_ok = done.iter().filter(|done| done.code == Some(0)).count();
    assert!(n_ok >= 1, "{}", done[0].stderr);
    for done in done.iter().filter(|done| done.code != Some(0)) {
        assert!(
            done.stderr.contains("another process is changing this result")
                || done.stderr.contains("another process has replaced the result meanwhile"),
            "{}",
            done.stderr
        );
    }
    assert_eq!(place.assignments("out").len(), 3_000 + 100 * n_ok);
    assert_eq!(changes(&place, "out").len(), n_ok);
    place.assert_complete("out");
}

#[test]
fn a_cluster_is_clustered_by_itself_from_the_texts_of_the_result() {
    let (place, texts) = place_with_base(600, 600);
    let body = |n: usize| {
        format!(
            "{}\n",
            json!({"key": format!("d{n}"), "body": format!("<b>{}</b>", texts[n]), "text": n, "kind": (["a", "b"][n % 2])})
        )
    };
    place.write("base.jsonl", (0..600).map(body).collect::<String>());
    let options = "--text-field body --id-field key --html strip --keep text,kind --min-df 3 -q";
    place.ok(&format!("cluster base.jsonl -k 4 -o out {options}"));
    let inside: Vec<String> =
        place.assignments_with("out").into_iter().filter(|line| line.1 == "2").map(|line| line.0).collect();
    assert!(inside.len() > 20);
    place.ok("cluster --within out --cluster 2 -k 3 -o sub -q");
    let lines: Vec<(String, String)> = place.assignments_with("sub");
    assert_eq!(lines.iter().map(|line| line.0.clone()).collect::<Vec<_>>(), inside);
    // The same documents by themselves give the same clusters.
    let alone: String = inside.iter().map(|id| body(id[1..].parse().unwrap())).collect();
    place.write("alone.jsonl", alone);
    place.ok(&format!("cluster alone.jsonl -k 3 -o alone {options}"));
    for name in ["assignments.csv", "clusters.json", "model.docsphere"] {
        let of = |out: &str| fs::read(place.path(&format!("{out}/{name}"))).unwrap();
        assert!(of("sub") == of("alone"), "{name}");
    }
    assert_eq!(place.names("sub"), place.names("alone"));
    // Options that are given win; the result can grow in its turn.
    place.ok("cluster --within out --cluster 2 -k 3 -o other --min-df 1 -q");
    assert_ne!(place.json("other/clusters.json")["n_terms"], place.json("sub/clusters.json")["n_terms"]);
    place.write("more.jsonl", body(700 - 150).replace("d550", "new"));
    place.ok("add sub more.jsonl -q");
    assert_eq!(place.assignments_with("sub").len(), inside.len() + 1);
    for (words, message) in [
        (
            "cluster --within out --cluster 4 -o x",
            "--cluster must be at most 3, the last cluster of out, got 4",
        ),
        ("cluster --within out --cluster 2 -o out --force", "lies there"),
        ("cluster --within none --cluster 2 -o x", "none/clusters.json"),
    ] {
        let done = place.run(words);
        assert_eq!(done.code, Some(1), "{words}");
        assert!(done.stderr.contains(message), "{words}: {}", done.stderr);
    }
    for words in [
        "cluster --within out -o x",
        "cluster base.jsonl --cluster 2",
        "cluster base.jsonl --within out --cluster 2",
        "cluster",
    ] {
        assert_eq!(place.run(words).code, Some(2), "{words}");
    }
}

/// Makes edits on a result, as `docsphere edit` does.
fn edit(place: &Place, out: &str, edits: &Value) {
    use docsphere_result::edits::{Edits, derive};
    use docsphere_result::{PageLimits, names};
    let out = place.path(out);
    fs::create_dir(out.join(names::BASE)).unwrap();
    for name in names::EDITED.iter().filter(|name| out.join(name).exists()) {
        fs::rename(out.join(name), out.join(names::BASE).join(name)).unwrap();
    }
    let edits: Edits = serde_json::from_value(edits.clone()).unwrap();
    let limits = PageLimits { max_chars: 400, max_bytes: 10_000_000 };
    derive(&out, &edits, limits, &docsphere::MemoryLimit::default()).unwrap();
}

#[test]
fn edits_stay_and_the_run_goes_on_without_them() {
    let (place, texts) = place_with_base(500, 400);
    place.write("new.jsonl", records(&texts, 400, 500));
    place.write("ids", "d3\nd4\n");
    place.ok("cluster base.jsonl -k 9 -o plain --index -q");
    copy(&place, "plain", "edited");
    let edits = json!([
        {"id": 1, "time": "2026-01-01T00:00:00", "op": "rename", "cluster": 2, "name": "Refunds"},
        {"id": 2, "time": "2026-01-01T00:00:00", "op": "merge", "clusters": [3, 1], "into": 3},
        {"id": 3, "time": "2026-01-01T00:00:00", "op": "note", "cluster": 5, "text": "look at it"},
    ]);
    edit(&place, "edited", &edits);
    assert!(!place.assignments("edited").iter().any(|line| line.1 == 1), "merged");
    for words in ["add OUT new.jsonl -q", "remove OUT --ids ids -q"] {
        for out in ["plain", "edited"] {
            place.ok(&words.replace("OUT", out));
        }
        assert_eq!(place.json("edited/edits.json"), edits);
        // What the run has found is the same; what is shown is edited.
        assert_eq!(place.read("edited/base/assignments.csv"), place.read("plain/assignments.csv"));
        assert_eq!(place.read("edited/base/clusters.json"), place.read("plain/clusters.json"));
        let (plain, edited) = (place.assignments("plain"), place.assignments("edited"));
        assert!(plain.iter().any(|line| line.1 == 1));
        let merged = plain.into_iter().map(|(id, cluster)| (id, if cluster == 1 { 3 } else { cluster }));
        assert_eq!(merged.collect::<Vec<_>>(), edited);
        let clusters = place.json("edited/clusters.json");
        assert_eq!(
            (&clusters["clusters"][2]["name"], &clusters["clusters"][5]["note"]),
            (&json!("Refunds"), &json!("look at it"))
        );
        assert!(place.path("edited/documents.sqlite").exists());
    }
    // An edit that does not fit any more is named, and nothing changes.
    let before = contents(&place, "edited/base");
    place.write("edited/edits.json", edits.to_string().replace("\"cluster\":5", "\"cluster\":9"));
    let done = place.run("remove edited --ids ids");
    assert_eq!(done.code, Some(0), "none of the ids is left: {}", done.stderr);
    place.write("ids", "d5\n");
    let done = place.run("remove edited --ids ids");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("the edits of the result do not fit any more"), "{}", done.stderr);
    assert!(contents(&place, "edited/base") == before);
}
