//! Groups of clusters by definition, and positions on a map.

use docsphere::{ClusterId, Init, MergeTree, Model, Row, SparseRows, SphericalKMeans, UnitRows, on_threads};
use docsphere_testkit::zipf::ZipfText;

fn id(cluster: usize) -> ClusterId {
    ClusterId::new(cluster as u32)
}

/// The dot product, by definition.
fn similarity(a: &Row<'_>, b: &Row<'_>) -> f64 {
    let of_b = |term: u32| b.terms.binary_search(&term).map_or(0.0, |position| f64::from(b.values[position]));
    a.iter().map(|(term, value)| f64::from(value) * of_b(term)).sum()
}

fn model(n_docs: usize, k: usize) -> Model {
    let rows = ZipfText { n_docs, n_terms: 3000, n_topics: 36, mean_terms: 20, seed: 5 }.rows();
    SphericalKMeans::params(k).fit(&rows).unwrap().model
}

/// Groups by the definition: in each step the two groups whose merge adds least to the squared
/// distances from their means.
fn by_definition(model: &Model, n_groups: usize) -> Vec<Vec<usize>> {
    let n_clusters = model.centroids().n_clusters();
    let centroid = |cluster| model.centroids().centroid(id(cluster));
    let all: Vec<Vec<f64>> = (0..n_clusters)
        .map(|i| (0..n_clusters).map(|j| similarity(&centroid(i), &centroid(j))).collect())
        .collect();
    let mean = |a: &[usize], b: &[usize]| {
        let sum: f64 = a.iter().flat_map(|&i| b.iter().map(move |&j| (i, j))).map(|(i, j)| all[i][j]).sum();
        sum / (a.len() * b.len()) as f64
    };
    let cost = |a: &[usize], b: &[usize]| {
        let sizes = (a.len() * b.len()) as f64 / (a.len() + b.len()) as f64;
        sizes * (mean(a, a) + mean(b, b) - 2.0 * mean(a, b))
    };
    let mut groups: Vec<Vec<usize>> = (0..n_clusters).map(|cluster| vec![cluster]).collect();
    while groups.len() > n_groups {
        let pairs = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b)));
        let least = pairs
            .min_by(|&(a, b), &(c, d)| cost(&groups[a], &groups[b]).total_cmp(&cost(&groups[c], &groups[d])));
        let (a, b) = least.unwrap();
        let joined = groups.remove(b);
        groups[a].extend(joined);
        groups[a].sort_unstable();
    }
    groups.sort();
    groups
}

#[test]
fn groups_are_those_of_the_definition() {
    let model = model(600, 25);
    let tree = MergeTree::new(&model);
    assert_eq!(tree.merges().len(), 24);
    for n_groups in [1, 2, 5, 12, 24, 25] {
        let mut groups = vec![Vec::new(); n_groups];
        for (cluster, group) in tree.cut(n_groups).unwrap().of_clusters.into_iter().enumerate() {
            groups[group as usize].push(cluster);
        }
        // Numbered in the order of their first clusters, so sorted already.
        assert_eq!(groups, by_definition(&model, n_groups));
    }
}

#[test]
fn later_merges_join_what_is_further_apart() {
    let tree = MergeTree::new(&model(600, 40));
    assert!(tree.merges().is_sorted_by(|a, b| a.height <= b.height));
    for (position, merge) in tree.merges().iter().enumerate() {
        assert!(merge.left < merge.right && (merge.right as usize) < 40 + position);
    }
}

#[test]
fn empty_clusters_are_in_no_group() {
    // Two distinct rows, three clusters.
    let rows = SparseRows::from_parts(2, vec![0, 1, 2, 3], vec![0, 1, 0], vec![1.0, 1.0, 1.0]).unwrap();
    let model = SphericalKMeans::params(3).fit(&UnitRows::new(rows)).unwrap().model;
    let tree = MergeTree::new(&model);
    assert_eq!((tree.live().len(), tree.merges().len()), (2, 1));
    let groups = tree.cut(2).unwrap().of_clusters;
    assert_eq!(groups.iter().filter(|&&group| group == -1).count(), 1);
    assert_eq!(groups.iter().max(), Some(&1));
    let message = tree.cut(3).unwrap_err().to_string();
    assert!(message.contains("from 1 to 2") && tree.cut(0).is_err(), "{message}");
}

#[test]
fn one_cluster_is_one_group() {
    let tree = MergeTree::new(&model(50, 1));
    assert_eq!((tree.merges().len(), tree.cut(1).unwrap().of_clusters), (0, vec![0]));
}

