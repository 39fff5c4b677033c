//! Files that a command needs beside its input. They are read in pieces, and the memory for each
//! piece is checked first.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use docsphere_result::files::Reading;

use crate::failure::in_words_of_the_command;
use crate::memory;

/// Reads a text file of at most `most` bytes. `what` completes the sentence "reading ... takes".
pub(crate) fn read_text(path: &Path, what: &'static str, most: u64) -> Result<String> {
    String::from_utf8(read_bytes(path, what, most)?).map_err(|_| {
        failed(io::Error::other("it is not text in UTF-8; convert it, for example with iconv"), path)
    })
}

/// As [`read_text`], any bytes.
pub(crate) fn read_bytes(path: &Path, what: &'static str, most: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    // The buffer may be copied while it grows.
    let reading = Reading { what, kept: 2, limit: &memory::of_readers() };
    let mut file = reading.open(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut content).map_err(|error| failed(error, path))?;
    ensure!(
        content.len() as u64 <= most,
        "{}: has more than {}, the most that is read of {what}; give another file",
        path.display(),
        memory::megabytes(most)
    );
    Ok(content)
}

/// The reason why a file could not be read, with its name.
fn failed(error: io::Error, path: &Path) -> anyhow::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<docsphere::Error>()) {
        Some(error) => refused(error, path),
        None => anyhow::Error::new(error).context(format!("{}: cannot read", path.display())),
    }
}

/// A refusal with the name of the file.
pub(crate) fn refused(error: &docsphere::Error, path: &Path) -> anyhow::Error {
    anyhow!("{}: {}", path.display(), in_words_of_the_command(error))
}
