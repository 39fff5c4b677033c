//! Named sections of bytes in a file, with a version and checksums.
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `89 44 4F 43 53 50 48 0A`: a byte above ASCII, `DOCSPH`, a line feed |
//! | 4 | format version |
//! | 4 | number of sections, n |
//! | 36 each | name (16 bytes, filled with zeros), offset in the file (8), length (8), CRC-32 of the content (4) |
//! | 4 | CRC-32 of everything above |
//! | | the sections, one after the other, to the end of the file |
//!
//! The sizes in the table must account for every byte of the file before any of it is read, so a damaged number never leads to a huge allocation.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::atomic_file::write_atomically;
use crate::error::{Error, ErrorKind, Result};

const MAGIC: [u8; 8] = *b"\x89DOCSPH\n";
const NAME_BYTES: usize = 16;
const TABLE_ENTRY_BYTES: usize = NAME_BYTES + 8 + 8 + 4;
const MAX_SECTIONS: usize = 256;

/// The name of the format in messages.
pub(super) const FORMAT: &str = "docsphere model";

/// Sections by name, in the order of the file.
#[derive(Debug, PartialEq)]
pub(super) struct Container {
    pub(super) sections: Vec<Section>,
}

/// One section.
#[derive(Debug, PartialEq)]
pub(super) struct Section {
    /// At most 16 bytes of ASCII.
    pub(super) name: String,
    pub(super) content: Vec<u8>,
}

struct TableEntry {
    name: String,
    offset: u64,
    length: u64,
    checksum: u32,
}

impl Container {
    /// The content of a section.
    pub(super) fn section(&self, name: &str) -> Result<&[u8]> {
        let found = self.sections.iter().find(|section| section.name == name);
        found
            .map(|section| &section.content[..])
            .ok_or_else(|| damaged(format!("a section \"{name}\""), "none"))
    }

    /// Writes the file whole, or leaves what was there before.
    pub(super) fn write(&self, path: &Path, version: u32) -> Result<()> {
        let header = self.header(version);
        write_atomically(path, |file| {
            let contents = self.sections.iter().map(|section| &section.content[..]);
            for bytes in std::iter::once(&header[..]).chain(contents) {
                file.write_all(bytes).map_err(|error| Error::io("write", error))?;
            }
            Ok(())
        })
    }

    fn header(&self, version: u32) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(version.to_le_bytes());
        header.extend((self.sections.len() as u32).to_le_bytes());
        let mut offset = header_bytes(self.sections.len());
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

    /// Reads a file of version `supported` or older.
    pub(super) fn read(path: &Path, supported: u32) -> Result<Container> {
        let open = || -> Result<Container> {
            let mut file = File::open(path).map_err(|error| Error::io("read", error))?;
            let metadata = file.metadata().map_err(|error| Error::io("read", error))?;
            if metadata.is_dir() {
                return Err(Error::io("read", io::Error::other("is a folder")));
            }
            Container::read_from(&mut file, metadata.len(), supported)
        };
        open().map_err(|error| error.at_path(path))
    }

    fn read_from(file: &mut impl Read, file_bytes: u64, supported: u32) -> Result<Container> {
        let table = read_header(file, file_bytes, supported)?;
        let mut sections = Vec::with_capacity(table.len());
        for entry in table {
            // The lengths add up to the size of the file: this allocates no more than is there.
            let mut content = vec![0; entry.length as usize];
            read_exactly(file, &mut content)?;
            if crc32fast::hash(&content) != entry.checksum {
                return Err(damaged(
                    format!("section \"{}\" to match its checksum", entry.name),
                    "other content; the file is damaged",
                ));
            }
            sections.push(Section { name: entry.name, content });
        }
        Ok(Container { sections })
    }
}

fn header_bytes(n_sections: usize) -> u64 {
    (MAGIC.len() + 4 + 4 + n_sections * TABLE_ENTRY_BYTES + 4) as u64
}

/// Reads everything before the first section, and checks it against the size of the file.
fn read_header(file: &mut impl Read, file_bytes: u64, supported: u32) -> Result<Vec<TableEntry>> {
    let mut header = vec![0; MAGIC.len() + 8];
    if file_bytes < header.len() as u64 {
        return Err(damaged("a docsphere model", format!("a file of only {file_bytes} bytes")));
    }
    read_exactly(file, &mut header)?;
    if header[..MAGIC.len()] != MAGIC {
        return Err(damaged("a file that begins with the mark of docsphere models", "another kind of file"));
    }
    let number =
        |at: usize, header: &[u8]| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
    let (version, n_sections) = (number(8, &header), number(12, &header) as usize);
    if version > supported {
        return Err(ErrorKind::NewerFormat { found: version, supported }.into());
    }
    if version == 0 || n_sections > MAX_SECTIONS || file_bytes < header_bytes(n_sections) {
        return Err(damaged("a valid header", format!("version {version} with {n_sections} sections")));
    }
    let mut table = vec![0; n_sections * TABLE_ENTRY_BYTES + 4];
    read_exactly(file, &mut table)?;
    header.extend(&table);
    let end = header.len() - 4;
    if crc32fast::hash(&header[..end]) != number(end, &header) {
        return Err(damaged("a header that matches its checksum", "other content; the file is damaged"));
    }
    let table: Vec<TableEntry> =
        table[..table.len() - 4].chunks_exact(TABLE_ENTRY_BYTES).map(table_entry).collect();
    let mut expected = header_bytes(n_sections);
    for entry in &table {
        if entry.offset != expected {
            return Err(damaged(format!("section \"{}\" at byte {expected}", entry.name), entry.offset));
        }
        expected = expected.saturating_add(entry.length);
    }
    if expected != file_bytes {
        return Err(damaged(
            format!("{expected} bytes"),
            format!("{file_bytes}; the file is truncated or damaged"),
        ));
    }
    Ok(table)
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

fn read_exactly(file: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("more bytes", "the end of the file; it is truncated"),
        _ => Error::io("read", error),
    })
}

/// An error for a file that is not what it claims to be.
pub(super) fn damaged(expected: impl ToString, found: impl ToString) -> Error {
    Error::malformed(FORMAT, expected.to_string(), found.to_string())
}
