//! `grid`: is `auto` near the best strategy for every corpus, k and number of threads?
//!
//! The minimum over the repeats counts, since noise only ever adds time. A cell where `auto` looks
//! slow is measured again, alternating `auto` and the best, before the result is accepted.

use anyhow::{Result, bail, ensure};
use clap::Args as ClapArgs;
use docsphere::Strategy;

use super::docs_by_corpus;
use super::runs::RunsTable;
use crate::args::{FitArgs, OutArgs, TurnArgs, strategies_or_all, threads_or_all};
use crate::input::{Loaded, Source};
use crate::measure::{Clock, Job, Outcome, Seeds, Turns, finished};
use crate::report::{Cell, Report, Table};
use crate::statistics::least;

/// Every strategy for several corpora, k and threads; fails where auto is slower than the best by
/// more than a tolerance
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// A corpus or matrix file, `generated` or `generated:TERMS_PER_ROW`; may be repeated
    #[arg(long, value_name = "FILE", default_value = "generated")]
    corpus: Vec<Source>,

    /// Use only the first N documents: one number for all corpora, or one for each
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    docs: Vec<usize>,

    /// Numbers of clusters
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', default_value = "20,200")]
    k: Vec<usize>,

    /// Numbers of threads [default: all cores]
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    threads: Vec<usize>,

    /// Strategies, auto among them [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    strategies: Vec<Strategy>,

    /// Number of runs of each strategy; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// How often a cell where auto looks slow is measured again
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: usize,

    /// How much slower than the best auto may be, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    tolerance: f64,

    /// Which time is compared; CPU time is more reliable on a shared machine
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    by: Clock,

    #[command(flatten)]
    turns: TurnArgs,

    /// Stop a run that would take FACTOR times as long as the fastest one of its cell, and
    /// extrapolate
    #[arg(long, value_name = "FACTOR")]
    give_up: Option<f64>,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

/// The result for one cell.
struct Verdict {
    best: Strategy,
    /// Seconds of auto over those of the best other strategy.
    ratio: f64,
}

/// The measurements and their results.
struct Grid<'a> {
    args: &'a Args,
    strategies: Vec<Strategy>,
    table: Table,
    runs: RunsTable,
    /// The cells where auto is too slow.
    slow: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let strategies = auto_first(strategies_or_all(&args.strategies))?;
    let threads = if args.threads.is_empty() { vec![threads_or_all(None)] } else { args.threads.clone() };
    let most_threads = threads.iter().copied().max().unwrap_or(1);
    let docs = docs_by_corpus(&args.docs, args.corpus.len())?;
    let names = strategies.iter().map(|strategy| strategy.name());
    let columns = ["corpus", "documents", "k", "threads", "iterations"].into_iter().chain(names);
    let table = Table::new(columns.chain(["best", "auto/best", "measured again", "verdict"]));
    let mut grid = Grid { args, strategies, table, runs: RunsTable::new(), slow: Vec::new() };
    let mut report = Report::new("grid");
    for (source, n_docs) in args.corpus.iter().zip(docs) {
        let loaded = source.load(n_docs, most_threads)?;
        report.input(loaded.describe());
        for &n_clusters in &args.k {
            let job = args.fit.job(&loaded.rows, n_clusters, most_threads);
            let seeds = job.seed(&args.turns.init.init, args.fit.seed)?;
            for &n_threads in &threads {
                grid.measure(&loaded, Job { n_threads, ..job }, &seeds)?;
            }
        }
    }
    let title = format!("{}seconds of the whole loop, by strategy", args.by.prefix());
    report.table("grid", &title, grid.table);
    report.remark("Identical in all finished runs of one cell: labels, similarities, centroids, objective, iterations, to the bit.");
    report.remark(format!(
        "Least seconds of the runs, which were made in turn. best: the fastest but auto. SLOW: auto takes over {}% longer than that. \\*: stopped and extrapolated.",
        args.tolerance
    ));
    report.remark(grid.runs.remark_on_others());
    report.raw_table("grid-runs", grid.runs.table);
    report.publish(args.out.out.as_deref())?;
    if !grid.slow.is_empty() {
        let slow = grid.slow.join("; ");
        bail!("auto is more than {}% slower than the best strategy: {slow}", args.tolerance);
    }
    Ok(())
}

