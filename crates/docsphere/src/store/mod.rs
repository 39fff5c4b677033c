//! Keeps the texts of a corpus while they are read: documents are written in order and read back in
//! any order.
//!
//! A run needs texts twice: all of them once, to become rows, and a few (or all, for a search
//! index) after it has ended. [`TextStoreWriter`] writes them to a file during the first pass, so
//! that the input is read once: it may be a pipe, and may change or vanish meanwhile. [`TextStore`]
//! reads them back.
//!
//! # The file
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic number: a byte above ASCII, six letters, a line feed |
//! | 4 | format version |
//! | 4 | zero |
//! | | the blocks, one after the other |
//! | 24 each | the block table: length in the file (8), decompressed length (8), number of documents (4), CRC-32 of the block as in the file (4) |
//! | 8 | the number of blocks |
//! | 8 | the number of documents |
//! | 4 | CRC-32 of the block table and the two numbers |
//! | 4 | `END.` |
//!
//! A block is a zstd frame. Decompressed, it holds the id and the text of each document,
//! concatenated, and then the length of each id (4) and text (4). A block has up to 1 MiB of ids
//! and texts, or one longer document. All blocks end where chunks of the corpus end, so threads
//! compress blocks independently, and the file does not depend on their number.
//!
//! # Cost
//!
//! Memory: 40 bytes per block; for each compressing thread, a block and its compressed form; for
//! each reading thread, the same. Nothing per document. Time: one block is decompressed for a
//! document, and each block once for many documents.
//!
//! Damage is an error that names the file: sizes in the table must account for every byte of the
//! file, and no size is trusted before its bytes have been read.

mod block;
mod columns;
mod reader;
mod storing;
mod writer;

#[cfg(test)]
mod tests;

pub use columns::{ColumnRows, ColumnStore, ColumnStoreWriter, StoredRow};
pub use reader::{DocumentText, TextStore};
pub use storing::Stores;
pub(crate) use storing::Storing;
pub use writer::TextStoreWriter;
