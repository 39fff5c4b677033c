//! `docsphere cluster`: the main job. Documents in; a folder with assignments, named clusters, a model and a trace out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use docsphere::{
    Checkpoint, ClusterSummary, DocId, Fit, FitOptions, MAP_NEIGHBOURS, MergeTree, Model, StopReason,
    SummaryOptions, TextModel, TextOptions, TfidfOptions, Trace, ValidParams, summarize,
};

use crate::args::{ClusterArgs, InputArgs, PageArgs, Setting, TextArgs, UsageError, settings_of};
use crate::console::{People, print_json, tell};
use crate::input::{self, Loaded, Source};
use crate::interrupt;
use crate::memory::{self, Forecast};
use crate::numbers::counted;
use crate::output::assignments::{Assignments, AssignmentsFormat};
use crate::output::clusters::{self, ClustersFile};
use crate::output::folder::ResultFolder;
use crate::output::groups::{self, GroupsFile};
use crate::output::map::{self, MapFile};
use crate::output::names::{self, FolderKind};
use crate::output::page::{self, Curve, Page};
use crate::output::reads::{Reads, real_name};
use crate::output::remarks::Remarks;
use crate::output::table;
use crate::output::trace::{Seconds, TraceFile};
use crate::progress::Progress;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Cluster documents and write the result into a folder
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  docsphere cluster tickets.csv --text-field subject --text-field body -k 200 -o out"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) text: TextArgs,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    pub(super) long_run: LongRunArgs,

    /// The settings of the run, for the trace and the report.
    #[arg(skip)]
    settings: Vec<Setting>,
}

/// What is written and shown.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// The folder for the result; it appears whole, or not at all
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,

    /// Replace a result that is there already; a folder that holds anything else is refused
    #[arg(long)]
    pub(super) force: bool,

    /// The format of the assignments
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(super) assignments: AssignmentsFormat,

    /// Also write the second nearest cluster of each document
    #[arg(long)]
    pub(super) runner_up: bool,

    /// Keywords a cluster
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) keywords: usize,

    /// Representative documents a cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) representatives: usize,

    /// Least typical documents a cluster
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) least_typical: usize,

    /// Do not write report.html, the page to look at
    #[arg(long)]
    pub(super) no_report: bool,

    /// Also write a search index over all documents, for docsphere serve; it holds all texts
    #[cfg(feature = "serve")]
    #[arg(long)]
    pub(super) index: bool,

    /// Clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) show: usize,

    /// Print the summary as JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,

    /// Print nothing but errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl OutputArgs {
    /// Whether texts are written or shown.
    fn needs_texts(&self) -> bool {
        #[cfg(feature = "serve")]
        if self.index {
            return true;
        }
        self.representatives > 0 || self.least_typical > 0
    }
}

/// For runs that take hours.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Long runs")]
pub(super) struct LongRunArgs {
    /// Write the state of the run to this file now and then, and when it is interrupted
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Iterations from one checkpoint to the next
    #[arg(long, value_name = "N", default_value_t = 10, requires = "checkpoint", value_parser = at_least_one)]
    checkpoint_every: usize,

    /// Continue the run of this checkpoint, with the same input and options
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Stop after so many seconds with the result so far ("90", "30m", "2h")
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,

    /// Refuse input and runs that may need more memory than this ("500M", "8G") [default: what is left]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_bytes)]
    max_memory: Option<u64>,
}

/// A finished run with all that is to be written.
struct Outcome {
    fit: Fit,
    model: Model,
    file: ClustersFile,
    /// Absent if there are too many clusters for a tree.
    groups: Option<GroupsFile>,
    /// Absent if no report is wanted.
    map: Option<MapFile>,
    seconds: Seconds,
}

impl Args {
    /// Takes down what was typed, and what was not.
    pub(crate) fn note_settings(&mut self, command: &clap::Command, matches: &clap::ArgMatches) {
        let without_say: &[&str] = if self.input.matrix_format().is_some() { &["Text"] } else { &[] };
        self.settings = settings_of(command, matches, without_say);
    }

