//! The server: one page, and the documents behind it. It reads no other file, and answers only GET
//! requests, apart from edits if they are allowed (`edits.rs`).
//!
//! | route | response |
//! |---|---|
//! | `/` | the page |
//! | `/api/documents?q=WORDS&cluster=N&page=N&bins=C:N,N` | some documents, as JSON |
//! | `/api/documents/NUMBER` | one document, whole |
//! | `/api/hits?q=WORDS&bins=C:N,N` | the hits of a search by cluster |
//! | `/api/points` | all documents as points, as bytes |
//!
//! docs/server.md documents parameters, responses and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answers::{Documents, Trouble};
use super::asked::{self, Pairs};
use super::connections::{self, Reached};
use super::edits::{self, Editing};
use super::hits::Selection;
use super::hosts::Hosts;
use super::workers::Workers;
use crate::console::tell;
use crate::interrupt;

/// KiB of responses that may be in flight to clients, which may be slow.
const ANSWERS_KIB: usize = 256 * 1024;

/// Value of `Retry-After` if the server is busy, in seconds.
const RETRY_AFTER: &str = "5";

/// Minimum interval between reports of index errors on standard error.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The content and settings of a server.
pub(crate) struct Site {
    pub(crate) content: Content,
    /// The content security policy of the page.
    pub(crate) policy: String,
    pub(crate) hosts: Hosts,
    pub(crate) max_connections: usize,
    pub(crate) editing: Editing,
}

/// What a server shows. It changes with an edit.
pub(crate) struct Content {
    pub(crate) page: String,
    /// The file with the documents.
    pub(crate) index: PathBuf,
    /// Their clusters and bins.
    pub(crate) selection: Arc<Selection>,
    /// The documents as points, if there are any.
    pub(crate) points: Option<Vec<u8>>,
}

/// Content that is being served.
struct Shown {
    page: Bytes,
    /// One copy for all clients, so that it needs no room among responses.
    points: Option<Bytes>,
    workers: Workers,
}

impl Shown {
    fn new(content: Content) -> Result<Arc<Self>> {
        let workers = Workers::start(&content.index, &content.selection)?;
        let (page, points) = (content.page.into(), content.points.map(Bytes::from));
        Ok(Arc::new(Shown { page, points, workers }))
    }
}

pub(super) struct Served {
    shown: RwLock<Arc<Shown>>,
    pub(super) editing: Editing,
    policy: HeaderValue,
    hosts: Hosts,
    /// Room for responses, in KiB.
    room: Arc<Semaphore>,
    /// When an index error was last reported.
    told: Mutex<Option<Instant>>,
}

/// A response that holds its room until it is sent.
struct Held {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Serves until the process is asked to stop. `ready` is called with the address once the server
/// accepts connections.
pub(crate) fn run(site: Site, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    let shown = Shown::new(site.content)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; is the port taken? --port 0 finds a free one")
        })?;
        ready(listener.local_addr()?);
        let served = Served {
            shown: RwLock::new(shown),
            editing: site.editing,
            policy: HeaderValue::from_str(&site.policy)?,
            hosts: site.hosts,
            room: Arc::new(Semaphore::new(ANSWERS_KIB)),
            told: Mutex::new(None),
        };
        let max_connections = connections::allowed(site.max_connections, Workers::count());
        connections::answer(listener, router(served), max_connections, asked_to_stop()).await;
        Ok(())
    });
    // Does not wait for running queries: they only read.
    runtime.shutdown_background();
    outcome
}

async fn asked_to_stop() {
    while !interrupt::asked_to_stop() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn router(served: Served) -> Router {
    let served = Arc::new(served);
    Router::new()
        .route("/", get(page))
        .route("/api/documents", get(documents))
        .route("/api/documents/{number}", get(document))
        .route("/api/hits", get(hits))
        .route("/api/points", get(points))
        .route(edits::PATH, get(edits::list).post(edits::add))
        .route("/api/edits/undo", post(edits::undo))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guarded))
        .with_state(served)
}

