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
//! Of the centroids that cannot be left out so, [`columns.rs`](super::columns) bounds all similarities at once in small integers, and leaves out those below `own`, or below what the best of them has at
//! least. What remains are *candidates*: their similarities are computed as the reference does ([`comparer.rs`](super::comparer)), and the tie rule decides among them and the own centroid.
//! Every centroid is then in one of four classes, each with a bound: not looked at (`U + G_j`), looked at and left out (the bound of `columns.rs`), candidate that lost, or old own centroid (their similarities).
//! The greatest of these is the new `U`.
//!
//! # What else makes it fast
//!
//! - Columns are ranked by their growth, so that what a document looks at is a *prefix* of them, in whole tiles of 64.
//! - Bounds get loose when they are raised again and again. Ski rental: a document that has scanned all columns twice, in parts, scans all of them at once, which makes its bound tight.
//! - Documents are scanned in the order of their clusters ([`arranged.rs`](super::arranged)): neighbours share terms, so table lines and lists are in cache.
//! - Own similarities are computed one centroid at a time, and only for clusters that changed.
//! - Most documents look at a tile or two. They get columns of their own, in which most of their terms do not occur.
//!
//! Iteration 0, or whenever it is not known what happened since the last assignment: `own` is computed for all, `other` is infinite, and every document looks at all columns. With negative values, or
//! with more than 32 candidates (many equal centroids, or a document that shares no term with any), posting lists give all similarities, as in `inverted`.
//!
//! **Cost.** Memory: 8 bytes a nonzero and 16 a document for the arranged rows, 24 a document for what is known of it, 16 more while documents are chosen and scanned; 32 bytes a term, and 4 a term and thread;
//! 132 a cluster for the growths of 32 iterations; the columns (see there); 8 MB a thread for a batch. `docs/strategies.md` has it as one formula.
//!
//! References: Hamerly, "Making k-means even faster", SDM 2010, doi:10.1137/1.9781611972801.12 (one bound for all other centroids); Ding et al., "Yinyang k-means", ICML 2015 (only centroids that may have come closer);
//! Aoyama, Saito, "Structured inverted-file k-means clustering for high-dimensional sparse data", 2021, doi:10.48550/arXiv.2103.16141 (invariant centroids; upper bounds term at a time).

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::arranged::{Arranged, Members, NOWHERE, TermRanks};
use super::bounds::round_up;
use super::choice::Choice;
use super::columns::{Batch, Columns};
use super::comparer::Comparer;
use super::drifts::{Drifts, Ranking, WINDOW};
use super::postings::Postings;
use super::{Assigner, Counters, Step, Strategy, Used};
use crate::simd::{Level, TILE};
use crate::update::{Assignment, Movement};

/// Documents of one cluster that are compared with its centroid in one task.
const TASK_DOCS: usize = 1024;

/// Documents that are scanned in one task: so many that a table line is read several times while it is in cache.
const SCAN_DOCS: usize = 1024;

/// A document that has scanned so many times all columns in parts, since its last full scan, scans all of them: its bound is tight again.
const FULL_SCAN_SHARE: usize = 2;

/// Such full scans are left to one iteration in so many, so that the columns of centroids that did not move need not be built in the others.
const FULL_SCAN_EVERY: usize = 4;

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
    /// The iteration that the documents' states stand for.
    iteration: Option<usize>,
    ranks: TermRanks,
    arranged: Arranged,
    /// Documents that have moved since they were arranged.
    n_moved: usize,
    states: States,
    drifts: Drifts,
    columns: Columns,
    members: Members,
    comparer: Comparer,
    postings: Postings,
}

/// What is known of each document, by position.
#[derive(Default)]
struct States {
    labels: Vec<u32>,
    /// The similarity to the own centroid, as bits; minus infinity if that is empty.
    own: Vec<AtomicU64>,
    /// At least the similarity to any other centroid as of some iteration, as bits.
    other: Vec<AtomicU32>,
    /// Tiles scanned since the last full scan times 256, plus that iteration modulo 256.
    spent: Vec<AtomicU32>,
}

/// A document and how many tiles of columns it has to look at.
#[derive(Clone, Copy, Default)]
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

/// What a scan found.
#[derive(Default)]
struct Scanned {
    pairs: Vec<Pair>,
    /// Positions with too many candidates.
    heavy: Vec<u32>,
    counters: Counters,
}

impl States {
    fn own(&self, position: usize) -> f64 {
        f64::from_bits(self.own[position].load(Relaxed))
    }

    fn set_own(&self, position: usize, own: f64) {
        self.own[position].store(own.to_bits(), Relaxed);
    }

