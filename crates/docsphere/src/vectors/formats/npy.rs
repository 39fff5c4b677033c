//! NumPy arrays (`.npy`), as far as sparse matrices need them: one-dimensional arrays of numbers,
//! and short strings.
//!
//! A file consists of `\x93NUMPY`, a version, the length of the header, the header (a Python
//! dictionary as text) and the elements. Versions 1 to 3, both byte orders, all integers, booleans
//! and floats of 32 and 64 bits are read.
//!
//! Elements are decoded from a buffer of 64 KiB; nothing is allocated for an element before it has
//! arrived, and memory is checked piece by piece.
//!
//! Reference: NumPy enhancement proposal 1, <https://numpy.org/neps/nep-0001-npy-format.html>.

use std::io::{self, Read, Write};

use super::MATRIX;
use super::lines::excerpt;
use super::numbers::parse_index;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Growing, MemoryLimit};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers of arrays without fields have about 100 bytes; NumPy itself refuses more than 10 000.
const MAX_HEADER_BYTES: usize = 1 << 16;

const BUFFER_BYTES: usize = 1 << 16;

/// The longest string that is read, in bytes.
const MAX_STRING_BYTES: usize = 256;

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Bytes, padded with zeros.
    Bytes,
    /// Four bytes per character, padded with zeros.
    Unicode,
}

/// The header of an array: element type and lengths.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    kind: Kind,
    element_bytes: usize,
    big_endian: bool,
    shape: Vec<u64>,
}

/// An array inside an archive: its name there, its header, and its remaining bytes.
pub(super) struct Array<R> {
    name: &'static str,
    format: &'static str,
    header: Header,
    reader: R,
}

