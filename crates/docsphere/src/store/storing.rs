//! Keeps texts and columns while other work is done with the documents; compresses them on the
//! threads that parse.

use std::sync::{Arc, Mutex, PoisonError};

use super::block::{BLOCK_BYTES, Packer};
use super::columns::{ColumnChunk, ColumnStoreWriter, Registry};
use super::writer::{StoredBlocks, TextStoreWriter};
use crate::corpus::{ChunkWork, Document};
use crate::error::Result;

/// What is kept of the documents while they are read, for later.
#[derive(Debug, Default)]
pub struct Stores<'a> {
    /// Their ids and texts.
    pub texts: Option<&'a mut TextStoreWriter>,
    /// Their kept columns.
    pub columns: Option<&'a mut ColumnStoreWriter>,
}

impl Stores<'_> {
    /// Writes what was kept of a chunk; returns the result of the other work.
    pub(crate) fn write<O>(&mut self, chunk: StoringChunk<O>) -> Result<O> {
        if let (Some(texts), Some((blocks, _))) = (&mut self.texts, chunk.texts) {
            texts.write_chunk(blocks)?;
        }
        if let (Some(columns), Some(chunk)) = (&mut self.columns, chunk.columns) {
            columns.write_chunk(chunk)?;
        }
        Ok(chunk.output)
    }
}

/// Does other work with the documents of a chunk, and compresses them on the same thread.
pub(crate) struct Storing<'a, W> {
    work: &'a W,
    keeps_texts: bool,
    registry: Option<Arc<Registry>>,
    /// Idle packers, to be reused.
    idle: Mutex<Vec<Packer>>,
}

/// A chunk whose documents are being compressed.
pub(crate) struct StoringChunk<O> {
    output: O,
    texts: Option<(StoredBlocks, Option<Packer>)>,
    columns: Option<ColumnChunk>,
}

impl<'a, W: ChunkWork> Storing<'a, W> {
    pub(crate) fn new(work: &'a W, stores: &Stores<'_>) -> Self {
        let registry = stores.columns.as_ref().map(|columns| Arc::clone(&columns.registry));
        Storing { work, keeps_texts: stores.texts.is_some(), registry, idle: Mutex::default() }
    }

    fn packer(&self) -> Result<Packer> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Packer::new(BLOCK_BYTES), Ok)
    }

    /// The last block of a packer, which is then idle.
    fn last_block(&self, packer: Option<Packer>, blocks: &mut StoredBlocks) -> Result<()> {
        if let Some(mut packer) = packer {
            blocks.extend(packer.finish()?);
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(packer);
        }
        Ok(())
    }
}

impl<W: ChunkWork> ChunkWork for Storing<'_, W> {
    type Output = StoringChunk<W::Output>;

    fn start(&self) -> Self::Output {
        StoringChunk {
            output: self.work.start(),
            texts: self.keeps_texts.then(|| (StoredBlocks::default(), None)),
            columns: self.registry.as_ref().map(ColumnChunk::new),
        }
    }

    fn document(&self, chunk: &mut Self::Output, document: Document<'_>) -> Result<()> {
        if let Some((blocks, packer)) = &mut chunk.texts {
            let packer = match packer {
                Some(packer) => packer,
                none => none.insert(self.packer()?),
            };
            blocks.extend(packer.push(document)?);
        }
        if let Some(columns) = &mut chunk.columns {
            let packer = columns.packer.take().map_or_else(|| self.packer(), Ok)?;
            columns.push(document, packer)?;
        }
        self.work.document(&mut chunk.output, document)
    }

    fn finish(&self, chunk: &mut Self::Output) -> Result<()> {
        if let Some((blocks, packer)) = &mut chunk.texts {
            self.last_block(packer.take(), blocks)?;
        }
        if let Some(columns) = &mut chunk.columns {
            self.last_block(columns.packer.take(), &mut columns.blocks)?;
        }
        self.work.finish(&mut chunk.output)
    }

    fn bytes_per_byte(&self) -> u64 {
        // A copy, and room for its compressed form; columns are also copied into one text.
        let texts = if self.keeps_texts { 2 } else { 0 };
        self.work.bytes_per_byte() + texts + if self.registry.is_some() { 3 } else { 0 }
    }
}
