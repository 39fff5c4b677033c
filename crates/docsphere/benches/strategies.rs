//! Whole clusterings by every strategy, side by side in one run, from the same seeds.
//!
//! Measured: the loop, from the first assignment to the last, seeding excluded; and counts that do not depend on the machine. Not measured: reading
//! and vectorising. Every strategy must give the same labels and objective, or the run fails.
//!
//! ```text
//! cargo bench --bench strategies                                    text-like generated data
//! cargo bench --bench strategies -- --corpus /path/to/FILE.jsonl.zst --docs 20000 --k 500
//! ```
//!
//! A corpus is JSON Lines with a field "text", plain or zstd compressed. Terms are runs of letters and digits, lower-cased; the hundred most
//! frequent ones are taken for stop words.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

use docsphere::{Fit, SparseRows, SphericalKMeans, Strategy, UnitRows};
use docsphere_testkit::zipf::ZipfText;

const N_STOP_WORDS: usize = 100;

struct Options {
    corpus: Option<String>,
    n_docs: usize,
    n_clusters: usize,
    n_threads: usize,
    max_iter: usize,
    strategies: Vec<Strategy>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let start = Instant::now();
    let rows = match &options.corpus {
        Some(path) => read_corpus(path, options.n_docs)?,
        None => generated(options.n_docs),
    };
    println!(
        "{} rows, {} terms, {:.1} terms a row, k = {}, {} threads (ready after {:.1} s)\n",
        rows.n_rows(),
        rows.n_terms(),
        rows.nnz() as f64 / rows.n_rows() as f64,
        options.n_clusters,
        options.n_threads,
        start.elapsed().as_secs_f64(),
    );
    println!("strategy     seconds  ratio  iterations  similarities      postings       skipped  objective");
    let mut first: Option<(f64, Fit)> = None;
    for &strategy in &options.strategies {
        let params = SphericalKMeans::params(options.n_clusters).strategy(strategy);
        let fit = params.n_threads(options.n_threads).max_iter(options.max_iter).fit(&rows)?;
        let seconds: f64 = fit.trace.iterations.iter().map(|record| record.seconds.total()).sum();
        let slowest = first.as_ref().map_or(seconds, |(seconds, _)| *seconds);
        let total = fit.trace.total();
        println!(
            "{strategy:<11}{seconds:>9.2}{:>7.2}{:>12}{:>14}{:>14}{:>14}  {:.6}",
            slowest / seconds,
            fit.n_iter,
            total.similarities,
            total.postings,
            total.skipped_docs,
            fit.objective,
        );
        if let Some((_, first)) = &first {
            let same = first.labels == fit.labels && first.objective.to_bits() == fit.objective.to_bits();
            assert!(same, "{strategy} differs from {}", options.strategies[0]);
        }
        first.get_or_insert((seconds, fit));
    }
    println!("\nall labels and objectives identical; ratio: seconds of the first strategy over these");
    Ok(())
}

fn options() -> Result<Options, Box<dyn Error>> {
    // The plainest first: the others are compared with it.
    let mut all = Strategy::ALL.to_vec();
    all.sort_by_key(|strategy| *strategy != Strategy::Baseline);
    let mut options = Options {
        corpus: None,
        n_docs: 5_000,
        n_clusters: 200,
        n_threads: 2,
        max_iter: 100,
        strategies: all,
    };
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--corpus" => options.corpus = Some(value),
            "--docs" => options.n_docs = value.parse()?,
            "--k" => options.n_clusters = value.parse()?,
            "--threads" => options.n_threads = value.parse()?,
            "--max-iter" => options.max_iter = value.parse()?,
            "--strategies" => {
                options.strategies = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    Ok(options)
}

fn generated(n_docs: usize) -> UnitRows<'static> {
    ZipfText { n_docs, n_terms: 20_000, n_topics: 100, mean_terms: 40, seed: 1 }.rows()
}

/// Term frequency times log inverse document frequency, as in the paper.
fn read_corpus(path: &str, n_docs: usize) -> Result<UnitRows<'static>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let reader: Box<dyn BufRead> = if path.ends_with(".zst") {
        Box::new(BufReader::new(zstd::Decoder::new(file)?))
    } else {
        Box::new(BufReader::new(file))
    };
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut docs: Vec<HashMap<u32, u32>> = Vec::new();
    for line in reader.lines().take(n_docs) {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let text = record["text"].as_str().ok_or("a record without text")?.to_lowercase();
        let mut counts = HashMap::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1) {
            let next = ids.len() as u32;
            let term = *ids.entry(word.to_owned()).or_insert(next);
            *counts.entry(term).or_insert(0) += 1;
        }
        docs.push(counts);
    }
    let mut doc_frequencies = vec![0u32; ids.len()];
    docs.iter().flat_map(HashMap::keys).for_each(|&term| doc_frequencies[term as usize] += 1);
    let mut by_frequency = doc_frequencies.clone();
    by_frequency.sort_unstable_by(|a, b| b.cmp(a));
    let most = by_frequency.get(N_STOP_WORDS).copied().unwrap_or(u32::MAX);

    let mut offsets = vec![0];
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for counts in &docs {
        for (&term, &count) in counts {
            let doc_frequency = doc_frequencies[term as usize];
            if doc_frequency <= most {
                terms.push(term);
                values.push(count as f32 * (docs.len() as f32 / doc_frequency as f32).ln());
            }
        }
        offsets.push(terms.len() as u64);
    }
    Ok(UnitRows::new(SparseRows::from_parts(ids.len(), offsets, terms, values)?))
}
