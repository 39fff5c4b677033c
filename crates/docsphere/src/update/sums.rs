//! Integer sums of the members of each cluster, updated by [`Delta`]s.
//!
//! A cluster's sum is a sparse vector of `i64`. Only clusters that a document joined or left are
//! touched.
//!
//! **Cost.** Time: the entries of the touched sums and of the delta. Memory: 12 bytes per entry,
//! shared terms included; 4 bytes per cluster; scratch, see [`delta`](super::delta). While touched
//! sums differ from their centroids, the two share no terms: 4 bytes per entry of these clusters.

use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;

use super::delta::{ClusterDelta, Delta, SumScratch, Touched};
use crate::by_key::ByKey;
use crate::centroids::{Centroid, Centroids, Moved, Movement};
use crate::error::Result;
use crate::pool::Pool;
use crate::vectors::ONE;

/// Number of clusters that are updated together if so many were touched, on so many threads: enough
/// that threads seldom wait for the last one, and that there are no more than [`BATCHES`] batches.
pub(crate) fn batch_clusters(n_touched: usize, n_threads: usize) -> usize {
    let least = if n_threads < 4 { 256 } else { 64 * n_threads };
    least.max(n_touched.div_ceil(BATCHES))
}

/// See [`batch_clusters`].
const BATCHES: usize = 16;

/// What a centroid is, for a given sum; always of length one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The direction of the sum: the centroid of spherical k-means.
    Mean,
    /// The roots of the magnitudes of its entries, with their signs: frequent terms count less.
    Root,
}

/// The integer sums and the numbers of members of all clusters.
pub(crate) struct Sums {
    shape: Shape,
    list: Vec<Sum>,
    /// Documents with weight in each cluster.
    n_members: Vec<u32>,
    scratch: Pool<SumScratch>,
}

/// One sum: its nonzero entries, in ascending order of term.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    terms: Arc<[u32]>,
    values: Box<[i64]>,
}

impl Sums {
    pub(crate) fn new(n_clusters: usize) -> Self {
        Sums::with_shape(Shape::Mean, n_clusters)
    }

    pub(crate) fn with_shape(shape: Shape, n_clusters: usize) -> Self {
        Sums::of(shape, vec![Sum::default(); n_clusters])
    }

    /// Of clusters whose members are not counted.
    fn of(shape: Shape, list: Vec<Sum>) -> Self {
        Sums { shape, n_members: vec![0; list.len()], list, scratch: Pool::default() }
    }

    /// Counts the documents that joined and left. Must precede [`Sums::apply`].
    pub(crate) fn count(&mut self, touched: &[Touched]) {
        for part in touched {
            let n_members = &mut self.n_members[part.cluster as usize];
            *n_members = u32::try_from(i64::from(*n_members) + part.members).expect("who leaves was there");
        }
    }

    /// Documents with weight in each cluster. Refills change it before they are applied.
    pub(crate) fn n_members(&mut self) -> &mut [u32] {
        &mut self.n_members
    }

    /// The lengths of the sums, in units of a row of weight one.
    pub(crate) fn lengths(&self) -> Vec<f64> {
        self.list.par_iter().map(|sum| sum.length() / ONE).collect()
    }

    /// The sums of the magnitudes of their entries, in the same units.
    pub(crate) fn magnitudes(&self) -> Vec<f64> {
        self.list.par_iter().map(|sum| sum.magnitude() / ONE).collect()
    }

    /// The lengths that the sums will have after an update with these changes; see [`Sums::apply`].
    pub(crate) fn lengths_after(
        &self,
        touched: &[Touched],
        batch: usize,
        mut deltas: impl FnMut(RangeInclusive<u32>, &mut dyn FnMut(Delta)) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let mut lengths = self.lengths();
        for batch in touched.chunks(batch) {
            let mut sums: Vec<(usize, Option<Sum>)> =
                batch.iter().map(|touched| (touched.cluster as usize, None)).collect();
            deltas(batch[0].cluster..=batch[batch.len() - 1].cluster, &mut |delta| {
                let places = places_of(delta, sums.iter_mut(), |sum| sum.0);
                places.into_par_iter().with_max_len(1).for_each(|((cluster, sum), part)| {
                    let before = sum.as_ref().unwrap_or(&self.list[*cluster]);
                    *sum = Some(before.plus(&part.terms, &part.values, &self.scratch));
                });
            })?;
            let length = |(cluster, sum): (usize, Option<Sum>)| (cluster, sum.map(|sum| sum.length() / ONE));
            let found: Vec<(usize, Option<f64>)> = sums.into_par_iter().with_max_len(1).map(length).collect();
            for (cluster, length) in found {
                lengths[cluster] = length.unwrap_or(lengths[cluster]);
            }
        }
        Ok(lengths)
    }

