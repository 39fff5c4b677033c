//! A piece of a corpus: which part of which file, and how it is read. `divide.rs` makes pieces.

use std::fs::File;
use std::io::BufRead;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use super::encoding::has_lines;
use super::folder::FolderFile;
use super::format::CorpusFormat;
use super::line_range::{LineRange, lines_in};
use super::stamp::Stamp;
use super::stats::EncodingName;
use crate::compression::unpack_counted;
use crate::error::{Error, ErrorKind, Result};

/// A part of a corpus that a worker can read on its own, on any machine that sees the same files
/// under the same absolute paths.
///
/// It remembers the length and the modification time of each of its files, and reading refuses
/// files that have changed. Copies of a file on several machines need the same modification time
/// (`cp -p`, `rsync -t`).
///
/// ```
/// use docsphere::{Corpus, CorpusOptions, CorpusPiece};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("animals.txt");
/// std::fs::write(&path, "cats purr\ndogs bark\ncows moo\n").unwrap();
/// let corpus = Corpus::open([&path], CorpusOptions::default())?;
/// let mut pieces = corpus.pieces(2)?;
/// // Each of the two steps can be done by many workers.
/// let n_lines = pieces.iter().map(CorpusPiece::count_lines).collect::<Result<Vec<_>, _>>()?;
/// CorpusPiece::number_lines(&mut pieces, &n_lines)?;
/// let mut documents = Vec::new();
/// for piece in pieces {
///     let part = Corpus::from_pieces(&[piece], CorpusOptions::default())?;
///     part.for_each_document(|document| {
///         documents.push(format!("{}: {}", document.id, document.text));
///     })?;
/// }
/// assert_eq!(documents, ["1: cats purr", "2: dogs bark", "3: cows moo"]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusPiece {
    /// The input as the caller named it, for messages.
    pub(super) path: PathBuf,
    /// The same as an absolute path.
    pub(super) location: PathBuf,
    pub(super) format: CorpusFormat,
    /// Prefix of ids that are numbers or paths: empty, or a name and a colon.
    pub(super) id_prefix: String,
    /// The encoding of a file of lines, if it was found when the corpus was divided.
    pub(super) encoding: Option<EncodingName>,
    pub(super) part: Part,
}

/// Which part of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Part {
    File {
        stamp: Stamp,
    },
    /// The lines that begin in a range of bytes.
    Lines {
        stamp: Stamp,
        start: u64,
        end: u64,
        /// The number of the first of these lines, once known.
        first_line: Option<u64>,
    },
    RowGroups {
        stamp: Stamp,
        start: usize,
        end: usize,
        n_bytes: u64,
    },
    Files(Vec<PieceFile>),
}

/// A file of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PieceFile {
    /// The path within the folder, with slashes.
    pub(super) id: String,
    pub(super) stamp: Stamp,
}

impl CorpusPiece {
    /// The input to which the piece belongs, as the caller of
    /// [`Corpus::open`](crate::Corpus::open) named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the piece, as compressed, to give every worker about the same.
    pub fn n_bytes(&self) -> u64 {
        match &self.part {
            Part::File { stamp } => stamp.n_bytes,
            Part::Lines { start, end, .. } => end.saturating_sub(*start),
            Part::RowGroups { n_bytes, .. } => *n_bytes,
            Part::Files(files) => {
                files.iter().fold(0, |total, file| total.saturating_add(file.stamp.n_bytes))
            }
        }
    }

    /// Counts the lines of the piece, for [`number_lines`](Self::number_lines). `None`, without
    /// reading anything, if no line number of another piece depends on it.
    ///
    /// # Errors
    /// A file that has changed since the corpus was divided, or cannot be read.
    pub fn count_lines(&self) -> Result<Option<u64>> {
        let Part::Lines { stamp, start, end, .. } = self.part else { return Ok(None) };
        if end >= stamp.n_bytes {
            return Ok(None);
        }
        let counted = stamp
            .open(&self.location)
            .and_then(|file| lines_in(file, start..end).map_err(|error| Error::io("read", error)));
        counted.map(Some).map_err(|error| error.at_path(&self.path))
    }

    /// The piece with the number of its first line, from 1. Has no effect on pieces that are not
    /// lines from the middle of a file.
    #[must_use]
    pub fn with_first_line(mut self, number: u64) -> Self {
        if let Part::Lines { start: 1.., first_line, .. } = &mut self.part {
            *first_line = Some(number);
        }
        self
    }

    /// Sets the line numbers of all pieces of a corpus, in order, from the results of
    /// [`count_lines`](Self::count_lines).
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if a count or a piece is missing.
    pub fn number_lines(pieces: &mut [CorpusPiece], n_lines: &[Option<u64>]) -> Result<()> {
        let refused = |expected: &str, got: String| -> Result<()> {
            Err(ErrorKind::Mismatch { what: "n_lines", expected: expected.to_owned(), got }.into())
        };
        if n_lines.len() != pieces.len() {
            return refused("one count per piece", format!("{} for {}", n_lines.len(), pieces.len()));
        }
        let mut next_line = None;
        for index in 0..pieces.len() {
            let follows = index > 0 && pieces[index - 1].precedes(&pieces[index]);
            let CorpusPiece { path, part: Part::Lines { start, first_line, .. }, .. } = &mut pieces[index]
            else {
                continue;
            };
            if *start > 0 {
                *first_line = next_line.filter(|_| follows);
                if first_line.is_none() {
                    let got = format!("none for that before byte {start} of {}", path.display());
                    return refused("the number of lines of every piece", got);
                }
            }
            next_line = first_line.zip(n_lines[index]).and_then(|(first, more)| first.checked_add(more));
        }
        Ok(())
    }

