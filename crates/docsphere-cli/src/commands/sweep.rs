//! `docsphere sweep`: several numbers of clusters beside each other. A folder with a complete
//! result for each, and a page that compares them.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use docsphere::{ClusterGrid, ErrorKind, Params, Sweep, SweepOptions, SweepStep, fail_point, on_threads};
use docsphere_result::{Recommendation, Setting, StabilityEntry, SweepEntry, SweepFile, names};

use crate::args::{
    ClusterArgs, DuplicateArgs, DuplicateUse, InputArgs, KeepArgs, LimitArgs, OutputArgs, PageArgs,
    RunConfiguration, TextArgs, UsageError, settings_of,
};
use crate::console::{print_json, tell};
use crate::input::{self, Loaded, Staged};
use crate::interrupt;
use crate::memory::{self, Forecast};
use crate::numbers::grouped;
use crate::output::folder::ResultFolder;
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::result::{Outcome, RunOptions, VERSION};
use crate::output::sweep_shown::show;
use crate::progress::Progress;

/// Compare several numbers of clusters in one run: a result for each, and a page with curves
#[derive(clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.required(false).required_unless_present("config")),
    after_help = "Example:\n  docsphere sweep tickets.csv --text-field subject --text-field body -k 20..2000 -o out"
)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Take options from this file, such as run.toml of a result; options that are typed go before
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    config: Option<PathBuf>,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    duplicates: DuplicateArgs,
    #[command(flatten)]
    text: TextArgs,

    /// The numbers of clusters: a range in about ten steps (20..2000), in about so many
    /// (20..2000:15), or a list (20,50,100) [default: from 5 to 1/20 of the documents, at most
    /// 2,000]
    #[arg(short = 'k', long, value_name = "RANGE", help_heading = "Clustering")]
    n_clusters: Option<ClusterGrid>,

    /// How often to measure stability: pairs of random halves, and other seeds; or off. Each time
    /// takes as long as two more runs of each number, over the sample
    #[arg(long, value_name = "N|off", default_value = "2", value_parser = times, help_heading = "Clustering")]
    stability: usize,

    /// Number of documents on which stability is measured; at least ten per cluster
    #[arg(long, value_name = "N", default_value_t = SweepOptions::default().stability_sample, help_heading = "Clustering")]
    stability_sample: usize,

    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    limits: LimitArgs,

    /// The settings of the run, for the traces and the reports.
    #[arg(skip)]
    settings: Vec<Setting>,

    /// All options that repeat the sweep.
    #[arg(skip)]
    configuration: RunConfiguration,
}

/// Reads a number of times, or "off".
fn times(text: &str) -> Result<usize, String> {
    let number = if text == "off" { Some(0) } else { text.parse().ok() };
    number.ok_or("give a whole number, or off".to_owned())
}

/// What has been done when a sweep ends.
struct Done {
    entries: Vec<SweepEntry>,
    recommendation: Option<Recommendation>,
    stability: Option<StabilityEntry>,
    /// Why the result of the next number could not be written.
    failure: Option<anyhow::Error>,
}

impl Args {
    /// Records the options, as typed or by default.
    pub(crate) fn note_settings(&mut self, command: &clap::Command, matches: &clap::ArgMatches) {
        let without_say: &[&str] = if self.input.matrix_format().is_some() { &["Text"] } else { &[] };
        self.settings = settings_of(command, matches, without_say);
        self.configuration = RunConfiguration::new(command, matches, without_say);
    }

