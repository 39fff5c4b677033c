//! The per-centroid half: how far each centroid may have come closer, and columns to scan.
//!
//! Depends on no document, except for the ranks of their terms ([`TermRanks`]) and the length of
//! the longest row: any number of [`Followers`](super::Followers) may read it. Columns are built
//! once they are needed, and stay for all further blocks of the step. The first block that needs
//! more than the ones before builds anew, at least twice as many: so all blocks together build no
//! more than a few times what one of them needs.
//!
//! With several blocks there are two sets of first columns: a small one for documents that scan few
//! tiles, and the other. With one block, the second replaces the first.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::arranged::TermRanks;
use super::columns::Columns;
use super::directory::{Directories, Directory};
use super::growth::{Growths, Ranking};
use super::kept::Kept;
use super::look::{Need, Set};
use super::mean_nnz;
use crate::assign::ShardStep;
use crate::centroids::Movement;
use crate::simd::{Level, TILE};
use crate::vectors::UnitRows;

/// How many terms of documents can be looked up in the time of building one entry of the columns,
/// roughly.
const PAIR_WORTH: usize = 8;

/// See the [module](self).
pub(super) struct Front {
    level: Level,
    pair_worth: usize,
    ranks: TermRanks,
    growths: Growths,
    ranking: Arc<Ranking>,
    /// Whether the ranking is one of centroids that have not moved since the last assignment.
    is_again: bool,
    /// The first columns of the ranking. If there are several blocks, the second set is for
    /// documents that scan few of them.
    firsts: [Firsts; 2],
    kept: Kept,
    /// Whether the kept columns were built from the current ranking.
    kept_now: bool,
    directories: Directories,
    /// One bit per rank: whether a changed centroid has the term.
    changed_terms: OnceLock<Vec<AtomicU64>>,
}

/// The first columns of a ranking.
#[derive(Default)]
struct Firsts {
    columns: Columns,
    /// Number of tiles that were built from the current ranking.
    n_built: Option<usize>,
}

/// How to find candidates for some documents.
pub(super) enum Plan {
    /// Every column that they scan is a candidate: building columns would cost more.
    Pairs,
    /// Build the columns of the first tiles in one of the sets, unless they are there.
    Fresh { set: usize, n_tiles: usize },
    /// Build the first tiles, which hold all changed centroids; use the kept columns for the
    /// others, for documents that scan more than `n_changed` tiles.
    FreshAndKept { set: usize, n_tiles: usize, n_changed: usize, needs_kept: bool },
    /// Build all columns, and keep them.
    Keep,
}

impl Front {
    pub(super) fn new(level: Level) -> Self {
        Front {
            level,
            pair_worth: PAIR_WORTH,
            ranks: TermRanks::default(),
            growths: Growths::default(),
            ranking: Arc::default(),
            is_again: false,
            firsts: Default::default(),
            kept: Kept::default(),
            kept_now: false,
            directories: Directories::default(),
            changed_terms: OnceLock::new(),
        }
    }

    /// Ranks the terms.
    pub(super) fn attach(&mut self, rows: &UnitRows<'_>) {
        self.ranks = TermRanks::new(rows);
    }

    /// Discards all movements: bounds will be made for the centroids of the next step.
    pub(super) fn reset(&mut self, n_clusters: usize) {
        self.growths.reset(n_clusters);
        self.kept.reset(n_clusters);
        self.ranked(Ranking::default(), false);
    }

    /// Adds a movement, and ranks the centroids. Without one, nothing has grown.
    pub(super) fn rank(&mut self, step: &ShardStep<'_>, movement: Option<&Movement>) {
        if let Some(movement) = movement {
            self.kept.note(movement.changed());
        }
        self.directories.update(step.centroids, movement);
        self.changed_terms = OnceLock::new();
        let ranking = self.growths.follow(step, movement, &self.kept.changed);
        self.ranked(ranking, false);
    }

    /// Ranks the centroids of the last assignment again, for bounds as they are since, unless that
    /// has been done.
    pub(super) fn rank_again(&mut self, step: &ShardStep<'_>) {
        if !self.is_again {
            let ranking = self.growths.stay(&step.live, &self.kept.changed);
            self.ranked(ranking, true);
        }
    }

    fn ranked(&mut self, ranking: Ranking, is_again: bool) {
        (self.ranking, self.is_again) = (Arc::new(ranking), is_again);
        self.firsts.iter_mut().for_each(|firsts| firsts.n_built = None);
        self.kept_now = false;
    }

    /// Gives back the first columns, which are those of this step.
    pub(super) fn rest(&mut self) {
        self.firsts = Default::default();
    }

    /// The centroids in the order of the columns.
    pub(super) fn ranking(&self) -> Arc<Ranking> {
        Arc::clone(&self.ranking)
    }

    /// The cheapest plan for documents that scan at most `n_tiles` tiles; `is_few` if that is a
    /// small part of all.
    pub(super) fn plan(&self, step: &ShardStep<'_>, needs: &[Need], n_tiles: usize, is_few: bool) -> Plan {
        if needs.is_empty() {
            return Plan::Pairs;
        }
        if self.kept_now {
            return Plan::Keep;
        }
        let n_changed = self.kept.n_changed(&step.live).map(|n_changed| n_changed.div_ceil(TILE));
        let n_needed = n_changed.map_or(n_tiles, |n_changed| n_tiles.min(n_changed));
        let (set, n_built) = match self.built(n_needed) {
            Some(set) => (set, n_needed),
            None if self.is_cheap_by_pairs(step, needs, n_needed * TILE) => return Plan::Pairs,
            // In the first iteration all columns will change.
            None if n_changed.is_none() && n_tiles == self.ranking.n_tiles() && !self.ranking.is_first() => {
                return Plan::Keep;
            }
            None if step.n_blocks == 1 => (0, n_needed),
            None if is_few => (1, n_needed),
            None => {
                let before = self.firsts[0].n_built.unwrap_or(0);
                (0, n_needed.max(2 * before).min(n_changed.unwrap_or(self.ranking.n_tiles())))
            }
        };
        match n_changed {
            Some(n_changed) => {
                Plan::FreshAndKept { set, n_tiles: n_built, n_changed, needs_kept: n_tiles > n_changed }
            }
            None => Plan::Fresh { set, n_tiles: n_built },
        }
    }

