//! Seeds by over-clustering, by their definition: a random sample, three iterations, then all pairs
//! are compared before every merge.

use std::collections::BTreeMap;

use docsphere::UnitRows;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::fixed_point::RowWeights;
use crate::plain_contest::sums;
use crate::plain_seeding::{PlainSeeding, terms_hash, vector};
use crate::reference::{NO_LABEL, ReferenceParams, Shape, SparseVector, reference_assign, update};

/// The first centroids: `fine` times as many small clusters, merged.
pub(crate) fn merged_seeds(rows: &UnitRows<'_>, params: &ReferenceParams, fine: usize) -> Vec<SparseVector> {
    let n_small = fine * params.n_clusters;
    let seeds = sample(rows, params, n_small).unwrap_or_else(|| {
        let plain = PlainSeeding {
            rows,
            weights: params.weights.as_deref(),
            n_clusters: n_small,
            seed: params.seed,
            run: params.run,
        };
        plain.plus_plus().iter().map(|doc| doc.index()).collect()
    });
    let small = seeds.iter().map(|&doc| vector(rows.row(doc))).collect();
    merged_again(rows, params, small)
}

/// The clusters of the best run, with half as many random documents beside them, merged again.
pub(crate) fn perturbed(
    rows: &UnitRows<'_>,
    params: &ReferenceParams,
    best: &[SparseVector],
) -> Vec<SparseVector> {
    let mut small: Vec<SparseVector> = best.iter().filter(|centroid| !centroid.is_empty()).cloned().collect();
    let new = sample(rows, params, params.n_clusters.div_ceil(2)).unwrap_or_default();
    small.extend(new.iter().map(|&doc| vector(rows.row(doc))));
    merged_again(rows, params, small)
}

/// `n` random documents, all with different terms; `None` if there are fewer.
fn sample(rows: &UnitRows<'_>, params: &ReferenceParams, n: usize) -> Option<Vec<usize>> {
    let weights = RowWeights::new(params.weights.as_deref(), rows.n_rows());
    let is_usable = |&doc: &usize| rows.row(doc).nnz() > 0 && weights.counts(doc);
    let mut random = ChaCha8Rng::seed_from_u64(params.seed);
    random.set_stream(params.run);
    let salt = random.next_u64();
    let mut by_place: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for doc in (0..rows.n_rows()).filter(is_usable) {
        by_place.entry(terms_hash(rows.row(doc), salt)).or_default().push(doc);
    }
    // Of several documents the one whose values come first, on a tie the first one.
    let by_values = |a: &usize, b: &usize| rows.row(*a).values.partial_cmp(rows.row(*b).values).unwrap();
    let first = |docs: &Vec<usize>| *docs.iter().min_by(|a, b| by_values(a, b)).unwrap();
    (by_place.len() >= n).then(|| by_place.values().take(n).map(first).collect())
}

/// Three iterations from small clusters, which are then merged.
fn merged_again(
    rows: &UnitRows<'_>,
    params: &ReferenceParams,
    mut centroids: Vec<SparseVector>,
) -> Vec<SparseVector> {
    let weights = RowWeights::new(params.weights.as_deref(), rows.n_rows());
    let mut now = reference_assign(rows, &centroids, &vec![NO_LABEL; rows.n_rows()]);
    for _ in 0..3 {
        let updated = update(rows, &weights, &now, &[], &centroids, Shape::Mean);
        let next = reference_assign(rows, &updated.centroids, &updated.labels);
        let is_still = next.labels == now.labels;
        (now, centroids) = (next, updated.centroids);
        if is_still {
            break;
        }
    }
    let last = update(rows, &weights, &now, &[], &centroids, Shape::Mean);
    merged(sums(rows, &weights, &last.labels, centroids.len()), &last.centroids, params.n_clusters)
}

type Sum = BTreeMap<u32, i128>;

fn length(sum: &Sum) -> f64 {
    sum.values().fold(0.0, |squares, &s| squares + s as f64 * s as f64).sqrt()
}

/// Merges the two clusters whose union loses least until `n_groups` are left; their directions.
fn merged(mut sums: Vec<Sum>, centroids: &[SparseVector], n_groups: usize) -> Vec<SparseVector> {
    let mut lengths: Vec<f64> = sums.iter().map(|sum| length(sum) / 4_294_967_296.0).collect();
    let n = sums.len();
    let mut dots = vec![vec![0f32; n]; n];
    for a in 0..n {
        let values: BTreeMap<u32, f32> = centroids[a].iter().copied().collect();
        for b in 0..n {
            let cosine = centroids[b].iter().fold(0.0, |sum, (term, value)| {
                sum + f64::from(values.get(term).copied().unwrap_or(0.0)) * f64::from(*value)
            });
            dots[a][b] = (cosine * (lengths[a] * lengths[b])) as f32;
        }
    }
    let mut live: Vec<usize> = (0..n).filter(|&cluster| lengths[cluster] > 0.0).collect();
    while live.len() > n_groups {
        let mut best: Option<(f64, usize, usize)> = None;
        for (position, &a) in live.iter().enumerate() {
            for &b in &live[position + 1..] {
                let loss = lengths[a] + lengths[b] - union_length(lengths[a], lengths[b], dots[a][b]);
                if best.is_none_or(|best| loss < best.0) {
                    best = Some((loss, a, b)); // on a tie the first stays
                }
            }
        }
        let (_, a, b) = best.expect("two are left");
        lengths[a] = union_length(lengths[a], lengths[b], dots[a][b]);
        for &other in &live {
            let dot = dots[a][other] + dots[b][other];
            (dots[a][other], dots[other][a]) = (dot, dot);
        }
        for (term, s) in std::mem::take(&mut sums[b]) {
            *sums[a].entry(term).or_default() += s;
        }
        live.retain(|&cluster| cluster != b);
    }
    let direction = |cluster: usize| {
        let mut sum = sums[cluster].clone();
        sum.retain(|_, s| *s != 0);
        let length = length(&sum);
        sum.into_iter().map(|(term, s)| (term, (s as f64 / length) as f32)).collect::<SparseVector>()
    };
    let mut groups: Vec<SparseVector> = live.into_iter().map(direction).collect();
    groups.retain(|group| !group.is_empty());
    groups.resize(n_groups, Vec::new());
    groups
}

fn union_length(a: f64, b: f64, dot: f32) -> f64 {
    (a * a + b * b + 2.0 * f64::from(dot)).max(0.0).sqrt()
}
