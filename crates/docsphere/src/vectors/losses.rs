//! Letters of a corpus that reach no term, and when that is worth a warning.
//!
//! Two measurements meet here. A sample of the texts says which letters are in words that make
//! terms (`text/letters.rs`). The counts of all terms say which of these the choice of terms drops.
//!
//! **What counts.** Stop words and web addresses are dropped on purpose: stop words alone are 17 to
//! 38 % of the letters of ordinary English. So they are left out of the account, unless they are
//! most of it; every other loss is compared with the letters that remain. Terms of a single
//! document that `min_df` drops do not count either: they make it similar to no other.

use std::ops::AddAssign;

use super::counting::CountedTerm;
use crate::text::{LetterCounts, n_letters};

/// More than this share of the letters that are neither of stop words nor of addresses.
const LOST_SHARE: f64 = 0.2;

/// More than this share of all letters is dropped on purpose.
const DROPPED_SHARE: f64 = 0.6;

/// Samples with fewer letters say nothing.
const MIN_LETTERS: u64 = 1000;

/// Letters of the occurrences of terms, by the rule that drops them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TermLetters {
    all: u64,
    in_too_few: u64,
    in_too_many: u64,
    in_all: u64,
    beyond_limit: u64,
}

impl AddAssign for TermLetters {
    fn add_assign(&mut self, other: TermLetters) {
        self.all = self.all.saturating_add(other.all);
        self.in_too_few = self.in_too_few.saturating_add(other.in_too_few);
        self.in_too_many = self.in_too_many.saturating_add(other.in_too_many);
        self.in_all = self.in_all.saturating_add(other.in_all);
        self.beyond_limit = self.beyond_limit.saturating_add(other.beyond_limit);
    }
}

/// Why a term is not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unchosen {
    TooFew,
    TooMany,
    InAll,
    BeyondLimit,
}

/// Letters of terms of one word and of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChoiceLetters {
    of_words: TermLetters,
    of_ngrams: TermLetters,
}

impl AddAssign for ChoiceLetters {
    fn add_assign(&mut self, other: ChoiceLetters) {
        self.of_words += other.of_words;
        self.of_ngrams += other.of_ngrams;
    }
}

impl ChoiceLetters {
    /// Counts the letters of a term.
    pub(super) fn count(&mut self, counted: &CountedTerm<'_>, why: Option<Unchosen>) {
        let n_letters = n_letters(counted.term).saturating_mul(counted.n_occurrences);
        let letters = if counted.term.contains(' ') { &mut self.of_ngrams } else { &mut self.of_words };
        letters.all = letters.all.saturating_add(n_letters);
        // A term of one document makes it similar to no other: nothing is lost with it.
        if !(why == Some(Unchosen::TooFew) && counted.n_docs == 1) {
            letters.drop(why, n_letters);
        }
    }

    /// A term that was counted as chosen is beyond the limit.
    pub(super) fn exceed(&mut self, counted: &CountedTerm<'_>) {
        let n_letters = n_letters(counted.term).saturating_mul(counted.n_occurrences);
        let letters = if counted.term.contains(' ') { &mut self.of_ngrams } else { &mut self.of_words };
        letters.drop(Some(Unchosen::BeyondLimit), n_letters);
    }

    /// The letters of words that are terms; if all terms have several words, of these.
    fn letters(&self) -> TermLetters {
        if self.of_words.all > 0 { self.of_words } else { self.of_ngrams }
    }
}

impl TermLetters {
    fn drop(&mut self, why: Option<Unchosen>, n_letters: u64) {
        let dropped = match why {
            None => return,
            Some(Unchosen::TooFew) => &mut self.in_too_few,
            Some(Unchosen::TooMany) => &mut self.in_too_many,
            Some(Unchosen::InAll) => &mut self.in_all,
            Some(Unchosen::BeyondLimit) => &mut self.beyond_limit,
        };
        *dropped = dropped.saturating_add(n_letters);
    }
}

/// How many letters of a corpus reach no term, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    letters: LetterCounts,
    terms: TermLetters,
}

