//! Stage 12: an overview of the clusters. A merge tree that joins similar clusters into groups,
//! names for groups, and positions on a map.
//!
//! All of it is computed from the centroids alone, and none of it changes a label.

mod names;
#[cfg(feature = "map")]
mod places;
mod tree;

pub use names::group_keywords;
#[cfg(feature = "map")]
pub use places::{MAP_NEIGHBOURS, cluster_places};
pub use tree::{Groups, Merge, MergeTree};
