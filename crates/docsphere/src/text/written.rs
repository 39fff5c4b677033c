//! Words as they are written: with what joins them, and with the words that are no terms.
//!
//! Terms are single words or n-grams over words that may be far apart: stop words and punctuation
//! between them are gone. Phrases for people need both: "chief executive officer" is one, "cats,
//! dogs" is none.

use super::language_names::Language;
use super::tokenizer::{Tokenizer, TokenizerScratch, lower_case};
use super::unspaced::{begins_unspaced, is_unspaced};

/// What is between a word and the word before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Joint {
    /// The start of the text or of a line, punctuation, or a web address.
    Break,
    /// White space within a line.
    Space,
    /// A hyphen.
    Hyphen,
    /// Nothing, in scripts without spaces.
    Nothing,
    /// Less than nothing: the word begins with this many bytes of the one before, as bigrams do.
    Overlap(usize),
}

/// A word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenWord<'a> {
    /// The word before stemming, in lower case if the options say so.
    pub word: &'a str,
    /// What is between the word before and this one.
    pub joint: Joint,
    /// Whether it makes a term: it is long enough, and neither a number nor a stop word.
    pub is_kept: bool,
    /// The language of the text, if the options ask for it and it is certain.
    pub language: Option<Language>,
}

impl Tokenizer {
    /// Calls `word` for every word of a text, in order: also for words that make no term, but not
    /// for web addresses that the options drop.
    ///
    /// ```
    /// use docsphere::{Joint, TextOptions, Tokenizer, TokenizerScratch};
    ///
    /// let tokenizer = Tokenizer::new(&TextOptions::default())?;
    /// let mut words = Vec::new();
    /// let mut scratch = TokenizerScratch::default();
    /// tokenizer.for_each_written("The well-known cat, rarely seen", &mut scratch, |found| {
    ///     words.push((found.word.to_owned(), found.joint));
    /// });
    /// assert_eq!(words[2], ("known".to_owned(), Joint::Hyphen));
    /// assert_eq!(words[4], ("rarely".to_owned(), Joint::Break));
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    pub fn for_each_written(
        &self,
        text: &str,
        scratch: &mut TokenizerScratch,
        mut word: impl FnMut(WrittenWord<'_>),
    ) {
        let rules = self.rules_of(text);
        let language = rules.language;
        let text = if self.options().lowercase { lower_case(text, &mut scratch.lowered) } else { text };
        let mut end: Option<usize> = None;
        self.for_each_segment(text, |found| {
            // Words are slices of the text.
            let start = found.as_ptr() as usize - text.as_ptr() as usize;
            if end.is_some_and(|end| start < end) && !begins_unspaced(found) {
                // The whole of a compound comes after its parts, which are here with their hyphens.
                return;
            }
            let joint = end.map_or(Joint::Break, |end| joint(text, end, start));
            end = Some(start + found.len());
            word(WrittenWord { word: found, joint, is_kept: self.is_wanted(rules, found), language });
        });
    }

    /// The stem of a word, or the word itself without a stemmer. If languages are detected, as in
    /// texts whose language is not certain.
    pub fn stem(&self, word: &str) -> String {
        self.stem_in(None, word)
    }

    /// The stem of a word of a text in this language.
    pub fn stem_in(&self, language: Option<Language>, word: &str) -> String {
        let stemmer = self.rules_in(language).stemmer.as_ref();
        stemmer.map_or_else(|| word.to_owned(), |stemmer| stemmer.stem(word).into_owned())
    }
}

/// What is between a word that ends at `end` and one that begins at `start`.
fn joint(text: &str, end: usize, start: usize) -> Joint {
    if start < end {
        return Joint::Overlap(end - start);
    }
    let gap = &text[end..start];
    if gap.is_empty() {
        let is_unspaced = begins_unspaced(&text[start..]) || text[..end].ends_with(is_unspaced);
        return if is_unspaced { Joint::Nothing } else { Joint::Break };
    }
    if matches!(gap, "-" | "\u{2010}" | "\u{2011}") {
        return Joint::Hyphen;
    }
    let ends_line =
        |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let is_space = gap.chars().all(|c| c.is_whitespace() && !ends_line(c));
    if is_space { Joint::Space } else { Joint::Break }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Hyphens, Segmentation, TextOptions};
    use super::*;