    /// The smallest set that has these tiles.
    fn built(&self, n_tiles: usize) -> Option<usize> {
        let n_built = |set: &usize| self.firsts[*set].n_built;
        (0..2).filter(|set| n_built(set).is_some_and(|n_built| n_built >= n_tiles)).min_by_key(n_built)
    }

    /// Whether these documents scan so few columns that building `n_columns` for them does not pay
    /// off, even if those of the blocks to come scan as many.
    fn is_cheap_by_pairs(&self, step: &ShardStep<'_>, needs: &[Need], n_columns: usize) -> bool {
        let n_columns_of = |need: &Need| step.live.len().min(need.n_tiles as usize * TILE);
        let n_pairs: usize = needs.par_iter().with_min_len(1 << 13).map(n_columns_of).sum();
        step.n_blocks_left() * n_pairs * mean_nnz(step.rows)
            < self.pair_worth * n_columns * (step.centroids.nnz() / step.live.len())
    }

    /// Builds the columns that the plan needs, unless they exist.
    pub(super) fn build(&mut self, step: &ShardStep<'_>, plan: &Plan) {
        let Front { ranks, ranking, .. } = self;
        match *plan {
            Plan::Pairs => {}
            Plan::Fresh { set, n_tiles } | Plan::FreshAndKept { set, n_tiles, .. } => {
                let Firsts { columns, n_built } = &mut self.firsts[set];
                if n_built.is_none_or(|n_built| n_built < n_tiles) {
                    let clusters = &ranking.clusters[..ranking.clusters.len().min(n_tiles * TILE)];
                    columns.build(step.centroids, ranks, clusters);
                    *n_built = Some(n_tiles);
                }
            }
            Plan::Keep if self.kept_now => {}
            Plan::Keep => {
                if self.kept.clusters.is_empty() {
                    // They held all centroids in the first iteration, and will not again.
                    self.firsts = Default::default();
                }
                self.kept.build(step.centroids, ranks, ranking);
                self.kept_now = true;
            }
        }
    }

    /// The columns that the plan scans.
    pub(super) fn sets<'a>(&'a self, ranking: &'a Ranking, plan: &Plan) -> Vec<Set<'a>> {
        let fresh = |set: usize| Set {
            columns: &self.firsts[set].columns,
            clusters: &ranking.clusters,
            column_of: &ranking.column_of,
            masks: Vec::new(),
            beyond: None,
        };
        let kept = |masks, beyond| {
            let Kept { columns, clusters, column_of, .. } = &self.kept;
            Set { columns, clusters, column_of, masks, beyond }
        };
        match *plan {
            Plan::Pairs => Vec::new(),
            Plan::Fresh { set, .. } | Plan::FreshAndKept { set, needs_kept: false, .. } => vec![fresh(set)],
            Plan::FreshAndKept { set, n_changed, .. } => {
                let masks = self.kept.masks(ranking, self.firsts[set].columns.n_columns);
                vec![fresh(set), kept(masks, Some(n_changed))]
            }
            Plan::Keep => vec![kept(Vec::new(), None)],
        }
    }

    /// Where the terms of a centroid are.
    pub(super) fn directory(&self, cluster: usize) -> &Directory {
        self.directories.of(cluster)
    }

    /// One bit per rank: whether a changed centroid has the term.
    pub(super) fn changed_terms(&self, step: &ShardStep<'_>) -> &[AtomicU64] {
        self.changed_terms.get_or_init(|| {
            let n_words = self.ranks.rank_of.len().div_ceil(64);
            let bits: Vec<AtomicU64> = (0..n_words).map(|_| AtomicU64::new(0)).collect();
            let changed = step.movement.map_or(&step.live[..], Movement::changed);
            changed.par_iter().for_each(|&cluster| {
                for &term in step.centroids.row(cluster as usize).terms {
                    let rank = self.ranks.rank_of[term as usize];
                    let (word, bit) = (&bits[rank as usize / 64], 1 << (rank % 64));
                    if word.load(Relaxed) & bit == 0 {
                        word.fetch_or(bit, Relaxed);
                    }
                }
            });
            bits
        })
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    pub(super) fn ranks(&self) -> &TermRanks {
        &self.ranks
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.ranks.memory_bytes()
            + self.growths.memory_bytes()
            + self.firsts.iter().map(|firsts| firsts.columns.memory_bytes()).sum::<usize>()
            + self.kept.memory_bytes()
            + self.directories.memory_bytes()
            + self.changed_terms.get().map_or(0, |bits| size_of_val(&bits[..]))
    }
}

#[cfg(test)]
impl Front {
    /// Always builds columns, however few are scanned.
    pub(super) fn build_always(&mut self) {
        self.pair_worth = 0;
    }

    /// Number of centroids that have changed since columns were kept, if any were kept.
    pub(super) fn n_changed_since_kept(&self, step: &ShardStep<'_>) -> Option<usize> {
        self.kept.n_changed(&step.live)
    }
}
