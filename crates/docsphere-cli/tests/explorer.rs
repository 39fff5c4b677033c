//! The page that people look at, and the server behind it. What it looks like in a browser is
//! tested in explorer/tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use serde_json::Value;

use crate::command::{Place, generated_corpus, signal};

const PAGE_NAMES: [&str; 3] = ["map.json", "points.docsphere", "report.html"];

/// The data of a page.
pub(crate) fn data(place: &Place, path: &str) -> Value {
    let page = place.read(path);
    let start = page.find("id=\"data\">").expect("the page has data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

#[test]
fn a_run_writes_a_report_with_what_was_found_and_how() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --keywords 4 --seed 18446744073709551615");
    let data = data(&place, "out/report.html");
    let clusters = place.json("out/clusters.json");
    assert_eq!(data["title"], "pets.txt");
    assert_eq!(data["totals"]["documents"], 4);
    assert_eq!(data["totals"]["seed"], "18446744073709551615", "a browser's numbers end at 2^53");
    assert_eq!(data["served"], false);
    assert_eq!(data["clusters"].as_array().unwrap().len(), 2);
    assert_eq!(data["clusters"][0]["size"], clusters["clusters"][0]["size"]);
    assert_eq!(
        data["clusters"][0]["typical"][0]["text"],
        clusters["clusters"][0]["representatives"][0]["text"]
    );
    assert_eq!(data["merges"].as_array().unwrap().len(), 1);
    let settings: Vec<String> = data["settings"].as_array().unwrap().iter().map(Value::to_string).collect();
    for setting in [r#"["INPUT","pets.txt"]"#, r#"["--n-clusters","2"]"#, r#"["--stop-words","english"]"#] {
        assert!(settings.iter().any(|found| found == setting), "{setting} is not among {settings:?}");
    }
    let left_out = |name: &str| !settings.iter().any(|found| found.contains(name));
    assert!(left_out("--output") && left_out("--smooth-idf") && left_out("--quiet"));
    assert_eq!(place.json("out/trace.json")["settings"].as_array().unwrap().len(), settings.len());
}

#[test]
fn every_cluster_tells_of_its_rim_and_of_all_its_documents() {
    let place = Place::new();
    place.write("texts.txt", generated_corpus(400));
    place.ok("cluster texts.txt -k 8 -o out");
    let file = place.json("out/clusters.json");
    for cluster in file["clusters"].as_array().unwrap() {
        let histogram = cluster["histogram"].as_array().unwrap();
        assert_eq!(histogram.len(), 20);
        assert_eq!(
            histogram.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(),
            cluster["size"].as_u64().unwrap()
        );
        let similarity = |entry: &Value| entry["similarity"].as_f64().unwrap();
        let typical = similarity(&cluster["representatives"][2]);
        let least = cluster["least_typical"].as_array().unwrap();
        assert_eq!(least.len(), 3);
        assert!(least.iter().all(|entry| similarity(entry) <= typical && entry["text"].is_string()));
        assert!(similarity(&least[0]) <= similarity(&least[2]));
        assert!(cluster["keywords"][0]["weight"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn without_a_report_there_is_none_and_it_can_be_made_later() {
    let place = Place::with_pets();
    let shown = place.ok("cluster pets.txt -k 2 -o out --no-report");
    assert!(!shown.contains("report.html"), "{shown}");
    assert!(place.names("out").iter().all(|name| !PAGE_NAMES.contains(&name.as_str())));
    assert_eq!(place.ok("report out"), "written to out/report.html\n");
    assert_eq!(data(&place, "out/report.html")["clusters"].as_array().unwrap().len(), 2);
    let shown = place.ok("cluster pets.txt -k 2 -o again");
    assert!(shown.ends_with("written to again\nlook at it: again/report.html\n"), "{shown}");
    // Documents are placed during the run only.
    let [mut with, without] = ["again/report.html", "out/report.html"].map(|path| data(&place, path));
    assert!(with["points"].is_object() && without["points"].is_null());
    with["points"] = Value::Null;
    assert_eq!(with, without);
}

#[test]
fn a_matrix_has_a_report_without_texts() {
    let place = Place::new();
    place.write("rows.svm", "1 1:1 2:1\n1 1:1 2:2\n1 3:1 4:1\n1 3:1 4:2\n");
    place.ok("cluster rows.svm -k 2 -o out");
    let data = data(&place, "out/report.html");
    assert!(data["clusters"][0]["typical"][0]["text"].is_null());
    assert_eq!(data["clusters"][0]["keywords"][0][0].as_str().unwrap().chars().next(), Some('#'));
}

#[test]
fn a_report_keeps_within_its_limits() {
    let place = Place::new();
    place.write("texts.txt", generated_corpus(600));
    let done = place.run("cluster texts.txt -k 100 -o out");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let whole = place.read("out/report.html").len();
    let size = whole - 20_000;
    let done = place.run(&format!("report out --report-size {size}"));
    assert!(done.stderr.starts_with("docsphere: note: report.html shows "), "{}", done.stderr);
    assert!(
        done.stderr.ends_with(" characters of a document, to stay within --report-size\n"),
        "{}",
        done.stderr
    );
    let cut = place.read("out/report.html").len();
    assert!(cut <= size && cut > size - 2_000, "{cut} of {size}: as much as fits");
    let done = place.run("report out --report-size 1000");
    assert!(done.stderr.contains("although it shows no texts"), "{}", done.stderr);
    place.ok("report out --report-chars 0");
    assert!(data(&place, "out/report.html")["clusters"][0]["typical"][0]["text"].is_null());
}

#[test]
fn results_of_older_versions_have_a_report() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --no-report");
    let mut clusters = place.json("out/clusters.json");
    for cluster in clusters["clusters"].as_array_mut().unwrap() {
        let cluster = cluster.as_object_mut().unwrap();
        cluster.remove("least_typical");
        cluster.remove("histogram");
        for keyword in cluster["keywords"].as_array_mut().unwrap() {
            keyword.as_object_mut().unwrap().remove("weight");
        }
    }
    let mut trace = place.json("out/trace.json");
    trace.as_object_mut().unwrap().remove("settings");
    place.write("out/clusters.json", clusters.to_string());
    place.write("out/trace.json", trace.to_string());
    place.ok("report out");
    let data = data(&place, "out/report.html");
    assert_eq!(data["title"], "docsphere");
    assert!(data["clusters"][0]["keywords"][0][1].is_null(), "a weight that is not known is not told");
}

#[test]
fn what_is_no_result_has_no_report() {
    let place = Place::with_pets();
    let done = place.run("report nowhere");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.starts_with("docsphere: error: nowhere: cannot read"), "{}", done.stderr);
    place.ok("cluster pets.txt -k 2 -o out");
    place.write("out/map.json", "{\"seed\": 0, \"places\": []}");
    let done = place.run("report out");
    assert!(
        done.stderr.contains("are of different numbers of clusters; run docsphere cluster again"),
        "{}",
        done.stderr
    );
}

/// A running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(place: &Place) -> Self {
        Self::of(place.spawn("serve out --port 0"))
    }

    /// The server of a process that was just started.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        Server { child, address }
    }

    /// Sends lines as they are, and returns the whole answer.
    pub(crate) fn answer(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status and the body of the answer.
    pub(crate) fn send(&self, request: &str) -> (u16, String) {
        let answer = self.answer(request);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |parts| parts.1).to_owned();
        (status.unwrap_or_else(|| panic!("{request:?} was answered {answer:?}")), body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Stops it by a signal, and returns its exit code.
    pub(crate) fn stop(&mut self, name: &str) -> Option<i32> {
        signal(&self.child, name);
        let code = self.child.wait().unwrap().code();
        // Another test's server may be given the same port; it does not keep it for long.
        let is_free = || {
            (0..100).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                TcpStream::connect(&self.address).is_err()
            })
        };
        assert!(TcpStream::connect(&self.address).is_err() || is_free(), "nobody listens any more");
        code
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where a test failed, it is still there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn with_index() -> Place {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --index");
    place
}

#[test]
fn the_server_answers_with_documents() {
    let place = with_index();
    let mut server = Server::start(&place);
    let (status, page) = server.get("/");
    assert_eq!(status, 200);
    assert!(page.contains("\"served\":true") && page.contains("connect-src 'self'"));
    let ids = |path: &str| -> Vec<String> {
        let answer = server.json(path);
        let documents = answer["documents"].as_array().unwrap();
        documents.iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("/api/documents"), ["1", "2", "3", "4"]);
    assert_eq!(ids("/api/documents?q=sleep"), ["3"]);
    assert_eq!(ids("/api/documents?q=cats+purr"), ["1"]);
    assert!(ids("/api/documents?page=1").is_empty());
    let of_cats = server.json("/api/documents/0")["cluster"].as_i64().unwrap();
    let mut cats = ids(&format!("/api/documents?cluster={of_cats}"));
    cats.sort();
    assert_eq!(cats, ["1", "3"]);
    assert!(ids(&format!("/api/documents?cluster={of_cats}&q=dogs")).is_empty());
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn the_server_shows_nothing_else_to_nobody_else() {
    let place = with_index();
    let mut server = Server::start(&place);
    for path in [
        "/model.docsphere",
        "/../pets.txt",
        "/..%2fpets.txt",
        "/%2e%2e/pets.txt",
        "/out/assignments.csv",
        "/documents.sqlite",
        "//etc/passwd",
        "/api/../../pets.txt",
        "/api/documents/0/../../../pets.txt",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    for path in [
        "/api/documents?page=-1",
        "/api/documents?page=99999999999999999999",
        "/api/documents?page=18446744073709551615",
        "/api/documents?cluster=zero",
        "/api/documents/one",
        "/api/documents/..%2f..%2fpets.txt",
    ] {
        let (status, body) = server.get(path);
        assert_eq!(status, 400, "{path}: {body}");
        assert!(serde_json::from_str::<Value>(&body).unwrap()["error"].is_string());
    }
    assert_eq!(server.get("/api/documents/4").0, 404);
    assert_eq!(server.get(&format!("/api/documents?q={}", "x".repeat(300))).0, 400);
    for query in [
        "%22",
        "%27%20OR%201=1--",
        "cats%00",
        "NEAR(",
        "%22cats%22%20OR%20dogs",
        "%ff%fe",
        "*",
        "text:cats",
        "-cats",
    ] {
        let (status, body) = server.get(&format!("/api/documents?q={query}"));
        assert!(status == 200 || status == 400, "{query}: {status} {body}");
    }
    let other = |method: &str, host: &str| {
        server.send(&format!("{method} /api/documents HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")).0
    };
    assert_eq!(other("GET", "evil.example"), 403, "a name that was made to point here");
    assert_eq!(other("POST", "localhost"), 405);
    assert_eq!(other("DELETE", "localhost"), 405);
    assert_eq!(other("GET", "localhost"), 200);
    assert_eq!(server.stop("INT"), Some(0));
}

#[test]
fn a_browser_is_told_to_be_careful() {
    let place = with_index();
    let mut server = Server::start(&place);
    assert!(server.address.starts_with("127.0.0.1:"), "only this machine, unless told otherwise");
    let answer = server.answer("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let head = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
    for header in ["x-content-type-options: nosniff", "x-frame-options: deny", "referrer-policy: no-referrer"]
    {
        assert!(head.contains(header), "{header} is not in {head}");
    }
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn a_server_stops_although_someone_is_connected() {
    let place = with_index();
    let mut server = Server::start(&place);
    let _idle = TcpStream::connect(&server.address).unwrap();
    let started = std::time::Instant::now();
    assert_eq!(server.stop("INT"), Some(0));
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn an_index_is_made_in_the_run_or_later() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    let done = place.run("serve out");
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "docsphere: error: out/documents.sqlite: is not there; make it with: docsphere index out INPUT (the input of the run, with the same input options)\n"
    );
    assert_eq!(place.ok("index out pets.txt"), "4 documents written to out/documents.sqlite\n");
    let mut server = Server::start(&place);
    assert_eq!(server.json("/api/documents?q=bark")["total"], 1);
    assert_eq!(server.stop("TERM"), Some(0));
}

#[test]
fn an_index_is_made_although_ids_are_there_twice() {
    let place = Place::new();
    // Twenty documents, each number twice: most are neither typical nor the opposite.
    let record = |i: usize| format!("{{\"id\": \"d{}\", \"text\": \"cats purr t{i} u{}\"}}\n", i / 2, i % 3);
    place.write("in.jsonl", (0..20).map(record).collect::<String>());
    assert_eq!(place.run("cluster in.jsonl -k 1 -o out").code, Some(0));
    assert_eq!(place.ok("index out in.jsonl"), "20 documents written to out/documents.sqlite\n");
}

#[test]
fn what_a_killed_index_left_is_removed_but_nothing_of_a_living_one() {
    let place = with_index();
    // No process has this number; the highest possible one is 4194304.
    place.write("out/.documents.sqlite.partial-999999999", "all texts");
    let living = format!(".documents.sqlite.partial-{}", std::process::id());
    place.write(&format!("out/{living}"), "all texts");
    place.ok("index out pets.txt");
    let hidden: Vec<String> = place.names("out").into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [living]);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_a_link_stays_one() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = with_index();
    for mode in [0o600, 0o444] {
        for (file, words) in [("report.html", "report out"), ("documents.sqlite", "index out pets.txt")] {
            let path = place.path(&format!("out/{file}"));
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            place.ok(words);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{file}");
        }
    }
    let (path, elsewhere) = (place.path("out/report.html"), place.path("elsewhere.html"));
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    place.ok("report out --report-chars 3");
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(!place.read("elsewhere.html").contains("cats purr softly"), "made again, where the link leads");
}

#[test]
fn an_index_of_other_documents_is_refused_and_the_old_one_stays() {
    let place = with_index();
    let before = std::fs::read(place.path("out/documents.sqlite")).unwrap();
    place.write("other.txt", "cats purr softly\ndogs bark loudly\n");
    let done = place.run("index out other.txt");
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "docsphere: error: out/documents.sqlite: cannot write: the input has 2 documents, the result 4\n"
    );
    assert_eq!(std::fs::read(place.path("out/documents.sqlite")).unwrap(), before);
    assert!(place.names("out").iter().all(|name| !name.starts_with('.')), "nothing half-written is left");
    // As many lines, and so the same ids.
    place.write("sorted.txt", "cats sleep\ncats purr softly\ndogs bark loudly\ndogs run\n");
    let done = place.run("index out sorted.txt");
    assert!(
        done.stderr.contains("document 1 (\"1\") has another text than in the result"),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read(place.path("out/documents.sqlite")).unwrap(), before);
    place.write("rows.svm", "1 1:1\n");
    let done = place.run("cluster rows.svm -k 1 -o matrix --index");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("--index: a matrix has no texts to search"), "{}", done.stderr);
    let done = place.run("index out rows.svm");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("a matrix has no texts to search"), "{}", done.stderr);
    place.write("out/documents.sqlite", "no database at all");
    let done = place.run("serve out");
    assert!(
        done.stderr.starts_with("docsphere: error: out/documents.sqlite: cannot read"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let place = with_index();
    let mut server = Server::start(&place);
    let port = server.address.rsplit(':').next().unwrap();
    let done = place.run(&format!("serve out --port {port}"));
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains(&format!("cannot listen on 127.0.0.1:{port}; is the port taken?")),
        "{}",
        done.stderr
    );
    assert_eq!(server.stop("TERM"), Some(0));
}
