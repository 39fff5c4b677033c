//! Unit rows in a file as they are in memory, so that it can be mapped: what does not fit into
//! memory is clustered from there.
//!
//! Beside the packed form of [`rows_file`](super::rows_file), which is smaller, this one can be
//! written row by row and read without being unpacked. All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4,096 | header: mark, version 2, [`Shape`], length of the file, CRC-32; zeros |
//! | 8 each | offsets: the start of each row, and the end of the last |
//! | 4 each | terms of all rows |
//! | 4 each | values of all rows |
//! | 12 for each [`BLOCK_ROWS`] rows | CRC-32 of their ends, terms and values |
//!
//! Each array begins at a multiple of 4,096. The writer reserves room for the terms before it knows
//! how many there will be, so there may be a hole after them.
//!
//! The header is written last: a file that was not finished has none, and is refused. What the
//! header says of all rows is known without touching any.
//!
//! **Cost.** 8 bytes per nonzero and 8 per row on disk. Memory of the writer: 12 bytes per block.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use crc32fast::Hasher;
use rayon::prelude::*;

use super::rows::SparseRows;
use super::unit::{UNIT_TOLERANCE, UnitRows};
use crate::container::Kind;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::DocId;
use crate::mapping::{Mapped, Mapping, Plain, Scratch, write_at};

pub(super) const KIND: Kind =
    Kind { mark: *b"\xd5DsRows\n", name: "file of rows", whole: "the rows of the documents", version: 2 };

/// Rows with checksums of their own.
const BLOCK_ROWS: usize = 1 << 16;

const HEADER_BYTES: u64 = 4096;

/// Arrays begin at multiples of this.
const ALIGNMENT: u64 = 4096;

/// The numbers of the header, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shape {
    n_rows: u64,
    n_terms: u64,
    nnz: u64,
    max_row_nnz: u64,
    /// 1 if no value is negative, else 0.
    non_negative: u64,
    /// Where the arrays begin.
    offsets: u64,
    terms: u64,
    values: u64,
    checksums: u64,
    /// The length of the file.
    end: u64,
}

impl Shape {
    /// Places for the arrays of so many rows and nonzeros.
    fn new(n_rows: u64, n_terms: u64, most_nnz: u64) -> Option<Self> {
        let after = |start: u64, n: u64, size: u64| {
            start.checked_add(n.checked_mul(size)?)?.checked_next_multiple_of(ALIGNMENT)
        };
        let offsets = HEADER_BYTES;
        let terms = after(offsets, n_rows.checked_add(1)?, 8)?;
        let values = after(terms, most_nnz, 4)?;
        let checksums = after(values, most_nnz, 4)?;
        let end = checksums.checked_add(n_rows.div_ceil(BLOCK_ROWS as u64) * 12)?;
        Some(Shape {
            n_rows,
            n_terms,
            nnz: most_nnz,
            max_row_nnz: 0,
            non_negative: 1,
            offsets,
            terms,
            values,
            checksums,
            end,
        })
    }

    fn numbers(&self) -> [u64; 10] {
        let Shape { n_rows, n_terms, nnz, max_row_nnz, non_negative, .. } = *self;
        let Shape { offsets, terms, values, checksums, end, .. } = *self;
        [n_rows, n_terms, nnz, max_row_nnz, non_negative, offsets, terms, values, checksums, end]
    }

    fn header(&self) -> Vec<u8> {
        let mut header = KIND.mark.to_vec();
        header.extend(KIND.version.to_le_bytes());
        self.numbers().iter().for_each(|number| header.extend(number.to_le_bytes()));
        let checksum = crc32fast::hash(&header);
        header.extend(checksum.to_le_bytes());
        header.resize(HEADER_BYTES as usize, 0);
        header
    }

