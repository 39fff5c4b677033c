//! Texts to rows, and the class `TextModel`.

use docsphere::{
    DocumentBound, LanguageCounts, LossCause, Losses, Ngrams, StopWords, TextOptions, TfidfOptions,
    Vectorizer,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyString, PyType};

use crate::errors::{OrRaise, named};
use crate::matrix::{Parts, parts};
use crate::threads::on_threads;

/// Turns texts into rows with the vocabulary and weights learnt from other texts.
#[pyclass(frozen, module = "docsphere._docsphere")]
pub(crate) struct TextModel {
    model: docsphere::TextModel,
}

/// The options of the text stages, as the transformer has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    segmentation: String,
    unspaced: String,
    hyphens: String,
    keep_tags: bool,
    lowercase: bool,
    keep_urls: bool,
    keep_numbers: bool,
    min_chars: usize,
    stop_words: Option<Stop>,
    more_stop_words: Vec<String>,
    ngram_range: (usize, usize),
    stemmer: Option<String>,
    language: Option<String>,
    idf: String,
    sublinear_tf: bool,
    min_df: Documents,
    max_df: Documents,
    max_features: Option<usize>,
}

#[derive(FromPyObject)]
enum Stop {
    Language(String),
    Own(Vec<String>),
}

#[derive(FromPyObject)]
enum Documents {
    Count(u64),
    Share(f64),
}

impl From<Documents> for DocumentBound {
    fn from(bound: Documents) -> Self {
        match bound {
            Documents::Count(count) => DocumentBound::Count(count),
            Documents::Share(share) => DocumentBound::Share(share),
        }
    }
}

impl Options {
    fn vectorizer(self) -> PyResult<Vectorizer> {
        let (text, tfidf) = self.options()?;
        Ok(Vectorizer::new().text(text).tfidf(tfidf))
    }

    /// How text becomes terms, and how terms are weighted.
    pub(crate) fn options(self) -> PyResult<(TextOptions, TfidfOptions)> {
        let stop_words = match self.stop_words {
            Some(Stop::Language(language)) => StopWords::Language(language),
            Some(Stop::Own(words)) => StopWords::Own(words),
            None => StopWords::None,
        };
        let text = TextOptions::default()
            .segmentation(self.segmentation.parse::<docsphere::Segmentation>().or_raise()?)
            .unspaced(self.unspaced.parse::<docsphere::Unspaced>().or_raise()?)
            .hyphens(self.hyphens.parse::<docsphere::Hyphens>().or_raise()?)
            .keep_tags(self.keep_tags)
            .lowercase(self.lowercase)
            .keep_urls(self.keep_urls)
            .keep_numbers(self.keep_numbers)
            .min_chars(self.min_chars)
            .stop_words(stop_words)
            .more_stop_words(self.more_stop_words)
            .ngrams(Ngrams { lo: self.ngram_range.0, hi: self.ngram_range.1 })
            .stemmer(self.stemmer)
            .language(self.language);
        let tfidf = TfidfOptions::default()
            .idf(self.idf.parse::<docsphere::IdfKind>().or_raise()?)
            .sublinear_tf(self.sublinear_tf)
            .min_df(self.min_df.into())
            .max_df(self.max_df.into())
            .max_terms(self.max_features);
        Ok((text, tfidf))
    }
}

/// Texts as UTF-8, without a copy. Lone surrogates are refused.
fn utf8(texts: Vec<Bound<'_, PyString>>) -> PyResult<Vec<PyBackedStr>> {
    let text = |(position, text): (usize, Bound<'_, PyString>)| {
        PyBackedStr::try_from(text).map_err(|error| {
            let problem =
                format!("raw_documents must hold valid Unicode, got {error} at position {position}");
            named("ParameterError", problem)
        })
    };
    texts.into_iter().enumerate().map(text).collect()
}

/// A warning if many letters reach no term, in the words of Python.
fn warning(losses: &Losses) -> Option<String> {
    let warning = losses.warning()?;
    let help = match warning.cause {
        LossCause::StopWords => "see stop_words",
        LossCause::Addresses => "keep_urls=True keeps them",
        LossCause::MinChars => "a smaller min_chars keeps them",
        LossCause::Segmentation => "segmentation=\"words\" splits every script",
        LossCause::MinDf => "a smaller min_df keeps them",
        LossCause::MaxDf => "a greater max_df keeps them",
        LossCause::InAllDocuments => "idf=\"smooth\" keeps them",
        LossCause::MaxTerms => "a greater max_features keeps them",
        _ => "see the parameters",
    };
    let percent = |share: f64| (100.0 * share).round();
    let (share, part) = (percent(warning.share), percent(warning.cause_share));
    Some(format!(
        "{share} % of the {} reach no term; {part} % are {}: {help}",
        warning.of(),
        warning.cause.letters()
    ))
}

/// Languages, `None` for none that is certain, and the number of texts in each.
type ByLanguage = Vec<(Option<&'static str>, u64)>;

fn by_language(counts: &LanguageCounts) -> ByLanguage {
    let certain = counts.certain().into_iter().map(|(language, n_texts)| (Some(language.name()), n_texts));
    let uncertain = Some((None, counts.n_uncertain())).filter(|&(_, n_texts)| n_texts > 0);
    certain.chain(uncertain).collect()
}

/// Learns the terms of some texts. Returns their rows as `(data, indices, indptr)`, what was
/// learnt, a warning, and the number of texts by language.
#[pyfunction]
pub(crate) fn fit_texts<'py>(
    py: Python<'py>,
    texts: Vec<Bound<'py, PyString>>,
    options: Options,
    n_threads: usize,
) -> PyResult<(Parts<'py>, TextModel, Option<String>, ByLanguage)> {
    let (texts, vectorizer) = (utf8(texts)?, options.vectorizer()?.n_threads(n_threads));
    let vectorized = py.detach(|| vectorizer.fit_texts(&texts)).or_raise()?;
    let warning = warning(&vectorized.losses);
    let languages = by_language(&vectorized.languages);
    Ok((parts(py, vectorized.rows.as_sparse()), TextModel::new(vectorized.model), warning, languages))
}

impl TextModel {
    pub(crate) fn new(model: docsphere::TextModel) -> Self {
        TextModel { model }
    }

    pub(crate) fn model(&self) -> &docsphere::TextModel {
        &self.model
    }
}

#[pymethods]
impl TextModel {
    /// A model from the bytes of `to_bytes`.
    #[new]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        docsphere::TextModel::from_bytes(bytes).or_raise().map(TextModel::new)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.model.to_bytes())
    }

    /// For pickling.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<TextModel>(), (self.to_bytes(py),))
    }

    /// The options of the text stages, as JSON: those of terms, and those of weights.
    #[getter]
    fn options(&self) -> String {
        let options = (self.model.text_options(), self.model.tfidf_options());
        serde_json::to_string(&options).expect("plain numbers and strings")
    }

    /// The terms, ascending.
    #[getter]
    fn terms(&self) -> Vec<&str> {
        self.model.vocabulary().iter().collect()
    }

    #[getter]
    fn idf<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.model.idf())
    }

    /// The rows of texts, as `(data, indices, indptr)`.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        n_threads: usize,
    ) -> PyResult<Parts<'py>> {
        let texts = utf8(texts)?;
        let transformed = on_threads(py, n_threads, |_| self.model.transform(&texts).or_raise())?;
        Ok(parts(py, transformed.rows.as_sparse()))
    }
}
