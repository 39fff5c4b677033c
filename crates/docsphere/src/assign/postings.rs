//! Posting lists over the centroids: term to (cluster, value).
//!
//! Going through a row's terms in ascending order and adding `x * c` to one accumulator a cluster gives every similarity at once, in the
//! summation order of the reference.
//!
//! **Cost.** Memory: 8 bytes an entry of the centroids and `8 * (n_terms + 1)` for the directory; an accumulator is `8 * k` a thread.

use crate::update::Centroids;
use crate::vectors::Row;

/// The posting lists of one set of centroids.
#[derive(Default)]
pub(crate) struct Postings {
    offsets: Vec<u64>,
    entries: Vec<Posting>,
    /// What accumulators start from: 0, or minus infinity for an empty centroid, which attracts nothing.
    start: Vec<f64>,
}

#[derive(Clone, Copy, Default)]
struct Posting {
    cluster: u32,
    value: f32,
}

impl Postings {
    /// Transposes the centroids. Keeps the memory of the last time.
    pub(crate) fn build(&mut self, centroids: &Centroids) {
        let n_clusters = centroids.n_clusters();
        self.start.clear();
        self.start
            .extend((0..n_clusters).map(|j| if centroids.is_empty(j) { f64::NEG_INFINITY } else { 0.0 }));

        // Counting sort by term. offsets[t + 1] first counts term t, then runs from its start to its end, so that
        // it ends as the start of term t + 1.
        self.offsets.clear();
        self.offsets.resize(centroids.n_terms() + 2, 0);
        for cluster in 0..n_clusters {
            for &term in centroids.row(cluster).terms {
                self.offsets[term as usize + 2] += 1;
            }
        }
        for term in 2..self.offsets.len() {
            self.offsets[term] += self.offsets[term - 1];
        }
        self.entries.clear();
        self.entries.resize(centroids.nnz(), Posting::default());
        for cluster in 0..n_clusters {
            for (term, value) in centroids.row(cluster).iter() {
                let position = &mut self.offsets[term as usize + 1];
                self.entries[*position as usize] = Posting { cluster: cluster as u32, value };
                *position += 1;
            }
        }
        self.offsets.pop();
    }

    /// The number of clusters.
    pub(crate) fn n_clusters(&self) -> usize {
        self.start.len()
    }

    /// Fills `similarities` with the similarity of the row to every centroid, minus infinity for empty ones. Returns the postings read.
    #[inline]
    pub(crate) fn similarities(&self, row: Row<'_>, similarities: &mut [f64]) -> u64 {
        similarities.copy_from_slice(&self.start);
        let mut n_postings = 0;
        for (term, x) in row.iter() {
            let x = f64::from(x);
            let postings =
                &self.entries[self.offsets[term as usize] as usize..self.offsets[term as usize + 1] as usize];
            n_postings += postings.len() as u64;
            for posting in postings {
                similarities[posting.cluster as usize] += x * f64::from(posting.value);
            }
        }
        n_postings
    }

    /// The same for the clusters from `first` on; the others stay at what accumulators start from.
    pub(crate) fn similarities_from(&self, first: u32, row: Row<'_>, similarities: &mut [f64]) {
        similarities.copy_from_slice(&self.start);
        for (term, x) in row.iter() {
            let x = f64::from(x);
            let postings =
                &self.entries[self.offsets[term as usize] as usize..self.offsets[term as usize + 1] as usize];
            // Lists ascend by cluster.
            let start = postings.partition_point(|posting| posting.cluster < first);
            for posting in &postings[start..] {
                similarities[posting.cluster as usize] += x * f64::from(posting.value);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.offsets[..]) + size_of_val(&self.entries[..]) + size_of_val(&self.start[..])
    }
}

/// The greatest similarity and its first position; `None` if all are minus infinity.
#[inline]
pub(crate) fn greatest(similarities: &[f64]) -> Option<(u32, f64)> {
    let best = similarities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if best == f64::NEG_INFINITY {
        return None;
    }
    let cluster = similarities.iter().position(|&similarity| similarity == best)?;
    Some((cluster as u32, best))
}