    /// Reads a header; the sizes must be those of a file of this length.
    fn read(header: &[u8], file_bytes: u64) -> Result<Self> {
        const N_BYTES: usize = 8 + 4 + 8 * 10;
        let wrong = |found: &str| KIND.damaged("a header that matches its checksum", found);
        let checked = header.get(..N_BYTES + 4).ok_or_else(|| wrong("the end of the file"))?;
        let (checked, checksum) = checked.split_at(N_BYTES);
        if crc32fast::hash(checked).to_le_bytes() != checksum {
            return Err(wrong("other content; the file is damaged, or was never finished"));
        }
        let mut numbers =
            checked[12..].chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let mut next = || numbers.next().expect("as many numbers as fields");
        let shape = Shape {
            n_rows: next(),
            n_terms: next(),
            nnz: next(),
            max_row_nnz: next(),
            non_negative: next(),
            offsets: next(),
            terms: next(),
            values: next(),
            checksums: next(),
            end: next(),
        };
        SparseRows::check_shape(
            usize::try_from(shape.n_rows).unwrap_or(usize::MAX),
            usize::try_from(shape.n_terms).unwrap_or(usize::MAX),
        )?;
        if shape.end != file_bytes {
            let found = format!("{file_bytes}; the file is truncated or damaged");
            return Err(KIND.damaged(format!("{} bytes", shape.end), found));
        }
        Ok(shape)
    }

    /// The bytes of `n` items of an array.
    fn bytes(start: u64, n: u64, size: u64) -> Range<u64> {
        start..start.saturating_add(n.saturating_mul(size))
    }
}

/// Writes rows to a file, in order.
pub(super) struct OpenRowsWriter {
    file: File,
    shape: Shape,
    /// Written so far.
    n_rows: u64,
    nnz: u64,
    zero_rows: Vec<DocId>,
    max_row_nnz: u64,
    non_negative: bool,
    /// Of the block that is being written: its ends, terms and values.
    hashers: [Hasher; 3],
    /// Of the blocks before.
    checksums: Vec<u32>,
}

impl OpenRowsWriter {
    /// Begins to write a file, which is empty, of `n_rows` rows with at most `most_nnz` nonzeros.
    pub(super) fn new(file: File, n_rows: usize, n_terms: usize, most_nnz: u64) -> Result<Self> {
        SparseRows::check_shape(n_rows, n_terms)?;
        let too_large = || Error::malformed(KIND.name, "fewer nonzeros", most_nnz.to_string());
        let shape = Shape::new(n_rows as u64, n_terms as u64, most_nnz).ok_or_else(too_large)?;
        write_numbers(&file, &[0u64], shape.offsets)?;
        Ok(OpenRowsWriter {
            file,
            shape,
            n_rows: 0,
            nnz: 0,
            zero_rows: Vec::new(),
            max_row_nnz: 0,
            non_negative: true,
            hashers: [Hasher::new(), Hasher::new(), Hasher::new()],
            checksums: Vec::new(),
        })
    }

    /// Writes the next rows: where each ends among these terms and values.
    ///
    /// Rows have length one, ascending terms below `n_terms`, and finite values that are not zero.
    pub(super) fn push(&mut self, row_ends: &[usize], terms: &[u32], values: &[f32]) -> Result<()> {
        assert!(self.n_rows + row_ends.len() as u64 <= self.shape.n_rows, "no more rows than stated");
        assert!(self.nnz + terms.len() as u64 <= self.shape.nnz, "no more nonzeros than stated");
        let first = self.nnz;
        let ends: Vec<u64> = row_ends.iter().map(|&end| first + end as u64).collect();
        write_numbers(&self.file, &ends, self.shape.offsets + 8 * (self.n_rows + 1))?;
        write_numbers(&self.file, terms, self.shape.terms + 4 * first)?;
        write_numbers(&self.file, values, self.shape.values + 4 * first)?;
        self.non_negative &= values.iter().all(|&value| value >= 0.0);
        let (mut from_row, mut from) = (0, 0);
        while from_row < row_ends.len() {
            // As far as this block goes.
            let room = BLOCK_ROWS - self.n_rows as usize % BLOCK_ROWS;
            let to_row = row_ends.len().min(from_row + room);
            let to = row_ends[to_row - 1];
            hash(&mut self.hashers[0], &ends[from_row..to_row]);
            hash(&mut self.hashers[1], &terms[from..to]);
            hash(&mut self.hashers[2], &values[from..to]);
            let mut start = from;
            for (row, &end) in row_ends[from_row..to_row].iter().enumerate() {
                self.max_row_nnz = self.max_row_nnz.max((end - start) as u64);
                if end == start {
                    self.zero_rows.push(DocId::new(self.n_rows as u32 + row as u32));
                }
                start = end;
            }
            self.n_rows += (to_row - from_row) as u64;
            if self.n_rows.is_multiple_of(BLOCK_ROWS as u64) {
                self.end_block();
            }
            (from_row, from) = (to_row, to);
        }
        self.nnz += terms.len() as u64;
        Ok(())
    }

