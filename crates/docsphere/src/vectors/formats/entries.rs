//! Entries `row term value`, one per line, in any order: the body of Matrix Market and of
//! bag-of-words files.
//!
//! Nothing is allocated on the word of a header; memory grows as entries arrive, and is checked
//! piece by piece. Entries that come row by row are stored as the rows of the result, with 8 bytes
//! per nonempty row; entries in another order are sorted by one counting sort at the end.
//!
//! Memory: 8 bytes per entry, 8 per row, 8 per *run* of entries of the same row; while sorting,
//! another 8 bytes per entry and 8 per row. Growing vectors may temporarily hold up to twice that.

use std::io::{BufRead, Write};

use super::MATRIX;
use super::lines::{Lines, excerpt, next_token};
use super::numbers::{VALUE, is_integer, parse_index, parse_value, write_value};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Growing, MemoryLimit};
use crate::vectors::{MAX_ROWS, MAX_TERMS, SparseRows};

/// Number of rows that a header may claim regardless of the number of entries.
const FREE_ROWS: u64 = 1 << 20;

/// Beyond `FREE_ROWS`, the number of rows that each entry justifies.
const ROWS_PER_ENTRY: u64 = 64;

/// The sizes stated in a header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Promise {
    pub(super) n_rows: u64,
    pub(super) n_terms: u64,
    pub(super) nnz: u64,
}

/// The kind of value that follows the two ids of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Values {
    /// Any number.
    Real,
    /// An integer.
    Integer,
    /// No value in the file; every value is one.
    Pattern,
}

/// The syntax of the entries of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) promise: Promise,
    pub(super) values: Values,
    /// The byte that begins a comment line, if the format has comments.
    pub(super) comment: Option<u8>,
}

impl Promise {
    /// Rejects sizes that the library cannot hold or the file cannot justify.
    pub(super) fn check(self, format: &'static str) -> Result<()> {
        let limits =
            [("the number of rows", self.n_rows, MAX_ROWS), ("the number of terms", self.n_terms, MAX_TERMS)];
        for (what, got, limit) in limits {
            if got > limit {
                return Err(ErrorKind::TooLarge { what, limit, got }.into());
            }
        }
        let justified = self.nnz.saturating_add(1).saturating_mul(ROWS_PER_ENTRY).max(FREE_ROWS);
        if self.n_rows > justified {
            return Err(Error::malformed(
                format,
                format!("at most {justified} rows (above {FREE_ROWS} rows, {ROWS_PER_ENTRY} for each entry)"),
                format!("{} rows with {} entries", self.n_rows, self.nnz),
            ));
        }
        Ok(())
    }
}

/// Reads all entries to the end of the file: exactly as many as stated.
pub(super) fn read_entries<R: BufRead>(
    lines: &mut Lines<'_, R>,
    layout: Layout,
    memory: &MemoryLimit,
) -> Result<SparseRows<'static>> {
    let Layout { promise, comment, .. } = layout;
    let format = lines.format();
    let mut entries = Entries::new(memory);
    while let Some(line) = lines.next_content(comment)? {
        match parse_entry(line, layout, format) {
            Ok(_) if entries.nnz() == promise.nnz => {
                return Err(
                    lines.malformed(format!("{} entries, as promised at the top", promise.nnz), "more")
                );
            }
            Ok((row, term, value)) => entries.push(row, term, value)?,
            Err(error) => return Err(lines.locate(error)),
        }
    }
    if entries.nnz() < promise.nnz {
        return Err(lines.malformed(
            format!("{} entries, as promised at the top", promise.nnz),
            format!("the end of the file after {}", entries.nnz()),
        ));
    }
    entries.into_rows(promise.n_rows as usize, promise.n_terms as usize, memory)
}

fn parse_entry(line: &[u8], layout: Layout, format: &'static str) -> Result<(u32, u32, f32)> {
    let Layout { promise, values, .. } = layout;
    let mut rest = line;
    let row = next_token(&mut rest);
    let row = parse_id(row, promise.n_rows).ok_or_else(|| id_error(format, "row", promise.n_rows, row))?;
    let term = next_token(&mut rest);
    let term =
        parse_id(term, promise.n_terms).ok_or_else(|| id_error(format, "term", promise.n_terms, term))?;
    let value = if values == Values::Pattern {
        1.0
    } else {
        let token = next_token(&mut rest);
        let allowed = token.filter(|token| values == Values::Real || is_integer(token));
        allowed.and_then(parse_value).ok_or_else(|| {
            let expected =
                if values == Values::Real { VALUE } else { "a whole number in the range of a 32-bit float" };
            Error::malformed(format, expected, describe(token))
        })?
    };
    match next_token(&mut rest) {
        None => Ok((row, term, value)),
        Some(token) => Err(Error::malformed(format, "the end of the line", excerpt(token))),
    }
}

