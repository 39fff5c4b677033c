//! What a term is: the options, their defaults and their ranges.

use serde::{Deserialize, Serialize};

use super::detection;
use super::dictionary;
use super::language_names::{self, AUTO};
use super::stop_words::{self, StopWords};
use crate::error::{Error, Result};
use crate::names::impl_names;

/// How text becomes terms. Stored in model files, so that new documents are tokenised like the old
/// ones.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `segmentation` | `words` | where words begin and end |
/// | `unspaced` | `bigrams` | with `words`: how Chinese, Japanese, Thai, Lao, Khmer and Burmese are split, which have no spaces between words |
/// | `hyphens` | `both` | with `words`: what becomes of words that hyphens join |
/// | `keep_tags` | no | with `words`: whether `#bitcoin` and `@user` are words with their signs, or `bitcoin` and `user` |
/// | `lowercase` | yes | the whole text is lower-cased first, by the rules of Unicode |
/// | `keep_urls` | no | `http://…`, `https://…` and `www.…` are dropped up to the next white space: they are unique to a document and carry no meaning |
/// | `keep_numbers` | no | words without any letter are dropped: a bare number rarely says what a text is about and each is a term of its own; `covid19` and `3d` stay |
/// | `min_chars` | 2 | shorter words are dropped, but for Chinese characters and bigrams of `unspaced`; from 1 to 100 |
/// | `stop_words` | english | words too common to say anything; of several languages, if separated by commas |
/// | `more_stop_words` | none | words that are dropped besides |
/// | `ngrams` | 1 to 1 | runs of this many words, joined with a space (words that `unspaced` found by dictionary: with nothing), counted after stop words were dropped; from 1 to 3 |
/// | `stemmer` | none | language of a Snowball stemmer that removes suffixes; with `language`, `auto` for that of each document |
/// | `language` | none | whether the language of each document is detected, see [`language`](Self::language) |
///
/// ```
/// use docsphere::{TextOptions, Tokenizer};
///
/// let tokenizer = Tokenizer::new(&TextOptions::default())?;
/// assert_eq!(tokenizer.terms("The cats of 1999: https://cats.example/x"), ["cats"]);
/// let tokenizer = Tokenizer::new(&TextOptions::default().keep_numbers(true).min_chars(4))?;
/// assert_eq!(tokenizer.terms("The cats of 1999, and a dog"), ["cats", "1999"]);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TextOptions {
    /// Where words begin and end.
    pub segmentation: Segmentation,
    /// How scripts without spaces are split.
    pub unspaced: Unspaced,
    /// What becomes of words that hyphens join.
    pub hyphens: Hyphens,
    /// Whether the signs of hashtags and mentions are kept.
    pub keep_tags: bool,
    /// Whether text is converted to lower case.
    pub lowercase: bool,
    /// Whether web addresses are split into words like other text.
    pub keep_urls: bool,
    /// Whether words without any letter are kept.
    pub keep_numbers: bool,
    /// The minimum number of characters of a word.
    pub min_chars: usize,
    /// Words that are dropped.
    pub stop_words: StopWords,
    /// Words that are dropped besides.
    pub more_stop_words: Vec<String>,
    /// How many words make a term.
    pub ngrams: Ngrams,
    /// The language of the stemmer, by English name or ISO 639 code; `None` for no stemming. With
    /// `language`, `auto` for the language of each document. Where that is not certain, it is the
    /// first language with a stemmer that `language` or else `stop_words` names.
    pub stemmer: Option<String>,
    /// The languages of the documents, if they have several: by English names or ISO 639 codes,
    /// separated by commas; `auto` for any ([`Language::all`]). The language of each document is
    /// detected, and its stop words are those of that language, if there is a list. Where the
    /// language is not certain, they are those of all languages that are named here or as
    /// `stop_words`. `StopWords::None` and `StopWords::Own` hold for all languages. Only in builds
    /// with the feature `languages`.
    ///
    /// [`Language::all`]: crate::Language::all
    pub language: Option<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            segmentation: Segmentation::Words,
            unspaced: Unspaced::Bigrams,
            hyphens: Hyphens::default(),
            keep_tags: false,
            lowercase: true,
            keep_urls: false,
            keep_numbers: false,
            min_chars: 2,
            stop_words: StopWords::Language("english".to_owned()),
            more_stop_words: Vec::new(),
            ngrams: Ngrams::default(),
            stemmer: None,
            language: None,
        }
    }
}

