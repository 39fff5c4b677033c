//! `docsphere cluster`: the main job. Documents in; a folder with assignments, named clusters, a
//! model and a trace out.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use docsphere::{
    Checkpoint, DocId, Fit, FitOptions, MergeTree, Silhouette, SummaryOptions, TextModel, TextOptions,
    TfidfOptions, ValidParams, fail_point, on_threads, silhouette,
};
use docsphere_result::{Clustering, Description, Seconds, Setting, names, set_outliers_apart};

use crate::args::{
    ClusterArgs, InputArgs, LongRunArgs, OutputArgs, PageArgs, TextArgs, UsageError, settings_of,
};
use crate::console::{print_json, tell};
use crate::input::{self, Loaded, Source};
use crate::interrupt;
use crate::memory::{self, Forecast};
use crate::output::folder::ResultFolder;
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::result::{Outcome, RunOptions};
use crate::output::shown::{remarks, show};
use crate::progress::Progress;

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

impl Args {
    /// Records the options, as typed or by default.
    pub(crate) fn note_settings(&mut self, command: &clap::Command, matches: &clap::ArgMatches) {
        let without_say: &[&str] = if self.input.matrix_format().is_some() { &["Text"] } else { &[] };
        self.settings = settings_of(command, matches, without_say);
    }

    pub(crate) fn run(self) -> Result<()> {
        let start = Instant::now();
        memory::allow(self.long_run.max_memory);
        // Whatever can be refused is refused before the work begins.
        let params = self.cluster.params()?.check()?;
        let text = self.text.options()?;
        self.output.assignments.check_build()?;
        if self.output.json && self.output.quiet {
            return Err(UsageError("--json and --quiet contradict each other".to_owned()).into());
        }
        #[cfg(feature = "serve")]
        if self.output.index && self.input.matrix_format().is_some() {
            return Err(UsageError("--index: a matrix has no texts to search".to_owned()).into());
        }
        if self.output.silhouette && self.cluster.n_clusters == 1 {
            return Err(UsageError("--silhouette compares clusters: give -k 2 or more".to_owned()).into());
        }
        let reads = self.reads();
        ResultFolder::check(&self.output.output, self.output.force, FolderKind::Result, &reads)?;
        let load = |path: &Path| Checkpoint::load_within(path, &memory::of_readers());
        let resume = self.long_run.resume.as_deref().map(load).transpose()?;
        self.long_run.check_checkpoint(&reads, &self.output.output)?;

        let is_silent = self.output.is_silent();
        let mut progress = Progress::of_run(is_silent, self.cluster.max_iter, self.long_run.time_limit);
        // Created now: the texts of the documents are kept in it until the result is written.
        let folder = ResultFolder::create(&self.output.output, self.output.force, FolderKind::Result)?;
        let mut loaded = self.load(text, &params, &folder, &mut progress)?;
        fail_point("documents read");
        let fit = self.fit(&params, &loaded, resume, &mut progress)?;
        fail_point("loop ended");
        progress.summarize(self.cluster.n_clusters);
        let options = RunOptions {
            cluster: &self.cluster,
            output: &self.output,
            page: &self.page,
            long_run: &self.long_run,
            settings: &self.settings,
            n_runs: params.params().n_runs(),
        };
        let outcome = on_threads(self.cluster.threads, || {
            let outcome = self.summarized(fit, &loaded, &progress);
            progress.finish();
            let mut outcome = outcome?;
            outcome.write(folder, &options, &mut loaded, start)?;
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

    /// All files that the run reads.
    fn reads(&self) -> Reads {
        let mut reads = Reads::of_input(&self.input);
        reads.add("the file of --stop-words-file", self.text.file());
        reads.add("the file of --init", self.cluster.init_file());
        reads.add("the checkpoint of --resume", self.long_run.resume.as_deref());
        reads
    }

    /// Reads the input, and refuses input that cannot be clustered.
    fn load(
        &self,
        text: (TextOptions, TfidfOptions),
        params: &ValidParams,
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
            Forecast::new(&loaded.rows, params, self.output.silhouette).check(limit)?;
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
    fn summarized(&self, mut fit: Fit, loaded: &Loaded, progress: &Progress) -> Result<Outcome> {
        let start = Instant::now();
        let min_similarity = Some(self.output.min_similarity).filter(|&least| least > 0.0);
        if let Some(least) = min_similarity {
            set_outliers_apart(&mut fit.labels, &mut fit.similarities, least);
        }
        let silhouette = self.silhouette(&fit, loaded, progress)?;
        let model = match &loaded.source {
            Source::Documents { model, .. } => fit.model.clone().with_text(TextModel::clone(model))?,
            Source::Matrix { term_names: Some(names) } => fit.model.clone().with_term_names(names.clone())?,
            Source::Matrix { term_names: None } => fit.model.clone(),
        };
        let options = SummaryOptions::default()
            .n_keywords(self.output.keywords)
            .n_representatives(self.output.representatives)
            .n_least_typical(self.output.least_typical);
        let clustering = Clustering {
            rows: &loaded.rows,
            ids: &loaded.ids,
            labels: &fit.labels,
            similarities: &fit.similarities,
            model: &model,
            objective: fit.objective,
        };
        let mut has_warned = false;
        let texts = |numbers: &[u64]| {
            texts_of(numbers, loaded).unwrap_or_else(|error| {
                // Not worth discarding hours of work.
                if !std::mem::replace(&mut has_warned, true) {
                    progress
                        .say(&format!("warning: representatives are written without their texts: {error:#}"));
                }
                BTreeMap::new()
            })
        };
        let mut description = Description::new(&clustering, options, !self.output.no_report, texts)?;
        if let Some(least) = min_similarity {
            description = description.with_min_similarity(least);
        }
        if let Some(silhouette) = &silhouette {
            description = description.with_silhouette(silhouette);
        }
        if description.groups.is_none() && !self.output.quiet {
            progress
                .say(&format!("note: there is no groups.json above {} clusters", MergeTree::MAX_CLUSTERS));
        }
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
        Ok(Outcome { fit, model, description, silhouettes, seconds })
    }

    /// The silhouettes, if they are wanted and there are two clusters to compare.
    fn silhouette(&self, fit: &Fit, loaded: &Loaded, progress: &Progress) -> Result<Option<Silhouette>> {
        if !self.output.silhouette {
            return Ok(None);
        }
        let labels = fit.labels.as_slice();
        let first = labels.iter().find(|&&label| label >= 0);
        if !labels.iter().any(|label| *label >= 0 && Some(label) != first) {
            if !self.output.quiet {
                progress.say("note: there are no silhouettes: fewer than two clusters have documents");
            }
            return Ok(None);
        }
        Ok(Some(silhouette(&loaded.rows, &fit.labels, self.cluster.n_clusters)?))
    }
}

/// The texts of some documents, by document number. `numbers` must ascend.
fn texts_of(numbers: &[u64], loaded: &Loaded) -> Result<BTreeMap<u64, String>> {
    let Some(texts) = loaded.texts() else { return Ok(BTreeMap::new()) };
    // Numbers of rows, so they fit.
    let docs: Vec<DocId> = numbers.iter().map(|&number| DocId::new(number as u32)).collect();
    let documents = texts.get_many(&docs)?;
    // They are copied into the output.
    let n_bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    memory::of_readers().check("the documents", n_bytes as u64)?;
    Ok(documents.into_iter().map(|document| (document.number, document.text)).collect())
}
