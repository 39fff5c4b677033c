//! Seeds by over-clustering: several times as many clusters, few iterations, then merges.
//!
//! A seed that is one document follows the words of that document; seeds that are unions of small
//! clusters follow what many documents share. The small clusters are found by the same loop over
//! the same shards, so this is as exact, and as distributed, as the loop itself.

use super::merge::{ALL_PAIRS, cut, merged};
use super::{Driver, History, Params, Run, is_set};
use crate::centroids::{Centroid, Centroids, MAX_CLUSTERS};
use crate::clock::Clock;
use crate::error::{ErrorKind, Result};
use crate::fit::starts::Starts;
use crate::observer::Event;
use crate::seeding::{Init, Seeding, sampled};

/// Iterations over the small clusters.
const ITERATIONS: usize = 3;

/// Steps that an observer hears of: the seeds, the first assignment, the iterations, the merges.
const TOTAL: usize = ITERATIONS + 3;

/// A perturbed run has 1/`NEW_SHARE` as many new small clusters as clusters.
const NEW_SHARE: usize = 2;

impl Driver<'_> {
    /// Finds several small clusters per cluster, and merges them.
    pub(super) fn over_clustered(&mut self, number: usize) -> Result<Centroids> {
        let mut clock = Clock::start();
        let small = self.small_seeds(number)?;
        clock.lap(&mut self.seeding_phases.small_clusters);
        self.merged_again(number, small)
    }

    /// The clusters of the best run, with new small clusters beside them, merged again.
    pub(super) fn perturbed(&mut self, number: usize, best: Centroids) -> Result<Centroids> {
        let mut list = best.without_empty().into_list();
        let n_new = self.params.n_clusters.div_ceil(NEW_SHARE).min(MAX_CLUSTERS - list.len());
        list.extend(sampled(self.shards, n_new, self.params.seed, number)?.into_iter().flatten());
        self.merged_again(number, Centroids::new(self.facts.n_terms, list))
    }

    /// Finds small clusters, and merges them to several numbers of clusters, which descend.
    pub(super) fn cut(&mut self, n_clusters: &[usize]) -> Result<Starts> {
        let small = self.small_seeds(0)?;
        let run = self.small_clusters(0, small)?;
        self.shards.rest();
        let cuts = cut(&run.sums, &run.centroids, n_clusters, ALL_PAIRS);
        self.tell(&Event::Seeding { done: TOTAL, total: TOTAL })?;
        let cuts = n_clusters.iter().copied().zip(cuts).collect();
        Ok(Starts { n_terms: self.facts.n_terms, small: run.sums, cuts })
    }

    /// A few iterations from small clusters, which are then merged.
    fn merged_again(&mut self, number: usize, small: Centroids) -> Result<Centroids> {
        let (k, n_terms) = (self.params.n_clusters, self.facts.n_terms);
        let run = self.small_clusters(number, small)?;
        // Merges need no documents.
        self.shards.rest();
        let mut list = merged(&run.sums, &run.centroids, k, &mut self.seeding_phases);
        // Fewer small clusters than clusters: the others start empty.
        list.resize(k, Centroid::default());
        self.tell(&Event::Seeding { done: TOTAL, total: TOTAL })?;
        Ok(Centroids::new(n_terms, list))
    }

    /// A few iterations from small clusters.
    fn small_clusters(&mut self, number: usize, small: Centroids) -> Result<Run> {
        let mut clock = Clock::start();
        self.tell(&Event::Seeding { done: 1, total: TOTAL })?;
        self.shards.start(None)?;
        let mut run = Run::new(number, small, History::default());
        for iteration in 0..=ITERATIONS {
            let record = self.step(&mut run)?;
            let is_still = iteration > 0 && record.moved_docs == 0;
            run.history.iterations.push(record);
            self.tell(&Event::Seeding { done: iteration + 2, total: TOTAL })?;
            if is_still {
                break;
            }
        }
        self.update(&mut run, &[])?;
        clock.lap(&mut self.seeding_phases.small_clusters);
        Ok(run)
    }

    /// Random documents in one step; drawn one by one if too few have different terms, and then all
    /// different. So a row of weight 3 counts as three rows.
    fn small_seeds(&mut self, number: usize) -> Result<Centroids> {
        let Params { n_clusters, init, seed, .. } = self.params;
        let (n_small, n_terms, seed) = (init.n_fine(*n_clusters), self.facts.n_terms, *seed);
        if let Some(list) = sampled(self.shards, n_small, seed, number)? {
            return Ok(Centroids::new(n_terms, list));
        }
        let init = &Init::PlainPlusPlus;
        let n_small = n_small.min(self.facts.n_usable);
        let seeding = Seeding { init, n_clusters: n_small, n_terms, seed, run: number };
        let cancel = self.cancel;
        let found =
            seeding.centroids(self.shards, &mut self.seeding_phases, &mut |_| match is_set(cancel) {
                true => Err(ErrorKind::Stopped { stage: "seeding" }.into()),
                false => Ok(()),
            })?;
        Ok(found.without_empty())
    }
}
