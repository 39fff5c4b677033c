//! Copies of documents.

use std::fs;

use crate::command::{Place, generated_corpus};

/// Documents, of which some come again: unchanged, in capitals, or with one word more.
fn with_copies(n_documents: usize) -> String {
    let mut text = String::new();
    let corpus = generated_corpus(n_documents);
    let lines: Vec<&str> = corpus.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        text.push_str(&format!("{line}\n"));
        match number % 10 {
            3 => text.push_str(&format!("{}\n", lines[number / 2])),
            6 => text.push_str(&format!("{}!\n", line.to_uppercase())),
            9 => text.push_str(&format!("{} w90000\n", lines[number / 3])),
            _ => {}
        }
    }
    text
}

/// Id, cluster, similarity and original of each line.
fn lines(place: &Place, out: &str) -> Vec<[String; 4]> {
    let text = place.read(&format!("{out}/assignments.csv"));
    let line = |line: &str| {
        let mut fields = line.split(',').map(str::to_owned);
        std::array::from_fn(|_| fields.next().unwrap_or_default())
    };
    text.lines().skip(1).map(line).collect()
}

#[test]
fn copies_are_not_clustered_and_not_lost() {
    let place = Place::new();
    let text = "Cats purr and sleep\nDogs bark, dogs run\ncats PURR and sleep!\nStocks fall\ncats sleep, cats purr, and a cat\n\nDogs run, dogs bark\n";
    place.write("in.txt", text);
    let shown = place.ok("cluster in.txt -k 3 --duplicates drop --duplicate-similarity 1 -o out --index");
    assert!(shown.starts_with("5 documents, "), "{shown}");
    let note =
        "note: 2 documents are copies of an earlier one and were not clustered (2 with the same terms, ";
    assert!(shown.contains(note), "{shown}");
    let found = lines(&place, "out");
    let originals: Vec<&str> = found.iter().map(|line| &line[3][..]).collect();
    assert_eq!(originals, ["", "", "1", "", "", "", "2"]);
    assert_eq!(found[2][1..3], found[0][1..3]);
    assert_eq!(found[6][1..3], found[1][1..3]);
    let clusters = place.json("out/clusters.json");
    let expected = serde_json::json!({"kept_as": "drop", "similarity": 1.0, "n_copies": 2, "n_equal": 2});
    assert_eq!(clusters["duplicates"], expected);
    assert_eq!((&clusters["n_documents"], &clusters["n_without_terms"]), (&5.into(), &1.into()));
    // Texts are those of the documents, whatever is left out before them; copies count.
    let stocks = clusters["clusters"].as_array().unwrap().iter().find(|cluster| {
        cluster["representatives"][0]["text"].as_str().is_some_and(|text| text == "Stocks fall")
    });
    assert_eq!(stocks.unwrap()["representatives"][0]["id"], "4");
    let dogs = clusters["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cluster| cluster["representatives"][0]["id"] == "2");
    assert_eq!(dogs.unwrap()["representatives"][0]["near_duplicates"], 1);
    assert_eq!(place.ok("verify out in.txt"), "checked 7 documents against 3 centroids: 0 mismatches\n");
    let index = fs::read(place.path("out/documents.sqlite")).unwrap();
    place.ok("index out in.txt -q");
    assert!(fs::read(place.path("out/documents.sqlite")).unwrap() == index, "copies are in the index");
    place.ok("merge out --groups 1");
    assert_eq!(place.read("out/groups.csv").lines().count(), 8);
    let cats = clusters["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cluster| cluster["id"].as_i64() == found[0][1].parse().ok());
    assert_eq!(cats.unwrap()["copies"], 1);
    #[cfg(feature = "serve")]
    {
        let server = crate::explorer::Server::start(&place);
        let answer = server.json("/api/documents?q=bark").to_string();
        assert!(answer.contains("Dogs bark, dogs run") && answer.contains("Dogs run, dogs bark"), "{answer}");
    }
}

#[test]
fn verify_finds_copies_that_are_none() {
    let place = Place::new();
    place.write("in.txt", with_copies(600));
    place.ok("cluster in.txt -k 8 --duplicates drop -o out -q");
    place.ok("verify out in.txt");
    let written = place.read("out/assignments.csv");
    let copy = lines(&place, "out").iter().position(|line| !line[3].is_empty()).unwrap();
    let changed = |change: &dyn Fn([String; 4]) -> [String; 4]| {
        let mut text: Vec<String> = written.lines().map(str::to_owned).collect();
        text[copy + 1] = change(lines(&place, "out")[copy].clone()).join(",");
        place.write("out/assignments.csv", text.join("\n"));
        let done = place.run("verify out in.txt");
        place.write("out/assignments.csv", &written);
        assert_eq!(done.code, Some(1));
        done.stdout
    };
    let other = |line: &[String; 4]| if line[3] == "9" { "8".to_owned() } else { "9".to_owned() };
    let said = changed(&|line| [line[0].clone(), line[1].clone(), line[2].clone(), other(&line)]);
    assert!(said.contains("but no earlier document of this id is similar enough"), "{said}");
    let said = changed(&|line| [line[0].clone(), "-1".to_owned(), line[2].clone(), line[3].clone()]);
    assert!(said.contains("but has another cluster or similarity"), "{said}");
}

#[test]
fn with_weights_equal_copies_give_the_clusters_of_all_documents() {
    let place = Place::new();
    place.write("in.txt", with_copies(2_000));
    let run = "cluster in.txt -k 20 --seed 3 -q --no-report";
    place.ok(&format!("{run} -o kept"));
    place.ok(&format!("{run} --duplicates weight --duplicate-similarity 1 -o weighted"));
    let (kept, weighted) = (lines(&place, "kept"), lines(&place, "weighted"));
    assert_eq!(kept.len(), 2_600);
    assert!(weighted.iter().filter(|line| !line[3].is_empty()).count() >= 400);
    for (kept, weighted) in kept.iter().zip(&weighted) {
        assert_eq!(kept[..3], weighted[..3]);
    }
    let objective = |out: &str| place.json(&format!("{out}/clusters.json"))["objective"].as_f64().unwrap();
    assert_eq!(objective("kept"), objective("weighted"));
    place.ok("verify weighted in.txt");
    // Dropped copies do not count.
    place.ok(&format!("{run} --duplicates drop --duplicate-similarity 1 -o dropped"));
    assert!(objective("dropped") < objective("kept"));
}

#[test]
fn threads_formats_and_resumed_runs_change_nothing() {
    let place = Place::new();
    place.write("in.txt", with_copies(6_000));
    let run = "cluster in.txt -k 30 --duplicates weight -q --no-report --max-iter 4";
    for threads in [1, 2, 7] {
        place.ok(&format!("{run} --threads {threads} -o out{threads}"));
    }
    for file in ["assignments.csv", "model.docsphere", "clusters.json"] {
        let read = |out: &str| fs::read(place.path(&format!("{out}/{file}"))).unwrap();
        assert!(read("out1") == read("out2") && read("out1") == read("out7"), "{file}");
    }
    let duplicates = &place.json("out1/clusters.json")["duplicates"];
    assert!(duplicates["n_equal"].as_u64().unwrap() >= 1_200, "{duplicates}");
    assert!(duplicates["n_copies"].as_u64() > duplicates["n_equal"].as_u64(), "{duplicates}");
    place.ok(
        "cluster in.txt -k 30 --duplicates weight -q --no-report --max-iter 2 --checkpoint check --checkpoint-every 1 -o half",
    );
    place.ok(&format!("{run} --resume check -o resumed"));
    assert!(place.read("resumed/assignments.csv") == place.read("out1/assignments.csv"));
    let refused = place.run("cluster in.txt -k 30 --duplicates drop -q --resume check -o other");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("weights"), "{}", refused.stderr);
    place.ok(&format!("{run} --assignments jsonl -o json"));
    let expected: Vec<String> = lines(&place, "out1").into_iter().map(|[.., original]| original).collect();
    let found = place.read("json/assignments.jsonl");
    let original = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["duplicate_of"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(found.lines().map(original).collect::<Vec<_>>(), expected);
}

#[test]
fn sweeps_and_matrices_drop_copies_too() {
    let place = Place::new();
    place.write("in.txt", with_copies(300));
    place.ok("sweep in.txt -k 3,5 --stability off --duplicates drop -q -o sweep");
    let found = lines(&place, "sweep/k-5");
    assert_eq!(found.len(), 390);
    assert!(found.iter().any(|line| !line[3].is_empty()));
    place.ok("verify sweep/k-3 in.txt");
    place.ok("vectorize in.txt -q -o matrix");
    place.ok("cluster matrix/matrix.npz -k 5 --duplicates drop -q -o out");
    let originals = |out: &str| lines(&place, out).into_iter().map(|[.., of]| of).collect::<Vec<_>>();
    assert_eq!(originals("out"), originals("sweep/k-5"));
    place.ok("verify out matrix/matrix.npz");
}

#[test]
fn what_is_not_possible_is_refused() {
    let place = Place::with_pets();
    let refused = |words: &str| {
        let done = place.run(words);
        assert_eq!(done.code, Some(2), "{words}");
        done.stderr
    };
    assert!(
        refused("sweep pets.txt --duplicates weight -o out")
            .contains("--duplicates must be keep or drop in a sweep")
    );
    for similarity in ["0.4", "1.1", "x"] {
        let said = refused(&format!(
            "cluster pets.txt --duplicates drop --duplicate-similarity {similarity} -o out"
        ));
        assert!(said.contains("give a number from 0.5 to 1"), "{said}");
    }
    assert!(refused("cluster pets.txt --duplicates merge -o out").contains("keep, drop, weight"));
    assert!(refused("cluster pets.txt --duplicate-similarity 0.8 -o out").contains("--duplicates"));
}

#[test]
fn copies_keep_their_own_columns() {
    let place = Place::new();
    place.write("in.csv", "id,text,author\na,cats purr,anna\nb,dogs bark,bob\nc,cats purr,bob\nd,x y,anna\n");
    place.ok("cluster in.csv -k 2 --duplicates drop --keep author -o out");
    let text = place.read("out/assignments.csv");
    let ends: Vec<&str> = text.lines().map(|line| line.splitn(4, ',').nth(3).unwrap()).collect();
    assert_eq!(ends, ["duplicate_of,author", ",anna", ",bob", "a,bob", ",anna"]);
    // Copies are counted with their cluster, too: all but the document without a term.
    let columns = place.json("out/columns.json");
    let counts = columns["columns"][0]["bins"]["clusters"].as_array().unwrap();
    let cells = counts.iter().flat_map(|cluster| cluster.as_array().unwrap());
    assert_eq!(cells.map(|cell| cell[1].as_u64().unwrap()).sum::<u64>(), 3, "{columns}");
}
