//! Arrays in files: as if they were in memory, while the system reads what is touched.
//!
//! A [`Mapped`] array is a part of a mapped file. It is never written through the mapping: files
//! are written with plain writes ([`Scratch`], or by whoever made the file), so a full disk is an
//! error, and mapped afterwards.
//!
//! [`ScratchArray`] is for what is computed and does not fit: an array in a file of its own that is
//! written as memory. Its room on the disk is taken before, so that a full disk is an error there,
//! too.
//!
//! **Memory.** Pages that were touched count as memory of the process until they are let go; see
//! [`keep_resident_within`]. So whoever reads mapped arrays need not care.
//!
//! **A file that is cut short or fails to be read while it is mapped** ends the process with a
//! signal (`SIGBUS`): no wrong bytes are ever seen. Scratch files have no name, so nobody can cut
//! them short.

#![allow(unsafe_code)]

mod resident;
mod spillable;

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use memmap2::{Mmap, MmapMut};

use crate::error::{Error, Result};
pub use resident::{give_back_freed, keep_resident_within};
pub(crate) use spillable::Spillable;

/// Values that any bytes make, that have no padding, and that own nothing.
pub(crate) trait Bits: Send + Sync + 'static {}

/// [`Bits`] that are in files as in memory.
pub(crate) trait Plain: Bits + Copy {}

macro_rules! plain {
    ($($of:ty),*) => { $(impl Bits for $of {} impl Plain for $of {})* };
}

plain!(u8, u16, u32, u64, f32, f64);

impl Bits for AtomicU8 {}
impl Bits for AtomicU32 {}
impl Bits for AtomicU64 {}

/// A file that is mapped whole. Parts of it are arrays.
#[derive(Clone)]
pub(crate) struct Mapping {
    map: Arc<Watched>,
}

/// A map whose pages can be let go.
struct Watched {
    /// Dropped first: from then on nobody lets go of pages.
    #[cfg_attr(not(feature = "text"), expect(dead_code))]
    range: resident::Range,
    map: Mmap,
}

impl Mapping {
    /// Maps a whole file, which must not change from now on.
    pub(crate) fn new(file: &File) -> Result<Self> {
        // SAFETY: the map is private to this module, which hands out shared slices only. If the
        // file changes although it must not, values of `Plain` types change to others; see the
        // module about files that are cut short.
        let map = unsafe { Mmap::map(file) }.map_err(|error| Error::io("map a file into memory", error))?;
        let range = resident::Range::new(map.as_ptr(), map.len());
        Ok(Mapping { map: Arc::new(Watched { range, map }) })
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.map.map.len() as u64
    }

    /// The array that takes these bytes of the file, on whole items.
    pub(crate) fn array<T: Plain>(&self, bytes: Range<u64>) -> Option<Mapped<T>> {
        let n_bytes = bytes.end.checked_sub(bytes.start)?;
        let is_inside = bytes.end <= self.n_bytes();
        let is_whole = n_bytes.is_multiple_of(size_of::<T>() as u64)
            && bytes.start.is_multiple_of(align_of::<T>() as u64);
        if !is_inside || !is_whole || cfg!(target_endian = "big") && size_of::<T>() > 1 {
            return None;
        }
        Some(Mapped {
            map: Arc::clone(&self.map),
            start: bytes.start as usize,
            len: n_bytes as usize / size_of::<T>(),
            items: PhantomData,
        })
    }

    /// Tells the system that these bytes will be read soon.
    pub(crate) fn will_need(&self, bytes: Range<u64>) {
        #[cfg(unix)]
        {
            let (start, end) = (bytes.start.min(self.n_bytes()), bytes.end.min(self.n_bytes()));
            if start < end {
                // A hint: without it, the bytes come when they are touched.
                let _ = self.map.map.advise_range(
                    memmap2::Advice::WillNeed,
                    start as usize,
                    (end - start) as usize,
                );
            }
        }
        #[cfg(not(unix))]
        let _ = bytes;
    }
}

/// An array in a mapped file.
pub(crate) struct Mapped<T> {
    map: Arc<Watched>,
    /// The first byte: a multiple of the alignment of `T`, as maps begin with a page.
    start: usize,
    /// Items; all of them are inside the map.
    len: usize,
    items: PhantomData<T>,
}

impl<T: Plain> Mapped<T> {
    /// Lets go of all pages of the file that are in memory. They come back when they are touched.
    #[cfg(feature = "text")]
    pub(crate) fn let_go(&self) {
        self.map.range.let_go();
    }

    /// Tells the system that these items will be read soon.
    pub(crate) fn will_need(&self, items: Range<usize>) {
        let byte = |item: usize| (self.start + item * size_of::<T>()) as u64;
        let mapping = Mapping { map: Arc::clone(&self.map) };
        mapping.will_need(byte(items.start)..byte(items.end));
    }
}

impl<T: Plain> Deref for Mapped<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `array` checked that the items are inside the map and aligned; any bytes are
        // values of a `Plain` type; the map lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.map.map.as_ptr().add(self.start).cast(), self.len) }
    }
}

impl<T> Clone for Mapped<T> {
    fn clone(&self) -> Self {
        Mapped { map: Arc::clone(&self.map), start: self.start, len: self.len, items: PhantomData }
    }
}

impl<T> fmt::Debug for Mapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({} items)", self.len)
    }
}

/// A file without a name, for what does not fit into memory. It is gone when nothing uses it any
/// more, even if the process is killed.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: File,
}

