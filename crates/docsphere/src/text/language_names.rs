//! The languages that can be detected, by name.

use std::fmt;

use crate::error::{ErrorKind, Result};

/// The value of options that leave the choice to docsphere.
pub(super) const AUTO: &str = "auto";

/// A language that can be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// English name, ISO 639 code, and the code of three letters by which the detector knows it;
/// ordered by name.
const LANGUAGES: [(&str, &str, &str); 70] = [
    ("afrikaans", "af", "afr"),
    ("akan", "ak", "aka"),
    ("amharic", "am", "amh"),
    ("arabic", "ar", "ara"),
    ("armenian", "hy", "hye"),
    ("azerbaijani", "az", "aze"),
    ("belarusian", "be", "bel"),
    ("bengali", "bn", "ben"),
    ("bulgarian", "bg", "bul"),
    ("burmese", "my", "mya"),
    ("catalan", "ca", "cat"),
    ("chinese", "zh", "cmn"),
    ("croatian", "hr", "hrv"),
    ("czech", "cs", "ces"),
    ("danish", "da", "dan"),
    ("dutch", "nl", "nld"),
    ("english", "en", "eng"),
    ("esperanto", "eo", "epo"),
    ("estonian", "et", "est"),
    ("finnish", "fi", "fin"),
    ("french", "fr", "fra"),
    ("georgian", "ka", "kat"),
    ("german", "de", "deu"),
    ("greek", "el", "ell"),
    ("gujarati", "gu", "guj"),
    ("hebrew", "he", "heb"),
    ("hindi", "hi", "hin"),
    ("hungarian", "hu", "hun"),
    ("indonesian", "id", "ind"),
    ("italian", "it", "ita"),
    ("japanese", "ja", "jpn"),
    ("javanese", "jv", "jav"),
    ("kannada", "kn", "kan"),
    ("khmer", "km", "khm"),
    ("korean", "ko", "kor"),
    ("latin", "la", "lat"),
    ("latvian", "lv", "lav"),
    ("lithuanian", "lt", "lit"),
    ("macedonian", "mk", "mkd"),
    ("malayalam", "ml", "mal"),
    ("marathi", "mr", "mar"),
    ("nepali", "ne", "nep"),
    ("norwegian", "no", "nob"),
    ("odia", "or", "ori"),
    ("persian", "fa", "pes"),
    ("polish", "pl", "pol"),
    ("portuguese", "pt", "por"),
    ("punjabi", "pa", "pan"),
    ("romanian", "ro", "ron"),
    ("russian", "ru", "rus"),
    ("serbian", "sr", "srp"),
    ("shona", "sn", "sna"),
    ("sinhala", "si", "sin"),
    ("slovak", "sk", "slk"),
    ("slovenian", "sl", "slv"),
    ("spanish", "es", "spa"),
    ("swedish", "sv", "swe"),
    ("tagalog", "tl", "tgl"),
    ("tamil", "ta", "tam"),
    ("telugu", "te", "tel"),
    ("thai", "th", "tha"),
    ("turkish", "tr", "tur"),
    ("turkmen", "tk", "tuk"),
    ("ukrainian", "uk", "ukr"),
    ("urdu", "ur", "urd"),
    ("uzbek", "uz", "uzb"),
    ("vietnamese", "vi", "vie"),
    ("welsh", "cy", "cym"),
    ("yiddish", "yi", "yid"),
    ("zulu", "zu", "zul"),
];

impl Language {
    /// All languages, ordered by name.
    pub fn all() -> impl ExactSizeIterator<Item = Language> {
        (0..LANGUAGES.len()).map(|number| Language(number as u8))
    }

    /// Its place among all languages.
    pub(super) fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Its English name.
    pub fn name(self) -> &'static str {
        LANGUAGES[usize::from(self.0)].0
    }

    /// The language of a name or an ISO 639 code, which the detector has, too.
    pub(super) fn of_name(name: &str) -> Result<Language> {
        let wanted = name.trim().to_lowercase();
        let is_named = |&(name, code, three): &(&str, &str, &str)| [name, code, three].contains(&&wanted[..]);
        match LANGUAGES.iter().position(is_named) {
            Some(number) => Ok(Language(number as u8)),
            None => {
                let known: Vec<_> = Language::all().map(Language::name).collect();
                let expected = format!("{AUTO}, or one of {}, or an ISO 639 code", known.join(", "));
                Err(ErrorKind::Parameter { name: "language", expected, got: format!("{name:?}") }.into())
            }
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The languages that may occur, by the option `language`: all, or those named.
pub(super) fn candidates(names: &str) -> Result<Vec<Language>> {
    if names == AUTO { Ok(Language::all().collect()) } else { of_names(names) }
}

/// The languages of names or codes, separated by commas.
pub(super) fn of_names(names: &str) -> Result<Vec<Language>> {
    names.split(',').map(Language::of_name).collect()
}

/// The stemmer of a language, if it has one.
pub(super) fn stemmer(name: &str) -> Option<frostem::Stemmer> {
    frostem::Stemmer::try_from_name(name).ok()
}

#[cfg(test)]
mod tests {
    use super::super::stop_words;
    use super::*;

    #[test]
    fn languages_are_found_by_name_and_code() {
        for language in Language::all() {
            assert_eq!(Language::of_name(&language.name().to_uppercase()).unwrap(), language);
            let (_, two, three) = LANGUAGES[usize::from(language.0)];
            assert_eq!(Language::of_name(two).unwrap(), language);
            assert_eq!(Language::of_name(three).unwrap(), language);
        }
        assert!(LANGUAGES.is_sorted());
        assert_eq!(candidates("en, German").unwrap().len(), 2);
        for wrong in ["klingon", "english,", ""] {
            let error = candidates(wrong).unwrap_err().to_string();
            assert!(error.starts_with("language must be auto, or one of afrikaans"), "{error}");
        }
    }

    #[test]
    fn names_are_those_of_stop_words_and_stemmers() {
        let has_words = |name: &str| stop_words::of_languages(name).is_ok();
        let lacks_both: Vec<&str> = Language::all()
            .map(Language::name)
            .filter(|name| !has_words(name) && stemmer(name).is_none())
            .collect();
        // Whatever else is here is written in another way elsewhere.
        assert_eq!(
            lacks_both,
            [
                "akan",
                "amharic",
                "burmese",
                "georgian",
                "javanese",
                "kannada",
                "khmer",
                "macedonian",
                "malayalam",
                "odia",
                "punjabi",
                "shona",
                "sinhala",
                "telugu",
                "turkmen",
                "welsh"
            ]
        );
    }
}
