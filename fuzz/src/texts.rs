//! Stores of texts: their seeds, and how to get past their checksums.

use std::path::Path;

use docsphere::{Document, TextStoreWriter};

/// The bytes with the sizes of blocks and all checksums set to what they should be, as far as the
/// number of blocks allows it; else as they are.
///
/// The layout is that of `crates/docsphere/src/store/mod.rs`.
pub fn with_right_checksums(bytes: &[u8]) -> Vec<u8> {
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

/// Writes stores of no, a few and many documents.
pub fn write_seeds(folder: &Path) {
    for (number, n_documents) in [0, 1, 5, 300].into_iter().enumerate() {
        let path = folder.join(format!("seed-{number:02}"));
        let mut writer = TextStoreWriter::create(&path).expect("a file");
        for document in 0..n_documents {
            let (id, text) = (document.to_string(), ["plum jam €", "", "apple pie"][document % 3]);
            writer.push(Document::new(&id, text)).expect("room for a document");
        }
        writer.finish().expect("a table");
    }
}
