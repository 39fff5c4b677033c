//! Parts of a compressed file that can be decompressed on their own: frames of zstd (pzstd and
//! concatenated files have several) and blocks of bgzip.
//!
//! A frame is found by its header and the headers of its blocks, a few bytes per block; nothing is
//! decompressed. The length of an ordinary member of gzip is written nowhere, so a file of these is
//! one segment. So is the rest of a file from a frame that is not whole or too long to look for its
//! end. The last whole frame before damage belongs to that rest: the decompressor meets the damage
//! in the same state as if it read the file from the beginning, and says the same. Where a segment
//! is damaged itself, or does not end where its headers say, its reader goes back to its beginning
//! and reads the file from there to the end: what follows is what one reader of the file would get.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::compression::{Compression, Counted, unpack};

/// Frames up to this size are joined to one segment.
const SEGMENT_BYTES: u64 = 1 << 20;

/// The end of a longer frame is not looked for: the headers are all over the file, which may be on
/// a slow disk, and little can be unpacked before it is wanted.
const MAX_FRAME_BYTES: u64 = 1 << 26;

/// Bytes in which the header of a frame, of a block or of a member of bgzip fits, if it has no
/// other extra field.
const HEADER_BYTES: usize = 18;

/// The segments of a file, in order.
pub(super) struct Segments {
    file: Arc<File>,
    compression: Compression,
    n_bytes: u64,
    /// Where the next segment begins.
    start: u64,
    /// Frames are joined up to this size; only tests change it.
    least_bytes: u64,
}

/// A part of a file that can be decompressed on its own.
pub(super) struct Segment {
    file: Arc<File>,
    compression: Compression,
    range: Range<u64>,
}

impl Segments {
    /// The segments of a compressed file. `None` for other files, and where the system cannot read
    /// from one file at several places.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok().filter(|_| cfg!(unix))?;
        let n_bytes = file.metadata().ok().filter(|found| found.is_file())?.len();
        let file = Arc::new(file);
        let mut start = [0; 4];
        read_at(&file, 0, &mut start).ok()?;
        let compression = Compression::sniff(&start);
        (compression != Compression::None).then_some(Segments {
            file,
            compression,
            n_bytes,
            start: 0,
            least_bytes: SEGMENT_BYTES,
        })
    }

    /// The next segment, and whether it is the last one; `None` after that.
    pub(super) fn next(&mut self) -> Option<(Segment, bool)> {
        if self.start == u64::MAX {
            return None;
        }
        let start = self.start;
        let mut end = self.end_of_frame(start);
        // The end of the frame after the segment.
        let mut after = end;
        while let Some(found) = end {
            after = self.end_of_frame(found);
            if after.is_none() || found - start >= self.least_bytes {
                break;
            }
            end = after;
        }
        let is_last = after.is_none();
        // The last segment ends with the file, wherever that is by then.
        self.start = if is_last { u64::MAX } else { end.unwrap_or(u64::MAX) };
        let (file, compression) = (Arc::clone(&self.file), self.compression);
        Some((Segment { file, compression, range: start..self.start }, is_last))
    }

    /// The end of the frame or member that begins here; `None` if it is not whole, too long, or
    /// does not say.
    fn end_of_frame(&self, start: u64) -> Option<u64> {
        let end = match self.compression {
            Compression::Zstd => self.end_of_zstd_frame(start),
            Compression::Gzip => self.end_of_bgzip_block(start),
            Compression::None => None,
        };
        end.filter(|&end| end <= self.n_bytes)
    }

    fn end_of_zstd_frame(&self, start: u64) -> Option<u64> {
        let mut header = [0; HEADER_BYTES];
        read_at(&self.file, start, &mut header).ok()?;
        let [a, b, c, d, descriptor, ..] = header;
        match [a, b, c, d] {
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let length = u32::from_le_bytes(header[4..8].try_into().expect("4 bytes"));
                return start.checked_add(8 + u64::from(length));
            }
            [0x28, 0xb5, 0x2f, 0xfd] => {}
            _ => return None,
        }
        let is_single = descriptor & 0x20 != 0;
        let has_checksum = descriptor & 0x04 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let content = [u64::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let mut at = start + 5 + u64::from(!is_single) + dictionary + content;
        while at - start <= MAX_FRAME_BYTES {
            let mut block = [0; 3];
            read_at(&self.file, at, &mut block).ok()?;
            let block = u32::from_le_bytes([block[0], block[1], block[2], 0]);
            let (is_last, kind, size) = (block & 1 != 0, (block >> 1) & 3, u64::from(block >> 3));
            at += 3 + match kind {
                1 => 1, // one byte, many times
                3 => return None,
                _ => size,
            };
            if at > self.n_bytes {
                return None;
            }
            if is_last {
                return Some(at + if has_checksum { 4 } else { 0 });
            }
        }
        None
    }

    /// The length of a block of bgzip is in the first extra field.
    fn end_of_bgzip_block(&self, start: u64) -> Option<u64> {
        let mut header = [0; HEADER_BYTES];
        read_at(&self.file, start, &mut header).ok()?;
        let has_fields = header[..3] == [0x1f, 0x8b, 8] && header[3] == 4;
        let is_length = header[12..16] == [b'B', b'C', 2, 0];
        let length = u64::from(u16::from_le_bytes([header[16], header[17]])) + 1;
        (has_fields && is_length && length > HEADER_BYTES as u64).then_some(start + length)
    }
}

