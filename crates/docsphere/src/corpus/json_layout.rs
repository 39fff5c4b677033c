//! How a file of JSON is laid out: one object per line, or values over several lines, alone or in a
//! list.
//!
//! | layout | example | a record is |
//! |---|---|---|
//! | lines | `{"text": "a"}` on each line | an object |
//! | values | objects that have line ends in them, one after the other | an object |
//! | list | `[{"text": "a"}, …]`, `["a", …]` | an element: an object, or a text |
//! | wrapped list | `{"n": 2, "data": [{"text": "a"}, …]}` | an element of the list |
//!
//! The layout is found from the first 64 KiB. A file is taken for a wrapped list only if its first
//! object lacks the wanted fields, has a list of objects or texts, and is all that these bytes
//! hold; if it is longer, the list must be, too. Of several lists the one counts whose objects have
//! the wanted fields; if that leaves several, the file is refused. So is one in which more follows
//! after the end of the list: no record is left out without a word.
//!
//! Only lines can be divided among processes: other files are read by one, from the beginning.
//!
//! Records are found by a scan that knows strings and depth and nothing else, so it needs no more
//! memory than one record. Each record is then parsed on its own, and bad ones can be skipped.

use std::cell::Cell;
use std::io::{self, BufRead, Cursor, Read};
use std::rc::Rc;

use super::field_names::same_but_case;
use crate::compression::read_error;
use crate::error::{Error, Result};

/// Bytes of a file from which the layout is found.
const SAMPLE_BYTES: u64 = 1 << 16;

/// How the records of a file are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    Lines,
    Values,
    /// The elements of a list, which begins after so many bytes.
    List {
        start: usize,
        /// The number of brackets that are open in it, its own included.
        depth: usize,
    },
}

impl Layout {
    /// Finds the layout, and returns it with a reader that begins where the given one did.
    /// `is_text` says whether a field holds wanted text, or an object with it.
    pub(super) fn find(
        mut reader: Box<dyn BufRead>,
        is_text: impl Fn(&str) -> bool,
    ) -> Result<(Layout, Sampled)> {
        let mut sample = Vec::new();
        reader.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(read_error)?;
        let layout = Self::of_sample(&sample, &is_text)?;
        Ok((layout, Sampled { sample, reader }))
    }

    fn of_sample(sample: &[u8], is_text: &dyn Fn(&str) -> bool) -> Result<Layout> {
        let start = sample.len() - sample.trim_ascii_start().len();
        Ok(match sample.get(start) {
            Some(b'[') => Layout::List { start: start + 1, depth: 1 },
            Some(b'{') => {
                let object = &sample[start..];
                let Some(found) = first_object(object, is_text) else { return Ok(Layout::Lines) };
                let has_lines = object[..found.length].contains(&b'\n');
                // By another object.
                let is_record = found.is_whole && !object[found.length..].trim_ascii().is_empty();
                if found.has_text || is_record {
                    let is_spread = found.has_text && has_lines;
                    return Ok(if is_spread { Layout::Values } else { Layout::Lines });
                }
                match found.wanted_list()? {
                    Some(list) => Layout::List { start: start + list, depth: 2 },
                    None => Layout::Lines,
                }
            }
            _ => Layout::Lines,
        })
    }
}

/// What is known of the first object of a sample.
#[derive(Debug, Default)]
struct FirstObject {
    has_text: bool,
    /// Its lists of objects or texts.
    lists: Vec<FoundList>,
    /// The length of the object, as far as it is in the sample.
    length: usize,
    is_whole: bool,
}

/// A list in the first object of a sample.
#[derive(Debug)]
struct FoundList {
    name: String,
    /// Where it begins, after its bracket.
    start: usize,
    /// Whether its first element is an object with wanted text.
    has_text: bool,
    /// Whether it ends within the sample.
    is_closed: bool,
}

impl FirstObject {
    /// Where the list of records begins.
    ///
    /// # Errors
    /// If several lists may be meant.
    fn wanted_list(&self) -> Result<Option<usize>> {
        // A long object with a short list is a record; what a long list is, its elements tell.
        let may_be = |list: &&FoundList| self.is_whole || !list.is_closed;
        if !self.lists.iter().any(|list| may_be(&list)) {
            return Ok(None);
        }
        let has_text = self.lists.iter().any(|list| list.has_text);
        let wanted: Vec<&FoundList> = self.lists.iter().filter(|list| list.has_text == has_text).collect();
        match wanted[..] {
            [list] => Ok(Some(list.start).filter(|_| may_be(&list))),
            _ => {
                let names: Vec<&str> = wanted.iter().map(|list| &*list.name).collect();
                let found = format!("several: {}; give the one you mean as a file", names.join(", "));
                Err(Error::malformed("JSON", "one list of records, or an object per line", found))
            }
        }
    }
}

