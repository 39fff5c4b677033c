//! Workers and the coordinator of a cluster.
//!
//! Python carries the messages: `coordinate` runs on threads of its own, and the calling thread
//! hands every request to the executor, takes its answers, calls the callback, and looks for
//! Ctrl-C.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use docsphere::{
    Checkpoint, Coordinator, Corpus, CorpusFormat, CorpusOptions, DistributedFit, DistributedText, DocId,
    ErrorKind, Event, FitOptions, Html, Ids, Init, Params, Quote, ShardView, SummaryOptions, Transport,
};
use docsphere_result::{
    Assignments, AssignmentsFormat, Curve, Description, Page, PageLimits, Phases, Seconds, Setting,
    ShownDocument, Totals, TraceFile, names,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::errors::{OrRaise, named};
use crate::fit::{Options as FitOptionsOfPython, Teller};
use crate::matrix::Csr;
use crate::model::Model;
use crate::text::Options as TextOptionsOfPython;
use crate::threads::SIGNAL_CHECK;

/// Owns the rows of one shard.
#[pyclass(frozen, module = "docsphere._docsphere")]
pub(crate) struct ShardWorker {
    worker: docsphere::ShardWorker,
}

#[pymethods]
impl ShardWorker {
    #[new]
    fn new(n_threads: usize, scratch: PathBuf) -> PyResult<Self> {
        let worker = docsphere::ShardWorker::new(n_threads, scratch, Box::new(extended)).or_raise()?;
        Ok(ShardWorker { worker })
    }

    /// Gives the worker its rows.
    #[pyo3(signature = (matrix, weights))]
    fn load_csr(
        &self,
        py: Python<'_>,
        matrix: Csr<'_>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let slices = matrix.slices()?;
        let weights = weights.map(|weights| weights.as_slice().map(<[f64]>::to_vec)).transpose()?;
        py.detach(|| {
            let rows = slices.unit_rows()?.into_owned();
            self.worker.load_rows(rows, weights).or_raise()
        })
    }

    /// Gives the worker its documents.
    #[pyo3(signature = (texts, ids))]
    fn load_texts(&self, py: Python<'_>, texts: Vec<String>, ids: Option<Vec<String>>) -> PyResult<()> {
        py.detach(|| self.worker.load_texts(texts, ids)).or_raise()
    }

    /// Answers a request; failures are part of the answer.
    fn handle<'py>(&self, py: Python<'py>, request: &[u8], shared: &[u8]) -> Bound<'py, PyBytes> {
        let answer = py.detach(|| self.worker.handle(request, shared));
        PyBytes::new(py, &answer)
    }
}

/// What a worker does for results.
#[derive(Serialize, Deserialize)]
enum Task {
    /// Return the similarities of all documents, 8 bytes each.
    Similarities,
    /// Write the assignments of all documents into a folder, as one part.
    Write { folder: PathBuf, format: String, part: u32, model: Option<PathBuf> },
}

fn extended(view: ShardView<'_>, task: &[u8]) -> Result<Vec<u8>, String> {
    let task: Task = serde_json::from_slice(task).map_err(|error| error.to_string())?;
    match task {
        Task::Similarities => Ok(view.similarities.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Task::Write { folder, format, part, model } => {
            let numbers = (view.first_doc + 1..).take(view.similarities.len());
            let numbered: Ids = if view.ids.is_empty() {
                numbers.map(|number| number.to_string()).collect()
            } else {
                Ids::new()
            };
            let ids = if view.ids.is_empty() { &numbered } else { view.ids };
            let nearest = model
                .map(|model| docsphere::Model::load(model)?.predictor().nearest(view.rows, 2))
                .transpose()
                .map_err(|error| error.to_string())?;
            let assignments = Assignments {
                ids,
                labels: &view.labels,
                similarities: view.similarities,
                nearest: nearest.as_ref(),
                silhouettes: None,
                columns: None,
                copies: None,
            };
            let format: AssignmentsFormat = format.parse()?;
            // Not created here: a worker that does not see the folder must not make one of its own.
            if !folder.is_dir() {
                return Err(format!(
                    "{}: this node does not see the folder; the output must be on a file system that all nodes share",
                    folder.display()
                ));
            }
            let n_bytes = assignments.write_part(&folder, format, part).map_err(|error| error.to_string())?;
            Ok(n_bytes.to_le_bytes().to_vec())
        }
    }
}

/// A job, as Python has checked it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Job<'py> {
    /// How texts become rows; absent if the workers have rows.
    text: Option<TextOptionsOfPython>,
    params: FitOptionsOfPython<'py>,
    /// Candidates per step of k-means++.
    candidates: Option<usize>,
    /// Small clusters per cluster, before merges.
    fine: Option<usize>,
    /// The files, if there are files, and what is written.
    files: Option<Files>,
}

