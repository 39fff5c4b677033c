//! `docsphere cluster`: the main job. Documents in; a folder with assignments, named clusters, a
//! model and a trace out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use docsphere::{
    Checkpoint, Fit, FitOptions, Init, Params, SphericalKMeans, SweepOptions, TextOptions, TfidfOptions,
    ValidParams, choice_forecast_bytes, choose_n_clusters, fail_point, on_threads,
};
use docsphere_result::{Setting, names};

use super::within::Within;
use crate::args::{
    ClusterArgs, ClusterNumber, DuplicateArgs, InputArgs, KeepArgs, LongRunArgs, OutputArgs, PageArgs,
    RunConfiguration, TextArgs, UsageError, settings_of, typed_options,
};
use crate::console::{print_json, tell};
use crate::input::{self, Loaded, Staged};
use crate::interrupt;
use crate::memory::{self, Forecast};
use crate::numbers::{counted, grouped};
use crate::output::folder::ResultFolder;
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::result::{Outcome, RunOptions};
use crate::output::shown::{remarks, show};
use crate::progress::Progress;

/// Cluster documents and write the result into a folder
#[derive(clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.required(false).required_unless_present_any(["config", "within"])),
    after_help = "Examples:\n  docsphere cluster notes/\n  docsphere cluster tickets.csv --text-field subject --text-field body -k 200 -o out\n  docsphere cluster --within out --cluster 8 -k 20 -o out-8"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: InputArgs,

    /// Take options from this file, such as run.toml of a result; options that are typed go before
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    config: Option<PathBuf>,

    /// Cluster the documents of one cluster of this result, from the texts that it keeps, instead
    /// of INPUT. Options for input and text are those of its run unless they are given
    #[arg(
        long,
        value_name = "RESULT",
        help_heading = "Input",
        requires = "within_cluster",
        conflicts_with = "inputs"
    )]
    within: Option<PathBuf>,

    /// The cluster of --within
    #[arg(long = "cluster", value_name = "N", help_heading = "Input")]
    within_cluster: Option<u32>,

    #[command(flatten)]
    pub(super) keep: KeepArgs,
    #[command(flatten)]
    pub(super) duplicates: DuplicateArgs,
    #[command(flatten)]
    pub(super) text: TextArgs,

    /// The number of clusters; auto to choose it by measures on a sample, which takes as long as
    /// about 50 runs over 20,000 documents [default: the square root of half the number of
    /// documents]
    #[arg(short = 'k', long, value_name = "K", help_heading = "Clustering")]
    n_clusters: Option<ClusterNumber>,

    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,

    /// Do not keep rows and texts of the documents in the result: it is smaller, but no documents
    /// can be added to it or removed from it
    #[arg(long, help_heading = "Output")]
    no_rows: bool,

    #[command(flatten)]
    pub(super) page: PageArgs,
    #[command(flatten)]
    pub(super) long_run: LongRunArgs,

    /// The settings of the run, for the trace and the report.
    #[arg(skip)]
    settings: Vec<Setting>,

    /// All options that repeat the run.
    #[arg(skip)]
    pub(super) configuration: RunConfiguration,

    /// The options that were typed.
    #[arg(skip)]
    typed: Vec<Setting>,
}

impl Args {
    /// Records the options, as typed or by default.
    pub(crate) fn note_settings(&mut self, command: &clap::Command, matches: &clap::ArgMatches) {
        let without_say: &[&str] = if self.input.matrix_format().is_some() { &["Text"] } else { &[] };
        self.settings = settings_of(command, matches, without_say);
        self.configuration = RunConfiguration::new(command, matches, without_say);
        self.typed = typed_options(command, matches);
    }

