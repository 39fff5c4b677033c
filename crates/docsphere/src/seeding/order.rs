//! An order of the documents that depends only on their content: that of a fixed hash of their
//! terms.
//!
//! Draws iterate over the documents in this order. So the input order does not matter, and equal
//! rows are adjacent: a row of weight 3 is drawn as often, and by the same random numbers, as three
//! rows. Rows with the same terms have the same hash; they are ordered lexicographically by their
//! values, and equal rows keep the input order. Values do not enter the hash, so that rounding can
//! only swap rows with the same terms.
//!
//! A hash needs only the row: documents in different shards can be put into one order without
//! moving a row. Different terms may have the same hash; the values decide that case too, and
//! nothing depends on it.
//!
//! **Cost.** Memory: 9 bytes per document, 16 more during construction. Time: sorting numbers.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::vectors::{Row, UnitRows};

/// Approximate number of documents per bucket; a draw scans one bucket.
const BUCKET_DOCS: usize = 1 << 4;

/// Divides hashes into buckets by their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    bits: u32,
}

impl Buckets {
    /// Buckets for `n_docs` documents, in all shards together.
    pub(crate) fn for_docs(n_docs: usize) -> Self {
        Self::of_size(n_docs, BUCKET_DOCS)
    }

    /// Buckets of about `bucket_docs` documents each. Their size changes no draw.
    pub(crate) fn of_size(n_docs: usize, bucket_docs: usize) -> Self {
        Buckets { bits: (n_docs / bucket_docs.max(1)).max(1).ilog2() }
    }

    fn count(self) -> usize {
        1 << self.bits
    }

    fn of(self, hash: u64) -> u32 {
        // In two steps, since a shift by all 64 bits is not allowed.
        (hash >> 1 >> (63 - self.bits)) as u32
    }
}

/// See the [module](self).
pub(super) struct RowOrder {
    /// The documents in order.
    docs: Vec<u32>,
    /// Start of each bucket in `docs`, and one more entry for the end.
    starts: Vec<u32>,
    /// The bucket of each document.
    bucket_of: Vec<u32>,
}

impl RowOrder {
    pub(super) fn new(rows: &UnitRows<'_>, buckets: Buckets) -> Self {
        let docs = (0..rows.n_rows() as u32).into_par_iter().with_min_len(1 << 10); // fits: at most MAX_ROWS
        let mut sorted: Vec<(u64, u32)> =
            docs.map(|doc| (content_hash(rows.row(doc as usize)), doc)).collect();
        let ordered = |&(hash, doc): &(u64, u32)| Ordered { hash, row: rows.row(doc as usize), doc };
        sorted.par_sort_unstable_by(|a, b| ordered(a).compare(&ordered(b)));
        let mut bucket_of = vec![0; sorted.len()];
        let mut starts = vec![0; buckets.count() + 1];
        for &(hash, doc) in &sorted {
            let bucket = buckets.of(hash);
            bucket_of[doc as usize] = bucket;
            starts[bucket as usize + 1] += 1;
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        RowOrder { docs: sorted.into_iter().map(|(_, doc)| doc).collect(), starts, bucket_of }
    }

    pub(super) fn n_buckets(&self) -> usize {
        self.starts.len() - 1
    }

    /// The documents of a bucket, in order.
    pub(super) fn docs_of(&self, bucket: usize) -> &[u32] {
        &self.docs[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }

    pub(super) fn bucket_of(&self, doc: u32) -> u32 {
        self.bucket_of[doc as usize]
    }
}

/// A document and its sort key.
pub(crate) struct Ordered<'a> {
    pub(crate) hash: u64,
    pub(crate) row: Row<'a>,
    pub(crate) doc: u32,
}

impl Ordered<'_> {
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let (values, others) = (self.row.values, other.row.values);
        let by_value = || {
            let pairs = values.iter().zip(others);
            let different = pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
            different.unwrap_or_else(|| values.len().cmp(&others.len()))
        };
        self.hash.cmp(&other.hash).then_with(by_value).then(self.doc.cmp(&other.doc))
    }
}

/// The hash of a row's terms, the same on every machine: ARCHITECTURE.md, "Seeding draws". The
/// mixer is that of SplitMix64.
///
/// Reference: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// doi:10.1145/2660193.2660195.
pub(crate) fn content_hash(row: Row<'_>) -> u64 {
    row.terms.iter().fold(0, |hash, &term| mix(hash ^ (u64::from(term) + 1)))
}

/// Spreads every bit over all others; 0 stays 0.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn the_order_follows_the_content_and_equal_rows_stay_as_they_came() {
        let order = |terms: Vec<u32>| {
            let offsets = (0..=terms.len() as u64).collect::<Vec<_>>();
            let values = vec![1.0; terms.len()];
            let rows = UnitRows::new(SparseRows::from_parts(50, offsets, terms.clone(), values).unwrap());
            let order = RowOrder::new(&rows, Buckets { bits: 2 });
            let of_buckets: Vec<u32> = (0..4).flat_map(|bucket| order.docs_of(bucket)).copied().collect();
            assert_eq!(order.docs, of_buckets, "buckets follow the order");
            for bucket in 0..4 {
                assert!(order.docs_of(bucket).iter().all(|&doc| order.bucket_of(doc) == bucket as u32));
            }
            let content: Vec<u32> = order.docs.iter().map(|&doc| terms[doc as usize]).collect();
            (content, order.docs)
        };
        let (content, docs) = order(vec![8, 3, 8, 3, 40, 8]);
        assert_eq!(content, order(vec![40, 3, 3, 8, 8, 8]).0);
        for same in [[0, 2, 5].as_slice(), &[1, 3]] {
            let found: Vec<u32> = docs.iter().copied().filter(|doc| same.contains(doc)).collect();
            assert_eq!(found, same);
        }
        let chain = content.chunk_by(|a, b| a == b).count();
        assert_eq!(chain, 3, "equal rows stand side by side");
    }

    #[test]
    fn buckets_are_the_first_bits() {
        assert_eq!(Buckets::for_docs(0).count(), 1);
        assert_eq!(Buckets::for_docs(1_000_000).count(), 1 << 15);
        assert_eq!(Buckets { bits: 0 }.of(u64::MAX), 0);
        assert_eq!(Buckets { bits: 3 }.of(u64::MAX), 7);
        assert_eq!(Buckets { bits: 3 }.of(u64::MAX >> 1), 3);
    }

    #[test]
    fn terms_count_and_then_values() {
        let hash = |terms: &[u32]| content_hash(Row { terms, values: &[] });
        let hashes = [hash(&[]), hash(&[0]), hash(&[1]), hash(&[0, 1]), hash(&[1, 2])];
        let distinct: std::collections::BTreeSet<u64> = hashes.into_iter().collect();
        assert_eq!(distinct.len(), hashes.len());
        let ordered = |values, doc| Ordered { hash: 7, row: Row { terms: &[3, 4], values }, doc };
        assert!(ordered(&[0.6, 0.8], 9).compare(&ordered(&[0.8, 0.6], 0)).is_lt());
        assert!(ordered(&[0.6, 0.8], 9).compare(&ordered(&[0.6, 0.8], 0)).is_gt(), "as they came");
    }
}
