//! Standard output and standard error: text for people, and data for programs.
//!
//! **Text for people** goes through [`People`] and [`tell`]. Document ids, texts, field names and
//! file names may hold anything, including escape sequences that a terminal obeys. So every line is
//! [`escaped`] as a whole: a control character is shown as `\x1b`, never sent. Our own colours are
//! added afterwards. **Data** ([`data`]: CSV, JSON, completion scripts) is written unchanged, even
//! to a terminal: what a program reads must not depend on where the output goes.
//!
//! A closed pipe (`| head -1`) is not a failure. Further output is dropped, and the command goes
//! on: it still writes its files, and its exit code still reports what it found. Every other error
//! of standard output, such as a full disk, is an error of the command.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, StdoutLock, Write};

use anstream::AutoStream;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Escapes every character that a terminal might obey instead of showing it: control characters
/// (line breaks too), and those that change the writing direction.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let _ = match c {
            '\n' => write!(shown, "\\n"),
            '\r' => write!(shown, "\\r"),
            '\t' => write!(shown, "\\t"),
            c if !is_obeyed(c) => write!(shown, "{c}"),
            c if c.is_ascii() => write!(shown, "\\x{:02x}", u32::from(c)),
            c => write!(shown, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    Cow::Owned(shown)
}

/// Whether a terminal may obey this character: C0, DEL and C1; directional marks, embeddings,
/// overrides and isolates; line and paragraph separators.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Writes a line to standard error. Errors are ignored: there is nowhere to report them.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "docsphere: {}", escaped(line));
}

/// Standard output as text for people: colours only on a terminal, and not if `NO_COLOR` is set.
pub(crate) struct People(UntilClosed<AutoStream<StdoutLock<'static>>>);

impl People {
    pub(crate) fn new() -> Self {
        People(UntilClosed::stdout(anstream::stdout().lock()))
    }

    /// Writes one line, escaped.
    pub(crate) fn line(&mut self, text: impl Display) -> io::Result<()> {
        self.put("", text, "")
    }

    /// Writes one line in bold type.
    pub(crate) fn bold(&mut self, text: impl Display) -> io::Result<()> {
        self.put(BOLD, text, PLAIN)
    }

    /// Writes one line in dim type.
    pub(crate) fn dim(&mut self, text: impl Display) -> io::Result<()> {
        self.put(DIM, text, PLAIN)
    }

    fn put(&mut self, before: &str, text: impl Display, after: &str) -> io::Result<()> {
        // In one write, so that output to standard error cannot split the line.
        let line = format!("{before}{}{after}\n", escaped(&text.to_string()));
        self.0.write_all(line.as_bytes())
    }
}

/// Standard output as data, written unchanged. The caller flushes it.
pub(crate) fn data() -> UntilClosed<StdoutLock<'static>> {
    UntilClosed::stdout(io::stdout().lock())
}

/// Prints a value as indented JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = data();
    writeln!(out, "{}", serde_json::to_string_pretty(value)?)?;
    Ok(out.flush()?)
}

/// A writer that accepts everything, and drops it once the other end is closed.
pub(crate) struct UntilClosed<W> {
    out: W,
    is_closed: bool,
    /// Prefix of error messages.
    context: &'static str,
}

impl<W: Write> UntilClosed<W> {
    /// For a pipe whose name the caller adds to errors.
    pub(crate) fn new(out: W) -> Self {
        UntilClosed { out, is_closed: false, context: "" }
    }

    fn stdout(out: W) -> Self {
        UntilClosed { out, is_closed: false, context: "standard output: cannot write: " }
    }

    fn attempt<T>(&mut self, closed: T, step: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.is_closed {
            return Ok(closed);
        }
        match step(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(closed)
            }
            Err(error) if !self.context.is_empty() => {
                Err(io::Error::new(error.kind(), format!("{}{error}", self.context)))
            }
            outcome => outcome,
        }
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that fails with this kind of error.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert!(matches!(escaped("plain: ä 漢 👍 \\"), Cow::Borrowed(_)));
        assert_eq!(escaped("a\x1b[31mb\x07\x7f"), "a\\x1b[31mb\\x07\\x7f");
        assert_eq!(escaped("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(escaped("\u{9b}31m"), "\\u{9b}31m");
        let marks = "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}";
        assert!(escaped(marks).is_ascii());
        assert_eq!(escaped(&escaped(marks)), escaped(marks));
        // Joiners are part of words in some languages.
        assert_eq!(escaped("می\u{200c}خواهم"), "می\u{200c}خواهم");
    }

    #[test]
    fn a_reader_that_went_away_is_no_error_and_everything_else_is() {
        let mut out = UntilClosed::stdout(Failing(io::ErrorKind::BrokenPipe));
        serde_json::to_writer(&mut out, &[1, 2]).unwrap();
        csv::Writer::from_writer(&mut out).write_record(["a"]).unwrap();
        out.flush().unwrap();
        let mut full = UntilClosed::stdout(Failing(io::ErrorKind::StorageFull));
        let error = full.write_all(b"a").unwrap_err();
        assert_eq!(error.to_string(), "standard output: cannot write: no storage space");
        assert!(full.flush().is_err() && serde_json::to_writer(&mut full, &1).is_err());
    }
}