/// Converts an id that counts from 1 in the file to one that counts from 0, if it is in range.
#[inline]
fn parse_id(token: Option<&[u8]>, n: u64) -> Option<u32> {
    let id = parse_index(token?)?;
    if (1..=n).contains(&id) { u32::try_from(id - 1).ok() } else { None }
}

#[cold]
fn id_error(format: &'static str, what: &str, n: u64, token: Option<&[u8]>) -> Error {
    Error::malformed(format, format!("a {what} number from 1 to {n}"), describe(token))
}

fn describe(token: Option<&[u8]>) -> String {
    token.map_or_else(|| "the end of the line".to_owned(), excerpt)
}

/// Entries as they arrive.
struct Entries<'a> {
    runs: Growing<'a, Run>,
    terms: Growing<'a, u32>,
    values: Growing<'a, f32>,
    out_of_order: bool,
}

/// Consecutive entries of the same row.
struct Run {
    row: u32,
    len: u32,
}

impl<'a> Entries<'a> {
    fn new(memory: &'a MemoryLimit) -> Self {
        Entries {
            runs: Growing::new(memory, MATRIX),
            terms: Growing::new(memory, MATRIX),
            values: Growing::new(memory, MATRIX),
            out_of_order: false,
        }
    }

    fn nnz(&self) -> u64 {
        self.terms.len() as u64
    }

    #[inline]
    fn push(&mut self, row: u32, term: u32, value: f32) -> Result<()> {
        match self.runs.last_mut() {
            Some(run) if run.row == row && run.len < u32::MAX => run.len += 1,
            last => {
                self.out_of_order |= last.is_some_and(|run| run.row > row);
                self.runs.push(Run { row, len: 1 })?;
            }
        }
        self.terms.push(term)?;
        self.values.push(value)
    }

    fn into_rows(self, n_rows: usize, n_terms: usize, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
        let (runs, terms, values) = (self.runs.into_vec(), self.terms.into_vec(), self.values.into_vec());
        memory.check(MATRIX, 8 * (n_rows as u64 + 1))?;
        let mut offsets = vec![0u64; n_rows + 1];
        for run in &runs {
            offsets[run.row as usize + 1] += u64::from(run.len);
        }
        for row in 0..n_rows {
            offsets[row + 1] += offsets[row];
        }
        if !self.out_of_order {
            drop(runs);
            return SparseRows::from_parts_within(n_terms, offsets, terms, values, memory);
        }
        memory.check(MATRIX, 8 * (n_rows as u64 + 1) + 8 * terms.len() as u64)?;
        let mut next = offsets.clone();
        let (mut sorted_terms, mut sorted_values) = (vec![0; terms.len()], vec![0.0; values.len()]);
        let mut from = 0;
        for run in &runs {
            let len = run.len as usize;
            let to = next[run.row as usize] as usize;
            sorted_terms[to..to + len].copy_from_slice(&terms[from..from + len]);
            sorted_values[to..to + len].copy_from_slice(&values[from..from + len]);
            next[run.row as usize] += u64::from(run.len);
            from += len;
        }
        drop((next, runs, terms, values));
        SparseRows::from_parts_within(n_terms, offsets, sorted_terms, sorted_values, memory)
    }
}

