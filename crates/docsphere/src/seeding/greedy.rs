//! Greedy spherical k-means++: many candidates for each seed, the one that helps most is kept.
//!
//! Each step draws a few documents as k-means++ does. They join the *pool* of all documents drawn so far that are not seeds. The one
//! whose seed would lower the total weight most becomes the seed; the others stay, for later steps.
//!
//! **Lazy judging.** The *gain* of a candidate, by how much it would lower the total weight, never grows: every new seed only lowers weights. So the gain
//! found in an earlier step is an upper bound. The pool is a heap of such bounds: the top is judged anew until the top is one that
//! was judged in this step. Nothing below it can be better. All gains are integers, so nothing is lost to rounding.
//!
//! **Shrinking lists.** The documents that a candidate improves also only become fewer. A candidate keeps their list: judging it again means
//! going through the list, not through the index, and the list of the winner is all that has to be done for the new seed.
//!
//! **Cost.** Time: a query of the index for each document drawn (see [`search`](super::search)), and little more. Memory, beside the index: 32 bytes a
//! document drawn, and the lists, 16 bytes an entry. They may take up to 4 bytes a nonzero of the rows; beyond that the
//! candidates with the lowest gains lose theirs, and are judged through the index should they come up again.
//!
//! References: Minoux, "Accelerated greedy algorithms for maximizing submodular set functions", 1978, doi:10.1007/BFb0006528;
//! Bhattacharya, Eube, Röglin, Schmidt, "Noisy, greedy and not so greedy k-means++", ESA 2020, doi:10.4230/LIPIcs.ESA.2020.18.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::draw::SeedRng;
use super::search::{Improved, Search};
use crate::error::Result;
use crate::vectors::{RowWeights, UnitRows};

/// Draws up to `k` seeds; fewer if all other documents coincide with one of them.
pub(super) fn draw_seeds(
    rows: &UnitRows<'_>,
    weights: RowWeights<'_>,
    k: usize,
    candidates: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<usize>> {
    let pool = Pool::new(rows.nnz() / NONZEROS_PER_ENTRY);
    draw_with(pool, Search::new(rows, weights), k, candidates, rng, progress)
}

fn draw_with(
    mut pool: Pool,
    mut search: Search<'_>,
    k: usize,
    candidates: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<usize>> {
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        // The first seed is drawn alone: every candidate would do.
        let n_drawn = if seeds.is_empty() { 1 } else { candidates };
        let drawn: Vec<usize> = (0..n_drawn).map_while(|_| search.draw(rng)).collect();
        if drawn.is_empty() {
            break;
        }
        pool.join(&search, &drawn);
        let Some(winner) = pool.take_best(&search) else { break };
        search.absorb_improved(winner.doc, &winner.improved);
        seeds.push(winner.doc);
        progress(seeds.len())?;
    }
    Ok(seeds)
}

/// All lists together have at most one entry for so many nonzeros of the rows.
const NONZEROS_PER_ENTRY: usize = 4;

/// The documents drawn so far that are not seeds.
struct Pool {
    /// The greatest gain on top, of equal ones the earliest drawn.
    heap: BinaryHeap<Bound>,
    /// What is known of each document drawn, in that order.
    members: Vec<Member>,
    step: u32,
    /// Entries of all lists, and how many they may be.
    n_entries: usize,
    max_entries: usize,
}

/// What a member gained when it was last judged: an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bound {
    gain: u64,
    member: Reverse<u32>,
}

struct Member {
    doc: usize,
    /// The step in which it was last judged.
    judged: u32,
    /// The documents it improves, or did when it was last judged; none if the list had to go.
    improved: Option<Vec<Improved>>,
}

/// The new seed and all documents it improves.
struct Winner {
    doc: usize,
    improved: Vec<Improved>,
}

impl Pool {
    fn new(max_entries: usize) -> Self {
        Pool { heap: BinaryHeap::new(), members: Vec::new(), step: 0, n_entries: 0, max_entries }
    }

    /// A step begins: these documents join the pool.
    fn join(&mut self, search: &Search<'_>, drawn: &[usize]) {
        self.step += 1;
        for (&doc, improved) in drawn.iter().zip(search.improved(drawn)) {
            let member = Reverse(self.members.len() as u32); // fits: k times candidates
            self.heap.push(Bound { gain: search.gain(&improved), member });
            self.n_entries += improved.len();
            self.members.push(Member { doc, judged: self.step, improved: Some(improved) });
        }
        if self.n_entries > self.max_entries {
            self.drop_lists();
        }
    }

    /// Takes out the member with the greatest gain.
    fn take_best(&mut self, search: &Search<'_>) -> Option<Winner> {
        while let Some(bound) = self.heap.pop() {
            let member = &mut self.members[bound.member.0 as usize];
            let list = member.improved.take();
            self.n_entries -= list.as_ref().map_or(0, Vec::len);
            let improved = match list {
                Some(improved) if member.judged == self.step => {
                    return Some(Winner { doc: member.doc, improved });
                }
                Some(mut improved) => {
                    search.keep_improved(&mut improved);
                    improved
                }
                None => search.improved(&[member.doc]).pop()?,
            };
            let gain = search.gain(&improved);
            // Without gain it has become a seed, or is like one: it never comes back.
            if gain > 0 {
                self.n_entries += improved.len();
                member.improved = Some(improved);
                member.judged = self.step;
                self.heap.push(Bound { gain, ..bound });
            }
        }
        None
    }

    /// Drops the lists of the members with the lowest gains until they take half the room. Those judged in this step may be dropped too.
    fn drop_lists(&mut self) {
        let mut bounds: Vec<Bound> = self.heap.iter().copied().collect();
        bounds.sort_unstable();
        for bound in bounds {
            if self.n_entries <= self.max_entries / 2 {
                break;
            }
            let list = self.members[bound.member.0 as usize].improved.take();
            self.n_entries -= list.map_or(0, |list| list.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn lists_that_had_to_go_change_nothing() {
        // Rows of three terms out of 60, by three different strides.
        let terms: Vec<u32> =
            (0..400u32).flat_map(|doc| [doc % 20, 20 + doc * 7 % 23, 43 + doc * 5 % 17]).collect();
        let values: Vec<f32> = (0..1200u32).map(|place| (1 + place * 31 % 11) as f32).collect();
        let offsets: Vec<u64> = (0..=400).map(|doc| 3 * doc).collect();
        let rows = UnitRows::new(SparseRows::from_parts(60, offsets, terms, values).unwrap());
        let seeds = |max_entries| {
            let search = Search::new(&rows, RowWeights::UNIFORM);
            draw_with(Pool::new(max_entries), search, 60, 3, &mut SeedRng::new(1, 0), &mut |_| Ok(()))
                .unwrap()
        };
        assert_eq!(seeds(0), seeds(usize::MAX));
        assert_eq!(seeds(100), seeds(usize::MAX));
    }
}
