//! `drift`: a document looks only at centroids that moved further than its slack.
//!
//! Each document keeps `own`, the similarity to its own centroid, and `other`, which is at least the similarity to any other centroid as of the iteration when it was made. A centroid
//! that moved since then may have come closer by its *growth* at most. So with `slack = own - other` a document has to look only at centroids that grew by `slack` or more;
//! if there are none, nothing is done for it but comparing two numbers. The paper's non-changing clusters are the special case of growth 0.
//!
//! # Proof
//!
//! Let `U >= sim(x, c_j)` for every centroid j but the own one, in computed similarities, before some movements; let the own similarity be `own` after them. For row x without negative values and
//! centroids `c_j`, `c_j'` before and after one movement, `x . c_j' = x . c_j + x . (c_j' - c_j) <= x . c_j + x . max(c_j' - c_j, 0) <= x . c_j + |x| |max(c_j' - c_j, 0)|` (Cauchy-Schwarz).
//! [`growth`](super::bounds::growth) is the last term with slack for the rounding of both similarities and of itself, so computed similarities grow by no more than it. Over several
//! movements growths add up, for each centroid by itself: [`drifts.rs`](super::drifts) keeps these sums `G_j`. If `U + G_j < own`, centroid j is less similar than the own one, and can be left out,
//! ties included.
//!
//! Of the centroids that cannot be left out so, [`columns.rs`](super::columns) bounds all similarities at once in small integers, and [`batch.rs`](super::batch) leaves out those below `own`, or below what the best of them has at
//! least. What remains are *candidates*: their similarities are computed as the reference does ([`comparer.rs`](super::comparer)), and the tie rule decides among them and the own centroid.
//! Every centroid is then in one of four classes, each with a bound: not looked at (`U + G_j`), looked at and left out (the bound of `columns.rs`), candidate that lost, or old own centroid (their similarities).
//! The greatest of these is the new `U`, but never less than 0: an empty centroid has similarity 0 to every document, is looked at by none, and grows from there once its cluster is refilled.
//!
//! # What else makes it fast
//!
//! - Columns are ranked by their growth, so that what a document looks at is a *prefix* of them, in whole tiles of 64.
//! - A document that looks at many columns looks at *groups* of 8 to 32 of them first. Hardly any but that of its own centroid can hold a winner, so it looks at two or three tiles of columns instead of all.
//! - Documents are scanned in the order of their clusters ([`arranged.rs`](super::arranged)): neighbours share terms, so table lines and lists are in cache.
//! - Own similarities are computed one centroid at a time, and only for clusters that changed.
//! - In late iterations most documents look at a tile or two. They get small columns of their own, which are built quickly; and columns of centroids that did not change are kept ([`kept.rs`](super::kept)).
//!
//! Iteration 0, or whenever it is not known what happened since the last assignment: `own` is computed for all, `other` is infinite, and every document looks at all columns. With negative values, or
//! with more than 32 candidates (many equal centroids, or a document that shares no term with any), posting lists give all similarities, as in `inverted`. So they do for a document whose own similarity is 0,
//! and for one without a label that shares a term with a changed centroid.
//!
//! **Cost.** Memory: 8 bytes a nonzero and 16 a document for the arranged rows, 21 a document for what is known of it, 16 more while documents are chosen and scanned; 8 bytes a term, and 4 a term and thread;
//! 141 a cluster, most of it for the growths of 32 iterations; the columns, twice (see there); 10 MB a thread for a batch, or 36 bytes for each term of the longest row, if that is more than 131,072. `docs/strategies.md` has it as one formula.
//!
//! References: Hamerly, "Making k-means even faster", SDM 2010, doi:10.1137/1.9781611972801.12 (one bound for all other centroids); Ding et al., "Yinyang k-means", ICML 2015 (only centroids that may have come closer);
//! Aoyama, Saito, "Structured inverted-file k-means clustering for high-dimensional sparse data", 2021, doi:10.48550/arXiv.2103.16141 (invariant centroids; upper bounds term at a time).

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::arranged::{Arranged, Members, NOWHERE, TermRanks};
use super::batch::Batch;
use super::bounds::round_up;
use super::choice::Choice;
use super::columns::Columns;
use super::comparer::Comparer;
use super::drifts::{Drifts, Ranking, WINDOW};
use super::kept::Kept;
use super::postings::Postings;
use super::states::States;
use super::{Assigned, Assigner, ShardStep};
use crate::centroids::Movement;
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::{Counters, Strategy};
use crate::simd::{Level, TILE};
use crate::vectors::UnitRows;

