//! The peak memory of a run, beside its forecast:
//! `cargo run --release --example memory [ROWS] [K] [STRATEGY]`.
//!
//! Generates text-like rows (a million of 13 terms each and 5,000 clusters, if not told otherwise),
//! then clusters them with the default strategy. Fails if the process held more than the forecast.
//! Reads the peak from /proc, so it runs on Linux only.

use std::error::Error;
use std::fs;

use docsphere::{SphericalKMeans, Strategy};
use docsphere_testkit::zipf::ZipfText;

const MB: f64 = 1e6;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let n_docs: usize = args.next().map_or(Ok(1_000_000), |arg| arg.parse())?;
    let n_clusters: usize = args.next().map_or(Ok(5_000), |arg| arg.parse())?;
    let strategy: Strategy = args.next().map_or(Ok(Strategy::Auto), |arg| arg.parse())?;
    let rows = ZipfText { n_docs, n_terms: 400_000, n_topics: 2_000, mean_terms: 13, seed: 1 }.rows();

    let csr = rows.as_sparse().memory_bytes() as f64;
    println!("rows {n_docs}, nonzeros {}, k {n_clusters}, terms {}", rows.nnz(), rows.n_terms());
    println!("matrix      {:>8.1} MB, {:.2} bytes per nonzero", csr / MB, csr / rows.nnz() as f64);
    let params = SphericalKMeans::params(n_clusters).strategy(strategy).max_iter(3).check()?;
    let forecast = params.memory_forecast(&rows).total() as f64;
    // What the generator needed does not count: the peak starts anew from here.
    fs::write("/proc/self/clear_refs", "5")?;
    let before = status_bytes("VmRSS:")?;
    let fit = params.fit(&rows)?;
    let added = status_bytes("VmHWM:")? - before;
    let centroids = fit.model.centroids();
    let dense = 4.0 * (n_clusters * rows.n_terms()) as f64;
    println!("centroids   {:>8.1} MB, {} entries", centroids.memory_bytes() as f64 / MB, centroids.nnz());
    println!("before      {:>8.1} MB resident", before / MB);
    println!("added       {:>8.1} MB at the peak, with {strategy}", added / MB);
    println!("forecast    {:>8.1} MB", forecast / MB);
    println!("dense       {:>8.1} MB for an array of clusters times terms", dense / MB);
    if added > forecast {
        return Err("the run held more than its forecast".into());
    }
    Ok(())
}

/// A number of bytes from the process's status.
fn status_bytes(key: &str) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find(|line| line.starts_with(key)).ok_or("no such line in /proc/self/status")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kilobytes * 1024.0)
}
