//! Exact spherical k-means for sparse documents, fast for thousands of clusters.
//!
//! Documents are sparse vectors of length one; a cluster's centroid is the direction of the sum of
//! its documents; each document belongs to the centroid with the greatest cosine similarity. The
//! accelerations only skip work that provably cannot change a label: every [`Strategy`] and every
//! number of threads gives the same bits.
//!
//! # The stages, in order
//!
//! 1. [`Corpus`]: documents from files: lines, JSON Lines, CSV, folders and more. [`TextStore`]
//!    keeps their texts in a file.
//! 2. [`Tokenizer`]: the terms of a document, according to [`TextOptions`].
//! 3. [`Vectorizer`]: TF-IDF rows of length one, and a [`TextModel`] for new documents. Or from a
//!    matrix: [`SparseRows`], checked, then [`UnitRows`], of length one; [`formats`] reads and
//!    writes matrix files.
//! 4. [`Centroids`]: sparse directions of clusters.
//! 5. [`Init`]: the first centroids: by over-clustering and merges, by k-means++ (greedy or
//!    plain), at random, or given.
//! 6. to 8. Labels to centroids and rows to labels, alternately, in one loop over shards of the
//!    rows.
//! 9. [`Model`]: labels new rows; can be saved to a file and loaded again.
//! 10. [`SphericalKMeans::params`] sets the options; [`Fit`] is the result, with a [`Trace`] of the
//!     run.
//!     A fit may go on from another, with documents that came or went
//!     ([`FitOptions::continue_from`]); [`opened_clusters`] finds clusters for new ones that fit
//!     nowhere.
//! 11. [`summarize`]: size, keywords, representative documents and neighbours of each cluster.
//! 12. [`MergeTree`]: similar clusters merged into groups, at any level.
//! 13. [`Sweep`]: several numbers of clusters beside each other, with measures that help to choose.
//!
//! # Example
//!
//! ```
//! use docsphere::{SparseRows, SphericalKMeans, UnitRows};
//!
//! // Four documents over five terms: two about (0, 1), two about (2, 3).
//! let rows = SparseRows::from_parts(
//!     5,
//!     vec![0, 2, 4, 6, 9],
//!     vec![0, 1, 0, 1, 2, 3, 2, 3, 4],
//!     vec![1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0, 0.5],
//! )?;
//! let rows = UnitRows::new(rows);
//!
//! let fit = SphericalKMeans::params(2).seed(7).fit(&rows)?;
//! let labels = fit.labels.as_slice();
//! assert_eq!(labels[0], labels[1]);
//! assert_eq!(labels[2], labels[3]);
//! assert_ne!(labels[0], labels[2]);
//! assert!(fit.converged());
//!
//! // New documents.
//! let new = UnitRows::new(SparseRows::from_parts(5, vec![0, 1], vec![3], vec![1.0])?);
//! assert_eq!(fit.model.predict(&new)?.labels.as_slice(), [labels[2]]);
//! # Ok::<(), docsphere::Error>(())
//! ```
//!
//! # Rules for the hard cases
//!
//! - **Zero rows** have label -1 and similarity 0, and are otherwise ignored.
//! - **Outliers**, rows without a similarity above 0 to any centroid, have label -1 and similarity
//!   0 too ([`Fit::n_outliers`]); they move no centroid, are the first to refill an empty cluster,
//!   and may join a cluster in a later iteration.
//! - **Ties**: the old label if it is among the best, otherwise the cluster with the lowest number.
//! - **Empty clusters** are refilled with the worst-fitting documents, in a fixed order.
//! - **k above the number of distinct rows**: the surplus clusters stay empty
//!   ([`Fit::n_empty_clusters`]); above the number of rows: an error.
//! - **Duplicates** share a cluster, unless a tie between equal centroids keeps them apart.
//! - **Negative values** are allowed; filters that assume non-negative values then switch
//!   themselves off ([`IterationRecord::filters_off`]).
//! - **Row weights** ([`FitOptions::weights`]): an integer weight equals a repeated row; weight 0
//!   is labelled but moves nothing.
//!
//! # Memory
//!
//! [`ValidParams::memory_forecast`] returns an upper bound on the memory of a run. Its parts, in
//! bytes:
//!
//! | what | per nonzero | per row | per term | per cluster | per entry of the centroids | per thread |
//! |---|---|---|---|---|---|---|
//! | the matrix | 8 | 8 | | | | |
//! | labels, similarities, moves, refills | | 64 | | | | |
//! | the best of several runs | | 12 | | | 8 | |
//! | centroids and their sums | | | | 160 | 16, and 24 for 256 clusters at a time | 8 per term |
//! | `drift`, which `auto` uses | 8 | 53 | 72 | 141 | at most 120, on texts far less | 4 per term, and 10 MB (or 36 for each term of the longest row) |
//! | `inverted` | | | 8 | 8 | 8 | 8 per cluster |
//! | `baseline`, `ncc` | | | | 88 | 36 | |
//! | seeding, before the loop begins | 10 | 35 | 5, and 14 per block of 32,768 rows that contains it | | | |
//! | [`summarize`] and [`MergeTree`], after it | | | | `6 k`, or 34,000 from 5,001 on | at most 52 | 136 per cluster, at most 5,000, 40 per term, and 2 MB |
//!
//! There is never an array of clusters times terms: the tables of `drift` hold one byte per cluster
//! only for terms that occur in at least one cluster in 48.

