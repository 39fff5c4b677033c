//! Matrix Market coordinate files (`.mtx`).
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % comments
//! 3 4 2            rows, terms, entries
//! 1 2 0.5          row, term (both from 1), value
//! 3 4 1e-3
//! ```
//!
//! Matrices that are `real`, `integer` (or `unsigned-integer`) or `pattern` (every value is one)
//! and `general` are read. Entries may come in any order, entries at the same position are summed,
//! and there must be as many as the size line states. The header is case-insensitive, blank lines
//! and comments may occur anywhere after it, and lines may end in CRLF. The written form is
//! `real general`, row by row.
//!
//! A file may claim up to a million rows without further checks; above that it must have an entry
//! per 64 rows.
//!
//! Memory while reading: 8 bytes per entry and up to 16 per row; up to 24 bytes per entry if the
//! rows are not in order.
//!
//! Reference: Boisvert, Pozo, Remington, "The Matrix Market exchange formats: initial design",
//! NISTIR 5935 (1996), <https://doi.org/10.6028/NIST.IR.5935>.

use std::io::{BufRead, Write};
use std::path::Path;

use super::entries::{Layout, Promise, Values, read_entries, write_entries};
use super::lines::{Lines, SHORT_LINE, excerpt, next_token};
use super::numbers::parse_index;
use crate::compression;
use crate::error::{ErrorKind, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::vectors::SparseRows;

const FORMAT: &str = "Matrix Market";
const COMMENT: Option<u8> = Some(b'%');

/// Reads a file, which may be compressed.
///
/// # Errors
/// A file that cannot be read, is damaged, or is of a kind not listed in the
/// [module documentation](self).
pub fn read(path: impl AsRef<Path>) -> Result<SparseRows<'static>> {
    read_within(path.as_ref(), &NO_LIMIT)
}

pub(super) fn read_within(path: &Path, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let read = compression::open(path).and_then(|reader| parse(reader, memory));
    read.map_err(|error| error.at_path(path))
}

/// Reads the format from any source.
///
/// ```
/// let text = "%%MatrixMarket matrix coordinate integer general\n2 3 3\n2 3 1\n1 1 4\n2 3 6\n";
/// let rows = docsphere::formats::mtx::read_from(text.as_bytes())?;
/// assert_eq!(rows.row(0).values, [4.0]);
/// assert_eq!((rows.row(1).terms, rows.row(1).values), (&[2][..], &[7.0][..]));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl BufRead) -> Result<SparseRows<'static>> {
    parse(reader, &NO_LIMIT)
}

fn parse(reader: impl BufRead, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
    let mut lines = Lines::new(reader, FORMAT, SHORT_LINE, memory);
    let values = read_header(&mut lines)?;
    let promise = read_sizes(&mut lines)?;
    read_entries(&mut lines, Layout { promise, values, comment: COMMENT }, memory)
}

/// The line `%%MatrixMarket matrix coordinate FIELD SYMMETRY`.
fn read_header<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Values> {
    const EXPECTED: &str = "a header \"%%MatrixMarket matrix coordinate real general\"";
    let mut rest = match lines.next_line()? {
        Some(line) => line,
        None => return Err(lines.malformed(EXPECTED, "an empty file")),
    };
    let found = excerpt(rest);
    let words: Vec<String> = std::iter::from_fn(|| next_token(&mut rest))
        .take(6)
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["%%matrixmarket", object, layout, field, symmetry] = words[..] else {
        return Err(lines.malformed(EXPECTED, found));
    };
    parse_kind(object, layout, field, symmetry).map_err(|error| lines.locate(error))
}