impl TextOptions {
    /// Options that produce the terms of scikit-learn's `TfidfVectorizer` with its defaults.
    pub fn sklearn() -> Self {
        TextOptions {
            segmentation: Segmentation::SkLearn,
            keep_urls: true,
            keep_numbers: true,
            stop_words: StopWords::None,
            ..TextOptions::default()
        }
    }

    /// Where words begin and end.
    #[must_use]
    pub fn segmentation(mut self, segmentation: Segmentation) -> Self {
        self.segmentation = segmentation;
        self
    }

    /// How scripts without spaces are split.
    #[must_use]
    pub fn unspaced(mut self, unspaced: Unspaced) -> Self {
        self.unspaced = unspaced;
        self
    }

    /// What becomes of words that hyphens join.
    #[must_use]
    pub fn hyphens(mut self, hyphens: Hyphens) -> Self {
        self.hyphens = hyphens;
        self
    }

    /// Whether the signs of hashtags and mentions are kept.
    #[must_use]
    pub fn keep_tags(mut self, keep_tags: bool) -> Self {
        self.keep_tags = keep_tags;
        self
    }

    /// Whether text is converted to lower case.
    #[must_use]
    pub fn lowercase(mut self, lowercase: bool) -> Self {
        self.lowercase = lowercase;
        self
    }

    /// Whether web addresses are split into words like other text.
    #[must_use]
    pub fn keep_urls(mut self, keep_urls: bool) -> Self {
        self.keep_urls = keep_urls;
        self
    }

    /// Whether words without any letter are kept.
    #[must_use]
    pub fn keep_numbers(mut self, keep_numbers: bool) -> Self {
        self.keep_numbers = keep_numbers;
        self
    }

    /// The minimum number of characters of a word.
    #[must_use]
    pub fn min_chars(mut self, min_chars: usize) -> Self {
        self.min_chars = min_chars;
        self
    }

    /// Words that are dropped.
    #[must_use]
    pub fn stop_words(mut self, stop_words: StopWords) -> Self {
        self.stop_words = stop_words;
        self
    }

    /// Words that are dropped besides [`stop_words`](Self::stop_words).
    #[must_use]
    pub fn more_stop_words(mut self, words: Vec<String>) -> Self {
        self.more_stop_words = words;
        self
    }

    /// How many words make a term.
    #[must_use]
    pub fn ngrams(mut self, ngrams: Ngrams) -> Self {
        self.ngrams = ngrams;
        self
    }

    /// The language of the stemmer; `None` for no stemming.
    #[must_use]
    pub fn stemmer(mut self, stemmer: impl Into<Option<String>>) -> Self {
        self.stemmer = stemmer.into();
        self
    }

