//! The effect of document moves on the sums, in integers.
//!
//! [`Touched`] is the change of a cluster's number of members; a [`Delta`] holds the changes of the
//! sums of some clusters (sparse vectors of `i64`, see `vectors/weights.rs` for the fixed point).
//! Since they are integers, those of any documents, from any shard, may be added in any order.
//! Deltas are made for a few clusters at a time, so that there is never a second set of all sums.
//!
//! If many documents of a cluster moved, their entries are added in a dense scratch row, one per
//! thread and as long as the vocabulary, and a bitmap of the touched terms yields them in ascending
//! order. If few moved, their entries are sorted.
//!
//! **Cost.** Time: the nonzeros of the moved documents. Memory: 12 bytes per entry of the delta;
//! `8.125 * n_terms` per thread for the scratch; 4 bytes per document that joined or left a
//! cluster; while they are grouped, 4 more, and 8 per document that moved.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::labels::Assignment;
use crate::lists::{concatenated, n_tasks, task_range};
use crate::numbers_by_key::NumbersByKey;
use crate::pool::Pool;
use crate::vectors::{RowWeights, UnitRows};

/// A document that joined or left a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) cluster: u32,
    /// The position of the document in its shard.
    pub(crate) doc: u32,
    pub(crate) joined: bool,
}

/// The documents whose labels differ, ascending.
fn moved_docs(before: &[u32], after: &[u32]) -> Vec<u32> {
    const CHUNK_DOCS: usize = 1 << 14;
    let chunks = before.par_chunks(CHUNK_DOCS).zip(after.par_chunks(CHUNK_DOCS)).enumerate();
    let moved = |(chunk, (before, after)): (usize, (&[u32], &[u32]))| -> Vec<u32> {
        let docs = (chunk * CHUNK_DOCS..).zip(before.iter().zip(after));
        docs.filter(|(_, (before, after))| before != after).map(|(doc, _)| doc as u32).collect()
    };
    let found: Vec<Vec<u32>> = chunks.map(moved).collect();
    concatenated(&found)
}

/// A document that joined or left a cluster which is known from elsewhere: the number of the
/// document, which is below 2^30, twice; plus one if it joined.
#[derive(Clone, Copy)]
struct Move(u32);

impl Move {
    fn of(change: &Change) -> Self {
        Move(change.doc << 1 | u32::from(change.joined))
    }

    fn doc(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn has_joined(self) -> bool {
        self.0 & 1 == 1
    }

    /// The entries that it adds to the sum of the cluster.
    fn entries<'a>(
        self,
        rows: &'a UnitRows<'_>,
        weights: &'a RowWeights<'_>,
    ) -> impl Iterator<Item = (u32, i64)> + 'a {
        rows.row(self.doc()).iter().map(move |(term, x)| {
            let value = weights.fixed(self.doc(), f64::from(x));
            (term, if self.has_joined() { value } else { -value })
        })
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Delta {
    /// Ascending by cluster.
    pub(crate) clusters: Vec<ClusterDelta>,
}

/// A cluster that documents joined or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) cluster: u32,
    /// Number of documents with weight that joined, minus those that left.
    pub(crate) members: i64,
}

impl Touched {
    /// A cluster and its moves.
    fn by(cluster: u32, moves: &[Move], weights: &RowWeights<'_>) -> Self {
        let member = |one: &Move| match one.has_joined() {
            _ if weights.weight(one.doc()) == 0.0 => 0,
            true => 1,
            false => -1,
        };
        Touched { cluster, members: moves.iter().map(member).sum() }
    }

    /// Adds the touched clusters of another set of documents; both lists ascend by cluster.
    pub(crate) fn add(list: &mut Vec<Self>, others: Vec<Self>) {
        *list = merged(
            std::mem::take(list),
            others,
            |touched| touched.cluster,
            |a, b| Touched { cluster: a.cluster, members: a.members + b.members },
        );
    }
}

/// Merges two lists that ascend by cluster; items in both are joined.
fn merged<T>(a: Vec<T>, b: Vec<T>, cluster: impl Fn(&T) -> u32, join: impl Fn(T, T) -> T) -> Vec<T> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if cluster(x) == cluster(y) => a.next().zip(b.next()).map(|(x, y)| join(x, y)),
            (Some(x), Some(y)) if cluster(x) < cluster(y) => a.next(),
            (Some(_), None) => a.next(),
            _ => b.next(),
        };
        let Some(next) = next else { return all };
        all.push(next);
    }
}

/// The document moves that are not yet in the sums, by cluster.
#[derive(Default)]
pub(crate) struct Changes {
    /// Ascending by cluster, then by document.
    moves: Vec<Move>,
    /// The clusters that have some.
    groups: Vec<Group>,
}