/// More clusters than have all pairs compared: one for each row.
#[test]
fn many_clusters_have_a_tree_too() {
    let n_rows = MergeTree::ALL_PAIRS + 1000;
    let rows = ZipfText { n_docs: n_rows, n_terms: 4000, n_topics: 60, mean_terms: 20, seed: 6 }.rows();
    let fit = SphericalKMeans::params(n_rows).init(Init::Random).max_iter(1).fit(&rows).unwrap();
    let on = |n_threads| on_threads(Some(n_threads), || MergeTree::new(&fit.model)).unwrap();
    let tree = on(1);
    assert!(tree.live().len() > MergeTree::ALL_PAIRS, "{}", tree.live().len());
    assert_eq!(tree.merges().len(), tree.live().len() - 1);
    assert!(tree.merges().is_sorted_by(|a, b| a.height <= b.height));
    assert!([2, 7].iter().all(|&n_threads| on(n_threads) == tree));
    let neighbours = fit.model.neighbours(MergeTree::NEIGHBOURS);
    let neighbours: Vec<_> = neighbours.iter().map(Vec::as_slice).collect();
    assert_eq!(MergeTree::from_neighbours(&fit.model, &neighbours), tree);
    assert!(MergeTree::from_merges(n_rows, tree.live().to_vec(), tree.merges().to_vec()).is_ok());
    // Clusters of one row have little in common; those of a group have more.
    let groups = tree.cut(60).unwrap().of_clusters;
    let centroid = |cluster| fit.model.centroids().centroid(id(cluster));
    let (mut within, mut across) = ((0.0, 0.0), (0.0, 0.0));
    for a in (0..n_rows).step_by(17) {
        for b in (0..a).step_by(19) {
            let sum = if groups[a] == groups[b] { &mut within } else { &mut across };
            *sum = (sum.0 + similarity(&centroid(a), &centroid(b)), sum.1 + 1.0);
        }
    }
    let [within, across] = [within, across].map(|(sum, n)| sum / n);
    assert!(within > 1.05 * across, "{within} {across}");
}

#[test]
fn a_group_is_a_node_of_the_tree() {
    let tree = MergeTree::new(&model(600, 25));
    let groups = tree.cut(5).unwrap();
    // The descendants of each group's node are exactly its clusters.
    for (group, &node) in groups.nodes.iter().enumerate() {
        let mut open = vec![node];
        let mut below = Vec::new();
        while let Some(node) = open.pop() {
            match (node as usize).checked_sub(25) {
                None => below.push(node as usize),
                Some(merge) => open.extend([tree.merges()[merge].left, tree.merges()[merge].right]),
            }
        }
        below.sort_unstable();
        let members: Vec<usize> =
            (0..25).filter(|&cluster| groups.of_clusters[cluster] == group as i32).collect();
        assert_eq!(below, members);
    }
}

#[test]
fn a_tree_that_was_written_down_is_checked() {
    let tree = MergeTree::new(&model(600, 8));
    let (live, merges) = (tree.live().to_vec(), tree.merges().to_vec());
    let again =
        |live: &[u32], merges: &[docsphere::Merge]| MergeTree::from_merges(8, live.to_vec(), merges.to_vec());
    assert_eq!(again(&live, &merges).unwrap(), tree);
    let message = |live: &[u32], merges: &[docsphere::Merge]| again(live, merges).unwrap_err().to_string();
    assert!(message(&live[1..], &merges[1..]).contains("node "), "a leaf that is missing");
    assert!(message(&[0, 1, 2, 3, 4, 5, 6, 6], &merges).contains("leaf 6"));
    assert!(message(&[0, 1, 2, 3, 4, 5, 6, 8], &merges).contains("leaf 8"));
    assert!(message(&[1, 0, 2, 3, 4, 5, 6, 7], &merges).contains("7 merges of 8 leaves"));
    assert!(message(&live, &merges[..6]).contains("6 merges of 8 leaves"));
    let mut twice = merges.clone();
    twice[1] = twice[0];
    assert!(message(&live, &twice).contains("in merge 1"));
    let mut beyond = merges;
    beyond[0].right = 15;
    assert!(message(&live, &beyond).contains("node 15 in merge 0"));
}

#[cfg(all(feature = "map", feature = "text"))]
mod map {
    use docsphere::{Corpus, CorpusOptions, MAP_NEIGHBOURS, Neighbour, Vectorizer, cluster_places};

    use super::*;

    fn neighbours(model: &Model) -> Vec<Vec<Neighbour>> {
        model.neighbours(MAP_NEIGHBOURS)
    }

