//! Text in any encoding, as UTF-8.
//!
//! The encoding of a stream is, in this order:
//!
//! 1. the one of its byte order mark (UTF-8 or UTF-16), which is dropped;
//! 2. the one that the caller names ([`CorpusOptions::encoding`](super::CorpusOptions::encoding));
//! 3. UTF-16 if the first 1,024 bytes are text in it ([`utf16_without_mark`]);
//! 4. found from the first byte above ASCII in the first 16 MiB, and the 64 KiB that begin there:
//!    UTF-8 if these have more characters of UTF-8 than faults, otherwise what `chardetng` guesses;
//!    ISO-2022-JP if an escape sequence of it comes before, and these bytes have no fault in it;
//! 5. UTF-8.
//!
//! The rules depend on the bytes alone, so several processes that read parts of a file agree: the
//! process that divides it finds the encoding, and sends it along.
//!
//! # Cost
//!
//! UTF-8 is passed on in place: until the first byte above ASCII is found, bytes are compared with
//! 0x80, many per cycle; after it, nothing is done. Other encodings are decoded by the thread that
//! cuts, at hundreds of megabytes per second. A sequence that the encoding does not have becomes
//! the byte 0xFF, which is not UTF-8 either, so that the document is counted as damaged.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use crate::compression::read_error;
use crate::error::{ErrorKind, Result};

/// Bytes in which the first one above ASCII is searched.
const SEARCHED_BYTES: u64 = 1 << 24;

/// Bytes from which an encoding is guessed.
const WINDOW_BYTES: u64 = 1 << 16;

/// ASCII before the window that is shown to the detector, which looks at neighbours of letters.
const CONTEXT_BYTES: usize = 64;

/// Bytes decoded at a time.
const DECODED_BYTES: usize = 1 << 16;

/// What is known of the encoding of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// The encoding that was named, or found earlier.
    pub(super) encoding: Option<&'static Encoding>,
    /// Whether the stream begins where its file does.
    pub(super) is_start: bool,
}

/// Encodings that were guessed, with the number of files of each.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<BTreeMap<&'static str, u64>>);

impl Guesses {
    pub(super) fn add(&self, encoding: &'static Encoding) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(encoding.name()).or_default() += 1;
    }

    /// The number of files, and the encoding that comes first in the alphabet.
    pub(super) fn total(&self) -> (u64, Option<&'static str>) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.values().sum(), counts.keys().next().copied())
    }
}

/// The encoding of this name, as web pages name encodings.
pub(super) fn named(name: &str) -> Option<&'static Encoding> {
    // A stream without a byte order mark that is said to be UTF-16 is little endian, as on the web.
    Encoding::for_label(name.as_bytes()).filter(|encoding| *encoding != encoding_rs::REPLACEMENT)
}

/// Whether every byte that is a line feed in ASCII is a line feed, and every line can be decoded on
/// its own.
pub(super) fn has_lines(encoding: &'static Encoding) -> bool {
    encoding.is_ascii_compatible() && encoding != ISO_2022_JP
}

/// Bytes by which UTF-16 without a mark is found.
const START_BYTES: usize = 1 << 10;

/// Bytes that a start must have to tell whether it is UTF-16, unless it begins with ASCII in it.
const MIN_UTF16_BYTES: usize = 32;

/// UTF-16 without a byte order mark: the start of the file has no control characters in it, at
/// least one character of ASCII (a blank, a line end), and letters otherwise. ASCII with a zero
/// here and there would pass for Chinese; so bytes that are ASCII must have a zero in every other
/// place, and bytes that are words in ASCII or valid UTF-8 are no UTF-16.
fn utf16_without_mark(start: &[u8]) -> Option<&'static Encoding> {
    match *start {
        [1..0x80, 0, 1..0x80, 0, ..] => return Some(UTF_16LE),
        [0, 1..0x80, 0, 1..0x80, ..] => return Some(UTF_16BE),
        _ => {}
    }
    utf16_text(start)
}