    /// The languages of the documents, if they have several; `None` if all are alike.
    #[must_use]
    pub fn language(mut self, language: impl Into<Option<String>>) -> Self {
        self.language = language.into();
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for the first option that is out of
    /// its range; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for one that is not in
    /// this build.
    pub fn check(&self) -> Result<()> {
        Error::unless((1..=100).contains(&self.min_chars), "min_chars", "from 1 to 100", self.min_chars)?;
        let Ngrams { lo, hi } = self.ngrams;
        let in_range = 1 <= lo && lo <= hi && hi <= 3;
        Error::unless(in_range, "ngrams", "lo to hi with 1 <= lo <= hi <= 3", format!("{lo} to {hi}"))?;
        if self.unspaced == Unspaced::Dictionary {
            dictionary::check_build()?;
        }
        if let StopWords::Language(names) = &self.stop_words {
            stop_words::of_languages(names)?;
        }
        if let Some(names) = &self.language {
            detection::check_build()?;
            language_names::candidates(names)?;
        }
        self.stemming().map(drop)
    }

    /// The languages that `language` names, and then those that `stop_words` names.
    pub(super) fn languages_named(&self) -> Result<Vec<&str>> {
        let mut named: Vec<&str> = Vec::new();
        if let Some(names) = self.language.as_deref().filter(|&names| names != AUTO) {
            language_names::of_names(names)?.into_iter().for_each(|language| named.push(language.name()));
        }
        if let StopWords::Language(names) = &self.stop_words {
            named.extend(names.split(',').map(str::trim));
        }
        Ok(named)
    }

    /// The stemmer of documents whose language is not asked for, or not certain.
    pub(super) fn stemming(&self) -> Result<Option<frostem::Stemmer>> {
        let Some(name) = &self.stemmer else { return Ok(None) };
        if name == AUTO && self.language.is_some() {
            return Ok(self.languages_named()?.iter().find_map(|name| language_names::stemmer(name)));
        }
        match frostem::Stemmer::try_from_name(name) {
            Ok(stemmer) => Ok(Some(stemmer)),
            Err(_) => {
                let known: Vec<String> =
                    frostem::Algorithm::all().iter().map(|algorithm| algorithm.name().to_owned()).collect();
                let with_language = if name == AUTO { " (auto needs the option language)" } else { "" };
                let expected = format!("one of {}{with_language}", known.join(", "));
                Error::unless(false, "stemmer", expected, format!("{name:?}")).map(|()| None)
            }
        }
    }
}

/// Where words begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Segmentation {
    /// As `Unicode`, and what people take for words besides: `C++`, `C#`, `AT&T`, and the words of
    /// scripts without spaces ([`Unspaced`]).
    #[default]
    Words,
    /// The word boundaries of Unicode ([UAX #29](https://www.unicode.org/reports/tr29/)): `don't`,
    /// `3.14` and `e.g` are one word each. Of Chinese it makes single characters.
    Unicode,
    /// Runs of two or more letters, digits and underscores, as scikit-learn's default
    /// `token_pattern` `(?u)\b\w\w+\b`.
    SkLearn,
}

impl Segmentation {
    /// All segmentations.
    pub const ALL: &'static [Segmentation] =
        &[Segmentation::Words, Segmentation::Unicode, Segmentation::SkLearn];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Segmentation::Words => "words",
            Segmentation::Unicode => "unicode",
            Segmentation::SkLearn => "sklearn",
        }
    }
}

impl_names!(Segmentation, "segmentation");

/// How scripts without spaces are split: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unspaced {
    /// Every two neighbouring characters are a word: `操作系统` becomes `操作`, `作系` and
    /// `系统`. Needs no dictionary, so no word is missing from it.
    #[default]
    Bigrams,
    /// Words by the dictionaries of ICU: `操作`, `系统`. Only in builds with the feature
    /// `dictionary`.
    Dictionary,
}

impl Unspaced {
    /// All ways to split.
    pub const ALL: &'static [Unspaced] = &[Unspaced::Bigrams, Unspaced::Dictionary];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Unspaced::Bigrams => "bigrams",
            Unspaced::Dictionary => "dictionary",
        }
    }
}

impl_names!(Unspaced, "unspaced");

/// What becomes of words that hyphens join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Hyphens {
    /// Each part is a word: `zero-shot` becomes `zero` and `shot`.
    Split,
    /// Each part is a word; and if a part says nothing alone, a single letter or a number, so is
    /// the whole: `COVID-19`, `GPT-4`, `k-means`, `x-ray`.
    Names,
    /// Each part is a word, and so is the whole.
    #[default]
    Both,
    /// The whole is a word.
    Whole,
}

impl Hyphens {
    /// All choices.
    pub const ALL: &'static [Hyphens] = &[Hyphens::Split, Hyphens::Names, Hyphens::Both, Hyphens::Whole];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Hyphens::Split => "split",
            Hyphens::Names => "names",
            Hyphens::Both => "both",
            Hyphens::Whole => "whole",
        }
    }
}

impl_names!(Hyphens, "hyphens");

