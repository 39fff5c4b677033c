//! Pieces of a corpus, for workers that read it together.
//!
//! One program divides a corpus ([`Corpus::pieces`]) and sends the pieces to the others, which read
//! them ([`Corpus::from_pieces`]). The documents, ids and counts of all pieces in order are those
//! of the whole corpus. Dividing reads no documents: of a file of lines only the first four bytes,
//! of a Parquet file the footer.
//!
//! | input | a piece is |
//! |---|---|
//! | lines, JSON Lines | the lines that begin in a range of bytes |
//! | Parquet | some row groups |
//! | a folder | some of its files |
//! | CSV, TSV | the whole file: only from its beginning is it known whether a line feed is quoted |
//! | a compressed file | the whole file: it can only be read from its beginning |
//!
//! The line number at which a range of bytes begins is known once the lines before it are counted.
//! [`CorpusPiece::count_lines`] counts those of a piece, much faster than reading its documents;
//! [`CorpusPiece::number_lines`] sets the numbers from all counts.

use std::fs::File;
use std::io::BufRead;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

use super::chunk::CHUNK_BYTES;
use super::folder::{FILE_COST, FolderFile};
use super::format::CorpusFormat;
use super::input::{Corpus, Input, Source};
use super::line_range::{LineRange, lines_in};
use super::options::CorpusOptions;
use super::parquet_input;
use super::stamp::Stamp;
use crate::compression::{is_packed, unpack_counted};
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
///     part.for_each_document(|document| documents.push(format!("{}: {}", document.id, document.text)))?;
/// }
/// assert_eq!(documents, ["1: cats purr", "2: dogs bark", "3: cows moo"]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusPiece {
    /// The input as the caller named it, for messages.
    path: PathBuf,
    /// The same as an absolute path.
    location: PathBuf,
    format: CorpusFormat,
    /// Prefix of ids that are numbers or paths: empty, or a name and a colon.
    id_prefix: String,
    part: Part,
}

/// Which part of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Part {
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
struct PieceFile {
    /// The path within the folder, with slashes.
    id: String,
    stamp: Stamp,
}

