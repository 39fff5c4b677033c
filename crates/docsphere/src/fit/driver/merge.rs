//! Many clusters merged into few: each time the two whose union loses the least objective.
//!
//! The objective of a cluster is the length of its sum, so a union loses `|a| + |b| - |a + b|`:
//! never less than nothing, and little if the two point the same way or one of them is short.
//! `|a + b|` follows from the lengths and the dot product, and dot products add up when clusters
//! merge, so no sum is touched before the end.
//!
//! Up to [`ALL_PAIRS`] clusters, all pairs count. Above, each cluster has *partners*: the
//! [`PARTNERS`] others that lose least, as far as the [`HEAVY_TERMS`] heaviest terms of each tell,
//! and the next longer and shorter cluster, so that clusters without a common term can merge, too.
//! Dot products of partners are exact; those of others count as 0.
//!
//! **Cost.** For n clusters: all pairs of centroids once, or `n * PARTNERS` sparse dot products;
//! then about `n^2` steps. Memory: 8 bytes per pair, in both directions: at most 75 MB for all
//! pairs, 1 kB per cluster for partners.
//!
//! One tree of merges has a cut at every number of groups ([`cut`]). Below the first wanted cut,
//! all pairs count as soon as there are few enough unions: far below the number of clusters,
//! partners alone would miss good merges.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::by_key::ByKey;
use crate::centroids::{Centroid, Centroids};
use crate::model::Pairs;
use crate::update::Sums;

/// The most clusters for which all pairs are compared.
pub(super) const ALL_PAIRS: usize = 3072;

/// Partners of a cluster before the first merge.
const PARTNERS: usize = 64;

/// Terms of a cluster that tell who its partners may be.
const HEAVY_TERMS: usize = 64;

/// Upper bound on the memory of the merges of n clusters: pairs in both directions, or partners and
/// their posting lists.
pub(in crate::fit) fn most_bytes(n: u64, n_threads: u64) -> u64 {
    if n <= ALL_PAIRS as u64 { 16 * n * n } else { 8192 * n + 16 * n * n_threads }
}

/// The same for cuts of a tree, which may need both, one after the other.
pub(in crate::fit) fn most_bytes_of_cuts(n: u64, n_threads: u64) -> u64 {
    most_bytes(n, n_threads).max(most_bytes(n.min(ALL_PAIRS as u64), n_threads))
}

