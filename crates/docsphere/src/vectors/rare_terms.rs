//! Rare terms leave memory while documents are counted, and are counted to the end all the same.
//!
//! Most different terms of a large corpus are in a few documents only, and `min_df` drops them once
//! all documents are counted. If they may leave ([`Spill::terms_bytes`](super::spill::Spill)), then
//! whenever the terms of a shard (see `counting.rs`) take more than its part of these bytes, those
//! that are in fewer than `min_df` documents so far are written to the scratch file, in ascending
//! order of their hashes, and forgotten. A term that comes again is counted anew, under another
//! provisional number. When all documents are counted, the lists of a shard are merged by hash
//! (`returned_terms.rs`), and the counts of a term are added up: terms that are in too few
//! documents are dropped here, and all others go back into the shard.
//!
//! **Exact.** When a term leaves depends on threads, but the sums of its counts do not, and only
//! they decide. A chunk enters its terms into a shard before any may leave, so a term has one
//! number in a chunk, and no row has two numbers of one term. `min_df` as a share grows with the
//! number of documents, so a term that is in enough of all documents may leave, but none is dropped
//! before all are counted.
//!
//! **Cost.** Memory: the bytes that are allowed, or twice what stays, whichever is more; the lists
//! grow by doubling, so up to twice that for a moment; in the end 64 KiB per list that is merged.
//! On disk: 28 bytes and the text for each term that leaves, every time it does, and 4 bytes per
//! provisional number.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::spill::SpillFiles;
use crate::error::Result;

/// Bytes of a list that are read at a time.
const READ_BYTES: usize = 1 << 16;

/// Bytes of a term in the file, besides its text.
const HEAD_BYTES: usize = 28;

/// Decides which terms leave, and where to.
pub(super) struct RareTerms<'a> {
    pub(super) files: &'a SpillFiles,
    /// Terms in fewer of so many documents are dropped.
    least_documents: Box<dyn Fn(u64) -> f64 + Sync + 'a>,
    /// Documents that have been counted.
    n_docs: AtomicU64,
    /// What the terms of a shard may take.
    shard_bytes: u64,
}

/// Terms of a shard that have left: a part of the file, in ascending order of hash.
#[derive(Clone, Copy)]
pub(super) struct LeftTerms {
    start: u64,
    end: u64,
}

/// A term that leaves, or has come back.
#[derive(Debug, PartialEq)]
pub(super) struct RareTerm<T> {
    pub(super) hash: u64,
    pub(super) n_occurrences: u64,
    pub(super) n_docs: u32,
    /// Its provisional number.
    pub(super) number: u32,
    pub(super) term: T,
}

impl<'a> RareTerms<'a> {
    /// `None` if no term may leave.
    pub(super) fn new(
        files: &'a SpillFiles,
        least_documents: impl Fn(u64) -> f64 + Sync + 'a,
        n_shards: usize,
    ) -> Option<Self> {
        let shard_bytes = files.terms_bytes()? / n_shards as u64;
        let least_documents = Box::new(least_documents);
        Some(RareTerms { files, least_documents, n_docs: AtomicU64::new(0), shard_bytes })
    }

    /// More documents have been counted.
    pub(super) fn add_documents(&self, n_docs: usize) {
        self.n_docs.fetch_add(n_docs as u64, Relaxed);
    }

    /// Terms in fewer documents may leave, if any may.
    pub(super) fn leave_below(&self) -> Option<f64> {
        let least = (self.least_documents)(self.n_docs.load(Relaxed));
        (least > 1.0).then_some(least)
    }

    /// What the terms of a shard may take of which so many bytes have not left.
    pub(super) fn allowed_bytes(&self, stayed: usize) -> u64 {
        self.shard_bytes.max(2 * stayed as u64)
    }

