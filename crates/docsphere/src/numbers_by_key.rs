//! Numbers grouped by a small integer key, on all threads: members of clusters, pairs by cluster.
//!
//! A counting sort. The numbers from 0 on are cut into parts, one per thread. Each part counts its
//! keys; running sums over the keys, and for each key over the parts, say where every part writes
//! the numbers of a key. So the numbers of a key ascend, however many threads there are.
//!
//! The grouped numbers are atomic because parts write side by side into one list; no two write to
//! the same place.
//!
//! **Cost.** 8 bytes per key and 4 per number, and while they are grouped 4 bytes per key and
//! thread. Two passes over the numbers.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

/// A part has at least this many numbers.
const PART_NUMBERS: usize = 1 << 13;

/// Keys are summed in ranges of at least this many.
const RANGE_KEYS: usize = 1 << 10;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct NumbersByKey {
    /// Start of each key's numbers, and one more entry for the end.
    starts: Vec<usize>,
    numbers: Vec<AtomicU32>,
}

impl NumbersByKey {
    /// Groups the numbers from 0 to `n`, reusing the memory of the previous call. Numbers without a
    /// key are left out.
    pub(crate) fn group(&mut self, n_keys: usize, n: usize, key: impl Fn(usize) -> Option<u32> + Sync) {
        let n_parts = (n / PART_NUMBERS).clamp(1, rayon::current_num_threads());
        let size = n.div_ceil(n_parts);
        let numbers_of = |part: usize| -> Range<usize> { part * size..n.min((part + 1) * size) };
        let counted = |part: usize| {
            let mut counts = vec![0u32; n_keys];
            numbers_of(part).filter_map(&key).for_each(|key| counts[key as usize] += 1);
            counts
        };
        let mut counts: Vec<Vec<u32>> = (0..n_parts).into_par_iter().map(counted).collect();
        let n_grouped = self.place(n_keys, &mut counts);
        if self.numbers.len() < n_grouped {
            self.numbers = (0..n_grouped).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        }
        let grouped = &self.numbers[..];
        let starts = &self.starts[..];
        counts.into_par_iter().enumerate().for_each(|(part, mut taken)| {
            for number in numbers_of(part) {
                if let Some(key) = key(number) {
                    let taken = &mut taken[key as usize];
                    grouped[starts[key as usize] + *taken as usize].store(number as u32, Relaxed);
                    *taken += 1;
                }
            }
        });
    }

    /// Finds the start of each key, and replaces the counts of each part by the number of entries
    /// that earlier parts have of the same key. Returns the number of all entries.
    fn place(&mut self, n_keys: usize, counts: &mut [Vec<u32>]) -> usize {
        let range = n_keys.div_ceil(4 * rayon::current_num_threads()).max(RANGE_KEYS);
        let mut by_range: Vec<Vec<&mut [u32]>> = Vec::new();
        by_range.resize_with(n_keys.div_ceil(range), Vec::new);
        for part in counts {
            for (parts, counts) in by_range.iter_mut().zip(part.chunks_mut(range)) {
                parts.push(counts);
            }
        }
        self.starts.clear();
        self.starts.resize(n_keys + 1, 0);
        let starts = self.starts[..n_keys].par_chunks_mut(range);
        let mut totals: Vec<usize> = starts
            .zip(&mut by_range)
            .map(|(starts, parts)| {
                let mut total = 0;
                for (key, start) in starts.iter_mut().enumerate() {
                    *start = total;
                    let mut before = 0;
                    for part in parts.iter_mut() {
                        before += std::mem::replace(&mut part[key], before);
                    }
                    total += before as usize;
                }
                total
            })
            .collect();
        let mut end = 0;
        for total in &mut totals {
            end += std::mem::replace(total, end);
        }
        let starts = self.starts[..n_keys].par_chunks_mut(range);
        starts.zip(totals).for_each(|(starts, before)| starts.iter_mut().for_each(|start| *start += before));
        self.starts[n_keys] = end;
        end
    }

    /// The numbers of a key, which ascend.
    #[inline]
    pub(crate) fn of(&self, key: u32) -> &[AtomicU32] {
        &self.numbers[self.range_of(key)]
    }

    /// Where they are among all numbers.
    #[inline]
    pub(crate) fn range_of(&self, key: u32) -> Range<usize> {
        self.starts[key as usize]..self.starts[key as usize + 1]
    }

    /// All numbers, key by key.
    pub(crate) fn all(&self) -> &[AtomicU32] {
        &self.numbers[..self.starts.last().copied().unwrap_or(0)]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.numbers[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::on_threads;
    use proptest::prelude::*;

    fn check(grouped: &NumbersByKey, keys: &[u32], n_keys: u32) {
        for key in 0..n_keys {
            let found: Vec<usize> = grouped.of(key).iter().map(|n| n.load(Relaxed) as usize).collect();
            let expected: Vec<usize> = (0..keys.len()).filter(|&number| keys[number] == key).collect();
            assert_eq!(found, expected, "key {key}");
        }
        assert_eq!(grouped.all().len(), keys.iter().filter(|&&key| key < n_keys).count());
    }

    proptest! {
        /// Key 7 and above stand for none.
        #[test]
        fn numbers_are_grouped_and_ascend(keys in prop::collection::vec(0u32..9, 0..40), before in 0usize..60) {
            let mut grouped = NumbersByKey::default();
            grouped.group(9, before, |number| Some(number as u32 % 9));
            grouped.group(7, keys.len(), |number| Some(keys[number]).filter(|&key| key < 7));
            check(&grouped, &keys, 7);
        }
    }

    #[test]
    fn parts_and_ranges_of_keys_fit_together() {
        let n_keys = 3 * RANGE_KEYS as u32 + 5;
        let key = |number: usize| (number as u32).wrapping_mul(2_654_435_761) >> 16;
        let keys: Vec<u32> = (0..5 * PART_NUMBERS + 3).map(|number| key(number) % (n_keys + 40)).collect();
        let some = |number: usize| Some(keys[number]).filter(|&key| key < n_keys);
        for threads in [1, 3, 16] {
            on_threads(Some(threads), || {
                let mut grouped = NumbersByKey::default();
                grouped.group(n_keys as usize, keys.len(), some);
                let all: Vec<u32> = grouped.all().iter().map(|number| number.load(Relaxed)).collect();
                let mut expected: Vec<u32> =
                    (0..keys.len() as u32).filter(|&n| some(n as usize).is_some()).collect();
                expected.sort_by_key(|&number| keys[number as usize]);
                assert_eq!(all, expected, "{threads} threads");
            })
            .unwrap();
        }
    }
}
