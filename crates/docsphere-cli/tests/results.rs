//! What every output file holds.

use serde_json::Value;

use crate::command::{OTHER_FILES, Place};

/// The keys of an object, in the order of the file.
#[track_caller]
fn keys(text: &str, indent: usize) -> Vec<String> {
    let margin = format!("\n{}\"", " ".repeat(indent));
    let mut keys = Vec::new();
    for part in text.split(&margin).skip(1) {
        let key = part.split('"').next().unwrap().to_owned();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

#[test]
fn assignments_are_a_line_for_each_document_in_order() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 --init k-means++ -o csv --runner-up");
    let text = place.read("csv/assignments.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "id,cluster,similarity,runner_up,runner_up_similarity");
    assert_eq!(lines[1], "1,0,0.757981,-1,0.000000");
    assert_eq!(lines.len(), 5);

    place.ok("cluster pets.txt -k 2 --init k-means++ -o plain");
    assert_eq!(
        place.read("plain/assignments.csv"),
        "id,cluster,similarity\n1,0,0.757981\n2,1,0.757981\n3,0,0.757981\n4,1,0.757981\n"
    );
    place.ok("cluster pets.txt -k 2 --init k-means++ -o jsonl --assignments jsonl");
    assert_eq!(place.names("jsonl"), [&["assignments.jsonl"], &OTHER_FILES[..]].concat());
    assert_eq!(
        place.read("jsonl/assignments.jsonl").lines().next().unwrap(),
        "{\"id\":\"1\",\"cluster\":0,\"similarity\":0.757981}"
    );
    place.ok("cluster pets.txt -k 2 --init k-means++ -o more --assignments jsonl --runner-up");
    assert_eq!(
        place.read("more/assignments.jsonl").lines().next().unwrap(),
        "{\"id\":\"1\",\"cluster\":0,\"similarity\":0.757981,\"runner_up\":-1,\"runner_up_similarity\":0.0}"
    );
}

#[test]
fn clusters_json_holds_what_is_promised() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 --init k-means++ -o out");
    let text = place.read("out/clusters.json");
    assert_eq!(
        keys(&text, 2),
        [
            "n_documents",
            "n_terms",
            "n_clusters",
            "objective",
            "iterations",
            "converged",
            "seed",
            "n_without_terms",
            "n_outliers",
            "n_empty_clusters",
            "clusters"
        ]
    );
    assert_eq!(
        keys(&text, 6),
        [
            "id",
            "name",
            "size",
            "cohesion",
            "heap",
            "keywords",
            "representatives",
            "least_typical",
            "histogram",
            "neighbours"
        ]
    );
    assert_eq!(keys(&text, 10), ["term", "weight", "score", "share", "id", "similarity", "text"]);
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&file["n_documents"], &file["n_terms"], &file["n_clusters"]),
        (&4.into(), &8.into(), &2.into())
    );
    assert_eq!(
        (&file["converged"], &file["seed"], &file["iterations"]),
        (&true.into(), &0.into(), &1.into())
    );
    let cats = &file["clusters"][0];
    assert_eq!((&cats["id"], &cats["size"], &cats["cohesion"]), (&0.into(), &2.into(), &0.757981.into()));
    let terms: Vec<&str> = cats["keywords"]
        .as_array()
        .unwrap()
        .iter()
        .map(|keyword| keyword["term"].as_str().unwrap())
        .collect();
    assert!(terms.contains(&"cats") && !terms.contains(&"dogs"), "{terms:?}");
    let share = |term: &str| {
        let keywords = cats["keywords"].as_array().unwrap();
        keywords.iter().find(|keyword| keyword["term"] == term).unwrap()["share"].as_f64()
    };
    assert_eq!((share("cats"), share("purr")), (Some(1.0), Some(0.5)));
    let texts: Vec<&str> =
        cats["representatives"].as_array().unwrap().iter().map(|doc| doc["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["cats purr softly", "cats sleep"]);
    assert_eq!(cats["neighbours"], serde_json::json!([{"id": 1, "similarity": 0.0}]));
}

#[test]
fn trace_json_holds_what_is_promised() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --threads 2 --seed 3 --strategy inverted");
    let text = place.read("out/trace.json");
    assert_eq!(
        keys(&text, 2),
        [
            "strategy",
            "seed",
            "threads",
            "version",
            "settings",
            "seconds",
            "after",
            "peak_memory_bytes",
            "runs",
            "iterations"
        ]
    );
    let trace: Value = serde_json::from_str(&text).unwrap();
    let setting = |name: &str| {
        let all = trace["settings"].as_array().unwrap();
        all.iter().find(|setting| setting["name"] == name).map(|setting| setting["values"].clone())
    };
    assert_eq!(setting("INPUT"), Some(serde_json::json!(["pets.txt"])));
    assert_eq!(setting("--strategy"), Some(serde_json::json!(["inverted"])));
    assert_eq!(setting("--min-df"), Some(serde_json::json!(["1"])), "defaults, too");
    assert_eq!(setting("--output"), None, "where it was written has no say in the result");
    assert_eq!(
        (&trace["strategy"], &trace["seed"], &trace["threads"]),
        (&"inverted".into(), &3.into(), &2.into())
    );
    let seconds = trace["seconds"].as_object().unwrap();
    let mut stages: Vec<&str> = seconds.keys().map(String::as_str).collect();
    stages.sort_unstable();
    assert_eq!(stages, ["cluster", "read", "seed", "summarize", "total", "vectorize", "write"]);
    let second = |stage: &str| seconds[stage].as_f64().unwrap();
    let parts: f64 = stages.iter().filter(|&&stage| stage != "total").map(|stage| second(stage)).sum();
    assert!(parts > 0.0 && parts <= second("total"), "{seconds:?}");
    assert!(trace["peak_memory_bytes"].as_u64().unwrap() > 1_000_000);
    let iterations = trace["iterations"].as_array().unwrap();
    let n_iter = place.json("out/clusters.json")["iterations"].as_u64().unwrap() as usize;
    assert_eq!(iterations.len(), n_iter + 1);
    assert_eq!(iterations.last().unwrap()["objective"], place.json("out/clusters.json")["objective"]);
}

