//! Contests by their definitions: first variation, and leave-one-out for root centroids.

use std::collections::BTreeMap;

use docsphere::UnitRows;

use crate::fixed_point::{RowWeights, fixed};
use crate::reference::{NO_LABEL, ReferenceAssignment, SparseVector, similarities_to};

/// Scores must differ by more than this.
const MIN_GAIN: f64 = 1e-9;

/// What is left of an entry counts as 0 below this share.
const REST: f64 = 1e-6;

/// One, in the fixed point of sums.
const ONE: f64 = 4_294_967_296.0;

/// A document and the cluster to which a contest moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) doc: usize,
    pub(crate) cluster: usize,
}

/// The integer sums of these labels, without zeros.
pub(crate) fn sums(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    labels: &[i32],
    n_clusters: usize,
) -> Vec<BTreeMap<u32, i128>> {
    let mut sums = vec![BTreeMap::new(); n_clusters];
    for doc in (0..labels.len()).filter(|&doc| labels[doc] != NO_LABEL && weights.counts(doc)) {
        for (term, x) in rows.row(doc).iter() {
            *sums[labels[doc] as usize].entry(term).or_default() += weights.weighed(fixed(f64::from(x)), doc);
        }
    }
    sums.iter_mut().for_each(|sum| sum.retain(|_, s| *s != 0));
    sums
}

/// First variation: the gain of the objective if this document alone moves to its rival.
pub(crate) fn first_variation(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    now: &ReferenceAssignment,
    centroids: &[SparseVector],
) -> Vec<Move> {
    let sums = sums(rows, weights, &now.labels, centroids.len());
    let length =
        |sum: &BTreeMap<u32, i128>| sum.values().fold(0.0, |all, &s| all + s as f64 * s as f64).sqrt() / ONE;
    let lengths: Vec<f64> = sums.iter().map(length).collect();
    let mut moves = Vec::new();
    for (doc, rival) in rivals(rows, now, centroids) {
        let (own, w) = (lengths[now.labels[doc] as usize], weights.single(doc));
        let s = now.similarities[doc];
        let own_score = (2.0 * own * s - w) / (own + (own * own - 2.0 * w * own * s + w * w).max(0.0).sqrt());
        let at_least = own_score - (s - own_score).max(0.0);
        let (cluster, t) = rival;
        let other = lengths[cluster];
        let score =
            (2.0 * other * t + w) / (other + (other * other + 2.0 * w * other * t + w * w).max(0.0).sqrt());
        if weights.counts(doc) && t >= at_least && t > 0.0 && score > own_score + MIN_GAIN {
            moves.push(Move { doc, cluster });
        }
    }
    moves
}

/// Leave one out: the similarity to the root centroid of the own cluster without the document,
/// against that to the rival. The centroids are those of `summed`; documents whose label is another
/// one take no part.
pub(crate) fn leave_one_out(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    now: &ReferenceAssignment,
    summed: &[i32],
    centroids: &[SparseVector],
) -> Vec<Move> {
    let sums = sums(rows, weights, summed, centroids.len());
    let totals: Vec<f64> =
        sums.iter().map(|sum| sum.values().fold(0.0, |all, &s| all + (s as f64).abs()) / ONE).collect();
    let mut moves = Vec::new();
    for (doc, (cluster, similarity)) in rivals(rows, now, centroids) {
        if !weights.counts(doc) || now.labels[doc] != summed[doc] {
            continue;
        }
        let own = now.labels[doc] as usize;
        let roots: BTreeMap<u32, f32> = centroids[own].iter().copied().collect();
        let (mut sum, mut rest) = (0.0, totals[own]);
        for (term, x) in rows.row(doc).iter() {
            let root = f64::from(roots.get(&term).copied().unwrap_or(0.0));
            let before = root * root.abs() * totals[own];
            let mut after = before - weights.single(doc) * f64::from(x);
            if after.abs() < REST * before.abs() {
                after = 0.0;
            }
            rest += after.abs() - before.abs();
            sum += f64::from(x) * after.abs().sqrt().copysign(after);
        }
        let is_alone = rest <= REST * totals[own] || rest.is_nan();
        let own_score = sum / rest.sqrt();
        if !is_alone && similarity >= own_score && similarity > 0.0 && similarity > own_score + MIN_GAIN {
            moves.push(Move { doc, cluster });
        }
    }
    moves
}

/// Every document with a label, its most similar other centroid, and the similarity.
fn rivals(
    rows: &UnitRows<'_>,
    now: &ReferenceAssignment,
    centroids: &[SparseVector],
) -> Vec<(usize, (usize, f64))> {
    let mut best: Vec<Option<(usize, f64)>> = vec![None; rows.n_rows()];
    for (cluster, centroid) in centroids.iter().enumerate().filter(|(_, centroid)| !centroid.is_empty()) {
        for (doc, similarity) in similarities_to(rows, centroid).into_iter().enumerate() {
            if now.labels[doc] != cluster as i32 && best[doc].is_none_or(|(_, most)| similarity > most) {
                best[doc] = Some((cluster, similarity));
            }
        }
    }
    let labelled = (0..rows.n_rows()).filter(|&doc| now.labels[doc] != NO_LABEL);
    labelled.filter_map(|doc| Some((doc, best[doc]?))).collect()
}
