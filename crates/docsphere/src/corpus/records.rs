//! Records of a table: where they end, and their fields.
//!
//! A field that begins with a quote is quoted if its closing quote is followed by a delimiter, a
//! line end or the end of the file; blanks may come before these. Two quotes in it are one, and
//! delimiters and line feeds in it are text. Programs that quote fields quote them in this way
//! (RFC 4180: spreadsheets, pandas, COPY of PostgreSQL).
//!
//! Many tables, above all of tabs, are not quoted at all, and a quote in them is text: `"Hi" she
//! said`, `5" screen`. Taken for an opening quote, it would swallow all rows up to the next one. So
//! a quote is *stray*, and the field is read as it stands, if
//!
//! 1. its closing quote is followed by text, or
//! 2. rows lie between it and its closing quote (`Dialect::encloses_rows`).
//!
//! Both rules depend on the bytes alone, and need no byte after the closing quote and its line end.
//! A quote without a closing one is an error, unless rule 2 holds.
//!
//! # Cost
//!
//! One thread finds the ends of records ([`TableEnds`]), so it searches for quotes and line feeds
//! only, many bytes per cycle. A stray quote is searched up to the next quote, and then passed
//! over: all in all, each byte is searched at most twice.

use serde::{Deserialize, Serialize};

use crate::names::impl_names;

/// Rule 2 looks at so many lines at most: if all of them are rows, so is the rest.
const ROW_LINES: usize = 64;

/// Rule 2 looks at so many bytes at most.
const ROW_BYTES: usize = 1 << 20;

/// So many rows in a row are no accident, whatever they hold.
const CERTAIN_ROWS: usize = 8;

/// What to do about stray quotes, for messages.
pub(super) const PLAIN_QUOTES: &str = "if quotes are plain characters there, set quote to none";

/// What quotes the fields of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Quote {
    /// `"`.
    Double,
    /// `'`.
    Single,
    /// Nothing: quotes are plain characters.
    None,
}

impl Quote {
    /// All ways.
    pub const ALL: &'static [Quote] = &[Quote::Double, Quote::Single, Quote::None];

    /// The name by which users choose it.
    pub const fn name(self) -> &'static str {
        match self {
            Quote::Double => "double",
            Quote::Single => "single",
            Quote::None => "none",
        }
    }

    pub(super) fn byte(self) -> Option<u8> {
        match self {
            Quote::Double => Some(b'"'),
            Quote::Single => Some(b'\''),
            Quote::None => None,
        }
    }
}

impl_names!(Quote, "quote");

/// How the fields of a table are separated and quoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// `None` if quotes are text.
    pub(super) quote: Option<u8>,
    /// What a row looks like, to tell rows within quotes from text. `None`: all is text.
    pub(super) rows: Option<Rows>,
}

/// What is known of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rows {
    /// The number of fields of the header, at least two.
    pub(super) n_columns: usize,
    /// Whether the first records have a quote that no program writes that quotes fields.
    pub(super) is_loose: bool,
    /// Whether the first records have a field that only its quotes hold together. The program that
    /// wrote it quotes fields; unless it is loose, it leaves no quote stray.
    pub(super) is_quoting: bool,
}

/// How a field that begins with a quote ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quoted {
    /// At this byte, after its closing quote.
    Closed(usize),
    /// The quote is stray.
    Stray,
    /// There is no closing quote.
    Unclosed,
    /// The bytes that are there do not tell.
    Unknown,
}

/// A quote at the beginning of a field.
#[derive(Clone, Copy, Debug)]
struct Opening {
    at: usize,
    /// The column of the field, from 0.
    column: usize,
    /// The first byte of the record.
    record: usize,
    /// Up to here the closing quote has been searched.
    searched: usize,
}

impl Dialect {
    /// A table in which every quote counts.
    pub(super) const fn quoted(delimiter: u8, quote: u8) -> Self {
        Dialect { delimiter, quote: Some(quote), rows: None }
    }

    /// How a field ends that begins with a quote. `is_last` says that no more bytes follow.
    fn quoted_end(self, bytes: &[u8], opening: &mut Opening, is_last: bool) -> Quoted {
        let Some(quote) = self.quote else { return Quoted::Stray };
        let closing = loop {
            let at = opening.searched;
            let Some(length) = memchr::memchr(quote, &bytes[at..]) else {
                opening.searched = bytes.len();
                break None;
            };
            opening.searched = at + length;
            match bytes.get(at + length + 1) {
                Some(&next) if next == quote => opening.searched += 2,
                None if !is_last => break None,
                _ => break Some(at + length),
            }
        };
        match closing {
            Some(closing) => match self.is_field_end(bytes, closing + 1, is_last) {
                None => Quoted::Unknown,
                Some(false) => Quoted::Stray,
                Some(true) if self.encloses_rows(bytes, opening, Some(closing)) => Quoted::Stray,
                Some(true) => Quoted::Closed(closing + 1),
            },
            None if self.encloses_rows(bytes, opening, is_last.then_some(bytes.len())) => Quoted::Stray,
            None if is_last => Quoted::Unclosed,
            None => Quoted::Unknown,
        }
    }

