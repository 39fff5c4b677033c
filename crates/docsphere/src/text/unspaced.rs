//! Scripts that are written without spaces between words.

/// Whether a character is a letter of Chinese, Japanese Hiragana, Thai, Lao, Khmer or Burmese.
/// Katakana and Hangul are not here: runs of them are words by the rules of Unicode.
pub fn is_unspaced(character: char) -> bool {
    let is_other = matches!(
        character,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' // Thai
        | '\u{e81}'..='\u{ecf}' | '\u{edc}'..='\u{edf}' // Lao
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{109a}'..='\u{109d}' // Burmese
        | '\u{a9e0}'..='\u{a9ef}' | '\u{a9fa}'..='\u{a9fe}' | '\u{aa60}'..='\u{aa7f}' // Shan and others
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}' | '\u{17dd}' // Khmer
        | '\u{3041}'..='\u{309f}' // Hiragana
    );
    is_other || is_han(character)
}

/// Whether a character is a Chinese character.
pub(super) fn is_han(character: char) -> bool {
    matches!(
        character,
        '\u{2e80}'..='\u{2fd5}' | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}'
    )
}

/// Whether a word begins with a letter of [`is_unspaced`].
#[inline]
pub(super) fn begins_unspaced(word: &str) -> bool {
    // None of these scripts is below U+0800: their first byte is at least 0xe0.
    word.as_bytes().first().is_some_and(|&byte| byte >= 0xe0) && word.chars().next().is_some_and(is_unspaced)
}

/// Calls `pair` for every two neighbours of a run of characters, each a slice of `text` that begins
/// where the one before ends; for a single character, for itself.
pub(super) fn pairs<'a>(text: &'a str, ends: &[usize], pair: &mut impl FnMut(&'a str)) {
    match ends {
        [_, _, _, ..] => ends.windows(3).for_each(|at| pair(&text[at[0]..at[2]])),
        [start, end] => pair(&text[*start..*end]),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_scripts_without_spaces_are_known() {
        for letter in "漢字々ひらがなไทยລາວខ្មែរမြန်မာ𠀀".chars() {
            assert!(is_unspaced(letter), "{letter}");
        }
        for other in "aéяקहिカ한글1๑໑១၁၊。、".chars() {
            assert!(!is_unspaced(other), "{other}");
        }
        assert!(is_han('漢') && !is_han('ひ') && begins_unspaced("漢a") && !begins_unspaced("a漢"));
    }
}
