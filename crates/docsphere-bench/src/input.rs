//! From a name to rows: a corpus through the library's default text stages, a matrix file, or
//! generated rows. Nothing is cached.

use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Result, ensure};
use docsphere::{Corpus, CorpusOptions, ErrorKind, Event, SparseRows, UnitRows, Vectorizer, formats};
use docsphere_testkit::zipf::ZipfText;

/// Default number of generated documents.
const GENERATED_DOCS: usize = 5_000;

/// Default number of terms per generated row.
const GENERATED_MEAN_TERMS: usize = 40;

/// The source of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// Text-like rows of the test kit, with about `mean_terms` terms each.
    Generated { mean_terms: usize },
    /// A corpus or a matrix.
    File(PathBuf),
}

/// Rows and their name.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) rows: UnitRows<'static>,
    /// Seconds to read or generate them.
    pub(crate) seconds: f64,
}

impl Loaded {
    /// A one-line description of the rows.
    pub(crate) fn describe(&self) -> String {
        let rows = &self.rows;
        format!(
            "{}: {} rows, {} terms, {} nonzeros, {:.1} terms per row (ready after {:.1} s)",
            self.name,
            rows.n_rows(),
            rows.n_terms(),
            rows.nnz(),
            rows.nnz() as f64 / rows.n_rows().max(1) as f64,
            self.seconds
        )
    }
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let generated = match text.strip_prefix("generated") {
            Some("") => Some(GENERATED_MEAN_TERMS),
            Some(rest) => rest.strip_prefix(':').and_then(|number| number.parse().ok()).filter(|&n| n > 0),
            None => None,
        };
        Ok(match generated {
            Some(mean_terms) => Source::Generated { mean_terms },
            None => Source::File(text.into()),
        })
    }
}

impl fmt::Display for Source {
    /// The name in tables; for files, without folder and extensions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Generated { mean_terms } => write!(f, "generated:{mean_terms}"),
            Source::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                f.write_str(name.split('.').find(|part| !part.is_empty()).unwrap_or(&name))
            }
        }
    }
}

impl Source {
    /// Rows of the first `n_docs` documents, or of all. Documents are selected before they become
    /// rows, so that vocabulary and weights depend only on them.
    ///
    /// # Errors
    /// If the file cannot be read, or has fewer documents than wanted.
    pub(crate) fn load(&self, n_docs: Option<usize>, n_threads: usize) -> Result<Loaded> {
        self.load_fields(n_docs, n_threads, &CorpusOptions::default().text_fields)
    }

    /// The same, reading the text of records from these fields.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn load_fields(
        &self,
        n_docs: Option<usize>,
        n_threads: usize,
        text_fields: &[String],
    ) -> Result<Loaded> {
        let start = Instant::now();
        let rows = match self {
            Source::Generated { mean_terms } => generated(n_docs.unwrap_or(GENERATED_DOCS), *mean_terms),
            Source::File(path) if !path.is_dir() && formats::Format::from_path(path).is_ok() => {
                matrix(path, n_docs)?
            }
            Source::File(path) => documents(path, n_docs, n_threads, text_fields)?,
        };
        let loaded = Loaded { name: self.to_string(), rows, seconds: start.elapsed().as_secs_f64() };
        eprintln!("{}", loaded.describe());
        Ok(loaded)
    }
}

/// Generates rows. Vocabulary and topics grow with the documents as in real text: 57,000 terms and
/// 200 topics at 20,000 documents, 400,000 terms at a million.
fn generated(n_docs: usize, mean_terms: usize) -> UnitRows<'static> {
    let n_terms = (400.0 * (n_docs as f64).sqrt()).ceil() as usize;
    ZipfText { n_docs, n_terms: n_terms.max(1), n_topics: n_docs.div_ceil(100).max(1), mean_terms, seed: 1 }
        .rows()
}

