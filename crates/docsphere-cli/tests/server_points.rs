//! The server's points, hits by cluster, and filters by kept columns.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::command::Place;
use crate::explorer::{Server, with_index};

/// The day, the kind and the words of a document of [`with_columns`].
fn record(number: usize) -> (usize, &'static str, String) {
    let animal = ["cats", "dogs", "cows"][number % 3];
    let verb = ["purr", "sleep", "run", "bark", "eat"][number * 7 % 5];
    (1 + number % 28, ["red", "green", "blue", ""][number / 2 % 4], format!("{animal} {verb} {animal}"))
}

/// A result with a date and a category, and an index.
fn with_columns(n_documents: usize) -> Place {
    let place = Place::new();
    let line = |number: usize| {
        let (day, kind, text) = record(number);
        format!("{text},2024-03-{day:02},{kind}\n")
    };
    let table: String = (0..n_documents).map(line).collect();
    place.write("t.csv", format!("text,day,kind\n{table}"));
    place.ok("cluster t.csv -k 3 --seed 1 -o out --keep day,kind --index --quiet");
    place
}

/// The cluster of each document.
fn clusters(place: &Place) -> Vec<i32> {
    let assignments = place.read("out/assignments.csv");
    assignments.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
}

/// The body of an answer as bytes.
fn body(server: &Server, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    assert!(head.starts_with("http/1.1 200") && head.contains("application/octet-stream"), "{head}");
    answer.split_off(end + 4)
}

#[test]
fn all_points_are_sent_as_bytes() {
    let place = with_columns(500);
    let mut server = Server::start(&place);
    let bytes = body(&server, "/api/points");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..4], b"DsPt");
    assert_eq!([4, 8, 12, 16, 20].map(number), [1, 500, 2, 0, 1], "version, points, columns");
    assert_eq!(bytes.len(), 24 + 500 * (13 + 2));
    let (numbers, labels_at, kinds) = (24, 24 + 8 * 500, 24 + 14 * 500);
    let labels = place.json("out/columns.json")["columns"][1]["bins"]["labels"].clone();
    for (position, cluster) in clusters(&place).into_iter().enumerate() {
        assert_eq!(number(numbers + 4 * position), position as u32);
        assert_eq!(number(labels_at + 4 * position) as i32, cluster);
        let (kind, bin) = (record(position).1, usize::from(bytes[kinds + position]));
        assert_eq!(labels[bin].as_str().unwrap_or_default(), kind, "bin {bin}");
    }
    let page = server.get("/").1;
    assert!(page.contains("\"points\":null") && page.contains("\"served\":true"));
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn a_result_without_points_says_so() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --index --no-report");
    let mut server = Server::start(&place);
    let (status, message) = server.get("/api/points");
    assert_eq!(status, 404);
    assert!(message.contains("this result has no points"), "{message}");
    assert_eq!(server.json("/api/hits?q=cats")["total"], 2, "hits need none");
    let (status, message) = server.get("/api/documents?bins=0:1");
    assert_eq!(status, 400);
    assert!(message.contains("there are no bins of column 0"), "{message}");
    assert_eq!(server.stop("TERM"), Some(0));
}

/// The documents whose record passes, by cluster, as `/api/hits` counts them.
fn expected(place: &Place, passes: impl Fn(usize, &str, &str) -> bool) -> Value {
    let mut counts = BTreeMap::new();
    let mut numbers = Vec::new();
    for (number, cluster) in clusters(place).into_iter().enumerate() {
        let (day, kind, text) = record(number);
        if passes(day, kind, &text) {
            *counts.entry(cluster).or_insert(0) += 1;
            numbers.push(number);
        }
    }
    let mut clusters: Vec<(i32, usize)> = counts.into_iter().collect();
    clusters.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    json!({"total": numbers.len(), "isMore": false, "clusters": clusters, "numbers": numbers})
}