/// The files of a job.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Files {
    paths: Vec<PathBuf>,
    format: Option<String>,
    text_fields: Vec<String>,
    id_field: Option<String>,
    delimiter: Option<char>,
    quote: Option<String>,
    sheet: Option<String>,
    encoding: Option<String>,
    html: String,
    keep_quotes: bool,
    glob: Option<String>,
    skip_bad_records: bool,
    output: PathBuf,
    assignments: String,
    runner_up: bool,
    report: bool,
    n_keywords: usize,
    n_representatives: usize,
    n_least_typical: usize,
    max_chars: usize,
    max_bytes: u64,
    force: bool,
    checkpoint: Option<PathBuf>,
    checkpoint_every: usize,
    resume: Option<PathBuf>,
    settings: Vec<(String, Vec<String>)>,
}

/// The result of a job.
#[pyclass(frozen, module = "docsphere._docsphere")]
pub(crate) struct CoordinatedFit {
    model: docsphere::Model,
    /// Absent if there are files, which have them.
    assignment: Option<(Vec<i32>, Vec<f64>)>,
    objective: f64,
    n_iter: usize,
    converged: bool,
    n_empty_clusters: usize,
    n_outliers: usize,
    n_documents: usize,
    trace: String,
    traffic: (u64, u64, u64),
}

#[pymethods]
impl CoordinatedFit {
    #[getter]
    fn model(&self) -> Model {
        Model::new(self.model.clone())
    }

    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i32>>> {
        self.assignment.as_ref().map(|(labels, _)| PyArray1::from_slice(py, labels))
    }

    #[getter]
    fn similarities<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.assignment.as_ref().map(|(_, similarities)| PyArray1::from_slice(py, similarities))
    }

    #[getter]
    fn objective(&self) -> f64 {
        self.objective
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.n_iter
    }

    #[getter]
    fn converged(&self) -> bool {
        self.converged
    }

    #[getter]
    fn n_empty_clusters(&self) -> usize {
        self.n_empty_clusters
    }

    #[getter]
    fn n_outliers(&self) -> usize {
        self.n_outliers
    }

    #[getter]
    fn n_documents(&self) -> usize {
        self.n_documents
    }

    /// The trace, as JSON.
    #[getter]
    fn trace(&self) -> String {
        self.trace.clone()
    }

    /// Rounds, bytes to workers, bytes from workers.
    #[getter]
    fn traffic(&self) -> (u64, u64, u64) {
        self.traffic
    }
}

/// What the threads of a job ask of the calling thread.
enum Ask {
    /// An event, for whose answer the job waits.
    Event(String),
    /// Requests to workers and the bytes that they share.
    Call { requests: Vec<Option<Vec<u8>>>, shared: Vec<u8> },
}

/// What the calling thread answers to requests.
enum Reply {
    Answer(usize, Vec<u8>),
    /// All answers are there.
    Done,
    /// An exception was raised, and is kept.
    Raised,
}

/// The way to the calling thread, from the threads of the job.
struct Desk {
    asks: mpsc::Sender<Ask>,
    replies: Mutex<mpsc::Receiver<Reply>>,
    /// Events that have been handled. Apart from the replies: an event may be told between two
    /// answers to one request.
    seen: Mutex<mpsc::Receiver<()>>,
}

impl Desk {
    fn reply(&self) -> Option<Reply> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    /// Reports an event, and waits until it has been handled.
    fn tell(&self, event: String) {
        if self.asks.send(Ask::Event(event)).is_ok() {
            let _ = self.seen.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
    }
}

/// Carries messages to the calling thread, which has the executor.
struct Carrier<'a> {
    n_workers: usize,
    desk: &'a Desk,
}

