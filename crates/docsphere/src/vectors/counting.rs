//! Counts the terms of all documents, on all threads.
//!
//! Each chunk of documents is counted with its own small table, which stays in the cache. When the
//! chunk is done, its distinct terms are looked up in one table for the whole corpus, in 64 shards
//! with a lock each, which assigns provisional numbers. At the end the terms are sorted and the
//! numbers replaced, so the provisional numbers, and with them the order of the threads, do not
//! affect the result.
//!
//! Memory: 8 bytes per distinct term of each document (number and count), unless they go to a file
//! (see `spill.rs`), and one copy of each term plus 56 bytes. Measured for terms of 8 letters: some
//! 50 bytes per term while documents are counted, and 130 while terms are chosen for those that
//! stay. This is what limits a corpus that goes to files: the memory limit refuses more with
//! numbers. With a minimum of documents (`min_df`) rare terms go to a file, too (`rare_terms.rs`).

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::chunk_rows::ChunkTerms;
use super::document_ids::Ids;
use super::rare_terms::{LeftTerms, RareTerm, RareTerms};
use super::rows::MAX_TERMS;
use super::spill::{Place, SpillFiles};
use crate::corpus::{ChunkWork, Document};
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryLimit;
use crate::text::{LanguageCounts, LetterCounts, Rules, Tokenizer, TokenizerScratch};

pub(super) const N_SHARDS: usize = 64;

/// Provisional numbers end here if terms may leave memory: each time, they get another one.
const MAX_NUMBERS: u64 = u32::MAX as u64;

/// What takes the memory, for messages.
pub(super) const TERMS: &str = "the terms of the documents";

/// Lists shorter than this grow without a check.
const ASKED_BYTES: usize = 1 << 20;

/// Bytes per new term of the corpus: its entry, and its slot in a hash table that is at least half
/// full.
const PUBLISHED_TERM_BYTES: usize = 64;

/// Bytes per term in addition to the list of terms: its slot in the hash table, its final number,
/// an entry of a row.
const BESIDE_TERM_BYTES: usize = 24;

/// The letters of this many bytes of each chunk are counted at least.
const LETTER_BYTES: usize = 1 << 13;

/// Beyond these, the letters of every so many documents are counted.
const LETTER_EVERY: usize = 256;

/// The letters of at most this many bytes of a document are counted, from its beginning.
const LETTER_BYTES_OF_DOCUMENT: usize = 1 << 12;

/// Counts the terms of documents.
pub(super) struct Counting<'a> {
    tokenizer: &'a Tokenizer,
    memory: &'a MemoryLimit,
    files: Option<&'a SpillFiles>,
    /// If rare terms may leave memory.
    rare: Option<&'a RareTerms<'a>>,
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    /// Tables to be reused.
    idle: Mutex<Vec<LocalCounts>>,
}

/// The counts of a chunk: unsorted rows of (provisional) terms.
#[derive(Default)]
pub(super) struct ChunkCounts {
    pub(super) ids: Ids,
    /// Empty, once they are in a file.
    pub(super) rows: ChunkTerms,
    pub(super) place: Option<Place>,
    /// Nonzeros of all rows, and of the longest.
    pub(super) nnz: usize,
    pub(super) longest_row: usize,
    /// Letters of a sample, which depends on the documents of the chunk alone.
    pub(super) letters: LetterCounts,
    /// Bytes in that sample.
    letter_bytes: usize,
    /// The languages of the documents, if they are detected.
    pub(super) languages: LanguageCounts,
    local: Option<LocalCounts>,
}

/// A term of the corpus.
pub(super) struct CountedTerm<'a> {
    pub(super) term: &'a str,
    pub(super) provisional: u32,
    pub(super) n_docs: u64,
    pub(super) n_occurrences: u64,
}

/// One shard of the corpus's terms.
#[derive(Default)]
pub(super) struct Shard {
    text: String,
    terms: Vec<ShardTerm>,
    table: HashTable<u32>,
    /// Terms so far, here or not.
    n_numbers: usize,
    left: Vec<LeftTerms>,
    /// Bytes of those that did not leave with the last ones.
    stayed: usize,
}

struct ShardTerm {
    hash: u64,
    end: usize,
    n_occurrences: u64,
    n_docs: u32,
    provisional: u32,
}

/// What more terms must respect.
#[derive(Clone, Copy)]
struct Limits<'a> {
    memory: &'a MemoryLimit,
    /// Provisional numbers end here.
    numbers: u64,
}

