//! Sizes that are known before a run.

use std::cmp::Reverse;

use crate::simd::TILE;

/// The sizes that determine the memory of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) n_rows: u64,
    pub(crate) nnz: u64,
    pub(crate) n_terms: u64,
    /// Terms of the longest row.
    pub(crate) max_row_nnz: u64,
    /// Whether there are negative values.
    pub(crate) has_negative: bool,
    pub(crate) n_clusters: u64,
    pub(crate) n_threads: u64,
    /// Thresholds of the paper's index.
    pub(crate) n_lambdas: u64,
    /// Entries of the first centroids, if the caller gives them.
    pub(crate) given_entries: u64,
    pub(crate) spread: Spread,
    /// Rows of the largest shard: all, unless they are in a file.
    pub(crate) shard_rows: u64,
    /// The most nonzeros of a shard.
    pub(crate) shard_nnz: u64,
    /// Whether the rows are in a file, and what is derived from single rows as well.
    pub(crate) is_mapped: bool,
}

impl Sizes {
    /// Upper bound on the entries of all centroids together: of each term as many as there are
    /// rows with it or clusters; or those of centroids that the caller gives.
    pub(crate) fn entries(&self) -> u64 {
        self.spread.entries(self.n_clusters).max(self.given_entries)
    }
}

/// In how many of k clusters the terms may be, for any k.
///
/// That is the sum over the terms of the lesser of k and the number of their rows. It is kept for
/// powers of two; from one to the next it grows by at most the number of terms with more rows than
/// the first. The [`N_FREQUENT`] most frequent terms are counted apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    frequent: Powers,
    rare: Powers,
}

/// As many terms may have a row in a table.
pub(crate) const N_FREQUENT: usize = 1 << 16;

/// The same for some of the terms.
#[derive(Clone, Copy, Debug)]
struct Powers([Power; N_POWERS]);

/// What is known of a power of two.
#[derive(Clone, Copy, Debug, Default)]
struct Power {
    /// The sum for k clusters.
    entries: u64,
    /// The number of terms with more than k rows.
    n_terms: u64,
}

/// Powers of two up to the greatest number of rows.
const N_POWERS: usize = 33;

impl Spread {
    /// From the numbers of rows with each term.
    pub(crate) fn new(mut frequencies: Vec<u32>) -> Self {
        Spread::with_frequent(&mut frequencies, N_FREQUENT)
    }

    fn with_frequent(frequencies: &mut [u32], n_frequent: usize) -> Self {
        let (frequent, rare) = if n_frequent < frequencies.len() {
            frequencies.select_nth_unstable_by_key(n_frequent, |&frequency| Reverse(frequency));
            frequencies.split_at(n_frequent)
        } else {
            (&*frequencies, &[][..])
        };
        Spread { frequent: Powers::new(frequent), rare: Powers::new(rare) }
    }

    /// Upper bound on the entries of `n` columns, or fewer, that are in no row of a table, if every
    /// frequent term with at least `least` of them has a row.
    pub(crate) fn beside_table(&self, n: u64, least: u64) -> u64 {
        self.frequent.entries(n.min(least.saturating_sub(1))) + self.rare.entries(n)
    }

    /// Upper bound on the bytes of a table with a byte for each of `n` columns and each term that
    /// is in at least one of `share` of them, for any `n` up to `n_columns`, rounded up to tiles.
    pub(crate) fn table_bytes(&self, n_columns: u64, share: u64) -> u64 {
        let of_power = |bit: u32| {
            // From this power to the next.
            let (first, last) = (1u64 << bit, n_columns.min((2 << bit) - 1));
            let least_rows = first.div_ceil(share);
            let n_terms = match (least_rows - 1).checked_ilog2() {
                None => self.at_power(0).entries,
                Some(power) => self.at_power(power).n_terms,
            };
            last.next_multiple_of(TILE as u64) * n_terms
        };
        (0..n_columns.checked_ilog2().map_or(0, |bit| bit + 1)).map(of_power).max().unwrap_or(0)
    }

    /// Upper bound on the entries of so many centroids.
    fn entries(&self, n_clusters: u64) -> u64 {
        self.frequent.entries(n_clusters) + self.rare.entries(n_clusters)
    }

    fn at_power(&self, bit: u32) -> Power {
        let [frequent, rare] = [self.frequent, self.rare].map(|powers| powers.0[bit as usize]);
        Power { entries: frequent.entries + rare.entries, n_terms: frequent.n_terms + rare.n_terms }
    }
}

impl Powers {
    fn new(frequencies: &[u32]) -> Self {
        let mut powers = [Power::default(); N_POWERS];
        for &frequency in frequencies {
            let frequency = u64::from(frequency);
            for (bit, power) in powers.iter_mut().enumerate() {
                power.entries += frequency.min(1 << bit);
                power.n_terms += u64::from(frequency > 1 << bit);
            }
        }
        Powers(powers)
    }

    fn entries(&self, n_clusters: u64) -> u64 {
        let Some(bit) = n_clusters.checked_ilog2() else { return 0 };
        let bit = (bit as usize).min(N_POWERS - 1);
        let power = self.0[bit];
        power.entries + (n_clusters - (1 << bit)).saturating_mul(power.n_terms)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_bound_holds_for_any_number_and_is_exact_for_powers_of_two(
            frequencies in prop::collection::vec(0u32..300, 0..40),
            n_clusters in 0u64..400,
            n_frequent in 0usize..45,
            least in 0u64..20,
        ) {
            let exact = |k: u64| frequencies.iter().map(|&frequency| u64::from(frequency).min(k)).sum::<u64>();
            let spread = Spread::with_frequent(&mut frequencies.clone(), n_frequent);
            prop_assert!(spread.entries(n_clusters) >= exact(n_clusters));
            prop_assert!(spread.entries(n_clusters) <= frequencies.len() as u64 * n_clusters);
            let power = n_clusters.next_power_of_two();
            prop_assert_eq!(spread.entries(power), exact(power));
            let mut descending = frequencies.clone();
            descending.sort_unstable_by_key(|&frequency| Reverse(frequency));
            for n in 1..=n_clusters {
                // A frequent term that has no row is in fewer than `least` columns.
                let beside = descending.iter().enumerate().map(|(rank, &rows)| {
                    let n_columns = u64::from(rows).min(n);
                    if rank < n_frequent { n_columns.min(least.saturating_sub(1)) } else { n_columns }
                });
                prop_assert!(beside.sum::<u64>() <= spread.beside_table(n, least));
                let share = 5;
                let n_rows = frequencies.iter().filter(|&&rows| u64::from(rows) * share >= n && rows > 0).count();
                let table = n.next_multiple_of(TILE as u64) * n_rows as u64;
                prop_assert!(table <= spread.table_bytes(n_clusters, share), "{n} columns");
            }
        }
    }
}
