//! How many letters of a text reach a word that makes a term, and why the others do not.
//!
//! [`Tokenizer::for_each_term`] does not count, since it must be fast: this is a second pass over a
//! text, for a sample of the documents. Stems do not matter here: a stemmed word reaches its term.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::languages::Rules;
use super::options::Segmentation;
use super::tokenizer::{Tokenizer, TokenizerScratch, lower_case};
use super::unspaced::begins_unspaced;
use super::urls::between_urls;

/// Letters of texts, by the rule that drops them. Letters that no rule drops are in words that make
/// terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LetterCounts {
    /// All letters.
    pub n_letters: u64,
    /// Letters of stop words.
    pub n_stop_words: u64,
    /// Letters of web addresses.
    pub n_addresses: u64,
    /// Letters of words that are too short.
    pub n_short: u64,
    /// Letters that the segmentation finds in no word, or in scripts without spaces that it does
    /// not split.
    pub n_unsegmented: u64,
}

impl AddAssign for LetterCounts {
    fn add_assign(&mut self, other: LetterCounts) {
        self.n_letters += other.n_letters;
        self.n_stop_words += other.n_stop_words;
        self.n_addresses += other.n_addresses;
        self.n_short += other.n_short;
        self.n_unsegmented += other.n_unsegmented;
    }
}

/// The number of letters.
pub(crate) fn n_letters(text: &str) -> u64 {
    // One pass, whether or not all of it is ASCII: most words and terms are short.
    let (mut n_letters, mut all) = (0, 0);
    for byte in text.bytes() {
        n_letters += usize::from(byte.is_ascii_alphabetic());
        all |= byte;
    }
    if !all.is_ascii() {
        n_letters = text.chars().filter(|character| character.is_alphabetic()).count();
    }
    n_letters as u64
}

impl Tokenizer {
    /// Counts the letters of a text.
    pub fn count_letters(&self, text: &str, scratch: &mut TokenizerScratch) -> LetterCounts {
        self.count_letters_by(self.rules_of(text), text, scratch)
    }

    /// Like [`count_letters`](Self::count_letters), by the rules of the document.
    pub(crate) fn count_letters_by(
        &self,
        rules: &Rules,
        text: &str,
        scratch: &mut TokenizerScratch,
    ) -> LetterCounts {
        let options = self.options();
        let text = if options.lowercase { lower_case(text, &mut scratch.lowered) } else { text };
        let mut counts = LetterCounts { n_letters: n_letters(text), ..LetterCounts::default() };
        let mut n_outside = 0;
        if options.keep_urls {
            n_outside = counts.n_letters;
        } else {
            between_urls(text, |piece| {
                let is_all = piece.len() == text.len();
                n_outside += if is_all { counts.n_letters } else { n_letters(piece) };
            });
        }
        counts.n_addresses = counts.n_letters - n_outside;
        let (mut end, mut n_in_words) = (0, 0);
        self.for_each_segment(text, |word| {
            // Words are slices of the text, and may overlap: each letter counts for the first.
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let from = end.max(start);
            end = end.max(start + word.len());
            let n_new = n_letters(&text[from..end]);
            n_in_words += n_new;
            if self.is_wanted(rules, word) {
            } else if self.is_stop_word(rules, word) {
                counts.n_stop_words += n_new;
            } else if options.segmentation != Segmentation::Words && begins_unspaced(word) {
                counts.n_unsegmented += n_new;
            } else {
                counts.n_short += n_new;
            }
        });
        counts.n_unsegmented += n_outside - n_in_words;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::TextOptions;
    use super::super::stop_words::StopWords;
    use super::*;

    fn counts(options: TextOptions, text: &str) -> [u64; 5] {
        let tokenizer = Tokenizer::new(&options).unwrap();
        let counts = tokenizer.count_letters(text, &mut TokenizerScratch::default());
        let LetterCounts { n_letters, n_stop_words, n_addresses, n_short, n_unsegmented } = counts;
        [n_letters, n_stop_words, n_addresses, n_short, n_unsegmented]
    }

    #[test]
    fn every_letter_is_lost_by_one_rule_or_kept() {
        let text = "The cat of 1999 x https://a.bc/d 操作系统 naïve";
        let plain = TextOptions::default;
        assert_eq!(counts(plain(), text), [27, 5, 9, 1, 0]);
        assert_eq!(counts(plain().keep_urls(true).min_chars(1), text), [27, 6, 0, 0, 0]);
        assert_eq!(counts(plain().min_chars(4), text), [27, 5, 9, 4, 0]);
        assert_eq!(counts(plain().stop_words(StopWords::None), text), [27, 0, 9, 1, 0]);
        assert_eq!(counts(plain().segmentation(Segmentation::Unicode), text), [27, 5, 9, 1, 4]);
        // The pattern of scikit-learn splits at vowel signs; x is shorter than its words.
        let sklearn = plain().segmentation(Segmentation::SkLearn);
        assert_eq!(counts(sklearn, "हिन्दी x"), [6, 0, 0, 0, 6]);
        assert_eq!(counts(plain(), "हिन्दी xy"), [7, 0, 0, 0, 0]);
    }

    #[test]
    fn overlapping_words_count_once() {
        let options = TextOptions::default().stop_words(StopWords::Own(vec!["系统".to_owned()]));
        assert_eq!(counts(options, "操作系统 ab"), [6, 1, 0, 0, 0]);
    }
}
