//! The cheapest of the best pairs of all clusters, while single ones change.
//!
//! A tournament: a binary tree whose leaves are the clusters, and each of whose nodes names the
//! leaf below it with the cheapest pair. A change plays the games on the way from a leaf to the
//! root again.
//!
//! Two clusters may have the same pair as their best. It does not matter which of them a node
//! names: the pair is the same.
//!
//! **Cost.** 36 to 40 bytes per cluster. `log2(n)` comparisons per change, none to ask.

use super::Pair;

/// See the [module](self).
pub(super) struct Cheapest {
    pairs: Vec<Option<Pair>>,
    /// Node i has the children 2i and 2i + 1; the root is node 1. From `pairs.len()` on, the nodes
    /// are the leaves, which are not stored.
    nodes: Vec<u32>,
}

impl Cheapest {
    pub(super) fn new(pairs: Vec<Option<Pair>>) -> Self {
        let n = pairs.len();
        let mut cheapest = Cheapest { pairs, nodes: vec![0; n] };
        for node in (1..n).rev() {
            cheapest.nodes[node] = cheapest.winner(node);
        }
        cheapest
    }

    /// The cheapest pair of all, and a cluster whose best it is.
    pub(super) fn least(&self) -> Option<(u32, Pair)> {
        // Node 1 is there unless there is one cluster at most.
        let cluster = self.nodes.get(1).copied().unwrap_or(0);
        Some((cluster, (*self.pairs.get(cluster as usize)?)?))
    }

    pub(super) fn set(&mut self, cluster: u32, pair: Option<Pair>) {
        self.pairs[cluster as usize] = pair;
        let mut node = (self.pairs.len() + cluster as usize) / 2;
        while node > 0 {
            let winner = self.winner(node);
            // Above, this cluster has won no game, and would win none now.
            if winner != cluster && self.nodes[node] == winner {
                break;
            }
            self.nodes[node] = winner;
            node /= 2;
        }
    }

    /// The cheaper of the leaves that the children of a node name.
    fn winner(&self, node: usize) -> u32 {
        let [left, right] = [2 * node, 2 * node + 1].map(|child| match child.checked_sub(self.pairs.len()) {
            Some(leaf) => leaf as u32, // fits: at most MAX_ROWS clusters
            None => self.nodes[child],
        });
        match (&self.pairs[left as usize], &self.pairs[right as usize]) {
            (Some(pair), Some(other)) if pair.compare(other).is_gt() => right,
            (None, _) => right,
            _ => left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_is_that_of_a_scan(
            n in 0usize..40,
            changes in prop::collection::vec((0usize..40, prop::option::of((0u8..6, 0u32..3))), 0..90),
        ) {
            let pair = |found: Option<(u8, u32)>| found.map(|(x, b)| Pair { loss: f64::from(x), a: 0, b });
            let mut plain = vec![None; n];
            let (before, after) = changes.split_at(changes.len().min(n) / 2);
            for (place, &(_, found)) in before.iter().enumerate() {
                plain[place] = pair(found);
            }
            let mut cheapest = Cheapest::new(plain.clone());
            for &(cluster, found) in after {
                let least = plain.iter().flatten().copied().min_by(Pair::compare);
                prop_assert_eq!(cheapest.least().map(|(_, pair)| pair), least);
                if cluster < n {
                    plain[cluster] = pair(found);
                    cheapest.set(cluster as u32, plain[cluster]);
                }
            }
            prop_assert_eq!(cheapest.least().map(|(_, pair)| pair), plain.iter().flatten().copied().min_by(Pair::compare));
        }
    }
}
