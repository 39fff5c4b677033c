//! The lines that begin in a range of the bytes of a file.
//!
//! A range may be cut at any byte. Its first line is the first one that begins at or after its
//! start; its last line ends where it ends, at or after the end of the range. So every line of a
//! file belongs to exactly one of the ranges into which the file is divided.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stream::count_lines;

const BUFFER_BYTES: usize = 1 << 18;

/// Reads the lines that begin in a range.
pub(super) struct LineRange {
    /// Ends where the file ended when the corpus was divided.
    file: BufReader<io::Take<File>>,
    range: Range<u64>,
    /// The position of the next byte in the file.
    at: u64,
    file_bytes: u64,
    /// Whether a line that began before the range is being skipped.
    is_skipping: bool,
    /// The end of the last line, once it has been found.
    last_end: Option<u64>,
    /// Counts the bytes of the range, each once.
    n_bytes: Arc<AtomicU64>,
}

impl LineRange {
    pub(super) fn new(
        mut file: File,
        file_bytes: u64,
        range: Range<u64>,
        n_bytes: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        // The line feed before the range decides whether a line begins with the range.
        let at = range.start.saturating_sub(1);
        file.seek(SeekFrom::Start(at))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file.take(file_bytes.saturating_sub(at)));
        let (is_skipping, last_end) = (range.start > 0, range.is_empty().then_some(at));
        Ok(LineRange { file, range, at, file_bytes, is_skipping, last_end, n_bytes })
    }

    /// Passes over the rest of a line that began before the range.
    fn skip(&mut self) -> io::Result<()> {
        while self.is_skipping {
            let bytes = self.file.fill_buf()?;
            let found = memchr::memchr(b'\n', bytes);
            let length = found.map_or(bytes.len(), |at| at + 1);
            self.is_skipping = found.is_none();
            if length == 0 {
                return Ok(());
            }
            self.pass(length);
            if self.at >= self.range.end {
                // No line begins in the range.
                (self.is_skipping, self.last_end) = (false, Some(self.at));
            }
        }
        Ok(())
    }

    fn pass(&mut self, length: usize) {
        self.file.consume(length);
        let before = self.at;
        self.at += length as u64;
        let Range { start, end } = self.range;
        let counted = self.at.clamp(start, end) - before.clamp(start, end);
        self.n_bytes.fetch_add(counted, Ordering::Relaxed);
    }
}

impl BufRead for LineRange {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.skip()?;
        if self.last_end == Some(self.at) {
            return Ok(&[]);
        }
        let bytes = self.file.fill_buf()?;
        if bytes.is_empty() && self.at < self.file_bytes {
            let message = "the file became shorter while it was read";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        // A line that ends before the last byte of the range is followed by another in the range.
        let free = (self.range.end - 1).saturating_sub(self.at).min(bytes.len() as u64) as usize;
        if let Some(found) = memchr::memchr(b'\n', &bytes[free..]) {
            let length = free + found + 1;
            self.last_end = Some(self.at + length as u64);
            return Ok(&bytes[..length]);
        }
        Ok(bytes)
    }

    fn consume(&mut self, length: usize) {
        self.pass(length);
    }
}

impl Read for LineRange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

/// The number of lines that begin in a range.
pub(super) fn lines_in(mut file: File, range: Range<u64>) -> io::Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    // A line begins after each line feed, and at the start of the file.
    let from = range.start.saturating_sub(1);
    let mut n_lines = u64::from(range.start == 0);
    file.seek(SeekFrom::Start(from))?;
    let mut rest = range.end - 1 - from;
    let mut buffer = vec![0; BUFFER_BYTES];
    while rest > 0 {
        let length = rest.min(BUFFER_BYTES as u64) as usize;
        file.read_exact(&mut buffer[..length])?;
        n_lines += count_lines(&buffer[..length]);
        rest -= length as u64;
    }
    Ok(n_lines)
}