    pub(crate) fn run(self) -> Result<()> {
        memory::allow(self.long_run.limits.max_memory);
        match (&self.within, self.within_cluster) {
            (Some(result), Some(cluster)) => {
                let within = Within::open(result, cluster)?;
                let args = within.arguments(&self.typed)?;
                args.run_over(Some(within))
            }
            (None, Some(_)) => {
                let message = "--cluster names a cluster of --within OUT, which is missing";
                Err(UsageError(message.to_owned()).into())
            }
            _ => self.run_over(None),
        }
    }

    /// Clusters the input, or the documents of a cluster.
    fn run_over(mut self, within: Option<Within>) -> Result<()> {
        let start = Instant::now();
        // Whatever can be refused is refused before the work begins.
        let params = self.params()?;
        let text = self.text.options()?;
        let reads = self.choose_folder(within.as_ref())?;
        let out = &self.output.folder().to_owned();
        ResultFolder::check(out, self.output.force, FolderKind::Result, &reads)?;
        let load = |path: &Path| Checkpoint::load_within(path, &memory::of_readers());
        let resume = self.long_run.resume.as_deref().map(load).transpose()?;
        self.long_run.check_checkpoint(&reads, out)?;

        let is_silent = self.output.is_silent();
        let time_limit = self.long_run.limits.time_limit;
        let mut progress = Progress::of_run(is_silent, self.cluster.max_iter, time_limit);
        // Created now: the texts of the documents are written into it while they are read.
        let folder = ResultFolder::create(out, self.output.force, FolderKind::Result)?;
        let mut loaded = self.load(within.as_ref(), &folder, text, &mut progress)?;
        if self.n_clusters == Some(ClusterNumber::Auto) {
            self.make_room_for_choice(&params, &mut loaded, &folder)?;
        }
        let params = self.with_number(params, &loaded, &mut progress)?;
        if let Some(limit) = memory::limit() {
            let n_documents = loaded.document_ids().len();
            let forecast = |loaded: &Loaded| {
                Forecast::new(&loaded.rows, &params, self.output.silhouette).with_columns(
                    loaded.n_columns(),
                    n_documents,
                    params.params().n_clusters,
                )
            };
            if !forecast(&loaded).fits(limit) {
                docsphere::give_back_freed();
            }
            if !loaded.rows.is_mapped() && !forecast(&loaded).fits(limit) {
                loaded.move_rows_to(folder.path())?;
                docsphere::give_back_freed();
            }
            forecast(&loaded).check(limit)?;
        }
        let fit = self.fit(&params, &loaded, resume, folder.path(), &mut progress)?;
        fail_point("loop ended");
        progress.summarize(params.params().n_clusters);
        let options = RunOptions {
            cluster: &self.cluster,
            output: &self.output,
            page: &self.page,
            checkpoint: self.long_run.checkpoint.as_deref(),
            settings: &self.settings,
            configuration: &self.configuration,
            n_runs: params.params().n_runs(),
            changes: &[],
        };
        let outcome = on_threads(self.cluster.threads, || {
            let outcome = Outcome::new(fit, &loaded, &self.output, &progress);
            progress.finish();
            let mut outcome = outcome?;
            outcome.write(folder.path(), &options, &loaded, start)?;
            loaded.close_stores();
            if self.no_rows {
                folder.discard(names::TEXTS);
                folder.discard(names::COLUMN_VALUES);
                folder.discard(names::ROWS);
            }
            folder.commit()?;
            anyhow::Ok(outcome)
        })??;
        if self.output.json {
            remarks(&outcome.description.clusters, &loaded).iter().for_each(tell);
            print_json(&outcome.description.clusters)?;
        } else if !self.output.quiet {
            show(&outcome, &options, &loaded, progress.out_of_time)?;
        }
        Ok(())
    }

