//! The kept columns of a JSON object.
//!
//! A text is itself, a number its digits, `true` and `false` are these words, and null is nothing.
//! A list of such values is joined with `; `; an object or a list of others is its JSON. Asked for
//! all columns, fields of objects within are columns by their paths (`doc.title`).
//!
//! Only the wanted fields are kept while a record is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::field_names::{MAX_SHOWN, field_list, find_field, same_but_case};
use super::kept::Keep;
use super::options::CorpusOptions;

/// What joins the values of a list.
const BETWEEN: &str = "; ";

/// The columns to keep.
pub(super) struct WantedColumns<'a> {
    keep: &'a Keep,
    /// The fields of text and id, which are not columns unless they are named.
    taken: Vec<&'a str>,
}

/// The columns of a record.
#[derive(Default)]
pub(super) struct Columns<'a> {
    /// Name and value, without empty values.
    pub(super) values: Vec<(Cow<'a, str>, String)>,
    /// The fields of the record, for a message.
    pub(super) known: String,
}

impl<'a> WantedColumns<'a> {
    pub(super) fn new(options: &'a CorpusOptions) -> Self {
        let id = options.id_field.as_deref().unwrap_or("id");
        let taken = options.text_fields.iter().map(String::as_str).chain([id]).collect();
        WantedColumns { keep: &options.keep, taken }
    }

    /// The columns of a record that is an object; those of any other are none.
    pub(super) fn columns_of(&self, record: &str) -> Columns<'a> {
        if self.keep.is_nothing() || !record.starts_with('{') {
            return Columns::default();
        }
        let mut reader = serde_json::Deserializer::from_str(record);
        let Ok((fields, names)) = reader.deserialize_map(Fields(self)) else { return Columns::default() };
        let mut values: Vec<(Cow<'a, str>, String)> = match self.keep {
            Keep::Named(wanted) | Keep::Present(wanted) => {
                let fields: Vec<(&str, &Value)> =
                    fields.iter().map(|(name, value)| (&name[..], value)).collect();
                let value = |name: &'a String| Some((Cow::Borrowed(&name[..]), at_path(&fields, name)?));
                wanted.iter().filter_map(value).collect()
            }
            _ => {
                let mut found = Vec::new();
                fields.into_iter().for_each(|(name, value)| self.flatten(name, &value, &mut found));
                found
            }
        };
        values.retain(|(_, value)| !value.trim().is_empty());
        Columns { values, known: field_list(&names) }
    }

    fn is_taken(&self, path: &str) -> bool {
        self.taken.iter().any(|taken| same_but_case(path, taken))
    }

    /// Whether a field of the record holds columns.
    fn is_wanted(&self, name: &str) -> bool {
        match self.keep {
            Keep::Named(wanted) | Keep::Present(wanted) => wanted.iter().any(|path| {
                let begins = path.get(..name.len()).is_some_and(|start| same_but_case(name, start));
                same_but_case(name, path) || (begins && path[name.len()..].starts_with('.'))
            }),
            _ => !self.is_taken(name),
        }
    }

    /// Adds a field, or those of an object.
    fn flatten(&self, path: String, value: &Value, found: &mut Vec<(Cow<'a, str>, String)>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.flatten(format!("{path}.{name}"), value, found));
            }
            _ if self.is_taken(&path) => {}
            _ => found.push((Cow::Owned(path), written(value))),
        }
    }
}

/// The value at a path, if there is one.
fn at_path(fields: &[(&str, &Value)], path: &str) -> Option<String> {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    if let Some(at) = find_field(&names, path) {
        return Some(written(fields[at].1));
    }
    // A name may contain dots itself.
    path.match_indices('.').find_map(|(dot, _)| {
        let (first, rest) = (&path[..dot], &path[dot + 1..]);
        within(fields[find_field(&names, first)?].1, rest)
    })
}

/// The value at a path in a value: in an object, or in all objects of a list.
fn within(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let fields: Vec<(&str, &Value)> = fields.iter().map(|(name, value)| (&name[..], value)).collect();
            at_path(&fields, path)
        }
        Value::Array(values) => {
            let found: Vec<String> = values.iter().filter_map(|value| within(value, path)).collect();
            (!found.is_empty()).then(|| found.join(BETWEEN))
        }
        _ => None,
    }
}

/// A value as text.
fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            let values: Vec<String> = values.iter().map(written).filter(|text| !text.is_empty()).collect();
            values.join(BETWEEN)
        }
        other => other.to_string(),
    }
}

/// The wanted fields of an object, and the names of its first fields.
struct Fields<'a>(&'a WantedColumns<'a>);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = (Vec<(String, Value)>, Vec<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut fields, mut names): Self::Value = Default::default();
        while let Some(name) = map.next_key::<String>()? {
            if names.len() <= MAX_SHOWN {
                names.push(name.clone());
            }
            if !self.0.is_wanted(&name) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value::<Value>()?;
            // The last value of a repeated field counts.
            match fields.iter_mut().find(|(other, _)| *other == name) {
                Some(field) => field.1 = value,
                None => fields.push((name, value)),
            }
        }
        Ok((fields, names))
    }
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
        assert_eq!(found.known, "id, text, Date, n, ok, no, tags, doc, people");
        found.values.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn all_fields_but_text_and_id_are_columns() {
        let people = r#"[{"name":"Ann"},{"age":3,"name":"Bob"}]"#;
        let expected = [
            ("Date", "2024-03-04"),
            ("n", "1.5"),
            ("ok", "true"),
            ("tags", "a; b; 3"),
            ("doc.Text", "x"),
            ("doc.deep.a.b", "1"),
            ("doc.title", "T"),
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
            ("doc", r#"{"Text":"x","deep":{"a.b":1},"title":"T"}"#),
        ];
        assert_eq!(columns(keep), pairs(&expected));
    }
}
