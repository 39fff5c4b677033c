//! Documents that are archives of XML: DOCX, ODT, EPUB. `office_disabled.rs` is the counterpart for
//! builds without them.
//!
//! | kind | taken | left out |
//! |---|---|---|
//! | DOCX | the text of `word/document.xml`, foot- and endnotes | headers, comments, deleted text, text in drawings' alternatives |
//! | ODT | the text of `content.xml` | comments, deleted text, the page's header and footer |
//! | EPUB | the chapters, in reading order | the table of contents that is made of links alone stays |
//!
//! XML is read by `quick-xml`, which expands no entity but the five of XML and character numbers,
//! and recurses nowhere. A part of an archive that expands to more than 64 MiB and more than 100
//! times the archive is refused.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;
use zip::result::ZipError;

use super::{Extract, RawFile, Take, damaged, expansion_limit};
use crate::corpus::chunk::LONG_RECORD;
use crate::corpus::html::{Html, plain};
use crate::corpus::options::CorpusOptions;
use crate::error::{Error, ErrorKind, Result};

pub(super) struct Docx;

impl Extract for Docx {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let mut archive = Archive::open(&file.bytes, "DOCX", file.options)?;
        let mut text = archive.text("word/document.xml", &WORD)?;
        for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
            if archive.has(notes) {
                text.push_str(&archive.text(notes, &WORD)?);
            }
        }
        archive.push_title("docProps/core.xml", &file);
        take(None, Ok(text.trim().as_bytes()))
    }
}

pub(super) struct Odt;

impl Extract for Odt {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let mut archive = Archive::open(&file.bytes, "ODT", file.options)?;
        let text = archive.text("content.xml", &OPEN_DOCUMENT)?;
        archive.push_title("meta.xml", &file);
        take(None, Ok(text.trim().as_bytes()))
    }
}

pub(super) struct Epub;

impl Extract for Epub {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let mut archive = Archive::open(&file.bytes, "EPUB", file.options)?;
        let container = archive.part("META-INF/container.xml")?;
        let mut package = None;
        each_element(&container, "EPUB", |element| {
            if is_named(element, "rootfile") {
                package = package.take().or_else(|| attribute(element, "full-path"));
            }
        })?;
        let package =
            package.ok_or_else(|| damaged("EPUB", "a rootfile in META-INF/container.xml", "none"))?;
        archive.push_title(&package, &file);
        let mut text = String::new();
        for chapter in chapters(&archive.part(&package)?, &package)? {
            // Books often name parts that they do not have.
            if !archive.has(&chapter) {
                continue;
            }
            let page = archive.part(&chapter)?;
            text.push_str(&plain(&String::from_utf8_lossy(&page), Html::Strip));
            text.push('\n');
            archive.check_text(&text)?;
        }
        take(None, Ok(text.trim().as_bytes()))
    }
}

/// The chapters of a book, in reading order.
fn chapters(package: &[u8], path: &str) -> Result<Vec<String>> {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let (mut items, mut order) = (Vec::new(), Vec::new());
    each_element(package, "EPUB", |element| {
        if is_named(element, "item") {
            items.extend(attribute(element, "id").zip(attribute(element, "href")));
        } else if is_named(element, "itemref") {
            order.extend(attribute(element, "idref"));
        }
    })?;
    let items: std::collections::HashMap<String, String> = items.into_iter().collect();
    Ok(order
        .iter()
        .filter_map(|id| items.get(id))
        .map(|href| format!("{folder}{}", unescaped(href)))
        .collect())
}

/// A path in which `%20` stands for a blank.
fn unescaped(href: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = href.split('#').next().unwrap_or_default().as_bytes();
    while let [first, after @ ..] = rest {
        let code =
            after.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How text is marked up in XML.
struct Markup {
    /// The elements that hold text; none if all do.
    text: &'static [&'static str],
    /// The elements that end a paragraph.
    paragraphs: &'static [&'static str],
    /// The elements that stand for a blank.
    blanks: &'static [&'static str],
    /// The elements that are left out with their content.
    left_out: &'static [&'static str],
    /// The element that holds everything; none if it is the whole file.
    within: Option<&'static str>,
}

const WORD: Markup = Markup {
    text: &["t"],
    paragraphs: &["p", "br", "cr"],
    blanks: &["tab", "tc"],
    left_out: &["Fallback", "del", "moveFrom"],
    within: None,
};

const OPEN_DOCUMENT: Markup = Markup {
    text: &[],
    paragraphs: &["p", "h", "line-break"],
    blanks: &["s", "tab", "table-cell"],
    left_out: &["annotation", "tracked-changes", "forms", "sequence-decls"],
    within: Some("text"),
};

/// The title of a document, in what describes it. (A book may have several; they are joined.)
const TITLE: Markup =
    Markup { text: &["title"], paragraphs: &["title"], blanks: &[], left_out: &[], within: None };

/// An archive of parts.
struct Archive<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    format: &'static str,
    limit: u64,
    /// Bytes of all parts that have been read.
    n_unpacked: u64,
    options: &'a CorpusOptions,
}