    /// Chooses the folder of the result, and checks input and output. Returns the files that are
    /// read.
    fn choose_folder(&mut self, within: Option<&Within>) -> Result<Reads> {
        let mut reads = self.reads();
        match within {
            None => self.output.choose_folder(&self.input.inputs[0], "clusters"),
            Some(within) => {
                self.output.choose_folder(&within.result, &format!("cluster-{}", within.cluster));
                reads.add_result(&within.result, &[]);
                if !within.has_columns() && !self.keep.keep().is_nothing() {
                    let message = "--keep and --date-field: the result of --within keeps no columns";
                    return Err(UsageError(message.to_owned()).into());
                }
            }
        }
        self.output.check(&self.input)?;
        self.keep.check(&self.input)?;
        Ok(reads)
    }

    /// Reads the documents; those of `--within` through a file of their own. Rows, texts and
    /// columns go into the folder.
    fn load(
        &mut self,
        within: Option<&Within>,
        folder: &ResultFolder,
        text: (TextOptions, TfidfOptions),
        progress: &mut Progress,
    ) -> Result<Loaded> {
        let (texts, columns) = (folder.file(names::TEXTS), folder.file(names::COLUMN_VALUES));
        let (rows, records) = (folder.file(names::ROWS), folder.file(names::NEW_STORES[0]));
        if let Some(within) = within {
            self.keep.keep = within.write(&records)?;
            let is_kept = |name: &String| self.keep.keep.contains(name);
            self.keep.date_field = self.keep.date_field.take().filter(is_kept);
            self.input = within.input(&self.input, records);
        }
        let staged = Staged {
            texts: (self.output.needs_texts() || !self.no_rows).then_some(&*texts),
            columns: (!self.keep.keep().is_nothing()).then_some((&*columns, &self.keep)),
            rows: Some(&rows),
        };
        let mut loaded = input::load(&self.input, text, self.cluster.threads, staged, progress)?;
        folder.discard(names::NEW_STORES[0]);
        fail_point("documents read");
        // Those that did not fit into memory are there already.
        if !self.no_rows && !rows.exists() {
            on_threads(self.cluster.threads, || match loaded.rows.is_mapped() {
                true => loaded.rows.save_open(&rows),
                false => loaded.rows.save(&rows),
            })??;
        }
        loaded.set_copies_apart(&self.duplicates, self.cluster.threads)?;
        Ok(loaded)
    }

    /// The params; their number of clusters is preliminary if it depends on the documents.
    fn params(&self) -> Result<Params> {
        let number = match self.n_clusters {
            Some(ClusterNumber::Given(number)) => Some(number),
            _ => None,
        };
        let params = self.cluster.params(number)?;
        if self.n_clusters == Some(ClusterNumber::Auto) && matches!(params.init, Init::Given(_)) {
            let message = "-k auto: the file of --init has its number of clusters; leave -k out";
            return Err(UsageError(message.to_owned()).into());
        }
        if self.output.silhouette && number == Some(1) {
            return Err(UsageError("--silhouette compares clusters: give -k 2 or more".to_owned()).into());
        }
        params.clone().check()?;
        Ok(params)
    }

    /// The params with the number of clusters that was given or follows from the documents. The
    /// latter is told, and noted among the settings.
    fn with_number(
        &mut self,
        params: Params,
        loaded: &Loaded,
        progress: &mut Progress,
    ) -> Result<ValidParams> {
        let given = match (self.n_clusters, &params.init) {
            (Some(ClusterNumber::Given(number)), _) => Some(number),
            (None, Init::Given(centroids)) => Some(centroids.n_clusters()),
            _ => None,
        };
        loaded.check(given)?;
        let (n_clusters, why) = match given {
            Some(number) => (number, String::new()),
            None => self.chosen_number(&params, loaded, progress)?,
        };
        if given.is_none() {
            self.configuration.set_number(n_clusters);
            let name = "--n-clusters";
            let place = self.settings.iter_mut().find(|setting| setting.name == name);
            let setting = Setting { name: name.to_owned(), values: vec![n_clusters.to_string()] };
            match place {
                Some(place) => *place = setting,
                // Where it is if it was typed.
                None => {
                    let next = self.settings.iter().position(|setting| setting.name == "--init");
                    self.settings.insert(next.unwrap_or(self.settings.len()), setting);
                }
            }
        }
        if !why.is_empty() && !self.output.quiet {
            progress.say(&why);
        }
        Ok(params.n_clusters(n_clusters).check()?)
    }