/// The kind of UTF-16 in which the start of a file is text, if it is long enough to tell.
fn utf16_text(start: &[u8]) -> Option<&'static Encoding> {
    let start = &start[..start.len().min(START_BYTES) & !1];
    if start.len() < MIN_UTF16_BYTES || !start.contains(&0) {
        return None;
    }
    if has_words(start) || is_utf8(start) {
        return None;
    }
    let is_plain = |byte: &u8| matches!(byte, 0 | b'\t' | b'\n' | b'\r' | 0x20..0x7f);
    let is_ascii = start.iter().all(is_plain);
    let of = |unit: fn([u8; 2]) -> u16| {
        let units = start.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let (mut n_ascii, mut n_letters, mut n_others) = (0, 0, 0);
        for character in char::decode_utf16(units) {
            match character {
                Ok('\t' | '\n' | '\r' | ' '..='~') => n_ascii += 1,
                Ok(character) if character.is_control() => return None,
                Ok('\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}'..='\u{ffff}') => {
                    return None;
                }
                Ok('\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}') => {
                    n_letters += 1
                }
                Ok(character) if character.is_alphanumeric() => n_letters += 1,
                Ok(_) => n_others += 1,
                // The last may be cut off.
                Err(_) => n_others += 2,
            }
        }
        let is_text = n_ascii > 0 && 10 * n_others <= n_ascii + n_letters;
        (is_text && (!is_ascii || n_letters == 0)).then_some(n_ascii)
    };
    match (of(u16::from_le_bytes), of(u16::from_be_bytes)) {
        (None, None) => None,
        (little, big) if little >= big => Some(UTF_16LE),
        _ => Some(UTF_16BE),
    }
}

/// Whether a letter and a blank of ASCII share one of 16 pairs of bytes or more: hardly a character
/// of UTF-16 has these two bytes.
fn has_words(bytes: &[u8]) -> bool {
    let is_end =
        |pair: &&[u8]| matches!(**pair, [b' ', letter] | [letter, b' '] if letter.is_ascii_alphabetic());
    16 * bytes.chunks_exact(2).filter(is_end).count() >= bytes.len() / 2
}

/// Whether bytes are UTF-8 with several characters above ASCII. The last one may be cut off.
fn is_utf8(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_some() => return false,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().filter(|character| !character.is_ascii()).nth(1).is_some()
}

/// A text may have one control character in so many bytes: old programs left some behind.
const BYTES_PER_CONTROL: usize = 32;

/// First bytes of a file, in which binary formats have several control characters.
const MAGIC_BYTES: usize = 16;

/// Whether bytes have more control characters than a text has. UTF-16 has zeros, beside its ASCII.
pub(super) fn is_binary(sample: &[u8]) -> bool {
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    let n_controls = |bytes: &[u8]| bytes.iter().filter(|byte| is_control(byte)).count();
    match sample {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return false,
        _ if utf16_text(sample).is_some() => return false,
        // Too short to tell.
        [1..0x80, 0, 1..0x80, 0, ..] | [0, 1..0x80, 0, 1..0x80, ..] if sample.len() < MIN_UTF16_BYTES => {
            return sample.iter().any(|byte| *byte != 0 && is_control(byte));
        }
        _ => {}
    }
    n_controls(&sample[..sample.len().min(MAGIC_BYTES)]) > 1
        || n_controls(sample) * BYTES_PER_CONTROL > sample.len()
}

/// Fewer bytes than this are too few to tell that a list of documents is none.
const MIN_BINARY_BYTES: usize = 512;

/// Refuses a list of documents that is no text.
fn check_text(start: &[u8]) -> Result<()> {
    if start.len() < MIN_BINARY_BYTES || !is_binary(start) {
        return Ok(());
    }
    let what = "binary data as text".to_owned();
    let hint = "convert the file to text; if it is text, name its encoding".to_owned();
    Err(ErrorKind::Unsupported { what, hint }.into())
}

