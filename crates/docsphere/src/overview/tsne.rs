//! t-SNE in the plane, from the nearest neighbours of each point, on all threads.
//!
//! Gradient descent with momentum and gains, and 12 times the attraction in the first third. Points
//! attract their neighbours one by one, and repel all others by Barnes and Hut
//! ([`quadtree`](super::quadtree)).
//!
//! The rate at which points move is their number, divided by the factor of the attraction: so it
//! grows 12-fold after the first third. With a 48th of their number throughout, as before, maps of
//! thousands of points were far from finished after 750 epochs. Few points are cheap, and keep as
//! many. Clusters of abstracts (20,000 and 5,000), packages (2,000) and newsgroups (1,000 and 200),
//! means of three seeds (20,000: one): the divergence that the descent minimises, then the shares
//! of the ten nearest neighbours that are among the 10 and the 30 nearest on the map:
//!
//! ```text
//!           20,000           5,000           2,000           1,000            200
//! before    4.62 0.18 0.33   3.29 0.25 0.42  2.81 0.32 0.47  1.66 0.34 0.54   0.74 0.49 0.73
//! now       3.48 0.34 0.47   2.36 0.33 0.46  2.17 0.36 0.46  1.32 0.34 0.53   0.72 0.49 0.74
//! ```
//!
//! Each point's forces depend on nothing but the places of all points, and are added up in one
//! order; sums over all points have a fixed order, too. So the number of threads changes no bit. On
//! one machine, that is: processors may differ in the last bits of exponentials and logarithms.
//!
//! **Cost.** Per epoch and point, some hundred nodes of the tree and the neighbours: 0.7
//! microseconds of one core for 5,000 points. Sums over all points are all that one thread does
//! alone. Memory: 8 bytes per pair of neighbours, in both directions, and about 150 per point.
//!
//! References: van der Maaten, "Accelerating t-SNE using tree-based algorithms", JMLR 15, 2014;
//! Belkina et al., "Automated optimized parameters for t-distributed stochastic neighbor
//! embedding", Nature Communications 10, 2019, doi:10.1038/s41467-019-13055-y (the learning rate);
//! Poličar et al., "openTSNE", Journal of Statistical Software 109, 2024 (its change).

use rayon::prelude::*;

use super::quadtree::Quadtree;
use crate::by_key::ByKey;

/// Epochs in which neighbours attract each other more and the momentum is smaller, and epochs after
/// them.
const EPOCHS: [usize; 2] = [100, 250];

/// The same for at most [`FEW`] points.
const EPOCHS_OF_FEW: [usize; 2] = [250, 500];

const FEW: usize = 500;

/// How much more they attract each other.
const EXAGGERATION: f32 = 12.0;

/// The least rate at which points move.
const LEAST_RATE: f32 = 50.0;

const MOMENTA: [f32; 2] = [0.5, 0.8];

/// How coarsely distant points are aggregated: the usual value.
const THETA: f32 = 0.5;

/// Points per task, at least.
const MIN_POINTS: usize = 64;

/// A neighbour of a point, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    pub(super) point: u32,
    pub(super) distance: f32,
}

/// The places of points with these neighbours, the same number for each, from a start.
pub(super) fn embedded(neighbours: &[Vec<Near>], perplexity: f32, start: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let n_points = neighbours.len();
    let mut attraction = Attraction::new(neighbours, perplexity);
    let sum = in_halves(&attraction.values, |values| values.iter().sum::<f32>());
    attraction.scale(EXAGGERATION / (sum[0] + sum[1] + f32::EPSILON));
    let [early, late] = if n_points <= FEW { EPOCHS_OF_FEW } else { EPOCHS };
    let mut learning_rate = (n_points as f32 / EXAGGERATION).max(LEAST_RATE);
    let mut momentum = MOMENTA[0];
    let mut points: Vec<Point> = start.iter().map(|_| Point::default()).collect();
    let (mut places, mut tree) = (start, Quadtree::default());
    for epoch in 0..early + late {
        if epoch == early {
            attraction.scale(EXAGGERATION.recip());
            learning_rate = (n_points as f32).max(LEAST_RATE);
            momentum = MOMENTA[1];
        }
        tree.build(&places);
        points.par_iter_mut().enumerate().with_min_len(MIN_POINTS).for_each(|(number, point)| {
            let repulsion = tree.repulsion(places[number], THETA);
            point.attraction = attraction.of(number, &places);
            (point.repulsion, point.sum) = (repulsion.force, repulsion.sum);
        });
        let inverse = points.iter().map(|point| point.sum).sum::<f32>().recip();
        points.par_iter_mut().zip(&mut places).with_min_len(MIN_POINTS).for_each(|(point, place)| {
            point.step(place, inverse, learning_rate, momentum);
        });
        let [left, right] = in_halves(&places, |places| {
            places.iter().fold([0.0; 2], |sum: [f32; 2], place| [sum[0] + place[0], sum[1] + place[1]])
        });
        let mean = [0, 1].map(|axis| (left[axis] + right[axis]) / n_points as f32);
        places.par_iter_mut().with_min_len(16 * MIN_POINTS).for_each(|place| {
            *place = [place[0] - mean[0], place[1] - mean[1]];
        });
    }
    places
}

