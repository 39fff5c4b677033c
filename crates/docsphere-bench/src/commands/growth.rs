//! `growth`: how does the time of an iteration grow with documents and with k?

use anyhow::Result;
use clap::{Args as ClapArgs, ValueEnum};
use docsphere::Strategy;

use super::runs::RunsTable;
use crate::args::{FitArgs, InputArgs, OutArgs, TurnArgs, threads_or_all};
use crate::input::Loaded;
use crate::measure::{Clock, Outcome, Turns};
use crate::report::{Axis, Cell, Join, Panel, Report, Series, Table};
use crate::statistics::{exponent, median};

/// Seconds per iteration for growing numbers of documents and of clusters, with fitted exponents
/// and a figure
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// What grows
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', default_value = "documents,k")]
    grow: Vec<Grown>,

    /// Growing numbers of documents, at a fixed k
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_value = "25000,50000,100000,200000")]
    docs: Vec<usize>,

    /// The fixed k
    #[arg(long, value_name = "K", default_value_t = 1000)]
    at_k: usize,

    /// Growing numbers of clusters, at a fixed number of documents
    #[arg(
        long,
        value_name = "K,K,...",
        value_delimiter = ',',
        default_value = "500,1000,2000,5000,10000,20000"
    )]
    k: Vec<usize>,

    /// The fixed number of documents
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    at_docs: usize,

    /// Strategies
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "auto")]
    strategies: Vec<Strategy>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Number of runs of each strategy; medians are reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Which time is fitted; CPU time is more reliable on a shared machine
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    by: Clock,

    #[command(flatten)]
    turns: TurnArgs,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

/// What grows.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Grown {
    Documents,
    #[value(name = "k")]
    Clusters,
}

impl Grown {
    fn name(self) -> &'static str {
        match self {
            Grown::Documents => "documents",
            Grown::Clusters => "k",
        }
    }
}

/// One strategy at one size.
struct Point {
    grown: Grown,
    size: usize,
    strategy: Strategy,
    seconds_an_iteration: f64,
    /// `None` if the cap stopped it.
    loop_seconds: Option<f64>,
}

/// The measurements and their results.
struct Growth<'a> {
    args: &'a Args,
    n_threads: usize,
    table: Table,
    runs: RunsTable,
    points: Vec<Point>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let n_threads = threads_or_all(args.threads);
    let columns = [
        "grows",
        "documents",
        "terms",
        "k",
        "strategy",
        "iterations",
        "stop",
        "seconds an iteration",
        "loop seconds",
        "CPU seconds",
        "seeding seconds",
    ];
    let (table, runs, points) = (Table::new(columns), RunsTable::new(), Vec::new());
    let mut growth = Growth { args, n_threads, table, runs, points };
    let mut report = Report::new("growth");
    if args.grow.contains(&Grown::Documents) {
        for &n_docs in &args.docs {
            let loaded = args.input.corpus.load(Some(n_docs), n_threads)?;
            report.input(loaded.describe());
            growth.measure(&loaded, args.at_k, Grown::Documents)?;
        }
    }
    if args.grow.contains(&Grown::Clusters) {
        let loaded = args.input.corpus.load(Some(args.at_docs), n_threads)?;
        report.input(loaded.describe());
        for &n_clusters in &args.k {
            growth.measure(&loaded, n_clusters, Grown::Clusters)?;
        }
    }
    let exponents = growth.exponents();
    let panels = growth.panels();
    report.table("growth", "Seconds by size", growth.table);
    report.table("growth-exponents", "Exponents", exponents);
    report.figure("growth", &panels)?;
    report.remark(format!(
        "seconds an iteration: {}seconds of the loop over its assignments, of which there is one more than iterations. Medians of the runs; seeding apart, one run.",
        args.by.prefix()
    ));
    report.remark("exponent b: y = a x^b, by least squares in logarithms; that of the loop also includes the growth of the number of iterations.");
    report.remark(growth.runs.remark_on_others());
    report.raw_table("growth-runs", growth.runs.table);
    report.publish(args.out.out.as_deref())
}

