//! Tables as a workbook of Excel: an archive of XML files, of which the sheet is written row by
//! row.
//!
//! Texts are strings within their cells and never formulas, whatever they begin with. Characters
//! that XML does not have are replaced, and what Excel would read as an escaped character
//! (`_x0041_`) is escaped itself.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Head, TableWriter, Value};
use crate::error::{Error, Result};

/// Rows of a sheet, the heads among them.
const MAX_ROWS: usize = 1_048_576;

/// Columns of a sheet.
const MAX_COLUMNS: usize = 16_384;

/// UTF-16 units of a cell.
const MAX_UNITS: usize = 32_767;

const TYPES: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
    <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
    <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
    <Override PartName=\"/xl/workbook.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/>\
    <Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/>\
    </Types>";

const RELATIONS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/>\
    </Relationships>";

const WORKBOOK: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">\
    <sheets><sheet name=\"documents\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";

const WORKBOOK_RELATIONS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet1.xml\"/>\
    </Relationships>";

/// The first row stays in view.
const SHEET: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">\
    <sheetViews><sheetView workbookViewId=\"0\"><pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews>\
    <sheetData>";

const SHEET_END: &str = "</sheetData></worksheet>";

struct Table {
    path: PathBuf,
    archive: ZipWriter<BufWriter<File>>,
    n_cut: usize,
}

pub(super) fn create(path: &Path, heads: &[Head], n_documents: usize) -> Result<Box<dyn TableWriter>> {
    if n_documents >= MAX_ROWS || heads.len() > MAX_COLUMNS {
        let problem = format!(
            "a sheet of Excel has at most {} rows and {MAX_COLUMNS} columns, the table has {n_documents} and {}; write .csv, .jsonl or .parquet",
            MAX_ROWS - 1,
            heads.len()
        );
        return Err(Error::malformed(problem).at_path(path));
    }
    let begin = || -> io::Result<ZipWriter<BufWriter<File>>> {
        let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
        for (name, content) in [
            ("[Content_Types].xml", TYPES),
            ("_rels/.rels", RELATIONS),
            ("xl/workbook.xml", WORKBOOK),
            ("xl/_rels/workbook.xml.rels", WORKBOOK_RELATIONS),
        ] {
            archive.start_file(name, SimpleFileOptions::default())?;
            archive.write_all(content.as_bytes())?;
        }
        archive.start_file("xl/worksheets/sheet1.xml", SimpleFileOptions::default().large_file(true))?;
        archive.write_all(SHEET.as_bytes())?;
        Ok(archive)
    };
    let archive = begin().map_err(|error| Error::writing(error, path))?;
    let mut table = Box::new(Table { path: path.to_owned(), archive, n_cut: 0 });
    table.row(heads.iter().map(|head| Value::Text(head.name.clone())).collect())?;
    Ok(table)
}

impl TableWriter for Table {
    fn row(&mut self, values: Vec<Value>) -> Result<()> {
        let mut row = String::from("<row>");
        for value in values {
            match value {
                Value::Missing => row.push_str("<c/>"),
                Value::Integer(number) => row.push_str(&format!("<c><v>{number}</v></c>")),
                Value::Number(number) if number.is_finite() => {
                    row.push_str(&format!("<c><v>{number}</v></c>"))
                }
                Value::Number(_) => row.push_str("<c/>"),
                Value::Text(text) => {
                    let cut = fitting(&text);
                    self.n_cut += usize::from(cut.len() < text.len());
                    row.push_str("<c t=\"inlineStr\"><is><t xml:space=\"preserve\">");
                    push_escaped(&mut row, cut);
                    row.push_str("</t></is></c>");
                }
            }
        }
        row.push_str("</row>");
        self.archive.write_all(row.as_bytes()).map_err(|error| Error::writing(error, &self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<usize> {
        let Table { path, n_cut, .. } = &*self;
        let (path, n_cut) = (path.clone(), *n_cut);
        let end = || -> io::Result<()> {
            self.archive.write_all(SHEET_END.as_bytes())?;
            self.archive.finish()?.flush()
        };
        end().map(|()| n_cut).map_err(|error| Error::writing(error, &path))
    }
}

/// As much of a text as a cell holds.
fn fitting(text: &str) -> &str {
    let mut n_units = 0;
    let too_long = |character: char| {
        n_units += character.len_utf16();
        n_units > MAX_UNITS
    };
    text.find(too_long).map_or(text, |end| &text[..end])
}

fn push_escaped(xml: &mut String, text: &str) {
    for (place, character) in text.char_indices() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\r' => xml.push_str("_x000D_"),
            '\t' | '\n' => xml.push(character),
            '_' if is_escape(&text[place..]) => xml.push_str("_x005F_"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            _ => xml.push(character),
        }
    }
}

/// Whether a text begins with what Excel reads as one character: `_x0041_`.
fn is_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 7 && bytes[1] == b'x' && bytes[2..6].iter().all(u8::is_ascii_hexdigit) && bytes[6] == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_strings_that_excel_reads_as_they_are() {
        let escaped = |text: &str| {
            let mut xml = String::new();
            push_escaped(&mut xml, text);
            xml
        };
        assert_eq!(escaped("=1+1 <b> & \"c\""), "=1+1 &lt;b&gt; &amp; \"c\"");
        assert_eq!(escaped("a\u{0}\u{1b}\tb\nc\r"), "a\u{fffd}\u{fffd}\tb\nc_x000D_");
        assert_eq!(escaped("_x0041_ _x41_ __x0041_"), "_x005F_x0041_ _x41_ __x005F_x0041_");
        assert_eq!(fitting(&"ä".repeat(40_000)).chars().count(), MAX_UNITS);
        assert_eq!(fitting(&"😀".repeat(40_000)).chars().count(), MAX_UNITS / 2);
    }

    #[test]
    fn more_documents_than_a_sheet_holds_are_refused() {
        let path = Path::new("no/such/folder.xlsx");
        let error = create(path, &[], MAX_ROWS).err().unwrap().to_string();
        assert!(error.contains("at most 1048575 rows"), "{error}");
    }
}
