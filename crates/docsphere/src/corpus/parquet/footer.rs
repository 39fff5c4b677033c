//! The footer of a Parquet file: its columns, and the location of each row group's pages.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::codecs::Codec;
use super::thrift::{Field, Fields, Reader};
use super::{Fault, Result, damaged, read_failed, unsupported};
use crate::memory::MemoryLimit;

/// Magic number at the start and end of a Parquet file.
const MARK: &[u8; 4] = b"PAR1";
/// Magic number at the end of a file with an encrypted footer.
const ENCRYPTED_MARK: &[u8; 4] = b"PARE";

/// Bytes in memory per byte of the footer: a struct of 4 bytes becomes one of about 100.
const DECODED: u64 = 25;

/// Number of rows that any file may have, however small it is.
const FREE_ROWS: u64 = 10_000_000;

/// A larger file may have this many rows per byte. Rows without a text, or all with the same text,
/// take next to nothing in the file, but as much memory as others.
const MAX_ROWS_PER_BYTE: u64 = 16;

/// The content of a footer.
#[derive(Debug)]
pub(in crate::corpus) struct Footer {
    /// The top-level columns, in order.
    pub(in crate::corpus) columns: Vec<TopColumn>,
    pub(in crate::corpus) row_groups: Vec<RowGroup>,
    /// Start of the footer: pages end before it.
    pub(super) pages_end: u64,
    /// Checked before a page is read.
    pub(super) memory: MemoryLimit,
}

/// A top-level column.
#[derive(Debug)]
pub(in crate::corpus) struct TopColumn {
    pub(in crate::corpus) name: String,
    pub(in crate::corpus) column_type: ColumnType,
    /// Whether rows may lack a value.
    pub(super) is_optional: bool,
    /// Its index among the leaf columns of a row group, into which nested columns are split.
    pub(super) leaf: usize,
}

/// The content of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::corpus) enum ColumnType {
    Text,
    Int32 {
        is_signed: bool,
    },
    Int64 {
        is_signed: bool,
    },
    Float,
    Double,
    /// True or false.
    Boolean,
    /// Days since 1970.
    Date,
    /// Parts of a second since the beginning of 1970, so many per second.
    Timestamp {
        per_second: i64,
    },
    /// Any other type, by name.
    Other(String),
}

/// Some rows, column by column.
#[derive(Debug, Default)]
pub(in crate::corpus) struct RowGroup {
    pub(in crate::corpus) n_rows: u64,
    pub(super) chunks: Vec<ColumnChunk>,
}

/// Location of the pages of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnChunk {
    physical_type: Option<i64>,
    codec: Option<i64>,
    n_values: Option<i64>,
    n_bytes: Option<i64>,
    data_offset: Option<i64>,
    dictionary_offset: Option<i64>,
    is_elsewhere: bool,
}

/// Location of the pages of a column, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagesPlace {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) codec: Codec,
}

impl Footer {
    /// Reads the footer of a file.
    pub(in crate::corpus) fn read(mut file: &File, file_bytes: u64, memory: &MemoryLimit) -> Result<Self> {
        // The magic number at the start, the length of the footer, the magic number at the end.
        let Some(most) = file_bytes.checked_sub(12) else {
            return Err(damaged("a Parquet file", format!("a file of {file_bytes} bytes")));
        };
        let mut tail = [0; 8];
        file.seek(SeekFrom::Start(file_bytes - 8)).map_err(read_failed)?;
        file.read_exact(&mut tail).map_err(read_failed)?;
        let [a, b, c, d, mark @ ..] = tail;
        if mark == *ENCRYPTED_MARK {
            return Err(unsupported("encryption"));
        }
        if mark != *MARK {
            let expected = "PAR1 as the last four bytes";
            return Err(damaged(expected, format!("\"{}\"; is the file cut off?", mark.escape_ascii())));
        }
        let n_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        if n_bytes > most {
            let expected = format!("a footer of at most {most} bytes");
            return Err(damaged(expected, format!("a length of {n_bytes}")));
        }
        let pages_end = file_bytes - 8 - n_bytes;
        let needed = n_bytes.saturating_mul(DECODED);
        memory.check("the footer of a Parquet file", needed).map_err(Fault::Other)?;
        // At most the size of the file.
        let mut bytes = vec![0; n_bytes as usize];
        file.seek(SeekFrom::Start(pages_end)).map_err(read_failed)?;
        file.read_exact(&mut bytes).map_err(read_failed)?;
        let footer =
            Footer { columns: Vec::new(), row_groups: Vec::new(), pages_end, memory: memory.clone() };
        footer.filled_from(&bytes)
    }

