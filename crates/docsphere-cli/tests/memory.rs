//! Memory: `--max-memory` holds, whatever a file promises or unpacks to.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use docsphere::{SparseRows, formats};
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::command::{Done, Place};

/// The limit of these tests, as it is typed and in bytes.
const LIMIT: (&str, u64) = ("100M", 100_000_000);

/// Runs words and watches the most memory that the process holds. It is looked at every
/// millisecond, in which a process does not read more than a few megabytes; where the system does
/// not tell, it is 0.
fn run_watched(place: &Place, words: &str) -> (Done, u64) {
    let mut child = place.spawn(words);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(1024 * kilobytes.unwrap_or(0));
        thread::sleep(Duration::from_millis(1));
    }
    (child.wait_with_output().unwrap().into(), peak)
}

/// Runs words with the limit. They must be refused with a message that begins and ends so, and
/// without more memory than is allowed.
#[track_caller]
fn assert_refused(place: &Place, words: &str, begin: &str, end: &str) {
    let (done, peak) = run_watched(place, &format!("{words} --max-memory {} --threads 2", LIMIT.0));
    assert_eq!(done.code, Some(1), "{words}: {}", done.stderr);
    assert!(done.stderr.starts_with(&format!("docsphere: error: {begin}")), "{words}: {}", done.stderr);
    assert!(done.stderr.ends_with(&format!("{end}\n")), "{words}: {}", done.stderr);
    assert!(peak <= LIMIT.1, "{words}: {peak} bytes were held; {}", done.stderr);
    assert!(!place.path("out").exists());
}

/// An archive as SciPy writes it, of so many entries, all zero: a small part of their size.
fn write_npz_of_zeros(path: &Path, n_entries: usize) {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path).unwrap()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1));
    let mut member = |name: &str, kind: &str, shape: &str, start: &[u8], n_zeros: usize| {
        archive.start_file(name, options).unwrap();
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(header.as_bytes()).unwrap();
        archive.write_all(start).unwrap();
        let zeros = vec![0; 1 << 20];
        let mut left = n_zeros;
        while left > 0 {
            let now = left.min(zeros.len());
            archive.write_all(&zeros[..now]).unwrap();
            left -= now;
        }
    };
    let numbers =
        |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let shape = format!("({n_entries},)");
    member("format.npy", "|S3", "()", b"csr", 0);
    member("shape.npy", "<i8", "(2,)", &numbers(&[2, 10]), 0);
    member("indptr.npy", "<i8", "(3,)", &numbers(&[0, 1, n_entries as u64]), 0);
    member("indices.npy", "<i4", &shape, &[], 4 * n_entries);
    member("data.npy", "<f4", &shape, &[], 4 * n_entries);
    archive.finish().unwrap();
}

/// Writes so many copies of a text, packed with gzip.
fn write_gzip(path: &Path, text: &[u8], n_copies: usize) {
    let mut out = GzEncoder::new(File::create(path).unwrap(), flate2::Compression::fast());
    (0..n_copies).for_each(|_| out.write_all(text).unwrap());
    out.finish().unwrap();
}

#[test]
fn a_small_archive_of_many_zeros_is_refused() {
    let place = Place::new();
    write_npz_of_zeros(&place.path("zeros.npz"), 30_000_000);
    assert!(fs::metadata(place.path("zeros.npz")).unwrap().len() < 5_000_000);
    let end = " MB or more, but --max-memory allows 100 MB; give another file, if this one should not be so large, or raise --max-memory";
    assert_refused(&place, "cluster zeros.npz -k 2 -o out", "zeros.npz: reading the matrix takes 1", end);
    // The same as seeds, and packed once more.
    place.write("two.svmlight", "0 1:1\n0 2:1\n");
    let words = "cluster two.svmlight -k 2 -o out --init zeros.npz";
    assert_refused(&place, words, "zeros.npz: reading the matrix takes 1", end);
    write_gzip(&place.path("more.npz.gz"), &[0; 1_000_000], 300);
    let begin = "more.npz.gz: reading the unpacked file takes 1";
    assert_refused(&place, "cluster more.npz.gz -k 2 -o out", begin, end);
}