/// The table of a chunk.
#[derive(Default)]
struct LocalCounts {
    scratch: TokenizerScratch,
    text: String,
    terms: Vec<LocalTerm>,
    table: HashTable<u32>,
    row_terms: Vec<u32>,
    row_counts: Vec<u32>,
    provisional: Vec<u32>,
}

struct LocalTerm {
    hash: u64,
    start: usize,
    length: u32,
    n_docs: u32,
    n_occurrences: u64,
    /// Position of the count for the current document; below the row's start if the term has not
    /// yet occurred in the document.
    slot: u32,
}

impl<'a> Counting<'a> {
    pub(super) fn new(
        tokenizer: &'a Tokenizer,
        memory: &'a MemoryLimit,
        files: Option<&'a SpillFiles>,
        rare: Option<&'a RareTerms<'a>>,
    ) -> Self {
        Counting {
            tokenizer,
            memory,
            files,
            rare,
            hasher: RandomState::default(),
            shards: (0..N_SHARDS).map(|_| Mutex::default()).collect(),
            idle: Mutex::default(),
        }
    }

    /// The files that chunks may go to.
    pub(super) fn files(&self) -> Option<&'a SpillFiles> {
        self.files
    }

    /// All terms, in 64 shards, unordered.
    pub(super) fn into_shards(self) -> Vec<Shard> {
        self.shards
            .into_iter()
            .map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }
}

impl Shard {
    fn term(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.terms[index - 1].end };
        &self.text[start..self.terms[index].end]
    }

    /// The terms of this shard.
    pub(super) fn counted(&self) -> impl Iterator<Item = CountedTerm<'_>> {
        self.terms.iter().enumerate().map(|(index, counted)| CountedTerm {
            term: self.term(index),
            provisional: counted.provisional,
            n_docs: u64::from(counted.n_docs),
            n_occurrences: counted.n_occurrences,
        })
    }

    /// Total bytes of all terms of this shard.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Upper bound (exclusive) of the provisional numbers of this shard.
    pub(super) fn provisional_end(&self) -> usize {
        self.n_numbers * N_SHARDS
    }

    /// Adds a chunk's counts of a term to this shard, whose number is `shard`; returns the
    /// provisional number of the term.
    fn add(&mut self, term: &str, local: &LocalTerm, shard: usize, limits: Limits<'_>) -> Result<u32> {
        let Shard { text, terms, table, n_numbers, .. } = self;
        let Limits { memory, numbers } = limits;
        let at = |index: usize| {
            let start = if index == 0 { 0 } else { terms[index - 1].end };
            &text[start..terms[index].end]
        };
        let found = table.find(local.hash, |&index| at(index as usize) == term).map(|&index| index as usize);
        let index = match found {
            Some(index) => index,
            None => {
                let index = terms.len();
                let provisional = (*n_numbers * N_SHARDS + shard) as u64;
                if provisional >= numbers {
                    let what = "the number of different terms";
                    return Err(ErrorKind::TooLarge { what, limit: numbers, got: provisional + 1 }.into());
                }
                ask_for_text(text, term.len(), memory)?;
                ask_for_terms(terms.capacity(), terms.len(), size_of::<ShardTerm>(), memory)?;
                text.push_str(term);
                let (hash, end, provisional) = (local.hash, text.len(), provisional as u32);
                terms.push(ShardTerm { hash, end, n_occurrences: 0, n_docs: 0, provisional });
                *n_numbers += 1;
                table.insert_unique(local.hash, index as u32, |&other| terms[other as usize].hash);
                index
            }
        };
        // Fits: at most as many as documents, which are limited while they are counted.
        terms[index].n_docs = terms[index].n_docs.saturating_add(local.n_docs);
        terms[index].n_occurrences += local.n_occurrences;
        Ok(terms[index].provisional)
    }

    /// Terms that have left.
    pub(super) fn left(&self) -> &[LeftTerms] {
        &self.left
    }

    fn memory_bytes(&self) -> usize {
        self.text.capacity() + size_of::<ShardTerm>() * self.terms.capacity() + self.table.allocation_size()
    }

    /// Lets rare terms leave if there are too many terms.
    fn make_room(&mut self, rare: &RareTerms<'_>) -> Result<()> {
        match rare.leave_below().filter(|_| self.memory_bytes() as u64 > rare.allowed_bytes(self.stayed)) {
            Some(below) => self.let_leave(rare, below),
            None => Ok(()),
        }
    }

    /// Lets the terms leave that are in fewer documents.
    pub(super) fn let_leave(&mut self, rare: &RareTerms<'_>, below: f64) -> Result<()> {
        let leaves = |counted: &ShardTerm| f64::from(counted.n_docs) < below;
        let mut leaving: Vec<usize> = (0..self.terms.len()).filter(|&at| leaves(&self.terms[at])).collect();
        leaving.sort_unstable_by_key(|&at| self.terms[at].hash);
        let left = rare.write(leaving.iter().map(|&at| {
            let &ShardTerm { hash, n_occurrences, n_docs, provisional, .. } = &self.terms[at];
            RareTerm { hash, n_occurrences, n_docs, number: provisional, term: self.term(at) }
        }))?;
        let mut stay = Shard { n_numbers: self.n_numbers, ..Shard::default() };
        stay.left = std::mem::take(&mut self.left);
        stay.left.push(left);
        for (index, counted) in self.terms.iter().enumerate().filter(|(_, counted)| !leaves(counted)) {
            stay.push(self.term(index), counted);
        }
        stay.stayed = stay.memory_bytes();
        *self = stay;
        Ok(())
    }

    /// Adds a term that is not here.
    fn push(&mut self, term: &str, counted: &ShardTerm) {
        let Shard { text, terms, table, .. } = self;
        text.push_str(term);
        table.insert_unique(counted.hash, terms.len() as u32, |&other| terms[other as usize].hash);
        terms.push(ShardTerm { end: text.len(), ..*counted });
    }

    /// Adds a term that had left.
    pub(super) fn put_back(&mut self, hash: u64, counted: &CountedTerm<'_>) {
        let &CountedTerm { term, provisional, n_docs, n_occurrences } = counted;
        // Fits: every part of it did, and their sum is at most the number of documents.
        let n_docs = n_docs as u32;
        self.push(term, &ShardTerm { hash, end: 0, n_occurrences, n_docs, provisional });
    }
}

