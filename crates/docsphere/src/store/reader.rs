//! Reading: a document, some documents, or all of them in order.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::{
    DOCUMENTS, END, ENTRY_BYTES, FOOTER_BYTES, HEADER_BYTES, MARK, OpenBlock, PackedBlock, VERSION, damaged,
};
use crate::compression::read_whole;
use crate::corpus::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::DocId;
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::observer::{Event, Observer, Silent};

/// What the block table takes, for messages.
const TABLE: &str = "the table of a text store";

/// A document requested by number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentText {
    /// Its number in the corpus, from 0.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The ids and texts of a corpus in a file, open for reading.
/// [`TextStoreWriter`](crate::TextStoreWriter) writes it.
pub struct TextStore {
    file: Mutex<File>,
    path: PathBuf,
    blocks: Vec<BlockEntry>,
    memory: MemoryLimit,
}

/// A block, according to the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockEntry {
    pub(super) offset: u64,
    pub(super) packed_bytes: u64,
    pub(super) unpacked_bytes: u64,
    pub(super) first_doc: u64,
    pub(super) n_docs: u32,
    pub(super) checksum: u32,
}

impl BlockEntry {
    pub(super) const BYTES: usize = ENTRY_BYTES;

    /// An entry of the table. The start of a block follows from the entries before it.
    pub(super) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.packed_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.unpacked_bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.n_docs.to_le_bytes());
        bytes[20..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], offset: u64, first_doc: u64) -> Self {
        let (packed_bytes, unpacked_bytes) = (long_at(bytes, 0), long_at(bytes, 8));
        let (n_docs, checksum) = (short_at(bytes, 16), short_at(bytes, 20));
        BlockEntry { offset, packed_bytes, unpacked_bytes, first_doc, n_docs, checksum }
    }

    fn docs(&self) -> Range<u64> {
        self.first_doc..self.first_doc + u64::from(self.n_docs)
    }
}

fn short_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn long_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

