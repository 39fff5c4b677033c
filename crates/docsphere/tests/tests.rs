//! The integration tests, as one binary. Each module says what belongs into it.

// Tests may read the environment (PROPTEST_CASES) and start pools; the library may not.
#![allow(clippy::disallowed_methods)]

/// Runs that were interrupted and continued.
mod checkpoint;
/// Every strategy and thread count against the slow reference: the same bits.
mod conformance;
/// Runs that start from centroids and labels of others.
mod continued;
/// Prose that names files and numbers: is it still true?
mod documents;
/// The examples, run to their end.
mod examples;
/// The loop and its stated policies, as a caller sees them.
mod fit;
/// What a run will hold, told beforehand.
mod memory_forecast;
/// Model files and predictions.
mod model;
/// Groups of clusters, and places on a map.
mod overview;
/// The paper's claim, in counts of similarities.
mod paper_claim;
/// Facts that hold for all inputs.
mod properties;
/// The seeds that the index over documents draws, against the plain method.
mod seeding;
/// N shards, cut anywhere, are one.
mod shards;
/// The order of the stages.
mod stages;
/// On which threads the library works.
#[cfg(feature = "text")]
mod threads;
