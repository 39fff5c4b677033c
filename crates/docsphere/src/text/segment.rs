//! Word segmentation.
//!
//! Unicode's rules (UAX #29) are costly in general and simple for ASCII: a word is a run of
//! letters, digits and underscores, and is joined by a single `.` or `'` between two letters or two
//! digits, `:` between letters, `,` or `;` between digits. Text is therefore split at spaces into
//! stretches of pure ASCII, which take a fast path, and words with other characters, which go to
//! the crate `unicode-segmentation`. A property test at the end of this file checks that both paths
//! give the same words.
//!
//! The property that allows the split: no word spans a space, and a space ends a word just as the
//! end of the text does. Characters *after* a space may attach to it (a combining mark), so a
//! stretch for the general path begins with the space before it.
//!
//! [`plain_words`] adds to these rules what people take for words: names with signs (`C++`,
//! `AT&T`), and words of scripts without spaces, of which Unicode's rules make single characters.

use std::ops::Range;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use super::dictionary;
use super::options::Unspaced;
use super::unspaced::{begins_unspaced, pairs};

/// Calls `word` for each word, by the rules of Unicode, that contains a letter or digit.
#[inline]
pub(super) fn unicode_words<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    stretches(text, &mut word, ascii_words::<false, _>, |text, word| general_words(text).for_each(word));
}

/// Like [`unicode_words`], with names such as `C++` and `AT&T` whole. Letters of scripts without
/// spaces are split as `unspaced` says.
#[inline]
pub(super) fn plain_words<'a>(text: &'a str, unspaced: Unspaced, mut word: impl FnMut(&'a str)) {
    stretches(text, &mut word, ascii_words::<true, _>, |text, word| {
        general_plain_words(text, 0..text.len(), unspaced, word);
    });
}

/// Cuts a text into pure ASCII and the rest.
#[inline]
fn stretches<'a, F: FnMut(&'a str)>(
    text: &'a str,
    word: &mut F,
    ascii: impl Fn(&'a str, &mut F),
    general: impl Fn(&'a str, &mut F),
) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(other) = first_non_ascii(&bytes[from..]).map(|at| from + at) {
        // The space before the word with the non-ASCII character; the ASCII before that space takes
        // the fast path.
        let space = bytes[from..other].iter().rposition(|&b| is_cut(b)).map_or(from, |at| from + at);
        ascii(&text[from..space], word);
        let end = bytes[other..].iter().position(|&b| is_cut(b)).map_or(bytes.len(), |at| other + at);
        general(&text[space..end], word);
        from = end;
    }
    ascii(&text[from..], word);
}

/// The words of any text. Unicode counts a combining mark on a space as a letter; here it is not a
/// word.
fn general_words(text: &str) -> impl Iterator<Item = &str> {
    text.unicode_words().filter(|word| !word.starts_with(char::is_whitespace))
}

/// [`plain_words`] of a part of any text. Signs after a word count even if the part ends with the
/// word. Returns where the last word ends.
fn general_plain_words<'a, F: FnMut(&'a str)>(
    text: &'a str,
    part: Range<usize>,
    unspaced: Unspaced,
    word: &mut F,
) -> usize {
    // Where the characters of a run without spaces begin, and where it ends.
    let mut run: Vec<usize> = Vec::new();
    let finish = |run: &mut Vec<usize>, word: &mut F| {
        if let [start, .., end] = run[..] {
            match unspaced {
                Unspaced::Bigrams => pairs(text, run, word),
                Unspaced::Dictionary => dictionary::words(&text[start..end], word),
            }
            run.clear();
        }
    };
    let mut from = part.start;
    for found in general_words(&text[part]) {
        // Words are slices of the text.
        let start = found.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + found.len();
        if start < from {
            // Belongs to a name with a sign, all of it or its beginning (`AT&T's`).
            if from < end {
                from = general_plain_words(text, from..end, unspaced, word);
            }
            continue;
        }
        if run.last().is_some_and(|&last| last != start) || !begins_unspaced(found) {
            finish(&mut run, word);
        }
        if begins_unspaced(found) {
            if run.is_empty() {
                run.push(start);
            }
            run.push(end);
            continue;
        }
        from = end + signs(text, start, end);
        word(&text[start..from]);
    }
    finish(&mut run, word);
    from
}