/// Checks the limit before a long text grows.
fn ask_for_text(text: &String, more: usize, memory: &MemoryLimit) -> Result<()> {
    let len = text.len() + more;
    if len <= text.capacity() || len < ASKED_BYTES {
        return Ok(());
    }
    memory.check(TERMS, 2 * len as u64)
}

/// Checks the limit before a long list of terms and the data that goes with it (a hash table,
/// numbers and counts) grow.
fn ask_for_terms(capacity: usize, len: usize, term_bytes: usize, memory: &MemoryLimit) -> Result<()> {
    if len < capacity || capacity * term_bytes < ASKED_BYTES {
        return Ok(());
    }
    // All of it doubles, and the old half is freed after the copy.
    memory.check(TERMS, (3 * capacity * (term_bytes + BESIDE_TERM_BYTES)) as u64)
}

impl LocalCounts {
    fn clear(&mut self) {
        self.text.clear();
        self.terms.clear();
        self.table.clear();
        self.row_terms.clear();
        self.row_counts.clear();
        self.provisional.clear();
    }

    /// Counts the terms of one document.
    fn count(&mut self, counting: &Counting<'_>, rules: &Rules, document: &str) -> Result<()> {
        let LocalCounts { scratch, text, terms, table, row_terms, row_counts, .. } = self;
        let Counting { tokenizer, hasher, memory, .. } = counting;
        let row_start = row_terms.len() as u32;
        let mut refused = Ok(());
        tokenizer.for_each_term_by(rules, document, scratch, |term| {
            if refused.is_err() {
                return;
            }
            let hash = hasher.hash_one(term);
            let found = table.find(hash, |&index| {
                let known = &terms[index as usize];
                known.hash == hash
                    && &text.as_bytes()[known.start..known.start + known.length as usize] == term.as_bytes()
            });
            let index = match found {
                Some(&index) => index,
                None => {
                    refused = ask_for_text(text, term.len(), memory).and_then(|()| {
                        ask_for_terms(terms.capacity(), terms.len(), size_of::<LocalTerm>(), memory)
                    });
                    if refused.is_err() {
                        return;
                    }
                    let index = terms.len() as u32;
                    let (start, length) = (text.len(), term.len() as u32);
                    text.push_str(term);
                    terms.push(LocalTerm {
                        hash,
                        start,
                        length,
                        n_docs: 0,
                        n_occurrences: 0,
                        slot: u32::MAX,
                    });
                    table.insert_unique(hash, index, |&other| terms[other as usize].hash);
                    index
                }
            };
            let known = &mut terms[index as usize];
            known.n_occurrences += 1;
            if known.slot != u32::MAX && known.slot >= row_start {
                let count = &mut row_counts[known.slot as usize];
                *count = count.saturating_add(1);
            } else {
                known.slot = row_terms.len() as u32;
                known.n_docs += 1;
                row_terms.push(index);
                row_counts.push(1);
            }
        });
        refused
    }

