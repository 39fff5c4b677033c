//! Upper bounds on the memory of a fit.

use super::driver::{cut_bytes, merge_bytes};
use super::params::{Params, ValidParams};
use crate::assign::{Sizes, Spread, device_bytes, most_bytes, resting_bytes};
use crate::record::{Device, Refine, Strategy};
use crate::seeding::{self, Init};
use crate::shards::{CONTEST_DOCS, MAPPED_SHARD_ROWS, clusters_per_delta};
use crate::threads::all_cores;
use crate::update::{self, batch_clusters};
use crate::vectors::UnitRows;

/// Upper bounds on the memory that a fit needs in addition to its rows, in bytes. For rows in a
/// [mapped file](UnitRows::open_mapped), what is in files is not counted: these are bounds for runs
/// with [`FitOptions::scratch`](crate::FitOptions::scratch).
///
/// Seeding ends before the loop begins, so the two do not add up: see [`total`](Self::total).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryForecast {
    /// Labels, similarities and moves; with several runs the best result so far.
    pub documents: u64,
    /// The index over the documents that seeding uses, and their weights; or all that the loop over
    /// small clusters needs.
    pub seeding: u64,
    /// Centroids, their sums, and the changes of an update: what it adds to
    /// [`strategy`](Self::strategy), of which a part is given back before if memory is short.
    pub centroids: u64,
    /// The memory of the strategy
    /// ([`IterationRecord::strategy_bytes`](crate::IterationRecord::strategy_bytes)) and the
    /// scratch of its threads.
    pub strategy: u64,
    /// Documents that take part in first variation or a refinement, and their rivals; with one run
    /// the best result so far.
    pub variation: u64,
    /// Labels and similarities of all documents, and the centroids, once the run has ended.
    pub result: u64,
    /// The number of entries that all centroids together may have.
    pub n_entries: u64,
}

impl MemoryForecast {
    /// The maximum held at the same time.
    pub fn total(&self) -> u64 {
        self.documents.saturating_add(self.seeding.max(self.iterating())).max(self.result)
    }

