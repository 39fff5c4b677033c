//! Upper bounds on the memory of each strategy, from sizes that are known before a run.
//!
//! The formulas follow from the "Cost" paragraphs of the strategies; `tests/memory_forecast.rs`
//! compares them with the memory that strategies actually hold.

use super::auto::MIN_DRIFT_CLUSTERS;
use super::drift;
use super::sizes::Sizes;
use crate::record::Strategy;
use crate::update::batch_clusters;

/// What of [`most_bytes`] is held while centroids are updated, if rows are in a file.
pub(crate) fn resting_bytes(strategy: Strategy, sizes: &Sizes) -> u64 {
    match strategy {
        Strategy::Drift => drift::resting_bytes(sizes),
        Strategy::Auto => drift::resting_bytes(sizes).max(beside_drift(sizes)),
        _ => most_bytes(strategy, sizes),
    }
}

/// Upper bound on the memory of what `auto` chooses instead of `drift`.
fn beside_drift(sizes: &Sizes) -> u64 {
    let Sizes { n_terms, n_clusters, n_threads, .. } = *sizes;
    // Without negative values only for so few clusters; the others are empty.
    let few = MIN_DRIFT_CLUSTERS as u64 - 1;
    let few = match sizes.has_negative || sizes.given_entries > 0 {
        true => *sizes,
        false => Sizes { n_clusters: n_clusters.min(few), ..*sizes },
    };
    let others = most_bytes(Strategy::Inverted, &few).max(most_bytes(Strategy::Ncc, &few));
    // One at a time; document frequencies are counted for the choice.
    others + (96 + 24 * n_threads) * n_clusters + 4 * n_terms
}

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
        Strategy::Auto | Strategy::Cuda => drift::most_bytes(sizes).max(beside_drift(sizes)),
    }
}

/// Upper bound on the memory of this machine that a device needs in addition, for transfers.
pub(crate) fn device_bytes(sizes: &Sizes) -> u64 {
    // The changes of the sums of clusters that are updated together: a document that moved is in
    // two of them.
    let together = batch_clusters(sizes.n_clusters as usize, sizes.n_threads as usize) as u64;
    let together = Sizes { n_clusters: sizes.n_clusters.min(together), ..*sizes }.entries();
    // Last: what all uploads go through.
    30 * together + 28 * sizes.shard_rows + 41 * sizes.n_clusters + (1 << 16) + (16 << 20)
}

/// The same while centroids are compared with each other; see `docsphere_cuda::Pairs`.
pub(crate) fn most_transfer_bytes(n_clusters: u64, n_entries: u64) -> u64 {
    let at_a_time = (n_clusters * n_clusters).min(1 << 22).max(n_clusters);
    10 * n_entries + 15 * at_a_time + 80 * n_clusters + (1 << 16)
}
