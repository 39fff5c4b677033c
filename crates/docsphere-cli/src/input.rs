//! From arguments to rows: documents or a matrix, whichever was given.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use docsphere::{Corpus, CorpusStats, TextModel, UnitRows, Vectorizer, formats};

use crate::args::{InputArgs, TextArgs, UsageError};
use crate::progress::Progress;

/// Rows to be clustered, and where they came from.
pub(crate) struct Loaded {
    pub(crate) rows: UnitRows<'static>,
    /// The id of each row.
    pub(crate) ids: Vec<String>,
    pub(crate) source: Source,
    pub(crate) seconds: LoadSeconds,
}

/// Where rows came from.
pub(crate) enum Source {
    /// Text.
    Documents { corpus: Corpus, model: TextModel, stats: CorpusStats, n_repeated_ids: u64 },
    /// A matrix, with the names of its columns if they were given.
    Matrix { term_names: Option<Vec<String>> },
}

/// Where the time went.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoadSeconds {
    pub(crate) read: f64,
    pub(crate) vectorize: f64,
}

/// Reads everything and turns it into rows.
pub(crate) fn load(
    input: &InputArgs,
    text: &TextArgs,
    threads: Option<usize>,
    progress: &mut Progress,
) -> Result<Loaded> {
    if let Some(format) = input.matrix_format() {
        return load_matrix(input, format);
    }
    if input.vocabulary.is_some() {
        return Err(UsageError("--vocabulary goes with a matrix file only".to_owned()).into());
    }
    let (text, tfidf) = text.options()?;
    let mut vectorizer = Vectorizer::new().text(text).tfidf(tfidf);
    if let Some(threads) = threads {
        vectorizer = vectorizer.n_threads(threads);
    }
    let start = Instant::now();
    let corpus = Corpus::open(&input.inputs, input.corpus_options())?;
    let vectorized = vectorizer.fit(&corpus, Some(&mut *progress))?;
    progress.finish();
    let total = start.elapsed().as_secs_f64();
    let read = progress.last_read.map_or(0.0, |last| (last - start).as_secs_f64());
    Ok(Loaded {
        rows: vectorized.rows,
        ids: vectorized.ids,
        source: Source::Documents {
            corpus,
            model: vectorized.model,
            stats: vectorized.stats,
            n_repeated_ids: vectorized.n_repeated_ids,
        },
        seconds: LoadSeconds { read, vectorize: total - read },
    })
}

/// Reads a matrix. Its rows are numbered from 1, as lines are.
pub(crate) fn load_matrix(input: &InputArgs, format: formats::Format) -> Result<Loaded> {
    let [path] = input.inputs.as_slice() else {
        return Err(UsageError("give one matrix file at a time".to_owned()).into());
    };
    let start = Instant::now();
    let rows = formats::read_as(path, format)?;
    let read = start.elapsed().as_secs_f64();
    let term_names =
        input.vocabulary.as_deref().map(|names| read_names(names, rows.n_terms())).transpose()?;
    let rows = UnitRows::new(rows);
    Ok(Loaded {
        ids: (1..=rows.n_rows()).map(|number| number.to_string()).collect(),
        rows,
        source: Source::Matrix { term_names },
        seconds: LoadSeconds { read, vectorize: start.elapsed().as_secs_f64() - read },
    })
}

fn read_names(path: &Path, n_terms: usize) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let names: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(
        names.len() == n_terms,
        "{}: has {} lines, but the matrix has {n_terms} columns; give one name a line",
        path.display(),
        names.len()
    );
    Ok(names)
}
