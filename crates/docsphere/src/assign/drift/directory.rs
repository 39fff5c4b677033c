//! Where the terms of a centroid are: a few steps to any of them.
//!
//! The terms of a centroid ascend. Cut the range of all terms into *buckets* of equal width, about
//! one for every [`PER_BUCKET`] terms of the centroid; a directory has the place of the first term
//! of each. To look a term up is to read an entry of the directory and some neighbouring terms. A
//! binary search reads as many as the logarithm, apart from each other; a centroid that is expanded
//! into a dense row answers at once, but pays off only for many documents, of which a block may
//! have few.
//!
//! **Cost.** At most a byte per entry of the centroids, and 40 per cluster. Directories of
//! centroids that have changed are made once in a step, for all blocks.

use rayon::prelude::*;

use crate::centroids::{Centroids, Movement};
use crate::vectors::Row;

/// Terms per bucket, roughly: from half of this to all of it, if they are evenly spread.
const PER_BUCKET: usize = 8;

/// The directories of all centroids.
#[derive(Default)]
pub(crate) struct Directories(Vec<Directory>);

/// See the [module](self).
#[derive(Clone, Default)]
pub(crate) struct Directory {
    /// The place of the first term of each bucket, and the number of terms.
    starts: Box<[u32]>,
    /// Terms per bucket, as a power of two.
    shift: u32,
}

impl Directories {
    /// Makes those of the centroids that have changed; all of them without a movement.
    pub(crate) fn update(&mut self, centroids: &Centroids, movement: Option<&Movement>) {
        self.0.resize(centroids.n_clusters(), Directory::default());
        self.0.par_iter_mut().enumerate().for_each(|(cluster, directory)| {
            if movement.is_none_or(|movement| movement.is_changed(cluster)) {
                *directory = Directory::new(centroids.row(cluster).terms, centroids.n_terms());
            }
        });
    }

    /// That of a centroid.
    pub(crate) fn of(&self, cluster: usize) -> &Directory {
        &self.0[cluster]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(|directory| size_of_val(&directory.starts[..]) + size_of::<Directory>()).sum()
    }
}

impl Directory {
    fn new(terms: &[u32], n_terms: usize) -> Self {
        let n_buckets = terms.len().div_ceil(PER_BUCKET);
        let shift = (n_terms.max(1) / n_buckets.max(1)).max(1).ilog2();
        let mut starts = vec![0; ((n_terms.max(1) - 1) >> shift) + 2];
        for &term in terms {
            starts[(term >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Directory { starts: starts.into(), shift }
    }

    /// The similarity of a row to the centroid: ARCHITECTURE.md, definition 2.
    #[inline]
    pub(super) fn similarity(&self, row: Row<'_>, centroid: Row<'_>) -> f64 {
        let mut sum = 0.0;
        for (term, x) in row.iter() {
            let bucket = (term >> self.shift) as usize;
            let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
            let (terms, values) = (&centroid.terms[range.clone()], &centroid.values[range]);
            for (&found, &value) in terms.iter().zip(values) {
                if found >= term {
                    if found == term {
                        sum += f64::from(x) * f64::from(value);
                    }
                    break;
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::reference_similarity;
    use crate::vectors::SparseRows;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_directory_gives_the_reference_similarity(
            x in prop::collection::btree_map(0u32..300, 1u8..9, 0..80),
            centroids in prop::collection::vec(prop::collection::btree_map(0u32..300, 1u8..9, 0..300), 1..4),
            n_terms in 300usize..700,
        ) {
            let rows = SparseRows::from_maps(n_terms, &[x]);
            let centroids = Centroids::from_rows(SparseRows::from_maps(n_terms, &centroids));
            let mut directories = Directories::default();
            directories.update(&centroids, None);
            for cluster in 0..centroids.n_clusters() {
                let (x, c) = (rows.row(0), centroids.row(cluster));
                let found = directories.of(cluster).similarity(x, c);
                prop_assert_eq!(found.to_bits(), reference_similarity(x, c).to_bits());
            }
        }
    }
}
