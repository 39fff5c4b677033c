//! Centroids as tables from term to value, for one dot product at a time.
//!
//! The paper counts a dot product as `O(min(p, k))` "given a map-like data structure of the
//! vectors". Here each centroid is an open-addressing hash table, at most half full, so a dot
//! product costs one or two probes per term of the row. Most terms of a row are not in a given
//! centroid: a bitmap over eight times as many hash values, small enough for the L2 cache, rules
//! them out without touching the table.
//!
//! **Cost.** 18 to 36 bytes per entry of the centroids. Only the tables of changed centroids are
//! rebuilt.

use rayon::prelude::*;

use super::Step;
use crate::vectors::Row;

/// One table per cluster.
#[derive(Default)]
pub(super) struct Lookup {
    tables: Vec<Table>,
    /// The iteration that the tables represent.
    iteration: Option<usize>,
}

#[derive(Default)]
struct Table {
    /// Term and value; a free slot has the term [`FREE`]. The length is a power of two, or zero for
    /// an empty centroid.
    slots: Box<[(u32, f32)]>,
    /// One bit for each of `BITS_PER_SLOT` times as many hash values: whether any entry has it.
    present: Box<[u64]>,
    /// Reduces a hash value to a bit index.
    shift: u32,
}

const BITS_PER_SLOT: usize = 8;

/// Not a term: ids stay below `MAX_TERMS`.
const FREE: u32 = u32::MAX;

impl Lookup {
    /// Updates the tables: those of changed centroids, or all of them if an iteration was skipped.
    pub(super) fn prepare(&mut self, step: &Step<'_>) {
        let movement = step.movement_since(self.iteration);
        self.tables.resize_with(step.centroids.n_clusters(), Table::default);
        self.tables.par_iter_mut().enumerate().for_each(|(cluster, table)| {
            if movement.is_none_or(|movement| movement.is_changed(cluster)) {
                *table = Table::new(step.centroids.row(cluster));
            }
        });
        self.iteration = Some(step.iteration);
    }

    /// The similarity of a row and a centroid: see ARCHITECTURE.md, definition 2.
    #[inline]
    pub(super) fn similarity(&self, row: Row<'_>, cluster: u32) -> f64 {
        let table = &self.tables[cluster as usize];
        if table.slots.is_empty() {
            return 0.0;
        }
        let mut sum = 0.0;
        for (term, x) in row.iter() {
            if let Some(c) = table.get(term) {
                sum += f64::from(x) * f64::from(c);
            }
        }
        sum
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|table| size_of_val(&table.slots[..]) + size_of_val(&table.present[..])).sum()
    }
}

impl Table {
    fn new(centroid: Row<'_>) -> Self {
        if centroid.nnz() == 0 {
            return Table::default();
        }
        // At least eight slots, so that the bits fill whole words.
        let capacity = (2 * centroid.nnz()).next_power_of_two().max(8);
        let n_bits = capacity * BITS_PER_SLOT;
        let mut table = Table {
            slots: vec![(FREE, 0.0); capacity].into(),
            present: vec![0; n_bits / 64].into(),
            shift: 32 - n_bits.trailing_zeros(),
        };
        for (term, value) in centroid.iter() {
            let bit = table.bit(term);
            table.present[bit / 64] |= 1 << (bit % 64);
            let mut position = bit / BITS_PER_SLOT;
            while table.slots[position].0 != FREE {
                position = (position + 1) & (capacity - 1);
            }
            table.slots[position] = (term, value);
        }
        table
    }

    #[inline]
    fn get(&self, term: u32) -> Option<f32> {
        let bit = self.bit(term);
        if self.present[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let mut position = bit / BITS_PER_SLOT;
        loop {
            let (key, value) = self.slots[position];
            if key == term {
                return Some(value);
            }
            if key == FREE {
                return None;
            }
            position = (position + 1) & (self.slots.len() - 1);
        }
    }

    /// The top bits of a multiplicative hash. Without the last three bits, it is the slot where the
    /// search begins.
    #[inline]
    fn bit(&self, term: u32) -> usize {
        (term.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::reference_similarity;
    use crate::centroids::Centroids;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    #[test]
    fn tables_are_built_anew_when_an_iteration_was_left_out() {
        use crate::update::Follower;
        let rows = SparseRows::from_parts(3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).unwrap();
        let rows = UnitRows::new(rows);
        let mut centroids = Centroids::from_rows(rows.as_sparse().clone());
        let (mut follower, mut lookup) = (Follower::new(3, 3), Lookup::default());
        lookup.prepare(&Step::new(0, &centroids, None, None));
        let mut update = || follower.update(&rows, &[0, 0, 1], &mut centroids);
        let (first, second) = (update(), update());
        assert!(!first.changed().is_empty() && second.changed().is_empty());
        // The tables represent iteration 0; only the movement of iteration 2 is available, and it
        // is empty.
        lookup.prepare(&Step::new(2, &centroids, Some(&second), None));
        for cluster in 0..3 {
            let expected = reference_similarity(rows.row(0), centroids.row(cluster));
            assert_eq!(lookup.similarity(rows.row(0), cluster as u32), expected, "cluster {cluster}");
        }
    }

    proptest! {
        #[test]
        fn a_table_gives_the_reference_similarity(
            x in prop::collection::btree_map(0u32..300, -1.0f32..1.0, 0..80),
            c in prop::collection::btree_map(0u32..300, -1.0f32..1.0, 0..200),
        ) {
            let rows = |m: &std::collections::BTreeMap<u32, f32>| {
                let (terms, values): (Vec<u32>, Vec<f32>) = m.iter().map(|(&t, &v)| (t, v)).unzip();
                SparseRows::from_parts(300, vec![0, terms.len() as u64], terms, values).unwrap()
            };
            let centroids = Centroids::from_rows(rows(&c));
            let x = UnitRows::new(rows(&x));
            let mut lookup = Lookup::default();
            lookup.prepare(&Step::new(0, &centroids, None, None));
            let expected = reference_similarity(x.row(0), centroids.row(0));
            prop_assert_eq!(lookup.similarity(x.row(0), 0).to_bits(), expected.to_bits());
        }
    }
}
