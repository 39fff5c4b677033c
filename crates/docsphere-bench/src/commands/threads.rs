//! `threads`: how much faster is the whole job on more threads, stage by stage, and how does it
//! grow with k?
//!
//! The command itself is run, once for each number of threads, in turn, and its `trace.json` says
//! the seconds. Assignments and model must be the same to the byte whatever the number of threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use serde_json::Value;

use crate::args::OutArgs;
use crate::report::{Axis, Cell, Join, Panel, Report, Series, Table};
use crate::statistics::median;

/// Seconds of `docsphere cluster` by stage, for several numbers of threads and of clusters
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Documents, as `docsphere cluster` reads them
    #[arg(long, value_name = "FILE", required = true)]
    corpus: PathBuf,

    /// The command [default: `docsphere` beside this program]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,

    /// Numbers of clusters
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', default_value = "5000")]
    k: Vec<usize>,

    /// Numbers of threads [default: 1, 2, 4 and so on, up to all cores]
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    threads: Vec<usize>,

    /// Runs with each number of threads; medians are reported
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    #[command(flatten)]
    out: OutArgs,

    /// Further options of `docsphere cluster`, after `--`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// The stages that are drawn, as the trace names them.
const STAGES: [&str; 7] = ["read", "vectorize", "seed", "cluster", "summarize", "write", "total"];

/// Seconds by stage. Names of parts follow that of their stage: `cluster assign scan`.
type Seconds = BTreeMap<String, f64>;

/// What one run came to.
struct Run {
    n_clusters: usize,
    n_threads: usize,
    seconds: Seconds,
    peak_bytes: Option<u64>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let command = match &args.command {
        Some(command) => command.clone(),
        None => std::env::current_exe()?.with_file_name(format!("docsphere{}", std::env::consts::EXE_SUFFIX)),
    };
    ensure!(command.is_file(), "{}: there is no command; --command names it", command.display());
    let corpus = fs::canonicalize(&args.corpus)
        .with_context(|| format!("{}: cannot be read", args.corpus.display()))?;
    let threads =
        if args.threads.is_empty() { doubled(docsphere::all_cores()) } else { args.threads.clone() };
    let mut runs: Vec<Run> = Vec::new();
    let mut report = Report::new("threads");
    report.input(format!("{} with `{}`", args.corpus.display(), args.options.join(" ")));
    for &n_clusters in &args.k {
        let mut first: Option<[Vec<u8>; 2]> = None;
        for repeat in 1..=args.repeats {
            for &n_threads in &threads {
                eprintln!("k = {n_clusters}, {n_threads} threads, run {repeat} of {}", args.repeats);
                let (run, files) = one_run(&command, &corpus, n_clusters, n_threads, &args.options)?;
                match &first {
                    Some(first) => ensure!(
                        *first == files,
                        "k = {n_clusters}: the result with {n_threads} threads is another than with {}",
                        threads[0]
                    ),
                    None => first = Some(files),
                }
                runs.push(run);
                // What was measured stays if a later run fails.
                if let Some(folder) = &args.out.out {
                    let mut unfinished = report.clone();
                    unfinished.raw_table("threads-runs", table_of_runs(&runs));
                    unfinished.write(folder)?;
                }
            }
        }
    }
    for &n_clusters in &args.k {
        let title = format!("k = {n_clusters}: seconds by number of threads");
        report.table(&format!("threads-{n_clusters}"), &title, by_threads(&runs, n_clusters, &threads));
    }
    let mut panels: Vec<Panel> = Vec::new();
    if threads.len() > 1 {
        panels.extend(args.k.iter().map(|&n_clusters| speed_ups(&runs, n_clusters, &threads)));
    }
    if args.k.len() > 1 {
        panels.extend(threads.iter().max().map(|&n_threads| by_clusters(&runs, &args.k, n_threads)));
    }
    if !panels.is_empty() {
        report.figure("threads", &panels)?;
    }
    report.remark(
        "medians of the runs; the last column divides the seconds on the fewest threads by those on the most",
    );
    report.remark("assignments and models are the same to the byte for all numbers of threads");
    report.raw_table("threads-runs", table_of_runs(&runs));
    report.publish(args.out.out.as_deref())
}

