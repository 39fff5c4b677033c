//! Stop words by language: words too common to distinguish documents.
//!
//! The lists are those of NLTK (crate `stop-words`): short, function words only. The ISO lists of
//! the same crate are often much longer, and contain meaningful words ("system", "world"), on which
//! clusters depend. So they serve only languages that NLTK does not have. The list for Breton has
//! 1,203 words, and is left out.

use std::borrow::Cow;

use foldhash::HashSet;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Words that are dropped. They are matched after lower-casing and before stemming.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StopWords {
    /// No stop words.
    None,
    /// The list of a language, by English name or ISO 639 code; see [`stop_word_languages`].
    /// Several languages are separated by commas: `english,french`.
    Language(String),
    /// A custom list.
    Own(Vec<String>),
}

/// English names of the languages and their codes, ordered by name.
const LANGUAGES: [(&str, &str); 65] = [
    ("afrikaans", "af"),
    ("albanian", "sq"),
    ("arabic", "ar"),
    ("armenian", "hy"),
    ("azerbaijani", "az"),
    ("basque", "eu"),
    ("belarusian", "be"),
    ("bengali", "bn"),
    ("bulgarian", "bg"),
    ("catalan", "ca"),
    ("chinese", "zh"),
    ("croatian", "hr"),
    ("czech", "cs"),
    ("danish", "da"),
    ("dutch", "nl"),
    ("english", "en"),
    ("esperanto", "eo"),
    ("estonian", "et"),
    ("finnish", "fi"),
    ("french", "fr"),
    ("galician", "gl"),
    ("german", "de"),
    ("greek", "el"),
    ("gujarati", "gu"),
    ("hausa", "ha"),
    ("hebrew", "he"),
    ("hindi", "hi"),
    ("hungarian", "hu"),
    ("indonesian", "id"),
    ("irish", "ga"),
    ("italian", "it"),
    ("japanese", "ja"),
    ("kazakh", "kk"),
    ("korean", "ko"),
    ("kurdish", "ku"),
    ("latin", "la"),
    ("latvian", "lv"),
    ("lithuanian", "lt"),
    ("malay", "ms"),
    ("marathi", "mr"),
    ("nepali", "ne"),
    ("norwegian", "no"),
    ("persian", "fa"),
    ("polish", "pl"),
    ("portuguese", "pt"),
    ("romanian", "ro"),
    ("russian", "ru"),
    ("sesotho", "st"),
    ("slovak", "sk"),
    ("slovenian", "sl"),
    ("somali", "so"),
    ("spanish", "es"),
    ("swahili", "sw"),
    ("swedish", "sv"),
    ("tagalog", "tl"),
    ("tajik", "tg"),
    ("tamil", "ta"),
    ("thai", "th"),
    ("turkish", "tr"),
    ("ukrainian", "uk"),
    ("urdu", "ur"),
    ("uzbek", "uz"),
    ("vietnamese", "vi"),
    ("yoruba", "yo"),
    ("zulu", "zu"),
];

/// The languages that have a list of stop words, by English name, in order.
pub fn stop_word_languages() -> impl ExactSizeIterator<Item = &'static str> {
    LANGUAGES.iter().map(|&(name, _)| name)
}

/// The lists of languages, by names or codes, separated by commas.
pub(super) fn of_languages(names: &str) -> Result<Vec<&'static [&'static str]>> {
    names.split(',').map(|name| of_language(name.trim())).collect()
}

/// The list of a language, by name or code.
fn of_language(name: &str) -> Result<&'static [&'static str]> {
    let wanted = name.to_lowercase();
    let code = LANGUAGES.iter().find(|&&(name, code)| name == wanted || code == wanted).map(|entry| entry.1);
    match code.and_then(stop_words::lookup) {
        Some(words) => Ok(words),
        None => {
            let known: Vec<_> = stop_word_languages().collect();
            let expected = format!("one of {}, or an ISO 639 code", known.join(", "));
            Error::unless(false, "stop_words", expected, format!("{name:?}")).map(|()| &[][..])
        }
    }
}

/// A set of stop words for lookup.
#[derive(Clone, Debug, Default)]
pub(super) struct StopSet {
    words: HashSet<Box<str>>,
    longest: usize,
}

impl StopSet {
    /// The chosen words, and more.
    pub(super) fn new(choice: &StopWords, more: &[String], lowercase: bool) -> Result<Self> {
        let mut set = StopSet::default();
        match choice {
            StopWords::None => {}
            StopWords::Language(names) => {
                of_languages(names)?.into_iter().flatten().for_each(|word| set.insert(word, lowercase));
            }
            StopWords::Own(words) => words.iter().for_each(|word| set.insert(word, lowercase)),
        }
        more.iter().for_each(|word| set.insert(word, lowercase));
        Ok(set)
    }

    /// Adds the list of a language, by name or code, if there is one.
    pub(super) fn add_language(&mut self, name: &str, lowercase: bool) {
        of_language(name).into_iter().flatten().for_each(|word| self.insert(word, lowercase));
    }

    /// Adds a word; a word with an apostrophe is added with both kinds of apostrophe.
    fn insert(&mut self, word: &str, lowercase: bool) {
        let word = word.trim();
        let word = if lowercase { Cow::Owned(word.to_lowercase()) } else { Cow::Borrowed(word) };
        if word.contains(['\'', '’']) {
            self.insert_as_is(&word.replace('\'', "’"));
            self.insert_as_is(&word.replace('’', "'"));
        }
        self.insert_as_is(&word);
    }

    fn insert_as_is(&mut self, word: &str) {
        self.longest = self.longest.max(word.len());
        self.words.insert(word.into());
    }

    #[inline]
    pub(super) fn contains(&self, word: &str) -> bool {
        word.len() <= self.longest && self.words.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_list_by_name_and_by_code() {
        for (name, code) in LANGUAGES {
            let words = of_language(name).unwrap();
            assert!(words.len() > 20, "{name} has only {} words", words.len());
            assert_eq!(of_language(&code.to_uppercase()).unwrap(), words);
        }
        assert!(LANGUAGES.is_sorted());
        assert!(of_language("en").unwrap().contains(&"the"));
    }

    #[test]
    fn apostrophes_are_known_in_both_ways_of_writing() {
        let set = StopSet::new(&StopWords::Language("english".to_owned()), &[], true).unwrap();
        assert!(set.contains("don't") && set.contains("don’t") && set.contains("the"));
        assert!(!set.contains("sphere") && !set.contains(""));
        let own = StopSet::new(&StopWords::Own(vec![" Sphere ".to_owned()]), &[], true).unwrap();
        assert!(own.contains("sphere") && !own.contains("the"));
    }

    #[test]
    fn several_languages_and_more_words_add_up() {
        let several = StopWords::Language("english, fr".to_owned());
        let set = StopSet::new(&several, &["Sphere".to_owned()], true).unwrap();
        assert!(set.contains("the") && set.contains("avec") && set.contains("sphere"));
        for wrong in ["english,klingon", "english,", ""] {
            let error = StopSet::new(&StopWords::Language(wrong.to_owned()), &[], true).unwrap_err();
            assert!(error.to_string().starts_with("stop_words must be one of afrikaans"), "{error}");
        }
    }
}
