//! Labels, as callers see them and as a run stores them.

use std::path::Path;

use crate::error::Result;
use crate::ids::{ClusterId, DocId};
use crate::mapping::Spillable;

/// The cluster of every document; -1 for a document without one: a zero row, or an outlier.
///
/// ```
/// use docsphere::{ClusterId, DocId, Labels};
///
/// let labels = Labels::from(vec![2, -1]);
/// assert_eq!(labels.get(DocId::new(0)), Some(ClusterId::new(2)));
/// assert_eq!(labels.get(DocId::new(1)), None);
/// assert_eq!(labels.as_slice(), [2, -1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(Vec<i32>);

impl Labels {
    /// The cluster of a document; `None` if it has none.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn get(&self, doc: DocId) -> Option<ClusterId> {
        u32::try_from(self.0[doc.index()]).ok().map(ClusterId::new)
    }

    /// All labels in document order, -1 for none.
    pub fn as_slice(&self) -> &[i32] {
        &self.0
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<i32>> for Labels {
    fn from(labels: Vec<i32>) -> Self {
        Labels(labels)
    }
}

impl From<Labels> for Vec<i32> {
    fn from(labels: Labels) -> Self {
        labels.0
    }
}

/// The labels of some documents and their similarities to the centroids of those clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Assignment {
    /// Cluster numbers; [`Assignment::NO_LABEL`] where there is none.
    pub(crate) labels: Spillable<u32>,
    /// Similarity to the document's own centroid as of the last assignment; 0 without a label.
    pub(crate) similarities: Spillable<f64>,
}

impl Assignment {
    /// No cluster. As an `i32` this is -1.
    pub(crate) const NO_LABEL: u32 = u32::MAX;

    /// No labels, in memory or on the disk of a folder.
    pub(crate) fn none(n_rows: usize, folder: Option<&Path>) -> Result<Self> {
        let labels = Spillable::new(vec![Self::NO_LABEL; n_rows], folder)?;
        Ok(Assignment { labels, similarities: Spillable::zeros(n_rows, folder)? })
    }

    /// A copy, in memory or on the disk of a folder.
    pub(crate) fn copied(&self, folder: Option<&Path>) -> Result<Self> {
        let labels = Spillable::copied(&self.labels, folder)?;
        Ok(Assignment { labels, similarities: Spillable::copied(&self.similarities, folder)? })
    }

    /// Lets go of pages of files; see [`Spillable::let_go`].
    pub(crate) fn let_go(&self) {
        self.labels.let_go();
        self.similarities.let_go();
    }

    /// Takes the labels and similarities of another one, which has as many documents.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.labels.copy_from_slice(&other.labels);
        self.similarities.copy_from_slice(&other.similarities);
    }
}

impl From<&Assignment> for Labels {
    fn from(assignment: &Assignment) -> Self {
        // NO_LABEL is all ones, so it becomes -1; cluster numbers stay below 2^31.
        Labels(assignment.labels.iter().map(|&label| label as i32).collect())
    }
}
