//! Kept columns: the fields of a record beside its id and its text, as they are written there.
//!
//! Readers pass on raw values only. What they mean is decided over a whole column, later
//! (`columns/`).
//!
//! | format | columns |
//! |---|---|
//! | CSV, TSV, spreadsheets, Parquet | those of the header, without the fields of text and id |
//! | JSON | the fields of an object, those of objects in it by their path (`doc.title`) |
//! | mail | `date`, `from`, `to`, `subject` |
//! | folders | `path`; for mail also the fields of mail; for web pages and office documents `title` |
//! | lines | none |

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::field_names::{field_list, find_field};
use super::format::CorpusFormat;
use crate::error::{Error, ErrorKind, Result};

/// The greatest number of kept columns.
pub const MAX_COLUMNS: usize = 256;

/// Which columns are kept beside id and text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Keep {
    /// None.
    #[default]
    Nothing,
    /// All but those that hold the text and the id.
    All,
    /// Those of these names, without regard to letter case where that is unambiguous.
    Named(Vec<String>),
    /// Those of these names, as far as the documents have them: for documents that join others.
    Present(Vec<String>),
}

impl Keep {
    /// Whether no column is kept.
    pub fn is_nothing(&self) -> bool {
        *self == Keep::Nothing
    }

    /// The names, if they are given.
    pub fn names(&self) -> &[String] {
        match self {
            Keep::Named(names) | Keep::Present(names) => names,
            Keep::Nothing | Keep::All => &[],
        }
    }

    /// Checks the names.
    pub(super) fn check(&self) -> Result<()> {
        let (Keep::Named(names) | Keep::Present(names)) = self else { return Ok(()) };
        let n_names = names.len();
        let expected = format!("from 1 to {MAX_COLUMNS} names");
        Error::unless((1..=MAX_COLUMNS).contains(&n_names), "keep", &expected, n_names)?;
        for (position, name) in names.iter().enumerate() {
            Error::unless(!name.is_empty(), "keep", "names of columns", "an empty one")?;
            let expected = "names that differ";
            Error::unless(!names[..position].contains(name), "keep", expected, format!("\"{name}\" twice"))?;
        }
        Ok(())
    }

    /// Checks that a format has columns, and those that are named if it always has the same.
    pub(super) fn check_format(&self, format: CorpusFormat) -> Result<()> {
        let known: &[&str] = match format {
            _ if self.is_nothing() || matches!(self, Keep::Present(_)) => return Ok(()),
            CorpusFormat::Lines => {
                let hint = "keep needs records with fields, such as CSV or JSON".to_owned();
                return Err(
                    ErrorKind::Unsupported { what: "keeping columns of plain lines".into(), hint }.into()
                );
            }
            CorpusFormat::Mbox => &MAIL_COLUMNS,
            CorpusFormat::Folder => &FOLDER_COLUMNS,
            _ => return Ok(()),
        };
        match self.names().iter().find(|name| find_field(known, name).is_none()) {
            Some(name) => Err(missing(name, &field_list(known))),
            None => Ok(()),
        }
    }

    /// The kept ones among the columns of a table, with their names.
    /// `taken` are the columns of text and id.
    pub(super) fn of_table<S: AsRef<str>>(
        &self,
        names: &[S],
        taken: &[usize],
    ) -> Result<Vec<(String, usize)>> {
        match self {
            Keep::Nothing => Ok(Vec::new()),
            Keep::Named(wanted) => {
                let find = |name: &String| {
                    let column = find_field(names, name);
                    Ok((name.clone(), column.ok_or_else(|| missing(name, &field_list(names)))?))
                };
                wanted.iter().map(find).collect()
            }
            Keep::Present(wanted) => {
                let find = |name: &String| find_field(names, name).map(|column| (name.clone(), column));
                Ok(wanted.iter().filter_map(find).collect())
            }
            Keep::All => {
                let mut kept: Vec<(String, usize)> = Vec::new();
                for (column, name) in names.iter().enumerate().filter(|(column, _)| !taken.contains(column)) {
                    let name = match name.as_ref() {
                        "" => format!("column {}", column + 1),
                        name => name.to_owned(),
                    };
                    let is_taken = |name: &str| kept.iter().any(|(other, _)| other == name);
                    let numbered = (2..).map(|number| format!("{name} ({number})"));
                    let name = [name.clone()].into_iter().chain(numbered).find(|name| !is_taken(name));
                    kept.push((name.expect("numbers do not end"), column));
                }
                check_number(kept.len())?;
                Ok(kept)
            }
        }
    }

    /// The name under which a column that always exists is kept, if it is.
    pub(super) fn of_known<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        match self {
            Keep::Nothing => None,
            Keep::All => Some(name),
            Keep::Named(names) | Keep::Present(names) => find_field(names, name).map(|at| &names[at][..]),
        }
    }
}

/// Refuses more columns than can be kept.
pub(crate) fn check_number(n_columns: usize) -> Result<()> {
    let limit = MAX_COLUMNS as u64;
    if n_columns > MAX_COLUMNS {
        let what = "the number of kept columns (name fewer in keep)";
        return Err(ErrorKind::TooLarge { what, limit, got: n_columns as u64 }.into());
    }
    Ok(())
}

/// The error for a named column that does not exist.
pub(crate) fn missing(name: &str, found: &str) -> Error {
    ErrorKind::MissingField { field: name.to_owned(), option: "keep", found: found.to_owned() }.into()
}

/// The columns of mail.
pub(super) const MAIL_COLUMNS: [&str; 4] = ["date", "from", "to", "subject"];

/// The columns of the files of a folder.
pub(super) const FOLDER_COLUMNS: [&str; 6] = ["path", "title", "date", "from", "to", "subject"];