    /// Moves the rows to a file if a number of clusters cannot be chosen beside them in memory.
    fn make_room_for_choice(
        &self,
        params: &Params,
        loaded: &mut Loaded,
        folder: &ResultFolder,
    ) -> Result<()> {
        let Some(limit) = memory::limit() else { return Ok(()) };
        loaded.check(None)?;
        let forecast = |loaded: &Loaded| {
            let bytes = choice_forecast_bytes(&loaded.rows, params.clone(), &SweepOptions::default())?;
            anyhow::Ok(Forecast::of_step(&loaded.rows, bytes))
        };
        if !loaded.rows.is_mapped() && !forecast(loaded)?.fits(limit) {
            loaded.move_rows_to(folder.path())?;
            docsphere::give_back_freed();
        }
        forecast(loaded)?.check(limit).context("-k auto")
    }

    /// A number of clusters for these documents, and why it is that one.
    fn chosen_number(
        &self,
        params: &Params,
        loaded: &Loaded,
        progress: &mut Progress,
    ) -> Result<(usize, String)> {
        if self.n_clusters == Some(ClusterNumber::Auto) {
            let options = SweepOptions::default();
            progress.begin_part("choosing k, ".to_owned());
            let chosen = choose_n_clusters(&loaded.rows, params.clone(), options, progress);
            if chosen.is_err() && progress.out_of_time {
                bail!(
                    "the time was over before k was chosen; nothing was written; give -k, or raise --time-limit"
                );
            }
            let chosen = chosen?;
            progress.begin_part(String::new());
            progress.finish();
            if let Some(chosen) = chosen {
                let (k, advice) = (chosen.advice.n_clusters, chosen.advice);
                let sample = counted(chosen.n_sample, "document");
                return Ok((
                    k,
                    format!(
                        "note: -k {k} by margin and stability on {sample}; from {} to {} may suit you as well: docsphere sweep shows why",
                        grouped(advice.from),
                        grouped(advice.to)
                    ),
                ));
            }
        }
        let k = SphericalKMeans::rule_of_thumb(loaded.n_with_terms());
        let failed = match self.n_clusters {
            Some(ClusterNumber::Auto) => {
                "no number of clusters is better than others by margin and stability; "
            }
            _ => "",
        };
        Ok((
            k,
            format!(
                "note: {failed}-k {k}, the square root of half the number of documents; give another, or compare some with docsphere sweep"
            ),
        ))
    }

    /// All files that the run reads.
    fn reads(&self) -> Reads {
        let mut reads = Reads::of_input(&self.input);
        reads.add("the file of --stop-words-file", self.text.file());
        reads.add("the file of --init", self.cluster.init_file());
        reads.add("the checkpoint of --resume", self.long_run.resume.as_deref());
        reads
    }

    fn fit(
        &self,
        params: &ValidParams,
        loaded: &Loaded,
        resume: Option<Checkpoint>,
        scratch: &Path,
        progress: &mut Progress,
    ) -> Result<Fit> {
        interrupt::stop_calmly(
            "finishing this iteration, then writing the result; press Ctrl-C again to stop at once",
        );
        let mut options = FitOptions::default().observer(progress).scratch(scratch);
        if let Some(weights) = loaded.weights() {
            options = options.weights(weights);
        }
        if let Some(path) = &self.long_run.checkpoint {
            options = options.checkpoint(path, self.long_run.checkpoint_every);
        }
        if let Some(checkpoint) = resume {
            options = options.resume(checkpoint);
        }
        Ok(params.fit_with(&loaded.rows, options)?)
    }
}
