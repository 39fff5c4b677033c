//! The terms of a matrix: term to column and back.
//!
//! All terms are concatenated in one text, in ascending order, with the end of each: the length of
//! the term plus 8 bytes, and 5 to 10 more for the hash table that finds them, which the first
//! search makes: a run over documents that are counted here never searches. Byte order is code
//! point order, so it is also Python's.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::rows::check_n_terms;
use crate::error::{Error, Result};
use crate::ids::TermId;

/// Name of the format in messages.
const FORMAT: &str = "vocabulary";

/// Terms in ascending order; a term's position is its column.
///
/// ```
/// use docsphere::{TermId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_terms(["dog", "cat", "dog"])?;
/// assert_eq!(vocabulary.iter().collect::<Vec<_>>(), ["cat", "dog"]);
/// assert_eq!(vocabulary.find("dog"), Some(TermId::new(1)));
/// assert_eq!(vocabulary.term(TermId::new(0)), "cat");
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone)]
pub struct Vocabulary {
    text: String,
    /// End of each term in `text`.
    ends: Vec<u64>,
    table: OnceLock<HashTable<u32>>,
    hasher: RandomState,
}

impl Vocabulary {
    /// A vocabulary of these terms, in any order; repeated terms count once.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for more than
    /// [`MAX_TERMS`](crate::MAX_TERMS) terms.
    pub fn from_terms<S: AsRef<str>>(terms: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut terms: Vec<S> = terms.into_iter().collect();
        terms.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        terms.dedup_by(|a, b| a.as_ref() == b.as_ref());
        Self::from_sorted(terms.iter().map(AsRef::as_ref))
    }

    /// A vocabulary of strictly ascending terms.
    pub(crate) fn from_sorted<'a>(terms: impl ExactSizeIterator<Item = &'a str>) -> Result<Self> {
        check_n_terms(terms.len() as u64)?;
        let mut text = String::new();
        let mut ends = Vec::with_capacity(terms.len());
        for term in terms {
            text.push_str(term);
            ends.push(text.len() as u64);
        }
        text.shrink_to_fit();
        Ok(Self::of_parts(text, ends))
    }

    fn of_parts(text: String, ends: Vec<u64>) -> Self {
        Vocabulary { text, ends, table: OnceLock::new(), hasher: RandomState::default() }
    }

    /// The table that finds terms.
    fn table(&self) -> &HashTable<u32> {
        self.table.get_or_init(|| {
            let mut table = HashTable::with_capacity(self.len());
            for index in 0..self.len() {
                let hash = self.hasher.hash_one(self.at(index));
                // The capacity suffices, so nothing is ever rehashed.
                table.insert_unique(hash, index as u32, |_| unreachable!("the table has room"));
            }
            table
        })
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The term of a column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn term(&self, id: TermId) -> &str {
        self.at(id.index())
    }

    /// The column of a term.
    #[inline]
    pub fn find(&self, term: &str) -> Option<TermId> {
        let hash = self.hasher.hash_one(term);
        self.table().find(hash, |&index| self.at(index as usize) == term).map(|&index| TermId::new(index))
    }

    /// All terms, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Bytes of the terms and, once a term has been searched, the table.
    pub fn memory_bytes(&self) -> usize {
        let table = self.table.get().map_or(0, HashTable::allocation_size);
        self.text.capacity() + 8 * self.ends.capacity() + table
    }

    #[inline]
    fn at(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..self.ends[index] as usize]
    }

    /// The vocabulary as bytes, little endian: the number of terms (8), the end of each term (8
    /// each), the terms.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + 8 * self.len() + self.text.len());
        bytes.extend((self.len() as u64).to_le_bytes());
        self.ends.iter().for_each(|end| bytes.extend(end.to_le_bytes()));
        bytes.extend(self.text.as_bytes());
        bytes
    }

    /// The vocabulary that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for bytes that it did not write.
    /// Memory is at most proportional to the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = |expected: &str, found: String| Error::malformed(FORMAT, expected, found);
        let size = || damaged("a table of the size that it states", format!("{} bytes", bytes.len()));
        let (n_terms, rest) = bytes.split_first_chunk::<8>().ok_or_else(size)?;
        let n_terms = u64::from_le_bytes(*n_terms);
        check_n_terms(n_terms)?;
        let (ends, text) = rest.split_at_checked(8 * n_terms as usize).ok_or_else(size)?;
        let ends: Vec<u64> =
            ends.chunks_exact(8).map(|end| u64::from_le_bytes(end.try_into().expect("8 bytes"))).collect();
        let text = std::str::from_utf8(text).map_err(|error| damaged("text in UTF-8", error.to_string()))?;
        if ends.last().copied().unwrap_or(0) != text.len() as u64 {
            return Err(size());
        }
        let mut start = 0;
        let mut last: Option<&str> = None;
        for (index, &end) in ends.iter().enumerate() {
            let range = start as usize..usize::try_from(end).unwrap_or(usize::MAX);
            let term = text.get(range).filter(|&term| last.is_none_or(|last| last < term));
            let term = term.ok_or_else(|| {
                damaged("terms that ascend strictly", format!("another place or term at {index}"))
            })?;
            (start, last) = (end, Some(term));
        }
        Ok(Self::of_parts(text.to_owned(), ends))
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Vocabulary {}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vocabulary({} terms)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vocabulary {
        Vocabulary::from_terms(["zebra", "ähre", "a", "", "東京", "a b", "zebra"]).unwrap()
    }

    #[test]
    fn terms_are_found_and_stand_in_order() {
        let vocabulary = sample();
        assert_eq!(vocabulary.iter().collect::<Vec<_>>(), ["", "a", "a b", "zebra", "ähre", "東京"]);
        for (index, term) in vocabulary.iter().enumerate() {
            assert_eq!(vocabulary.find(term), Some(TermId::new(index as u32)));
            assert_eq!(vocabulary.term(TermId::new(index as u32)), term);
        }
        assert_eq!(vocabulary.find("b"), None);
        assert_eq!(format!("{vocabulary:?}"), "Vocabulary(6 terms)");
        let none = Vocabulary::from_terms([""; 0]).unwrap();
        assert!(none.is_empty() && none.find("").is_none());
    }

    #[test]
    fn bytes_make_the_round_trip_and_damage_is_an_error() {
        for vocabulary in [sample(), Vocabulary::from_terms([""; 0]).unwrap()] {
            let bytes = vocabulary.to_bytes();
            assert_eq!(Vocabulary::from_bytes(&bytes).unwrap(), vocabulary);
            for length in 0..bytes.len() {
                assert!(Vocabulary::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
            }
            for position in 0..bytes.len() {
                for bit in 0..8 {
                    let mut changed = bytes.clone();
                    changed[position] ^= 1 << bit;
                    if let Ok(other) = Vocabulary::from_bytes(&changed) {
                        assert!(other.iter().is_sorted() && other.to_bytes() == changed);
                    }
                }
            }
        }
        assert_eq!(
            Vocabulary::from_bytes(&[0xff; 64]).unwrap_err().to_string(),
            "the number of terms is limited to 268435456, got 18446744073709551615"
        );
        assert_eq!(
            Vocabulary::from_bytes(&[1, 0, 0]).unwrap_err().to_string(),
            "not valid vocabulary: expected a table of the size that it states, found 3 bytes"
        );
    }
}
