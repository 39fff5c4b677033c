//! Blocks: documents to compressed bytes and back; and the table that lists them.

use crate::compression::read_whole;
use crate::corpus::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::MemoryLimit;

/// Magic number.
pub(super) const MARK: [u8; 8] = *b"\xd5DsText\n";
pub(super) const VERSION: u32 = 1;
/// The magic number, the version, and a zero.
pub(super) const HEADER_BYTES: usize = 16;
/// An entry of the block table.
pub(super) const ENTRY_BYTES: usize = 24;
/// The footer, which follows the block table.
pub(super) const FOOTER_BYTES: usize = 24;
pub(super) const END: [u8; 4] = *b"END.";

/// Name of the format in messages.
const FORMAT: &str = "text store";

/// What takes the memory, for messages.
pub(super) const DOCUMENTS: &str = "the documents";

/// Decompressed size of a block, unless one document is larger.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// The length of an id and of a text.
const LENGTHS_BYTES: usize = 8;

/// Fast: a store is written in every run and read in part.
const LEVEL: i32 = 1;

/// An error for a file with unexpected content.
pub(super) fn damaged(expected: impl ToString, found: impl ToString) -> Error {
    Error::malformed(FORMAT, expected.to_string(), found.to_string())
}

/// A block as in the file.
pub(super) struct PackedBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) unpacked_bytes: u64,
    pub(super) n_docs: u32,
    pub(super) checksum: u32,
}

/// Compresses documents, in reused memory.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    block_bytes: usize,
    content: Vec<u8>,
    lengths: Vec<u8>,
}

impl Packer {
    pub(super) fn new(block_bytes: usize) -> Result<Self> {
        let compressor =
            zstd::bulk::Compressor::new(LEVEL).map_err(|error| Error::io("pack texts", error))?;
        Ok(Packer { compressor, block_bytes, content: Vec::new(), lengths: Vec::new() })
    }

    /// Adds a document. Returns the previous block if the document did not fit into it.
    pub(super) fn push(&mut self, document: Document<'_>) -> Result<Option<PackedBlock>> {
        let Document { id, text, .. } = document;
        let n_bytes = id.len() + text.len() + LENGTHS_BYTES;
        let is_full = self.content.len() + self.lengths.len() + n_bytes > self.block_bytes;
        let full = if is_full { self.finish()? } else { None };
        for part in [id, text] {
            let limit = u32::MAX;
            let length = u32::try_from(part.len()).map_err(|_| ErrorKind::TooLarge {
                what: "the size of a text in bytes",
                limit: u64::from(limit),
                got: part.len() as u64,
            })?;
            self.lengths.extend(length.to_le_bytes());
        }
        if n_bytes > self.block_bytes {
            self.content.reserve_exact(n_bytes);
        }
        self.content.extend_from_slice(id.as_bytes());
        self.content.extend_from_slice(text.as_bytes());
        Ok(full)
    }

    /// Compresses the remaining documents; `None` if there are none.
    pub(super) fn finish(&mut self) -> Result<Option<PackedBlock>> {
        if self.lengths.is_empty() {
            return Ok(None);
        }
        let n_docs = (self.lengths.len() / LENGTHS_BYTES) as u32;
        self.content.append(&mut self.lengths);
        let packed = self.compressor.compress(&self.content);
        let mut bytes = packed.map_err(|error| Error::io("pack texts", error))?;
        bytes.shrink_to_fit();
        let unpacked_bytes = self.content.len() as u64;
        if self.content.capacity() > 4 * self.block_bytes {
            self.content = Vec::new();
        }
        self.content.clear();
        Ok(Some(PackedBlock { checksum: crc32fast::hash(&bytes), bytes, unpacked_bytes, n_docs }))
    }
}

/// A decompressed block.
pub(super) struct OpenBlock {
    content: Vec<u8>,
    /// End of the id and of the text of each document.
    ends: Vec<(usize, usize)>,
}

impl OpenBlock {
    /// Decompresses bytes that match their checksum.
    pub(super) fn new(packed: &[u8], unpacked_bytes: u64, n_docs: u64, memory: &MemoryLimit) -> Result<Self> {
        let wrong = |found: String| damaged("a block of documents", found);
        let decoder = zstd::Decoder::with_buffer(packed).map_err(|error| wrong(error.to_string()))?;
        let content = read_whole(decoder, unpacked_bytes.saturating_add(1), DOCUMENTS, memory);
        let content = content.map_err(|error| match error.kind() {
            ErrorKind::Memory { .. } => error,
            other => wrong(other.to_string()),
        })?;
        let lengths_bytes = n_docs.saturating_mul(LENGTHS_BYTES as u64);
        if content.len() as u64 != unpacked_bytes || lengths_bytes > unpacked_bytes {
            return Err(wrong(format!("{} bytes", content.len())));
        }
        let lengths = &content[content.len() - lengths_bytes as usize..];
        memory.check(DOCUMENTS, n_docs * size_of::<(usize, usize)>() as u64)?;
        let (mut ends, mut end) = (Vec::with_capacity(n_docs as usize), 0usize);
        for pair in lengths.chunks_exact(LENGTHS_BYTES) {
            let length =
                |at: usize| u32::from_le_bytes(pair[at..at + 4].try_into().expect("4 bytes")) as usize;
            let id_end = end.saturating_add(length(0));
            end = id_end.saturating_add(length(4));
            ends.push((id_end, end));
        }
        if end != content.len() - lengths.len() {
            return Err(wrong("lengths that do not add up".to_owned()));
        }
        Ok(OpenBlock { content, ends })
    }

    /// A document by its number within the block.
    pub(super) fn document(&self, index: usize) -> Result<Document<'_>> {
        let start = if index == 0 { 0 } else { self.ends[index - 1].1 };
        let (id_end, end) = self.ends[index];
        let text = |range| {
            std::str::from_utf8(&self.content[range]).map_err(|_| damaged("text in UTF-8", "other bytes"))
        };
        Ok(Document::new(text(start..id_end)?, text(id_end..end)?))
    }

    pub(super) fn n_docs(&self) -> usize {
        self.ends.len()
    }
}
