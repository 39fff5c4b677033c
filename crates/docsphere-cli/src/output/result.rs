//! The files of a finished run.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use docsphere::{Fit, Model, fail_point};
use docsphere_result::{Assignments, Curve, Description, MapFile, Page, Seconds, Setting, TraceFile, names};

use super::folder::ResultFolder;
use crate::args::{ClusterArgs, LongRunArgs, OutputArgs, PageArgs};
use crate::console::tell;
use crate::input::Loaded;
use crate::memory;
#[cfg(feature = "serve")]
use crate::progress::Progress;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The options that affect the files and the text written for a run.
pub(crate) struct RunOptions<'a> {
    pub(crate) cluster: &'a ClusterArgs,
    pub(crate) output: &'a OutputArgs,
    pub(crate) page: &'a PageArgs,
    pub(crate) long_run: &'a LongRunArgs,
    /// All options that affect the result, for the trace and the report.
    pub(crate) settings: &'a [Setting],
    /// The number of runs of which the best is kept.
    pub(crate) n_runs: usize,
}

/// A finished run with everything to be written.
pub(crate) struct Outcome {
    pub(crate) fit: Fit,
    pub(crate) model: Model,
    pub(crate) description: Description,
    /// The silhouette of each document, if wanted.
    pub(crate) silhouettes: Option<Vec<f64>>,
    pub(crate) seconds: Seconds,
}

impl Outcome {
    /// Writes everything into the folder, and puts the folder in its place.
    pub(crate) fn write(
        &mut self,
        folder: ResultFolder,
        options: &RunOptions<'_>,
        loaded: &mut Loaded,
        run_start: Instant,
    ) -> Result<()> {
        let start = Instant::now();
        let fit = &self.fit;
        let nearest = if options.output.runner_up {
            Some(self.model.predictor().nearest(&loaded.rows, 2)?)
        } else {
            None
        };
        let assignments = Assignments {
            ids: &loaded.ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            nearest: nearest.as_ref(),
            silhouettes: self.silhouettes.as_deref(),
        };
        assignments.write(folder.path(), options.output.assignments)?;
        fail_point("assignments written");
        self.model.save(folder.file(names::MODEL))?;
        self.description.write(folder.path())?;
        fail_point("description written");
        if let Some(map) = &self.description.map {
            self.write_page(&folder.file(names::REPORT), options, map)?;
            fail_point("page written");
        }
        #[cfg(feature = "serve")]
        if options.output.index {
            write_index(&folder.file(names::DOCUMENTS), fit, loaded, options.output.is_silent());
            fail_point("index written");
        }
        loaded.close_texts();
        folder.discard(names::TEXTS);
        self.seconds.write = start.elapsed().as_secs_f64();
        self.seconds.total = run_start.elapsed().as_secs_f64();
        let trace = TraceFile {
            strategy: options.cluster.strategy,
            seed: options.cluster.seed,
            threads: options.cluster.n_threads(),
            version: VERSION,
            settings: options.settings,
            seconds: self.seconds,
            peak_memory_bytes: memory::peak(),
            runs: &fit.trace.runs,
            iterations: &fit.trace.iterations,
        };
        trace.write(folder.path())?;
        fail_point("trace written");
        folder.commit()
    }

    fn write_page(&self, path: &Path, options: &RunOptions<'_>, map: &MapFile) -> Result<()> {
        let page = Page {
            clusters: &self.description.clusters,
            groups: self.description.groups.as_ref(),
            map,
            version: VERSION,
            settings: options.settings,
            trace: Curve::new(&self.fit.trace.iterations),
        };
        let rendered = page.render(options.page.limits(), false);
        if let Some(remark) = options.page.remark(&rendered).filter(|_| !options.output.quiet) {
            tell(&remark);
        }
        fs::write(path, rendered.html).with_context(|| format!("{}: cannot write", path.display()))
    }
}

/// Writes the search index. A failure is only a warning: the index can be built later.
#[cfg(feature = "serve")]
fn write_index(path: &Path, fit: &Fit, loaded: &Loaded, is_silent: bool) {
    use std::ops::ControlFlow;

    use docsphere::{Event, Observer};

    use crate::serve::index::{self, KnownTexts, Line, Texts};
    let Some(texts) = loaded.texts() else { return };
    let mut progress = Progress::new(is_silent);
    // The first signal asked for the result, which includes the index; a second one stops at once.
    let mut show = |event: &Event<'_>| {
        let _ = progress.observe(event);
        ControlFlow::Continue(())
    };
    let line = |number: usize| Line {
        id: &loaded.ids[number],
        cluster: fit.labels.as_slice()[number],
        similarity: docsphere_result::rounded(fit.similarities[number]),
    };
    let (texts, n_documents) = (Texts::Store(texts), loaded.ids.len());
    let written = index::write(path, texts, &mut show, n_documents, &KnownTexts::new(), line);
    progress.finish();
    if let Err(error) = written {
        tell(&format!("warning: there is no search index: {error:#}; see docsphere index"));
    }
}
