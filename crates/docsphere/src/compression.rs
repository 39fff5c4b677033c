//! Compressed files: gzip and zstd, transparent to the formats.
//!
//! Reading detects the compression by magic number and never by name, so a renamed file is still
//! read. Files made of several gzip members or zstd frames are read to the end. Damage and
//! truncation are errors, never short data.
//!
//! Writing goes by the extension: `.gz` is gzip, `.zst` is zstd (with a checksum), anything else is
//! plain.
//!
//! Memory: two buffers of 256 KiB; zstd adds its window, at most 128 MiB, usually a few MiB.
//!
//! References: gzip, [RFC 1952](https://doi.org/10.17487/RFC1952); zstd,
//! [RFC 8878](https://doi.org/10.17487/RFC8878).

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::atomic_file::write_atomically;
use crate::error::{Error, Result};
use crate::memory::MemoryLimit;

const BUFFER_BYTES: usize = 1 << 18;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Detects the compression by magic number.
    pub(crate) fn sniff(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            // A skippable frame: parallel and seekable compressors may begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// Chooses the compression by extension.
    fn from_path(path: &Path) -> Self {
        match path.extension() {
            Some(ending) if ending.eq_ignore_ascii_case("gz") => Compression::Gzip,
            Some(ending) if ending.eq_ignore_ascii_case("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// The path without a `.gz` or `.zst` extension.
pub(crate) fn without_ending(path: &Path) -> &Path {
    match (Compression::from_path(path), path.file_stem()) {
        (Compression::Gzip | Compression::Zstd, Some(stem)) => Path::new(stem),
        _ => path,
    }
}

/// A reader that can also seek.
pub(crate) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Opens a file and decompresses it on the fly. Errors of the reader go through [`read_error`].
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let (compression, file) = open_sniffed(path)?;
    unpack(compression, file).map_err(|error| read_error(error).at_path(path))
}

/// Like [`open`], but also adds the number of bytes read from the file, before decompression, to
/// `n_bytes`.
pub(crate) fn open_counted(path: &Path, n_bytes: Arc<AtomicU64>) -> Result<Box<dyn BufRead>> {
    let (compression, file) = open_sniffed(path)?;
    unpack(compression, Counted::new(file, n_bytes)).map_err(|error| read_error(error).at_path(path))
}

/// Like [`open_counted`], for a source that is already open and can be read only once.
pub(crate) fn unpack_counted(
    mut stream: impl Read + 'static,
    n_bytes: Arc<AtomicU64>,
) -> Result<Box<dyn BufRead>> {
    let mut start = Vec::new();
    stream.by_ref().take(4).read_to_end(&mut start).map_err(|error| Error::io("read", error))?;
    let compression = Compression::sniff(&start);
    let file = Cursor::new(start).chain(stream);
    unpack(compression, Counted::new(file, n_bytes)).map_err(read_error)
}

/// A reader that counts the bytes read through it.
pub(crate) struct Counted<R> {
    file: R,
    n_bytes: Arc<AtomicU64>,
}

impl<R: Read> Counted<R> {
    pub(crate) fn new(file: R, n_bytes: Arc<AtomicU64>) -> Self {
        Counted { file, n_bytes }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read(buffer)?;
        self.n_bytes.fetch_add(n_read as u64, Ordering::Relaxed);
        Ok(n_read)
    }
}

/// Opens a file for a reader that must seek. A plain file is read in place; a compressed file or a
/// pipe is first read into memory, within the limit.
pub(crate) fn open_seekable(path: &Path, memory: &MemoryLimit) -> Result<Box<dyn ReadSeek>> {
    let located = |error| read_error(error).at_path(path);
    let (compression, mut file) = open_sniffed(path)?;
    if compression == Compression::None && file.get_mut().1.rewind().is_ok() {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file.into_inner().1)));
    }
    let input = unpack(compression, file).map_err(located)?;
    let content = read_whole(input, u64::MAX, "the unpacked file", memory);
    Ok(Box::new(Cursor::new(content.map_err(|error| error.at_path(path))?)))
}

/// Like [`MemoryLimit::read_whole`], for a reader from [`open`].
pub(crate) fn read_whole(
    input: impl Read,
    limit: u64,
    what: &'static str,
    memory: &MemoryLimit,
) -> Result<Vec<u8>> {
    memory.read_whole(input, limit, what, read_error)
}

/// A file whose first bytes have already been read.
type Sniffed = io::Chain<Cursor<Vec<u8>>, File>;

fn open_sniffed(path: &Path) -> Result<(Compression, Sniffed)> {
    let located = |source| Error::io("read", source).at_path(path);
    let mut file = File::open(path).map_err(located)?;
    if file.metadata().map_err(located)?.is_dir() {
        let message = "it is a folder, not a file";
        return Err(located(io::Error::new(io::ErrorKind::IsADirectory, message)));
    }
    let mut start = Vec::new();
    (&mut file).take(4).read_to_end(&mut start).map_err(located)?;
    Ok((Compression::sniff(&start), Cursor::new(start).chain(file)))
}

/// Whether a file is compressed. Leaves it after its first bytes.
pub(crate) fn is_packed(file: &File) -> Result<bool> {
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).map_err(|source| Error::io("read", source))?;
    Ok(Compression::sniff(&start) != Compression::None)
}

