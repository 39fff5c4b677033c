//! What a corpus takes while it is vectorised goes to files, so that it need not fit into memory.
//!
//! Each finished chunk of documents is written to a scratch file: the terms of its rows, their
//! counts in one, two or four bytes, and the end of each row. Its place in the file stays. When the
//! terms are chosen, the chunks are read back in order, a batch at a time, weighted on all threads,
//! and written to a file of rows, while the next batch is weighted. The ids go to two scratch files
//! of their own, in the order of the documents.
//!
//! **Idea.** Nothing depends on where a chunk is: the threads that count write to the file at
//! places that they take from one counter, and the rows are the same bits as in memory.
//!
//! **Cost.** Memory: 48 bytes per chunk, and two batches of two chunks for each thread. On disk: 5
//! bytes per distinct term of each document while no term occurs more than 255 times in a document
//! of the chunk, 4 per document, and 8 per id and its text; 8 per nonzero and 8 per document for
//! the rows. The vocabulary stays in memory (see `counting.rs`) but for its rare terms
//! (`rare_terms.rs`).
//!
//! Measured, on two threads, peak of the process in MB: a million documents of ten words 46 instead
//! of 223, a million tweets 129 instead of 365, 200,000 abstracts 81 instead of 254. What remains
//! is the vocabulary and the pipeline that reads.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::chunk_rows::{ChunkRows, ChunkTerms};
use super::document_ids::IdsWriter;
use super::open_rows::OpenRowsWriter;
use super::unit::UnitRows;
use crate::error::{Error, Result};
use crate::mapping::{Plain, Scratch, Spillable};

/// Chunks that each thread weights in a batch.
const CHUNKS_PER_THREAD: usize = 2;

/// Chunks begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// Where a corpus goes that is too large to be counted in memory; see
/// [`Vectorizer::spill`](crate::Vectorizer::spill).
///
/// ```
/// use docsphere::{Spill, Vectorizer};
///
/// let folder = tempfile::tempdir()?;
/// let rows = folder.path().join("rows.docsphere");
/// let vectorizer = Vectorizer::new();
/// let texts = ["cats purr", "cats sleep", "stocks fall", "stocks rise and fall"];
/// let expected = vectorizer.fit_texts(&texts)?;
/// let found = vectorizer.spill(Spill::new(folder.path()).rows(rows.clone())).fit_texts(&texts)?;
/// assert!(found.rows.is_mapped() && found == expected);
/// assert_eq!(docsphere::UnitRows::open_mapped(rows)?, expected.rows);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Spill {
    /// The folder whose disk takes the scratch files. They have no names, and are gone when nothing
    /// uses them any more, even if the process is killed.
    pub folder: PathBuf,
    /// The file that gets the rows, if they are written; it must not exist. `None`, the default,
    /// for a scratch file.
    pub rows: Option<PathBuf>,
    /// Bytes of counts and ids that stay in memory while documents are counted: what is counted
    /// goes to files once it takes more. 0, the default, for files from the beginning. Ids go to
    /// files in the end in any case, since nobody reads them while rows are clustered.
    pub after_bytes: u64,
    /// Bytes of terms that stay in memory while documents are counted. If terms in too few
    /// documents are dropped ([`min_df`](crate::TfidfOptions::min_df)), rare ones go to a scratch
    /// file once terms take more. `None`, the default, for no limit: all terms stay.
    ///
    /// Only [`Vectorizer::fit`](crate::Vectorizer::fit) and its relatives heed it, which choose
    /// terms; [`Vectorizer::count`](crate::Vectorizer::count) keeps all terms.
    pub terms_bytes: Option<u64>,
}

impl Spill {
    /// Scratch files in a folder, from the beginning.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Spill { folder: folder.into(), rows: None, after_bytes: 0, terms_bytes: None }
    }

    /// The file that gets the rows.
    #[must_use]
    pub fn rows(mut self, path: impl Into<Option<PathBuf>>) -> Self {
        self.rows = path.into();
        self
    }

    /// Bytes of counts and ids that stay in memory.
    #[must_use]
    pub fn after_bytes(mut self, bytes: u64) -> Self {
        self.after_bytes = bytes;
        self
    }

    /// Bytes of terms that stay in memory while documents are counted; `None` for no limit.
    #[must_use]
    pub fn terms_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.terms_bytes = bytes.into();
        self
    }
}