impl TextStore {
    /// Opens a file that a [`TextStoreWriter`](crate::TextStoreWriter) has finished.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged or truncated, or was written by a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_within(path, &NO_LIMIT)
    }

    /// Like [`open`](Self::open), within a memory limit, which also applies to all later reads.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`ErrorKind::Memory`] if the table takes too much.
    pub fn open_within(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            let mut file = File::open(path).map_err(read_failed)?;
            let blocks = read_table(&mut file, memory)?;
            Ok(TextStore::new(file, path.to_owned(), blocks).within(memory))
        };
        open().map_err(|error: Error| error.at_path(path))
    }

    /// The store with a memory limit for reads.
    #[must_use]
    pub fn within(mut self, memory: &MemoryLimit) -> Self {
        self.memory = memory.clone();
        self
    }

    pub(super) fn new(file: File, path: PathBuf, blocks: Vec<BlockEntry>) -> Self {
        TextStore { file: Mutex::new(file), path, blocks, memory: MemoryLimit::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of documents.
    pub fn n_documents(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.docs().end)
    }

    /// A document by its number. Decompresses its block: for many documents use
    /// [`get_many`](Self::get_many).
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if there is no such document; a file that cannot be read or is
    /// damaged.
    pub fn get(&self, doc: DocId) -> Result<DocumentText> {
        let mut found = self.get_many(&[doc])?;
        Ok(found.pop().expect("one was asked for"))
    }

    /// Documents by their numbers, in the order of the numbers. Decompresses each needed block
    /// once, on the current rayon pool.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`ErrorKind::Memory`] if the texts take too much.
    pub fn get_many(&self, docs: &[DocId]) -> Result<Vec<DocumentText>> {
        let n_documents = self.n_documents();
        if let Some(doc) = docs.iter().find(|doc| u64::from(doc.number()) >= n_documents) {
            let expected = format!("below {n_documents}, the number of documents");
            let got = doc.number().to_string();
            let kind = ErrorKind::Mismatch { what: "a document number", expected, got };
            return Err(Error::from(kind).at_path(&self.path));
        }
        let block_of =
            |doc: DocId| self.blocks.partition_point(|block| block.docs().end <= u64::from(doc.number()));
        // (block, index in the answer), by block.
        let mut places: Vec<(usize, usize)> =
            docs.iter().enumerate().map(|(place, &doc)| (block_of(doc), place)).collect();
        places.sort_unstable();
        let of_block = |group: &[(usize, usize)]| -> Result<Vec<(usize, DocumentText)>> {
            let first_doc = self.blocks[group[0].0].first_doc;
            let block = self.block(group[0].0)?;
            let mut texts = Vec::with_capacity(group.len());
            for &(_, place) in group {
                let number = u64::from(docs[place].number());
                let Document { id, text, .. } = block.document((number - first_doc) as usize)?;
                texts.push((place, DocumentText { number, id: id.to_owned(), text: text.to_owned() }));
            }
            Ok(texts)
        };
        let groups: Vec<&[(usize, usize)]> = places.chunk_by(|a, b| a.0 == b.0).collect();
        let found: Result<Vec<_>> = groups
            .par_iter()
            .map(|group| {
                let asked = self.kept_bytes(group);
                self.memory.check(DOCUMENTS, asked).and_then(|()| of_block(group))
            })
            .collect();
        let found = found.map_err(|error| error.at_path(&self.path))?;
        let mut found: Vec<(usize, DocumentText)> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|&(place, _)| place);
        Ok(found.into_iter().map(|(_, text)| text).collect())
    }

    /// Upper bound on the bytes of the requested documents of a block.
    fn kept_bytes(&self, group: &[(usize, usize)]) -> u64 {
        let block = &self.blocks[group[0].0];
        let copies = (group.len() as u64).div_ceil(u64::from(block.n_docs).max(1));
        block.unpacked_bytes.saturating_mul(copies)
    }

    /// Calls `document` for every document, in order, on this thread; blocks are decompressed on
    /// the current rayon pool.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn for_each_document(&self, document: impl FnMut(Document<'_>)) -> Result<()> {
        self.for_each_document_watched(&mut Silent, document)
    }

    /// Like [`for_each_document`](Self::for_each_document), with an observer, which may stop the
    /// reading.
    ///
    /// # Errors
    /// As [`for_each_document`](Self::for_each_document), and [`ErrorKind::Stopped`] if the
    /// observer stops the reading.
    pub fn for_each_document_watched(
        &self,
        observer: &mut dyn Observer,
        mut document: impl FnMut(Document<'_>),
    ) -> Result<()> {
        let end_of = |block: &BlockEntry| block.offset + block.packed_bytes;
        let bytes_total = self.blocks.last().map_or(0, end_of);
        let numbers: Vec<usize> = (0..self.blocks.len()).collect();
        for batch in numbers.chunks(rayon::current_num_threads()) {
            let blocks: Result<Vec<OpenBlock>> = batch.par_iter().map(|&number| self.block(number)).collect();
            let located = |error: Error| error.at_path(&self.path);
            for block in blocks.map_err(located)? {
                for index in 0..block.n_docs() {
                    document(block.document(index).map_err(located)?);
                }
            }
            let last = &self.blocks[batch[batch.len() - 1]];
            let n_documents = last.docs().end;
            let event = Event::Reading { bytes_read: end_of(last), bytes_total, n_documents };
            if observer.observe(&event).is_break() {
                return Err(ErrorKind::Stopped { stage: "reading" }.into());
            }
        }
        Ok(())
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The numbers of the documents of a block.
    pub(super) fn docs_of(&self, number: usize) -> Range<u64> {
        self.blocks[number].docs()
    }

    /// A block as in the file.
    pub(super) fn packed_block(&self, number: usize) -> Result<PackedBlock> {
        let BlockEntry { unpacked_bytes, n_docs, checksum, .. } = self.blocks[number];
        Ok(PackedBlock { bytes: self.packed(number)?, unpacked_bytes, n_docs, checksum })
    }

    /// Reads and decompresses a block.
    pub(super) fn block(&self, number: usize) -> Result<OpenBlock> {
        let entry = &self.blocks[number];
        let packed = self.packed(number)?;
        OpenBlock::new(&packed, entry.unpacked_bytes, u64::from(entry.n_docs), &self.memory)
    }

    /// The bytes of a block, which match their checksum.
    fn packed(&self, number: usize) -> Result<Vec<u8>> {
        let entry = &self.blocks[number];
        let packed = {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(entry.offset)).map_err(read_failed)?;
            read_whole(&mut *file, entry.packed_bytes, DOCUMENTS, &self.memory)?
        };
        if packed.len() as u64 != entry.packed_bytes || crc32fast::hash(&packed) != entry.checksum {
            let found = "other content; the file is damaged";
            return Err(damaged(format!("block {number} to match its checksum"), found));
        }
        Ok(packed)
    }
}

