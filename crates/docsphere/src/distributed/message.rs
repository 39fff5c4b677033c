//! What the coordinator asks of workers, and what they answer.
//!
//! A request is two byte strings: a [`Head`] for one worker, and a body that is the same for all of
//! them, so that it travels once to each machine. Requests that differ between workers are in the
//! head. `docs/distributed.md` lists all of them with their sizes.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::packed::{Packed, damaged};
use crate::error::Result;
use crate::record::{Counters, IndexUse, Strategy};
use crate::shards::RowFacts;
use crate::simd::Simd;
use crate::vectors::{WeightScale, WeightTotal};

/// The version of all messages. Coordinator and workers must have the same.
pub(super) const PROTOCOL: u32 = 1;

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
    /// Total of the row weights, each below `2^ceiling`; without a ceiling, the ceiling alone.
    Weights {
        ceiling: Option<i32>,
    },
    /// Prepare for runs.
    Begin(Begin),
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
    Checksums,
    /// Labels of the documents of this worker.
    Start {
        labels: Option<Packed>,
    },
    Pass(Centers),
    Worst {
        after: Option<(f64, u32)>,
        n: u64,
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
    /// Something that only the caller understands.
    Extend {
        bytes: Packed,
    },
}

/// The rows of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) n_docs: u64,
    pub(super) n_terms: u64,
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
    /// `None` if the rows have no weights.
    Ceiling(Option<i32>),
    Weights(WeightTotal),
    Begun(RowFacts),
    /// The total seed weight of each bucket.
    Totals(Packed),
    /// For each bucket its documents in order; see [`super::worker`].
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
    /// Two checksums and the numbers of bytes that they cover.
    Checksums {
        rows: (u32, u64),
        weights: (u32, u64),
    },
    Passed(Box<PassedDocuments>),
    /// Documents with similarity, label and row.
    Worst {
        fitting: Vec<(f64, u32, u32)>,
        rows: Packed,
    },
    Touched(Vec<(u32, i64)>),
    Delta(Packed),
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
