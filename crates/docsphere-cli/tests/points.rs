//! Documents as points: the file, and what pages show of it.

use std::fs;

use serde_json::Value;

use crate::command::{Place, generated_corpus};
use crate::explorer::data;

/// Bytes from base64, as the page decodes them.
fn bytes(text: &Value) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other}"),
    };
    let text = text.as_str().unwrap().trim_end_matches('=').as_bytes();
    let bits = |four: &[u8]| four.iter().fold(0u32, |bits, &c| bits << 6 | u32::from(digit(c)));
    let three = |four: &[u8]| {
        let bits = bits(four) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    text.chunks(4).flat_map(three).collect()
}

fn numbers(text: &Value) -> Vec<i32> {
    bytes(text).chunks(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn a_report_shows_documents_where_the_run_has_placed_them() {
    let place = Place::new();
    place
        .write("t.csv", "id,text,kind\na,cats purr,x\nb,cats sleep,y\nc,dogs bark,x\nd,dogs run,\ne,the,y\n");
    place.ok("cluster t.csv -k 2 -o out --keep all");
    let found = data(&place, "out/report.html");
    let points = &found["points"];
    assert_eq!((&points["total"], &points["n"]), (&Value::from(4), &Value::from(4)));
    let (documents, clusters) = (numbers(&points["number"]), numbers(&points["cluster"]));
    let mut sorted = documents.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3], "the last has no term");
    let assigned = place.read("out/assignments.csv");
    let assigned: Vec<&str> = assigned.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    for (position, &document) in documents.iter().enumerate() {
        assert_eq!(clusters[position].to_string(), assigned[document as usize]);
        let title = ["cats purr", "cats sleep", "dogs bark", "dogs run"][document as usize];
        assert_eq!(points["titles"][position], title);
    }
    assert!(clusters[..2].contains(&0) && clusters[..2].contains(&1), "each cluster before any second one");
    let bins = bytes(&points["bins"]["0"]);
    let bin = |document: i32| bins[documents.iter().position(|&d| d == document).unwrap()];
    assert_eq!((bin(0), bin(2), bin(3)), (bin(2), 1 - bin(1), 255));
    let offsets: Vec<i16> =
        bytes(&points["offset"]).chunks(2).map(|two| i16::from_le_bytes([two[0], two[1]])).collect();
    // The nearest of two lies at the root of a quarter, the other at the root of three quarters.
    let mut radii: Vec<f64> =
        offsets.chunks(2).map(|at| f64::from(at[0]).hypot(f64::from(at[1])) / 32_766.0).collect();
    radii.sort_by(f64::total_cmp);
    for (radius, square) in radii.iter().zip([0.25, 0.25, 0.75, 0.75]) {
        assert!((radius * radius - square).abs() < 1e-3, "{radii:?}");
    }
    assert_eq!(bytes(&points["similarity"]).len(), 4);
}

#[test]
fn the_points_are_the_same_for_every_number_of_threads_and_for_a_report_made_later() {
    let place = Place::new();
    place.write("texts.txt", generated_corpus(3_000));
    place.ok("cluster texts.txt -k 30 -o one --threads 1");
    let points = fs::read(place.path("one/points.docsphere")).unwrap();
    for threads in [2, 5] {
        place.ok(&format!("cluster texts.txt -k 30 -o out-{threads} --threads {threads}"));
        assert!(fs::read(place.path(&format!("out-{threads}/points.docsphere"))).unwrap() == points);
    }
    let report = place.read("one/report.html");
    fs::remove_file(place.path("one/report.html")).unwrap();
    place.ok("report one");
    assert!(place.read("one/report.html") == report);
    let n_bytes = points.len() as f64 / 3_000.0;
    assert!(n_bytes < 9.0 + 4.0 + 84.0, "9 bytes, the sample and titles: {n_bytes}");
}