    pub(crate) fn run(self) -> Result<()> {
        let start = Instant::now();
        memory::allow(self.long_run.max_memory);
        // Everything that can be refused is refused before the work begins.
        let params = self.cluster.params()?.check()?;
        let text = self.text.options()?;
        if self.output.json && self.output.quiet {
            return Err(UsageError("--json and --quiet contradict each other".to_owned()).into());
        }
        #[cfg(feature = "serve")]
        if self.output.index && self.input.matrix_format().is_some() {
            return Err(UsageError("--index: a matrix has no texts to search".to_owned()).into());
        }
        let reads = self.reads();
        ResultFolder::check(&self.output.output, self.output.force, FolderKind::Result, &reads)?;
        let load = |path: &Path| Checkpoint::load_within(path, &memory::of_readers());
        let resume = self.long_run.resume.as_deref().map(load).transpose()?;
        self.long_run.check_checkpoint(&reads, &self.output.output)?;

        let quiet = self.output.quiet || self.output.json;
        let mut progress = Progress::of_run(quiet, self.cluster.max_iter, self.long_run.time_limit);
        // Made now: the texts of the documents are kept in it until the result is written.
        let folder = ResultFolder::create(&self.output.output, self.output.force, FolderKind::Result)?;
        let mut loaded = self.load(text, &folder, &mut progress)?;
        let fit = self.fit(&params, &loaded, resume, &mut progress)?;
        progress.summarize(self.cluster.n_clusters);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.cluster.n_threads()).build();
        let outcome = pool.context("cannot start threads")?.install(|| {
            let outcome = self.summarized(fit, &loaded, &progress);
            progress.finish();
            let mut outcome = outcome?;
            self.write(folder, &mut outcome, &mut loaded, start)?;
            anyhow::Ok(outcome)
        })?;
        if self.output.json {
            remarks(&outcome.file, &loaded).iter().for_each(tell);
            print_json(&outcome.file)?;
        } else if !self.output.quiet {
            self.show(&outcome, &loaded, progress.out_of_time)?;
        }
        Ok(())
    }

    /// Everything that is read.
    fn reads(&self) -> Reads {
        let mut reads = Reads::of_input(&self.input);
        reads.add("the file of --stop-words-file", self.text.file());
        reads.add("the file of --init", self.cluster.init_file());
        reads.add("the checkpoint of --resume", self.long_run.resume.as_deref());
        reads
    }

    /// Reads the input, and refuses what cannot be clustered.
    fn load(
        &self,
        text: (TextOptions, TfidfOptions),
        folder: &ResultFolder,
        progress: &mut Progress,
    ) -> Result<Loaded> {
        let store = folder.file(names::TEXTS);
        let store = self.output.needs_texts().then_some(&*store);
        let loaded = input::load(&self.input, text, self.cluster.threads, store, progress)?;
        let (k, n_docs) = (self.cluster.n_clusters, loaded.rows.n_rows());
        let n_with_terms = n_docs - loaded.rows.zero_rows().len();
        ensure!(n_docs > 0, "the input has no documents");
        ensure!(
            n_with_terms > 0,
            "no document has any term that tells it from others: a term of all documents weighs nothing (unless with --smooth-idf); see also --stop-words, --min-chars, --min-df, --max-df and --keep-numbers"
        );
        ensure!(
            k <= n_with_terms,
            "-k must be at most {n_with_terms}, the number of documents that have a term, got {k}"
        );
        if let Some(limit) = memory::limit() {
            Forecast::new(&loaded.rows, k, self.cluster.strategy, self.cluster.n_threads()).check(limit)?;
        }
        Ok(loaded)
    }

    fn fit(
        &self,
        params: &ValidParams,
        loaded: &Loaded,
        resume: Option<Checkpoint>,
        progress: &mut Progress,
    ) -> Result<Fit> {
        interrupt::stop_calmly(
            "finishing this iteration, then writing the result; press Ctrl-C again to stop at once",
        );
        let mut options = FitOptions::default().observer(progress);
        if let Some(path) = &self.long_run.checkpoint {
            options = options.checkpoint(path, self.long_run.checkpoint_every);
        }
        if let Some(checkpoint) = resume {
            options = options.resume(checkpoint);
        }
        Ok(params.fit_with(&loaded.rows, options)?)
    }

    /// Names the clusters and fetches the texts of their representatives.
    fn summarized(&self, fit: Fit, loaded: &Loaded, progress: &Progress) -> Result<Outcome> {
        let start = Instant::now();
        let model = match &loaded.source {
            Source::Documents { model, .. } => fit.model.clone().with_text(TextModel::clone(model))?,
            Source::Matrix { term_names: Some(names) } => fit.model.clone().with_term_names(names.clone())?,
            Source::Matrix { term_names: None } => fit.model.clone(),
        };
        let mut options = SummaryOptions::default();
        options.n_keywords = self.output.keywords;
        options.n_representatives = self.output.representatives;
        options.n_least_typical = self.output.least_typical;
        if !self.output.no_report {
            options.n_neighbours = MAP_NEIGHBOURS;
        }
        let summaries = summarize(&loaded.rows, &fit.labels, &fit.similarities, &model, options)?;
        let texts = texts_of(&summaries, loaded).unwrap_or_else(|error| {
            // Hours of work are not thrown away for this.
            progress.say(&format!("warning: representatives are written without their texts: {error:#}"));
            BTreeMap::new()
        });
        let file = ClustersFile {
            n_documents: loaded.rows.n_rows(),
            n_terms: loaded.rows.n_terms(),
            n_clusters: self.cluster.n_clusters,
            objective: fit.objective,
            iterations: fit.n_iter,
            converged: fit.converged(),
            seed: self.cluster.seed,
            n_without_terms: loaded.rows.zero_rows().len(),
            n_outliers: fit.n_outliers,
            n_empty_clusters: fit.n_empty_clusters,
            clusters: clusters::entries(&summaries, &model, &loaded.ids, &texts),
        };
        let is_tree = self.cluster.n_clusters <= MergeTree::MAX_CLUSTERS;
        if !is_tree && !self.output.quiet {
            progress
                .say(&format!("note: there is no groups.json above {} clusters", MergeTree::MAX_CLUSTERS));
        }
        // The map keeps one thread busy; the tree takes the others.
        let (map, groups) = rayon::join(
            || (!self.output.no_report).then(|| MapFile::new(&summaries, self.cluster.seed)),
            || is_tree.then(|| GroupsFile::new(&model, &summaries, &file.clusters)).transpose(),
        );
        let groups = groups?;
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
        Ok(Outcome { fit, model, file, groups, map, seconds })
    }

    /// Writes the result folder.
    fn write(
        &self,
        folder: ResultFolder,
        outcome: &mut Outcome,
        loaded: &mut Loaded,
        run_start: Instant,
    ) -> Result<()> {
        let start = Instant::now();
        let fit = &outcome.fit;
        let nearest = if self.output.runner_up {
            Some(outcome.model.predictor().nearest(&loaded.rows, 2)?)
        } else {
            None
        };
        let assignments = Assignments {
            ids: &loaded.ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            nearest: nearest.as_ref(),
        };
        let format = self.output.assignments;
        assignments.write(&folder.file(format.file_name()), format)?;
        outcome.model.save(folder.file(names::MODEL))?;
        clusters::write_json(&folder.file(names::CLUSTERS), &outcome.file)?;
        if let Some(file) = &outcome.groups {
            clusters::write_json(&folder.file(groups::NAME), file)?;
        }
        if let Some(map) = &outcome.map {
            clusters::write_json(&folder.file(map::NAME), map)?;
            self.write_page(&folder.file(page::NAME), outcome, map)?;
        }
        #[cfg(feature = "serve")]
        if self.output.index {
            self.write_index(&folder.file(crate::serve::documents::NAME), fit, loaded);
        }
        loaded.close_texts();
        folder.discard(names::TEXTS);
        outcome.seconds.write = start.elapsed().as_secs_f64();
        outcome.seconds.total = run_start.elapsed().as_secs_f64();
        let trace = TraceFile {
            strategy: self.cluster.strategy,
            seed: self.cluster.seed,
            threads: self.cluster.n_threads(),
            version: VERSION,
            settings: &self.settings,
            seconds: outcome.seconds,
            peak_memory_bytes: memory::peak(),
            runs: &fit.trace.runs,
            iterations: &fit.trace.iterations,
        };
        clusters::write_json(&folder.file(names::TRACE), &trace)?;
        folder.commit()
    }

    fn write_page(&self, path: &Path, outcome: &Outcome, map: &MapFile) -> Result<()> {
        let page = Page {
            clusters: &outcome.file,
            groups: outcome.groups.as_ref(),
            map,
            version: VERSION,
            settings: &self.settings,
            trace: Curve::new(&outcome.fit.trace.iterations),
        };
        let rendered = page.render(&self.page, false)?;
        if let Some(remark) = rendered.remark.filter(|_| !self.output.quiet) {
            tell(&remark);
        }
        fs::write(path, rendered.html).with_context(|| format!("{}: cannot write", path.display()))
    }

    /// Hours of work are not thrown away if this fails: it can be made again.
    #[cfg(feature = "serve")]
    fn write_index(&self, path: &Path, fit: &Fit, loaded: &Loaded) {
        use std::ops::ControlFlow;

        use docsphere::{Event, Observer};

        use crate::output::assignments::rounded;
        use crate::serve::documents::{self, KnownTexts, Line, Texts};
        let Some(texts) = loaded.texts() else { return };
        let mut progress = Progress::new(self.output.quiet || self.output.json);
        // A signal asked for the result, and this belongs to it; another one stops at once.
        let mut show = |event: &Event<'_>| {
            let _ = progress.observe(event);
            ControlFlow::Continue(())
        };
        let line = |number: usize| Line {
            id: &loaded.ids[number],
            cluster: fit.labels.as_slice()[number],
            similarity: rounded(fit.similarities[number]),
        };
        let (texts, n_documents) = (Texts::Store(texts), loaded.ids.len());
        let written = documents::write(path, texts, &mut show, n_documents, &KnownTexts::new(), line);
        progress.finish();
        if let Err(error) = written {
            tell(&format!("warning: there is no search index: {error:#}; see docsphere index"));
        }
    }

    /// Says what was found.
    fn show(&self, outcome: &Outcome, loaded: &Loaded, out_of_time: bool) -> Result<()> {
        let file = &outcome.file;
        let mut out = People::new();
        out.line(format_args!(
            "{}, {}, {}",
            counted(file.n_documents, "document"),
            counted(file.n_terms, "term"),
            counted(file.n_clusters - file.n_empty_clusters, "cluster")
        ))?;
        let end = match (file.converged, out_of_time) {
            (true, _) => "converged",
            (false, true) => "stopped by the time limit",
            (false, false) if interrupt::asked_to_stop() => "interrupted",
            (false, false) => "not converged",
        };
        out.line(format_args!(
            "{end} after {}, objective {:.1}{}, {:.2} s",
            counted(file.iterations, "iteration"),
            file.objective,
            best_of(&outcome.fit.trace, self.cluster.n_init),
            outcome.seconds.total
        ))?;
        if end == "not converged" {
            out.line("note: raise --max-iter to go on")?;
        }
        if let (Some(path), false) = (&self.long_run.checkpoint, file.converged) {
            let path = path.display();
            out.line(format_args!("note: to go on, give the same command with --resume {path} --force"))?;
        }
        for remark in remarks(file, loaded).iter() {
            out.line(remark)?;
        }
        out.line("")?;
        table::write_largest(&mut out, &file.clusters, self.output.show)?;
        out.line("")?;
        out.line(format_args!("written to {}", self.output.output.display()))?;
        if outcome.map.is_some() {
            out.line(format_args!("look at it: {}", self.output.output.join(page::NAME).display()))?;
        }
        Ok(())
    }
}

