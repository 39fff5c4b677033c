//! Stems: words that people take for the same word have the same stem.

use std::collections::{HashMap, HashSet};

use docsphere::{Language, Model, Result, StopWords, TextOptions, Tokenizer, is_unspaced};

/// The language of stems if the options of a run name none that has a stemmer.
const DEFAULT_LANGUAGE: &str = "english";

/// Endings of stems that Snowball's stemmer for English keeps apart: of singular and plural words
/// from Latin, Greek and Old English (matrix, matrices; index; analysis; spectrum; criterion;
/// nucleus; shelf; knife; woman).
const PLURALS: [(&str, &str); 9] = [
    ("ix", "ic"),
    ("ex", "ic"),
    ("si", "s"),
    ("um", "a"),
    ("on", "a"),
    ("us", "i"),
    ("f", "v"),
    ("fe", "ve"),
    ("man", "men"),
];

/// Shorter stems are not compared in this way: "life" is not the singular of "live".
const MIN_LETTERS: usize = 5;

/// A stemmer for names. Runs without stemming have one, too: it affects names only.
#[derive(Clone, Debug)]
pub(crate) struct Stems {
    stemmer: Tokenizer,
    /// Whether the terms of the run are stems already.
    has_stemmed_terms: bool,
    is_english: bool,
}

impl Stems {
    /// The stemmer of the run, or else that of the first language of its stop words that has one.
    pub(crate) fn new(model: &Model) -> Result<Self> {
        let options = model.text().map(|text| text.text_options().clone()).unwrap_or_default();
        let has_stemmed_terms = model.text().is_some() && options.stemmer.is_some();
        let of_stop_words = match &options.stop_words {
            StopWords::Language(names) => names.as_str(),
            _ => "",
        };
        let plain = TextOptions::default().unspaced(options.unspaced);
        if has_stemmed_terms && options.language.is_some() {
            let by_document =
                plain.stop_words(options.stop_words).stemmer(options.stemmer).language(options.language);
            return Ok(Stems {
                stemmer: Tokenizer::new(&by_document)?,
                has_stemmed_terms,
                is_english: false,
            });
        }
        let languages = options.stemmer.as_deref().unwrap_or(of_stop_words).split(',').map(str::trim);
        let stemmer = |language: String| Tokenizer::new(&plain.clone().stemmer(language));
        let of_language = languages.into_iter().find_map(|language| stemmer(language.to_owned()).ok());
        let stemmer = of_language.map_or_else(|| stemmer(DEFAULT_LANGUAGE.to_owned()), Ok)?;
        let is_english = matches!(stemmer.options().stemmer.as_deref(), Some("english" | "en"));
        Ok(Stems { stemmer, has_stemmed_terms, is_english })
    }

    /// Whether the terms of the run are stems already.
    pub(crate) fn has_stemmed_terms(&self) -> bool {
        self.has_stemmed_terms
    }

    /// The stem of a word of a text.
    pub(crate) fn of_word(&self, word: &str) -> String {
        self.of_word_in(None, word)
    }

    /// The stem of a word of a text in this language. It matters only if each document is stemmed
    /// by its own.
    pub(crate) fn of_word_in(&self, language: Option<Language>, word: &str) -> String {
        let stem = self.stemmer.stem_in(language, &word.to_lowercase());
        if stem.is_empty() { word.to_owned() } else { stem }
    }

    /// Whether a stem, or that of its other number, is among these.
    pub(crate) fn is_among(&self, stem: &str, stems: &HashSet<String>) -> bool {
        stems.contains(stem) || self.is_english && other_numbers(stem).any(|other| stems.contains(&other))
    }

    /// The stems of the words of a term.
    pub(crate) fn of_term(&self, term: &str) -> Vec<String> {
        let stem = |word: &str| if self.has_stemmed_terms { word.to_owned() } else { self.of_word(word) };
        self.words(term).into_iter().map(stem).collect()
    }

    /// The stems of the words of a phrase of texts in this language.
    pub(crate) fn of_phrase(&self, language: Option<Language>, phrase: &str) -> Vec<String> {
        self.words(phrase).into_iter().map(|word| self.of_word_in(language, word)).collect()
    }

