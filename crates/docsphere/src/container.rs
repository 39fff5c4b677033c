//! Named sections of bytes in a file, with a version and checksums.
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic number of the kind of file: a byte above ASCII, six letters, a line feed |
//! | 4 | format version |
//! | 4 | number of sections, n |
//! | 36 each | name (16 bytes, zero padded), offset in the file (8), length (8), CRC-32 of the content (4) |
//! | 4 | CRC-32 of everything above |
//! | | the sections, one after the other, to the end of the file |
//!
//! The sizes in the table must account for every byte of the file before any of it is read, so a
//! damaged number never leads to a huge allocation. Each section is read in pieces, so no more is
//! allocated than the file holds (it may shrink meanwhile) and the memory limit allows.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::atomic_file::write_atomically;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};

const NAME_BYTES: usize = 16;
const TABLE_ENTRY_BYTES: usize = NAME_BYTES + 8 + 8 + 4;
const MAX_SECTIONS: usize = 256;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Magic number.
    pub mark: [u8; 8],
    /// Name in messages.
    pub name: &'static str,
    /// Name with an article.
    pub whole: &'static str,
    /// Version written, and the newest version read.
    pub version: u32,
}

impl Kind {
    /// An error for a file whose content does not match its kind.
    pub fn damaged(&self, expected: impl ToString, found: impl ToString) -> Error {
        Error::malformed(self.name, expected.to_string(), found.to_string())
    }

    fn header_bytes(&self, n_sections: usize) -> u64 {
        (self.mark.len() + 4 + 4 + n_sections * TABLE_ENTRY_BYTES + 4) as u64
    }

    fn read_exactly(&self, file: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
        file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.truncated(),
            _ => Error::io("read", error),
        })
    }

    fn truncated(&self) -> Error {
        self.damaged("more bytes", "the end of the file; it is truncated")
    }

    /// Reads everything before the first section, and checks it against the size of the file.
    fn read_header(&self, file: &mut impl Read, file_bytes: u64) -> Result<Vec<TableEntry>> {
        let mut header = vec![0; self.mark.len() + 8];
        if file_bytes < header.len() as u64 {
            return Err(
                self.damaged(format!("a {}", self.name), format!("a file of only {file_bytes} bytes"))
            );
        }
        self.read_exactly(file, &mut header)?;
        if header[..self.mark.len()] != self.mark {
            let expected = format!("a file that begins with the mark of a {}", self.name);
            return Err(self.damaged(expected, "another kind of file"));
        }
        let number =
            |at: usize, header: &[u8]| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let (version, n_sections) = (number(8, &header), number(12, &header) as usize);
        if version > self.version {
            return Err(ErrorKind::NewerFormat { found: version, supported: self.version }.into());
        }
        if version == 0 || n_sections > MAX_SECTIONS || file_bytes < self.header_bytes(n_sections) {
            return Err(
                self.damaged("a valid header", format!("version {version} with {n_sections} sections"))
            );
        }
        let mut table = vec![0; n_sections * TABLE_ENTRY_BYTES + 4];
        self.read_exactly(file, &mut table)?;
        header.extend(&table);
        let end = header.len() - 4;
        if crc32fast::hash(&header[..end]) != number(end, &header) {
            return Err(
                self.damaged("a header that matches its checksum", "other content; the file is damaged")
            );
        }
        let table: Vec<TableEntry> =
            table[..table.len() - 4].chunks_exact(TABLE_ENTRY_BYTES).map(table_entry).collect();
        self.check_sizes(&table, file_bytes)?;
        Ok(table)
    }

    /// The sections must follow each other and fill the file.
    fn check_sizes(&self, table: &[TableEntry], file_bytes: u64) -> Result<()> {
        let mut expected = self.header_bytes(table.len());
        for entry in table {
            if entry.offset != expected {
                let place = format!("section \"{}\" at byte {expected}", entry.name);
                return Err(self.damaged(place, entry.offset));
            }
            expected = expected.saturating_add(entry.length);
        }
        if expected != file_bytes {
            let found = format!("{file_bytes}; the file is truncated or damaged");
            return Err(self.damaged(format!("{expected} bytes"), found));
        }
        Ok(())
    }
}

/// Sections by name, in file order.
#[derive(Debug, Default, PartialEq)]
pub struct Container {
    sections: Vec<Section>,
}

/// One section.
#[derive(Debug, PartialEq)]
struct Section {
    name: String,
    content: Vec<u8>,
}

