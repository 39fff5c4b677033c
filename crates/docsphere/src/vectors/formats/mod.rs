//! Matrix files: SciPy `.npz`, Matrix Market, svmlight, UCI bag-of-words, and docsphere's own.
//!
//! [`read`] and [`write()`] guess the format from the file's name; [`read_as`] and [`write_as`] are
//! given it. Each format has a module with its specific functions, including ones for any reader or
//! writer:
//!
//! | format | names | module | keeps |
//! |---|---|---|---|
//! | [`Format::Npz`] | `*.npz` | [`npz`] | everything; the fastest and smallest |
//! | [`Format::MatrixMarket`] | `*.mtx` | [`mtx`] | everything |
//! | [`Format::Svmlight`] | `*.svmlight`, `*.svm`, `*.libsvm` | [`svmlight`] | all but the number of terms; drops targets |
//! | [`Format::BagOfWords`] | `docword*` | [`bow`] | everything; the vocabulary is a file of its own |
//! | [`Format::Rows`] | `*.docsphere` | [`UnitRows`] | rows of length one and zero rows, no others |
//!
//! All but the last may be compressed with gzip or zstd: reading detects it by content, writing
//! goes by the extension `.gz` or `.zst`. [`Format::Rows`] is the file of [`UnitRows::save`] or
//! [`UnitRows::save_open`]; the latter is written, and can also be mapped
//! ([`UnitRows::open_mapped`]) rather than read into memory. Files are written atomically. Values
//! pass through every format without changing a bit; 64-bit floats are rounded to 32 bits on
//! reading, and those that become zero are dropped.
//!
//! A damaged or inconsistent file is an error that names the file, for text the line, and what was
//! expected: never a panic, and never an allocation for data that does not exist.
//!
//! ```
//! use docsphere::{SparseRows, formats};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("two-rows.mtx.gz");
//! let rows = SparseRows::from_parts(3, vec![0, 1, 3], vec![2, 0, 1], vec![0.5, 1.0, 2.0])?;
//! formats::write(&path, &rows)?;
//! assert_eq!(formats::read(&path)?, rows);
//! # Ok::<(), docsphere::Error>(())
//! ```

use std::path::Path;
use std::{fs, io};

use super::{Row, SparseRows, UNIT_TOLERANCE, UnitRows};
use crate::atomic_file::write_atomically;
use crate::compression;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::MemoryLimit;
use crate::names::impl_names;

pub mod bow;
mod entries;
mod lines;
pub mod mtx;
mod npy;
pub mod npz;
mod numbers;
#[cfg(test)]
mod packed_tests;
pub mod svmlight;
#[cfg(test)]
pub(crate) mod trials;

pub use bow::{BagOfWords, read_bag_of_words, write_bag_of_words};
pub use svmlight::{IdBase, SvmlightOptions};

/// What takes the memory, for messages.
const MATRIX: &str = "the matrix";

/// A matrix file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// SciPy sparse matrix, see [`npz`].
    Npz,
    /// Matrix Market coordinate file, see [`mtx`].
    MatrixMarket,
    /// svmlight or LIBSVM file, see [`svmlight`].
    Svmlight,
    /// UCI bag-of-words, see [`bow`].
    BagOfWords,
    /// Unit rows of docsphere, see [`UnitRows::save_open`].
    Rows,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Format] =
        &[Format::Npz, Format::MatrixMarket, Format::Svmlight, Format::BagOfWords, Format::Rows];

    /// The name by which users choose the format.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Npz => "npz",
            Format::MatrixMarket => "mtx",
            Format::Svmlight => "svmlight",
            Format::BagOfWords => "bow",
            Format::Rows => "rows",
        }
    }

    /// The format that a file of this name usually has. A final `.gz` or `.zst` and the letter case
    /// are ignored.
    ///
    /// ```
    /// use docsphere::formats::Format;
    ///
    /// assert_eq!(Format::from_path("data/docword.kos.txt.gz")?, Format::BagOfWords);
    /// assert!(Format::from_path("matrix.txt").is_err());
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for all other names.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = compression::without_ending(path).file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "npz" => Ok(Format::Npz),
            "mtx" => Ok(Format::MatrixMarket),
            "svmlight" | "svm" | "libsvm" => Ok(Format::Svmlight),
            "docsphere" => Ok(Format::Rows),
            _ if name.starts_with("docword") => Ok(Format::BagOfWords),
            _ => Err(Error::from(ErrorKind::Unsupported {
                what: "guessing the format from this file name".to_owned(),
                hint: "known are *.npz, *.mtx, *.svmlight, *.svm, *.libsvm and docword*, each also with \
                       .gz or .zst, and *.docsphere; for other names state the format: npz, mtx, \
                       svmlight, bow or rows"
                    .to_owned(),
            })
            .at_path(path)),
        }
    }
}

