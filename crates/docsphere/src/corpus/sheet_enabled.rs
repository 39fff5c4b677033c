//! Spreadsheets, XLSX and ODS, as tables. `sheet_disabled.rs` is the counterpart for builds without
//! them.
//!
//! A sheet is turned into CSV as it is read, so its records are found, numbered and parsed like
//! those of any table. The first row is the header. Cells are their values as the file stores them:
//! texts, the results of formulas, and numbers; dates are written as ISO 8601 (`sheet_dates.rs`).
//! Error values are empty.
//!
//! Archive and XML are streamed: only the shared texts of an XLSX file are held in memory, which is
//! checked. Rows and columns beyond the size of a sheet (1,048,576 and 16,384) are left out, and so
//! repeated cells of ODS cannot expand to more. A part that expands to more than 64 MiB and more
//! than 100 times the file is refused.
//!
//! Reading XLSX and ODS is our own: calamine (0.38) holds a sheet as a dense table, which a file of
//! a few hundred bytes can make as large as it likes.

use std::fs::File;
use std::io::{self, BufRead, Read};

use quick_xml::events::{BytesStart, Event};

use super::field_names::{field_list, same_but_case};
use super::options::CorpusOptions;
use super::sheet_dates::DateStyles;
use super::sheet_parts::{Parts, Xml, attribute, bad, bad_xml, each_element, push_text, with_password};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryLimit, PIECE_BYTES};

/// The size of a sheet in all programs.
const MAX_ROWS: u64 = 1 << 20;
const MAX_COLUMNS: usize = 1 << 14;

/// Bytes to which repeated cells may make a row grow.
const MAX_REPEATED_BYTES: usize = 1 << 24;

/// Bytes to which a sheet may grow as CSV. A small file can repeat a cell a billion times.
const MAX_SHEET_BYTES: u64 = if cfg!(test) { 1 << 26 } else { 1 << 30 };

/// What takes the memory, for messages.
const TEXTS: &str = "the texts of a spreadsheet";

/// A sheet of a file as CSV, with commas and double quotes.
pub(super) fn rows(file: File, options: &CorpusOptions) -> Result<Box<dyn BufRead>> {
    let mut parts = Parts::open(file)?;
    if parts.has("META-INF/manifest.xml") {
        let mut is_encrypted = false;
        each_element(parts.xml("META-INF/manifest.xml")?, |element| {
            is_encrypted |= element.local_name().as_ref() == "encryption-data";
        })?;
        if is_encrypted {
            return Err(with_password());
        }
    }
    let sheet = match parts.has("content.xml") {
        true => Sheet::of_ods(&mut parts, options)?,
        false => Sheet::of_xlsx(&mut parts, options)?,
    };
    Ok(Box::new(sheet))
}

/// A sheet that is not in the file.
fn no_sheet(wanted: &str, names: &[String]) -> Error {
    let expected = format!("one of the sheets of the file ({}), or its number", field_list(names));
    ErrorKind::Mismatch { what: "sheet", expected, got: format!("{wanted:?}") }.into()
}

/// Which of these sheets is wanted.
fn chosen(wanted: Option<&str>, names: &[String]) -> Option<usize> {
    let Some(wanted) = wanted else { return (!names.is_empty()).then_some(0) };
    let by_name = |same: fn(&str, &str) -> bool| names.iter().position(|name| same(name, wanted));
    let by_number = || wanted.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    by_name(|a, b| a == b).or_else(|| by_name(same_but_case)).or_else(|| by_number().map(|number| number - 1))
}

/// The texts of an XLSX file that cells share.
#[derive(Default)]
struct SharedTexts {
    all: String,
    /// The end of each.
    ends: Vec<usize>,
}

impl SharedTexts {
    fn read(mut xml: Xml, memory: &MemoryLimit) -> Result<Self> {
        let mut texts = SharedTexts::default();
        let (mut buffer, mut checked) = (Vec::new(), 0);
        // Whether we are in a text, and in a reading aid.
        let (mut in_text, mut in_aid) = (false, false);
        loop {
            buffer.clear();
            match xml.read_event_into(&mut buffer).map_err(|error| bad_xml(&error))? {
                Event::Eof => return Ok(texts),
                Event::Start(element) => match element.local_name().as_ref() {
                    "t" => in_text = true,
                    "rPh" => in_aid = true,
                    _ => {}
                },
                Event::Empty(element) if element.local_name().as_ref() == "si" => texts.end(),
                Event::End(element) => match element.local_name().as_ref() {
                    "t" => in_text = false,
                    "rPh" => in_aid = false,
                    "si" => texts.end(),
                    _ => {}
                },
                event if in_text && !in_aid => push_text(&event, &mut texts.all),
                _ => {}
            }
            let held = texts.all.len() + size_of_val(&texts.ends[..]);
            if held > checked + PIECE_BYTES {
                checked = held;
                memory.check(TEXTS, 2 * held as u64)?;
            }
        }
    }

