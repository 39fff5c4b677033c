//! The kept columns of a JSON object.
//!
//! A text is itself, a number its digits as they are written, `true` and `false` are these words,
//! and null is nothing. A list of such values is joined with `; `; an object or a list of others is
//! its JSON, without blanks. Asked for all columns, fields of objects within are columns by their
//! paths (`doc.title`).
//!
//! Values are cut out of the record as they are written, and only those of columns are read: a
//! value that cannot be read costs no other one. Half a character in a text (`\ud83d` without its
//! other half) is replaced.

use std::borrow::Cow;
use std::cell::Cell;

use foldhash::{HashMap, HashMapExt};

use super::field_names::{MAX_SHOWN, find_field};
use super::json_layout::{Values, without_lone_surrogates};
use super::kept::{BETWEEN_FIELDS, Keep};
use super::options::CorpusOptions;

/// What joins the values of a list.
const BETWEEN: &str = "; ";

/// Objects and lists within others are followed so far; those within are kept as JSON.
const MAX_DEPTH: usize = 64;

/// The columns to keep.
pub(super) struct WantedColumns<'a> {
    keep: &'a Keep,
    /// The fields of text and id, which are not columns unless they are named.
    taken: Vec<&'a str>,
    /// Whether half a character was replaced in the last record.
    is_mended: Cell<bool>,
}

/// The columns of a record.
#[derive(Default)]
pub(super) struct Columns<'a> {
    /// Name and value, without empty values.
    pub(super) values: Vec<(Cow<'a, str>, String)>,
    /// The fields of the record, for a message, joined by [`BETWEEN_FIELDS`].
    pub(super) known: String,
    /// Whether half a character was replaced in a name or a value.
    pub(super) is_mended: bool,
}

/// A field of an object: its name, and its value as it is written.
type Field<'r> = (Cow<'r, str>, &'r str);

impl<'a> WantedColumns<'a> {
    pub(super) fn new(options: &'a CorpusOptions) -> Self {
        let id = options.id_field.as_deref().unwrap_or("id");
        let taken = options.text_fields.iter().map(String::as_str).chain([id]).collect();
        WantedColumns { keep: &options.keep, taken, is_mended: Cell::new(false) }
    }

