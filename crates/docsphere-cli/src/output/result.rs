//! The files of a finished run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use docsphere::{DocId, Fit, Model, Silhouette, SummaryOptions, TextModel, fail_point, silhouette};
use docsphere_result::{
    AssignedColumns, Assignments, ChangeEntry, Clustering, ColumnBins, ColumnsFile, Curve, Description,
    MapFile, Page, Phases, Points, Seconds, Setting, TraceFile, names, set_outliers_apart, timed,
};

use crate::args::{ClusterArgs, OutputArgs, PageArgs, RunConfiguration};
use crate::console::tell;
use crate::copies::FoundCopies;
use crate::input::{Loaded, Source};
use crate::memory;
use crate::progress::Progress;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The options that affect the files and the text written for a run.
pub(crate) struct RunOptions<'a> {
    pub(crate) cluster: &'a ClusterArgs,
    pub(crate) output: &'a OutputArgs,
    pub(crate) page: &'a PageArgs,
    /// The checkpoint from which an interrupted run can go on.
    pub(crate) checkpoint: Option<&'a Path>,
    /// All options that affect the result, for the trace and the report.
    pub(crate) settings: &'a [Setting],
    /// All options that repeat the run.
    pub(crate) configuration: &'a RunConfiguration,
    /// The number of runs of which the best is kept.
    pub(crate) n_runs: usize,
    /// How the documents have changed since the first run.
    pub(crate) changes: &'a [ChangeEntry],
}

/// A finished run with everything to be written.
pub(crate) struct Outcome {
    pub(crate) fit: Fit,
    pub(crate) model: Model,
    pub(crate) description: Description,
    /// The silhouette of each document, if wanted.
    pub(crate) silhouettes: Option<Vec<f64>>,
    /// The kept columns by cluster, if there are any.
    pub(crate) columns: Option<ColumnsFile>,
    /// The documents as points on the map, if there is one.
    pub(crate) points: Option<Points>,
    pub(crate) seconds: Seconds,
    /// The time of the phases after the iterations.
    pub(crate) phases: Phases,
}

impl Outcome {
    /// Names the clusters of a fit and fetches the texts of their representatives.
    pub(crate) fn new(
        mut fit: Fit,
        loaded: &Loaded,
        output: &OutputArgs,
        progress: &Progress,
    ) -> Result<Self> {
        let start = Instant::now();
        let min_similarity = Some(output.min_similarity).filter(|&least| least > 0.0);
        if let Some(least) = min_similarity {
            set_outliers_apart(&mut fit.labels, &mut fit.similarities, least);
        }
        let mut phases = Phases::default();
        let silhouette = phases.time("silhouettes", || silhouette_of(&fit, loaded, output, progress))?;
        let model = match &loaded.source {
            Source::Documents { model, .. } => fit.model.clone().with_text(TextModel::clone(model))?,
            Source::Matrix { term_names: Some(names) } => fit.model.clone().with_term_names(names.clone())?,
            Source::Matrix { term_names: None } => fit.model.clone(),
        };
        let options = SummaryOptions::default()
            .n_keywords(output.keywords)
            .n_representatives(output.representatives)
            .n_least_typical(output.least_typical);
        let clustering = Clustering {
            rows: &loaded.rows,
            ids: &loaded.ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            model: &model,
            n_copies: loaded.copies.as_ref().map(FoundCopies::n_copies),
            objective: fit.objective,
        };
        let mut has_warned = false;
        let texts = |numbers: &[u64]| {
            texts_of_rows(numbers, loaded).unwrap_or_else(|error| {
                // Not worth discarding hours of work.
                if !std::mem::replace(&mut has_warned, true) {
                    progress
                        .say(&format!("warning: representatives are written without their texts: {error:#}"));
                }
                BTreeMap::new()
            })
        };
        let mut description =
            Description::timed(&clustering, options, !output.no_report, texts, &mut phases)?;
        if let Some(problem) = model.left_device() {
            progress.leave_device(&problem);
        }
        if let Some(least) = min_similarity {
            description = description.with_min_similarity(least);
        }
        if let Some(passages) = loaded.passages() {
            description = description.with_passages(passages);
        }
        if let Some(copies) = &loaded.copies {
            description = description.with_duplicates(copies.entry.clone());
        }
        if let Some(silhouette) = &silhouette {
            description = description.with_silhouette(silhouette);
        }
        let (columns, bins) = phases.time("columns", || columns_of(&fit, loaded))?;
        let points = phases.time("points", || points_of(&clustering, &description, bins, loaded, output))?;
        let iterations = &fit.trace.iterations;
        let seconds = Seconds {
            read: loaded.seconds.read,
            vectorize: loaded.seconds.vectorize,
            seed: fit.trace.runs.iter().map(|run| run.seeding_seconds).sum(),
            cluster: iterations.iter().map(|record| record.seconds.total()).sum(),
            summarize: start.elapsed().as_secs_f64(),
            write: 0.0,
            total: 0.0,
        };
        let silhouettes = silhouette.map(|silhouette| silhouette.of_rows);
        Ok(Outcome { fit, model, description, silhouettes, columns, points, seconds, phases })
    }

