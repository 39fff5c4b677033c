//! "Both strategies significantly reduce the average number of pairwise distance calculations": in counts, which no machine can blur.

use docsphere::{Init, SphericalKMeans, Strategy};
use docsphere_testkit::zipf::ZipfText;

#[test]
fn each_strategy_of_the_paper_computes_fewer_similarities_and_both_together_the_fewest() {
    let rows = ZipfText { n_docs: 6_000, n_terms: 12_000, n_topics: 80, mean_terms: 20, seed: 3 }.rows();
    let similarities = |strategy| {
        let fit =
            SphericalKMeans::params(400).init(Init::PlusPlus).strategy(strategy).seed(3).fit(&rows).unwrap();
        assert!(fit.n_iter >= 5, "a run that is over at once shows nothing");
        fit.trace.total().similarities
    };
    let [baseline, ncc, index, both] =
        [Strategy::Baseline, Strategy::Ncc, Strategy::Index, Strategy::NccIndex].map(similarities);
    let counts = format!("baseline {baseline}, ncc {ncc}, index {index}, ncc-index {both}");
    assert!(ncc < baseline, "{counts}");
    assert!(index < baseline, "{counts}");
    assert!(both < ncc && both < index, "{counts}");
}

#[test]
fn higher_thresholds_leave_fewer_candidates() {
    let rows = ZipfText { n_docs: 2_000, n_terms: 6_000, n_topics: 40, mean_terms: 20, seed: 3 }.rows();
    let similarities = |lambdas: &[f64]| {
        let params = SphericalKMeans::params(200).strategy(Strategy::Index).lambdas(lambdas).max_iter(5);
        params.fit(&rows).unwrap().trace.total().similarities
    };
    assert!(similarities(&[0.1, 0.25, 0.4, 0.6]) < similarities(&[0.1]));
    assert!(
        similarities(&[0.1]) < similarities(&[1.0]),
        "a threshold nobody reaches filters nothing but zeros"
    );
}
