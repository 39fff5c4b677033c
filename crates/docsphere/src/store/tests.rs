//! Texts are read back unchanged, in any order; damage is an error that names the file.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::corpus::{Corpus, CorpusOptions, Document};
use crate::error::{ErrorKind, Result};
use crate::ids::DocId;
use crate::memory::MemoryLimit;
use crate::observer::Event;
use crate::vectors::Vectorizer;

type Pairs = Vec<(String, String)>;

fn write(folder: &Path, pairs: &[(String, String)], block_bytes: usize) -> TextStore {
    let mut writer = TextStoreWriter::create(folder.join("texts.store")).unwrap();
    writer.block_bytes = block_bytes;
    for (id, text) in pairs {
        writer.push(Document::new(id, text)).unwrap();
    }
    writer.finish().unwrap()
}

fn all(store: &TextStore) -> Result<Pairs> {
    let mut pairs = Vec::new();
    store.for_each_document(|document| pairs.push((document.id.to_owned(), document.text.to_owned())))?;
    Ok(pairs)
}

fn few() -> Pairs {
    (0..40).map(|n| (format!("id {n}"), format!("text {n} é ").repeat(n % 5))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn texts_come_back_identical_in_any_order(
        pairs in prop::collection::vec(("\\PC{0,6}", "(\\PC|\n|\0){0,60}"), 1..60),
        block_bytes in prop::sample::select(vec![1usize, 40, 300, 1 << 20]),
        asked in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
    ) {
        let folder = TempDir::new().unwrap();
        let written = write(folder.path(), &pairs, block_bytes);
        let opened = TextStore::open(written.path()).unwrap();
        let asked: Vec<DocId> = asked.iter().map(|at| DocId::new(at.index(pairs.len()) as u32)).collect();
        for store in [written, opened] {
            prop_assert_eq!(store.n_documents(), pairs.len() as u64);
            prop_assert_eq!(&all(&store).unwrap(), &pairs);
            let found = store.get_many(&asked).unwrap();
            prop_assert_eq!(found.len(), asked.len());
            for (doc, found) in asked.iter().zip(&found) {
                let (id, text) = &pairs[doc.index()];
                prop_assert_eq!((found.number, &found.id, &found.text), (u64::from(doc.number()), id, text));
                prop_assert_eq!(&store.get(*doc).unwrap(), found);
            }
        }
    }

    #[test]
    fn the_texts_of_a_corpus_are_stored_while_it_is_read(
        documents in prop::collection::vec("[a-dé ]{0,30}", 0..80),
        n_threads in prop::sample::select(vec![1usize, 2, 7]),
        chunk_bytes in prop::sample::select(vec![1usize, 50, 1 << 20]),
    ) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("d.txt");
        fs::write(&path, documents.iter().map(|text| format!("{text}\n")).collect::<String>()).unwrap();
        let open = || Corpus::open([&path], CorpusOptions::default()).unwrap().with_chunk_bytes(chunk_bytes);
        let store = |name: &str, n_threads| {
            let mut writer = TextStoreWriter::create(folder.path().join(name)).unwrap();
            let vectorizer = Vectorizer::new().n_threads(n_threads);
            let vectorized = vectorizer.fit_with_texts(&open(), &mut writer).unwrap();
            (vectorized, writer.finish().unwrap())
        };
        let (vectorized, texts) = store("a", n_threads);
        prop_assert_eq!(&vectorized, &Vectorizer::new().fit(&open()).unwrap());
        let expected: Pairs = vectorized.ids.iter().map(str::to_owned).zip(documents.iter().cloned()).collect();
        prop_assert_eq!(all(&texts).unwrap(), expected);
        store("b", 1);
        let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
        prop_assert_eq!(bytes("a"), bytes("b"), "threads leave no trace in the file");
    }
}

