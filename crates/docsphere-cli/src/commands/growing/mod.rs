//! Results whose documents change: what `add` and `remove` share.
//!
//! The result is read and locked ([`before`]), its options are those of the run that made it
//! ([`arguments`]). The documents afterwards are those that stay, in their order, and the new ones
//! after them. The run goes on from the centroids and labels of the result, and a new folder takes
//! the place of the old one.

mod arguments;
mod before;
mod documents;

use std::fs;
use std::path::Path;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::Args;
use docsphere::{
    Centroids, Device, Fit, FitOptions, Init, Labels, Moment, NewClusters, Params, fail_point, on_threads,
    opened_clusters,
};
use docsphere_result::edits::{Edit, Edits, Operation, base_of};
use docsphere_result::{ChangeEntry, GroupsFile, Setting, names, read_assignments};

use self::arguments::arguments_of;
use self::before::Before;
use self::documents::After;
pub(super) use self::documents::{NewDocuments, Selection};
use super::cluster;
use crate::args::LimitArgs;
use crate::console::{People, print_json, tell};
use crate::editing;
use crate::interrupt;
use crate::memory::{self, Forecast};
use crate::numbers::counted;
use crate::output::folder::{Existing, ResultFolder};
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::result::{Outcome, RunOptions};
use crate::output::shown::remarks;
use crate::output::table;
use crate::progress::Progress;

/// Options of a result whose documents change.
#[derive(Args, Clone)]
pub(super) struct GrowingArgs {
    /// Leave the centroids as they are: documents only get clusters, and nothing is iterated
    #[arg(long, help_heading = "Clustering")]
    pub(super) freeze: bool,

    /// Number of threads [default: all cores]. Never changes the result
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    threads: Option<usize>,

    /// Where labels are found: cpu, cuda or auto. Never changes the result
    #[arg(long, value_name = "NAME", default_value_t = Device::Cpu, help_heading = "Clustering")]
    device: Device,

    /// Number of clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    show: usize,

    /// Print the summary as JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    pub(super) quiet: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

/// A result that is about to change.
pub(super) struct Growing<'a> {
    args: &'a GrowingArgs,
    pub(super) before: Before,
    /// The arguments of the run.
    pub(super) run: cluster::Args,
    folder: ResultFolder,
    pub(super) progress: Progress,
    start: Instant,
}

impl<'a> Growing<'a> {
    /// Checks everything that can be checked before the work begins. `reads` are the other files
    /// that the command reads, `typed` the options that take the place of those of the run.
    pub(super) fn begin(
        args: &'a GrowingArgs,
        result: &Path,
        reads: &Reads,
        (inputs, typed): (&[std::path::PathBuf], &[Setting]),
    ) -> Result<Self> {
        let start = Instant::now();
        memory::allow(args.limits.max_memory);
        ResultFolder::check(result, Existing::Changed, FolderKind::Result, reads)?;
        let (before, lock) = Before::open(result)?;
        let mut run = arguments_of(&before, inputs, typed)?;
        run.cluster.threads = args.threads;
        run.cluster.device = args.device;
        run.output.assignments.check_build()?;
        let is_silent = args.quiet || args.json;
        let progress = Progress::of_run(is_silent, run.cluster.max_iter, args.limits.time_limit);
        let folder = ResultFolder::of_changed(result, FolderKind::Result, lock)?;
        Ok(Growing { args, before, run, folder, progress, start })
    }

    /// Says that there is nothing to do.
    pub(super) fn leave(self, why: &str) -> Result<()> {
        if !self.args.quiet {
            tell(&format!("{}: nothing changes: {why}", self.before.folder.display()));
        }
        Ok(())
    }

