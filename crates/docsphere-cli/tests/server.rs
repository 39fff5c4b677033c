//! The server under load, and among clients that mean it harm.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::command::Place;
use crate::explorer::{Server, with_index};

/// Longer than any limit of the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends in any case: an index that is not refused cannot be served at an address of nobody.
const REFUSED: &str = "serve out --address 192.0.2.1";

/// A result whose documents all have the word "the".
fn with_many(n_documents: usize) -> Place {
    of_many(n_documents, "--no-report")
}

fn of_many(n_documents: usize, options: &str) -> Place {
    let place = Place::new();
    let line = |i: usize| format!("the{} the cats and dogs of house{} sleep\n", i % 50, i % 7);
    place.write("many.txt", (0..n_documents).map(line).collect::<String>());
    place.ok(&format!("cluster many.txt -k 2 --max-iter 2 -o out --index --quiet {options}"));
    place
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the server has closed the connection, as soon as it does.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// The statuses that so many clients get who ask at the same time.
fn ask_at_once(server: &Server, n_clients: usize, path: &str) -> Vec<u16> {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients).map(|_| scope.spawn(|| server.get(path).0)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn all_who_ask_at_once_are_answered_although_few_files_may_be_open() {
    let place = with_many(12_000);
    // Fewer than there are clients, of which each takes one; so does each thread that searches.
    let n_files = 60 + 2 * thread::available_parallelism().map_or(1, usize::from);
    let script = format!("ulimit -n {n_files} && exec \"$0\" serve out --port 0");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_docsphere")]).current_dir(place.path("."));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut server = Server::of(child);
    for path in ["/api/documents?q=the", "/api/documents?q=the&cluster=0", "/api/documents?q=the&page=500"] {
        let statuses = ask_at_once(&server, 150, path);
        assert!(statuses.iter().all(|&status| status == 200), "{path}: {statuses:?}");
    }
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn who_sends_nothing_or_too_slowly_is_dropped() {
    let place = with_index();
    let mut server = Server::start(&place);
    let start = Instant::now();
    let mut silent = connect(&server);
    let mut idle = connect(&server);
    idle.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).as_bytes()).unwrap();
    let mut slow = connect(&server);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    let mut dripping = slow.try_clone().unwrap();
    let drip = thread::spawn(move || {
        // One more line now and then: each of them is in time.
        while start.elapsed() < PATIENCE && dripping.write_all(b"X-Drip: 1\r\n").is_ok() {
            thread::sleep(Duration::from_millis(500));
        }
    });
    assert!(is_closed(&mut silent) && is_closed(&mut idle) && is_closed(&mut slow));
    assert!(start.elapsed() > Duration::from_secs(5), "there is time for a slow network");
    assert!(start.elapsed() < PATIENCE / 2, "they were dropped after {:?}", start.elapsed());
    let _ = slow.shutdown(Shutdown::Both);
    drip.join().unwrap();
    assert_eq!(server.get("/").0, 200);
    assert_eq!(server.stop("TERM"), Some(0));
}

/// Memory of a process that is in use, in KiB.
#[cfg(target_os = "linux")]
fn resident_kib(server: &Server) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Sends requests of every kind, some of them wrong, one after the other on each of a few
/// connections at a time, while others take large answers byte by byte.
#[cfg(target_os = "linux")]
fn round_of_requests(server: &Server, n_clients: usize, n_requests: usize) {
    const REQUESTS: [(&str, u16); 9] = [
        ("/api/documents?q=the&page=500", 200),
        ("/api/documents?q=house3", 200),
        ("/api/documents?cluster=0&page=7", 200),
        ("/api/documents/17", 200),
        ("/api/hits?q=cats", 200),
        ("/api/points", 200),
        ("/", 200),
        ("/api/documents?page=x", 400),
        ("/nothing", 404),
    ];
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut slow = connect(server);
            slow.write_all(
                format!("GET /api/points HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).as_bytes(),
            )
            .unwrap();
            slow.read_exact(&mut [0]).unwrap();
            slow
        })
        .collect();
    thread::scope(|scope| {
        for client in 0..n_clients {
            scope.spawn(move || {
                for number in 0..n_requests {
                    let (path, expected) = REQUESTS[(client + number) % REQUESTS.len()];
                    let (status, _) = server.get(path);
                    assert_eq!(status, expected, "{path}");
                }
            });
        }
    });
    drop(slow);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat_over_thousands_of_requests() {
    const PER_REQUEST: i64 = 1024;
    let place = of_many(12_000, "");
    let mut server = Server::start(&place);
    // Until then each thread has its buffers, and each connection to the index its pages.
    round_of_requests(&server, 4, 400);
    let before = resident_kib(&server);
    let n_requests: i64 = 4 * 750;
    round_of_requests(&server, 4, 750);
    let grown = 1024 * (resident_kib(&server) - before);
    assert!(grown < n_requests * PER_REQUEST, "{grown} bytes more after {n_requests} requests");
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn idle_connections_make_room_for_new_ones() {
    let place = with_index();
    let mut server = Server::of(place.spawn("serve out --port 0 --max-connections 3"));
    let start = Instant::now();
    let mut idle: Vec<TcpStream> = (0..12).map(|_| connect(&server)).collect();
    for _ in 0..5 {
        assert_eq!(server.get("/api/documents?q=cats").0, 200);
    }
    assert!(is_closed(&mut idle[0]), "the oldest first");
    assert!(start.elapsed() < Duration::from_secs(8), "nobody waited until the idle ones were given up");
    assert_eq!(server.stop("TERM"), Some(0));
    let done = place.run("serve out --max-connections 0");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("must be a number from 1 to 100000"), "{}", done.stderr);
}

#[test]
fn large_requests_are_refused() {
    let place = with_index();
    let mut server = Server::start(&place);
    let host = &server.address;
    let with_head = |head: &str| server.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n{head}\r\n")).0;
    assert_eq!(with_head(&format!("Cookie: {}\r\nConnection: close\r\n", "x".repeat(4_000))), 200);
    assert_eq!(with_head(&format!("Cookie: {}\r\n", "x".repeat(100_000))), 431);
    assert_eq!(with_head(&"X-Many: 1\r\n".repeat(500)), 431);
    assert_eq!(server.send(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000))).0, 431);
    let body = format!("Content-Length: 50000\r\n\r\n{}", "x".repeat(50_000));
    let (status, message) = server.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n{body}"));
    assert_eq!((status, message.as_str()), (413, "{\"error\":\"requests have no body here\"}"));
    // Promised, and never sent.
    assert_eq!(with_head("Transfer-Encoding: chunked\r\n"), 413);
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn names_of_hosts_are_checked_where_others_can_connect() {
    let place = with_index();
    let mut server =
        Server::of(place.spawn("serve out --port 0 --address 0.0.0.0 --host-name search.example.org"));
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    server.address = format!("127.0.0.1:{port}");
    let ask = |host: &str| {
        server.send(&format!("GET /api/documents HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };
    let own = Command::new("uname").arg("-n").output().unwrap().stdout;
    let own = String::from_utf8(own).unwrap().trim().to_owned();
    for host in ["127.0.0.1", "localhost", "search.example.org", "SEARCH.example.org:80", own.as_str()] {
        assert_eq!(ask(&format!("{host}:{port}").replace(":80:", ":")).0, 200, "{host}");
    }
    for host in ["evil.example", "example.org", "a.search.example.org", "192.0.2.1", ""] {
        let (status, body) = ask(host);
        assert_eq!(status, 403, "{host}");
        assert!(body.contains("docsphere serve --host-name NAME"), "{body}");
    }
    assert_eq!(server.stop("TERM"), Some(0));
    let mut said = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("warning: anyone who can reach 0.0.0.0 can read all documents"), "{said}");
    assert!(said.contains("localhost, search.example.org") && said.contains("--host-name adds"), "{said}");
    let done = place.run("serve out --host-name http://search.example.org");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("a name or an IP address alone"), "{}", done.stderr);
}

#[test]
fn a_name_may_be_allowed_on_this_machine_alone() {
    let place = with_index();
    let mut server = Server::of(place.spawn("serve out --port 0 --host-name docs.test"));
    let ask = |host: &str| {
        server.send(&format!("GET /api/documents HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).0
    };
    assert_eq!((ask("docs.test"), ask("other.test"), ask("localhost")), (200, 403, 200));
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn a_damaged_index_is_refused_wherever_the_damage_is() {
    let place = with_index();
    let whole = std::fs::read(place.path("out/documents.sqlite")).unwrap();
    let refused = |bytes: &[u8], why: &str| {
        place.write("out/documents.sqlite", bytes);
        let done = place.run(REFUSED);
        assert_eq!(done.code, Some(1), "{why}");
        let start = "docsphere: error: out/documents.sqlite: cannot read: ";
        assert!(done.stderr.starts_with(start) && done.stderr.contains(why), "{}", done.stderr);
        assert!(done.stderr.ends_with("; make it again with docsphere index\n"), "{}", done.stderr);
    };
    // In the header, its checksum, tables, texts, and what lies between them.
    for at in [20, 61, 99, 100, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        refused(&damaged, "is damaged");
    }
    refused(&whole[..whole.len() - 1], "is damaged");
    refused(&whole[..4096], "is damaged");
    refused(&[whole.as_slice(), b"\0"].concat(), "is damaged");
    for other in [&whole[..99], b"", b"no database at all"] {
        refused(other, "was not made by this version of docsphere");
    }
    place.write("out/documents.sqlite", &whole);
    let mut server = Server::start(&place);
    assert_eq!(server.json("/api/documents?q=cats")["total"], 2);
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn an_index_of_another_result_is_refused() {
    let place = with_index();
    place.write("same.txt", "cats purr\ncats purr softly\ncats purr loudly\ndogs bark\n");
    place.ok("cluster same.txt -k 2 -o other --index");
    std::fs::copy(place.path("other/documents.sqlite"), place.path("out/documents.sqlite")).unwrap();
    let done = place.run(REFUSED);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("it is of another result; make it again"), "{}", done.stderr);
}

#[test]
fn what_goes_wrong_inside_is_not_told_to_clients() {
    let place = with_many(3_000);
    let mut server = Server::start(&place);
    // Overwritten while it is served, in place.
    let path = place.path("out/documents.sqlite");
    let n_bytes = std::fs::metadata(&path).unwrap().len() as usize;
    std::fs::write(&path, vec![0xa5; n_bytes]).unwrap();
    let mut n_failed = 0;
    for path in ["/api/documents", "/api/documents?q=the", "/api/documents?cluster=0", "/api/documents/2500"]
    {
        let (status, body) = server.get(path);
        assert!(status == 200 || status == 500, "{path}: {status}");
        if status == 500 {
            n_failed += 1;
            assert_eq!(
                body,
                "{\"error\":\"the search index cannot be read; the server's standard error says why\"}"
            );
        }
    }
    assert!(n_failed > 0, "SQLite keeps some pages, not all of them");
    assert_eq!(server.get("/").0, 200);
    assert_eq!(server.stop("TERM"), Some(0));
    let mut said = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("docsphere: error: the search index: "), "{said}");
}

#[test]
fn a_server_goes_on_with_the_index_it_began_with() {
    let place = with_index();
    let mut server = Server::start(&place);
    std::fs::remove_file(place.path("out/documents.sqlite")).unwrap();
    assert_eq!(server.json("/api/documents?q=cats")["total"], 2);
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn many_hits_come_in_the_order_of_the_corpus_and_few_by_rank() {
    let place = with_many(12_000);
    let mut server = Server::start(&place);
    let numbers = |path: &str| -> Vec<u64> {
        let answer = server.json(path);
        answer["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["number"].as_u64().unwrap())
            .collect()
    };
    let all = server.json("/api/documents?q=the");
    assert_eq!((all["total"].as_u64(), all["isMore"].as_bool()), (Some(10_000), Some(true)));
    assert_eq!(numbers("/api/documents?q=the"), (0..20).collect::<Vec<_>>());
    for page in [499, 500, 501, 599] {
        let first = page * 20;
        let expected: Vec<u64> = (first..first + 20).collect();
        assert_eq!(numbers(&format!("/api/documents?q=the&page={page}")), expected);
        assert_eq!(numbers(&format!("/api/documents?page={page}")), expected);
    }
    for page in [600, 1_000_000, 400_000_000_000_000_000u64] {
        assert!(numbers(&format!("/api/documents?q=the&page={page}")).is_empty());
        assert!(numbers(&format!("/api/documents?page={page}")).is_empty());
    }
    // The last word may go on: the1 and the10 to the19, in 240 documents each.
    assert_eq!(server.json("/api/documents?q=the1")["total"], 11 * 240);
    assert_eq!(server.json("/api/documents?q=hou")["isMore"], true);
    // All of these are equally good: in the order of the corpus, without gaps between pages.
    let few: Vec<u64> =
        (0..12).flat_map(|page| numbers(&format!("/api/documents?q=the7+&page={page}"))).collect();
    assert_eq!(few, (0..240).map(|i| 7 + 50 * i).collect::<Vec<_>>());
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn a_matrix_has_nothing_to_serve_and_no_index_is_suggested() {
    let place = Place::new();
    place.write("rows.svm", "1 1:1\n1 2:1\n");
    place.ok("cluster rows.svm -k 2 -o out --quiet");
    let done = place.run(REFUSED);
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "docsphere: error: out: is the result of a matrix, which has no texts to serve; open out/report.html in a browser\n"
    );
}

/// The parts of the content security policy.
fn sources<'a>(policy: &'a str, directive: &str) -> Vec<&'a str> {
    let found: Vec<_> = policy.split(';').filter_map(|part| part.trim().strip_prefix(directive)).collect();
    assert_eq!(found.len(), 1, "{directive} in {policy}");
    found[0].split_whitespace().collect()
}

/// What a policy calls this text.
fn hash_source(text: &str) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // 32 bytes, and a last group that is one short.
    let digest = [Sha256::digest(text.as_bytes()).as_slice(), &[0]].concat();
    let mut encoded = String::new();
    for group in digest.chunks(3) {
        let bits = group.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte));
        encoded.extend([18, 12, 6, 0].map(|shift| char::from(SIGNS[bits >> shift & 63])));
    }
    encoded.pop();
    format!("'sha256-{encoded}='")
}

