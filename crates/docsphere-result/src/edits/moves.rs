//! What edits do to the clusters of documents, also of new ones.

use docsphere::Row;

use super::parts::Split;

/// What edits do to the clusters of documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relabelled {
    pub(super) steps: Vec<Moved>,
}

/// What one edit does to the clusters of documents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Moved {
    /// The documents of some clusters are in one of them.
    Merged {
        /// The clusters.
        clusters: Vec<u32>,
        /// The one of them that has all documents.
        into: u32,
    },
    /// The documents of a cluster are outliers.
    Outliers {
        /// The cluster.
        cluster: u32,
    },
    /// The documents of a cluster are in several.
    Split(SplitCluster),
}

/// A cluster that was split.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitCluster(pub(super) Split);

/// The cluster of a document after all edits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) cluster: i32,
    /// Its similarity, if it is another one.
    pub(crate) similarity: Option<f64>,
    /// Whether what is in the cluster, or which cluster it is, has changed.
    pub(crate) is_touched: bool,
}

impl Relabelled {
    /// Whether all documents stay where the run has put them.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The cluster of a document that the run has put, or would put, into this one; -1 for none.
    /// Of a cluster that was split, the one with the same number.
    pub fn cluster(&self, cluster: i32) -> i32 {
        self.placed(cluster, &mut |_| None).cluster
    }

    /// The cluster of a new document that the run would put into this one, and its similarity, if
    /// it is another one.
    pub fn cluster_of_new(&self, cluster: i32, row: Row<'_>) -> (i32, Option<f64>) {
        let placed = self.placed(cluster, &mut |split| Some(split.nearest(row)));
        (placed.cluster, placed.similarity)
    }

    /// The number of clusters whose documents are in others, or outliers.
    pub fn n_emptied(&self) -> usize {
        let n_emptied = |step: &Moved| match step {
            Moved::Merged { clusters, .. } => clusters.len() - 1,
            Moved::Outliers { .. } => 1,
            Moved::Split(_) => 0,
        };
        self.steps.iter().map(n_emptied).sum()
    }

    /// The place of the document with this number, which the run has put into this cluster.
    pub(super) fn place(&self, cluster: i32, document: usize) -> Placed {
        self.placed(cluster, &mut |split| split.of_documents.get(&document).copied())
    }

    /// `part` returns the part of the document, if it is known.
    fn placed(&self, cluster: i32, part: &mut dyn FnMut(&Split) -> Option<(u32, f64)>) -> Placed {
        let mut placed = Placed { cluster, similarity: None, is_touched: false };
        for step in &self.steps {
            let Ok(number) = u32::try_from(placed.cluster) else { break };
            match step {
                Moved::Merged { clusters, into } if clusters.contains(&number) => {
                    (placed.cluster, placed.is_touched) = (*into as i32, true);
                }
                Moved::Outliers { cluster } if *cluster == number => {
                    placed = Placed { cluster: -1, similarity: Some(0.0), is_touched: true };
                }
                Moved::Split(SplitCluster(split)) if split.numbers[0] == number => {
                    placed.is_touched = true;
                    if let Some((part, similarity)) = part(split) {
                        placed.cluster = split.numbers[part as usize] as i32;
                        placed.similarity = Some(similarity);
                    }
                }
                _ => {}
            }
        }
        placed
    }
}
