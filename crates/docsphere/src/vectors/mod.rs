//! Stage 3: terms or matrices in, unit rows out.
//!
//! [`Vectorizer`] turns a corpus into TF-IDF rows and a [`TextModel`] for new documents.
//! [`SparseRows`] is any checked sparse matrix; [`UnitRows`] has rows of length one and is the
//! input of the later stages. [`formats`] reads and writes the common file formats.

mod array;
#[cfg(feature = "text")]
mod choosing;
#[cfg(feature = "text")]
mod chunk_rows;
#[cfg(feature = "text")]
mod counted;
#[cfg(feature = "text")]
mod counting;
mod document_ids;
mod duplicates;
#[cfg(feature = "formats")]
pub mod formats;
#[cfg(feature = "text")]
mod kept_counts;
#[cfg(feature = "text")]
mod losses;
mod open_rows;
#[cfg(feature = "text")]
mod rare_terms;
#[cfg(feature = "text")]
mod repeated_ids;
#[cfg(feature = "text")]
mod returned_terms;
mod rows;
#[cfg(feature = "compression")]
mod rows_file;
mod similar_rows;
#[cfg(feature = "text")]
mod spill;
#[cfg(feature = "text")]
mod term_counts;
#[cfg(feature = "text")]
mod text_model;
#[cfg(not(feature = "text"))]
#[path = "text_model_disabled.rs"]
mod text_model;
#[cfg(feature = "text")]
mod tfidf;
mod unit;
#[cfg(feature = "text")]
mod vectorizer;
#[cfg(feature = "text")]
mod vocabulary;
mod weights;

#[cfg(feature = "text")]
pub use counted::{CountedDocuments, VectorizedPart};
pub use document_ids::{Ids, Iter as IdsIter};
pub use duplicates::{Duplicates, NEAR_DUPLICATE};
#[cfg(feature = "text")]
pub use losses::{LossCause, LossWarning, Losses};
pub use rows::{MAX_ROWS, MAX_TERMS, Row, SparseRows};
#[cfg(feature = "text")]
pub use spill::Spill;
#[cfg(feature = "text")]
pub use term_counts::TermCounts;
#[cfg(not(feature = "text"))]
pub(crate) use text_model::TextModel;
#[cfg(feature = "text")]
pub use text_model::{TextModel, Transformed, TransformedCorpus};
#[cfg(feature = "text")]
pub use tfidf::{DocumentBound, IdfKind, TfidfOptions};
pub(crate) use unit::COINCIDENT;
pub use unit::{UNIT_TOLERANCE, UnitRows};
#[cfg(feature = "text")]
pub use vectorizer::{Vectorized, Vectorizer};
#[cfg(feature = "text")]
pub use vocabulary::Vocabulary;
pub(crate) use weights::{ONE, RowWeights, WeightScale, WeightTotal, fixed_similarity};
