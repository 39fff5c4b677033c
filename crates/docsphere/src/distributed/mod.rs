//! Stage 14: the same job on many machines.
//!
//! A [`Coordinator`] holds centroids and sums and runs the only loop, with [`ShardWorker`]s in
//! place of rows. It knows nothing of networks: a [`Transport`] carries bytes.
//!
//! ```text
//! coordinator                                       worker, one per shard
//! fit/driver -> remote.rs -> link.rs -> Transport => worker.rs -> shards/local.rs
//! ```
//!
//! Every answer is an integer or a fact about one document, so that the division of the documents
//! changes no bit. `docs/distributed.md` has the messages, their sizes, and what is done if a
//! worker is lost.

mod coordinator;
mod label_file;
mod link;
mod message;
mod own;
mod packed;
mod remote;
mod serving;
mod team;
mod worker;

pub use coordinator::{Coordinator, DistributedFit, DistributedRead, DistributedText};
pub use link::{Traffic, Transport};
pub use serving::ShardView;
pub use worker::{Extension, ShardWorker};