impl Growth<'_> {
    fn measure(&mut self, loaded: &Loaded, n_clusters: usize, grown: Grown) -> Result<()> {
        let args = self.args;
        let job = args.fit.job(&loaded.rows, n_clusters, self.n_threads);
        let seeds = job.seed(&args.turns.init.init, args.fit.seed)?;
        let title = format!("{}, {} documents, k = {n_clusters}", loaded.name, loaded.rows.n_rows());
        let turns =
            Turns { job, seeds: &seeds.centroids, cap: args.turns.cap, give_up: None, title, journal: None };
        let outcomes = turns.run(&args.strategies, args.repeats.into())?;
        let size = match grown {
            Grown::Documents => loaded.rows.n_rows(),
            Grown::Clusters => n_clusters,
        };
        for outcome in &outcomes {
            let point = Point::new(grown, size, args.by, outcome);
            let run = outcome.first();
            self.table.push(vec![
                Cell::text(grown.name()),
                Cell::count(loaded.rows.n_rows()),
                Cell::count(loaded.rows.n_terms()),
                Cell::count(n_clusters),
                Cell::text(outcome.strategy.name()),
                Cell::count(run.n_iter),
                Cell::text(run.stop_name()),
                Cell::seconds(point.seconds_an_iteration),
                Cell::seconds(outcome.over_runs(median, |run| run.seconds)),
                Cell::seconds(outcome.over_runs(median, |run| run.cpu_seconds)),
                Cell::seconds(seeds.seconds),
            ]);
            self.points.push(point);
        }
        self.runs.add(loaded, &job, self.args.fit.seed, &outcomes);
        Ok(())
    }

    /// Sizes and times of one strategy.
    fn series(&self, grown: Grown, strategy: Strategy, y: fn(&Point) -> Option<f64>) -> Vec<(f64, f64)> {
        let points = self.points.iter().filter(|point| point.grown == grown && point.strategy == strategy);
        points.filter_map(|point| Some((point.size as f64, y(point)?))).collect()
    }

    fn exponents(&self) -> Table {
        let mut table =
            Table::new(["grows", "strategy", "exponent of an iteration", "exponent of the loop", "sizes"]);
        for &grown in &self.args.grow {
            for &strategy in &self.args.strategies {
                let iteration = self.series(grown, strategy, |point| Some(point.seconds_an_iteration));
                let whole = self.series(grown, strategy, |point| point.loop_seconds);
                let cell =
                    |points: &[(f64, f64)]| exponent(points).map_or(Cell::Empty, |b| Cell::number(b, 3));
                table.push(vec![
                    Cell::text(grown.name()),
                    Cell::text(strategy.name()),
                    cell(&iteration),
                    cell(&whole),
                    Cell::count(iteration.len()),
                ]);
            }
        }
        table
    }

    fn panels(&self) -> Vec<Panel> {
        let source = &self.args.input.corpus;
        let panel = |&grown: &Grown| {
            let (title, label) = match grown {
                Grown::Documents => (format!("{source}, k = {}", self.args.at_k), "documents"),
                Grown::Clusters => (format!("{source}, {} documents", self.args.at_docs), "clusters (k)"),
            };
            let series = self.args.strategies.iter().map(|&strategy| self.line(grown, strategy)).collect();
            Panel {
                title,
                x: Axis::log(label),
                y: Axis::log(&format!("{}seconds an iteration", self.args.by.prefix())),
                series,
            }
        };
        self.args.grow.iter().map(panel).collect()
    }

    fn line(&self, grown: Grown, strategy: Strategy) -> Series {
        let points = self.series(grown, strategy, |point| Some(point.seconds_an_iteration));
        let name = match exponent(&points) {
            Some(exponent) => format!("{strategy}, exponent {exponent:.2}"),
            None => strategy.to_string(),
        };
        Series { name, points, ranges: Vec::new(), join: Join::Line }
    }
}

impl Point {
    fn new(grown: Grown, size: usize, clock: Clock, outcome: &Outcome) -> Self {
        let seconds_an_iteration =
            outcome.over_runs(median, |run| clock.read(run) / run.iterations.len() as f64);
        let loop_seconds = outcome.timing(clock, median, None).map(|timing| timing.seconds);
        Point { grown, size, strategy: outcome.strategy, seconds_an_iteration, loop_seconds }
    }
}