    /// Whether `next` begins where this piece ends, in the same file.
    pub(super) fn precedes(&self, next: &CorpusPiece) -> bool {
        let same =
            (&self.path, &self.location, &self.id_prefix) == (&next.path, &next.location, &next.id_prefix);
        same && match (&self.part, &next.part) {
            (Part::Lines { stamp, end, .. }, Part::Lines { stamp: next_stamp, start, .. }) => {
                (stamp, end) == (next_stamp, start)
            }
            (Part::RowGroups { stamp, end, .. }, Part::RowGroups { stamp: next_stamp, start, .. }) => {
                (stamp, end) == (next_stamp, start)
            }
            _ => false,
        }
    }

    /// Adds the piece that this one precedes.
    pub(super) fn extend(&mut self, next: &CorpusPiece) {
        match (&mut self.part, &next.part) {
            (Part::Lines { end, .. }, Part::Lines { end: next_end, .. }) => *end = *next_end,
            (Part::RowGroups { end, n_bytes, .. }, Part::RowGroups { end: next_end, n_bytes: more, .. }) => {
                *end = *next_end;
                *n_bytes = n_bytes.saturating_add(*more);
            }
            _ => unreachable!("only these precede others"),
        }
    }

    /// Checks what a sender may have changed.
    pub(super) fn check(&self) -> Result<()> {
        use CorpusFormat::{Folder, JsonLines, Lines, Parquet};
        let fits = match (&self.part, self.format) {
            (Part::File { .. }, format) => format != Folder,
            (Part::Lines { stamp, start, end, .. }, Lines | JsonLines) => {
                let encoding = self.encoding.map(EncodingName::encoding);
                encoding.is_some_and(has_lines) && start <= end && *end <= stamp.n_bytes
            }
            (Part::RowGroups { start, end, .. }, Parquet) => start <= end,
            (Part::Files(_), format) => format == Folder,
            _ => false,
        };
        if !fits {
            let found = format!("{:?} of a file of format {}", self.part, self.format);
            return Err(Error::malformed("piece of a corpus", "a part that its format has", found));
        }
        let Part::Lines { start, first_line, .. } = self.part else { return Ok(()) };
        let (expected, fits) = match start {
            0 => ("1".to_owned(), first_line == Some(1)),
            // A line has at least one byte.
            _ => {
                let most = start + 1;
                let fits = first_line.is_some_and(|line| (2..=most).contains(&line));
                (
                    format!("from 2 to {most} for the piece at byte {start} (see CorpusPiece::number_lines)"),
                    fits,
                )
            }
        };
        let got = first_line.map_or_else(|| "none".to_owned(), |line| line.to_string());
        Error::unless(fits, "first_line", expected, got)
    }

    /// The encoding that was found when the corpus was divided, and whether the piece begins where
    /// its file does.
    pub(super) fn found_encoding(&self) -> Option<(&'static Encoding, bool)> {
        let is_start = !matches!(self.part, Part::Lines { start: 1.., .. });
        self.encoding.map(|name| (name.encoding(), is_start))
    }

    /// The files of a folder; none for other inputs.
    pub(super) fn folder_files(&self) -> Arc<[FolderFile]> {
        match &self.part {
            Part::Files(files) => files.iter().map(|file| file.of_folder(self)).collect(),
            _ => Arc::new([]),
        }
    }

    /// The number of the first line.
    pub(super) fn first_line(&self) -> u64 {
        match self.part {
            Part::Lines { first_line: Some(line), .. } => line,
            _ => 1,
        }
    }

    /// Whether the piece is only some lines of its file.
    pub(super) fn is_part(&self) -> bool {
        matches!(self.part, Part::Lines { .. })
    }

    /// The row groups to be read; `None` for all.
    pub(super) fn row_groups(&self) -> Option<Range<usize>> {
        match self.part {
            Part::RowGroups { start, end, .. } => Some(start..end),
            _ => None,
        }
    }

    /// The piece as a decompressed stream of text.
    pub(super) fn text(&self, n_bytes: &Arc<AtomicU64>) -> Result<Box<dyn BufRead>> {
        let (file, n_bytes) = (self.open()?, Arc::clone(n_bytes));
        match self.part {
            Part::Lines { stamp, start, end, .. } => {
                let lines = LineRange::new(file, stamp.n_bytes, start..end, n_bytes);
                Ok(Box::new(lines.map_err(|error| Error::io("read", error))?))
            }
            _ => unpack_counted(file, n_bytes),
        }
    }

    /// The file of the piece, if it is still the same.
    pub(super) fn open(&self) -> Result<File> {
        match &self.part {
            Part::File { stamp } | Part::Lines { stamp, .. } | Part::RowGroups { stamp, .. } => {
                stamp.open(&self.location)
            }
            Part::Files(_) => unreachable!("a folder has many"),
        }
    }
}

impl PieceFile {
    fn of_folder(&self, piece: &CorpusPiece) -> FolderFile {
        let PieceFile { id, stamp } = self;
        FolderFile {
            path: piece.path.join(id),
            id: id.clone(),
            stamp: *stamp,
            divided: Some(piece.location.join(id)),
        }
    }
}
