//! Files of text.

use std::io::Cursor;

use super::{Extract, RawFile, Take};
use crate::compression::read_whole;
use crate::corpus::chunk::{LONG_RECORD, MAX_RECORD_BYTES};
use crate::corpus::encoding::{Known, decoded};
use crate::error::Result;

pub(super) struct Plain;

impl Extract for Plain {
    fn extract(&self, file: RawFile<'_>, take: Take<'_>) -> Result<()> {
        let named = file.options.named_encoding();
        // Zeros may be UTF-16, and escape characters ISO-2022-JP.
        let is_plain = named.is_none()
            && std::str::from_utf8(&file.bytes).is_ok()
            && memchr::memchr2(0, 0x1b, &file.bytes).is_none();
        if is_plain {
            return take(None, Ok(file.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file.bytes)));
        }
        let known = Known { encoding: named, is_start: true };
        let reader = decoded(Box::new(Cursor::new(file.bytes)), known, file.guesses)?;
        // Three bytes for each, at most.
        let text = read_whole(reader, 3 * MAX_RECORD_BYTES as u64, LONG_RECORD, &file.options.memory)?;
        take(None, Ok(&text))
    }
}
