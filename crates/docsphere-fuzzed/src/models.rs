//! Bytes to a model, as every command reads one: an error, or a model that can be used and that is
//! the same when it is saved and read again.

use std::fs;
use std::path::Path;

use docsphere::{Labels, Model, SparseRows, UnitRows, cluster_keywords};
use docsphere_result::names;

use crate::checkpoints::resealed;

/// More clusters than this are not compared with one another.
const FEW_CLUSTERS: usize = 300;

/// Reads bytes as a model, as they are and with right checksums.
pub fn run(data: &[u8], _folder: &Path) {
    read(data);
    if let Some(resealed) = resealed(data) {
        read(&resealed);
    }
}

fn read(bytes: &[u8]) {
    let Ok(model) = Model::from_bytes(bytes) else { return };
    let saved = model.to_bytes();
    let again = Model::from_bytes(&saved).expect("what was saved can be read");
    assert_eq!(saved, again.to_bytes());
    let n_clusters = model.centroids().n_clusters();
    if n_clusters <= FEW_CLUSTERS {
        assert_eq!(model.neighbours(2).len(), n_clusters);
        let labels = Labels::from((0..n_clusters as i32).collect::<Vec<_>>());
        let _ = cluster_keywords(&model, &labels, 5);
    }
    if let Some(text) = model.text() {
        let texts = ["cats purr and dogs bark", "", "stocks 2024 C++ \u{6771}\u{4eac} \u{301}"];
        if let Ok(new) = text.transform(&texts) {
            assert_eq!(new.rows.n_rows(), texts.len());
            if let Ok(prediction) = model.predict(&new.rows) {
                assert_eq!(prediction.labels.as_slice().len(), texts.len());
            }
        }
    }
    let empty = SparseRows::from_parts(model.centroids().n_terms(), vec![0, 0], vec![], vec![]);
    if let Ok(rows) = empty.map(UnitRows::new) {
        let _ = model.predict(&rows);
    }
}

/// A model with the words of documents, and one without.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    crate::sample::write(folder);
    let with_text = fs::read(folder.join(names::MODEL)).expect("a model");
    let rows = docsphere_testkit::rows_from(5, &[&[(0, 1.0), (2, 2.0)], &[(1, 3.0)], &[], &[(4, 1.0)]]);
    let fit = docsphere::SphericalKMeans::params(2).n_threads(1).fit(&rows).expect("a run");
    let named = fit.model.clone().with_term_names(["a", "b", "c", "d", "e"].map(str::to_owned).to_vec());
    vec![with_text, fit.model.to_bytes(), named.expect("a name per term").to_bytes()]
}