#[test]
fn hits_are_counted_by_cluster_and_filtered_by_bins() {
    let place = with_columns(600);
    let mut server = Server::start(&place);
    let columns = place.json("out/columns.json");
    let kinds: Vec<String> = serde_json::from_value(columns["columns"][1]["bins"]["labels"].clone()).unwrap();
    let kind = |name: &str| kinds.iter().position(|kind| kind == name).unwrap();
    let (red, blue) = (kind("red"), kind("blue"));
    let has = |text: &str, word: &str| text.split(' ').any(|found| found == word);
    let ask = |query: &str| server.json(&format!("/api/hits?{query}"));
    assert_eq!(ask("q=cats+"), expected(&place, |_, _, text| has(text, "cats")));
    assert_eq!(ask("q=sle"), expected(&place, |_, _, text| has(text, "sleep")), "the beginning of a word");
    assert_eq!(ask(&format!("bins=1:{red}")), expected(&place, |_, kind, _| kind == "red"));
    let both = format!("q=run+&bins=1:{red},{blue}&bins=0:0,1,2");
    let passes = |day: usize, kind: &str, text: &str| {
        day <= 3 && (kind == "red" || kind == "blue") && has(text, "run")
    };
    assert_eq!(ask(&both), expected(&place, passes));
    assert_eq!(ask("q=zebra"), expected(&place, |_, _, _| false));
    assert_eq!(ask("q=%21%21"), expected(&place, |_, _, _| false), "no word in it");
    assert_eq!(ask("")["total"], 0, "nothing is asked for");
    // The documents of the same questions, page by page.
    let documents = |query: &str| {
        let mut found = Vec::new();
        for page in 0.. {
            let answer = server.json(&format!("/api/documents?{query}&page={page}"));
            let documents = answer["documents"].as_array().unwrap();
            if documents.is_empty() {
                assert_eq!(answer["total"], found.len());
                break;
            }
            found.extend(documents.iter().map(|document| document["number"].as_u64().unwrap()));
        }
        found
    };
    for query in
        [format!("bins=1:{red}"), both.clone(), "q=cats+".to_owned(), format!("q=cats&bins=1:{blue}")]
    {
        let hits = ask(&query);
        let mut found = documents(&query);
        if !query.contains("q=") {
            assert!(found.is_sorted(), "corpus order");
        }
        found.sort_unstable();
        assert_eq!(Value::from(found), hits["numbers"], "{query}");
        for cluster in hits["clusters"].as_array().unwrap() {
            let of_cluster = documents(&format!("{query}&cluster={}", cluster[0]));
            assert_eq!(of_cluster.len() as u64, cluster[1].as_u64().unwrap(), "{query}");
        }
    }
    // The most typical first, as without a filter.
    let of_cluster =
        |query: &str| server.json(&format!("/api/documents?cluster=0{query}"))["documents"].clone();
    let similarities = |documents: &Value| -> Vec<f64> {
        documents.as_array().unwrap().iter().map(|found| found["similarity"].as_f64().unwrap()).collect()
    };
    assert!(similarities(&of_cluster(&format!("&bins=1:{red}"))).is_sorted_by(|a, b| a >= b));
    assert_eq!(of_cluster("&bins=1:0,1,2,255"), of_cluster(""), "all bins and none");
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn many_hits_are_all_counted_and_listed_in_corpus_order() {
    let n = 120_000;
    let place = with_columns(n);
    let mut server = Server::start(&place);
    let answer = server.json("/api/hits?q=cats+");
    assert_eq!((&answer["total"], &answer["isMore"]), (&json!(n / 3), &json!(false)));
    assert_eq!(answer["numbers"].as_array().unwrap().len(), n / 3);
    let all = server
        .json("/api/hits?bins=0:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27");
    assert_eq!(all["total"], n);
    let numbers: Vec<u64> = serde_json::from_value(all["numbers"].clone()).unwrap();
    assert_eq!((numbers.len(), numbers[0]), (100_000, 0));
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers[99_999] > n as u64 - 10, "from all of the corpus");
    let counted: u64 = all["clusters"].as_array().unwrap().iter().map(|pair| pair[1].as_u64().unwrap()).sum();
    assert_eq!(counted, n as u64);
    // More than are ranked: pages in corpus order, without gaps.
    let red = "bins=1:0,1";
    let page = |query: &str, page: usize| -> Vec<u64> {
        let answer = server.json(&format!("/api/documents?{query}&page={page}"));
        assert_eq!((&answer["total"], &answer["isMore"]), (&json!(10_000), &json!(true)));
        answer["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["number"].as_u64().unwrap())
            .collect()
    };
    for query in [red.to_owned(), format!("q=cats+&{red}")] {
        let hits: Vec<u64> =
            serde_json::from_value(server.json(&format!("/api/hits?{query}"))["numbers"].clone()).unwrap();
        assert!(hits.len() > 11_000, "{}", hits.len());
        for number in [0, 1, 499, 500, 501, 550] {
            assert_eq!(page(&query, number), hits[20 * number..20 * number + 20], "{query}");
        }
    }
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn hostile_parameters_are_refused_and_break_nothing() {
    let place = with_columns(100);
    let mut server = Server::start(&place);
    for query in [
        "bins=",
        "bins=0",
        "bins=0:",
        "bins=0:x",
        "bins=0:256",
        "bins=0:-1",
        "bins=7:1",
        "bins=4294967295:1",
        "bins=99999999999999999999:1",
        "bins=0:1,",
        "bins=0:1%00",
        "bins=0%3A1;bins=0",
        "bins=0:1&bins=9:1",
        "bins=0:1%20OR%201=1",
        "q=a&q=b",
    ] {
        for route in ["documents", "hits"] {
            let (status, message) = server.get(&format!("/api/{route}?{query}"));
            assert_eq!(status, 400, "{route}?{query}: {message}");
            assert!(message.starts_with("{\"error\":\""), "{message}");
        }
    }
    assert_eq!(server.get(&format!("/api/hits?q={}", "x".repeat(201))).0, 400);
    let many = vec!["bins=0:1"; 65].join("&");
    assert_eq!(server.get(&format!("/api/hits?{many}")).0, 400);
    let repeated = format!("/api/hits?bins=0:{}", vec!["1"; 2_000].join(","));
    assert_eq!(server.get(&repeated).0, 200, "bins that are named twice count once");
    // What is not known is ignored, as before.
    assert_eq!(server.get("/api/hits?q=cats&other=1&other=2").0, 200);
    for path in ["/api/hits/", "/api/points/1", "/points.docsphere", "/api/points%2f.."] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    let post = |path: &str| {
        server.send(&format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).0
    };
    assert_eq!((post("/api/hits"), post("/api/points")), (405, 405));
    let foreign = |path: &str| {
        server.send(&format!("GET {path} HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")).0
    };
    assert_eq!((foreign("/api/hits?q=cats"), foreign("/api/points")), (403, 403));
    assert_eq!(server.json("/api/hits?q=cats")["total"], 34);
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn points_of_another_result_are_not_served() {
    let place = with_index();
    place.write("same.txt", "cats purr\ncats purr softly\ncats purr loudly\n");
    place.ok("cluster same.txt -k 2 -o other");
    std::fs::copy(place.path("other/points.docsphere"), place.path("out/points.docsphere")).unwrap();
    let done = place.run("serve out --address 192.0.2.1");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("out/points.docsphere: is of another result"), "{}", done.stderr);
}
