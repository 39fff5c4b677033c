//! Exact similarities, and the labels that follow from them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::followers::Followers;
use super::front::Front;
use super::look::Pair;
use super::mean_nnz;
use crate::assign::ShardStep;
use crate::assign::bounds::round_up;
use crate::assign::choice::{Choice, winner};
use crate::assign::postings::Postings;
use crate::lists::{n_tasks, task_range};
use crate::numbers_by_key::NumbersByKey;
use crate::record::Counters;

/// Documents of one cluster that are compared with its centroid per task.
const TASK_DOCS: usize = 1024;

/// Documents per task of comparing with every centroid.
const POSTING_DOCS: usize = 64;

/// Pairs per task of settling labels.
const TASK_PAIRS: usize = 1 << 12;

/// The similarities of pairs, as bits.
pub(super) struct Similarities(Vec<AtomicU64>);

impl Similarities {
    pub(super) fn get(&self, pair: usize) -> f64 {
        f64::from_bits(self.0[pair].load(Relaxed))
    }
}

impl Followers {
    /// Updates the own similarities of the members of some clusters.
    pub(super) fn update_own(
        &self,
        front: &Front,
        step: &ShardStep<'_>,
        members: &NumbersByKey,
        changed: &[u32],
    ) -> u64 {
        let tasks: Vec<(usize, &[AtomicU32])> = changed
            .iter()
            .flat_map(|&cluster| {
                let members = members.of(cluster);
                let task = Self::task_docs(step, cluster as usize);
                members.chunks(task).map(move |members| (cluster as usize, members))
            })
            .collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, members)| {
            if step.is_cancelled() {
                return;
            }
            let empty = step.centroids.is_empty(cluster);
            let position = |member: &AtomicU32| member.load(Relaxed) as usize;
            self.compare(front, step, cluster, members.iter().map(position), |number, own| {
                let own = if empty { f64::NEG_INFINITY } else { own };
                self.states.set_own(position(&members[number]), own);
            });
        });
        tasks.iter().map(|(_, members)| members.len() as u64).sum()
    }

    /// Documents compared with a centroid per task: expanding the centroid must not dominate.
    fn task_docs(step: &ShardStep<'_>, cluster: usize) -> usize {
        TASK_DOCS.max(4 * step.centroids.row(cluster).nnz() / mean_nnz(step.rows))
    }

    /// Calls `visit` with the number of each of these positions, and its similarity.
    fn compare(
        &self,
        front: &Front,
        step: &ShardStep<'_>,
        cluster: usize,
        positions: impl ExactSizeIterator<Item = usize> + Clone,
        visit: impl FnMut(usize, f64),
    ) {
        let docs = positions.map(|position| self.arranged.docs()[position] as usize);
        let (centroid, directory) = (step.centroids.row(cluster), front.directory(cluster));
        self.scratch.comparer.similarities(step.rows, centroid, directory, docs, visit);
    }

    /// The similarities of all pairs, in their order.
    pub(super) fn pair_similarities(
        &self,
        front: &Front,
        step: &ShardStep<'_>,
        pairs: &[Pair],
    ) -> Similarities {
        let mut by_cluster = NumbersByKey::default();
        by_cluster.group(step.centroids.n_clusters(), pairs.len(), |number| Some(pairs[number].cluster));
        let tasks: Vec<(usize, &[AtomicU32])> = (0..step.centroids.n_clusters())
            .flat_map(|cluster| {
                let numbers = by_cluster.of(cluster as u32);
                numbers.chunks(Self::task_docs(step, cluster)).map(move |numbers| (cluster, numbers))
            })
            .collect();
        let all = (0..pairs.len()).into_par_iter().with_min_len(TASK_PAIRS);
        let similarities: Vec<AtomicU64> = all.map(|_| AtomicU64::new(0)).collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, numbers)| {
            if step.is_cancelled() {
                return;
            }
            let positions =
                numbers.iter().map(|number| pairs[number.load(Relaxed) as usize].position as usize);
            self.compare(front, step, cluster, positions, |number, similarity| {
                let pair = numbers[number].load(Relaxed) as usize;
                similarities[pair].store(similarity.to_bits(), Relaxed);
            });
        });
        Similarities(similarities)
    }

    /// Computes the similarities of all pairs, and settles the labels of their documents. The pairs
    /// of a document are neighbours.
    pub(super) fn settle(&mut self, front: &Front, step: &ShardStep<'_>, pairs: &[Pair]) {
        let similarities = self.pair_similarities(front, step, pairs);
        let is_same = |a: &Pair, b: &Pair| a.position == b.position;
        let n_moved = (0..n_tasks(pairs, TASK_PAIRS)).into_par_iter().map(|task| {
            let range = task_range(pairs, task, TASK_PAIRS, is_same);
            let mut number = range.start;
            let mut n_moved = 0;
            for group in pairs[range].chunk_by(is_same) {
                let similarities = (number..).map(|number| similarities.get(number));
                n_moved += usize::from(self.settle_one(group, similarities));
                number += group.len();
            }
            n_moved
        });
        let n_moved = n_moved.sum();
        self.note_moves(n_moved);
    }

    /// Settles the label of the document of these pairs. Returns whether it moved.
    fn settle_one(&self, pairs: &[Pair], similarities: impl Iterator<Item = f64>) -> bool {
        let position = pairs[0].position as usize;
        let own = self.states.own(position);
        let mut choice = if own == f64::NEG_INFINITY {
            Choice::open()
        } else {
            Choice::from_own(self.states.label(position), own)
        };
        let (mut best, mut second) = (own, f64::NEG_INFINITY);
        for (pair, similarity) in pairs.iter().zip(similarities) {
            choice.offer(pair.cluster, similarity);
            second = second.max(similarity.min(best));
            best = best.max(similarity);
        }
        let (label, similarity) = choice.chosen();
        self.states.set_own(position, similarity);
        self.states.set_other(position, self.states.other(position).max(round_up(second)));
        self.states.set_label(position, label) != label
    }

    /// Compares these documents with every centroid.
    pub(super) fn assign_through_postings(&mut self, step: &ShardStep<'_>, positions: &[u32]) -> Counters {
        if positions.is_empty() {
            return Counters::default();
        }
        let docs = positions.iter().map(|&position| self.arranged.docs()[position as usize] as usize);
        let postings = Postings::of_docs(step.centroids, step.rows, docs);
        let scratch = || vec![0.0; step.centroids.n_clusters()];
        let settled = positions.par_chunks(POSTING_DOCS).map_init(scratch, |similarities, positions| {
            if step.is_cancelled() {
                return (0, 0);
            }
            let (mut n_moved, mut n_postings) = (0, 0);
            for position in positions.iter().map(|&position| position as usize) {
                let row = step.rows.row(self.arranged.docs()[position] as usize);
                n_postings += postings.similarities(row, similarities);
                let before = self.states.label(position);
                let (label, own) = winner(similarities, before);
                if let Some(winner) = similarities.get_mut(label as usize) {
                    *winner = f64::NEG_INFINITY;
                }
                let other = similarities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                self.states.set_own(position, own);
                self.states.set_other(position, round_up(other));
                self.states.set_made(position, step.iteration);
                self.states.set_label(position, label);
                n_moved += usize::from(before != label);
            }
            (n_moved, n_postings)
        });
        let (n_moved, n_postings) = settled.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.note_moves(n_moved);
        Counters {
            similarities: (positions.len() * step.live.len()) as u64,
            postings: n_postings,
            skipped_docs: 0,
        }
    }
}