impl Segment {
    /// The decompressed segment. Adds to `n_bytes` what is read of the file.
    pub(super) fn unpacked(self, n_bytes: Arc<AtomicU64>) -> io::Result<UnpackedSegment> {
        Ok(UnpackedSegment { reader: self.open(n_bytes)?, segment: self, n_read: 0, is_rest: false })
    }

    fn open(&self, n_bytes: Arc<AtomicU64>) -> io::Result<Box<dyn BufRead>> {
        let part = Part { file: Arc::clone(&self.file), range: self.range.clone() };
        unpack(self.compression, Counted::new(part, n_bytes))
    }
}

/// The decompressed bytes of a segment; if it is damaged, of the rest of the file.
pub(super) struct UnpackedSegment {
    segment: Segment,
    reader: Box<dyn BufRead>,
    n_read: u64,
    is_rest: bool,
}

impl UnpackedSegment {
    /// Whether these are all bytes from the beginning of the segment to the end of the file.
    pub(super) fn is_rest(&self) -> bool {
        self.is_rest
    }
}

impl Read for UnpackedSegment {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut result = self.reader.read(buffer);
        let has_failed = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        if has_failed && !self.is_rest && self.segment.range.end != u64::MAX {
            self.segment.range.end = u64::MAX;
            self.is_rest = true;
            self.reader = self.segment.open(Arc::default())?;
            io::copy(&mut self.reader.by_ref().take(self.n_read), &mut io::sink())?;
            result = self.reader.read(buffer);
        }
        self.n_read += *result.as_ref().unwrap_or(&0) as u64;
        result
    }
}

/// A part of a file.
struct Part {
    file: Arc<File>,
    range: Range<u64>,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let n_read = read_some_at(&self.file, self.range.start, &mut buffer[..length])?;
        self.range.start += n_read as u64;
        Ok(n_read)
    }
}

