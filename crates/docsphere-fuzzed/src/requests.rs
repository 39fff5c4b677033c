//! Bytes to what a client of `docsphere serve` may send: parameters are read or refused, whatever
//! is searched for is an expression that SQLite takes, and no foreign name passes for this
//! machine's.
//!
//! The files of the server are compiled here once more, since a program has no parts to call.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use rusqlite::Connection;

#[path = "../../docsphere-cli/src/serve/asked.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "there, it is a part of a program")]
mod asked;
#[path = "../../docsphere-cli/src/serve/expression.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "there, it is a part of a program")]
mod expression;
#[path = "../../docsphere-cli/src/serve/hosts.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "there, it is a part of a program")]
mod hosts;

/// Where a request arrives.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// Most bins that one parameter may have: as many as fit into a line of a request.
const MAX_LINE_BYTES: usize = 1 << 16;

thread_local! {
    static INDEX: OnceCell<Connection> = const { OnceCell::new() };
}

/// Reads bytes as the parameters of a request, as a search, and as the name of a host.
pub fn run(data: &[u8], _folder: &Path) {
    let text = String::from_utf8_lossy(&data[..data.len().min(MAX_LINE_BYTES)]);
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    let pairs: asked::Pairs = text.split('&').map(pair).collect();
    if let Ok(question) = asked::documents(pairs.clone()) {
        let n_searches = pairs.iter().filter(|(name, _)| name == "q").count();
        assert!(n_searches <= 1 && question.bins.len() <= pairs.len());
        search(&question.words);
        // Hits are asked for by the same words.
        assert_eq!(asked::hits(pairs).expect("fewer parameters").words, question.words);
    }
    search(&text);
    name_a_host(&text);
}

/// Whatever is typed, SQLite finds something or nothing.
fn search(typed: &str) {
    let Ok(Some(expression)) = expression::expression(typed) else { return };
    let _ = expression::first_word(&expression);
    let _ = expression::spaced(typed);
    INDEX.with(|index| {
        let index = index.get_or_init(|| {
            let index = Connection::open_in_memory().expect("memory");
            index
                .execute_batch(
                    "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'unicode61');
                     INSERT INTO texts VALUES ('cats purr'), ('dogs bark');",
                )
                .expect("a table");
            index
        });
        let mut found = index.prepare_cached("SELECT count(*) FROM texts WHERE texts MATCH ?1").expect("SQL");
        for whole in [&expression[..], expression.trim_end_matches(expression::OPEN)] {
            let n_found: rusqlite::Result<i64> = found.query_row([whole], |row| row.get(0));
            assert!(n_found.is_ok(), "{typed:?} as {whole:?}: {n_found:?}");
        }
    });
}

/// A name that is allowed is that of this machine, or an address of it.
fn name_a_host(typed: &str) {
    let given: Vec<hosts::HostName> = typed.split('&').filter_map(|name| name.parse().ok()).collect();
    let hosts = hosts::Hosts::new(&[], true);
    if hosts.allow([Some(typed)], HERE) {
        let name = typed.to_ascii_lowercase();
        let is_own = ["localhost", "192.0.2.7", "127.", "::1", "::ffff:", "0:"];
        assert!(is_own.iter().any(|own| name.contains(own)), "{typed:?}");
        assert!(!hosts.allow([Some(typed), Some(typed)], HERE), "one name only");
    }
    let hosts = hosts::Hosts::new(&given, true);
    for name in hosts.names() {
        // An IPv6 address without brackets cannot be told from a name with a port.
        assert!(name.contains(':') || hosts.allow([Some(name)], HERE), "{name:?}");
    }
}

/// Requests of every kind.
pub fn seeds(_folder: &Path) -> Vec<Vec<u8>> {
    [
        "q=cats purr&cluster=-1&page=3&bins=2:0,7&bins=0:254",
        "q=\"cats purr\" so OR NEAR(a b) -c col:d* ^e {f}",
        "q=\u{64cd}\u{4f5c}\u{7cfb}\u{7edf} linux \u{5185}\u{6838}\0'); --",
        "localhost:7878",
        "[::ffff:192.0.2.7]:80&search.example.org&::1",
        "127.0.0.1.evil.example:80",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
