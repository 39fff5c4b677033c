//! How rows are clustered: the library's params under their own names.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use clap::Args;
use docsphere::{Centroids, Device, Effort, Init, Params, Refine, SphericalKMeans, Strategy, formats};

use super::UsageError;
use crate::memory;

/// The library's defaults, which do not depend on the number of clusters.
static DEFAULTS: LazyLock<Params> = LazyLock::new(|| SphericalKMeans::params(1));

/// The default thresholds, as typed on the command line.
static LAMBDAS: LazyLock<String> = LazyLock::new(|| {
    let lambdas: Vec<String> = DEFAULTS.lambdas.iter().map(f64::to_string).collect();
    lambdas.join(",")
});

fn on_or_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

/// Centroids from a matrix file.
fn read_centroids(path: &Path) -> Result<Centroids> {
    let memory = memory::of_readers();
    let options = formats::ReadOptions::default().memory(memory.clone());
    let rows = formats::read_with(path, &options)?;
    // Rows are scaled, and then copied one by one.
    memory.check("the matrix", 2 * rows.memory_bytes() as u64 + 32 * rows.n_rows() as u64)?;
    Ok(Centroids::from_rows(rows))
}

/// The number of clusters, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterNumber {
    Given(usize),
    /// To be chosen by measures.
    Auto,
}

impl std::str::FromStr for ClusterNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(ClusterNumber::Auto),
            _ if text.contains("..") || text.contains(',') => {
                Err("give one number, or auto; docsphere sweep compares several".to_owned())
            }
            _ => text.parse().map(ClusterNumber::Given).map_err(|_| "give a number, or auto".to_owned()),
        }
    }
}

/// How rows are clustered.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clustering")]
pub(crate) struct ClusterArgs {
    /// How the initial centroids are chosen: merge, k-means++, plain-k-means++, random, or a matrix
    /// file of centroids
    #[arg(long, value_name = "INIT", default_value = DEFAULTS.init.name())]
    init: String,

    /// Candidates per step of k-means++ [default: 4]
    #[arg(long, value_name = "N")]
    candidates: Option<usize>,

    /// Small clusters per cluster, before merges [default: 10 up to 100 clusters, 5 up to
    /// 1,000, 2 above; fast: 2]
    #[arg(long, value_name = "N")]
    fine: Option<usize>,

    /// How much time to spend on better clusters: fast, default or best. Sets the next three
    /// options and the number of small clusters, unless they are given
    #[arg(long, value_name = "NAME", default_value_t)]
    effort: Effort,

    /// Number of runs with different seeds, of which the best is kept; 5 with effort best
    /// [default: 1]
    #[arg(long, value_name = "N")]
    n_init: Option<usize>,

    /// After convergence, move single documents if the objective gains, and go on: on or off; off
    /// with effort fast [default: on]
    #[arg(long, value_name = "on|off", value_parser = on_or_off)]
    variation: Option<bool>,

    /// Further runs from the best one so far, to which new small clusters are added and merged; 10
    /// with effort best [default: 0]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// What follows the loop: none, or root: root centroids, which often agree better with people's
    /// judgement on short texts, but no longer maximise the objective
    #[arg(long, value_name = "NAME", default_value_t = DEFAULTS.refine)]
    refine: Refine,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = DEFAULTS.seed)]
    pub(crate) seed: u64,

    /// Maximum number of iterations per run
    #[arg(long, value_name = "N", default_value_t = DEFAULTS.max_iter)]
    pub(crate) max_iter: usize,

    /// Stop when every centroid has moved by a squared distance of less than this
    #[arg(long, value_name = "X", default_value_t = DEFAULTS.tol)]
    tol: f64,

    /// Assignment strategy: auto, baseline, ncc, index, ncc-index, inverted, drift. Never changes
    /// the result
    #[arg(long, value_name = "NAME", default_value_t = DEFAULTS.strategy)]
    pub(crate) strategy: Strategy,

    /// Where labels are found: cpu; cuda, a GPU with the driver by NVIDIA and NVRTC; or auto, a GPU
    /// if one can be used. Never changes the result
    #[arg(long, value_name = "NAME", default_value_t = DEFAULTS.device)]
    pub(crate) device: Device,

    /// Thresholds of the strategies index and ncc-index
    #[arg(long, value_name = "X,X,...", value_delimiter = ',', default_value = LAMBDAS.as_str())]
    lambdas: Vec<f64>,

    /// ncc-index builds its index only while more clusters than this change
    #[arg(long, value_name = "N", default_value_t = DEFAULTS.index_min_changed)]
    index_min_changed: usize,

    /// Number of threads [default: all cores]. Never changes the result
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

