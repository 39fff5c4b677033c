//! Edits from the page: `docsphere serve --edit`.
//!
//! | route | response |
//! |---|---|
//! | `GET /api/edits` | `{"edits": [...]}` |
//! | `POST /api/edits` with one operation as JSON | the same and `"reload": true` |
//! | `POST /api/edits/undo` | the same |
//!
//! Whoever can reach the server can edit, so edits are off unless they are asked for. A page of
//! another origin cannot make them: a request must name its origin, and it must be that of this
//! page. One edit is made at a time; afterwards the server reads the result again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use docsphere_result::edits::{Edits, Operation};
use docsphere_result::{Error, ErrorKind};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::server::{Content, Served, refusal};
use crate::editing::{self, Refused, now};
use crate::memory;

/// The longest body of a request.
const MAX_BODY: usize = 64 * 1024;

/// How long a client may take to send it.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// The paths under which requests have bodies.
pub(super) const PATH: &str = "/api/edits";

/// A result that is edited from its page.
pub(crate) struct Editing {
    pub(crate) result: PathBuf,
    /// Whether the server takes edits.
    pub(crate) is_allowed: bool,
    /// Reads the result again.
    pub(crate) read: Arc<dyn Fn() -> Result<Content> + Send + Sync>,
    /// Held by the request that edits.
    pub(crate) turn: Mutex<()>,
}

/// Whether a request comes from the page itself.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let one = |name| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let (Some(host), Some(origin)) = (one(header::HOST), one(header::ORIGIN)) else { return false };
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| name.eq_ignore_ascii_case(host))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// All edits.
pub(super) async fn list(State(served): State<Arc<Served>>) -> Response {
    match Edits::read(&served.editing.result, &memory::of_readers()) {
        Ok(edits) => Json(json!({ "edits": edits })).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Adds an edit.
pub(super) async fn add(State(served): State<Arc<Served>>, request: Request) -> Response {
    match body(&served, request).await {
        Ok(bytes) => match serde_json::from_slice::<Operation>(&bytes) {
            Ok(operation) => change(served, move |edits| edits.add(operation, now())).await,
            Err(error) => refusal(StatusCode::BAD_REQUEST, &format!("is not an edit: {error}")),
        },
        Err((status, message)) => refusal(status, message),
    }
}

/// Removes the last edit.
pub(super) async fn undo(State(served): State<Arc<Served>>, request: Request) -> Response {
    match body(&served, request).await {
        Ok(_) => {
            let undo = |edits: &mut Edits| match edits.edits.pop() {
                Some(_) => Ok(()),
                None => Err("the result has no edits".to_owned()),
            };
            change(served, undo).await
        }
        Err((status, message)) => refusal(status, message),
    }
}

/// The body of a request that may edit, or why it may not.
async fn body(served: &Served, request: Request) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    let no = |status, message| Err((status, message));
    if !served.editing.is_allowed {
        return no(StatusCode::FORBIDDEN, "this server takes no edits; start it with docsphere serve --edit");
    }
    let (head, body): (_, Body) = request.into_parts();
    if !is_same_origin(&head.headers) {
        return no(StatusCode::FORBIDDEN, "edits are taken from the page of this server only");
    }
    if !is_json(&head.headers) {
        return no(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON, with the content type application/json");
    }
    match timeout(BODY_LIMIT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => no(StatusCode::PAYLOAD_TOO_LARGE, "an edit has at most 64 KiB"),
        Err(_) => no(StatusCode::REQUEST_TIMEOUT, "the request was not sent in time"),
    }
}

/// Changes the edits, and shows the result as it is then.
async fn change(
    served: Arc<Served>,
    change: impl FnOnce(&mut Edits) -> Result<(), String> + Send + 'static,
) -> Response {
    let Ok(_turn) = served.editing.turn.try_lock() else {
        return refusal(StatusCode::CONFLICT, "another edit is being made; try again");
    };
    let (result, read) = (served.editing.result.clone(), Arc::clone(&served.editing.read));
    let edit = move || -> Result<(Edits, Content)> {
        let edits = editing::change(&result, change)?;
        Ok((edits, read()?))
    };
    let done = tokio::task::spawn_blocking(edit).await;
    let shown = match done {
        Ok(Ok((edits, content))) => served.show(content).map(|()| edits),
        Ok(Err(error)) => Err(error),
        Err(error) => Err(error.into()),
    };
    match shown {
        Ok(edits) => Json(json!({ "edits": edits, "reload": true })).into_response(),
        Err(error) => {
            let kind = error.downcast_ref::<Error>().map(Error::kind);
            let is_refused = error.is::<Refused>() || matches!(kind, Some(ErrorKind::Edit { .. }));
            let status = if is_refused { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR };
            refusal(status, &format!("{error:#}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_itself_may_edit() {
        let is_same = |host: &str, origins: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            is_same_origin(&headers)
        };
        assert!(is_same("localhost:7878", &["http://localhost:7878"]));
        assert!(is_same("search.example", &["https://Search.Example"]));
        for origins in [
            &[][..],
            &["null"],
            &["http://localhost"],
            &["http://localhost:7879"],
            &["http://evil.example"],
            &["ftp://localhost:7878"],
            &["http://localhost:7878", "http://evil.example"],
        ] {
            assert!(!is_same("localhost:7878", origins), "{origins:?}");
        }
    }
}