    fn end(&mut self) {
        self.ends.push(self.all.len());
    }

    fn get(&self, index: &str) -> &str {
        let Ok(index) = index.trim().parse::<usize>() else { return "" };
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(index).copied();
        start.zip(end).map_or("", |(start, end)| &self.all[start..end])
    }
}

/// A sheet as CSV.
struct Sheet {
    xml: Xml,
    kind: Kind,
    /// The row that is being read.
    row: Row,
    /// The number of fields of the header.
    width: usize,
    n_rows: u64,
    /// How often the row is still to be written.
    n_left: u64,
    /// CSV, and how much of it has been read.
    csv: Vec<u8>,
    n_read: usize,
    /// Bytes of all rows so far.
    n_written: u64,
    is_over: bool,
}

/// Which kind of file a sheet is from.
enum Kind {
    Xlsx(SharedTexts, DateStyles),
    Ods,
}

/// The cells of a row.
#[derive(Default)]
struct Row {
    cells: Vec<String>,
    /// How often the row is repeated.
    n_times: u64,
    /// The column of the open cell, how often it is repeated, and its type.
    column: usize,
    n_columns: usize,
    cell_type: String,
    /// Whether an open cell of XLSX is a date, and the date of one of ODS.
    is_date: bool,
    date: Option<String>,
    /// Bytes of all cells.
    n_bytes: usize,
    /// The text of the open cell.
    text: String,
    in_value: bool,
    /// Whether a comment or a reading aid is open, whose text is not the cell's.
    in_aside: bool,
    is_open: bool,
}

impl Sheet {
    fn new(xml: Xml, kind: Kind) -> Self {
        let (row, csv) = (Row::default(), Vec::new());
        Sheet { xml, kind, row, width: 0, n_rows: 0, n_left: 0, csv, n_read: 0, n_written: 0, is_over: false }
    }

    fn of_xlsx(parts: &mut Parts, options: &CorpusOptions) -> Result<Self> {
        let mut sheets = Vec::new();
        each_element(parts.xml("xl/workbook.xml")?, |element| {
            if element.local_name().as_ref() == "sheet" {
                // The namespace of relations has several prefixes.
                let id = element
                    .attributes()
                    .flatten()
                    .find(|a| a.key.local_name().as_ref() == "id" && a.key.prefix().is_some());
                sheets.push((
                    attribute(element, "name").unwrap_or_default(),
                    id.map(|id| id.value.into_owned()),
                ));
            }
        })?;
        let names: Vec<String> = sheets.iter().map(|(name, _)| name.clone()).collect();
        let wanted = options.sheet.as_deref();
        let index = chosen(wanted, &names).ok_or_else(|| no_sheet(wanted.unwrap_or("1"), &names))?;
        let mut target = None;
        each_element(parts.xml("xl/_rels/workbook.xml.rels")?, |element| {
            if attribute(element, "Id").is_some_and(|id| Some(id) == sheets[index].1) {
                target = attribute(element, "Target");
            }
        })?;
        let target = target.ok_or_else(|| bad("the part of each sheet", "none"))?;
        let path = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
        let texts = match parts.has("xl/sharedStrings.xml") {
            true => SharedTexts::read(parts.xml("xl/sharedStrings.xml")?, &options.memory)?,
            false => SharedTexts::default(),
        };
        // Without styles, which no text depends on, dates stay numbers.
        let dates = DateStyles::read(parts).unwrap_or_default();
        Ok(Sheet::new(parts.xml(&path)?, Kind::Xlsx(texts, dates)))
    }