/// The encoding that the first bytes of a file tell, and the length of its mark. Bytes without a
/// mark tell nothing if the encoding was named.
fn marked(start: &[u8], is_named: bool) -> Result<Option<(&'static Encoding, usize)>> {
    Ok(match *start {
        [0xef, 0xbb, 0xbf, ..] => Some((UTF_8, 3)),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            let what = "text in UTF-32".to_owned();
            let hint = "convert the file to UTF-8, for example with iconv -f UTF-32 -t UTF-8".to_owned();
            return Err(ErrorKind::Unsupported { what, hint }.into());
        }
        [0xff, 0xfe, ..] => Some((UTF_16LE, 2)),
        [0xfe, 0xff, ..] => Some((UTF_16BE, 2)),
        _ if is_named => None,
        _ => utf16_without_mark(start).map(|encoding| (encoding, 0)),
    })
}

/// The stream as UTF-8, without a byte order mark. Adds to `guesses` if it guesses the encoding.
pub(super) fn decoded(
    mut reader: Box<dyn BufRead>,
    known: Known,
    guesses: &Arc<Guesses>,
) -> Result<Box<dyn BufRead>> {
    let mut encoding = known.encoding;
    if known.is_start {
        let mut start = Vec::new();
        reader.by_ref().take(START_BYTES as u64).read_to_end(&mut start).map_err(read_error)?;
        if let Some((marked, length)) = marked(&start, encoding.is_some())? {
            encoding = Some(marked);
            start.drain(..length);
        }
        if encoding.is_none() {
            check_text(&start)?;
        }
        reader = Box::new(Cursor::new(start).chain(reader));
    }
    Ok(match encoding {
        Some(encoding) if encoding == UTF_8 => reader,
        Some(encoding) => Box::new(Decoded::new(reader, encoding)),
        None => Box::new(Found::new(reader, guesses)),
    })
}

/// The encoding of a file that is read from its beginning.
pub(super) fn find(
    mut reader: Box<dyn BufRead>,
    named: Option<&'static Encoding>,
) -> Result<&'static Encoding> {
    let mut start = Vec::new();
    reader.by_ref().take(START_BYTES as u64).read_to_end(&mut start).map_err(read_error)?;
    if let Some(encoding) = marked(&start, named.is_some())?.map(|(encoding, _)| encoding).or(named) {
        return Ok(encoding);
    }
    let mut stream = Found::new(Box::new(Cursor::new(start).chain(reader)), &Arc::default());
    while stream.n_searched.is_some() {
        let length = stream.fill_buf().map_err(read_error)?.len();
        if length == 0 {
            break;
        }
        stream.consume(length);
    }
    Ok(stream.encoding)
}

/// A stream whose encoding is found when the first byte above ASCII arrives.
struct Found {
    inner: Box<dyn BufRead>,
    /// Bytes in which the first one above ASCII is still searched; `None` once that is over.
    n_searched: Option<u64>,
    /// Bytes at the beginning of the buffer that are known to be ASCII.
    n_ascii: usize,
    /// The last bytes passed on.
    context: Vec<u8>,
    /// The encoding, as far as it is known.
    encoding: &'static Encoding,
    /// Whether an escape character was found: in ISO-2022-JP, the first one begins a sequence.
    has_escape: bool,
    guesses: Arc<Guesses>,
}

impl Found {
    fn new(inner: Box<dyn BufRead>, guesses: &Arc<Guesses>) -> Self {
        let (n_searched, guesses) = (Some(SEARCHED_BYTES), Arc::clone(guesses));
        Found {
            inner,
            n_searched,
            n_ascii: 0,
            context: Vec::new(),
            encoding: UTF_8,
            has_escape: false,
            guesses,
        }
    }

    /// Decides by the bytes that begin with the first one above ASCII, or with the first escape
    /// character.
    fn decide(&mut self) -> io::Result<()> {
        let mut window = Vec::new();
        self.inner.by_ref().take(WINDOW_BYTES).read_to_end(&mut window)?;
        let is_whole = (window.len() as u64) < WINDOW_BYTES;
        let is_escape = window[0] == ESCAPE;
        let encoding = match is_escape {
            true => is_iso_2022_jp(&window, is_whole).then_some(ISO_2022_JP),
            false => guess(&self.context, &window, is_whole),
        };
        let inner = std::mem::replace(&mut self.inner, Box::new(io::empty()));
        let inner: Box<dyn BufRead> = Box::new(Cursor::new(window).chain(inner));
        self.inner = match encoding {
            None => inner,
            Some(encoding) => {
                self.encoding = encoding;
                self.guesses.add(encoding);
                Box::new(Decoded::new(inner, encoding))
            }
        };
        self.has_escape |= is_escape;
        if !is_escape || encoding.is_some() {
            self.n_searched = None;
        }
        Ok(())
    }
}

