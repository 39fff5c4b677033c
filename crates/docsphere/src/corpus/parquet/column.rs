//! A column of a row group, one value after the other.

use std::fs::File;

use super::footer::{ColumnType, Footer, RowGroup, TopColumn};
use super::pages::{DataPage, PLAIN, PLAIN_DICTIONARY, Page, Pages};
use super::values::{Deltas, Runs};
use super::{Result, damaged, unsupported};

const RLE: i64 = 3;
const DELTA_BINARY_PACKED: i64 = 5;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;
const RLE_DICTIONARY: i64 = 8;
const BYTE_STREAM_SPLIT: i64 = 9;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::corpus) enum Value<'a> {
    /// No value.
    Null,
    /// Bytes that should be UTF-8, unchecked.
    Text(&'a [u8]),
    /// An integer.
    Integer(i128),
    Float(f32),
    Double(f64),
    Boolean(bool),
    /// Days since 1970.
    Date(i32),
    /// Parts of a second since the beginning of 1970.
    Timestamp {
        count: i64,
        per_second: i64,
    },
}

/// A column of a row group.
#[derive(Debug)]
pub(in crate::corpus) struct Column<'a> {
    pages: Pages<'a>,
    column: &'a TopColumn,
    dictionary: Option<Dictionary>,
    page: DataPage,
    /// Rows of the page that have not been read.
    page_left: u64,
    /// Which of them have a value, unless all do.
    levels: Option<Runs>,
    /// The decoder of the values; created with the first value, because a page without values may
    /// lack even the decoder's header.
    values: Option<Values>,
    /// The previous value, for encodings that store differences to it.
    before: Vec<u8>,
    rows_left: u64,
}

/// The decoder of the values of a page, and its position.
#[derive(Debug)]
enum Values {
    Plain {
        at: usize,
    },
    /// One bit per value.
    Bits {
        next: usize,
    },
    Keys(Runs),
    /// True and false in runs.
    BitRuns(Runs),
    /// Lengths, then all texts.
    Lengths {
        lengths: Deltas,
        at: usize,
    },
    /// Lengths shared with the previous text, and the suffixes.
    Prefixes {
        prefixes: Deltas,
        lengths: Deltas,
        at: usize,
    },
    Differences(Deltas),
    /// The first bytes of all numbers, then the second bytes, and so on.
    Split {
        next: usize,
    },
}

impl<'a> Column<'a> {
    pub(in crate::corpus) fn open(
        file: &'a File,
        footer: &'a Footer,
        group: &RowGroup,
        column: &'a TopColumn,
    ) -> Result<Self> {
        let place = footer.pages_of(group, column)?;
        Ok(Column {
            pages: Pages::new(file, place, column.is_optional, &footer.memory),
            column,
            dictionary: None,
            page: DataPage::default(),
            page_left: 0,
            levels: None,
            values: None,
            before: Vec::new(),
            rows_left: group.n_rows,
        })
    }

