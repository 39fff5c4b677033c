//! A corpus that goes to files holds less memory than one in memory: the same bits.
//!
//! Each way runs in a process of its own, which tells its peak.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fmt::Write;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;

use docsphere::{Corpus, CorpusOptions, Spill, Vectorizer};

/// Where the child finds its corpus, and whether it spills.
const CHILD: &str = "DOCSPHERE_SPILLING_TEST";

const N_DOCUMENTS: u32 = 500_000;

/// Some 50 MB of text over 20,000 words, of which some are more frequent.
fn write_corpus(path: &Path) {
    let mut text = String::new();
    let mut state = 1u64;
    for _ in 0..N_DOCUMENTS {
        for _ in 0..14 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 40) as f64 / (1u64 << 24) as f64;
            write!(text, "w{} ", (uniform * uniform * 20_000.0) as u32).unwrap();
        }
        text.push('\n');
    }
    fs::write(path, text).unwrap();
}

/// A number of bytes from the status of this process.
fn status(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    1024 * line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
}

/// The work of a child; nothing, if this process is none.
#[test]
fn child() {
    let Ok(job) = env::var(CHILD) else { return };
    let (way, folder) = job.split_once(':').unwrap();
    let folder = Path::new(folder);
    let spill = (way == "files").then(|| Spill::new(folder));
    let corpus = Corpus::open([folder.join("corpus.txt")], CorpusOptions::default()).unwrap();
    let before = status("VmRSS:");
    let vectorized = Vectorizer::new().n_threads(2).spill(spill).fit(&corpus).unwrap();
    let peak = status("VmHWM:") - before;
    let mut hasher = DefaultHasher::new();
    let rows = vectorized.rows.as_sparse();
    (rows.offsets(), rows.terms()).hash(&mut hasher);
    rows.values().iter().for_each(|value| value.to_bits().hash(&mut hasher));
    vectorized.ids.iter().for_each(|id| id.hash(&mut hasher));
    println!("{way} {} {peak} {:x}", vectorized.rows.is_mapped(), hasher.finish());
}

/// Whether the rows are in a file, the peak, and a hash of the result.
fn run(way: &str, folder: &Path) -> (bool, u64, String) {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", "spilling::child", "--nocapture"])
        .env(CHILD, format!("{way}:{}", folder.display()));
    let output = child.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let told = text.lines().find_map(|line| line.split_once(&format!("{way} "))).unwrap().1;
    let fields: Vec<&str> = told.split(' ').collect();
    (fields[0] == "true", fields[1].parse().unwrap(), fields[2].to_owned())
}

#[test]
fn counting_in_files_holds_what_counting_in_memory_does_not() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(&folder.path().join("corpus.txt"));
    let (mapped, in_files, expected) = run("files", folder.path());
    assert!(mapped);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the corpus is there");
    let (mapped, in_memory, found) = run("memory", folder.path());
    assert!(!mapped);
    assert_eq!(found, expected);
    // 8 bytes per nonzero are 56 MB, and the ids are 8 MB, once more while they are joined.
    const BOUND: u64 = 64_000_000;
    assert!(in_files <= BOUND, "{in_files} bytes were held by files, {in_memory} in memory");
    assert!(in_memory > 2 * BOUND, "{in_memory} bytes were held in memory");
}