    fn filled_from(mut self, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let pages_end = self.pages_end;
        let footer = &mut self;
        let mut n_rows = 0;
        let mut fields = Fields::default();
        while let Some(field) = reader.next_field(&mut fields)? {
            match field.id {
                2 => footer.columns = read_schema(&mut reader, field)?,
                3 => n_rows = reader.integer(field)?,
                4 => {
                    footer.row_groups.clear();
                    for _ in 0..reader.structures(field)? {
                        footer.row_groups.push(read_row_group(&mut reader)?);
                    }
                }
                _ => reader.skip(field)?,
            }
        }
        let total = footer.n_rows().unwrap_or(u64::MAX);
        if i64::try_from(total) != Ok(n_rows) {
            return Err(damaged(format!("row groups of {n_rows} rows together"), format!("of {total}")));
        }
        let file_bytes = pages_end + bytes.len() as u64 + 8;
        let most = FREE_ROWS.max(file_bytes.saturating_mul(MAX_ROWS_PER_BYTE));
        if total > most {
            return Err(damaged(format!("at most {most} rows in a file of {file_bytes} bytes"), total));
        }
        Ok(self)
    }

    /// Total rows of all groups.
    pub(in crate::corpus) fn n_rows(&self) -> Option<u64> {
        self.row_groups.iter().try_fold(0_u64, |total, group| total.checked_add(group.n_rows))
    }

    /// Location of the pages of a column of a row group.
    pub(super) fn pages_of(&self, group: &RowGroup, column: &TopColumn) -> Result<PagesPlace> {
        let missing = || damaged("a row group with every column", "one without");
        let chunk = group.chunks.get(column.leaf).ok_or_else(missing)?;
        if chunk.is_elsewhere {
            return Err(unsupported("a column in another file"));
        }
        if chunk.physical_type != column.column_type.physical_type() {
            return Err(damaged("a column of the type that the schema states", "another type"));
        }
        if chunk.n_values.and_then(|n_values| u64::try_from(n_values).ok()) != Some(group.n_rows) {
            let found = chunk.n_values.map_or_else(|| "none".to_owned(), |n_values| n_values.to_string());
            return Err(damaged(format!("{} values", group.n_rows), found));
        }
        let codec = Codec::from_number(chunk.codec.ok_or_else(missing)?)?;
        let data_offset = chunk.data_offset.ok_or_else(missing)?;
        // Some writers state a dictionary offset of 0 when there is no dictionary.
        let start = match chunk.dictionary_offset {
            Some(offset) if offset > 0 => offset.min(data_offset),
            _ => data_offset,
        };
        let place = || {
            let start = u64::try_from(start).ok()?;
            let end = start.checked_add(u64::try_from(chunk.n_bytes?).ok()?)?;
            (end <= self.pages_end).then_some(PagesPlace { start, end, codec })
        };
        place().ok_or_else(|| {
            let n_bytes = chunk.n_bytes.unwrap_or(0);
            damaged(
                format!("pages before byte {}", self.pages_end),
                format!("{n_bytes} bytes at byte {start}"),
            )
        })
    }
}

impl ColumnType {
    /// The number of the physical type of the values.
    fn physical_type(&self) -> Option<i64> {
        match self {
            ColumnType::Boolean => Some(0),
            ColumnType::Int32 { .. } | ColumnType::Date => Some(1),
            ColumnType::Int64 { .. } | ColumnType::Timestamp { .. } => Some(2),
            ColumnType::Float => Some(4),
            ColumnType::Double => Some(5),
            ColumnType::Text => Some(6),
            ColumnType::Other(_) => None,
        }
    }
}

