//! The first centroids for several numbers of clusters, from one tree.

use crate::centroids::{Centroid, Centroids};
use crate::update::Sums;

/// The first centroids for several numbers of clusters: one tree of small clusters, cut at each
/// number. See [`ValidParams::starts`](crate::ValidParams::starts).
///
/// Memory: 12 bytes per entry of the small clusters, and 8 bytes per small cluster and cut.
pub struct Starts {
    pub(super) n_terms: usize,
    pub(super) small: Sums,
    /// The numbers of clusters, descending, with the group of each small cluster.
    pub(super) cuts: Vec<(usize, Vec<Option<u32>>)>,
}

impl Starts {
    /// The numbers of clusters, ascending.
    pub fn n_clusters(&self) -> Vec<usize> {
        self.cuts.iter().rev().map(|cut| cut.0).collect()
    }

    /// The first centroids for this number of clusters, for [`Init::Given`](crate::Init::Given);
    /// `None` if it is not among those that were asked for. If there are fewer different rows, the
    /// last ones are empty.
    pub fn centroids(&self, n_clusters: usize) -> Option<Centroids> {
        let (_, groups) = self.cuts.iter().find(|cut| cut.0 == n_clusters)?;
        let mut list = self.small.group_centroids(groups);
        list.resize(n_clusters, Centroid::default());
        Some(Centroids::new(self.n_terms, list))
    }
}

impl std::fmt::Debug for Starts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starts").field("n_clusters", &self.n_clusters()).finish_non_exhaustive()
    }
}
