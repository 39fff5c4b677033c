//! The merge tree: clusters merged into groups, two at a time, the most similar ones first
//! ([`linkage`]), and cuts of it.
//!
//! Clusters count alike, whatever their numbers of documents; a cut may count documents, so that no
//! group has most of them.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::linkage::{self, Merge};
use crate::error::{ErrorKind, Result};
use crate::model::{Model, Neighbour, most_device_bytes, most_neighbours_bytes};
use crate::record::Device;

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

impl MergeTree {
    /// Up to this many clusters, all pairs of them count. Above, only neighbours may merge, until
    /// as many groups are left; then all pairs of groups count.
    pub const ALL_PAIRS: usize = linkage::ALL_PAIRS;

    /// Number of neighbours of each cluster that count above [`ALL_PAIRS`](Self::ALL_PAIRS)
    /// clusters: the number to request from [`summarize`](crate::summarize) for
    /// [`from_neighbours`](Self::from_neighbours).
    pub const NEIGHBOURS: usize = linkage::NEIGHBOURS;

    /// Upper bound on the bytes for finding the neighbours of all clusters, and for a tree.
    ///
    /// `n_entries` is the number of entries of all centroids together; the device is that of the
    /// fit.
    pub fn forecast_bytes(
        n_clusters: usize,
        n_terms: usize,
        n_entries: u64,
        n_threads: usize,
        device: Device,
    ) -> u64 {
        let (k, n_terms, n_threads) = (n_clusters as u64, n_terms as u64, n_threads as u64);
        let m = Self::NEIGHBOURS as u64;
        let neighbours = most_neighbours_bytes(k, n_terms, n_entries, m, n_threads);
        let on_cpu = neighbours.max(linkage::most_bytes(k, n_terms, n_entries, n_threads));
        match device {
            Device::Cpu => on_cpu,
            // The CPU takes over if a device fails.
            _ => on_cpu + most_device_bytes(k, n_entries, m, n_threads),
        }
    }

    /// Builds the merge tree of a model's clusters.
    ///
    /// ```
    /// use docsphere::{MergeTree, SphericalKMeans, Vectorizer};
    ///
    /// let texts = ["cats purr", "cats sleep", "stocks fall", "stocks rise"];
    /// let rows = Vectorizer::new().fit_texts(&texts)?.rows;
    /// let fit = SphericalKMeans::params(4).fit(&rows)?;
    /// let groups = MergeTree::new(&fit.model).cut(2)?.of_clusters;
    /// let group = |doc: usize| groups[fit.labels.as_slice()[doc] as usize];
    /// assert!(group(0) == group(1) && group(2) == group(3) && group(0) != group(2));
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    pub fn new(model: &Model) -> Self {
        Self::from_neighbours(model, &[])
    }