impl fmt::Debug for TextStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextStore").field("path", &self.path).field("n_blocks", &self.blocks.len()).finish()
    }
}

fn read_failed(error: std::io::Error) -> Error {
    Error::io("read", error)
}

/// Reads everything but the blocks, and checks it against the size of the file.
fn read_table(file: &mut File, memory: &MemoryLimit) -> Result<Vec<BlockEntry>> {
    let found = file.metadata().map_err(read_failed)?;
    if found.is_dir() {
        return Err(read_failed(std::io::Error::other("is a folder")));
    }
    let file_bytes = found.len();
    let least = (HEADER_BYTES + FOOTER_BYTES) as u64;
    let cut_off =
        |found: String| damaged("a whole text store", format!("{found}; the file is cut off or damaged"));
    let mut header = [0; HEADER_BYTES];
    if file_bytes < HEADER_BYTES as u64 {
        return Err(cut_off(format!("a file of only {file_bytes} bytes")));
    }
    file.read_exact(&mut header).map_err(read_failed)?;
    if header[..MARK.len()] != MARK {
        return Err(damaged("a file that begins with the mark of a text store", "another kind of file"));
    }
    let version = short_at(&header, MARK.len());
    if version > VERSION {
        return Err(ErrorKind::NewerFormat { found: version, supported: VERSION }.into());
    }
    if version == 0 || short_at(&header, 12) != 0 || file_bytes < least {
        return Err(cut_off(format!("version {version} in {file_bytes} bytes")));
    }
    let mut footer = [0; FOOTER_BYTES];
    file.seek(SeekFrom::Start(file_bytes - FOOTER_BYTES as u64)).map_err(read_failed)?;
    file.read_exact(&mut footer).map_err(read_failed)?;
    let (n_blocks, n_documents) = (long_at(&footer, 0), long_at(&footer, 8));
    let table_bytes = n_blocks.saturating_mul(ENTRY_BYTES as u64);
    if footer[20..] != END || table_bytes > file_bytes - least {
        return Err(cut_off("another end".to_owned()));
    }
    let table_offset = file_bytes - FOOTER_BYTES as u64 - table_bytes;
    file.seek(SeekFrom::Start(table_offset)).map_err(read_failed)?;
    let mut table = read_whole(&mut *file, table_bytes, TABLE, memory)?;
    table.extend(&footer[..16]);
    if crc32fast::hash(&table) != short_at(&footer, 16) {
        return Err(damaged("a block table that matches its checksum", "other content; the file is damaged"));
    }
    memory.check(TABLE, n_blocks * size_of::<BlockEntry>() as u64)?;
    let mut blocks = Vec::with_capacity(n_blocks as usize);
    let (mut offset, mut first_doc) = (HEADER_BYTES as u64, 0u64);
    for bytes in table[..table_bytes as usize].chunks_exact(ENTRY_BYTES) {
        let entry = BlockEntry::from_bytes(bytes, offset, first_doc);
        offset = offset.saturating_add(entry.packed_bytes);
        first_doc = first_doc.saturating_add(u64::from(entry.n_docs));
        blocks.push(entry);
    }
    if offset != table_offset || first_doc != n_documents {
        return Err(damaged(format!("blocks of {table_offset} bytes"), format!("{offset} bytes")));
    }
    Ok(blocks)
}
