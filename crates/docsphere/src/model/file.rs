//! The `.docsphere` file: a model on disk.
//!
//! A [container](super::container) with the sections
//!
//! - `info`: [`ModelInfo`] as JSON;
//! - `centroids`: number of clusters, number of terms, number of entries (8 bytes each), then the offsets (8 bytes each, one more than clusters), the
//!   term ids (4 bytes each) and the values (32-bit floats).
//!
//! Sections that a build does not know are ignored, so they can be added without a new version; a change that older builds
//! would misread raises [`FORMAT_VERSION`].

use std::path::Path;

use super::container::{Container, Section, damaged};
use super::{Model, ModelInfo};
use crate::error::Result;
use crate::update::Centroids;
use crate::vectors::SparseRows;

/// The version of model files that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

const INFO: &str = "info";
const CENTROIDS: &str = "centroids";

impl Model {
    /// Writes the model to a file. The file appears whole or not at all; one that was there before stays until then.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let info = serde_json::to_vec(&self.info).expect("plain numbers and strings");
        let section = |name: &str, content| Section { name: name.to_owned(), content };
        let sections = vec![section(INFO, info), section(CENTROIDS, centroids_to_bytes(&self.centroids))];
        Container { sections }.write(path.as_ref(), FORMAT_VERSION)
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    /// A file that is not a docsphere model, is damaged, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let container = Container::read(path, FORMAT_VERSION)?;
        from_container(&container).map_err(|error| error.at_path(path))
    }
}

fn from_container(container: &Container) -> Result<Model> {
    let info: ModelInfo = serde_json::from_slice(container.section(INFO)?)
        .map_err(|error| damaged("a description of the model", error))?;
    let centroids = centroids_from_bytes(container.section(CENTROIDS)?)?;
    Ok(Model::new(centroids, info))
}

fn centroids_to_bytes(centroids: &Centroids) -> Vec<u8> {
    let (n_clusters, nnz) = (centroids.n_clusters(), centroids.nnz());
    let mut bytes = Vec::with_capacity(8 * (4 + n_clusters) + 8 * nnz);
    for number in [n_clusters, centroids.n_terms(), nnz] {
        bytes.extend((number as u64).to_le_bytes());
    }
    let rows = || (0..n_clusters).map(|cluster| centroids.row(cluster));
    let mut end = 0u64;
    bytes.extend(end.to_le_bytes());
    for row in rows() {
        end += row.nnz() as u64;
        bytes.extend(end.to_le_bytes());
    }
    rows().flat_map(|row| row.terms).for_each(|term| bytes.extend(term.to_le_bytes()));
    rows().flat_map(|row| row.values).for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

fn centroids_from_bytes(bytes: &[u8]) -> Result<Centroids> {
    let wrong_size =
        || damaged("a section of centroids of the size that it states", format!("{} bytes", bytes.len()));
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let (head, rest) = bytes.split_at_checked(24).ok_or_else(wrong_size)?;
    let [n_clusters, n_terms, nnz] = [long(&head[..8]), long(&head[8..16]), long(&head[16..])];
    let expected_bytes = u128::from(n_clusters) * 8 + 8 + u128::from(nnz) * 8;
    if rest.len() as u128 != expected_bytes {
        return Err(wrong_size());
    }
    // Each number is bounded by the section's size now.
    let (offsets, rest) = rest.split_at(n_clusters as usize * 8 + 8);
    let (terms, values) = rest.split_at(nnz as usize * 4);
    let offsets: Vec<u64> = offsets.chunks_exact(8).map(long).collect();
    let terms: Vec<u32> =
        terms.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect();
    let values: Vec<f32> =
        values.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect();
    Ok(Centroids::from_rows(SparseRows::from_parts(n_terms as usize, offsets, terms, values)?))
}
