//! Unit rows on disk: what a result keeps of its documents, so that a run can go on with them.
//!
//! A [container](crate::container) with the section `shape` (numbers of 8 bytes: rows, terms,
//! nonzeros; then rows and nonzeros of each block) and one section per block of consecutive rows. A
//! block is a zstd frame. Decompressed, it holds the number of nonzeros of each row (4 bytes), the
//! terms of the rows as differences to the term before, and the values. Of terms and values it
//! holds the first bytes of all, then the second bytes of all, and so on: bytes of one kind pack
//! better. Values keep their bits.
//!
//! **Cost.** About 5 bytes per nonzero on disk. Memory: the packed blocks while a file is written
//! or read, and for each thread one block unpacked. Damage is an error; no size is trusted before
//! the bytes are there.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rayon::prelude::*;

use super::open_rows;
use super::rows::SparseRows;
use super::unit::UnitRows;
use crate::compression::read_whole;
use crate::container::{Container, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};

const KIND: Kind =
    Kind { mark: *b"\xd5DsRows\n", name: "file of rows", whole: "the rows of the documents", version: 1 };

const SHAPE: &str = "shape";

/// The least number of rows of a block.
const BLOCK_ROWS: usize = 1 << 13;

/// The greatest number of blocks: a container has at most 256 sections.
const MAX_BLOCKS: usize = 240;

/// Fast: rows are written in every run and read in few.
const LEVEL: i32 = 1;

/// Bytes of memory per byte of the file while it is decoded.
const DECODED: u64 = 2;

/// Rows and nonzeros of a block.
struct Shape {
    n_rows: u64,
    nnz: u64,
}

impl Shape {
    /// The size of the block when unpacked.
    fn n_bytes(&self) -> u64 {
        self.n_rows.saturating_mul(4).saturating_add(self.nnz.saturating_mul(8))
    }
}

impl UnitRows<'_> {
    /// Writes the rows to a file atomically; an existing file stays until the new one is complete.
    /// On the current rayon pool.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let block_rows = self.n_rows().div_ceil(MAX_BLOCKS).max(BLOCK_ROWS);
        let starts: Vec<usize> = (0..self.n_rows()).step_by(block_rows).collect();
        let pack = |&start: &usize| {
            let block = unpacked_block(self, start..(start + block_rows).min(self.n_rows()));
            zstd::bulk::compress(&block, LEVEL).map_err(|error| Error::io("pack rows", error))
        };
        let blocks = starts.par_iter().map(pack).collect::<Result<Vec<_>>>()?;
        let mut shape = Vec::with_capacity(24 + 16 * blocks.len());
        let mut put = |number: usize| shape.extend((number as u64).to_le_bytes());
        [self.n_rows(), self.n_terms(), self.nnz()].into_iter().for_each(&mut put);
        let offsets = self.as_sparse().offsets();
        for &start in &starts {
            let end = (start + block_rows).min(self.n_rows());
            put(end - start);
            put((offsets[end] - offsets[start]) as usize);
        }
        let mut container = Container::default();
        container.push(SHAPE, shape);
        for (number, block) in blocks.into_iter().enumerate() {
            container.push(&number.to_string(), block);
        }
        container.write(path.as_ref(), &KIND)
    }

    /// Reads rows that [`save`](Self::save) or [`save_open`](Self::save_open) wrote: the same bits.
    ///
    /// ```
    /// use docsphere::{SparseRows, UnitRows};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("rows.docsphere");
    /// let rows = SparseRows::from_parts(3, vec![0, 2, 2], vec![0, 2], vec![3.0, 4.0])?;
    /// let rows = UnitRows::new(rows);
    /// rows.save(&path)?;
    /// assert_eq!(UnitRows::load(&path)?, rows);
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that holds no rows, is damaged, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<UnitRows<'static>> {
        Self::load_within(path, &NO_LIMIT)
    }

    /// Reads rows within a memory limit.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::Memory`] for too many rows.
    pub fn load_within(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
        let path = path.as_ref();
        if is_open(path).map_err(|error| error.at_path(path))? {
            let mapped = UnitRows::open_mapped(path)?;
            let rows = mapped.as_sparse();
            let bytes = 8 * (rows.offsets().len() + rows.nnz()) as u64;
            memory.check(KIND.whole, bytes).map_err(|error| error.at_path(path))?;
            return Ok(mapped.into_memory());
        }
        let container = Container::read(path, &KIND, DECODED, memory)?;
        from_container(&container, memory).map_err(|error| error.at_path(path))
    }

    /// Reads rows into memory if the limit has room for them, and else maps them, if
    /// [`save_open`](Self::save_open) wrote the file.
    ///
    /// # Errors
    /// As [`load_within`](Self::load_within); too many rows only if they are packed.
    pub fn load_or_map(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
        let path = path.as_ref();
        match Self::load_within(path, memory) {
            Err(error) if matches!(error.kind(), ErrorKind::Memory { .. }) => {
                if is_open(path).map_err(|error| error.at_path(path))? {
                    return Self::open_mapped(path);
                }
                Err(error)
            }
            loaded => loaded,
        }
    }
}

