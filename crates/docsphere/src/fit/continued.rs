//! A run that starts from the centroids and labels of an earlier one.

use std::ops::ControlFlow;

use super::params::Params;
use super::run::{History, Start};
use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::labels::Labels;
use crate::observer::{Event, Observer};
use crate::shards::RowFacts;

/// The arguments of [`FitOptions::continue_from`](crate::FitOptions::continue_from).
#[derive(Clone, Debug)]
pub(crate) struct Continued {
    pub(crate) centroids: Centroids,
    pub(crate) labels: Labels,
}

impl Continued {
    /// Checks that it fits the rows and the options.
    pub(super) fn check(&self, facts: RowFacts, params: &Params) -> Result<()> {
        let (n_clusters, n_terms) = (self.centroids.n_clusters(), self.centroids.n_terms());
        mismatch("n_clusters", n_clusters, "the number of centroids to continue from", params.n_clusters)?;
        mismatch(
            "the number of terms of the centroids to continue from",
            facts.n_terms,
            "as in the rows",
            n_terms,
        )?;
        mismatch("the number of labels to continue from", facts.n_rows, "one per row", self.labels.len())?;
        if params.n_init != 1 {
            let expected = "1 with centroids and labels to continue from".to_owned();
            return Err(
                ErrorKind::Parameter { name: "n_init", expected, got: params.n_init.to_string() }.into()
            );
        }
        let fits = |label: i32| label == -1 || usize::try_from(label).is_ok_and(|label| label < n_clusters);
        match self.labels.as_slice().iter().position(|&label| !fits(label)) {
            None => Ok(()),
            Some(row) => Err(ErrorKind::Mismatch {
                what: "the labels to continue from",
                expected: format!("numbers from 0 to {}, or -1", n_clusters.saturating_sub(1)),
                got: format!("{} for row {row}", self.labels.as_slice()[row]),
            }
            .into()),
        }
    }

    /// The checksum that identifies such a run in a checkpoint.
    pub(super) fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.centroids.to_bytes());
        self.labels.as_slice().iter().for_each(|label| hasher.update(&label.to_le_bytes()));
        hasher.finalize()
    }
}

/// An observer that stops a run after the first assignment, so that the centroids stay.
pub(super) struct Frozen<'a>(pub(super) &'a mut dyn Observer);

impl Observer for Frozen<'_> {
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.0.observe(event)?;
        if matches!(event, Event::Iteration(_)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn mismatch(what: &'static str, expected: usize, why: &str, got: usize) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(ErrorKind::Mismatch { what, expected: format!("{expected}, {why}"), got: got.to_string() }.into())
}

impl From<Continued> for Start {
    fn from(Continued { centroids, labels }: Continued) -> Self {
        // -1 is all ones, which means no label.
        let labels = labels.as_slice().iter().map(|&label| label as u32).collect();
        Start::Continue { centroids, labels, history: History::default() }
    }
}
