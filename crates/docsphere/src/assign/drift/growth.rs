//! How far centroids may have come closer to any document since an earlier iteration.
//!
//! A bound that was made in iteration s and holds for all centroids but one is raised by the
//! greatest *sum* of growths of any centroid since then, which is far less than the sum of the
//! greatest growths: in late iterations a different small cluster jumps each time.
//!
//! **Cost.** 4 bytes per cluster for each of the last [`WINDOW`] iterations; time, as many
//! operations per iteration.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::assign::ShardStep;
use crate::assign::bounds::{growth, round_up};
use crate::centroids::Movement;
use crate::simd::TILE;

/// How many past iterations to keep. No bound may be older.
pub(super) const WINDOW: usize = 32;

/// The sums of growths as of the last iterations.
#[derive(Default)]
pub(super) struct Growths {
    /// One number per cluster for each iteration, the oldest first; the last is for the centroids
    /// of the current assignment.
    history: VecDeque<Vec<f32>>,
}

/// Centroids in order of growth since the last assignment, the fastest first; tiles of these are
/// the columns to scan.
#[derive(Default)]
pub(super) struct Ranking {
    pub(super) clusters: Vec<u32>,
    pub(super) column_of: Vec<u32>,
    /// By the age of a bound: 0 if it was made in the last assignment.
    since: Vec<Since>,
    /// Whether there was no movement to follow.
    is_first: bool,
}

/// The growth of similarities since an iteration.
pub(super) struct Since {
    /// The greatest growth of all, the cluster that it belongs to, and the greatest of the others.
    greatest: f32,
    greatest_cluster: u32,
    second: f32,
    /// The greatest growth of all columns from each tile on.
    from_tile: Vec<f32>,
}

impl Since {
    /// The greatest growth of any cluster but this one.
    #[inline]
    pub(super) fn greatest_beside(&self, cluster: u32) -> f32 {
        if cluster == self.greatest_cluster { self.second } else { self.greatest }
    }

    /// The number of tiles that hold all columns whose growth is at least this.
    #[inline]
    pub(super) fn n_tiles_reaching(&self, growth: f64) -> usize {
        self.from_tile.partition_point(|&most| f64::from(most) >= growth)
    }

    /// The greatest growth of columns beyond this many tiles; `None` if there are none.
    #[inline]
    pub(super) fn beyond(&self, n_tiles: usize) -> Option<f32> {
        self.from_tile.get(n_tiles).copied()
    }
}

impl Growths {
    /// Starts over: bounds are made for these centroids.
    pub(super) fn reset(&mut self, n_clusters: usize) {
        self.history.clear();
        self.history.push_back(vec![0.0; n_clusters]);
    }

    /// Adds a movement, and ranks the centroids. Without one, nothing has grown. Among those that
    /// did not grow, the ones in `sooner` come first.
    pub(super) fn follow(
        &mut self,
        step: &ShardStep<'_>,
        movement: Option<&Movement>,
        sooner: &[bool],
    ) -> Ranking {
        let mut now = self.history.back().expect("it began with a reset").clone();
        if let Some(movement) = movement {
            for &cluster in movement.changed() {
                let rise = movement.moved(cluster as usize).squared_rise;
                let sum = &mut now[cluster as usize];
                *sum = round_up(f64::from(*sum) + growth(rise, step.rows.max_row_nnz(), step.rows.n_terms()));
            }
        }
        self.history.push_back(now);
        if self.history.len() > WINDOW + 1 {
            self.history.pop_front();
        }
        let ranking = Ranking::new(&step.live, self.history.make_contiguous(), sooner);
        Ranking { is_first: movement.is_none(), ..ranking }
    }

    /// Ranks the centroids of the last assignment: nothing has grown since. Those in `sooner` come
    /// first.
    pub(super) fn stay(&self, live: &[u32], sooner: &[bool]) -> Ranking {
        let mut history: Vec<Vec<f32>> = self.history.iter().cloned().collect();
        history.extend(self.history.back().cloned());
        Ranking::new(live, &history, sooner)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.history.iter().map(|sums| size_of_val(&sums[..])).sum()
    }
}