#[test]
fn a_record_that_never_ends_is_refused_packed_or_not() {
    let place = Place::new();
    File::create(place.path("plain.txt")).unwrap().set_len(300_000_000).unwrap();
    write_gzip(&place.path("packed.txt.gz"), &[b'x'; 1_000_000], 300);
    let mut out = zstd::Encoder::new(File::create(place.path("packed.txt.zst")).unwrap(), 1).unwrap();
    (0..300).for_each(|_| out.write_all(&[b'x'; 1_000_000]).unwrap());
    out.finish().unwrap();
    let end = " MB or more, but --max-memory allows 100 MB; cut it into shorter ones, if it is no mistake, or raise --max-memory";
    for (file, options) in [
        // Zeros, which are binary data unless the encoding is named.
        ("plain.txt", "--encoding utf-8"),
        ("packed.txt.gz", ""),
        ("packed.txt.zst", ""),
        ("packed.txt.gz", "--format jsonl"),
        ("packed.txt.zst", "--format csv"),
        ("plain.txt", "--format tsv --encoding utf-8"),
    ] {
        let begin = format!("{file}:1: reading a long record takes 1");
        assert_refused(&place, &format!("cluster {file} -k 2 -o out {options}"), &begin, end);
    }
    // As a file of a folder; and as a row of a matrix.
    fs::create_dir(place.path("folder")).unwrap();
    fs::rename(place.path("packed.txt.gz"), place.path("folder/packed.gz")).unwrap();
    let begin = "folder/packed.gz: reading a long record takes 1";
    assert_refused(&place, "cluster folder -k 2 -o out", begin, end);
    let end = " MB or more, but --max-memory allows 100 MB; give another file, if this one should not be so large, or raise --max-memory";
    let begin = "packed.txt.zst:1: reading a line takes 1";
    assert_refused(&place, "cluster packed.txt.zst --format svmlight -k 2 -o out", begin, end);
}

#[test]
fn more_terms_than_there_is_room_for_are_refused() {
    let place = Place::new();
    let words: Vec<String> = (0..4_000_000).map(|number: u32| format!("w{number:x}")).collect();
    let end = " MB or more, but --max-memory allows 100 MB; drop rare terms with --min-df 2, or give fewer documents, or raise --max-memory";
    // In one document that is just short enough, and in many.
    for (file, n_words, words_a_line) in [("one.txt", 1_000_000, 1_000_000), ("many.txt", 4_000_000, 20)] {
        let lines: Vec<String> = words[..n_words].chunks(words_a_line).map(|line| line.join(" ")).collect();
        place.write(file, lines.join("\n"));
        let (done, peak) =
            run_watched(&place, &format!("cluster {file} -k 1 -o out --max-memory 100M --threads 2"));
        assert_eq!(done.code, Some(1), "{file}");
        assert!(
            done.stderr.contains("reading the ") && done.stderr.ends_with(&format!("{end}\n")),
            "{}",
            done.stderr
        );
        assert!(peak <= LIMIT.1, "{file}: {peak} bytes were held; {}", done.stderr);
    }
}

#[test]
fn rare_terms_that_are_dropped_need_not_fit() {
    let place = Place::new();
    // Four million words that are in one document each, and forty that are in many.
    let line = |number: u32| {
        let rare: Vec<String> = (0..20).map(|word| format!("w{:x}", 20 * number + word)).collect();
        format!("{} often{} also{}", rare.join(" "), number % 17, number % 23)
    };
    place.write("many.txt", (0..200_000).map(line).collect::<Vec<_>>().join("\n"));
    let words = "cluster many.txt -k 2 --init random --max-iter 2 --effort fast -q --no-report --threads 2";
    let (done, _) = run_watched(&place, &format!("{words} -o limited --max-memory 200M"));
    assert!(done.stderr.contains("drop rare terms with --min-df 2"), "{}", done.stderr);
    let words = format!("{words} --min-df 2");
    let (done, peak) = run_watched(&place, &format!("{words} -o limited --max-memory 200M"));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(peak <= 200_000_000, "{peak} bytes were held");
    place.ok(&format!("{words} -o out"));
    for name in ["assignments.csv", "model.docsphere"] {
        let read = |out: &str| fs::read(place.path(out).join(name)).unwrap();
        assert!(read("limited") == read("out"), "{name} differs");
    }
}

#[test]
fn a_packed_file_may_unpack_to_more_than_the_limit_if_its_records_are_short() {
    let place = Place::new();
    // 150 MB of log lines in less than 2 MB.
    let mut out =
        GzEncoder::new(File::create(place.path("log.txt.gz")).unwrap(), flate2::Compression::fast());
    for number in 0..30_000 {
        let line = format!("request {} from host{} answered ", number % 7, number % 11).repeat(150);
        writeln!(out, "{line}").unwrap();
    }
    out.finish().unwrap();
    assert!(fs::metadata(place.path("log.txt.gz")).unwrap().len() < 3_000_000);
    let words = "cluster log.txt.gz -k 2 --keep-numbers -o out -q --no-report --threads 2 --max-memory 100M";
    let (done, peak) = run_watched(&place, words);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(peak <= LIMIT.1, "{peak} bytes were held");
}

