//! Model files and predictions.

use std::fs;
use std::path::PathBuf;

use docsphere::{
    Centroids, ClusterId, DocId, ErrorKind, FORMAT_VERSION, Fit, Init, Model, SphericalKMeans, UnitRows,
};
use docsphere_testkit::reference::{reference_assign, similarities_to};
use docsphere_testkit::rows_from;
use docsphere_testkit::zipf::ZipfText;
use tempfile::TempDir;

fn text(seed: u64) -> UnitRows<'static> {
    ZipfText { n_docs: 600, n_terms: 2_000, n_topics: 20, mean_terms: 12, seed }.rows()
}

fn fitted() -> Fit {
    SphericalKMeans::params(25).seed(3).fit(&text(1)).unwrap()
}

fn saved(fit: &Fit) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model.docsphere");
    fit.model.save(&path).unwrap();
    (folder, path)
}

#[test]
fn a_saved_model_comes_back_to_the_bit() {
    let fit = fitted();
    let (_folder, path) = saved(&fit);
    let model = Model::load(&path).unwrap();
    assert_eq!(model, fit.model);
    assert_eq!((model.info().seed, model.info().n_docs, model.info().n_iter), (3, 600, fit.n_iter));
    assert_eq!(model.info().objective, fit.objective);
}

#[test]
fn predicting_the_training_rows_gives_their_labels() {
    let fit = fitted();
    let prediction = fit.model.predict(&text(1)).unwrap();
    assert_eq!(prediction.labels, fit.labels);
    assert_eq!(prediction.similarities, fit.similarities);
}

#[test]
fn predictions_for_new_rows_are_those_of_the_reference() {
    let fit = fitted();
    let rows = text(2);
    let matrix = fit.model.centroids().to_sparse_rows();
    let centroids: Vec<Vec<(u32, f32)>> = matrix.iter().map(|row| row.iter().collect()).collect();
    let expected = reference_assign(&rows, &centroids, &vec![-1; rows.n_rows()]);
    let predictor = fit.model.predictor();
    let prediction = predictor.predict(&rows).unwrap();
    assert_eq!(prediction.labels.as_slice(), expected.labels);
    assert_eq!(prediction.similarities, expected.similarities);

    let nearest = predictor.nearest(&rows, 4).unwrap();
    let by_cluster: Vec<Vec<f64>> =
        centroids.iter().map(|centroid| similarities_to(&rows, centroid)).collect();
    for (doc, row) in rows.iter().enumerate() {
        let mut expected: Vec<(usize, f64)> = (0..25).map(|j| (j, by_cluster[j][doc])).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let found = nearest.of(DocId::new(doc as u32));
        if row.nnz() == 0 {
            assert!(found.is_empty());
            continue;
        }
        let found: Vec<(usize, f64)> = found.iter().map(|n| (n.cluster.index(), n.similarity)).collect();
        expected.retain(|&(_, similarity)| similarity > 0.0);
        expected.truncate(4);
        assert_eq!(found, expected);
    }
}

#[test]
fn neighbours_of_clusters_are_the_nearest_others_to_the_bit() {
    // More rows than are processed at once, the last batch smaller, and rows with negative values.
    let of = |k| SphericalKMeans::params(k).max_iter(1).fit(&text(3)).unwrap().model;
    let mut models = vec![fitted().model, of(77), of(300)];
    let signed: Vec<Vec<(u32, f32)>> = text(4)
        .iter()
        .map(|row| row.iter().map(|(term, x)| (term, if term % 3 == 0 { -x } else { x })).collect())
        .collect();
    let signed: Vec<&[(u32, f32)]> = signed.iter().map(Vec::as_slice).collect();
    models.push(SphericalKMeans::params(40).fit(&rows_from(2000, &signed)).unwrap().model);
    for model in models {
        let rows = UnitRows::new(model.centroids().to_sparse_rows());
        let k = rows.n_rows();
        let similarities = model.predictor().similarities(&rows).unwrap();
        let others = |cluster: usize| {
            let own = &similarities[cluster * k..(cluster + 1) * k];
            let mut others: Vec<(usize, f64)> = own.iter().copied().enumerate().collect();
            others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            others.retain(|&(other, _)| other != cluster);
            others
        };
        for m in [0, 1, 7, k - 1, k, usize::MAX] {
            let found = model.neighbours(m);
            assert_eq!(found.len(), k);
            for (cluster, found) in found.iter().enumerate() {
                let expected = others(cluster);
                let found: Vec<(usize, f64)> =
                    found.iter().map(|n| (n.cluster.index(), n.similarity)).collect();
                assert_eq!(found, expected[..m.min(k - 1)], "m = {m}, cluster {cluster}");
            }
        }
    }
}

