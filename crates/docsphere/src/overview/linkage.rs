//! Which clusters merge into groups, and in which order: Ward's method on the chords between unit
//! centroids, whose squares are `2 - 2 cos`.
//!
//! Each merge is the one that adds the least to the squared distances of centroids to the mean of
//! their group. The groups are of similar size; with average linkage, which was tried first, 500
//! clusters of abstracts gave one group of 496 and four of one. A merge never costs less than an
//! earlier one, so the first merges give the finest groups.
//!
//! Up to [`ALL_PAIRS`] clusters, all pairs count and nothing is approximated (`ward.rs`). Above,
//! clusters merge with their neighbours (`sparse_ward.rs`) until so many groups are left; from then
//! on all pairs of groups count, by their exact means (`means.rs`). So the large groups, which
//! people see, are as good as those of all pairs, given small ones of a few clusters each. A merge
//! that costs less than an earlier one, since its groups were no neighbours, gets the height of the
//! earlier one: heights never fall.
//!
//! **Cost.** All pairs of centroids, or of means, each once (`model/pairs.rs`), and merges with
//! neighbours on all threads; the merges of all pairs on one: 0.3 seconds for 5,000.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::means::Means;
use super::{sparse_ward, ward};
use crate::model::{Model, Neighbour, Pairs};

pub(super) use super::sparse_ward::NEIGHBOURS;

/// The most clusters or groups of which all pairs are compared.
pub(super) const ALL_PAIRS: usize = 5000;

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

/// Upper bound on the memory of the merges of k clusters.
pub(super) fn most_bytes(k: u64, n_terms: u64, n_entries: u64, n_threads: u64) -> u64 {
    let n = k.min(ALL_PAIRS as u64);
    let pairs = Pairs::most_bytes(n, n_terms, n_entries, n_threads);
    let sparse = if k == n {
        0
    } else {
        // Neighbours as given and as places, partners, and means.
        let per_cluster = (16 + 8 + 4 * 8) * NEIGHBOURS as u64 + 400;
        per_cluster * k + 12 * n_entries + 12 * n_terms * n_threads
    };
    6 * n * n + 100 * n + pairs + sparse
}

/// The clusters of a model that are not empty, ascending, and their merges.
pub(super) fn merges(model: &Model, neighbours: &[&[Neighbour]]) -> (Vec<u32>, Vec<Merge>) {
    let live = model.centroids().live();
    if live.len() <= ALL_PAIRS {
        let pairs = Pairs::new(model.centroids(), model.device());
        let steps = ward::merges(&squares(&pairs), vec![1.0; live.len()]);
        let merges = numbered(model.centroids().n_clusters(), &live, &steps, 0.0);
        return (live, merges);
    }
    let n_wanted = NEIGHBOURS.min(live.len() - 1);
    let is_known =
        |&cluster: &u32| neighbours.get(cluster as usize).is_some_and(|near| near.len() >= n_wanted);
    if live.iter().all(is_known) {
        return sparse_merges(model, live, neighbours, ALL_PAIRS);
    }
    let found = model.neighbours(NEIGHBOURS);
    let found: Vec<&[Neighbour]> = found.iter().map(Vec::as_slice).collect();
    sparse_merges(model, live, &found, ALL_PAIRS)
}

/// The squared chord between the centroids of every pair of live clusters, row by row above the
/// diagonal.
fn squares(pairs: &Pairs<'_>) -> Vec<f32> {
    let live = pairs.live();
    let mut squares = above_diagonal(live.len());
    pairs.for_each(true, &mut rows_of(&mut squares, live.len()), |row, position, similarities| {
        for (square, &other) in row.iter_mut().zip(&live[position + 1..]) {
            let chord = (2.0 - 2.0 * similarities[other as usize]).max(0.0).sqrt() as f32;
            *square = chord * chord;
        }
    });
    squares
}

/// A number for each pair of n things, first touched by all threads.
fn above_diagonal(n: usize) -> Vec<f32> {
    (0..n * n.saturating_sub(1) / 2).into_par_iter().with_min_len(1 << 13).map(|_| 0.0).collect()
}

/// Its rows: the numbers of each thing with all later ones.
fn rows_of(numbers: &mut [f32], n: usize) -> Vec<&mut [f32]> {
    let mut rows = Vec::with_capacity(n);
    let mut rest = numbers;
    for position in 0..n {
        let (row, later) = rest.split_at_mut(n - 1 - position);
        rows.push(row);
        rest = later;
    }
    rows
}

