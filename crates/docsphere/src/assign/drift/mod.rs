//! `drift`: a document scans only centroids that moved further than its slack.
//!
//! Each document keeps `own`, the similarity to its own centroid, and `other`, an upper bound on
//! the similarity to every other centroid as of the iteration in which it was made. A centroid that
//! moved since then may have come closer by at most its *growth*. So with `slack = own - other` a
//! document has to scan only centroids that grew by `slack` or more; if there are none, two numbers
//! are compared and nothing else is done for it. The paper's non-changing clusters are the special
//! case of growth 0.
//!
//! # Proof
//!
//! Let `U >= sim(x, c_j)` for every centroid j but the own one, in computed similarities, before
//! some movements; let the own similarity be `own` after them. For a row x without negative values
//! and centroids `c_j`, `c_j'` before and after one movement, `x . c_j' = x . c_j + x . (c_j' -
//! c_j) <= x . c_j + x . max(c_j' - c_j, 0) <= x . c_j + |x| |max(c_j' - c_j,
//! 0)|` (Cauchy-Schwarz). [`growth`](super::bounds::growth) is the last term with slack for the
//! rounding of both similarities and of itself, so computed similarities grow by no more than it.
//! Over several movements growths add up, separately for each centroid: [`growth.rs`](growth) keeps
//! these sums `G_j`. If `U + G_j < own`, centroid j is less similar than the own one and can be
//! left out, ties included.
//!
//! For the other centroids, [`columns.rs`](columns) bounds all similarities at once in small
//! integers, and [`batch`] leaves out those below `own`, or below a lower bound of the
//! best of them. The remaining ones are *candidates*: their similarities are computed as in the
//! reference ([`comparer.rs`](comparer)), and the tie rule decides among them and the own centroid.
//! Every centroid is then in one of four classes, each with a bound: not scanned (`U + G_j`),
//! scanned and left out (the bound of `columns.rs`), candidate that lost, or old own centroid
//! (their similarities). The greatest of these is the new `U`, but never less than 0: an empty
//! centroid has similarity 0 to every document, is scanned by none, and grows from there once its
//! cluster is refilled.
//!
//! # What else makes it fast
//!
//! - Columns are ranked by their growth, so that a document scans a *prefix* of them, in whole
//!   tiles of 64.
//! - A document that scans many columns scans *groups* of 8 to 32 of them first. Hardly any group
//!   except that of its own centroid can hold a winner, so it scans two or three tiles of columns
//!   instead of all.
//! - Documents are scanned in the order of their clusters ([`arranged.rs`](arranged)): neighbours
//!   share terms, so table lines and lists are in cache.
//! - Own similarities are computed one centroid at a time, and only for clusters that changed.
//! - In late iterations most documents scan a tile or two. They get small columns of their own,
//!   which are built quickly; and columns of centroids that did not change are kept
//!   ([`kept.rs`](kept)).
//!
//! # Two halves
//!
//! [`Front`] is the per-centroid half: growths, ranking, columns. It depends on no document.
//! [`Followers`] is the per-document half: rows, labels and bounds. It sees centroids only through
//! the step and the front. [`Drift`] holds one front, and followers for each block of rows. A step
//! begins with the front, which builds columns once a block needs them.
//!
//! In iteration 0, and whenever the changes since the last assignment are unknown, `own` is
//! computed for all, `other` is infinite, and every document scans all columns. With negative
//! values, or with more than 32 candidates (many equal centroids, or a document that shares no term
//! with any), posting lists give all similarities, as in `inverted`. The same applies to a document
//! whose own similarity is 0, and to one without a label that shares a term with a changed
//! centroid.
//!
//! **Cost.** Memory: 4 bytes per nonzero and 8 per document for the arranged rows (12 from 2^32
//! nonzeros in a block on), 17 per document for its state (all of these in scratch files if the
//! rows are in a file); for each document of the largest block 8 for its position and for members
//! of clusters, and 16 while documents are chosen and scanned; 8 bytes per term, and 4 per term and
//! thread; 181 per cluster, most of it for the growths of 32 iterations; a byte per entry of the
//! centroids for their directories; 20 per cluster and thread while they are grouped and cut into
//! ranges of terms; the columns, twice (see there), and with several blocks once more for some of
//! them; 10 MB per thread for a batch, or 36 bytes per term of the longest row if that has more
//! than 131,072. Batches are kept from one assignment to the next.
//! `docs/strategies.md` gives a single formula.
//!
//! References: Hamerly, "Making k-means even faster", SDM 2010, doi:10.1137/1.9781611972801.12 (one
//! bound for all other centroids); Ding et al., "Yinyang k-means", ICML 2015 (only centroids that
//! may have come closer); Aoyama, Saito, "Structured inverted-file k-means clustering for
//! high-dimensional sparse data", 2021, doi:10.48550/arXiv.2103.16141 (invariant centroids; upper
//! bounds term at a time).

