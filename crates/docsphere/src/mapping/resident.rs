//! How much of the mapped files stays in memory.
//!
//! Pages of mapped files that were touched count as memory of the process. They are copies of the
//! files, so letting go of them loses nothing: a page that is touched again comes back from the
//! system's cache, or from the disk. So mapped pages may take whatever memory is left, and go once
//! the process holds too much.
//!
//! While anything is mapped and there is a limit, a thread looks every [`PERIOD`] how much the
//! process holds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the thread looks.
const PERIOD: Duration = Duration::from_millis(5);

/// Mapped pages that are not worth letting go of: those of the program itself count, too.
const LEAST_BYTES: u64 = 48 << 20;

/// Bytes that the process may hold.
static MOST_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);

static WATCHED: Mutex<Watched> = Mutex::new(Watched { ranges: Vec::new(), has_thread: false });

struct Watched {
    /// The address and the length of each mapping.
    ranges: Vec<(usize, usize)>,
    has_thread: bool,
}

/// Lets go of pages of mapped files, such as rows that were [opened
/// mapped](crate::UnitRows::open_mapped), whenever the process holds more than so many bytes in
/// memory. On Linux; elsewhere the system decides alone.
///
/// What is touched within a few milliseconds comes on top. The limit changes the time of a run and
/// never its result.
///
/// ```
/// docsphere::keep_resident_within(4_000_000_000);
/// ```
pub fn keep_resident_within(bytes: u64) {
    MOST_BYTES.store(bytes, Relaxed);
    watch(&mut watched());
}

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A range of memory that is a mapped file, until this is dropped.
#[derive(Debug)]
pub(super) struct Range {
    start: usize,
    len: usize,
}

impl Range {
    /// The memory must be mapped, shared, from a file for as long as the range exists.
    pub(super) fn new(start: *const u8, len: usize) -> Self {
        let range = Range { start: start as usize, len };
        let mut watched = watched();
        watched.ranges.push((range.start, range.len));
        watch(&mut watched);
        range
    }

    /// Lets go of all its pages.
    pub(super) fn let_go(&self) {
        let_go(self.start, self.len);
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let mut watched = watched();
        let own = watched.ranges.iter().position(|range| *range == (self.start, self.len));
        watched.ranges.swap_remove(own.expect("it was added"));
    }
}

/// Starts the thread, unless there is one or there is nothing to watch.
fn watch(watched: &mut Watched) {
    let is_limited = MOST_BYTES.load(Relaxed) < u64::MAX && Held::now().is_some();
    if is_limited && !watched.has_thread && !watched.ranges.is_empty() {
        // Without the thread the limit is not kept, and nothing else is different.
        watched.has_thread = thread::Builder::new().name("mapped".to_owned()).spawn(watch_all).is_ok();
    }
}

fn watch_all() {
    loop {
        thread::sleep(PERIOD);
        let mut watched = watched();
        let most = MOST_BYTES.load(Relaxed);
        if watched.ranges.is_empty() || most == u64::MAX {
            watched.has_thread = false;
            return;
        }
        if Held::now().is_some_and(|held| held.all > most && held.mapped > LEAST_BYTES) {
            watched.ranges.iter().for_each(|&(start, len)| let_go(start, len));
        }
    }
}

/// Gives memory that was freed back to the system, where the allocator otherwise keeps it: that of
/// glibc. Takes some milliseconds.
pub fn give_back_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it may be called at any time, on any thread.
        unsafe { libc::malloc_trim(0) };
    }
}

/// What the process holds in memory.
struct Held {
    all: u64,
    /// Pages of files.
    mapped: u64,
}

impl Held {
    /// `None` where the system does not tell.
    fn now() -> Option<Held> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = text.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
        let (all, mapped) = (pages.next()??, pages.next()??);
        Some(Held { all: all * PAGE_BYTES, mapped: mapped * PAGE_BYTES })
    }
}

/// The unit of `/proc/self/statm`: at least this. Larger pages make the limit more generous.
const PAGE_BYTES: u64 = 4096;

/// Lets go of all pages of a mapping.
fn let_go(start: usize, len: usize) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a `Range` exists, which the caller has borrowed or which stays in the locked
        // list, and so the memory is mapped, shared, from a file: pages that are touched again have
        // the same bytes as before, written ones included.
        let _ = unsafe {
            rustix::mm::madvise(start as *mut std::ffi::c_void, len, rustix::mm::Advice::LinuxDontNeed)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Instant;

    use super::super::{Mapping, Scratch};
    use super::*;

    #[test]
    fn pages_beyond_the_limit_are_let_go_and_read_again() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(home.path()).unwrap();
        let numbers: Vec<u64> = (0..1 << 20).collect();
        for block in 0..16u64 {
            scratch.write_at(&numbers, block * (8 << 20)).unwrap();
        }
        let mapping: Mapping = scratch.map().unwrap();
        let array = mapping.array::<u64>(0..128 << 20).unwrap();
        let sum = || array.iter().sum::<u64>();
        let expected = 16 * numbers.iter().sum::<u64>();
        assert_eq!(sum(), expected);
        let touched = Held::now().unwrap().mapped;
        assert!(touched >= 128 << 20, "{touched}");
        keep_resident_within(1);
        let end = Instant::now() + Duration::from_secs(20);
        while Held::now().unwrap().mapped > touched - (100 << 20) {
            assert!(Instant::now() < end, "nothing was let go");
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(sum(), expected);
        keep_resident_within(u64::MAX);
    }
}
