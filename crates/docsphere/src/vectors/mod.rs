//! Stage 3: terms or matrices in, unit rows out.
//!
//! [`Vectorizer`] turns a corpus into TF-IDF rows and a [`TextModel`] for new documents. [`SparseRows`] is any checked sparse matrix;
//! [`UnitRows`] has rows of length one and is what the later stages take. [`formats`] reads and writes the common file formats.

mod chunk_rows;
mod counting;
pub mod formats;
mod rows;
mod text_model;
mod tfidf;
mod unit;
mod vectorizer;
mod vocabulary;
mod weights;

pub use rows::{MAX_ROWS, MAX_TERMS, Row, SparseRows};
pub use text_model::{TextModel, Transformed, TransformedCorpus};
pub use tfidf::{DocumentBound, IdfKind, TfidfOptions};
pub(crate) use unit::COINCIDENT;
pub use unit::{UNIT_TOLERANCE, UnitRows};
pub use vectorizer::{Vectorized, Vectorizer};
pub use vocabulary::Vocabulary;
pub(crate) use weights::{RowWeights, WeightScale};
