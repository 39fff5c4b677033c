//! Spherical k-means by the definitions of `ARCHITECTURE.md`, slow and obvious: the gold standard.
//!
//! One thread. Every iteration compares every document with every centroid and sums every cluster
//! from scratch. Nothing is skipped, and only the state named in the definitions is carried along:
//! labels, similarities and centroids. The numbers in the comments are those of the definitions.

use std::collections::{BTreeMap, BTreeSet};

use docsphere::UnitRows;

use crate::fixed_point::{RowWeights, fixed};
use crate::plain_contest::{Move, first_variation, leave_one_out};
use crate::plain_merge::{merged_seeds, perturbed};
use crate::plain_seeding::{PlainSeeding, vector};

/// Terms and values, ascending by term, without zeros. Empty for an empty centroid.
pub type SparseVector = Vec<(u32, f32)>;

/// The label of a document that has none: a zero row, one without a similarity above 0, or one that
/// has not been assigned yet.
pub const NO_LABEL: i32 = -1;

/// A document whose similarity to its own centroid is at least this is not taken to refill an empty
/// cluster.
const SITS_ON_CENTROID: f64 = 1.0 - 2e-6;

/// A given centroid whose length is this close to one is left unchanged.
const UNIT_TOLERANCE: f64 = 5e-7;

/// The source of the first centroids.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferenceSeeding {
    /// Documents drawn by their row weights.
    Random,
    /// k-means++.
    PlusPlus,
    /// k-means++ with several candidates per step.
    Greedy {
        /// Documents drawn per step.
        candidates: usize,
    },
    /// Unions of small clusters.
    Merge {
        /// Small clusters per cluster.
        fine: usize,
    },
    /// These centroids, normalised like rows. They may be empty.
    Given(Vec<SparseVector>),
}

/// Parameters of a reference fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceParams {
    /// The number of clusters.
    pub n_clusters: usize,
    /// The source of the first centroids.
    pub seeding: ReferenceSeeding,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of the run: the stream of the random numbers.
    pub run: u64,
    /// Whether first variation follows when the loop has converged.
    pub variation: bool,
    /// Further runs that start from the best one, perturbed.
    pub rounds: usize,
    /// Whether root centroids follow.
    pub refine: bool,
    /// The maximum number of iterations after the first assignment.
    pub max_iter: usize,
    /// The run stops when the largest squared movement of a centroid is below this; 0 for never.
    pub tol: f64,
    /// One weight per document, or none.
    pub weights: Option<Vec<f64>>,
}

impl ReferenceParams {
    /// Random seeds, seed 0, run 0, at most 100 iterations, until no label changes, no weights,
    /// nothing after the loop.
    pub fn new(n_clusters: usize) -> Self {
        ReferenceParams {
            n_clusters,
            seeding: ReferenceSeeding::Random,
            seed: 0,
            run: 0,
            variation: false,
            rounds: 0,
            refine: false,
            max_iter: 100,
            tol: 0.0,
            weights: None,
        }
    }

    /// Like [`new`](Self::new), starting from these centroids.
    pub fn given(centroids: Vec<SparseVector>) -> Self {
        let n_clusters = centroids.len();
        ReferenceParams { seeding: ReferenceSeeding::Given(centroids), ..Self::new(n_clusters) }
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceStop {
    /// Every document kept the label that it had before the iteration.
    NoLabelChanged,
    /// No centroid moved as far as `tol`.
    CentroidsStandStill,
    /// After first variation, an iteration gained less than 1/10,000 of the objective.
    LittleGained,
    /// `max_iter` iterations have passed.
    MaxIter,
}

/// A document that an empty cluster took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// The cluster that was empty.
    pub cluster: usize,
    /// The document that it took.
    pub doc: usize,
}

/// The record of one iteration. Iteration 0 is the first assignment: all documents with a label
/// count as moved, no cluster as changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceIteration {
    /// The objective after the assignment.
    pub objective: f64,
    /// Documents whose label after the assignment is not the one they had before the update, that
    /// is, before the refill.
    pub moved: usize,
    /// Documents that a contest moved before the update; `None` if there was none.
    pub varied: Option<usize>,
    /// Clusters whose centroid has other bits than before, or that were refilled or touched by a
    /// contest; ascending.
    pub changed: Vec<usize>,
    /// The empty clusters that found a document, ascending.
    pub refilled: Vec<Refill>,
    /// The largest squared movement of a centroid.
    pub max_squared_movement: f64,
}