/// Of how many runs a result is the best, where there are several; and whether all that were wanted were made.
fn best_of(trace: &Trace, n_init: usize) -> String {
    let n_whole = trace.runs.iter().filter(|run| run.stop != StopReason::Observer).count();
    if n_init == 1 {
        String::new()
    } else if n_whole == n_init {
        format!(", best of {n_init} runs")
    } else {
        format!(", only {n_whole} of {n_init} runs were done")
    }
}

impl LongRunArgs {
    /// Finds out before the work begins whether the checkpoint can be written at all, and that it is
    /// written over nothing but a checkpoint. `reads` is what the run reads, `out` its result.
    fn check_checkpoint(&self, reads: &Reads, out: &Path) -> Result<()> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let shown = path.display();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() {
            bail!("--checkpoint {shown}: is a folder; give the name of a file");
        }
        if !folder.is_dir() {
            bail!("--checkpoint {shown}: the folder {} does not exist; make it first", folder.display());
        }
        if let (Some(file), Some(out)) = (real_name(path), real_name(out)) {
            ensure!(
                !file.starts_with(&out),
                "--checkpoint {shown}: lies in the place of the result, which is written as a whole; choose a name outside of it"
            );
        }
        // A run may go on writing to the checkpoint that it continues.
        let is_resumed = |other: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(other).ok();
        if !self.resume.as_ref().is_some_and(is_resumed) {
            reads.check_file(path).context("--checkpoint")?;
            if let Ok(found) = fs::metadata(path) {
                ensure!(found.is_file(), "--checkpoint {shown}: is not a regular file; choose another name");
                ensure!(
                    found.len() == 0 || Checkpoint::load_within(path, &memory::of_readers()).is_ok(),
                    "--checkpoint {shown}: is there already and is not a checkpoint; choose another name"
                );
            }
        }
        interrupt::remember_folder(folder);
        Ok(())
    }
}