#[test]
fn empty_clusters_have_no_neighbours_and_are_none() {
    let rows = rows_from(3, &[&[(1, 1.0)], &[(2, 1.0)], &[(1, 2.0)], &[(2, 2.0)]]);
    let model = SphericalKMeans::params(4).fit(&rows).unwrap().model;
    let neighbours = model.neighbours(3);
    let live = |cluster: usize| model.centroids().centroid(ClusterId::new(cluster as u32)).nnz() > 0;
    for (cluster, found) in neighbours.iter().enumerate() {
        assert_eq!(found.len(), usize::from(live(cluster)), "one other that is not empty");
        assert!(found.iter().all(|other| live(other.cluster.index()) && other.similarity == 0.0));
    }
}

#[test]
fn empty_clusters_attract_no_new_rows() {
    let rows = rows_from(3, &[&[(1, 1.0)], &[(2, 1.0)], &[(1, 2.0)], &[(2, 2.0)]]);
    let fit = SphericalKMeans::params(4).fit(&rows).unwrap();
    assert_eq!(fit.n_empty_clusters, 2);
    let new = rows_from(3, &[&[(0, 1.0)], &[], &[(2, 1.0)]]);
    let predictor = fit.model.predictor();
    let prediction = predictor.predict(&new).unwrap();
    assert_eq!(prediction.labels.as_slice()[1], -1);
    assert_eq!(prediction.similarities[2], 1.0);
    let live = |cluster: ClusterId| fit.model.centroids().centroid(cluster).nnz() > 0;
    assert_eq!(prediction.labels.get(DocId::new(0)), None, "nothing in common with any cluster");
    assert_eq!(prediction.similarities[0], 0.0);
    let nearest = predictor.nearest(&new, 10).unwrap();
    assert_eq!([0, 1, 2].map(|doc| nearest.of(DocId::new(doc)).len()), [0, 0, 1]);
    assert!(live(nearest.of(DocId::new(2))[0].cluster));
}

#[test]
fn rows_over_other_terms_are_refused() {
    let fit = fitted();
    let rows = rows_from(7, &[&[(0, 1.0)]]);
    let expected = "the number of terms of the rows must be 2000, as in the model, got 7";
    assert_eq!(fit.model.predict(&rows).unwrap_err().to_string(), expected);
    let error = fit.model.predictor().nearest(&text(1), 0).unwrap_err();
    assert_eq!(error.to_string(), "m must be at least 1, got 0");
}

#[test]
fn a_file_of_another_kind_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "not a model at all, just some text that is long enough").unwrap();
    let message = Model::load(&path).unwrap_err().to_string();
    assert!(message.contains("notes.txt: not valid docsphere model"), "{message}");
    assert!(message.contains("another kind of file"), "{message}");
    fs::write(&path, "").unwrap();
    assert!(Model::load(&path).unwrap_err().to_string().contains("a file of only 0 bytes"));
    assert!(matches!(Model::load(folder.path()).unwrap_err().kind(), ErrorKind::Io { .. }));
    let missing = folder.path().join("missing.docsphere");
    assert!(Model::load(&missing).unwrap_err().to_string().contains("missing.docsphere: cannot read"));
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let (_folder, path) = saved(&fitted());
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    let error = Model::load(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NewerFormat { found: 9, supported: FORMAT_VERSION }));
    assert!(error.to_string().contains("update docsphere"), "{error}");
}