    /// Writes everything into a folder. `run_start` is the time at which the run began.
    pub(crate) fn write(
        &mut self,
        folder: &Path,
        options: &RunOptions<'_>,
        loaded: &Loaded,
        run_start: Instant,
    ) -> Result<()> {
        let start = Instant::now();
        let fit = &self.fit;
        let nearest = if options.output.runner_up {
            Some(self.model.predictor().nearest(&loaded.rows, 2)?)
        } else {
            None
        };
        let names = self.columns.as_ref().map(ColumnsFile::names).unwrap_or_default();
        let assignments = Assignments {
            ids: &loaded.ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            nearest: nearest.as_ref(),
            silhouettes: self.silhouettes.as_deref(),
            columns: loaded.columns.as_ref().map(|kept| AssignedColumns { kept, names: &names }),
            copies: loaded.copies.as_ref().map(FoundCopies::of_lines),
        };
        // Each file is written by one thread, except where its parts are not: so several at once.
        let write_assignments = || -> Result<()> {
            assignments.write(folder, options.output.assignments)?;
            if loaded.passages().is_some() {
                assignments.write_documents(folder, options.output.assignments)?;
            }
            Ok(())
        };
        let write_description = || -> Result<()> {
            self.description.write(folder)?;
            self.columns.as_ref().map_or(Ok(()), |columns| columns.write(folder))?;
            options.configuration.write(folder)?;
            Ok(self.points.as_ref().map_or(Ok(()), |points| points.write(folder))?)
        };
        let write_page = || -> Result<()> {
            let Some(map) = &self.description.map else { return Ok(()) };
            self.write_page(&folder.join(names::REPORT), options, map)
        };
        let ((tables, others), (model, page)) = rayon::join(
            || rayon::join(|| timed(write_assignments), || timed(write_description)),
            || rayon::join(|| timed(|| self.model.save(folder.join(names::MODEL))), || timed(write_page)),
        );
        let mut phases = std::mem::take(&mut self.phases);
        phases.note("assignments", tables.1);
        phases.note("description", others.1);
        phases.note("model", model.1);
        phases.note("page", page.1);
        tables.0?;
        fail_point("assignments written");
        model.0?;
        others.0?;
        fail_point("description written");
        page.0?;
        fail_point("page written");
        #[cfg(feature = "serve")]
        if options.output.index {
            let columns = self.columns.as_ref();
            let path = folder.join(names::DOCUMENTS);
            phases.time("index", || write_index(&path, fit, loaded, columns, options.output.is_silent()));
            fail_point("index written");
        }
        self.seconds.write = start.elapsed().as_secs_f64();
        self.seconds.total = run_start.elapsed().as_secs_f64();
        let notes: Vec<String> = loaded.remarks().iter().map(str::to_owned).collect();
        let trace = TraceFile {
            strategy: options.cluster.strategy,
            seed: options.cluster.seed,
            threads: options.cluster.n_threads(),
            version: VERSION,
            settings: options.settings,
            notes: &notes,
            changes: options.changes,
            seconds: self.seconds,
            after: &phases,
            peak_memory_bytes: memory::peak(),
            runs: &fit.trace.runs,
            iterations: &fit.trace.iterations,
        };
        trace.write(folder)?;
        fail_point("trace written");
        Ok(())
    }

    fn write_page(&self, path: &Path, options: &RunOptions<'_>, map: &MapFile) -> Result<()> {
        let page = Page {
            clusters: &self.description.clusters,
            groups: Some(&self.description.groups),
            map,
            version: VERSION,
            settings: options.settings,
            trace: Curve::new(&self.fit.trace.iterations),
            columns: self.columns.as_ref(),
            points: self.points.as_ref(),
            editable: false,
        };
        let rendered = page.render(options.page.limits(), false);
        if let Some(remark) = options.page.remark(&rendered).filter(|_| !options.output.quiet) {
            tell(&remark);
        }
        fs::write(path, rendered.html).with_context(|| format!("{}: cannot write", path.display()))
    }
}