/// The result of a reference fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceFit {
    /// The cluster of each document; [`NO_LABEL`] for zero rows and outliers.
    pub labels: Vec<i32>,
    /// The similarity of each document to its centroid.
    pub similarities: Vec<f64>,
    /// The centroids that the labels belong to. Empty: an empty cluster.
    pub centroids: Vec<SparseVector>,
    /// The weighted sum of the similarities.
    pub objective: f64,
    /// Iterations after the first assignment.
    pub n_iter: usize,
    /// Why the loop ended.
    pub stop: ReferenceStop,
    /// One record per iteration, including the first assignment: `n_iter + 1` records.
    pub history: Vec<ReferenceIteration>,
    /// The passes with root centroids.
    pub refinement: Vec<ReferenceIteration>,
}

/// Labels and similarities for given centroids.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceAssignment {
    /// The cluster of each document; [`NO_LABEL`] for zero rows and outliers.
    pub labels: Vec<i32>,
    /// The similarity of each document to that cluster's centroid.
    pub similarities: Vec<f64>,
}

/// Clusters the rows.
///
/// # Panics
/// If the parameters do not fit the rows or each other: the number of weights differs from that of
/// rows, or the number of given centroids from that of clusters; all weights zero.
pub fn reference_fit(rows: &UnitRows<'_>, params: &ReferenceParams) -> ReferenceFit {
    let mut best = one_run(rows, params, first_centroids(rows, params));
    for round in 1..=params.rounds {
        let params = ReferenceParams { run: params.run + round as u64, ..params.clone() };
        let run = one_run(rows, &params, perturbed(rows, &params, &best.centroids));
        if run.objective > best.objective {
            best = run;
        }
    }
    if params.refine { refined(rows, params, best) } else { best }
}

/// The state of a run after an iteration.
#[derive(Clone)]
struct State {
    now: ReferenceAssignment,
    centroids: Vec<SparseVector>,
    history: Vec<ReferenceIteration>,
}

impl State {
    fn new(rows: &UnitRows<'_>, weights: &RowWeights<'_>, centroids: Vec<SparseVector>) -> Self {
        let now = reference_assign(rows, &centroids, &vec![NO_LABEL; rows.n_rows()]);
        let history = vec![ReferenceIteration {
            objective: objective(&now.similarities, weights),
            moved: now.labels.iter().filter(|&&label| label != NO_LABEL).count(),
            varied: None,
            changed: Vec::new(),
            refilled: Vec::new(),
            max_squared_movement: 0.0,
        }];
        State { now, centroids, history }
    }

    /// The moves of a contest, an update and an assignment. Returns the labels of the sums.
    fn iterate(
        &mut self,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        contest: Option<Vec<Move>>,
        shape: Shape,
    ) -> Vec<i32> {
        let before = self.now.labels.clone();
        let moves = contest.as_deref().unwrap_or_default();
        moves.iter().for_each(|&Move { doc, cluster }| self.now.labels[doc] = cluster as i32);
        let update = update(rows, weights, &self.now, moves, &self.centroids, shape);
        let next = reference_assign(rows, &update.centroids, &update.labels);
        let touched = moves.iter().flat_map(|&Move { doc, cluster }| [before[doc] as usize, cluster]);
        self.history.push(ReferenceIteration {
            objective: objective(&next.similarities, weights),
            moved: (0..rows.n_rows()).filter(|&doc| next.labels[doc] != before[doc]).count(),
            varied: contest.as_ref().map(Vec::len),
            changed: changed_clusters(&self.centroids, &update, &touched.collect()),
            refilled: update.refilled,
            max_squared_movement: largest_squared_movement(&self.centroids, &update.centroids),
        });
        (self.now, self.centroids) = (next, update.centroids);
        update.labels
    }

    /// Why the loop may end here.
    fn reached(&self, params: &ReferenceParams) -> Option<ReferenceStop> {
        let [.., before, last] = &self.history[..] else { return None };
        if last.moved == 0 {
            return Some(ReferenceStop::NoLabelChanged);
        }
        if last.max_squared_movement < params.tol {
            return Some(ReferenceStop::CentroidsStandStill);
        }
        let gains_little = last.objective - before.objective < 1e-4 * before.objective.abs();
        let has_varied = self.history.iter().any(|iteration| iteration.varied.is_some());
        (has_varied && gains_little && params.tol > 0.0).then_some(ReferenceStop::LittleGained)
    }