/// Merges of clusters or groups with these nodes, the next node being `n_nodes`, as merges of the
/// tree, none below a height.
fn numbered(n_nodes: usize, nodes: &[u32], steps: &[ward::Step], height: f64) -> Vec<Merge> {
    let node = |place: u32| match nodes.get(place as usize) {
        Some(&node) => node,
        None => (n_nodes + place as usize - nodes.len()) as u32,
    };
    let merge = |step: &ward::Step| {
        let (a, b) = (node(step.left), node(step.right));
        Merge { left: a.min(b), right: a.max(b), height: f64::from(step.square.max(0.0).sqrt()).max(height) }
    };
    steps.iter().map(merge).collect()
}

/// The merges of many clusters: of neighbours, until `all_pairs` groups are left, then of these.
fn sparse_merges(
    model: &Model,
    live: Vec<u32>,
    neighbours: &[&[Neighbour]],
    all_pairs: usize,
) -> (Vec<u32>, Vec<Merge>) {
    let centroids = model.centroids();
    let mut places = vec![0u32; centroids.n_clusters()];
    (0..).zip(&live).for_each(|(place, &cluster)| places[cluster as usize] = place);
    let near = |&cluster: &u32| -> Vec<(u32, f32)> {
        let near = neighbours[cluster as usize].iter().take(NEIGHBOURS);
        near.map(|near| (places[near.cluster.index()], near.similarity as f32)).collect()
    };
    let near: Vec<Vec<(u32, f32)>> = live.par_iter().map(near).collect();
    let unions = sparse_ward::unions(&near, all_pairs);
    drop(near);

    let mut nodes: Vec<u32> = live.clone();
    let mut groups: Vec<Vec<u32>> = live.iter().map(|&cluster| vec![cluster]).collect();
    let mut merges = Vec::with_capacity(live.len().saturating_sub(1));
    let mut height = 0.0f64;
    for union in &unions {
        let (a, b) = (union.a as usize, union.b as usize);
        height = height.max(union.square.sqrt());
        let (left, right) = (nodes[a].min(nodes[b]), nodes[a].max(nodes[b]));
        nodes[a] = (centroids.n_clusters() + merges.len()) as u32;
        merges.push(Merge { left, right, height });
        let theirs = std::mem::take(&mut groups[b]);
        groups[a].extend(theirs);
    }
    let nodes: Vec<u32> =
        nodes.into_iter().zip(&groups).filter(|(_, group)| !group.is_empty()).map(|(node, _)| node).collect();
    groups.retain(|group| !group.is_empty());
    groups.par_iter_mut().for_each(|group| group.sort_unstable());

    let sizes: Vec<f32> = groups.iter().map(|group| group.len() as f32).collect();
    let steps = ward::merges(&squares_of_means(model, &groups, &sizes), sizes);
    merges.extend(numbered(centroids.n_clusters() + unions.len(), &nodes, &steps, height));
    (live, merges)
}

