//! Files of a result: the report page, whole result folders.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use docsphere::{Ids, Labels, MemoryLimit, SummaryOptions, Trace};
use docsphere_result::{
    Assignments, AssignmentsFormat, Clustering, ClustersFile, Curve, Description, GroupsFile, Page,
    PageLimits, Phases, Points, Seconds, Setting, StoredPage, TraceFile, names, read_assignments,
    write_folder,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{OrRaise, named};
use crate::matrix::Csr;
use crate::model::Model;
use crate::threads::on_threads;

/// A clustering as Python has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given<'py> {
    labels: PyReadonlyArray1<'py, i32>,
    similarities: PyReadonlyArray1<'py, f64>,
    objective: f64,
    ids: Vec<String>,
    /// As a list: only the texts that are shown or name clusters are converted.
    texts: Option<Bound<'py, PyList>>,
    /// Names and values.
    settings: Vec<(String, Vec<String>)>,
    algorithm: String,
    /// As JSON; absent if the model came from a file.
    trace: Option<String>,
    n_keywords: usize,
    n_representatives: usize,
    n_least_typical: usize,
    max_chars: usize,
    max_bytes: u64,
}

/// The same, ready to cross to other threads.
struct Input<'a> {
    labels: Labels,
    similarities: &'a [f64],
    objective: f64,
    ids: Ids,
    texts: Option<Py<PyList>>,
    settings: Vec<Setting>,
    strategy: docsphere::Strategy,
    trace: Option<Trace>,
    options: SummaryOptions,
    limits: PageLimits,
}

impl Given<'_> {
    fn input(&self) -> PyResult<Input<'_>> {
        let bad = |what: &str| named("ParameterError", format!("{what} is not what fit has left"));
        let trace = self.trace.as_deref().map(serde_json::from_str).transpose();
        let setting =
            |(name, values): &(String, Vec<String>)| Setting { name: name.clone(), values: values.clone() };
        let mut options = SummaryOptions::default();
        options.n_keywords = self.n_keywords;
        options.n_representatives = self.n_representatives;
        options.n_least_typical = self.n_least_typical;
        Ok(Input {
            labels: Labels::from(self.labels.as_slice()?.to_vec()),
            similarities: self.similarities.as_slice()?,
            objective: self.objective,
            ids: self.ids.iter().collect(),
            texts: self.texts.as_ref().map(|texts| texts.clone().unbind()),
            settings: self.settings.iter().map(setting).collect(),
            strategy: self.algorithm.parse().map_err(|_| bad("algorithm"))?,
            trace: trace.map_err(|_| bad("trace_"))?,
            options,
            limits: PageLimits { max_chars: self.max_chars, max_bytes: self.max_bytes },
        })
    }
}

impl Input<'_> {
    fn clustering<'a>(
        &'a self,
        model: &'a docsphere::Model,
        rows: &'a docsphere::UnitRows<'a>,
    ) -> Clustering<'a> {
        Clustering {
            rows,
            ids: &self.ids,
            labels: &self.labels,
            similarities: self.similarities,
            model,
            n_copies: None,
            objective: self.objective,
        }
    }

    fn description(&self, clustering: &Clustering<'_>) -> PyResult<Description> {
        let mut raised = Ok(());
        let texts = |numbers: &[u64]| self.texts_or_raised(numbers, &mut raised);
        let description = Description::new(clustering, self.options, true, texts).or_raise()?;
        raised?;
        Ok(description)
    }

    /// The texts of these documents; none after the first exception, which is kept.
    fn texts_or_raised(&self, numbers: &[u64], raised: &mut PyResult<()>) -> BTreeMap<u64, String> {
        let found = if raised.is_ok() { self.texts_of(numbers) } else { Ok(BTreeMap::new()) };
        found.unwrap_or_else(|error| {
            *raised = Err(error);
            BTreeMap::new()
        })
    }

    /// The texts of these documents.
    fn texts_of(&self, numbers: &[u64]) -> PyResult<BTreeMap<u64, String>> {
        let Some(texts) = &self.texts else { return Ok(BTreeMap::new()) };
        Python::attach(|py| {
            let texts = texts.bind(py);
            numbers.iter().map(|&number| Ok((number, texts.get_item(number as usize)?.extract()?))).collect()
        })
    }

    /// The description, and the documents as points.
    fn described(
        &self,
        model: &docsphere::Model,
        rows: &docsphere::UnitRows<'_>,
    ) -> PyResult<(Description, Points)> {
        let clustering = self.clustering(model, rows);
        let description = self.description(&clustering)?;
        let points = Points::new(&clustering, &description, None, Vec::new()).or_raise()?;
        let points = points.expect("there is a map");
        if self.options.n_representatives == 0 && self.options.n_least_typical == 0 {
            return Ok((description, points));
        }
        let mut raised = Ok(());
        let points = points.with_titles(&self.ids, |numbers| self.texts_or_raised(numbers, &mut raised));
        raised?;
        Ok((description, points))
    }

    fn page<'a>(&'a self, description: &'a Description, points: &'a Points) -> Page<'a> {
        Page {
            clusters: &description.clusters,
            groups: Some(&description.groups),
            map: description.map.as_ref().expect("it was asked for"),
            version: env!("CARGO_PKG_VERSION"),
            settings: &self.settings,
            trace: self.trace.as_ref().map(|trace| Curve::new(&trace.iterations)).unwrap_or_default(),
            columns: None,
            points: Some(points),
            editable: false,
        }
    }
}

