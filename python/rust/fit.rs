//! Clustering.
//!
//! The run has threads of its own. The calling thread waits for it with the lock released, and
//! takes the lock only to call the callback, for whose answer the run waits, and several times per
//! second to check for Ctrl-C: Python handles signals only on its main thread.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use docsphere::{
    Centroids, Device, Effort, Event, Fit, FitOptions, Init, Params, Refine, SphericalKMeans, Strategy,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{OrRaise, named};
use crate::matrix::Csr;
use crate::model::Model;
use crate::threads::SIGNAL_CHECK;

/// Minimum interval between seeding events for the callback; the last one is always reported.
const SEEDING_EVENTS: Duration = Duration::from_millis(50);

/// The names of all algorithms.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<&'static str> {
    Strategy::ALL.iter().map(|strategy| strategy.name()).collect()
}

/// The options of a fit, as the estimator has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    n_clusters: usize,
    /// A name, or given centroids.
    init: Start<'py>,
    effort: String,
    n_init: Option<usize>,
    variation: Option<bool>,
    rounds: Option<usize>,
    refine: String,
    max_iter: usize,
    tol: f64,
    seed: u64,
    algorithm: String,
    device: String,
    n_threads: usize,
}

#[derive(FromPyObject)]
pub(crate) enum Start<'py> {
    Name(String),
    Given(Csr<'py>),
}

impl Start<'_> {
    fn init(&self, preset: &Init) -> PyResult<Init> {
        match self {
            // With the number of small clusters that the effort says.
            Start::Name(name) if name == preset.name() => Ok(preset.clone()),
            Start::Name(name) => name.parse::<Init>().or_raise(),
            Start::Given(matrix) => Ok(Init::Given(Centroids::from_rows(matrix.slices()?.rows()?))),
        }
    }
}

impl Options<'_> {
    pub(crate) fn params(&self) -> PyResult<Params> {
        let effort = self.effort.parse::<Effort>().or_raise()?;
        let preset = SphericalKMeans::params(self.n_clusters).effort(effort);
        let (n_init, variation, rounds) = (preset.n_init, preset.variation, preset.rounds);
        let init = self.init.init(&preset.init)?;
        Ok(preset
            .init(init)
            .n_init(self.n_init.unwrap_or(n_init))
            .variation(self.variation.unwrap_or(variation))
            .rounds(self.rounds.unwrap_or(rounds))
            .refine(self.refine.parse::<Refine>().or_raise()?)
            .max_iter(self.max_iter)
            .tol(self.tol)
            .seed(self.seed)
            .strategy(self.algorithm.parse::<Strategy>().or_raise()?)
            .device(self.device.parse::<Device>().or_raise()?)
            .n_threads(self.n_threads))
    }
}

impl Options<'_> {
    /// The params of a sweep: one start per number of clusters, whatever the effort.
    pub(crate) fn params_of_sweep(&self) -> PyResult<Params> {
        Ok(self.params()?.n_init(self.n_init.unwrap_or(1)))
    }
}

/// The result of a fit.
#[pyclass(frozen, module = "docsphere._docsphere")]
pub(crate) struct Fitted {
    fit: Fit,
    left_device: Option<String>,
}

impl Fitted {
    pub(crate) fn new(fit: Fit) -> Self {
        Fitted { fit, left_device: None }
    }
}

#[pymethods]
impl Fitted {
    #[getter]
    fn model(&self) -> Model {
        Model::new(self.fit.model.clone())
    }

    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_slice(py, self.fit.labels.as_slice())
    }

    #[getter]
    fn similarities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.fit.similarities)
    }

    #[getter]
    fn objective(&self) -> f64 {
        self.fit.objective
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.fit.n_iter
    }

    #[getter]
    fn converged(&self) -> bool {
        self.fit.converged()
    }

    #[getter]
    fn n_empty_clusters(&self) -> usize {
        self.fit.n_empty_clusters
    }

    #[getter]
    fn n_outliers(&self) -> usize {
        self.fit.n_outliers
    }

    /// Why the CPU was used in place of a GPU, if it was.
    #[getter]
    fn left_device(&self) -> Option<&str> {
        self.left_device.as_deref()
    }

    /// The trace, as JSON.
    #[getter]
    fn trace(&self) -> String {
        serde_json::to_string(&self.fit.trace).expect("plain numbers and strings")
    }
}

/// The names of all devices.
#[pyfunction]
pub(crate) fn devices() -> Vec<&'static str> {
    Device::ALL.iter().map(|device| device.name()).collect()
}

/// Keeps compiled kernels of GPUs in this folder.
#[pyfunction]
pub(crate) fn keep_kernels_in(folder: PathBuf) {
    docsphere::keep_kernels_in(folder);
}