    fn written(options: &TextOptions, text: &str) -> Vec<(String, Joint, bool)> {
        let mut words = Vec::new();
        let tokenizer = Tokenizer::new(options).unwrap();
        tokenizer.for_each_written(text, &mut TokenizerScratch::default(), |found| {
            words.push((found.word.to_owned(), found.joint, found.is_kept));
        });
        words
    }

    #[test]
    fn joints_are_those_of_the_text() {
        use Joint::{Break, Hyphen, Space};
        let found = written(&TextOptions::default(), "The Cat\tsat. WELL-known https://a.b/c Äpfel\nend 7");
        let expected = [
            ("the", Break, false),
            ("cat", Space, true),
            ("sat", Space, true),
            ("well", Break, true),
            ("known", Hyphen, true),
            ("äpfel", Break, true),
            ("end", Break, true),
            ("7", Space, false),
        ];
        assert_eq!(found, expected.map(|(word, joint, is_kept)| (word.to_owned(), joint, is_kept)));
        let found = written(&TextOptions::sklearn(), "a cat  x-ray");
        let words: Vec<(&str, Joint)> = found.iter().map(|(word, joint, _)| (&**word, *joint)).collect();
        assert_eq!(words, [("cat", Break), ("ray", Break)], "words of one letter are none");
        assert_eq!(TextOptions::sklearn().segmentation, Segmentation::SkLearn);
    }

    #[test]
    fn the_whole_of_a_compound_is_no_word_beside_its_parts() {
        use Joint::{Break, Hyphen, Space};
        let words = |hyphens| {
            let found = written(&TextOptions::default().hyphens(hyphens), "Our COVID-19 tests");
            found.into_iter().map(|(word, joint, _)| (word, joint)).collect::<Vec<_>>()
        };
        let owned = |words: &[(&str, Joint)]| -> Vec<(String, Joint)> {
            words.iter().map(|&(word, joint)| (word.to_owned(), joint)).collect()
        };
        let parts = [("our", Break), ("covid", Space), ("19", Hyphen), ("tests", Space)];
        assert_eq!(words(Hyphens::Names), owned(&parts));
        assert_eq!(words(Hyphens::Both), owned(&parts));
        assert_eq!(words(Hyphens::Whole), owned(&[("our", Break), ("covid-19", Space), ("tests", Space)]));
    }

    #[test]
    fn bigrams_overlap_and_nothing_is_between_scripts() {
        use Joint::{Break, Nothing, Overlap, Space};
        let found = written(&TextOptions::default(), "Linux内核模 块。カナ漢字");
        let joints: Vec<(&str, Joint)> = found.iter().map(|(word, joint, _)| (&**word, *joint)).collect();
        let expected = [
            ("linux", Break),
            ("内核", Nothing),
            ("核模", Overlap(3)),
            ("块", Space),
            ("カナ", Break),
            ("漢字", Nothing),
        ];
        assert_eq!(joints, expected);
    }

    #[test]
    fn kept_words_are_the_terms() {
        let text = "The quick 内核模块 brown fox's jump over 12 lazy dogs, e.g. on www.example.org!";
        for options in [TextOptions::default(), TextOptions::sklearn()] {
            let kept = written(&options, text).into_iter().filter(|word| word.2).map(|word| word.0);
            assert_eq!(kept.collect::<Vec<_>>(), Tokenizer::new(&options).unwrap().terms(text));
        }
    }

    #[test]
    fn stems_are_those_of_the_stemmer() {
        let stem = |stemmer: Option<&str>| {
            let options = TextOptions::default().stemmer(stemmer.map(str::to_owned));
            Tokenizer::new(&options).unwrap().stem("running")
        };
        assert_eq!([stem(Some("english")), stem(None)], ["run", "running"]);
    }
}
