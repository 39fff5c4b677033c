//! Many clusters merged into few: each time the two whose union loses the least objective.
//!
//! The objective of a cluster is the length of its sum, so a union loses `|a| + |b| - |a + b|`:
//! never less than nothing, and little if the two point the same way or one of them is short.
//! `|a + b|` follows from the lengths and the dot product, and dot products add up when clusters
//! merge, so no sum is touched before the end.
//!
//! Up to [`ALL_PAIRS`] clusters, all pairs count. Above, each cluster has *partners*: the
//! [`PARTNERS`](partners::PARTNERS) others that lose least, as far as the
//! [`HEAVY_TERMS`](partners::HEAVY_TERMS) heaviest terms of each tell, those of which it is one,
//! and the next longer and shorter cluster, so that clusters without a common term can merge, too.
//! Dot products of partners are exact; those of others count as 0.
//!
//! **The next pair.** Clusters are *nodes*, and so is every union. A node has the list of its
//! partners at the time when it was made; the pairs with older nodes are its own. A tournament over
//! the clusters ([`cheapest`]) has the best own pair of each node, and so the best pair of all. A
//! merge changes no list of other nodes. So the older node of a best pair may have merged: then the
//! pair is a lower bound on the other own pairs of the younger one, which are searched when it wins
//! the tournament. Most never do.
//!
//! **Dot products.** When a node merges, its list is brought up to date: partners that have merged
//! count as their unions, from the oldest to the youngest. So dot products of parts are added up
//! two at a time, as the parts merged, whichever of the lists is asked for them.
//!
//! **Cost.** For n clusters: all pairs of centroids once, or `n * PARTNERS` sparse dot products, on
//! all threads; then for each merge one pass over the lists of its two parts, on one thread.
//! Memory: 8 bytes per pair, in both directions: at most 75 MB for all pairs, 1 kB per cluster for
//! partners.
//!
//! One tree of merges has a cut at every number of groups ([`cut`]). Below the first wanted cut,
//! all pairs count as soon as there are few enough unions: far below the number of clusters,
//! partners alone would miss good merges.

mod cheapest;
mod partners;

use std::cmp::Ordering;

use rayon::prelude::*;

use self::cheapest::Cheapest;
use self::partners::{Partner, all_partners, some_partners};
use crate::centroids::{Centroid, Centroids};
use crate::clock::Clock;
use crate::record::SeedingSeconds;
use crate::update::Sums;

/// The most clusters for which all pairs are compared.
pub(super) const ALL_PAIRS: usize = 3072;

/// In no union yet.
const TOP: u32 = u32::MAX;

/// Upper bound on the memory of the merges of n clusters: pairs in both directions, or partners and
/// their posting lists, which threads group by term; and a sum by term in each thread.
pub(in crate::fit) fn most_bytes(n: u64, n_terms: u64, n_threads: u64) -> u64 {
    if n <= ALL_PAIRS as u64 {
        16 * n * n
    } else {
        8192 * n + 8 * n_terms + (28 * n + 12 * n_terms) * n_threads
    }
}

/// The same for cuts of a tree, which may need both, one after the other.
pub(in crate::fit) fn most_bytes_of_cuts(n: u64, n_terms: u64, n_threads: u64) -> u64 {
    most_bytes(n, n_terms, n_threads).max(most_bytes(n.min(ALL_PAIRS as u64), n_terms, n_threads))
}

/// The centroids of `n_groups` groups of clusters, or of fewer if fewer clusters are not empty, in
/// the order of their first clusters. `centroids` are the directions of the sums.
pub(super) fn merged(
    sums: &Sums,
    centroids: &Centroids,
    n_groups: usize,
    seconds: &mut SeedingSeconds,
) -> Vec<Centroid> {
    let mut clock = Clock::start();
    let mut merging = Merging::new(sums, centroids, ALL_PAIRS, n_groups);
    clock.lap(&mut seconds.partners);
    while merging.n_live > n_groups {
        let (a, b) = merging.next_pair();
        merging.merge(a, b);
    }
    let list = sums.group_centroids(&merging.groups());
    clock.lap(&mut seconds.merge);
    list
}

