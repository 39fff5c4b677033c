//! Where each row begins among the entries of all.
//!
//! **Cost.** 4 bytes per row; 8 if there are 2^32 entries or more. In memory, or in a scratch file.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::error::Result;
use crate::mapping::Spillable;

/// Rows per task.
const TASK_ROWS: usize = 4096;

/// See the [module](self). The start of each row, and the end of the last.
pub(super) enum Offsets {
    Short(Spillable<u32>),
    Long(Spillable<u64>),
}

impl Default for Offsets {
    fn default() -> Self {
        Offsets::Short(vec![0].into())
    }
}

impl Offsets {
    /// The rows of these documents, which have so many entries, one after the other. In memory, or
    /// on the disk of a folder.
    pub(super) fn new(
        docs: &[u32],
        nnz: impl Fn(u32) -> usize + Sync,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let n_entries = |docs: &[u32]| docs.iter().map(|&doc| nnz(doc)).sum();
        let mut starts: Vec<usize> = docs.par_chunks(TASK_ROWS).map(n_entries).collect();
        let mut end = 0;
        for start in &mut starts {
            end += std::mem::replace(start, end);
        }
        Ok(if u32::try_from(end).is_ok() {
            Offsets::Short(Spillable::new(filled(docs, &starts, nnz, |offset| offset as u32), folder)?)
        } else {
            Offsets::Long(Spillable::new(filled(docs, &starts, nnz, |offset| offset as u64), folder)?)
        })
    }

    #[inline]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        match self {
            Offsets::Short(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Offsets::Long(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        }
    }

    /// The number of all entries.
    pub(super) fn n_entries(&self) -> usize {
        match self {
            Offsets::Short(offsets) => offsets.last().map_or(0, |&end| end as usize),
            Offsets::Long(offsets) => offsets.last().map_or(0, |&end| end as usize),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Offsets::Short(offsets) => offsets.memory_bytes(),
            Offsets::Long(offsets) => offsets.memory_bytes(),
        }
    }
}

fn filled<T: Copy + Default + Send>(
    docs: &[u32],
    starts: &[usize],
    nnz: impl Fn(u32) -> usize + Sync,
    short: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let mut offsets = vec![T::default(); docs.len() + 1];
    let tasks = offsets[1..].par_chunks_mut(TASK_ROWS).zip(docs.par_chunks(TASK_ROWS)).zip(starts);
    tasks.for_each(|((offsets, docs), &start)| {
        let mut end = start;
        for (offset, &doc) in offsets.iter_mut().zip(docs) {
            end += nnz(doc);
            *offset = short(end);
        }
    });
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_beyond_32_bits_are_long() {
        let docs: Vec<u32> = (0..2 * TASK_ROWS as u32 + 3).collect();
        for nnz in [0, 3, 1 << 20] {
            let offsets = Offsets::new(&docs, |doc| nnz + doc as usize % 2, None).unwrap();
            let mut end = 0;
            for (row, &doc) in docs.iter().enumerate() {
                let start = end;
                end += nnz + doc as usize % 2;
                assert_eq!(offsets.range(row), start..end);
            }
            assert_eq!(offsets.n_entries(), end);
            assert_eq!(matches!(offsets, Offsets::Long(_)), end > u32::MAX as usize, "{end}");
        }
        assert_eq!(Offsets::default().n_entries(), Offsets::new(&[], |_| 1, None).unwrap().n_entries());
    }
}