    /// The maximum held at the same time by iterations and what follows them, except for
    /// [`documents`](Self::documents).
    pub(crate) fn iterating(&self) -> u64 {
        self.centroids.saturating_add(self.strategy).saturating_add(self.variation)
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
        forecast(self.params(), &sizes(self.params(), rows))
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

fn forecast(params: &Params, sizes: &Sizes) -> MemoryForecast {
    let Params { n_clusters, init, strategy, .. } = params;
    let Sizes { n_rows, shard_rows, is_mapped, .. } = *sizes;
    let has_contests = params.variation || params.refine != Refine::None;
    // The best result so far, if there is no folder for it; beside rows in a file, what is known of
    // documents is in files.
    let best = 8 * sizes.entries() + if is_mapped { 0 } else { 12 * n_rows };
    // Those documents of a contest that are judged together, and their rivals; those that won, in a
    // list that grows, and their moves.
    let contest = match has_contests {
        true => 128 * shard_rows.min(CONTEST_DOCS as u64) + 64 * shard_rows + 16 * n_rows,
        false => 0,
    };
    let (best_of_runs, best_of_run) = match (params.n_runs() > 1, has_contests) {
        (true, _) => (best, 0),
        (false, true) => (0, best),
        (false, false) => (0, 0),
    };
    // Without an index over the documents, if similarities do not matter.
    let indexed_nnz = if matches!(init, Init::Random | Init::Given(_)) { 0 } else { sizes.nnz };
    let on_device = if params.device == Device::Cpu { 0 } else { seeding::DEVICE_BYTES };
    let drawing = seeding::most_bytes(n_rows, indexed_nnz, sizes.n_terms) + on_device;
    // The CPU takes over if a device fails.
    let device = |n_clusters: u64| match params.device {
        Device::Cpu => 0,
        _ => device_bytes(&Sizes { n_clusters, ..*sizes }),
    };
    // What a device has accessed in the run before stays.
    let again = drawing + device(*n_clusters as u64);
    let fewer = |n_clusters: u64| over_clustering(*strategy, sizes, n_clusters) + device(n_clusters);
    MemoryForecast {
        documents: of_documents(sizes) + best_of_runs,
        seeding: match init {
            Init::Merge { .. } => fewer(init.n_fine(*n_clusters) as u64),
            // A perturbed run has half as many small clusters more.
            _ if params.rounds > 0 => again.max(fewer(2 * *n_clusters as u64)),
            _ => again,
        },
        centroids: of_loop(*strategy, sizes) - most_bytes(*strategy, sizes),
        strategy: most_bytes(*strategy, sizes) + device(sizes.n_clusters),
        variation: contest + best_of_run,
        result: 16 * n_rows + 24 * sizes.entries(),
        n_entries: sizes.entries(),
    }
}

fn sizes(params: &Params, rows: &UnitRows<'_>) -> Sizes {
    let (shard_rows, shard_nnz) = match rows.is_mapped() {
        true => {
            let offsets = rows.as_sparse().offsets();
            let starts = (0..rows.n_rows()).step_by(MAPPED_SHARD_ROWS);
            let nnz =
                starts.map(|start| offsets[rows.n_rows().min(start + MAPPED_SHARD_ROWS)] - offsets[start]);
            (rows.n_rows().min(MAPPED_SHARD_ROWS) as u64, nnz.max().unwrap_or(0))
        }
        false => (rows.n_rows() as u64, rows.nnz() as u64),
    };
    Sizes {
        n_rows: rows.n_rows() as u64,
        nnz: rows.nnz() as u64,
        n_terms: rows.n_terms() as u64,
        max_row_nnz: rows.max_row_nnz() as u64,
        has_negative: !rows.is_non_negative(),
        n_clusters: params.n_clusters as u64,
        n_threads: params.n_threads.unwrap_or_else(all_cores) as u64,
        n_lambdas: params.lambdas.len() as u64,
        spread: Spread::new(rows.doc_frequencies()),
        shard_rows,
        shard_nnz,
        is_mapped: rows.is_mapped(),
        given_entries: match &params.init {
            Init::Given(centroids) => centroids.nnz() as u64,
            _ => 0,
        },
    }
}

/// What is known of single documents, except by the strategy.
fn of_documents(sizes: &Sizes) -> u64 {
    let Sizes { n_rows, shard_rows, .. } = *sizes;
    // Each document may leave a cluster and join another. These changes are found, put together and
    // sorted one shard at a time.
    let moves = 8 * n_rows + 24 * shard_rows;
    match sizes.is_mapped {
        // Labels and similarities are in files; they are made in memory, one shard at a time.
        true => moves + 12 * shard_rows,
        // And the label included in the sums.
        false => 16 * n_rows + moves,
    }
}

/// Centroids and sums, the strategy, and the changes of those clusters that are updated together:
/// the maximum of a pass and of an update.
fn of_loop(strategy: Strategy, sizes: &Sizes) -> u64 {
    let Sizes { n_clusters, n_terms, n_threads, .. } = *sizes;
    let entries_of = |n: usize| Sizes { n_clusters: n_clusters.min(n as u64), ..*sizes }.entries();
    let (k, entries) = (n_clusters as usize, sizes.entries());
    let together = entries_of(batch_clusters(k, n_threads as usize));
    let resting = update::resting_bytes(entries, n_clusters, n_terms, n_threads);
    if !sizes.is_mapped {
        return resting + 24 * together + most_bytes(strategy, sizes);
    }
    let batch = entries_of(clusters_per_delta(true, k, n_threads as usize));
    // A document that moved is in two sums.
    let part = 2 * batch.min(sizes.shard_nnz);
    let updating = update::parts_bytes(entries, together, batch, part, n_threads * n_terms);
    // The moves of each shard by cluster.
    let n_shards = sizes.n_rows.div_ceil(MAPPED_SHARD_ROWS as u64);
    let groups = 16 * n_clusters * (n_shards + 4);
    resting + groups + most_bytes(strategy, sizes).max(updating + resting_bytes(strategy, sizes))
}

/// The loop over small clusters, and their merges; the random order of the documents is gone by
/// then, and smaller.
fn over_clustering(strategy: Strategy, sizes: &Sizes, n_small: u64) -> u64 {
    let small = Sizes { n_clusters: n_small.min(sizes.n_rows), ..*sizes };
    let Sizes { n_clusters, n_terms, n_threads, .. } = small;
    let resting = update::resting_bytes(small.entries(), n_clusters, n_terms, n_threads);
    // The merged centroids come beside all sums, of which each thread adds two.
    let merges = resting
        + merge_bytes(n_clusters, n_terms, n_threads)
        + 8 * sizes.entries()
        + 72 * n_terms * n_threads;
    // Last: the sample from which the small clusters start.
    of_loop(strategy, &small).max(merges).max(32 * small.shard_rows + 16 * small.entries())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::SphericalKMeans;

    /// Short documents in a file, of which half a million terms have these frequencies.
    fn short_documents(n_rows: u64, n_clusters: usize, frequencies: Vec<u32>) -> Sizes {
        let nnz = frequencies.iter().map(|&frequency| u64::from(frequency)).sum::<u64>();
        Sizes {
            n_rows,
            nnz,
            n_terms: frequencies.len() as u64,
            max_row_nnz: 60,
            has_negative: false,
            n_clusters: n_clusters as u64,
            n_threads: 2,
            n_lambdas: 1,
            given_entries: 0,
            spread: Spread::new(frequencies),
            shard_rows: MAPPED_SHARD_ROWS as u64,
            shard_nnz: nnz * MAPPED_SHARD_ROWS as u64 / n_rows,
            is_mapped: true,
        }
    }

    /// Like those of the words of tweets: few are frequent, and most are in few documents.
    fn frequencies(n_rows: u64) -> Vec<u32> {
        let of_rank =
            |rank: u64| (n_rows as f64 * 0.04 / (1.0 + rank as f64 / 80.0).powf(1.3)).max(1.0) as u32;
        (0..500_000).map(of_rank).collect()
    }

    #[test]
    fn a_hundred_million_short_documents_may_be_clustered_with_12_gb_and_30_million_with_4() {
        for (n_rows, most) in [(30_000_000, 3_700_000_000), (100_000_000, 11_500_000_000)] {
            let params = SphericalKMeans::params(1000).n_threads(2);
            let sizes = short_documents(n_rows, 1000, frequencies(n_rows));
            assert!((8..20).contains(&(sizes.nnz / n_rows)), "{} terms", sizes.nnz / n_rows);
            let forecast = forecast(&params, &sizes);
            assert!(forecast.total() < most, "{n_rows}: {} bytes, {forecast:?}", forecast.total());
        }
    }
}
