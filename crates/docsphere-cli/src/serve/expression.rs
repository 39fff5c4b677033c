//! Translates a typed search into an FTS5 expression.
//!
//! The input is never interpreted as SQL or as FTS5 query syntax: every word is quoted, and the
//! expression is bound as a value.

use std::borrow::Cow;

use docsphere::is_unspaced;

const MAX_QUERY_CHARS: usize = 200;
const MAX_QUERY_WORDS: usize = 16;

/// Shorter prefixes are searched as whole words, since they match too many words.
const MIN_PREFIX_CHARS: usize = 3;

/// Suffix of an expression whose last word is a prefix.
pub(super) const OPEN: &str = " *";

/// The typed search as an FTS5 expression: all words, "words in quotes" in this order, and the last
/// word also as a prefix. `None` if it has no words; errors are messages for the user.
pub(super) fn expression(typed: &str) -> Result<Option<String>, String> {
    if typed.chars().count() > MAX_QUERY_CHARS {
        return Err(format!("search for at most {MAX_QUERY_CHARS} characters"));
    }
    let mut parts: Vec<String> = Vec::new();
    // Every other piece was in quotes.
    for (position, piece) in typed.split('"').enumerate() {
        let words = if position % 2 == 1 { vec![piece] } else { piece.split(is_space).collect() };
        let has_word = |words: &&str| words.chars().any(char::is_alphanumeric);
        parts.extend(words.into_iter().filter(has_word).map(|words| words.replace(is_space, " ")));
    }
    if parts.len() > MAX_QUERY_WORDS {
        return Err(format!("search for at most {MAX_QUERY_WORDS} words"));
    }
    // A word that may still be being typed.
    let last = typed.rsplit(|c| is_space(c) || c == '"').next().unwrap_or_default();
    let is_open = last.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_PREFIX_CHARS;
    let quoted: Vec<String> = parts.iter().map(|words| format!("\"{}\"", spaced(words).trim())).collect();
    Ok((!parts.is_empty()).then(|| quoted.join(" ") + if is_open { OPEN } else { "" }))
}

/// A text with spaces around every letter of the scripts that have none between words, so that FTS5
/// indexes them as words and finds any run of them as a phrase.
pub(super) fn spaced(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_single) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(2 * text.len());
    for character in text.chars() {
        if is_single(character) {
            spaced.extend([' ', character, ' ']);
        } else {
            spaced.push(character);
        }
    }
    Cow::Owned(spaced)
}

/// Whether a letter is searched by itself. Katakana is, too: it may follow other letters of
/// Japanese without a space.
pub(super) fn is_single(c: char) -> bool {
    is_unspaced(c) || matches!(c, '\u{30a1}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9d}')
}

/// The first word of an expression, as it was typed.
pub(super) fn first_word(expression: &str) -> String {
    let word = expression.split('"').nth(1).unwrap_or_default();
    if word.contains(is_single) { word.replace(' ', "") } else { word.to_owned() }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str) -> Option<String> {
        expression(typed).unwrap()
    }

    #[test]
    fn scripts_without_spaces_are_searched_as_phrases() {
        assert_eq!(of("操作系统").unwrap(), "\"操  作  系  统\" *");
        assert_eq!(of("内核 linux").unwrap(), "\"内  核\" \"linux\" *");
        assert_eq!(first_word(&of("内核 linux").unwrap()), "内核");
        assert_eq!(spaced("Linux内核"), "Linux 内  核 ");
        assert!(matches!(spaced("größer"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_typed_is_quoted() {
        assert_eq!(of("cats purr").unwrap(), "\"cats\" \"purr\" *");
        assert_eq!(of("cats purr ").unwrap(), "\"cats\" \"purr\"");
        assert_eq!(of("\"cats purr\" so").unwrap(), "\"cats purr\" \"so\"");
        assert_eq!(of("a OR b*").unwrap(), "\"a\" \"OR\" \"b*\"");
        assert_eq!(of("nul\0byte ").unwrap(), "\"nul\" \"byte\"");
        assert!(of("").is_none() && of(" \"\" ;-- ").is_none());
        assert!(expression(&"x".repeat(201)).is_err() && expression(&"x ".repeat(17)).is_err());
    }
}
