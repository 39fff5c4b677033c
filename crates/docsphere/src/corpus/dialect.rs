//! The dialect of a table: what separates its fields, and what quotes them.
//!
//! Spreadsheets write CSV with commas, semicolons, tabs or bars, depending on the language of the
//! system. The dialect is found from the first records:
//!
//! 1. A first line such as `sep=;`, which Excel writes and reads, names the delimiter.
//! 2. Otherwise each delimiter is tried with each quote. The best pair gives a header with all the
//!    wanted fields; then the most bytes in records with as many fields as the header. Ties go to
//!    the earlier pair, comma and double quote first.
//! 3. Unless the caller names the quote, the header and the first records also tell what a row
//!    looks like, so that stray quotes are found (`records.rs`).
//!
//! The sample is always the same for the same file, so the dialect does not depend on threads or
//! chunks. A table is read from its beginning by one process, so it does not travel.

use std::io::{BufRead, Cursor, Read};

use super::field_names::find_field;
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use super::records::{Dialect, Fields, RecordReader, Rows};
use crate::compression::read_error;
use crate::error::Result;

/// Bytes of the table from which the dialect is found.
const SAMPLE_BYTES: u64 = 1 << 16;

/// Records of the sample that are compared with the header.
const SAMPLE_RECORDS: usize = 100;

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
const QUOTES: [u8; 2] = [b'"', b'\''];

impl Dialect {
    /// Finds the dialect of a table, and returns it with a reader that begins where the given one
    /// did.
    pub(super) fn find(
        format: CorpusFormat,
        mut reader: Box<dyn BufRead>,
        options: &CorpusOptions,
    ) -> Result<(Dialect, Box<dyn BufRead>)> {
        let mut sample = Vec::new();
        reader.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(read_error)?;
        let is_whole = (sample.len() as u64) < SAMPLE_BYTES;
        let dialect = Self::of_sample(format, &sample, is_whole, options);
        Ok((dialect, Box::new(Cursor::new(sample).chain(reader))))
    }

    fn of_sample(format: CorpusFormat, sample: &[u8], is_whole: bool, options: &CorpusOptions) -> Dialect {
        let sample = &sample[blank_bytes(sample)..];
        let named = separator_line(sample);
        let given = options.delimiter.and_then(|delimiter| u8::try_from(delimiter).ok());
        let of_format = (format == CorpusFormat::Tsv).then_some(b'\t');
        let sample = &sample[named.map_or(0, |(_, length)| length)..];
        let sample = &sample[blank_bytes(sample)..];
        let delimiters = match given.or(named.map(|(delimiter, _)| delimiter)).or(of_format) {
            Some(delimiter) => vec![delimiter],
            None => DELIMITERS.to_vec(),
        };
        let quotes = options.quote.map_or(QUOTES.map(Some).to_vec(), |quote| vec![quote.byte()]);
        let mut best = (None, Dialect { delimiter: delimiters[0], quote: quotes[0], rows: None });
        for delimiter in delimiters {
            for &quote in &quotes {
                if options.quote.is_none() && quote == Some(b'\'') && !has_apostrophes(sample, delimiter) {
                    continue;
                }
                let dialect = Dialect { delimiter, quote, rows: None };
                let score = dialect.score(sample, is_whole, options);
                if score > best.0 {
                    best = (score, dialect);
                }
            }
        }
        let rows = if options.quote.is_none() { best.1.rows_of(sample, is_whole) } else { None };
        Dialect { rows, ..best.1 }
    }

    /// What the rows of a table look like; `None` for one with a single column.
    fn rows_of(self, sample: &[u8], is_whole: bool) -> Option<Rows> {
        let mut reader = RecordReader::new(self, sample);
        let mut fields = Fields::studied();
        let header = reader.next_record(&mut fields)?;
        let n_columns = fields.len();
        if n_columns < 2 || (!is_whole && header.end == sample.len()) {
            return None;
        }
        let mut rows = Rows { n_columns, is_loose: false, is_quoting: false };
        // Rows between stray quotes are told by what is known already.
        let mut reader = RecordReader::new(Dialect { rows: Some(rows), ..self }, sample);
        while reader.next_record(&mut fields).is_some() {
            // Where the sample ends within quotes, the lines that follow are no records.
            if fields.is_open {
                break;
            }
            rows.is_loose |= fields.is_loose;
            rows.is_quoting |= fields.is_quoting && fields.fit(n_columns);
        }
        Some(rows)
    }

