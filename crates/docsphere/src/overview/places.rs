//! Positions of clusters on a map, similar ones near each other, by t-SNE ([`tsne`]).
//!
//! The nearest clusters of each cluster are given, so nothing is compared in a dense space. The
//! same model and seed give the same map, for every number of threads. (Another processor may
//! differ in the last bits of logarithms, and so in positions.)
//!
//! **Cost.** t-SNE, on the caller's pool. Memory: 8 bytes for each of at most 60 neighbours per
//! cluster, and what t-SNE takes.
//!
//! [`tsne`]: super::tsne

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::tsne::{self, Near};
use crate::model::Neighbour;

/// Maximum number of neighbours that attract a cluster: the number to request from
/// [`summarize`](crate::summarize). The perplexity is a third of it.
pub const MAP_NEIGHBOURS: usize = 60;

/// Minimum number of neighbours; a small model uses a quarter of all clusters, but at least this
/// many.
const LEAST_NEIGHBOURS: usize = 6;

/// The share of clusters that keep their distance from the centre of the map.
const WITHIN: f32 = 0.9;

/// The radius of the map, in radii of the circle that contains those.
const RING: f32 = 1.2;

/// The position of every cluster, both coordinates from -1 to 1; the centre for clusters without
/// neighbours.
///
/// `neighbours` are the nearest clusters of each cluster, nearest first, [`MAP_NEIGHBOURS`] of them
/// (with fewer the map shows less); none for empty clusters.
///
/// ```
/// use docsphere::{MAP_NEIGHBOURS, SphericalKMeans, SummaryOptions, Vectorizer};
/// use docsphere::{cluster_places, summarize};
///
/// let texts = ["cats purr", "cats hunt", "stocks fall", "stocks rise", "rain falls"];
/// let text = Vectorizer::new().fit_texts(&texts)?;
/// let fit = SphericalKMeans::params(4).fit(&text.rows)?;
/// let options = SummaryOptions::default().n_neighbours(MAP_NEIGHBOURS);
/// let summaries = summarize(&text.rows, &fit.labels, &fit.similarities, &fit.model, options)?;
/// let neighbours: Vec<_> = summaries.into_iter().map(|summary| summary.neighbours).collect();
/// assert_eq!(cluster_places(&neighbours, 1).len(), 4);
/// # Ok::<(), docsphere::Error>(())
/// ```
pub fn cluster_places(neighbours: &[Vec<Neighbour>], seed: u64) -> Vec<[f32; 2]> {
    let live: Vec<usize> = (0..neighbours.len()).filter(|&cluster| !neighbours[cluster].is_empty()).collect();
    let mut places = vec![[0.0; 2]; neighbours.len()];
    let near = among(neighbours, &live);
    let is_map = near.first().is_some_and(|found| found.len() >= 3);
    let mut found = if is_map { drawn_in(embedded(&near, seed)) } else { on_a_line(live.len()) };
    // If t-SNE fails, still show a map.
    if !found.iter().flatten().all(|value| value.is_finite()) {
        found = on_a_line(live.len());
    }
    for (&cluster, place) in live.iter().zip(fitted(found)) {
        places[cluster] = place;
    }
    places
}

/// Positions on a line, for too few clusters for a map.
fn on_a_line(n: usize) -> Vec<[f32; 2]> {
    (0..n).map(|number| [number as f32, 0.0]).collect()
}

fn embedded(neighbours: &[Vec<Near>], seed: u64) -> Vec<[f32; 2]> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut start = || (random.next_u32() as f32 / u32::MAX as f32 - 0.5) * 1e-2;
    let start = neighbours.iter().map(|_| [start(), start()]).collect();
    tsne::embedded(neighbours, (neighbours[0].len() as f32 / 3.0).max(1.0), start)
}

/// The nearest live clusters of each live cluster, numbered by their positions among the live ones;
/// the same number for each. The distance is one minus the similarity: with its root, the chord,
/// which is similar for all pairs, neighbours on the map were nearly twice as far apart.
fn among(neighbours: &[Vec<Neighbour>], live: &[usize]) -> Vec<Vec<Near>> {
    let mut positions = vec![None; neighbours.len()];
    (0..).zip(live).for_each(|(position, &cluster)| positions[cluster] = Some(position));
    let of = |&cluster: &usize| -> Vec<Near> {
        let others = neighbours[cluster].iter();
        let live = others.filter_map(|found| Some((positions[found.cluster.index()]?, found.similarity)));
        let near =
            |(point, similarity): (u32, f64)| Near { point, distance: (1.0 - similarity).max(0.0) as f32 };
        live.map(near).collect()
    };
    let mut found: Vec<Vec<Near>> = live.iter().map(of).collect();
    let fewest = found.iter().map(Vec::len).min().unwrap_or(0);
    let n_neighbours = (live.len() / 4).clamp(LEAST_NEIGHBOURS, MAP_NEIGHBOURS).min(fewest);
    found.iter_mut().for_each(|near| near.truncate(n_neighbours));
    found
}

/// t-SNE places clusters that resemble no other far outside, which leaves little room for the rest.
/// Clusters outside a circle around nearly all are pulled in to a ring around it.
fn drawn_in(mut places: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let n = places.len() as f32;
    let middle = [0, 1].map(|axis| places.iter().map(|place| place[axis]).sum::<f32>() / n);
    let radius = |place: &[f32; 2]| (place[0] - middle[0]).hypot(place[1] - middle[1]);
    let mut radii: Vec<f32> = places.iter().map(radius).collect();
    radii.sort_by(f32::total_cmp);
    let within = radii[((radii.len() - 1) as f32 * WITHIN) as usize];
    let farthest = radii[radii.len() - 1];
    if farthest <= within * RING || within <= 0.0 {
        return places;
    }
    for place in &mut places {
        let r = radius(place);
        if r > within {
            let ring = within * (1.0 + (RING - 1.0) * (r - within) / (farthest - within));
            *place = [0, 1].map(|axis| middle[axis] + (place[axis] - middle[axis]) * ring / r);
        }
    }
    places
}

/// Translates and scales, both coordinates alike, so that all lie between -1 and 1.
fn fitted(places: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let ends = |axis: usize| {
        let values = places.iter().map(|place| place[axis]);
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
    };
    let [x, y] = [ends(0), ends(1)];
    let half = ((x.1 - x.0).max(y.1 - y.0) / 2.0).max(f32::MIN_POSITIVE);
    let middle = |(lo, hi): (f32, f32)| (lo + hi) / 2.0;
    places.iter().map(|place| [(place[0] - middle(x)) / half, (place[1] - middle(y)) / half]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_clusters_are_drawn_in_and_the_others_stay() {
        let mut places: Vec<[f32; 2]> = (0..100).map(|i| [(i as f32).cos(), (i as f32).sin()]).collect();
        places.extend([[10.0, 0.0], [-10.0, 0.0], [0.0, 20.0], [0.0, -20.0]]);
        let drawn = drawn_in(places.clone());
        assert!(places[..100].iter().zip(&drawn).all(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]) < 0.3));
        let radius = |place: &[f32; 2]| place[0].hypot(place[1]);
        assert!(drawn.iter().all(|place| radius(place) < 1.5), "{drawn:?}");
        assert!(radius(&drawn[100]) > 1.0 && radius(&drawn[102]) > radius(&drawn[100]), "in the same order");
        assert_eq!(drawn_in(vec![[1.0, 0.0]; 5]), vec![[1.0, 0.0]; 5]);
    }
}
