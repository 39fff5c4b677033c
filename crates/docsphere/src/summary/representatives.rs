//! Representative documents: those nearest to the centroid, without near-duplicates. And those
//! farthest from it.

use super::Representative;
use crate::ids::DocId;
use crate::vectors::UnitRows;

/// Two documents with this similarity or more are near-duplicates.
const NEAR_DUPLICATE: f64 = 0.9;

/// Number of documents scanned per document wanted, so that many duplicates do not raise the cost.
const LOOKED_AT_PER_PLACE: usize = 20;

/// The documents nearest to the centroid, nearest first, ties by number.
pub(super) fn choose(
    rows: &UnitRows<'_>,
    docs: &[u32],
    similarities: &[f64],
    n_wanted: usize,
) -> Vec<Representative> {
    let mut order: Vec<u32> = docs.to_vec();
    let by_rank =
        |a: &u32, b: &u32| similarities[*b as usize].total_cmp(&similarities[*a as usize]).then(a.cmp(b));
    let n_looked_at = n_wanted.saturating_mul(LOOKED_AT_PER_PLACE);
    if n_wanted > 0 && order.len() > n_looked_at {
        order.select_nth_unstable_by(n_looked_at, by_rank);
        order.truncate(n_looked_at);
    }
    order.sort_unstable_by(by_rank);
    let mut chosen: Vec<Representative> = Vec::new();
    for doc in order {
        if chosen.len() == n_wanted {
            break;
        }
        let row = rows.row(doc as usize);
        if chosen.iter().all(|other| row.dot(rows.row(other.doc.index())) < NEAR_DUPLICATE) {
            chosen.push(Representative { doc: DocId::new(doc), similarity: similarities[doc as usize] });
        }
    }
    chosen
}

/// The documents farthest from the centroid, farthest first, ties by number, without those that
/// represent the cluster.
pub(super) fn least(
    docs: &[u32],
    similarities: &[f64],
    representatives: &[Representative],
    n_wanted: usize,
) -> Vec<Representative> {
    let is_other = |doc: &u32| representatives.iter().all(|chosen| chosen.doc.number() != *doc);
    let mut order: Vec<u32> = docs.iter().copied().filter(is_other).collect();
    let by_rank =
        |a: &u32, b: &u32| similarities[*a as usize].total_cmp(&similarities[*b as usize]).then(a.cmp(b));
    if order.len() > n_wanted {
        order.select_nth_unstable_by(n_wanted, by_rank);
        order.truncate(n_wanted);
    }
    order.sort_unstable_by(by_rank);
    let told = |doc: u32| Representative { doc: DocId::new(doc), similarity: similarities[doc as usize] };
    order.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn near_duplicates_are_passed_over_and_ties_go_by_number() {
        let rows = SparseRows::from_parts(
            4,
            vec![0, 2, 4, 6, 7],
            vec![0, 1, 0, 1, 0, 2, 3],
            vec![1.0, 1.0, 1.0, 1.01, 1.0, 1.0, 1.0],
        );
        let rows = UnitRows::new(rows.unwrap());
        let chosen = choose(&rows, &[0, 1, 2, 3], &[0.8, 0.9, 0.7, 0.7], 3);
        assert_eq!(chosen.iter().map(|r| r.doc.number()).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(chosen[0].similarity, 0.9);
        assert!(choose(&rows, &[0, 1], &[0.8, 0.9, 0.7, 0.7], 0).is_empty());
    }

    #[test]
    fn the_least_typical_are_the_farthest_that_represent_nothing() {
        let similarities = [0.5, 0.1, 0.3, 0.1, 0.9, 0.0];
        let representative = Representative { doc: DocId::new(3), similarity: 0.1 };
        let of = |n_wanted| {
            let found = least(&[0, 1, 2, 3, 4], &similarities, &[representative], n_wanted);
            found.iter().map(|found| found.doc.number()).collect::<Vec<_>>()
        };
        assert_eq!(of(2), [1, 2]);
        assert_eq!(of(9), [1, 2, 0, 4]);
        assert!(of(0).is_empty());
    }
}