/// Looks at the fields of an object; `None` if it is no valid one.
fn first_object(bytes: &[u8], is_text: &dyn Fn(&str) -> bool) -> Option<FirstObject> {
    let mut found = FirstObject { length: bytes.len(), ..FirstObject::default() };
    let blank = |at: usize| bytes.len() - bytes[at..].trim_ascii_start().len();
    let mut at = blank(1);
    loop {
        match bytes.get(at) {
            None => return Some(found),
            Some(b'}') => {
                (found.length, found.is_whole) = (at + 1, true);
                return Some(found);
            }
            Some(b'"') => {}
            Some(_) => return None,
        }
        let Some(length) = Values::default().scan(&bytes[at..], true) else { return Some(found) };
        if bytes[at..at + length].contains(&b'\n') {
            return None;
        }
        let key: String = serde_json::from_slice(&bytes[at..at + length]).ok()?;
        found.has_text |= is_text(&key);
        at = blank(at + length);
        match bytes.get(at) {
            None => return Some(found),
            Some(b':') => at = blank(at + 1),
            Some(_) => return None,
        }
        let end = match bytes.get(at) {
            Some(b'{' | b'[' | b'"') => Values::default().scan(&bytes[at..], true),
            _ => None,
        };
        if bytes.get(at) == Some(&b'[') && matches!(bytes.get(blank(at + 1)), Some(b'{' | b'"')) {
            let element = &bytes[blank(at + 1)..];
            let object = Some(element).filter(|element| element[0] == b'{');
            let has_text =
                object.and_then(|object| first_object(object, is_text)).is_some_and(|o| o.has_text);
            found.lists.push(FoundList { name: key, start: at + 1, has_text, is_closed: end.is_some() });
        }
        at = match bytes.get(at) {
            None => return Some(found),
            Some(b'{' | b'[' | b'"') => match end {
                None => return Some(found),
                Some(length) => blank(at + length),
            },
            Some(_) => {
                let literal = bytes[at..].iter().position(|byte| b",}\n".contains(byte));
                blank(literal.map_or(bytes.len(), |length| at + length))
            }
        };
        match bytes.get(at) {
            Some(b',') => at = blank(at + 1),
            Some(b'}') | None => {}
            Some(_) => return None,
        }
    }
}

/// Whether a field of this name is, or may hold, the one with this path.
pub(super) fn may_hold(name: &str, path: &str) -> bool {
    let first = path.split_once('.').map_or(path, |(first, _)| first);
    same_but_case(name, path) || same_but_case(name, first)
}

/// Finds where values end: objects, lists and texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// Open brackets.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Values that have ended.
    pub(super) n_values: u64,
}

impl Values {
    /// Advances over bytes and returns the last end of a value in them, or the first if it stops
    /// there.
    pub(super) fn scan(&mut self, bytes: &[u8], stops: bool) -> Option<usize> {
        let mut last = None;
        let mut at = 0;
        while at < bytes.len() {
            if self.is_escaped {
                self.is_escaped = false;
                at += 1;
                continue;
            }
            let mut ends = false;
            if self.in_string {
                let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else { break };
                at += length;
                match bytes[at] {
                    b'\\' => self.is_escaped = true,
                    _ => (self.in_string, ends) = (false, self.depth == 0),
                }
            } else {
                match bytes[at] {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        ends = self.depth == 1;
                        self.depth = self.depth.saturating_sub(1);
                    }
                    _ => {}
                }
            }
            at += 1;
            if ends {
                self.n_values += 1;
                last = Some(at);
                if stops {
                    return last;
                }
            }
        }
        last
    }

    /// Where the list in which the values are is closed.
    fn closing(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            let is_outside = !self.in_string && !self.is_escaped && self.depth == 0;
            if is_outside && bytes[at] == b']' {
                return Some(at);
            }
            // Values end one by one, so that the bracket is seen from outside.
            let end = if is_outside && !b"{[\"".contains(&bytes[at]) {
                Some(1)
            } else {
                self.scan(&bytes[at..], true)
            };
            at += end.unwrap_or(bytes.len() - at);
        }
        None
    }
}

