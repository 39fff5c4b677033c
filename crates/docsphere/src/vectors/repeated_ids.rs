//! Counts ids that occurred before.
//!
//! Ids are sorted by a hash of 64 bits alone. Hashes that occur once belong to ids that occur once,
//! and in most corpora that is all. For each hash that occurs more often, a second pass finds the
//! first document with it, and a third compares the others with that one. Different ids with the
//! same hash, which are not to be expected, are sorted as texts.
//!
//! **Memory.** 8 bytes per id: at most half of the hashes occur more than once, and the first
//! documents take 4 bytes for each of these.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use foldhash::fast::RandomState;
use rayon::prelude::*;

use super::document_ids::{IDS, Ids};
use crate::error::Result;
use crate::memory::MemoryLimit;

/// The number of ids that occurred before. On the current rayon pool.
///
/// # Errors
/// Not enough memory.
pub(super) fn count_repeated(ids: &Ids, memory: &MemoryLimit) -> Result<u64> {
    memory.check(IDS, (size_of::<u64>() * ids.len()) as u64)?;
    let hasher = RandomState::default();
    Ok(count_by(ids, |id| hasher.hash_one(id)))
}

fn count_by(ids: &Ids, hash: impl Fn(&str) -> u64 + Sync) -> u64 {
    let documents = || (0..ids.len()).into_par_iter();
    let mut hashes: Vec<u64> = documents().map(|document| hash(&ids[document])).collect();
    hashes.par_sort_unstable();
    keep_repeated(&mut hashes);
    if hashes.is_empty() {
        return 0;
    }
    hashes.shrink_to_fit();
    let repeated = |document: usize| hashes.binary_search(&hash(&ids[document])).ok();
    let firsts: Vec<AtomicU32> = hashes.par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    documents().for_each(|document| {
        if let Some(place) = repeated(document) {
            firsts[place].fetch_min(document as u32, Relaxed); // MAX_ROWS
        }
    });
    // Ids equal to the first of their hash, and those that differ from it.
    let compare = |(n_equal, mut others): (u64, Vec<u32>), document: usize| {
        if let Some(first) = repeated(document).map(|place| firsts[place].load(Relaxed)) {
            if ids[first as usize] != ids[document] {
                others.push(document as u32);
            } else if first as usize != document {
                return (n_equal + 1, others);
            }
        }
        (n_equal, others)
    };
    let none = || (0, Vec::new());
    let add = |(a, mut others): (u64, Vec<u32>), (b, more): (u64, Vec<u32>)| {
        others.extend(more);
        (a + b, others)
    };
    let (n_equal, others) = documents().fold(none, compare).reduce(none, add);
    let mut others: Vec<&str> = others.iter().map(|&document| &ids[document as usize]).collect();
    others.par_sort_unstable();
    n_equal + others.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64
}

/// Keeps those of sorted numbers that occur more than once, each once.
fn keep_repeated(sorted: &mut Vec<u64>) {
    let (mut n_kept, mut start) = (0, 0);
    while start < sorted.len() {
        let number = sorted[start];
        let end = start + sorted[start..].iter().take_while(|&&other| other == number).count();
        if end - start > 1 {
            sorted[n_kept] = number;
            n_kept += 1;
        }
        start = end;
    }
    sorted.truncate(n_kept);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::NO_LIMIT;

    #[test]
    fn memory_is_asked_for() {
        let ids: Ids = (0..1000).map(|number| number.to_string()).collect();
        let count = |bytes| count_repeated(&ids, &MemoryLimit::new(bytes, || 100));
        assert_eq!(count(8_100).unwrap(), 0);
        assert!(count(8_099).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn repeated_ids_are_counted_whatever_their_hashes(
            list in prop::collection::vec("[ab]{0,4}", 0..60),
        ) {
            let ids: Ids = list.iter().collect();
            let expected = (list.len() - list.iter().collect::<HashSet<_>>().len()) as u64;
            prop_assert_eq!(count_repeated(&ids, &NO_LIMIT).unwrap(), expected);
            prop_assert_eq!(count_by(&ids, |id| id.len() as u64), expected);
            prop_assert_eq!(count_by(&ids, |_| 7), expected);
        }
    }
}
