//! Finds the documents that a new seed would bring nearer than any seed so far, and how near.
//!
//! Only these matter: a seed changes the weight of no other document. Late in a run they are one in
//! a thousand, so a seed is first compared roughly with all documents, and exactly with those that
//! may be *improved*.
//!
//! 1. Choose a level of the index (see [`doc_index`](super::doc_index)): how many frequent terms of
//!    the seed to leave out.
//! 2. Sum the other terms in 16-bit integers, list by list.
//! 3. A document can be improved only if its sum plus the maximum contribution of the left-out
//!    terms exceeds its best similarity so far. That is one pass over the block.
//! 4. For those that pass, compute a tighter bound from the left-out terms that both have.
//! 5. For those that pass again, compute the similarity by its definition, and compare.
//!
//! **Rounding.** Sums are in steps of `1/S` with `S` = [`SIMILARITY_STEPS`]; the best similarity is
//! rounded down to a step. The seed is lengthened by a hundred-thousandth, which covers all f32
//! roundings in steps 2 to 4 and those of the definition. Then every product is rounded up by half
//! a step or more. So with `s` for the sum and `o` for the maximum contribution of the left-out
//! part, in steps, similarity > best implies `s + o > floor(S best)`: step 3 rounds `o` up to a
//! step, and step 4 compares in f32, which is exact if `s = 0`, and otherwise errs by far less than
//! the half step. Nothing is added to a document that shares no term with the seed: it is not
//! examined again. (Products may underflow in f32: then they are far below 2^-34, and the effect of
//! a similarity below 2^-34 on a seed weight is rounded away.) A sum is at most `S (1 + 2e-5)` by
//! Cauchy-Schwarz, plus 3/2 per term of the seed: so it fits into 16 bits for seeds of up to
//! [`MAX_ROUGH_TERMS`] terms, even with the left-out part. Longer seeds, and all seeds if there are
//! negative values, use level 0: nothing is left out, and sums are computed by the definition.
//!
//! **The level** changes the time, never the outcome. A sample of the documents estimates how many
//! would pass step 3 at each level even if they shared no other term with the seed; this and the
//! lengths of the lists give the cost that is minimised.
//!
//! **A device** ([`cuda`](super::cuda)) takes the place of the index, if there is one: it finds the
//! same documents. If it fails, the index is built, and the search goes on with the same weights.
//!
//! **Cost.** Time of a query: the document frequencies of the terms that are not left out, 5 bytes
//! read per document, and one dot product per document that may be improved. Memory: 10 bytes per
//! document, 320 KiB per thread, and the sample. On 200,000 abstracts of 61 terms each, 4,700 of
//! 5,000 seeds leave terms out; on average, 505 documents pass step 3, 260 pass step 4, and 124 are
//! improved by such a seed.

use rayon::prelude::*;

use super::cuda::{DeviceSearch, SeedDevice};
use super::doc_index::{DocBlock, DocIndex, FoundLists, Split};
use super::order::Buckets;
use super::pooled::{Improved, Pooled};
use super::sample::Sample;
use super::seed_table::SeedTable;
use super::seed_weights::{BLOCK_DOCS, SIMILARITY_STEPS, SeedWeights, WeightBlock};
use super::source::{Drawable, Joined, Lowered};
use crate::error::Error;
use crate::pool::Pool;
use crate::simd;
use crate::vectors::{Row, RowWeights, UnitRows};

/// Documents per vectorised test. If any lane passes, the chunk is rescanned lane by lane.
const LANES: usize = 32;

/// Seeds with more terms use level 0.
const MAX_ROUGH_TERMS: usize = 8192;

/// Relative amount by which a seed is lengthened for rough sums.
const SLACK: f32 = 1e-5;

/// Shorter lists of documents are scanned by one thread.
const ALONE: usize = 1 << 13;

/// How many documents ahead to prefetch rows for exact comparisons.
const READ_AHEAD: usize = 8;

/// The weights of the documents of a shard, and the data for finding the improved ones. Every call
/// must pass the same rows.
pub(crate) struct Search<'a> {
    /// `None` if nothing will be searched, or on a device.
    index: Option<Index>,
    device: Option<DeviceSearch>,
    /// Why the device was left.
    left_device: Option<Error>,
    n_seeds: usize,
    weights: SeedWeights<'a>,
    pooled: Pooled,
}