//! # Features
//!
//! | feature | by default | what it adds |
//! |---|---|---|
//! | `text` | yes | documents to rows: `Corpus`, `Tokenizer`, `Vectorizer`, `TextModel` |
//! | `formats` | yes | matrix files: the module `formats` |
//! | `languages` | no | the language of each document, for stop words and stemming; includes `text` |
//! | `distributed` | no | workers and their coordinator: `ShardWorker`, `Coordinator`; includes `text` |
//! | `map` | no | positions of clusters on a map: `cluster_places` |
//! | `parquet` | no | Parquet files as corpora; includes `text` |
//! | `sprs` | no | [`SparseRows`] from and sprs matrices; [`Centroids`] to them |
//! | `ndarray` | no | [`SparseRows`] from dense ndarray arrays |
//!
//! Without them (`default-features = false`) the library offers k-means on sparse rows and
//! everything that builds on it (models, checkpoints, summaries, groups), and compiles no C. A
//! model made from text keeps its text part in such a build, but does not know its terms.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![deny(clippy::dbg_macro, clippy::exit, clippy::print_stderr, clippy::print_stdout)]

pub(crate) mod atomic_file;
pub(crate) mod by_key;
pub(crate) mod clock;
#[cfg(feature = "compression")]
#[cfg_attr(not(all(feature = "text", feature = "formats")), allow(dead_code, reason = "for readers"))]
pub(crate) mod compression;
pub(crate) mod container;
#[cfg_attr(not(all(feature = "text", feature = "formats")), allow(dead_code, reason = "for readers"))]
mod error;
mod fail_points;
mod ids;
mod labels;
pub(crate) mod lists;
mod mapping;
#[cfg_attr(not(all(feature = "text", feature = "formats")), allow(dead_code, reason = "for readers"))]
mod memory;
mod names;
pub(crate) mod numbers_by_key;
mod observer;
pub(crate) mod pool;
mod record;
mod simd;
mod threads;

#[cfg(feature = "text")]
mod corpus;

#[cfg(feature = "text")]
mod store;

#[cfg(feature = "text")]
mod columns;

#[cfg(feature = "text")]
mod text;

#[cfg_attr(not(feature = "distributed"), allow(dead_code, unused_imports, reason = "for workers"))]
mod vectors;

mod centroids;

mod seeding;

#[cfg_attr(not(feature = "distributed"), allow(dead_code, unused_imports, reason = "for workers"))]
mod update;

mod assign;

#[cfg_attr(not(feature = "distributed"), allow(dead_code, unused_imports, reason = "for workers"))]
mod shards;

mod model;

mod fit;

mod growth;

mod summary;

mod overview;

mod agreement;

mod sweep;

#[cfg(feature = "distributed")]
mod distributed;