/// Documents of one cluster that are compared with its centroid in one task.
const TASK_DOCS: usize = 1024;

/// Documents that are scanned in one task: so many that a table line is read several times while it is in cache.
const SCAN_DOCS: usize = 1024;

/// Terms of documents that are scanned together: rows of up to 128 terms on average fill a batch, longer ones are
/// fewer in it. Bounds its memory whatever the length of the rows; it changes no result.
const SCAN_TERMS: usize = 1 << 17;

/// About how many terms of documents can be looked up in the time that it takes to build one entry of the columns.
const PAIR_WORTH: usize = 8;

/// What a document will look up is asked for while so many others are added.
const LOOK_AHEAD: usize = 3;

/// Rows are arranged anew once one document in so many has moved.
const STALE_SHARE: usize = 4;

/// See the [module](self).
pub(super) struct Drift {
    level: Level,
    filters_off: bool,
    pair_worth: usize,
    /// The iteration that the documents' states stand for.
    iteration: Option<usize>,
    ranks: TermRanks,
    arranged: Arranged,
    /// Documents that have moved since they were arranged.
    n_moved: usize,
    states: States,
    drifts: Drifts,
    columns: Columns,
    kept: Kept,
    members: Members,
    comparer: Comparer,
    postings: Postings,
}

/// A document and how many tiles of columns it has to look at.
#[derive(Clone, Copy)]
struct Need {
    position: u32,
    n_tiles: u32,
}

/// A document and a cluster that may win it.
#[derive(Clone, Copy)]
struct Pair {
    position: u32,
    cluster: u32,
}

/// Columns to look at.
struct Set<'a> {
    columns: &'a Columns,
    /// The cluster of each column.
    clusters: &'a [u32],
    /// The column of each cluster.
    column_of: &'a [u32],
    /// The columns to leave out.
    masks: &'a [u64],
    /// Only documents that need more tiles of the ranking than so many look at these columns, and at all of them. `None`: these are the first columns of the ranking.
    beyond: Option<usize>,
}

/// A document and how many tiles of a set it looks at.
#[derive(Clone, Copy)]
struct Look {
    /// Which of the documents at hand.
    number: u32,
    n_tiles: u32,
    /// Whether it looks at groups first.
    grouped: bool,
}

/// What a document has seen.
#[derive(Clone, Copy)]
struct Seen {
    /// Of the ranking.
    n_tiles: u32,
    /// At least the similarity to all columns in these tiles that are no candidates.
    bound: f64,
    is_heavy: bool,
}

/// What a scan found.
#[derive(Default)]
struct Scanned {
    pairs: Vec<Pair>,
    /// Positions with too many candidates.
    heavy: Vec<u32>,
    counters: Counters,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { n_tiles: 0, bound: f64::NEG_INFINITY, is_heavy: false }
    }
}

impl<'a> Set<'a> {
    fn kept(kept: &'a Kept, masks: &'a [u64], beyond: Option<usize>) -> Self {
        let Kept { columns, clusters, column_of, .. } = kept;
        Set { columns, clusters, column_of, masks, beyond }
    }

    /// What a document looks at here, if it does.
    ///
    /// Groups are left out by the own similarity, so it must have one.
    fn look(&self, number: u32, need: Need, has_own: bool) -> Option<Look> {
        let n_all = self.columns.n_tiles();
        let needed = match self.beyond {
            None => n_all.min(need.n_tiles as usize),
            Some(beyond) if need.n_tiles as usize > beyond => n_all,
            Some(_) => return None,
        };
        let (n_tiles, grouped) = if has_own { self.columns.tiles_looked_at(needed) } else { (needed, false) };
        Some(Look { number, n_tiles: n_tiles as u32, grouped })
    }
}