fn matrix(path: &Path, n_docs: Option<usize>) -> Result<UnitRows<'static>> {
    let rows = formats::read(path)?;
    let Some(n_docs) = n_docs else { return Ok(UnitRows::new(rows)) };
    let n_rows = rows.n_rows();
    ensure!(n_docs <= n_rows, "{}: has {n_rows} rows, but {n_docs} are wanted", path.display());
    Ok(UnitRows::new(first_rows(&rows, n_docs)?))
}

fn first_rows(rows: &SparseRows<'_>, n_rows: usize) -> docsphere::Result<SparseRows<'static>> {
    let offsets = rows.offsets()[..=n_rows].to_vec();
    let nnz = offsets[n_rows] as usize;
    SparseRows::from_parts(
        rows.n_terms(),
        offsets,
        rows.terms()[..nnz].to_vec(),
        rows.values()[..nnz].to_vec(),
    )
}

fn documents(
    path: &Path,
    n_docs: Option<usize>,
    n_threads: usize,
    text_fields: &[String],
) -> Result<UnitRows<'static>> {
    let options = CorpusOptions::default().text_fields(text_fields);
    let corpus = Corpus::open([path], options)?;
    let vectorizer = Vectorizer::new().n_threads(n_threads);
    let Some(n_docs) = n_docs else { return Ok(vectorizer.fit(&corpus)?.rows) };
    let texts = first_texts(&corpus, n_docs)?;
    let n_found = texts.len();
    ensure!(n_found == n_docs, "{}: has {n_found} documents, but --docs {n_docs} are wanted", path.display());
    Ok(vectorizer.fit_texts(&texts)?.rows)
}

/// The texts of the first documents. Reads little beyond them.
fn first_texts(corpus: &Corpus, n_docs: usize) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut stop_when_read = |event: &Event<'_>| match event {
        Event::Reading { n_documents, .. } if *n_documents >= n_docs as u64 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let read = corpus.for_each_document_watched(&mut stop_when_read, |document| {
        if texts.len() < n_docs {
            texts.push(document.text.to_owned());
        }
    });
    match read {
        Err(error) if !matches!(error.kind(), ErrorKind::Stopped { .. }) => Err(error.into()),
        _ => Ok(texts),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn source(text: &str) -> Source {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_is_known_by_its_name() {
        assert_eq!(source("generated"), Source::Generated { mean_terms: 40 });
        assert_eq!(source("generated:13"), Source::Generated { mean_terms: 13 });
        assert_eq!(source("generated:0"), Source::File("generated:0".into()));
        assert_eq!(source("generated.jsonl"), Source::File("generated.jsonl".into()));
        assert_eq!(source("some/where/arxiv.jsonl.zst").to_string(), "arxiv");
        assert_eq!(source("generated:13").to_string(), "generated:13");
    }

    #[test]
    fn documents_are_chosen_before_they_become_rows() {
        let folder = tempfile::tempdir().unwrap();
        let (all, two) = (folder.path().join("all.txt"), folder.path().join("two.txt"));
        fs::write(&all, "cats purr\ndogs bark\nstocks fall\nstocks rise\n").unwrap();
        fs::write(&two, "cats purr\ndogs bark\n").unwrap();
        let load = |path: &Path, n_docs| Source::File(path.into()).load(n_docs, 1);
        assert_eq!(load(&all, Some(2)).unwrap().rows, load(&two, None).unwrap().rows);
        let message = format!("{:#}", load(&all, Some(5)).err().unwrap());
        assert!(message.ends_with("all.txt: has 4 documents, but --docs 5 are wanted"), "{message}");
    }

    #[test]
    fn a_matrix_may_be_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.npz");
        let rows = generated(30, 10);
        formats::write(&path, rows.as_sparse()).unwrap();
        let load = |n_docs| Source::File(path.clone()).load(n_docs, 1);
        assert_eq!(load(None).unwrap().rows, rows);
        let cut = load(Some(7)).unwrap().rows;
        assert_eq!((cut.n_rows(), cut.row(6).terms), (7, rows.row(6).terms));
        let message = load(Some(31)).err().unwrap().to_string();
        assert!(message.ends_with("has 30 rows, but 31 are wanted"), "{message}");
    }
}
