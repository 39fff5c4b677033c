//! Against the crate `csv`, and against the rules in any steps.

use proptest::prelude::*;

use super::*;

const COMMA: Dialect = Dialect::quoted(b',', b'"');

fn with_rows(delimiter: u8, is_loose: bool) -> Dialect {
    Dialect {
        rows: Some(Rows { n_columns: 2, is_loose, is_quoting: false }),
        ..Dialect::quoted(delimiter, b'"')
    }
}

fn records(dialect: Dialect, bytes: &[u8]) -> Vec<Vec<String>> {
    let mut reader = RecordReader::new(dialect, bytes);
    let (mut fields, mut found) = (Fields::default(), Vec::new());
    while reader.next_record(&mut fields).is_some() {
        let field = |column| String::from_utf8_lossy(fields.get(column)).into_owned();
        found.push((0..fields.len()).map(field).collect());
    }
    found
}

/// The ends of all records, and whether a quote is open in the end.
fn ends(dialect: Dialect, bytes: &[u8], step: usize) -> (Vec<usize>, u64, bool) {
    let mut scanner = TableEnds::new(dialect);
    let (mut found, mut forgotten) = (Vec::new(), 0);
    let mut length = 0;
    loop {
        let is_last = length == bytes.len();
        while let Some(end) = scanner.scan(&bytes[forgotten..length], true, is_last) {
            found.push(forgotten + end);
            scanner.forget(end);
            forgotten += end;
        }
        if is_last {
            return (found, scanner.n_records(), scanner.open_at().is_some());
        }
        length = (length + step).min(bytes.len());
    }
}

#[test]
fn rows_are_not_swallowed_by_stray_quotes() {
    let tab = with_rows(b'\t', false);
    for (text, expected) in [
        // The closing quote is followed by text.
        ("1\t\"Hi\" she said\n2\tb\n", "1|\"Hi\" she said;2|b"),
        ("1\t\"stray\n2\tb\n3\t\"c\" d\n", "1|\"stray;2|b;3|\"c\" d"),
        ("1\t\"stray\n2\tb\n3\tsays \"no\"\n", "1|\"stray;2|b;3|says \"no\""),
        ("1\t\"stray\n2\tb\n3\t\"no\"\n", "1|\"stray;2|b;3|no"),
        // Rows are enclosed.
        ("1\t\"stray\n2\tb\n3\t5\"\n4\td\n", "1|\"stray;2|b;3|5\";4|d"),
        ("1\t\"stray\r\n2\tb\r\n3\t5\"\r\n", "1|\"stray;2|b;3|5\""),
        ("1\t\"stray\n2\tb\n3\tc\n", "1|\"stray;2|b;3|c"),
        ("\"a\t1\nb\t2\nc\"\t3\n", "\"a|1;b|2;c\"|3"),
        ("a\tx\"\n\"b\tx\nc\t\"d\n", "a|x\";\"b|x;c|\"d"),
        // Text, not rows.
        ("1\t\"two\nlines\"\n2\tb\n", "1|two\nlines;2|b"),
        ("1\t\"with\ta\ttab\"\n2\tb\n", "1|with\ta\ttab;2|b"),
        ("1\t\"a \"\"b\"\"\"\n", "1|a \"b\""),
    ] {
        let found: Vec<String> =
            records(tab, text.as_bytes()).iter().map(|record| record.join("|")).collect();
        assert_eq!(found.join(";"), expected, "{text:?}");
    }
}