#[test]
fn files_beside_the_input_are_bounded_too() {
    let place = Place::with_pets();
    place.write("two.svmlight", "0 1:1\n0 2:1\n");
    // As long as nothing that a run writes, and all of it holes.
    for name in ["huge.docsphere", "huge.check", "huge.words"] {
        File::create(place.path(name)).unwrap().set_len(1 << 42).unwrap();
    }
    let too_large = "; give another file, if this one should not be so large, or raise --max-memory";
    for (words, begin, end) in [
        (
            "cluster pets.txt -k 2 -o out --stop-words-file huge.words",
            "huge.words: has more than 10 MB, the most that is read of the stop words",
            "; give another file",
        ),
        (
            "cluster two.svmlight -k 2 -o out --vocabulary huge.words",
            "huge.words:1: a line of more than 1.0 MB, the longest that is read of the names of the columns",
            "",
        ),
        (
            "cluster pets.txt -k 2 -o out --resume huge.check",
            "huge.check: reading the docsphere checkpoint takes 1",
            too_large,
        ),
    ] {
        assert_refused(&place, words, begin, end);
    }
    // A list of words that is allowed, but not with so little memory.
    place.write("short.words", "a\n".repeat(1_000_000));
    let begin = "short.words: reading the stop words takes 3";
    assert_refused(&place, "cluster pets.txt -k 2 -o out --stop-words-file short.words", begin, too_large);
    place.write("names", "a\n".repeat(5_000_000));
    let begin = "names: reading the names of the columns takes 1";
    assert_refused(&place, "cluster two.svmlight -k 2 -o out --vocabulary names", begin, too_large);

    // What the other commands load: no machine has so much.
    let end = ", but this machine has left ";
    place.ok("cluster pets.txt -k 2 -o result -q");
    let huge = |name: &str| {
        let path = place.path("result").join(name);
        fs::rename(&path, place.path("aside")).unwrap();
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
    };
    for (name, what, commands) in [
        ("clusters.json", "the clusters", &["report result", "merge result -g 1", "inspect result"][..]),
        ("groups.json", "the groups", &["report result", "merge result -g 1"]),
        ("map.json", "the map", &["report result"]),
        ("trace.json", "the trace", &["report result"]),
        (
            "model.docsphere",
            "the docsphere model",
            &["assign result pets.txt", "inspect result", "verify result pets.txt", "export result -o other"],
        ),
    ] {
        huge(name);
        for words in commands {
            let (done, peak) = run_watched(&place, words);
            assert_eq!(done.code, Some(1), "{words}");
            let begin = format!("docsphere: error: result/{name}: reading {what} takes ");
            assert!(done.stderr.starts_with(&begin) && done.stderr.contains(end), "{words}: {}", done.stderr);
            assert!(peak <= LIMIT.1, "{words}: {peak}");
        }
        fs::rename(place.path("aside"), place.path("result").join(name)).unwrap();
    }
    place.ok("report result");
}

#[test]
fn the_forecast_covers_long_rows() {
    let place = Place::new();
    // 300 rows of 20,000 of 40,000 terms: 48 MB.
    let (n_rows, n_entries, n_terms) = (300, 20_000, 40_000);
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for _ in 0..n_rows {
        for entry in 0..n_entries {
            terms.push(2 * entry + (draw() & 1) as u32);
            values.push(1.0 + (draw() % 100) as f32);
        }
    }
    let offsets: Vec<u64> = (0..=n_rows).map(|row| row * u64::from(n_entries)).collect();
    let rows = SparseRows::from_parts(n_terms, offsets, terms, values).unwrap();
    formats::write(place.path("long.npz"), &rows).unwrap();
    let mut found = Vec::new();
    for strategy in ["auto", "inverted", "ncc", "inverted --silhouette"] {
        let words = format!(
            "cluster long.npz -k 10 --max-iter 4 --threads 2 --strategy {strategy} -o out -q --no-report --force"
        );
        // A limit that suffices for reading, but not for the run, tells the forecast.
        let done = place.run(&format!("{words} --max-memory 95M"));
        let forecast = done.stderr.strip_prefix("docsphere: error: clustering may need up to ");
        let forecast = forecast.and_then(|text| text.split_once(" MB")).map(|(number, _)| number.to_owned());
        let forecast = forecast.unwrap_or_else(|| panic!("{strategy}: {}", done.stderr));
        // What is held when the forecast is made differs by some megabytes from run to run.
        let allowed = forecast.parse::<u64>().unwrap() + 10;
        place.ok(&format!("{words} --max-memory {allowed}M"));
        let peak = place.json("out/trace.json")["peak_memory_bytes"].as_u64().unwrap_or(0);
        assert!(peak <= 1_000_000 * allowed, "{strategy}: {peak} bytes were held, {allowed} MB were allowed");
        if !strategy.ends_with("--silhouette") {
            found.push(place.assignments("out"));
        }
    }
    assert!(
        found.len() == 3 && found.windows(2).all(|pair| pair[0] == pair[1]),
        "however few rows are taken at a time"
    );
}

