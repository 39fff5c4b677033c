//! The class `Model`.

use docsphere::{
    ClusterSummary, DocId, Keyword, Labels, SummaryOptions, TermId, cluster_keywords, summarize,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::errors::OrRaise;
use crate::matrix::{Csr, Parts, in_parts, parts};
use crate::text::TextModel;
use crate::threads::on_threads;

/// Centroids, and how they were made.
#[pyclass(frozen, module = "docsphere._docsphere")]
pub(crate) struct Model {
    model: docsphere::Model,
}

impl Model {
    pub(crate) fn new(model: docsphere::Model) -> Self {
        Model { model }
    }

    pub(crate) fn library(&self) -> &docsphere::Model {
        &self.model
    }
}

/// Labels and similarities.
type Predicted<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        py.detach(|| docsphere::Model::load(path)).or_raise().map(Model::new)
    }

    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(path)).or_raise()
    }

    /// A model from the bytes of `to_bytes`.
    #[new]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        docsphere::Model::from_bytes(bytes).or_raise().map(Model::new)
    }

    /// The content of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.model.to_bytes())
    }

    /// For pickling.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<Model>(), (self.to_bytes(py),))
    }

    #[getter]
    fn n_clusters(&self) -> usize {
        self.model.centroids().n_clusters()
    }

    #[getter]
    fn n_terms(&self) -> usize {
        self.model.centroids().n_terms()
    }

    /// How it was made, as JSON.
    #[getter]
    fn info(&self) -> String {
        serde_json::to_string(self.model.info()).expect("plain numbers and strings")
    }

    /// The centroids as `(data, indices, indptr)`.
    fn centroids<'py>(&self, py: Python<'py>) -> Parts<'py> {
        parts(py, &self.model.centroids().to_sparse_rows())
    }

    #[getter]
    fn text(&self) -> Option<TextModel> {
        self.model.text().cloned().map(TextModel::new)
    }

    /// The names of the terms, if they are known.
    #[getter]
    fn term_names(&self) -> Option<Vec<String>> {
        let name = |term| self.model.term_name(TermId::new(term)).map(str::to_owned);
        (0..self.n_terms() as u32).map(name).collect()
    }

    /// The same centroids with the names of the terms.
    fn with_term_names(&self, names: Vec<String>) -> PyResult<Self> {
        self.model.clone().with_term_names(names).or_raise().map(Model::new)
    }

    /// The same centroids with what turns new texts into rows.
    fn with_text(&self, text: &TextModel) -> PyResult<Self> {
        self.model.clone().with_text(text.model().clone()).or_raise().map(Model::new)
    }

    fn predict<'py>(&self, py: Python<'py>, matrix: Csr<'py>, n_threads: usize) -> PyResult<Predicted<'py>> {
        let slices = matrix.slices()?;
        let (labels, similarities) = on_threads(py, n_threads, |cancel| {
            let predictor = self.model.predictor();
            let (mut labels, mut similarities) = (Vec::new(), Vec::new());
            in_parts(&slices.unit_rows()?, cancel, |rows| {
                let found = predictor.predict(rows)?;
                labels.extend_from_slice(found.labels.as_slice());
                similarities.extend(found.similarities);
                Ok(())
            })
            .or_raise()?;
            Ok((labels, similarities))
        })?;
        Ok((PyArray1::from_vec(py, labels), PyArray1::from_vec(py, similarities)))
    }

    /// The similarity of each row to each centroid.
    fn similarities<'py>(
        &self,
        py: Python<'py>,
        matrix: Csr<'py>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let slices = matrix.slices()?;
        let shape = [slices.n_rows(), self.n_clusters()];
        let all = on_threads(py, n_threads, |_| {
            self.model.predictor().similarities(&slices.unit_rows()?).or_raise()
        })?;
        PyArray1::from_vec(py, all).reshape(shape)
    }

    /// The same, rounded to f32.
    fn similarities_f32<'py>(
        &self,
        py: Python<'py>,
        matrix: Csr<'py>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let slices = matrix.slices()?;
        let shape = [slices.n_rows(), self.n_clusters()];
        let all = on_threads(py, n_threads, |_| {
            self.model.predictor().similarities_f32(&slices.unit_rows()?).or_raise()
        })?;
        PyArray1::from_vec(py, all).reshape(shape)
    }

    /// The similarities to the nearest centroids alone, as `(data, indices, indptr)`; clusters
    /// ascending in each row.
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        matrix: Csr<'py>,
        m: usize,
        n_threads: usize,
    ) -> PyResult<Parts<'py, f64>> {
        let slices = matrix.slices()?;
        let (values, clusters, offsets) = on_threads(py, n_threads, |cancel| {
            let predictor = self.model.predictor();
            let (mut values, mut clusters, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
            in_parts(&slices.unit_rows()?, cancel, |rows| {
                let nearest = predictor.nearest(rows, m)?;
                for doc in 0..nearest.n_rows() {
                    let mut found = nearest.of(DocId::new(doc as u32)).to_vec();
                    found.sort_unstable_by_key(|neighbour| neighbour.cluster);
                    values.extend(found.iter().map(|neighbour| neighbour.similarity));
                    clusters.extend(found.iter().map(|neighbour| neighbour.cluster.index() as i32));
                    offsets.push(values.len() as i64);
                }
                Ok(())
            })
            .or_raise()?;
            Ok((values, clusters, offsets))
        })?;
        Ok((
            PyArray1::from_vec(py, values),
            PyArray1::from_vec(py, clusters),
            PyArray1::from_vec(py, offsets),
        ))
    }

    /// For each cluster the best terms and their scores. `labels` are those of the clustered rows.
    fn keywords(
        &self,
        py: Python<'_>,
        labels: PyReadonlyArray1<'_, i32>,
        n: usize,
        n_threads: usize,
    ) -> PyResult<Vec<Vec<(u32, f64)>>> {
        let labels = Labels::from(labels.as_slice()?.to_vec());
        on_threads(py, n_threads, |_| {
            let keywords = cluster_keywords(&self.model, &labels, n).or_raise()?;
            let of_cluster = |words: &Vec<Keyword>| {
                words.iter().map(|word| (word.term.index() as u32, word.score)).collect()
            };
            Ok(keywords.iter().map(of_cluster).collect())
        })
    }

    /// For each cluster the best terms, and the shares of its rows that have them.
    fn keyword_shares(
        &self,
        py: Python<'_>,
        matrix: Csr<'_>,
        labels: PyReadonlyArray1<'_, i32>,
        similarities: PyReadonlyArray1<'_, f64>,
        n: usize,
        n_threads: usize,
    ) -> PyResult<Vec<Vec<(u32, f64)>>> {
        let slices = matrix.slices()?;
        let labels = Labels::from(labels.as_slice()?.to_vec());
        let similarities = similarities.as_slice()?;
        on_threads(py, n_threads, |_| {
            let options = SummaryOptions::default()
                .n_keywords(n)
                .n_representatives(0)
                .n_least_typical(0)
                .n_neighbours(0);
            let summaries =
                summarize(&slices.unit_rows()?, &labels, similarities, &self.model, options).or_raise()?;
            let of_cluster = |cluster: &ClusterSummary| {
                let size = cluster.size.max(1) as f64;
                let share = |word: &Keyword| word.n_docs.unwrap_or(0) as f64 / size;
                cluster.keywords.iter().map(|word| (word.term.index() as u32, share(word))).collect()
            };
            Ok(summaries.iter().map(of_cluster).collect())
        })
    }

    /// For each cluster its representative rows, and their similarities.
    fn representatives(
        &self,
        py: Python<'_>,
        matrix: Csr<'_>,
        labels: PyReadonlyArray1<'_, i32>,
        similarities: PyReadonlyArray1<'_, f64>,
        n: usize,
        n_threads: usize,
    ) -> PyResult<Vec<Vec<(u32, f64)>>> {
        let slices = matrix.slices()?;
        let labels = Labels::from(labels.as_slice()?.to_vec());
        let similarities = similarities.as_slice()?;
        on_threads(py, n_threads, |_| {
            let options = SummaryOptions::default()
                .n_keywords(0)
                .n_representatives(n)
                .n_least_typical(0)
                .n_neighbours(0);
            let summaries =
                summarize(&slices.unit_rows()?, &labels, similarities, &self.model, options).or_raise()?;
            let of_cluster = |cluster: &ClusterSummary| {
                let documents = cluster.representatives.iter();
                documents.map(|found| (found.doc.index() as u32, found.similarity)).collect()
            };
            Ok(summaries.iter().map(of_cluster).collect())
        })
    }
}