fn parse_kind(object: &str, layout: &str, field: &str, symmetry: &str) -> Result<Values> {
    let unsupported = |what: &str, word: &str, hint: &str| {
        let what = format!("a Matrix Market file with {what} {}", excerpt(word.as_bytes()));
        Err(ErrorKind::Unsupported { what, hint: hint.to_owned() }.into())
    };
    if object != "matrix" {
        return unsupported("object", object, "only \"matrix\" is read");
    }
    if layout != "coordinate" {
        let hint = "only \"coordinate\" is read; convert a dense matrix to a sparse one";
        return unsupported("layout", layout, hint);
    }
    if symmetry != "general" {
        let hint = "only \"general\" is read; write it with scipy.io.mmwrite(..., symmetry=\"general\")";
        return unsupported("symmetry", symmetry, hint);
    }
    match field {
        "real" => Ok(Values::Real),
        "integer" | "unsigned-integer" => Ok(Values::Integer),
        "pattern" => Ok(Values::Pattern),
        _ => unsupported("values", field, "only \"real\", \"integer\" and \"pattern\" are read"),
    }
}

/// The line `ROWS TERMS ENTRIES`.
fn read_sizes<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Promise> {
    const EXPECTED: &str = "a line with the numbers of rows, columns and entries";
    let line = lines.expect_content(COMMENT, EXPECTED)?;
    let mut rest = line;
    let sizes = [0; 4].map(|_| next_token(&mut rest));
    let promise = match sizes.map(|token| token.map(parse_index)) {
        [Some(Some(n_rows)), Some(Some(n_terms)), Some(Some(nnz)), None] => Promise { n_rows, n_terms, nnz },
        _ => {
            let found = excerpt(line);
            return Err(lines.malformed(EXPECTED, found));
        }
    };
    promise.check(FORMAT).map_err(|error| lines.locate(error))?;
    Ok(promise)
}

/// Writes a file atomically, compressed if the name ends in `.gz` or `.zst`.
///
/// # Errors
/// Those of the system; an old file of that name is then untouched.
pub fn write(path: impl AsRef<Path>, rows: &SparseRows<'_>) -> Result<()> {
    compression::write_packed(path.as_ref(), |out| write_to(out, rows))
}

/// Writes the format to any writer, in small pieces: pass a buffered writer.
///
/// # Errors
/// Those of the writer.
pub fn write_to(mut out: impl Write, rows: &SparseRows<'_>) -> Result<()> {
    let (n_rows, n_terms, nnz) = (rows.n_rows(), rows.n_terms(), rows.nnz());
    let header = format!("%%MatrixMarket matrix coordinate real general\n{n_rows} {n_terms} {nnz}\n");
    write_entries(&mut out, &header, rows)
}

#[cfg(test)]
mod tests {
    use super::super::trials;
    use super::*;

    const HEADER: &str = "%%MatrixMarket matrix coordinate real general\n";

    fn message(text: impl AsRef<[u8]>) -> String {
        read_from(text.as_ref()).unwrap_err().to_string()
    }

    fn written(rows: &SparseRows<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        write_to(&mut out, rows).unwrap();
        out
    }