    /// The value of the next row. There are as many values as the row group has rows.
    pub(in crate::corpus) fn next(&mut self) -> Result<Value<'_>> {
        while self.page_left == 0 {
            self.next_page()?;
        }
        self.page_left -= 1;
        self.rows_left -= 1;
        if let Some(levels) = &mut self.levels
            && levels.next(&self.page.content)? == 0
        {
            return Ok(Value::Null);
        }
        let values = match &mut self.values {
            Some(values) => values,
            none => none.insert(Values::new(&self.page, &self.column.column_type)?),
        };
        let content = &self.page.content;
        let end = self.page.values.end;
        match values {
            Values::Plain { at } => plain(content, at, end, &self.column.column_type),
            Values::Bits { next } => {
                let byte = content[self.page.values.start..end].get(*next / 8);
                let byte = byte.ok_or_else(|| damaged("more values in a page", "its end"))?;
                let value = byte >> (*next % 8) & 1 == 1;
                *next += 1;
                Ok(Value::Boolean(value))
            }
            Values::BitRuns(runs) => Ok(Value::Boolean(runs.next(content)? == 1)),
            Values::Keys(keys) => match &self.dictionary {
                Some(dictionary) => dictionary.value(keys.next(content)?, &self.column.column_type),
                None => Err(damaged("a dictionary before its keys", "none")),
            },
            Values::Lengths { lengths, at } => {
                let length = lengths.next(content)?;
                Ok(Value::Text(next_text(content, at, end, length)?))
            }
            Values::Prefixes { prefixes, lengths, at } => {
                let (kept, length) = (prefixes.next(content)?, lengths.next(content)?);
                let n_before = self.before.len();
                let kept = usize::try_from(kept).ok().filter(|&kept| kept <= n_before).ok_or_else(|| {
                    damaged(format!("a prefix of at most {n_before} bytes"), format!("{kept}"))
                })?;
                let suffix = next_text(content, at, end, length)?;
                self.before.truncate(kept);
                self.before.extend_from_slice(suffix);
                Ok(Value::Text(&self.before))
            }
            Values::Differences(deltas) => {
                let number = deltas.next(content)? as u64;
                Ok(self.column.column_type.number(number))
            }
            Values::Split { next } => {
                let (start, width) = (self.page.values.start, self.column.column_type.width());
                let n_numbers = (end - start) / width;
                if *next >= n_numbers {
                    return Err(damaged("more values in a page", "its end"));
                }
                let mut number = [0; 8];
                for (place, byte) in number[..width].iter_mut().enumerate() {
                    *byte = content[start + place * n_numbers + *next];
                }
                *next += 1;
                Ok(self.column.column_type.number(u64::from_le_bytes(number)))
            }
        }
    }

    fn next_page(&mut self) -> Result<()> {
        let content = std::mem::take(&mut self.page.content);
        match self.pages.next(content)? {
            Some(Page::Dictionary { content, n_values }) => {
                if self.dictionary.is_some() {
                    return Err(damaged("one dictionary", "another"));
                }
                self.dictionary = Some(Dictionary::new(content, n_values, &self.column.column_type)?);
            }
            Some(Page::Data(page)) if page.n_rows > self.rows_left => {
                let expected = format!("{} more rows", self.rows_left);
                return Err(damaged(expected, format!("a page of {}", page.n_rows)));
            }
            Some(Page::Data(page)) => {
                self.page_left = page.n_rows;
                let levels = &page.levels;
                let runs = || Runs::new(levels.start, levels.end, 1);
                self.levels = self.column.is_optional.then(runs).transpose()?;
                self.values = None;
                self.before.clear();
                self.page = page;
            }
            None => {
                return Err(damaged(format!("{} more rows", self.rows_left), "no more pages"));
            }
        }
        Ok(())
    }
}

impl Values {
    fn new(page: &DataPage, column_type: &ColumnType) -> Result<Self> {
        let (content, at, end) = (&page.content[..], page.values.start, page.values.end);
        let is_text = *column_type == ColumnType::Text;
        let is_integer = matches!(
            column_type,
            ColumnType::Int32 { .. }
                | ColumnType::Int64 { .. }
                | ColumnType::Date
                | ColumnType::Timestamp { .. }
        );
        if *column_type == ColumnType::Boolean {
            return match page.encoding {
                PLAIN => Ok(Values::Bits { next: 0 }),
                // The length of the runs comes first.
                RLE if end - at >= 4 => Ok(Values::BitRuns(Runs::new(at + 4, end, 1)?)),
                RLE => Err(damaged("the length of runs", "the end of the page")),
                other => Err(unsupported(format!("encoding {other} of this type of column"))),
            };
        }
        Ok(match page.encoding {
            PLAIN => Values::Plain { at },
            PLAIN_DICTIONARY | RLE_DICTIONARY => match content[at..end].first() {
                Some(&width) => Values::Keys(Runs::new(at + 1, end, width)?),
                None => return Err(damaged("keys of a dictionary", "the end of the page")),
            },
            DELTA_LENGTH_BYTE_ARRAY if is_text => {
                let lengths = Deltas::new(content, at, end)?;
                let at = lengths.end_of_numbers(content)?;
                Values::Lengths { lengths, at }
            }
            DELTA_BYTE_ARRAY if is_text => {
                let prefixes = Deltas::new(content, at, end)?;
                let at = prefixes.end_of_numbers(content)?;
                let lengths = Deltas::new(content, at, end)?;
                let at = lengths.end_of_numbers(content)?;
                Values::Prefixes { prefixes, lengths, at }
            }
            DELTA_BINARY_PACKED if is_integer => Values::Differences(Deltas::new(content, at, end)?),
            BYTE_STREAM_SPLIT if !is_text => Values::Split { next: 0 },
            other => return Err(unsupported(format!("encoding {other} of this type of column"))),
        })
    }
}

/// The values that keys stand for.
#[derive(Debug)]
struct Dictionary {
    content: Vec<u8>,
    /// Start and end of each text.
    texts: Vec<(u32, u32)>,
}

