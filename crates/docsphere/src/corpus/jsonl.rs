//! JSON: one object per line, or values over several lines, alone or in a list (`json_layout.rs`).
//!
//! Only the requested fields are kept (`json_fields.rs`). A lone surrogate (`\ud83d` without its
//! other half), which some programs write when they truncate a text, is replaced and counted as
//! invalid UTF-8.
//!
//! The id of an object on a line is the number of the line; that of an object in another layout is
//! its number among the others.

use std::borrow::Cow;
use std::io::BufRead;
use std::ops::ControlFlow;

use super::chunk::{Chunk, InputContext, SendChunk};
use super::document::{ChunkTally, Document, Emit, NumberedId, lossy_bytes};
use super::format::CorpusFormat;
use super::json_fields::{Wanted, quoted_numbers};
use super::json_kept::WantedColumns;
use super::json_layout::{Layout, Sampled, Values, may_hold, without_lone_surrogates};
use super::kept::Kept;
use super::lines::{ChunkLines, Line};
use super::options::CorpusOptions;
use super::stream::{RecordEnds, Start, TextStream, count_lines};
use crate::error::Result;

/// Cuts a stream of objects.
pub(super) fn cut(
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    // Only lines are divided.
    if input.is_part {
        return cut_lines(reader, input, send);
    }
    let (layout, sampled) = layout_of(reader, input.options)?;
    match layout {
        Layout::Lines => cut_lines(sampled.whole(), input, send),
        Layout::Values => cut_values(sampled.whole(), 0, input, send),
        Layout::List { start, depth } => {
            let (elements, n_lines, end) = sampled.list(start, depth);
            let flow = cut_values(elements, n_lines, input, send)?;
            if flow.is_continue() {
                end.check()?;
            }
            Ok(flow)
        }
    }
}

/// Whether a file has one object per line.
pub(super) fn has_lines(reader: Box<dyn BufRead>, options: &CorpusOptions) -> Result<bool> {
    Ok(layout_of(reader, options)?.0 == Layout::Lines)
}

fn layout_of(reader: Box<dyn BufRead>, options: &CorpusOptions) -> Result<(Layout, Sampled)> {
    Layout::find(reader, |name| options.text_fields.iter().any(|path| may_hold(name, path)))
}

fn cut_lines(
    reader: Box<dyn BufRead>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let stream = TextStream::new(input, CorpusFormat::JsonLines, RecordEnds::Lines);
    stream.cut(reader, send, |bytes, Start { line, .. }| {
        Ok(Some(Box::new(Records { bytes, first_line: line, first_value: None })))
    })
}

fn cut_values(
    reader: Box<dyn BufRead>,
    n_lines_before: u64,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let ends = RecordEnds::Values(Values::default());
    let stream = TextStream::new(input, CorpusFormat::JsonLines, ends).after_lines(n_lines_before);
    stream.cut(reader, send, |bytes, Start { line, record }| {
        Ok(Some(Box::new(Records { bytes, first_line: line, first_value: Some(record + 1) })))
    })
}

/// Objects on lines, or values.
struct Records {
    bytes: Vec<u8>,
    first_line: u64,
    /// The number of the first value, from 1; `None` for objects on lines.
    first_value: Option<u64>,
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
        let format = if self.first_value.is_some() { "JSON" } else { CorpusFormat::JsonLines.title() };
        let mut parser = Parser {
            input,
            format,
            wanted: Wanted::new(input.options),
            columns: WantedColumns::new(input.options),
            tally: ChunkTally::default(),
            numbered: NumberedId::new(input.id_prefix),
            joined: String::new(),
        };
        match self.first_value {
            None => {
                let mut lines = ChunkLines::new(&self.bytes, self.first_line);
                while let Some((number, line)) = lines.next_line() {
                    parser.record(line, number, number, emit)?;
                }
            }
            Some(first_value) => self.parse_values(first_value, &mut parser, emit)?,
        }
        Ok(parser.tally)
    }
}

impl Records {
    fn parse_values(&self, mut number: u64, parser: &mut Parser<'_>, emit: Emit<'_>) -> Result<()> {
        let (mut at, mut line) = (0, self.first_line);
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        loop {
            let between = self.bytes[at..].iter().take_while(|byte| is_between(byte)).count();
            line += count_lines(&self.bytes[at..at + between]);
            at += between;
            let rest = &self.bytes[at..];
            let Some(first) = rest.first() else { return Ok(()) };
            // A number or a word is no record, and is not counted as one.
            let is_value = b"{[\"".contains(first);
            let length = match is_value {
                true => Values::default().scan(rest, true),
                false => rest.iter().position(is_between),
            };
            let record = &rest[..length.unwrap_or(rest.len())];
            parser.record(Line::Unknown(record), number, line, emit)?;
            number += u64::from(is_value);
            line += count_lines(record);
            at += record.len();
        }
    }
}

/// Turns records into documents.
struct Parser<'a> {
    input: &'a InputContext<'a>,
    /// The name of the format in messages.
    format: &'static str,
    wanted: Wanted<'a>,
    columns: WantedColumns<'a>,
    tally: ChunkTally,
    numbered: NumberedId,
    joined: String,
}

impl Parser<'_> {
    /// Emits a record with this number, which begins on this line.
    fn record(&mut self, record: Line<'_>, number: u64, line: u64, emit: Emit<'_>) -> Result<()> {
        let n_invalid = self.tally.n_invalid_utf8;
        let record = match record {
            Line::Valid(text) => Cow::Borrowed(text),
            Line::Unknown(bytes) => self.tally.text(bytes),
        };
        let record = record.trim_ascii();
        if record.is_empty() {
            return Ok(());
        }
        let (mended, spelled);
        let mut whole = record;
        let mut fields = self.wanted.fields_of(record, self.format);
        if fields.is_ok() && self.wanted.has_float() {
            spelled = quoted_numbers(record);
            fields = self.wanted.fields_of(&spelled, self.format);
        }
        if fields.is_err()
            && let Some(text) = without_lone_surrogates(record)
        {
            mended = text;
            whole = &mended;
            fields = self.wanted.fields_of(whole, self.format);
            self.tally.n_invalid_utf8 = n_invalid + 1;
            self.tally.n_beyond_encoding += u64::from(fields.is_ok());
        }
        let fields = match fields {
            Ok(fields) => fields,
            Err(error) => {
                self.tally.n_invalid_utf8 = n_invalid;
                return self.tally.bad_record(self.input.options, error.at_line(line));
            }
        };
        let id = fields.id().unwrap_or_else(|| self.numbered.with(number));
        let mut texts = fields.texts();
        let first = texts.next().unwrap_or_default();
        let text = if fields.n_texts() == 1 {
            first
        } else {
            self.joined.clear();
            self.joined.push_str(first);
            for text in texts {
                self.joined.push('\n');
                self.joined.push_str(text);
            }
            &self.joined[..]
        };
        self.tally.found_fields |= fields.found_texts();
        self.tally.n_documents += 1;
        let columns = self.columns.columns_of(whole);
        if columns.is_mended && self.tally.n_invalid_utf8 == n_invalid {
            self.tally.n_invalid_utf8 += 1;
            self.tally.n_beyond_encoding += 1;
        }
        let values: Vec<(&str, &str)> =
            columns.values.iter().map(|(name, value)| (&name[..], value.trim())).collect();
        let kept = Kept::new(&values, line).with_known(&columns.known);
        emit(Document { id, text, kept })
    }
}
