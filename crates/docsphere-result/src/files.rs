//! Reads files in pieces, each checked against a memory limit first; and JSON files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use docsphere::MemoryLimit;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Bytes read between two checks of the limit.
const PIECE_BYTES: usize = 1 << 16;

/// Memory of a parsed JSON document per byte of its source: mostly strings, which are no longer
/// than in the source.
const JSON_COPIES: u64 = 3;

/// How a file is read: its name in messages, and its memory limit.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What is read: completes the sentence "reading ... takes".
    pub what: &'static str,
    /// Bytes that are kept per byte of the file.
    pub kept: u64,
    /// The limit that is checked before each piece.
    pub limit: &'a MemoryLimit,
}

impl Reading<'_> {
    /// Opens a file that checks the limit as it is read.
    ///
    /// # Errors
    /// If the system cannot open it.
    pub fn open(&self, path: &Path) -> Result<LimitedFile> {
        let file = File::open(path).map_err(|error| Error::reading(error, path))?;
        Ok(LimitedFile { file, what: self.what, kept: self.kept, limit: self.limit.clone(), allowed: 0 })
    }

    /// Calls `take` with every line, without its line ending.
    ///
    /// # Errors
    /// Those of reading; of `take`, with file and line; a line of more than `longest` bytes, or one
    /// that is not UTF-8.
    pub fn for_each_line(
        &self,
        path: &Path,
        longest: usize,
        mut take: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<()> {
        let mut reader = BufReader::new(self.open(path)?);
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            let mut rest = reader.by_ref().take(longest as u64 + 2); // room for the ending
            if rest.read_until(b'\n', &mut line).map_err(|error| Error::reading(error, path))? == 0 {
                break;
            }
            let text =
                line.strip_suffix(b"\n").map_or(&line[..], |text| text.strip_suffix(b"\r").unwrap_or(text));
            let mut parse = || {
                if text.len() > longest {
                    let (most, what) = (megabytes(longest), self.what);
                    return Err(format!("a line of more than {most}, the longest that is read of {what}"));
                }
                take(std::str::from_utf8(text).map_err(|_| "is not text in UTF-8")?)
            };
            parse().map_err(|problem| Error::malformed(problem).at_line(number).at_path(path))?;
        }
        Ok(())
    }
}

/// A file that checks the memory limit before every piece it reads.
#[derive(Debug)]
pub struct LimitedFile {
    file: File,
    what: &'static str,
    kept: u64,
    limit: MemoryLimit,
    /// Bytes that may be read before the next check.
    allowed: usize,
}

impl Read for LimitedFile {
    /// A refusal is an error whose inner error is a [`docsphere::Error`].
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.allowed == 0 {
            self.limit.check(self.what, self.kept * PIECE_BYTES as u64).map_err(io::Error::other)?;
            self.allowed = PIECE_BYTES;
        }
        let wanted = buffer.len().min(self.allowed);
        let n_read = self.file.read(&mut buffer[..wanted])?;
        self.allowed -= n_read;
        Ok(n_read)
    }
}

/// Reads a JSON file. `wrong` is the message for a file that holds something else.
pub(crate) fn read_json<T: DeserializeOwned>(
    path: &Path,
    what: &'static str,
    wrong: &str,
    limit: &MemoryLimit,
) -> Result<T> {
    let found = fs::metadata(path).map_err(|error| Error::reading(error, path))?;
    // A device or a pipe may have no end, and no run writes one.
    if !found.is_file() {
        return Err(Error::malformed("is not a file").at_path(path));
    }
    let asked = limit.check(what, found.len().saturating_mul(1 + JSON_COPIES));
    asked.map_err(|error| Error::from(error).at_path(path))?;
    let mut content = Vec::new();
    // The buffer may be copied while it grows. Data appended to the file meanwhile is ignored.
    let file = Reading { what, kept: 2, limit }.open(path)?;
    file.take(found.len()).read_to_end(&mut content).map_err(|error| Error::reading(error, path))?;
    serde_json::from_slice(&content)
        .map_err(|error| Error::malformed(format!("{wrong}: {error}")).at_path(path))
}

/// Writes a value as indented JSON. The file is not synced.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        put_json(&mut file, value)?;
        file.flush()
    };
    write().map_err(|error| Error::writing(error, path))
}

pub(crate) fn put_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

fn megabytes(bytes: usize) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 { format!("{megabytes:.1} MB") } else { format!("{megabytes:.0} MB") }
}