impl Dictionary {
    fn new(content: Vec<u8>, n_values: u64, column_type: &ColumnType) -> Result<Self> {
        // A text is preceded by its length, and a number takes its width: this gives the fewest
        // bytes that the values can take.
        let width = if *column_type == ColumnType::Text { 4 } else { column_type.width() };
        if n_values.saturating_mul(width as u64) > content.len() as u64 {
            let expected = format!("a dictionary of {n_values} values");
            return Err(damaged(expected, format!("{} bytes", content.len())));
        }
        let mut texts = Vec::new();
        if *column_type == ColumnType::Text {
            texts.reserve_exact(n_values as usize);
            let mut at = 0;
            for _ in 0..n_values {
                let text = plain_text(&content, &mut at, content.len())?;
                texts.push(((at - text.len()) as u32, at as u32)); // pages have less than 2^31 bytes
            }
        }
        Ok(Dictionary { content, texts })
    }

    fn value(&self, key: u64, column_type: &ColumnType) -> Result<Value<'_>> {
        let key = usize::try_from(key).unwrap_or(usize::MAX);
        let missing = |n_values: usize| {
            damaged(format!("a key below {n_values}, the number of values in the dictionary"), key)
        };
        if *column_type == ColumnType::Text {
            let &(start, end) = self.texts.get(key).ok_or_else(|| missing(self.texts.len()))?;
            return Ok(Value::Text(&self.content[start as usize..end as usize]));
        }
        let n_values = self.content.len() / column_type.width();
        if key >= n_values {
            return Err(missing(n_values));
        }
        plain(&self.content, &mut (key * column_type.width()), self.content.len(), column_type)
    }
}

/// Reads the value at `at` and advances `at` past it.
fn plain<'a>(content: &'a [u8], at: &mut usize, end: usize, column_type: &ColumnType) -> Result<Value<'a>> {
    if *column_type == ColumnType::Text {
        return Ok(Value::Text(plain_text(content, at, end)?));
    }
    let mut number = [0; 8];
    let width = column_type.width();
    number[..width].copy_from_slice(next_text(content, at, end, width as i64)?);
    Ok(column_type.number(u64::from_le_bytes(number)))
}

/// The text at `at`, which is preceded by its length.
fn plain_text<'a>(content: &'a [u8], at: &mut usize, end: usize) -> Result<&'a [u8]> {
    let length = next_text(content, at, end, 4)?;
    let length = u32::from_le_bytes(length.try_into().expect("4 bytes"));
    next_text(content, at, end, i64::from(length))
}

/// Reads `length` bytes at `at` and advances `at` past them.
fn next_text<'a>(content: &'a [u8], at: &mut usize, end: usize, length: i64) -> Result<&'a [u8]> {
    let text = usize::try_from(length).ok().and_then(|length| content[*at..end].get(..length));
    let text = text.ok_or_else(|| {
        damaged(
            format!("a value within the {} bytes left of its page", end - *at),
            format!("a length of {length}"),
        )
    })?;
    *at += text.len();
    Ok(text)
}

impl ColumnType {
    /// Width of a number in bytes.
    fn width(&self) -> usize {
        match self {
            ColumnType::Int32 { .. } | ColumnType::Float | ColumnType::Date => 4,
            ColumnType::Int64 { .. } | ColumnType::Double | ColumnType::Timestamp { .. } => 8,
            // In a dictionary, which columns of this type do not have.
            ColumnType::Boolean => 1,
            ColumnType::Text | ColumnType::Other(_) => unreachable!("not a column of numbers"),
        }
    }

    /// The value with these bits.
    fn number(&self, bits: u64) -> Value<'static> {
        match self {
            ColumnType::Int32 { is_signed: true } => Value::Integer(i128::from(bits as u32 as i32)),
            ColumnType::Int32 { is_signed: false } => Value::Integer(i128::from(bits as u32)),
            ColumnType::Int64 { is_signed: true } => Value::Integer(i128::from(bits as i64)),
            ColumnType::Int64 { is_signed: false } => Value::Integer(i128::from(bits)),
            ColumnType::Float => Value::Float(f32::from_bits(bits as u32)),
            ColumnType::Double => Value::Double(f64::from_bits(bits)),
            ColumnType::Boolean => Value::Boolean(bits & 1 == 1),
            ColumnType::Date => Value::Date(bits as u32 as i32),
            ColumnType::Timestamp { per_second } => {
                Value::Timestamp { count: bits as i64, per_second: *per_second }
            }
            ColumnType::Text | ColumnType::Other(_) => unreachable!("not a column of numbers"),
        }
    }
}
