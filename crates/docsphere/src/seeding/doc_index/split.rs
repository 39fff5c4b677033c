//! A seed split by a level, and the bits of the most frequent terms, which tighten its bound.

use std::cmp::Reverse;

use super::levels::PER_STEP;
use super::lists::Lists;

/// Number of terms with a bit in each document.
pub(super) const N_COMMON: usize = u64::BITS as usize;

/// The most frequent terms, ascending.
pub(super) struct CommonTerms(Vec<u32>);

/// A seed split by a level: the entries to look up, and the length of the others.
pub(in crate::seeding) struct Split {
    pub(in crate::seeding) level: usize,
    pub(in crate::seeding) entries: Vec<(u32, f32)>,
    /// Upper bound on what the left-out part can add, per step of a document's length. Rounded up.
    pub(in crate::seeding) out_per_step: f32,
    /// Which of the most frequent terms were left out.
    pub(in crate::seeding) common: u64,
    /// Their squares.
    pub(super) common_squares: [f32; N_COMMON],
    /// The sum of squares of the other left-out terms.
    pub(super) rest_square: f32,
}

impl Split {
    /// Scales the seed up.
    pub(in crate::seeding) fn lengthen(&mut self, factor: f32) {
        self.entries.iter_mut().for_each(|(_, value)| *value *= factor);
        self.out_per_step *= factor;
        self.common_squares.iter_mut().for_each(|square| *square *= factor * factor);
        self.rest_square *= factor * factor;
    }

    /// Like `out_per_step`, for documents with exactly these common terms.
    #[inline]
    pub(in crate::seeding) fn out_for(&self, common: u64) -> f32 {
        let mut both = common & self.common;
        let mut square = self.rest_square;
        while both != 0 {
            square += self.common_squares[both.trailing_zeros() as usize];
            both &= both - 1;
        }
        square.sqrt() * PER_STEP
    }
}

impl CommonTerms {
    pub(super) fn new(doc_frequency: &[u32]) -> Self {
        let mut terms: Vec<u32> = (0..doc_frequency.len() as u32).collect();
        let rarity = |&term: &u32| (Reverse(doc_frequency[term as usize]), term);
        if terms.len() > N_COMMON {
            terms.select_nth_unstable_by_key(N_COMMON, rarity);
            terms.truncate(N_COMMON);
        }
        terms.sort_unstable();
        CommonTerms(terms)
    }

    /// The bit of a term, if it has one.
    pub(super) fn bit(&self, term: u32) -> Option<usize> {
        self.0.binary_search(&term).ok()
    }

    /// For each document of a block: which of these terms it has.
    pub(super) fn bits(&self, lists: &Lists, n_docs: usize) -> Vec<u64> {
        let mut bits = vec![0; n_docs];
        for (bit, &term) in self.0.iter().enumerate() {
            let range = lists.range(term).unwrap_or_default();
            lists.docs[range].iter().for_each(|&doc| bits[usize::from(doc)] |= 1 << bit);
        }
        bits
    }
}