struct TableEntry {
    name: String,
    offset: u64,
    length: u64,
    checksum: u32,
}

impl Container {
    /// The content of a section, if present.
    pub fn find(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().find(|section| section.name == name).map(|section| &section.content[..])
    }

    /// The content of a required section.
    pub fn section(&self, name: &str, kind: &Kind) -> Result<&[u8]> {
        self.find(name).ok_or_else(|| kind.damaged(format!("a section \"{name}\""), "none"))
    }

    /// Adds a section. Names have at most 16 bytes.
    pub fn push(&mut self, name: &str, content: Vec<u8>) {
        self.sections.push(Section { name: name.to_owned(), content });
    }

    /// Writes the file atomically: on failure the previous file remains.
    pub fn write(&self, path: &Path, kind: &Kind) -> Result<()> {
        let header = self.header(kind);
        write_atomically(path, |file| {
            let contents = self.sections.iter().map(|section| &section.content[..]);
            for bytes in std::iter::once(&header[..]).chain(contents) {
                file.write_all(bytes).map_err(|error| Error::io("write", error))?;
            }
            Ok(())
        })
    }

    /// The bytes that [`write`](Self::write) writes.
    pub(crate) fn to_bytes(&self, kind: &Kind) -> Vec<u8> {
        let mut bytes = self.header(kind);
        self.sections.iter().for_each(|section| bytes.extend(&section.content));
        bytes
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) returned.
    pub(crate) fn from_bytes(bytes: &[u8], kind: &Kind) -> Result<Container> {
        Container::read_from(&mut &bytes[..], bytes.len() as u64, kind, &NO_LIMIT)
    }

    fn header(&self, kind: &Kind) -> Vec<u8> {
        let mut header = kind.mark.to_vec();
        header.extend(kind.version.to_le_bytes());
        header.extend((self.sections.len() as u32).to_le_bytes());
        let mut offset = kind.header_bytes(self.sections.len());
        for section in &self.sections {
            let mut name = [0; NAME_BYTES];
            name[..section.name.len()].copy_from_slice(section.name.as_bytes());
            header.extend(name);
            header.extend(offset.to_le_bytes());
            header.extend((section.content.len() as u64).to_le_bytes());
            header.extend(crc32fast::hash(&section.content).to_le_bytes());
            offset += section.content.len() as u64;
        }
        header.extend(crc32fast::hash(&header).to_le_bytes());
        header
    }

    /// Reads a file of this kind, of its version or an older one. `decoded` is the memory that
    /// decoded sections take, in bytes per byte of the section.
    pub fn read(path: &Path, kind: &Kind, decoded: u64, memory: &MemoryLimit) -> Result<Container> {
        let open = || -> Result<Container> {
            let mut file = File::open(path).map_err(|error| Error::io("read", error))?;
            let metadata = file.metadata().map_err(|error| Error::io("read", error))?;
            if metadata.is_dir() {
                return Err(Error::io("read", io::Error::other("is a folder")));
            }
            memory.check(kind.whole, metadata.len().saturating_mul(1 + decoded))?;
            Container::read_from(&mut file, metadata.len(), kind, memory)
        };
        open().map_err(|error| error.at_path(path))
    }

    fn read_from(
        file: &mut impl Read,
        file_bytes: u64,
        kind: &Kind,
        memory: &MemoryLimit,
    ) -> Result<Container> {
        let table = kind.read_header(file, file_bytes)?;
        let mut container = Container::default();
        for entry in table {
            let failed = |error| Error::io("read", error);
            let content = memory.read_whole(&mut *file, entry.length, kind.whole, failed)?;
            if (content.len() as u64) < entry.length {
                return Err(kind.truncated());
            }
            if crc32fast::hash(&content) != entry.checksum {
                let expected = format!("section \"{}\" to match its checksum", entry.name);
                return Err(kind.damaged(expected, "other content; the file is damaged"));
            }
            container.push(&entry.name, content);
        }
        Ok(container)
    }
}

fn table_entry(bytes: &[u8]) -> TableEntry {
    let (name, numbers) = bytes.split_at(NAME_BYTES);
    let long = |at: usize| u64::from_le_bytes(numbers[at..at + 8].try_into().expect("8 bytes"));
    TableEntry {
        name: String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(),
        offset: long(0),
        length: long(8),
        checksum: u32::from_le_bytes(numbers[16..20].try_into().expect("4 bytes")),
    }
}
