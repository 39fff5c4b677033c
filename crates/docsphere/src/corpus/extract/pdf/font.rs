//! Fonts: what their codes mean, and how wide they are.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

/// The most bytes of a table of characters. One of all of Unicode has less than two million.
const MAX_TABLE_BYTES: usize = 1 << 23;

/// Width of a character, in thousandths of the font's size, if the file does not say it.
const USUAL_WIDTH: f64 = 500.0;

pub(super) struct Font<'a> {
    encoding: Encoding<'a>,
    /// Bytes of a code.
    code_bytes: usize,
    widths: HashMap<u32, f64>,
    default_width: f64,
}

impl<'a> Font<'a> {
    /// # Errors
    /// If a table of the font unpacks to too many bytes.
    pub(super) fn new(font: &'a Dictionary, document: &'a Document) -> lopdf::Result<Self> {
        // What a font says for readers goes before what its glyphs are called.
        let encoding = match to_unicode(font, document)? {
            Some(encoding) => encoding,
            None => font.get_font_encoding_with_limit(document, MAX_TABLE_BYTES)?,
        };
        let subtype = font.get_deref(b"Subtype", document).and_then(Object::as_name).unwrap_or_default();
        let mut new = Font { encoding, code_bytes: 1, widths: HashMap::new(), default_width: USUAL_WIDTH };
        if subtype == b"Type0" {
            new.code_bytes = 2;
            new.read_composite_widths(font, document);
        } else {
            new.read_widths(
                font,
                document,
                if subtype == b"Type3" { type3_scale(font, document) } else { 1.0 },
            );
        }
        Ok(new)
    }

    fn read_widths(&mut self, font: &Dictionary, document: &Document, scale: f64) {
        let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or(0);
        let Ok(widths) = font.get_deref(b"Widths", document).and_then(Object::as_array) else { return };
        for (code, width) in (first..).zip(widths.iter().take(256)) {
            if let (Ok(code), Some(width)) = (u32::try_from(code), number(width, document)) {
                self.widths.insert(code, width * scale);
            }
        }
        let descriptor = font.get_deref(b"FontDescriptor", document).and_then(Object::as_dict);
        let missing = descriptor.and_then(|descriptor| descriptor.get_deref(b"MissingWidth", document));
        self.default_width =
            missing.ok().and_then(|width| number(width, document)).map_or(0.0, |width| width * scale);
    }

    /// Widths of fonts with many characters: `first [width width ...]` or `first last width`.
    fn read_composite_widths(&mut self, font: &Dictionary, document: &Document) {
        let descendant = font
            .get_deref(b"DescendantFonts", document)
            .and_then(Object::as_array)
            .ok()
            .and_then(|fonts| document.dereference(fonts.first()?).ok()?.1.as_dict().ok());
        let Some(descendant) = descendant else { return };
        let default = descendant.get_deref(b"DW", document).ok();
        self.default_width = default.and_then(|width| number(width, document)).unwrap_or(1000.0);
        let Ok(widths) = descendant.get_deref(b"W", document).and_then(Object::as_array) else { return };
        let object = |at: usize| widths.get(at).and_then(|object| Some(document.dereference(object).ok()?.1));
        let code = |at: usize| object(at)?.as_i64().ok().and_then(|code| u16::try_from(code).ok());
        let mut at = 0;
        while let Some(first) = code(at) {
            match object(at + 1) {
                Some(Object::Array(list)) => {
                    for (code, width) in (u32::from(first)..=0xffff).zip(list) {
                        self.widths.extend(number(width, document).map(|width| (code, width)));
                    }
                    at += 2;
                }
                _ => {
                    let Some((last, width)) =
                        code(at + 1).zip(object(at + 2).and_then(|width| number(width, document)))
                    else {
                        return;
                    };
                    self.widths.extend((first..=last).map(|code| (u32::from(code), width)));
                    at += 3;
                }
            }
        }
    }

    /// The text of a string, and whatever could be made of it if it is damaged.
    pub(super) fn text(&self, string: &[u8]) -> String {
        let mut text = String::new();
        // An encoding that is not known gives no text.
        let _ = self.encoding.write_to_string(string, &mut text);
        text
    }

    /// Codes of a string, each with its width in thousandths of the font's size.
    pub(super) fn widths<'s>(&'s self, string: &'s [u8]) -> impl Iterator<Item = (u32, f64)> + 's {
        string.chunks(self.code_bytes).map(|bytes| {
            let code = bytes.iter().fold(0, |code, &byte| code << 8 | u32::from(byte));
            (code, self.widths.get(&code).copied().unwrap_or(self.default_width))
        })
    }

    /// Whether the code of a blank takes the extra room between words.
    pub(super) fn has_words(&self) -> bool {
        self.code_bytes == 1
    }
}

/// The font's own table from codes to characters.
fn to_unicode(font: &Dictionary, document: &Document) -> lopdf::Result<Option<Encoding<'static>>> {
    let Ok(table) = font.get(b"ToUnicode") else { return Ok(None) };
    let mut alone = Dictionary::new();
    alone.set("Type", "Font");
    alone.set("ToUnicode", table.clone());
    Ok(match alone.get_font_encoding_with_limit(document, MAX_TABLE_BYTES)? {
        Encoding::UnicodeMapEncoding(table) => Some(Encoding::UnicodeMapEncoding(table)),
        _ => None,
    })
}

/// Fonts that are drawn by operators have a unit of their own.
fn type3_scale(font: &Dictionary, document: &Document) -> f64 {
    let matrix = font.get_deref(b"FontMatrix", document).and_then(Object::as_array).ok();
    matrix.and_then(|matrix| number(matrix.first()?, document)).map_or(1.0, |unit| unit.abs() * 1000.0)
}

fn number(object: &Object, document: &Document) -> Option<f64> {
    document.dereference(object).ok()?.1.as_float().ok().map(f64::from)
}
