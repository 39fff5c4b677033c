//! The merge tree: clusters merged into groups, two at a time, the most similar ones first.
//!
//! Ward's method on the chords between unit centroids, whose squares are `2 - 2 cos`: each merge is
//! the one that adds the least to the squared distances of centroids to the mean of their group.
//! All pairs count, nothing is approximated. The groups are of similar size; with average linkage,
//! which was tried first, 500 clusters of abstracts gave one group of 496 and four of one. A merge
//! never costs less than an earlier one, so the first merges give the finest groups.
//!
//! **Cost.** All pairs of centroids, each once (`model/pairs.rs`); then `O(k^2)` (nearest-neighbour
//! chains, by the crate kodama). Memory: `2 k^2` bytes.

use kodama::{Method, Step, linkage};
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result};
use crate::model::{Model, Pairs};

/// The order in which clusters merge into groups.
///
/// Nodes of the tree are numbered: a cluster has its own number, and the merge at position i of
/// [`merges`](Self::merges) makes the node k + i. Empty clusters are in no group.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeTree {
    n_clusters: usize,
    /// Nonempty clusters, ascending.
    live: Vec<u32>,
    merges: Vec<Merge>,
}

/// The groups of one level of a [`MergeTree`], numbered in the order of their first clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Groups {
    /// The group of each cluster; -1 for empty clusters.
    pub of_clusters: Vec<i32>,
    /// The tree node of each group.
    pub nodes: Vec<u32>,
}

/// A merge of two nodes into one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Merge {
    /// The node with the smaller number.
    pub left: u32,
    /// The other node.
    pub right: u32,
    /// Their distance: the root of twice the amount that the merge adds to the squared distances.
    /// For two clusters, the chord between their centroids.
    pub height: f64,
}

impl MergeTree {
    /// Maximum number of clusters of a tree: it takes `2 k^2` bytes, so 800 MB at this size.
    pub const MAX_CLUSTERS: usize = 20_000;

    /// Upper bound on the bytes for finding the neighbours of all clusters, and a tree if there is
    /// one: posting lists of the centroids, sums of each thread, and half of all distances.
    ///
    /// `n_entries` is the number of entries of all centroids together.
    pub const fn forecast_bytes(n_clusters: usize, n_entries: u64, n_threads: usize) -> u64 {
        let k = n_clusters as u64;
        let tree = if n_clusters <= Self::MAX_CLUSTERS { 2 * k * k } else { 0 };
        24 * n_entries + 136 * k * n_threads as u64 + tree
    }

    /// Builds the merge tree of a model's clusters.
    ///
    /// ```
    /// use docsphere::{MergeTree, SphericalKMeans, Vectorizer};
    ///
    /// let texts = ["cats purr", "cats sleep", "stocks fall", "stocks rise"];
    /// let rows = Vectorizer::new().fit_texts(&texts)?.rows;
    /// let fit = SphericalKMeans::params(4).fit(&rows)?;
    /// let groups = MergeTree::new(&fit.model)?.cut(2)?.of_clusters;
    /// let group = |doc: usize| groups[fit.labels.as_slice()[doc] as usize];
    /// assert!(group(0) == group(1) && group(2) == group(3) && group(0) != group(2));
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for more than [`MAX_CLUSTERS`](Self::MAX_CLUSTERS) clusters.
    pub fn new(model: &Model) -> Result<Self> {
        let centroids = model.centroids();
        let n_clusters = centroids.n_clusters();
        if n_clusters > Self::MAX_CLUSTERS {
            return Err(ErrorKind::Parameter {
                name: "n_clusters",
                expected: format!("at most {} for a merge tree", Self::MAX_CLUSTERS),
                got: n_clusters.to_string(),
            }
            .into());
        }
        let pairs = Pairs::new(centroids);
        let mut chords = chords(&pairs);
        let live = pairs.live().to_vec();
        let node = |position: usize| match live.get(position) {
            Some(&cluster) => cluster,
            None => (n_clusters + position - live.len()) as u32,
        };
        let merge = |step: &Step<f32>| {
            let (a, b) = (node(step.cluster1), node(step.cluster2));
            Merge { left: a.min(b), right: a.max(b), height: f64::from(step.dissimilarity) }
        };
        let merges = linkage(&mut chords, live.len(), Method::Ward).steps().iter().map(merge).collect();
        Ok(MergeTree { n_clusters, merges, live })
    }

