//! svmlight / LIBSVM files (`.svmlight`, `.svm`, `.libsvm`).
//!
//! ```text
//! # comment
//! 1 3:0.5 17:2             target, then term:value
//! -1 qid:4 1:1 2:0.25      a query id is allowed
//! 1,3 8:1                  several targets too
//! 0                        a row without terms
//! ```
//!
//! Every row is a line and begins with its target. **Targets and query ids are checked and then
//! dropped**: clustering does not use them. Blank lines and comment lines are not rows. Terms may
//! come in any order, and repeated terms of a row are summed.
//!
//! The file does not state whether ids count from 0 or from 1, nor how many terms there are.
//! Without [`SvmlightOptions`] this follows scikit-learn: from 0 if id 0 occurs, otherwise from 1;
//! and as many terms as the greatest id needs. So trailing terms that occur in no row are lost
//! unless the number of terms is given.
//!
//! Writing uses target 0 and ids from 1.
//!
//! Memory while reading: 8 bytes per nonzero, 8 per row, and the longest line, of up to 256 MiB.
//!
//! References: Joachims, "Making large-scale SVM learning practical" (1999),
//! <https://svmlight.joachims.org>; Chang, Lin, "LIBSVM: a library for support vector machines"
//! (2011), <https://doi.org/10.1145/1961189.1961199>.

use std::io::{BufRead, Write};
use std::path::Path;

use super::MATRIX;
use super::lines::{LONG_LINE, Lines, excerpt, next_token};
use super::numbers::{VALUE, is_integer, parse_index, parse_value, write_value};
use crate::compression;
use crate::error::{Error, ErrorKind, Result, RowProblem};
use crate::memory::{Growing, MemoryLimit, NO_LIMIT};
use crate::vectors::{MAX_TERMS, SparseRows};

const FORMAT: &str = "svmlight";

/// Facts that an svmlight file does not state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SvmlightOptions {
    /// First term id. Default: [`IdBase::Auto`].
    pub ids: IdBase,
    /// The number of terms. Default: as many as the greatest id needs.
    pub n_terms: Option<usize>,
}

impl SvmlightOptions {
    /// First term id.
    #[must_use]
    pub fn ids(mut self, ids: IdBase) -> Self {
        self.ids = ids;
        self
    }

    /// The number of terms; `None` for as many as the greatest id needs.
    #[must_use]
    pub fn n_terms(mut self, n_terms: impl Into<Option<usize>>) -> Self {
        self.n_terms = n_terms.into();
        self
    }
}

/// The first term id of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdBase {
    /// 0 if the file has an id 0, otherwise 1.
    #[default]
    Auto,
    /// Ids count from 0.
    Zero,
    /// Ids count from 1.
    One,
}

/// Reads a file, which may be compressed.
///
/// # Errors
/// A file that cannot be read or is damaged; a term id that does not fit the options.
pub fn read(path: impl AsRef<Path>, options: &SvmlightOptions) -> Result<SparseRows<'static>> {
    read_within(path.as_ref(), options, &NO_LIMIT)
}

pub(super) fn read_within(
    path: &Path,
    options: &SvmlightOptions,
    memory: &MemoryLimit,
) -> Result<SparseRows<'static>> {
    let read = compression::open(path).and_then(|reader| parse(reader, options, memory));
    read.map_err(|error| error.at_path(path))
}

/// Reads the format from any source.
///
/// ```
/// use docsphere::formats::svmlight::{self, IdBase, SvmlightOptions};
///
/// let text = "1 2:0.5 1:3  # first\n0 3:1\n";
/// let rows = svmlight::read_from(text.as_bytes(), &SvmlightOptions::default())?;
/// assert_eq!((rows.n_rows(), rows.n_terms()), (2, 3));
/// assert_eq!((rows.row(0).terms, rows.row(0).values), (&[0, 1][..], &[3.0, 0.5][..]));
///
/// let options = SvmlightOptions::default().ids(IdBase::Zero).n_terms(10);
/// let rows = svmlight::read_from(text.as_bytes(), &options)?;
/// assert_eq!((rows.n_terms(), rows.row(1).terms), (10, &[3][..]));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl BufRead, options: &SvmlightOptions) -> Result<SparseRows<'static>> {
    parse(reader, options, &NO_LIMIT)
}

