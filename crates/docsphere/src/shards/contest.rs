//! Contests: a document leaves the most similar centroid if another cluster is the better place for
//! it once its own contribution is taken into account.
//!
//! A cluster's own members pull its centroid towards them, so each of them looks closer than it
//! would be without that. An assignment does not see this, a contest does. The document's *rival*
//! is the most similar other centroid, on ties the one with the smallest number. Two scores are
//! compared, and the document moves if that of the rival is greater by more than [`MIN_GAIN`].
//!
//! Let `s` be the similarity to a centroid, `w` the weight of the document, at most 1, and `S` the
//! sum of the cluster.
//!
//! | rule | own score | score of the rival | rivals |
//! |---|---|---|---|
//! | first variation | `(abs(S) - abs(S - w x)) / w` | `(abs(S + w x) - abs(S)) / w` | whose `s` is at least the own score, less what the own contribution adds to `s` |
//! | leave one out | `x . root(S - w x)` | `s` | all |
//!
//! First variation: the difference is what the objective of spherical k-means gains if this
//! document alone moves (Dhillon, Guan, Kogan, "Iterative clustering of high dimensional text data
//! augmented by local search", ICDM 2002, doi:10.1109/ICDM.2002.1183895). With `n = abs(S)` and
//! `x . S = n s`, the scores are `(2ns - w) / (n + sqrt(n^2 - 2wns + w^2))` and
//! `(2ns + w) / (n + sqrt(n^2 + 2wns + w^2))`, which no cancellation spoils.
//!
//! Leave one out: for root centroids ([`Shape::Root`](crate::update::Shape)), whose entries are
//! roots of the entries of the sum. The sum is taken from the centroid and the total of its
//! magnitudes, and the document from the sum.
//!
//! The weight is at most 1, so that a row of weight 3 moves like three rows of weight 1. All
//! documents are judged by the same sums, and move at once: what they gain together may be less
//! than the sum of their gains, or nothing, which only the next assignment shows.
//!
//! **Cost.** 64 bytes per document that takes part, and up to 64 for its rivals; the time of the
//! strategy's
//! [`rivals`](crate::assign::Assigner::rivals).

use serde::{Deserialize, Serialize};

use crate::vectors::Row;

/// The least difference of scores for which a document moves: above what rounding makes of 0.
const MIN_GAIN: f64 = 1e-9;

/// Entries of a sum that are less than this share of what they were before a document left count as
/// 0: centroids are rounded.
const REST: f64 = 1e-6;

/// How documents are judged; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rule {
    FirstVariation,
    LeaveOneOut,
}

/// A contest of all documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contest {
    pub(crate) rule: Rule,
    /// By cluster, in units of a row of weight one: the length of the sum, or with
    /// [`Rule::LeaveOneOut`] the sum of its magnitudes.
    pub(crate) sizes: Vec<f64>,
}

/// A document that takes part.
pub(crate) struct Member<'a> {
    pub(crate) row: Row<'a>,
    /// Its weight, at most 1.
    pub(crate) weight: f64,
    pub(crate) cluster: u32,
    /// The similarity to the centroid of its cluster.
    pub(crate) similarity: f64,
    pub(crate) centroid: Row<'a>,
}

/// What a rival must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) own_score: f64,
    /// The least similarity of a rival.
    pub(crate) at_least: f64,
}

impl Contest {
    /// What a rival of a document must reach; `None` if the document stays in any case.
    pub(crate) fn mark(&self, member: &Member<'_>) -> Option<Mark> {
        let size = self.sizes[member.cluster as usize];
        match self.rule {
            Rule::FirstVariation => {
                let own_score = loss(size, member.weight, member.similarity);
                let contributed = (member.similarity - own_score).max(0.0);
                Some(Mark { own_score, at_least: own_score - contributed })
            }
            Rule::LeaveOneOut => {
                let own_score = without(member, size)?;
                Some(Mark { own_score, at_least: own_score })
            }
        }
    }

    /// Whether a document of this weight moves to a rival.
    pub(crate) fn wins(&self, mark: Mark, weight: f64, cluster: u32, similarity: f64) -> bool {
        let score = match self.rule {
            Rule::FirstVariation => gain(self.sizes[cluster as usize], weight, similarity),
            Rule::LeaveOneOut => similarity,
        };
        similarity > 0.0 && score > mark.own_score + MIN_GAIN
    }
}

