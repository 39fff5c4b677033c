//! Chooses which documents scan which columns, and scans them.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::batch::Batch;
use super::columns::Columns;
use super::followers::Followers;
use super::growth::{Ranking, WINDOW};
use crate::assign::ShardStep;
use crate::assign::bounds::round_up;
use crate::labels::Assignment;
use crate::record::Counters;
use crate::simd::{Level, TILE};

/// Documents per task of choosing.
const TASK_DOCS: usize = 1 << 14;

/// Documents per task of scanning: enough that a table line is read several times while it is in
/// cache.
pub(super) const SCAN_DOCS: usize = 1024;

/// Terms of documents that are scanned together: rows of up to 128 terms on average fill a batch,
/// longer rows make it smaller. Bounds its memory regardless of the length of the rows; it changes
/// no result.
pub(super) const SCAN_TERMS: usize = 1 << 17;

/// How many documents ahead to prefetch lookups.
const LOOK_AHEAD: usize = 3;

/// A document and the number of tiles of columns that it has to scan.
#[derive(Clone, Copy, Default)]
pub(super) struct Need {
    pub(super) position: u32,
    pub(super) n_tiles: u32,
}

/// A document and a cluster that may win it.
#[derive(Clone, Copy, Default)]
pub(super) struct Pair {
    pub(super) position: u32,
    pub(super) cluster: u32,
}

/// A set of columns to scan.
pub(super) struct Set<'a> {
    pub(super) columns: &'a Columns,
    /// The cluster of each column.
    pub(super) clusters: &'a [u32],
    /// The column of each cluster.
    pub(super) column_of: &'a [u32],
    /// One bit per column, tile by tile, set for columns to skip; empty if there are none.
    pub(super) masks: Vec<u64>,
    /// If set, only documents that need more than this many tiles of the ranking scan this set, and
    /// they scan all of it. `None` for the first columns of the ranking.
    pub(super) beyond: Option<usize>,
}

/// A document and the number of tiles of a set that it scans.
#[derive(Clone, Copy)]
struct Look {
    /// Index among the documents of the task.
    number: u32,
    n_tiles: u32,
    /// Whether it scans groups first.
    grouped: bool,
}

/// The result of a document's scan.
#[derive(Clone, Copy)]
struct Seen {
    /// Number of tiles of the ranking.
    n_tiles: u32,
    /// Upper bound on the similarities to the columns in these tiles that are not candidates.
    bound: f64,
    is_heavy: bool,
}

/// The result of a scan.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) pairs: Vec<Pair>,
    /// Positions with too many candidates.
    pub(super) heavy: Vec<u32>,
    pub(super) counters: Counters,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { n_tiles: 0, bound: f64::NEG_INFINITY, is_heavy: false }
    }
}

impl Set<'_> {
    /// The scan of this set by a document, if it needs one.
    ///
    /// Groups are ruled out by the own similarity, so the document must have one.
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

