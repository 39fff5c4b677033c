//! Thrift's compact protocol, in which Parquet writes its headers.
//!
//! Reads from bytes in memory and allocates nothing, so a damaged length costs no memory. Structs
//! are read field by field; unused fields are skipped.

use super::{Fault, damaged};

/// The minimum size of a struct in a list.
const MIN_STRUCT_BYTES: u64 = 4;

/// Maximum nesting of structs and lists. Parquet's own headers need less than ten.
const MAX_DEPTH: usize = 32;

/// Why a value could not be read.
#[derive(Debug, PartialEq)]
pub(super) enum ThriftFault {
    /// The bytes end too early.
    End,
    /// What was found instead.
    Bad(&'static str),
}

impl From<ThriftFault> for Fault {
    fn from(fault: ThriftFault) -> Self {
        let found = match fault {
            ThriftFault::End => "one that is cut off",
            ThriftFault::Bad(found) => found,
        };
        damaged("an undamaged header", found)
    }
}

type Result<T> = std::result::Result<T, ThriftFault>;

/// The type of a value, by its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kind(u8);

impl Kind {
    const TRUE: Kind = Kind(1);
    const FALSE: Kind = Kind(2);
    const BYTE: Kind = Kind(3);
    const I16: Kind = Kind(4);
    const I64: Kind = Kind(6);
    const DOUBLE: Kind = Kind(7);
    const BINARY: Kind = Kind(8);
    const LIST: Kind = Kind(9);
    const SET: Kind = Kind(10);
    const MAP: Kind = Kind(11);
    const STRUCT: Kind = Kind(12);
    const UUID: Kind = Kind(13);
}

/// A field of a struct; its value comes next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) id: i16,
    kind: Kind,
}

/// The fields of a struct read so far. Ids are stored as differences.
#[derive(Default)]
pub(super) struct Fields {
    last_id: i16,
}

