//! Mail: messages, alone or in mailboxes. `mail_disabled.rs` is the counterpart for builds without.
//!
//! The text of a message is its subject and its text parts, decoded (the crate `mail-parser`). A
//! part in HTML is taken if there is no plain one; its tags are removed later. Quoted replies
//! (lines that begin with `>`, and the line that introduces them) and signatures (below `-- `) are
//! left out, unless [`CorpusOptions::keep_quotes`](crate::CorpusOptions::keep_quotes) is set.
//!
//! In a mailbox, a message begins at each line `From … Mon Jan  1 00:00:00 2024` after a blank
//! line: all programs that write mailboxes put a date there, and without one the line is text.
//! `>From` in the text is `From`. One thread cuts, the pool parses.
//!
//! A message that has neither fields nor a body is bad. Other damage is read as far as it goes, as
//! mail programs do.

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

use mail_parser::{MessageParser, PartType};

use super::{Extract, RawFile, Take, damaged};
use crate::compression::read_error;
use crate::corpus::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use crate::corpus::document::{ChunkTally, Document, Emit, NumberedId};
use crate::corpus::kept::{Kept, KnownValues};
use crate::corpus::options::CorpusOptions;
use crate::error::{Error, ErrorKind, Result};

pub(super) struct Message;

impl Extract for Message {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let (text, columns) = read(&file.bytes, file.options)?;
        file.columns.replace(columns);
        take(None, Ok(text.as_bytes()))
    }
}

pub(super) struct Mailbox;

impl Extract for Mailbox {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        for (number, (_, message)) in (1..).zip(messages(&file.bytes)) {
            match read(message, file.options) {
                Ok((text, columns)) => {
                    file.columns.replace(columns);
                    take(Some(number), Ok(text.as_bytes()))?;
                }
                Err(error) => take(Some(number), Err(error))?,
            }
        }
        Ok(())
    }
}

/// The text of a message, and its columns if any are kept.
fn read(message: &[u8], options: &CorpusOptions) -> Result<(String, KnownValues)> {
    let parsed = MessageParser::default().parse(message).filter(|parsed| !parsed.parts.is_empty());
    let Some(parsed) = parsed else {
        return Err(damaged("mail", "a message with fields", "none"));
    };
    let mut text = parsed.subject().unwrap_or_default().trim().to_owned();
    for part in parsed.text_bodies() {
        let (PartType::Text(body) | PartType::Html(body)) = &part.body else { continue };
        text.push_str(if text.is_empty() { "" } else { "\n" });
        if options.keep_quotes || matches!(part.body, PartType::Html(_)) {
            text.push_str(body.trim());
        } else {
            push_unquoted(body, &mut text);
        }
    }
    let columns = if options.keep.is_nothing() { KnownValues::default() } else { columns_of(&parsed) };
    Ok((text, columns))
}

/// The fields of a message that are columns.
fn columns_of(message: &mail_parser::Message<'_>) -> KnownValues {
    let people = |address: Option<&mail_parser::Address<'_>>| {
        let person = |person: &mail_parser::Addr<'_>| match (person.name(), person.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (name, address) => name.or(address).unwrap_or_default().to_owned(),
        };
        let people: Vec<String> = address.into_iter().flat_map(|all| all.iter().map(person)).collect();
        people.join("; ")
    };
    let mut columns = KnownValues::default();
    columns.push("date", message.date().map_or_else(String::new, mail_parser::DateTime::to_rfc3339));
    columns.push("from", people(message.from()));
    columns.push("to", people(message.to()));
    columns.push("subject", message.subject().unwrap_or_default());
    columns
}