/// A stream whose first bytes have been read.
pub(super) struct Sampled {
    sample: Vec<u8>,
    reader: Box<dyn BufRead>,
}

impl Sampled {
    /// The whole stream.
    pub(super) fn whole(self) -> Box<dyn BufRead> {
        Box::new(Cursor::new(self.sample).chain(self.reader))
    }

    /// The elements of a list that begins after `start` bytes, and `depth` brackets deep. Returns
    /// the lines before it, too, and a check for the end.
    pub(super) fn list(self, start: usize, depth: usize) -> (Box<dyn BufRead>, u64, ListEnd) {
        let n_lines = memchr::memchr_iter(b'\n', &self.sample[..start]).count() as u64;
        let mut sample = Cursor::new(self.sample);
        sample.set_position(start as u64);
        let inner: Box<dyn BufRead> = Box::new(sample.chain(self.reader));
        let left = Rc::new(Cell::new(depth));
        let elements = Elements { inner, values: Values::default(), n_inside: 0, left: Rc::clone(&left) };
        (Box::new(elements), n_lines, ListEnd { left })
    }
}

/// In place of the brackets that are not closed yet: all are, and more follows.
const MORE: usize = usize::MAX;

/// Whether a list was closed.
pub(super) struct ListEnd {
    left: Rc<Cell<usize>>,
}

impl ListEnd {
    /// # Errors
    /// If the file ended before all brackets were closed.
    pub(super) fn check(&self) -> Result<()> {
        match self.left.get() {
            0 => Ok(()),
            MORE => Err(Error::malformed("JSON", "the end of the file after the list of records", "more")),
            _ => Err(Error::malformed(
                "JSON",
                "a closing bracket for the list of records",
                "the end of the file",
            )),
        }
    }
}

/// The bytes between the brackets of a list.
struct Elements {
    inner: Box<dyn BufRead>,
    values: Values,
    /// Bytes at the beginning of the buffer that have been scanned, and are in the list.
    n_inside: usize,
    /// Brackets that are not closed yet.
    left: Rc<Cell<usize>>,
}

impl Elements {
    /// Reads what follows the list.
    fn pass_rest(&mut self, depth: usize) -> io::Result<()> {
        let mut rest = Values { depth, ..Values::default() };
        let mut has_ended = depth == 0;
        loop {
            let bytes = self.inner.fill_buf()?;
            let length = bytes.len();
            if length == 0 {
                break;
            }
            let end = if has_ended { Some(0) } else { rest.scan(bytes, true) };
            has_ended = end.is_some();
            if end.is_some_and(|end| !bytes[end..].trim_ascii().is_empty()) {
                self.left.set(MORE);
                return Ok(());
            }
            self.inner.consume(length);
        }
        self.left.set(if has_ended { 0 } else { depth });
        Ok(())
    }
}

impl BufRead for Elements {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if matches!(self.left.get(), 0 | MORE) || self.n_inside > 0 {
            let n_inside = self.n_inside;
            return if n_inside == 0 { Ok(&[]) } else { Ok(&self.inner.fill_buf()?[..n_inside]) };
        }
        let bytes = self.inner.fill_buf()?;
        let length = bytes.len();
        match self.values.closing(bytes) {
            Some(0) => {
                self.inner.consume(1);
                let depth = self.left.get() - 1;
                self.pass_rest(depth)?;
                // Also where brackets are missing: nothing of the list is left.
                self.values = Values::default();
                self.inner = Box::new(io::empty());
                Ok(&[])
            }
            Some(at) => {
                self.n_inside = at;
                Ok(&self.inner.fill_buf()?[..at])
            }
            None => {
                self.n_inside = length;
                self.inner.fill_buf()
            }
        }
    }

    fn consume(&mut self, length: usize) {
        self.inner.consume(length);
        self.n_inside -= length;
    }
}

