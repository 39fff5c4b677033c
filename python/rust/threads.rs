//! A call on a given number of threads, with the interpreter's lock released.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::OrRaise;

/// Interval between checks for Ctrl-C.
pub(crate) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Runs `call` on a thread pool of its own, while other Python threads continue.
///
/// The calling thread waits and checks for Ctrl-C. On Ctrl-C it sets the flag passed to `call`,
/// which may then return early: its result is dropped.
pub(crate) fn on_threads<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    call: impl FnOnce(&AtomicBool) -> PyResult<T> + Send,
) -> PyResult<T> {
    let cancel = &AtomicBool::new(false);
    py.detach(|| {
        let (running, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let work = scope.spawn(move || {
                let _running = running;
                docsphere::on_threads(Some(n_threads), || call(cancel)).or_raise()?
            });
            let watched = until_the_end(&ended, cancel);
            let result = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            watched?;
            result
        })
    })
}

/// Returns when the other end is gone. An exception from a signal sets the flag, and is kept.
fn until_the_end(ended: &mpsc::Receiver<()>, cancel: &AtomicBool) -> PyResult<()> {
    let mut raised = Ok(());
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(SIGNAL_CHECK) {
        if raised.is_ok() {
            raised = Python::attach(|py| py.check_signals());
            cancel.store(raised.is_err(), Relaxed);
        }
    }
    raised
}
