//! The bulk of messages, packed: numbers in as few bytes as they need, ascending ones as gaps.
//!
//! An integer takes 7 bits per byte, the last byte below 128; a signed one alternates in sign first
//! (0, -1, 1, -2, …); an f32 takes its 4 bytes. A term of a sparse row so takes one or two bytes,
//! an entry of a centroid five or six, an entry of a delta about seven.
//!
//! A reader never allocates more than a small multiple of the bytes that are there.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::centroids::Centroid;
use crate::error::{Error, Result};
use crate::labels::Assignment;
use crate::seeding::{Lowered, Seed};
use crate::update::{ClusterDelta, Delta};
use crate::vectors::{MAX_ROWS, Row};

/// Bytes of a message that are copied as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Packed(pub(super) Vec<u8>);

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Packed;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Packed, E> {
                Ok(Packed(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl Packed {
    pub(super) fn of_rows<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Self {
        let mut packed = Packed::default();
        rows.into_iter().for_each(|row| packed.push_row(row));
        packed
    }

    pub(super) fn of_seeds(seeds: &[Seed]) -> Self {
        let mut packed = Packed::default();
        for seed in seeds {
            packed.push(u64::from(seed.doc));
            packed.push_row(seed.row.as_row());
        }
        packed
    }

    pub(super) fn of_delta(delta: &Delta) -> Self {
        let mut packed = Packed::default();
        let mut before = 0;
        for ClusterDelta { cluster, terms, values } in &delta.clusters {
            packed.push(u64::from(cluster - before));
            before = *cluster;
            packed.push_terms(terms);
            values.iter().for_each(|&value| packed.push_signed(value));
        }
        packed
    }

    /// Numbers in any order.
    pub(super) fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut packed = Packed::default();
        numbers.into_iter().for_each(|number| packed.push(number));
        packed
    }

    /// The totals of buckets, many of which may be 0.
    pub(super) fn of_totals(totals: &[u64]) -> Self {
        let mut packed = Packed::default();
        packed.push(totals.len() as u64);
        let mut before = 0;
        for (bucket, &total) in totals.iter().enumerate().filter(|(_, total)| **total > 0) {
            packed.push((bucket - before) as u64);
            packed.push(total);
            before = bucket;
        }
        packed
    }

    /// The labels of documents; positions ascend.
    pub(super) fn of_labels(labels: &[(u32, u32)]) -> Self {
        let mut packed = Packed::default();
        let mut before = 0;
        for &(position, label) in labels {
            packed.push(u64::from(position - before));
            packed.push(packed_label(label));
            before = position;
        }
        packed
    }

    /// Weights lowered in buckets, which are added up and sorted here.
    pub(super) fn of_lowered(mut lowered: Vec<Lowered>) -> Self {
        lowered.sort_unstable_by_key(|lowered| lowered.bucket);
        let mut packed = Packed::default();
        let mut before = 0;
        for same in lowered.chunk_by(|a, b| a.bucket == b.bucket) {
            packed.push(u64::from(same[0].bucket - before));
            packed.push(same.iter().map(|lowered| lowered.gain).sum());
            before = same[0].bucket;
        }
        packed
    }

    pub(super) fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn push_signed(&mut self, number: i64) {
        self.push((number << 1 ^ number >> 63) as u64);
    }

    /// Ascending terms and their number.
    fn push_terms(&mut self, terms: &[u32]) {
        self.push(terms.len() as u64);
        let mut before = 0;
        for &term in terms {
            self.push(u64::from(term - before));
            before = term;
        }
    }

    pub(super) fn push_row(&mut self, row: Row<'_>) {
        self.push_terms(row.terms);
        row.values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
    }

    pub(super) fn reader(&self) -> Unpacking<'_> {
        Unpacking(&self.0)
    }
}

/// No label becomes 0.
fn packed_label(label: u32) -> u64 {
    u64::from(label.wrapping_add(1))
}

fn unpacked_label(number: u32) -> u32 {
    number.wrapping_sub(1)
}

/// Reads what was packed, in the same order.
pub(super) struct Unpacking<'a>(&'a [u8]);

