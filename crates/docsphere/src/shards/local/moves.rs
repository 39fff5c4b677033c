//! Moves of documents otherwise than by an assignment: refills and contests.

use rayon::prelude::*;

use super::{Common, LocalShard};
use crate::assign::{Rival, Rivals, ShardStep, Step, Wanted};
use crate::labels::Assignment;
use crate::shards::Contested;
use crate::shards::contest::{Contest, Mark, Member, Rule};
use crate::update::{Change, Touched};

impl LocalShard<'_> {
    /// Gives a document to another cluster.
    pub(super) fn give(&mut self, position: usize, cluster: u32) {
        let before = std::mem::replace(&mut self.assignment.labels[position], cluster);
        self.given.push((position as u32, before));
    }

    /// Adds the moves of documents that were given to other clusters to the changes, except those
    /// that are among them already.
    pub(crate) fn touched_by_given(&mut self) -> Vec<Touched> {
        let mut changes = Vec::new();
        for &(doc, before) in &self.given {
            let label = self.assignment.labels[doc as usize];
            let summed = std::mem::replace(&mut self.summed[doc as usize], label);
            if summed == label {
                continue;
            }
            debug_assert_eq!(summed, before, "sums stand for the labels of the last pass");
            if before != Assignment::NO_LABEL {
                changes.push(Change { cluster: before, doc, joined: false });
            }
            changes.push(Change { cluster: label, doc, joined: true });
        }
        self.changes.add(changes, &self.weights)
    }

    /// Lets documents move to their rivals; see
    /// [`Shards::contest`](crate::shards::Shards::contest).
    pub(crate) fn contest(
        &mut self,
        common: &mut Common<'_>,
        step: &Step<'_>,
        contest: &Contest,
    ) -> Contested {
        let wanted = self.contestants(step, contest);
        let (number, n_shards) = self.place;
        let of_shard = ShardStep::new(step, &self.rows, &[]).of_block(number, n_shards);
        let Rivals { found, counters } = common.assigner.rivals(&of_shard, &wanted, &self.assignment.labels);
        let n_given = self.given.len();
        let (marks, weights) = (self.marks(step, contest), &self.weights);
        let winner = |(wanted, rival): (&Wanted, Option<Rival>)| {
            let (rival, position) = (rival?, wanted.doc as usize);
            // Once more: few have a rival, and the marks of all would take much memory.
            let mark = marks(position)?;
            let wins = contest.wins(mark, weights.single(position), rival.cluster, rival.similarity);
            wins.then_some((position, rival.cluster))
        };
        let winners: Vec<(usize, u32)> =
            wanted.par_iter().zip(found).with_min_len(1 << 10).filter_map(winner).collect();
        drop(marks);
        winners.into_iter().for_each(|(position, cluster)| self.give(position, cluster));
        let n_docs = (self.given.len() - n_given) as u64;
        Contested { touched: self.touched_by_given(), n_docs, counters }
    }

    /// The documents that take part in a contest, ascending.
    fn contestants(&self, step: &Step<'_>, contest: &Contest) -> Vec<Wanted> {
        let mut has_moved = vec![false; self.rows.n_rows()];
        if contest.rule == Rule::LeaveOneOut {
            self.changes.docs().for_each(|doc| has_moved[doc as usize] = true);
        }
        let marks = self.marks(step, contest);
        let docs = has_moved.into_par_iter().enumerate().with_min_len(1 << 10);
        docs.filter_map(|(doc, has_moved)| {
            let mark = if has_moved { None } else { marks(doc) }?;
            Some(Wanted { doc: doc as u32, at_least: mark.at_least })
        })
        .collect()
    }

    /// What a rival of each document must reach; `None` for one that takes no part.
    fn marks<'b>(
        &'b self,
        step: &'b Step<'_>,
        contest: &'b Contest,
    ) -> impl Fn(usize) -> Option<Mark> + Sync + 'b {
        let (Assignment { labels, similarities }, rows, weights) =
            (&self.assignment, &self.rows, &self.weights);
        move |doc| {
            let (cluster, similarity) = (labels[doc], similarities[doc]);
            if cluster == Assignment::NO_LABEL || weights.weight(doc) == 0.0 {
                return None;
            }
            let (row, weight) = (rows.row(doc), weights.single(doc));
            let centroid = step.centroids.row(cluster as usize);
            contest.mark(&Member { row, weight, cluster, similarity, centroid })
        }
    }
}
