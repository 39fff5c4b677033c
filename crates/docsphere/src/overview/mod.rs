//! Stage 12: an overview of the clusters. A merge tree that joins similar clusters into groups,
//! names for groups, positions on a map, and the places of documents around them.
//!
//! All of it but the places of documents is computed from the centroids alone, and none of it
//! changes a label.

mod linkage;
mod means;
mod names;
mod offsets;
#[cfg(feature = "map")]
mod places;
#[cfg(feature = "map")]
mod quadtree;
mod sample;
mod sparse_ward;
mod tree;
#[cfg(feature = "map")]
mod tsne;
mod ward;

pub use linkage::Merge;
pub use names::group_keywords;
pub use offsets::{Discs, MAX_DISC_NEIGHBOURS, document_offsets};
#[cfg(feature = "map")]
pub use places::{MAP_NEIGHBOURS, cluster_places};
pub use sample::document_sample;
pub use tree::{Groups, MergeTree};
