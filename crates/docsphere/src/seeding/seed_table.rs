//! Similarities of one seed to many rows.
//!
//! These are not the tables of `assign/lookup.rs`: those are many, one per centroid, and must be
//! small; here there is one at a time, whose bitmap may be large, and the rows come in no
//! cache-friendly order.

use crate::vectors::Row;

/// The entries of a seed as a hash table.
///
/// Most terms of a row are not in it: a bitmap over many hash values rules them out. Terms that
/// pass are gathered without a branch, because whether one passes is hard to predict.
pub(super) struct SeedTable {
    slots: Box<[(u32, f32)]>,
    present: Box<[u64]>,
    /// Reduces a hash value to a bit index.
    shift: u32,
}

impl SeedTable {
    /// Not a term: ids stay below `MAX_TERMS`.
    const FREE: u32 = u32::MAX;

    /// Bits per slot, and the minimum number of bits.
    const BITS: (usize, usize) = (64, 1 << 14);

    /// Terms of a row that are processed together.
    const GATHERED: usize = 128;

    pub(super) fn new(row: Row<'_>) -> Self {
        let capacity = (2 * row.nnz()).next_power_of_two();
        let n_bits = (capacity * Self::BITS.0).max(Self::BITS.1);
        let mut table = SeedTable {
            slots: vec![(Self::FREE, 0.0); capacity].into(),
            present: vec![0; n_bits / 64].into(),
            shift: 64 - n_bits.trailing_zeros(),
        };
        for entry in row.iter() {
            let bit = table.bit(entry.0);
            table.present[bit / 64] |= 1 << (bit % 64);
            let slot = table.slot(entry.0);
            table.slots[slot] = entry;
        }
        table
    }

    #[inline]
    fn bit(&self, term: u32) -> usize {
        (u64::from(term).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// The slot of a term, or the free slot where it would go.
    #[inline]
    fn slot(&self, term: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.bit(term) & mask;
        while self.slots[slot].0 != term && self.slots[slot].0 != Self::FREE {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The similarity to a row: see ARCHITECTURE.md, definition 2. A free slot has value 0, which
    /// adds nothing.
    pub(super) fn similarity(&self, row: Row<'_>) -> f64 {
        let mut sum = 0.0;
        let mut gathered = [0; Self::GATHERED];
        for (terms, values) in row.terms.chunks(Self::GATHERED).zip(row.values.chunks(Self::GATHERED)) {
            let mut n_gathered = 0;
            for (place, &term) in (0u8..).zip(terms) {
                let bit = self.bit(term);
                gathered[n_gathered % Self::GATHERED] = place;
                n_gathered += (self.present[bit / 64] >> (bit % 64) & 1) as usize;
            }
            for place in gathered[..n_gathered].iter().map(|&place| usize::from(place)) {
                sum += f64::from(values[place]) * f64::from(self.slots[self.slot(terms[place])].1);
            }
        }
        sum
    }
}