    fn end_block(&mut self) {
        let hashers = std::mem::replace(&mut self.hashers, [Hasher::new(), Hasher::new(), Hasher::new()]);
        self.checksums.extend(hashers.map(Hasher::finalize));
    }

    /// Ends the file, and maps it: its rows were checked when they were pushed.
    pub(super) fn finish(mut self) -> Result<UnitRows<'static>> {
        assert_eq!(self.n_rows, self.shape.n_rows, "all rows were written");
        if !self.n_rows.is_multiple_of(BLOCK_ROWS as u64) {
            self.end_block();
        }
        self.shape.nnz = self.nnz;
        self.shape.max_row_nnz = self.max_row_nnz;
        self.shape.non_negative = u64::from(self.non_negative);
        write_numbers(&self.file, &self.checksums, self.shape.checksums)?;
        self.file.set_len(self.shape.end).map_err(|error| Error::io("write", error))?;
        write_numbers(&self.file, &self.shape.header(), 0)?;
        let arrays = Arrays::new(&Mapping::new(&self.file)?, &self.shape)?;
        Ok(arrays.into_rows(&self.shape, self.zero_rows))
    }
}

/// Writes numbers in the order of bytes of the file.
fn write_numbers<T: Plain>(file: &File, numbers: &[T], at: u64) -> Result<()> {
    if cfg!(target_endian = "big") && size_of::<T>() > 1 {
        return Err(unsupported());
    }
    write_at(file, numbers, at)
}

fn unsupported() -> Error {
    let what = "this processor has another order of bytes than files of rows that can be mapped";
    Error::malformed(KIND.name, "a processor with little endian numbers", what.to_owned())
}

fn hash<T: Plain>(hasher: &mut Hasher, items: &[T]) {
    hasher.update(crate::mapping::bytes_of(items));
}

/// The arrays of a mapped file.
struct Arrays {
    offsets: Mapped<u64>,
    terms: Mapped<u32>,
    values: Mapped<f32>,
    checksums: Mapped<u32>,
}

impl Arrays {
    fn new(mapping: &Mapping, shape: &Shape) -> Result<Self> {
        fn array<T: Plain>(mapping: &Mapping, start: u64, n: u64) -> Result<Mapped<T>> {
            let bytes = Shape::bytes(start, n, size_of::<T>() as u64);
            let wrong = || KIND.damaged("arrays inside the file", format!("one at {bytes:?}"));
            mapping.array(bytes.clone()).ok_or_else(wrong)
        }
        let n_checksums = 3 * shape.n_rows.div_ceil(BLOCK_ROWS as u64);
        Ok(Arrays {
            offsets: array(mapping, shape.offsets, shape.n_rows.saturating_add(1))?,
            terms: array(mapping, shape.terms, shape.nnz)?,
            values: array(mapping, shape.values, shape.nnz)?,
            checksums: array(mapping, shape.checksums, n_checksums)?,
        })
    }

