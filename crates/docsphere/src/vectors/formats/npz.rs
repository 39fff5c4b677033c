//! SciPy sparse matrices (`.npz`), as written by `scipy.sparse.save_npz`.
//!
//! A zip archive of NumPy arrays: `format` (a string), `shape` (rows, columns), and for a matrix in
//! compressed sparse rows `data`, `indices` and `indptr`. Only that layout, `csr`, is read. Values
//! may be of any integer type, boolean, or floats of 32 or 64 bits, which are rounded to 32;
//! indices of any integer type; either byte order; compressed or not.
//!
//! The written form has 32-bit floats and, for fewer than 2^31 nonzeros, 32-bit indices; it is
//! deflated, as SciPy does by default. The same matrix always gives the same bytes.
//!
//! This is the fastest and smallest of the formats. Memory while reading: 8 bytes per nonzero and 8
//! per row. An archive that is itself compressed with gzip or zstd is held in memory decompressed,
//! both for reading and for writing.
//!
//! Reference: `scipy.sparse.save_npz`,
//! <https://docs.scipy.org/doc/scipy/reference/generated/scipy.sparse.save_npz.html>.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::MATRIX;
use super::lines::excerpt;
use super::npy::{self, Array, Floats};
use crate::atomic_file::write_atomically;
use crate::compression;
use crate::error::{Error, ErrorKind, Result, RowProblem};
use crate::memory::{Growing, MemoryLimit, NO_LIMIT};
use crate::vectors::{MAX_ROWS, MAX_TERMS, SparseRows};

const FORMAT: &str = "SciPy npz";

/// Reads a file.
///
/// # Errors
/// A file that cannot be read, is damaged, or holds a matrix in a layout other than `csr`.
pub fn read(path: impl AsRef<Path>) -> Result<SparseRows<'static>> {
    read_within(path.as_ref(), &NO_LIMIT)
}

pub(super) fn read_within(path: &Path, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let read = compression::open_seekable(path, memory).and_then(|reader| parse(reader, memory));
    read.map_err(|error| error.at_path(path))
}

/// Reads the format from any source that can seek.
///
/// ```
/// use std::io::Cursor;
/// use docsphere::{SparseRows, formats::npz};
///
/// let rows = SparseRows::from_parts(3, vec![0, 1, 3], vec![2, 0, 1], vec![0.5, 1.0, 2.0])?;
/// let mut file = Cursor::new(Vec::new());
/// npz::write_to(&mut file, &rows)?;
/// assert_eq!(npz::read_from(file)?, rows);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl Read + Seek) -> Result<SparseRows<'static>> {
    parse(reader, &NO_LIMIT)
}

fn parse(mut reader: impl Read + Seek, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let length = reader.seek(SeekFrom::End(0)).map_err(|source| Error::io("read", source))?;
    if length == 0 {
        return Err(Error::malformed(FORMAT, "a zip archive", "an empty file"));
    }
    let mut archive = ZipArchive::new(reader).map_err(|error| zip_error(error, "a zip archive"))?;
    check_layout(&mut archive)?;
    let (n_rows, n_terms) = read_shape(&mut archive)?;
    let offsets = read_offsets(&mut archive, n_rows, memory)?;
    let mut terms = read_terms(&mut archive, &offsets, n_terms, memory)?;
    let Floats { mut values, too_large } = open(&mut archive, "data.npy")?.read_floats(memory)?;
    drop(archive);
    if values.len() != terms.len() {
        let expected = format!("{} values in data.npy, one for each of indices.npy", terms.len());
        return Err(Error::malformed(FORMAT, expected, values.len().to_string()));
    }
    // SciPy allows arrays that are longer than the rows need.
    let nnz = offsets.last().map_or(0, |&last| usize::try_from(last).unwrap_or(usize::MAX));
    terms.truncate(nnz);
    values.truncate(nnz);
    if let Some((position, value)) = too_large.filter(|&(position, _)| position < nnz) {
        let problem = RowProblem::TooLarge { term: terms[position], value };
        return Err(ErrorKind::Row { row: row_of(&offsets, position as u64), problem }.into());
    }
    SparseRows::from_parts_within(n_terms, offsets, terms, values, memory)
}