    /// Whether first variation comes next: at the first convergence, and as long as it gains.
    fn varies(&self, params: &ReferenceParams) -> bool {
        let [.., before, last] = &self.history[..] else { return false };
        let has_varied = self.history.iter().any(|iteration| iteration.varied.is_some());
        params.variation
            && if last.varied.is_some() {
                last.objective - before.objective >= 1e-3 * before.objective.abs()
            } else {
                !has_varied && self.reached(params).is_some()
            }
    }

    fn into_fit(self, stop: ReferenceStop) -> ReferenceFit {
        ReferenceFit {
            objective: self.history.last().expect("the first assignment").objective,
            labels: self.now.labels,
            similarities: self.now.similarities,
            centroids: self.centroids,
            n_iter: self.history.len() - 1,
            stop,
            history: self.history,
            refinement: Vec::new(),
        }
    }
}

/// One run from these centroids. The best of its results: where it converged first, or in the end.
fn one_run(rows: &UnitRows<'_>, params: &ReferenceParams, centroids: Vec<SparseVector>) -> ReferenceFit {
    let weights = RowWeights::new(params.weights.as_deref(), rows.n_rows());
    let mut state = State::new(rows, &weights, centroids);
    let mut best: Option<ReferenceFit> = None;
    let mut stop = ReferenceStop::MaxIter;
    for iteration in 1..=params.max_iter {
        let contest =
            state.varies(params).then(|| first_variation(rows, &weights, &state.now, &state.centroids));
        let last = state.history.last().expect("the first assignment");
        if contest.as_ref().is_some_and(Vec::is_empty) && last.moved == 0 && last.varied.is_none() {
            stop = ReferenceStop::NoLabelChanged;
            break;
        }
        state.iterate(rows, &weights, contest, Shape::Mean);
        if let Some(reached) = state.reached(params) {
            if !state.varies(params) || iteration == params.max_iter {
                stop = reached;
                break;
            }
            let fit = state.clone().into_fit(reached);
            if best.as_ref().is_none_or(|best| fit.objective > best.objective) {
                best = Some(fit);
            }
        }
    }
    let last = state.into_fit(stop);
    match best {
        Some(best) if last.objective <= best.objective => {
            let stop = if last.stop == ReferenceStop::MaxIter { last.stop } else { best.stop };
            ReferenceFit { stop, ..best }
        }
        _ => last,
    }
}

/// Up to ten passes with root centroids, from the labels of a run.
fn refined(rows: &UnitRows<'_>, params: &ReferenceParams, best: ReferenceFit) -> ReferenceFit {
    let weights = RowWeights::new(params.weights.as_deref(), rows.n_rows());
    let now = ReferenceAssignment { labels: best.labels.clone(), similarities: best.similarities.clone() };
    let mut state = State { now, centroids: best.centroids.clone(), history: Vec::new() };
    let n_usable = (0..rows.n_rows()).filter(|&doc| rows.row(doc).nnz() > 0 && weights.counts(doc)).count();
    let mut contest = None;
    for pass in 1..=10 {
        let summed = state.iterate(rows, &weights, contest, Shape::Root);
        let moved = state.history.last().expect("just added").moved;
        if pass > 1 && moved * 1000 < n_usable {
            break;
        }
        contest = Some(leave_one_out(rows, &weights, &state.now, &summed, &state.centroids));
    }
    let refined = state.into_fit(best.stop);
    ReferenceFit { n_iter: best.n_iter, history: best.history, refinement: refined.history, ..refined }
}

