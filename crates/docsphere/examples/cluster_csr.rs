//! A sparse matrix of your own: `cargo run --example cluster_csr --no-default-features`.
//!
//! Needs no feature of the crate, hence no C compiler.

use docsphere::{DocId, FitOptions, Model, SparseRows, SphericalKMeans, UnitRows};

pub(crate) fn main() -> docsphere::Result<()> {
    // Compressed sparse rows: row i has the nonzeros offsets[i]..offsets[i + 1]. The parts may also
    // be borrowed, and are then not copied.
    let offsets: &[u64] = &[0, 2, 4, 6, 9, 9];
    let terms: &[u32] = &[0, 1, 0, 1, 2, 3, 2, 3, 4];
    let values: &[f32] = &[1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0, 0.5];
    let rows = SparseRows::from_parts(5, offsets, terms, values)?;
    // Only directions count: every row is brought to length one.
    let rows = UnitRows::new(rows);

    // A weight per row: how often it counts.
    let weights = [1.0, 1.0, 1.0, 3.0, 1.0];
    let options = FitOptions::default().weights(&weights);
    let fit = SphericalKMeans::params(2).seed(7).n_threads(2).fit_with(&rows, options)?;
    println!("labels {:?} after {} iterations", fit.labels.as_slice(), fit.n_iter);
    assert_eq!(fit.labels.as_slice()[4], -1, "a row without nonzeros belongs nowhere");

    // A model is a file, or bytes.
    let model = Model::from_bytes(&fit.model.to_bytes())?;
    let new = UnitRows::new(SparseRows::from_parts(5, vec![0, 1], vec![3], vec![1.0])?);
    assert_eq!(model.predict(&new)?.labels.as_slice()[0], fit.labels.as_slice()[2]);
    for neighbour in model.predictor().nearest(&new, 2)?.of(DocId::new(0)) {
        println!("cluster {} has similarity {:.3}", neighbour.cluster, neighbour.similarity);
    }
    Ok(())
}