#[test]
fn long_and_empty_documents_have_blocks_of_their_own_size() {
    let folder = TempDir::new().unwrap();
    let long = "long ".repeat(700_000);
    let mut pairs = vec![("a".to_owned(), "short".to_owned()), ("b".to_owned(), long)];
    pairs.extend((0..300_000).map(|_| (String::new(), String::new())));
    pairs.push(("z".to_owned(), "last".to_owned()));
    let store = write(folder.path(), &pairs, block::BLOCK_BYTES);
    // One short, one long, and 2.4 MB of lengths.
    assert_eq!(all(&store).unwrap(), pairs);
    let blocks = |text: &str| text.split("n_blocks: ").nth(1).unwrap().trim_end_matches(" }").to_owned();
    assert_eq!(blocks(&format!("{store:?}")), "5");
    assert_eq!(store.get(DocId::new(300_002)).unwrap().text, "last");
}

#[test]
fn an_empty_store_is_a_store() {
    let folder = TempDir::new().unwrap();
    let store = write(folder.path(), &[], 100);
    assert_eq!((store.n_documents(), all(&store).unwrap()), (0, Vec::new()));
    assert_eq!(TextStore::open(store.path()).unwrap().n_documents(), 0);
    assert_eq!(store.get_many(&[]).unwrap(), []);
    assert_eq!(
        store.get(DocId::new(0)).unwrap_err().to_string(),
        format!(
            "{}: a document number must be below 0, the number of documents, got 0",
            store.path().display()
        )
    );
}

/// Opens a changed copy and reads everything. An error must name the file.
fn read_changed(folder: &Path, bytes: &[u8]) -> Result<Pairs> {
    let path = folder.join("changed");
    fs::write(&path, bytes).unwrap();
    let found = TextStore::open(&path).and_then(|store| all(&store));
    if let Err(error) = &found {
        assert_eq!(error.path(), Some(&*path), "{error}");
    }
    found
}

#[test]
fn every_flipped_bit_and_every_cut_is_an_error_that_names_the_file() {
    let folder = TempDir::new().unwrap();
    let store = write(folder.path(), &few(), 200);
    let bytes = fs::read(store.path()).unwrap();
    assert_eq!(read_changed(folder.path(), &bytes).unwrap(), few());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(read_changed(folder.path(), &changed).is_err(), "byte {at}, bit {bit}");
        }
    }
    for length in 0..bytes.len() {
        assert!(read_changed(folder.path(), &bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(read_changed(folder.path(), &[&bytes[..], b"x"].concat()).is_err());
}

#[test]
fn damage_is_told_in_words() {
    let folder = TempDir::new().unwrap();
    let store = write(folder.path(), &few(), 200);
    let bytes = fs::read(store.path()).unwrap();
    let message = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        let error = read_changed(folder.path(), &changed).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(
        message(&|bytes| bytes[8] = 2),
        "changed: written in format version 2, this build reads up to version 1; update docsphere to read it"
    );
    assert_eq!(
        message(&|bytes| bytes[0] = 0),
        "changed: not valid text store: expected a file that begins with the mark of a text store, found another kind of file"
    );
    assert_eq!(
        message(&|bytes| bytes[20] ^= 1),
        "changed: not valid text store: expected block 0 to match its checksum, found other content; the file is damaged"
    );
    assert_eq!(
        message(&|bytes| bytes.truncate(bytes.len() - 1)),
        "changed: not valid text store: expected a whole text store, found another end; the file is cut off or damaged"
    );
    // The file is truncated after it was opened.
    File::options().write(true).open(store.path()).unwrap().set_len(40).unwrap();
    let error = store.get(DocId::new(39)).unwrap_err();
    assert_eq!(error.path(), Some(store.path()));
}

#[test]
fn sizes_that_a_table_claims_are_not_believed() {
    let folder = TempDir::new().unwrap();
    let store = write(folder.path(), &few(), 1 << 20);
    let mut bytes = fs::read(store.path()).unwrap();
    // One block: its entry precedes the footer. It claims to expand to 16 EiB.
    let entry = bytes.len() - block::FOOTER_BYTES - block::ENTRY_BYTES;
    bytes[entry + 8..entry + 16].fill(0xff);
    let end = bytes.len() - 8;
    let checksum = crc32fast::hash(&bytes[entry..end]);
    bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
    let error = read_changed(folder.path(), &bytes).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Malformed { .. }), "{error}");
}

