//! The search for near-duplicates: rows whose similarity reaches a threshold. `duplicates.rs` uses
//! it.
//!
//! Near-duplicates share a rare term. Order the terms of all rows by the number of their rows,
//! rarest first. Let m be the first common term of two rows x and y in this order, and `x_m` the
//! part of x from m on. Then the similarity of x and y is that of `x_m` and `y_m`, by
//! Cauchy-Schwarz at most `|x_m| |y_m|`, and neither length is above 1. So if it is at least the
//! threshold t:
//!
//! - m is in the *head* of both rows, the terms m for which `|x_m| >= t`. Lists of the rows by the
//!   terms of their heads have all candidates, in ascending order.
//! - `|x_m| |y_m| >= t`. The lists of terms with [`HEAVY`] rows or more are divided into
//!   [`CLASSES`] by `1 - |y_m|²`, so most of them need not be looked at.
//! - The product of both values of m, and the lengths of the two parts behind m by Cauchy-Schwarz,
//!   reach t. The lists hold what this takes, so most candidates are dropped at once.
//!
//! The lists of a row are walked together, a window of rows at a time, and what is left in it is
//! compared in ascending order: with a table of the row's values first, as long as the sum so far
//! and the length of what is left can reach t; then with the similarity itself. The first hit ends
//! the walk. Unit rows may be longer than 1 by 5e-7, and sums are rounded: the bounds take squared
//! lengths of `1 + 2e-6`, and a threshold that is lower by 1e-5.
//!
//! Rows are processed in blocks. All rows of a block enter the lists, then the threads search for
//! all of them. What is found is decided in order: a row of the same block counts if it is no copy
//! itself; if it is one, the search goes on behind it. At last the copies leave the lists. So the
//! number of threads changes nothing.
//!
//! **Cost.** For texts a pass over the rows, and a few candidates for each. The search is exact
//! whatever the data: if all rows consist of the same few terms, or have a large part in common but
//! are no copies, it compares each with most of the others, and its time grows with the square of
//! the number of rows. All threads take part.
//!
//! **Memory.** 12 bytes per term, an eighth of a byte per entry of the matrix, and 16 for each
//! entry of a head (at a threshold of 0.9 the rarest terms with a fifth of the squared length).
//! Each thread has a table of 64 KiB, and a block at most 24 MiB.
//!
//! References: Bayardo, Ma, Srikant: "Scaling up all pairs similarity search", WWW 2007,
//! doi:10.1145/1242572.1242591. Anastasiu, Karypis: "L2AP: Fast cosine similarity search with
//! prefix L-2 norm bounds", ICDE 2014, doi:10.1109/ICDE.2014.6816700.

use std::collections::HashSet;

use rayon::prelude::*;

use super::rows::{Row, check_size};
use super::unit::UnitRows;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// Slack of the threshold.
const SLACK: f64 = 1e-5;

/// An upper bound of the squared length of a unit row, with room for rounding.
const SQUARED_LENGTH: f64 = 1.0 + 2e-6;

/// Maximum number of rows of a block.
const BLOCK_ROWS: usize = 4096;

/// A block with more entries has only one row.
const BLOCK_ENTRIES: usize = 1 << 20;

/// The lists of terms with this number of rows or more are divided.
const HEAVY: u32 = 1024;

/// The number of parts of a divided list.
const CLASSES: usize = 16;

/// Slots of the table of a row's values. Terms of larger numbers share them.
const TABLE_SLOTS: usize = 1 << 14;

/// Rows of the first window, and of the largest.
const FIRST_WINDOW: u32 = 1 << 10;
const LAST_WINDOW: u32 = 1 << 15;

/// Entries of the matrix for each byte of the ends of divided lists, of which there are at most
/// one for [`HEAVY`] entries.
pub(super) const ENTRIES_PER_BYTE: usize = HEAVY as usize / (CLASSES * size_of::<Ends>());

/// Ends a list.
const NONE: u32 = u32::MAX;

/// What takes the memory, for messages.
pub(super) const SEARCH: &str = "the search for duplicates";

/// The search for near-duplicates.
pub(super) struct Search<'a> {
    rows: &'a UnitRows<'a>,
    similarity: f64,
    /// The similarity less the slack: what bounds are compared with.
    enough: f64,
    memory: &'a MemoryLimit,
    /// The number of rows that have each term.
    frequencies: Vec<u32>,
    /// For each term the ends of its list; for a divided one, `first` is where those of its parts
    /// begin, behind all terms.
    ends: Vec<Ends>,
    entries: Vec<ListEntry>,
}

