//! Plain spherical k-means++: each seed is a document drawn with a weight of one minus its greatest
//! similarity to the seeds so far.
//!
//! The direct method computes the similarity of every document to every new seed. Here
//! [`search`](super::search) finds the documents that the seed improves; all others keep their
//! weight. Weights are integers, so exactly the same documents are drawn. (Similarities below 0
//! count as 0: a document on the opposite side is no better a seed than one without common terms.)
//!
//! **Cost.** Time: one index query per seed. Memory: the index, 6 bytes per nonzero and 14 per
//! distinct term of a block of 32,768 documents; 35 bytes per document; 5 bytes per term.
//! [`plus_plus`](super::plus_plus) finds better seeds, at one query per candidate.
//!
//! References: Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007,
//! doi:10.5555/1283383.1283494; Endo, Miyamoto, "Spherical k-means++ clustering", MDAI 2015,
//! doi:10.1007/978-3-319-23240-9_9.

use super::draw::{SeedRng, Totals, one_by_one};
use super::source::SeedSource;
use crate::centroids::Centroid;
use crate::error::Result;

/// Draws up to `k` seeds; fewer if all other documents coincide with one of them.
pub(super) fn draw_seeds(
    source: &mut dyn SeedSource,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<Centroid>> {
    let totals = Totals::new(source.begin_seeding(true)?);
    one_by_one(source, totals, k, rng, progress, |source, seed| source.absorb(seed))
}
