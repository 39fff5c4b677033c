//! Labels for new rows.
//!
//! Computes all similarities of a row at once through posting lists, like the strategy `inverted`.
//! A tie goes to the smallest cluster id; a row without a similarity above 0 gets no label.

use std::ops::Range;

use rayon::prelude::*;

use super::Model;
use crate::assign::{Postings, greatest};
use crate::error::{ErrorKind, Result};
use crate::ids::{ClusterId, DocId};
use crate::labels::Labels;
use crate::vectors::{Row, UnitRows};

/// Searches the centroids of a [`Model`]: build once, query often. Takes 8 bytes per entry of the
/// centroids and 8 per term.
pub struct Predictor {
    postings: Postings,
    n_terms: usize,
    n_live: usize,
}

/// The nearest cluster of each row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The cluster of each row; -1 for zero rows, and for rows without a similarity above 0 to any
    /// centroid.
    pub labels: Labels,
    /// The similarity of each row to its centroid; 0 without a label.
    pub similarities: Vec<f64>,
}

/// A cluster and how similar its centroid is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Neighbour {
    /// The cluster.
    pub cluster: ClusterId,
    /// The similarity of its centroid to the row or centroid in question.
    pub similarity: f64,
}

impl Neighbour {
    /// A cluster with this similarity.
    pub fn new(cluster: ClusterId, similarity: f64) -> Self {
        Neighbour { cluster, similarity }
    }
}

/// The nearest clusters of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    offsets: Vec<usize>,
    neighbours: Vec<Neighbour>,
}

impl Nearest {
    /// The nearest clusters of a row, most similar first, ties in ascending order of cluster. Empty
    /// for a row without a similarity above 0.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of(&self, doc: DocId) -> &[Neighbour] {
        &self.neighbours[self.offsets[doc.index()]..self.offsets[doc.index() + 1]]
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }
}

impl std::fmt::Debug for Predictor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Predictor").field("n_clusters", &self.postings.n_clusters()).finish_non_exhaustive()
    }
}

impl Predictor {
    pub(super) fn new(model: &Model) -> Self {
        let centroids = model.centroids();
        let mut postings = Postings::default();
        postings.build(centroids);
        Predictor { postings, n_terms: centroids.n_terms(), n_live: centroids.live().len() }
    }

    /// The nearest cluster of each row.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if the rows are over another number of terms than the model.
    pub fn predict(&self, rows: &UnitRows<'_>) -> Result<Prediction> {
        self.check(rows)?;
        let found: Vec<(i32, f64)> = (0..rows.n_rows())
            .into_par_iter()
            .with_min_len(256)
            .map_init(
                || self.accumulators(),
                |similarities, doc| {
                    let row = rows.row(doc);
                    if row.nnz() == 0 {
                        return (-1, 0.0);
                    }
                    self.postings.similarities(row, similarities);
                    match greatest(similarities) {
                        Some((cluster, best)) if best > 0.0 => (cluster as i32, best),
                        _ => (-1, 0.0),
                    }
                },
            )
            .collect();
        let (labels, similarities): (Vec<i32>, Vec<f64>) = found.into_iter().unzip();
        Ok(Prediction { labels: labels.into(), similarities })
    }