/// The file with checksums recomputed for the current blocks and table, as far as the table is
/// consistent.
fn resealed(mut bytes: Vec<u8>, n_blocks: usize) -> Vec<u8> {
    let footer = bytes.len() - block::FOOTER_BYTES;
    let table = footer - n_blocks * block::ENTRY_BYTES;
    let mut start = block::HEADER_BYTES;
    for entry in (table..footer).step_by(block::ENTRY_BYTES) {
        let length = u64::from_le_bytes(bytes[entry..entry + 8].try_into().unwrap());
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        let Some(end) = end.filter(|&end| end <= table) else { break };
        let checksum = crc32fast::hash(&bytes[start..end]);
        bytes[entry + 20..entry + 24].copy_from_slice(&checksum.to_le_bytes());
        start = end;
    }
    let checksum = crc32fast::hash(&bytes[table..footer + 16]);
    bytes[footer + 16..footer + 20].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn whatever_a_file_with_right_checksums_says_the_answer_is_texts_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_table in any::<bool>(),
    ) {
        static FILE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
            let folder = TempDir::new().unwrap();
            fs::read(write(folder.path(), &few(), 400).path()).unwrap()
        });
        let n_blocks = u64::from_le_bytes(FILE[FILE.len() - 24..][..8].try_into().unwrap()) as usize;
        let table = FILE.len() - block::FOOTER_BYTES - n_blocks * block::ENTRY_BYTES;
        let mut bytes = FILE.clone();
        let changed =
            if in_table { table..FILE.len() - block::FOOTER_BYTES } else { block::HEADER_BYTES..table };
        for (at, byte) in changes {
            bytes[changed.start + at.index(changed.len())] = byte;
        }
        let bytes = resealed(bytes, n_blocks);
        let folder = TempDir::new().unwrap();
        let _ = read_changed(folder.path(), &bytes);
        if let Ok(store) = TextStore::open(folder.path().join("changed")) {
            for number in 0..store.n_documents().min(50) {
                let _ = store.get(DocId::new(number as u32));
            }
        }
    }
}

#[test]
fn memory_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let path = write(folder.path(), &few(), 200).path().to_owned();
    let full = MemoryLimit::new(1_000, || 999);
    let open = |memory: &MemoryLimit| TextStore::open_within(&path, memory);
    assert!(matches!(open(&full).unwrap_err().kind(), ErrorKind::Memory { .. }));
    let store = open(&MemoryLimit::default()).unwrap().within(&full);
    assert!(matches!(store.get(DocId::new(1)).unwrap_err().kind(), ErrorKind::Memory { .. }));
    assert!(matches!(all(&store).unwrap_err().kind(), ErrorKind::Memory { .. }));
}

#[test]
fn the_observer_sees_progress_and_may_stop() {
    let folder = TempDir::new().unwrap();
    let store = write(folder.path(), &few(), 200);
    let mut last = 0;
    let mut watch = |event: &Event<'_>| {
        if let Event::Reading { bytes_read, bytes_total, n_documents } = *event {
            assert!(bytes_read <= bytes_total && n_documents > last);
            last = n_documents;
        }
        ControlFlow::Continue(())
    };
    store.for_each_document_watched(&mut watch, |_| ()).unwrap();
    assert_eq!(last, 40);
    let mut stop = |_: &Event<'_>| ControlFlow::Break(());
    let error = store.for_each_document_watched(&mut stop, |_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stopped { .. }));
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    let path = write(folder.path(), &few(), 200).path().to_owned();
    let message = TextStoreWriter::create(&path).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{}: cannot write the texts of the documents: ", path.display())),
        "{message}"
    );
    assert_eq!(all(&TextStore::open(&path).unwrap()).unwrap(), few(), "it was left alone");
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let message = TextStoreWriter::begin(full, "some/texts.store".into()).unwrap_err().to_string();
        assert!(
            message.starts_with("some/texts.store: cannot write the texts of the documents: No space left"),
            "{message}"
        );
    }
}
