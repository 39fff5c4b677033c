//! The places of documents in the discs of their clusters, against the definition.

use docsphere::{
    Discs, Fit, Neighbour, Row, SphericalKMeans, SummaryOptions, UnitRows, document_offsets, on_threads,
    summarize,
};
use docsphere_testkit::random_rows::{RandomRows, random_rows};
use docsphere_testkit::zipf::ZipfText;
use proptest::prelude::*;

/// A fit with all that a map needs.
struct Mapped {
    rows: UnitRows<'static>,
    fit: Fit,
    places: Vec<[f32; 2]>,
    neighbours: Vec<Vec<Neighbour>>,
}

impl Mapped {
    fn new(rows: UnitRows<'static>, k: usize) -> Self {
        let fit = SphericalKMeans::params(k).max_iter(3).fit(&rows).unwrap();
        let options = SummaryOptions::default().n_neighbours(5);
        let summaries = summarize(&rows, &fit.labels, &fit.similarities, &fit.model, options).unwrap();
        let neighbours = summaries.into_iter().map(|summary| summary.neighbours).collect();
        // On a spiral; the first two share a place.
        let place = |cluster: usize| [(cluster / 2) as f32 * 0.1, (cluster * cluster % 7) as f32 / 7.0];
        Mapped { rows, fit, places: (0..k).map(|cluster| place(cluster.max(1))).collect(), neighbours }
    }

    fn offsets(&self, n_threads: usize) -> Vec<[i16; 2]> {
        let discs = Discs { places: &self.places, neighbours: &self.neighbours };
        let (labels, similarities) = (&self.fit.labels, &self.fit.similarities);
        let centroids = self.fit.model.centroids();
        let placed = || document_offsets(&self.rows, labels, similarities, centroids, &discs);
        on_threads(Some(n_threads), placed).unwrap().unwrap()
    }

    /// One document after the other, as the module says.
    fn by_definition(&self) -> Vec<[i16; 2]> {
        let (labels, similarities) = (self.fit.labels.as_slice(), &self.fit.similarities);
        let place = |doc: usize| {
            let Ok(cluster) = usize::try_from(labels[doc]) else { return [0, 0] };
            let is_before = |&other: &usize| {
                let (a, b) = (similarities[other], similarities[doc]);
                labels[other] == labels[doc] && (a > b || (a == b && other < doc))
            };
            let rank = (0..labels.len()).filter(is_before).count();
            let n = labels.iter().filter(|&&label| label == labels[doc]).count();
            let mut pull = [0.0; 2];
            for near in &self.neighbours[cluster] {
                let centroid = self.fit.model.centroids().centroid(near.cluster);
                let similarity = similarity(&self.rows.row(doc), &centroid);
                let expected = similarities[doc] * near.similarity;
                let excess = (similarity - expected) / similarities[doc];
                let [to, from] = [near.cluster.index(), cluster].map(|c| self.places[c].map(f64::from));
                let way = [to[0] - from[0], to[1] - from[1]];
                let length = length(way);
                if excess > 0.0 && length > 0.0 {
                    pull = [pull[0] + excess * (way[0] / length), pull[1] + excess * (way[1] / length)];
                }
            }
            let factor = 2.0 / (length(pull) + 0.15);
            let chance = point_in_disc(doc as u64);
            let sum = [pull[0] * factor + chance[0], pull[1] * factor + chance[1]];
            let radius = ((rank as f64 + 0.5) / n as f64).sqrt();
            let length = length(sum);
            sum.map(|way| (way / length * radius * 32_766.0).round() as i16)
        };
        (0..labels.len()).map(place).collect()
    }
}

fn similarity(a: &Row<'_>, b: &Row<'_>) -> f64 {
    let of_b = |term: u32| b.terms.binary_search(&term).map_or(0.0, |position| f64::from(b.values[position]));
    a.iter().map(|(term, value)| f64::from(value) * of_b(term)).sum()
}

fn length(vector: [f64; 2]) -> f64 {
    (vector[0] * vector[0] + vector[1] * vector[1]).sqrt()
}

