//! Every format of documents and matrices, plain and compressed.

use std::io::Write;

use docsphere::SparseRows;
use docsphere::formats;

use crate::command::{PETS, Place};

const JSONL: &str = concat!(
    "{\"id\": \"a\", \"text\": \"cats purr softly\"}\n",
    "{\"id\": \"b\", \"text\": \"dogs bark loudly\"}\n",
    "{\"id\": 3, \"text\": \"cats sleep\"}\n",
    "{\"id\": \"d,d\", \"text\": \"dogs run\", \"more\": [1, {}]}\n",
);
const CSV: &str = "id,text\na,cats purr softly\nb,\"dogs bark\nloudly\"\n3,cats sleep\n\"d,d\",dogs run\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn documents_of_every_format_plain_and_compressed_give_the_same_clusters() {
    let place = Place::new();
    let tsv = CSV.replace("\"dogs bark\nloudly\"", "dogs bark loudly").replace(',', "\t");
    let tsv = tsv.replace("\"d\td\"", "\"d,d\"");
    let ids = ["a", "b", "3", "\"d,d\""];
    let cases = [
        ("p.txt", PETS, ["1", "2", "3", "4"]),
        ("p.jsonl", JSONL, ids),
        ("p.ndjson", JSONL, ids),
        ("p.csv", CSV, ids),
        ("p.tsv", &tsv, ids),
    ];
    for (name, content, ids) in cases {
        let packed = [
            ("", content.as_bytes().to_vec()),
            (".gz", gzip(content.as_bytes())),
            (".zst", zstd(content.as_bytes())),
        ];
        for (ending, bytes) in packed {
            let name = format!("{name}{ending}");
            place.write(&name, bytes);
            place.ok(&format!("cluster {name} -k 2 -o out-{name}"));
            place.assert_pets(&format!("out-{name}"), ids);
        }
    }
}

#[test]
fn standard_input_is_read_in_every_format_that_is_named_also_compressed() {
    let place = Place::new();
    for (number, (format, input)) in [
        ("lines", PETS.into()),
        ("jsonl", JSONL.into()),
        ("csv", gzip(CSV.as_bytes())),
        ("lines", zstd(PETS.as_bytes())),
    ]
    .into_iter()
    .enumerate()
    {
        let done = place.run_with_input(&format!("cluster - --format {format} -k 2 -o out{number}"), &input);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{format}");
        assert_eq!(place.assignments(&format!("out{number}")).len(), 4, "{format}");
    }
}

#[test]
fn a_folder_is_read_with_its_folders_but_without_hidden_files() {
    let place = Place::new();
    for (name, text) in [
        ("pets/a.txt", "cats purr softly"),
        ("pets/b.txt", "dogs bark loudly"),
        ("pets/more/c.md", "cats sleep"),
        ("pets/more/d.txt", "dogs run"),
        ("pets/.hidden", "not this"),
    ] {
        place.write(name, text);
    }
    place.ok("cluster pets -k 2 -o all");
    place.assert_pets("all", ["a.txt", "b.txt", "more/c.md", "more/d.txt"]);
    place.ok("cluster pets -k 2 -o some --glob *.txt");
    let ids: Vec<_> = place.assignments("some").into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["a.txt", "b.txt", "more/d.txt"]);
}

#[test]
fn several_inputs_are_read_one_after_the_other_and_number_their_documents_by_file() {
    let place = Place::new();
    place.write("one.txt", "cats purr softly\ndogs bark loudly\n");
    place.write("two.txt", "cats sleep\ndogs run\n");
    place.ok("cluster one.txt two.txt -k 2 -o out");
    place.assert_pets("out", ["one.txt:1", "one.txt:2", "two.txt:1", "two.txt:2"]);
}

#[test]
fn the_format_may_be_named_whatever_the_file_is_called() {
    let place = Place::new();
    place.write("pets.data", JSONL);
    place.ok("cluster pets.data --format jsonl -k 2 -o out");
    place.assert_pets("out", ["a", "b", "3", "\"d,d\""]);
    place.write("pets.csv", PETS);
    place.ok("cluster pets.csv --format lines -k 2 -o lines");
    place.assert_pets("lines", ["1", "2", "3", "4"]);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_and_written() {
    use docsphere_testkit::parquet_files::{Values, write_parquet};
    use parquet::file::properties::WriterProperties;

    let place = Place::new();
    let schema = "required int64 number; required binary body (UTF8);";
    let columns = [Values::int64([10, 20, 30, 40]), Values::texts(PETS.lines())];
    write_parquet(&place.path("pets.parquet"), schema, &columns, WriterProperties::default());
    place.ok("cluster pets.parquet --text-field body --id-field number -k 2 -o out");
    place.assert_pets("out", ["10", "20", "30", "40"]);

    place.ok("cluster pets.parquet --text-field body --id-field number -k 2 -o table --assignments parquet --runner-up");
    assert_eq!(
        place.ok("verify table pets.parquet --text-field body --id-field number"),
        "checked 4 documents against 2 centroids: 0 mismatches\n"
    );
}

/// Four rows over three terms: the first and third are alike, as are the others.
fn matrix() -> SparseRows<'static> {
    SparseRows::from_parts(3, vec![0, 2, 3, 4, 5], vec![0, 1, 2, 0, 2], vec![2.0, 1.0, 1.0, 1.0, 3.0])
        .unwrap()
}

#[test]
fn matrices_of_every_format_are_clustered_with_the_names_of_their_columns() {
    let place = Place::new();
    place.write("names.txt", "cat\npurr\ndog\n");
    for name in ["m.npz", "m.mtx", "m.svmlight", "docword.m.txt"] {
        formats::write(place.path(name), &matrix()).unwrap();
        let out = format!("out-{name}");
        place.ok(&format!("cluster {name} -k 2 -o {out} --vocabulary names.txt"));
        place.assert_pets(&out, ["1", "2", "3", "4"]);
        let clusters = place.json(&format!("{out}/clusters.json"));
        let dogs = clusters["clusters"]
            .as_array()
            .unwrap()
            .iter()
            .find(|cluster| cluster["keywords"][0]["term"] == "dog");
        assert_eq!(dogs.unwrap()["size"], 2, "{name}");
        assert!(clusters["clusters"][0]["representatives"][0].get("text").is_none());
        assert_eq!(
            place.ok(&format!("verify {out} {name}")),
            "checked 4 documents against 2 centroids: 0 mismatches\n"
        );
        place.ok(&format!("cluster {name} -k 2 -o nameless-{name}"));
        let clusters = place.json(&format!("nameless-{name}/clusters.json"));
        assert!(clusters["clusters"][0]["keywords"][0]["term"].as_str().unwrap().starts_with('#'));
    }
}

#[test]
fn a_matrix_under_another_name_is_read_when_its_format_is_named() {
    let place = Place::new();
    formats::write(place.path("m.mtx"), &matrix()).unwrap();
    std::fs::rename(place.path("m.mtx"), place.path("m.data")).unwrap();
    place.ok("cluster m.data --format mtx -k 2 -o out");
    place.assert_pets("out", ["1", "2", "3", "4"]);
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_and_counted() {
    let place = Place::new();
    place.write("odd.txt", b"cats \xff\xfe purr\ndogs bark\n");
    let shown = place.ok("cluster odd.txt -k 2 -o out --encoding utf-8");
    assert!(shown.contains("note: 1 document had bytes that are not text; they were replaced (another encoding? name it with --encoding)\n"), "{shown}");
    let clusters = place.read("out/clusters.json");
    assert!(clusters.contains("cats \u{fffd}\u{fffd} purr"), "{clusters}");
}
