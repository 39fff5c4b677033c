//! Pieces, read one after the other, are the whole.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;

use super::super::CorpusStats;
use super::super::tests::{Folder, Pairs, read_all, skipping};
use super::*;

type Found = Result<(Pairs, CorpusStats), String>;

/// Sends pieces to a worker and back.
fn sent(pieces: &[CorpusPiece]) -> Vec<CorpusPiece> {
    let back: Vec<CorpusPiece> = serde_json::from_str(&serde_json::to_string(pieces).unwrap()).unwrap();
    assert_eq!(back, pieces);
    back
}

/// Reads the pieces `per_corpus` at a time, each group as a corpus of its own.
fn read_pieces(pieces: &[CorpusPiece], options: &CorpusOptions, per_corpus: usize) -> Found {
    let mut pieces = sent(pieces);
    let n_lines: Vec<_> = pieces.iter().map(|piece| piece.count_lines().unwrap()).collect();
    CorpusPiece::number_lines(&mut pieces, &n_lines).unwrap();
    let (mut pairs, mut stats) = (Vec::new(), CorpusStats::default());
    for group in pieces.chunks(per_corpus) {
        let corpus = Corpus::from_pieces(group, options.clone()).unwrap().with_chunk_bytes(7);
        let (found, found_stats) = read_all(&corpus).map_err(|error| error.to_string())?;
        assert!(found_stats.bytes_read <= corpus.bytes_total());
        pairs.extend(found);
        stats += found_stats;
    }
    stats.check_encoding(options).map_err(|error| error.to_string())?;
    Ok((pairs, stats))
}

fn read_whole(corpus: &Corpus) -> Found {
    read_all(corpus).map_err(|error| error.to_string())
}

fn assert_divides(paths: &[PathBuf], options: &CorpusOptions, n: usize) {
    let corpus = Corpus::open(paths, options.clone()).unwrap();
    let expected = read_whole(&corpus);
    let pieces = corpus.pieces(n).unwrap();
    let n_bytes: u64 = pieces.iter().map(CorpusPiece::n_bytes).sum();
    assert_eq!(n_bytes, corpus.bytes_total());
    for per_corpus in [1, 2, pieces.len()] {
        assert_eq!(read_pieces(&pieces, options, per_corpus), expected, "{n} pieces, {per_corpus} at a time");
    }
}

/// Pieces of one file, cut at these bytes.
fn cut_at(corpus: &Corpus, cuts: &[u64]) -> Vec<CorpusPiece> {
    let whole = &corpus.pieces(1).unwrap()[0];
    let Part::File { stamp } = whole.part else { panic!("{whole:?}") };
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([stamp.n_bytes]);
    let part = |(start, end)| Part::Lines { stamp, start, end, first_line: (start == 0).then_some(1) };
    starts.zip(ends).map(|range| CorpusPiece { part: part(range), ..whole.clone() }).collect()
}

/// Texts with every kind of line end, some without any document.
const TEXTS: [&str; 12] = [
    "a\nb\nc\n",
    "a\r\nbé\r\n\r\nc",
    "\n\n\n",
    "\r\n\n",
    "\u{feff}a\n\u{feff}b\n",
    "\u{feff}",
    "\u{feff}\n",
    "",
    "one line that has no end",
    "東京\n東\n\n京",
    "{\"text\":\"é\"}\r\n\n{\"text\":1,\"id\":7}",
    "{\"text\":\"x\"}\n{bad\n{\"text\":\"y\"}\n{worse",
];

#[test]
fn a_file_may_be_cut_at_every_byte() {
    let folder = Folder::new();
    for name in ["d.txt", "d.jsonl"] {
        for text in TEXTS {
            let path = folder.file(name, text);
            for options in [CorpusOptions::default(), skipping()] {
                let corpus = Corpus::open([&path], options.clone()).unwrap();
                let expected = read_whole(&corpus);
                let n_bytes = text.len() as u64;
                // No piece is empty at the end of a file.
                let last = n_bytes.saturating_sub(1);
                for first in 0..=last {
                    for second in [first, (first + 1).min(last), (first + 7).min(last), last] {
                        let pieces = cut_at(&corpus, &[first, second]);
                        let found = read_pieces(&pieces, &options, 1);
                        assert_eq!(found, expected, "{text:?} in {name} cut at {first} and {second}");
                        assert_eq!(read_pieces(&pieces, &options, 2), expected);
                    }
                }
                let every: Vec<u64> = (0..n_bytes).collect();
                assert_eq!(read_pieces(&cut_at(&corpus, &every), &options, 1), expected, "{text:?}");
            }
        }
    }
}

