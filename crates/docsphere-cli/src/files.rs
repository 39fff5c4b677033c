//! Files that a command needs beside its input: read in pieces, each asked for before it is taken.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use docsphere::MemoryLimit;
use serde::de::DeserializeOwned;

use crate::memory;
use crate::report::in_words_of_the_command;

/// Bytes that are read without asking again.
const PIECE_BYTES: usize = 1 << 16;

/// What a JSON document takes once it is read, for each byte of its text: mostly texts, which are no longer than that.
const JSON_COPIES: u64 = 3;

/// Reads a text of at most `most` bytes. `what` completes the sentence "reading ... takes".
pub(crate) fn read_text(path: &Path, what: &'static str, most: u64) -> Result<String> {
    let mut content = Vec::new();
    // The buffer may be copied while it grows.
    let mut file = Asking::open(path, what, 2)?.take(most.saturating_add(1));
    file.read_to_end(&mut content).map_err(|error| failed(error, path))?;
    ensure!(
        content.len() as u64 <= most,
        "{}: has more than {}, the most that is read of {what}; give another file",
        path.display(),
        memory::megabytes(most)
    );
    String::from_utf8(content).map_err(|_| {
        failed(io::Error::other("it is not text in UTF-8; convert it, for example with iconv"), path)
    })
}

/// Reads a JSON document. `wrong` is what is said of a file that holds something else.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, what: &'static str, wrong: &str) -> Result<T> {
    let found = fs::metadata(path).map_err(|error| failed(error, path))?;
    // A device or a pipe may have no end, and no run writes one.
    ensure!(found.is_file(), "{}: is not a file", path.display());
    let asked = memory::of_readers().check(what, found.len().saturating_mul(1 + JSON_COPIES));
    asked.map_err(|error| refused(&error, path))?;
    let text = read_text(path, what, found.len())?;
    serde_json::from_str(&text).with_context(|| format!("{}: {wrong}", path.display()))
}

/// Calls `take` with every line, without its end. `kept` is what is kept of a short line, in bytes for each of its own.
pub(crate) fn for_each_line(
    path: &Path,
    what: &'static str,
    kept: u64,
    longest: usize,
    mut take: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut reader = BufReader::new(Asking::open(path, what, kept)?);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let mut rest = reader.by_ref().take(longest as u64 + 2); // room for the ending
        if rest.read_until(b'\n', &mut line).map_err(|error| failed(error, path))? == 0 {
            break;
        }
        let text =
            line.strip_suffix(b"\n").map_or(&line[..], |text| text.strip_suffix(b"\r").unwrap_or(text));
        let place = || format!("{}:{number}", path.display());
        ensure!(
            text.len() <= longest,
            "{}: a line of more than {}, the longest that is read of {what}",
            place(),
            memory::megabytes(longest as u64)
        );
        let text = std::str::from_utf8(text).map_err(|_| anyhow!("{}: is not text in UTF-8", place()))?;
        take(text).with_context(place)?;
    }
    Ok(())
}

/// Why a file could not be read, with its name.
pub(crate) fn failed(error: io::Error, path: &Path) -> anyhow::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<docsphere::Error>()) {
        Some(error) => refused(error, path),
        None => anyhow::Error::new(error).context(format!("{}: cannot read", path.display())),
    }
}

/// A refusal with the name of the file.
pub(crate) fn refused(error: &docsphere::Error, path: &Path) -> anyhow::Error {
    anyhow!("{}: {}", path.display(), in_words_of_the_command(error))
}

/// A file that asks for memory as it is read: so much for each byte.
pub(crate) struct Asking {
    file: File,
    what: &'static str,
    kept: u64,
    limit: MemoryLimit,
    /// Bytes that may be read before asking again.
    allowed: usize,
}

impl Asking {
    pub(crate) fn open(path: &Path, what: &'static str, kept: u64) -> Result<Self> {
        let file = File::open(path).map_err(|error| failed(error, path))?;
        Ok(Asking { file, what, kept, limit: memory::of_readers(), allowed: 0 })
    }
}

impl Read for Asking {
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