    /// The columns of a valid record that is an object; those of any other are none.
    pub(super) fn columns_of(&self, record: &str) -> Columns<'a> {
        if self.keep.is_nothing() || !record.starts_with('{') {
            return Columns::default();
        }
        self.is_mended.set(false);
        let fields = self.fields(record);
        let names: Vec<&str> = fields.iter().take(MAX_SHOWN + 1).map(|(name, _)| &name[..]).collect();
        let known = names.join(BETWEEN_FIELDS);
        let mut values: Vec<(Cow<'a, str>, String)> = match self.keep {
            Keep::Named(wanted) | Keep::Present(wanted) => {
                let value =
                    |name: &'a String| Some((Cow::Borrowed(&name[..]), self.at_path(&fields, name, 0)?));
                wanted.iter().filter_map(value).collect()
            }
            _ => self.all(fields),
        };
        values.retain(|(_, value)| !value.trim().is_empty());
        Columns { values, known, is_mended: self.is_mended.get() }
    }

    /// All fields but those of text and id, with the fields of objects within.
    fn all(&self, fields: Vec<Field<'_>>) -> Vec<(Cow<'a, str>, String)> {
        let mut found = Vec::with_capacity(fields.len());
        fields.into_iter().for_each(|(name, value)| self.flatten(name.into_owned(), value, 0, &mut found));
        let names: Vec<&str> = found.iter().map(|(name, _)| &name[..]).collect();
        // As the reader of texts finds them: by the exact name, or else by the only one that
        // differs in letter case.
        let taken: Vec<usize> = self.taken.iter().filter_map(|taken| find_field(&names, taken)).collect();
        let taken: Vec<String> = taken.into_iter().map(|at| names[at].to_owned()).collect();
        found.retain(|(name, _)| !taken.contains(name));
        // A name that contains dots may be that of a path, too.
        let mut n_times: HashMap<String, usize> = HashMap::with_capacity(found.len());
        let mut values = Vec::with_capacity(found.len());
        for (name, value) in found {
            let number = n_times.entry(name.clone()).or_default();
            *number += 1;
            let name = if *number == 1 { name } else { format!("{name} ({number})") };
            values.push((Cow::Owned(name), self.written(value)));
        }
        values
    }

    /// Adds a field, or those of an object.
    fn flatten<'r>(&self, path: String, value: &'r str, depth: usize, found: &mut Vec<(String, &'r str)>) {
        if !value.starts_with('{') || depth == MAX_DEPTH {
            found.push((path, value));
            return;
        }
        for (name, value) in self.fields(value) {
            self.flatten(format!("{path}.{name}"), value, depth + 1, found);
        }
    }

    /// The fields of an object. The last value of a repeated field counts.
    fn fields<'r>(&self, object: &'r str) -> Vec<Field<'r>> {
        let mut fields: Vec<Field<'r>> = Vec::new();
        let mut places: HashMap<&'r str, usize> = HashMap::new();
        let mut rest = inside(object);
        while rest.starts_with('"') {
            let (name, after) = split_value(rest);
            let after = after.trim_ascii_start();
            let (value, after) = split_value(after.strip_prefix(':').unwrap_or(after).trim_ascii_start());
            match places.get(name) {
                Some(&place) => fields[place].1 = value,
                None => {
                    places.insert(name, fields.len());
                    fields.push((self.decoded(name), value));
                }
            }
            rest = next_of(after);
        }
        fields
    }

    /// The value at a path, if there is one.
    fn at_path(&self, fields: &[Field<'_>], path: &str, depth: usize) -> Option<String> {
        let names: Vec<&str> = fields.iter().map(|(name, _)| &name[..]).collect();
        if let Some(at) = find_field(&names, path) {
            return Some(self.written(fields[at].1));
        }
        // A name may contain dots itself.
        path.match_indices('.').find_map(|(dot, _)| {
            let (first, rest) = (&path[..dot], &path[dot + 1..]);
            self.within(fields[find_field(&names, first)?].1, rest, depth + 1)
        })
    }

    /// The value at a path in a value: in an object, or in all objects of a list.
    fn within(&self, value: &str, path: &str, depth: usize) -> Option<String> {
        match value.as_bytes().first() {
            _ if depth > MAX_DEPTH => None,
            Some(b'{') => self.at_path(&self.fields(value), path, depth),
            Some(b'[') => {
                let found: Vec<String> =
                    elements(value).filter_map(|value| self.within(value, path, depth + 1)).collect();
                (!found.is_empty()).then(|| found.join(BETWEEN))
            }
            _ => None,
        }
    }

    /// A value as text.
    fn written(&self, value: &str) -> String {
        match value.as_bytes().first() {
            Some(b'n') => String::new(),
            Some(b'"') => self.decoded(value).into_owned(),
            Some(b'[') if elements(value).all(|value| !value.starts_with(['{', '['])) => {
                let values = elements(value).map(|value| self.written(value));
                values.filter(|text| !text.is_empty()).collect::<Vec<String>>().join(BETWEEN)
            }
            Some(b'[' | b'{') => without_blanks(value),
            _ => value.to_owned(),
        }
    }

    /// A text of JSON without its quotes and escapes.
    fn decoded<'r>(&self, quoted: &'r str) -> Cow<'r, str> {
        let plain = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
        if !plain.contains('\\') {
            return Cow::Borrowed(plain);
        }
        if let Ok(text) = serde_json::from_str(quoted) {
            return Cow::Owned(text);
        }
        let mended = without_lone_surrogates(quoted);
        match mended.and_then(|mended| serde_json::from_str(&mended).ok()) {
            Some(text) => {
                self.is_mended.set(true);
                Cow::Owned(text)
            }
            None => Cow::Borrowed(plain),
        }
    }
}

/// What follows the opening bracket of an object or a list.
fn inside(value: &str) -> &str {
    value.get(1..).unwrap_or_default().trim_ascii_start()
}

/// What follows a value: the next field or element, or the closing bracket.
fn next_of(rest: &str) -> &str {
    let rest = rest.trim_ascii_start();
    rest.strip_prefix(',').map_or(rest, str::trim_ascii_start)
}

/// Cuts off the value with which a valid JSON text begins.
fn split_value(text: &str) -> (&str, &str) {
    let length = match text.as_bytes().first() {
        Some(b'{' | b'[' | b'"') => Values::default().scan(text.as_bytes(), true),
        _ => text.bytes().position(|byte| byte.is_ascii_whitespace() || b",:]}".contains(&byte)),
    };
    text.split_at(length.unwrap_or(text.len()))
}

/// The elements of a list.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = inside(list);
    std::iter::from_fn(move || {
        let (value, after) = split_value(rest);
        rest = next_of(after);
        (!value.is_empty()).then_some(value)
    })
}