#[test]
fn the_model_treats_new_documents_as_the_old_ones() {
    let place = Place::new();
    place.write("in.txt", "The Cats purring\nDogs barking\nCats, cats\nDogs 7\n");
    let options = "--stem english --keep-numbers --ngrams 1..2 --smooth-idf";
    place.ok(&format!("cluster in.txt -k 2 -o out {options}"));
    let assigned = place.ok("assign out in.txt");
    let ids_and_labels = |text: &str, n: usize| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(',').take(n).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(ids_and_labels(&assigned, 3), ids_and_labels(&place.read("out/assignments.csv"), 3));
    assert!(assigned.lines().skip(1).all(|line| line.ends_with(",0.000")), "{assigned}");
}

#[test]
fn rows_of_vectorize_are_clustered_as_their_documents() {
    let place = Place::with_pets();
    place.ok("vectorize pets.txt -o v --rows -q");
    for matrix in ["matrix.npz", "rows.docsphere"] {
        place.ok(&format!("cluster v/{matrix} --vocabulary v/vocabulary.txt -k 2 -o {matrix}.out -q"));
    }
    place.ok("cluster v/rows.docsphere --format rows -k 2 -o out -q");
    let expected = place.assignments("matrix.npz.out");
    assert_eq!(place.assignments("rows.docsphere.out"), expected);
    assert_eq!(place.assignments("out"), expected);
    place.ok("vectorize pets.txt -o v --force -q");
    assert!(!place.path("v/rows.docsphere").exists());
}

#[test]
fn vectorize_and_export_write_matrices_with_their_names() {
    let place = Place::with_pets();
    assert_eq!(place.ok("vectorize pets.txt -o v"), "4 documents, 8 terms, 10 nonzeros written to v\n");
    assert_eq!(place.names("v"), ["ids.txt", "matrix.npz", "vocabulary.txt"]);
    assert_eq!(place.read("v/vocabulary.txt"), "bark\ncats\ndogs\nloudly\npurr\nrun\nsleep\nsoftly\n");
    assert_eq!(place.read("v/ids.txt"), "1\n2\n3\n4\n");
    let rows = docsphere::formats::read(place.path("v/matrix.npz")).unwrap();
    assert_eq!((rows.n_rows(), rows.n_terms(), rows.nnz()), (4, 8, 10));

    // From the matrix come the same clusters as from the text.
    place.ok("cluster pets.txt -k 2 -o text");
    place.ok("cluster v/matrix.npz --vocabulary v/vocabulary.txt -k 2 -o matrix");
    assert_eq!(place.read("text/assignments.csv"), place.read("matrix/assignments.csv"));

    assert_eq!(place.ok("export text -o e"), "2 centroids over 8 terms written to e\n");
    assert_eq!(place.names("e"), ["centroids.npz", "vocabulary.txt"]);
    assert_eq!(place.read("e/vocabulary.txt"), place.read("v/vocabulary.txt"));
    let centroids = docsphere::formats::read(place.path("e/centroids.npz")).unwrap();
    assert_eq!((centroids.n_rows(), centroids.n_terms()), (2, 8));
    assert_eq!(place.run("export text -o e").code, Some(1));
    place.ok("export text -o e --force");
}