    fn other(&self, position: usize) -> f32 {
        f32::from_bits(self.other[position].load(Relaxed))
    }

    fn set_other(&self, position: usize, other: f32) {
        self.other[position].store(other.to_bits(), Relaxed);
    }

    /// Tiles scanned since the last full scan, and how many assignments ago the bound was made.
    fn spent(&self, position: usize, iteration: usize) -> (u32, usize) {
        let word = self.spent[position].load(Relaxed);
        (word >> 8, usize::from((iteration as u8).wrapping_sub(1).wrapping_sub(word as u8)))
    }

    fn set_spent(&self, position: usize, spent: u32, iteration: usize) {
        self.spent[position].store(spent << 8 | (iteration & 255) as u32, Relaxed);
    }

    /// Brings all into another order: `from` holds the old position of each new one.
    fn permute(&mut self, from: &[u32]) {
        let labels = from.iter().map(|&old| self.labels[old as usize]).collect();
        let own = from.iter().map(|&old| AtomicU64::new(self.own[old as usize].load(Relaxed))).collect();
        let taken = |list: &[AtomicU32]| -> Vec<AtomicU32> {
            from.iter().map(|&old| AtomicU32::new(list[old as usize].load(Relaxed))).collect()
        };
        *self = States { labels, own, other: taken(&self.other), spent: taken(&self.spent) };
    }
}

