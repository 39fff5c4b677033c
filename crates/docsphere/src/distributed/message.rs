//! What the coordinator asks of workers, and what they answer.
//!
//! A request is two byte strings: a [`Head`] for one worker, and a body that is the same for all of
//! them, so that it travels once to each machine. Requests that differ between workers are in the
//! head. `docs/distributed.md` lists all of them with their sizes.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::packed::{Packed, damaged};
use crate::corpus::CorpusStats;
use crate::error::{ErrorKind, Result};
use crate::record::{Counters, IndexUse, Strategy};
use crate::shards::{RowFacts, Rule};
use crate::simd::Simd;
use crate::vectors::{WeightScale, WeightTotal};

/// The version of all messages. Coordinator and workers must have the same.
pub(super) const PROTOCOL: u32 = 5;

/// The part of a request for one worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) protocol: u32,
    /// Which life of the worker is meant; 0 for any.
    pub(super) incarnation: u64,
    /// The number of the request. A worker that has answered it before repeats its answer.
    pub(super) sequence: u64,
    /// The request; `None` if it is the body.
    pub(super) own: Option<Request>,
}

/// Everything that a worker can be asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Which life is this?
    Hello,
    /// Count the lines of some pieces of the corpus.
    CountLines {
        pieces: Json,
    },
    /// Read documents and count their terms.
    Read(Reading),
    /// Make rows over the terms of a model.
    Vectorize {
        model: Packed,
    },
    /// Total of the row weights, each below `2^ceiling`; without a ceiling, the ceiling alone.
    Weights {
        ceiling: Option<i32>,
    },
    /// Prepare for runs.
    Begin(Begin),
    /// Documents of a random sample.
    Sample {
        salt: u64,
        n: u64,
    },
    BeginSeeding {
        bucket_docs: u64,
        search: bool,
    },
    /// The documents of some buckets.
    Pick {
        buckets: Vec<u64>,
    },
    Row {
        doc: u32,
    },
    Take {
        doc: u32,
    },
    /// The document and its row.
    Absorb {
        seed: Packed,
    },
    Join {
        first_member: u32,
        seeds: Packed,
        again: Vec<u32>,
    },
    Judge {
        members: Vec<u32>,
    },
    AbsorbMember {
        member: u32,
        doc: u32,
    },
    EndSeeding,
    /// Labels of the documents of this worker.
    Start {
        labels: Option<Packed>,
    },
    Pass(Centers),
    Worst {
        after: Option<(f64, u32)>,
        n: u64,
    },
    /// A contest by the centroids of the last pass.
    Contest {
        rule: Rule,
        sizes: Vec<f64>,
    },
    /// Documents and the empty clusters that take them.
    Refill {
        refills: Vec<(u32, u32)>,
    },
    Delta {
        first: u32,
        last: u32,
    },
    Keep,
    /// The facts of each cluster of the run that was kept.
    ClusterFacts {
        n_clusters: u64,
    },
    Extremes {
        n_clusters: u64,
        first: u32,
        end: u32,
        n_best: u64,
        n_worst: u64,
    },
    /// The rows of some documents of this worker.
    Rows {
        docs: Vec<u32>,
    },
    /// How many documents have each of these terms, for the clusters from `first` on.
    TermCounts {
        n_clusters: u64,
        first: u32,
        terms: Vec<Vec<u32>>,
    },
    /// How many documents are near each of these rows, for the clusters from `first` on;
    /// `n_rows` is their number per cluster.
    NearCounts {
        n_clusters: u64,
        first: u32,
        n_rows: Vec<u32>,
        rows: Packed,
        near: f64,
    },
    /// Ids and texts of some documents of this worker.
    Documents {
        docs: Vec<u32>,
    },
    /// Something that only the caller understands.
    Extend {
        bytes: Packed,
    },
}

/// Options and other values that are small, as JSON: their types are described for files, not for
/// this format.
pub(super) type Json = String;

pub(super) fn to_json(value: &impl Serialize) -> Result<Json> {
    serde_json::to_string(value).map_err(|error| {
        let hint = "rename the file, so that its path is UTF-8".to_owned();
        ErrorKind::Unsupported { what: format!("an input ({error})"), hint }.into()
    })
}

pub(super) fn from_json<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|_| damaged())
}

/// The documents of a worker, and how they become terms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reading {
    pub(super) documents: Documents,
    pub(super) text: Json,
    pub(super) tfidf: Json,
    /// Whether texts are needed later.
    pub(super) keep_texts: bool,
}

/// Where documents come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Documents {
    /// From files.
    Pieces { pieces: Json, options: Json },
    /// They were given to the worker. Without ids, they are numbered from this number.
    Given { first_number: u64 },
}

/// The facts of a cluster that are sums over its documents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FactsMessage {
    pub(super) size: u64,
    pub(super) similarity_sum: i128,
    pub(super) histogram: Vec<u32>,
}

