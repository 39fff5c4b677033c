//! Groups of options that several subcommands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use docsphere::{Init, SphericalKMeans, Strategy};

use crate::input::Source;
use crate::measure::Job;

/// The seeding that all compared runs share, and their time limit.
#[derive(Args, Clone, Debug)]
pub(crate) struct TurnArgs {
    /// Seeding method: random, plain-k-means++, greedy, greedy:CANDIDATES
    #[arg(long, value_name = "INIT", default_value = "plain-k-means++")]
    pub(crate) init: InitArg,

    /// Stop a run that would take longer than this, and extrapolate from the iterations done
    #[arg(long, value_name = "SECONDS")]
    pub(crate) cap: Option<f64>,
}

/// How the loop is run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clustering")]
pub(crate) struct FitArgs {
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = SphericalKMeans::params(1).seed)]
    pub(crate) seed: u64,

    /// Maximum number of iterations per run
    #[arg(long, value_name = "N", default_value_t = SphericalKMeans::params(1).max_iter)]
    pub(crate) max_iter: usize,

    /// Stop when every centroid has moved by a squared distance of less than this
    #[arg(long, value_name = "X", default_value_t = SphericalKMeans::params(1).tol)]
    pub(crate) tol: f64,
}

impl FitArgs {
    /// The job: the rows, k, threads and these options.
    pub(crate) fn job<'a>(
        &self,
        rows: &'a docsphere::UnitRows<'a>,
        n_clusters: usize,
        n_threads: usize,
    ) -> Job<'a> {
        Job { rows, n_clusters, n_threads, max_iter: self.max_iter, tol: self.tol }
    }
}

/// One corpus.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// A corpus or matrix file, or text-like generated rows: `generated`, `generated:TERMS_PER_ROW`
    #[arg(long, value_name = "FILE", default_value = "generated")]
    pub(crate) corpus: Source,
}

/// Where results are written, besides standard output.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutArgs {
    /// Folder for the tables as Markdown and CSV, every single run, and the figures
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// All cores, unless a number of threads is given.
pub(crate) fn threads_or_all(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(docsphere::all_cores)
}

/// The given strategies, or all of them, `baseline` first: others are compared with the first.
pub(crate) fn strategies_or_all(given: &[Strategy]) -> Vec<Strategy> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let mut all = Strategy::ALL.to_vec();
    all.sort_by_key(|strategy| *strategy != Strategy::Baseline);
    all
}

/// A seeding method as typed: the library's name, `greedy`, or `greedy:CANDIDATES`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InitArg {
    pub(crate) init: Init,
    pub(crate) name: String,
}

impl FromStr for InitArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, candidates) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let init = match (name, candidates) {
            ("greedy", None) => Init::PlusPlus { candidates: None },
            ("greedy" | "k-means++", Some(number)) => {
                let candidates = number.parse().map_err(|error| format!("{number:?}: {error}"))?;
                Init::PlusPlus { candidates: Some(candidates) }
            }
            (name, None) if Init::NAMES.contains(&name) => name.parse().expect("a name of the library"),
            _ => {
                return Err("one of random, plain-k-means++, greedy, greedy:CANDIDATES".to_owned());
            }
        };
        let name = match candidates {
            Some(candidates) => format!("{}:{candidates}", init.name()),
            None => init.name().to_owned(),
        };
        Ok(InitArg { init, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_seeding_are_found_by_name() {
        let init = |text: &str| text.parse::<InitArg>().map(|arg| arg.init);
        assert_eq!(init("random"), Ok(Init::Random));
        assert_eq!(init("plain-k-means++"), Ok(Init::PlainPlusPlus));
        assert_eq!(init("greedy"), Ok(Init::PlusPlus { candidates: None }));
        assert_eq!(init("k-means++:8"), Ok(Init::PlusPlus { candidates: Some(8) }));
        assert_eq!("greedy:8".parse::<InitArg>().unwrap().name, "k-means++:8");
        assert!(init("best").is_err() && init("random:3").is_err() && init("greedy:x").is_err());
    }

    #[test]
    fn baseline_comes_first_if_nothing_is_named() {
        let all = strategies_or_all(&[]);
        assert_eq!((all[0], all.len()), (Strategy::Baseline, Strategy::ALL.len()));
        assert_eq!(strategies_or_all(&[Strategy::Ncc]), [Strategy::Ncc]);
    }
}
