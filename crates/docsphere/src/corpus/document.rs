//! Parts shared by all formats: documents, counts of bad input, numbered ids, and words for
//! messages.

use std::borrow::Cow;
use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::kept::Kept;
use super::options::CorpusOptions;
use crate::error::{Error, Result};

/// A document as it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Document<'a> {
    /// Unique within the corpus, unless an id field repeats.
    pub id: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Its kept columns.
    pub kept: Kept<'a>,
}

impl<'a> Document<'a> {
    /// A document without kept columns.
    pub fn new(id: &'a str, text: &'a str) -> Self {
        Document { id, text, kept: Kept::default() }
    }
}

/// Takes the documents of a chunk, in order.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Document<'_>) -> Result<()>;

/// Maximum number of skipped files and of bad records that are named.
const MAX_NAMED: usize = 5;

/// Counts of files of folders that were skipped, since they hold no text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkippedFiles {
    /// Images.
    pub n_images: u64,
    /// Sound and film.
    pub n_media: u64,
    /// Archives.
    pub n_archives: u64,
    /// Programs, fonts, databases and other binary files.
    pub n_binaries: u64,
    /// Links to folders, which are not followed, and links that lead nowhere.
    pub n_links: u64,
    /// Pipes, sockets and devices.
    #[serde(default)]
    pub n_special: u64,
    /// The first of all these, at most five.
    pub first: Vec<PathBuf>,
}

impl SkippedFiles {
    /// Names a file that is skipped, unless enough are named.
    pub(super) fn name(&mut self, path: &Path) {
        if self.first.len() < MAX_NAMED {
            self.first.push(path.to_owned());
        }
    }
}

/// The place of a record that could not be read: a file, and a line if it has lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordPlace {
    /// The file, as the caller named it or its folder.
    pub path: PathBuf,
    /// The line on which the record begins, from 1.
    pub line: Option<u64>,
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// Adds the first of these, unless enough are named.
pub(super) fn add_named<T>(named: &mut Vec<T>, more: Vec<T>) {
    let room = MAX_NAMED.saturating_sub(named.len());
    named.extend(more.into_iter().take(room));
}

impl AddAssign for SkippedFiles {
    fn add_assign(&mut self, other: SkippedFiles) {
        self.n_images += other.n_images;
        self.n_media += other.n_media;
        self.n_archives += other.n_archives;
        self.n_binaries += other.n_binaries;
        self.n_links += other.n_links;
        self.n_special += other.n_special;
        add_named(&mut self.first, other.first);
    }
}

/// Counts of bad input in a chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChunkTally {
    pub(super) n_documents: u64,
    /// Texts handed on; as many as documents, unless these are split.
    pub(super) n_passages: u64,
    pub(super) n_bad_records: u64,
    /// The places of the first bad records; without a path, they are in the chunk's own file.
    pub(super) bad_records: Vec<(Option<PathBuf>, Option<u64>)>,
    pub(super) n_invalid_utf8: u64,
    /// Those of them that no encoding would mend.
    pub(super) n_beyond_encoding: u64,
    /// Fields that begin with a stray quote.
    pub(super) n_stray_quotes: u64,
    /// Tables that were read as one document each.
    pub(super) n_whole_tables: u64,
    pub(super) skipped: SkippedFiles,
    /// Which text fields some record has, by position: those of JSON, whose records may differ.
    pub(super) found_fields: u128,
}

impl ChunkTally {
    /// Bytes of one document as text; invalid UTF-8 is replaced and the document counted.
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.n_invalid_utf8 += 1;
        }
        text
    }

    /// Counts a bad record if bad records are skipped; otherwise returns the error.
    pub(super) fn bad_record(&mut self, options: &CorpusOptions, error: Error) -> Result<()> {
        if !options.skip_bad_records {
            return Err(error);
        }
        self.n_bad_records += 1;
        if self.bad_records.len() < MAX_NAMED {
            self.bad_records.push((error.path().map(Path::to_owned), error.line()));
        }
        Ok(())
    }
}

/// Bytes that a text may take once each invalid byte is replaced by the three of U+FFFD; 0 if all
/// bytes are valid UTF-8.
pub(super) fn lossy_bytes(bytes: &[u8]) -> u64 {
    if std::str::from_utf8(bytes).is_ok() { 0 } else { 3 * bytes.len() as u64 }
}

/// An id made of a prefix and a number, in reused memory.
pub(super) struct NumberedId {
    id: String,
    prefix_bytes: usize,
}

impl NumberedId {
    pub(super) fn new(prefix: &str) -> Self {
        NumberedId { id: prefix.to_owned(), prefix_bytes: prefix.len() }
    }

    pub(super) fn with(&mut self, number: u64) -> &str {
        use std::fmt::Write;
        self.id.truncate(self.prefix_bytes);
        write!(self.id, "{number}").expect("writing to memory");
        &self.id
    }
}
