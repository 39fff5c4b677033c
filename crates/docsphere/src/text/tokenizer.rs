//! From text to terms.

use std::fmt;
use std::sync::Arc;

use super::compounds::Compounds;
use super::language_names::Language;
use super::languages::{Languages, Rules};
use super::options::{Ngrams, Segmentation, TextOptions, Unspaced};
use super::segment::{plain_words, sklearn_words, unicode_words};
use super::stop_words::{StopSet, StopWords};
use super::unspaced::{begins_unspaced, is_han, is_unspaced};
use super::urls::between_urls;
use crate::error::Result;

/// Splits documents into terms, according to [`TextOptions`].
#[derive(Clone)]
pub struct Tokenizer {
    options: TextOptions,
    /// For documents whose language is not asked for, or not certain.
    rules: Rules,
    /// The rules of languages, if they are detected.
    languages: Option<Arc<Languages>>,
    /// Words that are dropped whatever the language, if languages are detected.
    always_stopped: Option<StopSet>,
    /// Whether n-grams of scripts without spaces are written without them. Bigrams overlap, so
    /// theirs need spaces.
    joins_words: bool,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Memory that a [`Tokenizer`] reuses across documents; one per thread.
#[derive(Clone, Debug, Default)]
pub struct TokenizerScratch {
    pub(super) lowered: String,
    /// The words of a document, joined with spaces, for n-grams.
    joined: String,
    /// Start and end of each word in `joined`.
    spans: Vec<(usize, usize)>,
}

impl Tokenizer {
    /// A tokenizer with these options.
    ///
    /// # Errors
    /// As [`TextOptions::check`].
    pub fn new(options: &TextOptions) -> Result<Self> {
        options.check()?;
        let languages = Languages::new(options)?.map(Arc::new);
        let more = &options.more_stop_words;
        let always_stopped = match (&languages, &options.stop_words) {
            (None, _) => None,
            (Some(_), own @ StopWords::Own(_)) => Some(StopSet::new(own, more, options.lowercase)?),
            (Some(_), _) => Some(StopSet::new(&StopWords::None, more, options.lowercase)?),
        };
        Ok(Tokenizer {
            rules: Rules::new(options, if languages.is_some() { &[] } else { more })?,
            languages,
            always_stopped,
            joins_words: options.segmentation == Segmentation::Words
                && options.unspaced == Unspaced::Dictionary,
            options: options.clone(),
        })
    }

    /// The options passed to [`new`](Self::new).
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// Scratch bytes per byte of a text, at most: the text in lower case, which may be longer; with
    /// n-grams also its words and their spans, at least two bytes each.
    pub(crate) fn bytes_per_byte(&self) -> u64 {
        if self.options.ngrams.hi > 1 { 2 + 2 + 16 } else { 2 }
    }

    /// The terms of a text, in order, repeated as often as they occur.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.for_each_term(text, &mut TokenizerScratch::default(), |term| terms.push(term.to_owned()));
        terms
    }

    /// The language of a text, if the options ask for it and it is certain.
    pub fn language(&self, text: &str) -> Option<Language> {
        self.rules_of(text).language
    }

    /// The rules for the words of a text.
    #[inline]
    pub(crate) fn rules_of(&self, text: &str) -> &Rules {
        match &self.languages {
            None => &self.rules,
            Some(languages) => languages.rules_of(text).unwrap_or(&self.rules),
        }
    }

    /// Whether the language of each document is detected.
    pub(crate) fn detects_languages(&self) -> bool {
        self.languages.is_some()
    }

    /// Calls `term` for every term of a text, without allocating for each term.
    #[inline]
    pub fn for_each_term(&self, text: &str, scratch: &mut TokenizerScratch, term: impl FnMut(&str)) {
        self.for_each_term_by(self.rules_of(text), text, scratch, term);
    }

