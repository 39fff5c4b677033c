//! A number of clusters without anybody's choice.

use super::stability::sampled;
use super::{Advice, ClusterGrid, Sweep, SweepOptions};
use crate::error::Result;
use crate::fit::Params;
use crate::observer::Observer;
use crate::seeding::Init;
use crate::vectors::UnitRows;

/// A number of clusters that measures have chosen. See [`choose_n_clusters`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chosen {
    /// The recommendation; [`Advice::n_clusters`] is the choice.
    pub advice: Advice,
    /// The numbers that were compared.
    pub grid: ClusterGrid,
    /// The number of documents that were clustered for it.
    pub n_sample: usize,
}

/// Chooses the number of clusters by the measures of a [`Sweep`] over
/// [`ClusterGrid::for_documents`], on a sample of [`SweepOptions::stability_sample`] documents.
/// [`Params::n_clusters`], `n_init` and `rounds` are not used, nor seeds other than by merges.
/// `None` for fewer than four documents that are not zero.
///
/// The sample bounds the cost, whatever the number of documents: about ten fits, and for each
/// measuring of stability about twenty more, of at most so many documents.
///
/// # Errors
/// As [`Sweep::new`] and [`Sweep::step`].
pub fn choose_n_clusters(
    rows: &UnitRows<'_>,
    params: Params,
    options: SweepOptions,
    observer: &mut dyn Observer,
) -> Result<Option<Chosen>> {
    options.check()?;
    let params = params_of_choice(params);
    let Some((sample, grid)) = sample_of(rows, &params, &options)? else { return Ok(None) };
    let n_sample = sample.n_nonzero_rows();
    let mut sweep = Sweep::new(&sample, params, &grid, options, observer)?;
    while sweep.step(observer)?.is_some() {}
    Ok(sweep.advice().map(|advice| Chosen { advice, grid, n_sample }))
}

/// An upper bound on the memory that [`choose_n_clusters`] needs in addition to the rows, in bytes.
///
/// # Errors
/// As [`Sweep::forecast_bytes`].
pub fn choice_forecast_bytes(rows: &UnitRows<'_>, params: Params, options: &SweepOptions) -> Result<u64> {
    options.check()?;
    let params = params_of_choice(params);
    let Some((sample, grid)) = sample_of(rows, &params, options)? else { return Ok(0) };
    let copy = sample.as_sparse().memory_bytes() as u64;
    Ok(copy + Sweep::forecast_bytes(&sample, &params, &grid, options)?)
}

/// The params for one start per number, cut from a tree.
fn params_of_choice(params: Params) -> Params {
    let init = match params.init {
        Init::Merge { fine } => Init::Merge { fine },
        _ => Init::default(),
    };
    Params { init, n_init: 1, rounds: 0, ..params }
}

/// The rows that are clustered for a choice, and the numbers that are compared; `None` if there are
/// too few rows.
fn sample_of<'a>(
    rows: &'a UnitRows<'_>,
    params: &Params,
    options: &SweepOptions,
) -> Result<Option<(UnitRows<'a>, ClusterGrid)>> {
    let docs = sampled(rows, params.seed, options.stability_sample);
    let Some(grid) = ClusterGrid::for_documents(docs.len()) else { return Ok(None) };
    let is_all = docs.len() == rows.n_rows();
    let sample = if is_all { rows.part(0..rows.n_rows()) } else { rows.select(&docs)? };
    Ok(Some((sample, grid)))
}