#[test]
fn lines_longer_than_a_buffer_and_many_lines_are_cut() {
    let folder = Folder::new();
    let long = "word ".repeat(120_000);
    let lines: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
    let path = folder.file("d.txt", format!("a\n{long}\nb\n{lines}{long}"));
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let expected = read_all(&corpus).unwrap();
    for n in [1, 2, 3, 8, 29] {
        let mut pieces = corpus.pieces(n).unwrap();
        assert_eq!(pieces.len(), n);
        let n_lines: Vec<_> = pieces.iter().map(|piece| piece.count_lines().unwrap()).collect();
        assert_eq!(n_lines.last(), Some(&None));
        CorpusPiece::number_lines(&mut pieces, &n_lines).unwrap();
        let (mut pairs, mut stats) = (Vec::new(), CorpusStats::default());
        for piece in pieces {
            let part = Corpus::from_pieces(&[piece], CorpusOptions::default()).unwrap();
            let (found, found_stats) = read_all(&part).unwrap();
            assert_eq!(found_stats.bytes_read, part.bytes_total());
            pairs.extend(found);
            stats += found_stats;
        }
        assert!((pairs, stats) == expected, "{n} pieces");
    }
}

#[test]
fn pieces_are_about_as_many_as_wanted_and_of_similar_size() {
    let folder = Folder::new();
    let lines = folder.file("a.jsonl", "{\"text\":\"word\"}\n".repeat(600));
    let small = folder.file("b.txt", "one\ntwo\n");
    let whole = folder.file("c.csv", format!("text\n{}", "word\n".repeat(300)));
    for number in 0..50 {
        folder.file(&format!("dir/{number}.txt"), "word ".repeat(number * 4));
    }
    let paths = [lines, small, whole, folder.0.path().join("dir")];
    let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap();
    for n in [0, 1, 2, 10, 64] {
        let pieces = corpus.pieces(n).unwrap();
        let least = n.max(paths.len());
        assert!(
            (least.min(n * 8 / 10)..=n + paths.len()).contains(&pieces.len()),
            "{} for {n}",
            pieces.len()
        );
        let most = corpus.bytes_total() * 2 / n.max(1) as u64;
        for piece in pieces.iter().filter(|piece| !piece.path().ends_with("c.csv")) {
            assert!(piece.n_bytes() <= most.max(1000), "{piece:?} for {n}");
        }
    }
    assert!(matches!(&divide_items(&[], 3)[..], [Range { start: 0, end: 0 }]));
    assert_eq!(divide_items(&[1, 1, 1, 1], 2), [0..2, 2..4]);
    assert_eq!(divide_items(&[0, 0, 9, 0], 9).len(), 3);
}

#[test]
fn no_pieces_are_an_empty_corpus_and_pieces_of_pieces_are_the_same() {
    let none = Corpus::from_pieces(&[], CorpusOptions::default()).unwrap();
    assert_eq!(read_all(&none).unwrap(), (Vec::new(), CorpusStats::default()));
    let folder = Folder::new();
    let path = folder.file("d.txt", "a\nb\nc\nd\n");
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let pieces: Vec<_> =
        corpus.pieces(2).unwrap().into_iter().map(|piece| piece.with_first_line(3)).collect();
    let part = Corpus::from_pieces(&pieces[1..], CorpusOptions::default()).unwrap();
    assert_eq!(part.pieces(5).unwrap(), pieces[1..]);
    fs::create_dir(folder.0.path().join("none")).unwrap();
    let empty = Corpus::open([folder.0.path().join("none")], CorpusOptions::default()).unwrap();
    assert_eq!(read_pieces(&empty.pieces(4).unwrap(), empty.options(), 1), read_whole(&empty));
}

