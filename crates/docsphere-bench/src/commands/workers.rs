//! `workers`: what do messages cost, and how does a job scale with the number of workers?
//!
//! The workers are threads of this process, each with a pool and rows of its own, and every message
//! is encoded and decoded as for another machine. Not measured: the network, and the executor that
//! carries messages (Ray has its own test and run).

use std::sync::mpsc::channel;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use docsphere::{
    Coordinator, Event, FitOptions, Init, ShardWorker, SparseRows, SphericalKMeans, Trace, Traffic,
    Transport, UnitRows, ValidParams,
};

use crate::args::{FitArgs, InputArgs, OutArgs};
use crate::input::Loaded;
use crate::measure::cpu_seconds;
use crate::report::{Cell, Report, Table};

/// Bytes per iteration, time and CPU time of a job on workers, beside one process
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Use only this many documents
    #[arg(long, value_name = "N")]
    docs: Option<usize>,

    /// Number of clusters
    #[arg(long, value_name = "K", default_value_t = 100)]
    k: usize,

    /// Numbers of workers
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_value = "1,2,4")]
    workers: Vec<usize>,

    /// Threads of each worker
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    /// Threads of the process to compare with, and of the coordinator
    #[arg(long, value_name = "N", default_value_t = 2)]
    own_threads: usize,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

/// One run.
struct Measured {
    seconds: f64,
    cpu_seconds: f64,
    trace: Trace,
    labels: Vec<i32>,
    objective: f64,
    /// Before the first iteration, and in all.
    traffic: Option<[Traffic; 2]>,
}

impl Measured {
    fn seeding_seconds(&self) -> f64 {
        self.trace.runs.iter().map(|run| run.seeding_seconds).sum()
    }

    fn loop_seconds(&self) -> f64 {
        self.trace.iterations.iter().map(|record| record.seconds.total()).sum()
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let loaded = args.input.corpus.load(args.docs, args.own_threads)?;
    let params = SphericalKMeans::params(args.k)
        .init(Init::default())
        .seed(args.fit.seed)
        .max_iter(args.fit.max_iter)
        .tol(args.fit.tol)
        .n_threads(args.own_threads)
        .check()?;
    let mut table = Table::new([
        "workers",
        "threads",
        "iterations",
        "seeding seconds",
        "loop seconds",
        "CPU seconds",
        "rounds of seeding",
        "MB of seeding",
        "rounds of the loop",
        "MB down",
        "MB up",
        "MB of the last iteration",
    ]);
    let mut iterations = Table::new([
        "workers",
        "iteration",
        "moved_docs",
        "changed_clusters",
        "bytes_down",
        "bytes_up",
        "seconds",
    ]);
    let alone = alone(&loaded.rows, &params)?;
    push(&mut table, "one process", args.own_threads, &alone, None);
    for &n_workers in &args.workers {
        ensure!(n_workers > 0, "--workers must be at least 1");
        let mut marks = Vec::new();
        let measured = on_workers(&loaded, &params, n_workers, args.threads, &mut marks)?;
        ensure!(
            measured.labels == alone.labels && measured.objective.to_bits() == alone.objective.to_bits(),
            "{n_workers} workers give another result than one process: a defect"
        );
        let last = marks.windows(2).last().map(|pair| bytes(pair[1]) - bytes(pair[0]));
        push(&mut table, &n_workers.to_string(), args.threads, &measured, last);
        for (record, pair) in measured.trace.iterations.iter().zip(marks.windows(2)) {
            iterations.push(vec![
                Cell::count(n_workers),
                Cell::count(record.iteration),
                Cell::count(record.moved_docs as usize),
                Cell::count(record.changed_clusters as usize),
                Cell::count((pair[1].bytes_down - pair[0].bytes_down) as usize),
                Cell::count((pair[1].bytes_up - pair[0].bytes_up) as usize),
                Cell::seconds(record.seconds.total()),
            ]);
        }
    }
    let mut report = Report::new("workers");
    report.input(loaded.describe());
    report.table("workers", "Jobs on workers", table);
    report.remark("Workers are threads of this process; messages are encoded and decoded, and go through no network. Bytes that are the same for all workers are counted once.");
    report.remark("Every result is identical to the bit to that of one process.");
    report.raw_table("workers-iterations", iterations);
    report.publish(args.out.out.as_deref())
}

fn bytes(traffic: Traffic) -> u64 {
    traffic.bytes_down + traffic.bytes_up
}

fn push(table: &mut Table, workers: &str, threads: usize, measured: &Measured, last: Option<u64>) {
    let megabytes = |bytes: u64| Cell::number(bytes as f64 / 1e6, 1);
    let mut row = vec![
        Cell::text(workers),
        Cell::count(threads),
        Cell::count(measured.trace.iterations.len() - 1),
        Cell::seconds(measured.seeding_seconds()),
        Cell::seconds(measured.loop_seconds()),
        Cell::seconds(measured.cpu_seconds),
    ];
    match measured.traffic {
        Some([seeding, all]) => row.extend([
            Cell::count(seeding.n_rounds as usize),
            megabytes(bytes(seeding)),
            Cell::count((all.n_rounds - seeding.n_rounds) as usize),
            megabytes(all.bytes_down - seeding.bytes_down),
            megabytes(all.bytes_up - seeding.bytes_up),
            last.map_or(Cell::Empty, megabytes),
        ]),
        None => row.extend((0..6).map(|_| Cell::Empty)),
    }
    table.push(row);
    eprintln!("{workers} workers: {:.1} s", measured.seconds);
}

fn alone(rows: &UnitRows<'_>, params: &ValidParams) -> Result<Measured> {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let fit = params.fit(rows)?;
    Ok(Measured {
        seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds() - cpu,
        labels: fit.labels.into(),
        objective: fit.objective,
        trace: fit.trace,
        traffic: None,
    })
}

/// Runs the job on workers. `marks` gets the traffic before the first iteration and after each.
fn on_workers(
    loaded: &Loaded,
    params: &ValidParams,
    n_workers: usize,
    n_threads: usize,
    marks: &mut Vec<Traffic>,
) -> Result<Measured> {
    let mut transport = Threads::new(&loaded.rows, n_workers, n_threads)?;
    let counted = transport.counted.clone();
    let mut observer = |event: &Event<'_>| {
        let now = *counted.lock().expect("nobody panics with it");
        match event {
            Event::Iteration(_) => marks.push(now),
            Event::Seeding { done, total } if done == total => marks.push(now),
            _ => {}
        }
        std::ops::ControlFlow::Continue(())
    };
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let options = FitOptions::default().observer(&mut observer);
    let fit = Coordinator::new(&mut transport).fit(params, options)?;
    let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let all = fit.traffic();
    let (labels, objective, trace) = (fit.labels()?, fit.objective, fit.trace.clone());
    drop(fit);
    let seeding = marks.first().copied().unwrap_or_default();
    Ok(Measured { seconds, cpu_seconds, trace, labels, objective, traffic: Some([seeding, all]) })
}

