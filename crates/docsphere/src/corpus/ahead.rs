//! Decompresses files, and segments of a file, before they are read.
//!
//! One stream is decompressed by one thread. Several files, and segments of one that can be
//! decompressed on their own, are decompressed side by side. The thread that cuts reads the blocks
//! of all segments in the order of the files, so it gets the bytes that it would get from one
//! thread, and documents are the same. So are errors, but for a file with two faults near each
//! other, a bad record and damage to its compression: either may be told.
//!
//! **Threads.** One for every four of the pool, up to four: a thread decompresses about as much as
//! eight parse. With fewer, the thread that cuts decompresses, as before.
//!
//! **Memory.** The blocks that wait have at most `room` bytes, and one block. Segments are begun in
//! order, and the one that is read next may always add a block, so none waits for a later one.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::in_flight::{LEAST_BYTES, OnDrop};
use super::segments::{Segment, Segments};
use super::stream::read_into;

/// Bytes that are passed on at a time.
const BLOCK_BYTES: usize = 1 << 19;

/// The greatest number of threads that decompress.
const MAX_THREADS: usize = 4;

/// In place of the number of planned files: all segments are in the line, or have left it.
const ALL: usize = usize::MAX;

/// The number of threads that decompress for a pool of this size.
pub(super) fn n_unpacking(n_threads: usize) -> usize {
    (n_threads / 4).min(MAX_THREADS)
}

/// Files that are decompressed ahead of their reader.
pub(super) struct Ahead {
    plan: Mutex<Plan>,
    line: Mutex<Line>,
    /// The reader waits for a block, or for the end of a segment.
    has_block: Condvar,
    /// Threads wait for room.
    has_room: Condvar,
    room: usize,
    n_bytes: Arc<AtomicU64>,
}

/// The segments that are not in the line yet.
struct Plan {
    /// Numbers and paths of the files.
    files: std::vec::IntoIter<(usize, PathBuf)>,
    open: Option<(usize, Segments)>,
}

/// The segments from the one that is read next.
struct Line {
    segments: VecDeque<InLine>,
    /// Segments that have left the line.
    n_left: u64,
    /// Bytes of all blocks in the line.
    n_bytes: usize,
    /// Blocks to be used again.
    idle: Vec<Vec<u8>>,
    /// Files with a smaller number have all their segments in the line, or are not compressed.
    n_planned: usize,
    is_closed: bool,
}

struct InLine {
    file: usize,
    is_last: bool,
    /// Until a thread takes it.
    segment: Option<Segment>,
    blocks: VecDeque<Vec<u8>>,
    end: Option<io::Result<()>>,
}

impl Ahead {
    /// Some files, with ascending numbers. Adds to `n_bytes` what is read of them.
    pub(super) fn new(files: Vec<(usize, PathBuf)>, room: usize, n_bytes: Arc<AtomicU64>) -> Arc<Self> {
        let line = Line {
            segments: VecDeque::new(),
            n_left: 0,
            n_bytes: 0,
            idle: Vec::new(),
            n_planned: 0,
            is_closed: false,
        };
        Arc::new(Ahead {
            plan: Mutex::new(Plan { files: files.into_iter(), open: None }),
            line: Mutex::new(line),
            has_block: Condvar::new(),
            has_room: Condvar::new(),
            room,
            n_bytes,
        })
    }

    /// The decompressed file with this number; `None` if it is not one of the files, or not
    /// compressed. Files must be asked for in ascending order; the rest of one before is dropped.
    pub(super) fn reader(self: &Arc<Self>, file: usize) -> Option<Box<dyn BufRead>> {
        loop {
            let mut line = self.line();
            while line.segments.front().is_some_and(|segment| segment.file < file) {
                line.leave();
                self.has_room.notify_all();
            }
            if line.segments.front().is_some_and(|segment| segment.file == file) {
                let ahead = Arc::clone(self);
                return Some(Box::new(Unpacked { ahead, file, block: Vec::new(), at: 0, is_done: false }));
            }
            if line.n_planned > file {
                return None;
            }
            drop(line);
            self.plan_next();
        }
    }

    /// Decompresses segments until there are no more, or until this is closed.
    pub(super) fn unpack(&self) {
        loop {
            let mut line = self.line();
            if line.is_closed {
                return;
            }
            let waiting = line.segments.iter().position(|segment| segment.segment.is_some());
            let Some(index) = waiting else {
                // Looked at with the line: the reader may have planned the last segment since.
                if line.n_planned == ALL {
                    return;
                }
                drop(line);
                self.plan_next();
                continue;
            };
            let number = line.n_left + index as u64;
            let segment = line.segments[index].segment.take();
            drop(line);
            let mut ending = Ending { ahead: self, number, end: None };
            ending.end = segment.map(|segment| self.pass_on(segment, number));
        }
    }

    /// Notes that a segment turned out to be the last one of its file.
    fn end_file(&self, number: u64) {
        let mut line = self.line();
        if let Some(place) = line.place(number) {
            line.segments[place].is_last = true;
        }
    }

    /// Notes how a segment ended.
    fn end(&self, number: u64, end: io::Result<()>) {
        let mut line = self.line();
        if let Some(place) = line.place(number) {
            line.segments[place].end = Some(end);
            self.has_block.notify_one();
        }
    }

    /// Says at the end of the guard's life that no more is wanted: threads stop.
    pub(super) fn closes_on_drop(&self) -> impl Drop {
        OnDrop(|| {
            self.line().is_closed = true;
            self.has_room.notify_all();
        })
    }

