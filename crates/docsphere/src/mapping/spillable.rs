//! Lists with an item per document or per nonzero: in memory, or in a scratch file if the rows are
//! in a file, too.
//!
//! **Cost.** What is in a file counts as nothing: its pages come and go. A list is filled in memory
//! and copied, so that beside rows in a file there is memory for one block of them at a time.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use rayon::prelude::*;

use super::{Bits, Plain, ScratchArray};
use crate::error::Result;

/// See the [module](self). Only [`zeros`](Self::zeros) and [`new`](Self::new) allocate on a disk.
pub(crate) enum Spillable<T> {
    Memory(Vec<T>),
    File(ScratchArray<T>),
}

/// Items per task of copying.
const TASK_ITEMS: usize = 1 << 13;

impl<T: Plain + Default> Spillable<T> {
    /// Zeros, in memory or on the disk of a folder.
    pub(crate) fn zeros(len: usize, folder: Option<&Path>) -> Result<Self> {
        Ok(match folder {
            // The allocator need not write them.
            None => Spillable::Memory(vec![T::default(); len]),
            Some(folder) => Spillable::File(ScratchArray::new(folder, len)?),
        })
    }
}

impl<T: Bits> Spillable<T> {
    /// These items, in memory or on the disk of a folder.
    pub(crate) fn new(items: Vec<T>, folder: Option<&Path>) -> Result<Self> {
        let Some(folder) = folder.filter(|_| !items.is_empty()) else { return Ok(Spillable::Memory(items)) };
        let mut array = ScratchArray::new(folder, items.len())?;
        copy(items, &mut array);
        Ok(Spillable::File(array))
    }

    /// Lets go of the pages of a file that are in memory: nobody reads the items for a while.
    pub(crate) fn let_go(&self) {
        if let Spillable::File(items) = self {
            items.let_go();
        }
    }

    /// Replaces all items by as many others.
    pub(crate) fn replace(&mut self, items: Vec<T>) {
        assert_eq!(items.len(), self.len(), "as many as before");
        match self {
            Spillable::Memory(own) => *own = items,
            Spillable::File(own) => copy(items, own),
        }
    }

    /// Bytes in memory. Those of files come and go.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Spillable::Memory(items) => size_of_val(&items[..]),
            Spillable::File(_) => 0,
        }
    }
}

fn copy<T: Bits>(items: Vec<T>, to: &mut [T]) {
    to.par_iter_mut().zip(items).with_min_len(TASK_ITEMS).for_each(|(to, item)| *to = item);
}

impl<T: Plain> Spillable<T> {
    /// A copy of these items, in memory or on the disk of a folder.
    pub(crate) fn copied(items: &[T], folder: Option<&Path>) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Spillable::Memory(items.to_vec())) };
        let mut array = ScratchArray::new(folder, items.len())?;
        array.copy_from_slice(items);
        Ok(Spillable::File(array))
    }

    /// All items in memory.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Spillable::Memory(items) => items,
            Spillable::File(items) => items.to_vec(),
        }
    }
}

impl<T> Default for Spillable<T> {
    fn default() -> Self {
        Spillable::Memory(Vec::new())
    }
}

impl<T> From<Vec<T>> for Spillable<T> {
    fn from(items: Vec<T>) -> Self {
        Spillable::Memory(items)
    }
}

/// A copy in memory.
impl<T: Plain> Clone for Spillable<T> {
    fn clone(&self) -> Self {
        Spillable::Memory(self.to_vec())
    }
}

impl<T: Bits> Deref for Spillable<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Spillable::Memory(items) => items,
            Spillable::File(items) => items,
        }
    }
}

impl<T: Bits> DerefMut for Spillable<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Spillable::Memory(items) => items,
            Spillable::File(items) => items,
        }
    }
}

impl<T: Bits + PartialEq> PartialEq for Spillable<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Bits + fmt::Debug> fmt::Debug for Spillable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}