/// What a sum of length n loses without a document of weight w and similarity s, by weight.
fn loss(n: f64, w: f64, s: f64) -> f64 {
    let rest = (n * n - 2.0 * w * n * s + w * w).max(0.0).sqrt();
    (2.0 * n * s - w) / (n + rest)
}

/// What a sum of length n gains with a document of weight w and similarity s, by weight.
fn gain(n: f64, w: f64, s: f64) -> f64 {
    let more = (n * n + 2.0 * w * n * s + w * w).max(0.0).sqrt();
    (2.0 * n * s + w) / (n + more)
}

/// The similarity of a document to the root centroid of its cluster without it; `None` if it is
/// alone.
fn without(member: &Member<'_>, total: f64) -> Option<f64> {
    let Member { row, weight, centroid, .. } = *member;
    let (mut sum, mut rest, mut from) = (0.0, total, 0);
    for (term, x) in row.iter() {
        from += centroid.terms[from..].partition_point(|&other| other < term);
        let root = match centroid.terms.get(from) {
            Some(&found) if found == term => f64::from(centroid.values[from]),
            _ => 0.0,
        };
        let (x, before) = (f64::from(x), root * root.abs() * total);
        let after = before - weight * x;
        let after = if after.abs() < REST * before.abs() { 0.0 } else { after };
        rest += after.abs() - before.abs();
        sum += x * after.abs().sqrt().copysign(after);
    }
    (rest > REST * total).then(|| sum / rest.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense(row: &[f64]) -> (Vec<u32>, Vec<f32>) {
        let entries = row.iter().zip(0..).filter(|(x, _)| **x != 0.0);
        entries.map(|(&x, term)| (term, x as f32)).unzip()
    }

    fn length(row: &[f64]) -> f64 {
        row.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn scaled(row: &[f64], by: f64) -> Vec<f64> {
        row.iter().map(|x| x * by).collect()
    }

    fn plus(a: &[f64], b: &[f64], w: f64) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + w * b).collect()
    }

    proptest! {
        /// Against the definitions, on dense vectors in f64.
        #[test]
        fn scores_are_those_of_the_definitions(
            others in prop::collection::vec(0.0f64..3.0, 6),
            rival in prop::collection::vec(0.1f64..3.0, 6),
            x in prop::collection::vec(0.0f64..1.0, 6),
            weight in prop::sample::select(vec![1.0, 0.5]),
        ) {
            prop_assume!(length(&x) > 0.1 && length(&others) > 0.1);
            let x = scaled(&x, 1.0 / length(&x));
            let own = plus(&others, &x, weight);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let s = |sum: &[f64]| dot(&x, sum) / length(sum);
            prop_assert!((loss(length(&own), weight, s(&own)) - (length(&own) - length(&others)) / weight).abs() < 1e-9);
            let joined = plus(&rival, &x, weight);
            let gained = (length(&joined) - length(&rival)) / weight;
            prop_assert!((gain(length(&rival), weight, s(&rival)) - gained).abs() < 1e-9);

            let root = |sum: &[f64]| {
                let roots: Vec<f64> = sum.iter().map(|s| s.sqrt()).collect();
                scaled(&roots, 1.0 / length(&roots))
            };
            let (terms, values) = dense(&x);
            let (root_terms, root_values) = dense(&root(&own));
            let member = Member {
                row: Row { terms: &terms, values: &values },
                weight,
                cluster: 0,
                similarity: 0.0,
                centroid: Row { terms: &root_terms, values: &root_values },
            };
            let found = without(&member, own.iter().sum()).unwrap();
            prop_assert!((found - dot(&x, &root(&others))).abs() < 1e-3, "{}", found);
        }
    }

    #[test]
    fn a_document_that_is_alone_stays() {
        let (terms, values) = ([3], [1.0]);
        let row = Row { terms: &terms, values: &values };
        let member = Member { row, weight: 1.0, cluster: 0, similarity: 1.0, centroid: row };
        let contest = |rule| Contest { rule, sizes: vec![1.0, 5.0] };
        assert_eq!(contest(Rule::LeaveOneOut).mark(&member), None);
        let contest = contest(Rule::FirstVariation);
        let mark = contest.mark(&member).unwrap();
        assert_eq!(mark.own_score, 1.0);
        assert!(!contest.wins(mark, 1.0, 1, 1.0), "the score of a rival is at most 1");
    }
}
