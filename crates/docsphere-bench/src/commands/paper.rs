//! `paper`: the evaluation of the paper's section 4, on any corpora.
//!
//! Every mode runs from the same seeds, once for each of several seed numbers. Medians and
//! interquartile ranges over these runs are reported, as the paper's Table 1 and figure, together
//! with data that the paper does not show: counts, the thresholds that were used, candidates, and
//! the cost of building the index. A mode whose labels differ fails the experiment.

use std::fs;

use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use docsphere::{IndexUse, IterationRecord, Strategy};

use super::docs_by_corpus;
use super::runs::RunsTable;
use crate::args::{FitArgs, InitArg, OutArgs, threads_or_all};
use crate::input::{Loaded, Source};
use crate::measure::{EXTRAPOLATION, Job, Journal, Outcome, Run, Timing, Turns, finished};
use crate::report::{Axis, Cell, Join, Panel, Report, Series, Table};
use crate::statistics::{mean, median, quartiles};

/// The paper's evaluation: Table 1, the figure, and counts, for several corpora, k and seeds; fails
/// unless all modes give the same labels
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// A corpus or matrix file, or `generated:TERMS_PER_ROW`; may be repeated
    #[arg(long, value_name = "FILE", default_values = ["generated:10", "generated:58"])]
    corpus: Vec<Source>,

    /// Use only the first N documents: one number for all corpora, or one for each
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    docs: Vec<usize>,

    /// The fields of records that hold the text
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "text")]
    text_field: Vec<String>,

    /// Numbers of clusters
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', default_value = "50,500,5000")]
    k: Vec<usize>,

    /// Modes; ratios are relative to the first
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "baseline,ncc,index,ncc-index,inverted,auto"
    )]
    modes: Vec<Strategy>,

    /// Runs of each mode, with the seeds --seed, --seed + 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,

    /// Seeding method: random, plain-k-means++, greedy, greedy:CANDIDATES
    #[arg(long, value_name = "INIT", default_value = "plain-k-means++")]
    init: InitArg,

    /// Stop a run that would take longer than this, and extrapolate; a mode that was stopped is not
    /// run again for that corpus and k
    #[arg(long, value_name = "SECONDS")]
    cap: Option<f64>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Continue an interrupted experiment with the same --out: its runs with the same settings are
    /// reused
    #[arg(long, requires = "out")]
    resume: bool,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

/// One corpus and one k, all modes.
struct Place {
    corpus: String,
    n_clusters: usize,
    n_docs: usize,
    nnz: usize,
    seeding_seconds: f64,
    modes: Vec<Mode>,
}

/// One mode on one corpus with one k.
struct Mode {
    /// One run per seed; if the cap stopped one, it is the last.
    outcome: Outcome,
    /// One per seed, measured or extrapolated.
    timings: Vec<Timing>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let is_twice = |(number, mode)| args.modes[..number].contains(mode);
    ensure!(!args.modes.iter().enumerate().any(is_twice), "--modes: each may be named once");
    let n_threads = threads_or_all(args.threads);
    let docs = docs_by_corpus(&args.docs, args.corpus.len())?;
    let mut inputs = Vec::new();
    let mut runs = RunsTable::new();
    let mut places = Vec::new();
    let report = Report::new("paper");
    let journal = args.out.out.as_deref().map(|folder| {
        fs::create_dir_all(folder).with_context(|| format!("--out {}: cannot make it", folder.display()))?;
        Journal::open(&folder.join("paper-journal.jsonl"), args.resume)
    });
    let journal = journal.transpose()?;
    for (source, n_docs) in args.corpus.iter().zip(docs) {
        let loaded = source.load_fields(n_docs, n_threads, &args.text_field)?;
        inputs.push(loaded.describe());
        for &n_clusters in &args.k {
            places.push(measure(
                args,
                &loaded,
                args.fit.job(&loaded.rows, n_clusters, n_threads),
                journal.as_ref(),
                &mut runs,
            )?);
            // Keep the measurements so far, whatever happens to the rest.
            if let Some(folder) = &args.out.out {
                told(report.clone(), args, &inputs, &places, &runs)?.write(folder)?;
            }
        }
    }
    told(report, args, &inputs, &places, &runs)?.publish(args.out.out.as_deref())
}