/// The minimum and maximum number of words in a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ngrams {
    /// The minimum number of words, at least 1.
    pub lo: usize,
    /// The maximum number of words, at most 3.
    pub hi: usize,
}

impl Default for Ngrams {
    fn default() -> Self {
        Ngrams { lo: 1, hi: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(options: TextOptions) -> String {
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_name_range_and_value() {
        let default = TextOptions::default;
        assert!(default().check().is_ok() && TextOptions::sklearn().check().is_ok());
        assert_eq!(
            message(TextOptions { min_chars: 0, ..default() }),
            "min_chars must be from 1 to 100, got 0"
        );
        for (lo, hi) in [(0, 1), (2, 1), (1, 4)] {
            assert_eq!(
                message(TextOptions { ngrams: Ngrams { lo, hi }, ..default() }),
                format!("ngrams must be lo to hi with 1 <= lo <= hi <= 3, got {lo} to {hi}")
            );
        }
        let stop_words = StopWords::Language("klingon".to_owned());
        let unknown = message(TextOptions { stop_words, ..default() });
        assert!(unknown.starts_with("stop_words must be one of afrikaans, albanian, "), "{unknown}");
        assert!(unknown.ends_with(", got \"klingon\""), "{unknown}");
        let unknown = message(TextOptions { stemmer: Some("klingon".to_owned()), ..default() });
        assert!(unknown.starts_with("stemmer must be one of arabic, "), "{unknown}");
        assert!(unknown.ends_with(", got \"klingon\""), "{unknown}");
    }

    #[test]
    fn every_segmentation_is_found_by_its_name() {
        for &segmentation in Segmentation::ALL {
            assert_eq!(segmentation.name().parse::<Segmentation>().unwrap(), segmentation);
            assert_eq!(serde_json::to_string(&segmentation).unwrap(), format!("\"{segmentation}\""));
        }
        assert_eq!(
            "lines".parse::<Segmentation>().unwrap_err().to_string(),
            "segmentation must be one of words, unicode, sklearn, got \"lines\""
        );
    }

    #[test]
    fn every_way_with_hyphens_is_found_by_its_name() {
        for &hyphens in Hyphens::ALL {
            assert_eq!(hyphens.name().parse::<Hyphens>().unwrap(), hyphens);
            assert_eq!(serde_json::to_string(&hyphens).unwrap(), format!("\"{hyphens}\""));
        }
    }

    #[cfg(feature = "languages")]
    #[test]
    fn auto_goes_with_detected_languages() {
        let auto = || TextOptions::default().stemmer("auto".to_owned());
        let refused = message(auto());
        assert!(refused.ends_with("yiddish (auto needs the option language), got \"auto\""), "{refused}");
        assert!(auto().language("auto".to_owned()).check().is_ok());
        assert!(auto().language("en, german".to_owned()).check().is_ok());
        let refused = message(auto().language("en,klingon".to_owned()));
        assert!(refused.starts_with("language must be auto, or one of afrikaans, "), "{refused}");
    }

    #[cfg(not(feature = "languages"))]
    #[test]
    fn languages_are_refused_if_their_detection_is_not_built_in() {
        let refused = message(TextOptions::default().language("auto".to_owned()));
        assert!(refused.contains("feature `languages`"), "{refused}");
    }

    #[cfg(not(feature = "dictionary"))]
    #[test]
    fn dictionaries_that_are_not_built_in_are_refused() {
        let refused = message(TextOptions::default().unspaced(Unspaced::Dictionary));
        assert!(refused.contains("by dictionary") && refused.contains("feature `dictionary`"), "{refused}");
    }

    #[test]
    fn options_survive_json_and_missing_ones_take_their_default() {
        let options = TextOptions { stemmer: Some("de".to_owned()), ..TextOptions::sklearn() };
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<TextOptions>(&json).unwrap(), options);
        let partial: TextOptions = serde_json::from_str(r#"{"min_chars": 3}"#).unwrap();
        assert_eq!(partial, TextOptions { min_chars: 3, ..TextOptions::default() });
    }
}
