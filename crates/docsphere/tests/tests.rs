//! The integration tests, as one binary. Each module says what belongs in it.

// Tests may read the environment (PROPTEST_CASES) and start pools; the library may not.
#![allow(clippy::disallowed_methods)]

/// Runs that were interrupted and continued.
mod checkpoint;
/// Every strategy and thread count against the slow reference: the same bits.
mod conformance;
/// Runs that start from centroids and labels of others.
mod continued;
/// Runs on a GPU, or its emulation.
mod device;
/// Places of documents in the discs of their clusters.
mod discs;
/// Workers and their coordinator, in one process, with losses.
#[cfg(feature = "distributed")]
mod distributed;
/// Checks of files and numbers named in prose.
mod documents;
/// The examples, run to completion.
mod examples;
/// The loop and its documented policies, as a caller sees them.
mod fit;
/// Documents that come in slices, and clusters that are opened for them.
mod growth;
/// Rows in a mapped file.
mod mapped;
/// Memory forecasts.
mod memory_forecast;
/// Model files and predictions.
mod model;
/// Groups of clusters, and positions on a map.
mod overview;
/// The paper's claim, in counts of similarities.
mod paper_claim;
/// Facts that hold for all inputs.
mod properties;
/// The seeds that the index over documents draws, against the plain method.
mod seeding;
/// Results do not depend on the division into shards.
mod shards;
/// The memory of a corpus that goes to files.
#[cfg(all(feature = "text", target_os = "linux"))]
mod spilling;
/// The order of the stages.
mod stages;
/// Several numbers of clusters beside each other.
mod sweep;
/// The threads on which the library works.
#[cfg(feature = "text")]
mod threads;
