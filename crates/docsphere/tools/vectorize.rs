//! Turns documents into a TF-IDF matrix: `vectorize INPUT OUTPUT [options]`.
//!
//! ```text
//! cargo run --release --example vectorize -- \
//!     tweets.jsonl.zst tweets.npz --vocabulary terms.txt --threads 2
//! ```
//!
//! OUTPUT is a matrix file as in [`docsphere::formats`], or `none`. Options: `--sklearn` (cut words
//! as scikit-learn does), `--idf paper|smooth|plus-one`, `--sublinear-tf`, `--ngrams LO HI`,
//! `--min-df N`, `--max-df N` (a number with a point is a share), `--max-terms N`, `--format NAME`
//! (INPUT may then be `-`), `--text-field NAME`, `--stemmer LANGUAGE`, `--threads N`, `--vocabulary
//! FILE`, `--spill FOLDER` (counts and rows go to files there) and `--spill-after BYTES`. Prints
//! rows, terms, nonzeros, the seconds from opening the input to the matrix, and on Linux kB of
//! memory: the peak, and what is held at the end without mapped files. `tests/sklearn_tfidf.py`
//! compares the matrices with scikit-learn's.

use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use docsphere::{
    Corpus, CorpusOptions, DocumentBound, Ngrams, Spill, TextOptions, TfidfOptions, Vectorizer, formats,
};

#[derive(Default)]
struct Job {
    paths: Vec<String>,
    corpus: CorpusOptions,
    text: TextOptions,
    tfidf: TfidfOptions,
    n_threads: Option<usize>,
    vocabulary: Option<String>,
    spill: Option<Spill>,
    spill_after: u64,
}

fn main() -> ExitCode {
    let job = match parse(env::args().skip(1)) {
        Ok(job) => job,
        Err(message) => {
            eprintln!("{message}\nusage: vectorize INPUT OUTPUT [options]");
            return ExitCode::from(2);
        }
    };
    match run(&job) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Job, String> {
    let mut job = Job::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|error| format!("{text}: {error}"));
        match argument.as_str() {
            "--sklearn" => {
                let (ngrams, stemmer) = (job.text.ngrams, job.text.stemmer);
                job.text = TextOptions::sklearn().ngrams(ngrams).stemmer(stemmer);
            }
            "--idf" => {
                job.tfidf.idf = value()?.parse().map_err(|error: docsphere::Error| error.to_string())?
            }
            "--sublinear-tf" => job.tfidf.sublinear_tf = true,
            "--ngrams" => job.text.ngrams = Ngrams { lo: number(value()?)?, hi: number(value()?)? },
            "--min-df" => job.tfidf.min_df = bound(&value()?)?,
            "--max-df" => job.tfidf.max_df = bound(&value()?)?,
            "--max-terms" => job.tfidf.max_terms = Some(number(value()?)?),
            "--format" => {
                job.corpus.format =
                    Some(value()?.parse().map_err(|error: docsphere::Error| error.to_string())?)
            }
            "--text-field" => job.corpus.text_fields = vec![value()?],
            "--stemmer" => job.text.stemmer = Some(value()?),
            "--threads" => job.n_threads = Some(number(value()?)?),
            "--vocabulary" => job.vocabulary = Some(value()?),
            "--spill" => job.spill = Some(Spill::new(value()?)),
            "--spill-after" => job.spill_after = number(value()?)? as u64,
            option if option.starts_with("--") => return Err(format!("unknown option {option}")),
            _ => job.paths.push(argument),
        }
    }
    if job.paths.len() == 2 { Ok(job) } else { Err("INPUT and OUTPUT are needed".to_owned()) }
}

fn bound(text: &str) -> Result<DocumentBound, String> {
    let parsed = if text.contains('.') {
        text.parse().map(DocumentBound::Share).ok()
    } else {
        text.parse().map(DocumentBound::Count).ok()
    };
    parsed.ok_or_else(|| format!("not a number: {text}"))
}

/// A number of kB from the status of the process; `None` where there is none.
fn status(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn run(job: &Job) -> docsphere::Result<()> {
    let start = Instant::now();
    let corpus = Corpus::open([&job.paths[0]], job.corpus.clone())?;
    let vectorizer = Vectorizer::new().text(job.text.clone()).tfidf(job.tfidf).n_threads(job.n_threads);
    let spill = job.spill.clone().map(|spill| spill.after_bytes(job.spill_after));
    let vectorizer = vectorizer.spill(spill);
    let vectorized = vectorizer.fit(&corpus)?;
    let seconds = start.elapsed().as_secs_f64();
    let rows = &vectorized.rows;
    let [peak, own] = ["VmHWM:", "RssAnon:"].map(|key| status(key).unwrap_or_default());
    println!("{} {} {} {seconds:.3} {peak} {own}", rows.n_rows(), rows.n_terms(), rows.nnz());
    if job.paths[1] != "none" {
        formats::write(&job.paths[1], rows.as_sparse())?;
    }
    if let Some(path) = &job.vocabulary {
        let mut text = String::new();
        for term in vectorized.model.vocabulary().iter() {
            text.push_str(term);
            text.push('\n');
        }
        fs::write(path, text).expect("the vocabulary can be written");
    }
    Ok(())
}