/// The kept columns by cluster, if there are any, and their bins by document.
fn columns_of(fit: &Fit, loaded: &Loaded) -> Result<(Option<ColumnsFile>, Vec<ColumnBins>)> {
    let Some(kept) = &loaded.columns else { return Ok((None, Vec::new())) };
    let n_clusters = fit.model.centroids().n_clusters();
    let (ids, labels) = (loaded.document_ids(), loaded.document_labels(&fit.labels));
    let (file, bins) = ColumnsFile::with_bins(kept, ids, &labels, n_clusters, &memory::of_readers())?;
    Ok((Some(file), bins))
}

/// The documents of a clustering as points, if there is a map. Without titles if no documents are
/// shown.
fn points_of(
    clustering: &Clustering<'_>,
    description: &Description,
    bins: Vec<ColumnBins>,
    loaded: &Loaded,
    output: &OutputArgs,
) -> Result<Option<Points>> {
    let rows = loaded.copies.as_ref().map(|copies| copies.of_lines().lines);
    let Some(points) = Points::new(clustering, description, rows, bins)? else { return Ok(None) };
    if output.representatives == 0 && output.least_typical == 0 {
        return Ok(Some(points));
    }
    // A text that cannot be read was reported when the clusters were described.
    let texts = |numbers: &[u64]| texts_of(numbers, loaded).unwrap_or_default();
    Ok(Some(points.with_titles(loaded.document_ids(), texts)))
}

/// The silhouettes, if they are wanted and there are two clusters to compare.
fn silhouette_of(
    fit: &Fit,
    loaded: &Loaded,
    output: &OutputArgs,
    progress: &Progress,
) -> Result<Option<Silhouette>> {
    if !output.silhouette {
        return Ok(None);
    }
    let labels = fit.labels.as_slice();
    let first = labels.iter().find(|&&label| label >= 0);
    if !labels.iter().any(|label| *label >= 0 && Some(label) != first) {
        if !output.quiet {
            progress.say("note: there are no silhouettes: fewer than two clusters have documents");
        }
        return Ok(None);
    }
    Ok(Some(silhouette(&loaded.rows, &fit.labels, fit.model.centroids().n_clusters())?))
}

/// The texts of some rows, by their numbers, which must ascend.
fn texts_of_rows(rows: &[u64], loaded: &Loaded) -> Result<BTreeMap<u64, String>> {
    let documents: Vec<u64> = rows.iter().map(|&row| loaded.document_of(row)).collect();
    let texts = texts_of(&documents, loaded)?;
    // Both ascend.
    Ok(rows.iter().copied().zip(texts.into_values()).collect())
}

/// The texts of some documents, by document number. `numbers` must ascend. All of them, or none if
/// texts were not kept.
fn texts_of(numbers: &[u64], loaded: &Loaded) -> Result<BTreeMap<u64, String>> {
    let Some(texts) = loaded.texts() else { return Ok(BTreeMap::new()) };
    // Numbers of documents, so they fit.
    let docs: Vec<DocId> = numbers.iter().map(|&number| DocId::new(number as u32)).collect();
    let documents = texts.get_many(&docs)?;
    // They are copied into the output.
    let n_bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    memory::of_readers().check("the documents", n_bytes as u64)?;
    Ok(numbers.iter().copied().zip(documents.into_iter().map(|document| document.text)).collect())
}

/// Writes the search index. A failure is only a warning: the index can be built later.
#[cfg(feature = "serve")]
fn write_index(path: &Path, fit: &Fit, loaded: &Loaded, columns: Option<&ColumnsFile>, is_silent: bool) {
    use std::ops::ControlFlow;

    use docsphere::{Event, Observer};

    use crate::serve::index::{self, Columns, KnownTexts, Line, Texts};
    let Some(texts) = loaded.texts() else { return };
    let mut progress = Progress::new(is_silent);
    // The first signal asked for the result, which includes the index; a second one stops at once.
    let mut show = |event: &Event<'_>| {
        let _ = progress.observe(event);
        ControlFlow::Continue(())
    };
    let ids = loaded.document_ids();
    let line = |number: usize| Line {
        id: &ids[number],
        cluster: fit.labels.as_slice()[loaded.row_of(number)],
        similarity: docsphere_result::rounded(fit.similarities[loaded.row_of(number)]),
    };
    let entries = columns.map_or(&[][..], |file| &file.columns);
    let columns = Columns { entries, kept: loaded.columns.as_ref() };
    let (source, n_documents) = ((Texts::Store(texts), columns), ids.len());
    let written = index::write(path, source, &mut show, n_documents, &KnownTexts::new(), line);
    progress.finish();
    if let Err(error) = written {
        tell(&format!("warning: there is no search index: {error:#}; see docsphere index"));
    }
}
