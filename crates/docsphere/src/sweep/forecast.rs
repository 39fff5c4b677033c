//! Upper bounds on the memory of a sweep.

use super::{ClusterGrid, SweepOptions};
use crate::error::Result;
use crate::fit::Params;
use crate::threads::all_cores;
use crate::vectors::UnitRows;

/// An upper bound on the memory that a sweep needs in addition to the rows, in bytes, with the
/// result of one step at a time.
///
/// # Errors
/// As [`Params::check`].
pub(super) fn forecast_bytes(
    rows: &UnitRows<'_>,
    params: &Params,
    grid: &ClusterGrid,
    options: &SweepOptions,
) -> Result<u64> {
    let most = grid.as_slice()[grid.as_slice().len() - 1];
    let params = Params { n_clusters: most, n_init: 1, ..params.clone() }.check()?;
    let (finding, held) = params.starts_forecast(rows, grid.as_slice().len());
    // That of a fit grows with the number of clusters; its seeds are those of the tree.
    let forecast = params.memory_forecast(rows);
    let fit = forecast.documents + forecast.iterating();
    // Sums, centroids and posting lists of all clusters, labels before and after, and a row of
    // similarities per thread; beside the result of the fit.
    let entries = (rows.nnz() as u64).min(most as u64 * rows.n_terms() as u64);
    let n_threads = params.params().n_threads.unwrap_or_else(all_cores) as u64;
    let result = 20 * rows.n_rows() as u64 + 8 * entries;
    let measuring = result
        + 36 * entries
        + 24 * rows.n_rows() as u64
        + 8 * n_threads * most as u64
        + 16 * rows.n_terms() as u64;
    let resampling = if options.stability == 0 { 0 } else { sampled_bytes(rows, most, options) };
    // A fit of the sample, beside the result of all rows, is no larger than one of all rows.
    let stability = if options.stability == 0 { 0 } else { result + fit };
    // Trees come before fits. But they are many, of different sizes and on other threads, and an
    // allocator does not reuse all that it gets back: measured, the peak lies above the maximum.
    Ok(held + resampling + finding + fit.max(measuring).max(stability))
}

/// Samples, halves and their trees.
fn sampled_bytes(rows: &UnitRows<'_>, most: usize, options: &SweepOptions) -> u64 {
    let n_sample = options.sample_size(rows, most);
    let mut lengths: Vec<u32> = rows.iter().map(|row| row.nnz() as u32).collect();
    if n_sample < lengths.len() {
        lengths.select_nth_unstable_by(n_sample, |a, b| b.cmp(a));
        lengths.truncate(n_sample);
    }
    let nnz: u64 = lengths.into_iter().map(u64::from).sum();
    let copy = 8 * nnz + 12 * n_sample as u64;
    let tree = 12 * nnz + 64 * n_sample as u64;
    let n_pairs = options.stability as u64;
    // The numbers of documents, and keys to shuffle them by.
    copy + n_pairs * (copy + 2 * tree) + (n_pairs + 1) * tree + 24 * rows.n_rows() as u64
}