/// Workers on threads of this process.
struct Threads {
    workers: Vec<ShardWorker>,
    counted: std::sync::Arc<std::sync::Mutex<Traffic>>,
}

impl Threads {
    fn new(rows: &UnitRows<'_>, n_workers: usize, n_threads: usize) -> Result<Self> {
        let worker = |number: usize| -> Result<ShardWorker> {
            let bound = |number: usize| rows.n_rows() * number / n_workers;
            let worker = ShardWorker::new(n_threads, std::env::temp_dir(), Box::new(|_, _| Ok(Vec::new())))?;
            worker.load_rows(part(rows, bound(number)..bound(number + 1))?, None)?;
            Ok(worker)
        };
        let workers = (0..n_workers).map(worker).collect::<Result<_>>()?;
        Ok(Threads { workers, counted: Default::default() })
    }
}

fn part(rows: &UnitRows<'_>, range: std::ops::Range<usize>) -> Result<UnitRows<'static>> {
    let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for doc in range {
        terms.extend_from_slice(rows.row(doc).terms);
        values.extend_from_slice(rows.row(doc).values);
        offsets.push(terms.len() as u64);
    }
    Ok(UnitRows::new(SparseRows::from_parts(rows.n_terms(), offsets, terms, values)?))
}

impl Transport for Threads {
    fn n_workers(&self) -> usize {
        self.workers.len()
    }

    fn call(
        &mut self,
        requests: &[Option<Vec<u8>>],
        shared: &[u8],
        answer: &mut dyn FnMut(usize, Vec<u8>) -> docsphere::Result<()>,
    ) -> docsphere::Result<()> {
        {
            let mut counted = self.counted.lock().expect("nobody panics with it");
            counted.n_rounds += 1;
            counted.bytes_down += shared.len() as u64;
            counted.bytes_down += requests.iter().flatten().map(|request| request.len() as u64).sum::<u64>();
        }
        let (answers, answered) = channel();
        std::thread::scope(|scope| {
            for (number, request) in requests.iter().enumerate() {
                let Some(request) = request else { continue };
                let (worker, answers) = (&self.workers[number], answers.clone());
                scope.spawn(move || answers.send((number, worker.handle(request, shared))));
            }
            drop(answers);
            for (number, bytes) in answered {
                self.counted.lock().expect("nobody panics with it").bytes_up += bytes.len() as u64;
                answer(number, bytes)?;
            }
            Ok(())
        })
    }
}