/// The report on the measurements so far.
fn told(
    mut report: Report,
    args: &Args,
    inputs: &[String],
    places: &[Place],
    runs: &RunsTable,
) -> Result<Report> {
    inputs.iter().for_each(|line| report.input(line.clone()));
    report.input(format!(
        "seeding by {}, seeds {} to {}; {} threads; seconds are those of the loop, seeding excluded",
        args.init.name,
        args.fit.seed,
        args.fit.seed + u64::from(args.runs) - 1,
        threads_or_all(args.threads)
    ));
    report.latex_table("paper-table1", "Median minutes of the loop", table_1(args, places));
    report.table("paper-seconds", "Seconds of the loop: median, interquartile range, ratio", seconds(places));
    report.table("paper-counts", "Counts, medians of the finished runs", counts(places));
    report.table("paper-index", "How the index was used", index_table(places));
    report.table("paper-data", "What was clustered", data(places));
    report.figure("paper-figure", &panels(args, places))?;
    report.remark("Labels, similarities, centroids, objective and iterations of all finished runs of one corpus, k and seed are the same to the bit; in stopped runs, the moved documents, objective and movement of every completed iteration.");
    if places.iter().flat_map(|place| &place.modes).any(Mode::is_stopped) {
        report.remark(EXTRAPOLATION);
    }
    report.remark("Counts of a mode that was stopped in every run cover only the part that was done: its iterations are shown beside those of a finished mode.");
    report.remark("The index: assignments in which it was on; mean build time; the share of documents that used no threshold, and each threshold; candidates per document, before candidates whose centroid did not change are dropped.");
    report.remark("similarity: mean similarity of documents to their own centroid at the end. met: the share of all centroids that have an entry for a document's term, mean over terms, documents and iterations (postings of `inverted` over nonzeros times k).");
    report.remark(runs.remark_on_others());
    report.raw_table("paper-runs", runs.table.clone());
    Ok(report)
}

/// Runs all modes from the same seeds, one seed after the other.
fn measure(
    args: &Args,
    loaded: &Loaded,
    job: Job<'_>,
    journal: Option<&Journal>,
    table: &mut RunsTable,
) -> Result<Place> {
    let mut modes: Vec<Mode> = args.modes.iter().map(|&strategy| Mode::new(strategy)).collect();
    let mut ways: Vec<Option<Vec<IterationRecord>>> = Vec::new();
    let mut seeding = Vec::new();
    for number in 0..u64::from(args.runs) {
        let seed = args.fit.seed + number;
        let seeds = job.seed(&args.init.init, seed)?;
        seeding.push(seeds.seconds);
        let title = format!("{}, k = {}, seed {seed}", loaded.name, job.n_clusters);
        let journal = journal.map(|journal| (journal, args.init.name.as_str()));
        let turns = Turns { job, seeds: &seeds.centroids, cap: args.cap, give_up: None, title, journal };
        let going: Vec<Strategy> =
            modes.iter().filter(|mode| !mode.is_stopped()).map(|mode| mode.outcome.strategy).collect();
        let outcomes = turns.run(&going, 1)?;
        table.add(loaded, &job, seed, &outcomes);
        ways.push(finished(&outcomes).map(|run| run.iterations.clone()));
        for Outcome { strategy, runs } in outcomes {
            let mode = modes.iter_mut().find(|mode| mode.outcome.strategy == strategy);
            mode.expect("only modes were run").outcome.runs.extend(runs);
        }
    }
    modes.iter_mut().for_each(|mode| mode.time(&ways));
    Ok(Place {
        corpus: loaded.name.clone(),
        n_clusters: job.n_clusters,
        n_docs: job.rows.n_nonzero_rows(),
        nnz: job.rows.nnz(),
        seeding_seconds: median(seeding),
        modes,
    })
}

impl Mode {
    fn new(strategy: Strategy) -> Self {
        Mode { outcome: Outcome { strategy, runs: Vec::new() }, timings: Vec::new() }
    }

    /// Whether the cap stopped a run; no more are then made.
    fn is_stopped(&self) -> bool {
        self.outcome.runs.iter().any(Run::is_capped)
    }

    /// Sets the timing for every seed. `ways` has the iterations of a finished run for each seed.
    fn time(&mut self, ways: &[Option<Vec<IterationRecord>>]) {
        let stopped = self.outcome.runs.iter().find(|run| run.is_capped());
        let timing = |(number, way): (usize, &Option<Vec<IterationRecord>>)| match self
            .outcome
            .runs
            .get(number)
        {
            Some(run) if !run.is_capped() => Some(Timing::measured(run.seconds)),
            _ => {
                let (stopped, way) = stopped.zip(way.as_ref())?;
                Some(Timing::extrapolated(self.outcome.strategy, stopped.seconds, &stopped.iterations, way))
            }
        };
        self.timings = ways.iter().enumerate().filter_map(timing).collect();
    }

    /// Quartiles of the seconds, and whether any of them is extrapolated; `None` if there are none.
    fn quartiles(&self) -> Option<([f64; 3], bool)> {
        let seconds: Vec<f64> = self.timings.iter().map(|timing| timing.seconds).collect();
        let is_extrapolated = self.timings.iter().any(|timing| timing.is_extrapolated);
        (!seconds.is_empty()).then(|| (quartiles(seconds), is_extrapolated))
    }

