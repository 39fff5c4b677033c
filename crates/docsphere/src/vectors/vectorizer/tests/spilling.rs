//! Corpora that go to files while they are counted: the same bits as in memory.

use std::fs::File;
use std::path::Path;

use super::*;
use crate::mapping::Scratch;
use crate::observer::Event;

/// The names in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    fs::read_dir(folder).unwrap().map(name).collect()
}

/// Records of which every fifth repeats an id.
fn write_records(path: &Path, documents: &[String]) {
    let record = |(number, text): (usize, &String)| {
        let id = format!("d{}", if number % 5 == 4 { number - 3 } else { number });
        format!("{}\n", serde_json::json!({ "id": id, "text": text }))
    };
    fs::write(path, documents.iter().enumerate().map(record).collect::<String>()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn spilled_corpora_are_those_in_memory(
        documents in prop::collection::vec("([a-dé]{1,3}|cats|cat|running|runs)?( ([a-d]{1,2}|cats|runs)){0,9}", 1..60),
        (text, tfidf) in options(),
        chunk_bytes in prop::sample::select(vec![1usize, 50, 400, 1 << 20]),
        split in prop::option::of(1u32..4),
        after_bytes in prop_oneof![Just(0u64), 1u64..2000, Just(u64::MAX)],
        terms_bytes in prop::option::of(prop_oneof![Just(0u64), 1u64..60_000]),
        is_named in any::<bool>(),
    ) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("d.jsonl");
        write_records(&path, &documents);
        let split = split.and_then(std::num::NonZeroU32::new).map(Split::Words);
        let corpus_options = CorpusOptions::default().split(split);
        let open = || Corpus::open([&path], corpus_options.clone()).unwrap().with_chunk_bytes(chunk_bytes);
        let vectorizer = Vectorizer::new().text(text).tfidf(tfidf);
        let expected = vectorizer.clone().n_threads(1).fit(&open());
        for n_threads in [1, 2, 7] {
            let folder = tempfile::tempdir().unwrap();
            let rows = folder.path().join("rows");
            let spill = Spill::new(folder.path()).rows(is_named.then(|| rows.clone())).after_bytes(after_bytes).terms_bytes(terms_bytes);
            let vectorizer = vectorizer.clone().n_threads(n_threads).spill(spill);
            let Ok(expected) = &expected else {
                prop_assert!(vectorizer.fit(&open()).is_err());
                prop_assert_eq!(names_in(folder.path()).len(), 0);
                continue;
            };
            let found = vectorizer.fit(&open()).unwrap();
            prop_assert_eq!(&found, expected);
            prop_assert!(found.rows.is_mapped() || after_bytes > 0);
            prop_assert!(!found.rows.is_mapped() || after_bytes < u64::MAX);
            let is_written = is_named && found.rows.is_mapped();
            prop_assert_eq!(names_in(folder.path()).len(), usize::from(is_written));
            if is_written {
                prop_assert_eq!(&UnitRows::open_mapped(&rows).unwrap(), &expected.rows);
                fs::remove_file(&rows).unwrap();
            }
            let counted = vectorizer.count(&open(), None, &mut Silent).unwrap();
            let part = counted.into_rows(&expected.model).unwrap();
            prop_assert_eq!((&part.rows, &part.ids, &part.stats), (&expected.rows, &expected.ids, &expected.stats));
        }
    }
}

#[cfg(feature = "languages")]
#[test]
fn languages_and_letters_are_summed_before_counts_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.txt");
    fs::write(&path, mixed().join("\n")).unwrap();
    let options = TextOptions::default().language("auto".to_owned()).stemmer("auto".to_owned());
    let corpus = || Corpus::open([&path], CorpusOptions::default()).unwrap().with_chunk_bytes(5_000);
    let expected = Vectorizer::new().text(options.clone()).n_threads(1).fit(&corpus()).unwrap();
    assert_eq!(expected.languages.n_uncertain(), 1000);
    for (n_threads, after_bytes) in [(1, 0), (2, 20_000), (7, 0)] {
        let spill = Spill::new(folder.path()).after_bytes(after_bytes);
        let vectorizer = Vectorizer::new().text(options.clone()).n_threads(n_threads).spill(spill);
        let found = vectorizer.fit(&corpus()).unwrap();
        assert!(found.rows.is_mapped() && found.ids.memory_bytes() == 0);
        assert_eq!(found, expected);
    }
    assert_eq!(names_in(folder.path()), ["d.txt"]);
}