    #[test]
    fn a_matrix_is_written_row_by_row() {
        let rows = SparseRows::from_parts(4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1., 0.1, -2e20]).unwrap();
        let text = format!("{HEADER}3 4 3\n1 1 1\n1 4 0.1\n3 2 -2e20\n");
        assert_eq!(String::from_utf8(written(&rows)).unwrap(), text);
    }

    #[test]
    fn case_comments_blank_lines_and_line_ends_do_not_matter() {
        let text = "%%MatrixMARKET  Matrix\tCOORDINATE Integer General \r\n%\r\n% note\r\n\r\n 2 3 2\r\n\r\n\
                    2 3 -4\r\n % more\r\n1\t1   5 \r\n\r\n";
        let rows = read_from(text.as_bytes()).unwrap();
        assert_eq!(
            (rows.offsets(), rows.terms(), rows.values()),
            (&[0, 1, 2][..], &[0, 2][..], &[5., -4.][..])
        );
    }

    #[test]
    fn a_pattern_has_ones() {
        let rows =
            read_from(&b"%%MatrixMarket matrix coordinate pattern general\n1 2 2\n1 2\n1 1\n"[..]).unwrap();
        assert_eq!(rows.values(), [1., 1.]);
    }

    #[test]
    fn other_kinds_of_matrix_are_unsupported() {
        let cases = [
            ("vector coordinate real general", "object \"vector\" is not supported; only \"matrix\" is read"),
            (
                "matrix array real general",
                "layout \"array\" is not supported; only \"coordinate\" is read; \
                 convert a dense matrix to a sparse one",
            ),
            (
                "matrix coordinate complex general",
                "values \"complex\" is not supported; only \"real\", \"integer\" and \"pattern\" are read",
            ),
            (
                "matrix coordinate real symmetric",
                "symmetry \"symmetric\" is not supported; only \"general\" is read; \
                 write it with scipy.io.mmwrite(..., symmetry=\"general\")",
            ),
        ];
        for (kind, expected) in cases {
            let text = format!("%%MatrixMarket {kind}\n1 1 1\n1 1 1\n");
            assert_eq!(message(text), format!("line 1: a Matrix Market file with {expected}"));
        }
    }

    #[test]
    fn damage_is_reported_with_the_line() {
        const KIND: &str = "a header \"%%MatrixMarket matrix coordinate real general\"";
        const SIZES: &str = "a line with the numbers of rows, columns and entries";
        const ROWS: &str = "at most 1048576 rows (above 1048576 rows, 64 for each entry)";
        const REAL: &str = "a finite number in the range of a 32-bit float";
        const WHOLE: &str = "a whole number in the range of a 32-bit float";
        let cases: [(&str, u64, &str, &str); 11] = [
            ("1 1 1\n", 1, KIND, "\"1 1 1\""),
            ("%%MatrixMarket matrix\n", 1, KIND, "\"%%MatrixMarket matrix\""),
            ("real\n", 1, SIZES, "the end of the file"),
            ("real\n3 4\n", 2, SIZES, "\"3 4\""),
            ("real\n%\n3 4 -1\n", 3, SIZES, "\"3 4 -1\""),
            ("real\n3 4 1 1\n", 2, SIZES, "\"3 4 1 1\""),
            ("real\n3 4 99999999999999999999\n", 2, SIZES, "\"3 4 99999999999999999999\""),
            ("real\n99999999 4 1\n", 2, ROWS, "99999999 rows with 1 entries"),
            ("real\n1 1 1\n1 1 0x1\n", 3, REAL, "\"0x1\""),
            ("integer\n1 1 1\n1 1 1.5\n", 3, WHOLE, "\"1.5\""),
            ("pattern\n1 1 1\n1 1 1\n", 3, "the end of the line", "\"1\""),
        ];
        for (text, line, expected, found) in cases {
            // A field alone on its line stands for the whole header.
            let text = match text.split_once('\n') {
                Some((field @ ("real" | "integer" | "pattern"), body)) => {
                    HEADER.replace("real", field) + body
                }
                _ => text.to_owned(),
            };
            let error = format!("line {line}: not valid Matrix Market: expected {expected}, found {found}");
            assert_eq!(message(text), error);
        }
        assert_eq!(message(""), format!("not valid Matrix Market: expected {KIND}, found an empty file"));
        assert_eq!(
            message(b"\xff\xfe\x00"),
            format!("line 1: not valid Matrix Market: expected {KIND}, found \"\u{fffd}\u{fffd}\\0\"")
        );
        assert_eq!(
            message(format!("{HEADER}9999999999 4 1\n")),
            "line 2: the number of rows is limited to 1073741824, got 9999999999"
        );
        assert_eq!(
            message(format!("{HEADER}9 9999999999 1\n")),
            "line 2: the number of terms is limited to 268435456, got 9999999999"
        );
        assert_eq!(
            message(vec![b' '; SHORT_LINE + 3]),
            "line 1: not valid Matrix Market: expected lines of at most 1048576 bytes, found a longer one"
        );
    }

    #[test]
    fn damaged_files_never_panic() {
        for (_, rows) in trials::matrices() {
            let file = written(&rows);
            // Only the last line may lose bytes undetected: its terminator, and digits of its
            // value.
            let last_line = file[..file.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
            let accepted = trials::accepted_prefixes(&file, |bytes| read_from(bytes));
            assert!(accepted.iter().all(|&length| length > last_line), "{accepted:?}");
            trials::survivors(&file, 4, |bytes| read_from(bytes));
        }
    }
}
