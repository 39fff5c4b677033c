//! Exact similarities, and the labels that follow from them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::arranged::TermRanks;
use super::followers::Followers;
use super::look::Pair;
use super::mean_nnz;
use crate::assign::ShardStep;
use crate::assign::bounds::round_up;
use crate::assign::choice::{Choice, winner};
use crate::assign::postings::Postings;
use crate::by_key::ByKey;
use crate::labels::Assignment;
use crate::record::Counters;

/// Documents of one cluster that are compared with its centroid per task.
const TASK_DOCS: usize = 1024;

impl Followers {
    /// Updates the own similarities.
    pub(super) fn update_own(&self, ranks: &TermRanks, step: &ShardStep<'_>, changed: &[u32]) -> u64 {
        let tasks: Vec<(usize, &[u32])> = changed
            .iter()
            .flat_map(|&cluster| {
                let members = self.members.of(cluster);
                let task = Self::task_docs(step, cluster as usize);
                members.chunks(task).map(move |members| (cluster as usize, members))
            })
            .collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, members)| {
            if step.is_cancelled() {
                return;
            }
            let empty = step.centroids.is_empty(cluster);
            self.compare(ranks, step, cluster, members.iter().map(|&m| m as usize), |position, own| {
                self.states.set_own(position, if empty { f64::NEG_INFINITY } else { own });
            });
        });
        tasks.iter().map(|(_, members)| members.len() as u64).sum()
    }

    /// Documents compared with a centroid per task: expanding the centroid must not dominate.
    fn task_docs(step: &ShardStep<'_>, cluster: usize) -> usize {
        TASK_DOCS.max(4 * step.centroids.row(cluster).nnz() / mean_nnz(step.rows))
    }

    fn compare(
        &self,
        ranks: &TermRanks,
        step: &ShardStep<'_>,
        cluster: usize,
        positions: impl ExactSizeIterator<Item = usize>,
        visit: impl FnMut(usize, f64),
    ) {
        let centroid = step.centroids.row(cluster);
        self.comparer.similarities(step.rows, &self.arranged, ranks, centroid, positions, visit);
    }

    /// The similarities of all pairs, in their order.
    pub(super) fn pair_similarities(
        &self,
        ranks: &TermRanks,
        step: &ShardStep<'_>,
        pairs: &[Pair],
    ) -> Vec<f64> {
        let clusters = pairs.iter().map(|pair| pair.cluster);
        let by_cluster: ByKey<u32> = ByKey::new(step.centroids.n_clusters(), clusters.zip(0..));
        let tasks: Vec<(usize, &[u32])> = (0..step.centroids.n_clusters())
            .flat_map(|cluster| {
                let numbers = by_cluster.of(cluster as u32);
                numbers.chunks(Self::task_docs(step, cluster)).map(move |numbers| (cluster, numbers))
            })
            .collect();
        let similarities: Vec<AtomicU64> = pairs.iter().map(|_| AtomicU64::new(0)).collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, numbers)| {
            if step.is_cancelled() {
                return;
            }
            let positions = numbers.iter().map(|&number| pairs[number as usize].position as usize);
            let mut next = numbers.iter();
            self.compare(ranks, step, cluster, positions, |_, similarity| {
                let number = *next.next().expect("one for each position");
                similarities[number as usize].store(similarity.to_bits(), Relaxed);
            });
        });
        similarities.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect()
    }

    /// Computes the similarities of all pairs, and settles the labels of their documents.
    pub(super) fn settle(
        &mut self,
        ranks: &TermRanks,
        step: &ShardStep<'_>,
        pairs: &[Pair],
        assignment: &mut Assignment,
    ) {
        let mut similarities = self.pair_similarities(ranks, step, pairs).into_iter();
        for group in pairs.chunk_by(|a, b| a.position == b.position) {
            let position = group[0].position as usize;
            let own = self.states.own(position);
            let mut choice = if own == f64::NEG_INFINITY {
                Choice::open()
            } else {
                Choice::from_own(self.states.labels[position], own)
            };
            let (mut best, mut second) = (own, f64::NEG_INFINITY);
            for (pair, similarity) in group.iter().zip(&mut similarities) {
                choice.offer(pair.cluster, similarity);
                second = second.max(similarity.min(best));
                best = best.max(similarity);
            }
            let (label, similarity) = choice.chosen();
            self.states.set_own(position, similarity);
            self.states.set_other(position, self.states.other(position).max(round_up(second)));
            self.set_label(position, label, assignment);
        }
    }

    /// Compares these documents with every centroid.
    pub(super) fn assign_through_postings(
        &mut self,
        step: &ShardStep<'_>,
        positions: &[u32],
        assignment: &mut Assignment,
    ) -> Counters {
        if positions.is_empty() {
            return Counters::default();
        }
        let mut postings = Postings::default();
        postings.build(step.centroids);
        let scratch = || vec![0.0; step.centroids.n_clusters()];
        let settled: Vec<(Vec<u32>, u64)> = positions
            .par_chunks(TASK_DOCS)
            .map_init(scratch, |similarities, positions| {
                if step.is_cancelled() {
                    return (Vec::new(), 0);
                }
                let mut n_postings = 0;
                let labels = positions.iter().map(|&position| {
                    let position = position as usize;
                    let row = step.rows.row(self.arranged.docs()[position] as usize);
                    n_postings += postings.similarities(row, similarities);
                    let (label, own) = winner(similarities, self.states.labels[position]);
                    if let Some(winner) = similarities.get_mut(label as usize) {
                        *winner = f64::NEG_INFINITY;
                    }
                    let other = similarities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    self.states.set_own(position, own);
                    self.states.set_other(position, round_up(other));
                    self.states.set_made(position, step.iteration);
                    label
                });
                (labels.collect(), n_postings)
            })
            .collect();
        let counters = Counters {
            similarities: (positions.len() * step.live.len()) as u64,
            postings: settled.iter().map(|(_, n_postings)| n_postings).sum(),
            skipped_docs: 0,
        };
        for (&position, label) in positions.iter().zip(settled.into_iter().flat_map(|(labels, _)| labels)) {
            self.set_label(position as usize, label, assignment);
        }
        counters
    }
}