/// The first and the last entry of a list.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

impl Ends {
    const EMPTY: Ends = Ends { first: NONE, last: NONE };
}

/// An entry of the list of a term: a row, and the next entry.
#[derive(Clone, Copy)]
struct ListEntry {
    row: u32,
    next: u32,
    /// The value of the term, and the squared length of the part of the row behind it.
    value: f32,
    rest: f32,
}

/// A term of the head of a row.
#[derive(Clone, Copy)]
struct HeadTerm {
    term: u32,
    value: f32,
    /// The squared length of the part of the row before the term.
    passed: f32,
}

impl HeadTerm {
    /// The squared length of the part of the row behind the term.
    fn rest(self) -> f32 {
        (SQUARED_LENGTH - f64::from(self.passed) - f64::from(self.value).powi(2)).max(0.0) as f32
    }
}

/// A row of a block that is not decided.
struct Open<'h> {
    row: u32,
    head: &'h [HeadTerm],
    /// Where the search goes on, unless a row has been found.
    from: u32,
    found: Option<u32>,
    searches: bool,
}

/// A list that is being walked: its next entry, the row of it, and the term in the row that is
/// searched for.
struct Cursor {
    at: u32,
    row: u32,
    value: f32,
    rest: f32,
}

/// What a thread needs to search.
struct Scratch {
    /// The values of the row by term. Of terms that share a slot the largest, without sign.
    table: Vec<f32>,
    has_signs: bool,
    cursors: Vec<Cursor>,
    /// For each row of the window, whether a list has had it, and whether it may be similar enough.
    seen: Vec<u64>,
    wanted: Vec<u64>,
}

impl Scratch {
    fn new(n_terms: usize) -> Self {
        let n_slots = n_terms.next_power_of_two().min(TABLE_SLOTS);
        let n_words = LAST_WINDOW as usize / 64;
        Scratch {
            table: vec![0.0; n_slots],
            has_signs: n_terms <= n_slots,
            cursors: Vec::new(),
            seen: vec![0; n_words],
            wanted: vec![0; n_words],
        }
    }

    fn fill(&mut self, row: Row<'_>) {
        let mask = self.table.len() - 1;
        for (term, value) in row.iter() {
            let slot = &mut self.table[term as usize & mask];
            *slot = if self.has_signs { value } else { slot.max(value.abs()) };
        }
    }

    fn clear(&mut self, row: Row<'_>) {
        let mask = self.table.len() - 1;
        row.terms.iter().for_each(|&term| self.table[term as usize & mask] = 0.0);
    }

