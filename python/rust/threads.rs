//! A call on so many threads, with the interpreter's lock released.

use pyo3::prelude::*;

use crate::errors::named;

/// Runs `call` on a pool of so many threads, while other Python threads go on.
pub(crate) fn on_threads<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    call: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        let pool = pool.map_err(|error| named("DocsphereError", format!("cannot start threads: {error}")))?;
        pool.install(call)
    })
}