/// The groups of clusters at some numbers of groups, which descend: for each cut the group of every
/// cluster, as [`Merging::groups`] has them. The first cut is that of [`merged`].
pub(super) fn cut(
    sums: &Sums,
    centroids: &Centroids,
    n_groups: &[usize],
    all_pairs: usize,
) -> Vec<Vec<Option<u32>>> {
    let fewest = n_groups.last().copied().unwrap_or(0);
    let mut merging = Merging::new(sums, centroids, all_pairs, fewest);
    let mut has_partners_only = merging.n_live > all_pairs;
    // The unions since when all pairs count.
    let mut unions: Option<Vec<Option<u32>>> = None;
    let mut cuts = Vec::with_capacity(n_groups.len());
    for &n_groups in n_groups {
        while merging.n_live > n_groups {
            if has_partners_only && !cuts.is_empty() && merging.n_live <= all_pairs {
                let groups = merging.groups();
                let (sums, centroids) = sums.grouped(&groups, centroids.n_terms());
                merging = Merging::new(&sums, &centroids, all_pairs, fewest);
                (unions, has_partners_only) = (Some(groups), false);
                continue;
            }
            let (a, b) = merging.next_pair();
            merging.merge(a, b);
        }
        let groups = merging.groups();
        cuts.push(match &unions {
            Some(unions) => unions.iter().map(|union| groups[(*union)? as usize]).collect(),
            None => groups,
        });
    }
    cuts
}

/// Two clusters and what their union loses.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    loss: f64,
    a: u32,
    b: u32,
}

impl Pair {
    fn compare(&self, other: &Self) -> Ordering {
        self.loss.total_cmp(&other.loss).then((self.a, self.b).cmp(&(other.a, other.b)))
    }
}

/// What the union of two sums with these lengths and this dot product loses.
fn loss(a: f64, b: f64, dot: f64) -> f64 {
    a + b - (a * a + b * b + 2.0 * dot).max(0.0).sqrt()
}

/// A cluster or union.
struct Node {
    /// The length of the sum.
    length: f64,
    /// The union that it has become a part of, or [`TOP`].
    into: u32,
    /// Its first cluster, by which pairs know it.
    name: u32,
}

/// The state of the merges. Nodes are numbered in the order in which they were made.
struct Merging {
    n_live: usize,
    nodes: Vec<Node>,
    /// By node, ascending by node, as of when it was made; empty once it has merged. If a has b,
    /// then b has a, or the union into which a has merged is younger than b.
    partners: Vec<Vec<Partner>>,
    /// By cluster: the node that it names.
    named: Vec<u32>,
    is_live: Vec<bool>,
    /// The cluster into which each has merged.
    merged_into: Vec<u32>,
    /// The best own pair of the node that each live cluster names, or a lower bound on it.
    best: Cheapest,
    /// The older node of that pair. If it has merged, the pair is only a bound.
    older: Vec<u32>,
    raised: Raised,
}

impl Merging {
    fn new(sums: &Sums, centroids: &Centroids, all_pairs: usize, n_groups: usize) -> Self {
        let n = centroids.n_clusters();
        let lengths: Vec<f64> = sums.lengths();
        let is_live: Vec<bool> = lengths.iter().map(|&length| length > 0.0).collect();
        let n_live = is_live.iter().filter(|&&live| live).count();
        let partners = if n_live <= n_groups {
            vec![Vec::new(); n]
        } else if n_live <= all_pairs {
            all_partners(centroids, &lengths)
        } else {
            some_partners(sums, &lengths, centroids.n_terms())
        };
        let node = |(name, length)| Node { length, into: TOP, name };
        let mut merging = Merging {
            n_live,
            nodes: (0..).zip(lengths).map(node).collect(),
            partners,
            named: (0..n as u32).collect(),
            is_live,
            merged_into: (0..n as u32).collect(),
            best: Cheapest::new(Vec::new()),
            older: Vec::new(),
            raised: Raised::default(),
        };
        let best: Vec<Option<(Pair, u32)>> =
            (0..n as u32).into_par_iter().map(|node| merging.best_of(node)).collect();
        merging.best = Cheapest::new(best.iter().map(|best| best.map(|best| best.0)).collect());
        merging.older = best.iter().map(|best| best.map_or(TOP, |best| best.1)).collect();
        merging
    }

