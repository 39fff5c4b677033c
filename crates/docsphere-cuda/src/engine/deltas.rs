//! What documents that moved change in the sums of clusters; see `kernels/deltas.cu`.

#![allow(unsafe_code)]

use rayon::prelude::*;

use super::{Block, Engine};
use crate::arguments::{MovesArguments, SUM_MOVES};
use crate::device::{Buffer, Device, Host, Pointer};
use crate::error::Result;

/// The memory of the device for marks, at most: fewer blocks of threads work side by side if there
/// are very many terms.
const MOST_MARK_BYTES: usize = 1 << 30;

/// Documents that joined or left clusters, by cluster.
#[derive(Clone, Copy, Debug)]
pub struct Moves<'a> {
    /// Where the moves of each cluster begin, and where those of the last one end.
    pub ends: &'a [u32],
    /// The place of a document in its block, twice; plus 1 if it joined.
    pub moves: &'a [u32],
    /// By move: what its integers are multiplied with. Empty: 1.
    pub factors: &'a [f64],
}

/// What moves change in the sums of their clusters.
#[derive(Clone, Copy, Debug)]
pub struct Deltas<'a> {
    /// Where the entries of each cluster begin, then how many each has.
    places: &'a [u32],
    terms: &'a [u32],
    values: &'a [i64],
}

impl<'a> Deltas<'a> {
    /// The terms of the moved documents of a cluster, ascending, and the changes of its sum. Some
    /// may be 0.
    pub fn of(&self, group: usize) -> (&'a [u32], &'a [i64]) {
        let (starts, lengths) = self.places.split_at(self.places.len() / 2);
        let (start, length) = (starts[group] as usize, lengths[group] as usize);
        (&self.terms[start..start + length], &self.values[start..start + length])
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Summing {
    ends: Buffer<u32>,
    moves: Buffer<u32>,
    factors: Buffer<f64>,
    /// Of each block of threads: so many words are 0.
    marks: Buffer<u32>,
    n_marks: usize,
    before: Buffer<u32>,
    counts: Buffer<u32>,
    places: Buffer<u32>,
    terms: Buffer<u32>,
    values: Buffer<i64>,
    host_places: Vec<u32>,
    host_terms: Host<u32>,
    host_values: Host<i64>,
}

impl Summing {
    /// Bytes on the host.
    pub(super) fn host_bytes(&self) -> usize {
        4 * self.host_places.len() + self.host_terms.bytes() + self.host_values.bytes()
    }

    /// Makes room: for the marks of as many blocks of threads as shall work, for groups and for
    /// entries. Returns the number of blocks.
    fn reserve(&mut self, device: &Device, n_terms: usize, n_groups: usize, n: usize) -> Result<u32> {
        let n_words = n_terms.div_ceil(32).max(1);
        let most_blocks = (MOST_MARK_BYTES / (8 * n_words)).max(1);
        let n_blocks = (device.n_blocks(8) as usize).min(n_groups).min(most_blocks);
        if self.n_marks < n_blocks * n_words {
            // What a lost reservation leaves is not 0.
            self.n_marks = 0;
            device.reserve(&mut self.marks, n_blocks * n_words)?;
            device.clear(&mut self.marks, 0..n_blocks * n_words)?;
            self.n_marks = n_blocks * n_words;
        }
        device.reserve(&mut self.before, n_blocks * n_words)?;
        device.reserve(&mut self.counts, 2)?;
        device.clear(&mut self.counts, 0..2)?;
        device.reserve(&mut self.places, 2 * n_groups)?;
        device.reserve(&mut self.terms, n)?;
        device.reserve(&mut self.values, n)?;
        Ok(n_blocks as u32)
    }

    /// Brings back where the entries of each group are, and all entries.
    fn collect(&mut self, device: &Device, n_groups: usize) -> Result<Deltas<'_>> {
        let mut counted = [0; 2];
        device.download(&self.counts, &mut counted)?;
        self.host_places.resize(2 * n_groups, 0);
        device.download(&self.places, &mut self.host_places)?;
        let n = counted[1] as usize;
        device.download_host(&self.terms, &mut self.host_terms, n)?;
        device.download_host(&self.values, &mut self.host_values, n)?;
        Ok(Deltas {
            places: &self.host_places,
            terms: &device.host_values(&mut self.host_terms)?[..n],
            values: &device.host_values(&mut self.host_values)?[..n],
        })
    }
}

impl Engine {
    /// What moves of documents of a block change in the sums of their clusters; `None` if the rows
    /// of the block are not on the device, or too few move for that to be worth a transfer.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), after which everything else is as before;
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn deltas(
        &mut self,
        block: Block<'_>,
        n_terms: usize,
        moves: &Moves<'_>,
    ) -> Result<Option<Deltas<'_>>> {
        let Engine { device, blocks, summing, .. } = self;
        let device = &**device;
        let stored = blocks.get(block.number).and_then(Option::as_ref);
        let Some(rows) = stored.and_then(|stored| stored.resident()) else { return Ok(None) };
        let nnz = |&one: &u32| {
            let doc = one as usize >> 1;
            (block.offsets[doc + 1] - block.offsets[doc]) as usize
        };
        let n_entries: usize = moves.moves.par_iter().with_min_len(1 << 12).map(nnz).sum();
        if n_entries < device.least_moved() || n_entries > u32::MAX as usize {
            return Ok(None);
        }
        let n_groups = moves.ends.len() - 1;
        let n_blocks = summing.reserve(device, n_terms, n_groups, n_entries)?;
        device.upload(&mut summing.ends, moves.ends)?;
        device.upload(&mut summing.moves, moves.moves)?;
        let mut factors = Pointer::NULL;
        if !moves.factors.is_empty() {
            device.upload(&mut summing.factors, moves.factors)?;
            factors = summing.factors.pointer();
        }
        let arguments = MovesArguments {
            rows,
            ends: summing.ends.pointer(),
            moves: summing.moves.pointer(),
            factors,
            marks: summing.marks.pointer(),
            before: summing.before.pointer(),
            counts: summing.counts.pointer(),
            starts: summing.places.pointer(),
            lengths: summing.places.pointer().plus(n_groups),
            terms: summing.terms.pointer(),
            values: summing.values.pointer(),
            n_groups: n_groups as u32,
            n_terms: n_terms as u32,
        };
        // SAFETY: moves are of documents of the block, whose terms are below `n_terms`; every block
        // of threads has marks for all terms, which are 0; there are no more entries than nonzeros
        // of the documents.
        unsafe { device.launch(&SUM_MOVES, n_blocks, device.shape().threads, arguments)? };
        summing.collect(device, n_groups).map(Some)
    }
}
