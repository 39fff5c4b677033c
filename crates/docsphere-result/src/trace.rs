//! `trace.json`: the course of a run, in counts and seconds.

use std::path::Path;
use std::time::Instant;

use docsphere::{IterationRecord, MemoryLimit, RunRecord, Strategy};
use serde::{Deserialize, Serialize, Serializer};

use crate::error::Result;
use crate::files;
use crate::names;

/// The whole file, as it is written.
#[derive(Clone, Debug, Serialize)]
pub struct TraceFile<'a> {
    /// The assignment strategy.
    pub strategy: Strategy,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of threads.
    pub threads: usize,
    /// The version that made the result.
    pub version: &'a str,
    /// The options of input, text and clustering.
    pub settings: &'a [Setting],
    /// What was noted about the input: what was left out, and which guesses were made.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub notes: &'a [String],
    /// How the documents have changed since the first run, oldest first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub changes: &'a [ChangeEntry],
    /// Time by stage.
    pub seconds: Seconds,
    /// Time of the phases after the iterations, if it was measured.
    #[serde(skip_serializing_if = "Phases::is_empty")]
    pub after: &'a Phases,
    /// Peak memory. Absent where the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// The runs, of which the best was kept.
    pub runs: &'a [RunRecord],
    /// The iterations of that run.
    pub iterations: &'a [IterationRecord],
}

/// The part of the file that is read back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ReadTrace {
    /// The version that made the result.
    pub version: String,
    /// The options of input, text and clustering. Results of older versions have none.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// How the documents have changed since the first run, oldest first. Results of older versions
    /// have none.
    #[serde(default)]
    pub changes: Vec<ChangeEntry>,
    /// The iterations.
    pub iterations: Vec<IterationRecord>,
}

/// Documents that were added to a result, or removed from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeEntry {
    /// When, in ISO 8601, in universal time.
    pub time: String,
    /// The inputs of documents that were added, as typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// The number of documents added.
    pub added: usize,
    /// The number of documents removed, those that were replaced among them.
    pub removed: usize,
    /// The number of documents afterwards.
    pub n_documents: usize,
    /// The number of clusters that were opened for new documents.
    pub opened_clusters: usize,
    /// Whether the centroids stayed as they were.
    pub frozen: bool,
    /// The number of iterations that followed.
    pub iterations: usize,
}

/// An option and its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The option, as typed.
    pub name: String,
    /// Its values; empty for an option that takes none.
    pub values: Vec<String>,
}

impl Setting {
    /// The option as words of a command line; none for an argument that is no option.
    pub fn words(&self) -> Vec<String> {
        match self.values.as_slice() {
            _ if !self.name.starts_with('-') => Vec::new(),
            [] => vec![self.name.clone()],
            values => values.iter().map(|value| format!("{}={value}", self.name)).collect(),
        }
    }
}

/// Time of a run by stage, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Reading the input.
    pub read: f64,
    /// From texts to rows.
    pub vectorize: f64,
    /// Seeding, for all runs.
    pub seed: f64,
    /// The iterations.
    pub cluster: f64,
    /// Keywords, representatives, groups and the map.
    pub summarize: f64,
    /// Writing everything except this file.
    pub write: f64,
    /// The whole run.
    pub total: f64,
}

/// Time of the phases after the iterations, in seconds, in their order: parts of
/// [`summarize`](Seconds::summarize) and [`write`](Seconds::write). The tree and the map overlap
/// with documents, texts and names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases(Vec<(&'static str, f64)>);

impl Phases {
    /// Does a phase and notes its time.
    pub fn time<T>(&mut self, phase: &'static str, work: impl FnOnce() -> T) -> T {
        let (done, seconds) = timed(work);
        self.note(phase, seconds);
        done
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the time of a phase.
    pub fn note(&mut self, phase: &'static str, seconds: f64) {
        self.0.push((phase, seconds));
    }
}

impl Serialize for Phases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Does something and returns how long it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

impl TraceFile<'_> {
    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::TRACE), self)
    }
}

impl ReadTrace {
    /// Reads the trace of a result.
    ///
    /// # Errors
    /// If the file is missing or damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        files::read_json(&folder.join(names::TRACE), "the trace", "is not the trace of a run", limit)
    }
}
