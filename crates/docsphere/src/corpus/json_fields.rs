//! The wanted fields of a JSON object.
//!
//! A field is named by its own name, or by the path to it (`doc.title`). On the way, and at its
//! end, there may be lists: their texts are joined with line feeds. Text without escapes is not
//! copied, and unwanted fields are skipped without being kept.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::field_names::{MAX_SHOWN, field_list, same_but_case};
use super::json_layout::Values;
use super::options::CorpusOptions;
use crate::error::{Error, ErrorKind, Result};

/// The fields kept from a record.
pub(super) struct Fields<'de> {
    /// Those of the text fields, and then that of the id, if it has one.
    found: Vec<Found<'de>>,
    n_texts: usize,
}

impl Fields<'_> {
    /// The text fields, in order; empty if the record lacks one.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.found[..self.n_texts].iter().map(|found| found.text().unwrap_or_default())
    }

    pub(super) fn n_texts(&self) -> usize {
        self.n_texts
    }

    /// Which text fields the record has, by position.
    pub(super) fn found_texts(&self) -> u128 {
        let found = self.found[..self.n_texts].iter().enumerate().filter(|(_, found)| found.text().is_some());
        found.map(|(position, _)| 1 << position).sum()
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.found.get(self.n_texts)?.text().filter(|id| !id.is_empty())
    }
}

/// The fields to keep.
pub(super) struct Wanted<'a> {
    options: &'a CorpusOptions,
    /// The paths of the text fields, and then that of the id.
    paths: Vec<Path<'a>>,
    /// The beginnings of all paths.
    places: Vec<Place>,
    /// Whether a wanted field of the last record was a number that may have lost its spelling.
    has_float: Cell<bool>,
}

/// The path to a field.
struct Path<'a> {
    /// The parts of the path, with the rest of the path that begins with each.
    parts: Vec<(&'a str, &'a str)>,
    is_id: bool,
}

impl<'a> Path<'a> {
    fn new(name: &'a str, is_id: bool) -> Self {
        let mut parts = Vec::new();
        let mut rest = Some(name);
        while let Some(path) = rest {
            let (first, after) =
                path.split_once('.').map_or((path, None), |(first, after)| (first, Some(after)));
            parts.push((first, path));
            rest = after;
        }
        Path { parts, is_id }
    }
}

impl<'a> Wanted<'a> {
    pub(super) fn new(options: &'a CorpusOptions) -> Self {
        let texts = options.text_fields.iter().map(|name| Path::new(name, false));
        let id = Path::new(options.id_field.as_deref().unwrap_or("id"), true);
        let paths: Vec<Path<'_>> = texts.chain([id]).collect();
        let places = (0..paths.len()).map(|path| Place { path, part: 0, is_exact: true }).collect();
        Wanted { options, paths, places, has_float: Cell::new(false) }
    }

    /// Whether a wanted field of the last record was a number that may have lost its spelling: 1.0,
    /// 1e5, or an integer of more than 64 bits. [`quoted_numbers`] keeps it.
    pub(super) fn has_float(&self) -> bool {
        self.has_float.get()
    }

    /// The wanted fields of a record. In a list of texts, a record is a text.
    pub(super) fn fields_of<'de>(&self, record: &'de str, format: &'static str) -> Result<Fields<'de>> {
        self.has_float.set(false);
        let mut reader = serde_json::Deserializer::from_str(record);
        if record.starts_with('"') && self.paths.len() == 2 && self.options.id_field.is_none() {
            let text = Plain.deserialize(&mut reader).and_then(|text| reader.end().map(|()| text));
            let text = text.map_err(|error| bad_record(format, &error))?;
            return Ok(Fields { found: vec![Found { value: Some(text), ..Found::default() }], n_texts: 1 });
        }
        let object = Object { wanted: self, places: &self.places };
        let found = object.deserialize(&mut reader).and_then(|found| reader.end().map(|()| found));
        let found = found.map_err(|error| bad_record(format, &error))?;
        let n_texts = self.paths.len() - 1;
        let fields = Fields { found, n_texts };
        // One of several fields is enough, unless it is not clear which one is meant.
        let mut texts = fields.found[..n_texts].iter();
        let ambiguous = texts.position(|found| found.is_ambiguous);
        let missing = if fields.found_texts() == 0 { Some(0) } else { ambiguous };
        if let Some(missing) = missing {
            return Err(missing_field(record, &self.options.text_fields[missing], "text_fields"));
        }
        match &self.options.id_field {
            Some(name) if fields.id().is_none() => Err(missing_field(record, name, "id_field")),
            _ => Ok(fields),
        }
    }
}

