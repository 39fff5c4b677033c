//! Which documents new seeds bring nearer than any seed so far; see `kernels/seeds.cu`.
//!
//! The device has the rows and the greatest similarity of each document to a seed so far. The host
//! sends what has become greater, and candidates; back come the documents that each of these would
//! improve. That is one question, of two launches and one copy back, unless there is more to come
//! than the copy has room for.
//!
//! **Memory of the device.** 8 bytes per nonzero, 80 per document, 20 for each document that the
//! last seed improved. Of the host: 80 kB that the device accesses by itself, and 1 MB while more
//! comes back.

#![allow(unsafe_code)]

use std::sync::Arc;

use super::blocks::{Rows, n_blocks};
use super::{Block, Sparse};
use crate::arguments::{FIND_IMPROVED, FindArguments, RAISE_BEST, RaiseArguments, SEEDS};
use crate::device::{Buffer, Device, Host};
use crate::error::{Error, Result};

/// Places of what is found fit into 32 bits.
const MAX_DOCUMENTS: usize = 1 << 28;

/// Marks a slot that is free: ids of terms are smaller.
const FREE: u32 = u32::MAX;

/// A document that a seed brings nearer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Improved {
    /// The document.
    pub document: u32,
    /// Which one of the seeds.
    pub seed: u32,
    /// Their similarity.
    pub similarity: f64,
}

// SAFETY: 0 is a value of all fields.
unsafe impl bytemuck::Zeroable for Improved {}

// SAFETY: numbers without padding, laid out as in C.
unsafe impl bytemuck::Pod for Improved {}

/// Finds the documents that new seeds bring nearer, on a device.
pub struct Seeker {
    device: Arc<Device>,
    rows: Rows,
    n_docs: usize,
    best: Buffer<f64>,
    raised: Buffer<Improved>,
    table: Table,
    found: Buffer<Improved>,
    front: Host<Improved>,
}

/// A hash table: the terms of the seeds, and for each the values of all of them.
#[derive(Default)]
struct Table {
    /// By slot; [`FREE`] if there is no term.
    keys: Vec<u32>,
    /// [`SEEDS`] by slot.
    values: Vec<f32>,
    sent_keys: Buffer<u32>,
    sent_values: Buffer<f32>,
}

impl Table {
    /// Fills it, at most half. Returns the shift from hashes to slots.
    fn fill(&mut self, seeds: &[Sparse<'_>]) -> u32 {
        let n_entries: usize = seeds.iter().map(|(terms, _)| terms.len()).sum();
        let n_slots = (2 * n_entries).next_power_of_two().max(2);
        let shift = 32 - n_slots.trailing_zeros();
        self.keys.clear();
        self.keys.resize(n_slots, FREE);
        self.values.clear();
        self.values.resize(n_slots * SEEDS, 0.0);
        for (number, (terms, values)) in seeds.iter().enumerate() {
            for (&term, &value) in terms.iter().zip(*values) {
                let mut slot = (term.wrapping_mul(0x9e37_79b9) >> shift) as usize;
                while self.keys[slot] != term && self.keys[slot] != FREE {
                    slot = (slot + 1) & (n_slots - 1);
                }
                self.keys[slot] = term;
                self.values[slot * SEEDS + number] = value;
            }
        }
        shift
    }
}

impl Seeker {
    /// Seeds that are compared with documents in one question.
    pub const SEEDS: usize = SEEDS;

    /// For these rows, of which none is similar to a seed so far. Values may be negative.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]; [`Error::TooMany`] if the numbers of the kernels
    /// are too small.
    pub fn new(device: Arc<Device>, block: Block<'_>) -> Result<Self> {
        let n_docs = block.offsets.len() - 1;
        if n_docs > MAX_DOCUMENTS {
            return Err(Error::TooMany { what: "documents", got: n_docs, most: MAX_DOCUMENTS });
        }
        let mut rows = Rows::exactly(&device, n_docs, block.terms.len())?;
        let mut best = device.exactly(n_docs)?;
        let found = device.exactly(1 + SEEDS * n_docs)?;
        rows.send(&device, block)?;
        device.clear(&mut best, 0..n_docs)?;
        let (raised, table, front) = (Buffer::default(), Table::default(), Host::default());
        Ok(Seeker { device, rows, n_docs, best, raised, table, found, front })
    }

    /// Asks which documents each of up to [`SEEDS`](Self::SEEDS) seeds would improve. `raised` are
    /// those that seeds have improved since the last question. Does not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]. Then only the end of this value may follow.
    pub fn ask(&mut self, raised: &[Improved], seeds: &[Sparse<'_>]) -> Result<()> {
        assert!(seeds.len() <= SEEDS, "so many seeds are compared in one pass");
        let Seeker { device, n_docs, best, table, found, .. } = self;
        let shift = table.fill(seeds);
        if !raised.is_empty() {
            device.upload(&mut self.raised, raised)?;
        }
        device.upload(&mut table.sent_keys, &table.keys)?;
        device.upload(&mut table.sent_values, &table.values)?;
        let raise = RaiseArguments {
            best: best.pointer(),
            raised: self.raised.pointer(),
            found: found.pointer(),
            n_raised: raised.len() as u64,
        };
        let find = FindArguments {
            rows: self.rows.matrix(),
            best: best.pointer(),
            keys: table.sent_keys.pointer(),
            values: table.sent_values.pointer(),
            found: found.pointer(),
            n_documents: *n_docs as u64,
            shift,
        };
        let threads = device.shape().threads;
        // SAFETY: all documents have a similarity, and those that were raised are documents; the
        // table has a free slot; there is room for SEEDS findings per document and one more. All of
        // it lives as long as this value, which waits before it ends.
        unsafe {
            device.launch(&RAISE_BEST, n_blocks(device, raised.len()).max(1), threads, raise)?;
            device.launch(&FIND_IMPROVED, device.n_blocks(8), threads, find)
        }
    }

    /// Waits for what was asked for, and passes it on in pieces, in any order.
    ///
    /// # Errors
    /// [`Error::Driver`]. Then only the end of this value may follow.
    pub fn answer(&mut self, take: &mut dyn FnMut(&[Improved])) -> Result<()> {
        let Seeker { device, n_docs, found, front, .. } = self;
        let n_front = (16 * device.shape().threads as usize).min(1 + SEEDS * *n_docs);
        device.download_host(found, front, n_front)?;
        let first = &*device.host_values(front)?;
        let end = 1 + first[0].document as usize;
        take(&first[1..n_front.min(end)]);
        let mut piece = Vec::new();
        for start in (n_front..end).step_by(16 * n_front) {
            piece.resize((end - start).min(16 * n_front), first[0]);
            device.download_from(found, start, &mut piece)?;
            take(&piece);
        }
        Ok(())
    }
}

impl Drop for Seeker {
    fn drop(&mut self) {
        // What is on its way must arrive before the host's memory goes. A device that is lost does
        // nothing more.
        let _ = self.device.wait();
    }
}