    /// The number of terms of a sum.
    pub(crate) fn n_entries(&self, cluster: usize) -> usize {
        self.list[cluster].terms.len()
    }

    /// The dot products of the sum of a cluster with those of others, in the same units, added up
    /// in ascending order of term. They take time by the terms of the others. `dense` has a number
    /// for every term, and is all 0 before and after.
    pub(crate) fn dots(&self, cluster: usize, others: &[u32], dense: &mut [f64]) -> Vec<f64> {
        let own = &self.list[cluster];
        own.terms.iter().zip(&own.values).for_each(|(&term, &value)| dense[term as usize] = value as f64);
        // A term that only one of them has adds 0.
        let dot = |other: &Sum| {
            let entries = other.terms.iter().zip(&other.values);
            entries.fold(0.0, |dot, (&term, &value)| dot + value as f64 * dense[term as usize])
        };
        let dots = others.iter().map(|&other| dot(&self.list[other as usize]) / (ONE * ONE)).collect();
        own.terms.iter().for_each(|&term| dense[term as usize] = 0.0);
        dots
    }

    /// The `n` entries of a sum with the greatest magnitude, in the same units and in ascending
    /// order of term; of equal ones those with smaller terms.
    pub(crate) fn heaviest(&self, cluster: usize, n: usize) -> Vec<(u32, f64)> {
        self.list[cluster].heaviest(n)
    }

    /// The directions of the sums of groups of clusters, which have numbers from 0 on. Groups whose
    /// sum is zero are left out.
    pub(crate) fn group_centroids(&self, groups: &[Option<u32>]) -> Vec<Centroid> {
        let members = members_of(groups);
        let centroid = |group: u32| self.sum_of(members.of(group)).to_centroid(self.shape);
        (0..members.n_keys() as u32).into_par_iter().with_max_len(1).filter_map(centroid).collect()
    }

    /// The sums of groups of clusters, which have numbers from 0 on, as clusters; and their
    /// directions. Members are not counted.
    pub(crate) fn grouped(&self, groups: &[Option<u32>], n_terms: usize) -> (Sums, Centroids) {
        let members = members_of(groups);
        let sum = |group: u32| self.sum_of(members.of(group));
        let list: Vec<Sum> = (0..members.n_keys() as u32).into_par_iter().with_max_len(1).map(sum).collect();
        let directions = list.par_iter().map(|sum| sum.to_centroid(self.shape).unwrap_or_default());
        let directions = Centroids::new(n_terms, directions.collect());
        (Sums::of(self.shape, list), directions)
    }

    /// The sum of some clusters: that of one half plus that of the other, so that few sums are
    /// long and threads share them.
    fn sum_of(&self, clusters: &[u32]) -> Sum {
        match *clusters {
            [] => Sum::default(),
            [cluster] => self.list[cluster as usize].clone(),
            [a, b] => self.list[a as usize].plus_sum(&self.list[b as usize], &self.scratch),
            _ => {
                let (left, right) = clusters.split_at(clusters.len() / 2);
                let (left, right) = rayon::join(|| self.sum_of(left), || self.sum_of(right));
                left.plus_sum(&right, &self.scratch)
            }
        }
    }

    /// Updates the sums, and moves `centroids` to their directions.
    ///
    /// A cluster without members gets an empty centroid. If the members cancel out, the centroid
    /// stays where it was. The clusters in `given`, to which documents were given otherwise than by
    /// an assignment, count as changed even if their centroids do not: these documents are new.
    ///
    /// Works in batches of clusters, so that deltas are there only for a few of them: `deltas`
    /// gives the changes for a range of clusters, with up to `batch` touched ones, in parts that
    /// add up to them. Only the clusters in `touched`, which ascend, change.
    pub(crate) fn apply(
        &mut self,
        touched: &[Touched],
        given: &[u32],
        centroids: &mut Centroids,
        batch: usize,
        mut deltas: impl FnMut(RangeInclusive<u32>, &mut dyn FnMut(Delta)) -> Result<()>,
    ) -> Result<Movement> {
        let mut movement = Movement::none(centroids.n_clusters());
        let together = batch_clusters(touched.len(), rayon::current_num_threads());
        for batch in touched.chunks(batch) {
            let (list, scratch) = (&mut self.list, &self.scratch);
            let first = batch[0].cluster;
            deltas(first..=batch[batch.len() - 1].cluster, &mut |delta| {
                let places =
                    places_of(delta, list.iter_mut().enumerate().skip(first as usize), |place| place.0);
                // Old sums are freed one by one, on all threads.
                places.into_par_iter().with_max_len(1).for_each(|((_, sum), part)| sum.add(part, scratch));
            })?;
            for few in batch.chunks(together) {
                self.direct(few, centroids, &mut movement);
            }
        }
        for (cluster, _) in self.n_members.iter().enumerate().filter(|&(_, &n)| n == 0) {
            if let Some(moved) = Moved::between(centroids.get(cluster), &Centroid::default()) {
                movement.record(cluster, moved);
                centroids.set(cluster, Centroid::default());
            }
        }
        for &cluster in given {
            if !movement.is_changed(cluster as usize) {
                movement.record(cluster as usize, Moved::default());
            }
        }
        movement.sort();
        Ok(movement)
    }
}