/// The top-level columns. The schema is a tree, written in preorder.
fn read_schema(reader: &mut Reader<'_>, field: Field) -> Result<Vec<TopColumn>> {
    let n_nodes = reader.structures(field)?;
    let mut columns = Vec::new();
    // Number of children still to come, from the root down.
    let mut open: Vec<u64> = Vec::new();
    let mut n_leaves = 0;
    for number in 0..n_nodes {
        let node = read_node(reader)?;
        if number == 0 {
            open.push(node.n_children.unwrap_or(0));
            continue;
        }
        let is_top = open.len() == 1;
        match open.last_mut() {
            Some(left) if *left > 0 => *left -= 1,
            _ => return Err(damaged("a schema that is a tree", "a column without a parent")),
        }
        if is_top {
            let (column_type, is_optional) = (node.column_type(), node.repetition == Some(1));
            columns.push(TopColumn { name: node.name, column_type, is_optional, leaf: n_leaves });
        }
        match node.n_children {
            None | Some(0) => n_leaves += 1,
            Some(n_children) => open.push(n_children),
        }
        while open.len() > 1 && open.last() == Some(&0) {
            open.pop();
        }
    }
    match open[..] {
        [] | [0] => Ok(columns),
        _ => Err(damaged("a schema that is a tree", "one that is cut off")),
    }
}

/// A node of the schema.
#[derive(Default)]
struct Node {
    physical_type: Option<i64>,
    /// 0: one value per row; 1: one or none; 2: any number.
    repetition: Option<i64>,
    name: String,
    n_children: Option<u64>,
    /// The meaning of the values, as stated by older files.
    converted_type: Option<i64>,
    /// The meaning of the values, as stated by newer files; for integers also whether they are
    /// signed.
    logical_type: Option<(i16, bool)>,
    /// For points in time: parts per second, as stated by newer files.
    per_second: Option<i64>,
}

fn read_node(reader: &mut Reader<'_>) -> Result<Node> {
    let mut node = Node::default();
    let mut fields = Fields::default();
    while let Some(field) = reader.next_field(&mut fields)? {
        match field.id {
            1 => node.physical_type = Some(reader.integer(field)?),
            3 => node.repetition = Some(reader.integer(field)?),
            4 => node.name = String::from_utf8_lossy(reader.binary(field)?).into_owned(),
            5 => {
                let n_children = reader.integer(field)?;
                let n_children = u64::try_from(n_children)
                    .map_err(|_| damaged("a schema that is a tree", format!("{n_children} children")))?;
                node.n_children = Some(n_children);
            }
            6 => node.converted_type = Some(reader.integer(field)?),
            10 => (node.logical_type, node.per_second) = read_logical_type(reader, field)?,
            _ => reader.skip(field)?,
        }
    }
    Ok(node)
}

/// The meaning of values, whether integers are signed, and the parts per second of points in time.
type LogicalType = (Option<(i16, bool)>, Option<i64>);

fn read_logical_type(reader: &mut Reader<'_>, field: Field) -> Result<LogicalType> {
    let (mut found, mut per_second) = (None, None);
    let mut fields = reader.structure(field)?;
    while let Some(field) = reader.next_field(&mut fields)? {
        if field.id == LOGICAL_TIMESTAMP {
            found = Some((LOGICAL_TIMESTAMP, true));
            per_second = read_unit(reader, field)?;
            continue;
        }
        if field.id != LOGICAL_INTEGER {
            found = Some((field.id, true));
            reader.skip(field)?;
            continue;
        }
        let mut is_signed = true;
        let mut inner = reader.structure(field)?;
        while let Some(field) = reader.next_field(&mut inner)? {
            match field.id {
                2 => is_signed = reader.boolean(field)?,
                _ => reader.skip(field)?,
            }
        }
        found = Some((LOGICAL_INTEGER, is_signed));
    }
    Ok((found, per_second))
}

/// The unit of points in time.
fn read_unit(reader: &mut Reader<'_>, field: Field) -> Result<Option<i64>> {
    let mut per_second = None;
    let mut fields = reader.structure(field)?;
    while let Some(field) = reader.next_field(&mut fields)? {
        if field.id != 2 {
            reader.skip(field)?;
            continue;
        }
        let mut unit = reader.structure(field)?;
        while let Some(field) = reader.next_field(&mut unit)? {
            per_second = match field.id {
                1 => Some(1_000),
                2 => Some(1_000_000),
                3 => Some(1_000_000_000),
                _ => None,
            };
            reader.skip(field)?;
        }
    }
    Ok(per_second)
}

const LOGICAL_TIMESTAMP: i16 = 8;