    /// Goes on with the documents afterwards, and writes the result.
    pub(super) fn finish(mut self, after: After, number: NewClusters) -> Result<()> {
        let After { mut loaded, labels, first_new, mut change } = after;
        self.check_new_clusters(number)?;
        fail_point("documents read");
        let threads = self.args.threads;
        on_threads(threads, || loaded.rows.save(self.folder.file(names::ROWS)))??;
        fail_point("rows written");
        loaded.set_copies_apart(&self.run.duplicates, threads)?;
        let rows_new = (0..loaded.rows.n_rows())
            .find(|&row| loaded.document_of(row as u64) >= first_new as u64)
            .unwrap_or(loaded.rows.n_rows());
        let of_row = |row: usize| labels[loaded.document_of(row as u64) as usize];
        let labels: Labels = (0..loaded.rows.n_rows()).map(of_row).collect::<Vec<i32>>().into();
        let params = self.params()?;
        ensure!(
            params.n_clusters <= loaded.n_with_terms(),
            "{}: {} cannot be kept with {} that have a term; cluster them again, with a smaller -k",
            self.before.folder.display(),
            counted(params.n_clusters, "cluster"),
            counted(loaded.n_with_terms(), "document")
        );
        if let Some(limit) = memory::limit() {
            let forecast = Forecast::new(&loaded.rows, &params.clone().check()?, self.run.output.silhouette);
            let n_documents = loaded.document_ids().len();
            forecast.with_columns(loaded.n_columns(), n_documents, params.n_clusters).check(limit)?;
        }
        let opened = on_threads(threads, || {
            let (rows, model) = (&loaded.rows, &self.before.model);
            opened_clusters(rows, rows_new, model, number, &params, &mut self.progress)
        })??;
        change.opened_clusters = opened.n_opened;
        let mut fit = self.fit(params, opened.centroids, labels, &loaded)?;
        fail_point("loop ended");
        change.iterations = fit.n_iter;
        if change.frozen && change.opened_clusters == 0 {
            // The file of the model stays as it is.
            fit.model = self.before.model.clone();
        }
        self.progress.summarize(fit.model.centroids().n_clusters());
        let outcome = on_threads(threads, || self.write(fit, &mut loaded, &change))??;
        self.tell(&outcome, &loaded, &change)
    }

    /// Refuses new clusters where edits have given their numbers to the parts of others.
    fn check_new_clusters(&self, number: NewClusters) -> Result<()> {
        let edits = Edits::read(&self.before.folder, &memory::of_readers())?;
        let is_split = |edit: &Edit| matches!(edit.operation, Operation::Split { .. });
        ensure!(
            number == NewClusters::None || !edits.edits.iter().any(is_split),
            "{}: docsphere edit has split clusters of it, and their parts have the next numbers, so no others can be opened; take these edits back first",
            self.before.folder.display()
        );
        Ok(())
    }

    /// The params of the run that goes on: one run, which does not merge clusters.
    fn params(&self) -> Result<Params> {
        let params = self.run.cluster.params(Some(self.before.n_clusters()))?;
        Ok(params.init(Init::default()).n_init(1).rounds(0).n_threads(self.args.threads))
    }

    fn fit(
        &mut self,
        params: Params,
        centroids: Centroids,
        labels: Labels,
        loaded: &crate::input::Loaded,
    ) -> Result<Fit> {
        interrupt::stop_calmly(
            "finishing this iteration, then writing the result; press Ctrl-C again to stop at once",
        );
        let params = params.n_clusters(centroids.n_clusters()).check()?;
        let mut options = FitOptions::default()
            .observer(&mut self.progress)
            .continue_from(centroids, labels)
            .frozen(self.args.freeze);
        if let Some(weights) = loaded.weights() {
            options = options.weights(weights);
        }
        Ok(params.fit_with(&loaded.rows, options)?)
    }

    /// Writes the files, and puts the folder in its place.
    fn write(
        &mut self,
        fit: Fit,
        loaded: &mut crate::input::Loaded,
        change: &ChangeEntry,
    ) -> Result<Outcome> {
        let Growing { before, run, folder, progress, .. } = self;
        let mut changes = before.trace.changes.clone();
        changes.push(change.clone());
        let options = RunOptions {
            cluster: &run.cluster,
            output: &run.output,
            page: &run.page,
            checkpoint: None,
            settings: &before.trace.settings,
            configuration: &run.configuration,
            n_runs: 1,
            changes: &changes,
        };
        let outcome = Outcome::new(fit, loaded, &run.output, progress);
        progress.finish();
        let mut outcome = outcome?;
        outcome.description.keep_names(&before.clusters);
        if let Some(groups) = groups_as_before(before, &outcome)? {
            outcome.description.groups = groups;
        }
        outcome.write(folder.path(), &options, loaded, self.start)?;
        keep_configuration(before, folder)?;
        write_group_table(before, folder, &outcome)?;
        loaded.close_stores();
        names::NEW_STORES.iter().for_each(|name| folder.discard(name));
        editing::carry_over(&before.folder, folder.path())?;
        fail_point("files written");
        Ok(outcome)
    }