#[test]
fn ids_rest_in_files_even_if_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["a b", "b c", "c a"];
    let vectorizer = Vectorizer::new().text(plain());
    let expected = vectorizer.fit_texts(&texts).unwrap();
    let spill = Spill::new(folder.path()).after_bytes(u64::MAX);
    let found = vectorizer.spill(spill).fit_texts(&texts).unwrap();
    assert!(!found.rows.is_mapped());
    assert_eq!((found.ids.memory_bytes(), found.ids.len()), (0, 3));
    assert_eq!(found, expected);
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn counts_of_every_size_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for most in [255, 256, 65_535, 65_536] {
        let texts = ["a ".repeat(most), "b a".to_owned(), "b c".to_owned()];
        let vectorizer = Vectorizer::new().text(plain());
        let expected = vectorizer.fit_texts(&texts).unwrap();
        assert_eq!(
            vectorizer.spill(Spill::new(folder.path())).fit_texts(&texts).unwrap(),
            expected,
            "{most}"
        );
    }
}

#[test]
fn rows_are_written_if_the_matrix_does_not_fit_beside_the_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.txt");
    let texts: Vec<String> =
        (0..40_000).map(|n| format!("w{} v{} u{} t{}", n % 7, n % 11, n % 13, n % 5)).collect();
    fs::write(&path, texts.join("\n")).unwrap();
    let fit = |limit: MemoryLimit, spill: Option<Spill>| {
        let options = CorpusOptions::default().memory(limit);
        let corpus = Corpus::open([&path], options).unwrap().with_chunk_bytes(10_000);
        Vectorizer::new().n_threads(1).spill(spill).fit(&corpus)
    };
    let expected = fit(MemoryLimit::default(), None).unwrap();
    let spill = || Some(Spill::new(folder.path()).after_bytes(u64::MAX));
    let mut n_written = 0;
    // With any limit, rows are written, or kept, or there is too little memory for other things.
    for bytes in (600_000..2_400_000).step_by(200_000) {
        let limit = || MemoryLimit::new(bytes, || 0);
        match (fit(limit(), None), fit(limit(), spill())) {
            (Ok(_), found) => assert!(!found.unwrap().rows.is_mapped()),
            (Err(_), Ok(found)) => {
                assert!(found.rows.is_mapped());
                assert_eq!(found, expected);
                n_written += 1;
            }
            (Err(_), Err(error)) => assert!(matches!(error.kind(), crate::ErrorKind::Memory { .. })),
        }
    }
    assert!(n_written > 0);
}

/// Stops the reading after so many documents.
struct StopAfter(u64);

impl Observer for StopAfter {
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Reading { n_documents, .. } if *n_documents >= self.0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn nothing_is_left_behind_by_failures() {
    let [home, folder] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let path = home.path().join("d.txt");
    fs::write(&path, "cats purr\n".repeat(1000)).unwrap();
    let corpus = || Corpus::open([&path], CorpusOptions::default()).unwrap().with_chunk_bytes(100);
    let rows = folder.path().join("rows");
    let vectorizer = Vectorizer::new().spill(Spill::new(folder.path()).rows(rows.clone()));
    let stopped = vectorizer.fit_watched(&corpus(), &mut StopAfter(500)).unwrap_err();
    assert!(matches!(stopped.kind(), crate::ErrorKind::Stopped { .. }), "{stopped}");
    assert_eq!(names_in(folder.path()).len(), 0);
    // A vectorizer that is dropped between the steps.
    drop(vectorizer.count(&corpus(), None, &mut Silent).unwrap());
    assert_eq!(names_in(folder.path()).len(), 0);
    // Files of others stay.
    fs::write(&rows, "mine").unwrap();
    let message = vectorizer.fit(&corpus()).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{}: cannot create: ", rows.display())), "{message}");
    assert_eq!(fs::read(&rows).unwrap(), b"mine");
    let nowhere = folder.path().join("nowhere");
    let message = Vectorizer::new().spill(Spill::new(&nowhere)).fit(&corpus()).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{}: cannot make a scratch file: ", nowhere.display())),
        "{message}"
    );
}

#[test]
fn a_full_disk_is_an_error_that_names_the_folder() {
    let Ok(full) = File::options().read(true).write(true).open("/dev/full") else { return };
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows");
    let mut files = SpillFiles::new(&Spill::new(folder.path()).rows(rows.clone())).unwrap();
    files.set_scratch(Scratch::of_file(full));
    let tokenizer = Tokenizer::new(&TextOptions::default()).unwrap();
    let counting = Counting::new(&tokenizer, &NO_LIMIT, Some(&files), None);
    let error = count_all(&counting, &["cats purr"], |_, text| ("1".into(), *text)).err().unwrap();
    let message = error.to_string();
    assert!(message.starts_with(&format!("{}: cannot write: ", folder.path().display())), "{message}");
    drop(files);
    assert_eq!(names_in(folder.path()).len(), 0);
}