impl Read for Elements {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

/// The record with every lone surrogate escape replaced; `None` if it has none.
pub(super) fn without_lone_surrogates(record: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u16> {
        let digits = record.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &record.as_bytes()[at..]) {
        at += found;
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(&record[copied..at]);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at = (at + 2).min(record.len()),
        }
    }
    (copied > 0).then(|| mended + &record[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sample: &str) -> Layout {
        found(sample).unwrap()
    }

    fn found(sample: &str) -> Result<Layout> {
        Layout::of_sample(sample.as_bytes(), &|name| may_hold(name, "text"))
    }

    #[test]
    fn the_layout_is_found_from_the_first_value() {
        for sample in [
            "",
            "\n\n",
            "{\"text\":\"a\"}\n{\"text\":\"b\"}",
            "{\"text\":\"a\"",
            "{\"text\":\"a",
            "{\"list\":[{}],\"text\":\"a\"}\n",
            "{\"list\":[{}]}\n{\"list\":[{}]}\n",
            "{\"text\":\"broken\n{\"text\":\"b\"}",
            "{\"id\":1\n{\"id\":2,\"list\":[{}]}",
            "{\"n\":1}",
            "{\"list\":[1,2]}",
            // A long record, of which only a part is seen.
            "{\"authors\":[\"Ann\",\"Bob\"],\"body\":\"so long",
            "not json",
        ] {
            assert_eq!(layout(sample), Layout::Lines, "{sample}");
        }
        for sample in ["{\n  \"text\": \"a\"\n}\n{\n}", "{\n  \"n\": [1,\n2], \"Text\": \"a"] {
            assert_eq!(layout(sample), Layout::Values, "{sample}");
        }
        assert_eq!(layout(" [{}]"), Layout::List { start: 2, depth: 1 });
        assert_eq!(layout("{\"n\": 2, \"data\": [ {\"text\""), Layout::List { start: 18, depth: 2 });
        assert_eq!(layout("{\"data\": [\"a\", \"b\"]}\n"), Layout::List { start: 10, depth: 2 });
        let tagged = "{\"tags\":[\"x\",\"y\"],\"data\":[{\"text\":\"a\"}]}";
        assert_eq!(layout(tagged), Layout::List { start: 26, depth: 2 });
        for several in [
            "{\"train\":[{\"text\":\"a\"}],\"test\":[{\"text\":\"b\"}]}",
            "{\"train\":[{\"text\":\"a\"}],\"test\":[{\"text\":\"b",
            "{\"a\":[\"x\"],\"b\":[\"y\"]}",
        ] {
            let message = found(several).unwrap_err().to_string();
            assert!(message.contains("several"), "{message}");
        }
    }

    /// The elements of a list, read in steps.
    fn elements(text: &str, step: usize) -> (String, bool) {
        // As if the list were longer than a sample.
        let sample = text.find("[{").filter(|_| text.starts_with('{')).map_or(text, |at| &text[..at + 2]);
        let Layout::List { start, depth } = layout(sample) else { panic!("{text}") };
        let reader = io::BufReader::with_capacity(step, Cursor::new(text.as_bytes()[start..].to_vec()));
        let sampled = Sampled { sample: Vec::new(), reader: Box::new(reader) };
        let (mut inside, _, end) = sampled.list(0, depth);
        let mut found = String::new();
        inside.read_to_string(&mut found).unwrap();
        (found, end.check().is_ok())
    }

    #[test]
    fn a_list_ends_with_its_own_bracket() {
        for step in [1, 2, 3, 7, 100] {
            for (text, inside, closes) in [
                ("[]", "", true),
                ("[ {\"a\":[1]}, \"]\", [[]] ] ", " {\"a\":[1]}, \"]\", [[]] ", true),
                ("[{\"a\":\"\\\"]\\\\\"}]", "{\"a\":\"\\\"]\\\\\"}", true),
                ("[1, null]", "1, null", true),
                ("[{}", "{}", false),
                ("[{\"a\":", "{\"a\":", false),
                ("{\"data\":[{}], \"meta\": {\"x\": [\"}\"]}}", "{}", true),
                ("{\"data\":[{}], \"meta\": {", "{}", false),
                ("{\"data\":[{}]", "{}", false),
                ("{\"data\":[{}]}\n\n{\"data\":[{}]}", "{}", false),
                ("[{}]\n [{}]", "{}", false),
                ("[{}] garbage", "{}", false),
                ("{\"data\":[{}]} \n ", "{}", true),
            ] {
                assert_eq!(elements(text, step), (inside.to_owned(), closes), "{text} in steps of {step}");
            }
        }
    }
}