/// Whether the rows of a file are not packed.
fn is_open(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| Error::io("open", error))?;
    file.take(16).read_to_end(&mut start).map_err(|error| Error::io("read", error))?;
    Ok(open_rows::version(&start) == Some(open_rows::KIND.version))
}

/// The content of a block of rows.
fn unpacked_block(rows: &UnitRows<'_>, range: std::ops::Range<usize>) -> Vec<u8> {
    let part = rows.part(range);
    let nnz = part.nnz();
    let mut gaps = Vec::with_capacity(nnz);
    let mut block = Vec::with_capacity(4 * part.n_rows() + 8 * nnz);
    for row in part.iter() {
        block.extend((row.nnz() as u32).to_le_bytes());
        let mut last = 0;
        for &term in row.terms {
            gaps.push(term - last);
            last = term;
        }
    }
    for place in 0..4 {
        block.extend(gaps.iter().map(|gap| gap.to_le_bytes()[place]));
    }
    for place in 0..4 {
        block.extend(part.iter().flat_map(|row| row.values.iter().map(move |v| v.to_le_bytes()[place])));
    }
    block
}

fn from_container(container: &Container, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
    let numbers = container.section(SHAPE, &KIND)?;
    let mut numbers =
        numbers.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
    let mut next =
        || numbers.next().ok_or_else(|| KIND.damaged("the numbers of rows, terms and nonzeros", "fewer"));
    let [n_rows, n_terms, nnz] = [next()?, next()?, next()?];
    let shapes: Vec<Shape> =
        std::iter::from_fn(|| Some(Shape { n_rows: numbers.next()?, nnz: numbers.next()? })).collect();
    SparseRows::check_shape(
        usize::try_from(n_rows).unwrap_or(usize::MAX),
        usize::try_from(n_terms).unwrap_or(usize::MAX),
    )?;
    let (mut offsets, mut terms, mut values) = (Vec::new(), Vec::new(), Vec::new());
    memory.grow(KIND.whole, &mut offsets, 1)?;
    offsets.push(0u64);
    for (number, shape) in shapes.iter().enumerate() {
        let packed = container.section(&number.to_string(), &KIND)?;
        let block = unpack(packed, shape, memory)?;
        memory.grow(KIND.whole, &mut offsets, shape.n_rows as usize)?;
        memory.grow(KIND.whole, &mut terms, shape.nnz as usize)?;
        memory.grow(KIND.whole, &mut values, shape.nnz as usize)?;
        read_block(&block, shape, &mut offsets, &mut terms, &mut values)?;
    }
    if offsets.len() as u64 != n_rows + 1 || terms.len() as u64 != nnz {
        let found = format!("{} rows with {} nonzeros", offsets.len() - 1, terms.len());
        return Err(KIND.damaged(format!("{n_rows} rows with {nnz} nonzeros"), found));
    }
    // Everything is checked; rows of length one stay as they are.
    let rows = SparseRows::from_parts_within(n_terms as usize, offsets, terms, values, memory)?;
    UnitRows::new_within(rows, memory)
}