/// The nearest and the farthest documents of a cluster, with their similarities.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExtremesMessage {
    pub(super) best: Vec<(f64, u32)>,
    pub(super) worst: Vec<(f64, u32)>,
}

/// The rows of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) n_docs: u64,
    /// `None` if there are texts, and no rows yet.
    pub(super) n_terms: Option<u64>,
    pub(super) has_weights: bool,
}

/// The division of the rows, and how labels are found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Begin {
    /// The number of the first document of this worker.
    pub(super) first_doc: u64,
    /// The number of documents of all workers.
    pub(super) n_docs: u64,
    pub(super) strategy: Strategy,
    pub(super) lambdas: Vec<f64>,
    pub(super) index_min_changed: u64,
    pub(super) simd: Simd,
    /// `None` if no weights were given.
    pub(super) scale: Option<WeightScale>,
    /// A delta with at most this many entries is sent with the answer to a pass.
    pub(super) small_delta: u64,
}

/// The rows of a worker that is ready. A worker that replaces a lost one must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BegunRows {
    pub(super) facts: RowFacts,
    /// The checksum of the rows, and the number of bytes that it covers.
    pub(super) rows: (u32, u64),
    /// The same of the weights.
    pub(super) weights: (u32, u64),
}

/// Centroids for a pass.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Centers {
    pub(super) iteration: u64,
    pub(super) n_terms: u64,
    pub(super) n_clusters: u64,
    /// Whether these are the changes since the last pass; otherwise they are all centroids.
    pub(super) changes: bool,
    /// Clusters, ascending, with their rows.
    pub(super) rows: Packed,
    /// For changes: the squared distance of each, and its squared rise.
    pub(super) moved: Vec<(f64, f64)>,
}

/// The answer of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The request is for an earlier life.
    Lost,
    Failed {
        message: String,
    },
    /// Which life this is, and which rows it has, if any.
    Hello {
        incarnation: u64,
        shape: Option<Shape>,
    },
    Done,
    Lines(Vec<Option<u64>>),
    /// Counts of what was read, and of the terms.
    Counted {
        read: CorpusStats,
        terms: Packed,
    },
    Vectorized(Shape),
    /// `None` if the rows have no weights.
    Ceiling(Option<i32>),
    Weights(WeightTotal),
    Begun(BegunRows),
    /// Places and documents.
    Sampled(Vec<(u64, u32)>),
    /// The total seed weight of each bucket.
    Totals(Packed),
    /// For each bucket its documents in order; see [`super::serving`].
    Picked(Vec<Packed>),
    Row(Packed),
    Lowered(Packed),
    Joined {
        gains: Vec<u64>,
        judged: Vec<Option<u64>>,
    },
    Judged(Vec<Option<u64>>),
    /// The weights lowered, or `None` if the list of the member has been dropped; and the row, from
    /// the worker that has it.
    Absorbed {
        lowered: Option<Packed>,
        row: Option<Packed>,
    },
    Passed(Box<PassedDocuments>),
    /// Documents with similarity, label and row.
    Worst {
        fitting: Vec<(f64, u32, u32)>,
        rows: Packed,
    },
    Contested {
        touched: Vec<(u32, i64)>,
        n_docs: u64,
        counters: Counters,
        /// Nonzeros of the documents that moved in the last pass and in the contest.
        moved_nnz: u64,
    },
    Touched(Vec<(u32, i64)>),
    Delta(Packed),
    ClusterFacts(Vec<FactsMessage>),
    Extremes(Vec<ExtremesMessage>),
    Rows(Packed),
    /// The answer to [`Request::TermCounts`] and [`Request::NearCounts`].
    Counts(Vec<Vec<u64>>),
    /// Ids, and texts where they are known.
    Documents(Vec<(String, Option<String>)>),
    Extended(Packed),
}

/// What a pass over the documents of a worker came to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassedDocuments {
    pub(super) touched: Vec<(u32, i64)>,
    pub(super) objective: i128,
    pub(super) moved_docs: u64,
    pub(super) unsettled_docs: u64,
    pub(super) counters: Counters,
    pub(super) strategy: Strategy,
    pub(super) filters_off: bool,
    pub(super) index: Option<IndexUse>,
    /// Prepare, assign, compare.
    pub(super) seconds: [f64; 3],
    pub(super) strategy_bytes: u64,
    /// Documents that may have another label than after the pass before, counted from the first of
    /// the worker, and these labels.
    pub(super) relabelled: Packed,
    /// Nonzeros of the documents that moved.
    pub(super) moved_nnz: u64,
    /// The delta of all clusters, if it is small.
    pub(super) delta: Option<Packed>,
}

pub(super) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(message).expect("plain numbers and bytes")
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| damaged())
}