impl Drift {
    pub(super) fn new(level: Level) -> Self {
        Drift {
            level,
            filters_off: false,
            pair_worth: PAIR_WORTH,
            iteration: None,
            ranks: TermRanks::default(),
            arranged: Arranged::default(),
            n_moved: 0,
            states: States::default(),
            drifts: Drifts::default(),
            columns: Columns::default(),
            kept: Kept::default(),
            members: Members::default(),
            comparer: Comparer::default(),
            postings: Postings::default(),
        }
    }

    /// Gives all memory back.
    pub(super) fn clear(&mut self) {
        *self = Drift::new(self.level);
    }

    /// Begins anew: nothing is known but the labels, if there are any.
    fn reset(&mut self, step: &ShardStep<'_>, labels: &[u32]) {
        let docs = (0..step.rows.n_rows()).filter(|&doc| step.rows.row(doc).nnz() > 0);
        let docs: Vec<u32> = docs.map(|doc| doc as u32).collect();
        let n_docs = docs.len();
        self.states = States {
            labels: docs.iter().map(|&doc| labels[doc as usize]).collect(),
            own: (0..n_docs).map(|_| AtomicU64::new(f64::NEG_INFINITY.to_bits())).collect(),
            other: (0..n_docs).map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect(),
            made: (0..n_docs).map(|_| AtomicU8::new((step.iteration as u8).wrapping_sub(1))).collect(),
        };
        self.arranged = Arranged::default();
        self.arranged = Arranged::new(step.rows, &self.ranks, docs);
        self.n_moved = n_docs;
        self.drifts.reset(step.centroids.n_clusters());
        self.kept.reset(step.centroids.n_clusters());
    }

    /// These documents against every centroid.
    fn assign_through_postings(
        &mut self,
        step: &ShardStep<'_>,
        positions: &[u32],
        assignment: &mut Assignment,
    ) -> Counters {
        if positions.is_empty() {
            return Counters::default();
        }
        self.postings.build(step.centroids);
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
                    n_postings += self.postings.similarities(row, similarities);
                    let (label, own) = super::inverted::winner(similarities, self.states.labels[position]);
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
        self.postings = Postings::default();
        for (&position, label) in positions.iter().zip(settled.into_iter().flat_map(|(labels, _)| labels)) {
            self.set_label(position as usize, label, assignment);
        }
        counters
    }

    fn set_label(&mut self, position: usize, label: u32, assignment: &mut Assignment) {
        let before = std::mem::replace(&mut self.states.labels[position], label);
        self.n_moved += usize::from(before != label);
        assignment.labels[self.arranged.docs()[position] as usize] = label;
    }

    /// Arranges the rows by cluster if they are not, or too many documents have moved since.
    fn arrange(&mut self, step: &ShardStep<'_>, labels: &[u32]) {
        if self.n_moved * STALE_SHARE < self.arranged.docs().len() {
            return;
        }
        let before = std::mem::take(&mut self.arranged);
        let positions = before.into_positions();
        let mut members = Members::default();
        members.group(labels, step.centroids.n_clusters());
        let mut docs = members.into_all();
        // Those without a label, but not zero rows, come last.
        let has_no_label =
            |&(doc, &position): &(usize, &u32)| position != NOWHERE && labels[doc] == Assignment::NO_LABEL;
        docs.extend(positions.iter().enumerate().filter(has_no_label).map(|(doc, _)| doc as u32));
        self.arranged = Arranged::new(step.rows, &self.ranks, docs);
        let from: Vec<u32> = self.arranged.docs().iter().map(|&doc| positions[doc as usize]).collect();
        self.states.permute(&from);
        self.n_moved = 0;
    }

    /// Notes the labels of documents that were given to empty clusters: nothing is known of their similarities.
    fn note_refills(&mut self, refilled: &[u32], labels: &[u32]) {
        for &doc in refilled {
            let position = self.arranged.positions()[doc as usize] as usize;
            self.states.labels[position] = labels[doc as usize];
            self.states.set_other(position, f32::INFINITY);
        }
    }