fn given_up() -> docsphere::Error {
    ErrorKind::Stopped { stage: "a request to the workers" }.into()
}

impl Transport for Carrier<'_> {
    fn n_workers(&self) -> usize {
        self.n_workers
    }

    fn call(
        &mut self,
        requests: &[Option<Vec<u8>>],
        shared: &[u8],
        answer: &mut dyn FnMut(usize, Vec<u8>) -> docsphere::Result<()>,
    ) -> docsphere::Result<()> {
        let call = Ask::Call { requests: requests.to_vec(), shared: shared.to_vec() };
        self.desk.asks.send(call).map_err(|_| given_up())?;
        let mut taken = Ok(());
        loop {
            match self.desk.reply() {
                // All answers are taken, also after an error: the next call has its own.
                Some(Reply::Answer(worker, bytes)) if taken.is_ok() => taken = answer(worker, bytes),
                Some(Reply::Answer(..)) => {}
                Some(Reply::Done) => return taken,
                Some(Reply::Raised) | None => return Err(given_up()),
            }
        }
    }
}

/// Runs a job on workers. `callback` gets every event as JSON; a true return value ends the run.
#[pyfunction]
#[pyo3(signature = (executor, job, callback))]
pub(crate) fn coordinate(
    py: Python<'_>,
    executor: Bound<'_, PyAny>,
    job: Job<'_>,
    callback: Option<Py<PyAny>>,
) -> PyResult<CoordinatedFit> {
    let n_workers: usize = executor.getattr("n_shards")?.extract()?;
    let work = Work::new(job)?;
    let (stop, cancel) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let (asks, asked) = mpsc::channel::<Ask>();
    let (replies, replied) = mpsc::channel::<Reply>();
    let (handled, seen) = mpsc::channel::<()>();
    let watch = Watch { executor: executor.unbind(), callback, stop, cancel, replies, handled };
    py.detach(move || {
        std::thread::scope(|scope| {
            let run = scope.spawn(move || {
                let desk = Desk { asks, replies: Mutex::new(replied), seen: Mutex::new(seen) };
                work.run(Carrier { n_workers, desk: &desk }, stop, cancel)
            });
            let watched = watch.until_the_end(&asked);
            let result = run.join();
            watched?;
            result.map_err(|_| {
                named("DocsphereError", "the run broke off; this is a defect, please report it".to_owned())
            })?
        })
    })
}

/// The work of the calling thread.
struct Watch<'a> {
    executor: Py<PyAny>,
    callback: Option<Py<PyAny>>,
    stop: &'a AtomicBool,
    cancel: &'a AtomicBool,
    replies: mpsc::Sender<Reply>,
    /// Signals that an event has been handled.
    handled: mpsc::Sender<()>,
}

impl Watch<'_> {
    /// Returns when the run has ended. An exception ends it, and is kept.
    fn until_the_end(&self, asked: &mpsc::Receiver<Ask>) -> PyResult<()> {
        let mut raised = Ok(());
        loop {
            let ask = match asked.recv_timeout(SIGNAL_CHECK) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return raised,
            };
            let is_call = ask.as_ref().map(|ask| matches!(ask, Ask::Call { .. }));
            if raised.is_ok() {
                raised = Python::attach(|py| self.attend(py, ask, asked));
                self.cancel.store(raised.is_err(), Relaxed);
            }
            // The run may have panicked in the meantime.
            let _ = match is_call {
                Some(true) => {
                    let reply = if raised.is_ok() { Reply::Done } else { Reply::Raised };
                    self.replies.send(reply).is_ok()
                }
                Some(false) => self.handled.send(()).is_ok(),
                None => true,
            };
        }
    }

    fn attend(&self, py: Python<'_>, ask: Option<Ask>, asked: &mpsc::Receiver<Ask>) -> PyResult<()> {
        py.check_signals()?;
        match ask {
            None => Ok(()),
            Some(Ask::Event(event)) => self.tell(py, event),
            Some(Ask::Call { requests, shared }) => {
                let bytes = |bytes: &Vec<u8>| PyBytes::new(py, bytes);
                let requests: Vec<Option<Bound<'_, PyBytes>>> =
                    requests.iter().map(|request| request.as_ref().map(bytes)).collect();
                let answers =
                    self.executor.bind(py).call_method1("call", (requests, PyBytes::new(py, &shared)))?;
                for answer in answers.try_iter()? {
                    let (worker, bytes): (usize, Bound<'_, PyBytes>) = answer?.extract()?;
                    let _ = self.replies.send(Reply::Answer(worker, bytes.as_bytes().to_vec()));
                    // Events about this answer, before the next one has arrived. There is no other
                    // call meanwhile.
                    while let Ok(Ask::Event(event)) = asked.try_recv() {
                        let told = self.tell(py, event);
                        let _ = self.handled.send(());
                        told?;
                    }
                }
                Ok(())
            }
        }
    }

    fn tell(&self, py: Python<'_>, event: String) -> PyResult<()> {
        if let Some(callback) = &self.callback
            && callback.call1(py, (event,))?.is_truthy(py)?
        {
            self.stop.store(true, Relaxed);
        }
        Ok(())
    }
}

