//! The only place that starts a thread pool.
//!
//! The convention: `Some(n)` is a pool of n threads, `None` one thread per core, as reported by the
//! operating system. The environment is ignored: rayon's own default reads `RAYON_NUM_THREADS`.
//! Functions without a thread count run on the caller's pool.

use crate::error::{Error, Result};

/// The maximum number of threads.
const MAX_THREADS: usize = 4096;

/// The number of cores that the operating system lets this process use; 1 if it is unknown.
///
/// The default of `n_threads` in [`Params`](crate::Params) and elsewhere.
pub fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on a rayon pool of `n_threads` threads; `None` for one per core.
///
/// A caller already on a pool of this size stays there. Functions of this library that take no
/// thread count ([`Model::predict`](crate::Model::predict), [`summarize`](crate::summarize),
/// [`MergeTree`](crate::MergeTree) and others) use the pool on which they are called, which outside
/// of any pool is rayon's global one. Call them through this function to use another pool.
///
/// ```
/// use docsphere::{SparseRows, SphericalKMeans, UnitRows, on_threads};
///
/// let rows = SparseRows::from_parts(2, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0])?;
/// let rows = UnitRows::new(rows);
/// let fit = SphericalKMeans::params(2).n_threads(2).fit(&rows)?;
/// let prediction = on_threads(Some(2), || fit.model.predict(&rows))??;
/// assert_eq!(prediction.labels, fit.labels);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) if `n_threads` is not from 1 to 4096;
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system refuses to start threads.
pub fn on_threads<T: Send>(n_threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    check(n_threads)?;
    // In this order: outside of a pool, `current_num_threads` would start rayon's global one.
    let wanted = n_threads.unwrap_or_else(all_cores);
    if rayon::current_thread_index().is_some() && rayon::current_num_threads() == wanted {
        return Ok(work());
    }
    #[expect(clippy::disallowed_methods, reason = "the one place, with a number that is not 0")]
    let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted).build();
    let pool = pool.map_err(|error| Error::io("start threads", std::io::Error::other(error)))?;
    Ok(pool.install(work))
}

/// Rejects thread counts that are out of range.
pub(crate) fn check(n_threads: Option<usize>) -> Result<()> {
    match n_threads {
        Some(n) => Error::unless((1..=MAX_THREADS).contains(&n), "n_threads", "from 1 to 4096", n),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_the_wanted_size_and_is_used_again_within_itself() {
        let inner = on_threads(Some(3), || {
            let outer = std::thread::current().id();
            let same = on_threads(Some(3), || std::thread::current().id() == outer).unwrap();
            (rayon::current_num_threads(), same, on_threads(Some(2), rayon::current_num_threads).unwrap())
        });
        assert_eq!(inner.unwrap(), (3, true, 2));
        assert_eq!(on_threads(None, rayon::current_num_threads).unwrap(), all_cores());
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for n in [0, 4097] {
            let message = on_threads(Some(n), || ()).unwrap_err().to_string();
            assert_eq!(message, format!("n_threads must be from 1 to 4096, got {n}"));
        }
    }
}
