//! `seeding`: what does each seeding method cost, and what does it gain?

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args as ClapArgs;
use docsphere::Strategy;

use super::runs::remark_on_others;
use crate::args::{FitArgs, InitArg, InputArgs, OutArgs, threads_or_all};
use crate::report::{Axis, Cell, Join, Panel, Report, Series, Table};
use crate::statistics::{least, mean};

/// Every seeding method with several seeds: seconds, iterations, objective, and the gain over
/// random seeding
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

    /// Seeding methods: random, plain-k-means++, greedy, greedy:CANDIDATES
    #[arg(
        long,
        value_name = "INIT,...",
        value_delimiter = ',',
        default_value = "random,plain-k-means++,greedy"
    )]
    inits: Vec<InitArg>,

    /// Number of seeds, counted from --seed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// Assignment strategy of the loop
    #[arg(long, value_name = "NAME", default_value_t = Strategy::Auto)]
    strategy: Strategy,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    #[command(flatten)]
    fit: FitArgs,

    #[command(flatten)]
    out: OutArgs,
}

/// One run.
struct Sample {
    init: String,
    seed: u64,
    seeding_seconds: f64,
    loop_seconds: f64,
    n_iter: usize,
    objective: f64,
    /// The share of all cores that other processes used during the loop.
    others: Option<f64>,
}

impl Sample {
    fn total_seconds(&self) -> f64 {
        self.seeding_seconds + self.loop_seconds
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let n_threads = threads_or_all(args.threads);
    let mut report = Report::new("seeding");
    let loaded = args.input.corpus.load(args.docs, n_threads)?;
    report.input(loaded.describe());
    let mut means = Table::new([
        "k",
        "init",
        "seeding seconds",
        "least seeding",
        "loop seconds",
        "total seconds",
        "iterations",
        "objective",
        "gain over random %",
    ]);
    let mut runs = Table::new([
        "corpus",
        "documents",
        "k",
        "init",
        "seed",
        "seeding seconds",
        "loop seconds",
        "iterations",
        "objective",
    ]);
    let (mut panels, mut others) = (Vec::new(), Vec::new());
    for &n_clusters in &args.k {
        let samples = measure(args, &loaded.rows, n_clusters, n_threads)?;
        for sample in &samples {
            others.extend(sample.others.map(|share| (sample.loop_seconds, share)));
            runs.push(vec![
                Cell::text(&loaded.name),
                Cell::count(loaded.rows.n_rows()),
                Cell::count(n_clusters),
                Cell::text(&sample.init),
                Cell::Count(sample.seed),
                Cell::seconds(sample.seeding_seconds),
                Cell::seconds(sample.loop_seconds),
                Cell::count(sample.n_iter),
                Cell::number(sample.objective, 6),
            ]);
        }
        add_means(&mut means, args, n_clusters, &samples);
        panels.push(panel(args, format!("{}, k = {n_clusters}", loaded.name), &samples));
    }
    report.table("seeding", "Means over the seeds", means);
    report.raw_table("seeding-runs", runs);
    report.figure("seeding", &panels)?;
    report.remark(format!(
        "{} seeds from {}; {n_threads} threads; the loop by {}. Seeding methods run in turn for each seed.",
        args.seeds, args.fit.seed, args.strategy
    ));
    report.remark("gain: of the mean objective, in percent of that of random seeding.");
    report.remark(remark_on_others(&others));
    report.publish(args.out.out.as_deref())
}

fn measure(
    args: &Args,
    rows: &docsphere::UnitRows<'_>,
    n_clusters: usize,
    n_threads: usize,
) -> Result<Vec<Sample>> {
    let job = args.fit.job(rows, n_clusters, n_threads);
    let mut samples = Vec::new();
    for seed in args.fit.seed..args.fit.seed + args.seeds {
        for InitArg { init, name } in &args.inits {
            let seeds = job.seed(init, seed)?;
            let run = job.run(&seeds.centroids, args.strategy, None)?;
            eprintln!(
                "k = {n_clusters}, {name}, seed {seed}: {:.3} s seeding, {:.3} s loop, {} iterations, objective {:.3}",
                seeds.seconds, run.seconds, run.n_iter, run.objective
            );
            samples.push(Sample {
                init: name.clone(),
                seed,
                seeding_seconds: seeds.seconds,
                loop_seconds: run.seconds,
                n_iter: run.n_iter,
                objective: run.objective,
                others: run.others,
            });
        }
    }
    Ok(samples)
}

fn add_means(table: &mut Table, args: &Args, n_clusters: usize, samples: &[Sample]) {
    let mut by_init: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        by_init.entry(&sample.init).or_default().push(sample);
    }
    let mean_of = |init: &str, number: fn(&Sample) -> f64| {
        by_init.get(init).map(|samples| mean(samples.iter().map(|sample| number(sample))))
    };
    let random = mean_of("random", |sample| sample.objective);
    for InitArg { name, .. } in &args.inits {
        let number = |number: fn(&Sample) -> f64| mean_of(name, number).unwrap_or(f64::NAN);
        let objective = number(|sample| sample.objective);
        table.push(vec![
            Cell::count(n_clusters),
            Cell::text(name),
            Cell::seconds(number(|sample| sample.seeding_seconds)),
            Cell::seconds(least(by_init[name.as_str()].iter().map(|sample| sample.seeding_seconds))),
            Cell::seconds(number(|sample| sample.loop_seconds)),
            Cell::seconds(number(Sample::total_seconds)),
            Cell::number(number(|sample| sample.n_iter as f64), 1),
            Cell::number(objective, 4),
            random.map_or(Cell::Empty, |random| Cell::number(gain_percent(objective, random), 3)),
        ]);
    }
}

fn gain_percent(objective: f64, random: f64) -> f64 {
    (objective / random - 1.0) * 100.0
}

fn panel(args: &Args, title: String, samples: &[Sample]) -> Panel {
    let series = |init: &InitArg| Series {
        name: init.name.clone(),
        points: samples
            .iter()
            .filter(|sample| sample.init == init.name)
            .map(|sample| (sample.total_seconds(), sample.objective))
            .collect(),
        ranges: Vec::new(),
        join: Join::None,
    };
    Panel {
        title,
        x: Axis::log("seconds, seeding and loop"),
        y: Axis::linear("objective"),
        series: args.inits.iter().map(series).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_in_per_cent_of_random() {
        assert!((gain_percent(102.5, 100.0) - 2.5).abs() < 1e-12);
        assert!(gain_percent(99.0, 100.0) < 0.0);
    }
}