/// Clusters rows. `callback` gets every event as JSON; a true return value ends the run.
#[pyfunction]
#[pyo3(signature = (matrix, options, weights, callback))]
pub(crate) fn fit(
    py: Python<'_>,
    matrix: Csr<'_>,
    options: Options<'_>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    let (slices, params) = (matrix.slices()?, options.params()?);
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let mut teller = Teller::new(callback.is_some());
    let (stop, cancel) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let left_device = &Mutex::new(None);
    let (events, receiver) = mpsc::channel::<String>();
    let (answers, answered) = mpsc::channel::<()>();
    let watch = Watch { stop, cancel, callback, receiver, answers };
    py.detach(move || {
        std::thread::scope(|scope| {
            let run = scope.spawn(move || -> PyResult<Fit> {
                let rows = slices.unit_rows()?;
                let mut observer = move |event: &Event<'_>| {
                    if let Event::DeviceLeft { error } = event {
                        *left_device.lock().expect("nothing panics with it") = Some(error.to_string());
                    }
                    if let Some(json) = teller.told(event) {
                        // The receiver lives as long as this run.
                        let _ = events.send(json);
                        let _ = answered.recv();
                    }
                    if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let mut options = FitOptions::default().observer(&mut observer).cancel(cancel);
                if let Some(weights) = weights {
                    options = options.weights(weights);
                }
                params.fit_with(&rows, options).or_raise()
            });
            let watched = watch.until_the_end();
            let fit = run.join();
            watched?;
            let fit = fit.map_err(|_| {
                named("DocsphereError", "the run broke off: was the matrix changed while fit ran?".to_owned())
            })?;
            let left_device = left_device.lock().expect("nothing panics with it").take();
            fit.map(|fit| Fitted { fit, left_device })
        })
    })
}

/// The work of the calling thread during a run.
struct Watch<'a> {
    /// Ends the run with its result so far.
    stop: &'a AtomicBool,
    /// Ends it at once.
    cancel: &'a AtomicBool,
    callback: Option<Py<PyAny>>,
    receiver: mpsc::Receiver<String>,
    /// Signals to the run that an event has been handled.
    answers: mpsc::Sender<()>,
}

impl Watch<'_> {
    /// Returns when the run has ended. An exception, from the callback or a signal, asks it to end,
    /// and is kept.
    fn until_the_end(&self) -> PyResult<()> {
        let mut raised = Ok(());
        loop {
            let event = match self.receiver.recv_timeout(SIGNAL_CHECK) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return raised,
            };
            let waits = event.is_some();
            if raised.is_ok() {
                raised = Python::attach(|py| self.attend(py, event));
                if raised.is_err() {
                    self.cancel.store(true, Relaxed);
                }
            }
            if waits {
                // The run may have panicked in the meantime.
                let _ = self.answers.send(());
            }
        }
    }

    fn attend(&self, py: Python<'_>, event: Option<String>) -> PyResult<()> {
        py.check_signals()?;
        if let (Some(callback), Some(event)) = (&self.callback, event)
            && callback.call1(py, (event,))?.is_truthy(py)?
        {
            self.stop.store(true, Relaxed);
        }
        Ok(())
    }
}

/// Selects the events that are reported to Python.
pub(crate) struct Teller {
    wants_events: bool,
    last_seeding: Option<Instant>,
}

impl Teller {
    pub(crate) fn new(wants_events: bool) -> Self {
        Teller { wants_events, last_seeding: None }
    }

    /// An event as JSON, if it is reported.
    pub(crate) fn told(&mut self, event: &Event<'_>) -> Option<String> {
        if !self.wants_events {
            return None;
        }
        let json = match event {
            Event::RunStarted { run, n_init } => {
                serde_json::json!({ "event": "run", "run": run, "n_init": n_init })
            }
            Event::Reading { bytes_read, bytes_total, n_documents } => {
                serde_json::json!({
                    "event": "reading",
                    "bytes_read": bytes_read,
                    "bytes_total": bytes_total,
                    "n_documents": n_documents,
                })
            }
            Event::Recovered { error } => {
                serde_json::json!({ "event": "recovered", "error": error.to_string() })
            }
            Event::CheckpointWritten { path } => {
                serde_json::json!({ "event": "checkpoint", "path": path.to_string_lossy() })
            }
            Event::DeviceLeft { error } => {
                serde_json::json!({ "event": "device_left", "error": error.to_string() })
            }
            Event::CheckpointFailed { error } => {
                serde_json::json!({ "event": "checkpoint_failed", "error": error.to_string() })
            }
            Event::Seeding { done, total } => {
                let soon = self.last_seeding.is_some_and(|last| last.elapsed() < SEEDING_EVENTS);
                if soon && done < total {
                    return None;
                }
                self.last_seeding = Some(Instant::now());
                serde_json::json!({ "event": "seeding", "done": done, "total": total })
            }
            Event::Iteration(record) => {
                let mut json = serde_json::to_value(record).expect("plain numbers and strings");
                json["event"] = "iteration".into();
                json
            }
            _ => return None,
        };
        Some(json.to_string())
    }
}