#[test]
fn lines_of_prose_are_rows_only_if_more_speaks_for_it() {
    let n_records = |dialect, text: &str| records(dialect, text.as_bytes()).len();
    let prose = "a,\"Hello\nplease help, thanks\"\nb,x\n";
    assert_eq!(n_records(with_rows(b',', false), prose), 2);
    assert_eq!(n_records(with_rows(b',', true), prose), 3);
    assert_eq!(n_records(COMMA, prose), 2);
    let numbered = "1,\"stray\n2,b\n2024-05-06T07:08:09Z,5\"\n4,d\n";
    assert_eq!(n_records(with_rows(b',', false), numbered), 4);
    assert_eq!(n_records(COMMA, numbered), 2);
    // A program that quotes fields, and leaves no quote loose.
    let trusted = |is_loose| Rows { n_columns: 2, is_loose, is_quoting: true };
    assert_eq!(n_records(Dialect { rows: Some(trusted(false)), ..COMMA }, numbered), 2);
    assert_eq!(n_records(Dialect { rows: Some(trusted(true)), ..COMMA }, numbered), 4);
    let list = |n: usize| format!("a,\"places\n{}Oslo, Norway\"\nb,x\n", "Paris, France\n".repeat(n));
    assert_eq!(n_records(with_rows(b',', false), &list(CERTAIN_ROWS - 3)), 2);
    assert_eq!(n_records(with_rows(b',', false), &list(CERTAIN_ROWS - 2)), CERTAIN_ROWS + 1);
}

#[test]
fn a_stray_quote_is_known_long_before_the_end_of_a_large_table() {
    let table = format!("1\t\"stray\n{}", "2\trow\n".repeat(ROW_LINES));
    let mut scanner = TableEnds::new(with_rows(b'\t', false));
    assert_eq!(scanner.scan(table.as_bytes(), false, false), Some(table.len()));
    let table = format!("1\t\"text\n{}", "line\n".repeat(ROW_LINES));
    let mut scanner = TableEnds::new(with_rows(b'\t', false));
    assert_eq!(scanner.scan(table.as_bytes(), false, true), None);
    assert_eq!(scanner.open_at(), Some(2));
}

#[test]
fn many_quotes_take_linear_time() {
    for piece in ["\"a,", "\"\"", "\"\"\"b,", "\"b\"\"\n", "\"\n", "x,\"y \n", "\"a\" b,"] {
        let table = piece.repeat(400_000 / piece.len());
        for dialect in [COMMA, with_rows(b',', true)] {
            ends(dialect, table.as_bytes(), 1 << 16);
            records(dialect, table.as_bytes());
        }
    }
}

proptest! {
    /// What the crate writes is what its fields were.
    #[test]
    fn tables_of_other_programs_are_read_as_they_were_written(
        table in prop::collection::vec(prop::collection::vec("[ab\"',;\t\r\n ]{0,6}", 1..5), 0..8),
        quotes_all in any::<bool>(),
        returns in any::<bool>(),
        delimiter in prop::sample::select(vec![b',', b';', b'\t']),
    ) {
        let style = if quotes_all { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
        let end = if returns { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new()
            .flexible(true).quote_style(style).terminator(end).delimiter(delimiter).from_writer(Vec::new());
        for record in &table {
            writer.write_record(record).unwrap();
        }
        let written = writer.into_inner().unwrap();
        let dialect = Dialect::quoted(delimiter, b'"');
        let found = records(dialect, &written);
        prop_assert_eq!(found, table);
        prop_assert!(!ends(dialect, &written, 3).2);
    }

    /// Records are cut where they are read, however the bytes arrive.
    #[test]
    fn records_end_in_the_same_places_in_any_steps(
        text in "([ab1]|\"|\"|,|\n|\r|\r\n| |1,a\n|2,\"b\n){0,24}",
        step in 1usize..9,
        dialect in prop::sample::select(vec![
            COMMA, with_rows(b',', false), with_rows(b',', true), Dialect { quote: None, ..COMMA },
        ]),
    ) {
        let bytes = text.as_bytes();
        let whole = ends(dialect, bytes, bytes.len().max(1));
        prop_assert_eq!(&ends(dialect, bytes, step), &whole);
        let (found, n_records, is_open) = whole;
        // Up to an open quote, records are read as they are cut, in chunks of any size.
        let cut = found.last().copied().unwrap_or(0);
        let read = |bytes: &[u8]| records(dialect, bytes);
        let all = read(&bytes[..cut]);
        prop_assert_eq!(all.len() as u64, n_records);
        let mut start = 0;
        let mut one_by_one = Vec::new();
        for end in found {
            one_by_one.extend(read(&bytes[start..end]));
            start = end;
        }
        prop_assert_eq!(one_by_one, all);
        let _ = is_open;
    }
}
