//! Damaged and hostile Parquet files, given to the real binary.

use std::path::Path;
use std::process::Command;

use docsphere_testkit::parquet_files::{Values, write_parquet};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

use crate::command::{Done, PETS, Place};

/// A column "text" of these texts.
fn write_texts<'a>(path: &Path, texts: impl IntoIterator<Item = &'a str>, properties: WriterProperties) {
    write_parquet(path, "required binary text (UTF8);", &[Values::texts(texts)], properties);
}

fn delta_length() -> WriterProperties {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .build()
}

#[test]
fn texts_that_do_not_begin_at_a_character_are_replaced_and_counted() {
    let place = Place::new();
    // All bytes together are UTF-8: the second text begins within a character, and the third within
    // another.
    let texts: [&[u8]; 4] = [b"cats purr \xf0\x9f", b"\x98\xba cats \xc3", b"\xa9 dogs bark", b"dogs run"];
    let texts = Values::Bytes(texts.map(|text| Some(text.to_vec())).to_vec());
    write_parquet(&place.path("d.parquet"), "required binary text (UTF8);", &[texts], delta_length());

    let shown = place.ok("cluster d.parquet -k 2 -o out");
    assert!(shown.contains("note: 3 documents had broken characters, which were replaced\n"), "{shown}");
    let clusters: Vec<i32> = place.assignments("out").into_iter().map(|(_, cluster)| cluster).collect();
    assert_eq!((clusters[0], clusters[2]), (clusters[1], clusters[3]));
}

/// Done, or refused with the name of the file: nothing else.
#[track_caller]
fn assert_done_or_refused(done: &Done, file: &str, what: &str) {
    let Done { code, stderr, .. } = done;
    let refused =
        stderr.starts_with("docsphere: error: ") && stderr.contains(file) && stderr.lines().count() == 1;
    // With fewer documents than clusters, or none at all, the message is about that.
    let is_fine = match code {
        Some(0) => stderr.is_empty(),
        Some(1 | 2) => refused || stderr.contains("n-clusters") || stderr.contains("no term"),
        _ => false,
    };
    assert!(is_fine, "{what}: {code:?}, {stderr}");
}

#[test]
fn damage_is_refused_with_the_name_of_the_file() {
    let place = Place::new();
    // The pages are at the beginning: their headers, lengths, texts. (The library's own tests go
    // through every byte.)
    for properties in [WriterProperties::default(), delta_length()] {
        write_texts(&place.path("good.parquet"), PETS.lines(), properties);
        let good = std::fs::read(place.path("good.parquet")).unwrap();
        for at in 4..130 {
            let mut damaged = good.clone();
            damaged[at] ^= 0xff;
            place.write("bad.parquet", damaged);
            let done = place.run("cluster bad.parquet -k 2 -o bad --force --quiet --no-report");
            assert_done_or_refused(&done, "bad.parquet", &format!("byte {at}"));
        }
    }
    place.ok("cluster good.parquet -k 2 -o good --assignments parquet");
    let good = std::fs::read(place.path("good.parquet")).unwrap();

    // A page of four values in encoding 0, said to be in encoding 8: keys of a dictionary, where
    // there is none.
    let plain = WriterProperties::builder().set_dictionary_enabled(false).build();
    let schema = "required int64 id; required binary text (UTF8);";
    let columns = [Values::int64([10, 20, 30, 40]), Values::texts(PETS.lines())];
    write_parquet(&place.path("ids.parquet"), schema, &columns, plain);
    place.ok("cluster ids.parquet -k 2 -o ids");
    let mut damaged = std::fs::read(place.path("ids.parquet")).unwrap();
    let header = [0x15, 8, 0x15, 0, 0x15, 6];
    let at = damaged.windows(6).position(|bytes| bytes == header).expect("a page header");
    damaged[at + 3] = 16;
    place.write("bad.parquet", damaged);
    let done = place.run("cluster bad.parquet -k 2 -o keys");
    let expected = "docsphere: error: bad.parquet: not valid Parquet: expected a dictionary before its keys, found none \
                    (in column \"id\")\n";
    assert_eq!((done.code, &done.stderr[..]), (Some(1), expected));

    place.write("bad.parquet", &good[..good.len() / 2]);
    let done = place.run("cluster bad.parquet -k 2 -o cut");
    assert_eq!(done.code, Some(1));
    let expected =
        "docsphere: error: bad.parquet: not valid Parquet: expected PAR1 as the last four bytes, found ";
    assert!(done.stderr.starts_with(expected), "{}", done.stderr);

    // Our own results are read again, too.
    let good = std::fs::read(place.path("good/assignments.parquet")).unwrap();
    for at in (4..good.len()).step_by(good.len() / 25) {
        let mut damaged = good.clone();
        damaged[at] ^= 0x80;
        place.write("good/assignments.parquet", damaged);
        let done = place.run("verify good good.parquet");
        let is_fine = matches!(done.code, Some(0 | 1)) && !done.stderr.contains("panicked");
        assert!(is_fine, "byte {at}: {:?}, {}", done.code, done.stderr);
    }
}

/// 1.2 GB of text, in a file of a few hundred kilobytes and 600 MiB of address space. (Threads
/// reserve much of that, and use little.)
#[cfg(target_os = "linux")]
#[test]
fn a_value_that_repeats_takes_the_memory_of_one() {
    const LIMIT_KB: usize = 600 << 10;
    let place = Place::new();
    let text = "cats purr and dogs bark. ".repeat(12_000); // 300 KB
    let texts = std::iter::repeat_n(&text[..], 4096).chain(["birds sing", "fish swim"]);
    write_texts(&place.path("bomb.parquet"), texts, WriterProperties::default());
    let size = std::fs::metadata(place.path("bomb.parquet")).unwrap().len();
    assert!(size < 2 * text.len() as u64, "the text stands in the file once or twice: {size} bytes");
    let script = format!("ulimit -v {LIMIT_KB} && exec \"$0\" \"$@\"");
    let words = "vectorize bomb.parquet -o out --threads 2";
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_docsphere")]).args(words.split(' '));
    let done = command.current_dir(place.path("")).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
}