/// Reads what there is at a place, and leaves the rest of the buffer as it is.
fn read_at(file: &File, mut at: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_some_at(file, at, buffer) {
            Ok(0) => break,
            Ok(n_read) => {
                at += n_read as u64;
                buffer = &mut buffer[n_read..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn read_some_at(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(not(unix))]
fn read_some_at(_: &File, _: u64, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::compression::open;

    fn frame(content: &[u8], level: i32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), level).unwrap();
        encoder.include_checksum(level % 2 == 1).unwrap();
        encoder.include_contentsize(level % 2 == 0).unwrap();
        io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    }

    /// A block of bgzip.
    fn block(content: &[u8]) -> Vec<u8> {
        let length = |n: usize| ((n - 1) as u16).to_le_bytes();
        let packed = |extra: Vec<u8>| {
            let builder = flate2::GzBuilder::new().extra(extra);
            let mut encoder = builder.write(Vec::new(), flate2::Compression::new(1));
            io::Write::write_all(&mut encoder, content).unwrap();
            encoder.finish().unwrap()
        };
        let n_bytes = packed(vec![b'B', b'C', 2, 0, 0, 0]).len();
        packed([&[b'B', b'C', 2, 0][..], &length(n_bytes)].concat())
    }

    /// Bytes that hardly compress.
    fn noise(n_bytes: usize) -> Vec<u8> {
        let next = |z: &mut u64| {
            *z = z.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((*z >> 56) as u8)
        };
        let mut state = n_bytes as u64;
        std::iter::from_fn(|| next(&mut state)).take(n_bytes).collect()
    }

    /// The ranges of the segments, and what they unpack to or why they do not.
    fn segments(packed: &[u8]) -> (Vec<Range<u64>>, Result<Vec<u8>, String>) {
        let _ = segments_of(packed, 1);
        segments_of(packed, SEGMENT_BYTES)
    }

    fn segments_of(packed: &[u8], least_bytes: u64) -> (Vec<Range<u64>>, Result<Vec<u8>, String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("packed");
        fs::write(&path, packed).unwrap();
        let (mut ranges, mut content) = (Vec::new(), Ok(Vec::new()));
        let mut segments = Segments { least_bytes, ..Segments::open(&path).unwrap() };
        while let Some((segment, is_last)) = segments.next() {
            assert_eq!(is_last, segment.range.end == u64::MAX);
            ranges.push(segment.range.clone());
            if let Ok(found) = &mut content {
                let mut part = segment.unpacked(Arc::default()).unwrap();
                let read = part.read_to_end(found);
                content = read.map(|_| std::mem::take(found)).map_err(|error| error.to_string());
                if part.is_rest() {
                    break;
                }
            }
        }
        let mut whole = Vec::new();
        let read = open(&path).unwrap().read_to_end(&mut whole);
        assert_eq!(content, read.map(|_| whole).map_err(|error| error.to_string()));
        (ranges, content)
    }

    #[test]
    fn frames_and_blocks_are_found_and_unpack_to_the_whole() {
        let text = b"some words, some more words, ".repeat(99);
        let small = |pack: &dyn Fn(&[u8]) -> Vec<u8>| [pack(b"one "), pack(b""), pack(&text)].concat();
        let zstd = |content: &[u8]| frame(content, content.len() as i32 % 4 + 1);
        // Small ones are joined.
        assert_eq!(segments(&small(&zstd)).0.len(), 1);
        assert_eq!(segments(&small(&block)).0.len(), 1);
        let large = zstd(&noise(3 << 19));
        let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let whole = [&skippable[..], &large, &zstd(&text), &large, &skippable, &large].concat();
        let (ranges, content) = segments(&whole);
        assert_eq!((ranges.len(), content.unwrap().len()), (3, 3 * (3 << 19) + text.len()));
        let blocks: Vec<u8> = (0..60).flat_map(|_| block(&noise(60_000))).collect();
        assert_eq!(segments(&blocks).0.len(), 4);
        // Whose members have lengths that are not known.
        let mut member = block(b"x");
        member[3] = 0;
        member.drain(10..18);
        assert_eq!(segments(&[member.clone(), member].concat()).0.len(), 1);
    }

    #[test]
    fn damage_is_met_as_in_the_whole_file() {
        let zstd = [frame(b"one two three four", 1), frame(&noise(500), 2), frame(b"five", 3)].concat();
        let gzip = [block(b"one two three four"), block(&noise(500)), block(b"five")].concat();
        for packed in [zstd, gzip] {
            for length in 4..packed.len() {
                segments(&packed[..length]).1.ok();
            }
            for position in 4..packed.len() {
                let mut damaged = packed.clone();
                damaged[position] ^= 0x11;
                segments(&damaged).1.ok();
            }
            segments(&[&packed[..], b"garbage"].concat()).1.unwrap_err();
        }
        // Between segments, and within the second.
        let large = frame(&noise(3 << 19), 1);
        let garbage = [&large[..], &large, b"garbage, garbage, garbage"].concat();
        assert_eq!(segments(&garbage).0.len(), 2);
        let mut damaged = [&large[..], &large, &large].concat();
        damaged[large.len() + large.len() / 2] ^= 1;
        segments(&damaged).1.unwrap_err();
        segments(&[&large[..], &large, &large[..large.len() / 2]].concat()).1.unwrap_err();
    }
}