    /// Whether the similarity to the row of the table may be as high as this.
    fn may_reach(&self, row: Row<'_>, enough: f64) -> bool {
        let mask = self.table.len() - 1;
        // The squared length of what is left.
        let (mut rest, mut sum) = (SQUARED_LENGTH, 0.0);
        for (terms, values) in row.terms.chunks(8).zip(row.values.chunks(8)) {
            for (&term, &value) in terms.iter().zip(values) {
                let other = self.table[term as usize & mask];
                let product = f64::from(value) * f64::from(other);
                sum += if self.has_signs { product } else { product.abs() };
                rest -= f64::from(value) * f64::from(value);
            }
            let missing = enough - sum;
            if missing > 0.0 && missing * missing > rest * SQUARED_LENGTH {
                return false;
            }
        }
        sum >= enough
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(rows: &'a UnitRows<'a>, similarity: f64, memory: &'a MemoryLimit) -> Self {
        let frequencies = rows.doc_frequencies();
        let mut ends = vec![Ends::EMPTY; rows.n_terms()];
        for (term, _) in frequencies.iter().enumerate().filter(|(_, frequency)| **frequency >= HEAVY) {
            ends[term].first = ends.len() as u32;
            ends.resize(ends.len() + CLASSES, Ends::EMPTY);
        }
        let enough = similarity * (1.0 - SLACK);
        Search { rows, similarity, enough, memory, frequencies, ends, entries: Vec::new() }
    }

    /// Sets the representatives of near-duplicates among the rows that have none but themselves.
    pub(super) fn run(mut self, representatives: &mut [u32]) -> Result<()> {
        let n_rows = representatives.len();
        let mut next = 0;
        let mut block: Vec<u32> = Vec::with_capacity(BLOCK_ROWS.min(n_rows));
        while next < n_rows {
            let mut n_entries = 0;
            block.clear();
            while next < n_rows && block.len() < BLOCK_ROWS && n_entries < BLOCK_ENTRIES {
                let nnz = self.rows.row(next).nnz();
                if representatives[next] == next as u32 && nnz > 0 {
                    block.push(next as u32);
                    n_entries += nnz;
                }
                next += 1;
            }
            self.block(&block, representatives)?;
        }
        Ok(())
    }

    fn block(&mut self, block: &[u32], representatives: &mut [u32]) -> Result<()> {
        let heads: Vec<Vec<HeadTerm>> =
            block.par_iter().with_min_len(64).map(|&row| self.head(row)).collect();
        let n_more = heads.iter().map(Vec::len).sum();
        self.reserve(n_more)?;
        // Each list that was lengthened, and its last entry before.
        let mut entered: Vec<(u32, u32)> = Vec::with_capacity(n_more);
        for (&row, head) in block.iter().zip(&heads) {
            head.iter().for_each(|&term| entered.push(self.enter(row, term)));
        }
        if self.decide(block, &heads, representatives) == 0 {
            return Ok(());
        }
        while let Some((list, last)) = entered.pop() {
            self.leave(list, last);
        }
        for (&row, head) in
            block.iter().zip(&heads).filter(|(row, _)| representatives[**row as usize] == **row)
        {
            for &term in head {
                self.enter(row, term);
            }
        }
        Ok(())
    }

    /// Sets the representatives of the rows of a block; the number of copies.
    fn decide(&self, block: &[u32], heads: &[Vec<HeadTerm>], representatives: &mut [u32]) -> usize {
        let mut n_copies = 0;
        let mut open: Vec<Open<'_>> = block
            .iter()
            .zip(heads)
            .map(|(&row, head)| Open { row, head, from: 0, found: None, searches: true })
            .collect();
        let mut undecided: HashSet<u32> = HashSet::new();
        while !open.is_empty() {
            let known: &[u32] = representatives;
            let search = |scratch: &mut Scratch, open: &mut Open<'_>| {
                if open.searches {
                    open.found = self.first_similar(open, known, scratch);
                    open.searches = false;
                }
            };
            let scratch = || Scratch::new(self.rows.n_terms());
            open.par_iter_mut().with_min_len(16).for_each_init(scratch, search);
            undecided.clear();
            open.retain_mut(|open| {
                let Some(found) = open.found else { return false };
                if !undecided.contains(&found) {
                    if representatives[found as usize] == found {
                        representatives[open.row as usize] = found;
                        n_copies += 1;
                        return false;
                    }
                    (open.from, open.searches) = (found + 1, true);
                }
                undecided.insert(open.row);
                true
            });
        }
        n_copies
    }

    /// The head of a row, rarest terms first.
    fn head(&self, row: u32) -> Vec<HeadTerm> {
        let row = self.rows.row(row as usize);
        let mut terms: Vec<(u32, u32, f32)> =
            row.iter().map(|(term, value)| (self.frequencies[term as usize], term, value)).collect();
        terms.sort_unstable_by_key(|&(frequency, term, _)| (frequency, term));
        let mut passed = 0.0;
        let mut head = Vec::new();
        for (_, term, value) in terms {
            if SQUARED_LENGTH - passed < self.enough.powi(2) {
                break;
            }
            head.push(HeadTerm { term, value, passed: passed as f32 });
            passed += f64::from(value).powi(2);
        }
        head
    }

    /// The first row from `from` on that is similar enough, and of which it is not known that it is
    /// a copy.
    fn first_similar(&self, open: &Open<'_>, representatives: &[u32], scratch: &mut Scratch) -> Option<u32> {
        self.begin(open, scratch);
        let own = self.rows.row(open.row as usize);
        scratch.fill(own);
        let (mut found, mut width) = (None, FIRST_WINDOW);
        while let Some(start) = scratch.cursors.iter().map(|cursor| cursor.row).min() {
            let start = start & !63; // the first row of a word
            let n_words = self.walk(start, (start + width).min(open.row), scratch);
            for word in 0..n_words {
                scratch.seen[word] = 0;
                let mut wanted = std::mem::take(&mut scratch.wanted[word]);
                while wanted != 0 && found.is_none() {
                    let row = start + 64 * word as u32 + wanted.trailing_zeros();
                    wanted &= wanted - 1;
                    let other = self.rows.row(row as usize);
                    let is_similar = representatives[row as usize] == row
                        && scratch.may_reach(other, self.enough)
                        && own.dot(other) >= self.similarity;
                    found = is_similar.then_some(row);
                }
            }
            if found.is_some() {
                break;
            }
            scratch.cursors.retain(|cursor| cursor.row < open.row);
            width = (2 * width).min(LAST_WINDOW);
        }
        scratch.clear(own);
        found
    }