impl Ranking {
    fn new(live: &[u32], history: &[Vec<f32>], sooner: &[bool]) -> Self {
        let (now, before) = history.split_last().expect("it began with a reset");
        let last = before.last().expect("a movement was added");
        let grown = |since: &[f32], cluster: u32| {
            round_up(f64::from(now[cluster as usize]) - f64::from(since[cluster as usize]))
        };
        let mut ranked: Vec<(f32, u32)> =
            live.iter().map(|&cluster| (grown(last, cluster), cluster)).collect();
        let later = |cluster: u32| !sooner[cluster as usize];
        ranked.par_sort_unstable_by(|a, b| {
            b.0.total_cmp(&a.0).then(later(a.1).cmp(&later(b.1))).then(a.1.cmp(&b.1))
        });
        let mut column_of = vec![u32::MAX; now.len()];
        for (column, &(_, cluster)) in ranked.iter().enumerate() {
            column_of[cluster as usize] = column as u32;
        }
        let clusters: Vec<u32> = ranked.into_iter().map(|(_, cluster)| cluster).collect();
        let since =
            before.par_iter().rev().map(|before| Since::new(&clusters, |j| grown(before, j))).collect();
        Ranking { clusters, column_of, since, is_first: false }
    }

    /// The column of a cluster; `u32::MAX` for an empty cluster, or for no label.
    #[inline]
    pub(super) fn column_of(&self, cluster: u32) -> u32 {
        self.column_of.get(cluster as usize).copied().unwrap_or(u32::MAX)
    }

    #[inline]
    pub(super) fn since(&self, age: usize) -> &Since {
        &self.since[age]
    }

    /// Whether nothing has moved yet.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    pub(super) fn n_tiles(&self) -> usize {
        self.clusters.len().div_ceil(TILE)
    }
}

impl Since {
    fn new(columns: &[u32], grown: impl Fn(u32) -> f32) -> Self {
        let mut since =
            Since { greatest: 0.0, greatest_cluster: u32::MAX, second: 0.0, from_tile: Vec::new() };
        for tile in columns.chunks(TILE) {
            let mut most = 0f32;
            for &cluster in tile {
                let grown = grown(cluster);
                most = most.max(grown);
                if grown > since.greatest {
                    since.second = since.greatest;
                    (since.greatest, since.greatest_cluster) = (grown, cluster);
                } else {
                    since.second = since.second.max(grown);
                }
            }
            since.from_tile.push(most);
        }
        for tile in (1..since.from_tile.len()).rev() {
            since.from_tile[tile - 1] = since.from_tile[tile - 1].max(since.from_tile[tile]);
        }
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::Step;
    use crate::assign::reference_similarity;
    use crate::centroids::Centroids;
    use crate::update::Follower;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    proptest! {
        /// Centroids on a random walk: documents change clusters at random. No similarity ever
        /// grows by more than stated, over any number of iterations.
        #[test]
        fn no_similarity_grows_by_more_than_its_drift(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..20, 1u8..5, 1..8), 8..20),
            walks in prop::collection::vec(prop::collection::vec(0u32..5, 20), 2..8),
        ) {
            let rows = UnitRows::new(SparseRows::from_maps(20, &docs));
            let mut centroids = Centroids::from_rows(
                SparseRows::from_parts(20, vec![0u64; 6], Vec::new(), Vec::new()).unwrap(),
            );
            let mut follower = Follower::new(docs.len(), 5);
            let mut growths = Growths::default();
            growths.reset(5);
            let similarities = |centroids: &Centroids| -> Vec<Vec<f64>> {
                let of = |j: usize, i: usize| reference_similarity(rows.row(i), centroids.row(j));
                (0..5).map(|j| (0..docs.len()).map(|i| of(j, i)).collect()).collect()
            };
            let mut history = vec![similarities(&centroids)];
            for labels in &walks {
                let movement = follower.update(&rows, &labels[..docs.len()], &mut centroids);
                let step = Step::new(history.len(), &centroids, Some(&movement), None);
                let step = ShardStep::new(&step, &rows, &[]);
                let ranking = growths.follow(&step, Some(&movement), &[false; 5]);
                let now = similarities(&centroids);
                for (age, before) in history.iter().rev().enumerate() {
                    let since = ranking.since(age);
                    for &j in &ranking.clusters {
                        let grown = (0..docs.len()).map(|i| now[j as usize][i] - before[j as usize][i]);
                        let grown = grown.fold(f64::NEG_INFINITY, f64::max);
                        let tile = ranking.column_of(j) as usize / TILE;
                        prop_assert!(grown <= f64::from(since.from_tile[tile]));
                        for own in (0..5).filter(|&own| own != j) {
                            prop_assert!(grown <= f64::from(since.greatest_beside(own)));
                        }
                    }
                }
                history.push(now);
            }
        }
    }
}