fn parse(
    reader: impl BufRead,
    options: &SvmlightOptions,
    memory: &MemoryLimit,
) -> Result<SparseRows<'static>> {
    let mut lines = Lines::new(reader, FORMAT, LONG_LINE, memory);
    let mut parts = Parts::new(options.ids, memory)?;
    loop {
        let number = lines.number() + 1;
        match lines.next_line()? {
            Some(line) => parts.add_line(line, number).map_err(|error| error.at_line(number))?,
            None => break,
        }
    }
    if lines.number() == 0 {
        return Err(lines.malformed("rows of the form \"target term:value ...\"", "an empty file"));
    }
    drop(lines);
    parts.finish(options.n_terms, memory)
}

/// The part of the matrix read so far. Term ids are as in the file.
struct Parts<'a> {
    ids: IdBase,
    offsets: Growing<'a, u64>,
    terms: Growing<'a, u32>,
    values: Growing<'a, f32>,
    has_zero_id: bool,
    /// The greatest id, and the first line that has it.
    greatest: Option<(u32, u64)>,
}

impl<'a> Parts<'a> {
    fn new(ids: IdBase, memory: &'a MemoryLimit) -> Result<Self> {
        let (terms, values) = (Growing::new(memory, MATRIX), Growing::new(memory, MATRIX));
        let mut offsets = Growing::new(memory, MATRIX);
        offsets.push(0)?;
        Ok(Parts { ids, offsets, terms, values, has_zero_id: false, greatest: None })
    }

    fn add_line(&mut self, line: &[u8], number: u64) -> Result<()> {
        let comment = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
        let mut rest = &line[..comment];
        let Some(target) = next_token(&mut rest) else {
            return Ok(());
        };
        check_target(target)?;
        let mut is_first = true;
        while let Some(token) = next_token(&mut rest) {
            match token.strip_prefix(b"qid:") {
                Some(query) if is_first => check_query(query)?,
                _ => self.add_entry(token, number)?,
            }
            is_first = false;
        }
        self.offsets.push(self.terms.len() as u64)
    }

    #[inline]
    fn add_entry(&mut self, token: &[u8], number: u64) -> Result<()> {
        let colon = token.iter().position(|&byte| byte == b':');
        let (id, value) = match colon {
            Some(colon) => (&token[..colon], &token[colon + 1..]),
            None => return Err(Error::malformed(FORMAT, "term:value", excerpt(token))),
        };
        let first = if self.ids == IdBase::One { 1 } else { 0 };
        // An id of MAX_TERMS is valid if ids start at 1; the constant fits into 32 bits.
        let id = match parse_index(id) {
            Some(id) if (first..=MAX_TERMS).contains(&id) => id as u32,
            _ => {
                let expected = format!("a term id from {first} to {MAX_TERMS}");
                return Err(Error::malformed(FORMAT, expected, excerpt(id)));
            }
        };
        let Some(value) = parse_value(value) else {
            return Err(Error::malformed(FORMAT, format!("{VALUE} after the colon"), excerpt(token)));
        };
        self.has_zero_id |= id == 0;
        if self.greatest.is_none_or(|(greatest, _)| id > greatest) {
            self.greatest = Some((id, number));
        }
        self.terms.push(id)?;
        self.values.push(value)
    }