/// SplitMix64 from the document's number, until a point lies within.
fn point_in_disc(mut state: u64) -> [f64; 2] {
    loop {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
        let point = [state as u32 as i32, (state >> 32) as u32 as i32];
        let point = point.map(|coordinate| f64::from(coordinate) / 2_147_483_648.0);
        if (f64::MIN_POSITIVE..=1.0).contains(&(point[0] * point[0] + point[1] * point[1])) {
            return point;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn documents_are_where_the_definition_says_whatever_the_threads(
        seed in 0u64..1_000_000,
        n_docs in 3usize..120,
        k in 1usize..7,
    ) {
        let rows = random_rows(&RandomRows { n_docs, seed, ..RandomRows::default() });
        let n_live = (0..n_docs).filter(|&doc| rows.row(doc).nnz() > 0).count();
        prop_assume!(n_live >= k);
        let mapped = Mapped::new(rows, k);
        let expected = mapped.by_definition();
        for n_threads in [1, 2, 7] {
            prop_assert_eq!(&mapped.offsets(n_threads), &expected);
        }
        let square = |offset: &[i16; 2]| offset.map(|x| i32::from(x).pow(2)).iter().sum::<i32>();
        prop_assert!(expected.iter().all(|offset| square(offset) <= 32_767 * 32_767));
    }
}

#[test]
fn a_large_cluster_is_filled_evenly_and_leans_towards_its_neighbours() {
    let rows = ZipfText { n_docs: 30_000, n_terms: 3000, n_topics: 12, mean_terms: 20, seed: 5 }.rows();
    let mapped = Mapped::new(rows, 2);
    let offsets = mapped.offsets(2);
    assert_eq!(offsets, mapped.offsets(7), "tasks of a cluster go to several threads");
    let labels = mapped.fit.labels.as_slice();
    // The two clusters share a place: there is no direction to lean to.
    for cluster in [0, 1] {
        let own = || labels.iter().zip(&offsets).filter(|(label, _)| **label == cluster).map(|(_, o)| o);
        let n = own().count() as f64;
        for (axis, sign) in [(0, 1), (0, -1), (1, 1), (1, -1)] {
            let half = own().filter(|offset| sign * i32::from(offset[axis]) > 0).count() as f64;
            assert!((half / n - 0.5).abs() < 0.02, "{half} of {n}");
        }
        let inner = own().filter(|offset| length(offset.map(f64::from)) < 32_766.0 / 2.0).count() as f64;
        assert!((inner / n - 0.25).abs() < 0.001, "a quarter of the disc has a quarter of the documents");
    }
    let mut apart = mapped;
    apart.places = vec![[-1.0, 0.0], [1.0, 0.0]];
    let offsets = apart.offsets(2);
    let similarity_to_other = |doc: usize| {
        let other = docsphere::ClusterId::new(1 - apart.fit.labels.as_slice()[doc] as u32);
        similarity(&apart.rows.row(doc), &apart.fit.model.centroids().centroid(other))
            / apart.fit.similarities[doc]
    };
    // The documents of the first cluster, those most like the other one first.
    let mut own: Vec<usize> =
        (0..offsets.len()).filter(|&doc| apart.fit.labels.as_slice()[doc] == 0).collect();
    own.sort_by(|&a, &b| similarity_to_other(b).total_cmp(&similarity_to_other(a)));
    let share_right =
        |docs: &[usize]| docs.iter().filter(|&&doc| offsets[doc][0] > 0).count() as f64 / docs.len() as f64;
    let tenth = own.len() / 10;
    let (most, least) = (share_right(&own[..tenth]), share_right(&own[own.len() - tenth..]));
    assert!(most > 0.95 && least < 0.6, "{most} {least}");
}

#[test]
fn parts_of_different_clusterings_are_refused() {
    let rows = random_rows(&RandomRows::default());
    let mapped = Mapped::new(rows, 3);
    let message = |places: &[[f32; 2]], n_similarities: usize| {
        let discs = Discs { places, neighbours: &mapped.neighbours };
        let similarities = &mapped.fit.similarities[..n_similarities];
        let centroids = mapped.fit.model.centroids();
        let placed = document_offsets(&mapped.rows, &mapped.fit.labels, similarities, centroids, &discs);
        placed.unwrap_err().to_string()
    };
    assert_eq!(message(&mapped.places[..2], 100), "the number of places must be 3, got 2");
    assert_eq!(message(&mapped.places, 99), "the number of similarities must be 100, got 99");
}
