//! Stage 2: a document in, its terms out.
//!
//! [`TextOptions`] defines what a term is; [`Tokenizer`] finds the terms. The steps, in order:
//! convert to lower case; drop web addresses; split into words ([`Segmentation`]); drop words that
//! are too short, bare numbers or stop words; stem; build n-grams. Words of scripts without spaces
//! are pairs of characters, or come from a dictionary ([`Unspaced`]). Which words are stop words,
//! and how words are stemmed, may depend on the language of each document ([`Language`]).
//!
//! Cost: one pass over the bytes; memory for one lower-cased document. English text takes about 10
//! ns per word.

mod compounds;
#[cfg(feature = "languages")]
#[path = "detection_enabled.rs"]
mod detection;
#[cfg(not(feature = "languages"))]
#[path = "detection_disabled.rs"]
mod detection;
#[cfg(feature = "dictionary")]
#[path = "dictionary_enabled.rs"]
mod dictionary;
#[cfg(not(feature = "dictionary"))]
#[path = "dictionary_disabled.rs"]
mod dictionary;
mod language_names;
mod languages;
mod letters;
mod options;
mod segment;
mod stop_words;
mod tokenizer;
mod unspaced;
mod urls;
mod written;

pub use language_names::Language;
pub use languages::LanguageCounts;
pub(crate) use languages::Rules;
pub use letters::LetterCounts;
pub(crate) use letters::n_letters;
pub use options::{Hyphens, Ngrams, Segmentation, TextOptions, Unspaced};
pub use stop_words::{StopWords, stop_word_languages};
pub use tokenizer::{Tokenizer, TokenizerScratch};
pub use unspaced::is_unspaced;
pub use written::{Joint, WrittenWord};
