//! Bytes to texts, as a store of texts is read: an error or documents, never a panic, and never
//! more memory than `-rss_limit_mb` allows.
//!
//! Checksums are set right first, so that what lies behind them is reached.
#![no_main]

use std::sync::LazyLock;

use docsphere::{DocId, TextStore};
use docsphere_fuzz::ScratchFile;
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<ScratchFile> = LazyLock::new(|| ScratchFile::new("texts.store"));

/// A few bytes may stand for many documents: only the first of these are read one by one.
const ENOUGH_DOCUMENTS: u64 = 50;

fuzz_target!(|data: &[u8]| {
    FILE.holding(&docsphere_fuzz::texts::with_right_checksums(data));
    let Ok(store) = TextStore::open(FILE.path()) else { return };
    for number in 0..store.n_documents().min(ENOUGH_DOCUMENTS) {
        // fits: below ENOUGH_DOCUMENTS
        if let Ok(found) = store.get(DocId::new(number as u32)) {
            assert!(std::str::from_utf8(found.text.as_bytes()).is_ok());
        }
    }
    let mut n_documents = 0;
    let read = store.for_each_document(|document| {
        assert!(std::str::from_utf8(document.id.as_bytes()).is_ok());
        n_documents += 1;
    });
    if read.is_ok() {
        assert_eq!(n_documents, store.n_documents());
    }
});
