//! Sizes that are known before a run.

/// The sizes that determine the memory of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) n_rows: u64,
    pub(crate) nnz: u64,
    pub(crate) n_terms: u64,
    /// Terms of the longest row.
    pub(crate) max_row_nnz: u64,
    pub(crate) n_clusters: u64,
    pub(crate) n_threads: u64,
    /// Thresholds of the paper's index.
    pub(crate) n_lambdas: u64,
    /// Entries of the first centroids, if the caller gives them.
    pub(crate) given_entries: u64,
}

impl Sizes {
    /// Upper bound on the entries of all centroids together: those of the rows, or k times the
    /// terms; or those of centroids that the caller gives.
    pub(crate) fn entries(&self) -> u64 {
        self.nnz.min(self.n_clusters.saturating_mul(self.n_terms)).max(self.given_entries)
    }
}
