//! Random seeds in one step: the documents that come first in a random order.
//!
//! The place of a document is a hash of its terms and of the seed of the run, so the sample does
//! not depend on the order of the rows, nor on the rounding of their values, and each shard finds
//! its part of it alone. Rows with the same terms share a place, and only the first of them by
//! their values is in the sample, whatever their weights; rows without terms or weight never are.
//!
//! **Cost.** One pass over the rows, and a sort of 12 bytes per document.

use rayon::prelude::*;

use super::draw::SeedRng;
use super::order::{Ordered, mix};
use super::source::{Placed, SeedSource};
use crate::centroids::Centroid;
use crate::error::Result;
use crate::vectors::{Row, RowWeights, UnitRows};

/// `n` rows; `None` if fewer have different terms.
pub(crate) fn sampled(
    source: &dyn SeedSource,
    n: usize,
    seed: u64,
    run: usize,
) -> Result<Option<Vec<Centroid>>> {
    let salt = SeedRng::new(seed, run).next();
    let mut all = source.sample(salt, n)?;
    all.par_sort_unstable();
    let Some(last) = nth_place(&all, n) else { return Ok(None) };
    all.retain(|placed| placed.place <= last);
    let docs: Vec<u32> = all.iter().map(|placed| placed.doc).collect();
    let mut rows: Vec<(Placed, Centroid)> = all.into_iter().zip(source.seed_rows(&docs)?).collect();
    // One of each shard, in the order of their places.
    rows.sort_by(|(a, x), (b, y)| ordered(*a, x.as_row()).compare(&ordered(*b, y.as_row())));
    rows.dedup_by_key(|(placed, _)| placed.place);
    Ok(Some(rows.into_iter().map(|(_, row)| row).collect()))
}

/// The documents of a shard that may be in a sample of `n`: for each of the first `n` places, the
/// first document by its values. They have numbers from `first_doc` on.
pub(crate) fn sample_of(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    first_doc: usize,
    salt: u64,
    n: usize,
) -> Vec<Placed> {
    let docs = (0..rows.n_rows()).into_par_iter().with_min_len(1 << 10);
    let usable = docs.filter(|&doc| rows.row(doc).nnz() > 0 && weights.weight(doc) > 0.0);
    let placed = usable.map(|doc| Placed {
        place: place(rows.row(doc), salt),
        doc: doc as u32, // fits: at most MAX_ROWS
    });
    let mut all: Vec<Placed> = placed.collect();
    all.par_sort_unstable();
    let in_order = |a: &Placed, b: &Placed| {
        let of = |placed: &Placed| ordered(*placed, rows.row(placed.doc as usize));
        of(a).compare(&of(b))
    };
    let same = all.chunk_by(|a, b| a.place == b.place).take(n);
    let first = same.filter_map(|same| same.iter().min_by(|a, b| in_order(a, b)));
    first.map(|found| Placed { doc: found.doc + first_doc as u32, ..*found }).collect()
}

/// The n-th different place of a sorted list.
fn nth_place(sorted: &[Placed], n: usize) -> Option<u64> {
    sorted.chunk_by(|a, b| a.place == b.place).nth(n.checked_sub(1)?).map(|same| same[0].place)
}

fn ordered(placed: Placed, row: Row<'_>) -> Ordered<'_> {
    Ordered { hash: placed.place, row, doc: placed.doc }
}

fn place(row: Row<'_>, salt: u64) -> u64 {
    row.terms.iter().fold(salt, |hash, &term| mix(hash ^ (u64::from(term) + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn the_same_terms_count_once_and_rows_without_weight_not_at_all() {
        let offsets = vec![0, 1, 2, 2, 3, 4];
        let rows = SparseRows::from_parts(9, offsets, vec![3, 3, 5, 7], vec![1.0; 4]).unwrap();
        let rows = UnitRows::new(rows);
        let weights = [1.0, 2.0, 1.0, 1.0, 0.0];
        let weights = RowWeights::new(&weights, 5).unwrap();
        let docs = |salt| -> Vec<u32> {
            sample_of(&rows, &weights, 10, salt, 9).iter().map(|placed| placed.doc).collect()
        };
        let mut sorted = docs(1);
        sorted.sort_unstable();
        assert_eq!(sorted, [10, 13]);
        assert!((0..20).any(|salt| docs(salt)[0] == 10) && (0..20).any(|salt| docs(salt)[0] == 13));
        assert_eq!(sample_of(&rows, &weights, 10, 1, 1).len(), 1);
    }
}
