//! `device`: what does a device save in each stage, beside the CPU of the same machine?

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use docsphere::{Device, Fit, Init, MergeTree, Neighbour, SeedingSeconds, SphericalKMeans, on_threads};

use crate::args::{InputArgs, OutArgs, threads_or_all};
use crate::report::{Cell, Report, Table};

/// Seeding, loop, neighbours and merge tree on the CPU and on a device, in turn; fails if results
/// differ
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Use only the first N documents
    #[arg(long, value_name = "N")]
    docs: Option<usize>,

    /// Numbers of clusters
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', default_value = "5000")]
    k: Vec<usize>,

    /// Seeding method
    #[arg(long, value_name = "INIT", default_value = "merge")]
    init: Init,

    /// The device beside the CPU
    #[arg(long, value_name = "NAME", default_value_t = Device::Cuda)]
    device: Device,

    /// Maximum number of iterations of the loop
    #[arg(long, value_name = "N", default_value_t = SphericalKMeans::params(1).max_iter)]
    max_iter: usize,

    /// Number of runs on each
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: usize,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    #[command(flatten)]
    out: OutArgs,
}

/// One run.
struct Sample {
    fit: Fit,
    neighbours: (Vec<Vec<Neighbour>>, f64),
    tree: (MergeTree, f64),
}

pub(super) fn run(args: &Args) -> Result<()> {
    let n_threads = threads_or_all(args.threads);
    let mut report = Report::new("device");
    let loaded = args.input.corpus.load(args.docs, n_threads)?;
    report.input(loaded.describe());
    let mut table = Table::new([
        "k",
        "device",
        "run",
        "small clusters",
        "partners",
        "merges",
        "loop",
        "neighbours",
        "tree",
    ]);
    for &n_clusters in &args.k {
        let mut first: Option<Sample> = None;
        for run in 1..=args.repeats {
            for device in [Device::Cpu, args.device] {
                let sample = measured(args, &loaded.rows, n_clusters, n_threads, device)?;
                table.push(row(n_clusters, device, run, &sample));
                let Some(first) = &first else {
                    first = Some(sample);
                    continue;
                };
                let is_same = first.fit.labels == sample.fit.labels
                    && first.fit.model.centroids() == sample.fit.model.centroids()
                    && first.neighbours.0 == sample.neighbours.0
                    && first.tree.0 == sample.tree.0;
                ensure!(is_same, "k = {n_clusters}: results on {device} differ from those of the first run");
            }
        }
    }
    report.table("device", "Seconds of each run", table);
    report.remark(format!(
        "{n_threads} threads, init {}. Runs go in turn; all results are the same.",
        args.init.name()
    ));
    report.publish(args.out.out.as_deref())
}

fn measured(
    args: &Args,
    rows: &docsphere::UnitRows<'_>,
    n_clusters: usize,
    n_threads: usize,
    device: Device,
) -> Result<Sample> {
    let params = SphericalKMeans::params(n_clusters).init(args.init.clone()).max_iter(args.max_iter);
    let fit = params.n_threads(n_threads).device(device).fit(rows)?;
    let sample = on_threads(Some(n_threads), || {
        let neighbours = timed(|| fit.model.neighbours(MergeTree::NEIGHBOURS));
        let near: Vec<&[Neighbour]> = neighbours.0.iter().map(Vec::as_slice).collect();
        let tree = timed(|| MergeTree::from_neighbours(&fit.model, &near));
        Sample { fit, neighbours, tree }
    })?;
    let left = sample.fit.model.left_device();
    ensure!(left.is_none(), "the device failed: {}", left.unwrap_or_default());
    Ok(sample)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

fn row(n_clusters: usize, device: Device, run: usize, sample: &Sample) -> Vec<Cell> {
    let trace = &sample.fit.trace;
    let seeding: SeedingSeconds = trace.runs[trace.best_run].seeding_phases.unwrap_or_default();
    let of_loop: f64 = trace.iterations.iter().map(|record| record.seconds.total()).sum();
    let seconds = [
        seeding.small_clusters,
        seeding.partners,
        seeding.merge,
        of_loop,
        sample.neighbours.1,
        sample.tree.1,
    ];
    let mut cells = vec![Cell::count(n_clusters), Cell::text(device.name()), Cell::count(run)];
    cells.extend(seconds.map(Cell::seconds));
    cells
}