/// A job, ready to cross to other threads.
struct Work {
    text: Option<DistributedText>,
    params: Params,
    files: Option<Files>,
}

impl Work {
    fn new(job: Job<'_>) -> PyResult<Self> {
        let keep_texts = job.files.as_ref().is_some_and(|files| files.n_shown() > 0);
        let text = job.text.map(TextOptionsOfPython::options).transpose()?;
        let mut params = job.params.params()?;
        if job.candidates.is_some() {
            let Init::PlusPlus { candidates } = &mut params.init else {
                return Err(named("ParameterError", "candidates goes with init=\"k-means++\"".to_owned()));
            };
            *candidates = job.candidates;
        }
        if job.fine.is_some() {
            let Init::Merge { fine } = &mut params.init else {
                return Err(named("ParameterError", "fine goes with init=\"merge\"".to_owned()));
            };
            *fine = job.fine;
        }
        Ok(Work {
            text: text.map(|(text, tfidf)| DistributedText::new(text, tfidf, keep_texts)),
            params,
            files: job.files,
        })
    }

    fn run(
        self,
        mut carrier: Carrier<'_>,
        stop: &AtomicBool,
        cancel: &AtomicBool,
    ) -> PyResult<CoordinatedFit> {
        let (start, desk) = (Instant::now(), carrier.desk);
        let mut teller = Teller::new(true);
        let mut observer = |event: &Event<'_>| {
            if let Some(json) = teller.told(event) {
                desk.tell(json);
            }
            if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // Whatever can be refused is refused before the work begins.
        let params = self.params.clone().check().or_raise()?;
        let resume = self.files.as_ref().and_then(|files| files.resume.as_ref());
        let resume = resume.map(Checkpoint::load).transpose().or_raise()?;
        let corpus = self.files.as_ref().map(Files::corpus).transpose()?;
        if let Some(files) = &self.files {
            files.check()?;
        }
        let mut coordinator = Coordinator::new(&mut carrier);
        let text_model = match (&self.text, &corpus) {
            (Some(text), Some(corpus)) => {
                Some(coordinator.read(corpus, text, &mut observer).or_raise()?.model)
            }
            (Some(text), None) => Some(coordinator.read_given(text, &mut observer).or_raise()?.model),
            (None, _) => None,
        };
        let read_seconds = start.elapsed().as_secs_f64();
        let mut options = FitOptions::default().observer(&mut observer).cancel(cancel);
        if let Some(files) = &self.files
            && let Some(path) = &files.checkpoint
        {
            options = options.checkpoint(path, files.checkpoint_every);
        }
        if let Some(checkpoint) = resume {
            options = options.resume(checkpoint);
        }
        let mut fit = coordinator.fit(&params, options).or_raise()?;
        let model = match text_model {
            Some(text) => fit.model.clone().with_text(text).or_raise()?,
            None => fit.model.clone(),
        };
        let mut finished = Finished { fit: &mut fit, model, params: &self.params, start, read_seconds };
        match &self.files {
            Some(files) => finished.write(files),
            None => finished.collected(),
        }
    }
}

impl Files {
    fn n_shown(&self) -> usize {
        self.n_representatives + self.n_least_typical
    }