    /// The similarity of each row to each centroid, row by row: `n_rows * n_clusters` numbers, 0
    /// for empty clusters.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn similarities(&self, rows: &UnitRows<'_>) -> Result<Vec<f64>> {
        self.check(rows)?;
        let n_clusters = self.postings.n_clusters();
        let mut all = vec![0.0; rows.n_rows() * n_clusters];
        all.par_chunks_exact_mut(n_clusters.max(1))
            .enumerate()
            .with_min_len(64)
            .for_each(|(doc, own)| self.similarities_of(rows.row(doc), own));
        Ok(all)
    }

    /// Like [`Predictor::similarities`], rounded to f32: half the memory.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn similarities_f32(&self, rows: &UnitRows<'_>) -> Result<Vec<f32>> {
        self.check(rows)?;
        let n_clusters = self.postings.n_clusters();
        let mut all = vec![0.0; rows.n_rows() * n_clusters];
        all.par_chunks_exact_mut(n_clusters.max(1)).enumerate().with_min_len(64).for_each_init(
            || self.accumulators(),
            |similarities, (doc, own)| {
                self.similarities_of(rows.row(doc), similarities);
                own.iter_mut().zip(similarities).for_each(|(narrow, wide)| *narrow = *wide as f32);
            },
        );
        Ok(all)
    }

    /// The similarities of a row, 0 for empty clusters.
    fn similarities_of(&self, row: Row<'_>, similarities: &mut [f64]) {
        self.postings.similarities(row, similarities);
        similarities
            .iter_mut()
            .filter(|similarity| **similarity == f64::NEG_INFINITY)
            .for_each(|none| *none = 0.0);
    }

    /// The `m` nearest clusters of each row; fewer if fewer have a similarity above 0.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; `m` of 0.
    pub fn nearest(&self, rows: &UnitRows<'_>, m: usize) -> Result<Nearest> {
        self.nearest_of(rows, 0..rows.n_rows(), m)
    }

    /// The same for some of the rows, which count from 0: a part of rows that are in a file.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest).
    ///
    /// # Panics
    /// If there are not so many rows.
    pub fn nearest_of(&self, rows: &UnitRows<'_>, of: Range<usize>, m: usize) -> Result<Nearest> {
        self.check(rows)?;
        assert!(of.end <= rows.n_rows(), "there are only {} rows", rows.n_rows());
        if m == 0 {
            let (expected, got) = ("at least 1".to_owned(), "0".to_owned());
            return Err(ErrorKind::Parameter { name: "m", expected, got }.into());
        }
        let lists: Vec<Vec<Neighbour>> = of
            .into_par_iter()
            .with_min_len(256)
            .map_init(
                || (self.accumulators(), Vec::new()),
                |(similarities, order), doc| {
                    let row = rows.row(doc);
                    if row.nnz() == 0 {
                        return Vec::new();
                    }
                    self.postings.similarities(row, similarities);
                    let mut nearest = first(m.min(self.n_live), similarities, order);
                    nearest.truncate(nearest.partition_point(|neighbour| neighbour.similarity > 0.0));
                    nearest
                },
            )
            .collect();
        let mut offsets = Vec::with_capacity(lists.len() + 1);
        offsets.push(0);
        offsets.extend(lists.iter().scan(0, |end, list| {
            *end += list.len();
            Some(*end)
        }));
        Ok(Nearest { offsets, neighbours: lists.concat() })
    }

    fn accumulators(&self) -> Vec<f64> {
        vec![0.0; self.postings.n_clusters()]
    }

    fn check(&self, rows: &UnitRows<'_>) -> Result<()> {
        if rows.n_terms() == self.n_terms {
            return Ok(());
        }
        Err(ErrorKind::Mismatch {
            what: "the number of terms of the rows",
            expected: format!("{}, as in the model", self.n_terms),
            got: rows.n_terms().to_string(),
        }
        .into())
    }
}

/// The `m` clusters with the greatest similarities, sorted. `m` must not exceed the number of
/// similarities above minus infinity. `order` only lends its memory.
pub(super) fn first(m: usize, similarities: &[f64], order: &mut Vec<u32>) -> Vec<Neighbour> {
    if m == 0 {
        return Vec::new();
    }
    let by_rank =
        |&a: &u32, &b: &u32| similarities[b as usize].total_cmp(&similarities[a as usize]).then(a.cmp(&b));
    order.clear();
    order.extend(0..similarities.len() as u32);
    order.select_nth_unstable_by(m - 1, by_rank);
    order.truncate(m);
    order.sort_unstable_by(by_rank);
    let neighbour = |&cluster: &u32| Neighbour {
        cluster: ClusterId::new(cluster),
        similarity: similarities[cluster as usize],
    };
    order.iter().map(neighbour).collect()
}

#[cfg(test)]
mod tests {
    use crate::fit::SphericalKMeans;
    use crate::vectors::{SparseRows, UnitRows};

    #[test]
    fn similarities_in_f32_are_those_in_f64_rounded_once() {
        let parts = SparseRows::from_parts(
            3,
            vec![0, 2, 4, 5, 5],
            vec![0, 1, 0, 2, 2],
            vec![0.3, 1.7, 0.9, 0.1, 2.0],
        );
        let rows = UnitRows::new(parts.unwrap());
        let predictor = SphericalKMeans::params(2).fit(&rows).unwrap().model.predictor();
        let wide = predictor.similarities(&rows).unwrap();
        let rounded: Vec<f32> = wide.iter().map(|&similarity| similarity as f32).collect();
        assert_eq!(predictor.similarities_f32(&rows).unwrap(), rounded);
        assert!(wide.iter().zip(&rounded).any(|(&wide, &narrow)| wide != f64::from(narrow)));
    }
}
