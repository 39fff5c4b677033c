//! A shard's data on the members of a greedy pool: the documents that each would improve.
//!
//! The lists only become shorter: judging a member again means scanning its list instead of
//! querying the index, and the new seed only needs the list of the winner. They may take up to 4
//! bytes per nonzero of the rows, in addition to the lists of the newest candidates; beyond that
//! the members with the lowest gains lose their lists, and are looked up through the index if they
//! come up again.
//!
//! **Cost.** 16 bytes per entry of a list.

use std::collections::BTreeMap;

/// All lists together have at most one entry per this many nonzeros of the rows.
const NONZEROS_PER_ENTRY: usize = 4;

/// A document that a seed improves, and their similarity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Improved {
    pub(super) doc: u32,
    pub(super) similarity: f64,
}

/// See the [module](self).
pub(super) struct Pooled {
    lists: BTreeMap<u32, List>,
    n_entries: usize,
    max_entries: usize,
}

struct List {
    improved: Vec<Improved>,
    /// The amount by which the member would lower the weights of these documents, when last judged.
    gain: u64,
}

impl Pooled {
    pub(super) fn for_nonzeros(nnz: usize) -> Self {
        Pooled { lists: BTreeMap::new(), n_entries: 0, max_entries: nnz / NONZEROS_PER_ENTRY }
    }

    /// If there are too many entries, drops the lists with the lowest gains until half the room is
    /// free. Keeps those of members from `newest` on: the next seed may be one of them.
    pub(super) fn make_room(&mut self, newest: u32) {
        if self.n_entries <= self.max_entries {
            return;
        }
        let mut by_gain: Vec<(u64, u32)> =
            self.lists.range(..newest).map(|(&number, list)| (list.gain, number)).collect();
        by_gain.sort_unstable();
        for (_, number) in by_gain {
            if self.n_entries <= self.max_entries / 2 {
                break;
            }
            self.remove(number);
        }
    }

    pub(super) fn insert(&mut self, member: u32, improved: Vec<Improved>, gain: u64) {
        self.remove(member);
        self.n_entries += improved.len();
        self.lists.insert(member, List { improved, gain });
    }

    #[cfg(test)]
    pub(super) fn len_of(&self, member: u32) -> usize {
        self.lists.get(&member).map_or(0, |list| list.improved.len())
    }

    /// Removes the lists of some members; `None` for those that were dropped.
    pub(super) fn take(&mut self, members: &[u32]) -> Vec<Option<Vec<Improved>>> {
        members.iter().map(|&member| self.remove(member)).collect()
    }

    pub(super) fn contains(&self, member: u32) -> bool {
        self.lists.contains_key(&member)
    }

    /// Removes and returns a list; `None` if it was dropped.
    pub(super) fn remove(&mut self, member: u32) -> Option<Vec<Improved>> {
        let list = self.lists.remove(&member)?;
        self.n_entries -= list.improved.len();
        Some(list.improved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gains_go_first_until_half_the_room_is_left() {
        let mut pooled = Pooled::for_nonzeros(40);
        let list = |n: usize| vec![Improved { doc: 0, similarity: 0.5 }; n];
        for (member, n, gain) in [(0, 4, 9), (1, 4, 3), (2, 4, 7)] {
            pooled.insert(member, list(n), gain);
        }
        pooled.make_room(0);
        assert!([0, 1, 2].into_iter().all(|member| pooled.contains(member)), "new lists stay at first");
        pooled.make_room(3);
        assert_eq!([0, 1, 2].map(|member| pooled.contains(member)), [true, false, false]);
        assert_eq!(pooled.remove(0).map(|list| list.len()), Some(4));
        assert_eq!((pooled.n_entries, pooled.remove(0).is_none()), (0, true));
    }
}