impl_names!(Format, "format");

/// Options for reading a matrix file.
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format; `None` to go by the name.
    pub format: Option<Format>,
    /// The number of terms of an svmlight file, which does not state it. Default: as many as the
    /// greatest id needs.
    pub n_terms: Option<usize>,
    /// Memory limit of the process while reading.
    pub memory: MemoryLimit,
}

impl ReadOptions {
    /// The format; `None` to go by the name.
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<Format>>) -> Self {
        self.format = format.into();
        self
    }

    /// The number of terms of an svmlight file; `None` for as many as the greatest id needs.
    #[must_use]
    pub fn n_terms(mut self, n_terms: impl Into<Option<usize>>) -> Self {
        self.n_terms = n_terms.into();
        self
    }

    /// Memory limit of the process while reading.
    #[must_use]
    pub fn memory(mut self, memory: MemoryLimit) -> Self {
        self.memory = memory;
        self
    }
}

/// Reads a matrix file whose format is determined by its name.
///
/// # Errors
/// A name that determines no format, and all errors of [`read_as`].
pub fn read(path: impl AsRef<Path>) -> Result<SparseRows<'static>> {
    let path = path.as_ref();
    read_as(path, Format::from_path(path)?)
}

/// Reads a matrix file.
///
/// # Errors
/// A file that cannot be read, that is damaged, that breaks the rules of its format, or that holds
/// more than [`MAX_ROWS`](super::MAX_ROWS) rows or [`MAX_TERMS`](super::MAX_TERMS) terms.
pub fn read_as(path: impl AsRef<Path>, format: Format) -> Result<SparseRows<'static>> {
    read_with(path, &ReadOptions { format: Some(format), ..ReadOptions::default() })
}

/// Reads a matrix file within a memory limit.
///
/// # Errors
/// As [`read`] and [`read_as`], and [`ErrorKind::Memory`] for a file that holds more than the limit
/// allows, however small its compressed size.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<SparseRows<'static>> {
    let (path, memory) = (path.as_ref(), &options.memory);
    let format = options.format.map_or_else(|| Format::from_path(path), Ok)?;
    let svmlight = SvmlightOptions { n_terms: options.n_terms, ..SvmlightOptions::default() };
    let rows = match format {
        Format::Npz => npz::read_within(path, memory),
        Format::MatrixMarket => mtx::read_within(path, memory),
        Format::Svmlight => svmlight::read_within(path, &svmlight, memory),
        Format::BagOfWords => bow::read_within(path, memory),
        Format::Rows => read_rows(path, memory),
    }?;
    if options.n_terms.is_none() {
        check_terms(&rows, format).map_err(|error| error.at_path(path))?;
    }
    Ok(rows)
}

/// Reads rows of docsphere.
fn read_rows(path: &Path, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    check_is_file(path)?;
    Ok(UnitRows::load_within(path, memory)?.into_sparse())
}

/// Refuses folders and empty files as the other formats do.
fn check_is_file(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|error| Error::io("read", error).at_path(path))?;
    if metadata.is_dir() {
        let error = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file");
        return Err(Error::io("read", error).at_path(path));
    }
    if metadata.len() == 0 && metadata.is_file() {
        let expected = "a file of rows".to_owned();
        return Err(Error::malformed("rows", expected, "an empty file".to_owned()).at_path(path));
    }
    Ok(())
}

