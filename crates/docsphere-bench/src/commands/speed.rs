//! `speed`: how long does each strategy take, side by side, from the same seeds?

use anyhow::Result;
use clap::Args as ClapArgs;
use docsphere::Strategy;

use super::runs::{IterationsTable, RunsTable};
use crate::args::{FitArgs, InputArgs, OutArgs, TurnArgs, strategies_or_all, threads_or_all};
use crate::measure::{Clock, EXTRAPOLATION, Outcome, Run, Turns, finished};
use crate::report::{Cell, Report, Table};
use crate::statistics::{mean, median};

/// The whole loop by several strategies in turn, from the same seeds; fails unless all results are
/// identical
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Use only the first N documents
    #[arg(long, value_name = "N")]
    docs: Option<usize>,

    /// Numbers of clusters
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', default_value = "200")]
    k: Vec<usize>,

    /// Strategies; the others are compared with the first [default: all, baseline first]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    strategies: Vec<Strategy>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Number of runs of each strategy; medians are reported
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    #[command(flatten)]
    turns: TurnArgs,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

const COLUMNS: [&str; 20] = [
    "k",
    "strategy",
    "seconds",
    "ratio",
    "CPU seconds",
    "others %",
    "update",
    "prepare",
    "assign",
    "iterations",
    "stop",
    "similarities",
    "postings",
    "skipped docs",
    "objective",
    "peak MB",
    "strategy MB",
    "used",
    "runs",
    "fingerprint",
];

pub(super) fn run(args: &Args) -> Result<()> {
    let n_threads = threads_or_all(args.threads);
    let strategies = strategies_or_all(&args.strategies);
    let mut report = Report::new("speed");
    let loaded = args.input.corpus.load(args.docs, n_threads)?;
    report.input(loaded.describe());

    let mut table = Table::new(COLUMNS);
    let (mut runs, mut iterations) = (RunsTable::new(), IterationsTable::new());
    for &n_clusters in &args.k {
        let job = args.fit.job(&loaded.rows, n_clusters, n_threads);
        let seeds = job.seed(&args.turns.init.init, args.fit.seed)?;
        report.input(format!(
            "k = {n_clusters}: seeding by {}, seed {}, took {:.3} s with {n_threads} threads (one run; not part of the seconds below)",
            args.turns.init.name, args.fit.seed, seeds.seconds
        ));
        let title = format!("{}, k = {n_clusters}", loaded.name);
        let turns =
            Turns { job, seeds: &seeds.centroids, cap: args.turns.cap, give_up: None, title, journal: None };
        let outcomes = turns.run(&strategies, args.repeats.into())?;
        add_rows(&mut table, n_clusters, &outcomes);
        runs.add(&loaded, &job, args.fit.seed, &outcomes);
        iterations.add(&loaded, &job, &outcomes);
        if !outcomes.iter().all(Outcome::is_finished) {
            remark_on_cap(&mut report, n_clusters, finished(&outcomes).is_some());
        }
    }
    report.table("speed", "The whole loop, side by side", table);
    report.raw_table("speed-iterations", iterations.0);
    report.remark("Identical in all finished runs of one k: labels, similarities, centroids, objective, iterations, to the bit; in stopped runs, the completed iterations.");
    report.remark(
        "ratio: seconds of the first strategy over these. Seconds, CPU seconds and stages are medians over the runs, which were made in turn.",
    );
    report.remark("peak MB: the whole process, rows included. strategy MB: memory of the strategy beside rows and centroids.");
    report.remark(runs.remark_on_others());
    report.raw_table("speed-runs", runs.table);
    report.publish(args.out.out.as_deref())
}

fn add_rows(table: &mut Table, n_clusters: usize, outcomes: &[Outcome]) {
    let finished = finished(outcomes);
    let first = outcomes[0].timing(Clock::Wall, median, finished);
    for outcome in outcomes {
        let run = outcome.first();
        let timing = outcome.timing(Clock::Wall, median, finished);
        let ratio = first.zip(timing).map_or(Cell::Empty, |(first, timing)| {
            let is_extrapolated = first.is_extrapolated || timing.is_extrapolated;
            Cell::number(first.seconds / timing.seconds, 2).marked(is_extrapolated)
        });
        let peak = outcome.runs.iter().filter_map(|run| run.peak_bytes).max();
        let counters = run.counters();
        let median_of = |number: fn(&Run) -> f64| Cell::seconds(outcome.over_runs(median, number));
        table.push(vec![
            Cell::count(n_clusters),
            Cell::text(outcome.strategy.name()),
            timing.into(),
            ratio,
            median_of(|run| run.cpu_seconds),
            others_cell(outcome),
            median_of(|run| run.stages().update),
            median_of(|run| run.stages().prepare),
            median_of(|run| run.stages().assign),
            Cell::count(run.n_iter),
            Cell::text(run.stop_name()),
            Cell::Count(counters.similarities),
            Cell::Count(counters.postings),
            Cell::Count(counters.skipped_docs),
            Cell::number(run.objective, 6),
            Cell::megabytes(peak),
            Cell::megabytes(Some(run.strategy_bytes())),
            Cell::text(run.used()),
            Cell::count(outcome.runs.len()),
            Cell::text(run.fingerprint.to_string()),
        ]);
    }
}

/// The share of the machine that other processes used, as the mean over the runs.
fn others_cell(outcome: &Outcome) -> Cell {
    let shares: Vec<f64> = outcome.runs.iter().filter_map(|run| run.others).collect();
    if shares.is_empty() { Cell::Empty } else { Cell::number(100.0 * mean(shares), 0) }
}

fn remark_on_cap(report: &mut Report, n_clusters: usize, is_known: bool) {
    report.remark(if is_known {
        format!("k = {n_clusters}: {EXTRAPOLATION} Everything else in that line covers only the part done until then.")
    } else {
        format!("k = {n_clusters}: --cap stopped every run, so nothing can be extrapolated.")
    });
}