impl Grid<'_> {
    /// Measures one cell: all strategies, and again if auto looks slow.
    fn measure(&mut self, loaded: &Loaded, job: Job<'_>, seeds: &Seeds) -> Result<()> {
        let Args { turns: TurnArgs { cap, .. }, give_up, by, tolerance, .. } = *self.args;
        let title = format!("{}, k = {}, {} threads", loaded.name, job.n_clusters, job.n_threads);
        let turns = Turns { job, seeds: &seeds.centroids, cap, give_up, title, journal: None };
        let mut outcomes = turns.run(&self.strategies, self.args.repeats.into())?;
        let n_again = confirm(self.args, &turns, &mut outcomes)?;
        let verdict = verdict(&outcomes, by)?;
        let is_slow = verdict.is_slow(tolerance);
        let finished = finished(&outcomes);
        let mut row = vec![
            Cell::text(&loaded.name),
            Cell::count(loaded.rows.n_rows()),
            Cell::count(job.n_clusters),
            Cell::count(job.n_threads),
            finished.map_or(Cell::Empty, |run| Cell::count(run.n_iter)),
        ];
        row.extend(outcomes.iter().map(|outcome| outcome.timing(by, least, finished).into()));
        row.extend([
            Cell::text(verdict.best.name()),
            Cell::number(verdict.ratio, 3),
            Cell::count(n_again),
            Cell::text(if is_slow { "SLOW" } else { "ok" }),
        ]);
        self.table.push(row);
        self.runs.add(loaded, &job, self.args.fit.seed, &outcomes);
        if is_slow {
            self.slow.push(format!("{}: {:.3} times {}", turns.title, verdict.ratio, verdict.best));
        }
        Ok(())
    }
}

/// Puts `auto` first, so that much slower strategies can be stopped early.
fn auto_first(mut strategies: Vec<Strategy>) -> Result<Vec<Strategy>> {
    strategies.sort_by_key(|strategy| *strategy != Strategy::Auto);
    ensure!(
        strategies.first() == Some(&Strategy::Auto) && strategies.len() > 1,
        "--strategies must name auto and at least one other"
    );
    Ok(strategies)
}

/// Measures again while auto looks slow, and returns how often.
fn confirm(args: &Args, turns: &Turns<'_>, outcomes: &mut [Outcome]) -> Result<usize> {
    for n_again in 0..args.retries {
        let verdict = verdict(outcomes, args.by)?;
        if !verdict.is_slow(args.tolerance) {
            return Ok(n_again);
        }
        eprintln!(
            "{}: auto takes {:.3} times as long as {}; again",
            turns.title, verdict.ratio, verdict.best
        );
        turns.run_more(outcomes, &[Strategy::Auto, verdict.best], args.repeats.into())?;
    }
    Ok(args.retries)
}

fn verdict(outcomes: &[Outcome], clock: Clock) -> Result<Verdict> {
    let finished = finished(outcomes);
    let seconds = |outcome: &Outcome| outcome.timing(clock, least, finished).map(|timing| timing.seconds);
    let timed = |is_auto: bool| {
        let those = outcomes.iter().filter(move |outcome| (outcome.strategy == Strategy::Auto) == is_auto);
        let timed = those.filter_map(|outcome| Some((outcome.strategy, seconds(outcome)?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    match (timed(true), timed(false)) {
        (Some((_, auto)), Some((best, seconds))) => Ok(Verdict { best, ratio: auto / seconds }),
        _ => bail!("--cap stopped every run, so that there is nothing to compare"),
    }
}

impl Verdict {
    fn is_slow(&self, tolerance: f64) -> bool {
        self.ratio > 1.0 + tolerance / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_must_be_there_and_comes_first() {
        let sorted = auto_first(vec![Strategy::Ncc, Strategy::Auto, Strategy::Inverted]).unwrap();
        assert_eq!(sorted, [Strategy::Auto, Strategy::Ncc, Strategy::Inverted]);
        assert!(auto_first(vec![Strategy::Ncc, Strategy::Inverted]).is_err());
        assert!(auto_first(vec![Strategy::Auto]).is_err());
    }

    #[test]
    fn a_number_of_documents_for_all_or_for_each() {
        assert_eq!(docs_by_corpus(&[], 2).unwrap(), [None, None]);
        assert_eq!(docs_by_corpus(&[7], 2).unwrap(), [Some(7), Some(7)]);
        assert_eq!(docs_by_corpus(&[7, 8], 2).unwrap(), [Some(7), Some(8)]);
        assert!(docs_by_corpus(&[7, 8], 3).is_err());
    }

    #[test]
    fn the_tolerance_is_in_per_cent() {
        let verdict = |ratio| Verdict { best: Strategy::Ncc, ratio };
        assert!(!verdict(1.09).is_slow(10.0) && verdict(1.11).is_slow(10.0));
    }
}