#[test]
fn a_file_that_changed_or_vanished_is_refused_by_name() {
    let folder = Folder::new();
    let lines = folder.file("d.txt", "one\ntwo\nthree\n");
    let packed = folder.file("d.csv.gz", "text\none\n");
    let nested = folder.file("dir/deep/e.txt", "four");
    let paths = [lines, packed, folder.0.path().join("dir")];
    let files = [&paths[0], &paths[1], &nested];
    for (path, name) in files.into_iter().zip(["d.txt", "d.csv.gz", "dir/deep/e.txt"]) {
        let content = fs::read(path).unwrap();
        let message = || {
            let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap();
            let pieces = corpus.pieces(6).unwrap();
            let read = move |folder: &Folder| {
                let pieces: Vec<_> = pieces
                    .iter()
                    .enumerate()
                    .map(|(at, piece)| piece.clone().with_first_line(at as u64 + 1))
                    .collect();
                let corpus = Corpus::from_pieces(&pieces, CorpusOptions::default()).unwrap();
                folder.strip(&read_all(&corpus).unwrap_err())
            };
            (read, corpus.pieces(6).unwrap())
        };
        let (read, pieces) = message();
        fs::write(path, [&content[..], b"x"].concat()).unwrap();
        let change = format!("it had {} bytes and now has {}", content.len(), content.len() + 1);
        let changed = format!("{name}: cannot read: it has changed since the corpus was divided: ");
        assert_eq!(read(&folder), format!("{changed}{change}"));
        if name == "d.txt" {
            assert_eq!(folder.strip(&pieces[0].count_lines().unwrap_err()), format!("{changed}{change}"));
        }
        fs::write(path, &content).unwrap();
        let (read, _) = message();
        let long_ago = UNIX_EPOCH + Duration::from_secs(1 << 30);
        File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(read(&folder), format!("{changed}its modification time is another"));
        let (read, _) = message();
        fs::remove_file(path).unwrap();
        assert_eq!(
            read(&folder),
            format!(
                "{name}: cannot read: it is not there, but was when the corpus was divided; every node must see it"
            )
        );
        fs::write(path, &content).unwrap();
    }
}

#[test]
fn streams_are_not_divided() {
    let options = CorpusOptions::default().format(CorpusFormat::Lines);
    let corpus = Corpus::open(["/dev/null"], options).unwrap();
    assert_eq!(
        corpus.pieces(3).unwrap_err().to_string(),
        "/dev/null: dividing standard input, a pipe or a device is not supported; \
         put it into a file that every node can read"
    );
}