struct Index {
    docs: DocIndex,
    sample: Sample,
    scratch: Pool<Scratch>,
}

impl<'a> Search<'a> {
    /// Without `search`, documents can only be taken.
    pub(crate) fn new(rows: &UnitRows<'_>, weights: RowWeights<'a>, buckets: Buckets, search: bool) -> Self {
        // In a shard without rows there is nothing to find.
        let search = search && rows.n_nonzero_rows() > 0;
        let (index, weights) =
            rayon::join(|| search.then(|| Index::new(rows)), || SeedWeights::new(rows, weights, buckets));
        let pooled = Pooled::for_nonzeros(rows.nnz());
        Search { index, device: None, left_device: None, n_seeds: 0, weights, pooled }
    }

    /// The same on a device, if it has room.
    pub(crate) fn on_device(
        rows: &UnitRows<'_>,
        weights: RowWeights<'a>,
        buckets: Buckets,
        device: &SeedDevice,
    ) -> Self {
        let (device, mut search) = rayon::join(
            || (rows.n_nonzero_rows() > 0).then(|| DeviceSearch::new(device, rows)).transpose(),
            || Search::new(rows, weights, buckets, false),
        );
        match device {
            Ok(device) => search.device = device,
            Err(error) => search.leave_device(rows, error),
        }
        search
    }

    /// Goes on without the device.
    fn leave_device(&mut self, rows: &UnitRows<'_>, error: Error) {
        self.device = None;
        self.left_device = Some(error);
        let index = self.index.insert(Index::new(rows));
        index.sample.refresh(self.n_seeds, &self.weights);
    }

    /// Why the device was left, if it was.
    pub(crate) fn left_device(&mut self) -> Option<Error> {
        self.left_device.take()
    }

    /// The total weight of each bucket.
    pub(crate) fn totals(&self) -> Vec<u64> {
        self.weights.totals()
    }

    /// The documents of a bucket in drawing order.
    pub(crate) fn drawable(&self, bucket: usize) -> Vec<Drawable> {
        self.weights.drawable(bucket)
    }

    /// Removes a document from all further draws.
    pub(crate) fn take(&mut self, doc: u32) -> Lowered {
        self.weights.take(doc)
    }

    /// Records a new seed from any shard; returns the weights that it lowers.
    pub(crate) fn absorb(&mut self, rows: &UnitRows<'_>, seed: Row<'_>) -> Vec<Lowered> {
        let (mut found, ()) = self.improved(rows, &[seed], |_| ());
        self.lower(found.pop().map(|found| found.improved).unwrap_or_default())
    }

