//! A limit on the memory that reading may take, checked before each allocation.
//!
//! The library does not know how much memory the machine has or the process holds: the caller
//! provides both, as a number of bytes and a function. Readers work in pieces and check before each
//! one: the memory held, the reservations of other threads and the piece must together stay within
//! the limit. So the sizes that a file claims are never trusted, and a file that decompresses to
//! more than fits is refused once the limit is reached.
//!
//! **Cost.** One call of the caller's function for every [`PIECE_BYTES`] read or kept.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// Bytes that may be taken without another check.
pub(crate) const PIECE_BYTES: usize = 1 << 22;

/// Allocations up to this size may be copied when they grow, so that both copies exist for a
/// moment. Allocators move larger ones without a copy.
const COPIED_BYTES: usize = 1 << 25;

/// The most memory that the process may hold while the library reads for it.
///
/// The default is no limit. Clones share their reservations, so give clones of one limit to all
/// readers.
///
/// ```
/// use docsphere::{ErrorKind, MemoryLimit};
///
/// // A caller that holds 900 bytes of the 1,000 that it may hold.
/// let limit = MemoryLimit::new(1_000, || 900);
/// assert!(limit.check("a list", 100).is_ok());
/// let error = limit.check("a list", 101).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Memory { needed: 1_001, limit: 1_000, .. }));
/// assert!(MemoryLimit::default().check("a list", 1 << 60).is_ok());
/// ```
#[derive(Clone, Default)]
pub struct MemoryLimit {
    shared: Option<Arc<Shared>>,
}

/// For callers that set no limit.
pub(crate) static NO_LIMIT: MemoryLimit = MemoryLimit { shared: None };

struct Shared {
    bytes: u64,
    held: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Bytes that have been granted and may not yet be counted in `held`.
    reserved: Mutex<u64>,
    released: Condvar,
}

impl MemoryLimit {
    /// A limit of `bytes` bytes. `held` returns how many bytes the process holds now; it is called
    /// on any thread.
    pub fn new(bytes: u64, held: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let (held, reserved, released) = (Box::new(held), Mutex::default(), Condvar::new());
        MemoryLimit { shared: Some(Arc::new(Shared { bytes, held, reserved, released })) }
    }

    /// Checks whether `more` bytes may be taken for `what`, which completes the sentence "reading
    /// ... takes".
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if they may not.
    pub fn check(&self, what: &'static str, more: u64) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let reserved = *shared.reserved();
        shared.check(what, reserved.saturating_add(more))
    }

    /// Like [`check`](Self::check), but reserves the bytes until the reservation is dropped. Waits
    /// for other reservations to end before it refuses, so a thread that holds one must not request
    /// another.
    pub(crate) fn reserve(&self, what: &'static str, more: u64) -> Result<Reservation<'_>> {
        let Some(shared) = &self.shared else { return Ok(Reservation { of: None, bytes: 0 }) };
        let mut reserved = shared.reserved();
        loop {
            match shared.check(what, reserved.saturating_add(more)) {
                Ok(()) => break,
                Err(error) if *reserved == 0 => return Err(error),
                Err(_) => {
                    reserved = shared.released.wait(reserved).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        *reserved += more;
        Ok(Reservation { of: Some(shared), bytes: more })
    }

    /// Makes room in a vector for `more` items, after checking the limit.
    pub(crate) fn grow<T>(&self, what: &'static str, items: &mut Vec<T>, more: usize) -> Result<()> {
        let bytes = |n: usize| (n as u64).saturating_mul(size_of::<T>() as u64);
        let grows = items.len().saturating_add(more) > items.capacity();
        let old = bytes(items.capacity());
        let copied = if grows && old <= COPIED_BYTES as u64 { old } else { 0 };
        self.check(what, bytes(more).saturating_add(copied))?;
        // The allocator may lack room for twice the size but have room for the exact size.
        if items.try_reserve(more).is_err() && items.try_reserve_exact(more).is_err() {
            let needed = bytes(items.len()).saturating_add(bytes(more));
            return Err(ErrorKind::Memory { what, needed, limit: bytes(items.len()) }.into());
        }
        Ok(())
    }
}

/// The smallest piece of a file that is read at a time.
const BUFFER_BYTES: usize = 1 << 18;

impl MemoryLimit {
    /// Reads to the end, up to `limit` bytes, checking before each piece. `failed` makes the error
    /// for a failed read.
    pub(crate) fn read_whole(
        &self,
        mut input: impl Read,
        limit: u64,
        what: &'static str,
        failed: impl Fn(io::Error) -> Error,
    ) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let piece = content.len().clamp(BUFFER_BYTES, PIECE_BYTES);
            self.grow(what, &mut content, piece)?;
            let wanted = (piece as u64).min(limit - content.len() as u64);
            let n_read = input.by_ref().take(wanted).read_to_end(&mut content).map_err(&failed)?;
            if (n_read as u64) < wanted || wanted == 0 {
                return Ok(content);
            }
        }
    }
}

impl Shared {
    fn reserved(&self) -> MutexGuard<'_, u64> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, what: &'static str, more: u64) -> Result<()> {
        let needed = (self.held)().saturating_add(more);
        if needed <= self.bytes {
            return Ok(());
        }
        Err(ErrorKind::Memory { what, needed, limit: self.bytes }.into())
    }
}

/// Reserved bytes, which no other thread may take.
pub(crate) struct Reservation<'a> {
    of: Option<&'a Shared>,
    bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.of {
            *shared.reserved() -= self.bytes;
            shared.released.notify_all();
        }
    }
}

