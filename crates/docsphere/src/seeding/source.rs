//! The documents from which seeds are drawn, in any number of shards.

use crate::centroids::Centroid;
use crate::error::Result;

/// A document that is to become a seed.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pub(crate) doc: u32,
    /// Its row: the initial centroid of its cluster.
    pub(crate) row: Centroid,
}

/// A document of a bucket and its seed weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawable {
    pub(crate) doc: u32,
    pub(crate) weight: u64,
}

/// The amount by which the seed weights of a bucket fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) bucket: u32,
    pub(crate) gain: u64,
}

/// The operations that draws need from the documents. Every answer is an integer, or about one
/// document.
///
/// Buckets divide the documents by the first bits of their content hash
/// ([`Buckets`](super::order::Buckets)). The members of a greedy pool have numbers; the list of
/// documents that each improves stays with the documents, and may be dropped there when it takes
/// too much memory.
pub(crate) trait SeedSource {
    /// Begins to seed a run. Returns the total seed weight of each bucket.
    ///
    /// Without `search`, only [`SeedSource::take`] may be used to lower weights.
    fn begin_seeding(&mut self, search: bool) -> Result<Vec<u64>>;

    /// The documents of a bucket that have weight, in drawing order.
    fn drawable(&self, bucket: usize) -> Result<Vec<Drawable>>;

    /// The row of a document.
    fn row(&self, doc: u32) -> Result<Centroid>;

    /// Removes a document from all further draws.
    fn take(&mut self, doc: u32) -> Result<Vec<Lowered>>;

    /// Makes a document a seed.
    fn absorb(&mut self, seed: &Seed) -> Result<Vec<Lowered>>;

    /// Finds the documents that each of these would improve as the next seed, and keeps their lists
    /// under consecutive numbers. Returns the amount by which each would lower the total weight.
    fn join(&mut self, first_member: u32, seeds: &[Seed]) -> Result<Vec<u64>>;

    /// The amount by which a member of the pool would lower the total weight now; `None` if its
    /// list has been dropped.
    fn judge(&mut self, member: u32) -> Result<Option<u64>>;

    /// Makes a seed of a member of the pool that was judged since the last seed; returns `None`,
    /// without any change, if its list has been dropped.
    fn absorb_member(&mut self, member: u32, doc: u32) -> Result<Option<Vec<Lowered>>>;

    /// Releases the memory of seeding.
    fn end_seeding(&mut self) -> Result<()>;
}