    /// Whether a field ends here, after a quote; blanks do not matter. `None` if that is not known.
    fn is_field_end(self, bytes: &[u8], at: usize, is_last: bool) -> Option<bool> {
        let n_blanks = bytes[at..].iter().take_while(|&&byte| byte == b' ' && byte != self.delimiter).count();
        match bytes[at + n_blanks..] {
            [] | [b'\r'] => is_last.then_some(true),
            [byte, ..] if byte == self.delimiter || byte == b'\n' => Some(true),
            [b'\r', b'\n', ..] => Some(true),
            _ => Some(false),
        }
    }

    /// Whether what lies between a quote and its closing one (or the end of the file) are rows: the
    /// quote begins a field in the same column as the closing one ends a field, and each line in
    /// between, read without quotes, has as many fields as the header. If fields are not separated
    /// by tabs, such lines may also be prose with a comma each. Then something else must speak for
    /// rows, too: loose quotes in the first records, many lines, or a column of numbers or dates.
    ///
    /// Never, if the first records show that fields are quoted, and no loose quote.
    ///
    /// `end` is the closing quote or the end of the file, if one of them is known.
    fn encloses_rows(self, bytes: &[u8], opening: &Opening, end: Option<usize>) -> bool {
        let Some(Rows { n_columns, is_loose, is_quoting }) = self.rows else { return false };
        if is_quoting && !is_loose {
            return false;
        }
        let Opening { at: open, column, record, .. } = *opening;
        let window = bytes.len().min(open.saturating_add(ROW_BYTES));
        let limit = end.map_or(window, |end| end.min(window));
        let n_delimiters = |line: &[u8]| memchr::memchr_iter(self.delimiter, line).count();
        let (mut at, mut n_lines, mut has_numbers) = (open, 0, true);
        while let Some(length) = memchr::memchr(b'\n', &bytes[at..limit]) {
            // Fields before this one, in the first line of the record, may be quoted.
            let (start, n_before) = if n_lines == 0 { (record, column) } else { (at, 0) };
            let feed = at + length;
            if n_before + n_delimiters(&bytes[at..feed]) != n_columns - 1 {
                return false;
            }
            has_numbers = has_numbers && self.has_number(&bytes[start..feed], column);
            n_lines += 1;
            at = feed + 1;
            if n_lines == ROW_LINES {
                return true;
            }
        }
        let Some(end) = end.filter(|&end| end <= limit && n_lines > 0) else { return false };
        let last = &bytes[at..end];
        let is_closed = end < bytes.len();
        let fits = match is_closed {
            true => n_delimiters(last) == column,
            // At the end of the file, the last line is whole, or empty.
            false => last.is_empty() || n_delimiters(last) == n_columns - 1,
        };
        // If the quote is in the first column, the last one is not known here.
        let is_known = !last.is_empty() && (column > 0 || !is_closed);
        has_numbers = has_numbers && (!is_known || self.has_number(last, column));
        fits && (self.delimiter == b'\t' || is_loose || has_numbers || n_lines + 1 >= CERTAIN_ROWS)
    }

    /// Whether a field of this line is a number or a date: the first, or the last if a quote is in
    /// the first.
    fn has_number(self, line: &[u8], quote_column: usize) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        is_number_or_date(match quote_column {
            0 => memchr::memrchr(self.delimiter, line).map_or(line, |at| &line[at + 1..]),
            _ => memchr::memchr(self.delimiter, line).map_or(line, |at| &line[..at]),
        })
    }
}

/// Whether a field is a number or a date, with or without quotes.
fn is_number_or_date(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
    field.first().is_some_and(u8::is_ascii_digit)
        && field.iter().all(|byte| byte.is_ascii_digit() || b"-:./ TZ+".contains(byte))
}

/// Finds where the records of a table end.
pub(super) struct TableEnds {
    dialect: Dialect,
    /// The bytes before this one have been scanned.
    at: usize,
    /// Where the record begins that has not ended.
    record: usize,
    /// Delimiters of this record up to `counted` that are not quoted.
    column: usize,
    counted: usize,
    /// A field that begins with a quote, and has not ended.
    open: Option<Opening>,
    /// Records that have ended, except blank lines.
    n_records: u64,
}