    /// Like [`for_each_term`](Self::for_each_term), by the rules of this text.
    #[inline]
    pub(crate) fn for_each_term_by(
        &self,
        rules: &Rules,
        text: &str,
        scratch: &mut TokenizerScratch,
        mut term: impl FnMut(&str),
    ) {
        let TokenizerScratch { lowered, joined, spans } = scratch;
        let text = if self.options.lowercase { lower_case(text, lowered) } else { text };
        let Ngrams { lo, hi } = self.options.ngrams;
        if hi == 1 {
            return self.for_each_word(rules, text, term);
        }
        joined.clear();
        spans.clear();
        self.for_each_word(rules, text, |word| {
            let is_joined = self.joins_words && ends_unspaced(joined) && begins_unspaced(word);
            if !joined.is_empty() && !is_joined {
                joined.push(' ');
            }
            spans.push((joined.len(), joined.len() + word.len()));
            joined.push_str(word);
        });
        for n_words in lo..=hi {
            for run in spans.windows(n_words) {
                term(&joined[run[0].0..run[n_words - 1].1]);
            }
        }
    }

    /// The kept words, stemmed.
    #[inline]
    fn for_each_word(&self, rules: &Rules, text: &str, mut word: impl FnMut(&str)) {
        let keep = |found: &str| {
            if !self.is_wanted(rules, found) {
                return;
            }
            match &rules.stemmer {
                None => word(found),
                Some(stemmer) => {
                    let stem = stemmer.stem(found);
                    if !stem.is_empty() {
                        word(&stem);
                    }
                }
            }
        };
        self.for_each_segment(text, keep);
    }

    /// All words, kept or not, as slices of the text, in its own letter case; not web addresses
    /// that the options drop.
    #[inline]
    pub fn for_each_segment<'a>(&self, text: &'a str, mut word: impl FnMut(&'a str)) {
        let mut cut = |text: &'a str| match self.options.segmentation {
            Segmentation::Words => {
                let TextOptions { hyphens, keep_tags, unspaced, .. } = self.options;
                let mut compounds = Compounds::new(text, hyphens, keep_tags, &mut word);
                plain_words(text, unspaced, |found| compounds.take(found));
                compounds.finish();
            }
            Segmentation::Unicode => unicode_words(text, &mut word),
            Segmentation::SkLearn => sklearn_words(text, &mut word),
        };
        if self.options.keep_urls { cut(text) } else { between_urls(text, cut) }
    }

    /// The rules of a language, or those of texts whose language is not certain.
    pub(super) fn rules_in(&self, language: Option<Language>) -> &Rules {
        match (&self.languages, language) {
            (Some(languages), Some(language)) => languages.rules_in(language).unwrap_or(&self.rules),
            _ => &self.rules,
        }
    }

    /// Whether a word counts however few characters it has: Chinese characters do, and bigrams.
    #[cold]
    fn is_never_short(&self, word: &str) -> bool {
        let is_bigram = || self.options.unspaced == Unspaced::Bigrams && word.chars().nth(1).is_some();
        self.options.segmentation == Segmentation::Words
            && begins_unspaced(word)
            && (word.starts_with(is_han) || is_bigram())
    }

    #[inline]
    pub(super) fn is_stop_word(&self, rules: &Rules, word: &str) -> bool {
        rules.stop_set.contains(word)
            || self.always_stopped.as_ref().is_some_and(|words| words.contains(word))
    }

    #[inline]
    pub(super) fn is_wanted(&self, rules: &Rules, word: &str) -> bool {
        (has_chars(word, self.options.min_chars) || self.is_never_short(word))
            && (self.options.keep_numbers || !is_number(word))
            && !self.is_stop_word(rules, word)
    }
}

fn ends_unspaced(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_unspaced)
}

/// Whether a word has at least `min_chars` characters.
#[inline]
fn has_chars(word: &str, min_chars: usize) -> bool {
    // A character takes one to four bytes, and one of ASCII takes one.
    let Some(begin) = word.as_bytes().get(..min_chars) else { return false };
    begin.iter().all(u8::is_ascii) || word.len() >= 4 * min_chars || word.chars().nth(min_chars - 1).is_some()
}

