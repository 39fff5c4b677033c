//! The server: one page, and the documents behind it. It reads no other file, and answers nothing but GET.
//!
//! | address | answer |
//! |---|---|
//! | `/` | the page |
//! | `/api/documents?q=WORDS&cluster=N&page=N` | some documents, as JSON |
//! | `/api/documents/NUMBER` | one document, whole |
//!
//! While it listens on this machine alone, it answers only if it was asked by a name of this machine: a page of someone else, whose name was made to point here, cannot read documents.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

use super::documents::{Documents, Question, TIME_LIMIT, Trouble};
use crate::interrupt;

/// How long requests may take to come to their end when the server is asked to stop.
const LAST_SECONDS: Duration = Duration::from_secs(3);

/// What is served.
pub(crate) struct Site {
    pub(crate) page: String,
    /// The file with the documents.
    pub(crate) index: PathBuf,
}

struct Served {
    page: Bytes,
    index: PathBuf,
    /// Whether only this machine can ask.
    is_local: bool,
}

/// Serves until the process is asked to stop. `ready` is called with the address when it can be asked.
pub(crate) fn run(site: Site, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; is the port taken? --port 0 finds a free one")
        })?;
        let address = listener.local_addr()?;
        let served =
            Served { page: site.page.into(), index: site.index, is_local: address.ip().is_loopback() };
        ready(address);
        let server = axum::serve(listener, router(served)).with_graceful_shutdown(asked_to_stop());
        tokio::select! {
            outcome = server => Ok(outcome?),
            () = async { asked_to_stop().await; tokio::time::sleep(LAST_SECONDS).await } => Ok(()),
        }
    });
    // Does not wait for queries that are still going on: they only read.
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
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guarded))
        .with_state(served)
}

/// Refuses requests under foreign names, and tells browsers to be careful.
async fn guarded(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let mut response = if served.is_local && !is_own_name(request.headers()) {
        refusal(StatusCode::FORBIDDEN, "ask by the name localhost or by the address of this machine")
    } else {
        next.run(request).await
    };
    let headers: [(HeaderName, &'static str); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

fn is_own_name(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

async fn page(State(served): State<Arc<Served>>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], served.page.clone()).into_response()
}

/// A question as it stands in an address.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
    cluster: Option<i32>,
    #[serde(default)]
    page: usize,
}

async fn documents(
    State(served): State<Arc<Served>>,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(asked)) = asked else {
        return refusal(StatusCode::BAD_REQUEST, "ask as /api/documents?q=WORDS&cluster=N&page=N");
    };
    let question = Question { words: asked.q, cluster: asked.cluster, page: asked.page };
    answer(served, move |documents| documents.ask(&question).map(|answer| Some(json!(answer)))).await
}

async fn document(
    State(served): State<Arc<Served>>,
    number: Result<Path<i64>, axum::extract::rejection::PathRejection>,
) -> Response {
    let Ok(Path(number)) = number else {
        return refusal(StatusCode::BAD_REQUEST, "documents have numbers, from 0");
    };
    answer(served, move |documents| documents.whole(number).map(|found| found.map(|found| json!(found))))
        .await
}

/// Asks the index, on a thread that may wait for the disk.
async fn answer(
    served: Arc<Served>,
    ask: impl FnOnce(&Documents) -> Result<Option<serde_json::Value>, Trouble> + Send + 'static,
) -> Response {
    let work =
        move || Documents::open(&served.index).map_err(Trouble::Index).and_then(|documents| ask(&documents));
    // Within some of its steps SQLite does not look at the clock.
    let limit = TIME_LIMIT + Duration::from_secs(1);
    let Ok(answered) = tokio::time::timeout(limit, tokio::task::spawn_blocking(work)).await else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, &Trouble::TooSlow.message());
    };
    match answered {
        Ok(Ok(Some(answer))) => Json(answer).into_response(),
        Ok(Ok(None)) => refusal(StatusCode::NOT_FOUND, "there is no such document"),
        Ok(Err(trouble)) => {
            let status = match trouble {
                Trouble::Question(_) => StatusCode::BAD_REQUEST,
                Trouble::TooSlow => StatusCode::SERVICE_UNAVAILABLE,
                Trouble::Index(_) => StatusCode::INTERNAL_SERVER_ERROR,
            };
            refusal(status, &trouble.message())
        }
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn refusal(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        let is_own = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            is_own_name(&headers)
        };
        for host in
            ["localhost", "localhost:7878", "LOCALHOST:1", "127.0.0.1:80", "127.0.0.1", "[::1]:7878", "[::1]"]
        {
            assert!(is_own(host), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example:7878", "10.0.0.1:7878", "127.0.0.1.evil.example", ""]
        {
            assert!(!is_own(host), "{host}");
        }
        assert!(!is_own_name(&HeaderMap::new()));
    }
}