impl Unpacking<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    pub(super) fn short(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| damaged())
    }

    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The sum of a number that ascends and the next gap.
    fn after(&mut self, before: u32) -> Result<u32> {
        before.checked_add(self.short()?).ok_or_else(damaged)
    }

    fn terms(&mut self) -> Result<Vec<u32>> {
        let n_terms = self.number()?;
        if n_terms > self.0.len() as u64 {
            return Err(damaged());
        }
        let mut terms = Vec::with_capacity(n_terms as usize);
        let mut before = 0;
        for _ in 0..n_terms {
            before = self.after(before)?;
            terms.push(before);
        }
        Ok(terms)
    }

    pub(super) fn row(&mut self) -> Result<Centroid> {
        let terms = self.terms()?;
        let (values, rest) = self.0.split_at_checked(4 * terms.len()).ok_or_else(damaged)?;
        self.0 = rest;
        let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        Ok(Centroid { terms: terms.into(), values: values.chunks_exact(4).map(value).collect() })
    }

    pub(super) fn rows(mut self) -> Result<Vec<Centroid>> {
        self.until_the_end(Self::row)
    }

    pub(super) fn seed(&mut self) -> Result<Seed> {
        Ok(Seed { doc: self.short()?, row: self.row()? })
    }

    pub(super) fn seeds(mut self) -> Result<Vec<Seed>> {
        self.until_the_end(Self::seed)
    }

    pub(super) fn delta(mut self) -> Result<Delta> {
        let mut cluster = 0;
        let clusters = self.until_the_end(|this| {
            cluster = this.after(cluster)?;
            let terms: Arc<[u32]> = this.terms()?.into();
            let values: Result<Box<[i64]>> = (0..terms.len()).map(|_| this.signed()).collect();
            Ok(ClusterDelta { cluster, terms, values: values? })
        })?;
        Ok(Delta { clusters })
    }

    /// Adds totals of buckets to those of other workers.
    pub(super) fn add_totals(mut self, totals: &mut Vec<u64>) -> Result<()> {
        let n_buckets = self.number()?;
        if n_buckets > MAX_ROWS || (!totals.is_empty() && totals.len() as u64 != n_buckets) {
            return Err(damaged());
        }
        totals.resize(n_buckets as usize, 0);
        let mut bucket = 0u64;
        while !self.is_empty() {
            bucket = bucket.checked_add(self.number()?).ok_or_else(damaged)?;
            let total = totals.get_mut(bucket as usize).ok_or_else(damaged)?;
            *total = total.checked_add(self.number()?).ok_or_else(damaged)?;
        }
        Ok(())
    }

    pub(super) fn labels(mut self) -> Result<Vec<(u32, u32)>> {
        let mut position = 0;
        self.until_the_end(|this| {
            position = this.after(position)?;
            Ok((position, unpacked_label(this.short()?)))
        })
    }

    pub(super) fn lowered(mut self) -> Result<Vec<Lowered>> {
        let mut bucket = 0;
        self.until_the_end(|this| {
            bucket = this.after(bucket)?;
            Ok(Lowered { bucket, gain: this.number()? })
        })
    }

    fn until_the_end<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while !self.is_empty() {
            all.push(read(self)?);
        }
        Ok(all)
    }
}

/// The labels of consecutive documents.
pub(super) fn pack_all_labels(labels: &[u32]) -> Packed {
    Packed::of_numbers(labels.iter().map(|&label| packed_label(label)))
}

/// Reads what [`pack_all_labels`] wrote.
pub(super) fn unpack_all_labels(packed: &Packed) -> Result<Vec<u32>> {
    debug_assert_eq!(unpacked_label(0), Assignment::NO_LABEL);
    let mut reader = packed.reader();
    reader.until_the_end(|this| Ok(unpacked_label(this.short()?)))
}

pub(super) fn damaged() -> Error {
    Error::malformed("message", "a whole message of this version", "other bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row() -> impl Strategy<Value = Centroid> {
        prop::collection::btree_map(any::<u32>(), any::<f32>(), 0..20).prop_map(|entries| Centroid {
            terms: entries.keys().copied().collect(),
            values: entries.values().copied().collect(),
        })
    }

    fn bits(rows: &[Centroid]) -> Vec<(Arc<[u32]>, Vec<u32>)> {
        rows.iter().map(|row| (row.terms.clone(), row.values.iter().map(|v| v.to_bits()).collect())).collect()
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec(row(), 0..6)) {
            let packed = Packed::of_rows(rows.iter().map(Centroid::as_row));
            prop_assert_eq!(bits(&packed.reader().rows().unwrap()), bits(&rows));
            // A part of it is an error or fewer rows, never a panic.
            for end in 0..packed.0.len() {
                let part = Packed(packed.0[..end].to_vec());
                prop_assert!(part.reader().rows().is_err() || part.reader().rows().unwrap().len() < rows.len());
            }
        }

        #[test]
        fn deltas_come_back(parts in prop::collection::btree_map(
            any::<u32>(), prop::collection::btree_map(any::<u32>(), any::<i64>(), 0..9), 0..6,
        )) {
            let cluster = |(&cluster, entries): (&u32, &std::collections::BTreeMap<u32, i64>)| ClusterDelta {
                cluster,
                terms: entries.keys().copied().collect(),
                values: entries.values().copied().collect(),
            };
            let delta = Delta { clusters: parts.iter().map(cluster).collect() };
            prop_assert_eq!(Packed::of_delta(&delta).reader().delta().unwrap(), delta);
        }

        #[test]
        fn labels_and_numbers_come_back(
            labels in prop::collection::btree_map(any::<u32>(), any::<u32>(), 0..50),
            numbers in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let labels: Vec<(u32, u32)> = labels.into_iter().collect();
            prop_assert_eq!(Packed::of_labels(&labels).reader().labels().unwrap(), labels.clone());
            let halves: Vec<u64> = numbers.iter().map(|number| number / 2 * (number % 3)/ 3).collect();
            let mut totals = Vec::new();
            Packed::of_totals(&halves).reader().add_totals(&mut totals).unwrap();
            prop_assert_eq!(&totals, &halves);
            Packed::of_totals(&halves).reader().add_totals(&mut totals).unwrap();
            prop_assert!(totals.iter().zip(&halves).all(|(total, half)| *total == 2 * half));
            let all: Vec<u32> = labels.into_iter().map(|label| label.1).collect();
            prop_assert_eq!(unpack_all_labels(&pack_all_labels(&all)).unwrap(), all);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let packed = Packed(bytes);
            let _ = (packed.reader().rows(), packed.reader().seeds(), packed.reader().delta());
            let _ = (packed.reader().labels(), packed.reader().add_totals(&mut Vec::new()), packed.reader().lowered());
        }
    }

    #[test]
    fn weights_lowered_in_one_bucket_are_added_up() {
        let lowered = [(7, 1), (2, 5), (7, 10)].map(|(bucket, gain)| Lowered { bucket, gain });
        let found = Packed::of_lowered(lowered.to_vec()).reader().lowered().unwrap();
        assert_eq!(found, [Lowered { bucket: 2, gain: 5 }, Lowered { bucket: 7, gain: 11 }]);
    }
}