impl Sums {
    /// Moves the centroids of some clusters to the directions of their sums.
    fn direct(&mut self, touched: &[Touched], centroids: &mut Centroids, movement: &mut Movement) {
        let (before, n_members, shape) = (&*centroids, &self.n_members, self.shape);
        let clusters = touched.iter().map(|touched| touched.cluster as usize);
        let first = touched.first().map_or(0, |touched| touched.cluster as usize);
        let sums = at(self.list.iter_mut().enumerate().skip(first), clusters, |place| place.0);
        let updated: Vec<Option<(usize, Centroid, Moved)>> = sums
            .into_par_iter()
            .with_max_len(1)
            .map(|(cluster, sum)| {
                // Without it, the members cancel out.
                let centroid = sum.to_centroid(shape).filter(|_| n_members[cluster] > 0)?;
                let before = before.get(cluster);
                let moved = Moved::between(before, &centroid);
                if moved.is_none() && sum.terms == before.terms {
                    // They may have been others in between.
                    sum.terms = Arc::clone(&before.terms);
                }
                Some((cluster, centroid, moved?))
            })
            .collect();
        let mut replaced = Vec::with_capacity(updated.len());
        for (cluster, centroid, moved) in updated.into_iter().flatten() {
            movement.record(cluster, moved);
            replaced.push(centroids.set(cluster, centroid));
        }
        // Freed on all threads, too.
        replaced.into_par_iter().for_each(drop);
    }
}

/// Those items of a list, ascending by cluster, that are of these clusters, which ascend.
fn at<T>(
    list: impl Iterator<Item = T>,
    clusters: impl Iterator<Item = usize>,
    cluster_of: impl Fn(&T) -> usize,
) -> Vec<T> {
    let mut clusters = clusters.peekable();
    let mut found = Vec::new();
    for item in list {
        if clusters.peek().is_none() {
            break;
        }
        if clusters.next_if_eq(&cluster_of(&item)).is_some() {
            found.push(item);
        }
    }
    found
}

/// The parts of a delta, each with the item of its cluster.
fn places_of<T>(
    delta: Delta,
    list: impl Iterator<Item = T>,
    cluster_of: impl Fn(&T) -> usize,
) -> Vec<(T, ClusterDelta)> {
    let clusters: Vec<usize> = delta.clusters.iter().map(|part| part.cluster as usize).collect();
    let found = at(list, clusters.into_iter(), cluster_of);
    assert_eq!(found.len(), delta.clusters.len(), "every part has its place");
    found.into_iter().zip(delta.clusters).collect()
}

/// The clusters of each group.
fn members_of(groups: &[Option<u32>]) -> ByKey<u32> {
    let n_groups = groups.iter().flatten().max().map_or(0, |&last| last as usize + 1);
    let members = groups.iter().zip(0u32..).filter_map(|(&group, cluster)| Some((group?, cluster)));
    ByKey::new(n_groups, members)
}

impl Sum {
    fn add(&mut self, delta: ClusterDelta, scratch: &Pool<SumScratch>) {
        if self.terms.is_empty() {
            *self = Sum { terms: delta.terms, values: delta.values };
            return;
        }
        scratch.with(|scratch| {
            let sum = scratch.sum_of((&self.terms, &self.values), (&delta.terms, &delta.values));
            match sum.same_terms {
                true => self.values.copy_from_slice(sum.values),
                false => *self = Sum { terms: sum.terms.into(), values: sum.values.into() },
            }
            scratch.shrink();
        });
    }

    fn plus(&self, terms: &[u32], values: &[i64], scratch: &Pool<SumScratch>) -> Sum {
        scratch.with(|scratch| {
            let sum = scratch.sum_of((&self.terms, &self.values), (terms, values));
            let sum = Sum { terms: sum.terms_or(&self.terms), values: sum.values.into() };
            scratch.shrink();
            sum
        })
    }

