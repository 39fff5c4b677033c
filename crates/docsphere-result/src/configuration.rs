//! `run.toml`: the options of a run, from which it can be repeated.
//!
//! A key is the name of an option, such as `min-df`. Keys stand in tables or before all tables. A
//! value is a text, a number, true or false, or a list of texts and numbers. What options there
//! are, and which tables, is up to the reader: this file only keeps them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use docsphere::MemoryLimit;
use toml_edit::{Document, Item, Table, Value};

use crate::error::{Error, Result};
use crate::files::Reading;
use crate::names;

/// A file with more bytes is no configuration.
const MAX_BYTES: u64 = 1_000_000;

/// Memory of a parsed file per byte of its source: each value is an object with its decoration.
const COPIES: u64 = 40;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The options, in the order of the file. Those of a table follow each other when it is
    /// written.
    pub options: Vec<ConfiguredOption>,
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredOption {
    /// The table; `None` for a key before all tables.
    pub table: Option<String>,
    /// The name of the option.
    pub key: String,
    /// Its value.
    pub value: ConfiguredValue,
    /// The line of the key, from 1; 0 if it was not read from a file.
    pub line: usize,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfiguredValue {
    /// True or false.
    Flag(bool),
    /// A text or a number, as on a command line.
    One(String),
    /// A list of texts and numbers.
    Many(Vec<String>),
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is missing, is not TOML, has a value of another kind, or needs more memory than
    /// `limit` allows. Most have the line.
    pub fn read(path: &Path, limit: &MemoryLimit) -> Result<Self> {
        let mut text = String::new();
        let n_bytes = fs::metadata(path).map_err(|error| Error::reading(error, path))?.len();
        if n_bytes > MAX_BYTES {
            return Err(Error::malformed("is too large for a configuration").at_path(path));
        }
        let reading = Reading { what: "a configuration", kept: COPIES, limit };
        reading.for_each_line(path, MAX_BYTES as usize, |line| {
            text.push_str(line);
            text.push('\n');
            Ok(())
        })?;
        Self::of_text(&text).map_err(|error| error.at_path(path))
    }

    /// Reads the configuration of a result; `None` if it has none.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_result(folder: &Path, limit: &MemoryLimit) -> Result<Option<Self>> {
        let path = folder.join(names::CONFIGURATION);
        if path.is_file() { Self::read(&path, limit).map(Some) } else { Ok(None) }
    }

    fn of_text(text: &str) -> Result<Self> {
        let document = Document::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let problem = error.message().trim_end().replace('\n', "; ");
            Error::malformed(format!("is not valid TOML: {problem}")).at_line(line as u64)
        })?;
        let mut options = Vec::new();
        add_table(text, None, document.as_table(), &mut options)?;
        options.sort_by_key(|option| option.line);
        Ok(Configuration { options })
    }

    /// The option of this name, if it is there.
    pub fn get(&self, key: &str) -> Option<&ConfiguredOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// The content of a file with these options. Each line of `note` becomes a comment at its
    /// beginning.
    pub fn to_text(&self, note: &str) -> String {
        let mut text = String::new();
        for line in note.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let mut tables: Vec<&Option<String>> = Vec::new();
        for option in &self.options {
            if !tables.contains(&&option.table) {
                tables.push(&option.table);
            }
        }
        // Keys before all tables come first.
        tables.sort_by_key(|table| table.is_some());
        for table in tables {
            if let Some(name) = table {
                let _ = write!(text, "\n[{}]\n", key_text(name));
            }
            for option in self.options.iter().filter(|option| option.table == *table) {
                let _ = writeln!(text, "{} = {}", key_text(&option.key), option.value);
            }
        }
        text
    }

    /// Writes the file of a result. It is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path, note: &str) -> Result<()> {
        let path: PathBuf = folder.join(names::CONFIGURATION);
        fs::write(&path, self.to_text(note)).map_err(|error| Error::writing(error, &path))
    }
}

impl ConfiguredValue {
    /// All values of the option.
    pub fn values(&self) -> &[String] {
        match self {
            ConfiguredValue::Flag(_) => &[],
            ConfiguredValue::One(value) => std::slice::from_ref(value),
            ConfiguredValue::Many(values) => values,
        }
    }
}