/// The number of bytes that belong to the word from `start` to `end` in addition: the signs of
/// `C++`, `G++`, `C#` and `F#`, and the rest of a name such as `AT&T` and `R&D` with at most two
/// letters on both sides.
#[inline]
fn signs(text: &str, start: usize, end: usize) -> usize {
    let is_candidate =
        end - start <= 2 && text.as_bytes().get(end).is_some_and(|sign| matches!(sign, b'+' | b'#' | b'&'));
    if is_candidate { candidate_signs(text, start, end) } else { 0 }
}

/// [`signs`] of a short word with a sign after it, of which there are few.
#[cold]
fn candidate_signs(text: &str, start: usize, end: usize) -> usize {
    let bytes = text.as_bytes();
    let at = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let is_single = end - start == 1;
    match (at(end), at(start).to_ascii_lowercase()) {
        (b'+', b'c' | b'g') if is_single && at(end + 1) == b'+' && at(end + 2) != b'+' => 2,
        (b'#', b'c' | b'f') if is_single && !text[end + 1..].starts_with(char::is_alphabetic) => 1,
        (b'&', _) if bytes[start..end].iter().all(u8::is_ascii_alphabetic) => {
            let after = bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '_' | ';');
            let is_name = (1..=2).contains(&after) && !text[end + 1 + after..].starts_with(goes_on);
            if is_name { 1 + after } else { 0 }
        }
        _ => 0,
    }
}

fn first_non_ascii(bytes: &[u8]) -> Option<usize> {
    if bytes.is_ascii() { None } else { bytes.iter().position(|b| !b.is_ascii()) }
}

fn is_cut(byte: u8) -> bool {
    byte == b' ' || byte == b'\n'
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
/// Joins letters.
const MID_LETTER: u8 = 8;
/// Joins digits.
const MID_DIGIT: u8 = 16;
const WORD: u8 = LETTER | DIGIT | UNDERSCORE;

/// The class of every byte; non-ASCII bytes have none.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b':' => MID_LETTER,
            b'.' | b'\'' => MID_LETTER | MID_DIGIT,
            b',' | b';' => MID_DIGIT,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Like [`unicode_words`], for pure ASCII; with `SIGNS` like [`plain_words`].
#[inline]
fn ascii_words<'a, const SIGNS: bool, F: FnMut(&'a str)>(text: &'a str, word: &mut F) {
    let bytes = text.as_bytes();
    let class = |at: usize| bytes.get(at).map_or(0, |&byte| CLASSES[byte as usize]);
    let mut at = 0;
    while at < bytes.len() {
        let mut seen = class(at) & WORD;
        if seen == 0 {
            at += 1;
            continue;
        }
        let start = at;
        loop {
            at += 1;
            let mut next = 0;
            for &byte in &bytes[at..] {
                next = CLASSES[byte as usize];
                if next & WORD == 0 {
                    break;
                }
                seen |= next;
                next = 0;
                at += 1;
            }
            if next & (MID_LETTER | MID_DIGIT) == 0 {
                break;
            }
            let around = class(at - 1) & class(at + 1);
            let joins = (next & MID_LETTER != 0 && around & LETTER != 0)
                || (next & MID_DIGIT != 0 && around & DIGIT != 0);
            if !joins {
                break;
            }
        }
        if seen & (LETTER | DIGIT) != 0 {
            if SIGNS {
                at += signs(text, start, at);
            }
            word(&text[start..at]);
        }
    }
}

/// Calls `word` for each match of Python's `\w\w+`: two or more letters, digits (both of any
/// script) or underscores.
pub(super) fn sklearn_words<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let (mut at, mut start, mut n_chars) = (0, 0, 0);
    while at < bytes.len() {
        let (inside, length) = if bytes[at] < 0x80 {
            (CLASSES[bytes[at] as usize] & WORD != 0, 1)
        } else {
            let other = text[at..].chars().next().expect("not at the end");
            (is_python_word(other), other.len_utf8())
        };
        if inside {
            n_chars += 1;
        } else {
            if n_chars >= 2 {
                word(&text[start..at]);
            }
            n_chars = 0;
            start = at + length;
        }
        at += length;
    }
    if n_chars >= 2 {
        word(&text[start..]);
    }
}