/// The squared distances of groups, as Ward's method has them.
fn squares_of_means(model: &Model, groups: &[Vec<u32>], sizes: &[f32]) -> Vec<f32> {
    let means = Means::new(model.centroids(), groups);
    let mut squares = above_diagonal(groups.len());
    let pairs = Pairs::new(&means.directions, model.device());
    pairs.for_each(true, &mut rows_of(&mut squares, groups.len()), |row, own, similarities| {
        let (length, size) = (means.lengths[own], f64::from(sizes[own]));
        for (other, square) in (own + 1..).zip(row.iter_mut()) {
            let (other_length, other_size) = (means.lengths[other], f64::from(sizes[other]));
            let apart = length * length + other_length * other_length
                - 2.0 * length * other_length * similarities[other];
            *square = (2.0 * size * other_size / (size + other_size) * apart.max(0.0)) as f32;
        }
    });
    squares
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    #[cfg(feature = "cuda-emulation")]
    use crate::assign::open_device;
    use crate::fit::SphericalKMeans;
    #[cfg(feature = "cuda-emulation")]
    use crate::model::LentDevice;
    use crate::overview::MergeTree;
    use crate::vectors::{SparseRows, UnitRows};

    /// A model whose clusters are these rows.
    fn model(rows: &[std::collections::BTreeMap<u32, f32>]) -> Model {
        let rows = UnitRows::new(SparseRows::from_maps(20, rows));
        let fit = SphericalKMeans::params(rows.n_rows()).max_iter(1).fit(&rows).unwrap();
        fit.model
    }

    /// The clusters below each merge.
    fn members(n_clusters: usize, merges: &[Merge]) -> Vec<BTreeSet<u32>> {
        let mut all: Vec<BTreeSet<u32>> = (0..n_clusters as u32).map(|cluster| [cluster].into()).collect();
        for merge in merges {
            let union = all[merge.left as usize].union(&all[merge.right as usize]).copied().collect();
            all.push(union);
        }
        all.split_off(n_clusters)
    }

    proptest! {
        /// If every cluster is a neighbour of every other, the tree is that of all pairs, wherever
        /// the neighbours end.
        #[test]
        fn a_tree_of_all_neighbours_is_that_of_all_pairs(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..20, 0.1f32..1.0, 1..9), 2..30),
            all_pairs in 1usize..30,
        ) {
            let model = model(&rows);
            let (live, expected) = merges(&model, &[]);
            let found = model.neighbours(NEIGHBOURS);
            let near: Vec<&[Neighbour]> = found.iter().map(Vec::as_slice).collect();
            let (same_live, found) = sparse_merges(&model, live.clone(), &near, all_pairs);
            prop_assert_eq!(&same_live, &live);
            prop_assert!(found.is_sorted_by(|a, b| a.height <= b.height), "heights never fall");
            let n_clusters = model.centroids().n_clusters();
            for (expected, found) in expected.iter().zip(&found) {
                let is_near = (expected.height - found.height).abs() < 2e-3;
                prop_assert!(is_near, "{} {}", expected.height, found.height);
            }
            // Of merges that cost nearly the same, rounding decides which is first.
            if expected.windows(2).all(|two| two[1].height - two[0].height > 1e-4) {
                let groups = |merges| members(n_clusters, merges).into_iter().collect::<BTreeSet<_>>();
                prop_assert_eq!(groups(&expected), groups(&found));
            }
            prop_assert!(MergeTree::from_merges(n_clusters, live, found).is_ok());
        }

        /// On a device it is the same, also with the means of groups.
        #[cfg(feature = "cuda-emulation")]
        #[test]
        fn a_device_gives_the_same_tree(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..20, 0.1f32..1.0, 1..4), 8..40),
            all_pairs in 5usize..20,
        ) {
            let device = crate::Device::Emulated { launches: u64::MAX };
            let on_device = model(&rows).with_device(LentDevice::new(open_device(device).unwrap()));
            let model = model(&rows);
            prop_assert_eq!(merges(&on_device, &[]), merges(&model, &[]));
            let found = on_device.neighbours(4);
            prop_assert_eq!(&found, &model.neighbours(4));
            let near: Vec<&[Neighbour]> = found.iter().map(Vec::as_slice).collect();
            let [here, there] = [&model, &on_device].map(|model| {
                sparse_merges(model, model.centroids().live(), &near, all_pairs)
            });
            prop_assert_eq!(here, there);
            prop_assert_eq!(on_device.left_device(), None);
        }

        /// With few neighbours it is a tree, and the same for every number of threads.
        #[test]
        fn a_tree_of_few_neighbours_is_a_tree(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..20, 0.1f32..1.0, 1..4), 8..60),
            all_pairs in 1usize..20,
            m in 1usize..5,
        ) {
            let model = model(&rows);
            let live = model.centroids().live();
            let on = |n_threads| {
                let work = || {
                    let found = model.neighbours(m);
                    let near: Vec<&[Neighbour]> = found.iter().map(Vec::as_slice).collect();
                    sparse_merges(&model, live.clone(), &near, all_pairs).1
                };
                crate::threads::on_threads(Some(n_threads), work).unwrap()
            };
            let found = on(1);
            prop_assert!(found.is_sorted_by(|a, b| a.height <= b.height));
            prop_assert!([2, 7].iter().all(|&n_threads| on(n_threads) == found));
            prop_assert!(MergeTree::from_merges(rows.len(), live, found).is_ok());
        }
    }
}