    /// Sets the cursors to the lists of a row, rarest terms first.
    fn begin(&self, open: &Open<'_>, scratch: &mut Scratch) {
        scratch.cursors.clear();
        for &head in open.head {
            // What may have passed of the other row.
            let most = SQUARED_LENGTH - self.enough.powi(2) / (SQUARED_LENGTH - f64::from(head.passed));
            let lists = self.list(head.term, 0.0)..=self.list(head.term, most as f32);
            for list in lists {
                let mut at = self.ends[list].first;
                while at != NONE && self.entries[at as usize].row < open.from {
                    at = self.entries[at as usize].next;
                }
                let row = self.row_at(at);
                if row < open.row {
                    scratch.cursors.push(Cursor { at, row, value: head.value, rest: head.rest() });
                }
            }
        }
    }

    /// Walks the lists as far as rows before `end`, and notes which of them may be similar enough,
    /// by the rarest term that they have in common. The number of words with notes.
    fn walk(&self, start: u32, end: u32, scratch: &mut Scratch) -> usize {
        let mut n_words = 0;
        for cursor in &mut scratch.cursors {
            let (value, rest) = (f64::from(cursor.value), f64::from(cursor.rest));
            while cursor.row < end {
                let entry = &self.entries[cursor.at as usize];
                let (word, bit) = ((entry.row - start) as usize / 64, 1 << (entry.row % 64));
                if scratch.seen[word] & bit == 0 {
                    scratch.seen[word] |= bit;
                    n_words = n_words.max(word + 1);
                    let missing = self.enough - value * f64::from(entry.value);
                    if missing <= 0.0 || missing * missing <= rest * f64::from(entry.rest) {
                        scratch.wanted[word] |= bit;
                    }
                }
                cursor.at = entry.next;
                cursor.row = self.row_at(entry.next);
            }
        }
        n_words
    }

    /// The row of an entry; after the last, one behind all.
    fn row_at(&self, at: u32) -> u32 {
        self.entries.get(at as usize).map_or(NONE, |entry| entry.row)
    }

    fn is_divided(&self, term: u32) -> bool {
        self.frequencies[term as usize] >= HEAVY
    }

    /// The list of a term for rows of whose squared length so much is before it.
    fn list(&self, term: u32, passed: f32) -> usize {
        if !self.is_divided(term) {
            return term as usize;
        }
        let width = (SQUARED_LENGTH - self.enough.powi(2)) as f32 / CLASSES as f32;
        self.ends[term as usize].first as usize + ((passed / width) as usize).min(CLASSES - 1)
    }

    /// Adds a row to the list of a term of its head, for which there is room: the list, and its
    /// last entry before.
    fn enter(&mut self, row: u32, head: HeadTerm) -> (u32, u32) {
        let list = self.list(head.term, head.passed);
        let at = self.entries.len() as u32;
        let last = std::mem::replace(&mut self.ends[list].last, at);
        match last {
            NONE => self.ends[list].first = at,
            _ => self.entries[last as usize].next = at,
        }
        self.entries.push(ListEntry { row, next: NONE, value: head.value, rest: head.rest() });
        (list as u32, last)
    }

    /// Takes back the last entry.
    fn leave(&mut self, list: u32, last: u32) {
        self.entries.pop();
        self.ends[list as usize].last = last;
        match last {
            NONE => self.ends[list as usize].first = NONE,
            _ => self.entries[last as usize].next = NONE,
        }
    }

    /// Makes room for more entries.
    fn reserve(&mut self, n_more: usize) -> Result<()> {
        let needed = self.entries.len() + n_more;
        check_size("the number of entries in the search for duplicates", needed as u64, u64::from(NONE))?;
        if needed > self.entries.capacity() {
            let capacity = needed.max(2 * self.entries.capacity());
            // The old list is freed after the copy.
            self.memory.check(SEARCH, (size_of::<ListEntry>() * capacity) as u64)?;
            self.entries.reserve_exact(capacity - self.entries.len());
        }
        Ok(())
    }
}
