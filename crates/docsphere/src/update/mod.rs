//! Stage 5: labels to centroids.
//!
//! [`Updater`] keeps an integer sum for each cluster, adds and subtracts the documents that moved, refills empty
//! clusters, and says how far each centroid went.

mod centroids;
mod movement;
mod refill;
mod sums;

use std::mem;

use sums::{Change, Sums};

pub(crate) use centroids::Centroid;
pub use centroids::Centroids;
use movement::Moved;
pub(crate) use movement::Movement;
pub(crate) use refill::COINCIDENT;

use crate::vectors::{RowWeights, UnitRows};

/// The label of every document and its similarity to the centroid of that cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assignment {
    /// Cluster numbers, [`Assignment::NO_LABEL`] for zero rows and before the first assignment.
    pub(crate) labels: Vec<u32>,
    /// Similarity to the own centroid as of the last assignment; 0 where there is no label.
    pub(crate) similarities: Vec<f64>,
}

impl Assignment {
    /// No cluster. As an `i32` this is -1.
    pub(crate) const NO_LABEL: u32 = u32::MAX;

    pub(crate) fn none(n_rows: usize) -> Self {
        Assignment { labels: vec![Self::NO_LABEL; n_rows], similarities: vec![0.0; n_rows] }
    }
}

/// Turns labels into centroids.
pub(crate) struct Updater {
    sums: Sums,
    n_members: Vec<u32>,
    /// The labels that the sums stand for.
    summed_labels: Vec<u32>,
}

/// What an update did.
pub(crate) struct Update {
    pub(crate) movement: Movement,
    pub(crate) n_refilled: usize,
}

impl Updater {
    pub(crate) fn new(rows: &UnitRows<'_>, n_clusters: usize) -> Self {
        Updater {
            sums: Sums::new(n_clusters, rows.n_terms()),
            n_members: vec![0; n_clusters],
            summed_labels: vec![Assignment::NO_LABEL; rows.n_rows()],
        }
    }

    /// Moves `centroids` to the direction of their members' sum. Documents taken for empty clusters get their new label in `assignment`.
    pub(crate) fn update(
        &mut self,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        assignment: &mut Assignment,
        centroids: &mut Centroids,
    ) -> Update {
        self.count_members(weights, &assignment.labels);
        let refills = refill::choose(rows, weights, assignment, &mut self.n_members);
        for refill in &refills {
            assignment.labels[refill.doc as usize] = refill.cluster;
        }
        let mut movement = Movement::none(centroids.n_clusters());
        let mut replace =
            |centroids: &mut Centroids, cluster: usize, centroid: Centroid, moved: Option<Moved>| {
                if let Some(moved) = moved {
                    movement.record(cluster, moved, self.n_members[cluster]);
                    centroids.set(cluster, centroid);
                }
            };
        let changes = take_changes(&mut self.summed_labels, &assignment.labels);
        self.sums.apply(
            rows,
            weights,
            changes,
            centroids,
            Moved::between,
            |centroids, cluster, new| match new {
                Some((centroid, moved)) if self.n_members[cluster] > 0 => {
                    replace(centroids, cluster, centroid, moved);
                }
                // The members cancel out: the centroid stays where it was. Those without members follow below.
                _ => {}
            },
        );
        for (cluster, _) in self.n_members.iter().enumerate().filter(|&(_, &n)| n == 0) {
            let moved = Moved::between(centroids.get(cluster), &Centroid::default());
            replace(centroids, cluster, Centroid::default(), moved);
        }
        // A refilled cluster counts as changed even if its centroid is not: the document in it is new.
        for refill in &refills {
            let cluster = refill.cluster as usize;
            if !movement.is_changed(cluster) {
                movement.record(cluster, Moved::default(), self.n_members[cluster]);
            }
            movement.record_refill(refill.doc);
        }
        movement.sort();
        Update { movement, n_refilled: refills.len() }
    }

    fn count_members(&mut self, weights: &RowWeights<'_>, labels: &[u32]) {
        self.n_members.fill(0);
        for (doc, &label) in labels.iter().enumerate() {
            if label != Assignment::NO_LABEL && weights.weight(doc) > 0.0 {
                self.n_members[label as usize] += 1;
            }
        }
    }
}

/// Who joined and who left which cluster since the sums were last brought up to date.
fn take_changes(summed_labels: &mut [u32], labels: &[u32]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (doc, (summed, &label)) in summed_labels.iter_mut().zip(labels).enumerate() {
        let before = mem::replace(summed, label);
        if before == label {
            continue;
        }
        for (cluster, joined) in [(before, false), (label, true)] {
            if cluster != Assignment::NO_LABEL {
                changes.push(Change { cluster, doc: doc as u32, joined });
            }
        }
    }
    changes
}
