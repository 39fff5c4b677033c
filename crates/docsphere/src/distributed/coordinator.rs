//! The whole job, as the coordinator sees it.

use super::link::{Link, Traffic, Transport};
use super::message::{Answer, Begin, Request, Shape};
use super::packed::damaged;
use super::remote::RemoteShards;
use crate::error::{ErrorKind, Result};
use crate::fit::{Finished, FitOptions, LoopOptions, Params, ValidParams, run_all};
use crate::model::Model;
use crate::record::{StopReason, Trace};
use crate::shards::Shards;
use crate::threads::on_threads;
use crate::vectors::{MAX_ROWS, RowWeights, WeightScale, WeightTotal};

/// Runs a job on workers. See [`Transport`] and [`ShardWorker`](super::ShardWorker).
pub struct Coordinator<'a> {
    link: Link<'a>,
}

/// The result of a fit on workers. Labels and similarities stay there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DistributedFit {
    /// Centroids and their provenance.
    pub model: Model,
    /// The weighted sum of the similarities.
    pub objective: f64,
    /// The number of iterations.
    pub n_iter: usize,
    /// Why the run ended.
    pub stop: StopReason,
    /// The record of the run.
    pub trace: Trace,
    /// The cluster of each document, as the workers had it in the end.
    pub labels: Vec<u32>,
    /// Messages so far.
    pub traffic: Traffic,
}

impl<'a> Coordinator<'a> {
    /// A coordinator of these workers.
    pub fn new(transport: &'a mut dyn Transport) -> Self {
        Coordinator { link: Link::new(transport) }
    }

    /// Clusters the rows that the workers were given.
    ///
    /// # Errors
    /// As [`ValidParams::fit_with`]; workers whose rows do not fit each other; a worker that is lost
    /// again and again.
    pub fn fit(mut self, params: &ValidParams, options: FitOptions<'_>) -> Result<DistributedFit> {
        let params = params.params();
        let shapes = self.shapes()?;
        let scale = self.weight_scale(&shapes)?;
        let begins = begins(&shapes, params, scale)?;
        let mut shards = RemoteShards::new(self.link, begins)?;
        let facts = shards.facts();
        let weights = scale.unwrap_or(RowWeights::UNIFORM.scale());
        let outcome = on_threads(params.n_threads, || {
            run_all(&mut shards, facts, weights, params, LoopOptions::new(options))
        })??;
        let Finished { model, objective, n_iter, stop, trace } =
            outcome.finished(params, scale.is_some(), facts.n_rows);
        let labels = shards.kept_labels()?;
        Ok(DistributedFit { model, objective, n_iter, stop, trace, labels, traffic: shards.traffic() })
    }

    /// The rows of each worker.
    fn shapes(&mut self) -> Result<Vec<Shape>> {
        let shapes: Result<Vec<Option<Shape>>> =
            (0..self.link.n_workers()).map(|worker| self.link.greet(worker)).collect();
        let shapes: Option<Vec<Shape>> = shapes?.into_iter().collect();
        let shapes = shapes.filter(|shapes| !shapes.is_empty()).ok_or_else(|| ErrorKind::Mismatch {
            what: "the rows",
            expected: "with every worker before the run".to_owned(),
            got: "a worker without rows".to_owned(),
        })?;
        let first = shapes[0];
        if let Some(other) = shapes.iter().find(|shape| shape.n_terms != first.n_terms) {
            let expected = format!("{} with every worker, as with the first", first.n_terms);
            let (what, got) = ("the number of terms of the rows", other.n_terms.to_string());
            return Err(ErrorKind::Mismatch { what, expected, got }.into());
        }
        if shapes.iter().any(|shape| shape.has_weights != first.has_weights) {
            let (expected, got) = ("given to all workers or to none".to_owned(), "some".to_owned());
            return Err(ErrorKind::Mismatch { what: "row weights", expected, got }.into());
        }
        Ok(shapes)
    }

    /// The scale of the weights of all rows; `None` without weights.
    fn weight_scale(&mut self, shapes: &[Shape]) -> Result<Option<WeightScale>> {
        if !shapes[0].has_weights {
            return Ok(None);
        }
        let mut greatest = i32::MIN;
        self.link.ask_all(&Request::Weights { ceiling: None }, |_, answer| {
            let Answer::Ceiling(Some(ceiling)) = answer else { return Err(damaged()) };
            greatest = greatest.max(ceiling);
            Ok(())
        })?;
        let mut total: Option<WeightTotal> = None;
        self.link.ask_all(&Request::Weights { ceiling: Some(greatest) }, |_, answer| {
            let Answer::Weights(found) = answer else { return Err(damaged()) };
            total = Some(total.map_or(found, |total| total.plus(found)));
            Ok(())
        })?;
        total.ok_or_else(damaged)?.scale().map(Some)
    }
}

/// How each worker begins.
fn begins(shapes: &[Shape], params: &Params, scale: Option<WeightScale>) -> Result<Vec<Begin>> {
    let n_docs: u64 = shapes.iter().map(|shape| shape.n_docs).sum();
    if n_docs > MAX_ROWS {
        return Err(ErrorKind::TooLarge { what: "the number of rows", limit: MAX_ROWS, got: n_docs }.into());
    }
    let mut first_doc = 0;
    let begin = |shape: &Shape| {
        let begin = Begin {
            first_doc,
            n_docs,
            strategy: params.strategy,
            lambdas: params.lambdas.clone(),
            index_min_changed: params.index_min_changed as u64,
            simd: params.simd,
            scale,
        };
        first_doc += shape.n_docs;
        begin
    };
    Ok(shapes.iter().map(begin).collect())
}