impl<R: Read> Array<R> {
    /// Reads the header. `name` and `format` are for error messages.
    pub(super) fn open(mut reader: R, name: &'static str, format: &'static str) -> Result<Self> {
        let not_an_array =
            |found: String| Error::malformed(format, format!("a NumPy array in {name}"), found);
        let failed = |error: io::Error| read_error(error, name, format);

        let mut start = [0; 8];
        let got = read_up_to(&mut reader, &mut start).map_err(failed)?;
        if !start[..got].starts_with(MAGIC) || got < start.len() {
            return Err(not_an_array(format!("a file that begins {}", excerpt(&start[..got]))));
        }
        let mut length = [0; 4];
        let length_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(not_an_array(format!("version {version} of the .npy format"))),
        };
        reader.read_exact(&mut length[..length_bytes]).map_err(failed)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(not_an_array(format!("a header of {length} bytes")));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text).map_err(failed)?;
        let header = parse_header(&text, name).map_err(|problem| match problem {
            Problem::Syntax => not_an_array(format!("a header {}", excerpt(&text))),
            Problem::Type(what) => {
                let hint = "convert it with .astype(\"float32\")".to_owned();
                ErrorKind::Unsupported { what, hint }.into()
            }
        })?;
        Ok(Array { name, format, header, reader })
    }

    /// The length of a one-dimensional array.
    pub(super) fn len(&self) -> Result<u64> {
        match self.header.shape[..] {
            [length] => Ok(length),
            ref shape => {
                let found = format!("one with {} dimensions", shape.len());
                Err(self.malformed("a one-dimensional array", found))
            }
        }
    }

    /// Reads an array of integers, passing each to `take` with its position.
    pub(super) fn read_integers(mut self, mut take: impl FnMut(u64, i128) -> Result<()>) -> Result<()> {
        let Header { kind, element_bytes, big_endian, .. } = self.header;
        let mut position = 0;
        macro_rules! decode {
            ($type:ty) => {
                self.read_elements(|bytes| {
                    let (elements, _) = bytes.as_chunks();
                    for &element in elements {
                        let number = if big_endian {
                            <$type>::from_be_bytes(element)
                        } else {
                            <$type>::from_le_bytes(element)
                        };
                        take(position, i128::from(number))?;
                        position += 1;
                    }
                    Ok(())
                })
            };
        }
        match (kind, element_bytes) {
            (Kind::Signed, 1) => decode!(i8),
            (Kind::Signed, 2) => decode!(i16),
            (Kind::Signed, 4) => decode!(i32),
            (Kind::Signed, 8) => decode!(i64),
            (Kind::Unsigned, 1) => decode!(u8),
            (Kind::Unsigned, 2) => decode!(u16),
            (Kind::Unsigned, 4) => decode!(u32),
            (Kind::Unsigned, 8) => decode!(u64),
            _ => Err(self.malformed("an array of integers", "another type")),
        }
    }

    /// Reads an array of numbers of any type as f32. Also returns the first number that was too
    /// large.
    pub(super) fn read_floats(mut self, memory: &MemoryLimit) -> Result<Floats> {
        let Header { kind, element_bytes, big_endian, .. } = self.header;
        let (mut values, mut too_large) = (Growing::new(memory, MATRIX), None);
        macro_rules! decode {
            ($type:ty, |$number:ident| $value:expr) => {
                self.read_elements(|bytes| {
                    let (elements, _) = bytes.as_chunks();
                    values.extend(elements.iter().map(|&element| {
                        let $number = if big_endian {
                            <$type>::from_be_bytes(element)
                        } else {
                            <$type>::from_le_bytes(element)
                        };
                        $value
                    }))
                })
            };
        }
        match (kind, element_bytes) {
            (Kind::Bool, 1) => decode!(u8, |number| f32::from(u8::from(number != 0))),
            (Kind::Signed, 1) => decode!(i8, |number| f32::from(number)),
            (Kind::Signed, 2) => decode!(i16, |number| f32::from(number)),
            (Kind::Signed, 4) => decode!(i32, |number| number as f32),
            (Kind::Signed, 8) => decode!(i64, |number| number as f32),
            (Kind::Unsigned, 1) => decode!(u8, |number| f32::from(number)),
            (Kind::Unsigned, 2) => decode!(u16, |number| f32::from(number)),
            (Kind::Unsigned, 4) => decode!(u32, |number| number as f32),
            (Kind::Unsigned, 8) => decode!(u64, |number| number as f32),
            (Kind::Float, 4) => decode!(f32, |number| number),
            (Kind::Float, 8) => self.read_elements(|bytes| {
                for &element in bytes.as_chunks().0 {
                    let number =
                        if big_endian { f64::from_be_bytes(element) } else { f64::from_le_bytes(element) };
                    let value = number as f32;
                    if value.is_infinite() && number.is_finite() && too_large.is_none() {
                        too_large = Some((values.len(), number));
                    }
                    values.push(value)?;
                }
                Ok(())
            }),
            _ => Err(self.malformed("an array of numbers", "strings")),
        }?;
        Ok(Floats { values: values.into_vec(), too_large })
    }

    /// Reads an array that is a single string.
    pub(super) fn read_string(mut self) -> Result<String> {
        let Header { kind, element_bytes, big_endian, ref shape, .. } = self.header;
        let is_string =
            matches!(kind, Kind::Bytes | Kind::Unicode) && shape.iter().all(|&length| length == 1);
        if !is_string || element_bytes > MAX_STRING_BYTES {
            return Err(self.malformed("a short string", "something else"));
        }
        self.header.shape = vec![1];
        let mut text = Vec::new();
        self.read_elements(|bytes| {
            text.extend_from_slice(bytes);
            Ok(())
        })?;
        let text = match kind {
            Kind::Unicode => text
                .as_chunks()
                .0
                .iter()
                .map(|&unit| if big_endian { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) })
                .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
            _ => String::from_utf8_lossy(&text).into_owned(),
        };
        Ok(text.trim_end_matches('\0').to_owned())
    }

    /// Passes on the elements, many at a time, and checks that nothing follows them.
    fn read_elements(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Array { name, format, .. } = *self;
        let n_elements = self.len()?;
        let element_bytes = self.header.element_bytes;
        let mut buffer = vec![0; BUFFER_BYTES / element_bytes * element_bytes];
        let mut left = n_elements;
        while left > 0 {
            let now = left.min((buffer.len() / element_bytes) as u64);
            let chunk = &mut buffer[..now as usize * element_bytes];
            let got = read_up_to(&mut self.reader, chunk).map_err(|error| read_error(error, name, format))?;
            if got < chunk.len() {
                let found = n_elements - left + (got / element_bytes) as u64;
                return Err(self.malformed(format!("{n_elements} elements"), found.to_string()));
            }
            take(chunk)?;
            left -= now;
        }
        // Reading to the end also makes the archive verify its checksum.
        match read_up_to(&mut self.reader, &mut [0]).map_err(|error| read_error(error, name, format))? {
            0 => Ok(()),
            _ => Err(self.malformed(format!("{n_elements} elements"), "more")),
        }
    }

    fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(self.format, format!("{} in {}", expected.into(), self.name), found)
    }
}

/// Numbers read as f32.
pub(super) struct Floats {
    pub(super) values: Vec<f32>,
    /// Position and value of the first number that is finite, but not as an f32.
    pub(super) too_large: Option<(usize, f64)>,
}

/// Fills the buffer as far as the data goes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// An error of the system, or of the archive that contains the array.
fn read_error(error: io::Error, name: &'static str, format: &'static str) -> Error {
    if error.raw_os_error().is_some() {
        Error::io("read", error)
    } else {
        Error::malformed(format, format!("undamaged data in {name}"), error.to_string())
    }
}