    /// The sum of the members of both clusters.
    fn plus_sum(&self, other: &Sum, scratch: &Pool<SumScratch>) -> Sum {
        self.plus(&other.terms, &other.values, scratch)
    }

    fn heaviest(&self, n: usize) -> Vec<(u32, f64)> {
        let mut entries: Vec<(u32, i64)> =
            self.terms.iter().copied().zip(self.values.iter().copied()).collect();
        if entries.len() > n {
            entries.select_nth_unstable_by_key(n, |&(term, value)| (Reverse(value.unsigned_abs()), term));
            entries.truncate(n);
            entries.sort_unstable_by_key(|entry| entry.0);
        }
        // By reference: a list made in place would keep the memory of all entries.
        entries.iter().map(|&(term, value)| (term, value as f64 / ONE)).collect()
    }

    fn length(&self) -> f64 {
        self.values.iter().map(|&v| v as f64 * v as f64).sum::<f64>().sqrt()
    }

    fn magnitude(&self) -> f64 {
        self.values.iter().map(|&v| (v as f64).abs()).sum()
    }

    /// The centroid of this shape, or `None` if the sum is zero.
    fn to_centroid(&self, shape: Shape) -> Option<Centroid> {
        if self.terms.is_empty() {
            return None;
        }
        let values = match shape {
            Shape::Mean => {
                let length = self.length();
                self.values.iter().map(|&v| (v as f64 / length) as f32).collect()
            }
            Shape::Root => {
                let total = self.magnitude();
                let root = |v: f64| ((v.abs() / total).sqrt() as f32).copysign(v as f32);
                self.values.iter().map(|&v| root(v as f64)).collect()
            }
        };
        Some(Centroid { terms: Arc::clone(&self.terms), values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{Change, Changes, DeltaScratch};
    use crate::vectors::{RowWeights, SparseRows, UnitRows};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_and_leaving_gives_the_sum_of_those_who_stayed(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..12, -3i8..4, 1..6), 1..12),
            stay in prop::collection::vec(any::<bool>(), 12),
        ) {
            let rows = UnitRows::new(SparseRows::from_maps(12, &docs));
            let (weights, scratch) = (RowWeights::UNIFORM, DeltaScratch::default());
            let change = |doc: usize, joined: bool| Change { cluster: 0, doc: doc as u32, joined };
            let after = |steps: Vec<Vec<Change>>| {
                let mut sums = Sums::new(1);
                let mut centroids =
                    Centroids::from_rows(SparseRows::from_parts(12, vec![0u64, 0], Vec::new(), Vec::new()).unwrap());
                for step in steps {
                    let mut changes = Changes::default();
                    let touched = changes.add(step, &weights);
                    sums.count(&touched);
                    let deltas = |clusters, take: &mut dyn FnMut(Delta)| {
                        take(changes.delta(clusters, &rows, &weights, &scratch));
                        Ok(())
                    };
                    sums.apply(&touched, &[], &mut centroids, batch_clusters(0, 1), deltas).unwrap();
                }
                (sums.list, sums.n_members)
            };
            let all: Vec<Change> = (0..docs.len()).map(|doc| change(doc, true)).collect();
            let leave = (0..docs.len()).filter(|&doc| !stay[doc]).map(|doc| change(doc, false)).collect();
            let join = (0..docs.len()).filter(|&doc| stay[doc]).map(|doc| change(doc, true)).collect();
            prop_assert_eq!(after(vec![all, leave]), after(vec![join]));
        }
    }

    #[test]
    fn dot_products_are_those_of_the_terms_in_common() {
        let sum = |entries: &[(u32, i64)]| {
            let (terms, values): (Vec<u32>, Vec<i64>) = entries.iter().copied().unzip();
            Sum { terms: terms.into(), values: values.into() }
        };
        let one = ONE as i64;
        let list = vec![
            sum(&[(0, 2 * one), (3, one), (4, -one)]),
            sum(&[(3, one / 2), (4, 5 * one)]),
            sum(&[(1, one)]),
            Sum::default(),
        ];
        let sums = Sums { list, ..Sums::new(4) };
        let mut dense = vec![0.0; 5];
        assert_eq!(sums.dots(0, &[1, 2, 3], &mut dense), [-4.5, 0.0, 0.0]);
        assert_eq!(sums.dots(1, &[0], &mut dense), [-4.5]);
        assert_eq!(dense, [0.0; 5]);
    }
}
