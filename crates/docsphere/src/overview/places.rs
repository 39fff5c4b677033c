//! Places of clusters on a map: similar ones near each other, by t-SNE (Barnes-Hut, by the crate bhtsne).
//!
//! The nearest clusters of each come from posting lists, so nothing is compared in a dense space. The same model and seed give the same map: the first places come from our own random
//! numbers, and a single thread does the rest. (Another processor may differ in the last bits of logarithms, and with them in places.)
//!
//! **Cost.** As much as labelling k documents as long as centroids, then t-SNE on one thread: together 0.3 s for 500 clusters (more were not tried). Memory: 16 bytes for each of at most 60 neighbours of a
//! cluster, and what bhtsne holds.
//!
//! Reference: van der Maaten, Accelerating t-SNE using tree-based algorithms, JMLR 15, 2014.

use bhtsne::{Neighbor, tSNE};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::error::Result;
use crate::ids::{ClusterId, DocId};
use crate::model::Model;
use crate::vectors::UnitRows;

/// Neighbours that a cluster is drawn to: a quarter of all, but not fewer than the first number and not more than the second. A third of it is the perplexity.
const NEIGHBOURS: (usize, usize) = (6, 60);

const EPOCHS: usize = 750;

/// How coarsely far clusters are lumped together: the usual value.
const THETA: f32 = 0.5;

/// The place of every cluster, both coordinates from -1 to 1; the middle for empty clusters.
///
/// # Errors
/// None that a model could cause.
pub fn cluster_places(model: &Model, seed: u64) -> Result<Vec<[f32; 2]>> {
    let live = model.centroids().live();
    let mut places = vec![[0.0; 2]; model.centroids().n_clusters()];
    let found = if live.len() < 4 { on_a_line(live.len()) } else { embedded(model, &live, seed)? };
    for (&cluster, place) in live.iter().zip(fitted(found)) {
        places[cluster as usize] = place;
    }
    Ok(places)
}

/// Too few for a map.
fn on_a_line(n: usize) -> Vec<[f32; 2]> {
    (0..n).map(|number| [number as f32, 0.0]).collect()
}

fn embedded(model: &Model, live: &[u32], seed: u64) -> Result<Vec<[f32; 2]>> {
    let neighbours = neighbours(model, live)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let start: Vec<f32> =
        (0..2 * live.len()).map(|_| (random.next_u32() as f32 / u32::MAX as f32 - 0.5) * 1e-2).collect();
    let run = || {
        let mut tsne: tSNE<'_, f32, u32> = tSNE::new(live);
        tsne.perplexity((neighbours[0].len() as f32 / 3.0).max(1.0)).epochs(EPOCHS).initial_embedding(start);
        tsne.barnes_hut_with_neighbors(THETA, &neighbours);
        tsne.embedding()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let flat = pool.expect("a thread can be started").install(run);
    Ok(flat.chunks_exact(2).map(|place| [place[0], place[1]]).collect())
}

/// The nearest live clusters of each live cluster, numbered by their positions among the live ones. The distance is one minus the similarity: with its root, the chord, which is much the same for all pairs,
/// neighbours on the map lay nearly twice as far apart.
fn neighbours(model: &Model, live: &[u32]) -> Result<Vec<Vec<Neighbor<f32>>>> {
    let n_neighbours = (live.len() / 4).clamp(NEIGHBOURS.0, NEIGHBOURS.1).min(live.len() - 1);
    let mut positions = vec![0; model.centroids().n_clusters()];
    live.iter().enumerate().for_each(|(position, &cluster)| positions[cluster as usize] = position);
    let rows = UnitRows::new(model.centroids().to_sparse_rows());
    // One more, since every centroid is its own nearest.
    let nearest = model.predictor().nearest(&rows, n_neighbours + 1)?;
    let of = |&cluster: &u32| {
        let others = nearest.of(DocId::new(cluster)).iter();
        let others = others.filter(|neighbour| neighbour.cluster != ClusterId::new(cluster));
        let neighbour = |found: &crate::model::Neighbour| Neighbor {
            index: positions[found.cluster.index()],
            distance: (1.0 - found.similarity).max(0.0) as f32,
        };
        others.take(n_neighbours).map(neighbour).collect()
    };
    Ok(live.iter().map(of).collect())
}

/// Moved and scaled, both coordinates alike, so that all lie between -1 and 1.
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
