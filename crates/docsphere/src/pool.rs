//! Scratch memory shared by threads: a task takes a value and returns it when it ends.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Idle values. At most as many exist as tasks run concurrently.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::default())
    }
}

impl<T: Default> Pool<T> {
    /// Runs `work` with an idle value, or a new one. A value whose user panics is dropped.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.idle().pop().unwrap_or_default();
        let result = work(&mut value);
        self.idle().push(value);
        result
    }

    /// Sums a quantity over the idle values.
    pub(crate) fn sum(&self, of: impl FnMut(&T) -> usize) -> usize {
        self.idle().iter().map(of).sum()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
        // The lock is held only for a push or a pop, which cannot leave the list inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_used_again_unless_its_user_panicked() {
        let pool: Pool<Vec<u8>> = Pool::default();
        pool.with(|outer| {
            outer.push(1);
            pool.with(|inner| inner.extend([2, 3]));
        });
        assert_eq!(pool.sum(Vec::len), 3);
        let panicked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.with(|_| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(pool.sum(|_| 1), 1);
    }
}
