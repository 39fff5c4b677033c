//! Ward's method on the nearest neighbours of each cluster, for many clusters.
//!
//! Groups of clusters have the sums of their centroids. With sums A and B of a and b centroids,
//! the squared distance is that of Ward's method on all pairs:
//!
//! ```text
//! 2 a b / (a + b) |A / a - B / b|^2 = 2 a b / (a + b) (|A|^2 / a^2 + |B|^2 / b^2 - 2 A.B / (a b))
//! ```
//!
//! Lengths and dot products of sums follow from those of their parts. Here only neighbours have
//! dot products: a cluster and its [`NEIGHBOURS`] nearest others, in both directions. The dot
//! product of two centroids that are not neighbours counts as 0, and only groups with neighbours in
//! each other may merge: each time the nearest two. That is what all pairs would give as long as
//! groups are small, since their nearest others are among the neighbours of their clusters, and
//! gets coarse as they grow. So it ends when few enough groups are left for all pairs
//! ([`tree`](super::tree)).
//!
//! If the neighbours leave too many groups without any other, the smallest groups merge, on a tie
//! the first. (It takes more than `61 * ALL_PAIRS` clusters.)
//!
//! Merges come in rounds, whose work is done on all threads: two groups that are each other's
//! nearest merge, whatever the others do. A union is hardly ever nearer to a third group than its
//! parts were, so this gives the groups that one merge after the other gives. Of a round only the
//! nearest pairs merge, at most a quarter of the merges that are left, so that none merges that
//! would not before few enough groups are left. Which merges come in which order does not depend
//! on threads: each list is changed by one task, and dot products are added up in an order that is
//! the same seen from either group.
//!
//! **Cost.** For k clusters with m neighbours: `k m` numbers to begin with, then dozens of rounds.
//! In each every list is read once, and those with a group that has merged are changed. One thread
//! alone only moves the lists of groups that merge.
//! Memory: 8 bytes per neighbour, in both directions, and about 100 per cluster.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::by_key::ByKey;

/// Neighbours of a cluster.
pub(super) const NEIGHBOURS: usize = 60;

/// Of the merges that are left, at most one in so many is in the next round.
const PART_OF_LEFT: usize = 4;

/// Of the groups that are each other's nearest, the same.
const PART_OF_MUTUAL: usize = 2;

/// Groups per task, at least.
const MIN_GROUPS: usize = 64;

/// A merge of two groups. A group has the number of its first cluster, as a place in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Union {
    pub(super) a: u32,
    /// Greater than `a`, which names the union.
    pub(super) b: u32,
    /// The squared distance.
    pub(super) square: f64,
}

/// A group with which another may merge, and the dot product of their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Partner {
    other: u32,
    dot: f32,
}

/// Merges clusters, whose centroids have the length one, until at most `n_groups` groups are left.
/// The neighbours of each cluster are places in the same list.
pub(super) fn unions(neighbours: &[Vec<(u32, f32)>], n_groups: usize) -> Vec<Union> {
    let mut groups = Groups::new(neighbours);
    let mut unions = Vec::new();
    let n_merges = neighbours.len().saturating_sub(n_groups.max(1));
    while unions.len() < n_merges {
        let round = groups.round(n_merges - unions.len());
        if round.is_empty() {
            break;
        }
        groups.merge(&round);
        unions.extend(round);
    }
    let mut unions = in_order(unions, neighbours.len());
    groups.merge_smallest(n_merges, &mut unions);
    unions
}

/// The same unions, the nearest first; each after those of its parts.
fn in_order(unions: Vec<Union>, n_clusters: usize) -> Vec<Union> {
    let mut heights = vec![0.0f64; n_clusters];
    let with_height = |union: Union| {
        let height = union.square.max(heights[union.a as usize]).max(heights[union.b as usize]);
        heights[union.a as usize] = height;
        (height, union)
    };
    let mut unions: Vec<(f64, Union)> = unions.into_iter().map(with_height).collect();
    // Stable: of equal heights the earlier one stays first.
    unions.sort_by(|x, y| x.0.total_cmp(&y.0));
    unions.into_iter().map(|(_, union)| union).collect()
}

/// The state of the merges.
struct Groups {
    /// The number of clusters of each group; 0 for those that are part of a union.
    sizes: Vec<u32>,
    /// The squared length of the sum of each.
    squares: Vec<f64>,
    /// Ascending. If a has b, then b has a, with the same bits.
    partners: Vec<Vec<Partner>>,
    /// The nearest partner of each.
    best: Vec<Option<Union>>,
    /// What each group does in this round.
    roles: Vec<Role>,
    /// The union of each group: itself, or the smaller part.
    into: Vec<u32>,
}

/// What a group does in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Role {
    #[default]
    Stays,
    /// Merges, and names the union.
    First,
    /// Merges with a smaller number.
    Second,
}

