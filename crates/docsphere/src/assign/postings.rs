//! Posting lists over the centroids: term to (cluster, value).
//!
//! Iterating over a row's terms in ascending order and adding `x * c` to one accumulator per
//! cluster gives every similarity at once, in the summation order of the reference.
//!
//! **Cost.** Memory: 8 bytes per entry of the centroids and `8 * (n_terms + 1)` for the directory;
//! an accumulator is `8 * k` per thread.

use crate::by_key::ByKey;
use crate::centroids::Centroids;
use crate::vectors::Row;

/// Rows that [`Postings::similarities_of_some`] processes at once: their sums for one centroid are
/// two cache lines, and those for 5,000 centroids stay in cache.
pub(crate) const LANES: usize = 16;

/// The posting lists of one set of centroids.
#[derive(Default)]
pub(crate) struct Postings {
    /// By term, ascending by cluster.
    lists: ByKey<Posting>,
    /// Initial values of accumulators: 0, or minus infinity for an empty centroid, which attracts
    /// nothing.
    start: Vec<f64>,
}

#[derive(Clone, Copy, Default)]
struct Posting {
    cluster: u32,
    value: f32,
}

impl Postings {
    /// Transposes the centroids, reusing the memory of the previous call.
    pub(crate) fn build(&mut self, centroids: &Centroids) {
        let n_clusters = centroids.n_clusters();
        self.start.clear();
        self.start
            .extend((0..n_clusters).map(|j| if centroids.is_empty(j) { f64::NEG_INFINITY } else { 0.0 }));

        let entries = (0..n_clusters).flat_map(|cluster| {
            let of = move |(term, value)| (term, Posting { cluster: cluster as u32, value });
            centroids.row(cluster).iter().map(of)
        });
        self.lists.group(centroids.n_terms(), entries);
    }

    /// The number of clusters.
    pub(crate) fn n_clusters(&self) -> usize {
        self.start.len()
    }

    /// Fills `similarities` with the similarity of the row to every centroid, minus infinity for
    /// empty ones. Returns the number of postings read.
    #[inline]
    pub(crate) fn similarities(&self, row: Row<'_>, similarities: &mut [f64]) -> u64 {
        similarities.copy_from_slice(&self.start);
        let mut n_postings = 0;
        for (term, x) in row.iter() {
            let x = f64::from(x);
            let postings = self.lists.of(term);
            n_postings += postings.len() as u64;
            for posting in postings {
                similarities[posting.cluster as usize] += x * f64::from(posting.value);
            }
        }
        n_postings
    }

    /// Fills `sums` with the similarities of some rows, at most [`LANES`], to every centroid from
    /// `from` on, minus infinity for empty ones. Sums in the same order as
    /// [`Postings::similarities`], but reads a list once for all rows that have the term.
    pub(crate) fn similarities_of_some(&self, rows: &[Row<'_>], from: u32, sums: &mut [[f64; LANES]]) {
        assert!(rows.len() <= LANES, "at most {LANES} rows");
        sums.iter_mut().zip(&self.start).for_each(|(sums, &start)| *sums = [start; LANES]);
        let mut positions = [0; LANES];
        loop {
            let next = |(row, &position): (&Row<'_>, &usize)| row.terms.get(position).copied();
            let Some(term) = rows.iter().zip(&positions).filter_map(next).min() else { break };
            let mut x = [0.0; LANES];
            for (lane, row) in rows.iter().enumerate() {
                if row.terms.get(positions[lane]) == Some(&term) {
                    x[lane] = f64::from(row.values[positions[lane]]);
                    positions[lane] += 1;
                }
            }
            // Lists ascend by cluster; iterating backwards avoids a search for the first.
            for posting in self.lists.of(term).iter().rev().take_while(|posting| posting.cluster >= from) {
                let value = f64::from(posting.value);
                let sums = &mut sums[posting.cluster as usize];
                sums.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * value);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.lists.memory_bytes() + size_of_val(&self.start[..])
    }
}