mod arranged;
mod batch;
mod columns;
mod comparer;
mod directory;
mod followers;
mod front;
mod growth;
mod kept;
mod look;
mod nearest;
mod offsets;
mod positions;
mod rivals;
mod settle;
mod states;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

pub(crate) use comparer::Comparer;
pub(crate) use directory::Directories;
use followers::{Followers, Scratch};
use front::{Front, Plan};
use growth::Ranking;
use look::{Need, Pair, Scanned};
pub(crate) use nearest::{most_bytes as most_nearest_bytes, nearest};
use positions::Positions;

use super::rivals::through_postings;
use super::{Assigned, Assigner, Rivals, ShardStep, Sizes, Wanted};
use crate::centroids::Movement;
use crate::error::Result;
use crate::labels::Assignment;
use crate::lists::concatenated;
use crate::numbers_by_key::NumbersByKey;
use crate::record::{Counters, PhaseSeconds, Strategy};
use crate::simd::{Level, TILE};
use crate::vectors::UnitRows;

/// See the [module](self).
pub(super) struct Drift {
    front: Front,
    /// By block.
    blocks: Vec<Followers>,
    scratch: Arc<Scratch>,
    /// The positions of the members of each cluster, in the present block.
    members: NumbersByKey,
    positions: Positions,
    filters_off: bool,
    /// The iteration that the front represents; `None` if it has no ranking.
    iteration: Option<usize>,
    /// Whether it has followed a movement from the last iteration to this.
    has_followed: bool,
}

impl Drift {
    /// `folder` is where arranged rows go that are not to be in memory.
    pub(super) fn new(level: Level, folder: Option<PathBuf>) -> Self {
        Drift {
            front: Front::new(level),
            blocks: Vec::new(),
            scratch: Arc::new(Scratch::new(folder)),
            members: NumbersByKey::default(),
            positions: Positions::default(),
            filters_off: false,
            iteration: None,
            has_followed: false,
        }
    }

    /// Frees all memory.
    pub(super) fn clear(&mut self) {
        *self = Drift::new(self.front.level(), self.scratch.folder());
    }

    /// The followers of the block of a step.
    fn block(&mut self, step: &ShardStep<'_>) -> &mut Followers {
        while self.blocks.len() <= step.block {
            self.blocks.push(Followers::new(Arc::clone(&self.scratch)));
        }
        &mut self.blocks[step.block]
    }

    /// Compares documents with the centroids that may win them.
    fn follow(&mut self, step: &ShardStep<'_>, labels: &[u32], clock: &mut Clock) -> Result<Counters> {
        let has_followed = self.has_followed;
        self.block(step);
        let Drift { front, blocks, members, positions, .. } = self;
        let followers = &mut blocks[step.block];
        let movement = step.movement_since(followers.iteration).filter(|_| has_followed);
        match movement {
            Some(_) => followers.bring_up_to_date(front.ranks(), step, labels, positions)?,
            None => followers.reset(front.ranks(), step, labels)?,
        }
        followers.group_members(step, members);
        clock.lap(|phases| &mut phases.arrange);
        let changed = movement.map_or(&step.live[..], Movement::changed);
        let mut counters = Counters::default();
        counters.similarities += followers.update_own(front, step, members, changed);
        *members = NumbersByKey::default();
        clock.lap(|phases| &mut phases.own);
        let ranking = front.ranking();

        let (needs, open) = followers.choose(step, &ranking, || front.changed_terms(step));
        clock.lap(|phases| &mut phases.choose);
        let n_scanned: usize = needs.iter().map(Vec::len).sum();
        counters.skipped_docs = (followers.n_docs() - n_scanned - open.len()) as u64;
        let scanned = scan(front, followers, step, &ranking, needs, true, clock);
        let (pairs, mut heavy, of_scan) = taken_apart(scanned);
        counters = counters.plus(of_scan);
        counters.similarities += pairs.len() as u64;
        followers.settle(front, step, &pairs);
        drop(pairs);
        clock.lap(|phases| &mut phases.settle);
        heavy.extend(open);
        let counters = counters.plus(followers.assign_through_postings(step, &heavy));
        clock.lap(|phases| &mut phases.postings);
        Ok(counters)
    }
}