const LOGICAL_INTEGER: i16 = 10;
const LOGICAL_NAMES: [&str; 17] = [
    "",
    "string",
    "map",
    "list",
    "enum",
    "decimal",
    "date",
    "time",
    "timestamp",
    "",
    "integer",
    "null",
    "JSON",
    "BSON",
    "UUID",
    "float16",
    "variant",
];
const CONVERTED_NAMES: [&str; 22] = [
    "string",
    "map",
    "map",
    "list",
    "enum",
    "decimal",
    "date",
    "time",
    "time",
    "timestamp",
    "timestamp",
    "integer",
    "integer",
    "integer",
    "integer",
    "integer",
    "integer",
    "integer",
    "integer",
    "JSON",
    "BSON",
    "interval",
];
const PHYSICAL_NAMES: [&str; 8] =
    ["Boolean", "Int32", "Int64", "Int96", "Float", "Double", "Binary", "FixedSizeBinary"];

impl Node {
    fn column_type(&self) -> ColumnType {
        if self.n_children.is_some_and(|n_children| n_children > 0) {
            return ColumnType::Other("nested".to_owned());
        }
        // The newer statement takes precedence.
        let meaning = match (self.logical_type, self.converted_type) {
            (Some((kind, _)), _) => *LOGICAL_NAMES.get(kind as usize).unwrap_or(&"unknown"),
            (None, Some(kind)) => {
                usize::try_from(kind).ok().and_then(|kind| CONVERTED_NAMES.get(kind)).unwrap_or(&"unknown")
            }
            (None, None) => "",
        };
        let is_signed = match (self.logical_type, self.converted_type) {
            (Some((_, is_signed)), _) => is_signed,
            (None, converted) => !matches!(converted, Some(11..=14)),
        };
        let physical = self.physical_type.and_then(|kind| usize::try_from(kind).ok());
        let name = physical.and_then(|kind| PHYSICAL_NAMES.get(kind)).unwrap_or(&"unknown");
        let per_second = match (self.logical_type, self.converted_type) {
            (Some(_), _) => self.per_second,
            (None, Some(9)) => Some(1_000),
            (None, Some(10)) => Some(1_000_000),
            _ => None,
        };
        if let (Some(0 | 1), "Int64", "timestamp", Some(per_second)) =
            (self.repetition, *name, meaning, per_second)
        {
            return ColumnType::Timestamp { per_second };
        }
        match (self.repetition, *name, meaning) {
            (Some(2), ..) => ColumnType::Other(format!("list of {name}")),
            (_, "Binary", "string" | "enum" | "JSON") => ColumnType::Text,
            (_, "Int32", "" | "integer") => ColumnType::Int32 { is_signed },
            (_, "Int64", "" | "integer") => ColumnType::Int64 { is_signed },
            (_, "Int32", "date") => ColumnType::Date,
            (_, "Boolean", "") => ColumnType::Boolean,
            (_, "Float", "") => ColumnType::Float,
            (_, "Double", "") => ColumnType::Double,
            (_, name, "") => ColumnType::Other(name.to_owned()),
            (_, name, meaning) => ColumnType::Other(format!("{name} ({meaning})")),
        }
    }
}

fn read_row_group(reader: &mut Reader<'_>) -> Result<RowGroup> {
    let mut group = RowGroup::default();
    let mut fields = Fields::default();
    while let Some(field) = reader.next_field(&mut fields)? {
        match field.id {
            1 => {
                group.chunks.clear();
                for _ in 0..reader.structures(field)? {
                    group.chunks.push(read_chunk(reader)?);
                }
            }
            3 => {
                let n_rows = reader.integer(field)?;
                group.n_rows = u64::try_from(n_rows).map_err(|_| damaged("a number of rows", n_rows))?;
            }
            _ => reader.skip(field)?,
        }
    }
    Ok(group)
}

fn read_chunk(reader: &mut Reader<'_>) -> Result<ColumnChunk> {
    let mut chunk = ColumnChunk::default();
    let mut fields = Fields::default();
    while let Some(field) = reader.next_field(&mut fields)? {
        match field.id {
            1 => chunk.is_elsewhere = !reader.binary(field)?.is_empty(),
            3 => {
                let mut inner = reader.structure(field)?;
                while let Some(field) = reader.next_field(&mut inner)? {
                    let number = match field.id {
                        1 => &mut chunk.physical_type,
                        4 => &mut chunk.codec,
                        5 => &mut chunk.n_values,
                        7 => &mut chunk.n_bytes,
                        9 => &mut chunk.data_offset,
                        11 => &mut chunk.dictionary_offset,
                        _ => {
                            reader.skip(field)?;
                            continue;
                        }
                    };
                    *number = Some(reader.integer(field)?);
                }
            }
            _ => reader.skip(field)?,
        }
    }
    Ok(chunk)
}