/// While one large file is parsed, chunks of small files wait, and are decompressed ahead.
#[test]
fn many_small_files_behind_a_large_one_take_little() {
    let place = Place::new();
    let folder = place.path("texts");
    fs::create_dir(&folder).unwrap();
    let words = ["alpha", "beta", "gamma", "delta"];
    let line = |n: usize| (0..30).map(|i| words[(n * 7 + i * i) % 4]).collect::<Vec<_>>().join(" ") + "\n";
    fs::write(folder.join("0.txt"), (0..25_000).map(line).collect::<String>()).unwrap();
    for n in 1..1_500 {
        write_gzip(&folder.join(format!("{n}.txt.gz")), line(n).as_bytes(), 2);
    }
    for threads in [1, 4] {
        let words = format!(
            "vectorize texts --format lines --glob * -o out{threads} --ngrams 1..3 --stem english --threads {threads}"
        );
        let (done, peak) = run_watched(&place, &words);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(peak <= LIMIT.1, "{threads} threads: {peak} bytes were held");
    }
}

/// Rows that do not fit beside the run are clustered from a file, with the same result.
#[test]
fn a_run_that_does_not_fit_goes_on_from_a_file() {
    let place = Place::new();
    let mut state = 7u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut lines = String::new();
    for _ in 0..200_000 {
        let topic = draw(40);
        let words = (0..36).map(|word| match word % 3 {
            0 => format!("w{}", draw(3_000)),
            _ => format!("t{topic}x{}", draw(400)),
        });
        lines.push_str(&words.collect::<Vec<_>>().join(" "));
        lines.push('\n');
    }
    place.write("docs.txt", lines);
    let words = "cluster docs.txt -k 40 --max-iter 6 --threads 2 -q --no-report --force";
    place.ok(&format!("{words} -o whole"));
    let done = place.run(&format!("{words} -o out --max-memory 120M"));
    let forecast = done.stderr.strip_prefix("docsphere: error: clustering may need up to ");
    let forecast = forecast.and_then(|text| text.split_once(" MB")).map(|(number, rest)| {
        assert!(rest.contains("the matrix is in a file"), "{rest}");
        number.parse::<u64>().unwrap()
    });
    // With more memory allowed, counts are in memory before the rows go to a file.
    let allowed = forecast.unwrap_or_else(|| panic!("not refused: {}", done.stderr)) + 20;
    assert!(
        !place.path("out").exists() && fs::read_dir(place.path(".")).unwrap().count() == 2,
        "nothing is left"
    );
    let (done, peak) = run_watched(&place, &format!("{words} -o out --max-memory {allowed}M"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(peak <= allowed * 1_000_000, "{peak} bytes were held, {allowed} MB were allowed");
    for name in ["assignments.csv", "model.docsphere", "clusters.json", "groups.json"] {
        assert!(
            fs::read(place.path("out").join(name)).unwrap()
                == fs::read(place.path("whole").join(name)).unwrap(),
            "{name}"
        );
    }
    place.ok("verify out --sample 500");
    place.ok("verify out");
    // What is kept serves as before.
    place.write("more.txt", "t1x1 t1x2 t1x3\nt2x1 t2x2 t2x3\n");
    for out in ["out", "whole"] {
        place.ok(&format!("add {out} more.txt -q"));
    }
    let more = |name: &str| fs::read(place.path(name).join("assignments.csv")).unwrap();
    assert!(more("out") == more("whole"));
}
