//! Interrupt a run, and continue it to the same bits: `cargo run --example resume`.

use std::error::Error;
use std::ops::ControlFlow;

use docsphere::{Checkpoint, Event, FitOptions, SparseRows, SphericalKMeans, UnitRows};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let rows = rows()?;
    let params = SphericalKMeans::params(20).seed(1).tol(0.0).check()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.checkpoint");

    // A run that someone stops after three iterations. It writes a checkpoint every ten, and when
    // it is stopped; a process that is killed leaves the last one.
    let mut stop_early = |event: &Event<'_>| match event {
        Event::Iteration(record) if record.iteration == 3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let options = FitOptions::default().observer(&mut stop_early).checkpoint(&path, 10);
    let stopped = params.fit_with(&rows, options)?;
    println!("stopped after {} iterations, objective {:.3}", stopped.n_iter, stopped.objective);

    // The same rows and options, and the checkpoint. Strategy, threads and `max_iter` may differ.
    let options = FitOptions::default().resume(Checkpoint::load(&path)?);
    let resumed = params.fit_with(&rows, options)?;
    println!("ended after {} iterations, objective {:.3}", resumed.n_iter, resumed.objective);

    let in_one_go = params.fit(&rows)?;
    assert!(stopped.n_iter < resumed.n_iter);
    assert_eq!(resumed.labels, in_one_go.labels);
    assert_eq!(resumed.model.centroids(), in_one_go.model.centroids());
    assert_eq!(resumed.objective.to_bits(), in_one_go.objective.to_bits());
    Ok(())
}

/// Rows with some structure: each takes its terms from the range of one of 20 subjects.
fn rows() -> docsphere::Result<UnitRows<'static>> {
    let (n_rows, terms_per_row, n_terms) = (2_000u64, 8, 2_000);
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut terms = Vec::new();
    for _ in 0..n_rows {
        let subject = random(20);
        // Ranges overlap by half, so that it takes some iterations to tell subjects apart.
        terms.extend((0..terms_per_row).map(|_| ((subject * 100 + random(200)) % n_terms) as u32));
    }
    let offsets: Vec<u64> = (0..=n_rows).map(|row| row * terms_per_row).collect();
    let values = vec![1.0; terms.len()];
    Ok(UnitRows::new(SparseRows::from_parts(n_terms as usize, offsets, terms, values)?))
}
