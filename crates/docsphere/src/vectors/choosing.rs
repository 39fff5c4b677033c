//! The choice of terms, from the counts of a whole corpus.
//!
//! Only kept terms are collected and sorted: most terms of a corpus occur in one document and are
//! often dropped.

use rayon::prelude::*;

use super::counting::{CountedTerm, Shard};
use super::losses::ChoiceLetters;
use super::tfidf::TfidfOptions;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// Bytes per kept term while terms are chosen: twice in a sorted list, in the vocabulary, and in
/// the model.
const CHOSEN_TERM_BYTES: usize = 40 + 48 + 8 + 10 + 12;

/// The different terms of a corpus with their counts, in parts that threads can go through.
pub(super) trait TermSource: Sync {
    fn n_parts(&self) -> usize;

    /// The terms of a part, each in no other part.
    fn part(&self, part: usize) -> impl Iterator<Item = CountedTerm<'_>>;

    /// Total bytes of all terms.
    fn text_bytes(&self) -> usize;
}

impl TermSource for [Shard] {
    fn n_parts(&self) -> usize {
        self.len()
    }

    fn part(&self, part: usize) -> impl Iterator<Item = CountedTerm<'_>> {
        self[part].counted()
    }

    fn text_bytes(&self) -> usize {
        self.iter().map(Shard::text_bytes).sum()
    }
}

/// The kept terms, in ascending order.
pub(super) struct ChosenTerms<'a> {
    terms: Vec<SortedTerm<'a>>,
    /// Letters of all terms, chosen or not.
    letters: ChoiceLetters,
}

/// A term after its first eight bytes, which decide most comparisons without access to the text.
type SortedTerm<'a> = (u64, CountedTerm<'a>);

impl<'a> ChosenTerms<'a> {
    /// Chooses terms of a corpus of `n_docs` documents. `beside` is the memory that the caller is
    /// about to take.
    pub(super) fn new<S: TermSource + ?Sized>(
        source: &'a S,
        options: &TfidfOptions,
        n_docs: u64,
        memory: &MemoryLimit,
        beside: usize,
    ) -> Result<Self> {
        let why_not = options.document_filter(n_docs)?;
        let parts = || (0..source.n_parts()).into_par_iter();
        let tally = |part| {
            let (mut letters, mut n_kept) = (ChoiceLetters::default(), 0);
            for counted in source.part(part) {
                let why = why_not(counted.n_docs);
                letters.count(&counted, why);
                n_kept += usize::from(why.is_none());
            }
            (letters, n_kept)
        };
        let add = |mut a: (ChoiceLetters, usize), b: (ChoiceLetters, usize)| {
            a.0 += b.0;
            (a.0, a.1 + b.1)
        };
        let (mut letters, n_kept) = parts().map(tally).reduce(Default::default, add);
        // The text of the vocabulary may be twice as long while it grows.
        let needed = CHOSEN_TERM_BYTES * n_kept + beside + 2 * source.text_bytes();
        memory.check("the vocabulary", needed as u64)?;
        let kept = |part| source.part(part).filter(|counted| why_not(counted.n_docs).is_none());
        let mut kept: Vec<CountedTerm<'_>> = parts().flat_map_iter(kept).collect();
        if let Some(max_terms) = options.max_terms.filter(|&max_terms| max_terms < kept.len()) {
            kept.par_sort_unstable_by(|a, b| {
                b.n_occurrences.cmp(&a.n_occurrences).then_with(|| a.term.cmp(b.term))
            });
            kept[max_terms..].iter().for_each(|counted| letters.exceed(counted));
            kept.truncate(max_terms);
        }
        Ok(ChosenTerms { letters, ..Self::sorted(kept) })
    }

    /// The letters of all terms, chosen or not.
    pub(super) fn letters(&self) -> ChoiceLetters {
        self.letters
    }

    /// All terms.
    pub(super) fn all<S: TermSource + ?Sized>(source: &'a S) -> Self {
        let parts = (0..source.n_parts()).into_par_iter();
        Self::sorted(parts.flat_map_iter(|part| source.part(part)).collect())
    }

    fn sorted(terms: Vec<CountedTerm<'a>>) -> Self {
        let mut sorted: Vec<SortedTerm<'_>> =
            terms.into_par_iter().map(|counted| (first_bytes(counted.term), counted)).collect();
        sorted.par_sort_unstable_by(|(a_first, a), (b_first, b)| {
            a_first.cmp(b_first).then_with(|| a.term.cmp(b.term))
        });
        ChosenTerms { terms: sorted, letters: ChoiceLetters::default() }
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &CountedTerm<'a>> {
        self.terms.iter().map(|(_, counted)| counted)
    }

    /// The terms as a vocabulary, and the number of documents of each.
    pub(super) fn into_vocabulary(self) -> Result<(Vocabulary, Vec<u32>)> {
        let vocabulary = Vocabulary::from_sorted(self.iter().map(|counted| counted.term))?;
        // At most MAX_ROWS: the rows of a single run are limited when they are joined.
        let frequencies = self.iter().map(|counted| counted.n_docs as u32).collect();
        Ok((vocabulary, frequencies))
    }
}

/// The first eight bytes as a number, so that numbers are ordered like the terms.
fn first_bytes(term: &str) -> u64 {
    let mut first = [0; 8];
    let length = term.len().min(8);
    first[..length].copy_from_slice(&term.as_bytes()[..length]);
    u64::from_be_bytes(first)
}
