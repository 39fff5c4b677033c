//! Stems: words that people take for the same word have the same stem.

use std::collections::HashMap;

use docsphere::{Model, Result, StopWords, TextOptions, Tokenizer, is_unspaced};

/// The language of stems if the options of a run name none that has a stemmer.
const DEFAULT_LANGUAGE: &str = "english";

/// A stemmer for names. Runs without stemming have one, too: it affects names only.
#[derive(Clone, Debug)]
pub(crate) struct Stems {
    stemmer: Tokenizer,
    /// Whether the terms of the run are stems already.
    has_stemmed_terms: bool,
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
        let languages = options.stemmer.as_deref().unwrap_or(of_stop_words).split(',').map(str::trim);
        let plain = TextOptions::default().unspaced(options.unspaced);
        let stemmer = |language: String| Tokenizer::new(&plain.clone().stemmer(language));
        let of_language = languages.into_iter().find_map(|language| stemmer(language.to_owned()).ok());
        let stemmer = of_language.map_or_else(|| stemmer(DEFAULT_LANGUAGE.to_owned()), Ok)?;
        Ok(Stems { stemmer, has_stemmed_terms })
    }

    /// Whether the terms of the run are stems already.
    pub(crate) fn has_stemmed_terms(&self) -> bool {
        self.has_stemmed_terms
    }

    /// The stem of a word of a text.
    pub(crate) fn of_word(&self, word: &str) -> String {
        let stem = self.stemmer.stem(&word.to_lowercase());
        if stem.is_empty() { word.to_owned() } else { stem }
    }

    /// The stems of the words of a term.
    pub(crate) fn of_term(&self, term: &str) -> Vec<String> {
        let stem = |word: &str| if self.has_stemmed_terms { word.to_owned() } else { self.of_word(word) };
        self.words(term).into_iter().map(stem).collect()
    }

    /// The stems of the words of a phrase.
    pub(crate) fn of_phrase(&self, phrase: &str) -> Vec<String> {
        self.words(phrase).into_iter().map(|word| self.of_word(word)).collect()
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

#[cfg(test)]
impl Stems {
    /// English stems, for tests.
    pub(crate) fn english(has_stemmed_terms: bool) -> Self {
        let options = TextOptions::default().stemmer(DEFAULT_LANGUAGE.to_owned());
        Stems { stemmer: Tokenizer::new(&options).unwrap(), has_stemmed_terms }
    }
}

/// Stems of words that were looked up before.
#[derive(Debug)]
pub(crate) struct StemCache<'a> {
    stems: &'a Stems,
    known: HashMap<String, String>,
}

impl<'a> StemCache<'a> {
    pub(crate) fn new(stems: &'a Stems) -> Self {
        StemCache { stems, known: HashMap::new() }
    }

    pub(crate) fn of_word(&mut self, word: &str) -> &str {
        if !self.known.contains_key(word) {
            self.known.insert(word.to_owned(), self.stems.of_word(word));
        }
        &self.known[word]
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
        assert_eq!(stems(other).of_phrase("barking-dogs"), ["bark", "dog"]);
    }

    #[test]
    fn terms_that_are_stems_are_not_stemmed_again() {
        let stems = stems(TextOptions::default().stemmer("english".to_owned()));
        let stem = stems.of_word("organization");
        assert_eq!(stems.of_term(&stem), [stem.as_str()]);
    }
}
