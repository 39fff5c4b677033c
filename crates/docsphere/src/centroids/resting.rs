//! Centroids in a scratch file, while nobody reads them: those of the best result so far.
//!
//! **Cost.** 8 bytes per entry on the disk, and 8 per cluster in memory.

use std::path::Path;

use super::{Centroid, Centroids};
use crate::error::{Error, Result};
use crate::mapping::Scratch;

/// See the [module](self).
pub(crate) struct Resting {
    file: Scratch,
    n_terms: usize,
    /// The number of entries of each centroid.
    lengths: Vec<usize>,
}

impl Resting {
    /// Writes centroids to the disk of a folder.
    pub(crate) fn new(centroids: &Centroids, folder: &Path) -> Result<Self> {
        let file = Scratch::new(folder)?;
        let (mut lengths, mut end) = (Vec::with_capacity(centroids.n_clusters()), 0);
        for cluster in 0..centroids.n_clusters() {
            let row = centroids.row(cluster);
            let n_bytes = 4 * row.nnz() as u64;
            let written =
                file.write_at(row.terms, end).and_then(|()| file.write_at(row.values, end + n_bytes));
            written.map_err(|error| error.at_path(folder))?;
            end += 2 * n_bytes;
            lengths.push(row.nnz());
        }
        Ok(Resting { file, n_terms: centroids.n_terms(), lengths })
    }

    /// The centroids in memory again.
    pub(crate) fn read(&self) -> Result<Centroids> {
        let mut start = 0;
        let list = self.lengths.iter().map(|&nnz| {
            let (mut terms, mut values) = (vec![0; nnz], vec![0.0; nnz]);
            self.file.read_at(&mut terms, start)?;
            self.file.read_at(&mut values, start + 4 * nnz as u64)?;
            start += 8 * nnz as u64;
            Ok::<_, Error>(Centroid { terms: terms.into(), values: values.into() })
        });
        Ok(Centroids::new(self.n_terms, list.collect::<Result<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn centroids_come_back_to_the_bit() {
        let parts = (vec![0, 2, 2, 5], vec![1, 4, 0, 2, 3], vec![3.0, 4.0, 1.0, 1.0, 1.0]);
        let centroids = Centroids::from_rows(SparseRows::from_parts(5, parts.0, parts.1, parts.2).unwrap());
        let home = tempfile::tempdir().unwrap();
        let resting = Resting::new(&centroids, home.path()).unwrap();
        assert_eq!(resting.read().unwrap(), centroids);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "a scratch file has no name");
        assert!(Resting::new(&centroids, &home.path().join("missing")).is_err());
    }
}