    /// Finds the documents that each of these would improve as the next seed, and keeps their
    /// lists; judges other members of the pool beside them. Returns the amount by which each would
    /// lower the weights.
    pub(crate) fn join(
        &mut self,
        rows: &UnitRows<'_>,
        first_member: u32,
        seeds: &[Row<'_>],
        again: &[u32],
    ) -> Joined {
        let lists = self.pooled.take(again);
        let (found, judged) = self.improved(rows, seeds, |weights| judged(weights, lists));
        let judged = self.keep(again, judged);
        let gains = found.iter().map(|found| found.gain).collect();
        for (member, Found { improved, gain }) in (first_member..).zip(found) {
            self.pooled.insert(member, improved, gain);
        }
        self.pooled.make_room(first_member);
        Joined { gains, judged }
    }

    /// The amount by which each of these members of the pool would lower the weights now; `None` if
    /// its list was dropped.
    pub(crate) fn judge(&mut self, members: &[u32]) -> Vec<Option<u64>> {
        let lists = self.pooled.take(members);
        let judged = judged(&self.weights, lists);
        self.keep(members, judged)
    }

    /// Keeps the lists of members that were judged, and returns their gains.
    fn keep(&mut self, members: &[u32], judged: Vec<Option<Found>>) -> Vec<Option<u64>> {
        let keep = |(&member, judged): (&u32, Option<Found>)| {
            let Found { improved, gain } = judged?;
            self.pooled.insert(member, improved, gain);
            Some(gain)
        };
        members.iter().zip(judged).map(keep).collect()
    }

    /// Whether the list of a member is still kept.
    pub(crate) fn has_list(&self, member: u32) -> bool {
        self.pooled.contains(member)
    }

    /// Records that a member of the pool became a seed; returns the weights that this lowers. Its
    /// list must be present.
    pub(crate) fn absorb_member(&mut self, member: u32) -> Vec<Lowered> {
        let improved = self.pooled.remove(member).unwrap_or_default();
        self.lower(improved)
    }

    /// Records a new seed that improves these documents. Long lists ascend.
    fn lower(&mut self, improved: Vec<Improved>) -> Vec<Lowered> {
        let lowered = if improved.len() < ALONE {
            improved.iter().map(|entry| self.weights.raise(entry.doc, entry.similarity)).collect()
        } else {
            // Documents ascend, so those of a block are neighbours.
            self.weights.raise_blocks(|_, block, weights| {
                let start = |doc: usize| improved.partition_point(|entry| (entry.doc as usize) < doc);
                let first_doc = block.first_doc();
                let entries = &improved[start(first_doc)..start(first_doc + BLOCK_DOCS)];
                let raise =
                    |entry: &Improved| block.raise(weights, entry.doc as usize - first_doc, entry.similarity);
                entries.iter().map(raise).collect()
            })
        };
        self.n_seeds += 1;
        if let Some(index) = &mut self.index {
            index.sample.refresh(self.n_seeds, &self.weights);
        }
        if let Some(device) = &mut self.device {
            device.raise(&improved);
        }
        lowered
    }

    /// The documents that each of these would improve as the next seed; beside that, does something
    /// else.
    fn improved<T: Send>(
        &mut self,
        rows: &UnitRows<'_>,
        seeds: &[Row<'_>],
        beside: impl FnOnce(&SeedWeights<'_>) -> T + Send,
    ) -> (Vec<Found>, T) {
        let Some(device) = &mut self.device else {
            let this = &*self;
            return rayon::join(|| this.indexed(rows, seeds), || beside(&this.weights));
        };
        let (found, other) = device.improved(seeds, || beside(&self.weights));
        let found = match found {
            Ok(lists) => weighed(&self.weights, lists),
            Err(error) => {
                self.leave_device(rows, error);
                self.indexed(rows, seeds)
            }
        };
        (found, other)
    }

    /// The documents that each of these would improve as the next seed, ascending, by the index. In
    /// one parallel step: candidates are prepared side by side, and gains are added up block by
    /// block.
    fn indexed(&self, rows: &UnitRows<'_>, seeds: &[Row<'_>]) -> Vec<Found> {
        let none = || Found { improved: Vec::new(), gain: 0 };
        let Some(index) = &self.index else { return seeds.iter().map(|_| none()).collect() };
        let blocks: Vec<_> = index.docs.blocks().iter().zip(self.weights.blocks()).collect();
        let of_seed = |&seed: &Row<'_>| {
            let candidate = index.candidate(rows, seed, self.n_seeds);
            let of_block = |&(docs, block): &(&DocBlock, &WeightBlock)| {
                let mut improved = Vec::new();
                index.scratch.with(|scratch| candidate.improved(rows, docs, block, scratch, &mut improved));
                let gain = self.weights.gains(&improved);
                (improved, gain)
            };
            let (lists, gains): (Vec<Vec<Improved>>, Vec<u64>) =
                blocks.par_iter().with_max_len(1).map(of_block).unzip();
            Found { improved: lists.concat(), gain: gains.iter().sum() }
        };
        seeds.par_iter().with_max_len(1).map(of_seed).collect()
    }
}

/// The documents that a seed improves, and the amount by which it lowers the total weight. Long
/// lists ascend.
struct Found {
    improved: Vec<Improved>,
    gain: u64,
}

/// Members of the pool without the documents that they no longer improve. On all threads, if that
/// is worth it.
fn judged(weights: &SeedWeights<'_>, lists: Vec<Option<Vec<Improved>>>) -> Vec<Option<Found>> {
    let judged = |list: Option<Vec<Improved>>| {
        let mut improved = list?;
        improved.retain(|entry| entry.similarity > weights.best(entry.doc as usize));
        let gain = weights.gains(&improved);
        Some(Found { improved, gain })
    };
    if lists.iter().flatten().map(Vec::len).sum::<usize>() < ALONE {
        return lists.into_iter().map(judged).collect();
    }
    lists.into_par_iter().with_max_len(1).map(judged).collect()
}

/// Lists that a device has found in any order, with their gains. On all threads, if that is worth
/// it.
fn weighed(weights: &SeedWeights<'_>, lists: Vec<Vec<Improved>>) -> Vec<Found> {
    let weighed = |mut improved: Vec<Improved>| {
        if improved.len() >= ALONE {
            improved.par_sort_unstable_by_key(|entry| entry.doc);
        }
        let gain = weights.gains(&improved);
        Found { improved, gain }
    };
    if lists.iter().map(Vec::len).sum::<usize>() < ALONE {
        return lists.into_iter().map(weighed).collect();
    }
    lists.into_par_iter().with_max_len(1).map(weighed).collect()
}

impl Index {
    fn new(rows: &UnitRows<'_>) -> Self {
        let docs = DocIndex::new(rows);
        let sample = Sample::new(&docs, rows.n_rows());
        Index { docs, sample, scratch: Pool::default() }
    }