    pub(crate) fn run(mut self) -> Result<()> {
        let start = Instant::now();
        memory::allow(self.limits.max_memory);
        // Whatever can be refused is refused before the work begins.
        let params = self.cluster.params_of_sweep()?;
        params.clone().check()?;
        let options =
            SweepOptions::default().stability(self.stability).stability_sample(self.stability_sample);
        options.check()?;
        if self.duplicates.duplicates == DuplicateUse::Weight {
            let message = "--duplicates must be keep or drop in a sweep, whose measures know no weights; docsphere cluster takes weight";
            return Err(UsageError(message.to_owned()).into());
        }
        let text = self.text.options()?;
        self.output.choose_folder(&self.input.inputs[0], "sweep");
        self.output.check(&self.input)?;
        self.keep.check(&self.input)?;
        let mut reads = Reads::of_input(&self.input);
        reads.add("the file of --stop-words-file", self.text.file());
        reads.add("the file of --init", self.cluster.init_file());
        let out = self.output.folder();
        ResultFolder::check(out, self.output.force, FolderKind::Sweep, &reads)?;

        let mut progress =
            Progress::of_run(self.output.is_silent(), self.cluster.max_iter, self.limits.time_limit);
        let folder = ResultFolder::create(out, self.output.force, FolderKind::Sweep)?;
        let (texts, columns) = (folder.file(names::TEXTS), folder.file(names::COLUMN_VALUES));
        let staged = Staged {
            texts: self.output.needs_texts().then_some(&*texts),
            columns: (!self.keep.keep().is_nothing()).then_some((&*columns, &self.keep)),
            rows: None,
        };
        let mut loaded = input::load(&self.input, text, self.cluster.threads, staged, &mut progress)?;
        fail_point("documents read");
        if loaded.rows.is_mapped() {
            bail!(
                "the matrix does not fit into memory, and a sweep needs it there; raise --max-memory, or try some k with docsphere cluster, which takes it from the file"
            );
        }
        loaded.set_copies_apart(&self.duplicates, self.cluster.threads)?;
        let grid = self.grid(&loaded)?;
        self.check_memory(&loaded, &params, &grid, &options)?;
        let mut done = self.all_steps(&loaded, params, &grid, options, &folder, &mut progress)?;
        progress.finish();
        let failure = done.failure.take();
        let file = self.file(&loaded, &grid, done, start);
        file.write(folder.path())?;
        self.configuration.write(folder.path())?;
        let page = folder.file(names::SWEEP_PAGE);
        fs::write(&page, file.page()).with_context(|| format!("{}: cannot write", page.display()))?;
        fail_point("sweep written");
        loaded.close_stores();
        folder.discard(names::TEXTS);
        folder.discard(names::COLUMN_VALUES);
        let place = self.put_in_place(folder, &file)?;
        if self.output.json {
            loaded.remarks().iter().for_each(tell);
            print_json(&file)?;
        } else if !self.output.quiet {
            show(&file, &loaded, &place, progress.out_of_time)?;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Puts the sweep in its place. A complete one that is there is not replaced by one that was
    /// ended early, which stays beside it. Returns where the sweep is.
    fn put_in_place(&self, folder: ResultFolder, file: &SweepFile) -> Result<PathBuf> {
        let out = self.output.folder();
        let is_kept = || SweepFile::read(out, &memory::of_readers()).is_ok_and(|old| old.complete);
        if file.complete || !is_kept() {
            folder.commit()?;
            return Ok(out.to_owned());
        }
        let place = folder.commit_beside()?;
        tell(&format!(
            "note: {}: holds a complete sweep, which stays; the one that was ended early is in {}",
            out.display(),
            place.display()
        ));
        Ok(place)
    }

    /// The numbers of clusters: those given, or those for so many documents.
    fn grid(&self, loaded: &Loaded) -> Result<ClusterGrid> {
        let given = self.n_clusters.clone();
        loaded.check(given.as_ref().map(|grid| grid.as_slice()[grid.as_slice().len() - 1]))?;
        let n_docs = loaded.n_with_terms();
        match given.or_else(|| ClusterGrid::for_documents(n_docs)) {
            Some(grid) => Ok(grid),
            None => bail!(
                "the input has {} documents that have a term, too few to compare numbers of clusters; a sweep needs 4",
                grouped(n_docs)
            ),
        }
    }

    /// Refuses a sweep that would need more memory than there is.
    fn check_memory(
        &self,
        loaded: &Loaded,
        params: &Params,
        grid: &ClusterGrid,
        options: &SweepOptions,
    ) -> Result<()> {
        let Some(limit) = memory::limit() else { return Ok(()) };
        let sweep = Sweep::forecast_bytes(&loaded.rows, params, grid, options)?;
        let most = grid.as_slice()[grid.as_slice().len() - 1];
        let largest = params.clone().n_clusters(most).check()?;
        let forecast = Forecast::of_sweep(&loaded.rows, sweep, &largest, self.output.silhouette);
        forecast.with_columns(loaded.n_columns(), loaded.document_ids().len(), most).check(limit)
    }

    /// Does all numbers, or as many as there is time for, and writes the result of each.
    fn all_steps(
        &self,
        loaded: &Loaded,
        params: Params,
        grid: &ClusterGrid,
        options: SweepOptions,
        folder: &ResultFolder,
        progress: &mut Progress,
    ) -> Result<Done> {
        interrupt::stop_calmly(
            "dropping the number of clusters in progress, then writing those that are done; press Ctrl-C again to stop at once",
        );
        let pairs = options.stability;
        progress.begin_part("the tree of all k, ".to_owned());
        let mut sweep = Sweep::new(&loaded.rows, params.clone(), grid, options, progress)
            .map_err(|error| self.explained(error.into(), grid, progress))?;
        let (mut entries, mut failure) = (Vec::new(), None);
        let n_steps = grid.as_slice().len();
        while let Some(&k) = grid.as_slice().get(entries.len()) {
            let start = Instant::now();
            progress.begin_part(format!("k = {} ({} of {n_steps}), ", grouped(k), entries.len() + 1));
            match sweep.step(progress) {
                Ok(Some(step)) => match self.write_step(step, &params, loaded, folder, progress, start) {
                    Ok(entry) => {
                        entries.push(entry);
                        fail_point("step written");
                    }
                    Err(error) if entries.is_empty() => return Err(error),
                    // Not worth discarding the numbers before it.
                    Err(error) => {
                        let place = folder.file(&names::step_folder(k));
                        if place.exists() {
                            fs::remove_dir_all(place)?;
                        }
                        let lost = format!("-k {} was not written; the numbers before it were", grouped(k));
                        failure = Some(error.context(lost));
                        break;
                    }
                },
                Ok(None) => break,
                Err(error) if matches!(error.kind(), ErrorKind::Stopped { .. }) && !entries.is_empty() => {
                    break;
                }
                Err(error) => return Err(self.explained(error.into(), grid, progress)),
            }
            if progress.must_stop() {
                break;
            }
        }
        let n_documents = sweep.stability_sample();
        Ok(Done {
            recommendation: sweep.advice().map(|advice| Recommendation::new(&advice, &entries)),
            stability: n_documents.map(|n_documents| StabilityEntry { pairs, n_documents }),
            entries,
            failure,
        })
    }

    /// The error of a sweep that ends before there is a result, in words about its time.
    fn explained(&self, error: anyhow::Error, grid: &ClusterGrid, progress: &Progress) -> anyhow::Error {
        if !progress.out_of_time {
            return error;
        }
        let least = grouped(grid.as_slice()[0]);
        anyhow::anyhow!(
            "the time was over before -k {least} was done; nothing was written; raise --time-limit, or give smaller numbers"
        )
    }

    /// Names the clusters of one number, and writes its result.
    fn write_step(
        &self,
        step: SweepStep,
        params: &Params,
        loaded: &Loaded,
        folder: &ResultFolder,
        progress: &mut Progress,
        start: Instant,
    ) -> Result<SweepEntry> {
        progress.summarize(step.n_clusters);
        let k = step.n_clusters.to_string();
        let mut settings = self.settings.clone();
        settings.retain(|setting| setting.name != "--n-clusters");
        settings.push(Setting { name: "--n-clusters".to_owned(), values: vec![k] });
        let options = RunOptions {
            cluster: &self.cluster,
            output: &self.output,
            page: &self.page,
            checkpoint: None,
            settings: &settings,
            configuration: &self.configuration.of_step(step.n_clusters),
            n_runs: params.n_runs(),
            changes: &[],
        };
        let place = folder.file(&names::step_folder(step.n_clusters));
        fs::create_dir(&place).with_context(|| format!("{}: cannot make this folder", place.display()))?;
        let measures = step.measures;
        let outcome = on_threads(self.cluster.threads, || {
            let mut outcome = Outcome::new(step.fit, loaded, &self.output, progress)?;
            progress.finish();
            outcome.write(&place, &options, loaded, start)?;
            anyhow::Ok(outcome)
        })??;
        let seconds = start.elapsed().as_secs_f64();
        let clusters = &outcome.description.clusters;
        Ok(SweepEntry::new(&measures, &outcome.fit, clusters, !self.output.no_report, seconds))
    }

    fn file(&self, loaded: &Loaded, grid: &ClusterGrid, done: Done, start: Instant) -> SweepFile {
        let Done { entries, recommendation, stability, .. } = done;
        SweepFile {
            version: VERSION.to_owned(),
            n_documents: loaded.rows.n_rows(),
            n_without_terms: loaded.rows.zero_rows().len(),
            n_terms: loaded.rows.n_terms(),
            seed: self.cluster.seed,
            wanted: grid.as_slice().to_vec(),
            complete: entries.len() == grid.as_slice().len(),
            stability,
            settings: self.settings.clone(),
            seconds: start.elapsed().as_secs_f64(),
            results: entries,
            recommendation,
        }
    }
}