/// The rule that drops most letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// Stop words.
    StopWords,
    /// Web addresses.
    Addresses,
    /// Words with fewer than `min_chars` characters.
    MinChars,
    /// Letters that the segmentation takes for no word.
    Segmentation,
    /// Terms in fewer documents than `min_df`.
    MinDf,
    /// Terms in more documents than `max_df`.
    MaxDf,
    /// Terms in all documents, which the idf of the paper gives no weight.
    InAllDocuments,
    /// Terms beyond `max_terms`.
    MaxTerms,
}

impl LossCause {
    /// What the letters belong to: "of stop words".
    pub const fn letters(self) -> &'static str {
        match self {
            LossCause::StopWords => "of stop words",
            LossCause::Addresses => "of web addresses",
            LossCause::MinChars => "of words that are too short",
            LossCause::Segmentation => "of no word by this segmentation, as in scripts without spaces",
            LossCause::MinDf => "of terms in too few documents",
            LossCause::MaxDf => "of terms in too many documents",
            LossCause::InAllDocuments => "of terms in all documents, which weigh nothing",
            LossCause::MaxTerms => "of terms that are not among the most frequent",
        }
    }
}

/// More letters reach no term than is normal.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LossWarning {
    /// The share of the letters that reach no term: of all letters if the cause is stop words or
    /// web addresses, else of those that are neither.
    pub share: f64,
    /// The rule that drops most of them.
    pub cause: LossCause,
    /// The share that this rule drops.
    pub cause_share: f64,
}

impl LossWarning {
    /// The letters of which the shares are.
    pub const fn of(&self) -> &'static str {
        match self.cause {
            LossCause::StopWords | LossCause::Addresses => "letters",
            _ => "letters (stop words and web addresses apart)",
        }
    }
}

impl Losses {
    pub(super) fn new(letters: LetterCounts, choice: ChoiceLetters) -> Self {
        Losses { letters, terms: choice.letters() }
    }

    /// The letters of the sample, and the rules of the tokenizer that drop them.
    pub fn letters(&self) -> LetterCounts {
        self.letters
    }

    /// A warning if more letters are lost than is normal: more than a fifth of those that are
    /// neither of stop words nor of web addresses, or if more than three fifths of all are. `None`
    /// for very little text.
    pub fn warning(&self) -> Option<LossWarning> {
        let LetterCounts { n_letters, n_stop_words, n_addresses, .. } = self.letters;
        if n_letters < MIN_LETTERS {
            return None;
        }
        let n_left = n_letters - n_stop_words - n_addresses;
        let lost = self.lost_shares(n_left);
        let (cause, cause_share) = greatest(&lost);
        let share: f64 = lost.iter().map(|lost| lost.1).sum();
        if share > LOST_SHARE {
            return Some(LossWarning { share, cause, cause_share });
        }
        let of_all = |n: u64| n as f64 / n_letters as f64;
        let dropped =
            [(LossCause::StopWords, of_all(n_stop_words)), (LossCause::Addresses, of_all(n_addresses))];
        let (cause, cause_share) = greatest(&dropped);
        let share = dropped[0].1 + dropped[1].1;
        (share > DROPPED_SHARE).then_some(LossWarning { share, cause, cause_share })
    }

    /// The shares of `n_left` letters that rules drop which are not to drop much.
    fn lost_shares(&self, n_left: u64) -> [(LossCause, f64); 6] {
        let LetterCounts { n_short, n_unsegmented, .. } = self.letters;
        let of_left = |n: u64| n as f64 / n_left.max(1) as f64;
        // What the choice of terms drops is a share of the letters that reach it.
        let reaching = of_left(n_left.saturating_sub(n_short + n_unsegmented));
        let of_terms = |n: u64| reaching * n as f64 / self.terms.all.max(1) as f64;
        [
            (LossCause::MinChars, of_left(n_short)),
            (LossCause::Segmentation, of_left(n_unsegmented)),
            (LossCause::MinDf, of_terms(self.terms.in_too_few)),
            (LossCause::MaxDf, of_terms(self.terms.in_too_many)),
            (LossCause::InAllDocuments, of_terms(self.terms.in_all)),
            (LossCause::MaxTerms, of_terms(self.terms.beyond_limit)),
        ]
    }
}