#[test]
fn groups_json_holds_what_is_promised() {
    let place = Place::new();
    place.ok("demo");
    let text = place.read("docsphere-demo/groups.json");
    assert_eq!(
        keys(&text, 2),
        ["n_clusters", "n_groups", "groups", "group_of_cluster", "structure", "merges"]
    );
    let file = place.json("docsphere-demo/groups.json");
    let list = |value: &Value| value.as_array().unwrap().clone();
    // Twenty subjects that have nothing to do with each other: all clusters are one group.
    assert_eq!((file["n_clusters"].as_u64(), file["n_groups"].as_u64()), (Some(20), Some(1)));
    assert_eq!((list(&file["groups"]).len(), list(&file["merges"]).len()), (1, 19));
    let structure = file["structure"].as_f64().unwrap();
    assert!((1.0..1.25).contains(&structure), "{structure}");
    place.ok("merge docsphere-demo --groups 4");
    let file = place.json("docsphere-demo/groups.json");
    assert_eq!((list(&file["groups"]).len(), file["structure"].as_f64()), (4, Some(structure)));
    let clusters = place.json("docsphere-demo/clusters.json");
    for (id, group) in list(&file["groups"]).iter().enumerate() {
        assert_eq!(group["id"].as_u64(), Some(id as u64));
        let keywords: Vec<String> =
            list(&group["keywords"]).iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        assert!(!keywords.is_empty() && !group["name"].as_str().unwrap().is_empty());
        let members = list(&group["clusters"]);
        let size =
            |cluster: &Value| clusters["clusters"][cluster.as_u64().unwrap() as usize]["size"].as_u64();
        assert_eq!(
            members.iter().map(|cluster| size(cluster).unwrap()).sum::<u64>(),
            group["size"].as_u64().unwrap()
        );
        for cluster in members {
            assert_eq!(
                file["group_of_cluster"][cluster.as_u64().unwrap() as usize].as_u64(),
                Some(id as u64)
            );
        }
    }
}

#[test]
fn merge_gives_every_document_its_group() {
    let place = Place::new();
    place.ok("demo");
    let before = place.json("docsphere-demo/groups.json");
    let shown = place.ok("merge docsphere-demo --groups 7");
    assert!(shown.starts_with("20 clusters joined to 7 groups\n"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let file = place.json("docsphere-demo/groups.json");
    assert_eq!((file["n_groups"].as_u64(), &file["merges"]), (Some(7), &before["merges"]));
    let table = place.read("docsphere-demo/groups.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("id,group,cluster,similarity"));
    let assignments = place.read("docsphere-demo/assignments.csv");
    for (ours, theirs) in lines.zip(assignments.lines().skip(1)) {
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.split(',').collect(), theirs.split(',').collect());
        assert_eq!((ours[0], ours[2], ours[3]), (theirs[0], theirs[1], theirs[2]));
        let group = &file["group_of_cluster"][theirs[1].parse::<usize>().unwrap()];
        assert_eq!(group.to_string(), ours[1]);
    }
    assert_eq!(table.lines().count(), assignments.lines().count());
    // There and back again.
    place.ok("merge docsphere-demo --groups 1");
    assert_eq!(place.json("docsphere-demo/groups.json"), before);
    let groups: Value = serde_json::from_str(&place.ok("merge docsphere-demo --groups 20 --json")).unwrap();
    assert_eq!(groups.as_array().unwrap().len(), 20);
}

#[test]
fn stemmed_runs_show_full_forms() {
    let place = Place::new();
    place.ok("demo");
    place.ok("cluster docsphere-demo.jsonl -k 20 --stem english -o out --min-df 2");
    let file = place.json("out/clusters.json");
    let clusters = file["clusters"].as_array().unwrap();
    let keywords = clusters.iter().flat_map(|cluster| cluster["keywords"].as_array().unwrap());
    let puppy = keywords.into_iter().find(|keyword| keyword["term"] == "puppi").expect("the stem of puppy");
    assert!(["puppy", "puppies"].contains(&puppy["written"].as_str().unwrap()), "{puppy}");
    let names = || clusters.iter().map(|cluster| cluster["name"].as_str().unwrap());
    assert!(names().any(|name| name.contains("pupp")) && !names().any(|name| name.contains("puppi,")));
    let page = place.read("out/report.html");
    assert!(page.contains("\"puppy\"") || page.contains("\"puppies\""));
}

#[test]
fn heaps_are_marked_everywhere() {
    let place = Place::new();
    // Two subjects, and texts that share only one word.
    let mut texts = String::new();
    for n in 0..12 {
        texts += &format!("cats purr softly\ndogs bark loudly\nw{n} x{n} y{n} z{n} common\n");
    }
    place.write("texts.txt", &texts);
    let shown = place.ok("cluster texts.txt -k 3 -o out --n-init 10 --init k-means++");
    let file = place.json("out/clusters.json");
    let clusters = file["clusters"].as_array().unwrap();
    let heaps: Vec<&Value> = clusters.iter().filter(|cluster| cluster["heap"] == true).collect();
    assert_eq!(heaps.len(), 1, "{clusters:?}");
    let cohesion = heaps[0]["cohesion"].as_f64().unwrap();
    assert!(shown.contains(&format!("{cohesion:.2}* ")) && shown.contains("\n* a heap"), "{shown}");
    let id = heaps[0]["id"].as_u64().unwrap();
    assert!(place.ok(&format!("inspect out --cluster {id}")).contains("a heap"));
    assert!(place.read("out/report.html").contains("\"heap\":true"));
}
