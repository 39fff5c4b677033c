//! Upper bounds on the memory of a fit.

use super::driver::{cut_bytes, merge_bytes};
use super::params::{Params, ValidParams};
use crate::assign::{Sizes, Spread, device_bytes, most_bytes};
use crate::record::{Device, Refine, Strategy};
use crate::seeding::{self, Init};
use crate::shards::{ADDED_TOGETHER, MAPPED_SHARD_ROWS, clusters_per_delta};
use crate::threads::all_cores;
use crate::update;
use crate::vectors::UnitRows;

/// Upper bounds on the memory that a fit needs in addition to its rows, in bytes. For rows in a
/// [mapped file](UnitRows::open_mapped), what is in files is not counted: these are bounds for runs
/// with [`FitOptions::scratch`](crate::FitOptions::scratch).
///
/// Seeding ends before the loop begins, so the two do not add up: see [`total`](Self::total).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryForecast {
    /// Labels, similarities and moves.
    pub documents: u64,
    /// The index over the documents that seeding uses, and their weights; or all that the loop over
    /// small clusters needs.
    pub seeding: u64,
    /// Centroids, their sums, and the changes of an update.
    pub centroids: u64,
    /// The memory of the strategy
    /// ([`IterationRecord::strategy_bytes`](crate::IterationRecord::strategy_bytes)) and the
    /// scratch of its threads.
    pub strategy: u64,
    /// The number of entries that all centroids together may have.
    pub n_entries: u64,
}

impl MemoryForecast {
    /// The maximum held at the same time.
    pub fn total(&self) -> u64 {
        self.documents.saturating_add(self.seeding.max(self.centroids.saturating_add(self.strategy)))
    }
}

impl ValidParams {
    /// Upper bounds on the memory that a fit of these rows needs in addition to the rows.
    ///
    /// ```
    /// use docsphere::{SparseRows, SphericalKMeans, UnitRows};
    ///
    /// let rows = SparseRows::from_parts(2, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0])?;
    /// let rows = UnitRows::new(rows);
    /// let params = SphericalKMeans::params(2).check()?;
    /// let fit = params.fit(&rows)?;
    /// let forecast = params.memory_forecast(&rows);
    /// let mut records = fit.trace.iterations.iter();
    /// assert!(records.all(|record| record.strategy_bytes <= forecast.strategy));
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    pub fn memory_forecast(&self, rows: &UnitRows<'_>) -> MemoryForecast {
        let params = self.params();
        let Params { n_clusters, init, strategy, .. } = params;
        let sizes = sizes(params, rows);
        let has_search = params.n_runs() > 1 || params.variation || params.refine != Refine::None;
        // The best result so far; for a contest, the documents that take part and their rivals.
        let contest = match params.variation || params.refine != Refine::None {
            true if sizes.is_mapped => 128 * sizes.shard_rows + 8 * sizes.n_rows,
            true => 128 * sizes.n_rows,
            false => 0,
        };
        let best = if has_search { 8 * sizes.entries() } else { 0 } + 12 * sizes.n_rows + contest;
        let drawing = seeding::most_bytes(sizes.n_rows, sizes.nnz, sizes.n_terms);
        // Moves that are not in the sums yet, those of all shards.
        let moves =
            if sizes.is_mapped { 24 * sizes.n_rows + 48 * sizes.shard_rows } else { 48 * sizes.n_rows };
        MemoryForecast {
            // Label and similarity, and the label included in the sums; a list of refill
            // candidates, or of moves, which is concatenated from parts.
            documents: 16 * sizes.n_rows + moves + best,
            seeding: match init {
                Init::Merge { .. } => over_clustering(*strategy, &sizes, init.n_fine(*n_clusters) as u64),
                // A perturbed run has half as many small clusters more.
                _ if params.rounds > 0 => {
                    drawing.max(over_clustering(*strategy, &sizes, 2 * *n_clusters as u64))
                }
                _ => drawing,
            },
            centroids: of_centroids(&sizes),
            // The CPU takes over if a device fails.
            strategy: most_bytes(*strategy, &sizes)
                + if params.device == Device::Cpu { 0 } else { device_bytes(&sizes) },
            n_entries: sizes.entries(),
        }
    }
}

impl ValidParams {
    /// Upper bounds on the memory of [`ValidParams::starts`], whose greatest number is that of the
    /// params: while they are found, and held afterwards.
    pub(crate) fn starts_forecast(&self, rows: &UnitRows<'_>, n_cuts: usize) -> (u64, u64) {
        let sizes = sizes(self.params(), rows);
        let n_small = (self.params().init.n_fine(self.params().n_clusters) as u64).min(sizes.n_rows);
        let small = Sizes { n_clusters: n_small, ..sizes };
        let forecast = self.memory_forecast(rows);
        // The unions of which all pairs are compared have sums and directions of their own.
        let unions = cut_bytes(n_small, sizes.n_terms, sizes.n_threads) + 24 * small.entries();
        let held = 12 * small.entries() + 48 * n_small + 8 * n_small * n_cuts as u64;
        (forecast.documents + forecast.seeding.max(16 * small.entries() + unions), held)
    }
}

fn sizes(params: &Params, rows: &UnitRows<'_>) -> Sizes {
    Sizes {
        n_rows: rows.n_rows() as u64,
        nnz: rows.nnz() as u64,
        n_terms: rows.n_terms() as u64,
        max_row_nnz: rows.max_row_nnz() as u64,
        n_clusters: params.n_clusters as u64,
        n_threads: params.n_threads.unwrap_or_else(all_cores) as u64,
        n_lambdas: params.lambdas.len() as u64,
        spread: Spread::new(&rows.doc_frequencies()),
        shard_rows: match rows.is_mapped() {
            true => rows.n_rows().min(MAPPED_SHARD_ROWS) as u64,
            false => rows.n_rows() as u64,
        },
        is_mapped: rows.is_mapped(),
        given_entries: match &params.init {
            Init::Given(centroids) => centroids.nnz() as u64,
            _ => 0,
        },
    }
}

/// Centroids and sums, and the changes of those that are updated together.
fn of_centroids(sizes: &Sizes) -> u64 {
    let batch = clusters_per_delta(sizes.is_mapped, sizes.n_clusters as usize, sizes.n_threads as usize);
    let together = Sizes { n_clusters: sizes.n_clusters.min(batch as u64), ..*sizes }.entries();
    // Beside the delta of all shards those of some of them, before they are added.
    let of_shards = match sizes.is_mapped {
        true => 12 * (ADDED_TOGETHER as u64 + 1) * together.min(sizes.nnz),
        false => 0,
    };
    let one = update::most_bytes(sizes.entries(), together, sizes.n_clusters, sizes.n_terms, sizes.n_threads);
    one + of_shards
}

/// The loop over small clusters and their merges; the random order of the documents is gone by
/// then, and smaller.
fn over_clustering(strategy: Strategy, sizes: &Sizes, n_small: u64) -> u64 {
    let small = Sizes { n_clusters: n_small.min(sizes.n_rows), ..*sizes };
    let centroids = of_centroids(&small);
    let merges = merge_bytes(small.n_clusters, small.n_terms, small.n_threads);
    // Last: the sample from which the small clusters start.
    centroids + most_bytes(strategy, &small).max(merges).max(32 * small.shard_rows)
}
