//! The position of each document of one block.
//!
//! The documents by position are kept for every block; their inverse is made when a block needs it,
//! in memory that all blocks share.
//!
//! **Cost.** 4 bytes per document of the largest block, and one pass over the documents of a block
//! whenever it is another one than before, or has been arranged anew.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

/// Documents per task.
const TASK_DOCS: usize = 1 << 13;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Positions {
    /// The arrangement that they belong to; 0 for none.
    of: u64,
    positions: Vec<AtomicU32>,
}

/// The position of a zero row.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Positions {
    /// Finds the positions of the documents below `n_rows` in this arrangement, unless they are
    /// those that are known. Arrangements have numbers above 0.
    pub(super) fn find(&mut self, arrangement: u64, docs: &[u32], n_rows: usize) {
        if self.of == arrangement {
            return;
        }
        self.of = arrangement;
        if self.positions.len() < n_rows {
            let nowhere = (0..n_rows).into_par_iter().with_min_len(TASK_DOCS);
            self.positions = nowhere.map(|_| AtomicU32::new(NOWHERE)).collect();
        } else if docs.len() < n_rows {
            let positions = self.positions[..n_rows].par_iter().with_min_len(TASK_DOCS);
            positions.for_each(|position| position.store(NOWHERE, Relaxed));
        }
        let docs = docs.par_iter().enumerate().with_min_len(TASK_DOCS);
        docs.for_each(|(position, &doc)| self.positions[doc as usize].store(position as u32, Relaxed));
    }

    /// The position of a document; [`NOWHERE`] for a zero row.
    #[inline]
    pub(super) fn of(&self, doc: usize) -> u32 {
        self.positions[doc].load(Relaxed)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.positions[..])
    }
}