/// A valid record in which every number is a text.
pub(super) fn quoted_numbers(record: &str) -> String {
    let mut quoted = String::with_capacity(record.len() + 16);
    let (mut copied, mut at) = (0, 0);
    let bytes = record.as_bytes();
    while at < bytes.len() {
        let length = match bytes[at] {
            b'"' => Values::default().scan(&bytes[at..], true).unwrap_or(bytes.len() - at),
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes[at..].iter().take_while(is_number).count();
                quoted.push_str(&record[copied..at]);
                quoted.push('"');
                quoted.push_str(&record[at..at + length]);
                quoted.push('"');
                copied = at + length;
                length
            }
            _ => 1,
        };
        at += length;
    }
    quoted.push_str(&record[copied..]);
    quoted
}

fn bad_record(format: &'static str, error: &serde_json::Error) -> Error {
    let mut found = error.to_string();
    // Lines are counted within the record, and would mislead.
    if let Some(at) = found.find(" at line 1 column ") {
        found.replace_range(at.., &format!(" at column {}", error.column()));
    }
    let expected = "a JSON object with text".to_owned();
    ErrorKind::Record { format, expected, found }.into()
}

fn missing_field(record: &str, field: &str, option: &'static str) -> Error {
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

/// How far a path has been followed.
#[derive(Clone, Copy)]
struct Place {
    path: usize,
    /// The next part.
    part: usize,
    /// Whether the parts so far have exactly the wanted letter case.
    is_exact: bool,
}

/// What was found for a place.
#[derive(Clone, Default)]
struct Found<'de> {
    value: Option<Cow<'de, str>>,
    is_exact: bool,
    /// The name of the field, if it differs in letter case.
    name: Option<Box<str>>,
    is_ambiguous: bool,
}

impl<'de> Found<'de> {
    fn text(&self) -> Option<&str> {
        self.value.as_deref().filter(|_| !self.is_ambiguous)
    }

    fn into_text(self) -> Option<Cow<'de, str>> {
        self.value.filter(|_| !self.is_ambiguous)
    }

    /// Takes the value of a field, whose name is given if it differs in letter case. An exact name
    /// beats others, the last value of a repeated field counts, and two names that differ only in
    /// letter case are ambiguous.
    fn take(&mut self, value: Option<Cow<'de, str>>, is_exact: bool, name: Option<&str>) {
        if is_exact {
            *self = Found { value, is_exact, ..Found::default() };
        } else if !self.is_exact {
            self.is_ambiguous |= self.value.is_some() && self.name.as_deref() != name;
            self.value = value;
            self.name = name.map(Box::from);
        }
    }

    /// Adds the value of another element of a list.
    fn join(&mut self, other: Found<'de>) {
        self.is_ambiguous |= other.is_ambiguous;
        match (&mut self.value, other.value) {
            (Some(value), Some(more)) => join(value, &more),
            (value @ None, Some(more)) => *value = Some(more),
            (_, None) => {}
        }
    }
}

/// Adds a text to others; empty ones add nothing.
fn join(text: &mut Cow<'_, str>, more: &str) {
    if !more.is_empty() {
        let text = text.to_mut();
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(more);
    }
}

/// An object in which paths continue. The result has an entry per place.
#[derive(Clone, Copy)]
struct Object<'a> {
    wanted: &'a Wanted<'a>,
    places: &'a [Place],
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Vec<Found<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Vec<Found<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![Found::default(); self.places.len()];
        while let Some(key) = map.next_key_seed(Key(self))? {
            let key = match key {
                FoundKey::Nothing => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                FoundKey::Field(place) => {
                    let field = FieldValue { wanted: self.wanted, places: &[] };
                    let path = &self.wanted.paths[self.places[place].path];
                    let text = self.wanted.checked(path, map.next_value_seed(field)?.text);
                    found[place].take(text.map_err(A::Error::custom)?, true, None);
                    continue;
                }
                FoundKey::Matches(matches) => matches,
            };
            // The places at which paths continue in the value.
            let inner: Vec<Place> = key.all.iter().filter_map(|found| found.inner).collect();
            let Value { text, nested } =
                map.next_value_seed(FieldValue { wanted: self.wanted, places: &inner })?;
            let mut nested = nested.into_iter();
            let mut take = |Match { place, inner, is_exact }, text| {
                let text = if inner.is_some() {
                    let Some(text) = nested.next().and_then(Found::into_text) else { return Ok(()) };
                    Some(text)
                } else {
                    let path = &self.wanted.paths[self.places[place].path];
                    self.wanted.checked(path, text).map_err(A::Error::custom)?
                };
                found[place].take(text, is_exact, key.name.as_deref());
                Ok(())
            };
            for &found in &key.all {
                take(found, text.clone())?;
            }
        }
        Ok(found)
    }
}

