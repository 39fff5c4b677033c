//! From arguments to rows, for documents or a matrix.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use docsphere::{
    Corpus, CorpusStats, Losses, TextModel, TextOptions, TextStore, TextStoreWriter, TfidfOptions, UnitRows,
    Vectorizer, formats,
};
use docsphere_result::files::Reading;

use crate::args::{InputArgs, UsageError};
use crate::memory;
use crate::output::remarks::Remarks;
use crate::progress::Progress;

/// Memory per row id of a matrix: a short string and its slot in a list.
const ID_BYTES: u64 = 64;

/// Memory of a column name for each byte of a short line: a string of its own, and a slot in a list
/// that grows by doubling.
const NAME_COPIES: u64 = 64;

/// Maximum length of a column name.
const MAX_NAME_BYTES: usize = 1_000_000;

/// The rows to cluster, and their source.
pub(crate) struct Loaded {
    pub(crate) rows: UnitRows<'static>,
    /// The id of each row.
    pub(crate) ids: Vec<String>,
    pub(crate) source: Source,
    pub(crate) seconds: LoadSeconds,
}

impl Loaded {
    /// Notes about the input for the user.
    pub(crate) fn remarks(&self) -> Remarks {
        let mut remarks = match &self.source {
            Source::Documents { stats, .. } => Remarks::of_reading(stats),
            Source::Matrix { .. } => Remarks::default(),
        };
        if let Source::Documents { n_repeated_ids, losses, .. } = &self.source {
            remarks.warn_of_losses(losses);
            remarks.add(
                *n_repeated_ids as usize,
                "document has an id that an earlier one has too",
                "documents have an id that an earlier one has too",
            );
        }
        remarks
    }

    /// The number of documents that have a term.
    pub(crate) fn n_with_terms(&self) -> usize {
        self.rows.n_nonzero_rows()
    }

    /// Refuses input that cannot be clustered, for this greatest number of clusters if it is known.
    pub(crate) fn check(&self, n_clusters: Option<usize>) -> Result<()> {
        let n_with_terms = self.n_with_terms();
        ensure!(self.rows.n_rows() > 0, "the input has no documents");
        ensure!(
            n_with_terms > 0,
            "no document has any term that tells it from others: a term of all documents weighs nothing (unless with --smooth-idf); see also --stop-words, --min-chars, --min-df, --max-df and --keep-numbers"
        );
        if let Some(k) = n_clusters {
            ensure!(
                k <= n_with_terms,
                "-k must be at most {n_with_terms}, the number of documents that have a term, got {k}"
            );
        }
        Ok(())
    }

    /// The texts of the documents, if they were kept.
    pub(crate) fn texts(&self) -> Option<&TextStore> {
        match &self.source {
            Source::Documents { texts, .. } => texts.as_ref(),
            Source::Matrix { .. } => None,
        }
    }

    /// Closes the file of the texts.
    pub(crate) fn close_texts(&mut self) {
        if let Source::Documents { texts, .. } = &mut self.source {
            *texts = None;
        }
    }
}

/// The source of the rows.
pub(crate) enum Source {
    /// Text. Models and losses are boxed: they are much larger than anything else here.
    Documents {
        /// The texts, if they were kept.
        texts: Option<TextStore>,
        model: Box<TextModel>,
        stats: CorpusStats,
        n_repeated_ids: u64,
        losses: Box<Losses>,
    },
    /// A matrix, with the names of its columns if they were given.
    Matrix { term_names: Option<Vec<String>> },
}

/// Time spent on reading and vectorizing.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoadSeconds {
    pub(crate) read: f64,
    pub(crate) vectorize: f64,
}

/// Reads all input once and turns it into rows. Options are passed as objects: a file of stop words
/// may be a pipe, which can be read only once. `store` is the file that keeps the texts of
/// documents, if they are needed later.
pub(crate) fn load(
    input: &InputArgs,
    (text, tfidf): (TextOptions, TfidfOptions),
    threads: Option<usize>,
    store: Option<&Path>,
    progress: &mut Progress,
) -> Result<Loaded> {
    if let Some(format) = input.matrix_format() {
        return load_matrix(input, format, None);
    }
    input.check_for_documents()?;
    let vectorizer = Vectorizer::new().text(text).tfidf(tfidf).n_threads(threads);
    let start = Instant::now();
    let corpus = Corpus::open(&input.inputs, input.corpus_options())?;
    let (vectorized, texts) = match store {
        Some(path) => {
            let mut writer = TextStoreWriter::create(path)?;
            let vectorized = vectorizer.fit_with_texts_watched(&corpus, &mut writer, progress)?;
            (vectorized, Some(writer.finish()?.within(&memory::of_readers())))
        }
        None => (vectorizer.fit_watched(&corpus, progress)?, None),
    };
    progress.finish();
    let total = start.elapsed().as_secs_f64();
    let read = progress.last_read.map_or(0.0, |last| (last - start).as_secs_f64());
    Ok(Loaded {
        rows: vectorized.rows,
        ids: vectorized.ids,
        source: Source::Documents {
            texts,
            model: Box::new(vectorized.model),
            stats: vectorized.stats,
            n_repeated_ids: vectorized.n_repeated_ids,
            losses: Box::new(vectorized.losses),
        },
        seconds: LoadSeconds { read, vectorize: total - read },
    })
}

/// Reads a matrix. Its rows are numbered from 1, like lines. `n_terms` is the number of columns if
/// it is known; svmlight files do not state it.
pub(crate) fn load_matrix(
    input: &InputArgs,
    format: formats::Format,
    n_terms: Option<usize>,
) -> Result<Loaded> {
    let [path] = input.inputs.as_slice() else {
        return Err(UsageError("give one matrix file at a time".to_owned()).into());
    };
    if path == Path::new("-") {
        let message = "a matrix cannot be read from standard input; put it into a file and name that";
        return Err(UsageError(message.to_owned()).into());
    }
    let start = Instant::now();
    let term_names = input.vocabulary.as_deref().map(read_names).transpose()?;
    let memory = memory::of_readers();
    let n_terms = n_terms.or(term_names.as_ref().map(Vec::len));
    let options = formats::ReadOptions::default().format(format).n_terms(n_terms).memory(memory.clone());
    let rows = formats::read_with(path, &options)?;
    if let (Some(names), Some(file)) = (&term_names, &input.vocabulary) {
        ensure!(
            names.len() == rows.n_terms(),
            "{}: has {} lines, but the matrix has {} columns; give one name a line",
            file.display(),
            names.len(),
            rows.n_terms()
        );
    }
    let read = start.elapsed().as_secs_f64();
    let rows = UnitRows::new_within(rows, &memory)?;
    memory.check("the ids of the rows", ID_BYTES * rows.n_rows() as u64)?;
    Ok(Loaded {
        ids: (1..=rows.n_rows()).map(|number| number.to_string()).collect(),
        rows,
        source: Source::Matrix { term_names },
        seconds: LoadSeconds { read, vectorize: start.elapsed().as_secs_f64() - read },
    })
}

/// Reads the names of columns, one per line.
fn read_names(path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let limit = memory::of_readers();
    let reading = Reading { what: "the names of the columns", kept: NAME_COPIES, limit: &limit };
    reading.for_each_line(path, MAX_NAME_BYTES, |name| {
        names.push(name.to_owned());
        Ok(())
    })?;
    Ok(names)
}