/// Adds what the author of a message wrote.
fn push_unquoted(body: &str, text: &mut String) {
    let start = text.len();
    // Where the last line that may introduce a quotation begins.
    let mut introduction = None;
    for line in body.lines() {
        if line.trim_end_matches('\r') == "-- " || line.trim_end() == "--" {
            break;
        }
        // A mailbox escapes lines that would begin a message.
        let line = if line.starts_with(">From ") { &line[1..] } else { line };
        if line.trim_start().starts_with('>') {
            text.truncate(introduction.take().unwrap_or(text.len()));
            continue;
        }
        let line = line.trim_end();
        // "On Monday, Ann wrote:", in any language; perhaps over two lines.
        if line.ends_with(':') {
            introduction = Some(text.len());
        } else if !line.is_empty() {
            introduction = None;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(start.max(text.trim_end().len()));
}

/// Whether a line begins a message of a mailbox: `From`, a sender, and a date with month and time.
fn begins_message(line: &[u8]) -> bool {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    // The month, then the day and the time.
    words.any(|word| MONTHS.iter().any(|month| word.eq_ignore_ascii_case(month)))
        && words.take(3).any(|word| {
            let is_time = |byte: &u8| byte.is_ascii_digit() || *byte == b':';
            word.contains(&b':') && word[0].is_ascii_digit() && word.iter().all(is_time)
        })
}

/// The messages of a mailbox, and where the lines begin that precede them.
fn messages(mailbox: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = mailbox.trim_ascii_start();
    std::iter::from_fn(move || {
        let is_message = |from: &[u8]| !from.trim_ascii().is_empty();
        if !is_message(rest) {
            return None;
        }
        let after = after_from_line(rest);
        let length = next_message(&rest[after..]).map_or(rest.len(), |length| after + length);
        let (start, message) = (mailbox.len() - rest.len(), &rest[after..length]);
        rest = &rest[length..];
        Some((start, message))
    })
}

/// The length of the line `From …` with which a message of a mailbox begins.
fn after_from_line(message: &[u8]) -> usize {
    if !message.starts_with(b"From ") {
        return 0;
    }
    memchr::memchr(b'\n', message).map_or(message.len(), |at| at + 1)
}

/// Where the next message begins.
fn next_message(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(bytes, b"\nFrom ").map(|at| at + 1).find(|&at| {
        let before = &bytes[..at - 1];
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        let line = &bytes[at..];
        let length = memchr::memchr(b'\n', line).unwrap_or(line.len());
        (before.is_empty() || before.ends_with(b"\n")) && begins_message(&line[..length])
    })
}

/// Some messages of a mailbox.
pub(in crate::corpus) struct Messages {
    bytes: Vec<u8>,
    first_line: u64,
    /// The number of the first message, from 1.
    first_message: u64,
}

impl Messages {
    /// Cuts a mailbox.
    pub(in crate::corpus) fn cut(
        mut reader: Box<dyn BufRead>,
        input: &InputContext<'_>,
        send: SendChunk<'_>,
    ) -> Result<ControlFlow<()>> {
        let memory = &input.options.memory;
        let mut chunk = Messages { bytes: Vec::new(), first_line: 1, first_message: 1 };
        // Messages in the chunk, lines in it, whether a message may begin, and whether one has.
        let (mut n_messages, mut n_lines, mut after_blank, mut has_begun) = (0, 0, true, false);
        loop {
            let start = chunk.bytes.len();
            if start > LONG_BYTES {
                let asked = memory.check(LONG_RECORD, 2 * start as u64);
                asked.map_err(|error| error.at_line(chunk.first_line))?;
            }
            let room = (MAX_RECORD_BYTES + 1).saturating_sub(start) as u64;
            let line = reader.by_ref().take(room).read_until(b'\n', &mut chunk.bytes);
            let n_read = line.map_err(read_error)?;
            if chunk.bytes.len() > MAX_RECORD_BYTES {
                let (limit, got) = (MAX_RECORD_BYTES as u64, chunk.bytes.len() as u64);
                let kind = ErrorKind::TooLarge { what: "a message's size in bytes", limit, got };
                return Err(Error::from(kind).at_line(chunk.first_line));
            }
            let line = &chunk.bytes[start..];
            // Whatever comes first is a message.
            let is_first = !has_begun && !line.trim_ascii().is_empty();
            let begins = is_first || (after_blank && begins_message(line));
            has_begun |= is_first;
            if n_read == 0 || (begins && !is_first && start >= input.chunk_bytes) {
                let rest = chunk.bytes.split_off(start);
                let next = Messages {
                    bytes: rest,
                    first_line: chunk.first_line + n_lines,
                    first_message: chunk.first_message + n_messages,
                };
                let full = std::mem::replace(&mut chunk, next);
                (n_messages, n_lines) = (0, 0);
                if !full.bytes.is_empty() && send(Box::new(full)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if n_read == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            n_messages += u64::from(begins);
            n_lines += 1;
            after_blank = matches!(&chunk.bytes[chunk.bytes.len() - n_read..], b"\n" | b"\r\n");
        }
    }
}

impl Chunk for Messages {
    fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn first_line(&self) -> Option<u64> {
        Some(self.first_line)
    }

    fn parse_bytes(&self) -> u64 {
        4 * self.bytes.len() as u64
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut tally = ChunkTally::default();
        let mut id = NumberedId::new(input.id_prefix);
        // As far as lines have been counted, and the line there.
        let (mut counted, mut line) = (0, self.first_line);
        for (number, (start, message)) in (self.first_message..).zip(messages(&self.bytes)) {
            match read(message, input.options) {
                Ok((text, columns)) => {
                    tally.n_documents += 1;
                    let values = columns.kept(&input.options.keep);
                    let kept = Kept::new(&values, number);
                    emit(Document { id: id.with(number), text: &text, kept })?;
                }
                Err(error) => {
                    line += memchr::memchr_iter(b'\n', &self.bytes[counted..start]).count() as u64;
                    counted = start;
                    tally.bad_record(input.options, error.at_line(line))?;
                }
            }
        }
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(message: &[u8], options: &CorpusOptions) -> Result<String> {
        read(message, options).map(|(text, _)| text)
    }

    fn text(message: &str) -> String {
        text_of(message.as_bytes(), &CorpusOptions::default()).unwrap()
    }

    #[test]
    fn fields_are_columns() {
        let message = "From: =?utf-8?Q?J=C3=B6rg?= <j@x.org>\nTo: a@x.org, B <b@x.org>\nSubject:  cats \n\
            Date: Mon, 4 Mar 2024 10:00:00 +0100\n\nbody\n";
        let options = CorpusOptions::default().keep(crate::corpus::Keep::All);
        let (_, columns) = read(message.as_bytes(), &options).unwrap();
        let expected = [
            ("date", "2024-03-04T10:00:00+01:00"),
            ("from", "J\u{f6}rg <j@x.org>"),
            ("to", "a@x.org; B <b@x.org>"),
            ("subject", "cats"),
        ];
        assert_eq!(columns.kept(&options.keep), expected);
    }

    #[test]
    fn subject_and_body_are_decoded() {
        assert_eq!(
            text(
                "Subject: =?utf-8?Q?Caf=C3=A9?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
                 Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe=\r\n aus K=F6ln\r\n"
            ),
            "Caf\u{e9}\nGr\u{fc}\u{df}e aus K\u{f6}ln"
        );
        let both = "Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n\
            --b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>html</p>\n--b\n\
            Content-Type: application/pdf\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nJVBERi0=\n--b--\n";
        assert_eq!(text(both), "s\nplain");
        let html = "Subject: s\nContent-Type: text/html\n\n<p>html</p>\n";
        assert_eq!(text(html), "s\n<p>html</p>");
    }

    #[test]
    fn quoted_replies_and_signatures_are_left_out_unless_wanted() {
        let message = "Subject: Re: cats\n\nI agree.\n\nOn Monday, Ann wrote:\n> cats purr\n>> really\n\nBye: now\nx\n-- \nBob\nhttp://bob\n";
        assert_eq!(text(message), "Re: cats\nI agree.\n\n\nBye: now\nx");
        let options = CorpusOptions::default().keep_quotes(true);
        let whole = text_of(message.as_bytes(), &options).unwrap();
        assert!(whole.contains("> cats purr") && whole.ends_with("http://bob"), "{whole}");
    }

    #[test]
    fn damaged_messages_are_bad_or_read_as_far_as_they_go() {
        let message = "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nY2F0cw==\n--b--\n";
        for length in 0..message.len() {
            let _ = text_of(&message.as_bytes()[..length], &CorpusOptions::default());
        }
        let deep = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(5_000);
        let _ = text_of(deep.as_bytes(), &CorpusOptions::default());
    }

    #[test]
    fn lines_with_a_sender_and_a_date_begin_messages() {
        for line in [
            "From ann@example.org Mon Jan  1 00:00:00 2024",
            "From - Tue, 02 Jan 2024 9:05:06 +0100\r\n",
            "From ann at example.org  Wed Mar 13 10:11:12 2024",
            "From ???@??? Thu Apr 04 10:11 2024",
            "From MAILER-DAEMON Fri Jul  8 12:08:34 UTC 2011 remote from host",
        ] {
            assert!(begins_message(line.as_bytes()), "{line}");
        }
        for line in [
            "From here on it is text",
            "From May on, we meet at noon",
            "From: a@b Mon Jan  1 00:00:00 2024",
            "From 9:00 to 10:00 in May",
            "From ",
        ] {
            assert!(!begins_message(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_mailbox_is_divided_where_lines_begin_with_from_after_a_blank_one() {
        let mailbox = b"\nFrom a\nSubject: 1\n\n>From the start\nFrom it\n\nFrom b Mon Jan  1 00:00:00 2024\r\nSubject: 2\r\n\r\ny\r\n\r\n\
            From now on it is text\r\n\r\nFrom c Tue Jan  2 00:00:00 2024\nSubject: 3\n";
        let found: Vec<String> = messages(mailbox)
            .map(|(_, message)| text_of(message, &CorpusOptions::default()).unwrap())
            .collect();
        assert_eq!(found, ["1\nFrom the start\nFrom it", "2\ny\n\nFrom now on it is text", "3"]);
    }
}