impl TableEnds {
    pub(super) fn new(dialect: Dialect) -> Self {
        TableEnds { dialect, at: 0, record: 0, column: 0, counted: 0, open: None, n_records: 0 }
    }

    /// Records that have ended, except blank lines.
    pub(super) fn n_records(&self) -> u64 {
        self.n_records
    }

    /// The quote that is open at the end of the bytes.
    pub(super) fn open_at(&self) -> Option<usize> {
        self.open.map(|open| open.at)
    }

    /// Forgets so many bytes at the beginning, all of them in records that have ended.
    pub(super) fn forget(&mut self, length: usize) {
        for place in [&mut self.at, &mut self.record, &mut self.counted] {
            *place -= length;
        }
        if let Some(open) = &mut self.open {
            for place in [&mut open.at, &mut open.record, &mut open.searched] {
                *place -= length;
            }
        }
    }

    /// Scans the bytes that follow those of the call before, which are still there. Returns the
    /// last end of a record among them, or the first if it stops there. `is_last` says that no more
    /// bytes follow.
    pub(super) fn scan(&mut self, bytes: &[u8], stops: bool, is_last: bool) -> Option<usize> {
        let mut last = None;
        loop {
            if let Some(open) = &mut self.open {
                match self.dialect.quoted_end(bytes, open, is_last) {
                    Quoted::Closed(end) => {
                        (self.column, self.counted, self.at) = (open.column, end, end);
                    }
                    Quoted::Stray => self.at = open.at + 1,
                    Quoted::Unclosed | Quoted::Unknown => return last,
                }
                self.open = None;
            }
            // Up to the next quote, every line feed ends a record.
            let start = self.at;
            let quote = self.dialect.quote.and_then(|quote| memchr::memchr(quote, &bytes[start..]));
            let end = quote.map_or(bytes.len(), |length| start + length);
            for feed in memchr::memchr_iter(b'\n', &bytes[start..end]).map(|feed| start + feed) {
                self.n_records += u64::from(!is_blank(&bytes[self.record..feed]));
                (self.record, self.at, self.column, self.counted) = (feed + 1, feed + 1, 0, feed + 1);
                last = Some(feed + 1);
                if stops {
                    return last;
                }
            }
            if quote.is_none() {
                self.at = bytes.len();
                return last;
            }
            self.at = end + 1;
            if end == self.record || bytes[end - 1] == self.dialect.delimiter {
                let n_more = memchr::memchr_iter(self.dialect.delimiter, &bytes[self.counted..end]).count();
                self.open = Some(Opening {
                    at: end,
                    column: self.column + n_more,
                    record: self.record,
                    searched: end + 1,
                });
            }
        }
    }
}

/// Whether a line is blank: empty, or a carriage return.
fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"" | b"\r")
}

/// The fields of a record. They are slices of its bytes, unless two quotes in them are one.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// The bytes of all records.
    bytes: &'a [u8],
    unescaped: Vec<u8>,
    places: Vec<FieldPlace>,
    /// Fields that begin with a stray quote.
    pub(super) n_stray: u64,
    /// Line feeds within quoted fields.
    n_feeds: u64,
    /// Whether the next two are looked for.
    is_studied: bool,
    /// Whether a quote is where no program writes one that quotes fields.
    pub(super) is_loose: bool,
    /// Whether only its quotes hold a field together: a delimiter, a line feed or a quote is in it.
    pub(super) is_quoting: bool,
    /// Whether a field begins with a quote, and the bytes end before its closing one.
    pub(super) is_open: bool,
}

/// Where a field is.
#[derive(Clone, Copy, Debug)]
struct FieldPlace {
    start: usize,
    end: usize,
    is_unescaped: bool,
}