    /// The best own pair of a node that has not merged, and its older node.
    fn best_of(&self, node: u32) -> Option<(Pair, u32)> {
        let list = &self.partners[node as usize];
        self.best_among(node, &list[..list.partition_point(|partner| partner.other < node)])
    }

    /// The best pair of a node with one of these partners, and that one.
    fn best_among(&self, node: u32, partners: &[Partner]) -> Option<(Pair, u32)> {
        let Node { length, name, .. } = self.nodes[node as usize];
        let mut best: Option<(Pair, u32)> = None;
        for &Partner { other, dot } in partners {
            let theirs = &self.nodes[other as usize];
            if theirs.into != TOP {
                continue;
            }
            let loss = loss(length, theirs.length, f64::from(dot));
            // Most are worse: names are for ties.
            if best.is_some_and(|(best, _)| loss > best.loss) {
                continue;
            }
            let pair = Pair { loss, a: name.min(theirs.name), b: name.max(theirs.name) };
            if best.is_none_or(|(best, _)| pair.compare(&best).is_lt()) {
                best = Some((pair, other));
            }
        }
        best
    }

    fn set_best(&mut self, cluster: u32, best: Option<(Pair, u32)>) {
        self.older[cluster as usize] = best.map_or(TOP, |best| best.1);
        self.best.set(cluster, best.map(|best| best.0));
    }

    /// The pair that loses least; if nobody has a partner, the two shortest clusters.
    fn next_pair(&mut self) -> (u32, u32) {
        while let Some((cluster, pair)) = self.best.least() {
            if self.nodes[self.older[cluster as usize] as usize].into == TOP {
                return (pair.a, pair.b);
            }
            self.set_best(cluster, self.best_of(self.named[cluster as usize]));
        }
        let mut shortest: Vec<usize> =
            (0..self.is_live.len()).filter(|&cluster| self.is_live[cluster]).collect();
        let length = |cluster: usize| self.nodes[self.named[cluster] as usize].length;
        shortest.sort_by(|&a, &b| length(a).total_cmp(&length(b)));
        (shortest[0].min(shortest[1]) as u32, shortest[0].max(shortest[1]) as u32)
    }

    /// Merges b into a, which is smaller.
    fn merge(&mut self, a: u32, b: u32) {
        let (left, right) = (self.named[a as usize], self.named[b as usize]);
        let [own, theirs] = [left, right].map(|node| {
            let list = std::mem::take(&mut self.partners[node as usize]);
            self.raised.partners(&self.nodes, list)
        });
        let dot = own.binary_search_by_key(&right, |partner| partner.other);
        let dot = dot.map_or(0.0, |place| f64::from(own[place].dot));
        let (x, y) = (self.nodes[left as usize].length, self.nodes[right as usize].length);
        let length = (x * x + y * y + 2.0 * dot).max(0.0).sqrt();
        let union = self.nodes.len() as u32; // fits: below twice MAX_CLUSTERS
        self.nodes.push(Node { length, into: TOP, name: a });
        self.nodes[left as usize].into = union;
        self.nodes[right as usize].into = union;
        self.named[a as usize] = union;
        self.is_live[b as usize] = false;
        self.merged_into[b as usize] = a;
        self.n_live -= 1;
        let joined = joined(&own, &theirs, |other| other != left && other != right);
        self.set_best(b, None);
        self.set_best(a, self.best_among(union, &joined));
        self.partners.push(joined);
    }