    /// Enters the terms of the chunk into the corpus's table, and gets their provisional numbers.
    fn publish(&mut self, counting: &Counting<'_>) -> Result<()> {
        let Counting { shards, memory, rare, .. } = counting;
        let numbers = if rare.is_some() { MAX_NUMBERS } else { MAX_TERMS };
        let limits = Limits { memory, numbers };
        let shard_of = |hash: u64| (hash >> 32) as usize % N_SHARDS;
        let mut by_shard: Vec<Vec<u32>> = vec![Vec::new(); N_SHARDS];
        for (index, term) in self.terms.iter().enumerate() {
            by_shard[shard_of(term.hash)].push(index as u32);
        }
        self.provisional.resize(self.terms.len(), 0);
        // Threads begin at different shards, so that they seldom wait for each other.
        let first = rayon::current_thread_index().unwrap_or(0) * 17;
        for shard in (0..N_SHARDS).map(|step| (first + step) % N_SHARDS) {
            let mut table = lock(&shards[shard]);
            for &index in &by_shard[shard] {
                let local = &self.terms[index as usize];
                let term = &self.text[local.start..local.start + local.length as usize];
                self.provisional[index as usize] = table.add(term, local, shard, limits)?;
            }
            if let Some(rare) = rare {
                table.make_room(rare)?;
            }
        }
        Ok(())
    }
}

impl ChunkWork for Counting<'_> {
    type Output = ChunkCounts;

    fn start(&self) -> ChunkCounts {
        let local = lock(&self.idle).pop().unwrap_or_default();
        ChunkCounts { local: Some(local), ..ChunkCounts::default() }
    }

    fn document(&self, chunk: &mut ChunkCounts, document: Document<'_>) -> Result<()> {
        let local = chunk.local.as_mut().expect("not finished");
        let rules = self.tokenizer.rules_of(document.text);
        if self.tokenizer.detects_languages() {
            chunk.languages.add(rules.language);
        }
        local.count(self, rules, document.text)?;
        if chunk.letter_bytes < LETTER_BYTES || chunk.ids.len().is_multiple_of(LETTER_EVERY) {
            let mut end = document.text.len().min(LETTER_BYTES_OF_DOCUMENT);
            while !document.text.is_char_boundary(end) {
                end -= 1;
            }
            chunk.letter_bytes += end;
            let text = &document.text[..end];
            chunk.letters += self.tokenizer.count_letters_by(rules, text, &mut local.scratch);
        }
        chunk.ids.push(document.id);
        chunk.rows.row_ends.push(local.row_terms.len());
        Ok(())
    }

    fn finish(&self, chunk: &mut ChunkCounts) -> Result<()> {
        let mut local = chunk.local.take().expect("finished once");
        // All terms may be new, and other threads may be about to add theirs. If rare ones leave,
        // they do so after each shard.
        let entered = PUBLISHED_TERM_BYTES * local.terms.len() + local.text.len();
        let entered = if self.rare.is_some() { entered.div_ceil(N_SHARDS / 2) } else { entered };
        let n_kept = entered + 8 * local.row_terms.len();
        self.memory.check(TERMS, (n_kept * rayon::current_num_threads()) as u64)?;
        if let Some(rare) = self.rare {
            rare.add_documents(chunk.ids.len());
        }
        local.publish(self)?;
        // Allocated at exact size: these stay until the end.
        chunk.rows.terms = local.row_terms.iter().map(|&index| local.provisional[index as usize]).collect();
        chunk.rows.counts = local.row_counts.as_slice().to_vec();
        chunk.ids.shrink_to_fit();
        chunk.rows.row_ends.shrink_to_fit();
        local.clear();
        lock(&self.idle).push(local);
        (chunk.nnz, chunk.longest_row) = (chunk.rows.terms.len(), chunk.rows.longest());
        if let Some(files) = self.files {
            files.add_counted(chunk.rows.n_bytes() + chunk.ids.memory_bytes() as u64);
            if files.in_use() {
                chunk.place = Some(files.write(&std::mem::take(&mut chunk.rows))?);
            }
        }
        Ok(())
    }

    fn bytes_per_byte(&self) -> u64 {
        self.tokenizer.bytes_per_byte()
    }
}

/// The content of a lock. A thread that panics while holding it ends the whole run, so a partial
/// change is never seen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
