//! A call on so many threads, with the interpreter's lock released.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::OrRaise;

/// How long Ctrl-C may go unnoticed.
pub(crate) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Runs `call` on a pool of so many threads, while other Python threads go on.
///
/// The thread that called waits and looks out for Ctrl-C. Then it sets the flag that `call` is
/// given, on which `call` may return early: what it returns is dropped.
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

/// Returns when the other end is gone. An exception by a signal sets the flag, and is kept.
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