#[test]
fn every_flipped_bit_and_every_truncation_is_noticed() {
    let rows = rows_from(5, &[&[(0, 1.0), (2, 1.0)], &[(1, 1.0)], &[(4, 3.0), (2, 1.0)]]);
    let fit = SphericalKMeans::params(2).fit(&rows).unwrap();
    let (_folder, path) = saved(&fit);
    let bytes = fs::read(&path).unwrap();
    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        fs::write(&path, &damaged).unwrap();
        assert!(Model::load(&path).is_err(), "flipped bit in byte {position}");
        fs::write(&path, &bytes[..position]).unwrap();
        assert!(Model::load(&path).is_err(), "cut to {position} bytes");
    }
    fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    assert!(Model::load(&path).is_err(), "more bytes than stated");
}

#[test]
fn saving_replaces_the_file_whole_and_leaves_nothing_beside_it() {
    let fit = fitted();
    let (folder, path) = saved(&fit);
    let other = SphericalKMeans::params(3).fit(&text(1)).unwrap();
    other.model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), other.model);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let nowhere = folder.path().join("no-such-folder").join("model.docsphere");
    let message = other.model.save(&nowhere).unwrap_err().to_string();
    assert!(message.contains("no-such-folder"), "{message}");
}

#[test]
fn the_first_format_still_loads() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docsphere/tests/compat_data/v1.docsphere");
    let model = Model::load(&path).unwrap();
    assert_eq!(model.centroids().n_clusters(), 3);
    let rows = rows_from(5, &[&[(4, 1.0)], &[(0, 1.0)], &[(1, 1.0)], &[]]);
    assert_eq!(model.predict(&rows).unwrap().labels.as_slice(), [1, 0, 2, -1]);
}

/// A model made from text. A build without the feature `text` can still label rows with it, and
/// does not lose its text part.
#[test]
fn the_first_format_still_loads_with_a_text_part() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docsphere/tests/compat_data/v1-text.docsphere");
    let model = Model::load(&path).unwrap();
    // Terms: cats, fall, purr, rise, stocks.
    let rows = rows_from(5, &[&[(0, 1.0), (2, 1.0)], &[(4, 1.0), (1, 1.0)]]);
    assert_eq!(model.predict(&rows).unwrap().labels.as_slice(), [0, 1]);
    let bytes = model.to_bytes();
    assert_eq!(Model::from_bytes(&bytes).unwrap(), model);
    assert!(bytes.windows(22).any(|window| window == b"catsfallpurrrisestocks"), "the terms are kept");
    let name = model.term_name(docsphere::TermId::new(2));
    assert_eq!(name, cfg!(feature = "text").then_some("purr"));
}

/// Writes the file of the test above.
#[cfg(feature = "text")]
#[test]
#[ignore = "writes a file into the source tree"]
fn write_compat_data_with_text() {
    let texts = ["cats purr", "purr cats purr", "stocks fall", "stocks rise"];
    let text = docsphere::Vectorizer::new().fit_texts(&texts).unwrap();
    let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows).unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docsphere/tests/compat_data");
    let model = fit.model.with_text(text.model).unwrap();
    model.save(folder.join(format!("v{FORMAT_VERSION}-text.docsphere"))).unwrap();
}

/// Writes the file of the first format. Run it by hand when a new format version is introduced,
/// under a new name.
#[test]
#[ignore = "writes a file into the source tree"]
fn write_compat_data() {
    let rows = rows_from(5, &[&[(0, 1.0), (2, 1.0)], &[(4, 3.0), (2, 1.0)], &[(1, 1.0)]]);
    let centroids = Centroids::from_rows(rows.as_sparse().clone());
    let fit = SphericalKMeans::params(3).init(Init::Given(centroids)).fit(&rows).unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docsphere/tests/compat_data");
    fs::create_dir_all(&folder).unwrap();
    fit.model.save(folder.join(format!("v{FORMAT_VERSION}.docsphere"))).unwrap();
}
