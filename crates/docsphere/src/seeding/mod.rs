//! Stage 4: the first centroids.
//!
//! | [`Init`] | seeds |
//! |---|---|
//! | `Random` | documents drawn uniformly |
//! | `PlusPlus` | spherical k-means++: documents far from the seeds so far are likelier |
//! | `Greedy` | k-means++ with several candidates at each step; those that lose stay candidates |
//! | `Given` | centroids from the caller |
//!
//! Every draw follows from the seed (a `u64`), the number of the run and the rows, but not from the order of the rows.

mod doc_index;
mod draw;
mod greedy;
mod order;
mod plus_plus;
mod random;
mod search;

use draw::SeedRng;

use crate::error::Result;
use crate::update::{Centroid, Centroids};
use crate::vectors::{RowWeights, UnitRows};

/// How the first centroids are found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// Documents drawn at random, each at most once.
    Random,
    /// Spherical k-means++.
    PlusPlus,
    /// Greedy spherical k-means++: each step draws several candidates, and the best of all candidates so far becomes a seed.
    /// The default: on 200,000 abstracts it ends with a greater objective than random seeds, in the same time in all (k = 500) or two fifths more (k = 5,000).
    Greedy {
        /// Candidates drawn in each step; `None` for [`Init::DEFAULT_CANDIDATES`].
        candidates: Option<usize>,
    },
    /// These centroids. Those without entries start as empty clusters.
    Given(Centroids),
}

impl Default for Init {
    fn default() -> Self {
        Init::Greedy { candidates: None }
    }
}

impl Init {
    /// Candidates drawn in each step of the greedy form, unless the caller says how many. Candidates that lose stay in the running, so a few are enough:
    /// twice as many take twice as long and gain little.
    pub const DEFAULT_CANDIDATES: usize = 4;

    /// Candidates a step, for the greedy form.
    pub(crate) fn n_candidates(&self) -> Option<usize> {
        match self {
            Init::Greedy { candidates } => Some(candidates.unwrap_or(Self::DEFAULT_CANDIDATES)),
            _ => None,
        }
    }

    /// The name on the command line and in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Init::Random => "random",
            Init::PlusPlus => "k-means++",
            Init::Greedy { .. } => "greedy-k-means++",
            Init::Given(_) => "given",
        }
    }
}

/// What seeding works on.
pub(crate) struct Seeding<'a> {
    pub(crate) rows: &'a UnitRows<'a>,
    pub(crate) weights: RowWeights<'a>,
    pub(crate) n_clusters: usize,
    pub(crate) seed: u64,
    pub(crate) run: usize,
}

impl Seeding<'_> {
    /// The first centroids. `progress` gets the number of seeds found so far, and may end it all.
    pub(crate) fn centroids(
        &self,
        init: &Init,
        progress: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Centroids> {
        let (rows, weights, k) = (self.rows, self.weights, self.n_clusters);
        let mut rng = SeedRng::new(self.seed, self.run);
        let seeds = match init {
            Init::Given(centroids) => return Ok(centroids.clone()),
            Init::Random => random::draw_seeds(rows, weights, k, &mut rng, progress)?,
            Init::PlusPlus => plus_plus::draw_seeds(rows, weights, k, &mut rng, progress)?,
            Init::Greedy { .. } => {
                let candidates = init.n_candidates().unwrap_or(1);
                greedy::draw_seeds(rows, weights, k, candidates, &mut rng, progress)?
            }
        };
        let mut list: Vec<Centroid> = seeds.iter().map(|&doc| Centroid::from_row(rows.row(doc))).collect();
        // More clusters than distinct rows: the others start empty.
        list.resize(k, Centroid::default());
        Ok(Centroids::new(rows.n_terms(), list))
    }
}