/// Sums of both halves of a list, at the same time.
fn in_halves<T: Sync, S: Send>(list: &[T], sum: impl Fn(&[T]) -> S + Sync) -> [S; 2] {
    let (left, right) = list.split_at(list.len() / 2);
    rayon::join(|| sum(left), || sum(right)).into()
}

/// The state of a point in the descent.
#[derive(Clone, Copy, Debug)]
struct Point {
    attraction: [f32; 2],
    repulsion: [f32; 2],
    /// Its part of the sum that scales the repulsion.
    sum: f32,
    speed: [f32; 2],
    gains: [f32; 2],
}

impl Default for Point {
    fn default() -> Self {
        Point { attraction: [0.0; 2], repulsion: [0.0; 2], sum: 0.0, speed: [0.0; 2], gains: [1.0; 2] }
    }
}

impl Point {
    fn step(&mut self, place: &mut [f32; 2], inverse: f32, learning_rate: f32, momentum: f32) {
        for (axis, place) in place.iter_mut().enumerate() {
            let gradient = self.attraction[axis] - self.repulsion[axis] * inverse;
            let (speed, gain) = (&mut self.speed[axis], &mut self.gains[axis]);
            *gain = if gradient.signum() != speed.signum() { *gain + 0.2 } else { *gain * 0.8 };
            *gain = gain.clamp(0.01, 2.0);
            *speed = momentum * *speed - learning_rate * *gain * gradient;
            *place += *speed;
        }
    }
}

/// How much each two points attract each other, if one is a neighbour of the other.
struct Attraction {
    /// The end of each point's range, after a first 0.
    ends: Vec<usize>,
    others: Vec<u32>,
    values: Vec<f32>,
}

impl Attraction {
    fn new(neighbours: &[Vec<Near>], perplexity: f32) -> Self {
        let weighted = |near: &Vec<Near>| {
            let distances: Vec<f32> = near.iter().map(|near| near.distance).collect();
            let weights = weights(&distances, perplexity);
            let mut own: Vec<(u32, f32)> = near.iter().map(|near| near.point).zip(weights).collect();
            own.sort_unstable_by_key(|own| own.0);
            own
        };
        let own: Vec<Vec<(u32, f32)>> = neighbours.par_iter().map(weighted).collect();
        let entries = (0..).zip(&own).flat_map(|(point, near)| {
            let point: u32 = point;
            near.iter().map(move |&(other, weight)| (other, (point, weight)))
        });
        let of_others = ByKey::new(own.len(), entries);
        let joined = |(point, near): (usize, &Vec<(u32, f32)>)| {
            let others = of_others.of(point as u32);
            let weight = |list: &[(u32, f32)], other: u32| {
                list.binary_search_by_key(&other, |entry| entry.0).ok().map(|place| list[place].1)
            };
            let (before, after) = others.split_at(others.partition_point(|other| other.0 < point as u32));
            let before = before.iter().map(|&(other, theirs)| (other, theirs, weight(near, other)));
            let own = near.iter().filter_map(|&(other, ours)| {
                let theirs = weight(others, other);
                (other > point as u32 || theirs.is_none()).then_some((other, ours, theirs))
            });
            let after = after.iter().filter(|(other, _)| weight(near, *other).is_none());
            let after = after.map(|&(other, theirs)| (other, theirs, None));
            let all = before.chain(own).chain(after);
            all.map(|(other, a, b)| (other, b.map_or(a, |b| a + b) * 0.5)).collect::<Vec<_>>()
        };
        let pairs: Vec<Vec<(u32, f32)>> = own.par_iter().enumerate().map(joined).collect();
        let mut ends = Vec::with_capacity(pairs.len() + 1);
        ends.push(0);
        ends.extend(pairs.iter().scan(0, |end, pairs| {
            *end += pairs.len();
            Some(*end)
        }));
        let (others, values) = pairs.into_iter().flatten().unzip();
        Attraction { ends, others, values }
    }

