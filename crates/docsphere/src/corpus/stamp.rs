//! The length and modification time of a file, to notice that it has changed.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The state of a file at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) n_bytes: u64,
    /// Seconds and nanoseconds since 1970; `None` where the system does not know.
    modified: Option<(i64, u32)>,
}

impl Stamp {
    pub(super) fn new(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().map(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
            Err(before) => (-(before.duration().as_secs() as i64) - 1, before.duration().subsec_nanos()),
        });
        Stamp { n_bytes: metadata.len(), modified }
    }

    /// Opens a file that must still be in this state.
    ///
    /// # Errors
    /// A file that has changed, vanished, or may not be read.
    pub(super) fn open(&self, location: &Path) -> Result<File> {
        let failed = |error: io::Error| {
            let vanished = "it is not there, but was when the corpus was divided; every node must see it";
            let kind = error.kind();
            Error::io(
                "read",
                if kind == io::ErrorKind::NotFound { io::Error::new(kind, vanished) } else { error },
            )
        };
        let file = File::open(location).map_err(failed)?;
        let found = Stamp::new(&file.metadata().map_err(failed)?);
        if found == *self {
            return Ok(file);
        }
        let change = if found.n_bytes == self.n_bytes {
            "its modification time is another".to_owned()
        } else {
            format!("it had {} bytes and now has {}", self.n_bytes, found.n_bytes)
        };
        let message = format!("it has changed since the corpus was divided: {change}");
        Err(Error::io("read", io::Error::other(message)))
    }
}