    fn corpus(&self) -> PyResult<Corpus> {
        let format = self.format.as_deref().map(str::parse::<CorpusFormat>).transpose().or_raise()?;
        let quote = self.quote.as_deref().map(str::parse::<Quote>).transpose().or_raise()?;
        let mut options = CorpusOptions::default()
            .format(format)
            .text_fields(self.text_fields.iter().cloned())
            .delimiter(self.delimiter)
            .quote(quote)
            .html(self.html.parse::<Html>().or_raise()?)
            .keep_quotes(self.keep_quotes)
            .skip_bad_records(self.skip_bad_records);
        options.id_field.clone_from(&self.id_field);
        options.sheet.clone_from(&self.sheet);
        options.encoding.clone_from(&self.encoding);
        options.glob.clone_from(&self.glob);
        Corpus::open(&self.paths, options).or_raise()
    }

    fn check(&self) -> PyResult<()> {
        let format = self.format();
        format?.check_build().or_raise()?;
        docsphere_result::check_output(&self.output, self.force).or_raise()
    }

    fn format(&self) -> PyResult<AssignmentsFormat> {
        let problem = |problem| named("ParameterError", format!("assignments {problem}"));
        self.assignments.parse().map_err(problem)
    }
}

/// A finished run on workers.
struct Finished<'a, 'b> {
    fit: &'a mut DistributedFit<'b>,
    /// With the names of terms.
    model: docsphere::Model,
    params: &'a Params,
    start: Instant,
    read_seconds: f64,
}

impl Finished<'_, '_> {
    /// The result with all labels.
    fn collected(&mut self) -> PyResult<CoordinatedFit> {
        let n_workers = self.fit.first_docs().len();
        let tasks = vec![json(&Task::Similarities); n_workers];
        let similarities = self.fit.extend("collecting similarities", &tasks).or_raise()?.concat();
        let similarity = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let similarities = similarities.chunks_exact(8).map(similarity).collect();
        let labels = self.fit.labels().or_raise()?;
        let mut has_documents = vec![false; self.model.centroids().n_clusters()];
        let mut n_labelled = 0;
        for label in labels.iter().filter_map(|&label| usize::try_from(label).ok()) {
            has_documents[label] = true;
            n_labelled += 1;
        }
        let n_empty_clusters = has_documents.iter().filter(|&&has| !has).count();
        let n_outliers = self.fit.n_documents - self.fit.n_without_terms - n_labelled;
        Ok(self.result(n_empty_clusters, n_outliers, Some((labels, similarities))))
    }

    fn result(
        &self,
        n_empty_clusters: usize,
        n_outliers: usize,
        assignment: Option<(Vec<i32>, Vec<f64>)>,
    ) -> CoordinatedFit {
        let traffic = self.fit.traffic();
        CoordinatedFit {
            model: self.model.clone(),
            assignment,
            objective: self.fit.objective,
            n_iter: self.fit.n_iter,
            converged: self.fit.stop.is_converged(),
            n_empty_clusters,
            n_outliers,
            n_documents: self.fit.n_documents,
            trace: serde_json::to_string(&self.fit.trace).expect("plain numbers and strings"),
            traffic: (traffic.n_rounds, traffic.bytes_down, traffic.bytes_up),
        }
    }