    /// How well the dialect fits, to be compared; `None` for a sample without a record.
    fn score(self, sample: &[u8], is_whole: bool, options: &CorpusOptions) -> Option<Score> {
        let mut reader = RecordReader::new(self, sample);
        let mut fields = Fields::default();
        reader.next_record(&mut fields)?;
        let names = header_names(&fields);
        let mut wanted = options.text_fields.iter().chain(&options.id_field);
        let is_wanted = wanted.all(|field| find_field(&names, field).is_some());
        let (mut fitting, mut total) = (0, 0);
        for _ in 0..SAMPLE_RECORDS {
            let Some(record) = reader.next_record(&mut fields) else { break };
            if record.end == sample.len() && !is_whole {
                break; // cut off
            }
            let n_bytes = (record.end - record.start) as u64;
            total += n_bytes;
            fitting += if fields.fit(names.len()) { n_bytes } else { 0 };
        }
        let share = (1000 * fitting).checked_div(total).unwrap_or(1000);
        let is_table = is_wanted || names.len() > 1;
        Some(Score { is_wanted, is_table, share, n_fields: if is_wanted { 0 } else { names.len() } })
    }
}

/// How well a dialect fits a sample. The order of the fields is the order of comparison.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Score {
    /// Whether the header has all the wanted fields.
    is_wanted: bool,
    /// Whether there is more than one field, or the wanted one.
    is_table: bool,
    /// The share of bytes in records with as many fields as the header, in thousandths.
    share: u64,
    /// The number of fields, unless the header has all the wanted ones.
    n_fields: usize,
}

/// The length of the blank lines at the beginning: those of carriage returns alone. A carriage
/// return before anything else is text.
pub(super) fn blank_bytes(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        let line = &bytes[length..];
        let n_returns = line.iter().take_while(|&&byte| byte == b'\r').count();
        match line.get(n_returns) {
            Some(b'\n') => length += n_returns + 1,
            Some(_) => return length,
            None => return bytes.len(),
        }
    }
}

/// The delimiter that a first line such as `sep=;` names, and the length of this line.
pub(super) fn separator_line(text: &[u8]) -> Option<(u8, usize)> {
    let length = memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
    let mut line = text[..length].trim_ascii_end();
    // The delimiter may itself be blank.
    if line.eq_ignore_ascii_case(b"sep=") && text.get(4) == Some(&b'\t') {
        line = &text[..5];
    }
    match line {
        [name @ .., b'=', delimiter]
            if name.eq_ignore_ascii_case(b"sep")
                && (*delimiter == b'\t' || delimiter.is_ascii_punctuation())
                && !QUOTES.contains(delimiter) =>
        {
            Some((*delimiter, length))
        }
        _ => None,
    }
}

/// Whether single quotes enclose fields: at least as many end a field as begin one. In other tables
/// they are apostrophes.
fn has_apostrophes(sample: &[u8], delimiter: u8) -> bool {
    let (mut n_opening, mut n_closing) = (0, 0);
    for at in memchr::memchr_iter(b'\'', sample) {
        let is_edge = |byte: u8| [delimiter, b'\n', b'\r'].contains(&byte);
        n_opening += usize::from(at == 0 || is_edge(sample[at - 1]));
        n_closing += usize::from(sample.get(at + 1).is_none_or(|&byte| is_edge(byte)));
    }
    n_opening > 0 && n_closing >= n_opening
}