/// Finds the candidates of documents that scan some columns. With `notes`, makes new bounds.
fn scan(
    front: &mut Front,
    followers: &Followers,
    step: &ShardStep<'_>,
    ranking: &Ranking,
    needs: Vec<Vec<Need>>,
    notes: bool,
    clock: &mut Clock,
) -> Vec<Scanned> {
    let mut scanned = Vec::new();
    let parts = in_two(needs);
    clock.lap(|phases| &mut phases.choose);
    for (part, (needs, n_tiles)) in parts.into_iter().enumerate() {
        let plan = front.plan(step, &needs, n_tiles, part == 0);
        front.build(step, &plan);
        clock.lap(|phases| &mut phases.columns);
        scanned.extend(if matches!(plan, Plan::Pairs) {
            followers.pair_with_all(step, ranking, &needs, notes)
        } else {
            let sets = front.sets(ranking, &plan);
            followers.scan(front.level(), step, ranking, &sets, &needs, notes)
        });
        clock.lap(|phases| &mut phases.scan);
    }
    scanned
}

/// Tells the seconds of each phase.
struct Clock {
    last: Instant,
    phases: PhaseSeconds,
}

impl Clock {
    fn new() -> Self {
        Clock { last: Instant::now(), phases: PhaseSeconds::default() }
    }

    /// Adds the time since the last lap to a phase.
    fn lap(&mut self, phase: impl FnOnce(&mut PhaseSeconds) -> &mut f64) {
        let now = Instant::now();
        *phase(&mut self.phases) += now.duration_since(self.last).as_secs_f64();
        self.last = now;
    }
}

/// All pairs, all positions with too many candidates, and the sums of the counters.
fn taken_apart(scanned: Vec<Scanned>) -> (Vec<Pair>, Vec<u32>, Counters) {
    let counters = scanned.iter().map(|scanned| scanned.counters).fold(Counters::default(), Counters::plus);
    let (pairs, heavy): (Vec<Vec<Pair>>, Vec<Vec<u32>>) =
        scanned.into_iter().map(|scanned| (scanned.pairs, scanned.heavy)).unzip();
    (concatenated(&pairs), heavy.concat(), counters)
}

impl Assigner for Drift {
    fn attach(&mut self, rows: &UnitRows<'_>) -> Result<()> {
        self.clear();
        self.front.attach(rows);
        Ok(())
    }

    fn begin(&mut self, step: &ShardStep<'_>, _n_unsettled: u64) -> Result<()> {
        self.filters_off = !step.allows_index();
        let can_follow = !self.filters_off && !step.live.is_empty();
        let movement = step.movement_since(self.iteration).filter(|_| can_follow);
        if movement.is_none() {
            self.front.reset(step.centroids.n_clusters());
        }
        if can_follow {
            self.front.rank(step, movement);
        }
        self.iteration = can_follow.then_some(step.iteration);
        self.has_followed = movement.is_some();
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let mut clock = Clock::new();
        let counters = if self.iteration.is_some() {
            self.follow(step, &assignment.labels, &mut clock)?
        } else {
            self.block(step);
            let followers = &mut self.blocks[step.block];
            followers.reset(self.front.ranks(), step, &assignment.labels)?;
            let all: Vec<u32> = (0..followers.n_docs() as u32).collect();
            let counters = followers.assign_through_postings(step, &all);
            clock.lap(|phases| &mut phases.postings);
            counters
        };
        let followers = &mut self.blocks[step.block];
        followers.iteration = self.iteration;
        followers.write(assignment, &mut self.positions);
        clock.lap(|phases| &mut phases.write);
        let phases = clock.phases;
        Ok(Assigned {
            filters_off: self.filters_off,
            prepare_seconds: phases.columns,
            phases: Some(phases),
            ..Assigned::plainly(Strategy::Drift, counters)
        })
    }

    /// By cluster, as the rows are arranged.
    fn in_order(&mut self, step: &ShardStep<'_>, places: Range<usize>) -> Vec<u32> {
        let docs = self.block(step).arranged.docs();
        docs[places.start.min(docs.len())..places.end.min(docs.len())].to_vec()
    }

    fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        if self.block(step).iteration != Some(step.iteration) {
            return through_postings(step, wanted, labels);
        }
        let Drift { front, blocks, positions, .. } = self;
        let followers = &blocks[step.block];
        front.rank_again(step);
        followers.arranged.find(positions, labels.len());
        rivals::rivals(front, followers, positions, step, wanted, labels)
    }

    fn rest(&mut self) {
        if self.scratch.is_short() {
            self.front.rest();
        }
    }

    fn memory_bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(Followers::memory_bytes).sum::<usize>();
        let scratch =
            self.scratch.memory_bytes() + self.members.memory_bytes() + self.positions.memory_bytes();
        self.front.memory_bytes() + blocks + scratch
    }
}

/// Upper bound on the strategy's memory, from "Cost" above: both halves, and the scratch of each
/// thread.
pub(super) fn most_bytes(sizes: &Sizes) -> u64 {
    let Sizes { n_rows, nnz, n_terms, n_clusters, shard_rows, is_mapped, .. } = *sizes;
    let offset = if nnz > u64::from(u32::MAX) { 8 } else { 4 };
    // What is in scratch files is made in memory, one block at a time, and moved about there.
    let followers =
        if is_mapped { 2 * (4 + offset + 17) * shard_rows } else { 4 * nnz + (4 + offset + 17) * n_rows };
    let scratch = (4 + 4 + 16) * shard_rows;
    // All centroids once more. With several blocks, a quarter of the tiles or less stays beside
    // them.
    let few = Sizes { n_clusters: n_clusters / 4 + TILE as u64, ..*sizes };
    let of_few = if is_mapped { columns::most_bytes(&few) + 16 * n_terms } else { 0 };
    let columns = columns::most_bytes(sizes) + of_few;
    followers + scratch + columns + resting_bytes(sizes)
}

/// What of it is held between two passes, if memory is short.
pub(super) fn resting_bytes(sizes: &Sizes) -> u64 {
    let Sizes { n_terms, n_clusters, n_threads, shard_rows, .. } = *sizes;
    // Ranks, and the lookups of two sets of columns, of which one is being built; bits of terms.
    let front = 57 * n_terms + 181 * n_clusters + sizes.entries() + columns::most_bytes(sizes);
    // An expanded centroid, counts and cuts by cluster, and a batch of documents.
    let by_thread =
        4 * n_terms + 20 * n_clusters + batch::most_bytes(sizes, look::SCAN_DOCS, look::SCAN_TERMS);
    // Positions of documents, and members of clusters.
    front + 8 * shard_rows + n_threads * by_thread
}

/// Splits the documents: those that scan only a few tiles get small columns of their own. Each part
/// comes with the number of tiles that suffices for it.
fn in_two(needs: Vec<Vec<Need>>) -> [(Vec<Need>, usize); 2] {
    let n_tiles = |need: &Need| need.n_tiles as usize;
    let most = |needs: &Vec<Need>| needs.iter().map(n_tiles).max().unwrap_or(0);
    let n_most = needs.par_iter().map(most).max().unwrap_or(0);
    let counted = |mut counts: Vec<usize>, needs: &Vec<Need>| {
        needs.iter().for_each(|need| counts[n_tiles(need)] += 1);
        counts
    };
    let none = || vec![0; n_most + 1];
    let counts = needs.par_iter().fold(none, counted).reduce(none, |mut sums, counts| {
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sums
    });
    let n_few = few_tiles(&counts);
    let is_few = |need: &Need| n_tiles(need) <= n_few;
    let divided = |needs: Vec<Need>| needs.into_iter().partition(is_few);
    let (few, rest): (Vec<Vec<Need>>, Vec<Vec<Need>>) = needs.into_par_iter().map(divided).unzip();
    [(concatenated(&few), n_few), (concatenated(&rest), n_most)]
}

/// The smallest number of tiles that suffices for most documents, if it is a small part of all;
/// otherwise 0. `counts` are the documents that need each number of tiles.
fn few_tiles(counts: &[usize]) -> usize {
    let n_all: usize = counts.iter().sum();
    let mut n_docs = 0;
    for (n_few, count) in counts.iter().enumerate().take((counts.len() - 1) / 4 + 1) {
        n_docs += count;
        if n_docs * 4 >= n_all * 3 {
            return n_few;
        }
    }
    0
}