/// Writes rows of docsphere, which must have length one.
fn write_rows(path: &Path, rows: &SparseRows<'_>) -> Result<()> {
    if compression::without_ending(path) != path {
        return Err(Error::from(ErrorKind::Unsupported {
            what: "compressing a file of rows".to_owned(),
            hint: "leave out the ending .gz or .zst".to_owned(),
        })
        .at_path(path));
    }
    let is_unit = |row: Row<'_>| row.nnz() == 0 || (row.length() - 1.0).abs() <= UNIT_TOLERANCE;
    if let Some(number) = rows.iter().position(|row| !is_unit(row)) {
        let length = rows.row(number).length();
        return Err(ErrorKind::Mismatch {
            what: "the length of each row",
            expected: "1 for this format, as UnitRows has them".to_owned(),
            got: format!("{length} in row {number}"),
        }
        .into());
    }
    let rows = UnitRows::new(rows.part(0..rows.n_rows()));
    write_atomically(path, |out| {
        let file = out.get_ref().try_clone().map_err(|error| Error::io("write", error))?;
        rows.write_open(file).map(drop)
    })
}

/// Later stages hold a few numbers per term, so a file that claims far more terms than it uses is
/// considered damaged.
fn check_terms(rows: &SparseRows<'_>, format: Format) -> Result<()> {
    const FREE_TERMS: usize = 1 << 24;
    const TERMS_PER_ENTRY: usize = 64;
    if rows.n_terms() <= FREE_TERMS.max(TERMS_PER_ENTRY * (rows.nnz() + 1)) {
        return Ok(());
    }
    let expected = format!("at most {TERMS_PER_ENTRY} terms for each of {} entries", rows.nnz());
    Err(Error::malformed(format.name(), expected, format!("{} terms", rows.n_terms())))
}

/// Writes a matrix file in the format determined by its name.
///
/// # Errors
/// A name that determines no format, and all errors of [`write_as`].
pub fn write(path: impl AsRef<Path>, rows: &SparseRows<'_>) -> Result<()> {
    let path = path.as_ref();
    write_as(path, rows, Format::from_path(path)?)
}