impl Drift {
    pub(super) fn new(level: Level) -> Self {
        Drift {
            level,
            filters_off: false,
            iteration: None,
            ranks: TermRanks::default(),
            arranged: Arranged::default(),
            n_moved: 0,
            states: States::default(),
            drifts: Drifts::default(),
            columns: Columns::default(),
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
    fn reset(&mut self, step: &Step<'_>, labels: &[u32]) {
        if self.ranks.rank_of.is_empty() {
            self.ranks = TermRanks::new(step.rows);
        }
        let docs = (0..step.rows.n_rows()).filter(|&doc| step.rows.row(doc).nnz() > 0);
        let docs: Vec<u32> = docs.map(|doc| doc as u32).collect();
        let n_docs = docs.len();
        self.states = States {
            labels: docs.iter().map(|&doc| labels[doc as usize]).collect(),
            own: (0..n_docs).map(|_| AtomicU64::new(f64::NEG_INFINITY.to_bits())).collect(),
            other: (0..n_docs).map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect(),
            spent: (0..n_docs)
                .map(|_| AtomicU32::new((step.iteration as u32).wrapping_sub(1) & 255))
                .collect(),
        };
        self.arranged = Arranged::default();
        self.arranged = Arranged::new(step.rows, &self.ranks, docs);
        self.n_moved = n_docs;
        self.drifts.reset(step.centroids.n_clusters());
    }

    /// These documents against every centroid.
    fn assign_through_postings(
        &mut self,
        step: &Step<'_>,
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
                let mut n_postings = 0;
                let labels = positions.iter().map(|&position| {
                    let position = position as usize;
                    let row = step.rows.row(self.arranged.docs()[position] as usize);
                    n_postings += self.postings.similarities(row, similarities);
                    let (label, own) = super::inverted::winner(similarities, self.states.labels[position]);
                    similarities[label as usize] = f64::NEG_INFINITY;
                    let other = similarities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    self.states.set_own(position, own);
                    self.states.set_other(position, round_up(other));
                    self.states.set_spent(position, 0, step.iteration);
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
    fn arrange(&mut self, step: &Step<'_>, labels: &[u32]) {
        if self.n_moved * STALE_SHARE < self.arranged.docs().len() {
            return;
        }
        let before = std::mem::take(&mut self.arranged);
        let positions = before.into_positions();
        let mut members = Members::default();
        members.group(labels, step.centroids.n_clusters());
        self.arranged = Arranged::new(step.rows, &self.ranks, members.into_all());
        let from: Vec<u32> = self.arranged.docs().iter().map(|&doc| positions[doc as usize]).collect();
        self.states.permute(&from);
        self.n_moved = 0;
    }

    /// Notes the labels of documents that were given to empty clusters: nothing is known of their similarities.
    fn note_refills(&mut self, movement: &Movement, labels: &[u32]) {
        for &doc in movement.refilled_docs() {
            let position = self.arranged.positions()[doc as usize] as usize;
            self.states.labels[position] = labels[doc as usize];
            self.states.set_other(position, f32::INFINITY);
        }
    }

    /// Brings the own similarities up to date.
    fn update_own(&self, step: &Step<'_>, changed: &[u32]) -> u64 {
        let tasks: Vec<(usize, &[u32])> = changed
            .iter()
            .flat_map(|&cluster| {
                let members = self.members.of(cluster as usize);
                let task = Self::task_docs(step, cluster as usize);
                members.chunks(task).map(move |members| (cluster as usize, members))
            })
            .collect();
        tasks.par_iter().with_max_len(1).for_each(|&(cluster, members)| {
            let empty = step.centroids.is_empty(cluster);
            self.compare(step, cluster, members.iter().map(|&m| m as usize), |position, own| {
                self.states.set_own(position, if empty { f64::NEG_INFINITY } else { own });
            });
        });
        tasks.iter().map(|(_, members)| members.len() as u64).sum()
    }

    /// Documents that are compared with a centroid in one task: spreading the centroid must not be the greater part of it.
    fn task_docs(step: &Step<'_>, cluster: usize) -> usize {
        TASK_DOCS.max(4 * step.centroids.row(cluster).nnz() / mean_nnz(step))
    }

    fn compare(
        &self,
        step: &Step<'_>,
        cluster: usize,
        positions: impl ExactSizeIterator<Item = usize>,
        visit: impl FnMut(usize, f64),
    ) {
        let centroid = step.centroids.row(cluster);
        self.comparer.similarities(step.rows, &self.arranged, &self.ranks, centroid, positions, visit);
    }

    /// The documents that have to look at some columns.
    fn needs(&self, iteration: usize, ranking: &Ranking) -> Vec<Need> {
        let n_tiles = ranking.n_tiles();
        let found: Vec<Vec<Need>> = self
            .states
            .labels
            .par_chunks(16 * TASK_DOCS)
            .enumerate()
            .map(|(chunk, labels)| {
                let mut needs = Vec::new();
                for (position, &label) in labels.iter().enumerate() {
                    let position = chunk * 16 * TASK_DOCS + position;
                    let (own, other) = (self.states.own(position), f64::from(self.states.other(position)));
                    let (spent, age) = self.states.spent(position, iteration);
                    let since = ranking.since(age);
                    let raised = other + f64::from(since.greatest_beside(label));
                    if raised < own {
                        if age + 1 >= WINDOW {
                            self.states.set_other(position, round_up(raised));
                            self.states.set_spent(position, spent, iteration);
                        }
                        continue;
                    }
                    let mut needed = since.n_tiles_reaching(own - other);
                    if iteration.is_multiple_of(FULL_SCAN_EVERY)
                        && spent as usize + needed >= FULL_SCAN_SHARE * n_tiles
                    {
                        needed = n_tiles;
                    }
                    needs.push(Need { position: position as u32, n_tiles: needed as u32 });
                }
                needs
            })
            .collect();
        found.concat()
    }

    /// Finds candidates, and makes new bounds from what was seen.
    fn scan(&self, step: &Step<'_>, ranking: &Ranking, needs: &[Need]) -> Vec<Scanned> {
        needs
            .par_chunks(SCAN_DOCS)
            .map_init(Batch::default, |batch, needs| {
                let mut needs = needs.to_vec();
                needs.sort_by_key(|need| Reverse(need.n_tiles));
                batch.clear();
                for (number, &Need { position, n_tiles }) in needs.iter().enumerate() {
                    if let Some(ahead) = needs.get(number + LOOK_AHEAD) {
                        self.columns.prefetch(self.arranged.row(ahead.position as usize));
                    }
                    let position = position as usize;
                    let own_column = ranking.column_of(self.states.labels[position]);
                    let (row, own) = (self.arranged.row(position), self.states.own(position));
                    self.columns.add(row, n_tiles as usize, own_column, own, batch);
                }
                let mut scanned = Scanned::default();
                self.columns.scan(self.level, batch, |doc, column| {
                    let (position, cluster) = (needs[doc].position, ranking.clusters[column]);
                    scanned.pairs.push(Pair { position, cluster });
                });
                scanned.counters.postings = batch.n_read;
                for (doc, &need) in batch.docs.iter().zip(&needs) {
                    if doc.is_heavy() {
                        scanned.heavy.push(need.position);
                    } else {
                        self.note_bound(step.iteration, ranking, need, doc.loser_bound());
                    }
                }
                scanned
            })
            .collect()
    }

    /// Whether so few documents are to be scanned that it is not worth building columns for them.
    fn is_cheap_by_pairs(step: &Step<'_>, n_docs: usize) -> bool {
        n_docs * mean_nnz(step) < PAIR_WORTH * step.centroids.nnz() / step.live.len()
    }

    /// Makes all columns of the tiles that a document looks at candidates.
    fn pair_with_all(&self, step: &Step<'_>, ranking: &Ranking, needs: &[Need]) -> Scanned {
        let mut scanned = Scanned::default();
        for &need in needs {
            let own = self.states.labels[need.position as usize];
            let n_columns = ranking.clusters.len().min(need.n_tiles as usize * TILE);
            let others = ranking.clusters[..n_columns].iter().filter(|&&cluster| cluster != own);
            scanned.pairs.extend(others.map(|&cluster| Pair { position: need.position, cluster }));
            self.note_bound(step.iteration, ranking, need, f64::NEG_INFINITY);
        }
        scanned
    }

    /// Notes that no column is above `bound`, among those that were scanned and are no candidates.
    fn note_bound(&self, iteration: usize, ranking: &Ranking, need: Need, bound: f64) {
        let position = need.position as usize;
        let (spent, age) = self.states.spent(position, iteration);
        // What was not scanned keeps its bound, raised.
        let (other, spent) = match ranking.since(age).beyond(need.n_tiles as usize) {
            Some(growth) => {
                (f64::from(self.states.other(position)) + f64::from(growth), spent + need.n_tiles)
            }
            None => (f64::NEG_INFINITY, 0),
        };
        self.states.set_other(position, round_up(other.max(bound)));
        self.states.set_spent(position, spent, iteration);
    }

    /// Computes the similarities of all pairs, and settles the labels of their documents.
    fn settle(&mut self, step: &Step<'_>, pairs: &[Pair], assignment: &mut Assignment) {
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
            let (label, similarity) = choice.chosen().expect("there is an offer");
            self.states.set_own(position, similarity);
            self.states.set_other(position, self.states.other(position).max(round_up(second)));
            self.set_label(position, label, assignment);
        }
    }

    /// Documents against those centroids that may win them.
    fn follow(
        &mut self,
        step: &Step<'_>,
        movement: Option<&Movement>,
        assignment: &mut Assignment,
    ) -> Counters {
        if let Some(movement) = movement {
            self.note_refills(movement, &assignment.labels);
            self.arrange(step, &assignment.labels);
        } else {
            self.reset(step, &assignment.labels);
        }
        self.members.group(&self.states.labels, step.centroids.n_clusters());
        let mut counters = Counters::default();
        counters.similarities += self.update_own(step, movement.map_or(&step.live, Movement::changed));
        let ranking = self.drifts.follow(step, movement);
        let needs = self.needs(step.iteration, &ranking);
        counters.skipped_docs = (self.states.labels.len() - needs.len()) as u64;
        let n_tiles = needs.iter().map(|need| need.n_tiles as usize).max().unwrap_or(0);
        // Documents that look at a few tiles only get columns of their own, in which most of their terms do not occur.
        let n_front = front_tiles(&needs, n_tiles);
        let (front, wide): (Vec<Need>, Vec<Need>) =
            needs.iter().partition(|need| need.n_tiles as usize <= n_front);
        let mut scanned = Vec::new();
        for (needs, n_tiles) in [(front, n_front), (wide, n_tiles)] {
            if Self::is_cheap_by_pairs(step, needs.len()) {
                scanned.push(self.pair_with_all(step, &ranking, &needs));
            } else if !needs.is_empty() {
                let columns = &ranking.clusters[..ranking.clusters.len().min(n_tiles * TILE)];
                self.columns.build(step.centroids, &self.ranks, columns);
                scanned.extend(self.scan(step, &ranking, &needs));
            }
        }
        let pairs: Vec<Pair> = scanned.iter().flat_map(|scanned| &scanned.pairs).copied().collect();
        counters = scanned.iter().map(|scanned| scanned.counters).fold(counters, Counters::plus);
        counters.similarities += pairs.len() as u64;
        self.settle(step, &pairs, assignment);
        let heavy: Vec<u32> = scanned.into_iter().flat_map(|scanned| scanned.heavy).collect();
        counters.plus(self.assign_through_postings(step, &heavy, assignment))
    }
}

/// Terms of a document, on average.
fn mean_nnz(step: &Step<'_>) -> usize {
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
    fn prepare(&mut self, step: &Step<'_>) {
        self.filters_off = !step.allows_index();
    }

    fn assign(&mut self, step: &Step<'_>, assignment: &mut Assignment) -> Counters {
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
        counters
    }

    fn used(&self) -> Used {
        Used { strategy: Strategy::Drift, filters_off: self.filters_off }
    }

    fn memory_bytes(&self) -> usize {
        8 * self.ranks.rank_of.len()
            + self.arranged.memory_bytes()
            + 20 * self.states.labels.len()
            + self.drifts.memory_bytes()
            + self.columns.memory_bytes()
            + self.members.memory_bytes()
            + self.comparer.memory_bytes()
            + self.postings.memory_bytes()
    }
}