fn open<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    name: &'static str,
) -> Result<Array<impl Read + 'a>> {
    let member = archive.by_name(name).map_err(|error| match error {
        ZipError::FileNotFound => {
            Error::malformed(FORMAT, format!("an array {name} in the archive"), "none of that name")
        }
        error => zip_error(error, &format!("a readable array {name} in the archive")),
    })?;
    Array::open(member, name, FORMAT)
}

fn check_layout<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<()> {
    let layout = open(archive, "format.npy")?.read_string()?;
    if layout == "csr" {
        return Ok(());
    }
    let what = format!("a SciPy matrix in the layout {}", excerpt(layout.as_bytes()));
    let hint = "convert it with .tocsr() before it is saved".to_owned();
    Err(ErrorKind::Unsupported { what, hint }.into())
}

fn read_shape<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<(usize, usize)> {
    let array = open(archive, "shape.npy")?;
    let dimensions = array.len()?;
    if dimensions != 2 {
        return Err(Error::malformed(FORMAT, "2 numbers in shape.npy", dimensions.to_string()));
    }
    let limits = [("the number of rows", MAX_ROWS), ("the number of terms", MAX_TERMS)];
    let mut shape = [0; 2];
    array.read_integers(|position, number| {
        let (what, limit) = limits[position as usize];
        let Ok(got) = u64::try_from(number) else {
            return Err(Error::malformed(FORMAT, "numbers of at least 0 in shape.npy", number.to_string()));
        };
        if got > limit {
            return Err(ErrorKind::TooLarge { what, limit, got }.into());
        }
        shape[position as usize] = got as usize;
        Ok(())
    })?;
    Ok((shape[0], shape[1]))
}

fn read_offsets<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    n_rows: usize,
    memory: &MemoryLimit,
) -> Result<Vec<u64>> {
    let array = open(archive, "indptr.npy")?;
    let length = array.len()?;
    if length != n_rows as u64 + 1 {
        let expected = format!("{} offsets in indptr.npy, one more than rows", n_rows + 1);
        return Err(Error::malformed(FORMAT, expected, length.to_string()));
    }
    let mut offsets = Growing::new(memory, MATRIX);
    array.read_integers(|_, number| {
        let offset = u64::try_from(number);
        offsets.push(offset.map_err(|_| {
            Error::malformed(FORMAT, "offsets of at least 0 in indptr.npy", number.to_string())
        })?)
    })?;
    Ok(offsets.into_vec())
}

fn read_terms<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    offsets: &[u64],
    n_terms: usize,
    memory: &MemoryLimit,
) -> Result<Vec<u32>> {
    let nnz = offsets.last().copied().unwrap_or(0);
    let mut terms = Growing::new(memory, MATRIX);
    open(archive, "indices.npy")?.read_integers(|position, number| {
        // Indices after the last row are ignored.
        if (0..n_terms as i128).contains(&number) || position >= nnz {
            return terms.push(number as u32);
        }
        let row = row_of(offsets, position);
        match u64::try_from(number) {
            Ok(term) => {
                let problem = RowProblem::TermOutOfRange { term, n_terms: n_terms as u64 };
                Err(ErrorKind::Row { row, problem }.into())
            }
            Err(_) => {
                let found = format!("{number} in row {row}");
                Err(Error::malformed(FORMAT, "indices of at least 0 in indices.npy", found))
            }
        }
    })?;
    Ok(terms.into_vec())
}

/// The row that contains the nonzero at `position`.
fn row_of(offsets: &[u64], position: u64) -> u64 {
    offsets.partition_point(|&offset| offset <= position).saturating_sub(1) as u64
}

fn zip_error(error: ZipError, expected: &str) -> Error {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => Error::io("read", error),
        ZipError::Io(error) => Error::malformed(FORMAT, expected, error.to_string()),
        error => Error::malformed(FORMAT, expected, error.to_string()),
    }
}

/// Writes a file atomically. With the extension `.gz` or `.zst`, the archive is compressed once
/// more.
///
/// # Errors
/// Those of the system; an old file of that name is then untouched.
pub fn write(path: impl AsRef<Path>, rows: &SparseRows<'_>) -> Result<()> {
    let path = path.as_ref();
    if !compression::packs(path) {
        return write_atomically(path, |file| write_to(file, rows));
    }
    let mut archive = Cursor::new(Vec::new());
    write_to(&mut archive, rows)?;
    compression::write_packed(path, |out| {
        out.write_all(archive.get_ref()).map_err(|source| Error::io("write", source))
    })
}

