//! Refilling of empty clusters: each takes the worst-fitting document that may be taken.
//!
//! A document may be taken if it has weight, if it does not coincide with its own centroid
//! (otherwise a set of equal rows would merely be split), if its cluster keeps a member, and if no
//! equal row has been taken in the same update. Worst first, then by document number; clusters in
//! ascending order. Documents without a label have similarity 0, so they come before all others,
//! and no cluster loses them. So the outcome depends only on labels and similarities.
//!
//! The documents come in pages, worst first, from all shards: any number of them may turn out not
//! to be allowed.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::error::Result;

/// A document given to an empty cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refill {
    pub(crate) doc: u32,
    pub(crate) cluster: u32,
}

/// How badly a document fits, ties broken by number: the worst is the smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fitting {
    pub(crate) similarity: f64,
    pub(crate) doc: u32,
}

impl Fitting {
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.similarity.total_cmp(&other.similarity).then(self.doc.cmp(&other.doc))
    }
}

/// A document that may be taken as far as its shard knows: it has weight and does not coincide with
/// its centroid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) fitting: Fitting,
    /// [`NO_LABEL`](crate::labels::Assignment::NO_LABEL) if it has none: then no cluster loses a
    /// member.
    pub(crate) label: u32,
    pub(crate) terms: Box<[u32]>,
    pub(crate) values: Box<[f32]>,
}

/// Chooses a document for each empty cluster, as long as there are any. Updates `n_members`.
///
/// `page` returns some candidates that follow a given one, worst first; none if there are no more.
pub(crate) fn choose(
    n_members: &mut [u32],
    mut page: impl FnMut(Option<Fitting>, usize) -> Result<Vec<Candidate>>,
) -> Result<Vec<Refill>> {
    let empty: Vec<u32> = (0..n_members.len()).filter(|&j| n_members[j] == 0).map(|j| j as u32).collect();
    let mut refills = Vec::new();
    let mut clusters = empty.iter().peekable();
    let mut taken_rows: HashSet<(Box<[u32]>, Vec<u32>)> = HashSet::new();
    let (mut after, mut n_wanted) = (None, 2 * empty.len() + 64);
    while clusters.peek().is_some() {
        let candidates = page(after, n_wanted)?;
        let Some(last) = candidates.last() else { break };
        after = Some(last.fitting);
        // So that many equal rows take few pages.
        n_wanted *= 2;
        for candidate in candidates {
            let Some(&&cluster) = clusters.peek() else { break };
            let Candidate { fitting, label, terms, values } = candidate;
            let donor = n_members.get_mut(label as usize);
            if donor.as_ref().is_none_or(|donor| **donor > 1)
                && taken_rows.insert((terms, values.iter().map(|value| value.to_bits()).collect()))
            {
                donor.into_iter().for_each(|donor| *donor -= 1);
                n_members[cluster as usize] = 1;
                refills.push(Refill { doc: fitting.doc, cluster });
                clusters.next();
            }
        }
    }
    Ok(refills)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates of one term each, in pages of `page_size` regardless of the number requested.
    fn choose_for(terms: &[u32], labels: &[u32], similarities: &[f64], n_clusters: usize) -> Vec<(u32, u32)> {
        let mut n_members = vec![0; n_clusters];
        for &label in labels {
            n_members.get_mut(label as usize).into_iter().for_each(|n| *n += 1);
        }
        let mut all: Vec<Candidate> = (0..terms.len())
            .map(|doc| Candidate {
                fitting: Fitting { similarity: similarities[doc], doc: doc as u32 },
                label: labels[doc],
                terms: [terms[doc]].into(),
                values: [1.0].into(),
            })
            .collect();
        all.sort_by(|a, b| a.fitting.compare(&b.fitting));
        let outcome = |page_size: usize| {
            let mut n_members = n_members.clone();
            let page = |after: Option<Fitting>, _| {
                let comes_after =
                    |c: &&Candidate| after.is_none_or(|after| c.fitting.compare(&after).is_gt());
                Ok(all.iter().filter(comes_after).take(page_size).cloned().collect())
            };
            choose(&mut n_members, page).unwrap().iter().map(|r| (r.doc, r.cluster)).collect::<Vec<_>>()
        };
        assert_eq!(outcome(1), outcome(100), "pages change nothing");
        outcome(100)
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
    fn documents_without_a_label_go_first_and_nobody_loses_them() {
        let none = crate::labels::Assignment::NO_LABEL;
        let chosen = choose_for(&[0, 1, 2], &[0, none, none], &[0.3, 0.0, 0.0], 4);
        assert_eq!(chosen, [(1, 1), (2, 2)], "document 0 is the last of its cluster");
    }

    #[test]
    fn equal_rows_are_not_taken_twice() {
        assert_eq!(choose_for(&[5, 5, 6, 7], &[0; 4], &[0.1, 0.1, 0.2, 0.3], 3), [(0, 1), (2, 2)]);
    }
}
