//! The means of groups of clusters: directions, and lengths.
//!
//! **Cost.** One pass over the centroids. Memory: 8 bytes per entry of a mean, of which there are
//! at most as many as the centroids have together, and 8 per term and thread.

use rayon::prelude::*;

use crate::centroids::{Centroid, Centroids};
use crate::pool::Pool;

/// See the [module](self). Every cluster counts alike.
pub(super) struct Means {
    pub(super) directions: Centroids,
    /// The lengths of the means: 1 if the centroids of a group are the same, 0 if they cancel out.
    pub(super) lengths: Vec<f64>,
}

impl Means {
    /// The means of these groups of clusters that are not empty.
    pub(super) fn new(centroids: &Centroids, groups: &[Vec<u32>]) -> Self {
        let n_terms = centroids.n_terms();
        let scratch: Pool<(Vec<f64>, Vec<u32>)> = Pool::default();
        let mean = |(sums, terms): &mut (Vec<f64>, Vec<u32>), group: &Vec<u32>| {
            sums.resize(n_terms, 0.0);
            for &cluster in group {
                for (term, value) in centroids.row(cluster as usize).iter() {
                    if sums[term as usize] == 0.0 {
                        terms.push(term);
                    }
                    sums[term as usize] += f64::from(value);
                }
            }
            terms.sort_unstable();
            // A sum that came back to zero is there twice.
            terms.dedup();
            let length =
                terms.iter().map(|&term| sums[term as usize] * sums[term as usize]).sum::<f64>().sqrt();
            // A mean without a direction gets some, so that it can be compared.
            let direction = if length > 0.0 {
                let values = terms.iter().map(|&term| (sums[term as usize] / length) as f32).collect();
                Centroid { terms: terms.as_slice().into(), values }
            } else {
                centroids.get(group[0] as usize).clone()
            };
            terms.drain(..).for_each(|term| sums[term as usize] = 0.0);
            (direction, length / group.len() as f64)
        };
        let found: Vec<(Centroid, f64)> =
            groups.par_iter().map(|group| scratch.with(|scratch| mean(scratch, group))).collect();
        let (directions, lengths) = found.into_iter().unzip();
        Means { directions: Centroids::new(n_terms, directions), lengths }
    }
}
