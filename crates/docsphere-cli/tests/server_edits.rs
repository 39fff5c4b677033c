//! Edits from the page of a server.

use serde_json::{Value, json};

use crate::command::Place;
use crate::explorer::{Server, data, with_index};

/// Sends an edit as the page does, apart from what is given.
fn post(server: &Server, path: &str, body: &str, headers: &str) -> (u16, String) {
    let length = body.len();
    server.send(&format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}",
        server.address
    ))
}

fn own(server: &Server) -> String {
    format!("Origin: http://{}\r\nContent-Type: application/json\r\n", server.address)
}

fn edit(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = post(server, path, &body.to_string(), &own(server));
    (status, serde_json::from_str(&answer).unwrap())
}

fn start(place: &Place, options: &str) -> Server {
    Server::of(place.spawn(&format!("serve out --port 0 {options}")))
}

/// The data of the served page.
fn page(place: &Place, server: &Server) -> Value {
    place.write("page.html", server.get("/").1);
    data(place, "page.html")
}

#[test]
fn the_page_edits_and_shows_the_result_as_it_is_then() {
    let place = with_index();
    let mut server = start(&place, "--edit");
    assert_eq!(page(&place, &server)["editable"], true);
    assert_eq!(server.json("/api/edits"), json!({"edits": []}));
    let n_of = |cluster: i32| server.json(&format!("/api/documents?cluster={cluster}"))["total"].as_u64();
    let (zero, one) = (n_of(0).unwrap(), n_of(1).unwrap());
    let (status, answer) =
        edit(&server, "/api/edits", &json!({"op": "rename", "cluster": 0, "name": "All pets"}));
    assert_eq!((status, &answer["reload"], &answer["edits"][0]["id"]), (200, &true.into(), &1.into()));
    assert_eq!(page(&place, &server)["clusters"][0]["name"], "All pets");
    let merge = json!({"op": "merge", "clusters": [0, 1], "into": 0});
    assert_eq!(edit(&server, "/api/edits", &merge).0, 200);
    assert_eq!((n_of(0), n_of(1)), (Some(zero + one), Some(0)));
    assert_eq!(server.json("/api/edits")["edits"].as_array().unwrap().len(), 2);
    let (status, answer) = edit(&server, "/api/edits", &merge);
    assert_eq!((status, answer), (400, json!({"error": "cluster 1 has no documents"})));
    for _ in 0..2 {
        assert_eq!(edit(&server, "/api/edits/undo", &json!({})).0, 200);
    }
    assert_eq!((n_of(0), n_of(1)), (Some(zero), Some(one)));
    assert_eq!(edit(&server, "/api/edits/undo", &json!({})).0, 400);
    assert_eq!(server.stop("TERM"), Some(0));
    assert!(!place.path("out/base").exists() && !place.path("out/edits.json").exists());
}

#[test]
fn nobody_else_edits() {
    let place = with_index();
    let before = place.read("out/clusters.json");
    let hide = json!({"op": "hide", "cluster": 0}).to_string();
    let mut closed = start(&place, "");
    assert_eq!(page(&place, &closed)["editable"], false);
    assert_eq!(post(&closed, "/api/edits", &hide, &own(&closed)).0, 413);
    assert_eq!(post(&closed, "/api/edits", "", &own(&closed)).0, 403);
    assert_eq!(closed.stop("TERM"), Some(0));
    let mut server = start(&place, "--edit");
    let json = "Content-Type: application/json\r\n";
    let origin = format!("Origin: http://{}\r\n", server.address);
    let cases = [
        (json.to_owned(), 403),
        (format!("{json}Origin: http://evil.example\r\n"), 403),
        (format!("{json}Origin: null\r\n"), 403),
        (origin.clone(), 415),
        (format!("{origin}Content-Type: text/plain\r\n"), 415),
        (format!("{origin}Content-Type: application/x-www-form-urlencoded\r\n"), 415),
    ];
    for (headers, status) in cases {
        assert_eq!(post(&server, "/api/edits", &hide, &headers).0, status, "{headers}");
    }
    for body in [
        "",
        "{}",
        "[]",
        "{\"op\": \"hide\"}",
        "{\"op\": \"hide\", \"cluster\": 0, \"more\": 1}",
        "{\"op\": \"hide\", \"cluster\": 99}",
    ] {
        assert_eq!(post(&server, "/api/edits", body, &own(&server)).0, 400, "{body}");
    }
    let long = json!({"op": "note", "cluster": 0, "text": "x".repeat(70_000)}).to_string();
    assert_eq!(post(&server, "/api/edits", &long, &own(&server)).0, 413);
    let foreign = format!(
        "POST /api/edits HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nConnection: close\r\n{json}Content-Length: {}\r\n\r\n{hide}",
        hide.len()
    );
    assert_eq!(server.send(&foreign).0, 403);
    assert_eq!(post(&server, "/api/documents", &hide, &own(&server)).0, 413);
    assert_eq!(place.read("out/clusters.json"), before);
    assert_eq!(server.stop("TERM"), Some(0));
}