    /// The same with neighbours that are known: the nearest other clusters of each cluster, nearest
    /// first, at least [`NEIGHBOURS`](Self::NEIGHBOURS) of them if there are as many. They are
    /// found if they are needed and some are missing, so that the tree is that of
    /// [`new`](Self::new).
    pub fn from_neighbours(model: &Model, neighbours: &[&[Neighbour]]) -> Self {
        let (live, merges) = linkage::merges(model, neighbours);
        MergeTree { n_clusters: model.centroids().n_clusters(), live, merges }
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

    /// Cuts the tree into `n_groups` groups, at its highest merges.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] unless there is at least one group and at most one per nonempty
    /// cluster.
    pub fn cut(&self, n_groups: usize) -> Result<Groups> {
        self.cut_balanced(n_groups, &[])
    }

    /// Cuts the tree into `n_groups` groups of clusters with these numbers of documents, none of
    /// them too large: a group of several clusters with more than
    /// [`LARGE_GROUP`](Self::LARGE_GROUP) of all documents is split before all others, the largest
    /// first. Otherwise the highest merge
    /// is. So the groups of one number are parts of those of a smaller one. Clusters without a
    /// number count as empty.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] unless there is at least one group and at most one per nonempty
    /// cluster.
    pub fn cut_balanced(&self, n_groups: usize, sizes: &[usize]) -> Result<Groups> {
        if n_groups == 0 || n_groups > self.live.len() {
            return Err(ErrorKind::Parameter {
                name: "n_groups",
                expected: format!("from 1 to {}, the number of clusters that are not empty", self.live.len()),
                got: n_groups.to_string(),
            }
            .into());
        }
        let tops = self.tops(&self.parts(n_groups, sizes));
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

    /// A group of several clusters with a greater share of all documents is too large for
    /// [`cut_balanced`](Self::cut_balanced).
    pub const LARGE_GROUP: f64 = 1.0 / 3.0;

    /// How much better `n_groups` groups, cut at the highest merges, explain the distances between
    /// clusters than the same number of groups of clusters that are all equally far from each
    /// other: the mean squared height of the merges above the groups, divided by that of all
    /// merges. 1 for clusters without structure, whose merges all have the same height; 0 if there
    /// is no merge above the groups.
    ///
    /// The squared height of a merge is twice the amount that it adds to the squared distances from
    /// the means of the groups. If all clusters have the distance d, the means of a and b of them
    /// have the squared distance `(1/a + 1/b) d^2 / 2`, so Ward's cost of the merge,
    /// `a b / (a + b)` times as much, is `d^2 / 2` for every merge.
    pub fn structure(&self, n_groups: usize) -> f64 {
        let squares = |merges: &[Merge]| merges.iter().map(|merge| merge.height * merge.height).sum::<f64>();
        let n_above = n_groups.saturating_sub(1).min(self.merges.len());
        let above = &self.merges[self.merges.len() - n_above..];
        let (all, n_merges) = (squares(&self.merges), self.merges.len() as f64);
        if n_above == 0 || all == 0.0 { 0.0 } else { squares(above) / n_above as f64 / (all / n_merges) }
    }

    /// The nodes of `n_groups` groups.
    fn parts(&self, n_groups: usize, sizes: &[usize]) -> Vec<u32> {
        let n_docs = self.node_sizes(sizes);
        let root = (self.n_clusters + self.merges.len()).saturating_sub(1);
        let large = Self::LARGE_GROUP * n_docs.get(root).map_or(0.0, |&n_docs| n_docs as f64);
        let is_large = |&node: &u32| n_docs[node as usize] as f64 > large && self.merge_of(node).is_some();
        let mut parts: BinaryHeap<u32> = match self.merges.len() {
            0 => self.live.iter().copied().collect(),
            _ => BinaryHeap::from([root as u32]),
        };
        // At most two: together they have no more than all documents.
        let mut larges: Vec<u32> = Vec::new();
        while parts.len() + larges.len() < n_groups {
            // Merges are numbered by height, and after the clusters.
            let largest = (0..larges.len()).max_by_key(|&n| (n_docs[larges[n] as usize], larges[n]));
            let node = match largest {
                Some(n) => larges.swap_remove(n),
                None => parts.pop().expect("there are as many groups as clusters"),
            };
            let Some(merge) = self.merge_of(node) else { unreachable!("no cluster is split") };
            for part in [merge.left, merge.right] {
                if is_large(&part) { larges.push(part) } else { parts.push(part) }
            }
        }
        parts.into_iter().chain(larges).collect()
    }

    fn merge_of(&self, node: u32) -> Option<&Merge> {
        (node as usize).checked_sub(self.n_clusters).map(|position| &self.merges[position])
    }

    /// The number of documents of each node.
    fn node_sizes(&self, sizes: &[usize]) -> Vec<usize> {
        let mut all: Vec<usize> = sizes.iter().copied().take(self.n_clusters).collect();
        all.resize(self.n_clusters, 0);
        for merge in &self.merges {
            all.push(all[merge.left as usize] + all[merge.right as usize]);
        }
        all
    }

    /// The clusters of each merge, by its position.
    pub(super) fn leaves(&self) -> Leaves {
        let mut order = Vec::with_capacity(self.live.len());
        let mut ranges = vec![0..0; self.merges.len()];
        let mut stack: Vec<(u32, bool)> = Vec::new();
        stack.extend(self.merges.len().checked_sub(1).map(|last| ((self.n_clusters + last) as u32, false)));
        while let Some((node, is_done)) = stack.pop() {
            let Some(merge) = self.merge_of(node) else {
                order.push(node);
                continue;
            };
            let range = &mut ranges[node as usize - self.n_clusters];
            if is_done {
                range.end = order.len();
            } else {
                range.start = order.len();
                stack.extend([(node, true), (merge.right, false), (merge.left, false)]);
            }
        }
        Leaves { order, ranges }
    }

    /// The topmost node above each node, itself if it is above the given parts.
    fn tops(&self, parts: &[u32]) -> Vec<u32> {
        let mut tops: Vec<u32> = (0..(self.n_clusters + self.merges.len()) as u32).collect();
        let mut is_inside = vec![false; tops.len()];
        parts.iter().for_each(|&part| is_inside[part as usize] = true);
        // From the last merge to the first, so that the nodes above are known.
        for (position, merge) in self.merges.iter().enumerate().rev() {
            let node = self.n_clusters + position;
            if is_inside[node] {
                for part in [merge.left, merge.right] {
                    (tops[part as usize], is_inside[part as usize]) = (tops[node], true);
                }
            }
        }
        tops
    }
}

/// The clusters of the merges of a tree: each has a range of one list.
pub(super) struct Leaves {
    order: Vec<u32>,
    ranges: Vec<Range<usize>>,
}

impl Leaves {
    /// The clusters of the merge at this position.
    pub(super) fn of(&self, position: usize) -> &[u32] {
        &self.order[self.ranges[position].clone()]
    }
}