fn first_centroids(rows: &UnitRows<'_>, params: &ReferenceParams) -> Vec<SparseVector> {
    let plain = PlainSeeding {
        rows,
        weights: params.weights.as_deref(),
        n_clusters: params.n_clusters,
        seed: params.seed,
        run: params.run,
    };
    let docs = match &params.seeding {
        ReferenceSeeding::Random => plain.random(),
        ReferenceSeeding::PlusPlus => plain.plus_plus(),
        ReferenceSeeding::Greedy { candidates } => plain.greedy(*candidates),
        ReferenceSeeding::Merge { fine } => return merged_seeds(rows, params, *fine),
        ReferenceSeeding::Given(centroids) => {
            assert_eq!(centroids.len(), params.n_clusters, "one given centroid a cluster");
            return centroids.iter().map(unit_vector).collect();
        }
    };
    let mut centroids: Vec<_> = docs.iter().map(|doc| vector(rows.row(doc.index()))).collect();
    centroids.resize(params.n_clusters, Vec::new());
    centroids
}

/// Definition 1, for a given centroid.
fn unit_vector(raw: &SparseVector) -> SparseVector {
    assert!(raw.is_sorted_by(|a, b| a.0 < b.0), "given centroids have ascending terms");
    let length = raw.iter().fold(0.0, |sum, &(_, v)| sum + f64::from(v) * f64::from(v)).sqrt();
    let mut unit = raw.clone();
    if (length - 1.0).abs() > UNIT_TOLERANCE {
        unit.iter_mut().for_each(|(_, v)| *v = (f64::from(*v) / length) as f32);
    }
    unit.retain(|&(_, v)| v != 0.0);
    unit
}

/// Definition 2: the similarity of every row to one centroid.
pub fn similarities_to(rows: &UnitRows<'_>, centroid: &SparseVector) -> Vec<f64> {
    let mut value_of_term = vec![0f32; rows.n_terms()];
    for &(term, value) in centroid {
        // A centroid may have terms that the rows do not have: no row can have such a term.
        if let Some(slot) = value_of_term.get_mut(term as usize) {
            *slot = value;
        }
    }
    let similarity = |row: docsphere::Row<'_>| {
        row.iter().fold(0.0, |sum, (term, x)| sum + f64::from(x) * f64::from(value_of_term[term as usize]))
    };
    rows.iter().map(similarity).collect()
}

/// Definition 3: the labels for these centroids. `old_labels` decide ties; [`NO_LABEL`] stands for
/// no old label.
///
/// # Panics
/// If there is not one old label per row.
pub fn reference_assign(
    rows: &UnitRows<'_>,
    centroids: &[SparseVector],
    old_labels: &[i32],
) -> ReferenceAssignment {
    assert_eq!(old_labels.len(), rows.n_rows(), "one old label a row");
    let mut best: Vec<Option<(i32, f64)>> = vec![None; rows.n_rows()];
    for (cluster, centroid) in centroids.iter().enumerate() {
        if centroid.is_empty() {
            continue; // attracts nothing
        }
        let cluster = cluster as i32;
        for (doc, similarity) in similarities_to(rows, centroid).into_iter().enumerate() {
            // Clusters come in ascending order, so on a tie the smaller id is already there.
            let wins = best[doc].is_none_or(|(_, highest)| {
                similarity > highest || (similarity == highest && old_labels[doc] == cluster)
            });
            if wins {
                best[doc] = Some((cluster, similarity));
            }
        }
    }
    let mut assignment = ReferenceAssignment { labels: Vec::new(), similarities: Vec::new() };
    for (doc, row) in rows.iter().enumerate() {
        let (label, similarity) = match best[doc] {
            _ if row.nnz() == 0 => (NO_LABEL, 0.0),
            Some(found) if found.1 > 0.0 => found,
            _ => (NO_LABEL, 0.0), // nothing in common with any centroid
        };
        assignment.labels.push(label);
        assignment.similarities.push(similarity);
    }
    assignment
}

/// Definition 7, for similarities to the own centroid. `None` means that each document counts once.
///
/// # Panics
/// If there is not one weight per similarity, or all are zero.
pub fn reference_objective(similarities: &[f64], weights: Option<&[f64]>) -> f64 {
    objective(similarities, &RowWeights::new(weights, similarities.len()))
}

fn objective(similarities: &[f64], weights: &RowWeights<'_>) -> f64 {
    let two_to_40 = 1_099_511_627_776.0;
    let mut sum = 0i128;
    for (doc, similarity) in similarities.iter().enumerate() {
        sum += weights.weighed((similarity * two_to_40).round() as i128, doc);
    }
    weights.without_scale(sum as f64 / two_to_40)
}

pub(crate) struct Update {
    /// The labels after the refill, on which the sums are based.
    pub(crate) labels: Vec<i32>,
    refilled: Vec<Refill>,
    pub(crate) centroids: Vec<SparseVector>,
}