    /// The words of a term or phrase. In scripts without spaces a phrase is split as the texts are.
    fn words<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        for piece in text.split([' ', '-']).filter(|piece| !piece.is_empty()) {
            if piece.chars().any(is_unspaced) {
                self.stemmer.for_each_segment(piece, |word| words.push(word));
            } else {
                words.push(piece);
            }
        }
        words
    }
}

/// The stems that singular or plural of a word with this stem may have.
fn other_numbers(stem: &str) -> impl Iterator<Item = String> {
    let pairs = PLURALS.iter().flat_map(|&(one, several)| [(one, several), (several, one)]);
    pairs.filter_map(move |(own, other)| {
        let before = stem.strip_suffix(own).filter(|_| stem.len() >= MIN_LETTERS)?;
        Some(format!("{before}{other}"))
    })
}

#[cfg(test)]
impl Stems {
    /// English stems, for tests.
    pub(crate) fn english(has_stemmed_terms: bool) -> Self {
        let options = TextOptions::default().stemmer(DEFAULT_LANGUAGE.to_owned());
        Stems { stemmer: Tokenizer::new(&options).unwrap(), has_stemmed_terms, is_english: true }
    }
}

/// Stems of words that were looked up before.
#[derive(Debug)]
pub(crate) struct StemCache<'a> {
    stems: &'a Stems,
    known: HashMap<Option<Language>, HashMap<String, String>>,
}

impl<'a> StemCache<'a> {
    pub(crate) fn new(stems: &'a Stems) -> Self {
        StemCache { stems, known: HashMap::new() }
    }

    pub(crate) fn of_word(&mut self, language: Option<Language>, word: &str) -> &str {
        let known = self.known.entry(language).or_default();
        if !known.contains_key(word) {
            known.insert(word.to_owned(), self.stems.of_word_in(language, word));
        }
        &known[word]
    }
}

#[cfg(test)]
mod tests {
    use docsphere::{SphericalKMeans, Vectorizer};

    use super::*;

    fn stems(options: TextOptions) -> Stems {
        let text = Vectorizer::new().text(options).fit_texts(&["katzen hunde", "autos häuser"]).unwrap();
        let model = SphericalKMeans::params(2).fit(&text.rows).unwrap().model;
        Stems::new(&model.with_text(text.model).unwrap()).unwrap()
    }

    #[test]
    fn the_language_is_that_of_the_run() {
        let options = TextOptions::default;
        let german = options().stop_words(StopWords::Language("german".to_owned()));
        assert_eq!(stems(german).of_word("Katzen"), "katz");
        assert_eq!(stems(options().stemmer("german".to_owned())).of_word("Katzen"), "katz");
        for other in [options(), options().stop_words(StopWords::None)] {
            assert_eq!(stems(other).of_term("dogs barking"), ["dog", "bark"]);
        }
        // A language with stop words, but without a stemmer.
        let other = options().stop_words(StopWords::Language("azerbaijani".to_owned()));
        assert_eq!(stems(other).of_phrase(None, "barking-dogs"), ["bark", "dog"]);
    }

    #[test]
    fn singular_and_plural_are_related_whatever_the_stemmer_says() {
        let stems = Stems::english(false);
        for (one, several) in [
            ("matrix", "matrices"),
            ("index", "indices"),
            ("analysis", "analyses"),
            ("spectrum", "spectra"),
            ("criterion", "criteria"),
            ("nucleus", "nuclei"),
            ("shelf", "shelves"),
            ("knife", "knives"),
            ("woman", "women"),
            ("dog", "dogs"),
        ] {
            let (a, b) = (stems.of_word(one), stems.of_word(several));
            assert!(stems.is_among(&a, &HashSet::from([b.clone()])), "{one} {several}");
            assert!(stems.is_among(&b, &HashSet::from([a])), "{several} {one}");
        }
        for (one, other) in [("contract", "contrast"), ("tax", "taxi"), ("life", "live"), ("cat", "dog")] {
            let (a, b) = (stems.of_word(one), stems.of_word(other));
            assert!(!stems.is_among(&a, &HashSet::from([b])), "{one} {other}");
        }
    }

    #[test]
    fn terms_that_are_stems_are_not_stemmed_again() {
        let stems = stems(TextOptions::default().stemmer("english".to_owned()));
        let stem = stems.of_word("organization");
        assert_eq!(stems.of_term(&stem), [stem.as_str()]);
    }
}