    #[test]
    fn the_same_seed_gives_the_same_map_on_any_number_of_threads() {
        // Few clusters, and more than one task builds the tree of.
        for k in [40, 700] {
            let neighbours = neighbours(&model(3000, k));
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| cluster_places(&neighbours, 1))
            };
            let places = on(1);
            assert!([2, 7].iter().all(|&threads| on(threads) == places));
            assert_ne!(places, cluster_places(&neighbours, 2));
            assert!(places.iter().flatten().all(|value| (-1.0..=1.0).contains(value)));
        }
    }

    #[test]
    fn similar_clusters_lie_near_each_other() {
        // Twenty subjects, three clusters per subject.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docsphere-cli/corpora/everyday.jsonl");
        let corpus = Corpus::open([path], CorpusOptions::default()).unwrap();
        let rows = Vectorizer::new().fit(&corpus).unwrap().rows;
        let model = SphericalKMeans::params(60).fit(&rows).unwrap().model;
        let neighbours = neighbours(&model);
        let places = cluster_places(&neighbours, 1);
        let distance = |a: usize, b: usize| {
            ((places[a][0] - places[b][0]).powi(2) + (places[a][1] - places[b][1]).powi(2)).sqrt()
        };
        let nearest = |cluster: usize| neighbours[cluster][0].cluster.index();
        let to_nearest: f32 = (0..60).map(|cluster| distance(cluster, nearest(cluster))).sum::<f32>() / 60.0;
        let pairs = (0..60).flat_map(|a| (0..a).map(move |b| (a, b)));
        let to_all: f32 = pairs.map(|(a, b)| distance(a, b)).sum::<f32>() / 1770.0;
        assert!(to_nearest < 0.5 * to_all, "{to_nearest} to the nearest, {to_all} to all");
    }

    #[test]
    fn few_clusters_have_places_too() {
        for k in 1..6 {
            let places = cluster_places(&neighbours(&model(300, k)), 1);
            assert!(places.iter().flatten().all(|value| value.is_finite()), "{k}: {places:?}");
            let distinct: std::collections::BTreeSet<_> =
                places.iter().map(|place| place.map(f32::to_bits)).collect();
            assert_eq!(distinct.len(), k);
        }
    }

    #[test]
    fn empty_clusters_lie_in_the_middle_and_move_no_others() {
        let full = neighbours(&model(3000, 40));
        let mut with_empty = full.clone();
        with_empty.push(Vec::new());
        let places = cluster_places(&with_empty, 1);
        assert_eq!(places[40], [0.0, 0.0]);
        assert_eq!(places[..40], cluster_places(&full, 1));
    }
}

#[test]
fn no_group_of_a_balanced_cut_has_most_documents_if_it_can_be_split() {
    let model = model(600, 40);
    let tree = MergeTree::new(&model);
    // All documents are in few clusters, which lie under one merge.
    let crowded = tree.cut(2).unwrap().of_clusters;
    let sizes: Vec<usize> = crowded.iter().map(|&group| if group == 1 { 100 } else { 1 }).collect();
    let total: usize = sizes.iter().sum();
    let mut before: Option<Vec<i32>> = None;
    for n_groups in 1..=40 {
        let groups = tree.cut_balanced(n_groups, &sizes).unwrap();
        assert_eq!(groups.nodes.len(), n_groups);
        let mut of_groups = vec![(0, 0); n_groups];
        for (&group, size) in groups.of_clusters.iter().zip(&sizes) {
            of_groups[group as usize].0 += size;
            of_groups[group as usize].1 += 1;
        }
        let largest = of_groups.iter().filter(|group| group.1 > 1).map(|group| group.0).max().unwrap_or(0);
        if n_groups >= 8 {
            assert!(largest as f64 <= MergeTree::LARGE_GROUP * total as f64, "{n_groups}: {of_groups:?}");
        }
        // Each cut refines the one before.
        if let Some(before) = before {
            let pairs: std::collections::BTreeSet<(i32, i32)> =
                groups.of_clusters.iter().copied().zip(before).collect();
            assert_eq!(pairs.len(), n_groups);
        }
        before = Some(groups.of_clusters);
    }
    // Without documents it is the cut at the highest merges.
    for n_groups in [1, 7, 40] {
        assert_eq!(tree.cut_balanced(n_groups, &[0; 40]).unwrap(), tree.cut(n_groups).unwrap());
    }
}

#[test]
fn clusters_that_are_equally_far_apart_have_no_structure() {
    // One term per row: all clusters are orthogonal.
    let terms: Vec<u32> = (0..16).collect();
    let rows = SparseRows::from_parts(16, (0..=16).collect::<Vec<_>>(), terms, vec![1.0; 16]).unwrap();
    let model = SphericalKMeans::params(16).fit(&UnitRows::new(rows)).unwrap().model;
    let tree = MergeTree::new(&model);
    assert!((tree.structure(4) - 1.0).abs() < 1e-6, "{}", tree.structure(4));
    assert_eq!((tree.structure(0), tree.structure(1)), (0.0, 0.0));
    // Four groups of four clusters with a common term.
    let terms: Vec<u32> = (0..16).flat_map(|row| [row / 4, 4 + row]).collect();
    let rows = SparseRows::from_parts(20, (0..=16).map(|n| 2 * n).collect::<Vec<_>>(), terms, vec![1.0; 32])
        .unwrap();
    let model = SphericalKMeans::params(16).fit(&UnitRows::new(rows)).unwrap().model;
    let tree = MergeTree::new(&model);
    assert!(tree.structure(4) > 1.5, "{}", tree.structure(4));
    let groups = tree.cut(4).unwrap().of_clusters;
    assert_eq!(groups.iter().filter(|&&group| group == 0).count(), 4);
}