/// What a person should know about the input and what became of it.
fn remarks(file: &ClustersFile, loaded: &Loaded) -> Remarks {
    let mut remarks = loaded.remarks();
    remarks.add(
        file.n_without_terms,
        "document has no term and is in no cluster (-1)",
        "documents have no term and are in no cluster (-1)",
    );
    remarks.add(
        file.n_outliers,
        "document is an outlier: it shares no term with any cluster (-1)",
        "documents are outliers: they share no term with any cluster (-1)",
    );
    remarks.add(
        file.n_empty_clusters,
        "cluster is empty: there are fewer distinct documents than clusters",
        "clusters are empty: there are fewer distinct documents than clusters",
    );
    remarks
}

/// The texts of all documents that summaries name, by document number.
fn texts_of(summaries: &[ClusterSummary], loaded: &Loaded) -> Result<BTreeMap<u64, String>> {
    let Some(texts) = loaded.texts() else { return Ok(BTreeMap::new()) };
    let named =
        summaries.iter().flat_map(|summary| summary.representatives.iter().chain(&summary.least_typical));
    let docs: BTreeSet<DocId> = named.map(|named| named.doc).collect();
    let documents = texts.get_many(&docs.into_iter().collect::<Vec<_>>())?;
    // They are copied into what is written.
    let n_bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    memory::of_readers().check("the documents", n_bytes as u64)?;
    Ok(documents.into_iter().map(|document| (document.number, document.text)).collect())
}

/// Reads a number above zero.
fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number >= 1).ok_or("give a whole number, at least 1".to_owned())
}

/// Reads "90", "90s", "30m" or "2h".
fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, factor) = match text.trim().char_indices().last() {
        Some((end, 's')) => (&text.trim()[..end], 1.0),
        Some((end, 'm')) => (&text.trim()[..end], 60.0),
        Some((end, 'h')) => (&text.trim()[..end], 3600.0),
        _ => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number * factor < 1e9 => Ok(Duration::from_secs_f64(number * factor)),
        _ => Err("give a time such as 90, 30m or 2h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        assert!(parse_time("soon").is_err() && parse_time("-1").is_err() && parse_time("").is_err());
    }
}