    fn into_rows(self, shape: &Shape, zero_rows: Vec<DocId>) -> UnitRows<'static> {
        let Arrays { offsets, terms, values, .. } = self;
        let rows = SparseRows::mapped(shape.n_terms as usize, offsets, terms, values);
        UnitRows::mapped(rows, zero_rows, shape.non_negative == 1, shape.max_row_nnz as usize)
    }

    /// Checks a block of rows. Returns its zero rows, its longest row, and whether no value is
    /// negative.
    fn check(&self, shape: &Shape, block: usize) -> Result<(Vec<DocId>, u64, bool)> {
        let first = block * BLOCK_ROWS;
        let rows = first..(first + BLOCK_ROWS).min(shape.n_rows as usize);
        let wrong = |found: &str| {
            KIND.damaged(format!("rows {} to {} as they were written", rows.start, rows.end), found)
        };
        let ends = &self.offsets[rows.start..=rows.end];
        let ascend = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ascend || ends[ends.len() - 1] > shape.nnz || first == 0 && ends[0] != 0 {
            return Err(wrong("offsets that do not ascend"));
        }
        let nonzeros = ends[0] as usize..ends[ends.len() - 1] as usize;
        let (terms, values) = (&self.terms[nonzeros.clone()], &self.values[nonzeros]);
        let mut hashers = [Hasher::new(), Hasher::new(), Hasher::new()];
        hash(&mut hashers[0], &ends[1..]);
        hash(&mut hashers[1], terms);
        hash(&mut hashers[2], values);
        if hashers.map(Hasher::finalize) != self.checksums[3 * block..3 * block + 3] {
            return Err(wrong("other content; the file is damaged"));
        }
        let (mut zero_rows, mut longest) = (Vec::new(), 0);
        for (row, pair) in ends.windows(2).enumerate() {
            let own = (pair[0] - ends[0]) as usize..(pair[1] - ends[0]) as usize;
            longest = longest.max(own.len() as u64);
            let (terms, values) = (&terms[own.clone()], &values[own]);
            let Some(&last) = terms.last() else {
                zero_rows.push(DocId::new((first + row) as u32));
                continue;
            };
            let ascend = terms.windows(2).all(|pair| pair[0] < pair[1]);
            let length = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
            let is_unit = (length - 1.0).abs() <= UNIT_TOLERANCE; // false for values that are not finite
            if !ascend || u64::from(last) >= shape.n_terms || !is_unit || values.contains(&0.0) {
                return Err(wrong("a row that is no unit row"));
            }
        }
        Ok((zero_rows, longest, values.iter().all(|&value| value >= 0.0)))
    }
}