    fn of_ods(parts: &mut Parts, options: &CorpusOptions) -> Result<Self> {
        let mut names = Vec::new();
        each_element(parts.xml("content.xml")?, |element| {
            if element.local_name().as_ref() == "table" {
                names.push(attribute(element, "name").unwrap_or_default());
            }
        })?;
        let wanted = options.sheet.as_deref();
        let index = chosen(wanted, &names).ok_or_else(|| no_sheet(wanted.unwrap_or("1"), &names))?;
        let mut xml = parts.xml("content.xml")?;
        let (mut buffer, mut n_before) = (Vec::new(), 0);
        loop {
            buffer.clear();
            match xml.read_event_into(&mut buffer).map_err(|error| bad_xml(&error))? {
                Event::Start(element) if element.local_name().as_ref() == "table" => {
                    if n_before == index {
                        return Ok(Sheet::new(xml, Kind::Ods));
                    }
                    n_before += 1;
                }
                Event::Empty(element) if element.local_name().as_ref() == "table" => n_before += 1,
                Event::Eof => return Err(bad("a sheet with rows", "an empty one")),
                _ => {}
            }
        }
    }

    /// Reads until a row has ended, and writes it as CSV.
    fn next_row(&mut self) -> io::Result<()> {
        let mut buffer = Vec::new();
        while self.n_left == 0 && !self.is_over {
            buffer.clear();
            let event = self.xml.read_event_into(&mut buffer).map_err(|error| match error {
                quick_xml::Error::Io(error) => io::Error::new(error.kind(), error.to_string()),
                error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
            })?;
            let ends_row = match &self.kind {
                Kind::Xlsx(texts, dates) => self.row.on_xlsx(&event, (texts, dates), &mut self.is_over),
                Kind::Ods => self.row.on_ods(&event, &mut self.is_over),
            };
            if matches!(event, Event::Eof) && !self.is_over {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sheet is cut off"));
            }
            if ends_row {
                self.end_row();
            }
        }
        if self.n_left > 0 {
            self.n_left -= 1;
            let before = self.csv.len();
            self.write_row();
            self.n_written += (self.csv.len() - before) as u64;
            if self.n_written > MAX_SHEET_BYTES {
                let message = "the sheet has more than 1 GiB of text; save it as CSV, if it is no mistake";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(())
    }

    fn end_row(&mut self) {
        let n_filled = self.row.cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
        let n_times = self.row.n_times.max(1).min(MAX_ROWS.saturating_sub(self.n_rows));
        self.n_rows += n_times;
        if n_filled > 0 {
            self.n_left = n_times;
            self.width = if self.width == 0 { n_filled } else { self.width };
        }
    }

    /// Writes the row. Cells beyond the header belong to no field.
    fn write_row(&mut self) {
        for column in 0..self.width {
            self.csv.extend_from_slice(if column == 0 { b"\"" } else { b",\"" });
            let cell = self.row.cells.get(column).map_or("", String::as_str);
            self.csv.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
            self.csv.push(b'"');
        }
        self.csv.push(b'\n');
    }
}

/// A text of XLSX, which has some characters as `_xHHHH_`: carriage returns above all.
fn unescaped(text: &str) -> String {
    if !text.contains("_x00") {
        return text.to_owned();
    }
    text.replace("_x000D_", "").replace("_x000A_", "\n").replace("_x0009_", "\t").replace("_x005F_", "_")
}

impl Row {
    fn begin(&mut self, n_times: u64) {
        self.cells.clear();
        self.in_aside = false;
        (self.n_times, self.column, self.n_bytes, self.is_open) = (n_times, 0, 0, true);
    }

    /// Takes the value of the open cell.
    fn end_cell(&mut self, value: String) {
        let next = self.column.saturating_add(self.n_columns).min(MAX_COLUMNS);
        if !value.is_empty() && self.column < MAX_COLUMNS {
            let n_bytes = value.len().saturating_mul(next - self.column);
            let is_short = self.n_bytes.saturating_add(n_bytes) <= MAX_REPEATED_BYTES;
            let last = if is_short { next } else { self.column + 1 };
            self.n_bytes += value.len() * (last - self.column);
            self.cells.resize(self.cells.len().max(last), String::new());
            self.cells[self.column..last].fill(value);
        }
        self.column = next;
        self.text.clear();
    }

    /// Takes an event of XLSX; returns whether it ends a row.
    fn on_xlsx(
        &mut self,
        event: &Event<'_>,
        (texts, dates): (&SharedTexts, &DateStyles),
        is_over: &mut bool,
    ) -> bool {
        match event {
            Event::Start(element) => match element.local_name().as_ref() {
                "row" => self.begin(1),
                "c" => {
                    let place = attribute(element, "r");
                    self.column = place.and_then(|place| column_of(&place)).unwrap_or(self.column);
                    self.n_columns = 1;
                    self.cell_type = attribute(element, "t").unwrap_or_default();
                    self.is_date = dates.is_date(attribute(element, "s").as_deref());
                    self.text.clear();
                }
                "v" | "t" => self.in_value = !self.in_aside,
                "rPh" => self.in_aside = true,
                _ => {}
            },
            Event::End(element) => match element.local_name().as_ref() {
                "v" | "t" => self.in_value = false,
                "rPh" => self.in_aside = false,
                "c" => {
                    let value = match self.cell_type.as_str() {
                        "s" => unescaped(texts.get(&self.text)),
                        "e" => String::new(),
                        "b" => if self.text.trim() == "1" { "true" } else { "false" }.to_owned(),
                        "" | "n" if self.is_date => {
                            dates.date(&self.text).unwrap_or_else(|| self.text.clone())
                        }
                        _ => unescaped(&self.text),
                    };
                    self.end_cell(value);
                }
                "row" => return std::mem::take(&mut self.is_open),
                "sheetData" => *is_over = true,
                _ => {}
            },
            Event::Empty(element) => match element.local_name().as_ref() {
                // A cell without a value still has its place.
                "c" => {
                    let place = attribute(element, "r");
                    self.column = place.and_then(|place| column_of(&place)).unwrap_or(self.column);
                    self.n_columns = 1;
                    self.end_cell(String::new());
                }
                "sheetData" => *is_over = true,
                _ => {}
            },
            event if self.in_value => push_text(event, &mut self.text),
            _ => {}
        }
        false
    }

    /// Takes an event of ODS; returns whether it ends a row.
    fn on_ods(&mut self, event: &Event<'_>, is_over: &mut bool) -> bool {
        let repeated = |element: &BytesStart<'_>, name: &str| -> u64 {
            attribute(element, name).and_then(|times| times.parse().ok()).unwrap_or(1)
        };
        match event {
            Event::Start(element) | Event::Empty(element) => match element.local_name().as_ref() {
                "table-row" => self.begin(repeated(element, "number-rows-repeated")),
                "table-cell" | "covered-table-cell" => {
                    let times = repeated(element, "number-columns-repeated");
                    self.n_columns = usize::try_from(times).unwrap_or(MAX_COLUMNS).min(MAX_COLUMNS);
                    self.text.clear();
                    self.date = attribute(element, "date-value");
                    if matches!(event, Event::Empty(_)) {
                        self.end_cell(String::new());
                    }
                }
                "annotation" => self.in_aside = matches!(event, Event::Start(_)),
                _ if self.in_aside => {}
                "p" if matches!(event, Event::Start(_)) => {
                    self.text.push_str(if self.text.is_empty() { "" } else { "\n" });
                    self.in_value = true;
                }
                "s" | "tab" | "line-break" if self.in_value => self.text.push(' '),
                _ => {}
            },
            Event::End(element) => match element.local_name().as_ref() {
                "annotation" => self.in_aside = false,
                _ if self.in_aside => {}
                "p" => self.in_value = false,
                "table-cell" | "covered-table-cell" => {
                    let value = std::mem::take(&mut self.text);
                    let value = self.date.take().unwrap_or(value);
                    self.end_cell(value);
                }
                "table-row" => return std::mem::take(&mut self.is_open),
                "table" => *is_over = true,
                _ => {}
            },
            event if self.in_value => push_text(event, &mut self.text),
            _ => {}
        }
        false
    }
}

/// The column of a cell such as `AB12`, from 0.
fn column_of(place: &str) -> Option<usize> {
    let mut letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.try_fold(0usize, |number, letter| {
        number.checked_mul(26)?.checked_add(usize::from(letter.to_ascii_uppercase() - b'A') + 1)
    });
    number?.checked_sub(1)
}

impl BufRead for Sheet {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.n_read == self.csv.len() {
            self.csv.clear();
            self.n_read = 0;
            self.next_row()?;
        }
        Ok(&self.csv[self.n_read..])
    }

    fn consume(&mut self, length: usize) {
        self.n_read += length;
    }
}

impl Read for Sheet {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}
