//! Spherical k-means++ in its greedy form: of many candidates per seed, the one with the greatest
//! gain is kept.
//!
//! Each step draws a few documents as plain k-means++ does. They join the *pool* of all documents
//! drawn so far that are not seeds. The one that would lower the total weight most becomes the
//! seed; the others stay for later steps.
//!
//! **Lazy evaluation.** The *gain* of a candidate, the amount by which it would lower the total
//! weight, never grows: every new seed only lowers weights. So the gain found in an earlier step is
//! an upper bound. The pool is a heap of such bounds: the top is judged again until it is one that
//! was judged in this step. Nothing below it can be better. All gains are integers, so there is no
//! rounding.
//!
//! **One parallel step.** New candidates are looked up in the index side by side, block by block.
//! Nearly always the top of the pool has to be judged again, too: with enough threads, its first
//! members are judged in the same parallel step, before it is known whether they are reached.
//! That is never wrong: it only replaces upper bounds by lower ones.
//!
//! **Shrinking lists.** The set of documents that a candidate improves also only shrinks. A
//! candidate keeps their list: judging it again means scanning the list instead of querying the
//! index, and the new seed only needs the list of the winner.
//!
//! **Cost.** Time: one index query per document drawn (see [`search`](super::search)), and little
//! more. Memory, in addition to the index: 24 bytes per document drawn, and the lists, which stay
//! with the documents ([`Pooled`](super::pooled::Pooled)).
//!
//! References: Minoux, "Accelerated greedy algorithms for maximizing submodular set functions",
//! 1978, doi:10.1007/BFb0006528; Bhattacharya, Eube, Röglin, Schmidt, "Noisy, greedy and not so
//! greedy k-means++", ESA 2020, doi:10.4230/LIPIcs.ESA.2020.18.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::draw::{SeedRng, Totals};
use super::source::{Joined, Lowered, Seed, SeedSource};
use crate::centroids::Centroid;
use crate::clock::Clock;
use crate::error::Result;
use crate::record::SeedingSeconds;

/// Draws up to `k` seeds; fewer if all other documents coincide with one of them.
pub(super) fn draw_seeds(
    source: &mut dyn SeedSource,
    k: usize,
    candidates: usize,
    rng: &mut SeedRng,
    seconds: &mut SeedingSeconds,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<Centroid>> {
    let mut clock = Clock::start();
    let mut totals = Totals::new(source.begin_seeding(true)?);
    clock.lap(&mut seconds.index);
    let mut pool = Pool::default();
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        // The first seed is drawn alone: any candidate would do.
        let n_drawn = if seeds.is_empty() { 1 } else { candidates };
        let drawn = totals.draw(source, n_drawn, rng)?;
        if drawn.is_empty() {
            break;
        }
        clock.lap(&mut seconds.draw);
        pool.join(source, &drawn)?;
        clock.lap(&mut seconds.search);
        let Some(winner) = pool.take_best(source)? else { break };
        totals.lower(&winner.lowered);
        seeds.push(source.row(winner.doc)?);
        progress(seeds.len())?;
        clock.lap(&mut seconds.choose);
    }
    Ok(seeds)
}

/// The documents drawn so far that are not seeds.
#[derive(Default)]
struct Pool {
    /// The greatest gain on top; of equal ones the earliest drawn.
    heap: BinaryHeap<Bound>,
    /// The documents drawn, in that order.
    members: Vec<Member>,
    step: u32,
}

/// The gain of a member when it was last judged: an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bound {
    gain: u64,
    member: Reverse<u32>,
}

struct Member {
    doc: u32,
    /// The step in which it was last judged.
    judged: u32,
}

/// The new seed, and the weights that it lowered.
struct Winner {
    doc: u32,
    lowered: Vec<Lowered>,
}

impl Pool {
    /// Begins a step: these documents join the pool.
    fn join(&mut self, source: &mut dyn SeedSource, drawn: &[Seed]) -> Result<()> {
        self.step += 1;
        let top: Vec<Bound> = (0..source.judged_beside()).map_while(|_| self.heap.pop()).collect();
        let first = self.members.len() as u32; // fits: k times candidates
        let Joined { gains, judged } = source.join(first, drawn, &numbers(&top))?;
        for (member, (seed, gain)) in (first..).zip(drawn.iter().zip(gains)) {
            self.heap.push(Bound { gain, member: Reverse(member) });
            self.members.push(Member { doc: seed.doc, judged: self.step });
        }
        self.put_back(&top, &judged);
        Ok(())
    }

    /// Makes the member with the greatest gain a seed.
    fn take_best(&mut self, source: &mut dyn SeedSource) -> Result<Option<Winner>> {
        while let Some(bound) = self.heap.pop() {
            let number = bound.member.0;
            let doc = self.members[number as usize].doc;
            if self.is_judged(&bound)
                && let Some(lowered) = source.absorb_member(number, doc)?
            {
                return Ok(Some(Winner { doc, lowered }));
            }
            let mut top = vec![bound];
            while top.len() <= source.judged_ahead()
                && let Some(next) = self.heap.peek().filter(|next| !self.is_judged(next))
            {
                top.push(*next);
                self.heap.pop();
            }
            let mut gains = source.judge(&numbers(&top))?;
            if gains[0].is_none() {
                let seed = Seed { doc, row: source.row(doc)? };
                gains[0] = source.join(number, &[seed], &[])?.gains.pop();
            }
            self.put_back(&top, &gains);
        }
        Ok(None)
    }

    fn is_judged(&self, bound: &Bound) -> bool {
        self.members[bound.member.0 as usize].judged == self.step
    }

    /// Puts members back that were judged in this step, or whose lists are dropped.
    fn put_back(&mut self, bounds: &[Bound], gains: &[Option<u64>]) {
        for (&bound, &gain) in bounds.iter().zip(gains) {
            match gain {
                None => self.heap.push(bound),
                // It has become a seed, or coincides with one: it never comes back.
                Some(0) => {}
                Some(gain) => {
                    self.members[bound.member.0 as usize].judged = self.step;
                    self.heap.push(Bound { gain, ..bound });
                }
            }
        }
    }
}

fn numbers(bounds: &[Bound]) -> Vec<u32> {
    bounds.iter().map(|bound| bound.member.0).collect()
}