impl Scratch {
    /// A new file on the disk of a folder.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|error| Error::io("make a scratch file", error));
        Ok(Scratch { file: file.map_err(|error| error.at_path(folder))? })
    }

    /// A scratch file that is this one.
    #[cfg(all(test, feature = "text"))]
    pub(crate) fn of_file(file: File) -> Self {
        Scratch { file }
    }

    /// Writes items at a byte of the file. Any thread may write, at any place.
    pub(crate) fn write_at<T: Plain>(&self, items: &[T], byte: u64) -> Result<()> {
        write_at(&self.file, items, byte)
    }

    /// Reads items that were written at a byte of the file, without mapping it.
    pub(crate) fn read_at<T: Plain>(&self, items: &mut [T], byte: u64) -> Result<()> {
        // SAFETY: plain values have no padding, and any bytes make one.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast::<u8>(), size_of_val(items)) };
        read_bytes_at(&self.file, bytes, byte).map_err(|error| Error::io("read", error))
    }

    /// The file, for who writes to it alone.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// The file as memory. Nothing is written from then on.
    pub(crate) fn map(&self) -> Result<Mapping> {
        Mapping::new(&self.file)
    }
}

/// Writes items as they are in memory at a byte of a file.
pub(crate) fn write_at<T: Plain>(file: &File, items: &[T], byte: u64) -> Result<()> {
    write_bytes_at(file, bytes_of(items), byte).map_err(|error| Error::io("write", error))
}

/// Items as the bytes that they are in memory.
pub(crate) fn bytes_of<T: Plain>(items: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, and any byte is a `u8`.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

#[cfg(unix)]
fn write_bytes_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(unix)]
fn read_bytes_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_bytes_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n_read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if n_read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[n_read..];
        at += n_read as u64;
    }
    Ok(())
}

#[cfg(windows)]
fn write_bytes_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n_written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        if n_written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[n_written..];
        at += n_written as u64;
    }
    Ok(())
}

/// An array in a scratch file of its own: zeros at first.
pub(crate) struct ScratchArray<T> {
    /// Dropped first, as in [`Watched`].
    range: resident::Range,
    map: MmapMut,
    items: PhantomData<T>,
}

impl<T: Bits> ScratchArray<T> {
    /// An array of `len` items on the disk of a folder.
    pub(crate) fn new(folder: &Path, len: usize) -> Result<Self> {
        let Scratch { file } = Scratch::new(folder)?;
        let n_bytes = (len * size_of::<T>()) as u64;
        let failed = |error| Error::io("make room in a scratch file", error).at_path(folder);
        take_room(&file, n_bytes).map_err(failed)?;
        // SAFETY: nobody else has the file, which has no name.
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(failed)?;
        let range = resident::Range::new(map.as_ptr(), map.len());
        Ok(ScratchArray { range, map, items: PhantomData })
    }

    /// Lets go of its pages in memory. They come back, as they were written, when they are touched.
    fn let_go(&self) {
        self.range.let_go();
    }
}

impl<T: Bits> Deref for ScratchArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the map begins with a page and has whole items; any bytes are values of a `Bits`
        // type.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.map.len() / size_of::<T>()) }
    }
}

impl<T: Bits> DerefMut for ScratchArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let len = self.map.len() / size_of::<T>();
        // SAFETY: as above, and the map is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), len) }
    }
}

/// Gives a file a length whose every byte has room on the disk.
fn take_room(file: &File, n_bytes: u64) -> io::Result<()> {
    file.set_len(n_bytes)?;
    #[cfg(target_os = "linux")]
    if n_bytes > 0 {
        let take = || rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, n_bytes);
        match rustix::io::retry_on_intr(take) {
            Ok(()) => return Ok(()),
            // This kind of disk cannot do it.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let zeros = vec![0; 1 << 20];
    let mut at = 0;
    while at < n_bytes {
        let piece = (n_bytes - at).min(zeros.len() as u64) as usize;
        write_bytes_at(file, &zeros[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(home.path()).unwrap();
        scratch.write_at(&[1u64, u64::MAX], 0).unwrap();
        scratch.write_at(&[0.5f32, -2.0, 7.0], 16).unwrap();
        let mut read = [0.0f32; 2];
        scratch.read_at(&mut read, 20).unwrap();
        assert_eq!(read, [-2.0, 7.0]);
        assert!(scratch.read_at(&mut read, 24).is_err(), "beyond the end");
        let mapping = scratch.map().unwrap();
        assert_eq!(*mapping.array::<u64>(0..16).unwrap(), [1, u64::MAX]);
        let values = mapping.array::<f32>(20..28).unwrap();
        values.will_need(0..2);
        drop(mapping);
        assert_eq!(*values.clone(), [-2.0, 7.0]);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "a scratch file has no name");
    }

    #[test]
    fn arrays_beyond_the_file_or_between_items_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(home.path()).unwrap();
        scratch.write_at(&[0u8; 100], 0).unwrap();
        let mapping = scratch.map().unwrap();
        for (start, end) in [(96, 104), (2, 10), (8, 10), (200, 208), (0, u64::MAX), (16, 8)] {
            let bytes = start..end;
            assert!(mapping.array::<u32>(bytes.clone()).is_none(), "{bytes:?}");
        }
        assert!(mapping.array::<u32>(100..100).is_some_and(|none| none.is_empty()));
    }

    #[test]
    fn scratch_arrays_hold_what_is_written_and_leave_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        for len in [0, 1, 5000, 300_000] {
            let mut array = ScratchArray::<u32>::new(home.path(), len).unwrap();
            assert!(array.len() == len && array.iter().all(|&number| number == 0));
            (0..).zip(array.iter_mut()).for_each(|(number, place)| *place = number);
            assert!((0..).zip(array.iter()).all(|(number, &found)| number == found));
        }
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        let missing = home.path().join("missing");
        let error = ScratchArray::<u32>::new(&missing, 5).err().unwrap().to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
