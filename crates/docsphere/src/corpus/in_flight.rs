//! Chunks between the thread that cuts them and the one that takes their results, in order.
//!
//! Each chunk has a place in a line. The pool fills places in any order, and they are taken in the
//! order of the line. The bytes in the line are limited, so neither a slow chunk nor a slow taker
//! lets the line grow: the cutter waits. It does not wait for a whole batch, nor does the pool.
//!
//! The taker parses, too, if it is a thread of the pool and no result is ready; so it may be the
//! only thread of the pool.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a chunk, or a block of one, counts at least, so that many small ones are limited, too.
pub(super) const LEAST_BYTES: usize = 1 << 12;

/// The line of chunks, each with a result of type `T`.
pub(super) struct InFlight<T> {
    line: Mutex<Line<T>>,
    /// The taker waits for a result, for more work or for the end.
    changed: Condvar,
    /// The cutter waits for room.
    has_room: Condvar,
    room: usize,
}

struct Line<T> {
    /// The places from the one that is taken next.
    places: VecDeque<(usize, Option<T>)>,
    n_taken: u64,
    /// Bytes of the chunks in the line.
    n_bytes: usize,
    /// Chunks that the pool was given.
    n_spawned: u64,
    /// Whether no more chunks follow.
    has_ended: bool,
    /// Whether no more results are wanted.
    is_closed: bool,
    /// Whether a place will never be filled, because the task panicked.
    is_lost: bool,
}

/// What the taker gets.
pub(super) enum Next<T> {
    Taken(T),
    Ended,
    /// A task panicked.
    Lost,
}

impl<T> InFlight<T> {
    /// A line with room for so many bytes; the last chunk may exceed them.
    pub(super) fn new(room: usize) -> Self {
        let line = Line {
            places: VecDeque::new(),
            n_taken: 0,
            n_bytes: 0,
            n_spawned: 0,
            has_ended: false,
            is_closed: false,
            is_lost: false,
        };
        InFlight { line: Mutex::new(line), changed: Condvar::new(), has_room: Condvar::new(), room }
    }

    /// A place at the end of the line for a chunk of this size, once there is room; `None` if no
    /// more results are wanted.
    pub(super) fn enter(&self, n_bytes: usize) -> Option<Place<'_, T>> {
        let n_bytes = n_bytes.max(1);
        let is_full = |line: &mut Line<T>| line.n_bytes >= self.room.max(1) && !line.is_closed;
        let mut line = self.has_room.wait_while(self.line(), is_full).unwrap_or_else(PoisonError::into_inner);
        if line.is_closed {
            return None;
        }
        let number = line.n_taken + line.places.len() as u64;
        line.places.push_back((n_bytes, None));
        line.n_bytes += n_bytes;
        Some(Place { of: self, number, is_filled: false })
    }

    /// Says that the pool has one more chunk to parse.
    pub(super) fn spawned(&self) {
        self.line().n_spawned += 1;
        self.changed.notify_one();
    }

    /// The result of the next chunk. Parses chunks on this thread as long as it is not there, if
    /// this is a thread of the pool.
    pub(super) fn next(&self) -> Next<T> {
        let mut line = self.line();
        loop {
            if let Some(next) = line.next() {
                drop(line);
                self.has_room.notify_one();
                return next;
            }
            let n_spawned = line.n_spawned;
            drop(line);
            let has_worked = rayon::yield_now() == Some(rayon::Yield::Executed);
            line = self.line();
            if !has_worked {
                let is_same = |line: &mut Line<T>| line.n_spawned == n_spawned && !line.has_next();
                line = self.changed.wait_while(line, is_same).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Says at the end of the guard's life that no more chunks follow.
    pub(super) fn ends_on_drop(&self) -> impl Drop {
        OnDrop(|| {
            self.line().has_ended = true;
            self.changed.notify_one();
        })
    }

    /// Says at the end of the guard's life that no more results are wanted.
    pub(super) fn closes_on_drop(&self) -> impl Drop {
        OnDrop(|| {
            self.line().is_closed = true;
            self.has_room.notify_one();
        })
    }

    fn line(&self) -> MutexGuard<'_, Line<T>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Line<T> {
    fn has_next(&self) -> bool {
        let is_filled = self.places.front().map_or(self.has_ended, |(_, result)| result.is_some());
        is_filled || self.is_lost
    }

    fn next(&mut self) -> Option<Next<T>> {
        if self.is_lost {
            return Some(Next::Lost);
        }
        match self.places.front_mut() {
            None => self.has_ended.then_some(Next::Ended),
            Some((n_bytes, result)) => {
                let taken = result.take()?;
                self.n_bytes -= *n_bytes;
                self.places.pop_front();
                self.n_taken += 1;
                Some(Next::Taken(taken))
            }
        }
    }
}

/// The place of a chunk in the line.
pub(super) struct Place<'a, T> {
    of: &'a InFlight<T>,
    number: u64,
    is_filled: bool,
}

impl<T> Place<'_, T> {
    /// Whether the result is still wanted.
    pub(super) fn is_wanted(&self) -> bool {
        !self.of.line().is_closed
    }

    pub(super) fn fill(mut self, result: T) {
        let mut line = self.of.line();
        let index = (self.number - line.n_taken) as usize;
        line.places[index].1 = Some(result);
        self.is_filled = true;
        drop(line);
        if index == 0 {
            self.of.changed.notify_one();
        }
    }
}

