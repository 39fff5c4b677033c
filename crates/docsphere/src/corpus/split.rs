//! Long documents to passages: paragraphs, sentences, or a number of words.
//!
//! - A **word** is what stands between white space. In scripts that have no spaces between words,
//!   two letters count as a word.
//! - A **paragraph** ends at a blank line; in a text without blank lines, such as that of a web
//!   page or an office document, at every line end.
//! - A **sentence** ends where Unicode says so (UAX #29), and at the end of its paragraph.
//!   Line ends within a paragraph count as spaces. Within more than [`LONG_GAP`] characters in a
//!   row that are no letters or digits, such as blanks, it ends after each so many.
//! - A paragraph of fewer than [`SHORT_PARAGRAPH`] words, such as a heading, joins the next one,
//!   and so does a sentence of fewer than [`SHORT_SENTENCE`]. The last one joins the one before.
//! - A paragraph of more than [`LONG_PASSAGE`] words is cut at its sentences, as late as possible;
//!   a sentence of more words is cut after that many.
//! - With a number of words, a document is cut after that many words each. A rest of less than a
//!   quarter of them stays with the passage before.
//!
//! Passages are parts of the text, without white space at their ends. Together they have all its
//! words. A document without words has one empty passage, so that it is not lost.
//!
//! Cost: linear in the text, two or three passes over it. From each blank or bracket behind a full
//! stop, the search for the end of a sentence looks ahead as far as the next letter, so without
//! [`LONG_GAP`] a long run of them would take the square of its length. Memory: a copy of one
//! paragraph, if it has line ends in it.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::error::{Error, ErrorKind, Result};

/// Paragraphs with fewer words join the next one.
const SHORT_PARAGRAPH: usize = 20;

/// Sentences with fewer words join the next one.
const SHORT_SENTENCE: usize = 5;

/// Paragraphs and sentences with more words are cut.
const LONG_PASSAGE: usize = 300;

/// Characters in a row without letters and digits, after which a sentence ends.
const LONG_GAP: usize = 64;

/// How documents are cut into passages. Each passage is then a document of its own, whose id is
/// that of its document with `#` and its number, from 1.
///
/// ```
/// use docsphere::{Corpus, CorpusOptions, Split};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.jsonl");
/// let text = "Cats purr when they sleep. Dogs bark at every car.";
/// std::fs::write(&path, format!("{{\"id\": \"a\", \"text\": \"{text}\"}}"))?;
/// let options = CorpusOptions::default().split(Split::Sentences);
/// let mut found = Vec::new();
/// Corpus::open([&path], options)?
///     .for_each_document(|passage| found.push(format!("{}: {}", passage.id, passage.text)))?;
/// assert_eq!(found, ["a#1: Cats purr when they sleep.", "a#2: Dogs bark at every car."]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Split {
    /// Paragraphs. Those of fewer than 20 words join the next one, those of more than 300 are cut
    /// at sentences.
    Paragraphs,
    /// Sentences. Those of fewer than 5 words join the next one.
    Sentences,
    /// So many words each.
    Words(NonZeroU32),
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Split::Paragraphs => f.pad("paragraphs"),
            Split::Sentences => f.pad("sentences"),
            Split::Words(number) => f.pad(&format!("words:{number}")),
        }
    }
}

impl FromStr for Split {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let number = || name.strip_prefix("words:")?.parse().ok().map(Split::Words);
        match name {
            "paragraphs" => Ok(Split::Paragraphs),
            "sentences" => Ok(Split::Sentences),
            _ => number().ok_or_else(|| {
                let expected = "paragraphs, sentences, or words: with a number, such as words:300".to_owned();
                ErrorKind::Parameter { name: "split", expected, got: format!("{name:?}") }.into()
            }),
        }
    }
}

