//! JSON Lines: one object per line.
//!
//! Only the requested fields are kept; text without escapes is not copied. A lone surrogate
//! (`\ud83d` without its other half), which some programs write when they truncate a text, is
//! replaced and counted as invalid UTF-8.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::io::BufRead;
use std::ops::ControlFlow;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::chunk::{Chunk, InputContext, SendChunk};
use super::document::{ChunkTally, Document, Emit, MAX_SHOWN, NumberedId, field_list, lossy_bytes};
use super::format::CorpusFormat;
use super::lines::{ChunkLines, Line};
use super::options::CorpusOptions;
use super::stream::{RecordEnds, TextStream};
use crate::error::{Error, ErrorKind, Result};

/// Cuts a stream of objects.
pub(super) fn cut(
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let stream = TextStream::new(input, CorpusFormat::JsonLines, RecordEnds::Lines);
    stream.cut(reader, send, |bytes, start| Ok(Some(Box::new(Records { bytes, first_line: start.line }))))
}

/// Objects, one per line.
struct Records {
    bytes: Vec<u8>,
    first_line: u64,
}

impl Chunk for Records {
    fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn first_line(&self) -> Option<u64> {
        Some(self.first_line)
    }

    fn parse_bytes(&self) -> u64 {
        // Texts with escapes, and a buffer that may be twice as long.
        3 * self.bytes.len() as u64 + lossy_bytes(&self.bytes)
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut lines = ChunkLines::new(&self.bytes, self.first_line);
        let mut tally = ChunkTally::default();
        let mut numbered = NumberedId::new(input.id_prefix);
        let mut joined = String::new();
        while let Some((number, line)) = lines.next_line() {
            let n_invalid = tally.n_invalid_utf8;
            let line = match line {
                Line::Valid(text) => Cow::Borrowed(text),
                Line::Unknown(bytes) => tally.text(bytes),
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let mended;
            let mut fields = fields_of(line, input.options);
            if fields.is_err()
                && let Some(text) = without_lone_surrogates(line)
            {
                mended = text;
                fields = fields_of(&mended, input.options);
                tally.n_invalid_utf8 = n_invalid + 1;
                tally.n_lone_surrogates += u64::from(fields.is_ok());
            }
            let fields = match fields {
                Ok(fields) => fields,
                Err(error) => {
                    tally.n_invalid_utf8 = n_invalid;
                    tally.bad_record(input.options, error.at_line(number))?;
                    continue;
                }
            };
            let id = fields.id.as_deref().unwrap_or_else(|| numbered.with(number));
            let text = match &fields.texts[..] {
                [Some(text)] => text,
                several => {
                    joined.clear();
                    for (position, text) in several.iter().flatten().enumerate() {
                        joined.push_str(if position == 0 { "" } else { "\n" });
                        joined.push_str(text);
                    }
                    &joined[..]
                }
            };
            tally.n_documents += 1;
            emit(Document { id, text })?;
        }
        Ok(tally)
    }
}

/// The wanted fields of a line.
fn fields_of<'de>(line: &'de str, options: &CorpusOptions) -> Result<Fields<'de>> {
    let mut reader = serde_json::Deserializer::from_str(line);
    let wanted = Wanted {
        texts: &options.text_fields,
        id: options.id_field.as_deref().unwrap_or("id"),
        id_is_optional: options.id_field.is_none(),
    };
    let fields = wanted.deserialize(&mut reader).and_then(|fields| reader.end().map(|()| fields));
    let fields = fields.map_err(|error| bad_record(line, &error))?;
    if let Some(missing) = fields.texts.iter().position(Option::is_none) {
        return Err(missing_field(line, &options.text_fields[missing], "text_fields"));
    }
    match &options.id_field {
        Some(name) if fields.id.is_none() => Err(missing_field(line, name, "id_field")),
        _ => Ok(fields),
    }
}

fn bad_record(line: &str, error: &serde_json::Error) -> Error {
    let mut found = error.to_string();
    // The parser's line number is always 1 and would mislead.
    if let Some(at) = found.find(" at line 1 column ") {
        found.replace_range(at.., &format!(" at column {}", error.column()));
    }
    if line.starts_with('[') {
        found.push_str(" (a JSON array? make it one object a line, for example with jq -c '.[]')");
    }
    let expected = "a JSON object with text".to_owned();
    ErrorKind::Record { format: "JSON Lines", expected, found }.into()
}

fn missing_field(line: &str, field: &str, option: &'static str) -> Error {
    let names = serde_json::from_str(line).map_or_else(|_| Vec::new(), |FirstNames(names)| names);
    ErrorKind::MissingField { field: field.to_owned(), option, found: field_list(&names) }.into()
}

/// The names of an object's first fields, one more than a message shows: a line may have millions.
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

/// The fields kept from a record.
struct Fields<'de> {
    texts: Vec<Option<Cow<'de, str>>>,
    id: Option<Cow<'de, str>>,
}

/// Which fields to keep.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    texts: &'a [String],
    id: &'a str,
    /// Whether an id that is neither string nor number counts as missing.
    id_is_optional: bool,
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Fields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields { texts: vec![None; self.texts.len()], id: None };
        // A field may be both text and id, and the last value of a repeated field counts.
        while let Some(key) = map.next_key_seed(Key(self))? {
            if !key.is_text && !key.is_id {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(Scalar)?;
            if key.is_text && value.is_none() {
                return Err(A::Error::custom("a text field that is a list, object or truth value"));
            }
            if key.is_id {
                fields.id = value.clone().filter(|id| !id.is_empty());
                if fields.id.is_none() && !self.id_is_optional {
                    return Err(A::Error::custom("an id that is neither a text nor a number"));
                }
            }
            for position in (0..self.texts.len()).filter(|&at| key.is_text && self.texts[at] == key.name) {
                fields.texts[position] = value.clone();
            }
        }
        Ok(fields)
    }
}

/// The name of a field, compared with the wanted names without copying the others.
struct Key<'a>(Wanted<'a>);

struct FoundKey {
    is_text: bool,
    is_id: bool,
    /// Only for a text field.
    name: String,
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
        let is_text = self.0.texts.iter().any(|wanted| wanted == name);
        let name_of_text = if is_text { name.to_owned() } else { String::new() };
        Ok(FoundKey { is_text, is_id: self.0.id == name, name: name_of_text })
    }
}

/// A text, a number (its digits) or null (an empty text); `None` for anything else.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalar {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed("")))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string().into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string().into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string().into()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// The line with every lone surrogate escape replaced; `None` if it has none.
fn without_lone_surrogates(line: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u16> {
        let digits = line.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &line.as_bytes()[at..]) {
        at += found;
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(&line[copied..at]);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at = (at + 2).min(line.len()),
        }
    }
    (copied > 0).then(|| mended + &line[copied..])
}