impl<T> Drop for Place<'_, T> {
    fn drop(&mut self) {
        if !self.is_filled {
            self.of.line().is_lost = true;
            self.of.changed.notify_one();
        }
    }
}

/// Does something at the end of its life.
pub(super) struct OnDrop<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::threads::on_threads;

    /// Takes the results of tasks of these sizes, until `stop` of them are taken.
    fn taken(sizes: &[usize], room: usize, stop: usize, work: impl Fn(usize) -> usize + Sync) -> Vec<usize> {
        let (in_flight, work) = (InFlight::new(room), &work);
        rayon::in_place_scope(|pool| {
            thread::scope(|threads| {
                let _closing = in_flight.closes_on_drop();
                threads.spawn(|| {
                    let _ending = in_flight.ends_on_drop();
                    for (number, &size) in sizes.iter().enumerate() {
                        let Some(place) = in_flight.enter(size) else { return };
                        assert!(in_flight.line().n_bytes <= room.max(1) - 1 + size.max(1));
                        pool.spawn(move |_| {
                            if place.is_wanted() {
                                place.fill(work(number));
                            }
                        });
                        in_flight.spawned();
                    }
                });
                let mut results = Vec::new();
                while results.len() < stop
                    && let Next::Taken(result) = in_flight.next()
                {
                    results.push(result);
                }
                results
            })
        })
    }

    #[test]
    fn results_come_in_order_and_within_the_room() {
        let sizes: Vec<usize> = (0..300).map(|number| number * 37 % 11).collect();
        let uneven = |number: usize| {
            thread::sleep(Duration::from_micros(number as u64 * 7919 % 300));
            number
        };
        for threads in [1, 2, 7] {
            for room in [0, 1, 20, 1000] {
                let all = on_threads(Some(threads), || taken(&sizes, room, usize::MAX, uneven)).unwrap();
                assert_eq!(all, (0..300).collect::<Vec<_>>());
                let some = on_threads(Some(threads), || taken(&sizes, room, 40, uneven)).unwrap();
                assert_eq!(some, (0..40).collect::<Vec<_>>());
            }
        }
        // Outside of every pool; and without any chunk.
        assert_eq!(taken(&sizes, 9, usize::MAX, uneven).len(), 300);
        assert!(taken(&[], 9, usize::MAX, uneven).is_empty());
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller() {
        let work = |number: usize| {
            assert!(number != 20, "on purpose");
            number
        };
        for threads in [1, 2] {
            let run = || on_threads(Some(threads), || taken(&[1; 100], 10, usize::MAX, work));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
    }

    #[test]
    fn readings_within_tasks_of_one_pool_all_end() {
        use rayon::prelude::*;
        for threads in [1, 2] {
            let run = |_| taken(&[1; 50], 5, usize::MAX, |number| number).len();
            let n_taken: usize = on_threads(Some(threads), || (0..8).into_par_iter().map(run).sum()).unwrap();
            assert_eq!(n_taken, 400);
        }
    }
}
