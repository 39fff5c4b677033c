//! The choice of terms, from the counts of a whole corpus.
//!
//! Only kept terms are collected and sorted: most terms of a corpus occur in one document and are
//! often dropped.

use rayon::prelude::*;

use super::counting::{CountedTerm, Shard};
use super::text_model::TextModel;
use super::tfidf::TfidfOptions;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::memory::MemoryLimit;
use crate::text::Tokenizer;

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
        self[part].counted(part)
    }

    fn text_bytes(&self) -> usize {
        self.iter().map(Shard::text_bytes).sum()
    }
}

/// The kept terms, in ascending order.
pub(super) struct ChosenTerms<'a>(Vec<SortedTerm<'a>>);

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
        let may_stay = options.document_filter(n_docs)?;
        let kept = |part| source.part(part).filter(|counted| may_stay(counted.n_docs));
        let n_kept: usize = (0..source.n_parts()).into_par_iter().map(|part| kept(part).count()).sum();
        // The text of the vocabulary may be twice as long while it grows.
        let needed = CHOSEN_TERM_BYTES * n_kept + beside + 2 * source.text_bytes();
        memory.check("the vocabulary", needed as u64)?;
        let mut kept: Vec<CountedTerm<'_>> =
            (0..source.n_parts()).into_par_iter().flat_map_iter(kept).collect();
        if let Some(max_terms) = options.max_terms.filter(|&max_terms| max_terms < kept.len()) {
            kept.par_sort_unstable_by(|a, b| {
                b.n_occurrences.cmp(&a.n_occurrences).then_with(|| a.term.cmp(b.term))
            });
            kept.truncate(max_terms);
        }
        Ok(Self::sorted(kept))
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
        ChosenTerms(sorted)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &CountedTerm<'a>> {
        self.0.iter().map(|(_, counted)| counted)
    }

    /// The model of a corpus of `n_docs` documents with these terms.
    pub(super) fn model(
        &self,
        tokenizer: Tokenizer,
        options: TfidfOptions,
        n_docs: u64,
    ) -> Result<TextModel> {
        let vocabulary = Vocabulary::from_sorted(self.iter().map(|counted| counted.term))?;
        // At most MAX_ROWS: the rows of a single run are limited when they are joined.
        let frequencies = self.iter().map(|counted| counted.n_docs as u32).collect();
        Ok(TextModel::new(tokenizer, options, vocabulary, frequencies, n_docs))
    }
}

/// The first eight bytes as a number, so that numbers are ordered like the terms.
fn first_bytes(term: &str) -> u64 {
    let mut first = [0; 8];
    let length = term.len().min(8);
    first[..length].copy_from_slice(&term.as_bytes()[..length]);
    u64::from_be_bytes(first)
}