impl CorpusPiece {
    /// The input to which the piece belongs, as the caller of [`Corpus::open`] named it.
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
        let missing = |what, expected: &str, got: String| -> Result<()> {
            Err(ErrorKind::Mismatch { what, expected: expected.to_owned(), got }.into())
        };
        if n_lines.len() != pieces.len() {
            return missing(
                "n_lines",
                "one count per piece",
                format!("{} for {}", n_lines.len(), pieces.len()),
            );
        }
        for index in 0..pieces.len() {
            let Part::Lines { start: start @ 1.., .. } = pieces[index].part else { continue };
            let before = index.checked_sub(1).filter(|&before| pieces[before].precedes(&pieces[index]));
            let first = before.and_then(|before| match pieces[before].part {
                Part::Lines { first_line, .. } => first_line?.checked_add(n_lines[before]?),
                _ => None,
            });
            match (&mut pieces[index].part, first) {
                (Part::Lines { first_line, .. }, Some(_)) => *first_line = first,
                _ => {
                    let name = pieces[index].path.display();
                    let got = format!("none for that before byte {start} of {name}");
                    return missing("n_lines", "the number of lines of every piece", got);
                }
            }
        }
        Ok(())
    }

    /// Whether `next` begins where this piece ends, in the same file.
    fn precedes(&self, next: &CorpusPiece) -> bool {
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
    fn extend(&mut self, next: &CorpusPiece) {
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
    fn check(&self) -> Result<()> {
        use CorpusFormat::{Folder, JsonLines, Lines, Parquet};
        let fits = match (&self.part, self.format) {
            (Part::File { .. }, format) => format != Folder,
            (Part::Lines { stamp, start, end, .. }, Lines | JsonLines) => {
                start <= end && *end <= stamp.n_bytes
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

    /// The piece as an input.
    fn into_input(self) -> Input {
        let files: Arc<[FolderFile]> = match &self.part {
            Part::Files(files) => files.iter().map(|file| file.of_folder(&self)).collect(),
            _ => Arc::new([]),
        };
        let (path, format, id_prefix) = (self.path.clone(), self.format, self.id_prefix.clone());
        Input { path, format, id_prefix, source: Source::Piece { piece: self, files } }
    }

    /// The number of the first line.
    pub(super) fn first_line(&self) -> u64 {
        match self.part {
            Part::Lines { first_line: Some(line), .. } => line,
            _ => 1,
        }
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

impl Corpus {
    /// Divides the corpus into consecutive pieces of similar size, in the order of the documents:
    /// about `n`, and at least one per input. CSV, TSV and compressed files are not divided; nor
    /// are the inputs of a corpus that was itself made of pieces.
    ///
    /// # Errors
    /// Standard input, pipes and devices, which only one process can read; a file that cannot be
    /// read; a name that is not UTF-8.
    pub fn pieces(&self, n: usize) -> Result<Vec<CorpusPiece>> {
        let mut pieces = Vec::new();
        for input in &self.inputs {
            let divided = self.divide(input, n).map_err(|error| error.at_path(&input.path))?;
            pieces.extend(divided);
        }
        Ok(pieces)
    }

    /// A corpus of some consecutive pieces of another, possibly none. The options must be those of
    /// the whole corpus; `format` and `glob` have no effect, since the pieces know their files.
    ///
    /// # Errors
    /// Options out of range; a piece without the number of its first line, see
    /// [`CorpusPiece::number_lines`]; Parquet in a build without it. Files are opened when they are
    /// read, and refused then if they have changed.
    pub fn from_pieces(pieces: &[CorpusPiece], options: CorpusOptions) -> Result<Corpus> {
        options.check()?;
        let mut joined: Vec<CorpusPiece> = Vec::new();
        for piece in pieces {
            match joined.last_mut() {
                Some(last) if last.precedes(piece) => last.extend(piece),
                _ => joined.push(piece.clone()),
            }
        }
        for piece in &joined {
            let checked = piece.check().and_then(|()| parquet_input::check_build(piece.format));
            checked.map_err(|error| error.at_path(&piece.path))?;
        }
        let bytes_total = joined.iter().fold(0, |total: u64, piece| total.saturating_add(piece.n_bytes()));
        let inputs = joined.into_iter().map(CorpusPiece::into_input).collect();
        Ok(Corpus { inputs, options, bytes_total, chunk_bytes: CHUNK_BYTES })
    }

    fn divide(&self, input: &Input, n: usize) -> Result<Vec<CorpusPiece>> {
        let parts = match &input.source {
            Source::Piece { piece, .. } => return Ok(vec![piece.clone()]),
            Source::Stream(_) | Source::Copied(_) => {
                return Err(ErrorKind::Unsupported {
                    what: "dividing standard input, a pipe or a device".to_owned(),
                    hint: "put it into a file that every node can read".to_owned(),
                }
                .into());
            }
            Source::File => self.divide_file(input, n)?,
            Source::Folder(files) => self.divide_folder(input, files, n)?,
        };
        if input.path.to_str().is_none() {
            return Err(not_utf8());
        }
        let location = std::path::absolute(&input.path).map_err(|error| Error::io("read", error))?;
        let piece = |part| CorpusPiece {
            path: input.path.clone(),
            location: location.clone(),
            format: input.format,
            id_prefix: input.id_prefix.clone(),
            part,
        };
        Ok(parts.into_iter().map(piece).collect())
    }

    fn divide_file(&self, input: &Input, n: usize) -> Result<Vec<Part>> {
        let failed = |error| Error::io("read", error);
        let file = File::open(&input.path).map_err(failed)?;
        let stamp = Stamp::new(&file.metadata().map_err(failed)?);
        let n_parts = self.share(stamp.n_bytes, n);
        let parts = match input.format {
            _ if n_parts == 1 => Vec::new(),
            CorpusFormat::Lines | CorpusFormat::JsonLines if !is_packed(&file)? => {
                let cut =
                    |part: u64| (u128::from(stamp.n_bytes) * u128::from(part) / u128::from(n_parts)) as u64;
                let part = |part| {
                    let (start, end) = (cut(part), cut(part + 1));
                    Part::Lines { stamp, start, end, first_line: (start == 0).then_some(1) }
                };
                (0..n_parts).map(part).collect()
            }
            CorpusFormat::Parquet => {
                // A file that cannot be divided is one piece, whose reader says what is wrong.
                let sizes = parquet_input::group_sizes(&file, &self.options).unwrap_or_default();
                let part = |Range { start, end }: Range<usize>| Part::RowGroups {
                    stamp,
                    start,
                    end,
                    n_bytes: sizes[start..end].iter().sum(),
                };
                divide_items(&sizes, n_parts).into_iter().map(part).collect()
            }
            _ => Vec::new(),
        };
        Ok(if parts.len() > 1 { parts } else { vec![Part::File { stamp }] })
    }

    fn divide_folder(&self, input: &Input, files: &[FolderFile], n: usize) -> Result<Vec<Part>> {
        if let Some(file) = files.iter().find(|file| file.path != input.path.join(&file.id)) {
            return Err(not_utf8().at_path(&file.path));
        }
        let n_bytes = files.iter().map(|file| file.stamp.n_bytes).sum();
        let sizes: Vec<u64> = files.iter().map(|file| file.stamp.n_bytes + FILE_COST).collect();
        let piece_file = |file: &FolderFile| PieceFile { id: file.id.clone(), stamp: file.stamp };
        let part = |range: Range<usize>| Part::Files(files[range].iter().map(piece_file).collect());
        Ok(divide_items(&sizes, self.share(n_bytes, n)).into_iter().map(part).collect())
    }

    /// The number of pieces for `n_bytes` bytes if the whole corpus has `n`.
    fn share(&self, n_bytes: u64, n: usize) -> u64 {
        let (n_bytes, n, total) = (u128::from(n_bytes), n as u128, u128::from(self.bytes_total.max(1)));
        // Rounded.
        let share = n.min(1 << 48).saturating_mul(2 * n_bytes).saturating_add(total) / (2 * total);
        share.clamp(1, n_bytes.max(1)) as u64
    }
}

/// Consecutive ranges of items, at most `n_parts` of them, each of about the same size and none
/// empty; one empty range if there are no items.
fn divide_items(sizes: &[u64], n_parts: u64) -> Vec<Range<usize>> {
    let total = sizes.iter().map(|&size| u128::from(size)).sum::<u128>().max(1);
    let mut before = 0;
    let mut starts: Vec<usize> = Vec::new();
    let mut last = None;
    for (index, &size) in sizes.iter().enumerate() {
        // An item belongs to the part in which its middle lies.
        let part = (before + u128::from(size) / 2) * u128::from(n_parts) / total;
        if last != Some(part) {
            starts.push(index);
        }
        last = Some(part);
        before += u128::from(size);
    }
    let ends = starts.iter().copied().skip(1).chain([sizes.len()]);
    match starts.is_empty() {
        true => vec![0..0],
        false => starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect(),
    }
}

fn not_utf8() -> Error {
    let what = "dividing an input whose name is not UTF-8".to_owned();
    ErrorKind::Unsupported { what, hint: "rename it".to_owned() }.into()
}

#[cfg(test)]
mod tests;