    /// The group of each cluster, numbered in the order of their first clusters; `None` for empty
    /// clusters.
    fn groups(&self) -> Vec<Option<u32>> {
        let mut groups: Vec<Option<u32>> = vec![None; self.is_live.len()];
        let mut n_groups = 0;
        for cluster in 0..groups.len() {
            let into = self.merged_into[cluster] as usize;
            groups[cluster] = match self.is_live[cluster] {
                true => {
                    n_groups += 1;
                    Some(n_groups - 1)
                }
                // A union has the number of its first cluster, so that one is known.
                false => groups[into],
            };
        }
        groups
    }
}

/// Brings lists of partners up to date. It is empty between two lists.
#[derive(Default)]
struct Raised {
    /// By node: whether it is a partner, or the union of some. A bit each.
    present: Vec<u64>,
    /// By node: the dot product, if it is.
    dots: Vec<f32>,
}

impl Raised {
    /// The same partners as they are now: those that have merged as their unions.
    fn partners(&mut self, nodes: &[Node], mut list: Vec<Partner>) -> Vec<Partner> {
        self.present.resize(nodes.len().div_ceil(64), 0);
        self.dots.resize(nodes.len(), 0.0);
        let first = list.first().map_or(nodes.len(), |partner| partner.other as usize);
        list.drain(..).for_each(|partner| self.add(partner));
        // A union is younger than its parts, of which there are two.
        for word in first / 64..self.present.len() {
            while self.present[word] != 0 {
                let node = 64 * word + self.present[word].trailing_zeros() as usize;
                self.present[word] &= self.present[word] - 1;
                let dot = self.dots[node];
                match nodes[node].into {
                    TOP => list.push(Partner { other: node as u32, dot }),
                    union => self.add(Partner { other: union, dot }),
                }
            }
        }
        list
    }

    fn add(&mut self, partner: Partner) {
        let Partner { other, dot } = partner;
        let (word, bit) = (other as usize / 64, 1u64 << (other % 64));
        let sum = &mut self.dots[other as usize];
        *sum = if self.present[word] & bit == 0 { dot } else { *sum + dot };
        self.present[word] |= bit;
    }
}