impl UnitRows<'_> {
    /// Writes the rows to a new file as they are in memory, for [`UnitRows::open_mapped`]. On an
    /// error no file is left.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn save_open(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| Error::io("create", error).at_path(path))?;
        self.write_open(file).map(drop).map_err(|error| {
            // Without a header, a file that cannot be removed is not taken for rows.
            let _ = std::fs::remove_file(path);
            error.at_path(path)
        })
    }

    /// The same rows in a file without a name on the disk of a folder, [mapped](Self::open_mapped).
    /// The file is gone when they are.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn in_scratch_file(&self, folder: impl AsRef<Path>) -> Result<UnitRows<'static>> {
        let folder = folder.as_ref();
        self.write_open(Scratch::new(folder)?.into_file()).map_err(|error| error.at_path(folder))
    }

    /// Writes the rows to a file, which is empty, and maps it.
    pub(super) fn write_open(&self, file: File) -> Result<UnitRows<'static>> {
        let mut writer = OpenRowsWriter::new(file, self.n_rows(), self.n_terms(), self.nnz() as u64)?;
        let (offsets, rows) = (self.as_sparse().offsets(), self.as_sparse());
        for start in (0..self.n_rows()).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(self.n_rows());
            let nonzeros = offsets[start] as usize..offsets[end] as usize;
            let end_of = |&offset: &u64| (offset - offsets[start]) as usize;
            let ends: Vec<usize> = offsets[start + 1..=end].iter().map(end_of).collect();
            writer.push(&ends, &rows.terms()[nonzeros.clone()], &rows.values()[nonzeros])?;
        }
        writer.finish()
    }

    /// Rows in a file that [`save_open`](Self::save_open) or a run with little memory wrote,
    /// without reading them into memory: the same bits. They are checked once, in order, on the
    /// current rayon pool.
    ///
    /// The file must not change while the rows exist: if it is cut short, the process ends with a
    /// signal. How much of it stays in memory: see
    /// [`keep_resident_within`](crate::keep_resident_within).
    ///
    /// ```
    /// use docsphere::{SparseRows, UnitRows};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("rows.docsphere");
    /// let rows = SparseRows::from_parts(3, vec![0, 2, 2], vec![0, 2], vec![3.0, 4.0])?;
    /// let rows = UnitRows::new(rows);
    /// rows.save_open(&path)?;
    /// assert_eq!(UnitRows::open_mapped(&path)?, rows);
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that holds no rows, is damaged, packed, or was written by a newer version.
    pub fn open_mapped(path: impl AsRef<Path>) -> Result<UnitRows<'static>> {
        let path = path.as_ref();
        open(path).map_err(|error| error.at_path(path))
    }
}

fn open(path: &Path) -> Result<UnitRows<'static>> {
    let file = File::open(path).map_err(|error| Error::io("open", error))?;
    let mapping = Mapping::new(&file)?;
    let header = mapping.array::<u8>(0..mapping.n_bytes().min(HEADER_BYTES)).expect("bytes of the file");
    match version(&header) {
        Some(1) => {
            return Err(KIND.damaged("rows that can be mapped", "packed rows, which are read into memory"));
        }
        Some(2) => {}
        Some(found) => {
            return Err(ErrorKind::NewerFormat { found, supported: KIND.version }.into());
        }
        None => {
            let expected = format!("a file that begins with the mark of a {}", KIND.name);
            return Err(KIND.damaged(expected, "another kind of file"));
        }
    }
    let shape = Shape::read(&header, mapping.n_bytes())?;
    let arrays = Arrays::new(&mapping, &shape)?;
    let n_blocks = (shape.n_rows as usize).div_ceil(BLOCK_ROWS);
    let check = |block: usize| arrays.check(&shape, block);
    let numbers = || (0..n_blocks).into_par_iter().with_max_len(1);
    // Of several errors the first in the file, for any number of threads.
    let blocks = numbers().map(check).collect::<Result<Vec<_>>>();
    let blocks = blocks.map_err(|any| numbers().find_map_first(|block| check(block).err()).unwrap_or(any))?;
    let longest = blocks.iter().map(|block| block.1).max().unwrap_or(0);
    let non_negative = blocks.iter().all(|block| block.2);
    let ends_right = arrays.offsets[0] == 0 && arrays.offsets[shape.n_rows as usize] == shape.nnz;
    if !ends_right || longest != shape.max_row_nnz || u64::from(non_negative) != shape.non_negative {
        return Err(KIND.damaged("rows as the header says", "others"));
    }
    let zero_rows = blocks.into_iter().flat_map(|block| block.0).collect();
    Ok(arrays.into_rows(&shape, zero_rows))
}

