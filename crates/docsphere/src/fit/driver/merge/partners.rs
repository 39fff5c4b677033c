//! Who may merge with whom, before the first merge; see [`merge`](super).
//!
//! No pass over clusters, their heavy terms or their partners runs on one thread. Posting lists and
//! the partners by which a cluster was chosen are grouped by
//! [`NumbersByKey`], so the number of threads changes nothing.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::{Pair, loss};
use crate::centroids::Centroids;
use crate::model::{LentDevice, Pairs};
use crate::numbers_by_key::NumbersByKey;
use crate::pool::Pool;
use crate::update::Sums;

/// Partners that a cluster chooses before the first merge.
pub(super) const PARTNERS: usize = 64;

/// Terms of a cluster that tell who its partners may be.
pub(super) const HEAVY_TERMS: usize = 64;

/// A cluster or union with which another may merge, and the dot product of their sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Partner {
    pub(super) other: u32,
    pub(super) dot: f32,
}

/// Every live cluster as a partner of every other. Clusters whose members cancel out are not live,
/// even if they have a centroid.
pub(super) fn all_partners(centroids: &Centroids, lengths: &[f64]) -> Vec<Vec<Partner>> {
    // So few that the CPU is as fast.
    let device = LentDevice::default();
    let pairs = Pairs::new(centroids, &device);
    let is_live = |cluster: u32| lengths[cluster as usize] > 0.0;
    let mut found: Vec<Vec<Partner>> = vec![Vec::new(); pairs.live().len()];
    pairs.for_each(false, &mut found, |found, position, similarities| {
        let own = pairs.live()[position];
        if !is_live(own) {
            return;
        }
        let others = pairs.live().iter().filter(|&&other| other != own && is_live(other));
        *found = others
            .map(|&other| {
                let cosine = similarities[other as usize];
                let dot = (cosine * (lengths[own as usize] * lengths[other as usize])) as f32;
                Partner { other, dot }
            })
            .collect();
    });
    let mut all = vec![Vec::new(); centroids.n_clusters()];
    pairs.live().iter().zip(found).for_each(|(&cluster, found)| all[cluster as usize] = found);
    all
}

/// The partners of each live cluster, ascending: those that it chooses, those that choose it, and
/// its neighbours by length.
pub(super) fn some_partners(sums: &Sums, lengths: &[f64], n_terms: usize) -> Vec<Vec<Partner>> {
    let n = lengths.len();
    let chosen = chosen(sums, lengths, n_terms);
    let mut chosen_by = NumbersByKey::default();
    chosen_by.group(n, n * PARTNERS, |number| chosen[number / PARTNERS].get(number % PARTNERS).copied());
    let (by_length, places) = by_length(lengths);
    // Of each two partners, the one with more terms computes the dot product.
    let computes = |cluster: u32, other: u32| {
        (sums.n_entries(cluster as usize), other) > (sums.n_entries(other as usize), cluster)
    };
    let scratch: Pool<Vec<f64>> = Pool::default();
    let halves: Vec<(Vec<u32>, Vec<Partner>)> = (0..n as u32)
        .into_par_iter()
        .map(|cluster| {
            let mut others = chosen[cluster as usize].clone();
            let choosing = chosen_by.of(cluster).iter();
            others.extend(choosing.map(|number| number.load(Relaxed) / PARTNERS as u32));
            if let Some(place) = places[cluster as usize] {
                let beside = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
                others.extend(beside.filter_map(|place| by_length.get(place as usize)));
            }
            others.sort_unstable();
            others.dedup();
            let own: Vec<u32> = others.iter().copied().filter(|&other| computes(cluster, other)).collect();
            let mut dots = scratch.with(|dense| {
                dense.resize(n_terms, 0.0);
                sums.dots(cluster as usize, &own, dense)
            });
            let own = own.iter().zip(dots.drain(..)).map(|(&other, dot)| Partner { other, dot: dot as f32 });
            (others, own.collect())
        })
        .collect();
    let whole = |(cluster, (others, own)): (usize, &(Vec<u32>, Vec<Partner>))| {
        let mut own = own.iter().peekable();
        let partner = |&other: &u32| {
            let theirs = &halves[other as usize].1;
            own.next_if(|partner| partner.other == other).copied().unwrap_or_else(|| {
                let place = theirs.binary_search_by_key(&(cluster as u32), |partner| partner.other);
                Partner { other, dot: theirs[place.expect("partners have each other")].dot }
            })
        };
        others.iter().map(partner).collect()
    };
    halves.par_iter().enumerate().map(whole).collect()
}

