//! Rows, centroids and what is known of each document, on a device; and the labels that follow.
//!
//! A step begins with its centroids: those that changed are sent ([`centroids`]), all are ranked by
//! growth and turned into posting lists ([`columns`]). Then each block of rows is assigned
//! ([`blocks`]): own similarities, the choice of documents, two scans, and back comes what the host
//! does not know yet. What moved documents change in the sums of clusters is found where the rows
//! are ([`deltas`]).
//!
//! **Memory of the device.** Per document 22; per nonzero and per document 8 for blocks of which
//! the rows stay there, 10 for the largest of those of which they do not; per document of the
//! largest block 40, and up to 15 for those whose rivals are wanted; per entry of the centroids 36
//! to 56; per term 5, and 5 for each class of columns (2 for 512 clusters, 3 for 8,192, then one
//! for each further 8,192); per nonzero of documents that moved 15, for as many clusters as the
//! host wants to know of at a time; per term a quarter for each of up to 1,056 blocks of threads
//! that add these up, at most 1 GB.

mod blocks;
mod centroids;
mod columns;
mod deltas;
mod pairs;
mod seeds;
mod sums;

use std::sync::Arc;

use blocks::{Rows, Stored};
use centroids::StoredCentroids;
use columns::Columns;
use deltas::Summing;
pub use deltas::{Deltas, Moves};
pub use pairs::{Compared, Pairs};
use sums::RunningSums;

pub use seeds::{Improved, Seeker};

use crate::device::{Buffer, Device, Host, Mark, Transferred};
use crate::error::Result;

/// A document without a label.
const NO_LABEL: u32 = u32::MAX;

/// The terms and values of a sparse vector.
pub type Sparse<'a> = (&'a [u32], &'a [f32]);

/// The centroids to which documents are assigned.
pub struct Step<'a> {
    /// The number of terms.
    pub n_terms: usize,
    /// The number of clusters, empty ones included.
    pub n_clusters: usize,
    /// The entries of a centroid, terms ascending, no value negative.
    pub centroid: &'a (dyn Fn(u32) -> Sparse<'a> + Sync),
    /// Clusters whose centroid has entries, ascending.
    pub live: &'a [u32],
    /// What has changed since the last step; `None` if that is unknown, or there was none.
    pub changes: Option<Changes<'a>>,
}

/// What has changed since the last step.
pub struct Changes<'a> {
    /// The clusters whose centroid changed, ascending.
    pub clusters: &'a [u32],
    /// At least the amount by which the similarity of any document to this centroid has grown.
    pub growth: &'a (dyn Fn(u32) -> f64 + Sync),
}

/// Consecutive rows: terms ascending, no value negative, of length one.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// Its number. The blocks are the same in every step.
    pub number: usize,
    /// Where rows begin, and where the last one ends. Need not begin with 0.
    pub offsets: &'a [u64],
    /// The terms of all rows.
    pub terms: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
    /// The terms of the longest row of any block.
    pub longest: usize,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Exact similarities.
    pub similarities: u64,
    /// Entries of posting lists.
    pub postings: u64,
    /// Documents that were compared with no centroid but their own.
    pub skipped: u64,
    /// Seconds on the device by phase.
    pub seconds: Seconds,
}

/// Seconds by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Rows that do not stay on the device, and labels.
    pub upload: f64,
    /// Similarities to own centroids.
    pub own: f64,
    /// Choosing documents.
    pub choose: f64,
    /// Comparing documents with columns, and settling them.
    pub scan: f64,
    /// Bringing back labels and similarities.
    pub write: f64,
}

/// The most similar other centroid of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// The cluster.
    pub cluster: u32,
    /// The similarity.
    pub similarity: f64,
}

/// Rows, centroids and what is known of each document, on a device; and the labels that follow.
pub struct Engine {
    device: Arc<Device>,
    centroids: StoredCentroids,
    columns: Columns,
    sums: RunningSums,
    summing: Summing,
    /// By number.
    blocks: Vec<Option<Stored>>,
    scratch: Scratch,
    /// Whether bounds from the last step hold for this one, once they are raised.
    continues: bool,
}

/// What blocks share.
#[derive(Default)]
struct Scratch {
    /// The rows of a block that do not stay on the device.
    rows: Rows,
    /// Documents to scan, and places of those with too many candidates.
    narrow: Buffer<u32>,
    wide: Buffer<u32>,
    narrow_overflow: Buffer<u32>,
    wide_overflow: Buffer<u32>,
    /// The lengths of these four lists.
    counts: Buffer<u32>,
    counters: Buffer<u64>,
    /// Documents that the host gave to other clusters, and their labels; documents whose rivals are
    /// wanted.
    given: Buffer<u32>,
    given_labels: Buffer<u32>,
    at_least: Buffer<f64>,
    /// What comes back.
    chunks: Buffer<u32>,
    list: Buffer<u32>,
    labels: Buffer<u32>,
    similarities: Buffer<f64>,
    host_list: Host<u32>,
    host_labels: Host<u32>,
    host_similarities: Host<f64>,
}

impl Engine {
    /// An engine without rows.
    pub fn new(device: Arc<Device>) -> Self {
        Engine {
            device,
            centroids: StoredCentroids::default(),
            columns: Columns::default(),
            sums: RunningSums::default(),
            summing: Summing::default(),
            blocks: Vec::new(),
            scratch: Scratch::default(),
            continues: false,
        }
    }

    /// Forgets everything, and frees the memory of the device.
    pub fn clear(&mut self) {
        // What is on its way must arrive before the host's memory goes. A device that is lost does
        // nothing more.
        let _ = self.device.wait();
        *self = Engine::new(Arc::clone(&self.device));
    }

    /// The name of the device.
    pub fn device_name(&self) -> String {
        self.device.name()
    }

    /// Prepares for the documents of all blocks. Returns the seconds on the device. After an error,
    /// only [`clear`](Self::clear) may follow.
    ///
    /// # Errors
    /// [`Error::TooMany`](crate::Error::TooMany) if the numbers of the kernels are too small;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn begin(&mut self, step: &Step<'_>) -> Result<f64> {
        let device = &*self.device;
        let start = device.mark()?;
        self.continues = step.changes.is_some() && self.centroids.n_clusters() == step.n_clusters;
        self.centroids.follow(device, step, self.continues)?;
        self.columns.build(device, step, &self.centroids, &mut self.sums, self.continues)?;
        let end = device.mark()?;
        device.wait()?;
        Ok(start.seconds_to(&end))
    }

    /// Bytes that went to the device and came from it so far.
    pub fn transferred(&self) -> Transferred {
        self.device.transferred()
    }

    /// Bytes on the host, in addition to rows and centroids.
    pub fn host_bytes(&self) -> usize {
        let Scratch { host_list, host_labels, host_similarities, .. } = &self.scratch;
        let collected = host_list.bytes() + host_labels.bytes() + host_similarities.bytes();
        self.centroids.host_bytes() + self.columns.host_bytes() + self.summing.host_bytes() + collected
    }
}

/// Seconds between marks, in their order, once the device has been waited for.
fn between<const N: usize>(marks: &[Mark; N]) -> impl Fn(usize) -> f64 {
    move |phase| marks[phase].seconds_to(&marks[phase + 1])
}
