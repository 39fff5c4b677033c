//! Pieces of a corpus, for workers that read it together.
//!
//! One program divides a corpus ([`Corpus::pieces`]) and sends the pieces to the others, which read
//! them ([`Corpus::from_pieces`]). The documents, ids and counts of all pieces in order are those
//! of the whole corpus. Dividing reads no documents: of a file of lines what its encoding
//! needs (see `encoding.rs`), which the pieces then carry; of a Parquet file the footer.
//!
//! | input | a piece is |
//! |---|---|
//! | lines, JSON Lines | the lines that begin in a range of bytes; UTF-16, and JSON over several lines: the whole file |
//! | Parquet | some row groups |
//! | a folder | some of its files |
//! | CSV, TSV | the whole file: only from its beginning is it known whether a line feed is quoted |
//! | a mailbox, a spreadsheet | the whole file |
//! | a compressed file | the whole file: it can only be read from its beginning |
//!
//! The line number at which a range of bytes begins is known once the lines before it are counted.
//! [`CorpusPiece::count_lines`] counts those of a piece, much faster than reading its documents;
//! [`CorpusPiece::number_lines`] sets the numbers from all counts.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use encoding_rs::Encoding;

use super::chunk::CHUNK_BYTES;
use super::encoding::{self, Known, decoded, has_lines};
use super::folder::{FILE_COST, FolderFile};
use super::format::CorpusFormat;
use super::input::{Corpus, Input, Source};
use super::jsonl;
use super::options::CorpusOptions;
use super::parquet_input;
use super::piece::{CorpusPiece, Part, PieceFile};
use super::stamp::Stamp;
use super::stats::EncodingName;
use crate::compression::{is_packed, open_counted};
use crate::error::{Error, ErrorKind, Result};

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
        let inputs = joined.into_iter().map(input_of).collect();
        Ok(Corpus { inputs, options, bytes_total, chunk_bytes: CHUNK_BYTES, n_unpacking: None })
    }

    fn divide(&self, input: &Input, n: usize) -> Result<Vec<CorpusPiece>> {
        let mut encoding = None;
        let parts = match &input.source {
            Source::Piece { piece, .. } => return Ok(vec![piece.clone()]),
            Source::Stream(_) | Source::Copied(_) => {
                return Err(ErrorKind::Unsupported {
                    what: "dividing standard input, a pipe or a device".to_owned(),
                    hint: "put it into a file that every node can read".to_owned(),
                }
                .into());
            }
            Source::File => {
                encoding = self.encoding_of_lines(input)?;
                self.divide_file(input, encoding, n)?
            }
            Source::Folder(list) => self.divide_folder(&list.files, n)?,
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
            encoding: encoding.map(EncodingName::of),
            part,
        };
        Ok(parts.into_iter().map(piece).collect())
    }

    /// The encoding of a file that can be divided into lines, if they are not compressed.
    fn encoding_of_lines(&self, input: &Input) -> Result<Option<&'static Encoding>> {
        let file = File::open(&input.path).map_err(|error| Error::io("read", error))?;
        if !matches!(input.format, CorpusFormat::Lines | CorpusFormat::JsonLines) || is_packed(&file)? {
            return Ok(None);
        }
        let file = open_counted(&input.path, Arc::default())?;
        encoding::find(file, self.options.named_encoding()).map(Some)
    }

    /// Whether the lines of a file are records, in this encoding.
    fn has_records_on_lines(&self, input: &Input, encoding: &'static Encoding) -> Result<bool> {
        if !has_lines(encoding) || input.format == CorpusFormat::Lines {
            return Ok(has_lines(encoding));
        }
        let known = Known { encoding: Some(encoding), is_start: true };
        let text = decoded(open_counted(&input.path, Arc::default())?, known, &Arc::default())?;
        jsonl::has_lines(text, &self.options)
    }

    fn divide_file(&self, input: &Input, encoding: Option<&'static Encoding>, n: usize) -> Result<Vec<Part>> {
        let failed = |error| Error::io("read", error);
        let file = File::open(&input.path).map_err(failed)?;
        let stamp = Stamp::new(&file.metadata().map_err(failed)?);
        let n_parts = self.share(stamp.n_bytes, n);
        let parts = match input.format {
            _ if n_parts == 1 => Vec::new(),
            CorpusFormat::Lines | CorpusFormat::JsonLines
                if encoding.map_or(Ok(false), |encoding| self.has_records_on_lines(input, encoding))? =>
            {
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

    fn divide_folder(&self, files: &[FolderFile], n: usize) -> Result<Vec<Part>> {
        if let Some(file) = files.iter().find(|file| file.path.to_str().is_none()) {
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

/// A piece as an input.
fn input_of(piece: CorpusPiece) -> Input {
    let (path, format, id_prefix) = (piece.path.clone(), piece.format, piece.id_prefix.clone());
    let files = piece.folder_files();
    Input { path, format, id_prefix, source: Source::Piece { piece, files } }
}

/// Consecutive ranges of items, at most `n_parts` of them, each of about the same size and none
/// empty; one empty range if there are no items.
fn divide_items(sizes: &[u64], n_parts: u64) -> Vec<Range<usize>> {
    let total = sizes.iter().map(|&size| u128::from(size)).sum::<u128>().max(1);
    let mut before = 0;
    let mut last = None;
    let mut starts = vec![0];
    for (index, &size) in sizes.iter().enumerate() {
        // An item belongs to the part in which its middle lies.
        let part = (before + u128::from(size) / 2) * u128::from(n_parts) / total;
        if last.is_some_and(|last| last != part) {
            starts.push(index);
        }
        last = Some(part);
        before += u128::from(size);
    }
    let ends = starts.iter().copied().skip(1).chain([sizes.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn not_utf8() -> Error {
    let what = "dividing an input whose name is not UTF-8".to_owned();
    ErrorKind::Unsupported { what, hint: "rename it".to_owned() }.into()
}

#[cfg(test)]
mod tests;
