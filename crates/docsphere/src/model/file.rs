//! The `.docsphere` file: a model on disk.
//!
//! A [container](crate::container) with the sections
//!
//! - `info`: [`ModelInfo`] as JSON;
//! - `centroids`: number of clusters, number of terms, number of entries (8 bytes each), then the
//!   offsets (8 bytes each, one more than clusters), the term ids (4 bytes each) and the values
//!   (32-bit floats);
//! - `text`, if the model was made from text: options, vocabulary and document frequencies;
//! - `terms`, if it was made from a matrix with a vocabulary: the names of the terms as a JSON
//!   list.
//!
//! Sections that a build does not know are ignored, so they can be added without a new version; a
//! change that older builds would misread raises [`FORMAT_VERSION`].

use std::path::Path;

use super::{Model, ModelInfo};
use crate::centroids::Centroids;
use crate::container::{Container, Kind};
use crate::error::Result;
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::vectors::TextModel;

/// The version of model files that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

const KIND: Kind = Kind {
    mark: *b"\x89DOCSPH\n",
    name: "docsphere model",
    whole: "the docsphere model",
    version: FORMAT_VERSION,
};

/// Bytes of memory per byte of the file while a model is decoded: entries of the centroids first as
/// a matrix, then as one list each; a weight and a hash table slot per term of a vocabulary, which
/// has 12 bytes and its text in the file.
const DECODED: u64 = 3;

const INFO: &str = "info";
const CENTROIDS: &str = "centroids";
const TEXT: &str = "text";
const TERMS: &str = "terms";

impl Model {
    /// Writes the model to a file atomically; an existing file stays until the new one is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.container().write(path.as_ref(), &KIND)
    }

    /// The content of a model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes(&KIND)
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) returned or [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        from_container(&Container::from_bytes(bytes, &KIND)?)
    }

    fn container(&self) -> Container {
        let info = serde_json::to_vec(&self.info).expect("plain numbers and strings");
        let mut container = Container::default();
        container.push(INFO, info);
        container.push(CENTROIDS, self.centroids.to_bytes());
        if let Some(text) = &self.text {
            container.push(TEXT, text.to_bytes());
        }
        if let Some(names) = &self.term_names {
            container.push(TERMS, serde_json::to_vec(names).expect("plain strings"));
        }
        container
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    /// A file that is not a docsphere model, is damaged, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_within(path, &NO_LIMIT)
    }

    /// Reads a model from a file within a memory limit.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::Memory`](crate::ErrorKind::Memory) for a file that
    /// is too large.
    pub fn load_within(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<Model> {
        let path = path.as_ref();
        let container = Container::read(path, &KIND, DECODED, memory)?;
        from_container(&container).map_err(|error| error.at_path(path))
    }
}

fn from_container(container: &Container) -> Result<Model> {
    let info: ModelInfo = serde_json::from_slice(container.section(INFO, &KIND)?)
        .map_err(|error| KIND.damaged("a description of the model", error))?;
    let centroids = Centroids::from_bytes(container.section(CENTROIDS, &KIND)?, &KIND)?;
    let mut model = Model::new(centroids, info);
    if let Some(bytes) = container.find(TEXT) {
        model = model.with_text(TextModel::from_bytes(bytes)?)?;
    }
    if let Some(bytes) = container.find(TERMS) {
        let names =
            serde_json::from_slice(bytes).map_err(|error| KIND.damaged("the names of the terms", error))?;
        model = model.with_term_names(names)?;
    }
    Ok(model)
}