    /// Rebuilds a stored tree from its leaves, ascending, and its merges, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it is not a tree: a leaf or merge that is not yet a node, a node
    /// that is merged twice, or more or fewer merges than join all leaves.
    pub fn from_merges(n_clusters: usize, live: Vec<u32>, merges: Vec<Merge>) -> Result<Self> {
        let wrong = |expected: &str, got: String| {
            let expected = expected.to_owned();
            ErrorKind::Mismatch { what: "a merge tree", expected, got }
        };
        let mut is_open = vec![false; n_clusters + merges.len()];
        for &cluster in &live {
            match is_open.get_mut(cluster as usize) {
                Some(open) if (cluster as usize) < n_clusters && !*open => *open = true,
                _ => return Err(wrong("of its clusters, each once", format!("leaf {cluster}")).into()),
            }
        }
        if !live.is_sorted() || merges.len() != live.len().saturating_sub(1) {
            let got = format!("{} merges of {} leaves", merges.len(), live.len());
            return Err(wrong("of ascending leaves and one merge fewer", got).into());
        }
        for (position, merge) in merges.iter().enumerate() {
            for node in [merge.left, merge.right] {
                match is_open.get_mut(node as usize) {
                    Some(open) if *open => *open = false,
                    _ => {
                        let got = format!("node {node} in merge {position}");
                        return Err(wrong("of nodes that are there and not merged yet", got).into());
                    }
                }
            }
            is_open[n_clusters + position] = true;
        }
        Ok(MergeTree { n_clusters, live, merges })
    }

    /// The number of clusters, empty ones included.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters
    }

    /// The nonempty clusters, ascending: the leaves of the tree.
    pub fn live(&self) -> &[u32] {
        &self.live
    }

    /// The merges, the nearest groups first: one fewer than nonempty clusters.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// Cuts the tree into `n_groups` groups.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] unless there is at least one group and at most one per nonempty
    /// cluster.
    pub fn cut(&self, n_groups: usize) -> Result<Groups> {
        if n_groups == 0 || n_groups > self.live.len() {
            return Err(ErrorKind::Parameter {
                name: "n_groups",
                expected: format!("from 1 to {}, the number of clusters that are not empty", self.live.len()),
                got: n_groups.to_string(),
            }
            .into());
        }
        let tops = self.tops(n_groups);
        let mut numbers = vec![-1; tops.len()];
        let mut groups = Groups { of_clusters: vec![-1; self.n_clusters], nodes: Vec::new() };
        for &cluster in &self.live {
            let top = tops[cluster as usize];
            let number = &mut numbers[top as usize];
            if *number < 0 {
                *number = groups.nodes.len() as i32;
                groups.nodes.push(top);
            }
            groups.of_clusters[cluster as usize] = *number;
        }
        Ok(groups)
    }

    /// The topmost node above each node, after the merges that leave `n_groups` groups.
    fn tops(&self, n_groups: usize) -> Vec<u32> {
        let n_merges = self.live.len() - n_groups;
        let mut tops: Vec<u32> = (0..(self.n_clusters + self.merges.len()) as u32).collect();
        // From the last merge to the first, so that the nodes above are known.
        for (position, merge) in self.merges[..n_merges].iter().enumerate().rev() {
            let top = tops[self.n_clusters + position];
            tops[merge.left as usize] = top;
            tops[merge.right as usize] = top;
        }
        tops
    }
}

/// The chord between the centroids of every pair of live clusters, row by row above the diagonal.
fn chords(pairs: &Pairs<'_>) -> Vec<f32> {
    let live = pairs.live();
    let mut chords = vec![0.0; live.len() * live.len().saturating_sub(1) / 2];
    let mut rows = Vec::with_capacity(live.len());
    let mut rest = &mut chords[..];
    for position in 0..live.len() {
        let (row, later) = rest.split_at_mut(live.len() - 1 - position);
        rows.push(row);
        rest = later;
    }
    pairs.for_each(true, &mut rows, |row, position, similarities| {
        for (chord, &other) in row.iter_mut().zip(&live[position + 1..]) {
            *chord = (2.0 - 2.0 * similarities[other as usize]).max(0.0).sqrt() as f32;
        }
    });
    chords
}
