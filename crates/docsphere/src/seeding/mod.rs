//! Stage 5: the first centroids.
//!
//! | [`Init`] | seeds |
//! |---|---|
//! | `Random` | documents drawn uniformly |
//! | `PlusPlus` | spherical k-means++, in its greedy form: several candidates per step, drawn as in the plain form; losing candidates stay in the pool |
//! | `PlainPlusPlus` | plain k-means++: one document per step; documents far from the seeds so far are likelier |
//! | `Merge` | several times as many random documents, clustered in a few iterations and merged; see `fit/driver/over_cluster.rs` |
//! | `Given` | centroids from the caller |
//!
//! Every draw is determined by the seed (a `u64`), the number of the run and the rows, but not by
//! the order of the rows.

#[cfg(feature = "cuda")]
#[path = "cuda_enabled.rs"]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "cuda_disabled.rs"]
mod cuda;
mod doc_index;
mod draw;
mod order;
mod plain_plus_plus;
mod plus_plus;
mod pooled;
mod random;
mod sample;
mod sampled;
mod search;
mod seed_table;
mod seed_weights;
mod source;

use std::fmt;
use std::str::FromStr;

pub(crate) use cuda::SeedDevice;
pub(crate) use draw::SeedRng;
pub(crate) use order::{Buckets, Ordered, content_hash, mix};
pub(crate) use sampled::{sample_of, sampled};
pub(crate) use search::Search;
pub(crate) use source::{Draw, Drawable, Joined, Lowered, Placed, Seed, SeedSource, add_judged};

use crate::centroids::{Centroid, Centroids, MAX_CLUSTERS};
use crate::error::{Error, Result};
use crate::names;
use crate::record::SeedingSeconds;

/// How the first centroids are chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// Documents drawn at random, each at most once.
    Random,
    /// Spherical k-means++ in its greedy form, like scikit-learn's `k-means++`: each step draws
    /// several candidates, and the best of all candidates so far becomes a seed.
    PlusPlus {
        /// Candidates drawn per step; `None` for [`Init::DEFAULT_CANDIDATES`].
        candidates: Option<usize>,
    },
    /// Spherical k-means++ as published: each step draws one document, which becomes a seed.
    PlainPlusPlus,
    /// Over-clustering: several times as many clusters from random documents, three iterations,
    /// then merges of the two clusters whose union loses the least objective, until the wanted
    /// number is left. The default: better clusters than by k-means++, for little more time
    /// (docs/quality.md).
    Merge {
        /// Clusters before the merges, per cluster; `None` for 10 up to 100 clusters,
        /// 5 up to 1,000, 2 above.
        fine: Option<usize>,
    },
    /// These centroids. Those without entries start as empty clusters.
    Given(Centroids),
}

impl Default for Init {
    fn default() -> Self {
        Init::Merge { fine: None }
    }
}

impl Init {
    /// Default number of candidates drawn per step of the greedy form. Losing candidates stay in
    /// the pool, so a few are enough: twice as many take twice as long and gain little.
    pub const DEFAULT_CANDIDATES: usize = 4;

    /// The number of clusters before merges.
    pub(crate) fn n_fine(&self, n_clusters: usize) -> usize {
        let fine = match self {
            Init::Merge { fine: Some(fine) } => *fine,
            _ if n_clusters <= 100 => 10,
            _ if n_clusters <= 1000 => 5,
            _ => 2,
        };
        n_clusters.saturating_mul(fine).min(MAX_CLUSTERS)
    }

    /// Candidates per step, for the greedy form.
    pub(crate) fn n_candidates(&self) -> Option<usize> {
        match self {
            Init::PlusPlus { candidates } => Some(candidates.unwrap_or(Self::DEFAULT_CANDIDATES)),
            _ => None,
        }
    }

    /// The names of the methods that need no data from the caller, as `FromStr` accepts them.
    pub const NAMES: &'static [&'static str] = &["merge", "k-means++", "plain-k-means++", "random"];

    /// The name on the command line and in files. Given centroids have the name `given`, which
    /// `FromStr` does not accept.
    pub const fn name(&self) -> &'static str {
        match self {
            Init::Random => "random",
            Init::PlainPlusPlus => "plain-k-means++",
            Init::PlusPlus { .. } => "k-means++",
            Init::Merge { .. } => "merge",
            Init::Given(_) => "given",
        }
    }
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// ```
/// use docsphere::Init;
///
/// assert_eq!("k-means++".parse::<Init>()?, Init::PlusPlus { candidates: None });
/// assert_eq!(Init::Random.to_string(), "random");
/// # Ok::<(), docsphere::Error>(())
/// ```
impl FromStr for Init {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        names::position("init", name, Self::NAMES.iter().copied())?;
        Ok(match name {
            "random" => Init::Random,
            "plain-k-means++" => Init::PlainPlusPlus,
            "merge" => Init::Merge { fine: None },
            _ => Init::PlusPlus { candidates: None },
        })
    }
}

/// Upper bound on the memory of seeding: the index over the documents by blocks, in the greedy form
/// with the lists of candidates, and the weights and order of the documents. A device has no index;
/// what the last seed improved takes less.
pub(crate) fn most_bytes(n_rows: u64, nnz: u64, n_terms: u64) -> u64 {
    let n_blocks = n_rows.div_ceil(seed_weights::BLOCK_DOCS as u64);
    10 * nnz + 14 * nnz.min(n_terms.saturating_mul(n_blocks)) + 35 * n_rows + 5 * n_terms
}

/// What a device needs on this machine in addition: room for what comes back.
pub(crate) const DEVICE_BYTES: u64 = 9 << 17;

/// How the seeds of a run are chosen.
pub(crate) struct Seeding<'a> {
    pub(crate) init: &'a Init,
    pub(crate) n_clusters: usize,
    pub(crate) n_terms: usize,
    pub(crate) seed: u64,
    /// The number of the run.
    pub(crate) run: usize,
}

impl Seeding<'_> {
    /// The first centroids. `progress` gets the number of seeds found so far, and may stop the run.
    pub(crate) fn centroids(
        &self,
        source: &mut dyn SeedSource,
        seconds: &mut SeedingSeconds,
        progress: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Centroids> {
        if let Init::Given(centroids) = self.init {
            return Ok(centroids.clone());
        }
        let seeds = self.draw(source, seconds, progress);
        let ended = source.end_seeding();
        let mut list = seeds?;
        ended?;
        // More clusters than distinct rows: the others start empty.
        list.resize(self.n_clusters, Centroid::default());
        Ok(Centroids::new(self.n_terms, list))
    }

    fn draw(
        &self,
        source: &mut dyn SeedSource,
        seconds: &mut SeedingSeconds,
        progress: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Centroid>> {
        let (k, mut rng) = (self.n_clusters, SeedRng::new(self.seed, self.run));
        match self.init {
            Init::Random => random::draw_seeds(source, k, &mut rng, progress),
            Init::PlainPlusPlus => plain_plus_plus::draw_seeds(source, k, &mut rng, progress),
            _ => {
                let candidates = self.init.n_candidates().unwrap_or(1);
                plus_plus::draw_seeds(source, k, candidates, &mut rng, seconds, progress)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_found_by_its_name_but_for_given_centroids() {
        for &name in Init::NAMES {
            assert_eq!(name.parse::<Init>().unwrap().to_string(), name);
        }
        assert_eq!("merge".parse::<Init>().unwrap(), Init::default());
        assert_eq!(
            "given".parse::<Init>().unwrap_err().to_string(),
            "init must be one of merge, k-means++, plain-k-means++, random, got \"given\""
        );
    }
}
