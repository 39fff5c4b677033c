//! The peak memory of a run, beside the size of its input: `cargo run --release --example memory [ROWS] [K]`.
//!
//! Generates text-like rows (a million of 13 terms each, if not told otherwise), then clusters them with the strategy `inverted` and compares the
//! process's peak with four times the matrix plus the centroids. Reads the peak from /proc, so it runs on Linux only.

use std::error::Error;
use std::fs;

use docsphere::{SphericalKMeans, Strategy};
use docsphere_testkit::zipf::ZipfText;

const MB: f64 = 1e6;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let n_docs: usize = args.next().map_or(Ok(1_000_000), |arg| arg.parse())?;
    let n_clusters: usize = args.next().map_or(Ok(5_000), |arg| arg.parse())?;
    let rows = ZipfText { n_docs, n_terms: 400_000, n_topics: 2_000, mean_terms: 13, seed: 1 }.rows();

    // What the generator needed does not count: the peak starts anew from here.
    fs::write("/proc/self/clear_refs", "5")?;
    let before = status_bytes("VmRSS:")?;
    let fit = SphericalKMeans::params(n_clusters).strategy(Strategy::Inverted).max_iter(3).fit(&rows)?;
    let peak = status_bytes("VmHWM:")?;

    let csr = rows.as_sparse().memory_bytes() as f64;
    let centroids = fit.model.centroids().memory_bytes() as f64;
    let limit = 4.0 * csr + centroids;
    println!("rows {n_docs}, nonzeros {}, k {n_clusters}, terms {}", rows.nnz(), rows.n_terms());
    println!("matrix      {:>8.1} MB, {:.2} bytes a nonzero", csr / MB, csr / rows.nnz() as f64);
    println!("centroids   {:>8.1} MB, {} entries", centroids / MB, fit.model.centroids().nnz());
    println!("before      {:>8.1} MB resident", before / MB);
    println!("peak        {:>8.1} MB resident", peak / MB);
    println!("limit       {:>8.1} MB, four times the matrix plus the centroids", limit / MB);
    if peak >= limit {
        return Err("the peak is above the limit".into());
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