/// For each live cluster the [`PARTNERS`] others that lose least, as far as the heaviest terms
/// tell, in no particular order.
fn chosen(sums: &Sums, lengths: &[f64], n_terms: usize) -> Vec<Vec<u32>> {
    let n = lengths.len();
    let heavy: Vec<Vec<(u32, f64)>> =
        (0..n).into_par_iter().map(|cluster| sums.heaviest(cluster, HEAVY_TERMS)).collect();
    let entry = |number: usize| heavy[number / HEAVY_TERMS].get(number % HEAVY_TERMS);
    let mut by_term = NumbersByKey::default();
    by_term.group(n_terms, n * HEAVY_TERMS, |number| entry(number).map(|&(term, _)| term));
    let posting = |number: &AtomicU32| {
        let number = number.load(Relaxed) as usize;
        ((number / HEAVY_TERMS) as u32, entry(number).map_or(0.0, |&(_, value)| value))
    };
    let postings: Vec<(u32, f64)> = by_term.all().par_iter().with_min_len(1 << 10).map(posting).collect();
    let scratch: Pool<(Vec<f64>, Vec<u32>)> = Pool::default();
    let chosen = |cluster: usize| {
        scratch.with(|(dots, touched)| {
            dots.resize(n, 0.0);
            for &(term, value) in &heavy[cluster] {
                for &(other, other_value) in &postings[by_term.range_of(term)] {
                    if dots[other as usize] == 0.0 {
                        touched.push(other);
                    }
                    dots[other as usize] += value * other_value;
                }
            }
            let mut best = Best { cluster, lengths, pairs: Vec::new(), most: f64::INFINITY };
            for other in touched.drain(..) {
                let dot = std::mem::take(&mut dots[other as usize]);
                // A cluster whose sum came back to zero is there twice, the second time with 0.
                if other as usize != cluster && dot != 0.0 {
                    best.offer(other, dot);
                }
            }
            best.keep();
            best.pairs.into_iter().map(|pair| pair.b).collect()
        })
    };
    (0..n).into_par_iter().map(chosen).collect()
}

/// The [`PARTNERS`] pairs of a cluster that lose least, among some more.
struct Best<'a> {
    cluster: usize,
    lengths: &'a [f64],
    pairs: Vec<Pair>,
    /// Pairs that lose more are not among the best.
    most: f64,
}

impl Best<'_> {
    fn offer(&mut self, other: u32, dot: f64) {
        let (a, b) = (self.lengths[self.cluster], self.lengths[other as usize]);
        // Whether it loses more, without a root: with slack for the rounding of both, which is some
        // 1e-16 of the lengths.
        let least = a + b - self.most;
        if least > 0.0 && least * least > a * a + b * b + 2.0 * dot + 1e-12 * (a + b) * (a + b) {
            return;
        }
        self.pairs.push(Pair { loss: loss(a, b, dot), a: self.cluster as u32, b: other });
        if self.pairs.len() == 4 * PARTNERS {
            self.keep();
        }
    }

    /// Drops all but the best.
    fn keep(&mut self) {
        if self.pairs.len() > PARTNERS {
            let (_, last, _) = self.pairs.select_nth_unstable_by(PARTNERS - 1, Pair::compare);
            self.most = last.loss;
            self.pairs.truncate(PARTNERS);
        }
    }
}

/// The clusters that are not empty by their length, and the place of each among them.
fn by_length(lengths: &[f64]) -> (Vec<u32>, Vec<Option<u32>>) {
    let is_live = |&cluster: &u32| lengths[cluster as usize] > 0.0;
    let mut by_length: Vec<u32> = (0..lengths.len() as u32).filter(is_live).collect();
    by_length.par_sort_by(|&a, &b| lengths[a as usize].total_cmp(&lengths[b as usize]));
    let mut places = vec![None; lengths.len()];
    for (place, &cluster) in (0..).zip(&by_length) {
        places[cluster as usize] = Some(place);
    }
    (by_length, places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_the_first_of_all(
            others in prop::collection::vec(
                (prop_oneof![0.1f64..9.0, Just(1.0)], prop_oneof![-1.0f64..1.0, Just(0.5)]),
                1..900,
            ),
        ) {
            let lengths: Vec<f64> = [1.5].into_iter().chain(others.iter().map(|other| other.0)).collect();
            let mut best = Best { cluster: 0, lengths: &lengths, pairs: Vec::new(), most: f64::INFINITY };
            let mut all = Vec::new();
            for (other, &(length, cosine)) in (1..).zip(&others) {
                let dot = 1.5 * length * cosine;
                best.offer(other, dot);
                all.push(Pair { loss: loss(1.5, length, dot), a: 0, b: other });
            }
            best.keep();
            best.pairs.sort_by(Pair::compare);
            all.sort_by(Pair::compare);
            all.truncate(PARTNERS);
            prop_assert_eq!(best.pairs, all);
        }
    }
}
