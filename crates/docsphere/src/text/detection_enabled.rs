//! Detects the language of a text, by its script, letters and trigrams.

use whatlang::Lang;

use super::language_names::Language;
use crate::error::Result;

/// Detection is in this build.
pub(super) fn check_build() -> Result<()> {
    Ok(())
}

/// Detects one of several languages.
pub(super) struct Detector {
    detector: whatlang::Detector,
    /// By number of the detector's language.
    languages: Vec<Option<Language>>,
}

impl Detector {
    pub(super) fn new(candidates: &[Language]) -> Self {
        let known =
            |lang: &Lang| Language::of_name(lang.code()).ok().filter(|found| candidates.contains(found));
        let allowed = Lang::all().iter().copied().filter(|lang| known(lang).is_some()).collect();
        let mut languages = vec![None; Lang::all().len()];
        for lang in Lang::all() {
            languages[*lang as usize] = known(lang);
        }
        Detector { detector: whatlang::Detector::with_allowlist(allowed), languages }
    }

    /// The language of a text, if it is certain. So the order does not matter in which the detector
    /// looks at languages that fit equally well.
    pub(super) fn language_of(&self, text: &str) -> Option<Language> {
        let found = self.detector.detect(text).filter(whatlang::Info::is_reliable)?;
        self.languages[found.lang() as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(candidates: &[Language], text: &str) -> Option<&'static str> {
        Detector::new(candidates).language_of(text).map(Language::name)
    }

    fn all() -> Vec<Language> {
        Language::all().collect()
    }

    #[test]
    fn every_language_of_the_detector_has_a_name() {
        for lang in Lang::all() {
            assert!(Language::of_name(lang.code()).is_ok(), "{lang}");
        }
        assert_eq!(Lang::all().len(), Language::all().len());
    }

    #[test]
    fn whole_sentences_are_certain_and_scraps_are_not() {
        for (text, language) in [
            ("The parliament has voted on the new budget, and the government must now resign.", "english"),
            (
                "Das Parlament hat über den neuen Haushalt abgestimmt, und die Regierung muss nun gehen.",
                "german",
            ),
            ("Le parlement a voté le nouveau budget, et le gouvernement doit maintenant partir.", "french"),
            ("Парламент проголосовал за новый бюджет, и правительство должно уйти в отставку.", "russian"),
            ("議会は新しい予算を採決し、政府は辞任しなければならない。", "japanese"),
            ("议会对新预算进行了表决,政府现在必须辞职。", "chinese"),
            ("รัฐสภาลงมติเกี่ยวกับงบประมาณใหม่", "thai"),
        ] {
            assert_eq!(found(&all(), text), Some(language), "{text}");
        }
        for scrap in ["", " ", "123 4.5", "ok", "x", "🙂", "\u{301}"] {
            assert_eq!(found(&all(), scrap), None, "{scrap:?}");
        }
    }

    #[test]
    fn only_the_candidates_are_found() {
        let german: Vec<Language> = Language::all().filter(|language| language.name() == "german").collect();
        assert_eq!(found(&german, "Парламент проголосовал за новый бюджет"), None);
        assert_eq!(found(&german, "Das Parlament hat abgestimmt"), Some("german"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}|[a-zäßéşİıǅΣя中日ไ한 \u{301}\u{130}0-9]{0,30}") {
            let languages = all();
            prop_assert_eq!(found(&languages, &text), found(&languages, &text));
            for language in &languages {
                let _ = found(std::slice::from_ref(language), &text);
            }
        }
    }
}