/// Makes the report page of a clustering, and writes it to a file if there is a path.
#[pyfunction]
pub(crate) fn write_report(
    py: Python<'_>,
    model: &Model,
    matrix: Csr<'_>,
    given: Given<'_>,
    path: Option<PathBuf>,
    n_threads: usize,
) -> PyResult<String> {
    let (slices, input, model) = (matrix.slices()?, given.input()?, model.library());
    on_threads(py, n_threads, |_| {
        let (description, points) = input.described(model, &slices.unit_rows()?)?;
        let html = input.page(&description, &points).render(input.limits, false).html;
        if let Some(path) = path {
            docsphere::write_whole(path, html.as_bytes()).or_raise()?;
        }
        Ok(html)
    })
}

/// The report page of a result that was read from a folder.
#[pyfunction]
pub(crate) fn render_result(
    py: Python<'_>,
    path: PathBuf,
    max_chars: usize,
    max_bytes: u64,
) -> PyResult<String> {
    py.detach(|| {
        let stored = StoredPage::read(&path, &MemoryLimit::default()).or_raise()?;
        Ok(stored.page().render(PageLimits { max_chars, max_bytes }, false).html)
    })
}

/// Writes the folder of a clustering, as the command does.
#[pyfunction]
pub(crate) fn write_result(
    py: Python<'_>,
    model: &Model,
    matrix: Csr<'_>,
    given: Given<'_>,
    path: PathBuf,
    n_threads: usize,
) -> PyResult<()> {
    let start = Instant::now();
    let (slices, input, model) = (matrix.slices()?, given.input()?, model.library());
    on_threads(py, n_threads, |_| {
        let (description, points) = input.described(model, &slices.unit_rows()?)?;
        let summarize = start.elapsed().as_secs_f64();
        let write = |folder: &std::path::Path| {
            let (ids, labels, similarities) = (&input.ids, &input.labels, input.similarities);
            let (nearest, silhouettes, copies, columns) = (None, None, None, None);
            let assignments =
                Assignments { ids, labels, similarities, nearest, silhouettes, copies, columns };
            assignments.write(folder, AssignmentsFormat::Csv)?;
            model.save(folder.join(names::MODEL))?;
            description.write(folder)?;
            points.write(folder)?;
            let rendered = input.page(&description, &points).render(input.limits, false);
            docsphere::write_whole(folder.join(names::REPORT), rendered.html.as_bytes())?;
            let (runs, iterations) = match &input.trace {
                Some(trace) => (&trace.runs[..], &trace.iterations[..]),
                None => (&[][..], &[][..]),
            };
            // Reading and vectorizing were no part of it.
            let seed = runs.iter().map(|run| run.seeding_seconds).sum();
            let cluster = iterations.iter().map(|record| record.seconds.total()).sum();
            let here = start.elapsed().as_secs_f64();
            let seconds = Seconds {
                read: 0.0,
                vectorize: 0.0,
                seed,
                cluster,
                summarize,
                write: here - summarize,
                total: seed + cluster + here,
            };
            let trace = TraceFile {
                strategy: input.strategy,
                seed: model.info().seed,
                threads: n_threads,
                version: env!("CARGO_PKG_VERSION"),
                settings: &input.settings,
                notes: &[],
                changes: &[],
                seconds,
                after: &Phases::default(),
                peak_memory_bytes: None,
                runs,
                iterations,
            };
            trace.write(folder)
        };
        write_folder(&path, write).or_raise()
    })
}

/// Ids, clusters, similarities; the clusters and the groups as JSON.
type Loaded<'py> =
    (Vec<String>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>, String, Option<String>);

/// Reads the folder of a clustering.
#[pyfunction]
pub(crate) fn read_result(py: Python<'_>, path: PathBuf) -> PyResult<Loaded<'_>> {
    let (lines, clusters, groups) = py.detach(|| {
        let limit = MemoryLimit::default();
        let clusters = ClustersFile::read(&path, &limit).or_raise()?;
        let has_groups = path.join(names::GROUPS).exists();
        let groups = has_groups.then(|| GroupsFile::read(&path, &limit)).transpose().or_raise()?;
        PyResult::Ok((read_assignments(&path, &limit).or_raise()?, clusters, groups))
    })?;
    let labels = lines.iter().map(|line| line.cluster).collect();
    let similarities = lines.iter().map(|line| line.similarity).collect();
    let json = |value: Result<String, serde_json::Error>| value.expect("plain numbers and strings");
    Ok((
        lines.into_iter().map(|line| line.id).collect(),
        PyArray1::from_vec(py, labels),
        PyArray1::from_vec(py, similarities),
        json(serde_json::to_string(&clusters)),
        groups.map(|groups| json(serde_json::to_string(&groups))),
    ))
}