impl Groups {
    fn new(neighbours: &[Vec<(u32, f32)>]) -> Self {
        let n = neighbours.len();
        let mut groups = Groups {
            sizes: vec![1; n],
            squares: vec![1.0; n],
            partners: in_both_directions(neighbours),
            best: Vec::new(),
            roles: vec![Role::Stays; n],
            into: (0..n as u32).collect(),
        };
        let sums = groups.sums();
        let best =
            (0..n as u32).into_par_iter().map(|group| sums.best_of(group, &groups.partners[group as usize]));
        groups.best = best.collect();
        groups
    }

    fn sums(&self) -> Sums<'_> {
        Sums { sizes: &self.sizes, squares: &self.squares }
    }

    /// The unions of the next round, the nearest first, if so many merges are left.
    fn round(&self, n_left: usize) -> Vec<Union> {
        let mutual = |group: usize| {
            let union = self.best[group].filter(|union| union.a as usize == group)?;
            let theirs = self.best[union.b as usize]?;
            ((theirs.a, theirs.b) == (union.a, union.b)).then_some(union)
        };
        let groups = (0..self.best.len()).into_par_iter().with_min_len(16 * MIN_GROUPS);
        let mut mutual: Vec<Union> = groups.filter_map(mutual).collect();
        mutual.par_sort_unstable_by(Union::compare);
        mutual.truncate(n_left.div_ceil(PART_OF_LEFT).min(mutual.len().div_ceil(PART_OF_MUTUAL)));
        mutual
    }

    /// Merges groups, each in at most one union.
    fn merge(&mut self, round: &[Union]) {
        let mut parts = Vec::with_capacity(round.len());
        for union in round {
            let (a, b) = (union.a as usize, union.b as usize);
            (self.roles[a], self.roles[b]) = (Role::First, Role::Second);
            self.into[b] = union.a;
            self.best[b] = None;
            parts.push([a, b].map(|part| std::mem::take(&mut self.partners[part])));
        }
        let (roles, into) = (&self.roles, &self.into);
        let joined = |(union, parts): (&Union, [Vec<Partner>; 2])| joined(union, &parts, roles, into);
        let joined: Vec<(f64, Vec<Partner>)> =
            round.par_iter().zip(parts).with_min_len(MIN_GROUPS / 8).map(joined).collect();
        for (union, (dot, partners)) in round.iter().zip(joined) {
            let (a, b) = (union.a as usize, union.b as usize);
            self.squares[a] += self.squares[b] + 2.0 * dot;
            self.sizes[a] += std::mem::take(&mut self.sizes[b]);
            self.partners[a] = partners;
        }
        let sums = Sums { sizes: &self.sizes, squares: &self.squares };
        let lists = self.partners.par_iter_mut().zip(&mut self.best).enumerate().with_min_len(MIN_GROUPS);
        lists.for_each_init(Vec::new, |renamed, (group, (partners, best))| {
            let has_merged = |other: u32| roles[other as usize] != Role::Stays;
            if has_merged(group as u32) {
                *best = sums.best_of(group as u32, partners);
                return;
            }
            rename(partners, roles, into, renamed);
            let is_lost = best.is_some_and(|best| has_merged(best.a) || has_merged(best.b));
            if is_lost {
                *best = sums.best_of(group as u32, partners);
            } else if !renamed.is_empty() {
                let found = best.iter().copied().chain(sums.best_of(group as u32, renamed));
                *best = found.min_by(Union::compare);
            }
        });
        for union in round {
            for part in [union.a, union.b] {
                self.roles[part as usize] = Role::Stays;
            }
        }
    }

    /// Merges the two smallest groups, once no two may merge, until there are so many unions.
    fn merge_smallest(&self, n_merges: usize, unions: &mut Vec<Union>) {
        let live = (0..).zip(&self.sizes).filter(|(_, size)| **size > 0);
        let mut sizes = self.sizes.clone();
        let mut squares = self.squares.clone();
        let mut alone: BinaryHeap<_> = live.map(|(group, &size)| Reverse((size, group))).collect();
        while unions.len() < n_merges {
            let Some((Reverse(x), Reverse(y))) = alone.pop().zip(alone.pop()) else { break };
            let union = Sums { sizes: &sizes, squares: &squares }.union(x.1, y.1, 0.0);
            let (a, b) = (union.a as usize, union.b as usize);
            sizes[a] += sizes[b];
            squares[a] += squares[b];
            alone.push(Reverse((x.0 + y.0, union.a)));
            unions.push(union);
        }
    }
}

/// The sums of the centroids of all groups.
#[derive(Clone, Copy)]
struct Sums<'a> {
    sizes: &'a [u32],
    squares: &'a [f64],
}