/// The names in a header.
pub(super) fn header_names(fields: &Fields<'_>) -> Vec<String> {
    (0..fields.len()).map(|column| String::from_utf8_lossy(fields.get(column)).trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::records::Quote;
    use super::*;

    fn found(sample: &str, options: &CorpusOptions) -> (char, char) {
        let Dialect { delimiter, quote, .. } =
            Dialect::of_sample(CorpusFormat::Csv, sample.as_bytes(), true, options);
        (delimiter.into(), quote.map_or('-', char::from))
    }

    #[test]
    fn the_dialect_is_found_from_the_first_records() {
        for (sample, expected) in [
            ("", (',', '"')),
            ("text", (',', '"')),
            ("id,text\n1,a; b; c\n2,d; e; f\n", (',', '"')),
            ("id;text\n1;a, b\n2;c, d\n", (';', '"')),
            ("id\ttext\n1\ta, b; c\n", ('\t', '"')),
            ("id|text\n1|a, b; c\n", ('|', '"')),
            ("\"id\";\"text\"\n\"1\";\"a; b\"\n", (';', '"')),
            ("'id','text'\n'1','a, b'\n", (',', '\'')),
            ("id,text\n1,'a, b'\n2,'c, d'\n", (',', '\'')),
            ("id,text\n1,'tis, but, more\n2,'twas\n", (',', '"')),
            // One column of text: the delimiter that occurs least.
            ("text\ncats, dogs\nand; more\n", ('\t', '"')),
            ("text\ncats\ndogs\n", (',', '"')),
            // The wanted field is in none: the names in the message are those of a table.
            ("nr;body\n1;a, b\n2;c, d, e\n", (';', '"')),
            ("sep=;\nid;text\n", (';', '"')),
            ("SEP=\t\r\nid,text\n", ('\t', '"')),
        ] {
            assert_eq!(found(sample, &CorpusOptions::default()), expected, "{sample:?}");
        }
        let options = CorpusOptions::default().text_fields(["Beschreibung"]).delimiter('#');
        assert_eq!(found("id#Beschreibung\n", &options), ('#', '"'));
        // A quote that is named counts, whatever the records say.
        for (quote, expected) in [(Quote::Double, '"'), (Quote::Single, '\''), (Quote::None, '-')] {
            let options = CorpusOptions::default().quote(quote);
            assert_eq!(found("'id';'text'\n'1';'a; b'\n", &options), (';', expected));
        }
    }

    #[test]
    fn the_first_records_tell_what_a_row_looks_like() {
        let rows = |sample: &str, options: &CorpusOptions| {
            Dialect::of_sample(CorpusFormat::Csv, sample.as_bytes(), true, options).rows
        };
        let options = CorpusOptions::default();
        assert_eq!(rows("text\na\n", &options), None);
        let of = |is_loose, is_quoting| Some(Rows { n_columns: 2, is_loose, is_quoting });
        assert_eq!(rows("id,text\n1,\"a\"\n", &options), of(false, false));
        for quoted in ["\"a \"\"b\"\"\"", "\"a, b\"", "\"a\nb\""] {
            assert_eq!(rows(&format!("id,text\n1,{quoted}\n"), &options), of(false, true));
        }
        assert_eq!(rows("id,text\n1,5\" screen\n", &options), of(true, false));
        assert_eq!(rows("id,text\n1,\"a\" b\n", &options), of(true, false));
        // Rows between stray quotes.
        assert_eq!(rows("id,text\n1,\"a\n2,b\"\n", &options), of(true, false));
        // A quoted field that the sample cuts off.
        let cut = b"id,text\n1,\"a\nb \"\"c\"\" d\n";
        let found = Dialect::of_sample(CorpusFormat::Csv, cut, false, &options);
        assert_eq!(found.rows, of(false, false));
        assert_eq!(rows("id,text\n1,a\n", &options.quote(Quote::Double)), None);
    }

    #[test]
    fn a_record_that_the_sample_cuts_off_does_not_count() {
        let sample = b"id;text\n1;a\n2;b, c\n3";
        let whole = Dialect::of_sample(CorpusFormat::Csv, sample, false, &CorpusOptions::default());
        assert_eq!(whole.delimiter, b';');
    }
}