    fn scale(&mut self, factor: f32) {
        self.values.par_iter_mut().with_min_len(1 << 13).for_each(|value| *value *= factor);
    }

    fn of(&self, point: usize, places: &[[f32; 2]]) -> [f32; 2] {
        let (own, range) = (places[point], self.ends[point]..self.ends[point + 1]);
        let mut force = [0.0; 2];
        for (&other, &value) in self.others[range.clone()].iter().zip(&self.values[range]) {
            let place = places[other as usize];
            let way = [own[0] - place[0], own[1] - place[1]];
            let factor = value / (way[0] * way[0] + way[1] * way[1] + 1.0);
            force[0] += factor * way[0];
            force[1] += factor * way[1];
        }
        force
    }
}

/// Weights `exp(-b d^2)` with the sum 1, with b such that their perplexity is as wanted.
fn weights(distances: &[f32], perplexity: f32) -> Vec<f32> {
    let mut weights = vec![0.0; distances.len()];
    let (mut b, mut least, mut most) = (1.0f32, -f32::MAX, f32::MAX);
    let mut sum = 0.0;
    for _ in 0..200 {
        weights.iter_mut().zip(distances).for_each(|(weight, d)| *weight = (-b * (d * d)).exp());
        sum = weights.iter().sum::<f32>() + f32::MIN_POSITIVE;
        let both = weights.iter().zip(distances);
        let entropy = both.fold(0.0, |entropy, (weight, d)| entropy + b * weight * (d * d));
        let excess = entropy / sum + sum.ln() - perplexity.ln();
        if excess.abs() < 1e-5 {
            break;
        }
        if excess > 0.0 {
            least = b;
            b = if most == f32::MAX { b * 2.0 } else { (b + most) / 2.0 };
        } else {
            most = b;
            b = if least == -f32::MAX { b / 2.0 } else { (b + least) / 2.0 };
        }
        b = b.min(f32::MAX);
    }
    weights.iter_mut().for_each(|weight| *weight /= sum + f32::EPSILON);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_the_perplexity_and_near_points_weigh_more() {
        let distances: Vec<f32> = (1..=30).map(|n| 0.3 + n as f32 / 50.0).collect();
        let weights = weights(&distances, 10.0);
        let entropy: f32 = weights.iter().map(|weight| -weight * weight.ln()).sum();
        assert!((entropy.exp() - 10.0).abs() < 1e-2, "{}", entropy.exp());
        assert!(weights.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn attraction_is_the_same_in_both_directions() {
        let near = |points: &[u32]| points.iter().map(|&point| Near { point, distance: 0.5 }).collect();
        let neighbours: Vec<Vec<Near>> = [&[1, 2][..], &[2, 3], &[0, 3], &[0, 1]].map(near).to_vec();
        let attraction = Attraction::new(&neighbours, 1.5);
        let of = |a: usize, b: u32| {
            let range = attraction.ends[a]..attraction.ends[a + 1];
            let found = attraction.others[range.clone()].iter().position(|&other| other == b)?;
            Some(attraction.values[range][found])
        };
        for a in 0..4u32 {
            for b in 0..4u32 {
                assert_eq!(of(a as usize, b), of(b as usize, a), "{a} {b}");
            }
        }
        // Of 0 and 2 both are neighbours of the other, of 0 and 1 one is.
        assert!((of(0, 2).unwrap() - 2.0 * of(0, 1).unwrap()).abs() < 1e-6);
        assert_eq!(of(0, 0), None);
    }
}
