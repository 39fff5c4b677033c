//! The parts of a spreadsheet: XML in an archive, read as it is decompressed.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, ErrorKind, Result};

const FORMAT: &str = "spreadsheet";

const BUFFER_BYTES: usize = 1 << 16;

pub(super) fn bad(expected: impl Into<String>, found: impl ToString) -> Error {
    Error::malformed(FORMAT, expected, found.to_string())
}

pub(super) fn bad_xml(error: &quick_xml::Error) -> Error {
    bad("well-formed XML", error)
}

/// A file that cannot be opened without more than its bytes.
pub(super) fn with_password() -> Error {
    let what = "a spreadsheet with a password, or of Excel before 2007 (.xls),".to_owned();
    let hint =
        "open it in the program that wrote it, and save it as .xlsx without a password, or as CSV".to_owned();
    ErrorKind::Unsupported { what, hint }.into()
}

/// The parts of a file.
pub(super) struct Parts {
    archive: ZipArchive<BufReader<File>>,
    /// The same file.
    file: File,
    limit: u64,
}

pub(super) type Xml = Reader<BufReader<Bounded>>;

impl Parts {
    pub(super) fn open(file: File) -> Result<Self> {
        let failed = |error| Error::io("read", error);
        let file_bytes = file.metadata().map_err(failed)?.len();
        let copy = file.try_clone().map_err(failed)?;
        let mut file = file;
        let mut magic = [0; 4];
        let n_read = file.read(&mut magic).map_err(failed)?;
        file.rewind().map_err(failed)?;
        // Office before 2007; and today's files with a password, in the same container.
        if magic[..n_read] == *b"\xd0\xcf\x11\xe0" {
            return Err(with_password());
        }
        let archive =
            ZipArchive::new(BufReader::new(file)).map_err(|error| bad("a file of XLSX or ODS", error))?;
        let limit = file_bytes.saturating_mul(100).max(64 << 20);
        Ok(Parts { archive, file: copy, limit })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// A part as XML that is read as it is decompressed.
    pub(super) fn xml(&mut self, name: &str) -> Result<Xml> {
        let expected = || format!("a part {name}");
        let part = self.archive.by_name(name).map_err(|error| bad(expected(), error))?;
        if part.encrypted() {
            return Err(with_password());
        }
        let start = part.data_start().ok_or_else(|| bad(expected(), "none"))?;
        let (length, method) = (part.compressed_size(), part.compression());
        drop(part);
        // The entry borrows the archive; its bytes are read through a copy of the file.
        let mut file = self.file.try_clone().map_err(|error| Error::io("read", error))?;
        file.seek(SeekFrom::Start(start)).map_err(|error| Error::io("read", error))?;
        let packed = file.take(length);
        let inner: Box<dyn Read> = match method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
            other => return Err(bad("a part compressed with deflate", other)),
        };
        Ok(Reader::from_reader(BufReader::with_capacity(BUFFER_BYTES, Bounded { inner, left: self.limit })))
    }
}

/// Bytes that may not become too many.
pub(super) struct Bounded {
    inner: Box<dyn Read>,
    left: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(n_read as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "it expands to more than 100 times the size of the file",
            )
        })?;
        Ok(n_read)
    }
}

/// Adds the characters of an event.
pub(super) fn push_text(event: &Event<'_>, text: &mut String) {
    match event {
        Event::Text(found) => text.push_str(&found.xml10_content()),
        Event::CData(found) => text.push_str(&found.xml10_content()),
        Event::GeneralRef(entity) => match (entity.resolve_char_ref(), &*entity.xml10_content()) {
            (Ok(Some(character)), _) => text.push(character),
            (_, "lt") => text.push('<'),
            (_, "gt") => text.push('>'),
            (_, "amp") => text.push('&'),
            (_, "apos") => text.push('\''),
            (_, "quot") => text.push('"'),
            _ => {}
        },
        _ => {}
    }
}

pub(super) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found =
        element.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
    let mut value = String::new();
    // Names of sheets have the five entities of XML at most.
    let mut rest = &*found.value;
    while let Some((before, after)) = rest.split_once('&') {
        value.push_str(before);
        let (entity, after) = after.split_once(';').unwrap_or((after, ""));
        value.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "apos" => '\'',
            "quot" => '"',
            _ => '&',
        });
        rest = after;
    }
    value.push_str(rest);
    Some(value)
}

pub(super) fn each_element(mut xml: Xml, mut each: impl FnMut(&BytesStart<'_>)) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match xml.read_event_into(&mut buffer).map_err(|error| bad_xml(&error))? {
            Event::Eof => return Ok(()),
            Event::Start(element) | Event::Empty(element) => each(&element),
            _ => {}
        }
    }
}