#[test]
fn pieces_without_their_line_number_are_refused() {
    let folder = Folder::new();
    let corpus = Corpus::open([folder.file("d.txt", "a\nb\nc\nd\n")], CorpusOptions::default()).unwrap();
    let mut pieces = corpus.pieces(2).unwrap();
    let message = |pieces: &[CorpusPiece]| {
        folder.strip(&Corpus::from_pieces(pieces, CorpusOptions::default()).unwrap_err())
    };
    let expected = "d.txt: first_line must be from 2 to 5 for the piece at byte 4 \
                    (see CorpusPiece::number_lines), got ";
    assert_eq!(message(&pieces[1..]), format!("{expected}none"));
    assert_eq!(message(&[pieces[1].clone().with_first_line(1)]), format!("{expected}1"));
    assert_eq!(message(&[pieces[1].clone().with_first_line(u64::MAX)]), format!("{expected}{}", u64::MAX));
    let mut number = |n_lines: &[Option<u64>]| {
        let error = CorpusPiece::number_lines(&mut pieces, n_lines).unwrap_err();
        error.to_string().replace(&format!("{}/", folder.0.path().display()), "")
    };
    assert_eq!(number(&[Some(2)]), "n_lines must be one count per piece, got 1 for 2");
    assert_eq!(
        number(&[None, None]),
        "n_lines must be the number of lines of every piece, got none for that before byte 4 of d.txt"
    );
    let json = serde_json::to_string(&pieces[0]).unwrap();
    for (from, to) in [("\"end\":4", "\"end\":400"), ("\"lines\"", "\"csv\""), ("\"lines\"", "\"folder\"")] {
        let changed = serde_json::from_str(&json.replace(from, to)).unwrap();
        let found = message(&[changed]);
        assert!(
            found.starts_with("d.txt: not valid piece of a corpus: expected a part that its format has"),
            "{found}"
        );
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf_8_are_refused() {
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    folder.file("dir/a", "x");
    let path = folder.0.path().join("dir").join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::write(&path, "x").unwrap();
    let corpus = Corpus::open([folder.0.path().join("dir")], CorpusOptions::default()).unwrap();
    let error = corpus.pieces(1).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    assert!(error.to_string().ends_with("an input whose name is not UTF-8 is not supported; rename it"));
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use ::parquet::file::properties::WriterProperties;
    use docsphere_testkit::parquet_files::{Values, write_parquet};

    use super::*;

    /// A file with this many rows per row group.
    fn write(folder: &Folder, name: &str, n_rows: usize, rows_per_group: usize) -> PathBuf {
        let path = folder.0.path().join(name);
        let texts = (0..n_rows).map(|row| Some(format!("text {row}")));
        let ids = (0..n_rows).map(|row| (row % 3 == 0).then(|| format!("id {row}")));
        let columns = [Values::some_texts(texts), Values::some_texts(ids)];
        let properties =
            WriterProperties::builder().set_max_row_group_row_count(Some(rows_per_group)).build();
        let schema = "required binary text (UTF8); optional binary id (UTF8);";
        write_parquet(&path, schema, &columns, properties);
        path
    }

    #[test]
    fn row_groups_are_divided_and_rows_numbered() {
        let folder = Folder::new();
        let options = CorpusOptions::default();
        for (n_rows, rows_per_group) in [(0, 1), (1, 1), (9, 1), (49, 7), (50, 100)] {
            let path = write(&folder, "d.parquet", n_rows, rows_per_group);
            let lines = folder.file("e.txt", "one\ntwo\n");
            for n in [1, 2, 3, 8, 1000] {
                let corpus = Corpus::open([&path], options.clone()).unwrap();
                let pieces = corpus.pieces(n).unwrap();
                assert_eq!(pieces.len(), n.min(n_rows.div_ceil(rows_per_group)).max(1), "{n} of {n_rows}");
                assert_divides(std::slice::from_ref(&path), &options, n);
                assert_divides(&[path.clone(), lines.clone()], &options, n);
            }
        }
    }

    #[test]
    fn damage_is_reported_where_the_whole_reports_it() {
        let folder = Folder::new();
        let path = write(&folder, "d.parquet", 40, 10);
        let content = fs::read(&path).unwrap();
        for position in (0..content.len()).step_by(5) {
            let mut changed = content.clone();
            changed[position] ^= 0x55;
            fs::write(&path, &changed).unwrap();
            let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
            let found = read_pieces(&corpus.pieces(4).unwrap(), corpus.options(), 1);
            assert_eq!(found, read_whole(&corpus), "byte {position}");
        }
    }
}

/// A part of a text.
fn token() -> impl Strategy<Value = &'static [u8]> {
    const TOKENS: [&[u8]; 16] = [
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"a",
        "é".as_bytes(),
        "東京".as_bytes(),
        "\u{feff}".as_bytes(),
        b"\xff\xfe",
        b" b,\"c\nd\"\t",
        b"\"",
        b"{\"text\":\"x\"}\n",
        b"{\"text\":\"y z\",\"id\":\"own\"}\n",
        b"{\"text\":\"\\ud83d\"}\r\n",
        b"{bad",
        b"a rather long line, compared with the others, and with the pieces\n",
    ];
    prop::sample::select(&TOKENS[..])
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let starts: [&[u8]; 9] = [
        b"",
        b"\xef\xbb\xbf",
        b"text\n",
        b"id,text\r\n",
        b"text\tid\n",
        b"sep=;\nid;text\n",
        b"[",
        b"Gr\xfc\xdfe aus K\xf6ln\n",
        b"\xff\xfea\0\n\0",
    ];
    (prop::sample::select(starts.to_vec()), prop::collection::vec(token(), 0..24))
        .prop_map(|(start, tokens)| [start, &tokens.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn pieces_read_one_after_the_other_are_the_whole(
        inputs in prop::collection::vec(
            (prop::sample::select(
                &["x.txt", "x.jsonl", "y.csv", "x.tsv", "x.txt.gz", "x.jsonl.zst", "folder"][..],
            ), prop::collection::vec(content(), 1..5)),
            1..4,
        ),
        n in 1usize..40,
        skip_bad_records in any::<bool>(),
    ) {
        let folder = Folder::new();
        let mut paths = Vec::new();
        for (number, (name, contents)) in inputs.iter().enumerate() {
            if *name == "folder" {
                for (file, content) in contents.iter().enumerate() {
                    folder.file(&format!("{number}/dir/{}{file}", ["", "deep/", "deep/er/"][file % 3]), content);
                }
                paths.push(folder.0.path().join(format!("{number}/dir")));
            } else {
                paths.push(folder.file(&format!("{number}/{name}"), &contents[0]));
            }
        }
        assert_divides(&paths, &CorpusOptions::default().skip_bad_records(skip_bad_records), n);
    }
}