#[cfg(any(feature = "ndarray", feature = "sprs"))]
mod interop;

#[doc(hidden)]
pub mod kernels;

pub use agreement::{Agreement, Contingency, agreement};
#[cfg(feature = "cuda")]
pub use assign::keep_kernels_in;
pub use atomic_file::{TEMPORARY_SUFFIX, is_temporary_name, temporary_prefix, write_whole};
pub use centroids::Centroids;
#[cfg(feature = "text")]
pub use columns::{
    BadCell, Cell, Column, ColumnKind, ColumnReading, ColumnValue, DateForm, KeptColumns, KeptRow, KeptRows,
    Moment, TimeStep, Timeline, host,
};
#[doc(hidden)]
pub use container::{Container, Kind as ContainerKind};
#[cfg(feature = "text")]
pub use corpus::{
    Corpus, CorpusFormat, CorpusOptions, CorpusPiece, CorpusStats, Document, EncodingName, Html, Keep, Kept,
    MAX_COLUMNS, Quote, RecordPlace, SkippedFiles, Split,
};
#[cfg(feature = "distributed")]
pub use distributed::{
    Coordinator, DistributedFit, DistributedRead, DistributedText, Extension, ShardView, ShardWorker,
    Traffic, Transport,
};
pub use error::{Error, ErrorKind, Result, RowProblem};
pub use fail_points::fail_point;
#[cfg(debug_assertions)]
pub use fail_points::watch_fail_points;
pub use fit::{Checkpoint, Fit, FitOptions, MemoryForecast, Params, SphericalKMeans, Starts, ValidParams};
pub use growth::{NewClusters, OpenedClusters, opened_clusters};
pub use ids::{ClusterId, DocId, TermId};
pub use labels::Labels;
pub use mapping::{give_back_freed, keep_resident_within};
pub use memory::MemoryLimit;
pub use model::{FORMAT_VERSION, Model, ModelInfo, Nearest, Neighbour, Prediction, Predictor};
pub use observer::{Event, Observer};
pub use overview::{
    Discs, Groups, MAX_DISC_NEIGHBOURS, Merge, MergeTree, document_offsets, document_sample, group_keywords,
};
#[cfg(feature = "map")]
pub use overview::{MAP_NEIGHBOURS, cluster_places};
pub use record::{
    Counters, Device, Effort, IndexUse, IterationRecord, PhaseSeconds, Refine, RunRecord, SeedingSeconds,
    StageSeconds, StopReason, Strategy, Trace, Transferred,
};
pub use seeding::Init;
pub use simd::Simd;
#[cfg(feature = "text")]
pub use store::{
    ColumnRows, ColumnStore, ColumnStoreWriter, DocumentText, StoredRow, Stores, TextStore, TextStoreWriter,
};
pub use summary::{
    ClusterSummary, HISTOGRAM_STEPS, Keyword, Representative, Separation, Silhouette, SummaryOptions,
    cluster_keywords, keywords_among, separation, silhouette, summarize,
};
pub use sweep::{
    Advice, Chosen, ClusterGrid, Measures, Stability, Sweep, SweepOptions, SweepStep, choice_forecast_bytes,
    choose_n_clusters,
};
#[cfg(feature = "text")]
pub use text::{
    Hyphens, Joint, Language, LanguageCounts, LetterCounts, Ngrams, Segmentation, StopWords, TextOptions,
    Tokenizer, TokenizerScratch, Unspaced, WrittenWord, is_unspaced, stop_word_languages,
};
pub use threads::{all_cores, on_threads};
#[cfg(feature = "formats")]
pub use vectors::formats;
#[cfg(feature = "text")]
pub use vectors::{
    CountedDocuments, DocumentBound, IdfKind, LossCause, LossWarning, Losses, Spill, TermCounts, TextModel,
    TfidfOptions, Transformed, TransformedCorpus, Vectorized, VectorizedPart, Vectorizer, Vocabulary,
};
pub use vectors::{
    Duplicates, Ids, IdsIter, MAX_ROWS, MAX_TERMS, NEAR_DUPLICATE, Row, SparseRows, UNIT_TOLERANCE, UnitRows,
};
