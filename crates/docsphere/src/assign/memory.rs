//! Upper bounds on the memory of each strategy, from sizes that are known before a run.
//!
//! The formulas follow from the "Cost" paragraphs of the strategies; `tests/memory_forecast.rs`
//! compares them with the memory that strategies actually hold.

use super::drift;
use super::sizes::Sizes;
use crate::record::Strategy;

/// Upper bound on the memory of a strategy, including the scratch of its threads.
pub(crate) fn most_bytes(strategy: Strategy, sizes: &Sizes) -> u64 {
    let Sizes { n_terms, n_clusters, n_threads, n_lambdas, .. } = *sizes;
    let entries = sizes.entries();
    // One table per centroid, at most half full.
    let lookup = 36 * entries + 88 * n_clusters;
    let postings = 8 * entries + 8 * (n_terms + 2) + 8 * n_clusters;
    match strategy {
        Strategy::Baseline | Strategy::Ncc => lookup,
        // G, one P per threshold, and the list that one of these is made from.
        Strategy::Index | Strategy::NccIndex => {
            let maps = (4 + 8 * n_lambdas) * entries + 8 * (n_lambdas + 1) * (n_terms + 2);
            lookup + maps + 12 * entries + 8 * n_clusters * n_threads
        }
        // Cuts of the centroids while lists are built, and an accumulator.
        Strategy::Inverted => postings + 24 * n_clusters * n_threads,
        Strategy::Drift => drift::most_bytes(sizes),
        // One at a time; document frequencies are counted for the choice.
        Strategy::Auto | Strategy::Cuda => {
            let others = most_bytes(Strategy::Inverted, sizes).max(most_bytes(Strategy::Ncc, sizes));
            drift::most_bytes(sizes).max(others + 4 * n_terms)
        }
    }
}

/// Upper bound on the memory of this machine that a device needs in addition, for transfers.
pub(crate) fn device_bytes(sizes: &Sizes) -> u64 {
    10 * sizes.entries() + 20 * sizes.shard_rows + 33 * sizes.n_clusters + (1 << 16)
}