    fn finish(self, n_terms: Option<usize>, memory: &MemoryLimit) -> Result<SparseRows<'static>> {
        let (offsets, values) = (self.offsets.into_vec(), self.values.into_vec());
        let mut terms = self.terms.into_vec();
        let first = match self.ids {
            IdBase::Zero => 0,
            IdBase::One => 1,
            IdBase::Auto => u32::from(!self.has_zero_id),
        };
        if first == 1 {
            terms.iter_mut().for_each(|id| *id -= 1);
        }
        let (needed, line) = match self.greatest {
            Some((id, line)) => ((id - first) as usize + 1, line),
            None => (0, 0),
        };
        let n_terms = n_terms.unwrap_or(needed);
        if needed > n_terms {
            let greatest = needed as u32 - 1;
            let position = terms.iter().position(|&term| term == greatest).unwrap_or(0) as u64;
            let row = offsets.partition_point(|&offset| offset <= position).saturating_sub(1) as u64;
            let problem = RowProblem::TermOutOfRange { term: u64::from(greatest), n_terms: n_terms as u64 };
            return Err(Error::from(ErrorKind::Row { row, problem }).at_line(line));
        }
        SparseRows::from_parts_within(n_terms, offsets, terms, values, memory)
    }
}

/// Checks for a number, or several separated by commas.
fn check_target(token: &[u8]) -> Result<()> {
    if token.contains(&b':') {
        let expected = "a target before the first term (write 0 if there is none)";
        return Err(Error::malformed(FORMAT, expected, excerpt(token)));
    }
    let is_number = |part: &[u8]| str::from_utf8(part).is_ok_and(|text| text.parse::<f64>().is_ok());
    if !token.split(|&byte| byte == b',').all(is_number) {
        let expected = "a target (a number, or several with commas) at the start of the line";
        return Err(Error::malformed(FORMAT, expected, excerpt(token)));
    }
    Ok(())
}

fn check_query(token: &[u8]) -> Result<()> {
    if is_integer(token) {
        return Ok(());
    }
    Err(Error::malformed(FORMAT, "a whole number after \"qid:\"", excerpt(token)))
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
    let mut write = || {
        if rows.n_rows() == 0 {
            // Distinguishes a matrix without rows from a file that lost its content.
            writeln!(out, "# no rows")?;
        }
        for row in rows.iter() {
            out.write_all(b"0")?;
            for (term, value) in row.iter() {
                write!(out, " {}:", term + 1)?;
                write_value(&mut out, value)?;
            }
            out.write_all(b"\n")?;
        }
        out.flush()
    };
    write().map_err(|source| Error::io("write", source))
}

#[cfg(test)]
mod tests {
    use super::super::trials;
    use super::*;

    const AUTO: SvmlightOptions = SvmlightOptions { ids: IdBase::Auto, n_terms: None };