/// The moves of a cluster.
struct Group {
    cluster: u32,
    range: Range<u32>,
}

impl Group {
    /// Its moves among all.
    fn of<'a>(&self, moves: &'a [Move]) -> &'a [Move] {
        &moves[self.range.start as usize..self.range.end as usize]
    }
}

/// Changes per task of finding out where clusters begin.
const TASK_CHANGES: usize = 1 << 13;

impl Changes {
    /// The moves from one set of labels to the next, and the clusters that they touch.
    pub(crate) fn between(before: &[u32], after: &[u32], weights: &RowWeights<'_>) -> (Self, Vec<Touched>) {
        let docs = moved_docs(before, after);
        let one = |number: usize| Move(docs[number / 2] << 1 | number as u32 & 1);
        let cluster = |one: Move| if one.has_joined() { after[one.doc()] } else { before[one.doc()] };
        let keyed = |number: usize| Some(cluster(one(number))).filter(|&c| c != Assignment::NO_LABEL);
        let moves = 0..2 * docs.len();
        let n_clusters = moves.clone().into_par_iter().with_min_len(TASK_CHANGES).filter_map(keyed).max();
        let mut grouped = NumbersByKey::default();
        grouped.group(n_clusters.map_or(0, |last| last as usize + 1), moves.len(), keyed);
        let group = |cluster: u32| {
            // Fits: a shard has at most 2^30 documents.
            let Range { start, end } = grouped.range_of(cluster);
            (start < end).then_some(Group { cluster, range: start as u32..end as u32 })
        };
        let groups = n_clusters.map_or(Vec::new(), |last| (0..=last).filter_map(group).collect());
        let numbers = grouped.all().par_iter().with_min_len(TASK_CHANGES);
        let moves = numbers.map(|number| one(number.load(Relaxed) as usize)).collect();
        let changes = Changes { moves, groups };
        let touched = changes.touched(weights);
        (changes, touched)
    }

    /// Adds moves; returns the clusters that they touch.
    pub(crate) fn add(&mut self, more: Vec<Change>, weights: &RowWeights<'_>) -> Vec<Touched> {
        let mut more = sorted(more);
        let touched = Changes::of(&more).touched(weights);
        more.reserve_exact(self.moves.len());
        more.extend(self.list());
        *self = Changes::of(&sorted(more));
        touched
    }

    /// Changes that are sorted.
    fn of(list: &[Change]) -> Self {
        let is_same = |a: &Change, b: &Change| a.cluster == b.cluster;
        let groups = |task: usize| -> Vec<Group> {
            let range = task_range(list, task, TASK_CHANGES, is_same);
            let mut end = range.start;
            let groups = list[range].chunk_by(is_same).map(|group| {
                end += group.len();
                // Fits: a shard has at most 2^30 documents.
                Group { cluster: group[0].cluster, range: (end - group.len()) as u32..end as u32 }
            });
            groups.collect()
        };
        let groups: Vec<Vec<Group>> = (0..n_tasks(list, TASK_CHANGES)).into_par_iter().map(groups).collect();
        let moves = list.par_iter().with_min_len(TASK_CHANGES).map(Move::of).collect();
        Changes { groups: groups.into_iter().flatten().collect(), moves }
    }

    /// All changes.
    fn list(&self) -> impl Iterator<Item = Change> {
        self.groups.iter().flat_map(|group| {
            let change = |one: &Move| Change {
                cluster: group.cluster,
                doc: one.doc() as u32,
                joined: one.has_joined(),
            };
            group.of(&self.moves).iter().map(change)
        })
    }

    fn touched(&self, weights: &RowWeights<'_>) -> Vec<Touched> {
        let touched = |group: &Group| Touched::by(group.cluster, group.of(&self.moves), weights);
        self.groups.par_iter().map(touched).collect()
    }

    /// The documents that moved; twice if they left a cluster and joined another.
    pub(crate) fn docs(&self) -> impl Iterator<Item = u32> {
        self.moves.iter().map(|one| one.doc() as u32)
    }

    /// The resulting changes of the sums of these clusters.
    pub(crate) fn delta(
        &self,
        clusters: RangeInclusive<u32>,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        scratch: &DeltaScratch,
    ) -> Delta {
        let from = self.groups.partition_point(|group| group.cluster < *clusters.start());
        let to = self.groups.partition_point(|group| group.cluster <= *clusters.end());
        let part =
            |group: &Group| ClusterDelta::of(rows, weights, group.cluster, group.of(&self.moves), scratch);
        Delta { clusters: self.groups[from..to].par_iter().with_max_len(1).map(part).collect() }
    }
}

fn sorted(mut list: Vec<Change>) -> Vec<Change> {
    list.par_sort_unstable_by_key(|change| (change.cluster, change.doc));
    list
}

