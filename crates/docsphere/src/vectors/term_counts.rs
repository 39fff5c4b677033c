//! The counts of the terms of a corpus or of a part of one, to be added up and sent.
//!
//! The terms are sorted, so that two lists are added in one pass and the sum does not depend on the
//! order in which lists are added.
//!
//! **Memory.** The length of each term, and 24 bytes.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use super::choosing::{ChosenTerms, TermSource};
use super::counting::CountedTerm;
use crate::error::{Error, Result};

/// Name of the format in messages.
const FORMAT: &str = "term counts";

/// The least bytes of a term: its length, its documents, its further occurrences.
const MIN_TERM_BYTES: usize = 3;

/// Number of terms that a thread goes through at a time.
const TERMS_PER_PART: usize = 1 << 14;

/// Terms with the number of documents and occurrences of each, and the number of documents.
///
/// Those of the parts of a corpus add up to those of the whole, see
/// [`CountedDocuments`](crate::CountedDocuments). The default is that of no documents.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TermCounts {
    n_documents: u64,
    /// All terms, in ascending order.
    text: String,
    terms: Vec<TermCount>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct TermCount {
    /// End of the term in the text.
    end: usize,
    n_docs: u64,
    n_occurrences: u64,
}

impl TermCounts {
    pub(super) fn from_terms(n_documents: u64, terms: &ChosenTerms<'_>) -> Self {
        let n_bytes = terms.iter().map(|counted| counted.term.len()).sum();
        let mut counts = TermCounts::with_capacity(n_documents, terms.iter().len(), n_bytes);
        terms.iter().for_each(|counted| counts.push(counted.term, counted.n_docs, counted.n_occurrences));
        counts
    }

    fn with_capacity(n_documents: u64, n_terms: usize, text_bytes: usize) -> Self {
        let (text, terms) = (String::with_capacity(text_bytes), Vec::with_capacity(n_terms));
        TermCounts { n_documents, text, terms }
    }

    fn push(&mut self, term: &str, n_docs: u64, n_occurrences: u64) {
        self.text.push_str(term);
        self.terms.push(TermCount { end: self.text.len(), n_docs, n_occurrences });
    }

    /// The number of documents.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// The number of different terms.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// Total bytes of all terms.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// The terms of a range of positions.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = CountedTerm<'_>> {
        range.map(|index| self.at(index))
    }

    fn at(&self, index: usize) -> CountedTerm<'_> {
        let start = if index == 0 { 0 } else { self.terms[index - 1].end };
        let TermCount { end, n_docs, n_occurrences } = self.terms[index];
        // Nobody asks for the provisional number of a term that is already sorted.
        CountedTerm { term: &self.text[start..end], provisional: index as u32, n_docs, n_occurrences }
    }

    /// Adds the counts of other documents.
    pub fn add(&mut self, other: TermCounts) {
        let n_documents = self.n_documents.saturating_add(other.n_documents);
        if other.terms.is_empty() || self.terms.is_empty() {
            if self.terms.is_empty() {
                *self = other;
            }
            self.n_documents = n_documents;
            return;
        }
        *self = TermCounts { n_documents, ..self.merged(&other) };
    }

    /// The terms of both.
    fn merged(&self, other: &TermCounts) -> TermCounts {
        let (n_terms, n_bytes) = (self.n_terms() + other.n_terms(), self.text.len() + other.text.len());
        let mut sum = TermCounts::with_capacity(0, n_terms, n_bytes);
        let (mut own, mut others) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let order = match (own.peek(), others.peek()) {
                (Some(a), Some(b)) => a.term.cmp(b.term),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let a = if order.is_le() { own.next() } else { None };
            let b = if order.is_ge() { others.next() } else { None };
            let term = a.as_ref().or(b.as_ref()).map_or("", |counted| counted.term);
            let total = |count: fn(&CountedTerm<'_>) -> u64| {
                a.as_ref().map_or(0, count).saturating_add(b.as_ref().map_or(0, count))
            };
            sum.push(term, total(|counted| counted.n_docs), total(|counted| counted.n_occurrences));
        }
        // Parts of a corpus have many terms in common.
        sum.text.shrink_to_fit();
        sum.terms.shrink_to_fit();
        sum
    }

    fn iter(&self) -> impl Iterator<Item = CountedTerm<'_>> {
        self.range(0..self.n_terms())
    }

    /// The counts as bytes: the number of documents and of terms (8 bytes each, little endian), and
    /// for each term its length, its number of documents, that of its further occurrences (LEB128
    /// each) and its text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + 4 * self.n_terms() + self.text.len());
        bytes.extend(self.n_documents.to_le_bytes());
        bytes.extend((self.n_terms() as u64).to_le_bytes());
        for counted in self.iter() {
            let CountedTerm { term, n_docs, n_occurrences, .. } = counted;
            push_number(&mut bytes, term.len() as u64);
            push_number(&mut bytes, n_docs);
            push_number(&mut bytes, n_occurrences - n_docs);
            bytes.extend(term.as_bytes());
        }
        bytes
    }

    /// The counts that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for bytes that it did not write.
    /// Memory is at most proportional to the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        let n_documents = rest.fixed()?;
        let n_terms = rest.fixed()?;
        let most = (rest.0.len() / MIN_TERM_BYTES) as u64;
        if n_terms > most {
            return Err(damaged(format!("at most {most} terms"), n_terms));
        }
        let text_bytes = rest.0.len() - MIN_TERM_BYTES * n_terms as usize;
        let mut counts = TermCounts::with_capacity(n_documents, n_terms as usize, text_bytes);
        let mut last: Option<&str> = None;
        for _ in 0..n_terms {
            let length = rest.number()?;
            let (n_docs, n_more) = (rest.number()?, rest.number()?);
            let term = rest.slice(length)?;
            let term = std::str::from_utf8(term).map_err(|error| damaged("text in UTF-8", error))?;
            if last.is_some_and(|last| last >= term) {
                return Err(damaged(
                    "terms that ascend strictly",
                    format!("another term at {}", counts.n_terms()),
                ));
            }
            last = Some(term);
            if n_docs == 0 || n_docs > n_documents {
                return Err(damaged(format!("a term in 1 to {n_documents} documents"), n_docs));
            }
            let n_occurrences = n_docs.checked_add(n_more);
            let n_occurrences =
                n_occurrences.ok_or_else(|| damaged("a number of 64 bits", "a greater one"))?;
            counts.push(term, n_docs, n_occurrences);
        }
        if !rest.0.is_empty() {
            return Err(damaged("the end of the bytes", format!("{} more", rest.0.len())));
        }
        Ok(counts)
    }
}

