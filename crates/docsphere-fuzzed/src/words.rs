//! Bytes to the words of a text: the short way through ASCII must find what the general way finds,
//! and every step of the tokenizer must go on with any text.

use std::path::Path;
use std::sync::LazyLock;

use docsphere::{Hyphens, Ngrams, Segmentation, TextOptions, Tokenizer, TokenizerScratch};
use unicode_segmentation::UnicodeSegmentation;

/// Reads bytes as a text, with other characters for those that are not UTF-8.
pub fn run(data: &[u8], _folder: &Path) {
    let text = &String::from_utf8_lossy(data);
    let unicode = segments(text, Segmentation::Unicode);
    // Unicode counts a mark on a space as a letter; here it is no word.
    let expected = text.unicode_words().filter(|word| !word.starts_with(char::is_whitespace));
    assert_eq!(unicode, expected.collect::<Vec<_>>(), "{text:?}");
    let plain = segments(text, Segmentation::Words);
    let guarded = in_one_stretch(text);
    let general = segments(&guarded, Segmentation::Words);
    let general: Vec<String> = general.iter().skip(1).map(|word| word.replace(NO_BREAK, " ")).collect();
    assert_eq!(plain, general, "{text:?}");
    let scikit = segments(text, Segmentation::SkLearn);
    assert!(scikit.iter().all(|word| word.chars().nth(1).is_some()), "{text:?}");
    for tokenizer in TOKENIZERS.iter() {
        let mut n_terms = 0;
        tokenizer.for_each_term(text, &mut TokenizerScratch::default(), |term| {
            assert!(!term.is_empty());
            n_terms += 1;
        });
        assert_eq!(tokenizer.terms(text).len(), n_terms);
    }
}

/// A space that does not end a stretch of pure ASCII.
const NO_BREAK: &str = "\u{a0}";

/// The text behind a word with a letter that is not ASCII, with spaces at which it is not cut: all
/// of it takes the general way. (Both kinds of space separate words by the rules of Unicode.)
fn in_one_stretch(text: &str) -> String {
    format!("\u{e9}{NO_BREAK}{}", text.replace([' ', '\n'], NO_BREAK))
}

/// One for each segmentation, which changes nothing else.
static SEGMENTS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    // Addresses end at some kinds of space only.
    let options = TextOptions::default().hyphens(Hyphens::Split).keep_urls(true);
    let of = |&segmentation: &Segmentation| made(options.clone().segmentation(segmentation));
    Segmentation::ALL.iter().map(of).collect()
});

/// Options that take different ways.
static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let plain = TextOptions::default();
    vec![
        made(plain.clone().keep_tags(true).hyphens(Hyphens::Whole).ngrams(Ngrams { lo: 1, hi: 3 })),
        made(plain.clone().segmentation(Segmentation::SkLearn).keep_numbers(true).min_chars(1)),
        made(plain.segmentation(Segmentation::Unicode).keep_urls(true).lowercase(false)),
    ]
});

fn made(options: TextOptions) -> Tokenizer {
    Tokenizer::new(&options).expect("options of this build")
}

fn segments(text: &str, segmentation: Segmentation) -> Vec<&str> {
    let tokenizer = SEGMENTS.iter().find(|tokenizer| tokenizer.options().segmentation == segmentation);
    let mut words = Vec::new();
    tokenizer.expect("one for each").for_each_segment(text, |word| words.push(word));
    words
}

/// Texts of many kinds.
pub fn seeds(_folder: &Path) -> Vec<Vec<u8>> {
    [
        "The quick (\"brown\") fox can't jump 32.3 feet, right? e.g. a_b 1,000;2 x:y",
        "C++ C# F# AT&T's R&D a&Z.c#1 a\u{301} state-of-the-art #tag @name http://a.b/c?d=e. www.f.g",
        "\u{201c}AT&T's\u{201d} \u{201c}a&a.Z.b\u{201d} na\u{ef}ve caf\u{e9}s \u{301}x \u{200d}y\u{ad}z",
        "\u{6c34} Linux\u{5185}\u{6838}\u{3002}\u{6a21}\u{5757}2.0\u{7248} \u{30ab}\u{30bf}\u{30ab}\u{30ca} \u{0e44}\u{0e17}\u{0e22}",
        "\u{1f1e9}\u{1f1ea}\u{1f468}\u{200d}\u{1f469} \u{5d0}\"\u{5d1} 3\u{660}.\u{661} \u{feff}a\r\nb\u{85}c\u{2028}d\te",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