/// The kept values of a document, as written in its record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept<'a> {
    /// Name and value of each column that has one.
    values: &'a [(&'a str, &'a str)],
    /// The line, row, record or message of the input, from 1; 0 for a file of its own.
    number: u64,
    /// The name of the input, and what it is made of.
    input: &'a str,
    unit: Unit,
    /// The fields that there are, for a message; empty if they are not known.
    known: &'a str,
}

/// What an input is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Unit {
    Lines,
    Rows,
    Records,
    Messages,
    #[default]
    Files,
}

impl<'a> Kept<'a> {
    pub(super) fn new(values: &'a [(&'a str, &'a str)], number: u64) -> Self {
        Kept { values, number, ..Kept::default() }
    }

    /// The same with the name and the format of the input.
    pub(super) fn of_input(mut self, input: &'a str, format: CorpusFormat) -> Self {
        self.input = input;
        self.unit = match format {
            CorpusFormat::Parquet => Unit::Rows,
            CorpusFormat::Sheet => Unit::Records,
            CorpusFormat::Mbox => Unit::Messages,
            CorpusFormat::Folder => Unit::Files,
            _ => Unit::Lines,
        };
        self
    }

    pub(super) fn with_known(mut self, known: &'a str) -> Self {
        self.known = known;
        self
    }

    /// Name and value of each column that has one; without empty values.
    pub fn values(self) -> &'a [(&'a str, &'a str)] {
        self.values
    }

    /// Where the document is, for a message: `notes.csv:17`, `notes.parquet, row 3`; in a folder,
    /// its id.
    pub fn place(self, id: &str) -> String {
        let Kept { number, input, unit, .. } = self;
        match unit {
            Unit::Lines => format!("{input}:{number}"),
            Unit::Rows => format!("{input}, row {number}"),
            Unit::Records => format!("{input}, record {number}"),
            Unit::Messages => format!("{input}, message {number}"),
            Unit::Files => id.to_owned(),
        }
    }

    /// The fields that there are, for a message; empty if they are not known.
    pub(crate) fn known(self) -> &'a str {
        self.known
    }
}

/// Collects the values of documents whose columns always exist.
#[derive(Debug, Default)]
pub(super) struct KnownValues(Vec<(&'static str, String)>);

impl KnownValues {
    pub(super) fn push(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.push((name, value.into()));
    }

    /// The values that are kept.
    pub(super) fn kept<'a>(&'a self, keep: &'a Keep) -> Vec<(&'a str, &'a str)> {
        let value = |(name, value): &'a (&'static str, String)| {
            let value = value.trim();
            keep.of_known(name).filter(|_| !value.is_empty()).map(|name| (name, value))
        };
        self.0.iter().filter_map(value).collect()
    }
}

/// Kept values as one text, and back: for each value the number of its column, its length in
/// bytes and the value, `3:5:cats!`. A text can be stored beside others.
pub(crate) fn encode(values: impl Iterator<Item = (u32, impl AsRef<str>)>, text: &mut String) {
    for (column, value) in values {
        let value = value.as_ref();
        write!(text, "{column}:{}:{value}", value.len()).expect("writing to memory");
    }
}

/// The next value of an encoded text; `None` at its end, or if it is damaged.
pub(crate) fn decode<'a>(text: &mut &'a str) -> Option<(u32, &'a str)> {
    let (column, rest) = text.split_once(':')?;
    let (length, rest) = rest.split_once(':')?;
    let (value, rest) = rest.split_at_checked(length.parse().ok()?)?;
    *text = rest;
    Some((column.parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_as_text() {
        let values = [(0, "a:b"), (7, ""), (12, "3:4:äö\n"), (1, "x")];
        let mut text = String::new();
        encode(values.iter().copied(), &mut text);
        let mut rest = &text[..];
        let found: Vec<_> = std::iter::from_fn(|| decode(&mut rest)).collect();
        assert_eq!(found, values);
        for cut in ["", "1", "1:", "1:5:abc", "x:1:a", "1:2:ä€", "1:1:ä"] {
            let mut rest = cut;
            while decode(&mut rest).is_some() {}
        }
    }

    #[test]
    fn columns_of_a_table_are_found_by_name() {
        let names = ["id", "Date", "text", "", "Date", "url"];
        let all = Keep::All.of_table(&names, &[0, 2]).unwrap();
        let present = Keep::Present(vec!["nowhere".to_owned(), names[5].to_string()]);
        assert_eq!(present.of_table(&names, &[0, 2]).unwrap(), [("url".to_owned(), 5)]);
        let all: Vec<(&str, usize)> = all.iter().map(|(name, at)| (&name[..], *at)).collect();
        assert_eq!(all, [("Date", 1), ("column 4", 3), ("Date (2)", 4), ("url", 5)]);
        let named = |name: &str| Keep::Named(vec![name.to_owned()]).of_table(&names, &[0, 2]);
        assert_eq!(named("URL").unwrap(), [("URL".to_owned(), 5)]);
        assert_eq!(named("text").unwrap(), [("text".to_owned(), 2)]);
        assert_eq!(
            named("author").unwrap_err().to_string(),
            "there is no field \"author\"; the fields are id, Date, text, , Date, url; keep names the field to take"
        );
    }

    #[test]
    fn names_are_checked() {
        let message = |names: &[&str]| {
            Keep::Named(names.iter().map(|&name| name.to_owned()).collect()).check().unwrap_err().to_string()
        };
        assert_eq!(message(&[]), "keep must be from 1 to 256 names, got 0");
        assert_eq!(message(&["a", ""]), "keep must be names of columns, got an empty one");
        assert_eq!(message(&["a", "b", "a"]), "keep must be names that differ, got \"a\" twice");
    }
}
