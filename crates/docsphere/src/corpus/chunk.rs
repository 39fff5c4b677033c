//! The interface between formats and the reader: one thread cuts an input into chunks, and the
//! threads of the pool parse them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::document::{ChunkTally, Emit};
use super::encoding::Guesses;
use super::options::CorpusOptions;
use crate::error::Result;

/// The size of a chunk, unless a record is longer.
pub(super) const CHUNK_BYTES: usize = 1 << 21;

/// The longest record.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 30;

/// A chunk longer than this holds a long record: its memory is checked record by record.
pub(super) const LONG_BYTES: usize = 2 * CHUNK_BYTES;

/// What takes the memory, for messages.
pub(super) const LONG_RECORD: &str = "a long record";

/// Whole records of one input.
pub(super) trait Chunk: Send {
    /// Bytes waiting to be parsed.
    fn n_bytes(&self) -> usize;

    /// The first line of a chunk of text. `None` for a chunk of another kind: the memory for each
    /// of its long documents is checked separately.
    fn first_line(&self) -> Option<u64> {
        None
    }

    /// Bytes that parsing takes in addition to those of the chunk. Called only for text with a long
    /// record.
    fn parse_bytes(&self) -> u64 {
        0
    }

    /// Calls `emit` for every document, in order. Runs on a thread of the pool.
    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally>;
}

/// The context of an input, for cutting and parsing.
pub(super) struct InputContext<'a> {
    /// Prefix of ids that are numbers or paths: empty, or a name and a colon.
    pub(super) id_prefix: &'a str,
    pub(super) options: &'a CorpusOptions,
    /// The size of a chunk.
    pub(super) chunk_bytes: usize,
    /// The number of the line with which text begins; above 1 if it is from the middle of a file.
    pub(super) first_line: u64,
    /// Whether the input is only some lines of a file.
    pub(super) is_part: bool,
    /// Bytes read from all files so far, before decompression.
    pub(super) n_bytes: &'a Arc<AtomicU64>,
    /// Encodings of files that were guessed.
    pub(super) guesses: &'a Arc<Guesses>,
}

/// Takes the chunks; returns `Break` when no more are wanted.
pub(super) type SendChunk<'a> = &'a mut dyn FnMut(Box<dyn Chunk>) -> ControlFlow<()>;