    /// The median over the runs that count.
    fn median_of(&self, number: impl Fn(&Run) -> f64) -> f64 {
        self.outcome.over_runs(median, number)
    }

    /// All assignments in which the index was on.
    fn index_uses(&self) -> Vec<&IndexUse> {
        self.outcome
            .counting()
            .flat_map(|run| run.iterations.iter().filter_map(|record| record.index.as_ref()))
            .collect()
    }
}

/// Table 1 as in the paper: one row per mode, one column per corpus and k.
fn table_1(args: &Args, places: &[Place]) -> Table {
    let columns = places.iter().map(|place| format!("{}, k = {}", place.corpus, place.n_clusters));
    let mut table = Table::new(std::iter::once("mode".to_owned()).chain(columns));
    for (number, mode) in args.modes.iter().enumerate() {
        let mut row = vec![Cell::text(mode.name())];
        row.extend(places.iter().map(|place| match place.modes[number].quartiles() {
            Some(([_, median, _], is_extrapolated)) => {
                let minutes = median / 60.0;
                let digits = if minutes < 1.0 { 3 } else { 1 };
                Cell::number(minutes, digits).marked(is_extrapolated)
            }
            None => Cell::Empty,
        }));
        table.push(row);
    }
    table
}

fn seconds(places: &[Place]) -> Table {
    let mut table = Table::new([
        "corpus",
        "k",
        "mode",
        "median",
        "first quartile",
        "third quartile",
        "ratio",
        "an assignment",
        "preparing",
        "runs",
        "stopped",
        "seeding",
    ]);
    for place in places {
        let first = place.modes[0].quartiles();
        for mode in &place.modes {
            let cell = |number: usize| match mode.quartiles() {
                Some((quartiles, is_extrapolated)) => {
                    Cell::seconds(quartiles[number]).marked(is_extrapolated)
                }
                None => Cell::Empty,
            };
            let ratio = first.zip(mode.quartiles()).map_or(Cell::Empty, |(first, own)| {
                Cell::number(first.0[1] / own.0[1], 2).marked(first.1 || own.1)
            });
            table.push(vec![
                Cell::text(&place.corpus),
                Cell::count(place.n_clusters),
                Cell::text(mode.outcome.strategy.name()),
                cell(1),
                cell(0),
                cell(2),
                ratio,
                Cell::seconds(mode.median_of(|run| run.seconds / run.iterations.len() as f64)),
                Cell::seconds(mode.median_of(|run| run.stages().prepare / run.iterations.len() as f64)),
                Cell::count(mode.outcome.runs.len()),
                Cell::count(mode.outcome.runs.iter().filter(|run| run.is_capped()).count()),
                Cell::seconds(place.seeding_seconds),
            ]);
        }
    }
    table
}

fn counts(places: &[Place]) -> Table {
    let mut table = Table::new([
        "corpus",
        "k",
        "mode",
        "similarities",
        "postings",
        "skipped docs",
        "similarities a document",
        "postings a document",
        "iterations",
        "of",
    ]);
    for place in places {
        let runs = || place.modes.iter().flat_map(|mode| &mode.outcome.runs).filter(|run| !run.is_capped());
        let iterations = runs().map(|run| run.n_iter as f64).collect::<Vec<_>>();
        for mode in &place.modes {
            let count = |number: fn(&Run) -> u64| {
                Cell::Count(mode.median_of(|run| number(run) as f64).round() as u64)
            };
            let each = |number: fn(&Run) -> u64| {
                let visits = |run: &Run| (place.n_docs * run.iterations.len()) as f64;
                Cell::number(mode.median_of(|run| number(run) as f64 / visits(run)), 1)
            };
            table.push(vec![
                Cell::text(&place.corpus),
                Cell::count(place.n_clusters),
                Cell::text(mode.outcome.strategy.name()),
                count(|run| run.counters().similarities),
                count(|run| run.counters().postings),
                count(|run| run.counters().skipped_docs),
                each(|run| run.counters().similarities),
                each(|run| run.counters().postings),
                Cell::number(mode.median_of(|run| run.n_iter as f64), 0),
                if iterations.is_empty() { Cell::Empty } else { Cell::number(median(iterations.clone()), 0) },
            ]);
        }
    }
    table
}

