//! How a caller watches and stops a run.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Error;
use crate::record::IterationRecord;

/// An event of a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// More of a corpus has been read.
    Reading {
        /// Bytes read from the files, before decompression.
        bytes_read: u64,
        /// Total size of all files; 0 if unknown, because one is a pipe.
        bytes_total: u64,
        /// Documents read so far.
        n_documents: u64,
    },
    /// One of the `n_init` runs begins, with its seeding.
    RunStarted {
        /// The number of the run, from 0.
        run: usize,
        /// The number of runs.
        n_init: usize,
    },
    /// Another seed has been found.
    Seeding {
        /// Seeds found so far.
        done: usize,
        /// Number of seeds wanted.
        total: usize,
    },
    /// A part of a pass over documents has ended: of seeding or of an iteration, with rows in a
    /// file that are taken part by part. A wish to stop is heard after the pass.
    Passing {
        /// Documents assigned so far.
        n_documents: u64,
        /// All documents.
        n_documents_total: u64,
        /// Bytes of their rows so far.
        bytes_read: u64,
        /// Bytes of all rows.
        bytes_total: u64,
    },
    /// An iteration has ended.
    Iteration(&'a IterationRecord),
    /// A sweep measures stability: a tree or a fit of a part of the documents begins, whose own
    /// events follow.
    Stability {
        /// Those that have ended.
        done: usize,
        /// All of this step of the sweep.
        total: usize,
    },
    /// A checkpoint has been written.
    CheckpointWritten {
        /// The file.
        path: &'a Path,
    },
    /// Workers of a cluster were lost and are back. The run starts again after its last iteration.
    Recovered {
        /// What was lost.
        error: &'a Error,
    },
    /// A GPU could not be used, or not any longer. The run goes on on the CPU.
    DeviceLeft {
        /// Why.
        error: &'a Error,
    },
    /// A checkpoint could not be written. The run goes on.
    CheckpointFailed {
        /// Why.
        error: &'a Error,
    },
}

/// Receives the events of a run. The library itself never prints.
///
/// `ControlFlow::Break` stops the run: after an iteration the result so far is returned, marked
/// with [`StopReason::Observer`](crate::StopReason::Observer); during reading or seeding there is
/// no result yet, and the call ends with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), unless
/// an earlier run of `n_init` has left one.
///
/// Any `FnMut(&Event) -> ControlFlow<()>` that is `Send` is an observer. Pass it to a run with
/// [`FitOptions::observer`](crate::FitOptions::observer); methods that read a corpus have a variant
/// ending in `_watched`, such as [`Vectorizer::fit_watched`](crate::Vectorizer::fit_watched).
pub trait Observer: Send {
    /// Called for every event, in order, on a thread of the run.
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(&Event<'_>) -> ControlFlow<()> + Send> Observer for F {
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self(event)
    }
}

/// Ignores every event.
pub(crate) struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