    /// Writes terms, which ascend by hash.
    pub(super) fn write<'t>(&self, terms: impl Iterator<Item = RareTerm<&'t str>>) -> Result<LeftTerms> {
        let mut bytes = Vec::new();
        for RareTerm { hash, n_occurrences, n_docs, number, term } in terms {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(n_occurrences.to_le_bytes());
            bytes.extend(n_docs.to_le_bytes());
            bytes.extend(number.to_le_bytes());
            bytes.extend((term.len() as u32).to_le_bytes()); // a document has at most 1 GiB
            bytes.extend(term.as_bytes());
        }
        let start = self.files.append(&bytes)?;
        Ok(LeftTerms { start, end: start + bytes.len() as u64 })
    }
}

/// Reads terms that have left.
pub(super) struct Reader<'a> {
    files: &'a SpillFiles,
    /// What has not been read.
    rest: LeftTerms,
    buffer: Vec<u8>,
    /// What of the buffer has been taken.
    taken: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a SpillFiles, left: &LeftTerms) -> Self {
        Reader { files, rest: *left, buffer: Vec::new(), taken: 0 }
    }

    /// The next `n` bytes, or as many as are left.
    fn bytes(&mut self, n: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.taken < n && self.rest.start < self.rest.end {
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let missing = (n.max(READ_BYTES) - self.buffer.len()) as u64;
            let n_read = missing.min(self.rest.end - self.rest.start);
            let at = self.buffer.len();
            self.buffer.resize(at + n_read as usize, 0);
            self.files.read_bytes(&mut self.buffer[at..], self.rest.start)?;
            self.rest.start += n_read;
        }
        Ok(&self.buffer[self.taken..self.buffer.len().min(self.taken + n)])
    }

    /// The hash of the next term.
    pub(super) fn peek(&mut self) -> Result<Option<u64>> {
        let head = self.bytes(8)?.first_chunk::<8>();
        Ok(head.map(|hash| u64::from_le_bytes(*hash)))
    }

    /// The next term, which [`peek`](Self::peek) has seen.
    pub(super) fn take(&mut self) -> Result<RareTerm<String>> {
        let head: [u8; HEAD_BYTES] = self.bytes(HEAD_BYTES)?.try_into().expect("terms are written whole");
        let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let n_bytes = HEAD_BYTES + short(24) as usize;
        let term = &self.bytes(n_bytes)?[HEAD_BYTES..];
        let term = std::str::from_utf8(term).expect("it was a text").to_owned();
        self.taken += n_bytes;
        Ok(RareTerm { hash: long(0), n_occurrences: long(8), n_docs: short(16), number: short(20), term })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::spill::Spill;

    impl RareTerm<String> {
        fn borrowed(&self) -> RareTerm<&str> {
            let &RareTerm { hash, n_occurrences, n_docs, number, ref term } = self;
            RareTerm { hash, n_occurrences, n_docs, number, term }
        }
    }

    #[test]
    fn terms_of_any_length_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpillFiles::new(&Spill::new(folder.path()).terms_bytes(64)).unwrap();
        let rare = RareTerms::new(&files, |_| 2.0, 64).unwrap();
        let texts: Vec<String> = [0, 1, 40_000, READ_BYTES, 3 * READ_BYTES + 1, 2, READ_BYTES - HEAD_BYTES]
            .map(|length| "ä".repeat(length / 2) + &"b".repeat(length % 2))
            .into();
        let term = |(number, text): (usize, &String)| RareTerm {
            hash: 7 * number as u64,
            n_occurrences: u64::MAX - number as u64,
            n_docs: u32::MAX,
            number: number as u32,
            term: text.clone(),
        };
        let expected: Vec<RareTerm<String>> = texts.iter().enumerate().map(term).collect();
        let write = |n: usize| rare.write(expected[..n].iter().map(RareTerm::borrowed)).unwrap();
        // One list behind another.
        for left in [write(1), write(expected.len())].iter().skip(1) {
            let mut reader = Reader::new(&files, left);
            for one in &expected {
                assert_eq!(reader.peek().unwrap(), Some(one.hash));
                assert_eq!(&reader.take().unwrap(), one);
            }
            assert_eq!(reader.peek().unwrap(), None);
        }
    }
}