/// The decompressed file, of which the compression is known.
pub(crate) fn unpack(compression: Compression, file: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let packed = BufReader::with_capacity(BUFFER_BYTES, file);
    Ok(match compression {
        Compression::None => Box::new(packed),
        Compression::Gzip => Unpacked::boxed("gzip", MultiGzDecoder::new(packed)),
        Compression::Zstd => Unpacked::boxed("zstd", zstd::Decoder::with_buffer(packed)?),
    })
}

/// A decompressor whose data errors can be distinguished from the system's errors.
struct Unpacked<R> {
    format: &'static str,
    decoder: R,
}

impl<R: Read + 'static> Unpacked<R> {
    fn boxed(format: &'static str, decoder: R) -> Box<dyn BufRead> {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, Unpacked { format, decoder }))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let found = if error.kind() == io::ErrorKind::UnexpectedEof {
                "the end of the file in the middle of it".to_owned()
            } else {
                error.to_string()
            };
            io::Error::new(io::ErrorKind::InvalidData, Damage { format: self.format, found })
        })
    }
}

/// Compressed data that cannot be decompressed, wrapped in an [`io::Error`].
#[derive(Debug)]
struct Damage {
    format: &'static str,
    found: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged {} data: {}", self.format, self.found)
    }
}

impl std::error::Error for Damage {}

/// The library's error for a failed read; it distinguishes a system failure from damaged compressed
/// data.
pub(crate) fn read_error(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Damage>()) {
        Some(damage) => Error::malformed(damage.format, "undamaged compressed data", &damage.found),
        None => Error::io("read", error),
    }
}

/// Writes `path` atomically with the output of `write`, compressed according to the extension.
pub(crate) fn write_packed(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let failed = |source| Error::io("write", source);
    write_atomically(path, |file| match Compression::from_path(path) {
        Compression::None => write(file),
        Compression::Gzip => {
            let encoder = GzEncoder::new(file, flate2::Compression::default());
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, encoder);
            write(&mut out)?;
            let encoder = out.into_inner().map_err(|error| failed(error.into_error()))?;
            encoder.finish().map(drop).map_err(failed)
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(failed)?;
            encoder.include_checksum(true).map_err(failed)?;
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, encoder);
            write(&mut out)?;
            let encoder = out.into_inner().map_err(|error| failed(error.into_error()))?;
            encoder.finish().map(drop).map_err(failed)
        }
    })
}

/// Whether [`write_packed`] would compress a file of this name.
pub(crate) fn packs(path: &Path) -> bool {
    Compression::from_path(path) != Compression::None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &[u8] = b"3\n6\n2\n1 1 0.5\n3 4 1\n";

    fn pack(ending: &str, content: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("packed{ending}"));
        write_packed(&path, |out| out.write_all(content).map_err(|source| Error::io("write", source)))
            .unwrap();
        fs::read(path).unwrap()
    }

    fn unpacked(packed: &[u8]) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let packed = packed.to_vec();
        let compression = Compression::sniff(&packed[..packed.len().min(4)]);
        let mut input = unpack(compression, Cursor::new(packed)).map_err(read_error)?;
        input.read_to_end(&mut content).map_err(read_error)?;
        Ok(content)
    }

    #[test]
    fn names_decide_what_is_written_and_content_what_is_read() {
        assert_eq!(pack("", TEXT), TEXT);
        assert_eq!(pack(".gz", TEXT)[..2], [0x1f, 0x8b]);
        assert_eq!(pack(".ZST", TEXT)[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        for ending in ["", ".gz", ".zst"] {
            assert_eq!(unpacked(&pack(ending, TEXT)).unwrap(), TEXT);
        }
        assert_eq!(without_ending(Path::new("a/b.mtx.gz")), Path::new("b.mtx"));
        assert_eq!(without_ending(Path::new("a/b.mtx")), Path::new("a/b.mtx"));
    }

    #[test]
    fn several_members_or_frames_are_read_to_the_end() {
        for ending in [".gz", ".zst"] {
            let packed = [pack(ending, b"one "), pack(ending, b""), pack(ending, b"two")].concat();
            assert_eq!(unpacked(&packed).unwrap(), b"one two");
        }
        let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &pack(".zst", TEXT)].concat();
        assert_eq!(unpacked(&skippable).unwrap(), TEXT);
    }

    #[test]
    fn a_truncated_file_is_an_error_wherever_it_ends() {
        for (ending, format) in [(".gz", "gzip"), (".zst", "zstd")] {
            let packed = pack(ending, TEXT);
            for length in 4..packed.len() {
                let error = unpacked(&packed[..length]).unwrap_err().to_string();
                let expected = format!(
                    "not valid {format}: expected undamaged compressed data, \
                     found the end of the file in the middle of it"
                );
                assert_eq!(error, expected, "{length} of {} bytes", packed.len());
            }
        }
    }

    #[test]
    fn changed_bytes_are_never_taken_for_other_data() {
        let content = TEXT.repeat(20);
        for ending in [".gz", ".zst"] {
            let packed = pack(ending, &content);
            for position in 4..packed.len() {
                for bit in 0..8 {
                    let mut damaged = packed.clone();
                    damaged[position] ^= 1 << bit;
                    // Some bytes of a gzip header carry no data.
                    if let Ok(found) = unpacked(&damaged) {
                        assert_eq!(found, content, "{ending}: bit {bit} of byte {position}");
                    }
                }
            }
        }
    }
}