    fn tell(self, outcome: &Outcome, loaded: &crate::input::Loaded, change: &ChangeEntry) -> Result<()> {
        let Growing { args, before, folder, progress, .. } = self;
        folder.commit()?;
        let file = &outcome.description.clusters;
        if args.json {
            remarks(file, loaded).iter().for_each(tell);
            return print_json(file);
        }
        if args.quiet {
            return Ok(());
        }
        let mut out = People::new();
        let what = if before.has_passages() { "passage" } else { "document" };
        if change.added > 0 {
            out.line(format_args!("{} added", counted(change.added, what)))?;
        }
        if change.removed > 0 {
            out.line(format_args!("{} removed", counted(change.removed, what)))?;
        }
        let opened = match change.opened_clusters {
            0 => String::new(),
            n => format!(", {} of them new", counted(n, "cluster")),
        };
        out.line(format_args!(
            "{}, {}{opened}",
            counted(change.n_documents, what),
            counted(file.n_clusters - file.n_empty_clusters, "cluster")
        ))?;
        let end = match (change.frozen, outcome.fit.converged(), progress.out_of_time) {
            (true, ..) => "the centroids stay".to_owned(),
            (_, true, _) => format!("converged after {}", counted(change.iterations, "iteration")),
            (_, _, true) => {
                format!("stopped by the time limit after {}", counted(change.iterations, "iteration"))
            }
            _ if interrupt::asked_to_stop() => "interrupted".to_owned(),
            _ => format!("not converged after {}", counted(change.iterations, "iteration")),
        };
        out.line(format_args!("{end}, objective {:.1}, {:.2} s", file.objective, outcome.seconds.total))?;
        for remark in remarks(file, loaded).iter() {
            out.line(remark)?;
        }
        out.line("")?;
        table::write_largest(&mut out, file, args.show)?;
        out.line("")?;
        Ok(out.line(format_args!("written to {}", before.folder.display()))?)
    }

    /// A change of the documents, at this moment.
    pub(super) fn change(&self, added: usize, removed: usize) -> ChangeEntry {
        let inputs = if added > 0 { &self.run.input.inputs[..] } else { &[] };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let moment = Moment::from_micros(since.as_secs() as i64 * 1_000_000);
        ChangeEntry {
            time: moment.map(|moment| moment.iso(true).to_string()).unwrap_or_default(),
            inputs: inputs.iter().map(|input| input.display().to_string()).collect(),
            added,
            removed,
            n_documents: self.before.lines.len() + added - removed,
            frozen: self.args.freeze,
            ..ChangeEntry::default()
        }
    }
}

/// The groups cut to the number of before, if someone has chosen that number with `merge`.
fn groups_as_before(before: &Before, outcome: &Outcome) -> Result<Option<GroupsFile>> {
    if !before.folder.join(names::GROUP_TABLE).exists() {
        return Ok(None);
    }
    let old = GroupsFile::read(&base_of(&before.folder), &memory::of_readers())?;
    // There may be fewer clusters with documents than groups before.
    let groups = outcome.description.groups.clone();
    Ok(groups.recut(&outcome.description.clusters.clusters, old.n_groups).ok())
}

/// Keeps the options of the run that made the result: those of this one repeat neither.
fn keep_configuration(before: &Before, folder: &ResultFolder) -> Result<()> {
    let (from, to) = (before.folder.join(names::CONFIGURATION), folder.file(names::CONFIGURATION));
    let kept = if from.exists() { fs::copy(&from, &to).map(drop) } else { fs::remove_file(&to) };
    kept.with_context(|| format!("{}: cannot write", to.display()))
}

/// Writes the table of `merge` again, if there was one.
fn write_group_table(before: &Before, folder: &ResultFolder, outcome: &Outcome) -> Result<()> {
    if !before.folder.join(names::GROUP_TABLE).exists() {
        return Ok(());
    }
    let assignments = read_assignments(folder.path(), &memory::of_readers())?;
    let path = folder.file(names::GROUP_TABLE);
    let write = || -> Result<()> {
        let mut file = fs::File::create(&path)?;
        Ok(outcome.description.groups.write_table(&assignments, &mut file)?)
    };
    write().with_context(|| format!("{}: cannot write", path.display()))
}