/// The partners of a union: those of either that pass, with the sums of the dot products.
fn joined(a: &[Partner], b: &[Partner], passes: impl Fn(u32) -> bool) -> Vec<Partner> {
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.other == y.other => {
                let both = a.next().zip(b.next());
                both.map(|(x, y)| Partner { other: x.other, dot: x.dot + y.dot })
            }
            (Some(x), Some(y)) if x.other < y.other => a.next().copied(),
            (Some(_), None) => a.next().copied(),
            _ => b.next().copied(),
        };
        let Some(next) = next else { return all };
        if passes(next.other) {
            all.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::update::sums_of;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    fn rows(docs: &[std::collections::BTreeMap<u32, i8>]) -> UnitRows<'static> {
        UnitRows::new(SparseRows::from_maps(12, docs))
    }

    /// The same merges by their definition: of all pairs the best, and every merge changes the dot
    /// products of all.
    struct Plain {
        lengths: Vec<f64>,
        dots: BTreeMap<(u32, u32), f32>,
    }

    impl Plain {
        fn new(merging: &Merging) -> Self {
            let mut dots = BTreeMap::new();
            for (a, list) in (0..).zip(&merging.partners) {
                list.iter().for_each(|partner| {
                    let before = dots.insert((a.min(partner.other), a.max(partner.other)), partner.dot);
                    assert!(before.is_none_or(|dot| dot == partner.dot), "the same in both directions");
                });
            }
            Plain { lengths: merging.nodes.iter().map(|node| node.length).collect(), dots }
        }

        fn next_pair(&self) -> Option<(u32, u32)> {
            let length = |cluster: u32| self.lengths[cluster as usize];
            let pairs = self.dots.iter().map(|(&(a, b), &dot)| {
                let loss = loss(length(a), length(b), f64::from(dot));
                Pair { loss, a, b }
            });
            pairs.min_by(Pair::compare).map(|pair| (pair.a, pair.b))
        }

        fn merge(&mut self, a: u32, b: u32) {
            let (x, y) = (self.lengths[a as usize], self.lengths[b as usize]);
            let dot = self.dots.remove(&(a, b)).map_or(0.0, f64::from);
            self.lengths[a as usize] = (x * x + y * y + 2.0 * dot).max(0.0).sqrt();
            for other in (0..self.lengths.len() as u32).filter(|&other| other != a && other != b) {
                if let Some(theirs) = self.dots.remove(&(b.min(other), b.max(other))) {
                    let own = self.dots.entry((a.min(other), a.max(other)));
                    own.and_modify(|own| *own += theirs).or_insert(theirs);
                }
            }
        }
    }

    fn length(sum: &[f64]) -> f64 {
        sum.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    proptest! {
        /// With all pairs, and with partners if every two clusters share a term and are few: each
        /// merge loses no more than any other would.
        #[test]
        fn every_merge_is_the_cheapest(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..11, 1i8..4, 1..6), 2..100),
            n_groups in 1usize..8,
            by_partners in any::<bool>(),
        ) {
            let mut docs = docs;
            docs.iter_mut().for_each(|doc| {
                doc.insert(11, 1);
            });
            let rows = rows(&docs);
            let labels: Vec<u32> = (0..docs.len() as u32).map(|doc| doc / 2).collect();
            let n_clusters = docs.len().div_ceil(2);
            let (sums, centroids) = sums_of(&rows, &labels, n_clusters + 1);
            let mut plain = vec![vec![0.0; 12]; n_clusters];
            for (doc, &label) in labels.iter().enumerate() {
                let row = rows.row(doc);
                row.iter().for_each(|(term, x)| plain[label as usize][term as usize] += f64::from(x));
            }
            let mut live: Vec<usize> = (0..n_clusters).collect();
            let all_pairs = if by_partners { 0 } else { usize::MAX };
            let mut merging = Merging::new(&sums, &centroids, all_pairs, n_groups);
            let mut definition = Plain::new(&merging);
            while merging.n_live > n_groups {
                let loss = |a: usize, b: usize| {
                    let union: Vec<f64> = plain[a].iter().zip(&plain[b]).map(|(a, b)| a + b).collect();
                    length(&plain[a]) + length(&plain[b]) - length(&union)
                };
                let pairs = live.iter().flat_map(|&a| live.iter().map(move |&b| (a, b)));
                let least = pairs.filter(|(a, b)| a < b).map(|(a, b)| loss(a, b)).fold(f64::INFINITY, f64::min);
                let (a, b) = merging.next_pair();
                prop_assert_eq!(Some((a, b)), definition.next_pair());
                prop_assert!(loss(a as usize, b as usize) <= least + 1e-4);
                merging.merge(a, b);
                definition.merge(a, b);
                let theirs = std::mem::take(&mut plain[b as usize]);
                plain[a as usize].iter_mut().zip(theirs).for_each(|(sum, x)| *sum += x);
                live.retain(|&cluster| cluster != b as usize);
            }
            prop_assert_eq!(merging.n_live, live.len());
        }
    }

    proptest! {
        /// Every cut is a coarsening of the cut before, and the first is what a merge to that
        /// number gives; with all pairs, every cut is.
        #[test]
        fn cuts_are_nested_and_those_of_single_merges(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..12, 1i8..4, 1..6), 6..40),
            mut n_groups in prop::collection::vec(1usize..12, 1..4),
            all_pairs in prop::sample::select(vec![0usize, 5, usize::MAX]),
        ) {
            n_groups.sort_unstable_by(|a, b| b.cmp(a));
            n_groups.dedup();
            let rows = rows(&docs);
            let labels: Vec<u32> = (0..docs.len() as u32).map(|doc| doc / 2).collect();
            let (sums, centroids) = sums_of(&rows, &labels, docs.len().div_ceil(2) + 1);
            let cuts = cut(&sums, &centroids, &n_groups, all_pairs);
            prop_assert_eq!(cuts.len(), n_groups.len());
            for (place, (groups, &wanted)) in cuts.iter().zip(&n_groups).enumerate() {
                let n_found = groups.iter().flatten().max().map_or(0, |&last| last as usize + 1);
                let n_live = docs.len().div_ceil(2);
                prop_assert_eq!(n_found, wanted.min(n_live));
                if all_pairs == usize::MAX {
                    prop_assert_eq!(sums.group_centroids(groups), merged(&sums, &centroids, wanted, &mut SeedingSeconds::default()));
                }
                if place > 0 {
                    let mut into = std::collections::BTreeMap::new();
                    for (fine, coarse) in cuts[place - 1].iter().zip(groups) {
                        prop_assert_eq!(fine.is_some(), coarse.is_some());
                        prop_assert_eq!(into.entry(fine).or_insert(coarse), &coarse);
                    }
                }
            }
            let mut single = Merging::new(&sums, &centroids, all_pairs, n_groups[0]);
            let mut definition = Plain::new(&single);
            while single.n_live > n_groups[0] {
                let (a, b) = single.next_pair();
                prop_assert_eq!((a, b), definition.next_pair().unwrap_or((a, b)));
                single.merge(a, b);
                definition.merge(a, b);
            }
            prop_assert_eq!(&cuts[0], &single.groups());
        }
    }

    #[test]
    fn a_cluster_whose_members_cancel_out_merges_with_none() {
        let doc = |pairs: &[(u32, i8)]| pairs.iter().copied().collect();
        let docs = [doc(&[(0, 1)]), doc(&[(0, -1)]), doc(&[(0, 1), (1, 1)]), doc(&[(1, 1)]), doc(&[(2, 1)])];
        let rows = rows(&docs);
        let (sums, _) = sums_of(&rows, &[0, 0, 1, 2, 3], 4);
        // It has kept the centroid of an earlier iteration, which is near another.
        let kept = [doc(&[(0, 1), (1, 1)]), doc(&[(0, 1), (1, 1)]), doc(&[(1, 1)]), doc(&[(2, 1)])];
        let centroids = Centroids::from_rows(SparseRows::from_maps(12, &kept));
        for all_pairs in [0, usize::MAX] {
            let mut merging = Merging::new(&sums, &centroids, all_pairs, 2);
            assert_eq!(merging.next_pair(), (1, 2), "{all_pairs}");
            merging.merge(1, 2);
            assert_eq!(merging.groups(), [None, Some(0), Some(0), Some(1)]);
        }
    }

    #[test]
    fn clusters_that_point_the_same_way_merge_first() {
        let doc = |pairs: &[(u32, i8)]| pairs.iter().copied().collect();
        let docs = [doc(&[(0, 3), (1, 1)]), doc(&[(5, 1)]), doc(&[(0, 3), (2, 1)]), doc(&[(5, 2), (6, 1)])];
        let rows = rows(&docs);
        let (sums, centroids) = sums_of(&rows, &[0, 1, 3, 4], 5);
        let mut merging = Merging::new(&sums, &centroids, 10, 2);
        while merging.n_live > 2 {
            let (a, b) = merging.next_pair();
            merging.merge(a, b);
        }
        assert_eq!(merging.groups(), [Some(0), Some(1), None, Some(0), Some(1)]);
        let seeds = |n_groups| merged(&sums, &centroids, n_groups, &mut SeedingSeconds::default());
        assert_eq!(seeds(2).len(), 2);
        assert_eq!(seeds(9).len(), 4, "an empty cluster is in no group");
    }
}
