//! Documents in several languages: which language a document is in, and what follows from it.
//!
//! The language of each document is detected from its beginning, and its words are dropped and
//! stemmed by the rules of that language. Only what is certain counts: a text that may be of two
//! languages, or is too short to tell, is treated as if no language was asked for. So the terms of
//! a document depend on its text and the options alone, not on other documents, their order or the
//! number of threads.
//!
//! **Cost.** About 100 µs per document, and a third of that or less for a few languages. The lists
//! of stop words of all languages take about 2 MB.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::detection::Detector;
use super::language_names::{AUTO, Language, candidates, stemmer};
use super::options::TextOptions;
use super::stop_words::{StopSet, StopWords};
use super::urls::between_urls;
use crate::error::Result;

/// The language is detected in this many bytes outside web addresses, from the beginning.
const DETECTED_BYTES: usize = 1 << 11;

/// What becomes of the words of a document.
#[derive(Clone)]
pub(crate) struct Rules {
    /// The language of the document; `None` if it is not asked for, or not certain.
    pub(crate) language: Option<Language>,
    pub(super) stop_set: StopSet,
    pub(super) stemmer: Option<frostem::Stemmer>,
}

impl Rules {
    /// The rules for documents whose language is not asked for, or not certain. `more` are words
    /// that are dropped besides.
    pub(super) fn new(options: &TextOptions, more: &[String]) -> Result<Self> {
        let mut stop_set = StopSet::new(&options.stop_words, more, options.lowercase)?;
        if options.language.is_some() && matches!(options.stop_words, StopWords::Language(_)) {
            for name in options.languages_named()? {
                stop_set = stop_set.with_language(name, options.lowercase);
            }
        }
        Ok(Rules { language: None, stop_set, stemmer: options.stemming()? })
    }

    /// The rules of a language: its stop words, unless there are none or the caller's own; and its
    /// stemmer, if stemmers are chosen by language. What a language lacks is not done.
    fn of_language(language: Language, options: &TextOptions) -> Result<Self> {
        let name = language.name();
        let mut stop_set = StopSet::default();
        if matches!(options.stop_words, StopWords::Language(_)) {
            stop_set = stop_set.with_language(name, options.lowercase);
        }
        let stemmer = match options.stemmer.as_deref() {
            Some(AUTO) => stemmer(name),
            _ => options.stemming()?,
        };
        Ok(Rules { language: Some(language), stop_set, stemmer })
    }
}

/// Detects languages, and has the rules of each.
pub(super) struct Languages {
    detector: Detector,
    /// By number of the language; `None` for those that do not occur.
    rules: Vec<Option<Rules>>,
}

impl Languages {
    /// The languages of the options; `None` if these name none.
    pub(super) fn new(options: &TextOptions) -> Result<Option<Self>> {
        let Some(names) = &options.language else { return Ok(None) };
        let candidates = candidates(names)?;
        let rules = Language::all().map(|language| {
            let is_candidate = candidates.contains(&language);
            is_candidate.then(|| Rules::of_language(language, options)).transpose()
        });
        Ok(Some(Languages { rules: rules.collect::<Result<_>>()?, detector: Detector::new(&candidates) }))
    }

    /// The rules of the language of a text, if that is certain.
    pub(super) fn rules_of(&self, text: &str) -> Option<&Rules> {
        self.rules_in(self.detector.language_of(&beginning(text))?)
    }

    /// The rules of a language, if it is one that may occur.
    pub(super) fn rules_in(&self, language: Language) -> Option<&Rules> {
        self.rules[language.number()].as_ref()
    }
}

/// The beginning of a text, without web addresses.
fn beginning(text: &str) -> String {
    let mut beginning = String::new();
    // A text may be a book: addresses are sought no further than necessary.
    between_urls(up_to(text, 4 * DETECTED_BYTES), |piece| {
        beginning.push_str(up_to(piece, DETECTED_BYTES - beginning.len()));
    });
    beginning
}

/// The characters of a text within so many bytes.
fn up_to(text: &str, n_bytes: usize) -> &str {
    let mut end = text.len().min(n_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The number of documents in each language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanguageCounts(BTreeMap<Option<Language>, u64>);

impl LanguageCounts {
    /// Counts a document.
    pub(crate) fn add(&mut self, language: Option<Language>) {
        *self.0.entry(language).or_default() += 1;
    }

    /// The languages found, those of most documents first, each with its number of documents.
    pub fn certain(&self) -> Vec<(Language, u64)> {
        let mut found: Vec<(Language, u64)> =
            self.0.iter().filter_map(|(&language, &n_documents)| Some((language?, n_documents))).collect();
        // Stable: of equal counts, by name.
        found.sort_by_key(|&(_, n_documents)| std::cmp::Reverse(n_documents));
        found
    }

    /// The number of documents whose language is not certain.
    pub fn n_uncertain(&self) -> u64 {
        self.0.get(&None).copied().unwrap_or(0)
    }
}

impl AddAssign<&LanguageCounts> for LanguageCounts {
    fn add_assign(&mut self, other: &LanguageCounts) {
        for (&language, &n_documents) in &other.0 {
            *self.0.entry(language).or_default() += n_documents;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_is_read_and_no_address() {
        assert_eq!(beginning("see https://x.y/z ok"), "see  ok");
        assert_eq!(beginning(&"é".repeat(9999)).len(), DETECTED_BYTES);
        assert_eq!(beginning(&"https://a.b ".repeat(9999)).trim(), "");
    }

    #[test]
    fn counts_are_ordered_by_size() {
        let [german, french] = ["german", "french"].map(|name| Language::of_name(name).unwrap());
        let (mut counts, mut other) = (LanguageCounts::default(), LanguageCounts::default());
        [Some(german), None].into_iter().for_each(|language| counts.add(language));
        [Some(french), Some(german)].into_iter().for_each(|language| other.add(language));
        counts += &other;
        assert_eq!(counts.certain(), [(german, 2), (french, 1)]);
        assert_eq!(counts.n_uncertain(), 1);
    }
}