/// What a centroid is, for the sum of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Its direction.
    Mean,
    /// The roots of its entries.
    Root,
}

/// One update: refills the empty clusters, then computes every centroid from its members. Documents
/// that a contest has moved are not taken.
pub(crate) fn update(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    now: &ReferenceAssignment,
    moves: &[Move],
    old_centroids: &[SparseVector],
    shape: Shape,
) -> Update {
    let mut labels = now.labels.clone();
    let mut refilled: Vec<Refill> = Vec::new();
    for cluster in 0..old_centroids.len() {
        if members(&labels, weights, cluster).next().is_some() {
            continue;
        }
        if let Some(doc) = worst_fitting(rows, weights, &labels, &now.similarities, &refilled, moves) {
            labels[doc] = cluster as i32;
            refilled.push(Refill { cluster, doc });
        }
    }
    let centroids = (0..old_centroids.len())
        .map(|cluster| centroid(rows, weights, &labels, cluster, &old_centroids[cluster], shape))
        .collect();
    Update { labels, refilled, centroids }
}

/// Definition 6: the documents of a cluster with weight above zero.
fn members(labels: &[i32], weights: &RowWeights<'_>, cluster: usize) -> impl Iterator<Item = usize> {
    (0..labels.len()).filter(move |&doc| labels[doc] == cluster as i32 && weights.counts(doc))
}

/// The document that the next empty cluster takes, if any may be taken.
fn worst_fitting(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    labels: &[i32],
    similarities: &[f64],
    refilled: &[Refill],
    moves: &[Move],
) -> Option<usize> {
    let mut n_members: BTreeMap<i32, usize> = BTreeMap::new();
    for doc in (0..labels.len()).filter(|&doc| weights.counts(doc)) {
        *n_members.entry(labels[doc]).or_default() += 1;
    }
    let may_be_taken = |&doc: &usize| {
        rows.row(doc).nnz() > 0
            && weights.counts(doc)
            && similarities[doc] < SITS_ON_CENTROID
            && (labels[doc] == NO_LABEL || n_members[&labels[doc]] >= 2)
            && refilled.iter().all(|taken| rows.row(taken.doc) != rows.row(doc))
            && moves.iter().all(|moved| moved.doc != doc)
    };
    // `min_by` returns the first of equal ones: the lowest document id. Those without a label have
    // similarity 0, all others more.
    (0..labels.len()).filter(may_be_taken).min_by(|&a, &b| similarities[a].total_cmp(&similarities[b]))
}

/// Definition 5: the unit vector of the members' integer sum. Without members there is none; if
/// they cancel out, it stays.
fn centroid(
    rows: &UnitRows<'_>,
    weights: &RowWeights<'_>,
    labels: &[i32],
    cluster: usize,
    old: &SparseVector,
    shape: Shape,
) -> SparseVector {
    let mut sum: BTreeMap<u32, i128> = BTreeMap::new();
    let mut is_empty = true;
    for doc in members(labels, weights, cluster) {
        is_empty = false;
        for (term, x) in rows.row(doc).iter() {
            *sum.entry(term).or_default() += weights.weighed(fixed(f64::from(x)), doc);
        }
    }
    sum.retain(|_, s| *s != 0);
    if is_empty {
        return Vec::new();
    }
    if sum.is_empty() {
        return old.clone();
    }
    let length = sum.values().fold(0.0, |squares, &s| squares + s as f64 * s as f64).sqrt();
    let total = sum.values().fold(0.0, |total, &s| total + (s as f64).abs());
    let value = |s: f64| match shape {
        Shape::Mean => (s / length) as f32,
        Shape::Root => ((s.abs() / total).sqrt() as f32).copysign(s as f32),
    };
    sum.into_iter().map(|(term, s)| (term, value(s as f64))).collect()
}

/// Definition 8: the squared movement of the centroid that moved furthest.
fn largest_squared_movement(old: &[SparseVector], new: &[SparseVector]) -> f64 {
    old.iter().zip(new).map(|(old, new)| squared_movement(old, new)).fold(0.0, f64::max)
}