/// Why a header is rejected.
enum Problem {
    Syntax,
    Type(String),
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }`, with the keys in any order.
fn parse_header(text: &[u8], name: &str) -> Result<Header, Problem> {
    let mut literal = Literal { rest: text };
    let (mut descr, mut shape) = (None, None);
    literal.expect(b'{')?;
    while !literal.accept(b'}') {
        let key = literal.string()?;
        literal.expect(b':')?;
        match key {
            b"descr" if literal.peek() == Some(b'[') => {
                return Err(Problem::Type(format!("an array of records in {name}")));
            }
            b"descr" => descr = Some(literal.string()?),
            b"shape" => shape = Some(literal.tuple()?),
            // The memory order of a matrix; irrelevant for a one-dimensional array.
            b"fortran_order" => literal.word()?,
            _ => return Err(Problem::Syntax),
        }
        if !literal.accept(b',') {
            literal.expect(b'}')?;
            break;
        }
    }
    let (Some(descr), Some(shape), None) = (descr, shape, literal.peek()) else {
        return Err(Problem::Syntax);
    };
    let (kind, element_bytes, big_endian) = parse_type(descr)
        .ok_or_else(|| Problem::Type(format!("an array of type {} in {name}", excerpt(descr))))?;
    Ok(Header { kind, element_bytes, big_endian, shape })
}

/// The element type from NumPy's three parts: byte order, kind, size.
fn parse_type(descr: &[u8]) -> Option<(Kind, usize, bool)> {
    let (&order, rest) = descr.split_first()?;
    let (&kind, size) = rest.split_first()?;
    let size: usize = str::from_utf8(size).ok()?.parse().ok()?;
    let (kind, element_bytes, allowed) = match kind {
        b'b' => (Kind::Bool, size, size == 1),
        b'i' => (Kind::Signed, size, matches!(size, 1 | 2 | 4 | 8)),
        b'u' => (Kind::Unsigned, size, matches!(size, 1 | 2 | 4 | 8)),
        b'f' => (Kind::Float, size, matches!(size, 4 | 8)),
        b'S' => (Kind::Bytes, size, (1..=MAX_STRING_BYTES).contains(&size)),
        b'U' => (Kind::Unicode, size.checked_mul(4)?, (1..=MAX_STRING_BYTES / 4).contains(&size)),
        _ => return None,
    };
    let order_is_known = match order {
        b'<' | b'>' => true,
        b'|' => element_bytes == 1 || kind == Kind::Bytes,
        _ => false,
    };
    (allowed && order_is_known).then_some((kind, element_bytes, order == b'>'))
}

/// The few Python literals that occur in a header. White space may precede each.
struct Literal<'a> {
    rest: &'a [u8],
}

impl<'a> Literal<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.accept(byte) { Ok(()) } else { Err(Problem::Syntax) }
    }

    fn take_while(&mut self, allowed: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| !allowed(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// A string in single or double quotes. Escapes do not occur in headers.
    fn string(&mut self) -> Result<&'a [u8], Problem> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"')).ok_or(Problem::Syntax)?;
        self.expect(quote)?;
        let text = self.take_while(|byte| byte != quote);
        self.expect(quote)?;
        Ok(text)
    }

    /// `True` or `False`.
    fn word(&mut self) -> Result<(), Problem> {
        self.peek();
        match self.take_while(|byte| byte.is_ascii_alphabetic()) {
            b"True" | b"False" => Ok(()),
            _ => Err(Problem::Syntax),
        }
    }

    /// `()`, `(3,)`, `(3, 4)`. Python 2 wrote `(3L,)`.
    fn tuple(&mut self) -> Result<Vec<u64>, Problem> {
        let mut numbers = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            self.peek();
            let digits = self.take_while(|byte| byte.is_ascii_digit());
            numbers.push(parse_index(digits).ok_or(Problem::Syntax)?);
            self.accept(b'L');
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(numbers)
    }
}

/// Writes a header of version 1; the elements follow it.
pub(super) fn write_header(out: &mut impl Write, descr: &str, shape: &str) -> io::Result<()> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The elements start at a multiple of 64, and the header ends in a line feed.
    let total = (MAGIC.len() + 4 + dictionary.len() + 1).next_multiple_of(64);
    let length = (total - MAGIC.len() - 4) as u16;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    writeln!(out, "{dictionary:width$}", width = usize::from(length) - 1)
}

/// Writes a one-dimensional array of `N`-byte elements.
pub(super) fn write_array<const N: usize>(
    out: &mut impl Write,
    descr: &str,
    elements: impl ExactSizeIterator<Item = [u8; N]>,
) -> io::Result<()> {
    write_header(out, descr, &format!("({},)", elements.len()))?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    for element in elements {
        if buffer.len() + N > BUFFER_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(&element);
    }
    out.write_all(&buffer)
}
