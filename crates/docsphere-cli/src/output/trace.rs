//! `trace.json`: what happened, in counts and seconds.

use docsphere::{IterationRecord, RunRecord, Strategy};
use serde::Serialize;

use crate::args::Setting;

/// The whole file.
#[derive(Serialize)]
pub(crate) struct TraceFile<'a> {
    pub(crate) strategy: Strategy,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) version: &'static str,
    /// What the run was told about input, text and clustering.
    pub(crate) settings: &'a [Setting],
    pub(crate) seconds: Seconds,
    /// Absent where the system does not tell.
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) runs: &'a [RunRecord],
    pub(crate) iterations: &'a [IterationRecord],
}

/// Where the time went.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) vectorize: f64,
    pub(crate) seed: f64,
    pub(crate) cluster: f64,
    pub(crate) summarize: f64,
    /// Everything but this file itself.
    pub(crate) write: f64,
    pub(crate) total: f64,
}
