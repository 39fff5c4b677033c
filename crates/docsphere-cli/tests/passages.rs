//! Long documents, cut into passages.

use crate::command::Place;

/// Reports on cats and dogs: a heading and two paragraphs each.
fn reports(number: usize) -> String {
    let paragraph = |animal: &str, does: &str, number: usize| {
        format!(
            "The {animal} of house {number} {does} all day long, as every {animal} does that has nothing better to do. \
             Its owner says that a {animal} which {does} is a happy {animal}, and so is its owner {number}."
        )
    };
    let report = |number: usize| {
        let text = format!(
            "House {number}\n\n{}\n\n{}\n",
            paragraph("cat", "purrs", number),
            if number.is_multiple_of(3) {
                paragraph("cat", "sleeps", number)
            } else {
                paragraph("dog", "barks", number)
            }
        );
        format!("{}\n", serde_json::json!({"id": format!("r{number}"), "text": text}))
    };
    (1..=number).map(report).collect()
}

fn with_reports() -> Place {
    let place = Place::new();
    place.write("in.jsonl", reports(30));
    place
}

#[test]
fn passages_are_clustered_and_lead_back_to_their_documents() {
    let place = with_reports();
    let shown = place.ok("cluster in.jsonl --split paragraphs -k 2 --smooth-idf -o out");
    assert!(shown.starts_with("60 passages of 30 documents, "), "{shown}");
    let lines = place.read("out/assignments.csv");
    let ids: Vec<&str> = lines.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!((ids.len(), ids[0], ids[1], ids[59]), (60, "r1#1", "r1#2", "r30#2"));
    let clusters = place.json("out/clusters.json");
    assert_eq!(clusters["passages"], serde_json::json!({"split": "paragraphs", "n_documents": 30}));
    assert_eq!(clusters["n_documents"], 60);
    let shown = clusters["clusters"][0]["representatives"][0]["text"].as_str().unwrap();
    assert!(!shown.contains("\n\nThe dog") && shown.len() < 300, "the text of a passage: {shown}");
    // Every third document has both passages in the cluster of cats.
    let documents = place.read("out/documents.csv");
    let documents: Vec<Vec<&str>> = documents.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        (documents.len(), &documents[0][..]),
        (31, &["id", "n_passages", "cluster", "share", "others"][..])
    );
    let cats = documents[3][2];
    for (number, document) in documents.iter().enumerate().skip(1) {
        assert_eq!((document[0], document[1]), (&format!("r{number}")[..], "2"));
        if number.is_multiple_of(3) {
            assert_eq!(document[2..], [cats, "1.000000", ""]);
        } else {
            assert_eq!((document[2], document[3], document[4]), ("0", "0.500000", "1:0.500000"));
        }
    }
}

#[test]
fn later_commands_cut_documents_as_the_run_did() {
    let place = with_reports();
    place.ok("cluster in.jsonl --split paragraphs -k 2 --smooth-idf -o out -q --index");
    let verified = place.ok("verify out in.jsonl");
    assert_eq!(verified, "checked 60 documents against 2 centroids: 0 mismatches\n");
    let refused = place.run("verify out in.jsonl --split none");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("the input has 30 documents, but the result has 60"),
        "{}",
        refused.stderr
    );
    let index = std::fs::read(place.path("out/documents.sqlite")).unwrap();
    std::fs::remove_file(place.path("out/documents.sqlite")).unwrap();
    place.ok("index out in.jsonl -q");
    assert!(std::fs::read(place.path("out/documents.sqlite")).unwrap() == index, "the same index");
    // The model knows, too, without the rest of the result.
    let lines = |words: &str| place.ok(words).lines().count();
    assert_eq!(lines("assign out/model.docsphere in.jsonl -q"), 61);
    assert_eq!(lines("assign out in.jsonl -q --split none"), 31);
    let documents = place.ok("assign out in.jsonl -q --by-document");
    assert_eq!(documents, place.read("out/documents.csv"));
    let first = place.ok("assign out in.jsonl -q --by-document --as jsonl");
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["n_passages"]), (&"r1".into(), &2.into()));
    place.ok("merge out --groups 1");
    assert_eq!(place.read("out/groups.csv").lines().count(), 61);
    // A result with passages is replaced as a whole.
    place.ok("cluster in.jsonl -k 2 --smooth-idf -o out -q --force");
    assert!(!place.path("out/documents.csv").exists());
    let refused = place.run("assign out in.jsonl --by-document");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--by-document goes with passages"), "{}", refused.stderr);
}

#[test]
fn passages_are_the_same_on_any_number_of_threads_and_in_every_command() {
    let place = Place::new();
    place.write("in.jsonl", reports(20_000));
    let run = "--split sentences -k 3 --smooth-idf --max-iter 3 -q";
    for threads in [1, 2, 7] {
        place.ok(&format!("cluster in.jsonl {run} --threads {threads} -o out{threads}"));
    }
    for file in ["assignments.csv", "documents.csv", "model.docsphere"] {
        let read = |out: &str| std::fs::read(place.path(&format!("{out}/{file}"))).unwrap();
        assert!(read("out1") == read("out2") && read("out1") == read("out7"), "{file}");
    }
    place.write("few.jsonl", reports(30));
    place.ok("sweep few.jsonl --split words:20 -k 2,3 --stability off -q -o sweep --assignments jsonl");
    let lines = |name: &str| place.read(name).lines().count();
    assert_eq!(lines("sweep/k-2/documents.jsonl"), 30);
    assert_eq!(lines("sweep/k-3/documents.jsonl"), 30);
    place.ok("vectorize few.jsonl --split words:20 -q -o matrix");
    assert_eq!(lines("matrix/ids.txt"), lines("sweep/k-2/assignments.jsonl"));
}

#[test]
fn a_document_without_words_is_a_passage() {
    let place = Place::new();
    place.write("in.csv", "id,text\na,cats purr\nb,\nc,dogs bark\n");
    place.ok("cluster in.csv --split sentences -k 2 -q -o out");
    assert!(place.read("out/documents.csv").contains("b,1,-1,0.000000,\n"));
}

#[test]
fn errors_name_lines_of_the_file_and_what_to_give() {
    let place = with_reports();
    place.write("bad.jsonl", format!("{}{{\"id\": 7}}\n", reports(2)));
    let refused = place.run("cluster bad.jsonl --split sentences -k 2 -o out");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("bad.jsonl:3: "), "{}", refused.stderr);
    for split in ["words", "words:0", "chapters"] {
        let refused = place.run(&format!("cluster in.jsonl --split {split} -k 2 -o out"));
        assert_eq!(refused.code, Some(2), "{split}");
        let expected = "give paragraphs, sentences, words: with a number (words:300), or none";
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    place.ok("vectorize in.jsonl -q -o matrix");
    let refused = place.run("cluster matrix/matrix.npz --split sentences -k 2 -o out");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--split: a matrix has no texts to cut"), "{}", refused.stderr);
}