    /// Brings the own similarities up to date.
    fn update_own(&self, step: &ShardStep<'_>, changed: &[u32]) -> u64 {
        let tasks: Vec<(usize, &[u32])> = changed
            .iter()
            .flat_map(|&cluster| {
                let members = self.members.of(cluster as usize);
                let task = Self::task_docs(step, cluster as usize);
                members.chunks(task).map(move |members| (cluster as usize, members))
            })
            .collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, members)| {
            if step.is_cancelled() {
                return;
            }
            let empty = step.centroids.is_empty(cluster);
            self.compare(step, cluster, members.iter().map(|&m| m as usize), |position, own| {
                self.states.set_own(position, if empty { f64::NEG_INFINITY } else { own });
            });
        });
        tasks.iter().map(|(_, members)| members.len() as u64).sum()
    }

    /// Documents that are compared with a centroid in one task: spreading the centroid must not be the greater part of it.
    fn task_docs(step: &ShardStep<'_>, cluster: usize) -> usize {
        TASK_DOCS.max(4 * step.centroids.row(cluster).nnz() / mean_nnz(step))
    }

    fn compare(
        &self,
        step: &ShardStep<'_>,
        cluster: usize,
        positions: impl ExactSizeIterator<Item = usize>,
        visit: impl FnMut(usize, f64),
    ) {
        let centroid = step.centroids.row(cluster);
        self.comparer.similarities(step.rows, &self.arranged, &self.ranks, centroid, positions, visit);
    }

    /// The documents that have to look at some columns; and the positions of those that are compared with all centroids:
    /// those that have nothing in common with their own centroid any more, and those without a label that may get one.
    ///
    /// Without negative values a document has a similarity above 0 just to the centroids with which it shares a term. So one without
    /// a label stays so unless it shares a term with a changed centroid.
    fn needs(&self, step: &ShardStep<'_>, ranking: &Ranking) -> (Vec<Need>, Vec<u32>) {
        let iteration = step.iteration;
        let changed_terms = self.changed_terms(step);
        let found: Vec<(Vec<Need>, Vec<u32>)> = self
            .states
            .labels
            .par_chunks(16 * TASK_DOCS)
            .enumerate()
            .map(|(chunk, labels)| {
                let (mut needs, mut open) = (Vec::new(), Vec::new());
                for (position, &label) in labels.iter().enumerate() {
                    let position = chunk * 16 * TASK_DOCS + position;
                    let (own, other) = (self.states.own(position), f64::from(self.states.other(position)));
                    if own == 0.0 {
                        let terms = self.arranged.row(position).terms;
                        let is_changed =
                            |&rank: &u32| changed_terms[rank as usize / 64] >> (rank % 64) & 1 > 0;
                        if label != Assignment::NO_LABEL || terms.iter().any(is_changed) {
                            open.push(position as u32);
                        } else {
                            self.states.set_made(position, iteration);
                        }
                        continue;
                    }
                    let age = self.states.age(position, iteration);
                    let since = ranking.since(age);
                    let raised = other + f64::from(since.greatest_beside(label));
                    if raised < own {
                        if age + 1 >= WINDOW {
                            self.states.set_other(position, round_up(raised));
                            self.states.set_made(position, iteration);
                        }
                        continue;
                    }
                    let needed = since.n_tiles_reaching(own - other);
                    needs.push(Need { position: position as u32, n_tiles: needed as u32 });
                }
                (needs, open)
            })
            .collect();
        let (needs, open): (Vec<Vec<Need>>, Vec<Vec<u32>>) = found.into_iter().unzip();
        (needs.concat(), open.concat())
    }

    /// A bit for each rank of a term: whether a changed centroid has it.
    fn changed_terms(&self, step: &ShardStep<'_>) -> Vec<u64> {
        let mut bits = vec![0; self.ranks.rank_of.len().div_ceil(64)];
        if self.states.labels.par_iter().with_min_len(1 << 13).any(|&label| label == Assignment::NO_LABEL) {
            for &cluster in step.movement.map_or(&step.live[..], Movement::changed) {
                for &term in step.centroids.row(cluster as usize).terms {
                    let rank = self.ranks.rank_of[term as usize];
                    bits[rank as usize / 64] |= 1 << (rank % 64);
                }
            }
        }
        bits
    }

    /// Finds candidates, and makes new bounds from what was seen.
    fn scan(
        &self,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        sets: &[Set<'_>],
        needs: &[Need],
    ) -> Vec<Scanned> {
        needs
            .par_chunks(SCAN_DOCS)
            .map_init(Batch::default, |batch, needs| {
                let mut scanned = Scanned::default();
                if step.is_cancelled() {
                    return scanned;
                }
                let mut seen = vec![Seen::default(); needs.len()];
                for set in sets {
                    let look = |(number, &need): (u32, &Need)| {
                        set.look(number, need, self.states.own(need.position as usize) > f64::NEG_INFINITY)
                    };
                    let mut looks: Vec<Look> = (0..).zip(needs).filter_map(look).collect();
                    looks.sort_by_key(|look| Reverse((look.grouped, look.n_tiles)));
                    for looks in looks.chunk_by(|a, b| a.grouped == b.grouped) {
                        let n_terms = |look: &Look| {
                            self.arranged.row(needs[look.number as usize].position as usize).nnz()
                        };
                        for looks in of_few_terms(looks, n_terms) {
                            self.scan_set(set, needs, looks, batch, &mut seen, &mut scanned);
                        }
                    }
                }
                for (&Need { position, .. }, seen) in needs.iter().zip(&seen) {
                    if seen.is_heavy {
                        scanned.heavy.push(position);
                    } else {
                        self.note_bound(step.iteration, ranking, position, seen.n_tiles, seen.bound);
                    }
                }
                if sets.len() > 1 {
                    // One document after the other, as if it were one set; and nothing of those that will be compared with all.
                    let heavy: HashSet<u32> = scanned.heavy.iter().copied().collect();
                    scanned.pairs.retain(|pair| !heavy.contains(&pair.position));
                    scanned.pairs.sort_by_key(|pair| pair.position);
                }
                scanned
            })
            .collect()
    }

    /// Some documents against one set of columns. Either all look at groups first, or none.
    fn scan_set(
        &self,
        set: &Set<'_>,
        needs: &[Need],
        looks: &[Look],
        batch: &mut Batch,
        seen: &mut [Seen],
        scanned: &mut Scanned,
    ) {
        let position = |look: &Look| needs[look.number as usize].position as usize;
        batch.clear();
        for (number, look) in looks.iter().enumerate() {
            if let Some(ahead) = looks.get(number + LOOK_AHEAD) {
                set.columns.prefetch(self.arranged.row(position(ahead)));
            }
            let position = position(look);
            let own_column = set.column_of.get(self.states.labels[position] as usize).copied();
            let (row, own) = (self.arranged.row(position), self.states.own(position));
            let n_tiles = look.n_tiles as usize;
            batch.add(set.columns, self.level, row, n_tiles, own_column.unwrap_or(u32::MAX), own);
        }
        let found = |look: usize, column: usize| {
            let (position, cluster) = (position(&looks[look]) as u32, set.clusters[column]);
            scanned.pairs.push(Pair { position, cluster });
        };
        if looks.first().is_some_and(|look| look.grouped) {
            batch.scan_groups(set.columns, set.masks, self.level, found);
        } else {
            batch.scan(set.columns, set.masks, self.level, found);
        }
        scanned.counters.postings += batch.n_read;
        for (doc, look) in batch.docs.iter().zip(looks) {
            let seen = &mut seen[look.number as usize];
            seen.bound = seen.bound.max(doc.loser_bound());
            seen.is_heavy |= doc.is_heavy();
            seen.n_tiles = if set.beyond.is_none() { look.n_tiles } else { u32::MAX };
        }
    }

    /// Builds the columns of the first tiles.
    fn build(&mut self, step: &ShardStep<'_>, ranking: &Ranking, n_tiles: usize) {
        let columns = &ranking.clusters[..ranking.clusters.len().min(n_tiles * TILE)];
        self.columns.build(step.centroids, &self.ranks, columns);
    }

    /// These columns.
    fn set<'a>(&'a self, ranking: &'a Ranking) -> Set<'a> {
        let (clusters, column_of) = (&ranking.clusters, &ranking.column_of);
        Set { columns: &self.columns, clusters, column_of, masks: &[], beyond: None }
    }

    /// Whether these documents look at so few columns that it is not worth building so many for them.
    fn is_cheap_by_pairs(&self, step: &ShardStep<'_>, needs: &[Need], n_columns: usize) -> bool {
        let n_pairs: usize = needs.iter().map(|need| step.live.len().min(need.n_tiles as usize * TILE)).sum();
        n_pairs * mean_nnz(step) < self.pair_worth * n_columns * (step.centroids.nnz() / step.live.len())
    }

    /// Makes all columns of the tiles that a document looks at candidates.
    fn pair_with_all(&self, step: &ShardStep<'_>, ranking: &Ranking, needs: &[Need]) -> Scanned {
        let mut scanned = Scanned::default();
        for &need in needs {
            let own = self.states.labels[need.position as usize];
            let n_columns = ranking.clusters.len().min(need.n_tiles as usize * TILE);
            let others = ranking.clusters[..n_columns].iter().filter(|&&cluster| cluster != own);
            scanned.pairs.extend(others.map(|&cluster| Pair { position: need.position, cluster }));
            self.note_bound(step.iteration, ranking, need.position, need.n_tiles, f64::NEG_INFINITY);
        }
        scanned
    }

    /// Notes that no column of these tiles is above `bound`, unless it is a candidate.
    fn note_bound(&self, iteration: usize, ranking: &Ranking, position: u32, n_tiles: u32, bound: f64) {
        let position = position as usize;
        // What was not scanned keeps its bound, raised.
        let growth = ranking.since(self.states.age(position, iteration)).beyond(n_tiles as usize);
        let other = growth
            .map_or(f64::NEG_INFINITY, |growth| f64::from(self.states.other(position)) + f64::from(growth));
        self.states.set_other(position, round_up(other.max(bound)));
        self.states.set_made(position, iteration);
    }

    /// Computes the similarities of all pairs, and settles the labels of their documents.
    fn settle(&mut self, step: &ShardStep<'_>, pairs: &[Pair], assignment: &mut Assignment) {
        let clusters: Vec<u32> = pairs.iter().map(|pair| pair.cluster).collect();
        let mut by_cluster = Members::default();
        by_cluster.group(&clusters, step.centroids.n_clusters());
        let tasks: Vec<(usize, &[u32])> = (0..step.centroids.n_clusters())
            .flat_map(|cluster| {
                by_cluster.of(cluster).chunks(Self::task_docs(step, cluster)).map(move |own| (cluster, own))
            })
            .collect();
        let similarities: Vec<AtomicU64> = pairs.iter().map(|_| AtomicU64::new(0)).collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, numbers)| {
            if step.is_cancelled() {
                return;
            }
            let positions = numbers.iter().map(|&number| pairs[number as usize].position as usize);
            let mut next = numbers.iter();
            self.compare(step, cluster, positions, |_, similarity| {
                let number = *next.next().expect("one for each position");
                similarities[number as usize].store(similarity.to_bits(), Relaxed);
            });
        });
        let mut similarities = similarities.iter().map(|bits| f64::from_bits(bits.load(Relaxed)));
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

    /// Documents against those centroids that may win them.
    fn follow(
        &mut self,
        step: &ShardStep<'_>,
        movement: Option<&Movement>,
        assignment: &mut Assignment,
    ) -> Counters {
        if movement.is_some() {
            self.note_refills(step.refilled, &assignment.labels);
            self.arrange(step, &assignment.labels);
        } else {
            self.reset(step, &assignment.labels);
        }
        self.members.group(&self.states.labels, step.centroids.n_clusters());
        let mut counters = Counters::default();
        counters.similarities += self.update_own(step, movement.map_or(&step.live, Movement::changed));
        if let Some(movement) = movement {
            self.kept.note(movement.changed());
        }
        let ranking = self.drifts.follow(step, movement, &self.kept.changed);
        let (needs, open) = self.needs(step, &ranking);
        counters.skipped_docs = (self.states.labels.len() - needs.len() - open.len()) as u64;
        let n_tiles = needs.iter().map(|need| need.n_tiles as usize).max().unwrap_or(0);
        // Documents that look at a few tiles only get small columns of their own.
        let n_front = front_tiles(&needs, n_tiles);
        let (front, rest): (Vec<Need>, Vec<Need>) =
            needs.iter().partition(|need| need.n_tiles as usize <= n_front);
        let mut scanned = Vec::new();
        // Tiles of columns that have been built from this ranking.
        let mut n_at_hand = None;
        for (needs, n_tiles) in [(front, n_front), (rest, n_tiles)] {
            let n_changed = self.kept.n_changed(&step.live).map(|n_changed| n_changed.div_ceil(TILE));
            let n_built = n_changed.map_or(n_tiles, |n_changed| n_tiles.min(n_changed));
            if self.is_cheap_by_pairs(step, &needs, n_built * TILE) {
                scanned.push(self.pair_with_all(step, &ranking, &needs));
            } else if let Some(n_changed) = n_changed {
                // Columns of what has changed, and the others as they were built before.
                if n_at_hand != Some(n_built) {
                    self.build(step, &ranking, n_built);
                    n_at_hand = Some(n_built);
                }
                let masks = self.kept.masks(&ranking, self.columns.n_columns);
                let sets = [self.set(&ranking), Set::kept(&self.kept, &masks, Some(n_changed))];
                let n_sets = if n_tiles > n_changed { 2 } else { 1 };
                scanned.extend(self.scan(step, &ranking, &sets[..n_sets], &needs));
            } else if n_tiles == ranking.n_tiles() && movement.is_some() {
                if self.kept.clusters.is_empty() {
                    // They held all centroids in the first iteration, and will not again.
                    self.columns = Columns::default();
                }
                self.kept.build(step.centroids, &self.ranks, &ranking);
                let set = Set::kept(&self.kept, &[], None);
                scanned.extend(self.scan(step, &ranking, &[set], &needs));
            } else {
                self.build(step, &ranking, n_tiles);
                scanned.extend(self.scan(step, &ranking, &[self.set(&ranking)], &needs));
            }
        }
        let pairs: Vec<Pair> = scanned.iter().flat_map(|scanned| &scanned.pairs).copied().collect();
        counters = scanned.iter().map(|scanned| scanned.counters).fold(counters, Counters::plus);
        counters.similarities += pairs.len() as u64;
        self.settle(step, &pairs, assignment);
        let heavy: Vec<u32> = scanned.into_iter().flat_map(|scanned| scanned.heavy).chain(open).collect();
        counters.plus(self.assign_through_postings(step, &heavy, assignment))
    }
}

