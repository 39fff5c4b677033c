//! Lines of a text format, one at a time, with their numbers.
//!
//! One buffer serves all lines. It grows only to the longest line that is actually there, checking
//! the limit before each piece of a long one.

use std::io::{BufRead, Read};

use crate::compression::read_error;
use crate::error::{Error, Result};
use crate::memory::{MemoryLimit, PIECE_BYTES};

/// Maximum line length of a format whose lines hold a few numbers or a word.
pub(super) const SHORT_LINE: usize = 1 << 20;

/// Maximum line length of a format with one row per line.
pub(super) const LONG_LINE: usize = 1 << 28;

/// The lines of a reader, and the format to name in errors.
pub(super) struct Lines<'a, R> {
    reader: R,
    memory: &'a MemoryLimit,
    format: &'static str,
    max_bytes: usize,
    line: Vec<u8>,
    number: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(reader: R, format: &'static str, max_bytes: usize, memory: &'a MemoryLimit) -> Self {
        Lines { reader, memory, format, max_bytes, line: Vec::new(), number: 0 }
    }

    /// The next line without its terminator (`
    /// ` or `\r
    /// `); `None` after the last.
    pub(super) fn next_line(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let limit = self.max_bytes + 2; // room for the terminator
        loop {
            let piece = (limit - self.line.len()).min(PIECE_BYTES) as u64;
            let mut reader = self.reader.by_ref().take(piece);
            let n_read = reader.read_until(b'\n', &mut self.line).map_err(read_error)?;
            if (n_read as u64) < piece || self.line.last() == Some(&b'\n') || self.line.len() == limit {
                break;
            }
            let asked = self.memory.grow("a line", &mut self.line, PIECE_BYTES);
            asked.map_err(|error| error.at_line(self.number + 1))?;
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        }
        if self.line.len() > self.max_bytes {
            return Err(self.malformed(format!("lines of at most {} bytes", self.max_bytes), "a longer one"));
        }
        Ok(Some(&self.line))
    }

    /// The next line that is neither blank nor, if the format has comments, begins with `comment`.
    pub(super) fn next_content(&mut self, comment: Option<u8>) -> Result<Option<&[u8]>> {
        loop {
            match self.next_line()?.map(<[u8]>::trim_ascii_start) {
                None => return Ok(None),
                Some([]) => {}
                Some([first, ..]) if Some(*first) == comment => {}
                // Borrowed again, because the borrow checker cannot see that only this arm returns
                // the line.
                Some(_) => return Ok(Some(&self.line)),
            }
        }
    }

    /// Like [`next_content`](Self::next_content), but the end of the file is an error.
    pub(super) fn expect_content(&mut self, comment: Option<u8>, expected: &str) -> Result<&[u8]> {
        if self.next_content(comment)?.is_none() {
            let found = if self.number == 0 { "an empty file" } else { "the end of the file" };
            return Err(self.malformed(expected, found));
        }
        Ok(&self.line)
    }

    /// The number of the line last returned, counted from 1; 0 before the first.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The format to name in errors.
    pub(super) fn format(&self) -> &'static str {
        self.format
    }

    /// An error about the line last returned.
    pub(super) fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        self.locate(Error::malformed(self.format, expected, found))
    }

    /// Adds the number of the line last returned.
    pub(super) fn locate(&self, error: Error) -> Error {
        if self.number == 0 { error } else { error.at_line(self.number) }
    }
}

/// Takes the next token, bounded by white space, off the front of `rest`.
#[inline]
pub(super) fn next_token<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let line = rest.trim_ascii_start();
    if line.is_empty() {
        *rest = line;
        return None;
    }
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (token, after) = line.split_at(end);
    *rest = after;
    Some(token)
}

/// An excerpt of the file for a message: quoted, printable, at most 40 characters.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    // A character takes at most four bytes, so this much of a long line is enough.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_CHARS + 4)]);
    let shown: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(MAX_CHARS).is_some() { "…" } else { "" };
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NO_LIMIT;

    #[test]
    fn lines_lose_their_endings_and_keep_their_numbers() {
        let mut lines = Lines::new(&b"one\r\n\n  \n% no\nlast"[..], "test", 10, &NO_LIMIT);
        assert_eq!(lines.next_line().unwrap(), Some(&b"one"[..]));
        assert_eq!(lines.next_content(Some(b'%')).unwrap(), Some(&b"last"[..]));
        assert_eq!(lines.number(), 5);
        assert_eq!(
            lines.expect_content(None, "more").unwrap_err().to_string(),
            "line 5: not valid test: expected more, found the end of the file"
        );
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        for ending in ["\n", "\r\n", ""] {
            let text = format!("12345{ending}");
            assert_eq!(
                Lines::new(text.as_bytes(), "test", 5, &NO_LIMIT).next_line().unwrap(),
                Some(&b"12345"[..])
            );
            let text = format!("123456{ending}");
            let error = Lines::new(text.as_bytes(), "test", 5, &NO_LIMIT).next_line().unwrap_err();
            assert_eq!(
                error.to_string(),
                "line 1: not valid test: expected lines of at most 5 bytes, found a longer one"
            );
        }
    }

    #[test]
    fn tokens_are_bounded_by_any_white_space() {
        let mut rest = &b" \t1  22\t3\r "[..];
        let tokens: Vec<_> = std::iter::from_fn(|| next_token(&mut rest)).collect();
        assert_eq!(tokens, [&b"1"[..], b"22", b"3"]);
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b"a\x00\"b\xff"), "\"a\\0\\\"b\u{fffd}\"");
        assert_eq!(excerpt("ä".repeat(500).as_bytes()), format!("\"{}…\"", "ä".repeat(40)));
        assert_eq!(excerpt("ä".repeat(40).as_bytes()), format!("\"{}\"", "ä".repeat(40)));
    }
}