    fn candidate(&self, rows: &UnitRows<'_>, seed: Row<'_>, n_seeds: usize) -> Candidate {
        let is_non_negative = rows.is_non_negative() && seed.values.iter().all(|&value| value >= 0.0);
        let rough = is_non_negative && seed.nnz() <= MAX_ROUGH_TERMS;
        let level = if rough { self.sample.cheapest(&self.docs.levels(seed), n_seeds) } else { 0 };
        self.candidate_at(seed, level)
    }

    fn candidate_at(&self, seed: Row<'_>, level: usize) -> Candidate {
        Candidate::new(seed, self.docs.split(seed, level))
    }
}

/// Accumulators for the documents of one block, all zero between uses.
struct Scratch {
    exact: Box<[f64; BLOCK_DOCS]>,
    rough: Box<[u16; BLOCK_DOCS]>,
    lists: FoundLists,
    /// Documents that may be improved, by position.
    positions: Vec<u16>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            exact: Box::new([0.0; BLOCK_DOCS]),
            rough: Box::new([0; BLOCK_DOCS]),
            lists: FoundLists::new(),
            positions: Vec::new(),
        }
    }
}

/// A document that may become a seed, prepared for comparisons.
struct Candidate {
    split: Split,
    table: SeedTable,
    /// Twice the maximum contribution of the left-out part in steps, per step of a document's
    /// length. Rounded up.
    out_per_step: u16,
}

impl Candidate {
    fn new(row: Row<'_>, mut split: Split) -> Self {
        if split.level > 0 {
            split.lengthen((1.0 + SLACK) * SIMILARITY_STEPS);
        }
        let out_per_step = (split.out_per_step * 2.0).ceil() as u16;
        Candidate { split, table: SeedTable::new(row), out_per_step }
    }

    /// Adds the documents of a block that the candidate improves.
    fn improved(
        &self,
        rows: &UnitRows<'_>,
        index: &DocBlock,
        block: &WeightBlock,
        scratch: &mut Scratch,
        improved: &mut Vec<Improved>,
    ) {
        let first_doc = block.first_doc();
        let n_docs = block.best().len();
        if let Some(lengths_out) = index.lengths_out(self.split.level) {
            index.accumulate(&self.split, &mut scratch.lists, &mut scratch.rough, steps);
            let sums = &mut scratch.rough[..n_docs];
            let positions = &mut scratch.positions;
            positions.clear();
            self.each_rough(sums, lengths_out, block.rough_best(), |position| {
                simd::prefetch(index.common(), position);
                positions.push(position as u16);
            });
            positions.retain(|&position| {
                let position = usize::from(position);
                simd::prefetch(block.best(), position);
                let out = f32::from(lengths_out[position]) * self.split.out_for(index.common()[position]);
                f32::from(sums[position]) + out > f32::from(block.rough_best()[position])
            });
            sums.fill(0);
            let row = |position: u16| rows.row(first_doc + usize::from(position));
            positions.iter().take(READ_AHEAD).for_each(|&position| prefetch(row(position)));
            for (place, &position) in positions.iter().enumerate() {
                if let Some(&ahead) = positions.get(place + READ_AHEAD) {
                    prefetch(row(ahead));
                }
                let similarity = self.table.similarity(row(position));
                let position = usize::from(position);
                if similarity > block.best()[position] {
                    improved.push(Improved { doc: (first_doc + position) as u32, similarity });
                }
            }
        } else {
            index.accumulate(&self.split, &mut scratch.lists, &mut scratch.exact, |x, c| {
                f64::from(x) * f64::from(c)
            });
            let sums = &mut scratch.exact[..n_docs];
            for (position, (&similarity, &best)) in sums.iter().zip(block.best()).enumerate() {
                if similarity > best {
                    improved.push(Improved { doc: (first_doc + position) as u32, similarity });
                }
            }
            sums.fill(0.0);
        }
    }