/// A reader and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    fn n_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(ThriftFault::End)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, n_bytes: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(n_bytes).ok().and_then(|n_bytes| rest.get(..n_bytes));
        let taken = taken.ok_or(ThriftFault::End)?;
        self.at += taken.len();
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ThriftFault::Bad("a number of more than 64 bits"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field of a struct; `None` at its end.
    pub(super) fn next_field(&mut self, fields: &mut Fields) -> Result<Option<Field>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let id = match head >> 4 {
            0 => {
                i16::try_from(self.zigzag()?).map_err(|_| ThriftFault::Bad("a field number out of range"))?
            }
            difference => fields
                .last_id
                .checked_add(i16::from(difference))
                .ok_or(ThriftFault::Bad("a field number out of range"))?,
        };
        fields.last_id = id;
        Ok(Some(Field { id, kind: Kind(head & 0x0f) }))
    }

    /// The value of an integer field.
    pub(super) fn integer(&mut self, field: Field) -> Result<i64> {
        match field.kind {
            Kind::BYTE => Ok(i64::from(self.byte()? as i8)),
            Kind(kind) if (Kind::I16.0..=Kind::I64.0).contains(&kind) => self.zigzag(),
            _ => Err(ThriftFault::Bad("a field that should be an integer and is not")),
        }
    }

    /// The value of a boolean field.
    pub(super) fn boolean(&mut self, field: Field) -> Result<bool> {
        match field.kind {
            Kind::TRUE => Ok(true),
            Kind::FALSE => Ok(false),
            _ => Err(ThriftFault::Bad("a field that should be a truth value and is not")),
        }
    }

    /// The value of a field of bytes or text.
    pub(super) fn binary(&mut self, field: Field) -> Result<&'a [u8]> {
        if field.kind != Kind::BINARY {
            return Err(ThriftFault::Bad("a field that should be a text and is not"));
        }
        let n_bytes = self.varint()?;
        self.take(n_bytes)
    }

    /// Begins a struct field.
    pub(super) fn structure(&mut self, field: Field) -> Result<Fields> {
        match field.kind {
            Kind::STRUCT => Ok(Fields::default()),
            _ => Err(ThriftFault::Bad("a field that should be a struct and is not")),
        }
    }

    /// Begins a field that is a list of structs, and returns their number. Each must take at least
    /// [`MIN_STRUCT_BYTES`] of the remaining bytes, as every meaningful struct does: so the decoded
    /// data is a small multiple of their bytes.
    pub(super) fn structures(&mut self, field: Field) -> Result<u64> {
        if field.kind != Kind::LIST {
            return Err(ThriftFault::Bad("a field that should be a list and is not"));
        }
        let (kind, length) = self.list_head()?;
        if kind != Kind::STRUCT && length > 0 {
            return Err(ThriftFault::Bad("a list of something else than structs"));
        }
        if length.saturating_mul(MIN_STRUCT_BYTES) > self.n_left() as u64 {
            return Err(ThriftFault::Bad("a list of more structs than there are bytes for"));
        }
        Ok(length)
    }

    fn list_head(&mut self) -> Result<(Kind, u64)> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        if length > (self.bytes.len() - self.at) as u64 {
            return Err(ThriftFault::End);
        }
        Ok((Kind(head & 0x0f), length))
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, field: Field) -> Result<()> {
        match field.kind {
            Kind::TRUE | Kind::FALSE => Ok(()),
            kind => self.skip_value(kind, 0),
        }
    }

    fn skip_value(&mut self, kind: Kind, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(ThriftFault::Bad("one that is nested too deeply"));
        }
        match kind {
            // In lists and maps, booleans take one byte.
            Kind::TRUE | Kind::FALSE | Kind::BYTE => self.byte().map(|_| ()),
            Kind(kind) if (Kind::I16.0..=Kind::I64.0).contains(&kind) => self.varint().map(|_| ()),
            Kind::DOUBLE => self.take(8).map(|_| ()),
            Kind::UUID => self.take(16).map(|_| ()),
            Kind::BINARY => {
                let n_bytes = self.varint()?;
                self.take(n_bytes).map(|_| ())
            }
            Kind::LIST | Kind::SET => {
                let (kind, length) = self.list_head()?;
                (0..length).try_for_each(|_| self.skip_value(kind, depth + 1))
            }
            Kind::MAP => {
                let length = self.varint()?;
                if length == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                (0..length).try_for_each(|_| {
                    self.skip_value(Kind(kinds >> 4), depth + 1)?;
                    self.skip_value(Kind(kinds & 0x0f), depth + 1)
                })
            }
            Kind::STRUCT => {
                let mut fields = Fields::default();
                while let Some(field) = self.next_field(&mut fields)? {
                    if !matches!(field.kind, Kind::TRUE | Kind::FALSE) {
                        self.skip_value(field.kind, depth + 1)?;
                    }
                }
                Ok(())
            }
            _ => Err(ThriftFault::Bad("a type that there is not")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 1: the integer -3; field 2: true; field 20: the text "ab"; field 21: a list of two
    /// structs with an integer each.
    const STRUCT: [u8; 19] =
        [0x15, 5, 0x11, 0x08, 40, 2, b'a', b'b', 0x19, 0x2c, 0x15, 2, 0, 0x15, 4, 0, 0x13, 0x7f, 0];

    #[test]
    fn fields_are_read_and_skipped() {
        let mut reader = Reader::new(&STRUCT);
        let mut fields = Fields::default();
        let mut next = |reader: &mut Reader<'_>| reader.next_field(&mut fields).unwrap();
        let field = next(&mut reader).unwrap();
        assert_eq!((field.id, reader.integer(field)), (1, Ok(-3)));
        let field = next(&mut reader).unwrap();
        assert_eq!((field.id, reader.boolean(field)), (2, Ok(true)));
        let field = next(&mut reader).unwrap();
        assert_eq!((field.id, reader.binary(field)), (20, Ok(&b"ab"[..])));
        let field = next(&mut reader).unwrap();
        assert_eq!(field.id, 21);
        reader.skip(field).unwrap();
        let field = next(&mut reader).unwrap();
        assert_eq!((field.id, reader.integer(field)), (22, Ok(127)));
        assert!(next(&mut reader).is_none());
        assert_eq!(reader.position(), STRUCT.len());
    }

    #[test]
    fn damage_is_refused() {
        let skip = |bytes: &[u8]| Reader::new(bytes).skip_value(Kind::STRUCT, 0);
        assert_eq!(skip(&STRUCT), Ok(()));
        for length in 0..STRUCT.len() {
            assert_eq!(skip(&STRUCT[..length]), Err(ThriftFault::End), "{length} bytes");
        }
        // A list of 2^62 structs, a text of 2^62 bytes, an endless number, endlessly nested lists.
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
        assert_eq!(skip(&[&[0x19, 0xfc], &huge[..]].concat()), Err(ThriftFault::End));
        assert_eq!(skip(&[&[0x18], &huge[..]].concat()), Err(ThriftFault::End));
        assert!(matches!(skip(&[&[0x16], &[0xff; 20][..]].concat()), Err(ThriftFault::Bad(_))));
        assert!(matches!(skip(&[0x19; 1000]), Err(ThriftFault::Bad(_))));
    }
}
