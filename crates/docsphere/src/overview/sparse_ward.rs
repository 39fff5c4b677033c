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
//! Everything that one thread does is of the size of one merge; which merges come in which order
//! does not depend on threads.
//!
//! **Cost.** For k clusters with m neighbours: `k m` numbers to begin with, then for each merge the
//! partners of two groups and a path in a tournament of all groups, on one thread.
//! Memory: 8 bytes per neighbour, in both directions, and about 100 per cluster.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::by_key::ByKey;

/// Neighbours of a cluster.
pub(super) const NEIGHBOURS: usize = 60;

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
    let mut n_left = neighbours.len();
    while n_left > n_groups.max(1) {
        let Some(union) = groups.nearest().or_else(|| groups.smallest()) else { break };
        groups.merge(union);
        unions.push(union);
        n_left -= 1;
    }
    unions
}

/// The state of the merges.
struct Groups {
    /// The number of clusters of each group; 0 for those that are part of a union.
    sizes: Vec<u32>,
    /// The squared length of the sum of each.
    squares: Vec<f64>,
    /// Ascending. If a has b, then b has a.
    partners: Vec<Vec<Partner>>,
    /// The nearest partner of each.
    best: Vec<Option<Union>>,
    /// The groups whose nearest partners are nearest: from the place `first_leaf` on the groups
    /// themselves, before that the better one of the places `2 i` and `2 i + 1`.
    winners: Vec<u32>,
    first_leaf: usize,
    /// The groups by size, once nobody has a partner.
    alone: Option<BinaryHeap<Reverse<(u32, u32)>>>,
}

impl Groups {
    fn new(neighbours: &[Vec<(u32, f32)>]) -> Self {
        let n = neighbours.len();
        let first_leaf = n.next_power_of_two();
        let mut groups = Groups {
            sizes: vec![1; n],
            squares: vec![1.0; n],
            partners: in_both_directions(neighbours),
            best: Vec::new(),
            winners: vec![0; 2 * first_leaf],
            first_leaf,
            alone: None,
        };
        groups.best = (0..n as u32).into_par_iter().map(|group| groups.best_of(group)).collect();
        for leaf in 0..first_leaf {
            groups.winners[first_leaf + leaf] = leaf.min(n.max(1) - 1) as u32;
        }
        (1..first_leaf).rev().for_each(|place| groups.play(place));
        groups
    }

    /// The union of two groups whose sums have this dot product.
    fn union(&self, x: u32, y: u32, dot: f64) -> Union {
        let (a, b) = (x.min(y), x.max(y));
        let [size_a, size_b] = [a, b].map(|group| f64::from(self.sizes[group as usize]));
        let [of_a, of_b] = [a, b].map(|group| self.squares[group as usize]);
        let apart = of_a / (size_a * size_a) + of_b / (size_b * size_b) - 2.0 * dot / (size_a * size_b);
        Union { a, b, square: (2.0 * size_a * size_b / (size_a + size_b) * apart).max(0.0) }
    }

    fn best_of(&self, group: u32) -> Option<Union> {
        let partners = self.partners[group as usize].iter();
        partners
            .map(|partner| self.union(group, partner.other, f64::from(partner.dot)))
            .min_by(Union::compare)
    }

    /// The nearest two groups that may merge.
    fn nearest(&self) -> Option<Union> {
        self.best.get(self.winners[1] as usize).copied().flatten()
    }

    /// The two smallest groups, once no two may merge.
    fn smallest(&mut self) -> Option<Union> {
        let sizes = &self.sizes;
        let live = || (0..).zip(sizes).filter(|(_, size)| **size > 0).map(|(group, &size)| (size, group));
        let alone = self.alone.get_or_insert_with(|| live().map(Reverse).collect());
        let (Reverse(x), Reverse(y)) = alone.pop().zip(alone.pop())?;
        alone.push(Reverse((x.0 + y.0, x.1.min(y.1))));
        Some(self.union(x.1, y.1, 0.0))
    }

    fn merge(&mut self, union: Union) {
        let (a, b) = (union.a as usize, union.b as usize);
        let theirs = std::mem::take(&mut self.partners[b]);
        let own = std::mem::take(&mut self.partners[a]);
        let dot = own.binary_search_by_key(&union.b, |partner| partner.other);
        let dot = dot.map_or(0.0, |place| f64::from(own[place].dot));
        self.squares[a] += self.squares[b] + 2.0 * dot;
        self.sizes[a] += std::mem::take(&mut self.sizes[b]);
        self.partners[a] = joined(&own, &theirs, union);
        (self.best[b], self.best[a]) = (None, self.best_of(union.a));
        self.replay(union.b);
        self.replay(union.a);
        for place in 0..self.partners[a].len() {
            let Partner { other, dot } = self.partners[a][place];
            let list = &mut self.partners[other as usize];
            if let Ok(place) = list.binary_search_by_key(&union.b, |partner| partner.other) {
                list.remove(place);
            }
            let partner = Partner { other: union.a, dot };
            match list.binary_search_by_key(&union.a, |partner| partner.other) {
                Ok(place) => list[place] = partner,
                Err(place) => list.insert(place, partner),
            }
            let found = self.union(other, union.a, f64::from(dot));
            let best = self.best[other as usize];
            let has_lost =
                best.is_none_or(|best| [best.a, best.b].iter().any(|&x| x == union.a || x == union.b));
            if has_lost {
                self.best[other as usize] = self.best_of(other);
            } else if best.is_some_and(|best| found.compare(&best).is_lt()) {
                self.best[other as usize] = Some(found);
            } else {
                continue;
            }
            self.replay(other);
        }
    }

    /// Finds the winners again after a group's best has changed.
    fn replay(&mut self, group: u32) {
        let mut place = (self.first_leaf + group as usize) / 2;
        while place > 0 {
            self.play(place);
            place /= 2;
        }
    }

    fn play(&mut self, place: usize) {
        let [x, y] = [self.winners[2 * place], self.winners[2 * place + 1]];
        let is_second = match (self.best[x as usize], self.best[y as usize]) {
            (Some(x), Some(y)) => y.compare(&x).is_lt(),
            (x, y) => x.is_none() && y.is_some(),
        };
        self.winners[place] = if is_second { y } else { x };
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

/// The partners of a union: those of either part, with the sums of the dot products.
fn joined(own: &[Partner], theirs: &[Partner], union: Union) -> Vec<Partner> {
    let mut all = Vec::with_capacity(own.len().max(theirs.len()));
    let (mut own, mut theirs) = (own.iter().peekable(), theirs.iter().peekable());
    loop {
        let next = match (own.peek(), theirs.peek()) {
            (Some(x), Some(y)) if x.other == y.other => {
                let next = Partner { other: x.other, dot: x.dot + y.dot };
                own.next();
                theirs.next();
                next
            }
            (Some(x), y) if y.is_none_or(|y| x.other < y.other) => {
                let next = **x;
                own.next();
                next
            }
            (_, Some(y)) => {
                let next = **y;
                theirs.next();
                next
            }
            _ => return all,
        };
        if next.other != union.a && next.other != union.b {
            all.push(next);
        }
    }
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
