//! Runs the binary in a fresh folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Four short documents, two on cats and two on dogs.
pub(crate) const PETS: &str = "cats purr softly\ndogs bark loudly\ncats sleep\ndogs run\n";

/// What a result has beside its assignments, in order.
pub(crate) const OTHER_FILES: [&str; 10] = [
    "clusters.json",
    "groups.json",
    "map.json",
    "model.docsphere",
    "points.docsphere",
    "report.html",
    "rows.docsphere",
    "run.toml",
    "texts.docsphere",
    "trace.json",
];

/// An empty folder in which the binary runs.
pub(crate) struct Place {
    folder: TempDir,
}

/// How a run ended.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with `pets.txt`.
    pub(crate) fn with_pets() -> Self {
        let place = Place::new();
        place.write("pets.txt", PETS);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// All names in a folder, hidden ones too, in order.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let names: BTreeSet<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.into_iter().collect()
    }

    /// The command, not yet started, 80 columns wide.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_docsphere"));
        command.args(args).current_dir(self.folder.path());
        command.env("COLUMNS", "80").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs words separated by spaces.
    pub(crate) fn run(&self, words: &str) -> Done {
        self.command(words.split_whitespace()).output().unwrap().into()
    }

    /// Runs words separated by spaces, which must succeed and say nothing on standard error.
    /// Returns standard output.
    pub(crate) fn ok(&self, words: &str) -> String {
        let done = self.run(words);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "docsphere {words}");
        done.stdout
    }

    pub(crate) fn run_with_input(&self, words: &str, input: &[u8]) -> Done {
        let mut child =
            self.command(words.split_whitespace()).stdin(Stdio::piped()).spawn().expect("the binary starts");
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// The places at which a run of these words can be crashed, in order, each with its number
    /// among those of its name. The run must succeed.
    pub(crate) fn fail_points(&self, words: &str) -> Vec<String> {
        let list = self.path("fail-points");
        let _ = fs::remove_file(&list);
        let done: Done =
            self.command(words.split_whitespace()).env("DOCSPHERE_FAIL_LIST", &list).output().unwrap().into();
        assert_eq!(done.code, Some(0), "docsphere {words}: {}", done.stderr);
        let mut passed = BTreeMap::new();
        let text = fs::read_to_string(&list).expect("a build with debug assertions passes fail points");
        text.lines()
            .map(|name| {
                let n = passed.entry(name.to_owned()).or_insert(0);
                *n += 1;
                format!("{name}:{n}")
            })
            .collect()
    }

    /// Crashes a run at one of its fail points.
    #[track_caller]
    pub(crate) fn crash(&self, words: &str, fail_point: &str) {
        let command = &mut self.command(words.split_whitespace());
        let done: Done = command.env("DOCSPHERE_FAIL_AT", fail_point).output().unwrap().into();
        assert_eq!(done.code, None, "it was to crash at {fail_point}: {}", done.stderr);
    }

    pub(crate) fn spawn(&self, words: &str) -> Child {
        self.command(words.split_whitespace()).spawn().expect("the binary starts")
    }

    /// The cluster of each document of a result, in order, as (id, cluster).
    pub(crate) fn assignments(&self, out: &str) -> Vec<(String, i32)> {
        let text = self.read(&format!("{out}/assignments.csv"));
        let lines = text.lines().skip(1);
        lines
            .map(|line| {
                let mut fields = line.rsplitn(3, ',').skip(1);
                let cluster = fields.next().unwrap().parse().unwrap();
                (fields.next().unwrap().to_owned(), cluster)
            })
            .collect()
    }

    /// The id and the cluster of each document, of assignments with further columns.
    pub(crate) fn assignments_with(&self, out: &str) -> Vec<(String, String)> {
        let text = self.read(&format!("{out}/assignments.csv"));
        let line = |line: &str| {
            let mut fields = line.split(',').map(str::to_owned);
            (fields.next().unwrap(), fields.next().unwrap())
        };
        text.lines().skip(1).map(line).collect()
    }

    /// Whether the result puts cats with cats and dogs with dogs.
    #[track_caller]
    pub(crate) fn assert_pets(&self, out: &str, ids: [&str; 4]) {
        let found = self.assignments(out);
        assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ids);
        assert_eq!((found[0].1, found[1].1), (found[2].1, found[3].1));
        assert_ne!(found[0].1, found[1].1);
    }

    /// Whether a result folder is complete, and the model in it can be read.
    #[track_caller]
    pub(crate) fn assert_complete(&self, out: &str) {
        // A search index is there if it was asked for.
        let names: Vec<String> =
            self.names(out).into_iter().filter(|name| name != "documents.sqlite").collect();
        // The results of a sweep keep no rows and texts: they would all be the same.
        let of_sweep =
            |name: &&str| !out.contains("/k-") || !["rows.docsphere", "texts.docsphere"].contains(name);
        let expected: Vec<&str> =
            ["assignments.csv"].iter().chain(&OTHER_FILES).copied().filter(of_sweep).collect();
        assert_eq!(names, expected, "{out}");
        let n_documents = self.json(&format!("{out}/clusters.json"))["n_documents"].as_u64().unwrap();
        let n_lines = self.read(&format!("{out}/assignments.csv")).lines().count() as u64;
        assert_eq!(n_lines, n_documents + 1);
        assert!(self.json(&format!("{out}/trace.json"))["iterations"].is_array());
        self.ok(&format!("inspect {out} --cluster 0"));
    }
}

/// Sends a signal, such as "INT", to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Done {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Texts of a few made-up subjects with words that overlap: enough for a run to take its time.
pub(crate) fn generated_corpus(n_documents: usize) -> String {
    let mut state = 1u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut text = String::new();
    for _ in 0..n_documents {
        let subject = draw(60);
        for _ in 0..25 {
            // Small numbers come more often, as frequent words do.
            let word = draw(40) * draw(40);
            let word = if draw(3) > 0 { subject * 1_000 + word } else { 90_000 + word };
            text.push_str(&format!("w{word} "));
        }
        text.push('\n');
    }
    text
}