    /// Calls `check` with each position that may be improved.
    fn each_rough(&self, sums: &[u16], lengths: &[u8], best: &[u16], mut check: impl FnMut(usize)) {
        let out = self.out_per_step;
        let passes = |((sum, &length), best): ((&u16, &u8), &u16)| {
            // Half of it, rounded up.
            sum + (u16::from(length) * out).div_ceil(2) > *best
        };
        let (sums, sums_rest) = sums.as_chunks::<LANES>();
        let (lengths, lengths_rest) = lengths.as_chunks::<LANES>();
        let (best, best_rest) = best.as_chunks::<LANES>();
        for (chunk, ((sums, lengths), best)) in sums.iter().zip(lengths).zip(best).enumerate() {
            // Not `any`, which stops early: testing all lanes takes a few instructions.
            if sums.iter().zip(lengths).zip(best).fold(false, |any, lane| any | passes(lane)) {
                for (lane, triple) in sums.iter().zip(lengths).zip(best).enumerate() {
                    if passes(triple) {
                        check(chunk * LANES + lane);
                    }
                }
            }
        }
        for (lane, triple) in sums_rest.iter().zip(lengths_rest).zip(best_rest).enumerate() {
            if passes(triple) {
                check(sums.len() * LANES + lane);
            }
        }
    }
}

/// A product in steps, rounded up: by at least 1/2 and at most 3/2.
///
/// A number of 2^23 or more has no fraction: the sum is rounded to an integer, whose low bits are
/// those of the number.
#[inline]
fn steps(x: f32, c: f32) -> u16 {
    const ONE_AND_NO_FRACTION: f32 = (1 << 23) as f32 + 1.0;
    (x * c + ONE_AND_NO_FRACTION).to_bits() as u16
}