/// Whether a word has digits but no letter.
#[inline]
fn is_number(word: &str) -> bool {
    // Almost every word begins with a letter.
    !word.as_bytes()[0].is_ascii_alphabetic() && !word.chars().any(char::is_alphabetic)
}

/// The text in lower case, using `lowered` as buffer. Follows Unicode's rules, which for ASCII
/// change one bit, as [`str::to_lowercase`] does.
pub(super) fn lower_case<'a>(text: &'a str, lowered: &'a mut String) -> &'a str {
    lowered.clear();
    let mut rest = text;
    while !rest.is_ascii() {
        let n_ascii = rest.bytes().take_while(u8::is_ascii).count();
        lowered.push_str(&rest[..n_ascii]);
        let mut others = rest[n_ascii..].chars();
        let other = others.next().expect("not ASCII");
        // Its small letter depends on what is around it.
        if other == 'Σ' {
            *lowered = text.to_lowercase();
            return lowered;
        }
        lowered.extend(other.to_lowercase());
        rest = others.as_str();
    }
    lowered.push_str(rest);
    lowered.make_ascii_lowercase();
    lowered
}

#[cfg(test)]
mod tests {
    use super::super::stop_words::StopWords;
    use super::*;

    fn terms(options: &TextOptions, text: &str) -> Vec<String> {
        Tokenizer::new(options).unwrap().terms(text)
    }

    fn plain() -> TextOptions {
        TextOptions { stop_words: StopWords::None, ..TextOptions::default() }
    }

    #[test]
    fn each_option_does_what_it_says() {
        let text = "The CAT sat on 2 mats in 2024, x 3D https://a.b/c ΣΊΣΥΦΟΣ";
        assert_eq!(terms(&plain(), text), ["the", "cat", "sat", "on", "mats", "in", "3d", "σίσυφος"]);
        assert_eq!(terms(&TextOptions::default(), text), ["cat", "sat", "mats", "3d", "σίσυφος"]);
        let options = TextOptions { keep_numbers: true, min_chars: 1, ..TextOptions::default() };
        assert_eq!(terms(&options, text), ["cat", "sat", "2", "mats", "2024", "x", "3d", "σίσυφος"]);
        let options = TextOptions { keep_urls: true, ..TextOptions::default() };
        assert_eq!(terms(&options, text), ["cat", "sat", "mats", "3d", "https", "a.b", "σίσυφος"]);
        let options = TextOptions { lowercase: false, min_chars: 3, ..plain() };
        assert_eq!(terms(&options, text), ["The", "CAT", "sat", "mats", "ΣΊΣΥΦΟΣ"]);
        let options = TextOptions { stop_words: StopWords::Own(vec!["cat".to_owned()]), ..plain() };
        assert_eq!(terms(&options, "the cat sat"), ["the", "sat"]);
        let options = TextOptions { stemmer: Some("english".to_owned()), ..TextOptions::default() };
        assert_eq!(terms(&options, "running cats generously"), ["run", "cat", "generous"]);
    }

    #[test]
    fn ngrams_run_over_the_words_that_are_kept() {
        let ngrams = |lo, hi| TextOptions { ngrams: Ngrams { lo, hi }, ..TextOptions::default() };
        let text = "the sphere of the documents is round";
        assert_eq!(
            terms(&ngrams(1, 2), text),
            ["sphere", "documents", "round", "sphere documents", "documents round"]
        );
        assert_eq!(terms(&ngrams(3, 3), text), ["sphere documents round"]);
        assert_eq!(terms(&ngrams(2, 3), "sphere"), [""; 0]);
    }

    #[test]
    fn the_parity_options_are_those_of_scikit_learn() {
        let text = "Don't stop: 10 a_b x www.a.com";
        assert_eq!(terms(&TextOptions::sklearn(), text), ["don", "stop", "10", "a_b", "www", "com"]);
    }