/// The version of a file of rows that begins with these bytes; `None` for other files.
pub(super) fn version(header: &[u8]) -> Option<u32> {
    let version = header.strip_prefix(&KIND.mark)?.get(..4)?;
    Some(u32::from_le_bytes(version.try_into().expect("4 bytes")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::rows::{MAX_ROWS, Row};
    use super::super::unit::rows_of_lists as rows;
    use super::*;

    fn several_blocks() -> UnitRows<'static> {
        let list: Vec<Vec<(u32, f32)>> = (0..2 * BLOCK_ROWS as u32 + 5)
            .map(|n| (0..n % 4).map(|t| (n % 100 + t, if n == 70_000 { -1.0 } else { 1.0 })).collect())
            .collect();
        rows(200, &list)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn rows_come_back_with_the_same_bits(
            entries in prop::collection::vec(
                prop::collection::btree_map(0u32..(1 << 27), prop::num::f32::NORMAL.prop_map(|v| v % 1e9), 0..9),
                0..30,
            ),
        ) {
            let entries: Vec<Vec<(u32, f32)>> =
                entries.into_iter().map(|row| row.into_iter().filter(|entry| entry.1 != 0.0).collect()).collect();
            let rows = rows(1 << 27, &entries);
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("rows");
            rows.save_open(&path).unwrap();
            let found = UnitRows::open_mapped(&path).unwrap();
            prop_assert!(found.is_mapped());
            prop_assert_eq!((found.as_sparse(), found.zero_rows()), (rows.as_sparse(), rows.zero_rows()));
            prop_assert_eq!(found.as_sparse().memory_bytes(), 0);
        }
    }

    /// Files full of holes, since nothing of them is read but the header.
    #[test]
    fn more_rows_than_allowed_are_refused_with_numbers_and_none_is_read() {
        let home = tempfile::tempdir().unwrap();
        for (n_rows, begin) in [
            (MAX_ROWS + 1, "the number of rows is limited to 1073741824, got 1073741825"),
            // So many are allowed; they are read then, and are not there.
            (MAX_ROWS, "not valid file of rows: expected rows 0 to 65536 as they were written"),
        ] {
            let shape = Shape::new(n_rows, 5, 0).unwrap();
            let path = home.path().join("rows");
            fs::write(&path, shape.header()).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_len(shape.end).unwrap();
            let error = UnitRows::open_mapped(&path).unwrap_err().to_string();
            assert!(error.contains(begin), "{error}");
        }
        let refused = OpenRowsWriter::new(tempfile::tempfile().unwrap(), MAX_ROWS as usize + 1, 5, 0);
        assert!(matches!(refused.err().unwrap().kind(), ErrorKind::TooLarge { limit: MAX_ROWS, .. }));
    }

    /// Offsets have 64 bits: so many nonzeros are no matter of what a file may say.
    #[test]
    fn places_of_arrays_have_64_bits() {
        let shape = Shape::new(MAX_ROWS, 1 << 28, 1 << 40).unwrap();
        assert_eq!(shape.terms, 4096 + 8 * (MAX_ROWS + 512));
        assert_eq!(shape.values - shape.terms, 4 << 40);
        assert_eq!(Shape::bytes(shape.values, 1 << 40, 4).end, shape.checksums);
        let read = Shape::read(&shape.header(), shape.end).unwrap();
        assert_eq!(read, shape);
        assert_eq!(Shape::new(MAX_ROWS, 1 << 28, 1 << 62), None, "more than a file can have");
    }

    #[test]
    fn rows_that_come_in_any_pieces_make_the_same_file() {
        let all = several_blocks();
        let home = tempfile::tempdir().unwrap();
        let (whole, pieces) = (home.path().join("whole"), home.path().join("pieces"));
        all.save_open(&whole).unwrap();
        let file = File::options().read(true).write(true).create_new(true).open(&pieces).unwrap();
        let mut writer = OpenRowsWriter::new(file, all.n_rows(), all.n_terms(), all.nnz() as u64).unwrap();
        let mut start = 0;
        for size in [1, 65_534, 2, 65_535, 0, 5] {
            let part = all.part(start..start + size);
            let mut end = 0;
            let end_of = |row: Row<'_>| {
                end += row.nnz();
                end
            };
            let ends: Vec<usize> = part.iter().map(end_of).collect();
            writer.push(&ends, part.as_sparse().terms(), part.as_sparse().values()).unwrap();
            start += size;
        }
        assert_eq!(writer.finish().unwrap(), all);
        assert!(fs::read(&whole).unwrap() == fs::read(&pieces).unwrap());
    }

    #[test]
    fn room_that_is_not_needed_is_a_hole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let mut writer = OpenRowsWriter::new(file, 2, 9, 100_000).unwrap();
        writer.push(&[1, 1], &[8], &[1.0]).unwrap();
        let written = writer.finish().unwrap();
        assert_eq!(UnitRows::open_mapped(&path).unwrap(), written);
        assert_eq!((written.row(0).terms, written.zero_rows()), (&[8][..], &[DocId::new(1)][..]));
    }

    #[test]
    fn a_damaged_or_truncated_file_is_an_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows.docsphere");
        rows(5, &[vec![(0, 1.0), (4, 2.0)], vec![], vec![(3, 1.0)]]).save_open(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in (0..200).chain((200..whole.len()).step_by(97)).chain([whole.len() - 1]) {
            fs::write(&path, &whole[..length]).unwrap();
            let message = UnitRows::open_mapped(&path).unwrap_err().to_string();
            assert!(message.contains("rows.docsphere: "), "{message}");
        }
        // The arrays, and the header without what fills its page.
        let arrays = [(0, 96), (4096, 32), (8192, 12), (12_288, 12), (16_384, 12)];
        for at in arrays.into_iter().flat_map(|(start, len)| start..start + len) {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            fs::write(&path, changed).unwrap();
            assert!(UnitRows::open_mapped(&path).is_err(), "byte {at}");
            assert!(UnitRows::load(&path).is_err(), "byte {at}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(UnitRows::load(&path).unwrap(), UnitRows::open_mapped(&path).unwrap());
        assert!(!UnitRows::load(&path).unwrap().is_mapped());
        let scratch = UnitRows::load(&path).unwrap().in_scratch_file(home.path()).unwrap();
        assert!(scratch.is_mapped() && scratch == UnitRows::load(&path).unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    /// Whoever writes a file can also write the checksums that belong to it.
    #[test]
    fn rows_are_not_trusted_because_their_checksums_are_right() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, terms: &[u32], values: &[f32], ends: &[usize]| {
            let path = home.path().join(name);
            let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
            let mut writer = OpenRowsWriter::new(file, ends.len(), 5, terms.len() as u64).unwrap();
            writer.push(ends, terms, values).unwrap();
            writer.finish().unwrap();
            UnitRows::open_mapped(&path).unwrap_err().to_string()
        };
        for (name, terms, values, ends) in [
            ("beyond", &[5][..], &[1.0][..], &[1][..]),
            ("descending", &[3, 2], &[0.6, 0.8], &[2]),
            ("twice", &[3, 3], &[0.6, 0.8], &[2]),
            ("long", &[3], &[2.0], &[1]),
            ("infinite", &[3], &[f32::INFINITY], &[1]),
            ("no number", &[3], &[f32::NAN], &[1]),
            ("zero", &[2, 3], &[1.0, 0.0], &[2]),
        ] {
            assert!(write(name, terms, values, ends).contains("a row that is no unit row"), "{name}");
        }
    }

    #[test]
    fn packed_rows_and_other_files_say_what_they_are() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows");
        several_blocks().save(&path).unwrap();
        let message = |path: &Path| UnitRows::open_mapped(path).unwrap_err().to_string();
        assert!(message(&path).contains("packed rows, which are read into memory"));
        fs::write(&path, "some text\n".repeat(1000)).unwrap();
        assert!(message(&path).contains("another kind of file"));
        fs::write(&path, [&KIND.mark[..], &9u32.to_le_bytes(), &[0; 99]].concat()).unwrap();
        assert!(message(&path).contains("format version 9"));
        assert!(UnitRows::load(&path).unwrap_err().to_string().contains("format version 9"));
    }
}