/// Cuts a list into parts of at most [`SCAN_TERMS`] terms each; an item with more is alone in its part.
fn of_few_terms<T>(mut items: &[T], n_terms: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fits = |item: &&T| {
            sum += n_terms(item);
            sum <= SCAN_TERMS
        };
        let len = items.iter().take_while(fits).count().max(1).min(items.len());
        let (part, rest) = items.split_at(len);
        items = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// Terms of a document, on average.
fn mean_nnz(step: &ShardStep<'_>) -> usize {
    step.rows.nnz() / step.rows.n_nonzero_rows().max(1) + 1
}

/// The least number of tiles that is enough for most documents, if it is a small part of all; else 0.
fn front_tiles(needs: &[Need], n_tiles: usize) -> usize {
    let mut counts = vec![0; n_tiles + 1];
    needs.iter().for_each(|need| counts[need.n_tiles as usize] += 1);
    let mut n_docs = 0;
    for (n_front, count) in counts.iter().enumerate().take(n_tiles / 4 + 1) {
        n_docs += count;
        if n_docs * 4 >= needs.len() * 3 {
            return n_front;
        }
    }
    0
}

impl Assigner for Drift {
    fn attach(&mut self, rows: &UnitRows<'_>) -> Result<()> {
        self.clear();
        self.ranks = TermRanks::new(rows);
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        self.filters_off = !step.allows_index();
        let follows = self.iteration.is_some_and(|iteration| iteration + 1 == step.iteration);
        let counters = if self.filters_off || step.live.is_empty() {
            self.reset(step, &assignment.labels);
            let all: Vec<u32> = (0..self.states.labels.len() as u32).collect();
            self.assign_through_postings(step, &all, assignment)
        } else {
            self.follow(step, step.movement.filter(|_| follows), assignment)
        };
        let positions = self.arranged.positions().par_iter().with_min_len(1 << 13);
        assignment.similarities.par_iter_mut().zip(positions).for_each(|(similarity, &position)| {
            *similarity = if position == NOWHERE { 0.0 } else { self.states.own(position as usize) };
        });
        self.iteration = (!self.filters_off && !step.live.is_empty()).then_some(step.iteration);
        Ok(Assigned { filters_off: self.filters_off, ..Assigned::plainly(Strategy::Drift, counters, 0.0) })
    }

    fn memory_bytes(&self) -> usize {
        8 * self.ranks.rank_of.len()
            + self.arranged.memory_bytes()
            + 17 * self.states.labels.len()
            + self.drifts.memory_bytes()
            + self.columns.memory_bytes()
            + self.kept.memory_bytes()
            + self.members.memory_bytes()
            + self.comparer.memory_bytes()
            + self.postings.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::Step;
    use crate::assign::inverted::Inverted;
    use crate::centroids::Centroids;
    use crate::update::Follower;
    use crate::vectors::{SparseRows, UnitRows};

    #[test]
    fn long_rows_are_scanned_a_few_at_a_time_and_none_is_left_out() {
        let half = SCAN_TERMS / 2;
        let parts = |sizes: &[usize]| -> Vec<Vec<usize>> {
            of_few_terms(sizes, |&size| size).map(<[usize]>::to_vec).collect()
        };
        assert!(parts(&[]).is_empty());
        assert_eq!(parts(&[half, half, 1]), [vec![half, half], vec![1]]);
        assert_eq!(parts(&[3 * half, 1, 3 * half]), [vec![3 * half], vec![1], vec![3 * half]]);
    }

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

    /// Many clusters until few of them change, with columns for all that is looked at, however little it is: groups, columns that are kept, and what has changed since.
    #[test]
    fn columns_are_as_good_as_posting_lists_to_the_end() {
        for seed in 0..20 {
            let (rows, n_clusters) = (text_like(4000, seed), 420);
            let offsets =
                (0..=n_clusters).map(|cluster| rows.as_sparse().offsets()[cluster]).collect::<Vec<_>>();
            let nnz = offsets[n_clusters] as usize;
            let mut centroids = Centroids::from_rows(
                SparseRows::from_parts(
                    2000,
                    offsets,
                    rows.as_sparse().terms()[..nnz].to_vec(),
                    rows.as_sparse().values()[..nnz].to_vec(),
                )
                .unwrap(),
            );
            let mut follower = Follower::new(rows.n_rows(), n_clusters);
            let mut drift = Drift { pair_worth: 0, ..Drift::new(Level::of(crate::Simd::Auto).unwrap()) };
            drift.attach(&rows).unwrap();
            let mut plain = Inverted::default();
            let mut assignment = Assignment {
                labels: vec![Assignment::NO_LABEL; rows.n_rows()],
                similarities: vec![0.0; rows.n_rows()],
            };
            let mut movement = None;
            let (mut n_kept, mut n_iterations) = (0, 0);
            loop {
                let step = Step::new(n_iterations, &centroids, movement.as_ref(), None);
                let step = ShardStep::new(&step, &rows, &[]);
                let mut expected = assignment.clone();
                plain.assign(&step, &mut expected).unwrap();
                drift.assign(&step, &mut assignment).unwrap();
                n_kept +=
                    usize::from(drift.kept.n_changed(&step.live).is_some_and(|n_changed| n_changed > 0));
                assert_eq!(assignment.labels, expected.labels, "seed {seed}, iteration {n_iterations}");
                assert_eq!(
                    assignment.similarities, expected.similarities,
                    "seed {seed}, iteration {n_iterations}"
                );
                let moved = follower.update(&rows, &assignment.labels, &mut centroids);
                if moved.changed().is_empty() {
                    break;
                }
                movement = Some(moved);
                n_iterations += 1;
            }
            assert!(n_kept >= 3, "columns were kept in {n_kept} iterations of {n_iterations} only");
        }
    }
}