/// The changes of the sum of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterDelta {
    pub(crate) cluster: u32,
    /// The terms whose sum changes, ascending.
    pub(crate) terms: Arc<[u32]>,
    /// The changes. Never 0.
    pub(crate) values: Box<[i64]>,
}

/// Scratch rows, shared by all deltas of a shard.
pub(crate) type DeltaScratch = Pool<Scratch>;

#[derive(Default)]
pub(crate) struct Scratch {
    /// One number per term; all zero between uses.
    dense: Vec<i64>,
    /// One bit per term: whether anything was added. All zero between uses.
    touched: Vec<u64>,
}

/// Entries are sorted rather than scattered if the bitmap has at least this many words per entry.
const WORDS_PER_SORTED_ENTRY: usize = 4;

impl Delta {
    /// Adds the delta of other documents.
    pub(crate) fn add(&mut self, other: Delta) {
        let alone = |list: Vec<ClusterDelta>| list.into_iter().map(|part| (part, None)).collect();
        let own = std::mem::take(&mut self.clusters);
        let pairs = merged(alone(own), alone(other.clusters), |pair| pair.0.cluster, |a, b| (a.0, Some(b.0)));
        let sum = |(part, other): (ClusterDelta, Option<ClusterDelta>)| match other {
            Some(other) => part.plus(&other),
            None => part,
        };
        self.clusters = pairs.into_par_iter().with_max_len(1).map(sum).collect();
    }
}

impl ClusterDelta {
    fn of(
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        cluster: u32,
        moves: &[Move],
        scratch: &DeltaScratch,
    ) -> Self {
        let n_entries: usize = moves.iter().map(|one| rows.row(one.doc()).nnz()).sum();
        let entries = moves.iter().flat_map(|one| one.entries(rows, weights));
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        let mut keep = |term: u32, value: i64| {
            if value != 0 {
                terms.push(term);
                values.push(value);
            }
        };
        if n_entries * WORDS_PER_SORTED_ENTRY <= rows.n_terms() / 64 {
            let mut sorted: Vec<(u32, i64)> = entries.collect();
            sorted.sort_unstable_by_key(|entry| entry.0);
            for same in sorted.chunk_by(|a, b| a.0 == b.0) {
                keep(same[0].0, same.iter().map(|entry| entry.1).sum());
            }
        } else {
            scratch.with(|scattered| {
                scattered.make_room(rows.n_terms());
                for (term, value) in entries {
                    scattered.dense[term as usize] += value;
                    scattered.touched[term as usize / 64] |= 1 << (term % 64);
                }
                for (word, bits) in scattered.touched.iter_mut().enumerate() {
                    let mut bits = std::mem::take(bits);
                    while bits != 0 {
                        let term = word * 64 + bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        keep(term as u32, std::mem::take(&mut scattered.dense[term]));
                    }
                }
            });
        }
        ClusterDelta { cluster, terms: terms.into(), values: values.into() }
    }

    fn plus(&self, other: &Self) -> Self {
        let (terms, values) = sum_of(&self.terms, &self.values, &other.terms, &other.values);
        ClusterDelta {
            cluster: self.cluster,
            terms: terms.unwrap_or_else(|| Arc::clone(&self.terms)),
            values,
        }
    }
}

impl Scratch {
    fn make_room(&mut self, n_terms: usize) {
        if self.dense.len() != n_terms {
            // Zeros come from the system page by page, when a page is touched.
            (self.dense, self.touched) = (vec![0; n_terms], vec![0; n_terms.div_ceil(64)]);
        }
    }
}

/// The sum of two sparse vectors without zeros: its terms, or `None` if they are those of the
/// first; and its values.
///
/// Entries of the first vector between two terms of the second are copied unchanged, and found by
/// galloping: cheap whether the second is short or long.
pub(super) fn sum_of(
    terms: &[u32],
    values: &[i64],
    other_terms: &[u32],
    other_values: &[i64],
) -> (Option<Arc<[u32]>>, Box<[i64]>) {
    let mut sum_terms = Vec::with_capacity(terms.len() + other_terms.len());
    let mut sum_values = Vec::with_capacity(terms.len() + other_terms.len());
    let (mut from, mut same_terms) = (0, true);
    for (&term, &value) in other_terms.iter().zip(other_values) {
        let to = from + gallop(&terms[from..], term);
        sum_terms.extend_from_slice(&terms[from..to]);
        sum_values.extend_from_slice(&values[from..to]);
        let before = terms.get(to).filter(|&&found| found == term).map(|_| values[to]);
        from = to + usize::from(before.is_some());
        let sum = before.unwrap_or(0) + value;
        if sum != 0 {
            sum_terms.push(term);
            sum_values.push(sum);
        }
        same_terms &= before.is_some() == (sum != 0);
    }
    sum_terms.extend_from_slice(&terms[from..]);
    sum_values.extend_from_slice(&values[from..]);
    ((!same_terms).then(|| sum_terms.into()), sum_values.into())
}

