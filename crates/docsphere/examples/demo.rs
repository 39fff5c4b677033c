//! Clusters generated, text-like rows and shows what came out: `cargo run --release --example demo [ROWS] [K]`.

use std::error::Error;
use std::ops::ControlFlow;

use docsphere::{ClusterId, Event, Fit, FitOptions, SphericalKMeans};
use docsphere_testkit::zipf::ZipfText;

const N_SHOWN: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let n_docs: usize = args.next().map_or(Ok(20_000), |arg| arg.parse())?;
    let n_clusters: usize = args.next().map_or(Ok(200), |arg| arg.parse())?;
    let rows = ZipfText { n_docs, n_terms: 30_000, n_topics: 200, mean_terms: 30, seed: 1 }.rows();
    println!(
        "{n_docs} generated documents, {:.1} terms each; k = {n_clusters}\n",
        rows.nnz() as f64 / n_docs as f64
    );

    println!("iteration  strategy    moved   changed  objective");
    let mut observer = |event: &Event<'_>| {
        if let Event::Iteration(record) = event {
            println!(
                "{:>9}  {:<9} {:>7} {:>9}  {:.2}",
                record.iteration,
                record.strategy,
                record.moved_docs,
                record.changed_clusters,
                record.objective
            );
        }
        ControlFlow::Continue(())
    };
    let params = SphericalKMeans::params(n_clusters).check()?;
    let fit = params.fit_with(&rows, FitOptions::default().observer(&mut observer))?;

    let seconds: f64 = fit.trace.iterations.iter().map(|record| record.seconds.total()).sum();
    let seeding = fit.trace.runs[fit.trace.best_run].seeding_seconds;
    println!(
        "\n{:?} after {} iterations: {seeding:.2} s for the seeds, {seconds:.2} s for the loop\n",
        fit.stop, fit.n_iter
    );
    show_largest(&fit, n_clusters);
    Ok(())
}

/// The largest clusters, their mean similarity and their heaviest terms.
fn show_largest(fit: &Fit, n_clusters: usize) {
    let mut sizes = vec![0usize; n_clusters];
    let mut similarities = vec![0.0; n_clusters];
    for (&label, similarity) in fit.labels.as_slice().iter().zip(&fit.similarities) {
        if let Ok(cluster) = usize::try_from(label) {
            sizes[cluster] += 1;
            similarities[cluster] += similarity;
        }
    }
    let mut order: Vec<usize> = (0..n_clusters).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster]));
    println!("cluster   size  cohesion  heaviest terms");
    for &cluster in order.iter().take(N_SHOWN) {
        let centroid = fit.model.centroids().centroid(ClusterId::new(cluster as u32));
        let mut entries: Vec<(u32, f32)> = centroid.iter().collect();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1));
        let terms: Vec<String> = entries.iter().take(6).map(|(term, _)| format!("t{term}")).collect();
        let cohesion = similarities[cluster] / sizes[cluster].max(1) as f64;
        println!("{cluster:>7} {:>6} {cohesion:>9.3}  {}", sizes[cluster], terms.join(" "));
    }
}