    fn read(text: &str, ids: IdBase, n_terms: Option<usize>) -> Result<SparseRows<'static>> {
        read_from(text.as_bytes(), &SvmlightOptions { ids, n_terms })
    }

    fn message(text: &str, ids: IdBase, n_terms: Option<usize>) -> String {
        read(text, ids, n_terms).unwrap_err().to_string()
    }

    #[test]
    fn ids_start_at_zero_only_if_a_zero_occurs_or_the_caller_says_so() {
        let terms = |text, ids| read(text, ids, None).unwrap().terms().to_vec();
        assert_eq!(terms("1 1:1 3:1\n", IdBase::Auto), [0, 2]);
        assert_eq!(terms("1 1:1 3:1\n1 0:1\n", IdBase::Auto), [1, 3, 0]);
        assert_eq!(terms("1 1:1 3:1\n", IdBase::Zero), [1, 3]);
        assert_eq!(terms("1 1:1 3:1\n", IdBase::One), [0, 2]);
    }

    #[test]
    fn targets_queries_comments_and_order_do_not_matter() {
        let text = "# head\n\n1 qid:3 2:1 # tail 9:9\r\n-1.5e3,2,+4 7:2 3:1 7:.5\n  \n0\n+1 \t 1:4\n";
        let rows = read_from(text.as_bytes(), &AUTO).unwrap();
        assert_eq!((rows.n_rows(), rows.n_terms()), (4, 7));
        assert_eq!(rows.offsets(), [0, 1, 3, 3, 4]);
        assert_eq!((rows.terms(), rows.values()), (&[1, 2, 6, 0][..], &[1., 1., 2.5, 4.][..]));
    }

    #[test]
    fn a_matrix_is_written_with_target_zero_and_ids_from_one() {
        let rows = SparseRows::from_parts(9, vec![0, 2, 2, 3], vec![0, 3, 1], vec![7., 0.5, 2.]).unwrap();
        let mut out = Vec::new();
        write_to(&mut out, &rows).unwrap();
        assert_eq!(out, b"0 1:7 4:0.5\n0\n0 2:2\n");
        // Trailing terms are lost unless their number is given.
        assert_eq!(read_from(&out[..], &AUTO).unwrap().n_terms(), 4);
        assert_eq!(read_from(&out[..], &SvmlightOptions { n_terms: Some(9), ..AUTO }).unwrap(), rows);
    }

    #[test]
    fn damage_is_reported_with_the_line() {
        let target = "a target (a number, or several with commas) at the start of the line";
        let id = "a term id from 0 to 268435456";
        let value = "a finite number in the range of a 32-bit float after the colon";
        let cases = [
            ("1 1:1\n1:1 2:1\n", 2, "a target before the first term (write 0 if there is none)", "\"1:1\""),
            ("#\nspam 1:1\n", 2, target, "\"spam\""),
            ("1, 1:1\n", 1, target, "\"1,\""),
            ("1 qid:x 1:1\n", 1, "a whole number after \"qid:\"", "\"x\""),
            ("1 1:1 qid:2\n", 1, id, "\"qid\""),
            ("1 12\n", 1, "term:value", "\"12\""),
            ("1 -1:1\n", 1, id, "\"-1\""),
            ("1 268435457:1\n", 1, id, "\"268435457\""),
            ("1 99999999999999999999:1\n", 1, id, "\"99999999999999999999\""),
            ("1 1:\n", 1, value, "\"1:\""),
            ("1 1:nan\n", 1, value, "\"1:nan\""),
            ("1 1:1e39\n", 1, value, "\"1:1e39\""),
        ];
        for (text, line, expected, found) in cases {
            let error = format!("line {line}: not valid svmlight: expected {expected}, found {found}");
            assert_eq!(message(text, IdBase::Auto, None), error);
        }
        assert_eq!(
            message("", IdBase::Auto, None),
            "not valid svmlight: expected rows of the form \"target term:value ...\", found an empty file"
        );
        assert_eq!(
            message("1 268435456:1\n1 0:1\n", IdBase::Auto, None),
            "the number of terms is limited to 268435456, got 268435457"
        );
        assert!(read_from(&b"\xff\xfe 1:1\n"[..], &AUTO).unwrap_err().to_string().starts_with("line 1: "));
    }

    #[test]
    fn ids_that_do_not_fit_the_options_are_refused_with_the_line() {
        assert_eq!(
            message("1 1:1\n1 0:1\n", IdBase::One, None),
            "line 2: not valid svmlight: expected a term id from 1 to 268435456, found \"0\""
        );
        let text = "1 1:1\n# comment\n1 2:1 4:1\n";
        assert_eq!(read(text, IdBase::Auto, Some(4)).unwrap().n_terms(), 4);
        assert_eq!(
            message(text, IdBase::Zero, Some(4)),
            "line 3: row 1: term id 4 is out of range: ids run from 0 to 3"
        );
        assert_eq!(
            message(&format!("{text}0 0:1"), IdBase::Auto, Some(4)),
            "line 3: row 1: term id 4 is out of range: ids run from 0 to 3"
        );
        assert!(message(text, IdBase::Auto, Some(1 << 40)).contains("the number of terms is limited to"));
    }

    #[test]
    fn damaged_files_never_panic() {
        for (_, rows) in trials::matrices() {
            let mut file = Vec::new();
            write_to(&mut file, &rows).unwrap();
            // Every line is a row and the number of rows is not stated: a prefix can be a whole
            // file.
            trials::accepted_prefixes(&file, |bytes| read_from(bytes, &AUTO));
            trials::survivors(&file, 4, |bytes| read_from(bytes, &AUTO));
        }
    }
}