fn squared_movement(old: &SparseVector, new: &SparseVector) -> f64 {
    let old: BTreeMap<u32, f32> = old.iter().copied().collect();
    let new: BTreeMap<u32, f32> = new.iter().copied().collect();
    let terms: BTreeSet<u32> = old.keys().chain(new.keys()).copied().collect();
    let value = |vector: &BTreeMap<u32, f32>, term| f64::from(vector.get(&term).copied().unwrap_or(0.0));
    terms.into_iter().fold(0.0, |sum, term| {
        let step = value(&new, term) - value(&old, term);
        sum + step * step
    })
}

/// Definition 8: the clusters whose centroid has other bits than before, or that were refilled or
/// touched by a contest.
fn changed_clusters(old: &[SparseVector], update: &Update, touched: &BTreeSet<usize>) -> Vec<usize> {
    let is_refilled = |cluster| update.refilled.iter().any(|refill| refill.cluster == cluster);
    let is_changed = |&cluster: &usize| {
        old[cluster] != update.centroids[cluster] || is_refilled(cluster) || touched.contains(&cluster)
    };
    (0..old.len()).filter(is_changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_rows::{RandomRows, random_rows};
    use crate::rows_from;

    const HALF_ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;

    fn one_hot(term: u32) -> SparseVector {
        vec![(term, 1.0)]
    }

    #[test]
    fn four_documents_by_hand() {
        // a = e0, b = (e0 + e1) / sqrt 2, c = e2, d = (0.6 e1 + 0.8 e2); seeds e0 and e2.
        let rows = rows_from(3, &[&[(0, 5.0)], &[(0, 1.0), (1, 1.0)], &[(2, 0.5)], &[(1, 3.0), (2, 4.0)]]);
        let fit = reference_fit(&rows, &ReferenceParams::given(vec![one_hot(0), one_hot(2)]));
        assert_eq!(fit.labels, [0, 0, 1, 1]);
        assert_eq!((fit.n_iter, fit.stop), (1, ReferenceStop::NoLabelChanged));
        // Centroid 0 = (1 + 0.7071, 0.7071) / 1.8478 = (cos 22.5°, sin 22.5°).
        assert_eq!(fit.centroids[0], [(0, 0.923_879_5), (1, 0.382_683_43)]);
        // Centroid 1 = (0.6, 1.8) / sqrt(3.6) = (1, 3) / sqrt 10.
        assert_eq!(fit.centroids[1], [(1, 0.316_227_76), (2, 0.948_683_3)]);
        let by_hand = [0.923_879_5, 0.923_879_5, 0.948_683_3, 0.6 * 0.316_227_8 + 0.8 * 0.948_683_3];
        for (similarity, expected) in fit.similarities.iter().zip(by_hand) {
            assert!((similarity - expected).abs() < 1e-7, "{similarity} {expected}");
        }
        assert!((fit.objective - by_hand.iter().sum::<f64>()).abs() < 1e-6);
        // Seeds: 1 + 0.7071 + 1 + 0.8. Then centroid 0 turns by 22.5 degrees: 2 - 2 cos 22.5°.
        assert!((fit.history[0].objective - 3.507_106_8).abs() < 1e-6);
        assert_eq!((fit.history[0].moved, fit.history[1].moved), (4, 0));
        assert!((fit.history[1].max_squared_movement - 0.152_240_9).abs() < 1e-6);
        assert_eq!(fit.history[1].changed, [0, 1]);
    }

    #[test]
    fn exact_ties_keep_the_old_label_and_take_the_smallest_id_at_first() {
        let rows = rows_from(2, &[&[(0, 1.0), (1, 1.0)]]);
        let centroids = [vec![], one_hot(0), one_hot(1)];
        assert_eq!(reference_assign(&rows, &centroids, &[NO_LABEL]).labels, [1]);
        assert_eq!(reference_assign(&rows, &centroids, &[2]).labels, [2]);
        assert_eq!(
            reference_assign(&rows, &centroids, &[0]).labels,
            [1],
            "an empty centroid attracts nothing"
        );
        assert_eq!(reference_assign(&rows, &centroids, &[2]).similarities, [f64::from(HALF_ROOT)]);
    }

    #[test]
    fn rows_without_any_choice() {
        let rows = rows_from(2, &[&[], &[(1, -1.0)]]);
        let negative = reference_assign(&rows, &[vec![], one_hot(1)], &[NO_LABEL, NO_LABEL]);
        assert_eq!((negative.labels, negative.similarities), (vec![-1, -1], vec![0.0, 0.0]));
        let nothing = reference_assign(&rows, &[vec![], vec![]], &[NO_LABEL, 1]);
        assert_eq!((nothing.labels, nothing.similarities), (vec![-1, -1], vec![0.0, 0.0]));
        let apart = reference_assign(&rows, &[one_hot(0)], &[NO_LABEL, 0]);
        assert_eq!((apart.labels, apart.similarities), (vec![-1, -1], vec![0.0, 0.0]));
    }

    #[test]
    fn the_worst_fitting_document_refills_an_empty_cluster() {
        // Everything is nearest to seed 0; seed 1 attracts nothing. Document 2 fits worst.
        let rows = rows_from(9, &[&[(0, 1.0)], &[(0, 2.0), (1, 1.0)], &[(0, 1.0), (1, 2.0)], &[]]);
        let fit = reference_fit(&rows, &ReferenceParams::given(vec![one_hot(0), one_hot(8)]));
        assert_eq!(fit.history[1].refilled, [Refill { cluster: 1, doc: 2 }]);
        assert_eq!(fit.labels, [0, 0, 1, -1]);
        assert_eq!(fit.history[1].moved, 1, "moved counts from before the refill");
        assert_eq!(fit.n_iter, 2);
        assert!(fit.history[2].changed.is_empty());
        assert_eq!(fit.centroids[1], vector(rows.row(2)));
    }

    #[test]
    fn a_cluster_that_finds_no_document_stays_empty() {
        let twin = &[(0, 1.0), (1, 1.0)][..];
        let rows = rows_from(9, &[twin, twin, twin]);
        let fit = reference_fit(&rows, &ReferenceParams::given(vec![one_hot(0), one_hot(8), one_hot(7)]));
        // Similarity 0.7 to the seed: the first may be taken, its twins may not, being equal to a
        // taken row.
        assert_eq!(fit.history[1].refilled, [Refill { cluster: 1, doc: 0 }]);
        // Now documents 1 and 2 tie between clusters 0 and 1 and keep their label; document 0
        // coincides with cluster 1.
        assert_eq!(fit.labels, [1, 0, 0]);
        assert!(fit.centroids[2].is_empty());
        assert_eq!(fit.centroids[0], fit.centroids[1]);
        assert_eq!(fit.stop, ReferenceStop::NoLabelChanged);
    }

    #[test]
    fn members_that_weigh_nothing_leave_the_centroid_where_it_was() {
        let rows = rows_from(3, &[&[(0, 1.0)], &[(1, 1.0), (2, 1.0)]]);
        let params = ReferenceParams::given(vec![one_hot(0), one_hot(1)]);
        let fit = reference_fit(&rows, &ReferenceParams { weights: Some(vec![1e18, 1e-18]), ..params });
        assert_eq!(fit.centroids, [one_hot(0), one_hot(1)]);
        assert_eq!(fit.labels, [0, 1]);
        assert_eq!(fit.history[1].max_squared_movement, 0.0);
    }

    #[test]
    fn a_document_may_lose_its_label_and_join_again() {
        // Seed 0 has a term of document 2, but no document that moves it has: document 2 has no
        // weight.
        let rows = rows_from(4, &[&[(0, 1.0)], &[(1, 1.0)], &[(2, 1.0)]]);
        let seeds = vec![vec![(0, 1.0), (2, 0.5)], one_hot(1)];
        let params = ReferenceParams { weights: Some(vec![1.0, 1.0, 0.0]), ..ReferenceParams::given(seeds) };
        let fit = reference_fit(&rows, &params);
        assert_eq!(fit.labels, [0, 1, -1]);
        assert_eq!(fit.similarities[2], 0.0);
        assert_eq!(fit.history[0].moved, 3);
        assert_eq!(fit.history[1].moved, 1, "it lost its label");
    }

    #[test]
    fn the_three_ways_to_stop() {
        let rows = random_rows(&RandomRows { n_docs: 300, seed: 4, ..RandomRows::default() });
        let params = ReferenceParams::new(12);
        let full = reference_fit(&rows, &params);
        assert_eq!(full.stop, ReferenceStop::NoLabelChanged);
        assert!(full.n_iter > 3, "{} iterations", full.n_iter);
        assert_eq!(full.history.len(), full.n_iter + 1);
        let cut = reference_fit(&rows, &ReferenceParams { max_iter: 2, ..params.clone() });
        assert_eq!((cut.stop, cut.n_iter), (ReferenceStop::MaxIter, 2));
        assert_eq!(cut.history[..], full.history[..3]);
        let movement = full.history[1].max_squared_movement;
        let at = |tol| reference_fit(&rows, &ReferenceParams { tol, ..params.clone() });
        assert!(at(movement).n_iter > 1, "below tol, not at it");
        let loose = at(movement * 1.01);
        assert_eq!((loose.stop, loose.n_iter), (ReferenceStop::CentroidsStandStill, 1));
        let none = reference_fit(&rows, &ReferenceParams { max_iter: 0, ..params.clone() });
        assert_eq!((none.stop, none.n_iter), (ReferenceStop::MaxIter, 0));
        assert_eq!(none.objective, full.history[0].objective);
    }

    #[test]
    fn labels_similarities_and_objective_belong_to_the_centroids() {
        for (max_iter, tol) in [(100, 0.0), (2, 0.0), (100, 0.05)] {
            let rows = random_rows(&RandomRows { n_docs: 120, seed: 8, ..RandomRows::default() });
            let params = ReferenceParams { max_iter, tol, ..ReferenceParams::new(9) };
            let fit = reference_fit(&rows, &params);
            let again = reference_assign(&rows, &fit.centroids, &fit.labels);
            assert_eq!((&again.labels, &again.similarities), (&fit.labels, &fit.similarities));
            assert_eq!(reference_objective(&fit.similarities, None), fit.objective);
        }
    }

    #[test]
    fn the_objective_never_falls_unless_a_cluster_was_refilled() {
        for seed in 0..20 {
            let negative_share = if seed % 2 == 0 { 0.0 } else { 0.3 };
            let rows = random_rows(&RandomRows { negative_share, seed, ..RandomRows::default() });
            let seeding = ReferenceSeeding::Greedy { candidates: 3 };
            let fit = reference_fit(&rows, &ReferenceParams { seeding, seed, ..ReferenceParams::new(8) });
            for pair in fit.history.windows(2) {
                let fell = pair[0].objective - pair[1].objective;
                // Centroids are rounded to f32: 6e-8 per document.
                assert!(fell < 1e-5 || !pair[1].refilled.is_empty(), "seed {seed}: fell by {fell}");
            }
        }
    }

    #[test]
    fn weights_of_one_are_no_weights() {
        let rows = random_rows(&RandomRows { seed: 21, ..RandomRows::default() });
        for seeding in [ReferenceSeeding::Random, ReferenceSeeding::PlusPlus] {
            let plain = ReferenceParams { seeding, ..ReferenceParams::new(7) };
            let ones = ReferenceParams { weights: Some(vec![1.0; rows.n_rows()]), ..plain.clone() };
            assert_eq!(reference_fit(&rows, &plain), reference_fit(&rows, &ones));
        }
    }

    #[test]
    fn weight_two_is_a_row_twice() {
        let once = random_rows(&RandomRows { n_docs: 80, seed: 6, ..RandomRows::default() });
        let weights: Vec<f64> = (0..80).map(|doc| f64::from(1 + doc % 3)).collect();
        let copies: Vec<usize> = (0..80).flat_map(|doc| vec![doc; 1 + doc % 3]).collect();
        let lists: Vec<SparseVector> = copies.iter().map(|&doc| once.row(doc).iter().collect()).collect();
        let repeated = rows_from(once.n_terms(), &lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let seeds = (0..6).map(|doc| vector(once.row(doc * 9))).collect();
        let params = ReferenceParams::given(seeds);
        let weighted = reference_fit(&once, &ReferenceParams { weights: Some(weights), ..params.clone() });
        let plain = reference_fit(&repeated, &params);
        assert!(weighted.history.iter().all(|iteration| iteration.refilled.is_empty()));
        assert_eq!(weighted.centroids, plain.centroids);
        assert_eq!(weighted.n_iter, plain.n_iter);
        assert!((weighted.objective - plain.objective).abs() < 1e-9);
        for (position, &doc) in copies.iter().enumerate() {
            assert_eq!(plain.labels[position], weighted.labels[doc]);
        }
    }
}
