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
//! **The next pair.** Each cluster has a best pair, and a tournament over the clusters
//! ([`cheapest`]) has the best of all. A merge changes the pairs of the union, and no others. So a
//! cluster whose best pair is gone keeps it as a lower bound on its other pairs: either the pair
//! with the union is no worse, and then it is the best; or the partners are only searched when the
//! bound wins the tournament. Most never do.
//!
//! **Cost.** For n clusters: all pairs of centroids once, or `n * PARTNERS` sparse dot products, on
//! all threads; then for each merge a search in the list of each partner of the union, on all
//! threads if they are many.
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

/// Fewer lists of partners are changed on one thread: each takes about 100 ns.
const SIDE_BY_SIDE: usize = 512;

/// Lists of partners per task.
const TASK_LISTS: usize = 64;

/// Upper bound on the memory of the merges of n clusters: pairs in both directions, or partners and
/// their posting lists, which threads group by term.
pub(in crate::fit) fn most_bytes(n: u64, n_terms: u64, n_threads: u64) -> u64 {
    if n <= ALL_PAIRS as u64 {
        16 * n * n
    } else {
        8192 * n + 8 * n_terms + (28 * n + 4 * n_terms) * n_threads
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

/// The state of the merges. A union has the number of its first cluster.
struct Merging {
    n_live: usize,
    is_live: Vec<bool>,
    /// The lengths of the sums.
    lengths: Vec<f64>,
    /// Ascending, and live. If a has b, then b has a.
    partners: Vec<Vec<Partner>>,
    /// The best pair of each live cluster with one of its partners, or a lower bound on it.
    best: Cheapest,
    /// Whether that is only a bound: the pair is gone.
    is_bound: Vec<bool>,
    /// The cluster into which each has merged.
    merged_into: Vec<u32>,
    /// The least number of partners of a union whose lists are changed on all threads.
    side_by_side: usize,
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
            best: Cheapest::new(Vec::new()),
            is_bound: vec![false; n],
            merged_into: (0..n as u32).collect(),
            side_by_side: if rayon::current_num_threads() > 1 { SIDE_BY_SIDE } else { usize::MAX },
        };
        let best = (0..n as u32).into_par_iter().map(|cluster| merging.best_of(cluster)).collect();
        merging.best = Cheapest::new(best);
        merging
    }

    fn pair(&self, a: u32, partner: Partner) -> Pair {
        let Partner { other, dot } = partner;
        let loss = loss(self.lengths[a as usize], self.lengths[other as usize], f64::from(dot));
        Pair { loss, a: a.min(other), b: a.max(other) }
    }

    fn best_of(&self, cluster: u32) -> Option<Pair> {
        let partners = self.partners[cluster as usize].iter();
        partners.map(|&partner| self.pair(cluster, partner)).min_by(Pair::compare)
    }

    /// The pair that loses least; if nobody has a partner, the two shortest clusters.
    fn next_pair(&mut self) -> (u32, u32) {
        while let Some((cluster, pair)) = self.best.least() {
            if !std::mem::take(&mut self.is_bound[cluster as usize]) {
                return (pair.a, pair.b);
            }
            self.best.set(cluster, self.best_of(cluster));
        }
        let mut shortest: Vec<usize> =
            (0..self.is_live.len()).filter(|&cluster| self.is_live[cluster]).collect();
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
        let joined = joined(&own, &theirs, |other| other != a && other != b);
        let pairs = self.put_union(a, b, &joined);
        let mut best: Option<Pair> = None;
        for (&Partner { other, .. }, pair) in joined.iter().zip(pairs) {
            if best.is_none_or(|best| pair.compare(&best).is_lt()) {
                best = Some(pair);
            }
            match self.best.of(other) {
                // No other partner's pair is below the bound.
                Some(bound) if pair.compare(&bound).is_gt() => {
                    let is_gone = [bound.a, bound.b].iter().any(|&cluster| cluster == a || cluster == b);
                    self.is_bound[other as usize] |= is_gone;
                }
                _ => {
                    self.is_bound[other as usize] = false;
                    self.best.set(other, Some(pair));
                }
            }
        }
        self.partners[left] = joined;
        (self.is_bound[left], self.is_bound[right]) = (false, false);
        self.best.set(b, None);
        self.best.set(a, best);
    }

    /// Puts the union of a and b in their place into the lists of its partners. Its pairs with
    /// them.
    fn put_union(&mut self, a: u32, b: u32, joined: &[Partner]) -> Vec<Pair> {
        if joined.len() < self.side_by_side {
            for &Partner { other, dot } in joined {
                replace(&mut self.partners[other as usize], b, Partner { other: a, dot });
            }
            return joined.iter().map(|&partner| self.pair(a, partner)).collect();
        }
        let mut lists: Vec<Vec<Partner>> =
            joined.iter().map(|partner| std::mem::take(&mut self.partners[partner.other as usize])).collect();
        let this = &*self;
        let put = |(list, &partner): (&mut Vec<Partner>, &Partner)| {
            replace(list, b, Partner { other: a, ..partner });
            this.pair(a, partner)
        };
        let pairs = lists.par_iter_mut().zip(joined).with_min_len(TASK_LISTS).map(put).collect();
        for (list, partner) in lists.into_iter().zip(joined) {
            self.partners[partner.other as usize] = list;
        }
        pairs
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

/// Puts a union in the place of its parts into the partners of another cluster: it has the number
/// of the first, b that of the second.
fn replace(partners: &mut Vec<Partner>, b: u32, union: Partner) {
    let place = |cluster: u32| partners.binary_search_by_key(&cluster, |partner| partner.other);
    match (place(union.other), place(b)) {
        (Ok(first), second) => {
            partners[first] = union;
            if let Ok(second) = second {
                partners.remove(second);
            }
        }
        (Err(first), Ok(second)) => {
            partners.copy_within(first..second, first + 1);
            partners[first] = union;
        }
        (Err(first), Err(_)) => partners.insert(first, union),
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
    use super::*;
    use crate::update::sums_of;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    fn rows(docs: &[std::collections::BTreeMap<u32, i8>]) -> UnitRows<'static> {
        UnitRows::new(SparseRows::from_maps(12, docs))
    }

    impl Merging {
        /// The pair that loses least, of all pairs of partners.
        fn next_by_scan(&self) -> Option<(u32, u32)> {
            let live = (0..self.is_live.len() as u32).filter(|&cluster| self.is_live[cluster as usize]);
            let least = live.filter_map(|cluster| self.best_of(cluster)).min_by(Pair::compare);
            assert!(self.partners.iter().flatten().all(|partner| self.is_live[partner.other as usize]));
            least.map(|pair| (pair.a, pair.b))
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
            docs in prop::collection::vec(prop::collection::btree_map(0u32..11, 1i8..4, 1..6), 2..30),
            n_groups in 1usize..8,
            by_partners in any::<bool>(),
            side_by_side in any::<bool>(),
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
            merging.side_by_side = if side_by_side { 0 } else { usize::MAX };
            while merging.n_live > n_groups {
                let loss = |a: usize, b: usize| {
                    let union: Vec<f64> = plain[a].iter().zip(&plain[b]).map(|(a, b)| a + b).collect();
                    length(&plain[a]) + length(&plain[b]) - length(&union)
                };
                let pairs = live.iter().flat_map(|&a| live.iter().map(move |&b| (a, b)));
                let least = pairs.filter(|(a, b)| a < b).map(|(a, b)| loss(a, b)).fold(f64::INFINITY, f64::min);
                let scanned = merging.next_by_scan();
                let (a, b) = merging.next_pair();
                prop_assert_eq!(Some((a, b)), scanned);
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
            while single.n_live > n_groups[0] {
                let scanned = single.next_by_scan();
                let (a, b) = single.next_pair();
                prop_assert_eq!((a, b), scanned.unwrap_or((a, b)));
                single.merge(a, b);
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
