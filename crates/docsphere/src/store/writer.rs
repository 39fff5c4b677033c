//! Writing, in order.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::block::{BLOCK_BYTES, END, HEADER_BYTES, MARK, PackedBlock, Packer, VERSION};
use super::reader::{BlockEntry, TextStore};
use crate::corpus::Document;
use crate::error::{Error, Result};

/// Writes the texts of a corpus to a new file, in order.
///
/// [`Vectorizer::fit_with_texts`](crate::Vectorizer::fit_with_texts) fills it while it reads.
/// A writer that is dropped before [`finish`](Self::finish) leaves a file that cannot be read.
///
/// ```
/// use docsphere::{DocId, Document, TextStoreWriter};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let mut writer = TextStoreWriter::create(folder.path().join("texts.store"))?;
/// writer.push(Document::new("a", "cats purr"))?;
/// writer.push(Document::new("b", "dogs bark"))?;
/// let texts = writer.finish()?;
/// assert_eq!(texts.get(DocId::new(1))?.text, "dogs bark");
/// # Ok::<(), docsphere::Error>(())
/// ```
pub struct TextStoreWriter {
    file: File,
    path: PathBuf,
    blocks: Vec<BlockEntry>,
    n_documents: u64,
    /// Start of the next block.
    offset: u64,
    /// Documents that were pushed one by one.
    open: Option<Packer>,
    /// The block size for pushed documents; only tests change it.
    pub(super) block_bytes: usize,
}

impl TextStoreWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// If the file already exists, or cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::options().read(true).write(true).create_new(true).open(path);
        Self::begin(file.map_err(|error| write_error(error, path))?, path.to_owned())
    }

    /// Writes the header.
    pub(super) fn begin(file: File, path: PathBuf) -> Result<Self> {
        let offset = HEADER_BYTES as u64;
        let (blocks, block_bytes) = (Vec::new(), BLOCK_BYTES);
        let mut writer =
            TextStoreWriter { file, path, blocks, n_documents: 0, offset, open: None, block_bytes };
        let mut header = MARK.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.resize(HEADER_BYTES, 0);
        writer.write(&header)?;
        Ok(writer)
    }

    /// Adds a document.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn push(&mut self, document: Document<'_>) -> Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Packer::new(self.block_bytes)?),
        };
        let full = open.push(document)?;
        self.write_blocks(full)
    }

    /// Adds the documents of another store, in order: those whose number `keeps` accepts. Blocks of
    /// which all documents are kept are copied as they are.
    ///
    /// # Errors
    /// If the other store cannot be read or is damaged, or this one cannot be written.
    pub fn append(&mut self, store: &TextStore, keeps: impl Fn(u64) -> bool) -> Result<()> {
        let located = |error: Error| error.at_path(store.path());
        for number in 0..store.n_blocks() {
            let docs = store.docs_of(number);
            let n_kept = docs.clone().filter(|&doc| keeps(doc)).count() as u64;
            if n_kept == docs.end - docs.start {
                self.close_block()?;
                self.write_blocks([store.packed_block(number).map_err(located)?])?;
            } else if n_kept > 0 {
                let block = store.block(number).map_err(located)?;
                for (index, _) in docs.enumerate().filter(|&(_, doc)| keeps(doc)) {
                    self.push(block.document(index).map_err(located)?)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the table, and opens the file for reading.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<TextStore> {
        self.close_block()?;
        let mut table = Vec::with_capacity(BlockEntry::BYTES * self.blocks.len());
        self.blocks.iter().for_each(|block| table.extend(block.to_bytes()));
        table.extend((self.blocks.len() as u64).to_le_bytes());
        table.extend(self.n_documents.to_le_bytes());
        table.extend(crc32fast::hash(&table).to_le_bytes());
        table.extend(END);
        self.write(&table)?;
        Ok(TextStore::new(self.file, self.path, self.blocks))
    }

    /// Adds blocks after all pushed documents.
    pub(crate) fn write_chunk(&mut self, blocks: StoredBlocks) -> Result<()> {
        self.close_block()?;
        self.write_blocks(blocks.0)
    }

    pub(super) fn close_block(&mut self) -> Result<()> {
        let last = self.open.as_mut().map(Packer::finish).transpose()?;
        self.write_blocks(last.flatten())
    }

    fn write_blocks(&mut self, blocks: impl IntoIterator<Item = PackedBlock>) -> Result<()> {
        for block in blocks {
            self.write(&block.bytes)?;
            let packed_bytes = block.bytes.len() as u64;
            self.blocks.push(BlockEntry {
                offset: self.offset,
                packed_bytes,
                unpacked_bytes: block.unpacked_bytes,
                first_doc: self.n_documents,
                n_docs: block.n_docs,
                checksum: block.checksum,
            });
            self.offset += packed_bytes;
            self.n_documents += u64::from(block.n_docs);
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| write_error(error, &self.path))
    }
}

impl fmt::Debug for TextStoreWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_documents = self.n_documents;
        f.debug_struct("TextStoreWriter")
            .field("path", &self.path)
            .field("n_documents", &n_documents)
            .finish()
    }
}

fn write_error(error: std::io::Error, path: &Path) -> Error {
    Error::io("write the texts of the documents", error).at_path(path)
}

/// The compressed texts of a chunk.
#[derive(Default)]
pub(crate) struct StoredBlocks(Vec<PackedBlock>);

impl StoredBlocks {
    pub(super) fn extend(&mut self, blocks: impl IntoIterator<Item = PackedBlock>) {
        self.0.extend(blocks);
    }
}
