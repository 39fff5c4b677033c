//! Files and frames that are decompressed side by side give what one thread gives.

use super::*;
use crate::MemoryLimit;
use crate::error::Error;
use crate::threads::on_threads;

/// Lines of text, of which hardly any two are alike.
fn lines(n_lines: usize, salt: usize) -> String {
    let word = |number: usize| format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let line = |line: usize| {
        let words: Vec<String> = (0..8).map(|place| word(salt + 8 * line + place)).collect();
        words.join(" ") + "\n"
    };
    (0..n_lines).map(line).collect()
}

/// One file per frame or member, put together.
fn packed(ending: &str, parts: &[String]) -> Vec<u8> {
    let folder = Folder::new();
    let part = |part: &String| fs::read(folder.file(&format!("part{ending}"), part)).unwrap();
    parts.iter().flat_map(part).collect()
}

/// Documents and counts, or the message: the same for all numbers of threads.
fn read_on_all(folder: &Folder, paths: &[PathBuf]) -> Result<(Pairs, CorpusStats), String> {
    let read = |n_threads, n_unpacking| {
        let read = || {
            let corpus = Corpus::open(paths, CorpusOptions::default())?;
            read_all(&corpus.with_chunk_bytes(1 << 14).with_unpacking(n_unpacking))
        };
        on_threads(Some(n_threads), read).unwrap().map_err(|error: Error| folder.strip(&error))
    };
    let expected = read(1, 0);
    for n_threads in [1, 2, 7] {
        for n_unpacking in [0, 1, 3] {
            assert_eq!(read(n_threads, n_unpacking), expected, "{n_threads} and {n_unpacking} threads");
        }
    }
    expected
}

#[test]
fn files_and_frames_are_read_in_order_by_any_number_of_threads() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..5).map(|part| lines(9_000, part << 20)).collect();
    let put = |name: &str, content: &[u8]| {
        let path = folder.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let paths = [
        put("frames.txt", &packed(".zst", &parts)),
        put("plain.txt", parts[1].as_bytes()),
        put("members.txt", &packed(".gz", &parts[2..])),
        put("empty.txt", b""),
        put("one.txt", &packed(".zst", &parts[3..4])),
        put("records.csv", &packed(".gz", &["text\n\"a\nb\"\n".to_owned()])),
    ];
    let (found, stats) = read_on_all(&folder, &paths).unwrap();
    assert_eq!(stats.n_documents, 9_000 * (5 + 1 + 3 + 1) + 1);
    assert_eq!(stats.bytes_read, paths.iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>());
    let whole = parts.concat();
    let texts = |range: std::ops::Range<usize>| found[range].iter().map(|(_, text)| &text[..]);
    assert!(texts(0..45_000).eq(whole.lines()));
    assert!(texts(45_000..54_000).eq(parts[1].lines()));
    assert_eq!(found[44_999].0, "frames.txt:45000");
    assert_eq!(found.last().unwrap().1, "a\nb");
}

#[test]
fn damage_and_missing_files_have_the_same_messages() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..4).map(|part| lines(30_000, part << 20)).collect();
    let whole = packed(".zst", &parts);
    let frame = packed(".zst", &parts[..1]).len();
    let first = folder.file("a.txt.zst", &parts[0]);
    let put = |content: &[u8]| {
        let path = folder.0.path().join("b.txt");
        fs::write(&path, content).unwrap();
        path
    };
    let mut damaged = whole.clone();
    damaged[frame + frame / 2] ^= 1;
    for content in [&damaged[..], &whole[..2 * frame + frame / 2], &[&whole[..], b"garbage"].concat()] {
        let message = read_on_all(&folder, &[first.clone(), put(content)]).unwrap_err();
        assert!(message.starts_with("b.txt: not valid zstd: expected undamaged compressed"), "{message}");
    }
    for n_unpacking in [0, 3] {
        let paths = [first.clone(), put(&whole)];
        let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap().with_unpacking(n_unpacking);
        fs::remove_file(&paths[1]).unwrap();
        let message = folder.strip(&read_all(&corpus).unwrap_err());
        assert!(message.starts_with("b.txt: cannot read: "), "{message}");
    }
}

#[test]
fn reading_may_stop_early_and_within_the_memory_limit() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..4).map(|part| lines(30_000, part << 20)).collect();
    let path = folder.0.path().join("a.txt");
    fs::write(&path, packed(".zst", &parts)).unwrap();
    for n_unpacking in [0, 1, 3] {
        let open = |options| Corpus::open([&path], options).unwrap().with_unpacking(n_unpacking);
        let mut stop = |_: &Event<'_>| ControlFlow::Break(());
        let corpus = open(CorpusOptions::default()).with_chunk_bytes(1 << 12);
        let error = corpus.for_each_document_watched(&mut stop, |_| ()).unwrap_err();
        assert!(error.to_string().starts_with("stopped by the observer"), "{error}");
        let full = std::sync::atomic::AtomicU64::new(0);
        let held = move || full.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let limited = open(CorpusOptions { memory: MemoryLimit::new(3, held), ..CorpusOptions::default() });
        let error = limited.with_chunk_bytes(1 << 12).for_each_document(|_| ()).unwrap_err();
        assert!(matches!(error.kind(), crate::ErrorKind::Memory { .. }), "{error}");
    }
}