fn password(format: &'static str) -> Error {
    damaged(
        format,
        "a file without a password",
        "an encrypted one (save it without, in the program that wrote it)",
    )
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8], format: &'static str, options: &'a CorpusOptions) -> Result<Self> {
        let archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(format, "an archive", error))?;
        Ok(Archive { archive, format, limit: expansion_limit(bytes.len()), n_unpacked: 0, options })
    }

    fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Adds the title of a document as a column. It is in this part, if there is one.
    /// Damage there is no reason to refuse the document.
    fn push_title(&mut self, name: &str, file: &RawFile<'_>) {
        let part = if file.options.keep.is_nothing() { None } else { self.part(name).ok() };
        if let Some(title) = part.and_then(|part| text_of(&part, &TITLE).ok()) {
            let words: Vec<&str> = title.split_whitespace().collect();
            file.columns.borrow_mut().push("title", words.join(" "));
        }
    }

    /// The bytes of a part.
    fn part(&mut self, name: &str) -> Result<Vec<u8>> {
        let Archive { format, limit, options, .. } = *self;
        let part = self.archive.by_name(name).map_err(|error| match error {
            ZipError::FileNotFound => damaged(format, &format!("a part {name}"), "none"),
            ZipError::UnsupportedArchive(_) => password(format),
            error => damaged(format, &format!("a part {name}"), error),
        })?;
        if part.encrypted() {
            return Err(password(format));
        }
        let failed = |error: std::io::Error| damaged(format, &format!("the whole part {name}"), error);
        let bytes = options.memory.read_whole(part.take(limit + 1), limit + 1, LONG_RECORD, failed)?;
        if bytes.len() as u64 > limit {
            let what = "the size in bytes of a part of a document";
            return Err(ErrorKind::TooLarge { what, limit, got: limit + 1 }.into());
        }
        // Twice, for markup: a part may be named again and again, and hold no text at all.
        self.n_unpacked += bytes.len() as u64;
        let (what, limit) = ("the size in bytes of all parts of a document", 2 * limit);
        if self.n_unpacked > limit {
            return Err(ErrorKind::TooLarge { what, limit, got: self.n_unpacked }.into());
        }
        Ok(bytes)
    }

    /// The text of a part.
    fn text(&mut self, name: &str, markup: &Markup) -> Result<String> {
        let xml = self.part(name)?;
        self.options.memory.check(LONG_RECORD, xml.len() as u64)?;
        text_of(&xml, markup).map_err(|error| damaged(self.format, "well-formed XML", error))
    }

    /// Refuses a book whose chapters together are too long.
    fn check_text(&self, text: &str) -> Result<()> {
        self.options.memory.check(LONG_RECORD, text.len() as u64)?;
        let (limit, got) = (self.limit, text.len() as u64);
        if got > limit {
            return Err(ErrorKind::TooLarge { what: "the size in bytes of a document", limit, got }.into());
        }
        Ok(())
    }
}

fn text_of(xml: &[u8], markup: &Markup) -> Result<String, quick_xml::Error> {
    let mut reader = Reader::from_reader(xml);
    let mut buffer = Vec::new();
    let mut text = String::new();
    // How deep we are in an element that is left out, and in those that hold text.
    let (mut n_left_out, mut n_text, mut n_within) = (0u64, 0u64, 0u64);
    let has = |names: &[&str], name: &str| names.contains(&name);
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer)? {
            Event::Eof => return Ok(text),
            Event::Start(element) => {
                let name = element.local_name();
                n_left_out += u64::from(n_left_out > 0 || has(markup.left_out, name.as_ref()));
                n_text += u64::from(has(markup.text, name.as_ref()));
                n_within += u64::from(n_within > 0 || markup.within == Some(name.as_ref()));
            }
            Event::Empty(element) if n_left_out == 0 => {
                separate(&mut text, element.local_name().as_ref(), markup);
            }
            Event::End(element) => {
                let name = element.local_name();
                n_text -= u64::from(has(markup.text, name.as_ref())).min(n_text);
                n_within = n_within.saturating_sub(1);
                if n_left_out == 0 {
                    separate(&mut text, name.as_ref(), markup);
                }
                n_left_out = n_left_out.saturating_sub(1);
            }
            event => {
                let holds_text = n_text > 0 || markup.text.is_empty();
                if n_left_out > 0 || !holds_text || (markup.within.is_some() && n_within == 0) {
                    continue;
                }
                match event {
                    Event::Text(found) => text.push_str(&found.xml10_content()),
                    Event::CData(found) => text.push_str(&found.xml10_content()),
                    Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                        Ok(Some(character)) => text.push(character),
                        _ => text.push_str(predefined(&entity.xml10_content())),
                    },
                    _ => {}
                }
            }
        }
    }
}

fn separate(text: &mut String, name: &str, markup: &Markup) {
    if markup.paragraphs.contains(&name) {
        text.push('\n');
    } else if markup.blanks.contains(&name) {
        text.push(' ');
    }
}