/// Terms per document, on average.
fn mean_nnz(rows: &UnitRows<'_>) -> usize {
    rows.nnz() / rows.n_nonzero_rows().max(1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::Step;
    use crate::assign::inverted::Inverted;
    use crate::centroids::Centroids;
    use crate::update::Follower;
    use crate::vectors::{SparseRows, UnitRows};

    /// Documents of about ten terms, most of them of one of 100 topics.
    fn text_like(n_docs: usize, seed: u64) -> UnitRows<'static> {
        let mut state = seed;
        let mut random = move |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut offsets = vec![0u64];
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        for _ in 0..n_docs {
            let topic = random(100);
            let mut row: Vec<u32> = (0..8).map(|_| (topic * 15 + random(30)) as u32).collect();
            row.extend((0..3).map(|_| random(2000) as u32));
            row.sort_unstable();
            row.dedup();
            values.extend(row.iter().map(|_| 0.2 + random(5) as f32));
            terms.extend(row);
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(2000, offsets, terms, values).unwrap())
    }

    /// Runs until nothing changes, beside posting lists, always with columns, however few are
    /// scanned. Returns how often columns were kept.
    fn run_beside_posting_lists(
        rows: &UnitRows<'_>,
        n_clusters: usize,
        starts: &[usize],
        what: &str,
    ) -> usize {
        let offsets = (0..=n_clusters).map(|cluster| rows.as_sparse().offsets()[cluster]).collect::<Vec<_>>();
        let nnz = offsets[n_clusters] as usize;
        let (terms, values) = (rows.as_sparse().terms(), rows.as_sparse().values());
        let seeds = SparseRows::from_parts(2000, offsets, terms[..nnz].to_vec(), values[..nnz].to_vec());
        let mut centroids = Centroids::from_rows(seeds.unwrap());
        let ends = starts[1..].iter().copied().chain([rows.n_rows()]);
        let blocks: Vec<UnitRows<'_>> =
            starts.iter().zip(ends).map(|(&start, end)| rows.part(start..end)).collect();
        let none = |rows: &UnitRows<'_>| Assignment::none(rows.n_rows(), None).unwrap();
        let mut assignments: Vec<Assignment> = blocks.iter().map(none).collect();

        let mut follower = Follower::new(rows.n_rows(), n_clusters);
        let mut drift = Drift::new(Level::of(crate::Simd::Auto).unwrap(), None);
        drift.attach(rows).unwrap();
        drift.front.build_always();
        let mut plain = Inverted::default();
        let mut expected = none(rows);
        let mut movement = None;
        let (mut n_kept, mut n_iterations) = (0, 0);
        loop {
            let step = Step::new(n_iterations, &centroids, movement.as_ref(), None);
            let whole = ShardStep::new(&step, rows, &[]);
            plain.begin(&whole, 0).unwrap();
            plain.assign(&whole, &mut expected).unwrap();
            let whole = whole.of_block(0, blocks.len());
            drift.begin(&whole, 0).unwrap();
            for (number, (rows, assignment)) in blocks.iter().zip(&mut assignments).enumerate() {
                let step = ShardStep::new(&step, rows, &[]).of_block(number, blocks.len());
                drift.assign(&step, assignment).unwrap();
            }
            let is_kept = drift.front.n_changed_since_kept(&whole).is_some_and(|n_changed| n_changed > 0);
            n_kept += usize::from(is_kept);
            let labels = assignments.iter().flat_map(|found| &found.labels[..]);
            assert!(labels.eq(&expected.labels[..]), "{what}, iteration {n_iterations}");
            let similarities = assignments.iter().flat_map(|found| &found.similarities[..]);
            assert!(similarities.eq(&expected.similarities[..]), "{what}, iteration {n_iterations}");
            let moved = follower.update(rows, &expected.labels, &mut centroids);
            if moved.changed().is_empty() {
                return n_kept;
            }
            movement = Some(moved);
            n_iterations += 1;
        }
    }

    /// Many clusters until few of them change: groups, kept columns, and changes since; with one
    /// block, and with several, of which one is empty, one small and one large.
    #[test]
    fn columns_are_as_good_as_posting_lists_to_the_end() {
        for seed in 0..20 {
            let rows = text_like(4000, seed);
            for starts in [&[0][..], &[0, 0, 40, 900, 1200, 1500, 1800, 2100]] {
                let what = format!("seed {seed}, {} blocks", starts.len());
                let n_kept = run_beside_posting_lists(&rows, 420, starts, &what);
                assert!(n_kept >= 3, "{what}: columns were kept in {n_kept} iterations only");
            }
        }
    }
}
