//! What an update did to the centroids.

/// Which centroids changed in an update, and how far each moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Movement {
    changed: Vec<bool>,
    changed_list: Vec<u32>,
    squared_distances: Vec<f64>,
    n_docs_in_changed: u64,
}

impl Movement {
    pub(super) fn none(n_clusters: usize) -> Self {
        Movement {
            changed: vec![false; n_clusters],
            changed_list: Vec::new(),
            squared_distances: vec![0.0; n_clusters],
            n_docs_in_changed: 0,
        }
    }

    /// Records the change of a cluster with so many members. Call [`Movement::sort`] after the last.
    pub(super) fn record(&mut self, cluster: usize, squared_distance: f64, n_members: u32) {
        self.changed[cluster] = true;
        self.changed_list.push(cluster as u32);
        self.squared_distances[cluster] = squared_distance;
        self.n_docs_in_changed += u64::from(n_members);
    }

    /// Brings the changed clusters into ascending order.
    pub(super) fn sort(&mut self) {
        self.changed_list.sort_unstable();
    }

    /// Whether the centroid of this cluster is not, to the bit, what it was before the update.
    #[inline]
    pub(crate) fn is_changed(&self, cluster: usize) -> bool {
        self.changed[cluster]
    }

    /// The changed clusters, ascending.
    pub(crate) fn changed(&self) -> &[u32] {
        &self.changed_list
    }

    /// How many documents belong to changed clusters.
    pub(crate) fn n_docs_in_changed(&self) -> u64 {
        self.n_docs_in_changed
    }

    /// The largest squared distance that any centroid moved.
    pub(crate) fn max_squared_distance(&self) -> f64 {
        self.squared_distances.iter().copied().fold(0.0, f64::max)
    }
}