/// The centroids of `n_groups` groups of clusters, or of fewer if fewer clusters are not empty, in
/// the order of their first clusters. `centroids` are the directions of the sums.
pub(super) fn merged(sums: &Sums, centroids: &Centroids, n_groups: usize) -> Vec<Centroid> {
    let mut merging = Merging::new(sums, centroids, ALL_PAIRS, n_groups);
    while merging.n_live > n_groups {
        let (a, b) = merging.next_pair();
        merging.merge(a, b);
    }
    sums.group_centroids(&merging.groups())
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

/// A cluster or union with which another may merge, and the dot product of their sums.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Partner {
    other: u32,
    dot: f32,
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

/// The state of the merges. A union has the number of its first cluster.
struct Merging {
    n_live: usize,
    is_live: Vec<bool>,
    /// The lengths of the sums.
    lengths: Vec<f64>,
    /// Ascending; some have merged since. If a has b, then b has a.
    partners: Vec<Vec<Partner>>,
    /// The best pair of each live cluster with one of its partners.
    best: Vec<Option<Pair>>,
    /// The cluster into which each has merged.
    merged_into: Vec<u32>,
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
        let mut merging = Merging {
            n_live,
            is_live,
            lengths,
            partners,
            best: Vec::new(),
            merged_into: (0..n as u32).collect(),
        };
        merging.best = (0..n as u32).into_par_iter().map(|cluster| merging.best_of(cluster)).collect();
        merging
    }

    fn pair(&self, a: u32, partner: Partner) -> Pair {
        let Partner { other, dot } = partner;
        let loss = loss(self.lengths[a as usize], self.lengths[other as usize], f64::from(dot));
        Pair { loss, a: a.min(other), b: a.max(other) }
    }

    fn best_of(&self, cluster: u32) -> Option<Pair> {
        let live =
            self.partners[cluster as usize].iter().filter(|partner| self.is_live[partner.other as usize]);
        live.map(|&partner| self.pair(cluster, partner)).min_by(Pair::compare)
    }

    /// The pair that loses least; if nobody has a partner, the two shortest clusters.
    fn next_pair(&self) -> (u32, u32) {
        let live = || (0..self.best.len()).filter(|&cluster| self.is_live[cluster]);
        if let Some(pair) = live().filter_map(|cluster| self.best[cluster]).min_by(Pair::compare) {
            return (pair.a, pair.b);
        }
        let mut shortest: Vec<usize> = live().collect();
        shortest.sort_by(|&a, &b| self.lengths[a].total_cmp(&self.lengths[b]));
        (shortest[0].min(shortest[1]) as u32, shortest[0].max(shortest[1]) as u32)
    }

    /// Merges b into a, which is smaller.
    fn merge(&mut self, a: u32, b: u32) {
        let (left, right) = (a as usize, b as usize);
        let dot = self.partners[left].binary_search_by_key(&b, |partner| partner.other);
        let dot = dot.map_or(0.0, |place| f64::from(self.partners[left][place].dot));
        let (x, y) = (self.lengths[left], self.lengths[right]);
        self.lengths[left] = (x * x + y * y + 2.0 * dot).max(0.0).sqrt();
        self.is_live[right] = false;
        self.merged_into[right] = a;
        self.n_live -= 1;
        let theirs = std::mem::take(&mut self.partners[right]);
        let own = std::mem::take(&mut self.partners[left]);
        self.partners[left] = joined(&own, &theirs, |other| other != a && self.is_live[other as usize]);
        for place in 0..self.partners[left].len() {
            let Partner { other, dot } = self.partners[left][place];
            let (x, partner) = (other as usize, Partner { other: a, dot });
            let of_other = &mut self.partners[x];
            match of_other.binary_search_by_key(&a, |partner| partner.other) {
                Ok(place) => of_other[place] = partner,
                Err(place) => of_other.insert(place, partner),
            }
            let pair = self.pair(other, partner);
            let was_best = self.best[x].is_none_or(|best| [best.a, best.b].iter().any(|&c| c == a || c == b));
            if was_best {
                self.best[x] = self.best_of(other);
            } else if self.best[x].is_some_and(|best| pair.compare(&best).is_lt()) {
                self.best[x] = Some(pair);
            }
        }
        (self.best[right], self.best[left]) = (None, self.best_of(a));
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

/// Every live cluster as a partner of every other.
fn all_partners(centroids: &Centroids, lengths: &[f64]) -> Vec<Vec<Partner>> {
    let pairs = Pairs::new(centroids);
    let mut found: Vec<Vec<Partner>> = vec![Vec::new(); pairs.live().len()];
    pairs.for_each(false, &mut found, |found, position, similarities| {
        let own = pairs.live()[position];
        let others = pairs.live().iter().filter(|&&other| other != own);
        *found = others
            .map(|&other| {
                let cosine = similarities[other as usize];
                let dot = (cosine * (lengths[own as usize] * lengths[other as usize])) as f32;
                Partner { other, dot }
            })
            .collect();
    });
    let mut all = vec![Vec::new(); centroids.n_clusters()];
    pairs.live().iter().zip(found).for_each(|(&cluster, found)| all[cluster as usize] = found);
    all
}

/// The partners of each live cluster; see the [module](self).
fn some_partners(sums: &Sums, lengths: &[f64], n_terms: usize) -> Vec<Vec<Partner>> {
    let n = lengths.len();
    let heavy: Vec<Vec<(u32, f64)>> =
        (0..n).into_par_iter().map(|cluster| sums.heaviest(cluster, HEAVY_TERMS)).collect();
    let entries = (0..).zip(&heavy).flat_map(|(cluster, heavy)| {
        let cluster: u32 = cluster;
        heavy.iter().map(move |&(term, value)| (term, (cluster, value)))
    });
    let postings = ByKey::new(n_terms, entries);
    let nearest = |(dots, touched): &mut (Vec<f64>, Vec<u32>), cluster: usize| {
        for &(term, value) in &heavy[cluster] {
            for &(other, other_value) in postings.of(term) {
                if dots[other as usize] == 0.0 {
                    touched.push(other);
                }
                dots[other as usize] += value * other_value;
            }
        }
        let mut ranked: Vec<Pair> = Vec::with_capacity(touched.len());
        for other in touched.drain(..) {
            let dot = std::mem::take(&mut dots[other as usize]);
            // A cluster whose sum came back to zero is there twice, the second time with 0.
            if other as usize != cluster && dot != 0.0 {
                let loss = loss(lengths[cluster], lengths[other as usize], dot);
                ranked.push(Pair { loss, a: cluster as u32, b: other });
            }
        }
        if ranked.len() > PARTNERS {
            ranked.select_nth_unstable_by(PARTNERS, Pair::compare);
            ranked.truncate(PARTNERS);
        }
        ranked.into_iter().map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect::<Vec<_>>()
    };
    let found: Vec<Vec<(u32, u32)>> =
        (0..n).into_par_iter().map_init(|| (vec![0.0; n], Vec::new()), nearest).collect();
    let mut pairs = found.concat();
    let mut by_length: Vec<u32> = (0..n as u32).filter(|&cluster| lengths[cluster as usize] > 0.0).collect();
    by_length.sort_by(|&a, &b| lengths[a as usize].total_cmp(&lengths[b as usize]));
    pairs.extend(by_length.windows(2).map(|two| (two[0].min(two[1]), two[0].max(two[1]))));
    pairs.par_sort_unstable();
    pairs.dedup();
    let dots: Vec<f32> = pairs.par_iter().map(|&(a, b)| sums.dot(a as usize, b as usize) as f32).collect();
    let mut partners = vec![Vec::new(); n];
    for (&(a, b), &dot) in pairs.iter().zip(&dots) {
        partners[a as usize].push(Partner { other: b, dot });
        partners[b as usize].push(Partner { other: a, dot });
    }
    partners.par_iter_mut().for_each(|list| list.sort_unstable_by_key(|partner| partner.other));
    partners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::sums_of;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    fn rows(docs: &[std::collections::BTreeMap<u32, i8>]) -> UnitRows<'static> {
        UnitRows::new(SparseRows::from_maps(12, docs))
    }

    fn length(sum: &[f64]) -> f64 {
        sum.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    proptest! {
        /// With all pairs, and with partners if every two clusters share a term and are few: each
        /// merge loses no more than any other would.
        #[test]
        fn every_merge_is_the_cheapest(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..11, 1i8..4, 1..6), 2..30),
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
            while merging.n_live > n_groups {
                let loss = |a: usize, b: usize| {
                    let union: Vec<f64> = plain[a].iter().zip(&plain[b]).map(|(a, b)| a + b).collect();
                    length(&plain[a]) + length(&plain[b]) - length(&union)
                };
                let pairs = live.iter().flat_map(|&a| live.iter().map(move |&b| (a, b)));
                let least = pairs.filter(|(a, b)| a < b).map(|(a, b)| loss(a, b)).fold(f64::INFINITY, f64::min);
                let (a, b) = merging.next_pair();
                prop_assert!(loss(a as usize, b as usize) <= least + 1e-4);
                merging.merge(a, b);
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
                    prop_assert_eq!(sums.group_centroids(groups), merged(&sums, &centroids, wanted));
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
            while single.n_live > n_groups[0] {
                let (a, b) = single.next_pair();
                single.merge(a, b);
            }
            prop_assert_eq!(&cuts[0], &single.groups());
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
        assert_eq!(merged(&sums, &centroids, 2).len(), 2);
        assert_eq!(merged(&sums, &centroids, 9).len(), 4, "an empty cluster is in no group");
    }
}
