//! Keeps the threads of a pool awake between two parallel steps with little work between them.
//!
//! Threads without work fall asleep within microseconds, and each takes longer to wake up than a
//! short task takes. A loop of many thousand short parallel steps would spend most of its time
//! waking them. Here they poll for work until the next step begins, or for [`LONGEST`] at most.
//!
//! Polling takes processor time that nobody else gets. So it is left alone with few threads, which
//! gain little, and with more threads than cores, which would take turns with the one at work.
//!
//! A thread that polls executes what others of its pool have to do, so nothing waits for it: not
//! even another loop of this kind on the same pool, since each polls only for a bounded time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::threads::all_cores;

/// The longest time to poll for the next step.
const LONGEST: Duration = Duration::from_micros(500);

/// With fewer threads, none polls.
const LEAST_THREADS: usize = 4;

/// Pauses between two looks for work.
const PAUSES: usize = 32;

/// Decides once for a loop; the number of cores takes long to find.
#[derive(Clone, Copy)]
pub(crate) struct BetweenSteps {
    polls: bool,
}

/// The others of the pool poll for work while this exists.
pub(crate) struct Busy {
    is_over: Arc<AtomicBool>,
}

impl BetweenSteps {
    /// For a loop on the current pool.
    pub(crate) fn new() -> Self {
        let is_worker = rayon::current_thread_index().is_some();
        BetweenSteps { polls: is_worker && Self::is_worth_it(rayon::current_num_threads(), all_cores()) }
    }

    fn is_worth_it(n_threads: usize, n_cores: usize) -> bool {
        (LEAST_THREADS..=n_cores).contains(&n_threads)
    }

    /// From now on the others poll, until this is dropped.
    pub(crate) fn busy(self) -> Option<Busy> {
        self.polls.then(Busy::new)
    }
}

impl Busy {
    fn new() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        let until = Instant::now() + LONGEST;
        let own = rayon::current_thread_index();
        rayon::spawn_broadcast(move |thread| {
            // The caller would wait for itself.
            if Some(thread.index()) == own {
                return;
            }
            while !end.load(Relaxed) && Instant::now() < until {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    (0..PAUSES).for_each(|_| std::hint::spin_loop());
                }
            }
        });
        Busy { is_over }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::on_threads;
    use rayon::prelude::*;

    #[test]
    fn only_pools_of_some_threads_that_have_cores_poll() {
        let worth = |n_threads| BetweenSteps::is_worth_it(n_threads, 8);
        assert_eq!([1, 3, 4, 8, 9].map(worth), [false, false, true, true, false]);
        assert!(!BetweenSteps::new().polls, "outside of a pool");
    }

    /// Threads that poll take part in the work, also of loops side by side on one pool, which wait
    /// for each other within their steps.
    #[test]
    fn loops_on_one_pool_end_while_all_poll() {
        let sum_of_loop = |seed: usize| {
            let mut sum = 0;
            for step in 0..50 {
                let busy = Busy::new();
                sum += seed;
                if step % 7 == 0 {
                    sum += (0..100).into_par_iter().with_max_len(1).sum::<usize>();
                }
                drop(busy);
                sum += (0..step).into_par_iter().with_max_len(1).sum::<usize>();
            }
            sum
        };
        let expected = |seed: usize| 50 * seed + 8 * 4950 + (1..50).map(|n| n * (n - 1) / 2).sum::<usize>();
        let sums: Vec<usize> =
            on_threads(Some(4), || (1..4).into_par_iter().with_max_len(1).map(sum_of_loop).collect())
                .unwrap();
        assert_eq!(sums, [1, 2, 3].map(expected));
    }
}