/// 1, 2, 4 and so on, and all.
fn doubled(n_cores: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < n_cores).collect();
    numbers.push(n_cores);
    numbers
}

/// Runs the command once, in an empty folder. Its seconds, and the bytes of assignments and model.
fn one_run(
    command: &Path,
    corpus: &Path,
    n_clusters: usize,
    n_threads: usize,
    options: &[String],
) -> Result<(Run, [Vec<u8>; 2])> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("result");
    let mut command = Command::new(command);
    command.arg("cluster").arg(corpus).args(["-k", &n_clusters.to_string()]);
    command.args(["--threads", &n_threads.to_string()]).args(options).arg("--output").arg(&out);
    let done = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !done.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    let trace = fs::read_to_string(out.join("trace.json"))?;
    let trace: Value = serde_json::from_str(&trace).context("trace.json is not JSON")?;
    let read = |name: &str| fs::read(out.join(name)).with_context(|| format!("{name} is missing"));
    let files = [read("assignments.csv")?, read("model.docsphere")?];
    let peak_bytes = trace["peak_memory_bytes"].as_u64();
    Ok((Run { n_clusters, n_threads, seconds: seconds(&trace), peak_bytes }, files))
}

/// All seconds of a trace: of stages, of the parts of seeding and of iterations, added up, and of
/// the phases after the loop.
fn seconds(trace: &Value) -> Seconds {
    let mut all = Seconds::new();
    add("", &trace["seconds"], &mut all);
    add("after", &trace["after"], &mut all);
    for run in trace["runs"].as_array().into_iter().flatten() {
        add("seed", &run["seeding_phases"], &mut all);
    }
    for record in trace["iterations"].as_array().into_iter().flatten() {
        add("cluster", &record["seconds"], &mut all);
    }
    all
}

/// Adds the numbers in a value, each under the names that lead to it.
fn add(name: &str, value: &Value, all: &mut Seconds) {
    if let Some(number) = value.as_f64() {
        *all.entry(name.to_owned()).or_default() += number;
    }
    for (part, value) in value.as_object().into_iter().flatten() {
        add(format!("{name} {part}").trim_start(), value, all);
    }
}

fn table_of_runs(runs: &[Run]) -> Table {
    let mut table = Table::new(["k", "threads", "stage", "seconds", "peak MB"]);
    for Run { n_clusters, n_threads, seconds, peak_bytes } in runs {
        for (stage, &seconds) in seconds {
            table.push(vec![
                Cell::count(*n_clusters),
                Cell::count(*n_threads),
                Cell::text(stage.as_str()),
                Cell::seconds(seconds),
                Cell::megabytes(*peak_bytes),
            ]);
        }
    }
    table
}

/// The median seconds of a stage; `None` if it was not measured.
fn median_of(runs: &[Run], n_clusters: usize, n_threads: usize, stage: &str) -> Option<f64> {
    let of = |run: &&Run| run.n_clusters == n_clusters && run.n_threads == n_threads;
    let values: Vec<f64> = runs.iter().filter(of).filter_map(|run| run.seconds.get(stage).copied()).collect();
    (!values.is_empty()).then(|| median(values))
}

/// How many times as fast a stage is on one number of threads as on another.
fn speed_up(runs: &[Run], n_clusters: usize, stage: &str, few: usize, many: usize) -> Option<f64> {
    let seconds = |n_threads| median_of(runs, n_clusters, n_threads, stage);
    Some(seconds(few)? / seconds(many).filter(|&seconds| seconds > 0.0)?)
}

fn by_threads(runs: &[Run], n_clusters: usize, threads: &[usize]) -> Table {
    let (few, many) = (fewest(threads), most(threads));
    let columns = threads.iter().map(ToString::to_string);
    let mut table =
        Table::new(["stage".to_owned()].into_iter().chain(columns).chain(["times as fast".to_owned()]));
    let mut stages: Vec<&str> = STAGES.to_vec();
    let known = runs.iter().filter(|run| run.n_clusters == n_clusters).flat_map(|run| run.seconds.keys());
    let mut others: Vec<&str> = known.map(String::as_str).filter(|stage| !STAGES.contains(stage)).collect();
    others.sort_unstable();
    others.dedup();
    stages.extend(others);
    for stage in stages {
        let seconds = |&n: &usize| median_of(runs, n_clusters, n, stage).map_or(Cell::Empty, Cell::seconds);
        let ratio = speed_up(runs, n_clusters, stage, few, many);
        let mut row = vec![Cell::text(stage)];
        row.extend(threads.iter().map(seconds));
        row.push(ratio.map_or(Cell::Empty, |ratio| Cell::number(ratio, 2)));
        table.push(row);
    }
    table
}