/// The five entities of XML; others are left out.
fn predefined(name: &str) -> &'static str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "apos" => "'",
        "quot" => "\"",
        _ => "",
    }
}

fn each_element(xml: &[u8], format: &'static str, mut each: impl FnMut(&BytesStart<'_>)) -> Result<()> {
    let failed = |error: quick_xml::Error| -> Error { damaged(format, "well-formed XML", error) };
    let mut reader = Reader::from_reader(xml);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(failed)? {
            Event::Eof => return Ok(()),
            Event::Start(element) | Event::Empty(element) => each(&element),
            _ => {}
        }
    }
}

fn is_named(element: &BytesStart<'_>, name: &str) -> bool {
    element.local_name().as_ref() == name
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).ok()??;
    Some(found.value.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Write;
    use std::sync::Arc;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in parts {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn extracted(kind: &dyn Extract, bytes: Vec<u8>) -> Result<String, String> {
        let mut text = String::new();
        let options = CorpusOptions::default();
        let columns = RefCell::default();
        let file = RawFile { bytes, options: &options, guesses: &Arc::default(), columns: &columns };
        let done = kind.extract(file, &mut |_, found| {
            text.push_str(&String::from_utf8_lossy(found?));
            Ok(())
        });
        done.map(|()| text).map_err(|error| error.to_string())
    }

    const DOCX: &str = "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>Cats &amp; caf&#233;</w:t></w:r>\
        <w:r><w:tab/><w:t xml:space=\"preserve\"> purr</w:t></w:r></w:p><w:p><w:del><w:r><w:delText>no</w:delText></w:r></w:del>\
        <w:r><w:instrText>PAGE</w:instrText><w:t>Dogs</w:t></w:r></w:p></w:body></w:document>";

    #[test]
    fn documents_become_their_text() {
        let docx =
            archive(&[("word/document.xml", DOCX), ("word/footnotes.xml", "<w:p><w:t>note</w:t></w:p>")]);
        assert_eq!(extracted(&Docx, docx).unwrap(), "Cats & caf\u{e9}  purr\nDogs\nnote");
        let odt = "<office:document-content><office:font>x</office:font><office:body><office:text><text:tracked-changes>no\
            </text:tracked-changes><text:h>Title</text:h><text:p>Cats<text:s/>purr<text:span>!</text:span></text:p>\
            <office:annotation>no</office:annotation></office:text></office:body></office:document-content>";
        assert_eq!(extracted(&Odt, archive(&[("content.xml", odt)])).unwrap(), "Title\nCats purr!");
        let epub = archive(&[
            ("META-INF/container.xml", "<container><rootfile full-path=\"O/p.opf\"/></container>"),
            (
                "O/p.opf",
                "<package><item id=\"b\" href=\"two%201.xhtml\"/><item id=\"a\" href=\"one.xhtml\"/>\
                 <itemref idref=\"a\"/><itemref idref=\"b\"/><itemref idref=\"none\"/></package>",
            ),
            ("O/one.xhtml", "<html><body><p>One &amp; only</p></body></html>"),
            ("O/two 1.xhtml", "<html><body><p>Two</p></body></html>"),
        ]);
        assert_eq!(extracted(&Epub, epub).unwrap(), "One & only\nTwo");
    }

    #[test]
    fn damaged_and_hostile_documents_are_refused() {
        let docx = archive(&[("word/document.xml", DOCX)]);
        for length in 0..docx.len() {
            assert!(extracted(&Docx, docx[..length].to_vec()).is_err(), "{length}");
        }
        for position in 0..docx.len() {
            let mut flipped = docx.clone();
            flipped[position] ^= 0x10;
            let _ = extracted(&Docx, flipped);
        }
        let missing = extracted(&Odt, docx).unwrap_err();
        assert!(
            missing.starts_with("bad ODT record: expected a part content.xml, found none; "),
            "{missing}"
        );
        let bomb = "x".repeat(65 << 20);
        let bomb = extracted(&Docx, archive(&[("word/document.xml", &bomb)])).unwrap_err();
        assert!(
            bomb.starts_with("the size in bytes of a part of a document is limited to 67108864"),
            "{bomb}"
        );
        let chapter = format!("<script>{}</script>", " ".repeat(30 << 20));
        let package = format!(
            "<package><item id=\"a\" href=\"a.xhtml\"/>{}</package>",
            "<itemref idref=\"a\"/>".repeat(9)
        );
        let book = archive(&[
            ("META-INF/container.xml", "<container><rootfile full-path=\"p.opf\"/></container>"),
            ("p.opf", &package),
            ("a.xhtml", &chapter),
        ]);
        let again = extracted(&Epub, book).unwrap_err();
        assert!(again.starts_with("the size in bytes of all parts of a document is limited"), "{again}");
        let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><w:p><w:t>&b;&b;ok</w:t></w:p>";
        assert_eq!(extracted(&Docx, archive(&[("word/document.xml", laughs)])).unwrap(), "ok");
        let deep = "<w:p>".repeat(100_000);
        let _ = extracted(&Docx, archive(&[("word/document.xml", &deep)]));
    }
}