impl TermSource for TermCounts {
    fn n_parts(&self) -> usize {
        self.n_terms().div_ceil(TERMS_PER_PART)
    }

    fn part(&self, part: usize) -> impl Iterator<Item = CountedTerm<'_>> {
        let start = part * TERMS_PER_PART;
        self.range(start..self.n_terms().min(start + TERMS_PER_PART))
    }

    fn text_bytes(&self) -> usize {
        self.text_bytes()
    }
}

impl fmt::Debug for TermCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TermCounts({} terms of {} documents)", self.n_terms(), self.n_documents)
    }
}

/// Appends a number, seven bits per byte, the lowest first; the last byte is below 128.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes that are still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn fixed(&mut self) -> Result<u64> {
        let bytes = self.slice(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    }

    /// A number, in the one form that [`push_number`] gives it.
    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.slice(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number of 64 bits in the fewest bytes", "another"))
    }

    fn slice(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (head, tail) =
            self.0.split_at_checked(length).ok_or_else(|| damaged("more bytes", "their end"))?;
        self.0 = tail;
        Ok(head)
    }
}

fn damaged(expected: impl ToString, found: impl ToString) -> Error {
    Error::malformed(FORMAT, expected.to_string(), found.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(n_documents: u64, terms: &[(&str, u64, u64)]) -> TermCounts {
        let mut counts = TermCounts { n_documents, ..TermCounts::default() };
        terms.iter().for_each(|&(term, n_docs, n_occurrences)| counts.push(term, n_docs, n_occurrences));
        counts
    }

    #[test]
    fn counts_add_up_in_any_order() {
        let parts = [
            counts(3, &[("a", 1, 1), ("cat", 2, 300), ("ähre", 3, 3)]),
            counts(2, &[("b", 2, 2), ("cat", 1, 1)]),
            counts(0, &[]),
            counts(4, &[]),
            counts(1, &[("", 1, 5), ("東京", 1, 1)]),
        ];
        let expected = counts(
            10,
            &[("", 1, 5), ("a", 1, 1), ("b", 2, 2), ("cat", 3, 301), ("ähre", 3, 3), ("東京", 1, 1)],
        );
        for first in 0..parts.len() {
            for step in 1..parts.len() {
                let mut sum = TermCounts::default();
                (0..parts.len()).for_each(|turn| sum.add(parts[(first + step * turn) % 5].clone()));
                assert_eq!(sum, expected);
                assert_eq!((sum.n_documents(), sum.n_terms()), (10, 6));
            }
        }
        assert_eq!(format!("{expected:?}"), "TermCounts(6 terms of 10 documents)");
        let mut most = counts(u64::MAX, &[("a", u64::MAX, u64::MAX)]);
        most.add(most.clone());
        assert_eq!(most, counts(u64::MAX, &[("a", u64::MAX, u64::MAX)]));
    }

    #[test]
    fn bytes_make_the_round_trip_and_damage_is_an_error() {
        let long = "x".repeat(300);
        for counts in [
            counts(9, &[("", 1, 5), ("a", 1, 200), ("cat", 9, 9), (&long, 2, 1 << 40), ("東京", 1, 1)]),
            counts(u64::MAX, &[("a", u64::MAX, u64::MAX), ("b", 127, 255), ("c", 128, 256)]),
            counts(0, &[]),
        ] {
            let bytes = counts.to_bytes();
            assert_eq!(TermCounts::from_bytes(&bytes).unwrap(), counts);
            for length in 0..bytes.len() {
                assert!(TermCounts::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
            }
            for position in 0..bytes.len() {
                for bit in 0..8 {
                    let mut changed = bytes.clone();
                    changed[position] ^= 1 << bit;
                    if let Ok(other) = TermCounts::from_bytes(&changed) {
                        assert_eq!(other.to_bytes(), changed);
                        assert!(other.iter().is_sorted_by(|a, b| a.term < b.term));
                    }
                }
            }
        }
        let message = |bytes: &[u8]| TermCounts::from_bytes(bytes).unwrap_err().to_string();
        assert_eq!(message(b""), "not valid term counts: expected more bytes, found their end");
        assert_eq!(
            message(&[0xff; 64]),
            "not valid term counts: expected at most 16 terms, found 18446744073709551615"
        );
    }
}
