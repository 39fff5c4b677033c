//! Moves of documents otherwise than by an assignment: refills and contests.

use rayon::prelude::*;

use super::{Common, LocalShard};
use crate::assign::{Rival, ShardStep, Step, Wanted};
use crate::labels::Assignment;
use crate::record::Counters;
use crate::shards::Contested;
use crate::shards::contest::{Contest, Mark, Member, Rule};
use crate::update::{Change, Touched};

/// Documents of a contest that are judged together: what is known of them takes memory, and nothing
/// depends on who they are.
pub(crate) const CONTEST_DOCS: usize = if cfg!(test) { 64 } else { 1 << 17 };

impl LocalShard<'_> {
    /// Gives a document to another cluster.
    pub(super) fn give(&mut self, position: usize, cluster: u32) {
        let before = std::mem::replace(&mut self.assignment.labels[position], cluster);
        self.given.push((position as u32, before));
    }

    /// Adds the moves of documents that were given to other clusters to the changes, except those
    /// that are among them already.
    pub(crate) fn touched_by_given(&mut self) -> Vec<Touched> {
        let mut changes = Vec::with_capacity(2 * self.given.len());
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
        let n_rows = self.rows.n_rows();
        let mut has_moved = vec![false; n_rows];
        if contest.rule == Rule::LeaveOneOut {
            self.changes.docs().for_each(|doc| has_moved[doc as usize] = true);
        }
        let (number, n_shards) = self.place;
        let of_shard = ShardStep::new(step, &self.rows, &[]).of_block(number, n_shards);
        let (mut winners, mut counters) = (Vec::new(), Counters::default());
        for first in (0..n_rows).step_by(CONTEST_DOCS) {
            let places = first..n_rows.min(first + CONTEST_DOCS);
            let docs = common.assigner.in_order(&of_shard, places);
            let wanted = self.contestants(step, contest, docs, &has_moved);
            let rivals = common.assigner.rivals(&of_shard, &wanted, &self.assignment.labels);
            counters = counters.plus(rivals.counters);
            winners.extend(self.winners(step, contest, &wanted, rivals.found));
        }
        winners.par_sort_unstable();
        let n_docs = winners.len() as u64;
        winners.into_iter().for_each(|(doc, cluster)| self.give(doc as usize, cluster));
        Contested { touched: self.touched_by_given(), n_docs, counters }
    }

    /// Those of some documents that take part in a contest, in their order.
    fn contestants(
        &self,
        step: &Step<'_>,
        contest: &Contest,
        docs: Vec<u32>,
        has_moved: &[bool],
    ) -> Vec<Wanted> {
        let marks = self.marks(step, contest);
        let wanted = |doc: u32| {
            let mark = if has_moved[doc as usize] { None } else { marks(doc as usize) }?;
            Some(Wanted { doc, at_least: mark.at_least })
        };
        docs.into_par_iter().with_min_len(1 << 10).filter_map(wanted).collect()
    }

    /// Those that move, and the clusters that they move to.
    fn winners(
        &self,
        step: &Step<'_>,
        contest: &Contest,
        wanted: &[Wanted],
        found: Vec<Option<Rival>>,
    ) -> Vec<(u32, u32)> {
        let (marks, weights) = (self.marks(step, contest), &self.weights);
        let winner = |(wanted, rival): (&Wanted, Option<Rival>)| {
            let (rival, position) = (rival?, wanted.doc as usize);
            // Once more: few have a rival, and the marks of all would take much memory.
            let mark = marks(position)?;
            let wins = contest.wins(mark, weights.single(position), rival.cluster, rival.similarity);
            wins.then_some((wanted.doc, rival.cluster))
        };
        wanted.par_iter().zip(found).with_min_len(1 << 10).filter_map(winner).collect()
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

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::assign::{self, Assigned, Assigner, AssignerSettings, Rivals, reference_similarity};
    use crate::centroids::Centroids;
    use crate::error::Result;
    use crate::ids::ClusterId;
    use crate::record::Strategy;
    use crate::shards::{LocalShards, ShardSettings, Shards};
    use crate::simd::{Level, Simd};
    use crate::vectors::{RowWeights, SparseRows, UnitRows};

    /// Documents of five to eight terms, most of them of one of 20 topics.
    fn rows(n_docs: usize) -> UnitRows<'static> {
        let mut state = 11u64;
        let mut draw = |n: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % n
        };
        let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for _ in 0..n_docs {
            let topic = draw(20);
            let mut row: Vec<u32> =
                (0..8).map(|number| if number < 5 { 10 * topic + draw(10) } else { draw(200) }).collect();
            row.sort_unstable();
            row.dedup();
            values.extend(row.iter().map(|_| 1.0 + draw(3) as f32));
            terms.extend(row);
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(200, offsets, terms, values).unwrap())
    }

    /// The definition, document by document.
    fn moves_of(rows: &UnitRows<'_>, labels: &[u32], centroids: &Centroids, contest: &Contest) -> Vec<u32> {
        let mut after = labels.to_vec();
        for (doc, label) in after.iter_mut().enumerate() {
            let (row, cluster) = (rows.row(doc), *label);
            if cluster == Assignment::NO_LABEL {
                continue;
            }
            let of = |cluster: u32| reference_similarity(row, centroids.centroid(ClusterId::new(cluster)));
            let (centroid, similarity) = (centroids.row(cluster as usize), of(cluster));
            let member = Member { row, weight: 1.0, cluster, similarity, centroid };
            let Some(mark) = contest.mark(&member) else { continue };
            let others = (0..centroids.n_clusters() as u32).filter(|&other| other != cluster);
            let better = |a: (u32, f64), b: (u32, f64)| if b.1 > a.1 { b } else { a };
            let (rival, similarity) = others.map(|other| (other, of(other))).reduce(better).unwrap();
            if similarity >= mark.at_least && contest.wins(mark, 1.0, rival, similarity) {
                *label = rival;
            }
        }
        after
    }

    /// A strategy that notes how many documents it is asked for at a time.
    struct Noting {
        strategy: Box<dyn Assigner>,
        most: Arc<AtomicUsize>,
    }

    impl Assigner for Noting {
        fn begin(&mut self, step: &ShardStep<'_>, n_unsettled: u64) -> Result<()> {
            self.strategy.begin(step, n_unsettled)
        }

        fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
            self.strategy.assign(step, assignment)
        }

        fn in_order(&mut self, step: &ShardStep<'_>, places: Range<usize>) -> Vec<u32> {
            self.strategy.in_order(step, places)
        }

        fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
            self.most.fetch_max(wanted.len(), Relaxed);
            self.strategy.rivals(step, wanted, labels)
        }

        fn memory_bytes(&self) -> usize {
            0
        }
    }

    /// More documents than are judged together, and in any order: every strategy moves the same.
    #[test]
    fn a_contest_in_parts_moves_the_documents_of_the_definition() {
        let rows = rows(7 * CONTEST_DOCS + 9);
        let seeds = rows.part(0..24).into_owned().into_sparse();
        let centroids = Centroids::from_rows(seeds);
        let contest = Contest { rule: Rule::FirstVariation, sizes: vec![3.0; 24] };
        for &strategy in Strategy::ALL {
            let level = Level::of(Simd::Auto).unwrap();
            let assigner = AssignerSettings {
                lambdas: vec![0.2],
                index_min_changed: 1,
                level,
                scratch: None,
                device: None,
            };
            let settings = ShardSettings { strategy, assigner, kept_folder: None };
            let mut shards = LocalShards::new(&rows, RowWeights::UNIFORM, &[], &settings);
            shards.start(None).unwrap();
            let most = Arc::new(AtomicUsize::new(0));
            let plain = assign::assigner(Strategy::Baseline, &settings.assigner);
            let noted = std::mem::replace(&mut shards.common.assigner, plain);
            shards.common.assigner = Box::new(Noting { strategy: noted, most: Arc::clone(&most) });
            let step = Step::new(0, &centroids, None, None);
            shards.pass(&step).unwrap();
            let labels = shards.labels().unwrap();
            let expected = moves_of(&rows, &labels, &centroids, &contest);
            let n_moved = labels.iter().zip(&expected).filter(|(before, after)| before != after).count();
            assert!(n_moved > CONTEST_DOCS / 2, "{n_moved} documents move");
            let contested = shards.contest(&step, &contest).unwrap();
            assert_eq!(contested.n_docs, n_moved as u64, "{strategy}");
            assert_eq!(shards.labels().unwrap(), expected, "{strategy}");
            let most = most.load(Relaxed);
            assert!((1..=CONTEST_DOCS).contains(&most), "{strategy}: {most} documents at a time");
        }
    }
}