/// The files of a corpus that is being counted.
pub(super) struct SpillFiles {
    options: Spill,
    /// Chunks, and terms that have left memory.
    counts: Scratch,
    /// The end of what is written.
    end: AtomicU64,
    /// Bytes of all chunks so far, in memory or not.
    counted: AtomicU64,
    /// Until they are written.
    rows: Mutex<Option<RowsFile>>,
}

/// The size of a matrix that is about to be written.
pub(super) struct RowsShape {
    pub(super) n_rows: usize,
    pub(super) n_terms: usize,
    /// At least the number of nonzeros.
    pub(super) most_nnz: u64,
}

/// The place of a chunk in the file.
#[derive(Clone, Copy)]
pub(super) struct Place {
    start: u64,
    nnz: usize,
    n_rows: usize,
    /// The size of a count.
    width: Width,
}

#[derive(Clone, Copy)]
enum Width {
    One,
    Two,
    Four,
}

impl SpillFiles {
    /// Makes the files. So a folder that cannot be written is found at once.
    pub(super) fn new(options: &Spill) -> Result<Self> {
        Ok(SpillFiles {
            options: options.clone(),
            counts: Scratch::new(&options.folder)?,
            end: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            rows: Mutex::new(Some(RowsFile::create(options)?)),
        })
    }

    /// Takes another file for counts.
    #[cfg(test)]
    pub(super) fn set_scratch(&mut self, counts: Scratch) {
        self.counts = counts;
    }

    /// Another chunk was counted, which takes so many bytes.
    pub(super) fn add_counted(&self, n_bytes: u64) {
        self.counted.fetch_add(n_bytes, Relaxed);
    }

    /// Whether chunks go to the file. Once they do, all others do.
    pub(super) fn in_use(&self) -> bool {
        self.options.after_bytes == 0 || self.counted.load(Relaxed) > self.options.after_bytes
    }

    /// Writes a chunk; on any thread.
    pub(super) fn write(&self, chunk: &ChunkTerms) -> Result<Place> {
        let ChunkTerms { row_ends, terms, counts } = chunk;
        let width = match counts.iter().max() {
            Some(&max) if max > u32::from(u16::MAX) => Width::Four,
            Some(&max) if max > u32::from(u8::MAX) => Width::Two,
            _ => Width::One,
        };
        let (nnz, n_rows) = (terms.len(), row_ends.len());
        let place = Place { start: 0, nnz, n_rows, width };
        let start = self.take_room(place.counts_at() + width.bytes() * nnz as u64);
        let place = Place { start, ..place };
        let write = || {
            self.counts.write_at(terms, place.start)?;
            let ends: Vec<u32> = row_ends.iter().map(|&end| end as u32).collect(); // slots are u32
            self.counts.write_at(&ends, place.ends_at())?;
            let at = place.counts_at();
            match width {
                Width::One => self.counts.write_at(&narrow(counts, |count| count as u8), at),
                Width::Two => self.counts.write_at(&narrow(counts, |count| count as u16), at),
                Width::Four => self.counts.write_at(counts, at),
            }
        };
        write().map_err(|error| self.at_folder(error))?;
        Ok(place)
    }

    /// Room for so many bytes: where they begin.
    fn take_room(&self, n_bytes: u64) -> u64 {
        self.end.fetch_add(n_bytes.next_multiple_of(ALIGNMENT), Relaxed)
    }

    /// Bytes of terms that stay in memory; `None` if all do.
    pub(super) fn terms_bytes(&self) -> Option<u64> {
        self.options.terms_bytes
    }

    /// Writes bytes; on any thread. Returns where they begin.
    pub(super) fn append(&self, bytes: &[u8]) -> Result<u64> {
        let start = self.take_room(bytes.len() as u64);
        self.counts.write_at(bytes, start).map_err(|error| self.at_folder(error))?;
        Ok(start)
    }

    /// Reads bytes back; on any thread.
    pub(super) fn read_bytes(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        self.counts.read_at(bytes, at).map_err(|error| self.at_folder(error))
    }

    /// Zeros in a scratch file.
    pub(super) fn zeros(&self, n: usize) -> Result<Spillable<u32>> {
        Spillable::zeros(n, Some(&self.options.folder))
    }