/// Refuses requests under foreign names or with a body, and adds security headers to responses.
async fn guarded(
    State(served): State<Arc<Served>>,
    Extension(Reached(reached)): Extension<Reached>,
    request: Request,
    next: Next,
) -> Response {
    let named = request.headers().get_all(header::HOST).iter().map(|host| host.to_str().ok());
    let mut response = if !served.hosts.allow(named, reached) {
        let message = "this server does not answer to that name; ask by the name localhost or by the address of this machine, or allow the name: docsphere serve --host-name NAME";
        refusal(StatusCode::FORBIDDEN, message)
    } else if !request.body().is_end_stream() && !served.takes_body(&request) {
        let mut refusal = refusal(StatusCode::PAYLOAD_TOO_LARGE, "requests have no body here");
        refusal.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        refusal
    } else {
        next.run(request).await
    };
    let headers: [(HeaderName, &'static str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, served.policy.clone());
    response
}

async fn page(State(served): State<Arc<Served>>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], served.shown().page.clone()).into_response()
}

/// The query parameters of a request, as they were typed.
type Typed = Result<Query<Pairs>, axum::extract::rejection::QueryRejection>;

async fn documents(State(served): State<Arc<Served>>, typed: Typed) -> Response {
    match pairs(typed).and_then(asked::documents) {
        Ok(question) => served.answer(move |documents| documents.ask(&question).map(Some)).await,
        Err(message) => refusal(StatusCode::BAD_REQUEST, message),
    }
}

async fn hits(State(served): State<Arc<Served>>, typed: Typed) -> Response {
    match pairs(typed).and_then(asked::hits) {
        Ok(question) => served.answer(move |documents| documents.by_cluster(&question).map(Some)).await,
        Err(message) => refusal(StatusCode::BAD_REQUEST, message),
    }
}

fn pairs(typed: Typed) -> Result<Pairs, &'static str> {
    typed.map(|Query(pairs)| pairs).map_err(|_| "the query cannot be read")
}

async fn points(State(served): State<Arc<Served>>) -> Response {
    match &served.shown().points {
        Some(points) => {
            ([(header::CONTENT_TYPE, "application/octet-stream")], points.clone()).into_response()
        }
        None => refusal(StatusCode::NOT_FOUND, "this result has no points; docsphere cluster makes them"),
    }
}

async fn document(
    State(served): State<Arc<Served>>,
    number: Result<Path<i64>, axum::extract::rejection::PathRejection>,
) -> Response {
    let Ok(Path(number)) = number else {
        return refusal(StatusCode::BAD_REQUEST, "documents have numbers, from 0");
    };
    served.answer(move |documents| documents.whole(number)).await
}

impl Served {
    /// What is served at this moment.
    fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves other content from now on. Requests that are being answered go on with the old one.
    pub(super) fn show(&self, content: Content) -> Result<()> {
        let shown = Shown::new(content)?;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = shown;
        Ok(())
    }

    /// Whether a request may have a body: only edits do, if they are allowed.
    fn takes_body(&self, request: &Request) -> bool {
        self.editing.is_allowed && request.uri().path().starts_with(edits::PATH)
    }

    /// Queries the index and builds the response.
    async fn answer<T: Serialize + 'static>(
        &self,
        ask: impl FnOnce(&Documents) -> Result<Option<T>, Trouble> + Send + 'static,
    ) -> Response {
        let as_json = |answer: T| serde_json::to_vec(&answer).map_err(|error| Trouble::Index(error.into()));
        let shown = self.shown();
        let answer = shown.workers.ask(move |documents| ask(documents)?.map(as_json).transpose()).await;
        match answer.and_then(|answer| answer.map(|bytes| self.held(bytes)).transpose()) {
            Ok(Some(held)) => {
                let body = Body::from(Bytes::from_owner(held));
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            Ok(None) => refusal(StatusCode::NOT_FOUND, "there is no such document"),
            Err(trouble) => self.refusal(&trouble),
        }
    }

    /// Reserves room for a response, if there is enough.
    fn held(&self, bytes: Vec<u8>) -> Result<Held, Trouble> {
        let n_kib = bytes.len().div_ceil(1024).min(ANSWERS_KIB) as u32;
        let room = Arc::clone(&self.room).try_acquire_many_owned(n_kib).map_err(|_| Trouble::Busy)?;
        Ok(Held { bytes, _room: room })
    }

    fn refusal(&self, trouble: &Trouble) -> Response {
        if let Trouble::Index(error) = trouble {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
                *told = Some(Instant::now());
                tell(&format!("error: the search index: {error:#}"));
            }
        }
        let status = match trouble {
            Trouble::Question(_) => StatusCode::BAD_REQUEST,
            Trouble::TooSlow | Trouble::TooLarge | Trouble::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Trouble::Index(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut refusal = refusal(status, &trouble.message());
        if let Trouble::Busy = trouble {
            refusal.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        refusal
    }
}

pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}
