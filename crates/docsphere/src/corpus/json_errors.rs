//! Errors of JSON records.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::field_names::{MAX_SHOWN, field_list};
use crate::error::{Error, ErrorKind};

/// A record that is no JSON, or none of the kind that is wanted.
pub(super) fn bad_record(format: &'static str, error: &serde_json::Error) -> Error {
    let mut found = error.to_string();
    // Lines are counted within the record, and would mislead.
    if let Some(at) = found.find(" at line 1 column ") {
        found.replace_range(at.., &format!(" at column {}", error.column()));
    }
    let expected = "a JSON object with text".to_owned();
    ErrorKind::Record { format, expected, found }.into()
}

/// A record without a wanted field.
pub(super) fn missing_field(record: &str, field: &str, option: &'static str) -> Error {
    let names = serde_json::from_str(record).map_or_else(|_| Vec::new(), |FirstNames(names)| names);
    ErrorKind::MissingField { field: field.to_owned(), option, found: field_list(&names) }.into()
}

/// The names of an object's first fields, one more than a message shows: a record may have
/// millions.
struct FirstNames(Vec<String>);

impl<'de> serde::Deserialize<'de> for FirstNames {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(FirstNames(Vec::new()))
    }
}

impl<'de> Visitor<'de> for FirstNames {
    type Value = FirstNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            names.insert(name);
            if names.len() > MAX_SHOWN + 1 {
                names.pop_last();
            }
        }
        Ok(FirstNames(names.into_iter().collect()))
    }
}