/// The number of these terms that are below `term`. Fast if they are few.
pub(super) fn gallop(terms: &[u32], term: u32) -> usize {
    let mut step = 1;
    while step <= terms.len() && terms[step - 1] < term {
        step *= 2;
    }
    let from = step / 2;
    from + terms[from..terms.len().min(step)].partition_point(|&other| other < term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The definition: each change on its own.
    fn plainly(
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        changes: &[Change],
    ) -> BTreeMap<u32, (i64, BTreeMap<u32, i64>)> {
        let mut expected: BTreeMap<u32, (i64, BTreeMap<u32, i64>)> = BTreeMap::new();
        for change in changes {
            let (members, sum) = expected.entry(change.cluster).or_default();
            let sign = if change.joined { 1 } else { -1 };
            *members += if weights.weight(change.doc as usize) > 0.0 { sign } else { 0 };
            for (term, x) in rows.row(change.doc as usize).iter() {
                *sum.entry(term).or_default() += sign * weights.fixed(change.doc as usize, f64::from(x));
            }
        }
        expected.values_mut().for_each(|(_, sum)| sum.retain(|_, value| *value != 0));
        expected
    }

    proptest! {
        /// Split anywhere and added in either order, sorted or scattered.
        #[test]
        fn parts_add_up_to_the_whole(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..40, -3i8..4, 1..9), 1..20),
            labels in prop::collection::vec((0u32..5, 0u32..5), 20),
            cut in any::<prop::sample::Index>(),
            many_terms in any::<bool>(),
        ) {
            // With many terms the bitmap has more words than there are entries.
            let rows = UnitRows::new(SparseRows::from_maps(if many_terms { 200_000 } else { 40 }, &docs));
            let weights: Vec<f64> = (0..docs.len()).map(|doc| [1.0, 0.0, 2.5][doc % 3]).collect();
            prop_assume!(weights.iter().sum::<f64>() > 0.0);
            let weights = RowWeights::new(&weights, docs.len()).unwrap();
            // Label 4 stands for no label.
            let label = |label: u32| if label == 4 { Assignment::NO_LABEL } else { label };
            let (before, after): (Vec<u32>, Vec<u32>) =
                labels[..docs.len()].iter().map(|&(before, after)| (label(before), label(after))).unzip();
            let both = |(doc, (&before, &after)): (u32, (&u32, &u32))| {
                let [left, joined] = [(before, false), (after, true)]
                    .map(|(cluster, joined)| Change { cluster, doc, joined });
                if before == after { Vec::new() } else { vec![left, joined] }
            };
            let changes = (0..).zip(before.iter().zip(&after)).flat_map(both);
            let changes: Vec<Change> = changes.filter(|c| c.cluster != Assignment::NO_LABEL).collect();
            let scratch = DeltaScratch::default();
            // In ranges of one, two and all clusters, and with the members counted separately.
            let of = |changes: &[Change], step: u32| {
                let mut list = Changes::default();
                let touched = list.add(changes.to_vec(), &weights);
                let mut delta = Delta::default();
                for first in (0..4).step_by(step as usize) {
                    delta.add(list.delta(first..=first + step - 1, &rows, &weights, &scratch));
                }
                (delta, touched)
            };
            let (whole, touched) = of(&changes, 4);
            let members: BTreeMap<u32, i64> = touched.iter().map(|t| (t.cluster, t.members)).collect();
            let found: BTreeMap<u32, (i64, BTreeMap<u32, i64>)> = whole
                .clusters
                .iter()
                .map(|c| (c.cluster, (members[&c.cluster], c.terms.iter().copied().zip(c.values.iter().copied()).collect())))
                .collect();
            prop_assert_eq!(found, plainly(&rows, &weights, &changes));
            let (found, touched_by_all) = Changes::between(&before, &after, &weights);
            prop_assert_eq!((&found.delta(0..=3, &rows, &weights, &scratch), &touched_by_all), (&whole, &touched));
            prop_assert_eq!(&of(&changes, 1).0, &whole);
            prop_assert_eq!(&of(&changes, 2).0, &whole);
            let cut = if changes.is_empty() { 0 } else { cut.index(changes.len()) };
            let ((mut left, mut touched_left), (right, touched_right)) = (of(&changes[..cut], 4), of(&changes[cut..], 4));
            let mut other_way = right.clone();
            other_way.add(left.clone());
            left.add(right);
            Touched::add(&mut touched_left, touched_right);
            prop_assert_eq!(&left, &whole);
            prop_assert_eq!(&other_way, &whole);
            prop_assert_eq!(touched_left, touched);
        }
    }
}
