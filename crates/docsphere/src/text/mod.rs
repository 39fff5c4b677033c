//! Stage 2: a document in, its terms out.
//!
//! [`TextOptions`] say what a term is, [`Tokenizer`] does it. The steps, in order: lower case; web
//! addresses dropped; cut into words ([`Segmentation`]); words that are too short, bare numbers or
//! stop words dropped; stems; n-grams.
//!
//! Cost: one pass over the bytes; memory for one lower-cased document. English text takes about 10
//! ns a word.

mod options;
mod segment;
mod stop_words;
mod tokenizer;
mod urls;

pub use options::{Ngrams, Segmentation, TextOptions};
pub use stop_words::{StopWords, stop_word_languages};
pub use tokenizer::{Tokenizer, TokenizerScratch};
