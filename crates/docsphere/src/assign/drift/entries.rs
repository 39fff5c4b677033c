//! A long list of packed entries, filled once, in order, by tasks that have a part each.
//!
//! **Cost.** 4 bytes per entry: most of what `drift` holds of documents. In memory, or in a scratch
//! file if the rows are in a file, too.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use crate::error::Result;
use crate::mapping::ScratchArray;

/// See the [module](self). Only [`Entries::new`] allocates.
pub(super) enum Entries {
    Memory(Vec<u32>),
    File(ScratchArray<u32>),
}

impl Default for Entries {
    fn default() -> Self {
        Entries::Memory(Vec::new())
    }
}

impl Entries {
    /// Zeros, in memory or on the disk of a folder.
    pub(super) fn new(len: usize, folder: Option<&Path>) -> Result<Self> {
        Ok(match folder {
            // The allocator need not write them.
            None => Entries::Memory(vec![0; len]),
            Some(folder) => Entries::File(ScratchArray::new(folder, len)?),
        })
    }

    /// Bytes in memory. Those of files come and go.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Entries::Memory(entries) => size_of_val(&entries[..]),
            Entries::File(_) => 0,
        }
    }
}

impl Deref for Entries {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match self {
            Entries::Memory(entries) => entries,
            Entries::File(entries) => entries,
        }
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut [u32] {
        match self {
            Entries::Memory(entries) => entries,
            Entries::File(entries) => entries,
        }
    }
}
