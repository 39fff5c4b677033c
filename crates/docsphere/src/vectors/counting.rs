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
//! numbers, and a minimum of documents (`min_df`) cannot act before all documents are counted.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::chunk_rows::ChunkTerms;
use super::document_ids::Ids;
use super::rows::MAX_TERMS;
use super::spill::{Place, SpillFiles};
use crate::corpus::{ChunkWork, Document};
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryLimit;
use crate::text::{LanguageCounts, LetterCounts, Rules, Tokenizer, TokenizerScratch};

const N_SHARDS: usize = 64;

/// What takes the memory, for messages.
const TERMS: &str = "the terms of the documents";

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
}

struct ShardTerm {
    hash: u64,
    end: usize,
    n_docs: u64,
    n_occurrences: u64,
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
    ) -> Self {
        Counting {
            tokenizer,
            memory,
            files,
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

    /// The terms of this shard, whose index is `shard`.
    pub(super) fn counted(&self, shard: usize) -> impl Iterator<Item = CountedTerm<'_>> {
        self.terms.iter().enumerate().map(move |(index, counted)| CountedTerm {
            term: self.term(index),
            provisional: (index * N_SHARDS + shard) as u32,
            n_docs: counted.n_docs,
            n_occurrences: counted.n_occurrences,
        })
    }

    /// Total bytes of all terms of this shard.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Upper bound (exclusive) of the provisional numbers of this shard.
    pub(super) fn provisional_end(&self) -> usize {
        self.terms.len() * N_SHARDS
    }

    /// Adds a chunk's counts of a term; returns the term's index in this shard.
    fn add(&mut self, term: &str, local: &LocalTerm, memory: &MemoryLimit) -> Result<usize> {
        let Shard { text, terms, table } = self;
        let at = |index: usize| {
            let start = if index == 0 { 0 } else { terms[index - 1].end };
            &text[start..terms[index].end]
        };
        let found = table.find(local.hash, |&index| at(index as usize) == term).map(|&index| index as usize);
        let index = match found {
            Some(index) => index,
            None => {
                let index = terms.len();
                ask_for_text(text, term.len(), memory)?;
                ask_for_terms(terms.capacity(), terms.len(), size_of::<ShardTerm>(), memory)?;
                text.push_str(term);
                terms.push(ShardTerm { hash: local.hash, end: text.len(), n_docs: 0, n_occurrences: 0 });
                table.insert_unique(local.hash, index as u32, |&other| terms[other as usize].hash);
                index
            }
        };
        terms[index].n_docs += u64::from(local.n_docs);
        terms[index].n_occurrences += local.n_occurrences;
        Ok(index)
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
    fn publish(&mut self, shards: &[Mutex<Shard>], memory: &MemoryLimit) -> Result<()> {
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
                let number = table.add(term, local, memory)? * N_SHARDS + shard;
                if number as u64 >= MAX_TERMS {
                    let what = "the number of different terms";
                    return Err(ErrorKind::TooLarge { what, limit: MAX_TERMS, got: number as u64 + 1 }.into());
                }
                self.provisional[index as usize] = number as u32;
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
        // All terms may be new, and other threads may be about to add theirs.
        let n_kept = PUBLISHED_TERM_BYTES * local.terms.len() + local.text.len() + 8 * local.row_terms.len();
        self.memory.check(TERMS, (n_kept * rayon::current_num_threads()) as u64)?;
        local.publish(&self.shards, self.memory)?;
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