impl TryFrom<String> for Split {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Split> for String {
    fn from(split: Split) -> String {
        split.to_string()
    }
}

/// Calls `emit` with every passage of a text, in order, at least once.
pub(super) fn for_each_passage(
    text: &str,
    split: Split,
    emit: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let least = match split {
        Split::Paragraphs => SHORT_PARAGRAPH,
        Split::Sentences => SHORT_SENTENCE,
        Split::Words(number) => number.get() as usize / 4,
    };
    let mut passages = Passages { text, least, ready: None, open: None, emit };
    match split {
        Split::Words(number) => passages.cut_at_words(0..text.len(), number.get() as usize)?,
        _ => {
            for paragraph in paragraphs(text) {
                let n_words = n_words(&text[paragraph.clone()]);
                if split == Split::Paragraphs && n_words <= LONG_PASSAGE {
                    passages.add(paragraph, n_words)?;
                } else {
                    passages.cut_at_sentences(paragraph, split == Split::Paragraphs)?;
                }
            }
        }
    }
    passages.finish()
}

/// Joins short pieces of a text with the next one.
struct Passages<'t, 'e> {
    text: &'t str,
    /// Pieces with fewer words are short.
    least: usize,
    /// A passage that the rest of the text may still join.
    ready: Option<Range<usize>>,
    /// Short pieces and the number of their words.
    open: Option<(Range<usize>, usize)>,
    emit: &'e mut dyn FnMut(&str) -> Result<()>,
}

impl Passages<'_, '_> {
    /// Adds a piece, which follows those before.
    fn add(&mut self, piece: Range<usize>, n_words: usize) -> Result<()> {
        if n_words == 0 {
            return Ok(());
        }
        let (start, n_before) = self.open.take().map_or((piece.start, 0), |(open, n)| (open.start, n));
        let (joined, n_words) = (start..piece.end, n_before + n_words);
        if n_words < self.least {
            self.open = Some((joined, n_words));
            return Ok(());
        }
        match self.ready.replace(joined) {
            Some(ready) => (self.emit)(self.text[ready].trim()),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        let last = match (self.ready, self.open) {
            (Some(ready), Some((open, _))) => ready.start..open.end,
            (Some(ready), None) => ready,
            (None, Some((open, _))) => open,
            (None, None) => 0..0,
        };
        (self.emit)(self.text[last].trim())
    }

    /// Adds the sentences of a paragraph: as many as fit at a time if `joins`, otherwise one by
    /// one.
    fn cut_at_sentences(&mut self, paragraph: Range<usize>, joins: bool) -> Result<()> {
        let text = &self.text[paragraph.clone()];
        let spaced: Cow<'_, str> =
            if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ").into() } else { text.into() };
        let mut held = (paragraph.start..paragraph.start, 0);
        for (start, sentence) in sentences(&spaced) {
            let start = paragraph.start + start;
            let (piece, n_words) = (start..start + sentence.len(), n_words(sentence));
            if joins && held.1 + n_words <= LONG_PASSAGE {
                held = (held.0.start..piece.end, held.1 + n_words);
                continue;
            }
            self.add(held.0, held.1)?;
            held = (piece.end..piece.end, 0);
            if n_words > LONG_PASSAGE {
                self.cut_at_words(piece, LONG_PASSAGE)?;
            } else if joins {
                held = (piece, n_words);
            } else {
                self.add(piece, n_words)?;
            }
        }
        self.add(held.0, held.1)
    }

    /// Adds pieces of `number` words.
    fn cut_at_words(&mut self, range: Range<usize>, number: usize) -> Result<()> {
        let (mut start, mut n_words, mut words) = (range.start, 0, Words::Between);
        for (at, character) in self.text[range.clone()].char_indices() {
            if words.begins_with(character) {
                if n_words == number {
                    let end = range.start + at;
                    self.add(start..end, n_words)?;
                    (start, n_words) = (end, 0);
                }
                n_words += 1;
            }
        }
        self.add(start..range.end, n_words)
    }
}

/// The sentences of a paragraph, and where they begin.
fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    pieces(text).flat_map(|(start, piece)| {
        piece.split_sentence_bound_indices().map(move |(at, sentence)| (start + at, sentence))
    })
}

/// A text cut within long gaps, and where the pieces begin.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let mut gap = 0;
        let end = rest.char_indices().find(|&(_, character)| {
            let is_cut = gap == LONG_GAP;
            gap = if ends_gap(character) { 0 } else { gap + 1 };
            is_cut && gap > 0
        });
        let piece = &rest[..end.map_or(rest.len(), |(end, _)| end)];
        start += piece.len();
        (!piece.is_empty()).then_some((start - piece.len(), piece))
    })
}