/// Writes the format to any writer that can seek.
///
/// # Errors
/// Those of the writer.
pub fn write_to(out: impl Write + Seek, rows: &SparseRows<'_>) -> Result<()> {
    let mut out = FirstError { inner: out, position: 0, error: None };
    let start = out.inner.stream_position();
    out.position = start.map_err(|source| Error::io("write", source))?;
    let result = write_archive(&mut out, rows).and_then(|()| out.flush());
    match out.error {
        Some(source) => Err(Error::io("write", source)),
        None => result.map_err(|source| Error::io("write", source)),
    }
}

fn write_archive(out: impl Write + Seek, rows: &SparseRows<'_>) -> io::Result<()> {
    let mut archive = ZipWriter::new(out);
    // Members of 4 GiB and more need other headers; deflate may make a member slightly larger.
    let options = |bytes: usize| {
        SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            // The fastest level. A million tweets: 97 MB instead of 78 MB, and 3.4 s instead of 4.8
            // s for reading, weighing and writing.
            .compression_level(Some(1))
            .large_file(bytes as u64 > u64::from(u32::MAX) / 16 * 15)
    };
    let small = options(0);

    archive.start_file("indices.npy", options(8 * rows.nnz()))?;
    let narrow = i32::try_from(rows.nnz()).is_ok(); // term ids always fit
    if narrow {
        npy::write_array(&mut archive, "<i4", rows.terms().iter().map(|term| term.to_le_bytes()))?;
    } else {
        npy::write_array(
            &mut archive,
            "<i8",
            rows.terms().iter().map(|&term| u64::from(term).to_le_bytes()),
        )?;
    }
    archive.start_file("indptr.npy", options(8 * rows.offsets().len()))?;
    if narrow {
        let offsets = rows.offsets().iter().map(|&offset| (offset as u32).to_le_bytes());
        npy::write_array(&mut archive, "<i4", offsets)?;
    } else {
        npy::write_array(&mut archive, "<i8", rows.offsets().iter().map(|offset| offset.to_le_bytes()))?;
    }
    archive.start_file("format.npy", small)?;
    npy::write_header(&mut archive, "|S3", "()")?;
    archive.write_all(b"csr")?;
    archive.start_file("shape.npy", small)?;
    let shape = [rows.n_rows() as u64, rows.n_terms() as u64];
    npy::write_array(&mut archive, "<i8", shape.iter().map(|length| length.to_le_bytes()))?;
    archive.start_file("data.npy", options(4 * rows.nnz()))?;
    npy::write_array(&mut archive, "<f4", rows.values().iter().map(|value| value.to_le_bytes()))?;
    archive.finish()?;
    Ok(())
}

/// A writer that silently discards everything after its first error.
///
/// A `ZipWriter` that fails tries to finish its archive when it is dropped and, if that fails too,
/// prints to stderr. The library does not print, so the `ZipWriter` never sees an error; the caller
/// finds it here.
struct FirstError<W> {
    inner: W,
    position: u64,
    error: Option<io::Error>,
}

impl<W: Write> Write for FirstError<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = bytes.len();
        if self.error.is_none() {
            match self.inner.write(bytes) {
                Ok(0) if !bytes.is_empty() => self.error = Some(io::ErrorKind::WriteZero.into()),
                Ok(accepted) => written = accepted,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => self.error = Some(error),
            }
        }
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_none() {
            self.error = self.inner.flush().err();
        }
        Ok(())
    }
}

impl<W: Seek> Seek for FirstError<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.error.is_none() {
            match self.inner.seek(to) {
                Ok(position) => self.position = position,
                Err(error) => self.error = Some(error),
            }
        }
        if self.error.is_some() {
            self.position = match to {
                SeekFrom::Start(position) => position,
                SeekFrom::Current(by) => self.position.saturating_add_signed(by),
                SeekFrom::End(_) => self.position,
            };
        }
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests;
