//! Stage 2: a document in, its terms out.
//!
//! [`TextOptions`] defines what a term is; [`Tokenizer`] finds the terms. The steps, in order:
//! convert to lower case; drop web addresses; split into words ([`Segmentation`]); drop words that
//! are too short, bare numbers or stop words; stem; build n-grams.
//!
//! Cost: one pass over the bytes; memory for one lower-cased document. English text takes about 10
//! ns per word.

mod options;
mod segment;
mod stop_words;
mod tokenizer;
mod urls;
mod written;

pub use options::{Ngrams, Segmentation, TextOptions};
pub use stop_words::{StopWords, stop_word_languages};
pub use tokenizer::{Tokenizer, TokenizerScratch};
pub use written::{Joint, WrittenWord};
