//! `edits.json`: what people have changed in a result, as a list of operations, oldest first.
//!
//! The run itself stays: `model.docsphere` is its model, and the files that edits change are kept
//! as they were in the folder [`names::BASE`] of the result. The files beside that folder are
//! always those of the base with all edits applied ([`derive()`]), so whoever reads a result sees
//! the edits. Without edits there is no such folder, and the files are those of the run, to the
//! byte.
//!
//! Numbers of clusters never shift. A merged cluster and one whose documents are outliers stay as
//! empty clusters; the parts of a split have the number of the cluster and new ones at the end.
//!
//! Documents keep the similarity to the centroid of the run; those of a split cluster have that to
//! the centroid of their part.
//!
//! 1. `operation.rs`: the operations, and the file.
//! 2. `joined.rs`: centroids and keywords of clusters that are merged.
//! 3. `tree.rs`: the merge tree with other leaves.
//! 4. `parts.rs`: the parts of a split cluster.
//! 5. `moves.rs`: what becomes of documents.
//! 6. `applied.rs`: operations applied to clusters, groups, map and columns, one after the other.
//! 7. `documents.rs`: the files with a line per document, relabelled.
//! 8. `derived.rs`: all files of a result from its base.

mod applied;
mod derived;
mod documents;
mod joined;
mod moves;
mod operation;
mod parts;
mod tree;

pub use applied::{Edited, Rest};
pub use derived::{apply, apply_with_new, base_of, derive, put};
pub(crate) use moves::Placed;
pub use moves::{Moved, Relabelled, SplitCluster};
pub use operation::{Edit, Edits, Operation};

#[cfg(doc)]
use crate::names;