/// Writes a header, then a line with row, term (both from 1) and value for each nonzero.
pub(super) fn write_entries(out: &mut impl Write, header: &str, rows: &SparseRows<'_>) -> Result<()> {
    let mut write = || {
        out.write_all(header.as_bytes())?;
        for (index, row) in rows.iter().enumerate() {
            for (term, value) in row.iter() {
                write!(out, "{} {} ", index + 1, term + 1)?;
                write_value(out, value)?;
                out.write_all(b"\n")?;
            }
        }
        out.flush()
    };
    write().map_err(|source| Error::io("write", source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NO_LIMIT;

    fn read(text: &str, n_rows: u64, n_terms: u64, nnz: u64) -> Result<SparseRows<'static>> {
        let layout =
            Layout { promise: Promise { n_rows, n_terms, nnz }, values: Values::Real, comment: Some(b'%') };
        read_entries(&mut Lines::new(text.as_bytes(), "test", 100, &NO_LIMIT), layout, &NO_LIMIT)
    }

    fn message(text: &str) -> String {
        read(text, 3, 4, 2).unwrap_err().to_string()
    }

    #[test]
    fn entries_in_any_order_give_the_same_rows() {
        let expected =
            SparseRows::from_parts(4, vec![0, 2, 2, 4], vec![0, 3, 1, 2], vec![1., 2., 3., 4.]).unwrap();
        let lines = ["1 1 1", "1 4 2", "3 2 3", "3 3 4"];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 0, 3, 2]] {
            let text = order.map(|i| lines[i]).join("\n");
            assert_eq!(read(&text, 3, 4, 4).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn repeated_entries_add_up() {
        let rows = read("2 1 1\n1 1 5\n2 1 2.5\n2 2 1\n2 2 -1\n", 2, 2, 5).unwrap();
        assert_eq!(
            (rows.offsets(), rows.terms(), rows.values()),
            (&[0, 1, 2][..], &[0, 0][..], &[5.0, 3.5][..])
        );
    }

    #[test]
    fn the_promised_number_of_entries_is_kept_exactly() {
        assert_eq!(
            message("1 1 1\n"),
            "line 1: not valid test: expected 2 entries, as promised at the top, \
             found the end of the file after 1"
        );
        assert_eq!(
            message("1 1 1\n%\n\n1 2 1\n1 3 1\n"),
            "line 5: not valid test: expected 2 entries, as promised at the top, found more"
        );
    }

    #[test]
    fn bad_entries_are_refused_with_their_line() {
        let cases = [
            ("0 1 1", "a row number from 1 to 3, found \"0\""),
            ("4 1 1", "a row number from 1 to 3, found \"4\""),
            ("-1 1 1", "a row number from 1 to 3, found \"-1\""),
            ("99999999999999999999999 1 1", "a row number from 1 to 3, found \"99999999999999999999999\""),
            ("1 0 1", "a term number from 1 to 4, found \"0\""),
            ("1 5 1", "a term number from 1 to 4, found \"5\""),
            ("1", "a term number from 1 to 4, found the end of the line"),
            ("1 1", "a finite number in the range of a 32-bit float, found the end of the line"),
            ("1 1 nan", "a finite number in the range of a 32-bit float, found \"nan\""),
            ("1 1 -inf", "a finite number in the range of a 32-bit float, found \"-inf\""),
            ("1 1 1e39", "a finite number in the range of a 32-bit float, found \"1e39\""),
            ("1 1 1 1", "the end of the line, found \"1\""),
        ];
        for (line, expected) in cases {
            assert_eq!(
                message(&format!("1 1 1\n{line}\n")),
                format!("line 2: not valid test: expected {expected}")
            );
        }
    }

    #[test]
    fn sizes_that_nothing_justifies_are_refused_before_they_are_allocated() {
        let check = |n_rows, n_terms, nnz| match (Promise { n_rows, n_terms, nnz }).check("test") {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(check(1 << 20, 1 << 28, 0), "");
        assert_eq!(check(1 << 24, 5, 1 << 18), "");
        assert_eq!(
            check((1 << 20) + 1, 5, 3),
            "not valid test: expected at most 1048576 rows (above 1048576 rows, 64 for each entry), \
             found 1048577 rows with 3 entries"
        );
        assert_eq!(
            check(1 << 30, 5, 1 << 20),
            "not valid test: expected at most 67108928 rows (above 1048576 rows, 64 for each entry), \
             found 1073741824 rows with 1048576 entries"
        );
        assert_eq!(
            check(u64::MAX, 5, u64::MAX),
            "the number of rows is limited to 1073741824, got 18446744073709551615"
        );
        assert_eq!(check(1, (1 << 28) + 1, 1), "the number of terms is limited to 268435456, got 268435457");
    }

    #[test]
    fn a_promise_of_many_rows_and_entries_costs_nothing_until_they_arrive() {
        let promise = Promise { n_rows: 1 << 30, n_terms: 9, nnz: u64::MAX };
        promise.check("test").unwrap();
        let error = read("1073741824 1 1\n", promise.n_rows, promise.n_terms, promise.nnz).unwrap_err();
        assert!(error.to_string().contains("the end of the file after 1"), "{error}");
    }
}