/// Writes a matrix file atomically.
///
/// # Errors
/// Those of the system.
pub fn write_as(path: impl AsRef<Path>, rows: &SparseRows<'_>, format: Format) -> Result<()> {
    match format {
        Format::Npz => npz::write(path, rows),
        Format::MatrixMarket => mtx::write(path, rows),
        Format::Svmlight => svmlight::write(path, rows),
        Format::BagOfWords => bow::write_bag_of_words(path, rows, None),
        Format::Rows => write_rows(path.as_ref(), rows),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file_name(format: Format) -> &'static str {
        match format {
            Format::Npz => "matrix.npz",
            Format::MatrixMarket => "matrix.mtx",
            Format::Svmlight => "matrix.svmlight",
            Format::BagOfWords => "docword.matrix.txt",
            Format::Rows => "rows.docsphere",
        }
    }

    /// The formats of all matrices, which may be compressed.
    fn any_matrix() -> impl Iterator<Item = Format> {
        Format::ALL.iter().copied().filter(|&format| format != Format::Rows)
    }

    #[test]
    fn files_of_rows_hold_rows_of_length_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.docsphere");
        let written = |rows: &SparseRows<'_>| {
            write(&path, rows)?;
            assert_eq!(UnitRows::open_mapped(&path)?.as_sparse(), rows);
            assert_eq!(&read(&path)?, rows);
            UnitRows::new(read(&path)?).save(&path)?;
            assert_eq!(&read(&path)?, rows, "packed");
            Ok::<_, Error>(())
        };
        for (name, rows) in trials::matrices() {
            let unit = UnitRows::new(rows.clone());
            written(unit.as_sparse()).unwrap();
            if unit.as_sparse() != &rows {
                let message = written(&rows).unwrap_err().to_string();
                assert!(
                    message.starts_with("the length of each row must be 1 for this format"),
                    "{name}: {message}"
                );
            }
        }
        let packed = write(folder.path().join("rows.docsphere.gz"), &read(&path).unwrap());
        assert!(packed.unwrap_err().to_string().ends_with("leave out the ending .gz or .zst"));
        let limit = |bytes| ReadOptions::default().memory(MemoryLimit::new(bytes, || 0));
        assert!(read_with(&path, &limit(1 << 30)).is_ok());
    }

    #[test]
    fn every_matrix_makes_the_round_trip_through_every_format_and_compression() {
        let folder = tempfile::tempdir().unwrap();
        for (name, rows) in trials::matrices() {
            for format in any_matrix() {
                for ending in ["", ".gz", ".zst"] {
                    let path = folder.path().join(format!("{}{ending}", file_name(format)));
                    write(&path, &rows).unwrap();
                    let back = match format {
                        Format::Svmlight => {
                            let options = SvmlightOptions {
                                n_terms: Some(rows.n_terms()),
                                ..SvmlightOptions::default()
                            };
                            svmlight::read(&path, &options)
                        }
                        _ => read(&path),
                    };
                    assert_eq!(back.unwrap(), rows, "{name} as {format}{ending}");
                }
            }
        }
    }

    #[test]
    fn compression_is_known_by_content_not_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (_, rows) = trials::matrices().pop().unwrap();
        for format in any_matrix() {
            for ending in ["", ".gz", ".zst"] {
                let path = folder.path().join(format!("{}{ending}", file_name(format)));
                write(&path, &rows).unwrap();
                let renamed = folder.path().join("renamed.gz");
                fs::rename(path, &renamed).unwrap();
                assert_eq!(read_as(&renamed, format).unwrap().nnz(), rows.nnz(), "{format}{ending}");
            }
        }
    }

    #[test]
    fn names_tell_the_format() {
        let cases = [
            ("a/b.npz", Format::Npz),
            ("b.NPZ.GZ", Format::Npz),
            ("b.mtx.zst", Format::MatrixMarket),
            ("b.svm", Format::Svmlight),
            ("b.libsvm.gz", Format::Svmlight),
            ("b.svmlight", Format::Svmlight),
            ("x/docword.kos.txt.gz", Format::BagOfWords),
            ("docword", Format::BagOfWords),
            ("a/rows.docsphere", Format::Rows),
            ("docword.npz", Format::Npz),
        ];
        for (name, format) in cases {
            assert_eq!(Format::from_path(name).unwrap(), format, "{name}");
        }
        for unknown in ["", "..", "a.txt", "npz", "mtx.gz", "a.npz.bz2", "a.npz.gz.gz", "vocab.kos.txt"] {
            assert!(Format::from_path(unknown).is_err(), "{unknown}");
        }
        assert_eq!(
            read("some/a.txt").unwrap_err().to_string(),
            "some/a.txt: guessing the format from this file name is not supported; known are *.npz, *.mtx, \
             *.svmlight, *.svm, *.libsvm and docword*, each also with .gz or .zst, and *.docsphere; for \
             other names state the format: npz, mtx, svmlight, bow or rows"
        );
    }

    #[test]
    fn format_names_are_parsed_as_they_are_printed() {
        for &format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert_eq!(
            "csv".parse::<Format>().unwrap_err().to_string(),
            "format must be one of npz, mtx, svmlight, bow, rows, got \"csv\""
        );
    }

    #[test]
    fn folders_missing_and_empty_files_are_clear_errors() {
        let folder = tempfile::tempdir().unwrap();
        let shown = folder.path().display();
        let empty = folder.path().join("empty");
        fs::write(&empty, b"").unwrap();
        for &format in Format::ALL {
            let message = |path: &Path| read_as(path, format).unwrap_err().to_string();
            assert_eq!(message(folder.path()), format!("{shown}: cannot read: it is a folder, not a file"));
            let missing = message(&folder.path().join("none"));
            assert!(missing.starts_with(&format!("{shown}/none: cannot read: ")), "{missing}");
            let empty = message(&empty);
            assert!(empty.starts_with(&format!("{shown}/empty: not valid ")), "{empty}");
            assert!(empty.ends_with(", found an empty file"), "{empty}");
        }
    }

    #[test]
    fn far_more_terms_than_entries_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.svmlight");
        std::fs::write(&path, "1 268435456:1\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.ends_with("expected at most 64 terms for each of 1 entries, found 268435456 terms"),
            "{message}"
        );
        std::fs::write(&path, "1 1048576:1\n").unwrap();
        assert_eq!(read(&path).unwrap().n_terms(), 1 << 20, "as hashed features have");
    }

    #[test]
    fn a_failed_write_names_the_file() {
        let (_, rows) = trials::matrices().pop().unwrap();
        for format in any_matrix() {
            let error = write_as("no/such/folder/a.gz", &rows, format).unwrap_err().to_string();
            assert_eq!(error, "no/such/folder/a.gz: cannot write: there is no folder no/such/folder");
        }
    }
}