impl Sums<'_> {
    /// The union of two groups whose sums have this dot product.
    fn union(self, x: u32, y: u32, dot: f64) -> Union {
        let (a, b) = (x.min(y), x.max(y));
        let [size_a, size_b] = [a, b].map(|group| f64::from(self.sizes[group as usize]));
        let [of_a, of_b] = [a, b].map(|group| self.squares[group as usize]);
        let apart = of_a / (size_a * size_a) + of_b / (size_b * size_b) - 2.0 * dot / (size_a * size_b);
        Union { a, b, square: (2.0 * size_a * size_b / (size_a + size_b) * apart).max(0.0) }
    }

    /// The nearest of these partners.
    fn best_of(self, group: u32, partners: &[Partner]) -> Option<Union> {
        let unions = partners.iter().map(|partner| self.union(group, partner.other, f64::from(partner.dot)));
        unions.min_by(Union::compare)
    }
}

impl Union {
    fn compare(&self, other: &Self) -> Ordering {
        self.square.total_cmp(&other.square).then((self.a, self.b).cmp(&(other.a, other.b)))
    }
}

/// Neighbours, and those whose neighbour a cluster is.
fn in_both_directions(neighbours: &[Vec<(u32, f32)>]) -> Vec<Vec<Partner>> {
    let entries = (0..).zip(neighbours).flat_map(|(cluster, near)| {
        let cluster: u32 = cluster;
        near.iter().map(move |&(other, dot)| (other, Partner { other: cluster, dot }))
    });
    let of_others = ByKey::new(neighbours.len(), entries);
    let all = neighbours.par_iter().enumerate().map(|(cluster, near)| {
        let mut all = of_others.of(cluster as u32).to_vec();
        all.extend(near.iter().map(|&(other, dot)| Partner { other, dot }));
        all.sort_unstable_by_key(|partner| partner.other);
        all.dedup_by_key(|partner| partner.other);
        all
    });
    all.collect()
}

/// The dot product of the parts of a union, and its partners: those of either part, by their names
/// after the round, with the sums of the dot products.
///
/// Between two unions these are up to four: those of both first and of both second parts are added
/// first, then the two others. That is the same seen from the other union.
fn joined(union: &Union, parts: &[Vec<Partner>; 2], roles: &[Role], into: &[u32]) -> (f64, Vec<Partner>) {
    let [own, theirs] = parts;
    let dot = own.binary_search_by_key(&union.b, |partner| partner.other);
    let dot = dot.map_or(0.0, |place| f64::from(own[place].dot));
    let mut all: Vec<(u32, [f32; 2])> = Vec::with_capacity(own.len() + theirs.len());
    for (is_second, list) in [own, theirs].into_iter().enumerate() {
        for partner in list {
            let other = into[partner.other as usize];
            if other != union.a {
                let is_crossed = (roles[partner.other as usize] == Role::Second) != (is_second == 1);
                all.push((other, if is_crossed { [0.0, partner.dot] } else { [partner.dot, 0.0] }));
            }
        }
    }
    all.sort_unstable_by_key(|entry| entry.0);
    let partner = |same: &[(u32, [f32; 2])]| {
        let sums = same.iter().fold([0.0; 2], |sums, entry| [sums[0] + entry.1[0], sums[1] + entry.1[1]]);
        Partner { other: same[0].0, dot: sums[0] + sums[1] }
    };
    (dot, all.chunk_by(|x, y| x.0 == y.0).map(partner).collect())
}

/// Gives the partners of a group that does not merge their names after the round, and adds those of
/// a union up. `renamed` becomes those that have merged.
fn rename(partners: &mut Vec<Partner>, roles: &[Role], into: &[u32], renamed: &mut Vec<Partner>) {
    renamed.clear();
    let has_merged = |partner: &Partner| roles[partner.other as usize] != Role::Stays;
    let merged = partners.iter().filter(|partner| has_merged(partner));
    renamed.extend(merged.map(|&Partner { other, dot }| Partner { other: into[other as usize], dot }));
    if renamed.is_empty() {
        return;
    }
    renamed.sort_unstable_by_key(|partner| partner.other);
    renamed.dedup_by(|second, first| {
        let is_same = first.other == second.other;
        if is_same {
            first.dot += second.dot;
        }
        is_same
    });
    partners.retain(|partner| !has_merged(partner));
    partners.extend_from_slice(renamed);
    // Two ascending runs, which a stable sort merges.
    partners.sort_by_key(|partner| partner.other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_without_partners_merge_by_size_and_every_merge_is_counted() {
        // Two pairs, and three clusters alone.
        let neighbours: Vec<Vec<(u32, f32)>> =
            vec![vec![(2, 0.5)], vec![(3, 0.9)], vec![], vec![], vec![], vec![], vec![]];
        let found: Vec<(u32, u32)> = unions(&neighbours, 1).iter().map(|union| (union.a, union.b)).collect();
        assert_eq!(found, [(1, 3), (0, 2), (4, 5), (0, 6), (1, 4), (0, 1)]);
        assert_eq!(unions(&neighbours, 4).len(), 3);
        assert!(unions(&[], 1).is_empty() && unions(&neighbours[..1].to_vec()[..0], 1).is_empty());
    }
}
