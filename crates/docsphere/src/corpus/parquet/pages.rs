//! The decompressed pages of a column, in order.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::footer::PagesPlace;
use super::thrift::{Field, Fields, Reader, ThriftFault};
use super::{Fault, Result, damaged, read_failed, unsupported};
use crate::memory::{MemoryLimit, PIECE_BYTES};

/// A page may expand to this many bytes, regardless of its size in the file.
pub(super) const FREE_PAGE_BYTES: u64 = 64 << 20;

/// A larger page may expand to this many times its size in the file. Texts shrink to a tenth,
/// seldom to a hundredth.
pub(super) const MAX_PAGE_RATIO: u64 = 100;

/// A header holds a few numbers, and perhaps the minimum and maximum value.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// Most headers are no longer than this.
const FIRST_HEADER_BYTES: u64 = 1 << 9;

/// A page.
#[derive(Debug)]
pub(super) enum Page {
    Dictionary { content: Vec<u8>, n_values: u64 },
    Data(DataPage),
}

/// A page with values.
#[derive(Debug, Default)]
pub(super) struct DataPage {
    pub(super) content: Vec<u8>,
    /// Range of the definition levels, which say which rows have a value, if rows may lack one.
    pub(super) levels: Range<usize>,
    /// Range of the values.
    pub(super) values: Range<usize>,
    /// Number of rows, with or without a value.
    pub(super) n_rows: u64,
    /// The number of the values' encoding.
    pub(super) encoding: i64,
}