    #[test]
    fn no_word_without_spaces_is_too_short() {
        let text = "水 の 操作系统 ab";
        assert_eq!(terms(&TextOptions::default(), text), ["水", "操作", "作系", "系统", "ab"]);
        assert_eq!(terms(&TextOptions::default().min_chars(3), text), ["水", "操作", "作系", "系统"]);
        let pairs = TextOptions::default().ngrams(Ngrams { lo: 2, hi: 2 });
        assert_eq!(terms(&pairs, "操作系统"), ["操作 作系", "作系 系统"]);
    }

    #[cfg(feature = "dictionary")]
    #[test]
    fn words_of_dictionaries_are_joined_without_spaces() {
        let options = TextOptions::default().unspaced(Unspaced::Dictionary).ngrams(Ngrams { lo: 1, hi: 2 });
        let found = terms(&options, "操作系统 linux");
        assert_eq!(found, ["操作", "系统", "linux", "操作系统", "系统 linux"]);
    }

    #[test]
    fn the_rules_of_older_models_stay() {
        let older: TextOptions = serde_json::from_str(r#"{"segmentation":"unicode","min_chars":2}"#).unwrap();
        assert_eq!(terms(&older, "水 操作系统 C++ AT&T unix"), ["unix"]);
    }

    #[cfg(feature = "languages")]
    #[test]
    fn each_document_follows_the_rules_of_its_language() {
        let options = TextOptions::default().language("auto".to_owned());
        let stemmed = options.clone().stemmer("auto".to_owned());
        let german = "Die Katzen und die Hunde warten vor den Häusern auf das Essen";
        assert_eq!(terms(&options, german), ["katzen", "hunde", "warten", "häusern", "essen"]);
        assert_eq!(terms(&stemmed, german), ["katz", "hund", "wart", "haus", "ess"]);
        let english = "The cats and the dogs are waiting for their food in front of the houses";
        assert_eq!(terms(&stemmed, english), ["cat", "dog", "wait", "food", "front", "hous"]);
        // Neither English nor German for certain: by the stop words of the options.
        assert_eq!(terms(&stemmed, "the dogs die"), ["dog", "die"]);
        let language = |text| Tokenizer::new(&stemmed).unwrap().language(text).map(Language::name);
        assert_eq!([language(german), language("the dogs die")], [Some("german"), None]);
    }

    #[cfg(feature = "languages")]
    #[test]
    fn words_of_ones_own_are_dropped_in_every_language() {
        let german = "Die Katzen und die Hunde warten vor den Häusern auf das Essen";
        let auto = || TextOptions::default().language("auto".to_owned());
        let more = auto().more_stop_words(vec!["Hunde".to_owned()]);
        assert_eq!(terms(&more, german), ["katzen", "warten", "häusern", "essen"]);
        assert_eq!(terms(&more, "hunde"), [""; 0]);
        let own = auto().stop_words(StopWords::Own(vec!["hunde".to_owned(), "auf".to_owned()]));
        let kept = ["die", "katzen", "und", "die", "warten", "vor", "den", "häusern", "das", "essen"];
        assert_eq!(terms(&own, german), kept);
        assert_eq!(terms(&auto().stop_words(StopWords::None), german).len(), 12);
    }

    #[test]
    fn lower_case_is_that_of_unicode() {
        let mut lowered = String::from("old");
        for text in ["", "ABC", "ÄB Ç ΑΣ Σ", "É İI K ẞ Ǆ中文 ÀÉ", "aÉ", "ÉA", "🙂 OK", "Ω A"]
        {
            assert_eq!(lower_case(text, &mut lowered), text.to_lowercase(), "{text}");
        }
    }

    #[test]
    fn short_is_counted_in_characters() {
        let options = TextOptions { min_chars: 3, ..plain() };
        assert_eq!(terms(&options, "éé ééé ab abc"), ["ééé", "abc"]);
    }
}