/// Prefetches a whole row.
fn prefetch(row: Row<'_>) {
    const CACHE_LINE: usize = 64 / size_of::<u32>();
    for place in (0..row.nnz()).step_by(CACHE_LINE) {
        simd::prefetch(row.terms, place);
        simd::prefetch(row.values, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Rows of two to forty terms; terms with low numbers are far more frequent than others.
    fn rows(n_docs: usize, negative: bool) -> UnitRows<'static> {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut below = |n: u32| random.next_u32() % n;
        let (mut offsets, mut terms, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n_docs {
            let mut row: Vec<u32> =
                (0..2 + below(39)).map(|_| (0..3).fold(300, |most, _| 1 + below(most)) - 1).collect();
            row.sort_unstable();
            row.dedup();
            for term in row {
                // Frequent terms have lower weights, as in text.
                let value = (1 + below(9) + term / 4) as f32;
                values.push(if negative && below(4) == 0 { -value } else { value });
                terms.push(term);
            }
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(300, offsets, terms, values).unwrap())
    }

    /// By the definition, for every document.
    fn improved_by_definition(search: &Search<'_>, rows: &UnitRows<'_>, seed: usize) -> Vec<(u32, f64)> {
        let seed = rows.row(seed);
        let value = |term| seed.terms.binary_search(&term).map_or(0.0, |place| f64::from(seed.values[place]));
        let similarity = |row: Row<'_>| row.iter().map(|(term, x)| f64::from(x) * value(term)).sum::<f64>();
        let similarities = rows.iter().map(similarity).enumerate();
        let improved = similarities.filter(|&(doc, similarity)| similarity > search.weights.best(doc));
        improved.map(|(doc, similarity)| (doc as u32, similarity)).collect()
    }

    #[test]
    fn every_level_finds_just_the_improved_documents() {
        for negative in [false, true] {
            let rows = rows(3000, negative);
            let mut search = Search::new(&rows, RowWeights::UNIFORM, Buckets::for_docs(3000), true);
            let mut n_left_out = 0;
            for seed in (0..3000).step_by(97) {
                let expected = improved_by_definition(&search, &rows, seed);
                let index = search.index.as_ref().unwrap();
                let chosen = index.candidate(&rows, rows.row(seed), search.n_seeds).split.level;
                let deepest = if negative { chosen } else { crate::seeding::doc_index::N_LEVELS };
                for level in 0..=deepest {
                    let candidate = index.candidate_at(rows.row(seed), level);
                    n_left_out += rows.row(seed).nnz() - candidate.split.entries.len();
                    let (docs, block) = (&index.docs.blocks()[0], &search.weights.blocks()[0]);
                    let mut improved = Vec::new();
                    index
                        .scratch
                        .with(|scratch| candidate.improved(&rows, docs, block, scratch, &mut improved));
                    let improved: Vec<_> =
                        improved.iter().map(|entry| (entry.doc, entry.similarity)).collect();
                    assert_eq!(improved, expected, "level {level}");
                }
                search.absorb(&rows, rows.row(seed));
                search.take(seed as u32);
            }
            assert_eq!(n_left_out > 1000, !negative, "levels leave terms out: {n_left_out}");
        }
    }

    /// Lists that are long enough to be judged, and to become seeds, on all threads; few enough
    /// that none is dropped.
    #[test]
    fn members_of_a_pool_are_seeds_like_others() {
        let rows = rows(40_000, false);
        let search = || Search::new(&rows, RowWeights::UNIFORM, Buckets::for_docs(40_000), true);
        let (mut plain, mut pooled) = (search(), search());
        let drawn: Vec<u32> = (0..4).map(|number| number * 9901).collect();
        let seeds: Vec<Row<'_>> = drawn.iter().map(|&doc| rows.row(doc as usize)).collect();
        let joined = pooled.join(&rows, 0, &seeds, &[]);
        assert!(pooled.pooled.len_of(0) > 2 * ALONE);
        let members: Vec<u32> = (0..4).collect();
        let mut gains = joined.gains;
        for (member, &doc) in (0..).zip(&drawn) {
            let total = plain.totals().iter().sum::<u64>();
            let mut lowered = plain.absorb(&rows, seeds[member as usize]);
            lowered.push(plain.take(doc));
            let mut lowered_too = pooled.absorb_member(member);
            assert_eq!(lowered_too.iter().map(|lowered| lowered.gain).sum::<u64>(), gains[member as usize]);
            lowered_too.push(pooled.take(doc));
            assert_eq!(lowered_too, lowered);
            assert_eq!(pooled.totals(), plain.totals());
            assert_eq!(
                plain.totals().iter().sum::<u64>(),
                total - lowered.iter().map(|lowered| lowered.gain).sum::<u64>()
            );
            // Half of the others beside a new member, half of them alone.
            let (beside, alone) = members.split_at(2);
            let joined = pooled.join(&rows, 4 + member, &seeds[3..], beside);
            let judged = [joined.judged, pooled.judge(alone)].concat();
            assert_eq!(judged[3].unwrap_or(0), joined.gains[0]);
            for (place, judged) in judged.into_iter().enumerate() {
                assert_eq!(judged.is_none(), place <= member as usize, "a seed has left the pool");
                gains[place] = judged.unwrap_or(0);
            }
        }
    }

    /// With more candidates than one pass takes, and lists that are long enough for all threads.
    #[cfg(feature = "cuda-emulation")]
    #[test]
    fn a_device_finds_the_same_wherever_it_is_lost() {
        for (bytes, launches) in
            [(1 << 30, u64::MAX), (1 << 16, u64::MAX), (1 << 30, 0), (1 << 30, 3), (1 << 30, 8)]
        {
            for negative in [false, true] {
                let rows = rows(10_000, negative);
                let given: Vec<f64> = (0..10_000).map(|doc| f64::from(doc % 3)).collect();
                let weights = RowWeights::new(&given, 10_000).unwrap();
                let buckets = Buckets::for_docs(10_000);
                let device =
                    SeedDevice::new(std::sync::Arc::new(docsphere_cuda::Device::emulated(bytes, launches)));
                let mut plain = Search::new(&rows, weights, buckets, true);
                let mut found = Search::on_device(&rows, weights, buckets, &device);
                assert_eq!(found.totals(), plain.totals());
                let seeds: Vec<Row<'_>> = (0..6).map(|number| rows.row(number * 1601)).collect();
                for (step, first) in (0..3).zip((0..).step_by(6)) {
                    let again: Vec<u32> = (first.max(4) - 4..first).collect();
                    let joined = found.join(&rows, first, &seeds, &again);
                    assert_eq!(joined, plain.join(&rows, first, &seeds, &again), "step {step}");
                    let lengths = |search: &Search<'_>| {
                        (0..6).map(|number| search.pooled.len_of(first + number)).collect::<Vec<usize>>()
                    };
                    assert_eq!(lengths(&found), lengths(&plain), "step {step}");
                    let member = first + step;
                    let total: u64 = plain.totals().iter().sum();
                    for search in [&mut plain, &mut found] {
                        search.absorb_member(member);
                        search.take(member % 6 * 1601);
                    }
                    let lowered: u64 = total - plain.totals().iter().sum::<u64>();
                    assert!(lowered >= joined.gains[step as usize] && lowered > 0);
                    assert_eq!(found.totals(), plain.totals(), "step {step}");
                }
                found.absorb(&rows, rows.row(9_999));
                plain.absorb(&rows, rows.row(9_999));
                assert_eq!(found.totals(), plain.totals());
                let is_left = bytes < 1 << 20 || launches < 100;
                assert_eq!((found.left_device().is_some(), found.device.is_none()), (is_left, is_left));
            }
        }
    }

    #[test]
    fn products_are_rounded_up_by_half_a_step_or_more() {
        for number in 0..1_000_000u32 {
            let (x, c) = (number as f32 * 1e-6, SIMILARITY_STEPS);
            let up = f32::from(steps(x, c)) - x * c;
            assert!((0.498..=1.502).contains(&up), "{x}: {up}");
        }
        assert_eq!(steps(1e-30, 1e-9), 1);
    }

    #[test]
    fn a_table_gives_the_similarity_of_the_definition_to_rows_of_any_length() {
        let long =
            SparseRows::from_parts(5000, vec![0, 5000], (0..5000).collect::<Vec<u32>>(), vec![1.0; 5000])
                .unwrap();
        let every_third: Vec<u32> = (0..5000).step_by(3).collect();
        let n = every_third.len();
        let other =
            SparseRows::from_parts(5000, vec![0, n as u64, n as u64], every_third, vec![0.5; n]).unwrap();
        let (long, other) = (UnitRows::new(long), UnitRows::new(other));
        let product = f64::from(long.row(0).values[0]) * f64::from(other.row(0).values[0]);
        let sum = (0..n).fold(0.0, |sum, _| sum + product);
        assert_eq!(SeedTable::new(other.row(0)).similarity(long.row(0)), sum);
        assert_eq!(SeedTable::new(long.row(0)).similarity(other.row(0)), sum);
        assert_eq!(SeedTable::new(long.row(0)).similarity(other.row(1)), 0.0, "a zero row");
    }

    #[test]
    fn late_in_a_run_frequent_terms_are_left_out() {
        let rows = rows(30_000, false);
        let mut search = Search::new(&rows, RowWeights::UNIFORM, Buckets::for_docs(30_000), true);
        let level = |search: &Search<'_>| {
            let index = search.index.as_ref().unwrap();
            index.candidate(&rows, rows.row(29_999), search.n_seeds).split.level
        };
        assert_eq!(level(&search), 0);
        for seed in 0..1500 {
            search.absorb(&rows, rows.row(seed * 17));
            search.take(seed as u32 * 17);
        }
        assert!(level(&search) > 0);
    }
}