/// Whether a character is a letter or digit. Marks on other characters are none, although some are
/// alphabetic: Unicode's rules for sentences pass over them.
fn ends_gap(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || (character.is_alphanumeric()
            && character.general_category_group() != GeneralCategoryGroup::Mark
            && !matches!(character, '\u{ff9e}' | '\u{ff9f}'))
}

/// The paragraphs of a text, and what is between them.
fn paragraphs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_blank = |line: &str| line.trim().is_empty();
    let within = text.trim();
    let has_blank_lines = within.lines().any(is_blank);
    let mut start = 0;
    let mut end = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    std::iter::from_fn(move || {
        while let Some(line) = lines.next() {
            end += line.len();
            if !has_blank_lines || is_blank(line) || lines.peek().is_none() {
                return Some(std::mem::replace(&mut start, end)..end);
            }
        }
        None
    })
}

/// The number of words of a text.
fn n_words(text: &str) -> usize {
    let mut words = Words::Between;
    text.chars().filter(|&character| words.begins_with(character)).count()
}

/// Where in a text words begin.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    /// Between words.
    Between,
    /// In a word.
    Within,
    /// After the first of two letters that count as a word.
    Half,
}

impl Words {
    /// Whether a word begins with this character, the next one of the text.
    #[inline]
    fn begins_with(&mut self, character: char) -> bool {
        let (next, begins) = if character.is_whitespace() {
            (Words::Between, false)
        } else if is_unspaced(character) {
            if *self == Words::Half { (Words::Between, false) } else { (Words::Half, true) }
        } else {
            (Words::Within, *self != Words::Within)
        };
        *self = next;
        begins
    }
}

