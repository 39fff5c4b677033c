//! Bytes to texts, as a store of texts is read, and to kept columns: an error or documents, never a
//! panic, and never more memory than `-rss_limit_mb` allows.
//!
//! Checksums are set right first, so that what lies behind them is reached.

use std::fs;
use std::path::Path;

use docsphere::{Cell, ColumnStore, DocId, Document, KeptColumns, MemoryLimit, TextStore, TextStoreWriter};
use docsphere_result::names;

/// A few bytes may stand for many documents: only the first of these are read one by one.
const ENOUGH_DOCUMENTS: u64 = 50;

/// Reads bytes as a store of texts, and as one of columns.
pub fn run(data: &[u8], folder: &Path) {
    let path = crate::file(folder, "texts.store", &with_right_checksums(data));
    if let Ok(store) = ColumnStore::open_within(&path, &MemoryLimit::default()) {
        read_columns(store);
    }
    let Ok(store) = TextStore::open(&path) else { return };
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
}

/// Finds out what the columns are, and reads their values: one that is good is good again after it
/// has been written.
fn read_columns(store: ColumnStore) {
    let Ok(kept) = KeptColumns::recognise(store, None, &MemoryLimit::default()) else { return };
    let mut rows = kept.rows();
    let mut n_documents = 0;
    while let Ok(Some(row)) = rows.next_row() {
        let _ = row.place();
        for (cell, column) in row.cells().into_iter().zip(kept.columns()) {
            if let Cell::Good(value) = cell {
                let _ = column.reading.written(value);
            }
        }
        n_documents += 1;
    }
    assert!(n_documents <= kept.n_documents());
}

/// The bytes with the sizes of blocks and all checksums set to what they should be, as far as the
/// number of blocks allows it; else as they are.
///
/// The layout is that of `crates/docsphere/src/store/mod.rs`.
fn with_right_checksums(bytes: &[u8]) -> Vec<u8> {
    resealed(bytes).unwrap_or_else(|| bytes.to_vec())
}

fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 16;
    const ENTRY: usize = 24;
    const TRAILER: usize = 24;
    let trailer = bytes.len().checked_sub(TRAILER)?;
    let n_blocks = u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().ok()?);
    let table = trailer.checked_sub(usize::try_from(n_blocks).ok()?.checked_mul(ENTRY)?)?;
    let mut file = bytes.to_vec();
    let mut start = HEADER;
    for place in (table..trailer).step_by(ENTRY) {
        let room = table.checked_sub(start)?;
        let stated = u64::from_le_bytes(bytes[place..place + 8].try_into().ok()?);
        // The last block takes what is left, so that inputs may grow and shrink.
        let is_last = place + ENTRY == trailer;
        let length = if is_last { room } else { room.min(usize::try_from(stated).ok()?) };
        let checksum = crc32fast::hash(&bytes[start..start + length]);
        file[place..place + 8].copy_from_slice(&(length as u64).to_le_bytes());
        file[place + 20..place + 24].copy_from_slice(&checksum.to_le_bytes());
        start += length;
    }
    let checksum = crc32fast::hash(&file[table..trailer + 16]);
    file[trailer + 16..trailer + 20].copy_from_slice(&checksum.to_le_bytes());
    Some(file)
}

/// Stores of no, a few and many documents, and one of columns.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let path = folder.join("seed.store");
    let mut seeds = Vec::new();
    for n_documents in [0, 1, 5, 300] {
        let mut writer = TextStoreWriter::create(&path).expect("a file");
        for document in 0..n_documents {
            let (id, text) = (document.to_string(), ["plum jam €", "", "apple pie"][document % 3]);
            writer.push(Document::new(&id, text)).expect("room for a document");
        }
        writer.finish().expect("a table");
        seeds.push(crate::taken(&path));
    }
    crate::sample::write(folder);
    seeds.push(fs::read(folder.join(names::COLUMN_VALUES)).expect("kept columns"));
    seeds
}