impl ClusterArgs {
    /// The file of initial centroids, if `--init` names one.
    pub(crate) fn init_file(&self) -> Option<&Path> {
        Some(Path::new(&self.init)).filter(|_| !Init::NAMES.contains(&self.init.as_str()))
    }

    /// The library's params, not yet validated, for this number of clusters; without one, for as
    /// many as there are initial centroids, or 2.
    pub(crate) fn params(&self, n_clusters: Option<usize>) -> Result<Params> {
        let preset = SphericalKMeans::params(n_clusters.unwrap_or(2)).effort(self.effort);
        let (n_init, variation, rounds) = (preset.n_init, preset.variation, preset.rounds);
        let init = self.init(&preset.init)?;
        let preset = match (&init, n_clusters) {
            (Init::Given(centroids), None) => {
                SphericalKMeans::params(centroids.n_clusters()).effort(self.effort)
            }
            _ => preset,
        };
        Ok(preset
            .init(init)
            .n_init(self.n_init.unwrap_or(n_init))
            .variation(self.variation.unwrap_or(variation))
            .rounds(self.rounds.unwrap_or(rounds))
            .refine(self.refine)
            .seed(self.seed)
            .max_iter(self.max_iter)
            .tol(self.tol)
            .strategy(self.strategy)
            .device(self.device)
            .lambdas(self.lambdas.clone())
            .index_min_changed(self.index_min_changed)
            .n_threads(self.threads))
    }

    fn init(&self, preset: &Init) -> Result<Init> {
        let init = match (self.init.parse(), self.init_file()) {
            (Ok(init), _) => init,
            (Err(_), Some(path)) if path.exists() => Init::Given(read_centroids(path)?),
            _ => {
                let (names, got) = (Init::NAMES.join(", "), &self.init);
                let message = format!("--init must be {names} or a matrix file, got \"{got}\"");
                return Err(UsageError(message).into());
            }
        };
        match (init, self.candidates, self.fine) {
            (Init::PlusPlus { .. }, candidates, None) => Ok(Init::PlusPlus { candidates }),
            (Init::Merge { .. }, None, None) => Ok(preset.clone()),
            (Init::Merge { .. }, None, fine) => Ok(Init::Merge { fine }),
            (_, Some(_), _) => {
                Err(UsageError("--candidates goes with --init k-means++ only".to_owned()).into())
            }
            (_, _, Some(_)) => Err(UsageError("--fine goes with --init merge only".to_owned()).into()),
            (init, None, None) => Ok(init),
        }
    }

    /// The params of a sweep: one start per number of clusters, so no number of runs from an
    /// effort.
    pub(crate) fn params_of_sweep(&self) -> Result<Params> {
        if self.init != Init::default().name() {
            let message = "--init must be merge in a sweep, which cuts one tree of merged clusters; docsphere cluster takes the others";
            return Err(UsageError(message.to_owned()).into());
        }
        if self.n_init.is_some_and(|n_init| n_init != 1) {
            let message = "--n-init must be 1 in a sweep, where each number of clusters has one start; --rounds searches further from it";
            return Err(UsageError(message.to_owned()).into());
        }
        let params = self.params(Some(2))?;
        Ok(if self.n_init.is_none() { params.n_init(1) } else { params })
    }

    /// The number of threads that will be used.
    pub(crate) fn n_threads(&self) -> usize {
        self.threads.unwrap_or_else(docsphere::all_cores)
    }
}