/// Whether a character belongs to Chinese, Japanese, Thai, Lao, Khmer or Burmese, by blocks.
#[inline]
fn is_unspaced(character: char) -> bool {
    character >= '\u{e00}'
        && matches!(
            character,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passages(text: &str, split: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut emit = |passage: &str| {
            found.push(passage.to_owned());
            Ok(())
        };
        for_each_passage(text, split.parse().unwrap(), &mut emit).unwrap();
        found
    }

    /// So many different words.
    fn words(number: usize) -> String {
        (0..number).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn paragraphs_end_at_blank_lines_and_short_ones_join_the_next() {
        let (a, b) = (words(20), words(25).replace("w9 ", "w9\n"));
        let text = format!("A heading\n\n{a}\n \t\n\n{b}\r\n\r\nthe end\n");
        assert_eq!(
            passages(&text, "paragraphs"),
            [format!("A heading\n\n{a}"), format!("{b}\r\n\r\nthe end")]
        );
        let lines = format!("{a}\nA heading\n{b}");
        assert_eq!(passages(&format!("\n{a}\nA heading\n{a}\n\n"), "paragraphs").len(), 2);
        assert!(passages(&lines, "paragraphs").len() > 1, "a text without blank lines");
        assert_eq!(passages("Only this\n\nand that", "paragraphs"), ["Only this\n\nand that"]);
    }

    #[test]
    fn long_paragraphs_are_cut_at_sentences_and_long_sentences_at_words() {
        let sentence = |first: &str| format!("{first} {}.", words(99));
        let text = [sentence("One"), sentence("Two"), sentence("Three"), sentence("Four")].join(" ");
        let found = passages(&text, "paragraphs");
        assert_eq!(found.iter().map(|passage| n_words(passage)).collect::<Vec<_>>(), [300, 100]);
        assert!(found[1].starts_with("Four"));
        let found = passages(&format!("Short one here it is. It {}", words(699)), "paragraphs");
        assert_eq!(found.iter().map(|passage| n_words(passage)).collect::<Vec<_>>(), [305, 300, 100]);
    }

    #[test]
    fn sentences_end_by_unicode_and_not_at_line_ends() {
        let text = "It costs 3.5 dollars per\nkilo, he said. Yes! Is that not too much? No.\n\nA new paragraph without end\n\nNext.";
        let expected = [
            "It costs 3.5 dollars per\nkilo, he said.",
            "Yes! Is that not too much?",
            "No.\n\nA new paragraph without end\n\nNext.",
        ];
        assert_eq!(passages(text, "sentences"), expected);
        assert_eq!(
            passages("猫在早上睡觉睡很久。狗在晚上跑得很快!", "sentences"),
            ["猫在早上睡觉睡很久。", "狗在晚上跑得很快!"]
        );
    }

    #[test]
    fn long_gaps_take_no_longer_than_other_text() {
        // Half a million of each: without cuts, 10^11 steps.
        let start = std::time::Instant::now();
        for filler in [" ", ")", " \u{301}", " \u{903}", "\u{a0}\u{ff9e}"] {
            let text = format!("One two three four five.{}7 {}. End", filler.repeat(500_000), words(9));
            assert_eq!(pieces(&text).map(|(_, piece)| piece).collect::<String>(), text);
            for split in ["sentences", "paragraphs"] {
                assert_eq!(passages(&text, split).concat().matches("w8").count(), 1);
            }
        }
        assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    }

    #[test]
    fn sentences_are_those_of_unicode_but_for_long_gaps() {
        let text = format!("It is{}3 p.m.) {}now. कुत्ते सड़क पर भौंकते हैं। Yes", " ".repeat(60), " ".repeat(50));
        assert!(sentences(&text).eq(text.split_sentence_bound_indices()));
        let gap = format!("He said etc.{}and went.", " ".repeat(3 * LONG_GAP));
        let expected = ["He said etc.", "and went."];
        let found: Vec<&str> =
            sentences(&gap).map(|(_, sentence)| sentence.trim()).filter(|s| !s.is_empty()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_counted_in_every_script() {
        assert_eq!(passages("a b c d e f g h i", "words:4"), ["a b c d", "e f g h", "i"]);
        assert_eq!(passages("a b c d e f g h i", "words:8"), ["a b c d e f g h i"], "a short rest stays");
        assert_eq!(passages(" a\nb  c ", "words:2"), ["a\nb", "c"]);
        assert_eq!(passages("猫在早上睡觉很久", "words:2"), ["猫在早上", "睡觉很久"]);
        assert_eq!(n_words("C++ 猫在早 x"), 4);
    }

    #[test]
    fn a_text_without_words_is_one_empty_passage() {
        for split in ["paragraphs", "sentences", "words:3"] {
            for text in ["", " \n\n\t "] {
                assert_eq!(passages(text, split), [""], "{split}");
            }
        }
    }

    #[test]
    fn names_are_read_and_written() {
        for name in ["paragraphs", "sentences", "words:300"] {
            let split: Split = name.parse().unwrap();
            assert_eq!(split.to_string(), name);
            assert_eq!(serde_json::to_string(&split).unwrap(), format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Split>(&format!("\"{name}\"")).unwrap(), split);
        }
        for name in ["", "words", "words:", "words:0", "words:-1", "Paragraphs", "words:99999999999"] {
            let error = name.parse::<Split>().unwrap_err().to_string();
            assert!(error.contains("paragraphs, sentences, or words:"), "{error}");
        }
    }

    proptest! {
        /// Nothing is lost or repeated, and no passage is much longer than allowed.
        #[test]
        fn passages_have_all_words_in_order(text in "([a-c猫ก ]{0,9}[.!\n\r ]{0,3}){0,60}", number in 1u32..9) {
            for split in ["paragraphs".to_owned(), "sentences".to_owned(), format!("words:{number}")] {
                let found = passages(&text, &split);
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(bare(&found.concat()), bare(&text));
                prop_assert!(found.len() == 1 || found.iter().all(|passage| !passage.is_empty()));
                if let Some(number) = split.strip_prefix("words:") {
                    let number: usize = number.parse().unwrap();
                    prop_assert!(found.iter().all(|passage| n_words(passage) <= number + number / 4));
                }
            }
        }
    }
}