const ESCAPE: u8 = 0x1b;

/// Whether bytes begin with an escape sequence of ISO-2022-JP, and have no fault in it.
fn is_iso_2022_jp(window: &[u8], is_whole: bool) -> bool {
    let begins =
        [&b"\x1b$B"[..], b"\x1b$@", b"\x1b(J", b"\x1b(I"].iter().any(|start| window.starts_with(start));
    let mut decoded = String::with_capacity(3 * window.len() + 16);
    let mut decoder = ISO_2022_JP.new_decoder_without_bom_handling();
    begins && {
        let (result, ..) = decoder.decode_to_string_without_replacement(window, &mut decoded, is_whole);
        result == DecoderResult::InputEmpty
    }
}

impl BufRead for Found {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Some(n_searched) = self.n_searched else { return self.inner.fill_buf() };
        if self.n_ascii == 0 {
            let bytes = self.inner.fill_buf()?;
            let length = bytes.len().min(usize::try_from(n_searched).unwrap_or(usize::MAX));
            let bytes = &bytes[..length];
            self.n_ascii = if bytes.is_ascii() { bytes.len() } else { Encoding::ascii_valid_up_to(bytes) };
            if !self.has_escape {
                self.n_ascii = memchr::memchr(ESCAPE, &bytes[..self.n_ascii]).unwrap_or(self.n_ascii);
            }
            if self.n_ascii == 0 && length > 0 {
                self.decide()?;
                // If an escape character was no reason for another encoding, go on.
                return self.fill_buf();
            }
            let context = self.n_ascii.saturating_sub(CONTEXT_BYTES);
            self.context.clear();
            self.context.extend_from_slice(&bytes[context..self.n_ascii]);
        }
        Ok(&self.inner.fill_buf()?[..self.n_ascii])
    }

    fn consume(&mut self, length: usize) {
        self.inner.consume(length);
        if let Some(n_searched) = self.n_searched {
            self.n_ascii -= length;
            self.n_searched = n_searched.checked_sub(length as u64).filter(|&left| left > 0);
        }
    }
}