/// Unpacks a block, which must have the size that is stated.
fn unpack(packed: &[u8], shape: &Shape, memory: &MemoryLimit) -> Result<Vec<u8>> {
    let wrong = |found: String| KIND.damaged("a block of rows", found);
    let decoder = zstd::Decoder::with_buffer(packed).map_err(|error| wrong(error.to_string()))?;
    let block = read_whole(decoder, shape.n_bytes().saturating_add(1), KIND.whole, memory);
    let block = block.map_err(|error| match error.kind() {
        ErrorKind::Memory { .. } => error,
        other => wrong(other.to_string()),
    })?;
    if block.len() as u64 == shape.n_bytes() {
        Ok(block)
    } else {
        Err(wrong(format!("{} bytes", block.len())))
    }
}

fn read_block(
    block: &[u8],
    shape: &Shape,
    offsets: &mut Vec<u64>,
    terms: &mut Vec<u32>,
    values: &mut Vec<f32>,
) -> Result<()> {
    // The sizes agree with the block.
    let nnz = shape.nnz as usize;
    let (lengths, rest) = block.split_at(4 * shape.n_rows as usize);
    let (gaps, bits) = rest.split_at(4 * nnz);
    let number =
        |bytes: &[u8], at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|place| bytes[place * nnz + at]));
    let mut at = 0;
    for length in lengths.chunks_exact(4) {
        let length = u32::from_le_bytes(length.try_into().expect("4 bytes")) as usize;
        if length > nnz - at {
            return Err(KIND.damaged("rows that add up", "more nonzeros than the block has"));
        }
        let mut term = 0u32;
        for place in at..at + length {
            term = term.wrapping_add(number(gaps, place)); // a wrong order is found later
            terms.push(term);
            values.push(f32::from_bits(number(bits, place)));
        }
        at += length;
        offsets.push(terms.len() as u64);
    }
    if at == nnz {
        Ok(())
    } else {
        Err(KIND.damaged("rows that add up", "fewer nonzeros than the block has"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::unit::rows_of_lists as rows;
    use super::*;

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
            rows.save(&path).unwrap();
            let found = UnitRows::load(&path).unwrap();
            prop_assert_eq!((found.as_sparse(), found.zero_rows()), (rows.as_sparse(), rows.zero_rows()));
        }
    }

    #[test]
    fn many_rows_are_in_several_blocks_and_come_back() {
        let list: Vec<Vec<(u32, f32)>> = (0..3 * BLOCK_ROWS as u32 + 5)
            .map(|n| (0..n % 4).map(|t| (n % 100 + t, 1.0)).collect())
            .collect();
        let rows = rows(200, &list);
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows");
        rows.save(&path).unwrap();
        assert_eq!(UnitRows::load(&path).unwrap(), rows);
    }

    #[test]
    fn a_damaged_or_truncated_file_is_an_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows.docsphere");
        rows(5, &[vec![(0, 1.0), (4, 2.0)], vec![], vec![(3, 1.0)]]).save(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let message = UnitRows::load(&path).unwrap_err().to_string();
            assert!(message.contains("rows.docsphere: "), "{message}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            fs::write(&path, changed).unwrap();
            assert!(UnitRows::load(&path).is_err(), "byte {at}");
        }
    }

    #[test]
    fn sizes_that_a_file_only_claims_are_not_allocated() {
        let shape = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let load = |numbers: &[u64], block: &[u8]| {
            let mut container = Container::default();
            container.push(SHAPE, shape(numbers));
            container.push("0", zstd::bulk::compress(block, LEVEL).unwrap());
            from_container(&container, &NO_LIMIT).unwrap_err().to_string()
        };
        let huge = 1 << 29;
        for numbers in [
            &[huge, 5, huge, huge, huge][..],
            &[1, 5, 1 << 60, 1, 1 << 60],
            &[u64::MAX, 5, 1, u64::MAX, 1],
            &[1, u64::MAX, 1, 1, 1],
            &[1, 5],
        ] {
            assert!(!load(numbers, &[0; 12]).is_empty());
        }
        // A row that claims more than the block has.
        let mut block = 9u32.to_le_bytes().to_vec();
        block.extend([0; 8]);
        assert!(load(&[1, 5, 1, 1, 1], &block).contains("rows that add up"));
    }

    #[test]
    fn a_file_that_is_too_large_for_the_memory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows");
        rows(5, &[vec![(0, 1.0), (4, 2.0)]]).save(&path).unwrap();
        let error = UnitRows::load_within(&path, &MemoryLimit::new(100, || 0)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    }
}
