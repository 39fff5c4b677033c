//! The integration tests that need no feature of the library, compiled without any. `make unit`
//! runs them; the package `docsphere-bare` says why they are a package of their own.

#![allow(clippy::disallowed_methods)]

/// Runs that were interrupted and continued.
mod checkpoint;
/// What the tests of shards compare with.
mod conformance;
/// The examples, run to completion.
mod examples;
/// The loop and its documented policies, as a caller sees them.
mod fit;
/// Model files and predictions.
mod model;
/// Results do not depend on the division into shards.
mod shards;