fn index_table(places: &[Place]) -> Table {
    let modes = || places.iter().flat_map(|place| place.modes.iter().map(move |mode| (place, mode)));
    let lambdas: Vec<f64> = modes()
        .flat_map(|(_, mode)| mode.index_uses())
        .next()
        .map_or(Vec::new(), |used| used.lambdas.clone());
    let fixed =
        ["corpus", "k", "mode", "assignments", "of", "build seconds", "% of the loop"].map(str::to_owned);
    let by_lambda = |what: &str| {
        let names = lambdas.iter().map(move |lambda| format!("{what} {lambda}"));
        std::iter::once(format!("{what} none")).chain(names).collect::<Vec<_>>()
    };
    let columns = fixed.into_iter().chain(by_lambda("docs %")).chain(["candidates".to_owned()]);
    let mut table = Table::new(columns.chain(by_lambda("candidates")));
    for (place, mode) in modes() {
        let uses = mode.index_uses();
        if uses.is_empty() {
            continue;
        }
        let build = mean(uses.iter().map(|used| used.build_seconds));
        let sum = |number: fn(&IndexUse) -> &[u64], position: usize| -> u64 {
            uses.iter().map(|used| number(used)[position]).sum()
        };
        let docs: Vec<u64> = (0..=lambdas.len()).map(|position| sum(|used| &used.docs, position)).collect();
        let candidates: Vec<u64> =
            (0..=lambdas.len()).map(|position| sum(|used| &used.candidates, position)).collect();
        let all_docs: u64 = docs.iter().sum();
        let seconds: f64 = mode.outcome.counting().map(|run| run.seconds).sum();
        let share = |part: u64, whole: u64, factor: f64, digits| {
            if whole == 0 { Cell::Empty } else { Cell::number(factor * part as f64 / whole as f64, digits) }
        };
        let mut row = vec![
            Cell::text(&place.corpus),
            Cell::count(place.n_clusters),
            Cell::text(mode.outcome.strategy.name()),
            Cell::count(uses.len()),
            Cell::count(mode.outcome.counting().map(|run| run.iterations.len()).sum()),
            Cell::seconds(build),
            Cell::number(100.0 * build * uses.len() as f64 / seconds, 1),
        ];
        row.extend(docs.iter().map(|&count| share(count, all_docs, 100.0, 1)));
        row.push(share(candidates.iter().sum(), all_docs, 1.0, 1));
        row.extend(candidates.iter().zip(&docs).map(|(&found, &docs)| share(found, docs, 1.0, 1)));
        table.push(row);
    }
    table
}

fn data(places: &[Place]) -> Table {
    let mut table =
        Table::new(["corpus", "documents with terms", "terms a document", "k", "similarity", "met"]);
    for place in places {
        let find = |strategy| place.modes.iter().find(|mode| mode.outcome.strategy == strategy);
        let finished = place.modes.iter().find(|mode| mode.outcome.is_finished());
        let similarity = finished.map(|mode| mode.median_of(|run| run.objective) / place.n_docs as f64);
        let met = find(Strategy::Inverted).map(|mode| {
            let all = (place.nnz * place.n_clusters) as f64;
            mode.median_of(|run| run.counters().postings as f64 / (all * run.iterations.len() as f64))
        });
        table.push(vec![
            Cell::text(&place.corpus),
            Cell::count(place.n_docs),
            Cell::number(place.nnz as f64 / place.n_docs as f64, 1),
            Cell::count(place.n_clusters),
            similarity.map_or(Cell::Empty, |similarity| Cell::number(similarity, 3)),
            met.map_or(Cell::Empty, |met| Cell::number(met, 3)),
        ]);
    }
    table
}

/// The figure as in the paper: one panel per corpus, k and time on logarithmic axes, bars for the
/// interquartile range, dotted connecting lines.
fn panels(args: &Args, places: &[Place]) -> Vec<Panel> {
    let corpora = places.chunk_by(|a, b| a.corpus == b.corpus && a.n_docs == b.n_docs);
    let series = |places: &[Place], number: usize| {
        let known = places.iter().filter_map(|place| Some((place, place.modes[number].quartiles()?.0)));
        let known: Vec<(&Place, [f64; 3])> = known.collect();
        let extrapolated = places.iter().any(|place| place.modes[number].is_stopped());
        let name = args.modes[number].name();
        Series {
            name: if extrapolated { format!("{name} *") } else { name.to_owned() },
            points: known.iter().map(|(place, quartiles)| (place.n_clusters as f64, quartiles[1])).collect(),
            ranges: known.iter().map(|(_, quartiles)| (quartiles[0], quartiles[2])).collect(),
            join: Join::Dotted,
        }
    };
    let panel = |places: &[Place]| Panel {
        title: format!("{}, {} documents", places[0].corpus, places[0].n_docs),
        x: Axis::log("clusters (k)"),
        y: Axis::log("seconds of the loop (*: some extrapolated)"),
        series: (0..args.modes.len()).map(|number| series(places, number)).collect(),
    };
    corpora.map(panel).collect()
}
