//! Translates a typed search into an FTS5 expression.
//!
//! The input is never interpreted as SQL or as FTS5 query syntax: every word is quoted, and the
//! expression is bound as a value.

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
    let quoted: Vec<String> = parts.iter().map(|words| format!("\"{words}\"")).collect();
    Ok((!parts.is_empty()).then(|| quoted.join(" ") + if is_open { OPEN } else { "" }))
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