/// The first of the causes with the greatest share.
fn greatest(causes: &[(LossCause, f64)]) -> (LossCause, f64) {
    causes.iter().copied().fold(causes[0], |best, cause| if cause.1 > best.1 { cause } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(letters: [u64; 5], terms: [u64; 5]) -> Losses {
        let [n_letters, n_stop_words, n_addresses, n_short, n_unsegmented] = letters;
        let letters = LetterCounts { n_letters, n_stop_words, n_addresses, n_short, n_unsegmented };
        let [all, in_too_few, in_too_many, in_all, beyond_limit] = terms;
        Losses { letters, terms: TermLetters { all, in_too_few, in_too_many, in_all, beyond_limit } }
    }

    fn cause(letters: [u64; 5], terms: [u64; 5]) -> Option<(LossCause, u64, u64)> {
        let warning = losses(letters, terms).warning()?;
        let percent = |share: f64| (100.0 * share).round() as u64;
        Some((warning.cause, percent(warning.share), percent(warning.cause_share)))
    }

    #[test]
    fn a_fifth_of_the_letters_that_should_stay_is_too_much() {
        // Stop words and addresses do not count, nor do they hide other losses.
        assert_eq!(cause([10_000, 4000, 1000, 900, 0], [100, 0, 0, 0, 0]), None);
        let short = cause([10_000, 4000, 1000, 1500, 0], [100, 0, 0, 0, 0]);
        assert_eq!(short, Some((LossCause::MinChars, 30, 30)));
        let script = cause([10_000, 0, 0, 10, 6000], [100, 1, 0, 0, 0]);
        assert_eq!(script, Some((LossCause::Segmentation, 60, 60)));
        // Half of the letters reach the choice of terms, which drops 30 % of them.
        assert_eq!(
            cause([10_000, 0, 0, 0, 5000], [100, 30, 0, 0, 0]),
            Some((LossCause::Segmentation, 65, 50))
        );
        for (terms, cause_of) in [
            ([100, 40, 10, 0, 0], LossCause::MinDf),
            ([100, 10, 40, 0, 0], LossCause::MaxDf),
            ([100, 0, 10, 40, 0], LossCause::InAllDocuments),
            ([100, 0, 0, 10, 40], LossCause::MaxTerms),
        ] {
            assert_eq!(cause([10_000, 5000, 0, 0, 0], terms), Some((cause_of, 50, 40)));
        }
        assert_eq!(cause([999, 0, 0, 999, 0], [0; 5]), None, "too little text");
    }

    #[test]
    fn what_is_dropped_on_purpose_may_be_most_but_not_almost_all() {
        let terms = [100, 0, 0, 0, 0];
        assert_eq!(cause([10_000, 5500, 400, 0, 0], terms), None);
        assert_eq!(cause([10_000, 7000, 0, 0, 0], terms), Some((LossCause::StopWords, 70, 70)));
        assert_eq!(cause([10_000, 1000, 6000, 0, 0], terms), Some((LossCause::Addresses, 70, 60)));
        assert_eq!(cause([10_000, 10_000, 0, 0, 0], [0; 5]), Some((LossCause::StopWords, 100, 100)));
    }

    #[test]
    fn words_count_rather_than_ngrams_where_there_are_both() {
        let counted = |term, n_occurrences| CountedTerm { term, provisional: 0, n_docs: 2, n_occurrences };
        let mut choice = ChoiceLetters::default();
        choice.count(&counted("cats purr", 100), Some(Unchosen::TooFew));
        assert_eq!(choice.letters().in_too_few, 800);
        choice.count(&counted("purr", 2), None);
        choice.count(&counted("x1", 3), Some(Unchosen::TooMany));
        assert_eq!(choice.letters(), TermLetters { all: 11, in_too_many: 3, ..TermLetters::default() });
        let alone = CountedTerm { n_docs: 1, ..counted("alone", 1) };
        choice.count(&alone, Some(Unchosen::TooFew));
        assert_eq!((choice.letters().all, choice.letters().in_too_few), (16, 0));
        choice.exceed(&counted("purr", 2));
        assert_eq!(choice.letters().beyond_limit, 8);
    }
}
