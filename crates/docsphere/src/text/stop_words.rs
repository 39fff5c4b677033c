//! Stop words by language: words too common to distinguish documents.
//!
//! The lists are those of NLTK (crate `stop-words`): short, function words only. The ISO lists of
//! the same crate are often much longer, and contain meaningful words ("system", "world"), on which
//! clusters depend. So they serve only languages that NLTK does not have. The list for Breton has
//! 1,203 words, and is left out.

use std::borrow::Cow;

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

/// A set of stop words for lookup. Nearly half of the words of a text are among them, and every word
/// is looked up: the set is a table by [`mark`], which takes less time than a hash.
#[derive(Clone, Debug)]
pub(super) struct StopSet {
    /// By their marks, and then in ascending order.
    words: Vec<Box<str>>,
    /// Where the words of each mark begin, and where the last ones end.
    starts: Box<[u32; N_MARKS + 1]>,
}

/// The number of values of [`mark`].
const N_MARKS: usize = 1 << 12;

/// A number below [`N_MARKS`] from the length of a word, its first byte and its last two.
#[inline]
fn mark(word: &[u8]) -> usize {
    let [first, .., before, last] = *word else { return word.first().map_or(0, |&byte| byte.into()) };
    let mixed = u32::from_le_bytes([first, before, last, word.len() as u8]).wrapping_mul(0x9e37_79b1);
    (mixed >> (32 - N_MARKS.ilog2())) as usize
}

impl StopSet {
    /// The chosen words, and more.
    pub(super) fn new(choice: &StopWords, more: &[String], lowercase: bool) -> Result<Self> {
        let mut words = Words { words: Vec::new(), lowercase };
        match choice {
            StopWords::None => {}
            StopWords::Language(names) => words.add(of_languages(names)?.into_iter().flatten()),
            StopWords::Own(own) => words.add(own),
        }
        words.add(more);
        Ok(words.into_set())
    }

    /// The same words, and the list of a language, by name or code, if there is one.
    pub(super) fn with_language(self, name: &str, lowercase: bool) -> Self {
        let mut words = Words { words: self.words, lowercase };
        words.add(of_language(name).into_iter().flatten());
        words.into_set()
    }

    #[inline]
    pub(super) fn contains(&self, word: &str) -> bool {
        let mark = mark(word.as_bytes());
        let (start, end) = (self.starts[mark], self.starts[mark + 1]);
        start < end && self.is_among(start as usize, end as usize, word)
    }

    /// Whether a word is one of some words of its mark: nearly always of one, or of very few.
    fn is_among(&self, start: usize, end: usize, word: &str) -> bool {
        let known = &self.words[start..end];
        match known.len() {
            ..=4 => known.iter().any(|known| **known == *word),
            _ => known.binary_search_by(|known| (**known).cmp(word)).is_ok(),
        }
    }
}

impl Default for StopSet {
    fn default() -> Self {
        StopSet { words: Vec::new(), starts: Box::new([0; N_MARKS + 1]) }
    }
}

/// Stop words as they are collected.
struct Words {
    words: Vec<Box<str>>,
    lowercase: bool,
}

impl Words {
    /// Adds words; one with an apostrophe is added with both kinds of apostrophe.
    fn add(&mut self, words: impl IntoIterator<Item = impl AsRef<str>>) {
        for word in words {
            let word = word.as_ref().trim();
            let word = if self.lowercase { Cow::Owned(word.to_lowercase()) } else { Cow::Borrowed(word) };
            if word.contains(['\'', '’']) {
                self.words.push(word.replace('\'', "’").into());
                self.words.push(word.replace('’', "'").into());
            }
            self.words.push(word.into());
        }
    }

    fn into_set(mut self) -> StopSet {
        self.words
            .sort_unstable_by(|a, b| mark(a.as_bytes()).cmp(&mark(b.as_bytes())).then_with(|| a.cmp(b)));
        self.words.dedup();
        let mut starts = Box::new([0; N_MARKS + 1]);
        self.words.iter().for_each(|word| starts[mark(word.as_bytes()) + 1] += 1);
        (0..N_MARKS).for_each(|mark| starts[mark + 1] += starts[mark]);
        StopSet { words: self.words, starts }
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
    fn every_word_of_a_set_is_found_and_no_other() {
        let words: Vec<String> = (0..5000).map(|n| format!("{}{n}é", "a".repeat(n % 7))).collect();
        let (known, others): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| word.len() % 2 == 0);
        let set = StopSet::new(&StopWords::Own(known.iter().map(|&word| word.clone()).collect()), &[], true);
        let set = set.unwrap();
        assert!(known.iter().all(|word| set.contains(word)) && !others.iter().any(|word| set.contains(word)));
        for short in ["", "a", "é", "ab"] {
            let own = StopSet::new(&StopWords::Own(vec![short.to_owned()]), &[], true).unwrap();
            assert!(own.contains(short) && !own.contains("b") && !StopSet::default().contains(short));
        }
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