impl Followers {
    /// The documents that have to scan some columns; and the positions of those that are compared
    /// with all centroids: those that no longer have anything in common with their own centroid,
    /// and those without a label that may get one.
    ///
    /// Without negative values a document has a similarity above 0 exactly to the centroids with
    /// which it shares a term. So a document without a label keeps none unless it shares a term
    /// with a changed centroid: `changed_terms` has a bit per rank. Documents of a task come
    /// together, all of them in order.
    pub(super) fn choose<'a>(
        &self,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        changed_terms: impl FnOnce() -> &'a [AtomicU64],
    ) -> (Vec<Vec<Need>>, Vec<u32>) {
        let n_docs = self.n_docs();
        let positions = (0..n_docs).into_par_iter().with_min_len(TASK_DOCS);
        let changed_terms = if positions.any(|at| self.states.label(at) == Assignment::NO_LABEL) {
            changed_terms()
        } else {
            &[]
        };
        let is_changed = |rank: u32| {
            let word = changed_terms.get(rank as usize / 64);
            word.is_some_and(|word| word.load(Relaxed) >> (rank % 64) & 1 > 0)
        };
        let found: Vec<(Vec<Need>, Vec<u32>)> = (0..n_docs.div_ceil(TASK_DOCS))
            .into_par_iter()
            .map(|task| {
                let (mut needs, mut open) = (Vec::new(), Vec::new());
                for position in task * TASK_DOCS..n_docs.min((task + 1) * TASK_DOCS) {
                    let label = self.states.label(position);
                    if self.states.own(position) == 0.0 {
                        let mut terms = self.arranged.row(position).numbers();
                        if label != Assignment::NO_LABEL || terms.any(is_changed) {
                            open.push(position as u32);
                        } else {
                            self.states.set_made(position, step.iteration);
                        }
                    } else if let Some(n_tiles) = self.needed_tiles(step.iteration, ranking, position, label)
                    {
                        needs.push(Need { position: position as u32, n_tiles: n_tiles as u32 });
                    }
                }
                (needs, open)
            })
            .collect();
        let (needs, open): (Vec<Vec<Need>>, Vec<Vec<u32>>) = found.into_iter().unzip();
        (needs, open.concat())
    }

    /// The number of tiles of the ranking that may hold a centroid that wins the document; `None`
    /// if there are none.
    #[inline]
    fn needed_tiles(
        &self,
        iteration: usize,
        ranking: &Ranking,
        position: usize,
        label: u32,
    ) -> Option<usize> {
        let (own, other) = (self.states.own(position), f64::from(self.states.other(position)));
        let age = self.states.age(position, iteration);
        let since = ranking.since(age);
        let raised = other + f64::from(since.greatest_beside(label));
        if raised < own {
            // Growths of older iterations will be discarded.
            if age + 1 >= WINDOW {
                self.states.set_other(position, round_up(raised));
                self.states.set_made(position, iteration);
            }
            return None;
        }
        Some(since.n_tiles_reaching(own - other))
    }

    /// Finds candidates: columns that may reach the own similarity of a document. With `notes`,
    /// makes new bounds from the scan.
    pub(super) fn scan(
        &self,
        level: Level,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        sets: &[Set<'_>],
        needs: &[Need],
        notes: bool,
    ) -> Vec<Scanned> {
        needs
            .par_chunks(SCAN_DOCS)
            .map(|needs| {
                if step.is_cancelled() {
                    return Scanned::default();
                }
                self.scratch
                    .batches
                    .with(|batch| self.scan_some(level, step, ranking, sets, needs, notes, batch))
            })
            .collect()
    }

    /// The task of [`scan`](Self::scan).
    #[expect(clippy::too_many_arguments, reason = "those of `scan`, and a buffer")]
    fn scan_some(
        &self,
        level: Level,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        sets: &[Set<'_>],
        needs: &[Need],
        notes: bool,
        batch: &mut Batch,
    ) -> Scanned {
        let mut scanned = Scanned::default();
        let mut seen = vec![Seen::default(); needs.len()];
        for set in sets {
            let look = |(number, &need): (u32, &Need)| {
                set.look(number, need, self.states.own(need.position as usize) > f64::NEG_INFINITY)
            };
            let mut looks: Vec<Look> = (0..).zip(needs).filter_map(look).collect();
            looks.sort_by_key(|look| Reverse((look.grouped, look.n_tiles)));
            for looks in looks.chunk_by(|a, b| a.grouped == b.grouped) {
                let n_terms =
                    |look: &Look| self.arranged.row(needs[look.number as usize].position as usize).nnz();
                for looks in of_few_terms(looks, n_terms) {
                    self.scan_set(level, set, needs, looks, batch, &mut seen, &mut scanned);
                }
            }
        }
        for (&Need { position, .. }, seen) in needs.iter().zip(&seen) {
            if seen.is_heavy {
                scanned.heavy.push(position);
            } else if notes {
                self.note_bound(step.iteration, ranking, position, seen.n_tiles, seen.bound);
            }
        }
        if sets.len() > 1 {
            // Document by document, as if it were one set; documents that will be compared
            // with all centroids are left out.
            let heavy: HashSet<u32> = scanned.heavy.iter().copied().collect();
            scanned.pairs.retain(|pair| !heavy.contains(&pair.position));
            scanned.pairs.sort_by_key(|pair| pair.position);
        }
        scanned
    }

    /// Scans one set of columns for some documents. Either all scan groups first, or none.
    #[expect(clippy::too_many_arguments, reason = "buffers of the caller's task")]
    fn scan_set(
        &self,
        level: Level,
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
            let own_column = set.column_of.get(self.states.label(position) as usize).copied();
            let (row, own) = (self.arranged.row(position), self.states.own(position));
            let n_tiles = look.n_tiles as usize;
            batch.add(set.columns, level, row, n_tiles, own_column.unwrap_or(u32::MAX), own);
        }
        let found = |look: usize, column: usize| {
            let (position, cluster) = (position(&looks[look]) as u32, set.clusters[column]);
            scanned.pairs.push(Pair { position, cluster });
        };
        if looks.first().is_some_and(|look| look.grouped) {
            batch.scan_groups(set.columns, &set.masks, level, found);
        } else {
            batch.scan(set.columns, &set.masks, level, found);
        }
        scanned.counters.postings += batch.n_read();
        for (doc, look) in batch.docs.iter().zip(looks) {
            let seen = &mut seen[look.number as usize];
            seen.bound = seen.bound.max(doc.loser_bound());
            seen.is_heavy |= doc.is_heavy();
            seen.n_tiles = if set.beyond.is_none() { look.n_tiles } else { u32::MAX };
        }
    }

    /// Makes all columns of the tiles that a document scans candidates.
    pub(super) fn pair_with_all(
        &self,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        needs: &[Need],
        notes: bool,
    ) -> Vec<Scanned> {
        let pair = |needs: &[Need]| {
            let mut scanned = Scanned::default();
            for &need in needs {
                let own = self.states.label(need.position as usize);
                let n_columns = ranking.clusters.len().min(need.n_tiles as usize * TILE);
                let others = ranking.clusters[..n_columns].iter().filter(|&&cluster| cluster != own);
                scanned.pairs.extend(others.map(|&cluster| Pair { position: need.position, cluster }));
                if notes {
                    self.note_bound(step.iteration, ranking, need.position, need.n_tiles, f64::NEG_INFINITY);
                }
            }
            scanned
        };
        needs.par_chunks(SCAN_DOCS).map(pair).collect()
    }

    /// Records that no column of these tiles is above `bound`, unless it is a candidate.
    fn note_bound(&self, iteration: usize, ranking: &Ranking, position: u32, n_tiles: u32, bound: f64) {
        let position = position as usize;
        // The bound for unscanned columns remains, raised by their growth.
        let growth = ranking.since(self.states.age(position, iteration)).beyond(n_tiles as usize);
        let other = growth
            .map_or(f64::NEG_INFINITY, |growth| f64::from(self.states.other(position)) + f64::from(growth));
        self.states.set_other(position, round_up(other.max(bound)));
        self.states.set_made(position, iteration);
    }
}

/// Splits a list into parts of at most [`SCAN_TERMS`] terms each; an item with more is alone in its
/// part.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