/// As TOML.
impl std::fmt::Display for ConfiguredValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfiguredValue::Flag(flag) => write!(f, "{flag}"),
            ConfiguredValue::One(value) => f.write_str(&value_text(value)),
            ConfiguredValue::Many(values) => {
                let values: Vec<String> = values.iter().map(|value| value_text(value)).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Adds the options of a table, and of the tables in the outermost one.
fn add_table(
    text: &str,
    name: Option<&str>,
    table: &Table,
    options: &mut Vec<ConfiguredOption>,
) -> Result<()> {
    for (key, item) in table.iter() {
        let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
        let line = span.map_or(1, |span| line_of(text, span.start));
        let wrong = |problem: String| Err(Error::malformed(problem).at_line(line as u64));
        let value = match item {
            Item::Table(inner) if name.is_none() => {
                add_table(text, Some(key), inner, options)?;
                continue;
            }
            Item::Value(value) => value_of(value),
            _ => None,
        };
        let Some(value) = value else {
            return wrong(format!(
                "{key}: must be a text in quotes, a number, true or false, or a list of texts and numbers"
            ));
        };
        if let Some(other) = options.iter().find(|option| option.key == key) {
            return wrong(format!("{key}: is there twice, also in line {}", other.line));
        }
        options.push(ConfiguredOption { table: name.map(str::to_owned), key: key.to_owned(), value, line });
    }
    Ok(())
}

fn value_of(value: &Value) -> Option<ConfiguredValue> {
    match value {
        Value::Boolean(flag) => Some(ConfiguredValue::Flag(*flag.value())),
        Value::Array(values) => {
            let texts: Option<Vec<String>> = values.iter().map(scalar).collect();
            texts.map(ConfiguredValue::Many)
        }
        value => scalar(value).map(ConfiguredValue::One),
    }
}

/// A text or a number as on a command line. A number with a point keeps it: 1.0 may mean something
/// else than 1.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(format!("{:?}", number.value())),
        _ => None,
    }
}

/// A value as TOML: a number without quotes if it comes back to the same text.
fn value_text(value: &str) -> String {
    let is_integer = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    let is_float = value
        .parse::<f64>()
        .is_ok_and(|number| number.is_finite() && value.contains('.') && format!("{number:?}") == value);
    if is_integer || is_float { value.to_owned() } else { quoted(value) }
}

fn key_text(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { quoted(key) }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(table: Option<&str>, key: &str, value: ConfiguredValue) -> ConfiguredOption {
        ConfiguredOption { table: table.map(str::to_owned), key: key.to_owned(), value, line: 0 }
    }

    #[test]
    fn what_is_written_is_read_again() {
        use ConfiguredValue::{Flag, Many, One};
        let one = |text: &str| One(text.to_owned());
        let texts = [
            "",
            "1",
            "1.0",
            "0.5",
            "1e-7",
            "-3",
            "007",
            "18446744073709551615",
            "inf",
            "nan",
            "true",
            "a\"b\\c",
            "two\nlines\ttab\u{0}\u{7f}\r",
            "ä ' # [x]",
            "2024-01-01",
        ];
        let mut options = vec![option(None, "n-clusters", one("20"))];
        options.push(option(Some("text"), "keep-urls", Flag(true)));
        options.push(option(Some("text"), "a key", Flag(false)));
        options.push(option(Some("input"), "inputs", Many(texts.map(str::to_owned).to_vec())));
        options.extend(
            texts.iter().enumerate().map(|(n, text)| option(Some("text"), &format!("t{n}"), one(text))),
        );
        let written = Configuration { options }.to_text("A note.\nAnother.");
        assert!(written.starts_with("# A note.\n# Another.\nn-clusters = 20\n\n[text]\nkeep-urls = true\n"));
        let read = Configuration::of_text(&written).unwrap();
        assert_eq!(read.to_text("A note.\nAnother."), written);
        assert_eq!(read.get("inputs").unwrap().value.values(), texts);
        assert_eq!(read.get("t3").unwrap().value, one("0.5"));
        let lines: Vec<_> = read.options.iter().take(3).map(|option| option.line).collect();
        assert_eq!(lines, [3, 6, 7]);
    }

    #[test]
    fn dotted_keys_and_tables_are_the_same() {
        let of = |text: &str| {
            let options = Configuration::of_text(text).unwrap().options;
            options.into_iter().map(|o| (o.table, o.key, o.line)).collect::<Vec<_>>()
        };
        let table = |name: &str| Some(name.to_owned());
        assert_eq!(of("text.ngrams = 2"), [(table("text"), "ngrams".to_owned(), 1)]);
        assert_eq!(of("\n[text]\n\nngrams = '1..2'"), [(table("text"), "ngrams".to_owned(), 4)]);
    }

    #[test]
    fn what_is_no_option_is_refused_with_its_line() {
        let kinds = "must be a text in quotes, a number, true or false, or a list of texts and numbers";
        for (text, line, message) in [
            ("a = 1\nb = 1979-05-27", 2, format!("b: {kinds}")),
            ("a = [[1]]", 1, format!("a: {kinds}")),
            ("[a.b]\nc = 1", 1, format!("b: {kinds}")),
            ("a = {b = {c = 1}}", 1, format!("a: {kinds}")),
            ("[[a]]\nb = 1", 1, format!("a: {kinds}")),
            ("a = 1\n[t]\na = 2", 3, "a: is there twice, also in line 1".to_owned()),
        ] {
            let error = Configuration::of_text(text).unwrap_err();
            assert_eq!((error.line(), error.kind().to_string()), (Some(line), message), "{text}");
        }
        for (text, line) in [("a = ", 1), ("a = 1\na = 2", 2), ("x\n", 1), ("a = \"b\nc = 1", 1)] {
            let error = Configuration::of_text(text).unwrap_err();
            assert_eq!(error.line(), Some(line), "{error}");
            assert!(error.kind().to_string().starts_with("is not valid TOML: "), "{error}");
        }
    }
}