fn fewest(threads: &[usize]) -> usize {
    threads.iter().copied().min().unwrap_or(1)
}

fn most(threads: &[usize]) -> usize {
    threads.iter().copied().max().unwrap_or(1)
}

/// The speed-up of every stage by the number of threads, beside that of an ideal machine.
fn speed_ups(runs: &[Run], n_clusters: usize, threads: &[usize]) -> Panel {
    let few = fewest(threads);
    let line = |stage: &str| {
        let point = |&n: &usize| Some((n as f64, speed_up(runs, n_clusters, stage, few, n)?));
        series(stage, threads.iter().filter_map(point).collect())
    };
    let mut lines: Vec<Series> = STAGES.iter().map(|stage| line(stage)).collect();
    let ideal = threads.iter().map(|&n| (n as f64, n as f64 / few as f64)).collect();
    lines.push(Series { join: Join::Dotted, ..series("ideal", ideal) });
    Panel {
        title: format!("speed-up, k = {n_clusters}"),
        x: Axis::log("threads"),
        y: Axis::log("times as fast"),
        series: lines,
    }
}

/// The seconds of every stage by the number of clusters.
fn by_clusters(runs: &[Run], n_clusters: &[usize], n_threads: usize) -> Panel {
    let line = |stage: &str| {
        let point = |&k: &usize| Some((k as f64, median_of(runs, k, n_threads, stage)?));
        // On a logarithmic axis there is no place for nothing.
        series(stage, n_clusters.iter().filter_map(point).filter(|point| point.1 > 0.0).collect())
    };
    Panel {
        title: format!("seconds, {n_threads} threads"),
        x: Axis::log("clusters (k)"),
        y: Axis::log("seconds"),
        series: STAGES.iter().map(|stage| line(stage)).collect(),
    }
}

fn series(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), points, ranges: Vec::new(), join: Join::Line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_iterations_and_of_their_parts_add_up() {
        let trace: Value = serde_json::from_str(
            r#"{"seconds": {"read": 1.5, "seed": {"draws": 2.0}},
                "after": {"names": 0.25}, "runs": [{"seeding_phases": {"index": 0.5}}],
                "iterations": [{"seconds": {"assign": 1.0, "phases": {"scan": 0.5}}},
                               {"seconds": {"assign": 2.0, "phases": {"scan": 0.25}}}]}"#,
        )
        .unwrap();
        let expected = [
            ("after names", 0.25),
            ("cluster assign", 3.0),
            ("cluster phases scan", 0.75),
            ("read", 1.5),
            ("seed draws", 2.0),
            ("seed index", 0.5),
        ];
        let found = seconds(&trace);
        assert_eq!(found.iter().map(|(name, &s)| (name.as_str(), s)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_of_threads_double_up_to_all() {
        assert_eq!(doubled(1), [1]);
        assert_eq!(doubled(2), [1, 2]);
        assert_eq!(doubled(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn medians_are_over_the_runs_of_one_number_of_threads() {
        let run = |n_threads, total: f64| Run {
            n_clusters: 5,
            n_threads,
            seconds: Seconds::from([("total".to_owned(), total)]),
            peak_bytes: None,
        };
        let runs = [run(1, 8.0), run(1, 12.0), run(1, 9.0), run(4, 3.0)];
        assert_eq!(median_of(&runs, 5, 1, "total"), Some(9.0));
        assert_eq!(speed_up(&runs, 5, "total", 1, 4), Some(3.0));
        assert_eq!(median_of(&runs, 5, 1, "read"), None);
        assert_eq!(median_of(&runs, 6, 1, "total"), None);
    }
}