impl<'a> Fields<'a> {
    /// Fields of which it is also looked for whether they are loose or quoting.
    pub(super) fn studied() -> Self {
        Fields { is_studied: true, ..Fields::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn get(&self, column: usize) -> &[u8] {
        let FieldPlace { start, end, is_unescaped } = self.places[column];
        if is_unescaped { &self.unescaped[start..end] } else { &self.bytes[start..end] }
    }

    /// Whether these are the fields of a row of `n_columns`. Empty ones may follow: many programs
    /// write a delimiter after the last field, too.
    pub(super) fn fit(&self, n_columns: usize) -> bool {
        self.len() >= n_columns && (n_columns..self.len()).all(|column| self.get(column).is_empty())
    }

    /// Begins a record of these bytes.
    fn begin(&mut self, bytes: &'a [u8]) {
        self.bytes = bytes;
        self.unescaped.clear();
        self.places.clear();
        (self.n_stray, self.n_feeds) = (0, 0);
        (self.is_loose, self.is_quoting, self.is_open) = (false, false, false);
    }

    fn push(&mut self, start: usize, end: usize) {
        self.places.push(FieldPlace { start, end, is_unescaped: false });
    }

    /// Adds what is within the quotes of a field, in which two quotes are one.
    fn push_quoted(&mut self, start: usize, end: usize, quote: u8) {
        let mut field = &self.bytes[start..end];
        self.n_feeds += memchr::memchr_iter(b'\n', field).count() as u64;
        let Some(mut at) = memchr::memchr(quote, field) else { return self.push(start, end) };
        let start = self.unescaped.len();
        loop {
            self.unescaped.extend_from_slice(&field[..=at]);
            field = field.get(at + 2..).unwrap_or_default();
            match memchr::memchr(quote, field) {
                Some(next) => at = next,
                None => break,
            }
        }
        self.unescaped.extend_from_slice(field);
        self.places.push(FieldPlace { start, end: self.unescaped.len(), is_unescaped: true });
    }

    /// Takes the fields of a line as they stand, whatever quotes they have.
    pub(super) fn take_unquoted(&mut self, line: &'a [u8], delimiter: u8) {
        self.begin(line);
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, line).chain([line.len()]) {
            self.push(start, end);
            start = end + 1;
        }
    }
}

/// A record of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecordSpan {
    pub(super) start: usize,
    /// After its line feed.
    pub(super) end: usize,
    /// Lines before the record.
    pub(super) line: u64,
    pub(super) n_lines: u64,
}

/// Reads the records of a table from bytes that hold whole ones.
pub(super) struct RecordReader<'a> {
    dialect: Dialect,
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl<'a> RecordReader<'a> {
    pub(super) fn new(dialect: Dialect, bytes: &'a [u8]) -> Self {
        RecordReader { dialect, bytes, at: 0, line: 0 }
    }

    /// Reads the next record, unless there are only blank lines.
    pub(super) fn next_record(&mut self, fields: &mut Fields<'a>) -> Option<RecordSpan> {
        loop {
            // Blank lines: empty, or a carriage return.
            let length = match self.bytes[self.at..] {
                [] | [b'\r'] => return None,
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => break,
            };
            self.at += length;
            self.line += 1;
        }
        let start = self.at;
        fields.begin(self.bytes);
        while self.next_field(start, fields) {}
        // Only quotes hold lines together.
        let (line, n_lines) = (self.line, fields.n_feeds + 1);
        self.line += fields.n_feeds + u64::from(self.bytes[self.at - 1] == b'\n');
        Some(RecordSpan { start, end: self.at, line, n_lines })
    }

    /// Reads a field of the record that begins at `record`; returns whether another one follows.
    fn next_field(&mut self, record: usize, fields: &mut Fields<'a>) -> bool {
        let Dialect { delimiter, quote, .. } = self.dialect;
        let mut at = self.at;
        if let Some(quote) = quote.filter(|quote| self.bytes.get(at) == Some(quote)) {
            let column = fields.len();
            let mut opening = Opening { at, column, record, searched: at + 1 };
            match self.dialect.quoted_end(self.bytes, &mut opening, true) {
                Quoted::Closed(end) => {
                    if fields.is_studied {
                        let inner = &self.bytes[at + 1..end - 1];
                        fields.is_quoting |= memchr::memchr3(delimiter, b'\n', quote, inner).is_some();
                    }
                    fields.push_quoted(at + 1, end - 1, quote);
                    // Blanks and a carriage return may follow, which belong to no field.
                    let rest = &self.bytes[end..];
                    let next = rest.iter().position(|&byte| byte == delimiter || byte == b'\n');
                    self.at = end + next.map_or(rest.len(), |length| length + 1);
                    return next.is_some_and(|length| rest[length] == delimiter);
                }
                // Without a closing quote, it is further on than the records that are here; or the
                // file is cut off.
                end => {
                    fields.is_open |= end == Quoted::Unclosed;
                    fields.n_stray += 1;
                }
            }
        }
        let rest = &self.bytes[at..];
        let length = memchr::memchr2(delimiter, b'\n', rest).unwrap_or(rest.len());
        let (start, mut field) = (at, &rest[..length]);
        at += length;
        let follows = self.bytes.get(at) == Some(&delimiter);
        if !follows {
            field = field.strip_suffix(b"\r").unwrap_or(field);
        }
        if fields.is_studied && !fields.is_open {
            fields.is_loose |= quote.is_some_and(|quote| memchr::memchr(quote, field).is_some());
        }
        fields.push(start, start + field.len());
        self.at = (at + 1).min(self.bytes.len());
        follows
    }
}

#[cfg(test)]
mod tests;
