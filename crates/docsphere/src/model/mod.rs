//! Stage 9: the result of a fit, for later use.

mod device;
mod file;
mod pairs;
mod predict;

use serde::{Deserialize, Serialize};

pub(crate) use device::LentDevice;
pub use file::FORMAT_VERSION;
pub(crate) use pairs::{Pairs, most_bytes as most_neighbours_bytes, most_device_bytes};
pub use predict::{Nearest, Neighbour, Prediction, Predictor};

use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::ids::TermId;
use crate::record::Refine;
use crate::vectors::{TextModel, UnitRows};

/// Centroids and their provenance.
///
/// ```
/// use docsphere::{Model, SparseRows, SphericalKMeans, UnitRows};
///
/// let (terms, values) = (vec![0, 0, 1, 2], vec![1.0, 3.0, 1.0, 1.0]);
/// let rows = SparseRows::from_parts(3, vec![0, 1, 3, 4], terms, values)?;
/// let rows = UnitRows::new(rows);
/// let fit = SphericalKMeans::params(2).fit(&rows)?;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("clusters.docsphere");
/// fit.model.save(&path)?;
/// let model = Model::load(&path)?;
/// assert_eq!(model.predict(&rows)?.labels, fit.labels);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    centroids: Centroids,
    info: ModelInfo,
    text: Option<TextModel>,
    term_names: Option<Vec<String>>,
    device: LentDevice,
}

/// The provenance of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelInfo {
    /// How the first centroids were chosen.
    pub init: String,
    /// Candidates per step, for greedy k-means++.
    #[serde(default)]
    pub candidates: Option<usize>,
    /// Whether rows had weights.
    #[serde(default)]
    pub weighted: bool,
    /// The number of runs from seeds, of which the best was kept.
    pub n_init: usize,
    /// Whether first variation followed the loop.
    #[serde(default)]
    pub variation: bool,
    /// The number of runs that started from the best one, perturbed.
    #[serde(default)]
    pub rounds: usize,
    /// What followed; with [`Refine::Root`] the centroids are root centroids.
    #[serde(default)]
    pub refine: Refine,
    /// The maximum number of iterations.
    pub max_iter: usize,
    /// The tolerance.
    pub tol: f64,
    /// The seed.
    pub seed: u64,
    /// The number of rows that were clustered, zero rows included.
    pub n_docs: usize,
    /// The objective reached.
    pub objective: f64,
    /// The number of iterations.
    pub n_iter: usize,
    /// Whether the run converged.
    pub converged: bool,
    /// The version of docsphere that made the model.
    pub version: String,
}

impl Model {
    pub(crate) fn new(centroids: Centroids, info: ModelInfo) -> Self {
        Model { centroids, info, text: None, term_names: None, device: LentDevice::default() }
    }

    /// The model, with the device on which its centroids are compared.
    pub(crate) fn with_device(self, device: LentDevice) -> Self {
        Model { device, ..self }
    }

    /// The device on which its centroids are compared.
    pub(crate) fn device(&self) -> &LentDevice {
        &self.device
    }

    /// Why the device of the run failed after it, when [`neighbours`](Self::neighbours) or a
    /// [`MergeTree`](crate::MergeTree) were found; `None` if it did not. They were found on the CPU
    /// then.
    pub fn left_device(&self) -> Option<String> {
        self.device.left()
    }

    /// The names of the terms, if they were given; a model of texts has its vocabulary instead.
    pub fn term_names(&self) -> Option<&[String]> {
        self.term_names.as_deref()
    }

    /// Adds the text model, which turns new documents into rows, so that the model can be used on
    /// text.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if the vocabulary has another number of terms than the centroids.
    #[cfg(feature = "text")]
    pub fn with_text(mut self, text: TextModel) -> Result<Self> {
        self.check_terms(text.vocabulary().len())?;
        self.text = Some(text);
        Ok(self)
    }

    /// Keeps the text part, so that it is saved again.
    #[cfg(not(feature = "text"))]
    fn with_text(mut self, text: TextModel) -> Result<Self> {
        self.text = Some(text);
        Ok(self)
    }

    /// Adds the names of the terms, for a model that was made from a matrix.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if there is not one name per term of the centroids.
    pub fn with_term_names(mut self, names: Vec<String>) -> Result<Self> {
        self.check_terms(names.len())?;
        self.term_names = Some(names);
        Ok(self)
    }

    /// The text model, which turns new documents into rows; `None` for a model made from a matrix.
    #[cfg(feature = "text")]
    pub fn text(&self) -> Option<&TextModel> {
        self.text.as_ref()
    }

    /// The name of a term, if known.
    pub fn term_name(&self, term: TermId) -> Option<&str> {
        match (&self.text, &self.term_names) {
            (Some(text), _) => text.term(term),
            (None, Some(names)) => names.get(term.index()).map(String::as_str),
            (None, None) => None,
        }
    }

    fn check_terms(&self, n_names: usize) -> Result<()> {
        let n_terms = self.centroids.n_terms();
        if n_names == n_terms {
            return Ok(());
        }
        let expected = format!("{n_terms}, as in the centroids");
        Err(ErrorKind::Mismatch { what: "the number of term names", expected, got: n_names.to_string() }
            .into())
    }

    /// The centroids.
    pub fn centroids(&self) -> &Centroids {
        &self.centroids
    }

    /// The provenance of the model.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The nearest cluster of each row. For repeated calls, keep a [`Model::predictor`].
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if the rows are over another number of terms.
    pub fn predict(&self, rows: &UnitRows<'_>) -> Result<Prediction> {
        self.predictor().predict(rows)
    }

    /// The `m` most similar other clusters of each cluster, most similar first, ties in ascending
    /// order; fewer if there are fewer, none for empty clusters. Runs on the current rayon pool, or
    /// on the device of the fit that made the model.
    ///
    /// ```
    /// use docsphere::{SphericalKMeans, Vectorizer};
    ///
    /// let texts = ["cats purr", "cats and dogs", "dogs bark", "stocks fall"];
    /// let fit = SphericalKMeans::params(4).fit(&Vectorizer::new().fit_texts(&texts)?.rows)?;
    /// let [cats, both, dogs, _] = fit.labels.as_slice() else { unreachable!() };
    /// let neighbours = fit.model.neighbours(2);
    /// assert_eq!(neighbours[*cats as usize][0].cluster.index(), *both as usize);
    /// assert_eq!(neighbours[*dogs as usize][0].cluster.index(), *both as usize);
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    pub fn neighbours(&self, m: usize) -> Vec<Vec<Neighbour>> {
        pairs::neighbours(&self.centroids, m, &self.device)
    }

    /// A search structure over the centroids.
    pub fn predictor(&self) -> Predictor {
        Predictor::new(self)
    }
}