/// A valid JSON text without blanks between its parts.
fn without_blanks(value: &str) -> String {
    let mut short = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => Values::default().scan(rest.as_bytes(), true).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        short.push_str(part.trim_ascii());
        rest = after;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"id": 7, "text": "cats", "Date": "2024-03-04", "n": 1.50, "ok": true, "no": null,
        "tags": ["a", "b", 3], "doc": {"title": "T", "Text": "x", "deep": {"a.b": 1}},
        "people": [{"name": "Ann"}, {"name": "Bob", "age": 3}]}"#;

    fn columns(keep: Keep) -> Vec<(String, String)> {
        let options = CorpusOptions::default().keep(keep);
        let found = WantedColumns::new(&options).columns_of(RECORD);
        assert_eq!(found.known.replace(BETWEEN_FIELDS, " "), "id text Date n ok no tags doc people");
        found.values.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn all_fields_but_text_and_id_are_columns() {
        let people = r#"[{"name":"Ann"},{"name":"Bob","age":3}]"#;
        let expected = [
            ("Date", "2024-03-04"),
            ("n", "1.50"),
            ("ok", "true"),
            ("tags", "a; b; 3"),
            ("doc.title", "T"),
            ("doc.Text", "x"),
            ("doc.deep.a.b", "1"),
            ("people", people),
        ];
        assert_eq!(columns(Keep::All), pairs(&expected));
    }

    #[test]
    fn named_fields_are_found_by_path_and_in_other_letter_case() {
        let names = ["date", "doc.TITLE", "people.name", "doc.deep.a.b", "no", "missing", "id", "doc"];
        let keep = Keep::Named(names.map(str::to_owned).to_vec());
        let expected = [
            ("date", "2024-03-04"),
            ("doc.TITLE", "T"),
            ("people.name", "Ann; Bob"),
            ("doc.deep.a.b", "1"),
            ("id", "7"),
            ("doc", r#"{"title":"T","Text":"x","deep":{"a.b":1}}"#),
        ];
        assert_eq!(columns(keep), pairs(&expected));
    }

    /// The columns of a record, and whether it was mended.
    fn all_of(record: &str) -> (Vec<(String, String)>, bool) {
        let options = CorpusOptions::default().keep(Keep::All);
        let found = WantedColumns::new(&options).columns_of(record);
        let values = found.values.into_iter().map(|(name, value)| (name.into_owned(), value));
        (values.collect(), found.is_mended)
    }

    #[test]
    fn a_value_that_cannot_be_read_costs_no_other_one() {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
        for (value, expected) in [
            ("1e999", "1e999"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (&deep[..], &deep[..]),
        ] {
            let record = format!(r#"{{"text": "x", "day": "2024-01-01", "bad": {value}, "n": 1}}"#);
            let expected = pairs(&[("day", "2024-01-01"), ("bad", expected), ("n", "1")]);
            assert_eq!(all_of(&record), (expected, false));
        }
        let (found, is_mended) = all_of(r#"{"text": "x", "bad": "a\ud800", "l": ["\udc00b"], "n": 1}"#);
        let expected = pairs(&[("bad", "a\u{fffd}"), ("l", "\u{fffd}b"), ("n", "1")]);
        assert_eq!((found, is_mended), (expected, true));
        let (found, _) = all_of(&format!(r#"{{"text": "x", "o": {objects}, "n": 1}}"#));
        assert_eq!((found.len(), &found[1].1[..]), (2, "1"));
        assert_eq!(found[0].0, format!("o{}", ".a".repeat(MAX_DEPTH)));
        let options = CorpusOptions::default().keep(Keep::Named(vec!["l.a".to_owned()]));
        let record = format!(r#"{{"l": {deep}}}"#);
        assert!(WantedColumns::new(&options).columns_of(&record).values.is_empty());
    }

    #[test]
    fn a_field_that_differs_in_letter_case_from_the_text_is_kept() {
        let found = |record| all_of(record).0;
        let expected = pairs(&[("Text", "4"), ("ID", "5")]);
        assert_eq!(found(r#"{"id": 1, "text": "x", "Text": 4, "ID": 5}"#), expected);
        assert_eq!(found(r#"{"Id": 1, "TEXT": "x", "n": 4}"#), pairs(&[("n", "4")]));
    }

    #[test]
    fn names_that_are_also_paths_are_numbered() {
        let expected = pairs(&[("a.b", "0"), ("a.b (2)", "100"), ("", "e")]);
        assert_eq!(all_of(r#"{"text": "x", "a.b": 0, "a": {"b": 100}, "": "e"}"#).0, expected);
        assert_eq!(all_of(r#"{"text": "x", "n": 1, "n": 2}"#).0, pairs(&[("n", "2")]));
    }
}