impl Read for Found {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_searched.is_none() {
            return self.inner.read(buffer);
        }
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

/// The encoding of bytes that begin above ASCII; `None` for UTF-8.
fn guess(context: &[u8], window: &[u8], is_whole: bool) -> Option<&'static Encoding> {
    let (mut n_characters, mut n_faults) = (0, 0);
    let mut rest = window.len();
    for chunk in window.utf8_chunks() {
        n_characters += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        rest -= chunk.valid().len() + chunk.invalid().len();
        // A character that the window cuts off is no fault.
        n_faults += usize::from(!chunk.invalid().is_empty() && (rest > 0 || is_whole));
    }
    if n_faults == 0 || n_characters > n_faults {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(context, false);
    detector.feed(window, is_whole);
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// A stream in another encoding, as UTF-8.
struct Decoded {
    inner: Box<dyn BufRead>,
    decoder: Decoder,
    decoded: Vec<u8>,
    /// The part of it that has not been read.
    unread: Range<usize>,
    is_done: bool,
}

impl Decoded {
    fn new(inner: Box<dyn BufRead>, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_without_bom_handling();
        Decoded { inner, decoder, decoded: vec![0; DECODED_BYTES], unread: 0..0, is_done: false }
    }
}

impl BufRead for Decoded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.unread.is_empty() && !self.is_done {
            let bytes = self.inner.fill_buf()?;
            let is_last = bytes.is_empty();
            // One byte is left free, for a fault.
            let room = self.decoded.len() - 1;
            let (result, n_read, n_written) =
                self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.decoded[..room], is_last);
            self.inner.consume(n_read);
            self.unread = 0..n_written;
            match result {
                DecoderResult::InputEmpty => self.is_done = is_last,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    self.decoded[n_written] = 0xff;
                    self.unread.end += 1;
                }
            }
        }
        Ok(&self.decoded[self.unread.clone()])
    }

    fn consume(&mut self, length: usize) {
        self.unread.start += length;
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives `step` bytes at a time.
    fn slow(bytes: &[u8], step: usize) -> Box<dyn BufRead> {
        Box::new(io::BufReader::with_capacity(step, Cursor::new(bytes.to_vec())))
    }

    fn text(bytes: &[u8], named: Option<&str>) -> String {
        let known = Known { encoding: named.map(|name| super::named(name).unwrap()), is_start: true };
        let mut texts = Vec::new();
        for step in [1, 3, 1000] {
            let mut text = Vec::new();
            let guesses = Arc::default();
            decoded(slow(bytes, step), known, &guesses).unwrap().read_to_end(&mut text).unwrap();
            texts.push(String::from_utf8_lossy(&text).into_owned());
            let encoding = find(slow(bytes, step), known.encoding).unwrap();
            let is_guess = named.is_none() && encoding != UTF_8 && !bytes.contains(&0);
            assert_eq!(guesses.total(), (u64::from(is_guess), is_guess.then_some(encoding.name())));
        }
        texts.dedup();
        assert_eq!(texts.len(), 1, "{texts:?}");
        texts.remove(0)
    }

    #[test]
    fn every_encoding_becomes_utf_8() {
        assert_eq!(text(b"", None), "");
        assert_eq!(text("caf\u{e9} \u{6771}\u{4eac}".as_bytes(), None), "caf\u{e9} \u{6771}\u{4eac}");
        assert_eq!(text(b"\xef\xbb\xbfa", None), "a");
        assert_eq!(text(b"\xff\xfea\0\xe9\0", None), "a\u{e9}");
        assert_eq!(text(b"\xfe\xff\0a\0\xe9", Some("latin1")), "a\u{e9}");
        assert_eq!(text(b"a\0b\0\n\0", None), "ab\n");
        assert_eq!(text(b"\0a\0b", None), "ab");
        let (bytes, ..) = ISO_2022_JP.encode("a \u{6771}\u{4eac}\u{306f} b\n\u{65e5}\u{672c}");
        assert_eq!(text(&bytes, None), "a \u{6771}\u{4eac}\u{306f} b\n\u{65e5}\u{672c}");
        // Colours of a terminal are no Japanese, and do not end the search.
        assert_eq!(
            text(b"\x1b[31mred\x1b[0m caf\xe9 cr\xe8me", None),
            "\u{1b}[31mred\u{1b}[0m caf\u{e9} cr\u{e8}me"
        );
        for original in [
            "\u{201c}Quoted\u{201d} text \u{2019}with\u{2019} marks, and more",
            "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43a}\u{430}\u{43a} \u{434}\u{435}\u{43b}\u{430} \u{441}\u{435}\u{433}\u{43e}\u{434}\u{43d}\u{44f}",
            "\u{6771}\u{4eac}\u{306f}\u{65e5}\u{672c}\u{306e}\u{9996}\u{90fd}\u{3067}\u{3059}\u{3002}\n\u{6771}\u{4eac}\u{306f}\u{65e5}\u{672c}\u{306e}",
        ] {
            for encode in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes: Vec<u8> = original.encode_utf16().flat_map(encode).collect();
                assert_eq!(text(&bytes, None), original);
            }
        }
        // ASCII with a zero, and bytes without a meaning, are not UTF-16.
        for bytes in
            [&b"a text of more than thirty-two bytes\0with a zero in it"[..], &[7, 0, 255].repeat(40)]
        {
            assert_eq!(utf16_without_mark(bytes), None);
        }
        // Nor are tables of ASCII or UTF-8 with zeros and other control characters.
        for record in [
            "0,cats purr softly at night\0\u{1},0\0\n",
            "1,\u{441}\u{43e}\u{431}\u{430}\u{43a}\u{430} \u{438}\0\u{1},\u{44f}\n",
        ] {
            for shift in ["", "x"] {
                assert_eq!(utf16_without_mark(format!("{shift}{}", record.repeat(20)).as_bytes()), None);
            }
        }
        let german = "Die Gr\u{f6}\u{df}e der M\u{fc}hle, sch\u{f6}ne Gr\u{fc}\u{df}e \u{20ac}";
        let (bytes, ..) = encoding_rs::WINDOWS_1252.encode(german);
        assert_eq!(text(&bytes, None), german);
        let russian = "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43a}\u{430}\u{43a} \u{434}\u{435}\u{43b}\u{430} \u{441}\u{435}\u{433}\u{43e}\u{434}\u{43d}\u{44f}";
        for encoding in [encoding_rs::WINDOWS_1251, encoding_rs::KOI8_R] {
            let (bytes, ..) = encoding.encode(russian);
            assert_eq!(text(&bytes, None), russian, "{}", encoding.name());
        }
        let japanese = "\u{6771}\u{4eac}\u{306f}\u{65e5}\u{672c}\u{306e}\u{9996}\u{90fd}\u{3067}\u{3059}";
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(japanese);
        assert_eq!(text(&bytes, None), japanese);
        assert_eq!(text(&bytes, Some("shift_jis")), japanese);
    }

    #[test]
    fn damage_stays_visible() {
        // UTF-8 with a few faults stays UTF-8.
        assert_eq!(text("\u{e9}\u{e9}\u{e9}".as_bytes(), Some("utf-8")), "\u{e9}\u{e9}\u{e9}");
        assert_eq!(text(b"\xc3\xa9\xc3\xa9\xff", None), "\u{e9}\u{e9}\u{fffd}");
        // A lone first byte of two.
        assert_eq!(text(b"a\x81", Some("shift_jis")), "a\u{fffd}");
        assert_eq!(text(b"\xff\xfea\0b", None), "a\u{fffd}");
    }

    #[test]
    fn utf_32_is_refused_with_advice() {
        let known = Known { encoding: None, is_start: true };
        let refused = decoded(slow(b"\xff\xfe\0\0", 4), known, &Arc::default());
        let message = refused.err().unwrap().to_string();
        assert_eq!(
            message,
            "text in UTF-32 is not supported; convert the file to UTF-8, for example with iconv -f UTF-32 -t UTF-8"
        );
    }

    #[test]
    fn a_character_on_the_edge_of_the_window_is_no_fault() {
        let text = format!("{}\u{6771}", "\u{e9}".repeat(WINDOW_BYTES as usize / 2 - 1));
        assert_eq!(guess(b"", &text.as_bytes()[..WINDOW_BYTES as usize], false), None);
        // Only the first bytes are searched.
        let late = [vec![b'a'; SEARCHED_BYTES as usize], vec![0xe9; 9]].concat();
        assert_eq!(find(slow(&late, 1 << 18), None).unwrap(), UTF_8);
        assert_ne!(find(slow(&late[1..], 1 << 18), None).unwrap(), UTF_8);
    }

    #[test]
    fn binary_data_is_no_list_of_texts() {
        let read = |bytes: Vec<u8>, encoding| {
            let known = Known { encoding, is_start: true };
            decoded(Box::new(Cursor::new(bytes)), known, &Arc::default()).map(drop)
        };
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let noise: Vec<u8> = (0..4096).map(|_| byte()).collect();
        let message = read(noise.clone(), None).unwrap_err().to_string();
        assert!(message.starts_with("binary data as text is not supported"), "{message}");
        assert!(read(noise, Some(encoding_rs::WINDOWS_1252)).is_ok(), "its encoding was named");
        // Old programs left some control characters behind.
        assert!(read("cats purr\u{1} softly, all day long\n".repeat(100).into_bytes(), None).is_ok());
        assert!(read(vec![7; 100], None).is_ok(), "too short to tell");
    }
}
