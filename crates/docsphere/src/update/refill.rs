//! What happens to empty clusters: each takes the worst-fitting document that may be taken.
//!
//! A document may be taken if it has weight, if it does not sit on its own centroid (else a heap of equal rows would
//! only be split), if its cluster keeps a member, and if no equal row has been taken in the same update. Worst first, then by
//! document number; clusters in ascending order. So the outcome depends on labels and similarities alone.

use std::collections::{BinaryHeap, HashSet};

use super::Assignment;
use crate::vectors::{RowWeights, UnitRows};

/// Two unit vectors whose similarity falls short of one by less than this are taken to coincide.
///
/// A unit row kept as it is may have a squared length of `1 - 1e-6`, so this is what rounding alone can explain, twice.
pub(crate) const COINCIDENT: f64 = 2e-6;

/// A document given to an empty cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Refill {
    pub(super) doc: u32,
    pub(super) cluster: u32,
}

/// Chooses a document for each empty cluster, as long as there are any. `n_members` is kept up to date.
pub(super) fn choose(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    assignment: &Assignment,
    n_members: &mut [u32],
) -> Vec<Refill> {
    let empty: Vec<u32> = (0..n_members.len()).filter(|&j| n_members[j] == 0).map(|j| j as u32).collect();
    if empty.is_empty() {
        return Vec::new();
    }
    let mut candidates = worst_first(weights, assignment, n_members);
    let mut taken_rows: HashSet<(&[u32], Vec<u32>)> = HashSet::new();
    let mut refills = Vec::new();
    for cluster in empty {
        let found = std::iter::from_fn(|| candidates.pop()).find(|candidate| {
            let row = rows.row(candidate.doc as usize);
            n_members[assignment.labels[candidate.doc as usize] as usize] > 1
                && taken_rows.insert((row.terms, row.values.iter().map(|v| v.to_bits()).collect()))
        });
        let Some(Candidate { doc, .. }) = found else { break };
        n_members[assignment.labels[doc as usize] as usize] -= 1;
        n_members[cluster as usize] = 1;
        refills.push(Refill { doc, cluster });
    }
    refills
}

/// A document that may be taken. The greatest of them is the worst-fitting one.
#[derive(PartialEq)]
struct Candidate {
    similarity: f64,
    doc: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.similarity.total_cmp(&self.similarity).then(other.doc.cmp(&self.doc))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn worst_first(
    weights: &RowWeights<'_>,
    assignment: &Assignment,
    n_members: &[u32],
) -> BinaryHeap<Candidate> {
    let docs = assignment.labels.iter().zip(&assignment.similarities).enumerate();
    docs.filter(|&(doc, (&label, &similarity))| {
        label != Assignment::NO_LABEL
            && weights.weight(doc) > 0.0
            && n_members[label as usize] > 1
            && 1.0 - similarity >= COINCIDENT
    })
    .map(|(doc, (_, &similarity))| Candidate { similarity, doc: doc as u32 })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    fn one_term_rows(terms: &[u32]) -> UnitRows<'static> {
        let offsets = (0..=terms.len() as u64).collect::<Vec<_>>();
        UnitRows::new(SparseRows::from_parts(100, offsets, terms.to_vec(), vec![1.0; terms.len()]).unwrap())
    }

    fn choose_for(terms: &[u32], labels: &[u32], similarities: &[f64], n_clusters: usize) -> Vec<(u32, u32)> {
        let assignment = Assignment { labels: labels.to_vec(), similarities: similarities.to_vec() };
        let mut n_members = vec![0; n_clusters];
        labels.iter().for_each(|&label| n_members[label as usize] += 1);
        let rows = one_term_rows(terms);
        choose(&rows, &RowWeights::UNIFORM, &assignment, &mut n_members)
            .iter()
            .map(|r| (r.doc, r.cluster))
            .collect()
    }

    #[test]
    fn the_worst_fitting_document_goes_first_and_ties_go_by_number() {
        let chosen = choose_for(&[0, 1, 2, 3], &[1, 1, 1, 1], &[0.5, 0.2, 0.2, 0.9], 3);
        assert_eq!(chosen, [(1, 0), (2, 2)]);
    }

    #[test]
    fn no_cluster_gives_its_last_member() {
        let chosen = choose_for(&[0, 1, 2], &[0, 0, 1], &[0.3, 0.4, 0.1], 4);
        assert_eq!(chosen, [(0, 2)], "document 2 is alone, and after document 0 left so is document 1");
    }

    #[test]
    fn equal_rows_and_rows_on_their_centroid_are_not_taken() {
        assert_eq!(choose_for(&[5, 5, 5, 5], &[0; 4], &[1.0; 4], 3), []);
        assert_eq!(choose_for(&[5, 5, 6, 7], &[0; 4], &[0.1, 0.1, 0.2, 0.3], 3), [(0, 1), (2, 2)]);
    }
}
