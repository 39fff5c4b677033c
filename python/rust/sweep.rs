//! Several numbers of clusters beside each other.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use docsphere::{Advice, ClusterGrid, Event, Measures, Stability, Sweep, SweepOptions};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::OrRaise;
use crate::fit::{Fitted, Options};
use crate::matrix::Csr;
use crate::threads::on_threads;

/// For each number of clusters its fit, and its measures as JSON.
type Steps = Vec<(Fitted, String)>;

/// All steps, and the recommendation as JSON, if there is one.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    matrix: Csr<'_>,
    options: Options<'_>,
    n_clusters: &str,
    stability: usize,
    stability_sample: usize,
) -> PyResult<(Steps, Option<String>)> {
    let (slices, params) = (matrix.slices()?, options.params_of_sweep()?);
    let grid = n_clusters.parse::<ClusterGrid>().or_raise()?;
    let options = SweepOptions::default().stability(stability).stability_sample(stability_sample);
    let n_threads = params.n_threads.unwrap_or_else(docsphere::all_cores);
    on_threads(py, n_threads, |cancel| {
        let rows = slices.unit_rows()?;
        let mut observer = |_: &Event<'_>| match cancel.load(Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let mut sweep = Sweep::new(&rows, params, &grid, options, &mut observer).or_raise()?;
        let mut steps = Vec::new();
        while let Some(step) = sweep.step(&mut observer).or_raise()? {
            steps.push((Fitted::new(step.fit), measures(&step.measures).to_string()));
        }
        Ok((steps, sweep.advice().map(|found| advice(&found).to_string())))
    })
}

fn measures(found: &Measures) -> Value {
    let stability = |found: &Option<Stability>| {
        found.as_ref().map(|found| {
            let (least, greatest) = found.ari_range();
            json!({ "ari": found.ari(), "ari_least": least, "ari_greatest": greatest, "nmi": found.nmi() })
        })
    };
    json!({
        "n_clusters": found.n_clusters,
        "objective": found.objective,
        "mean_similarity": found.mean_similarity,
        "silhouette": found.separation.map(|found| found.silhouette),
        "simplified_silhouette": found.separation.map(|found| found.simplified_silhouette),
        "margin": found.separation.map(|found| found.margin),
        "halves": stability(&found.halves),
        "seeds": stability(&found.seeds),
    })
}

fn advice(found: &Advice) -> Value {
    json!({
        "n_clusters": found.n_clusters,
        "from": found.from,
        "to": found.to,
        "by_margin": found.by_margin,
        "by_stability": found.by_stability,
    })
}
