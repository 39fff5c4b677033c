//! Stage 10: clusters seen from afar. A merge tree that joins similar clusters to groups, names for
//! groups, and places on a map.
//!
//! All of it is made of the centroids alone, and none of it changes a label.

mod names;
#[cfg(feature = "map")]
mod places;
mod tree;

pub use names::group_keywords;
#[cfg(feature = "map")]
pub use places::{MAP_NEIGHBOURS, cluster_places};
pub use tree::{Groups, Merge, MergeTree};