/// Python's `\w` for non-ASCII characters: letters and numbers, but not marks, which Rust counts as
/// alphabetic.
fn is_python_word(character: char) -> bool {
    matches!(character.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        unicode_words(text, |word| words.push(word.to_owned()));
        words
    }

    fn plain(text: &str, unspaced: Unspaced) -> Vec<String> {
        let mut words = Vec::new();
        plain_words(text, unspaced, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_with_signs_are_words() {
        for (text, expected) in [
            ("C++ c++11, (G++) i++ c+++ c+", "C++|c++|11|G++|i|c|c"),
            ("C# F#, c#7 #c a# c#a C", "C#|F#|c#|7|c|a|c|a|C"),
            ("AT&T R&D, Q&A: B&B AT&Town cats&dogs a&b; x&", "AT&T|R&D|Q&A|B&B|AT|Town|cats|dogs|a|b|x"),
            ("AT&T's a&a.Z.b", "AT&T|s|a&a|Z.b"),
            ("“AT&T's” “a&a.Z.b”", "AT&T|s|a&a|Z.b"),
            ("a&Z.c#1 a&Z.c&d a&Z.c&d.g++", "a&Z|c#|1|a&Z|c&d|a&Z|c&d|g++"),
            ("“a&Z.c#1” “a&Z.c&d” “a&Z.c&d.g++”", "a&Z|c#|1|a&Z|c&d|a&Z|c&d|g++"),
            ("“C++” “R&D” “C#”é c#é é&a", "C++|R&D|C#|é|c|é|é|a"),
        ] {
            assert_eq!(plain(text, Unspaced::Bigrams).join("|"), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_become_pairs_of_characters() {
        for (text, expected) in [
            ("操作系统", "操作|作系|系统"),
            ("水 Linux内核。模块2.0版", "水|Linux|内核|模块|2.0|版"),
            ("単語に分割、カタカナと漢", "単語|語に|に分|分割|カタカナ|と漢"),
            ("ไทยที่", "ไท|ทย|ยที่"),
            ("ພາສາ", "ພາ|າສ|ສາ"),
            ("ខ្មែរ", "ខ្មែ|មែរ"),
            ("မြန်မာ", "မြန်|န်မာ"),
            ("한국어 문장 שלום عربي हिन्दी", "한국어|문장|שלום|عربي|हिन्दी"),
        ] {
            assert_eq!(plain(text, Unspaced::Bigrams).join("|"), expected, "{text}");
        }
    }

    fn sklearn(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        sklearn_words(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_those_of_unicode() {
        assert_eq!(
            words("The quick (\"brown\") fox can't jump 32.3 feet, right?"),
            ["The", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right"]
        );
        assert_eq!(
            words("a_b __ _1 x:y 1,2;3 1.a 'q' e.g. caf\u{e9}-bar 東京 don’t"),
            ["a_b", "_1", "x:y", "1,2;3", "1", "a", "q", "e.g", "café", "bar", "東", "京", "don’t"]
        );
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn sklearn_words_are_runs_of_two_or_more_word_characters() {
        assert_eq!(
            sklearn("a bc don't x_y 3.14 Ünï 東京 क\u{93f} ⓐⓑ ½¾ é"),
            ["bc", "don", "x_y", "14", "Ünï", "東京", "½¾"]
        );
    }

    fn texts() -> impl Strategy<Value = String> {
        let ascii = prop::sample::select(b"acb1_.,:;'\" \n\r\t-9Z+#&".map(char::from).to_vec());
        let other = prop::sample::select(
            "éß’·\u{301}\u{345}\u{200d}\u{200b}\u{ad}東京カ٣ทא״👍\u{1f3fd}\u{a0}\u{2028}…\u{feff}🇩"
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(prop_oneof![6 => ascii, 1 => other], 0..60)
            .prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn the_short_way_gives_the_words_of_the_general_way(text in texts()) {
            // The crate has its own fast path for pure ASCII: a non-ASCII first word bypasses it.
            let guarded = format!("é {text}");
            let expected: Vec<&str> = general_words(&guarded).skip(1).collect();
            if !text.starts_with(['\u{301}', '\u{345}', '\u{200d}', '\u{ad}', '\u{1f3fd}', '\u{feff}']) {
                prop_assert_eq!(words(&text), expected);
            }
            prop_assert_eq!(words(&text), general_words(&text).collect::<Vec<_>>());
            let mut expected = Vec::new();
            general_plain_words(&text, 0..text.len(), Unspaced::Bigrams, &mut |word: &str| {
                expected.push(word.to_owned());
            });
            prop_assert_eq!(plain(&text, Unspaced::Bigrams), expected);
        }
    }
}