/// The elements of a page that are of this kind and stand at the start of a line: their attributes
/// and contents.
fn elements<'a>(page: &'a str, tag: &str) -> Vec<(&'a str, &'a str)> {
    let (open, close) = (format!("<{tag} "), format!("</{tag}>"));
    let starts = page.match_indices(&open).filter(|(at, _)| {
        page[..*at].ends_with(|c: char| c.is_whitespace())
            && page[..*at].trim_end_matches(' ').ends_with('\n')
    });
    starts
        .map(|(at, _)| {
            let (attributes, rest) = page[at + open.len()..].split_once('>').unwrap();
            (attributes, rest.split_once(&close).unwrap().0)
        })
        .collect()
}

#[test]
fn only_the_script_and_the_style_of_the_page_are_allowed() {
    assert_eq!(hash_source("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    let place = with_index();
    let mut server = Server::start(&place);
    let answer = server.answer("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (head, served) = answer.split_once("\r\n\r\n").unwrap();
    let header = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
    assert_eq!(sources(header, "frame-ancestors"), ["'none'"]);
    let report = place.read("out/report.html");
    for (page, connect) in [(report.as_str(), "'none'"), (served, "'self'")] {
        let (_, rest) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
        let meta = rest.split_once('"').unwrap().0;
        let scripts = elements(page, "script");
        let (data, code): (Vec<_>, Vec<_>) =
            scripts.into_iter().partition(|(attributes, _)| attributes.contains("type=\"application/json\""));
        assert_eq!((data.len(), code.len()), (1, 1), "data does not run");
        serde_json::from_str::<Value>(data[0].1).unwrap();
        let styles = elements(page, "style");
        assert_eq!(styles.len(), 1);
        let policies = if connect == "'self'" { vec![meta, header] } else { vec![meta] };
        for policy in policies {
            assert_eq!(sources(policy, "script-src"), [hash_source(code[0].1)]);
            assert_eq!(sources(policy, "style-src"), [hash_source(styles[0].1)]);
            assert_eq!(sources(policy, "connect-src"), [connect]);
            assert_eq!(sources(policy, "default-src"), ["'none'"]);
            assert!(!policy.contains("unsafe"), "{policy}");
        }
    }
    assert_eq!(server.stop("TERM"), Some(0));
}