impl Wanted<'_> {
    /// The value of a field as text or as an id.
    fn checked<'de>(&self, path: &Path<'_>, text: Text<'de>) -> Result<Option<Cow<'de, str>>, &'static str> {
        match text {
            Text::Plain(text) => Ok(Some(text)),
            Text::Joined(text) if !path.is_id => Ok(Some(Cow::Owned(text))),
            _ if !path.is_id => Err("a text field that is an object or truth value"),
            _ if self.options.id_field.is_none() => Ok(None),
            _ => Err("an id that is neither a text nor a number"),
        }
    }
}

/// The name of a field, compared with the wanted names without copying the others.
struct Key<'a>(Object<'a>);

/// What is wanted of a name.
enum FoundKey {
    Nothing,
    /// The field of this place, with exactly its name.
    Field(usize),
    Matches(Box<Matches>),
}

/// Several things that are wanted of a name, or one that is not simple.
#[derive(Default)]
struct Matches {
    all: Vec<Match>,
    /// The name, if it differs in letter case.
    name: Option<Box<str>>,
}

#[derive(Clone, Copy)]
struct Match {
    /// Which of the places.
    place: usize,
    /// Where the path continues; `None` if it ends.
    inner: Option<Place>,
    is_exact: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = FoundKey;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = FoundKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<FoundKey, E> {
        let mut only = None;
        let mut key = Matches::default();
        for (place, &Place { path, part, is_exact }) in self.0.places.iter().enumerate() {
            let parts = &self.0.wanted.paths[path].parts;
            let (first, rest) = parts[part];
            if is_exact && name == rest && only.is_none() && key.all.is_empty() {
                only = Some(place);
            } else if same_but_case(name, rest) {
                key.all.push(Match { place, inner: None, is_exact: is_exact && name == rest });
            } else if part + 1 < parts.len() && same_but_case(name, first) {
                let is_exact = is_exact && name == first;
                let inner = Some(Place { path, part: part + 1, is_exact });
                key.all.push(Match { place, inner, is_exact });
            }
        }
        match only {
            Some(place) if key.all.is_empty() => return Ok(FoundKey::Field(place)),
            Some(place) => key.all.insert(0, Match { place, inner: None, is_exact: true }),
            None if key.all.is_empty() => return Ok(FoundKey::Nothing),
            None => {}
        }
        if key.all.iter().any(|found| !found.is_exact) {
            key.name = Some(name.into());
        }
        Ok(FoundKey::Matches(Box::new(key)))
    }
}

/// The value of a wanted field.
struct Value<'de> {
    text: Text<'de>,
    /// What paths that continue in it have found; an entry per place.
    nested: Vec<Found<'de>>,
}

/// A value as text.
#[derive(Clone)]
enum Text<'de> {
    /// A text, a number (its digits) or null (an empty text).
    Plain(Cow<'de, str>),
    /// The texts of a list.
    Joined(String),
    Other,
}

#[derive(Clone, Copy)]
struct FieldValue<'a> {
    wanted: &'a Wanted<'a>,
    places: &'a [Place],
}

impl FieldValue<'_> {
    fn plain<'de>(self, text: impl Into<Cow<'de, str>>) -> Value<'de> {
        Value { text: Text::Plain(text.into()), nested: vec![Found::default(); self.places.len()] }
    }
}

impl<'de> DeserializeSeed<'de> for FieldValue<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldValue<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.plain(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.plain(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(self.plain(""))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.plain(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.plain(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        self.wanted.has_float.set(true);
        Ok(self.plain(number.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Value { text: Text::Other, nested: vec![Found::default(); self.places.len()] })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut nested = vec![Found::default(); self.places.len()];
        let mut joined = Some(Cow::Borrowed(""));
        while let Some(element) = list.next_element_seed(self)? {
            match element.text {
                Text::Plain(text) => joined.iter_mut().for_each(|joined| join(joined, &text)),
                Text::Joined(text) => joined.iter_mut().for_each(|joined| join(joined, &text)),
                Text::Other => joined = None,
            }
            nested.iter_mut().zip(element.nested).for_each(|(found, more)| found.join(more));
        }
        let text = joined.map_or(Text::Other, |joined| Text::Joined(joined.into_owned()));
        Ok(Value { text, nested })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let object = Object { wanted: self.wanted, places: self.places };
        Ok(Value { text: Text::Other, nested: object.visit_map(map)? })
    }
}

/// A text alone.
struct Plain;

impl<'de> DeserializeSeed<'de> for Plain {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