/// Reads pages in order.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    file: &'a File,
    place: PagesPlace,
    /// Whether rows may lack a value.
    is_optional: bool,
    /// Checked before a page is read.
    memory: &'a MemoryLimit,
    /// Bytes as in the file. Reused memory.
    packed: Vec<u8>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(file: &'a File, place: PagesPlace, is_optional: bool, memory: &'a MemoryLimit) -> Self {
        Pages { file, place, is_optional, memory, packed: Vec::new() }
    }

    /// The next page, if any. `reuse` is memory of an earlier page to use again.
    pub(super) fn next(&mut self, reuse: Vec<u8>) -> Result<Option<Page>> {
        while self.place.start < self.place.end {
            let header = self.read_header()?;
            self.check_sizes(&header)?;
            if header.kind == PageKind::Other {
                self.place.start += header.packed_bytes;
                continue;
            }
            read_at(self.file, self.place.start, header.packed_bytes as usize, &mut self.packed)?;
            self.place.start += header.packed_bytes;
            return self.page(&header, reuse).map(Some);
        }
        Ok(None)
    }

    /// Reads the header of the next page and advances to its end, where the page begins.
    fn read_header(&mut self) -> Result<Header> {
        let most = (self.place.end - self.place.start).min(MAX_HEADER_BYTES);
        let mut n_bytes = most.min(FIRST_HEADER_BYTES);
        loop {
            read_at(self.file, self.place.start, n_bytes as usize, &mut self.packed)?;
            match Header::read(&self.packed) {
                Ok((header, length)) => {
                    self.place.start += length as u64;
                    return header.checked();
                }
                Err(ThriftFault::End) if n_bytes < most => n_bytes = most.min(n_bytes * 16),
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    /// Checks that the page lies within the file and may be decompressed.
    fn check_sizes(&self, header: &Header) -> Result<()> {
        let Header { packed_bytes, unpacked_bytes, .. } = *header;
        let left = self.place.end - self.place.start;
        if packed_bytes > left {
            return Err(damaged(
                format!("a page of at most {left} bytes"),
                format!("a size of {packed_bytes}"),
            ));
        }
        let most = FREE_PAGE_BYTES.max(packed_bytes.saturating_mul(MAX_PAGE_RATIO));
        if unpacked_bytes > most {
            let expected = format!(
                "a page of {packed_bytes} bytes to unpack to at most {most} ({MAX_PAGE_RATIO} times as many, or {FREE_PAGE_BYTES})"
            );
            return Err(damaged(expected, unpacked_bytes));
        }
        let needed = packed_bytes.saturating_add(unpacked_bytes);
        if needed > PIECE_BYTES as u64 {
            self.memory.check("a page of a Parquet file", needed).map_err(Fault::Other)?;
        }
        Ok(())
    }

    fn page(&mut self, header: &Header, reuse: Vec<u8>) -> Result<Page> {
        let mut content = reuse;
        content.clear();
        let unpacked_bytes = header.unpacked_bytes as usize;
        let codec = self.place.codec;
        if let PageKind::DataV2 { levels_bytes, other_levels_bytes, is_packed } = header.kind {
            // Levels come first and are never compressed.
            let n_levels = levels_bytes
                .checked_add(other_levels_bytes)
                .filter(|&n_levels| n_levels <= unpacked_bytes && n_levels <= self.packed.len())
                .ok_or_else(|| damaged("levels within their page", "more"))?;
            let (levels, values) = self.packed.split_at(n_levels);
            content.extend_from_slice(levels);
            let codec = if is_packed { codec } else { super::codecs::Codec::Plain };
            codec.unpack(values, unpacked_bytes - n_levels, &mut content)?;
            let levels = other_levels_bytes..n_levels;
            let values = n_levels..content.len();
            let Header { n_values: n_rows, encoding, .. } = *header;
            return Ok(Page::Data(DataPage { content, levels, values, n_rows, encoding }));
        }
        codec.unpack(&self.packed, unpacked_bytes, &mut content)?;
        let (n_values, encoding) = (header.n_values, header.encoding);
        if header.kind == PageKind::Dictionary {
            return match encoding {
                // Older writers use the second for the first.
                PLAIN | PLAIN_DICTIONARY => Ok(Page::Dictionary { content, n_values }),
                other => Err(unsupported(format!("a dictionary in encoding {other}"))),
            };
        }
        let levels = if self.is_optional { v1_levels(header, &content)? } else { 0..0 };
        let values = levels.end..content.len();
        Ok(Page::Data(DataPage { content, levels, values, n_rows: n_values, encoding }))
    }
}

pub(super) const PLAIN: i64 = 0;
pub(super) const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;

/// Range of the levels of a version 1 page: they are preceded by their length.
fn v1_levels(header: &Header, content: &[u8]) -> Result<Range<usize>> {
    if header.levels_encoding != RLE {
        return Err(unsupported(format!("levels in encoding {}", header.levels_encoding)));
    }
    let cut_off = || damaged("levels within their page", "more");
    let (length, rest) = content.split_first_chunk::<4>().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > rest.len() {
        return Err(cut_off());
    }
    Ok(4..4 + length)
}

/// Reads bytes that are known to be within the file.
fn read_at(mut file: &File, start: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    bytes.resize(n_bytes, 0);
    file.seek(SeekFrom::Start(start)).map_err(read_failed)?;
    file.read_exact(bytes).map_err(read_failed)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PageKind {
    Dictionary,
    DataV1,
    DataV2 {
        levels_bytes: usize,
        other_levels_bytes: usize,
        is_packed: bool,
    },
    /// A page that is not needed.
    Other,
}

/// The header of a page, checked as far as possible without the page.
#[derive(Debug)]
struct Header {
    kind: PageKind,
    packed_bytes: u64,
    unpacked_bytes: u64,
    n_values: u64,
    encoding: i64,
    levels_encoding: i64,
}

/// The header of a page as written.
#[derive(Debug, Default)]
struct RawHeader {
    kind: Option<i64>,
    unpacked_bytes: Option<i64>,
    packed_bytes: Option<i64>,
    /// From the struct for its kind.
    n_values: Option<i64>,
    encoding: Option<i64>,
    levels_encoding: Option<i64>,
    levels_bytes: Option<i64>,
    other_levels_bytes: Option<i64>,
    is_packed: Option<bool>,
}

impl Header {
    /// The header and its length.
    fn read(bytes: &[u8]) -> std::result::Result<(RawHeader, usize), ThriftFault> {
        let mut reader = Reader::new(bytes);
        let mut header = RawHeader::default();
        let mut fields = Fields::default();
        while let Some(field) = reader.next_field(&mut fields)? {
            match field.id {
                1 => header.kind = Some(reader.integer(field)?),
                2 => header.unpacked_bytes = Some(reader.integer(field)?),
                3 => header.packed_bytes = Some(reader.integer(field)?),
                5 | 7 | 8 => header.read_kind(&mut reader, field)?,
                _ => reader.skip(field)?,
            }
        }
        Ok((header, reader.position()))
    }
}

impl RawHeader {
    /// The struct of a data page (5), a dictionary (7) or a data page of version 2 (8).
    fn read_kind(&mut self, reader: &mut Reader<'_>, kind: Field) -> std::result::Result<(), ThriftFault> {
        let mut fields = reader.structure(kind)?;
        while let Some(field) = reader.next_field(&mut fields)? {
            match (kind.id, field.id) {
                (_, 1) => self.n_values = Some(reader.integer(field)?),
                (5 | 7, 2) | (8, 4) => self.encoding = Some(reader.integer(field)?),
                (5, 3) => self.levels_encoding = Some(reader.integer(field)?),
                (8, 5) => self.levels_bytes = Some(reader.integer(field)?),
                (8, 6) => self.other_levels_bytes = Some(reader.integer(field)?),
                (8, 7) => self.is_packed = Some(reader.boolean(field)?),
                _ => reader.skip(field)?,
            }
        }
        Ok(())
    }

    fn checked(&self) -> Result<Header> {
        let size = |number: Option<i64>, what: &str| -> Result<u64> {
            let found = || number.map_or_else(|| "none".to_owned(), |number| number.to_string());
            number
                .and_then(|number| u64::try_from(number).ok())
                .filter(|&number| number <= i32::MAX as u64)
                .ok_or_else(|| damaged(format!("a page header with {what}"), found()))
        };
        let kind = match self.kind {
            Some(0) => PageKind::DataV1,
            Some(2) => PageKind::Dictionary,
            Some(3) => PageKind::DataV2 {
                levels_bytes: size(self.levels_bytes, "the size of its definition levels")? as usize,
                other_levels_bytes: size(self.other_levels_bytes, "the size of its repetition levels")?
                    as usize,
                is_packed: self.is_packed.unwrap_or(true),
            },
            Some(_) => PageKind::Other,
            None => return Err(damaged("a page header with its kind", "none")),
        };
        let is_needed = kind != PageKind::Other;
        Ok(Header {
            kind,
            packed_bytes: size(self.packed_bytes, "its packed size")?,
            unpacked_bytes: size(self.unpacked_bytes, "its unpacked size")?,
            n_values: if is_needed { size(self.n_values, "its number of values")? } else { 0 },
            encoding: self.encoding.unwrap_or(-1),
            levels_encoding: self.levels_encoding.unwrap_or(-1),
        })
    }
}
