//! An order of the documents that depends on their content alone: that of a dictionary.
//!
//! Draws run through the documents in this order. So it does not matter in which order they came, and rows that are equal stand side by side: a row of weight 3 is drawn as often, and by the same
//! random numbers, as three rows. Rows ascend by their terms, then by the values of these, each time as words in a dictionary. Numbers are only compared: columns that no row uses, or another
//! scale, change nothing.
//!
//! **Cost.** Memory: 8 bytes a document, 16 more while it is made. Time: sorting; nearly all comparisons are decided by the first two terms, which stand beside the number of the document.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::vectors::{Row, UnitRows};

/// See the [module](self).
pub(super) struct RowOrder {
    /// The document at each position.
    pub(super) docs: Vec<u32>,
    /// The position of each document.
    pub(super) positions: Vec<u32>,
}

impl RowOrder {
    pub(super) fn new(rows: &UnitRows<'_>) -> Self {
        let docs = (0..rows.n_rows() as u32).into_par_iter().with_min_len(1 << 10); // fits: at most MAX_ROWS
        let mut sorted: Vec<(u64, u32)> =
            docs.map(|doc| (first_terms(rows.row(doc as usize)), doc)).collect();
        sorted.par_sort_unstable_by(|a, b| {
            let row = |doc: u32| rows.row(doc as usize);
            a.0.cmp(&b.0).then_with(|| compare(row(a.1), row(b.1))).then(a.1.cmp(&b.1))
        });
        let docs: Vec<u32> = sorted.into_iter().map(|(_, doc)| doc).collect();
        let mut positions = vec![0; docs.len()];
        for (position, &doc) in docs.iter().enumerate() {
            positions[doc as usize] = position as u32;
        }
        RowOrder { docs, positions }
    }
}

/// Compares as the first two terms do; 0 stands for none.
fn first_terms(row: Row<'_>) -> u64 {
    let term = |place: usize| row.terms.get(place).map_or(0, |&term| u64::from(term) + 1);
    term(0) << 32 | term(1)
}

fn compare(a: Row<'_>, b: Row<'_>) -> Ordering {
    let by_value = || a.values.iter().zip(b.values).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    a.terms.cmp(b.terms).then_with(|| by_value().unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn rows_ascend_by_terms_then_by_values() {
        let offsets = vec![0, 2, 3, 6, 9, 9, 11];
        let terms = vec![1, 4, 1, 1, 4, 6, 1, 4, 6, 0, 7];
        let values = vec![1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0];
        let rows = UnitRows::new(SparseRows::from_parts(8, offsets, terms, values).unwrap());
        let order = RowOrder::new(&rows);
        assert_eq!(order.docs, [4, 5, 1, 0, 2, 3]);
        assert_eq!(order.positions, [3, 2, 4, 5, 0, 1]);
    }

    #[test]
    fn equal_rows_stay_as_they_came() {
        let rows = SparseRows::from_parts(9, vec![0, 1, 2, 3, 4], vec![8, 3, 8, 3], vec![1.0; 4]).unwrap();
        assert_eq!(RowOrder::new(&UnitRows::new(rows)).docs, [1, 3, 0, 2]);
    }
}