#[test]
fn a_small_report_has_fewer_points_and_one_without_texts_no_titles() {
    let place = Place::new();
    place.write("texts.txt", generated_corpus(2_000));
    place.ok("cluster texts.txt -k 5 -o out");
    let whole = &data(&place, "out/report.html")["points"];
    assert_eq!(whole["n"], whole["total"]);
    let size = place.read("out/report.html").len() - 120_000;
    let done = place.run(&format!("report out --report-size {size}"));
    assert_eq!(done.code, Some(0));
    let some = data(&place, "out/report.html")["points"].clone();
    let n = some["n"].as_u64().unwrap();
    assert!(n > 100 && n < whole["n"].as_u64().unwrap(), "{n}");
    let said = format!("note: report.html shows 400 characters of a document and {} documents as points", {
        let digits = n.to_string();
        if n < 1_000 {
            digits
        } else {
            format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..])
        }
    });
    assert!(done.stderr.contains(&said), "{}", done.stderr);
    assert!(place.read("out/report.html").len() <= size);
    assert!(numbers(&whole["number"]).starts_with(&numbers(&some["number"])));
    place.ok("report out --report-chars 0");
    let silent = &data(&place, "out/report.html")["points"];
    assert_eq!((silent["n"].as_u64(), silent["titles"].as_array().unwrap().len()), (whole["n"].as_u64(), 0));
    place.ok("cluster texts.txt -k 5 -o silent --representatives 0 --least-typical 0");
    assert_eq!(data(&place, "silent/report.html")["points"]["titles"].as_array().unwrap().len(), 0);
}

#[test]
fn copies_are_where_their_originals_are() {
    let place = Place::new();
    let text = "cats purr and sleep\ndogs bark, dogs run\ncats PURR and sleep!\ndogs bark, cats sleep\n";
    place.write("in.txt", text);
    place.ok("cluster in.txt -k 2 --duplicates drop --duplicate-similarity 1 -o out");
    let points = data(&place, "out/report.html")["points"].clone();
    assert_eq!(points["total"], 4);
    let (documents, offsets) = (numbers(&points["number"]), bytes(&points["offset"]));
    let offset = |document: i32| {
        let position = documents.iter().position(|&d| d == document).unwrap();
        offsets[4 * position..4 * position + 4].to_vec()
    };
    assert_eq!(offset(0), offset(2));
    assert_ne!(offset(0), offset(3));
    let position = documents.iter().position(|&d| d == 2).unwrap();
    assert_eq!(points["titles"][position], "cats PURR and sleep!", "each has its own text");
}

#[test]
fn damaged_points_are_refused_and_older_results_have_none() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    let path = place.path("out/points.docsphere");
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let report = place.read("out/report.html");
    for (bytes, why) in
        [(&damaged[..], "the file is damaged"), (&whole[..50], "valid header"), (b"", "0 bytes")]
    {
        fs::write(&path, bytes).unwrap();
        let done = place.run("report out");
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.contains("out/points.docsphere: ") && done.stderr.contains(why),
            "{}",
            done.stderr
        );
        assert!(place.read("out/report.html") == report, "the old one stays");
    }
    place.write("more.txt", "cats purr\ncats sleep\ndogs run\n");
    place.ok("cluster more.txt -k 2 -o other");
    fs::copy(place.path("other/points.docsphere"), &path).unwrap();
    let done = place.run("report out");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("out/points.docsphere: is of another result"), "{}", done.stderr);
    fs::remove_file(&path).unwrap();
    place.ok("report out");
    assert!(data(&place, "out/report.html")["points"].is_null());
}

#[test]
fn every_result_of_a_sweep_has_points_and_a_matrix_has_ids_for_titles() {
    let place = Place::new();
    place.write("texts.txt", generated_corpus(300));
    place.run("sweep texts.txt -k 2,4 -o out");
    for step in ["k-2", "k-4"] {
        let points = data(&place, &format!("out/{step}/report.html"))["points"].clone();
        assert_eq!(points["titles"].as_array().unwrap().len() as u64, points["n"].as_u64().unwrap());
        assert!(points["titles"][0].as_str().unwrap().contains(' '));
    }
    place.write("rows.svm", "1 1:1 2:1\n1 1:1 2:2\n1 3:1 4:1\n1 3:1 4:2\n");
    place.ok("cluster rows.svm -k 2 -o matrix");
    let points = data(&place, "matrix/report.html")["points"].clone();
    let expected: Vec<String> = numbers(&points["number"]).iter().map(|n| (n + 1).to_string()).collect();
    assert_eq!(points["titles"], Value::from(expected));
}