/// Limits are equal if they allow the same number of bytes.
impl PartialEq for MemoryLimit {
    fn eq(&self, other: &Self) -> bool {
        let bytes = |limit: &Self| limit.shared.as_ref().map(|shared| shared.bytes);
        bytes(self) == bytes(other)
    }
}

impl fmt::Debug for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shared {
            None => f.write_str("MemoryLimit(none)"),
            Some(shared) => write!(f, "MemoryLimit({} bytes)", shared.bytes),
        }
    }
}

/// A vector that checks the limit before it grows, one piece at a time.
pub(crate) struct Growing<'a, T> {
    items: Vec<T>,
    /// The length up to which growth has been granted.
    allowed: usize,
    limit: &'a MemoryLimit,
    what: &'static str,
}

impl<'a, T> Growing<'a, T> {
    pub(crate) fn new(limit: &'a MemoryLimit, what: &'static str) -> Self {
        Growing { items: Vec::new(), allowed: 0, limit, what }
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) -> Result<()> {
        self.make_room(1)?;
        self.items.push(item);
        Ok(())
    }

    pub(crate) fn extend(&mut self, items: impl ExactSizeIterator<Item = T>) -> Result<()> {
        self.make_room(items.len())?;
        self.items.extend(items);
        Ok(())
    }

    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        if self.allowed - self.items.len() >= more { Ok(()) } else { self.ask(more) }
    }

    #[cold]
    fn ask(&mut self, more: usize) -> Result<()> {
        let bytes = size_of_val(&self.items[..]).clamp(1 << 12, PIECE_BYTES);
        let piece = more.max(bytes / size_of::<T>().max(1));
        self.limit.grow(self.what, &mut self.items, piece)?;
        self.allowed = self.items.len() + piece;
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.items.last_mut()
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_vector_grows_up_to_the_limit_and_says_what_it_needed() {
        let held = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&held);
        let limit = MemoryLimit::new(100_000_000, move || counted.load(Ordering::Relaxed));
        let mut items = Growing::new(&limit, "numbers");
        let error = loop {
            if let Err(error) = items.push(7u64) {
                break error;
            }
            held.store(8 * items.len() as u64, Ordering::Relaxed);
        };
        assert!((80_000_000..=100_000_000).contains(&(8 * items.len())), "{}", items.len());
        let text = error.to_string();
        assert!(text.starts_with("reading numbers takes 1"), "{text}");
        assert!(text.contains(" bytes or more, but 100000000 are allowed"), "{text}");
    }

    #[test]
    fn a_reservation_counts_until_it_is_dropped_and_others_wait_for_it() {
        let limit = MemoryLimit::new(100, || 0);
        let first = limit.reserve("one", 60).unwrap();
        assert!(limit.check("two", 41).is_err());
        let is_dropped = AtomicBool::new(false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let second = limit.reserve("two", 60);
                assert!(is_dropped.load(Ordering::SeqCst), "granted too early");
                second.map(drop)
            });
            thread::sleep(Duration::from_millis(20));
            is_dropped.store(true, Ordering::SeqCst);
            drop(first);
            assert!(waits.join().unwrap().is_ok());
        });
        assert!(limit.check("three", 100).is_ok());
        assert!(limit.reserve("four", 101).is_err(), "nobody to wait for");
    }

    #[test]
    fn what_the_machine_cannot_give_is_an_error_without_a_limit_too() {
        let mut items: Vec<u64> = Vec::new();
        let error = MemoryLimit::default().grow("numbers", &mut items, usize::MAX / 16).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Memory { what: "numbers", .. }));
    }
}