    /// Reads a chunk back; on any thread.
    pub(super) fn read(&self, place: &Place) -> Result<ChunkTerms> {
        let read = || {
            Ok(ChunkTerms {
                terms: self.items(place.nnz, place.start)?,
                row_ends: self
                    .items::<u32>(place.n_rows, place.ends_at())?
                    .iter()
                    .map(|&e| e as usize)
                    .collect(),
                counts: match place.width {
                    Width::One => {
                        self.items::<u8>(place.nnz, place.counts_at())?.iter().map(|&n| n.into()).collect()
                    }
                    Width::Two => {
                        self.items::<u16>(place.nnz, place.counts_at())?.iter().map(|&n| n.into()).collect()
                    }
                    Width::Four => self.items(place.nnz, place.counts_at())?,
                },
            })
        };
        read().map_err(|error| self.at_folder(error))
    }

    fn items<T: Plain + Default>(&self, n: usize, at: u64) -> Result<Vec<T>> {
        let mut items = vec![T::default(); n];
        self.counts.read_at(&mut items, at)?;
        Ok(items)
    }

    /// A writer of ids beside the counts.
    pub(super) fn ids(&self) -> Result<IdsWriter> {
        IdsWriter::new(&self.options.folder)
    }

    fn at_folder(&self, error: Error) -> Error {
        error.at_path(&self.options.folder)
    }

    /// Memory for weighting chunks of which the largest has so many nonzeros.
    pub(super) fn weighing_bytes(largest: usize) -> u64 {
        // Terms, counts and values of the batch that is weighted and of the one that is written.
        (2 * 12 * largest * CHUNKS_PER_THREAD * rayon::current_num_threads()) as u64
    }

    /// Turns chunks into rows with `weigh`, and writes them.
    ///
    /// # Errors
    /// Those of `weigh`; more rows than a matrix may have; a file that cannot be written.
    pub(super) fn write_rows<T: Send>(
        &self,
        chunks: Vec<T>,
        shape: RowsShape,
        weigh: impl Fn(T) -> Result<ChunkRows> + Sync,
    ) -> Result<UnitRows<'static>> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut rows = rows.expect("rows are written once");
        let at = rows.path.clone().unwrap_or_else(|| self.options.folder.clone());
        let failed = |error: Error| error.at_path(&at);
        let RowsShape { n_rows, n_terms, most_nnz } = shape;
        let file = rows.file.take().expect("written once");
        let mut writer = OpenRowsWriter::new(file, n_rows, n_terms, most_nnz).map_err(failed)?;
        let with_values = |chunk: T| {
            let ChunkRows { row_ends, terms, values } = weigh(chunk)?;
            Ok((row_ends, terms, values.into_iter().map(f32::from_bits).collect()))
        };
        let batch_len = CHUNKS_PER_THREAD * rayon::current_num_threads();
        let mut chunks = chunks.into_iter();
        let mut weighed: Vec<(Vec<usize>, Vec<u32>, Vec<f32>)> = Vec::new();
        loop {
            let batch: Vec<T> = chunks.by_ref().take(batch_len).collect();
            let is_last = batch.is_empty();
            let (written, next) = rayon::join(
                || {
                    weighed
                        .drain(..)
                        .try_for_each(|(ends, terms, values)| writer.push(&ends, &terms, &values))
                },
                || batch.into_par_iter().with_max_len(1).map(with_values).collect::<Result<Vec<_>>>(),
            );
            written.map_err(failed)?;
            weighed = next?;
            if is_last {
                break;
            }
        }
        let written = writer.finish().map_err(failed)?;
        rows.path = None; // it stays
        Ok(written)
    }
}

fn narrow<T>(counts: &[u32], to: impl Fn(u32) -> T) -> Vec<T> {
    counts.iter().map(|&count| to(count)).collect()
}

impl Width {
    fn bytes(self) -> u64 {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

impl Place {
    fn ends_at(&self) -> u64 {
        self.start + 4 * self.nnz as u64
    }

    fn counts_at(&self) -> u64 {
        self.ends_at() + 4 * self.n_rows as u64
    }
}

/// The file for the rows. It is removed unless it was finished.
struct RowsFile {
    file: Option<File>,
    /// If it has a name, which is to be removed.
    path: Option<PathBuf>,
}

impl RowsFile {
    fn create(options: &Spill) -> Result<Self> {
        let Some(path) = &options.rows else {
            let file = Scratch::new(&options.folder)?.into_file();
            return Ok(RowsFile { file: Some(file), path: None });
        };
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| Error::io("create", error).at_path(path))?;
        Ok(RowsFile { file: Some(file), path: Some(path.clone()) })
    }
}

impl Drop for RowsFile {
    fn drop(&mut self) {
        self.file = None;
        if let Some(path) = &self.path {
            // A file that cannot be removed has no header, so it is not taken for rows.
            let _ = fs::remove_file(path);
        }
    }
}
