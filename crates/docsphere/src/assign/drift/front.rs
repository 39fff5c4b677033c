//! The per-centroid half: how far each centroid may have come closer, and columns to scan.
//!
//! Depends on no document, except for the ranks of their terms ([`TermRanks`]) and the length of
//! the longest row: any number of [`Followers`](super::Followers) may read it.

use rayon::prelude::*;

use super::arranged::TermRanks;
use super::columns::Columns;
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
    /// The first columns of a ranking.
    columns: Columns,
    /// Number of tiles of `columns` that were built from the current ranking.
    n_built: Option<usize>,
    kept: Kept,
}

/// How to find candidates for some documents.
pub(super) enum Plan {
    /// Every column that they scan is a candidate: building columns would cost more.
    Pairs,
    /// Build the columns of the first tiles.
    Fresh { n_tiles: usize },
    /// Build the first tiles, which hold all changed centroids; use the kept columns for the
    /// others, for documents that scan more than `n_changed` tiles.
    FreshAndKept { n_tiles: usize, n_changed: usize, needs_kept: bool },
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
            columns: Columns::default(),
            n_built: None,
            kept: Kept::default(),
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
    }

    /// Adds a movement, and ranks the centroids. Without one, nothing has grown.
    pub(super) fn rank(&mut self, step: &ShardStep<'_>, movement: Option<&Movement>) -> Ranking {
        if let Some(movement) = movement {
            self.kept.note(movement.changed());
        }
        self.n_built = None;
        self.growths.follow(step, movement, &self.kept.changed)
    }

    /// Ranks the centroids of the last assignment again, for bounds as they are since.
    pub(super) fn rank_again(&mut self, step: &ShardStep<'_>) -> Ranking {
        self.n_built = None;
        self.growths.stay(&step.live, &self.kept.changed)
    }

    /// The cheapest plan for documents that scan at most `n_tiles` tiles.
    pub(super) fn plan(
        &self,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        needs: &[Need],
        n_tiles: usize,
    ) -> Plan {
        let n_changed = self.kept.n_changed(&step.live).map(|n_changed| n_changed.div_ceil(TILE));
        let n_built = n_changed.map_or(n_tiles, |n_changed| n_tiles.min(n_changed));
        if self.is_cheap_by_pairs(step, needs, n_built * TILE) {
            return Plan::Pairs;
        }
        match n_changed {
            Some(n_changed) => {
                Plan::FreshAndKept { n_tiles: n_built, n_changed, needs_kept: n_tiles > n_changed }
            }
            // In the first iteration all columns will change.
            None if n_tiles == ranking.n_tiles() && !ranking.is_first() => Plan::Keep,
            None => Plan::Fresh { n_tiles },
        }
    }

    /// Whether these documents scan so few columns that building `n_columns` for them does not pay
    /// off.
    fn is_cheap_by_pairs(&self, step: &ShardStep<'_>, needs: &[Need], n_columns: usize) -> bool {
        let n_columns_of = |need: &Need| step.live.len().min(need.n_tiles as usize * TILE);
        let n_pairs: usize = needs.par_iter().with_min_len(1 << 13).map(n_columns_of).sum();
        n_pairs * mean_nnz(step.rows) < self.pair_worth * n_columns * (step.centroids.nnz() / step.live.len())
    }

    /// Builds the columns that the plan needs, unless they exist.
    pub(super) fn build(&mut self, step: &ShardStep<'_>, ranking: &Ranking, plan: &Plan) {
        match *plan {
            Plan::Pairs => {}
            Plan::Fresh { n_tiles } | Plan::FreshAndKept { n_tiles, .. } => {
                if self.n_built != Some(n_tiles) {
                    let columns = &ranking.clusters[..ranking.clusters.len().min(n_tiles * TILE)];
                    self.columns.build(step.centroids, &self.ranks, columns);
                    self.n_built = Some(n_tiles);
                }
            }
            Plan::Keep => {
                if self.kept.clusters.is_empty() {
                    // They held all centroids in the first iteration, and will not again.
                    self.columns = Columns::default();
                    self.n_built = None;
                }
                self.kept.build(step.centroids, &self.ranks, ranking);
            }
        }
    }

    /// The columns that the plan scans.
    pub(super) fn sets<'a>(&'a self, ranking: &'a Ranking, plan: &Plan) -> Vec<Set<'a>> {
        let fresh = Set {
            columns: &self.columns,
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
            Plan::Fresh { .. } | Plan::FreshAndKept { needs_kept: false, .. } => vec![fresh],
            Plan::FreshAndKept { n_changed, .. } => {
                let masks = self.kept.masks(ranking, self.columns.n_columns);
                vec![fresh, kept(masks, Some(n_changed))]
            }
            Plan::Keep => vec![kept(Vec::new(), None)],
        }
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
            + self.columns.memory_bytes()
            + self.kept.memory_bytes()
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
