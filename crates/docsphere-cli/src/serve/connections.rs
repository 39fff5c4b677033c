//! Connections to the server: their number, their timeouts, and the size of requests.
//!
//! A connection whose request head does not arrive, that sends no requests, or that does not read
//! its response is closed after [`HEAD_LIMIT`] or [`STALL_LIMIT`]. If all places are taken, a new
//! connection replaces the one that has been idle for the longest time, so that idle and slow
//! clients cannot keep others out; if none is idle, it waits.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Sleep, sleep, timeout};

/// Time limit for the head of a request, from the connection or the last response on.
pub(crate) const HEAD_LIMIT: Duration = Duration::from_secs(10);

/// How long a client may stall while a response is sent.
pub(crate) const STALL_LIMIT: Duration = Duration::from_secs(20);

/// Maximum size of the head of a request.
pub(crate) const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Maximum number of lines in the head of a request.
const MAX_HEADERS: usize = 64;

/// How long a client may keep sending after the last response, so that it can read that response.
const LINGER: Duration = Duration::from_millis(500);

/// How long pending requests may take when the server is asked to stop.
const LAST_SECONDS: Duration = Duration::from_secs(3);

/// Interval between attempts to find a place when all are taken.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The local address at which a request arrived.
#[derive(Clone, Copy)]
pub(crate) struct Reached(pub(crate) IpAddr);

/// Upper bound of the files that the process has open beside connections.
const OTHER_FILES: usize = 32;

/// The number of connections wanted, or fewer if the process may not open that many files.
pub(crate) fn allowed(max_connections: usize, n_workers: usize) -> usize {
    #[cfg(unix)]
    let n_files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let n_files: Option<u64> = None;
    let n_files = n_files.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    max_connections.min(n_files.saturating_sub(OTHER_FILES + 2 * n_workers)).max(1)
}

/// All connections.
struct Places {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

struct Connection {
    /// Start of the idle time; `None` while a request is being handled.
    idle_since: Mutex<Option<Instant>>,
    make_room: Notify,
}

/// The place of a connection, held until dropped.
struct Seat {
    number: u64,
    connection: Arc<Connection>,
    places: Arc<Places>,
    _permit: OwnedSemaphorePermit,
}

/// A request being handled, until dropped.
struct Work(Arc<Connection>);

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    async fn seat(self: Arc<Self>) -> Option<Seat> {
        let permit = loop {
            let free = Arc::clone(&self.free);
            if let Ok(permit) = timeout(LOOK_AGAIN, free.acquire_owned()).await {
                break permit.ok()?;
            }
            self.make_room();
        };
        let connection =
            Arc::new(Connection { idle_since: Mutex::new(Some(Instant::now())), make_room: Notify::new() });
        let mut taken = self.taken();
        let number = taken.next;
        taken.next += 1;
        taken.connections.insert(number, Arc::clone(&connection));
        drop(taken);
        Some(Seat { number, connection, places: self, _permit: permit })
    }

    /// Asks the connection that has been idle for the longest time to close.
    fn make_room(&self) {
        let taken = self.taken();
        let idle =
            taken.connections.iter().filter_map(|(n, connection)| Some((connection.idle()?, n, connection)));
        if let Some((_, _, connection)) = idle.min_by_key(|&(since, n, _)| (since, n)) {
            connection.make_room.notify_one();
        }
    }
}

impl Connection {
    fn idle(&self) -> Option<Instant> {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_idle(&self, since: Option<Instant>) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn work(self: &Arc<Self>) -> Work {
        self.set_idle(None);
        Work(Arc::clone(self))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.places.taken().connections.remove(&self.number);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.set_idle(Some(Instant::now()));
    }
}

/// Serves connections until `stop` resolves, then gives them some seconds to end.
pub(crate) async fn answer(
    listener: TcpListener,
    router: Router,
    max_connections: usize,
    stop: impl Future<Output = ()>,
) {
    let places = Arc::new(Places {
        free: Arc::new(Semaphore::new(max_connections)),
        taken: Mutex::new(Taken::default()),
    });
    let (tell_stop, stopping) = watch::channel(());
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(_) => {
                    // The client is already gone, or too many files are open: some will be closed.
                    sleep(LOOK_AGAIN).await;
                    return None;
                }
            };
            Some((stream, Arc::clone(&places).seat().await?))
        };
        tokio::select! {
            () = &mut stop => break,
            next = next => if let Some((stream, seat)) = next {
                tokio::spawn(serve(stream, seat, router.clone(), stopping.clone()));
            },
        }
    }
    drop((listener, tell_stop));
    // All places are free when all connections have ended.
    let n_places = u32::try_from(max_connections).unwrap_or(u32::MAX);
    let _ = timeout(LAST_SECONDS, places.free.acquire_many(n_places)).await;
}

/// Serves the requests of one connection.
async fn serve(stream: TcpStream, seat: Seat, router: Router, mut stopping: watch::Receiver<()>) {
    let Ok(address) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let connection = Arc::clone(&seat.connection);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        let work = connection.work();
        request.extensions_mut().insert(Reached(address.ip()));
        let answer = router.call(request);
        async move {
            let _work = work;
            answer.await
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT);
    builder.max_buf_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
    let mut answered = pin!(builder.serve_connection(TokioIo::new(Stream::new(stream)), service));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            // Errors concern only the client, so they are not reported.
            _ = answered.as_mut() => return,
            () = seat.connection.make_room.notified() => {
                // A request may have arrived at the same time.
                if seat.connection.idle().is_some() {
                    return;
                }
            }
            // The other end is dropped.
            _ = stopping.changed(), if !is_stopping => {
                is_stopping = true;
                answered.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A connection that fails when the other side stops reading.
struct Stream {
    inner: TcpStream,
    /// Fires when nothing has been read for too long.
    stall: Option<Pin<Box<Sleep>>>,
    /// Fires when the other side has had its time to read, after everything was sent.
    linger: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    fn new(inner: TcpStream) -> Self {
        Stream { inner, stall: None, linger: None }
    }

    /// Passes on the outcome of a write, or an error if writes have stalled for too long.
    fn watched<T>(&mut self, outcome: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(STALL_LIMIT)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watched(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.watched(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.watched(outcome, context)
    }

    /// Shuts down the sending side, then drains what is still arriving: closing earlier would make
    /// the other side discard a response that it has not read yet.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
            self.linger = Some(Box::pin(sleep(LINGER)));
        }
        let mut scratch = [0; 4096];
        loop {
            if let Some(linger) = &mut self.linger
                && linger.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}