    /// Puts the next segment into the line, if there is one.
    fn plan_next(&self) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if plan.open.is_none() {
                let Some((file, path)) = plan.files.next() else {
                    self.line().n_planned = ALL;
                    return;
                };
                // A file that cannot be opened is reported when it is its turn.
                plan.open = Segments::open(&path).map(|segments| (file, segments));
                self.line().n_planned = file + usize::from(plan.open.is_none());
            }
            let Some((file, segments)) = &mut plan.open else { continue };
            let file = *file;
            let Some((segment, is_last)) = segments.next() else {
                plan.open = None;
                continue;
            };
            let (segment, blocks) = (Some(segment), VecDeque::new());
            self.line().segments.push_back(InLine { file, is_last, segment, blocks, end: None });
            return;
        }
    }

    /// Decompresses a segment and puts its blocks into the line.
    fn pass_on(&self, segment: Segment, number: u64) -> io::Result<()> {
        let mut unpacked = segment.unpacked(Arc::clone(&self.n_bytes))?;
        loop {
            let mut block = self.line().idle.pop().unwrap_or_default();
            let read = read_block(&mut unpacked, &mut block);
            if unpacked.is_rest() {
                self.end_file(number);
            }
            let is_full = block.len() == BLOCK_BYTES;
            if block.len() < BLOCK_BYTES / 2 {
                block.shrink_to_fit();
            }
            if !block.is_empty() && !self.put(block, number) {
                return Ok(());
            }
            read?;
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Puts a block into the line once there is room; `false` if it is no longer wanted.
    fn put(&self, block: Vec<u8>, number: u64) -> bool {
        let mut line = self.line();
        loop {
            let Some(place) = line.place(number).filter(|_| !line.is_closed) else { return false };
            let is_next = place == 0 && line.segments[0].blocks.is_empty();
            if is_next || line.n_bytes < self.room {
                line.n_bytes += held(&block);
                line.segments[place].blocks.push_back(block);
                self.has_block.notify_one();
                return true;
            }
            line = self.has_room.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next block of a file, in place of one that was read; empty at the end.
    fn next_block(&self, file: usize, read: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut line = self.line();
        if read.capacity() >= BLOCK_BYTES && line.idle.len() <= self.room / BLOCK_BYTES {
            line.idle.push(read);
        }
        loop {
            match line.segments.front_mut().filter(|segment| segment.file == file) {
                Some(segment) => {
                    if let Some(block) = segment.blocks.pop_front() {
                        line.n_bytes -= held(&block);
                        self.has_room.notify_all();
                        return Ok(block);
                    }
                    if let Some(end) = segment.end.take() {
                        let is_last = segment.is_last || end.is_err();
                        line.leave();
                        self.has_room.notify_all();
                        if is_last {
                            return end.map(|()| Vec::new());
                        }
                        continue;
                    }
                    line = self.has_block.wait(line).unwrap_or_else(PoisonError::into_inner);
                }
                // The segments of a file follow each other.
                None => {
                    drop(line);
                    self.plan_next();
                    line = self.line();
                }
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// The index of a segment that is still in the line.
    fn place(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.n_left).map(|index| index as usize)
    }

    fn leave(&mut self) {
        let left = self.segments.pop_front();
        self.n_bytes -= left.iter().flat_map(|segment| &segment.blocks).map(held).sum::<usize>();
        self.n_left += 1;
    }
}

/// A segment that a thread decompresses. It ends even if the thread panics, since the reader waits
/// for it.
struct Ending<'a> {
    ahead: &'a Ahead,
    number: u64,
    end: Option<io::Result<()>>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let panicked = || Err(io::Error::other("the thread that decompresses has panicked"));
        self.ahead.end(self.number, self.end.take().unwrap_or_else(panicked));
    }
}

/// The bytes that a block in the line holds, with what belongs to it.
fn held(block: &Vec<u8>) -> usize {
    block.capacity() + LEAST_BYTES
}

/// Fills a block, as far as there are bytes.
fn read_block(input: &mut impl Read, block: &mut Vec<u8>) -> io::Result<()> {
    block.resize(BLOCK_BYTES, 0);
    let (length, result) = read_into(input, block);
    block.truncate(length);
    result
}

/// A file that is decompressed ahead.
struct Unpacked {
    ahead: Arc<Ahead>,
    file: usize,
    block: Vec<u8>,
    at: usize,
    is_done: bool,
}

impl BufRead for Unpacked {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len() && !self.is_done {
            let next = self.ahead.next_block(self.file, std::mem::take(&mut self.block));
            self.is_done = next.as_ref().map_or(true, Vec::is_empty);
            self.at = 0;
            self.block = next?;
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at += length;
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::compression::write_packed;
    use crate::error::Error;

    #[test]
    fn no_segment_is_left_to_nobody_whoever_plans_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        write_packed(&path, |out| out.write_all(b"text").map_err(|error| Error::io("write", error))).unwrap();
        for n_threads in [1, 2] {
            for _ in 0..2_000 {
                let ahead = Ahead::new(vec![(0, path.clone()), (1, path.clone())], 0, Arc::default());
                thread::scope(|threads| {
                    let _closing = ahead.closes_on_drop();
                    for _ in 0..n_threads {
                        threads.spawn(|| ahead.unpack());
                    }
                    for file in [0, 1] {
                        let mut text = String::new();
                        ahead.reader(file).unwrap().read_to_string(&mut text).unwrap();
                        assert_eq!(text, "text");
                    }
                    assert!(ahead.reader(2).is_none());
                });
            }
        }
    }
}
