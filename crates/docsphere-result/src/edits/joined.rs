//! Centroids of clusters that are merged, and what follows from them.
//!
//! The sum of the unit rows of a cluster has the direction of its centroid, and its length is the
//! sum of their similarities to it: size times cohesion. So the centroid of a merged cluster
//! follows from those of its parts, without the rows. It serves keywords and neighbours; documents
//! keep their similarities.

use docsphere::{Centroids, ClusterId, Keyword, SparseRows, keywords_among};

use crate::assignments::rounded;
use crate::clusters::{ClusterEntry, NeighbourEntry};
use crate::error::Result;

/// The centroids of the clusters of an edited result.
#[derive(Clone, Debug)]
pub(super) struct Centers {
    n_terms: usize,
    rows: Vec<(Vec<u32>, Vec<f32>)>,
}

impl Centers {
    pub(super) fn new(centroids: &Centroids) -> Self {
        let mut centers = Centers { n_terms: centroids.n_terms(), rows: Vec::new() };
        centers.add(centroids);
        centers
    }

    /// Adds clusters at the end.
    pub(super) fn add(&mut self, centroids: &Centroids) {
        for cluster in 0..centroids.n_clusters() {
            let row = centroids.centroid(ClusterId::new(cluster as u32));
            self.rows.push((row.terms.to_vec(), row.values.to_vec()));
        }
    }

    /// The centroid of a cluster.
    fn row(&self, cluster: u32) -> impl Iterator<Item = (u32, f64)> {
        let (terms, values) = &self.rows[cluster as usize];
        terms.iter().copied().zip(values.iter().map(|&value| f64::from(value)))
    }

    /// Joins clusters into one of them; the others are empty afterwards. `weights` has the length
    /// of the sum of each.
    pub(super) fn join(&mut self, clusters: &[u32], weights: &[f64], into: u32) {
        let mut sum = std::collections::BTreeMap::<u32, f64>::new();
        for (&cluster, &weight) in clusters.iter().zip(weights) {
            self.row(cluster).for_each(|(term, value)| *sum.entry(term).or_default() += weight * value);
        }
        let length = sum.values().map(|value| value * value).sum::<f64>().sqrt();
        clusters.iter().for_each(|&cluster| self.clear(cluster));
        if length > 0.0 {
            let row = sum.into_iter().map(|(term, value)| (term, (value / length) as f32));
            self.rows[into as usize] = row.filter(|(_, value)| *value != 0.0).unzip();
        }
    }

    /// Puts the parts of a cluster in its place and at the end.
    pub(super) fn split(&mut self, cluster: u32, parts: &Centroids) {
        let n_before = self.rows.len();
        self.add(parts);
        self.rows[cluster as usize] = self.rows.remove(n_before);
    }

    /// Makes a cluster empty.
    pub(super) fn clear(&mut self, cluster: u32) {
        self.rows[cluster as usize] = Default::default();
    }

    /// The best keywords of a cluster among clusters of these sizes.
    pub(super) fn keywords(&self, cluster: u32, sizes: &[usize], n_keywords: usize) -> Result<Vec<Keyword>> {
        let mut offsets = vec![0u64];
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        for (row_terms, row_values) in &self.rows {
            terms.extend_from_slice(row_terms);
            values.extend_from_slice(row_values);
            offsets.push(terms.len() as u64);
        }
        let rows = SparseRows::from_parts(self.n_terms, offsets, terms, values)?;
        let centroids = Centroids::from_rows(rows);
        Ok(keywords_among(&centroids, sizes, ClusterId::new(cluster), n_keywords)?)
    }

    /// The nearest clusters with documents.
    pub(super) fn neighbours(
        &self,
        cluster: u32,
        clusters: &[ClusterEntry],
        n_wanted: usize,
    ) -> Vec<NeighbourEntry> {
        let mut dense = vec![0.0; self.n_terms];
        self.row(cluster).for_each(|(term, value)| dense[term as usize] = value);
        let similarity =
            |other: u32| -> f64 { self.row(other).map(|(term, value)| value * dense[term as usize]).sum() };
        let others = clusters.iter().filter(|entry| entry.size > 0 && entry.id != cluster);
        let mut found: Vec<NeighbourEntry> = others
            .map(|entry| NeighbourEntry { id: entry.id, similarity: rounded(similarity(entry.id)) })
            .filter(|neighbour| neighbour.similarity > 0.0)
            .collect();
        found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.id.cmp(&b.id)));
        found.truncate(n_wanted);
        found
    }
}
