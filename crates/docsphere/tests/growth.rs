//! Documents that come in slices, and clusters that are opened for them.

use docsphere::{
    Event, Fit, FitOptions, Labels, Model, NewClusters, Params, Refine, SparseRows, SphericalKMeans,
    Strategy, UnitRows, opened_clusters,
};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

fn rows() -> UnitRows<'static> {
    ZipfText { n_docs: 1_200, n_terms: 3_000, n_topics: 30, mean_terms: 25, seed: 9 }.rows()
}

/// Some rows, in order.
fn selected(rows: &UnitRows<'_>, wanted: impl Iterator<Item = usize>) -> UnitRows<'static> {
    let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in wanted.map(|number| rows.row(number)) {
        terms.extend_from_slice(row.terms);
        values.extend_from_slice(row.values);
        offsets.push(terms.len() as u64);
    }
    UnitRows::new(SparseRows::from_parts(rows.n_terms(), offsets, terms, values).unwrap())
}

fn params() -> Params {
    SphericalKMeans::params(25).seed(2)
}

/// A run over the first rows that goes on from an earlier one; rows that it does not know are new.
fn grown(rows: &UnitRows<'_>, n: usize, params: Params, model: &Model, labels: &[i32], frozen: bool) -> Fit {
    let mut labels = labels.to_vec();
    labels.resize(n, -1);
    let options = FitOptions::default().continue_from(model.centroids().clone(), Labels::from(labels));
    params.fit_with(&selected(rows, 0..n), options.frozen(frozen)).unwrap()
}

fn assert_same(a: &Fit, b: &Fit) {
    assert_eq!((&a.labels, &a.similarities, a.objective), (&b.labels, &b.similarities, b.objective));
    assert_eq!(a.model.to_bytes(), b.model.to_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn documents_added_in_slices_give_the_bits_of_one_warm_start(
        cuts in prop::collection::btree_set(700usize..1_200, 0..5),
        strategies in prop::collection::vec(prop::sample::select(Strategy::ALL.to_vec()), 6),
        threads in 1usize..4,
        refine in prop::sample::select(vec![Refine::None, Refine::Root]),
        variation in any::<bool>(),
    ) {
        let rows = rows();
        let params = || params().refine(refine).variation(variation);
        let first = params().fit(&selected(&rows, 0..700)).unwrap();
        let whole = grown(&rows, 1_200, params(), &first.model, first.labels.as_slice(), false);
        prop_assert!(whole.model.centroids() != first.model.centroids(), "otherwise nothing would be seen");
        // The slices are only assigned; the last run moves the centroids.
        let mut labels = first.labels.as_slice().to_vec();
        for (&cut, &strategy) in cuts.iter().zip(&strategies) {
            let slice = grown(&rows, cut, params().strategy(strategy), &first.model, &labels, true);
            prop_assert_eq!(slice.model.centroids(), first.model.centroids());
            prop_assert_eq!(slice.n_iter, 0);
            labels = slice.labels.as_slice().to_vec();
        }
        let last = params().strategy(strategies[5]).n_threads(threads);
        assert_same(&whole, &grown(&rows, 1_200, last, &first.model, &labels, false));
    }

    #[test]
    fn documents_that_go_and_come_back_give_the_bits_of_one_warm_start(
        gone in prop::collection::btree_set(0usize..900, 0..400),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
    ) {
        let rows = rows();
        let first = params().fit(&selected(&rows, 0..900)).unwrap();
        let left: Vec<usize> = (0..900).filter(|number| !gone.contains(number)).collect();
        let labels: Vec<i32> = left.iter().map(|&number| first.labels.as_slice()[number]).collect();
        let go_on = |order: &[usize], labels: &[i32], params: Params, frozen: bool| {
            let options = FitOptions::default()
                .continue_from(first.model.centroids().clone(), Labels::from(labels.to_vec()))
                .frozen(frozen);
            params.fit_with(&selected(&rows, order.iter().copied()), options).unwrap()
        };
        // Removed while the centroids stay, and then added again at the end.
        let without = go_on(&left, &labels, params().strategy(strategy), true);
        prop_assert_eq!(without.labels.as_slice(), &labels[..]);
        let order: Vec<usize> = left.iter().chain(&gone).copied().collect();
        let mut labels = without.labels.as_slice().to_vec();
        labels.resize(order.len(), -1);
        let back = go_on(&order, &labels, params().strategy(strategy), false);
        let known: Vec<i32> = order.iter().map(|&number| first.labels.as_slice()[number]).collect();
        assert_same(&back, &go_on(&order, &known, params(), false));
    }
}

fn watch(_: &Event<'_>) -> std::ops::ControlFlow<()> {
    std::ops::ControlFlow::Continue(())
}

#[test]
fn documents_on_a_new_subject_open_clusters_and_others_do_not() {
    let rows = rows();
    let first = params().fit(&selected(&rows, 0..900)).unwrap();
    let opened = |rows: &UnitRows<'_>, number| {
        opened_clusters(rows, 900, &first.model, number, &params(), &mut watch).unwrap()
    };
    // More of the same: one in 20 fits badly, as before.
    let same = opened(&rows, NewClusters::Auto);
    assert!(same.n_unfit < 60, "{}", same.n_unfit);
    assert!(same.n_opened <= 1, "{}", same.n_opened);
    assert_eq!(opened(&rows, NewClusters::None).n_opened, 0);
    // The first 900 documents, then 100 with terms that come nowhere else.
    let offsets: Vec<u64> = rows.as_sparse().offsets()[..=900].to_vec();
    let nnz = offsets[900] as usize;
    let (mut offsets, mut terms, mut values) =
        (offsets, rows.as_sparse().terms()[..nnz].to_vec(), rows.as_sparse().values()[..nnz].to_vec());
    for number in 0..100u32 {
        let subject = 3_000 + 40 * (number % 2);
        let of_document = [0, 1, 2 + number % 7, 10 + number % 11].map(|term| subject + term);
        terms.extend(of_document);
        values.extend([3.0, 2.0, 1.0, 1.0]);
        offsets.push(terms.len() as u64);
    }
    // The model knows these terms, which no document had.
    let all = UnitRows::new(SparseRows::from_parts(3_080, offsets, terms, values).unwrap());
    let first = params().fit(&selected(&all, 0..900)).unwrap();
    for number in [NewClusters::Auto, NewClusters::Number(2)] {
        let opened = opened_clusters(&all, 900, &first.model, number, &params(), &mut watch).unwrap();
        // 95 documents beyond the expected 5, and a mean size of 36.
        assert_eq!(opened.n_unfit, 100);
        assert_eq!(opened.n_opened, if number == NewClusters::Auto { 3 } else { 2 });
        let k = 25 + opened.n_opened;
        assert_eq!(opened.centroids.n_clusters(), k);
        let mut labels = first.labels.as_slice().to_vec();
        labels.resize(1_000, -1);
        let options = FitOptions::default().continue_from(opened.centroids, Labels::from(labels));
        let fit = params().n_clusters(k).fit_with(&all, options).unwrap();
        assert!(fit.labels.as_slice()[900..].iter().all(|&label| label >= 25), "they are among themselves");
        assert!(fit.labels.as_slice()[..900].iter().all(|&label| label < 25), "the others stay");
    }
    let error = opened_clusters(&all, 900, &first.model, NewClusters::Number(101), &params(), &mut watch);
    assert_eq!(
        error.unwrap_err().to_string(),
        "the number of new clusters must be at most 100, the number of new documents that have a term, got 101"
    );
}