    /// Writes the folder of the result.
    fn write(&mut self, files: &Files) -> PyResult<CoordinatedFit> {
        let begin = Instant::now();
        let options = SummaryOptions::default()
            .n_keywords(files.n_keywords)
            .n_representatives(files.n_representatives)
            .n_least_typical(files.n_least_typical);
        let n_clusters = self.model.centroids().n_clusters();
        let options = Description::summary_options(options, n_clusters, files.report);
        let summaries = self.fit.summarize(&self.model, options).or_raise()?;
        let totals = Totals {
            n_documents: self.fit.n_documents,
            n_without_terms: self.fit.n_without_terms,
            objective: self.fit.objective,
        };
        let fit = &mut *self.fit;
        let documents = |numbers: &[u64]| -> docsphere::Result<Vec<ShownDocument>> {
            // Numbers of rows, so they fit.
            let docs: Vec<DocId> = numbers.iter().map(|&number| DocId::new(number as u32)).collect();
            let shown = |(id, text)| ShownDocument { id, text };
            Ok(fit.documents(&docs)?.into_iter().map(shown).collect())
        };
        let model = &self.model;
        let n_threads = self.params.n_threads;
        let description = docsphere::on_threads(n_threads, move || {
            Description::from_summaries(&summaries, model, totals, files.report, documents)
        });
        let description: Description = description.or_raise()?.or_raise()?;
        let summarize_seconds = begin.elapsed().as_secs_f64();
        let format = files.format()?;
        let write = |folder: &Path| {
            self.model.save(folder.join(names::MODEL))?;
            self.write_parts(folder, files, format)?;
            description.write(folder)?;
            if let Some(map) = &description.map {
                let page = Page {
                    clusters: &description.clusters,
                    groups: Some(&description.groups),
                    map,
                    version: env!("CARGO_PKG_VERSION"),
                    settings: &files.settings(),
                    trace: Curve::new(&self.fit.trace.iterations),
                    columns: None,
                    // The rows are with the workers.
                    points: None,
                    editable: false,
                };
                let limits = PageLimits { max_chars: files.max_chars, max_bytes: files.max_bytes };
                let rendered = page.render(limits, false);
                docsphere::write_whole(folder.join(names::REPORT), rendered.html.as_bytes())?;
            }
            self.write_trace(folder, files, summarize_seconds, begin)
        };
        docsphere_result::replace_folder(&files.output, files.force, write).or_raise()?;
        let clusters = &description.clusters;
        Ok(self.result(clusters.n_empty_clusters, clusters.n_outliers, None))
    }

    /// Lets every worker write its assignments, and checks that they are there.
    fn write_parts(
        &mut self,
        folder: &Path,
        files: &Files,
        format: AssignmentsFormat,
    ) -> docsphere::Result<()> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let model = files.runner_up.then(|| folder.join(names::MODEL));
        let n_workers = self.fit.first_docs().len() as u32;
        let task = |part| {
            let (folder, format, model) = (folder.clone(), format.name().to_owned(), model.clone());
            json(&Task::Write { folder, format, part, model })
        };
        let tasks: Vec<Vec<u8>> = (0..n_workers).map(task).collect();
        let lengths = self.fit.extend("writing assignments", &tasks)?;
        let parts = folder.join(names::ASSIGNMENT_PARTS);
        for (part, length) in (0..n_workers).zip(lengths) {
            let path = parts.join(format.part_name(part));
            let found = path.metadata().map(|found| found.len().to_le_bytes());
            if !found.is_ok_and(|found| found[..] == length[..]) {
                let message = format!(
                    "has written {}, but it is not here, or not whole; the output must be on a file system that all nodes share",
                    path.display()
                );
                return Err(ErrorKind::Worker { worker: part as usize, message }.into());
            }
        }
        Ok(())
    }

    fn write_trace(
        &self,
        folder: &Path,
        files: &Files,
        summarize: f64,
        begin: Instant,
    ) -> docsphere_result::Result<()> {
        let (runs, iterations) = (&self.fit.trace.runs, &self.fit.trace.iterations);
        let seconds = Seconds {
            read: self.read_seconds,
            vectorize: 0.0,
            seed: runs.iter().map(|run| run.seeding_seconds).sum(),
            cluster: iterations.iter().map(|record| record.seconds.total()).sum(),
            summarize,
            write: begin.elapsed().as_secs_f64() - summarize,
            total: self.start.elapsed().as_secs_f64(),
        };
        let trace = TraceFile {
            strategy: self.params.strategy,
            seed: self.params.seed,
            threads: self.params.n_threads.unwrap_or_else(docsphere::all_cores),
            version: env!("CARGO_PKG_VERSION"),
            settings: &files.settings(),
            notes: &[],
            changes: &[],
            seconds,
            after: &Phases::default(),
            peak_memory_bytes: None,
            runs,
            iterations,
        };
        trace.write(folder)
    }
}

impl Files {
    fn settings(&self) -> Vec<Setting> {
        let setting =
            |(name, values): &(String, Vec<String>)| Setting { name: name.clone(), values: values.clone() };
        self.settings.iter().map(setting).collect()
    }
}

fn json(task: &Task) -> Vec<u8> {
    serde_json::to_vec(task).expect("paths that came from Python are Unicode")
}
