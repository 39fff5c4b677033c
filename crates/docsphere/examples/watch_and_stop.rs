//! Watch a run, and stop it with the result so far: `cargo run --example watch_and_stop`.

use std::ops::ControlFlow;

use docsphere::{Event, FitOptions, SparseRows, SphericalKMeans, StopReason, UnitRows};

pub(crate) fn main() -> docsphere::Result<()> {
    let rows = rows()?;

    // Any closure can be an observer. This one stops when an iteration gains less than 1 %.
    let mut last = 0.0;
    let mut observer = |event: &Event<'_>| {
        if let Event::Iteration(record) = event {
            println!(
                "iteration {:>2}: objective {:.1}, {} rows moved",
                record.iteration, record.objective, record.moved_docs
            );
            let gained_little = record.objective < 1.01 * last;
            last = record.objective;
            if gained_little {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };

    let options = FitOptions::default().observer(&mut observer);
    let fit = SphericalKMeans::params(20).seed(1).tol(0.0).fit_with(&rows, options)?;
    // Labels, centroids and objective belong together, whatever ended the run. To abandon a run at
    // once and without a result there is `FitOptions::cancel`.
    println!("ended after {} iterations: {:?}, converged: {}", fit.n_iter, fit.stop, fit.converged());
    assert_eq!(fit.stop, StopReason::Observer);
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
