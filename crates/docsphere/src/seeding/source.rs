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

/// A draw: the bucket that it hit, and the part of the random number that is left in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) bucket: usize,
    pub(crate) rest: u64,
}

impl Draw {
    /// The drawn document, of those of the bucket in drawing order: the first at which the running
    /// total of weights exceeds the rest.
    ///
    /// # Panics
    /// If the weights of the documents do not add up to that of the bucket.
    pub(crate) fn hit(self, docs: impl IntoIterator<Item = Drawable>) -> u32 {
        let mut rest = self.rest;
        for drawable in docs {
            if rest < drawable.weight {
                return drawable.doc;
            }
            rest -= drawable.weight;
        }
        panic!("the totals of the buckets are those of the documents");
    }
}

/// The gains of new members of a pool, and of members that were judged again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    /// The amount by which each new member would lower the total weight.
    pub(crate) gains: Vec<u64>,
    /// The same for each member that was judged again; `None` if its list has been dropped.
    pub(crate) judged: Vec<Option<u64>>,
}

/// Adds the gains of one shard; a list that one has dropped counts as dropped.
pub(crate) fn add_judged(sums: &mut [Option<u64>], found: &[Option<u64>]) {
    for (sum, &gain) in sums.iter_mut().zip(found) {
        *sum = sum.zip(gain).map(|(sum, gain)| sum + gain);
    }
}

/// The amount by which the seed weights of a bucket fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) bucket: u32,
    pub(crate) gain: u64,
}

/// A document and its place in a random order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) place: u64,
    pub(crate) doc: u32,
}

/// The operations that draws need from the documents. Every answer is an integer, or about one
/// document.
///
/// Buckets divide the documents by the first bits of their content hash
/// ([`Buckets`](super::order::Buckets)). The members of a greedy pool have numbers; the list of
/// documents that each improves stays with the documents, and may be dropped there when it takes
/// too much memory.
pub(crate) trait SeedSource {
    /// The documents that may be among the first `n` of a random order; see
    /// [`sampled`](mod@super::sampled). Of several shards, all that any of them names.
    fn sample(&self, salt: u64, n: usize) -> Result<Vec<Placed>>;

    /// The rows of some documents, in this order.
    fn seed_rows(&self, docs: &[u32]) -> Result<Vec<Centroid>>;

    /// Begins to seed a run. Returns the total seed weight of each bucket.
    ///
    /// Without `search`, only [`SeedSource::take`] may be used to lower weights.
    fn begin_seeding(&mut self, search: bool) -> Result<Vec<u64>>;

    /// The documents that these draws hit, with their rows.
    fn pick(&self, draws: &[Draw]) -> Result<Vec<Seed>>;

    /// The row of a document.
    fn row(&self, doc: u32) -> Result<Centroid>;

    /// Removes a document from all further draws.
    fn take(&mut self, doc: u32) -> Result<Vec<Lowered>>;

    /// Makes a document a seed.
    fn absorb(&mut self, seed: &Seed) -> Result<Vec<Lowered>>;

    /// Finds the documents that each of these would improve as the next seed, and keeps their lists
    /// under consecutive numbers. Judges the members `again` in the same step.
    fn join(&mut self, first_member: u32, seeds: &[Seed], again: &[u32]) -> Result<Joined>;

    /// The amount by which each of these members of the pool would lower the total weight now;
    /// `None` if its list has been dropped.
    fn judge(&mut self, members: &[u32]) -> Result<Vec<Option<u64>>>;

    /// How many members of the pool to judge in advance, together with others: none where a member
    /// costs more than a question. Changes the time, never the seeds.
    fn judged_ahead(&self) -> usize {
        0
    }

    /// The same for the members that are judged beside new ones.
    fn judged_beside(&self) -> usize {
        self.judged_ahead()
    }

    /// Makes a seed of a member of the pool that was judged since the last seed; returns `None`,
    /// without any change, if its list has been dropped.
    fn absorb_member(&mut self, member: u32, doc: u32) -> Result<Option<Vec<Lowered>>>;

    /// Releases the memory of seeding.
    fn end_seeding(&mut self) -> Result<()>;
}
