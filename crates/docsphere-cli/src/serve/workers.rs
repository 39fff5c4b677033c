//! Search threads, one per core, and a queue in front of them.
//!
//! Each thread keeps the index open, so that neither open files nor memory depend on the number of
//! clients. A request that finds the queue full, or waits in it for too long, is told to retry.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::answers::{Documents, TIME_LIMIT, Trouble};
use super::hits::Selection;

/// Maximum number of waiting requests.
pub(crate) const MAX_WAITING: usize = 800;

/// How long a request may wait.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The search threads. They end when this is dropped, after the queries in the queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.is_closed.store(true, Ordering::Relaxed);
        // A thread that has just looked waits by now, or still holds the lock.
        drop(self.queue.jobs());
        self.queue.is_filled.notify_all();
    }
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    is_filled: Condvar,
    is_closed: AtomicBool,
}

struct Job {
    is_unwanted: Arc<AtomicBool>,
    run: Box<dyn FnOnce(&mut Documents) + Send>,
}

/// Signals when dropped that nobody waits for the answer any more: the connection may be gone.
struct Asker(Arc<AtomicBool>);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts one thread per core.
    pub(crate) fn start(index: &Path, selection: &Arc<Selection>) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        for _ in 0..Self::count() {
            let mut documents = Documents::open(index)?.with_selection(selection);
            let queue = Arc::clone(&queue);
            thread::Builder::new().name("search".to_owned()).spawn(move || queue.work(&mut documents))?;
        }
        Ok(Workers { queue })
    }

    pub(crate) fn count() -> usize {
        docsphere::all_cores()
    }

    /// Runs a query when its turn comes.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Documents) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let asker = Asker(Arc::new(AtomicBool::new(false)));
        let (start, started) = oneshot::channel();
        let (send, answer) = oneshot::channel();
        let is_unwanted = Arc::clone(&asker.0);
        let run = move |documents: &mut Documents| {
            if start.send(()).is_ok() {
                let limited = documents.limit(TIME_LIMIT, move || is_unwanted.load(Ordering::Relaxed));
                let _ = send.send(limited.map_err(Trouble::from).and_then(|()| ask(documents)));
            }
        };
        self.queue.add(Job { is_unwanted: Arc::clone(&asker.0), run: Box::new(run) })?;
        let failed = |_| Trouble::Index(anyhow!("a search ended without an answer"));
        timeout(MAX_WAIT, started).await.map_err(|_| Trouble::Busy)?.map_err(failed)?;
        // During some of its steps SQLite does not check the time.
        let limit = TIME_LIMIT + Duration::from_secs(1);
        timeout(limit, answer).await.map_err(|_| Trouble::TooSlow)?.map_err(failed)?
    }
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: Job) -> Result<(), Trouble> {
        let mut jobs = self.jobs();
        if jobs.len() >= MAX_WAITING {
            jobs.retain(|job| !job.is_unwanted.load(Ordering::Relaxed));
        }
        if jobs.len() >= MAX_WAITING {
            return Err(Trouble::Busy);
        }
        jobs.push_back(job);
        self.is_filled.notify_one();
        Ok(())
    }

    fn work(&self, documents: &mut Documents) {
        loop {
            let is_closed = || self.is_closed.load(Ordering::Relaxed);
            let waiting = self.is_filled.wait_while(self.jobs(), |jobs| jobs.is_empty() && !is_closed());
            let job = waiting.unwrap_or_else(PoisonError::into_inner).pop_front();
            if job.is_none() && is_closed() {
                return;
            }
            if let Some(job) = job.filter(|job| !job.is_unwanted.load(Ordering::Relaxed)) {
                // A panic is reported on standard error; the thread goes on with other requests.
                let _ = panic::catch_unwind(AssertUnwindSafe(|| (job.run)(documents)));
            }
        }
    }
}
