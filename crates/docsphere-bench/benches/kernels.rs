//! The innermost loops of the library, and small whole jobs, on one thread.
//!
//! ```text
//! cargo bench --package docsphere-bench --bench kernels -- accumulate    seconds, of some or all
//! make instructions                                                      instructions of all
//! ```
//!
//! Seconds are of this machine, with every set of vector instructions that it has. Instructions are
//! counted by `benchmarks/instructions.py`, which calls this program under callgrind with `--count
//! NAME`: the function [`counted`] runs the kernel once, after a call that is not counted, so that
//! scratch memory is there. What is not measured: threads, files, and input that does not fit into
//! the caches.

#![allow(clippy::ptr_arg, reason = "divan passes a reference to what is in its list of arguments")]

use std::hint::black_box;
use std::{env, process};

use docsphere::kernels::{self, Kernel};
use docsphere::{
    Centroids, Init, Simd, SphericalKMeans, Strategy, TextOptions, Tokenizer, TokenizerScratch, UnitRows,
    Vectorizer, on_threads,
};
use docsphere_testkit::zipf::ZipfText;

/// 480 short texts, as lines of JSON.
const CORPUS: &str = include_str!("../../docsphere-cli/corpora/everyday.jsonl");

const N_CLUSTERS: usize = 40;

/// Vector instructions of the whole jobs: those that callgrind knows, where there are any.
fn level_of_jobs() -> Simd {
    if Simd::Avx2.is_available() { Simd::Avx2 } else { Simd::Auto }
}

fn rows() -> UnitRows<'static> {
    ZipfText { n_docs: 2_000, n_terms: 8_000, n_topics: 40, mean_terms: 30, seed: 1 }.rows()
}

/// A run of a few iterations.
fn params(strategy: Strategy) -> docsphere::Params {
    let params = SphericalKMeans::params(N_CLUSTERS).init(Init::Random).max_iter(4).variation(false);
    params.strategy(strategy).simd(level_of_jobs()).n_threads(1).seed(1)
}

/// Rows, the centroids of some clusters of them, and the cluster of each.
fn clustered() -> (UnitRows<'static>, Centroids, Vec<u32>) {
    let rows = rows();
    let fit = params(Strategy::Inverted).fit(&rows).expect("the rows can be clustered");
    let labels = fit.labels.as_slice().iter().map(|&label| label.max(0) as u32).collect();
    (rows, fit.model.centroids().clone(), labels)
}

fn similarities(n_docs: usize) -> Kernel {
    let (rows, centroids, _) = clustered();
    kernels::similarities(rows, centroids, n_docs)
}

fn delta() -> Kernel {
    let (rows, _, before) = clustered();
    let moved = |(doc, &label): (usize, &u32)| (label + u32::from(doc % 4 == 0)) % N_CLUSTERS as u32;
    let after = before.iter().enumerate().map(moved).collect();
    kernels::delta(rows, before, after)
}

fn texts() -> Vec<String> {
    let text = |line: &str| -> serde_json::Result<String> {
        let document: serde_json::Value = serde_json::from_str(line)?;
        serde_json::from_value(document["text"].clone())
    };
    CORPUS.lines().map(|line| text(line).expect("a text")).collect()
}

fn tokenizer() -> Kernel {
    let (texts, mut scratch) = (texts(), TokenizerScratch::default());
    let tokenizer = Tokenizer::new(&TextOptions::default()).expect("the defaults are valid");
    Box::new(move || {
        let mut n_bytes = 0;
        for text in &texts {
            tokenizer.for_each_term(text, &mut scratch, |term| n_bytes += term.len() as u64);
        }
        n_bytes
    })
}

fn vectorize() -> Kernel {
    let (texts, vectorizer) = (texts(), Vectorizer::new().n_threads(1));
    Box::new(move || vectorizer.fit_texts(&texts).expect("the texts have terms").rows.nnz() as u64)
}

fn fit(strategy: Strategy, init: Init) -> Kernel {
    let rows = rows();
    let params = params(strategy).init(init).check().expect("the parameters are valid");
    Box::new(move || params.fit(&rows).expect("the rows can be clustered").objective.to_bits())
}

/// A kernel of a set of vector instructions: `None` if the machine does not have it.
type AtLevel = fn(Simd) -> Option<Kernel>;

/// Makes a kernel with its input.
type Make = Box<dyn Fn() -> Kernel>;

/// The same, with nothing to remember.
type PlainMake = fn() -> Kernel;

/// All kernels by name, not yet with their input.
fn all() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    for (name, of) in [("accumulate", kernels::accumulate as AtLevel), ("weigh", kernels::weigh)] {
        for &simd in Simd::ALL.iter().filter(|&&simd| simd != Simd::Auto && simd.is_available()) {
            all.push((format!("{name}/{simd}"), Box::new(move || of(simd).expect("it is available"))));
        }
    }
    let others: [(&str, PlainMake); 10] = [
        ("similarities/few", || similarities(8)),
        ("similarities/many", || similarities(400)),
        ("postings", || {
            let (rows, centroids, _) = clustered();
            kernels::postings(rows, centroids)
        }),
        ("delta", delta),
        ("tokenizer", tokenizer),
        ("vectorize", vectorize),
        ("fit/drift", || fit(Strategy::Drift, Init::Random)),
        ("fit/inverted", || fit(Strategy::Inverted, Init::Random)),
        ("fit/plus-plus", || fit(Strategy::Drift, Init::PlusPlus { candidates: None })),
        ("fit/merge", || fit(Strategy::Drift, Init::default())),
    ];
    all.extend(others.map(|(name, make)| (name.to_owned(), Box::new(make) as Make)));
    all
}

/// The kernel of a name, with its input.
fn kernel_of(name: &str) -> Kernel {
    let found = all().into_iter().find(|(other, _)| other == name);
    let Some((_, make)) = found else {
        eprintln!("no kernel is called {name}");
        process::exit(2);
    };
    make()
}

fn names() -> Vec<String> {
    all().into_iter().map(|(name, _)| name).collect()
}

#[divan::bench(args = names())]
fn kernel(bencher: divan::Bencher<'_, '_>, name: &String) {
    bencher.bench_local(kernel_of(name));
}

/// What callgrind counts: it begins here, and ends with the return.
#[inline(never)]
fn counted(kernel: &mut Kernel) -> u64 {
    kernel()
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--names"] => names().iter().for_each(|name| println!("{name}")),
        ["--count", name] => on_one_thread(|| {
            let mut kernel = kernel_of(name);
            let before = kernel();
            assert_eq!(black_box(counted(&mut kernel)), before, "{name}: each call does the same");
        }),
        _ => on_one_thread(divan::main),
    }
}

fn on_one_thread(work: impl FnOnce() + Send) {
    on_threads(Some(1), work).expect("a thread can be started");
}
