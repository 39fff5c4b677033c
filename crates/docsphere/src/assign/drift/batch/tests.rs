use super::*;
use crate::assign::drift::arranged::TermRanks;
use crate::assign::drift::columns::UNITS;
use crate::assign::reference_similarity;
use crate::centroids::Centroids;
use crate::simd::{Packing, Simd};
use crate::vectors::{Row, SparseRows, UnitRows};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn rows(n_terms: usize, list: &[BTreeMap<u32, f32>]) -> UnitRows<'static> {
    UnitRows::new(SparseRows::from_maps(n_terms, list))
}

fn entries(n_terms: u32, most: usize) -> impl Strategy<Value = BTreeMap<u32, f32>> {
    let value = prop_oneof![4 => 0.001f32..1.0, 1 => Just(1.0), 1 => 1e-30f32..1e-3];
    prop::collection::btree_map(0..n_terms, value, 1..most)
}

/// A row as it is scanned.
fn packed(row: Row<'_>, ranks: &TermRanks, packing: Packing) -> Vec<u32> {
    row.iter().map(|(term, value)| packing.pack(ranks.rank_of[term as usize], value)).collect()
}

proptest! {
    /// Both inequalities of `columns.rs`, for every column, in the table or in lists, with and
    /// without groups, on every SIMD level.
    #[test]
    fn sums_bound_similarities_from_both_sides(
        centroids in prop_oneof![
            prop::collection::vec(entries(30, 30), 1..150),
            prop::collection::vec(entries(300, 4), 300..400),
        ],
        docs in prop::collection::vec(entries(300, 30), 1..5),
        own in prop_oneof![Just(f64::NEG_INFINITY), 0.0..0.7],
        masks in prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u64>(), 7)],
        // As if there were more terms, which leave fewer bits to values.
        n_terms in prop_oneof![Just(300usize), Just(1 << 20), Just(1 << 24), Just(1 << 28)],
    ) {
        let packing = Packing::for_terms(n_terms);
        let docs = rows(300, &docs);
        let centroids = Centroids::from_rows(rows(300, &centroids).as_sparse().clone());
        let ranks = TermRanks::new(&docs);
        let live = centroids.live();
        let n_tiles = live.len().div_ceil(TILE);
        let mut columns = Columns::default();
        for (level, grouped) in Simd::ALL.iter().copied().filter_map(Level::of).flat_map(|level| [(level, false), (level, true)]) {
            columns.build(&centroids, &ranks, &live);
            if grouped && columns.group_len == 0 {
                continue;
            }
            let mut batch = Batch::default();
            batch.clear();
            for doc in 0..docs.n_rows() {
                let entries = packed(docs.row(doc), &ranks, packing);
                let row = Packed { entries: &entries, packing };
                batch.add(&columns, level, row, n_tiles, u32::MAX, own);
            }
            let mut candidates = Vec::new();
            if grouped {
                batch.scan_groups(&columns, &masks, level, |doc, column| candidates.push((doc, column)));
            } else {
                batch.scan(&columns, &masks, level, |doc, column| candidates.push((doc, column)));
            }
            for (doc, &bounds) in batch.docs.iter().enumerate() {
                let is_masked = |column: usize| {
                    masks.get(column / TILE).is_some_and(|mask| mask >> (column % TILE) & 1 == 1)
                };
                prop_assert!(candidates.iter().all(|&(_, column)| !is_masked(column)));
                let of_column = |(column, &j): (usize, &u32)| {
                    let similarity = reference_similarity(docs.row(doc), centroids.row(j as usize));
                    (!is_masked(column)).then_some((column, similarity))
                };
                let similarities: Vec<(usize, f64)> =
                    live.iter().enumerate().filter_map(of_column).collect();
                let best = similarities.iter().map(|&(_, similarity)| similarity).fold(0.0, f64::max);
                for &(column, similarity) in &similarities {
                    if candidates.contains(&(doc, column)) || bounds.is_heavy() {
                        continue;
                    }
                    prop_assert!(similarity < best || best < own, "the best is a candidate");
                    prop_assert!(similarity <= bounds.loser_bound(), "a loser is bounded");
                }
                // Also tight: the best sum exceeds the best similarity by no more than stated,
                // unless it is of a masked column that decides nothing.
                if bounds.best >= bounds.reaches_own {
                    prop_assert!(f64::from(bounds.best) <= UNITS * best * (1.0 + 4e-6) + f64::from(bounds.above));
                }
            }
        }
    }
}
