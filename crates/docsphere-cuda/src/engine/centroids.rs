//! The centroids of a step on the device. Only those that changed are sent.

#![allow(unsafe_code)]

use std::ops::Range;

use rayon::prelude::*;

use super::{Sparse, Step};
use crate::arguments::{FROM_CHANGED, GATHER_CENTROIDS, GatherArguments, Matrix};
use crate::device::{Buffer, Device};
use crate::error::Result;

/// See the [module](self).
#[derive(Default)]
pub(super) struct StoredCentroids {
    now: Entries,
    /// Those of the step before, and room for the next.
    spare: Entries,
    /// Those that changed.
    sent: Entries,
    /// Where each begins, and where the last one ends.
    offsets: Vec<u64>,
    sources: Buffer<u64>,
}

#[derive(Default)]
struct Entries {
    offsets: Buffer<u64>,
    terms: Buffer<u32>,
    values: Buffer<f32>,
}

impl Entries {
    fn matrix(&self) -> Matrix {
        Matrix { offsets: self.offsets.pointer(), terms: self.terms.pointer(), values: self.values.pointer() }
    }
}

impl StoredCentroids {
    pub(super) fn n_clusters(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(super) fn nnz(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    pub(super) fn matrix(&self) -> Matrix {
        self.now.matrix()
    }

    pub(super) fn host_bytes(&self) -> usize {
        8 * self.offsets.len()
    }

    /// Takes the centroids of a step: only the changes, if the others are here.
    pub(super) fn follow(&mut self, device: &Device, step: &Step<'_>, continues: bool) -> Result<()> {
        let all: Vec<u32>;
        let changed = match &step.changes {
            Some(changes) if continues => changes.clusters,
            _ => {
                all = (0..step.n_clusters as u32).collect();
                &all
            }
        };
        let lengths: Vec<usize> =
            changed.par_iter().map(|&cluster| (step.centroid)(cluster).0.len()).collect();
        let before = std::mem::take(&mut self.offsets);
        let is_all = changed.len() == step.n_clusters;
        let mut sources = vec![0; if is_all { 0 } else { step.n_clusters }];
        self.offsets.reserve_exact(step.n_clusters + 1);
        self.offsets.push(0);
        let mut starts = Vec::with_capacity(changed.len());
        let (mut end, mut sent, mut next) = (0, 0, 0);
        for cluster in 0..step.n_clusters {
            if changed.get(next) == Some(&(cluster as u32)) {
                if !is_all {
                    sources[cluster] = FROM_CHANGED | sent;
                }
                starts.push(sent as usize);
                sent += lengths[next] as u64;
                end += lengths[next] as u64;
                next += 1;
            } else {
                sources[cluster] = before[cluster];
                end += before[cluster + 1] - before[cluster];
            }
            self.offsets.push(end);
        }
        let target = if is_all { &mut self.now } else { &mut self.sent };
        let changed = Changed { step, clusters: changed, starts: &starts };
        device.upload_filled(&mut target.terms, sent as usize, |range, part| {
            changed.fill(range, part, |entries| entries.0);
        })?;
        device.upload_filled(&mut target.values, sent as usize, |range, part| {
            changed.fill(range, part, |entries| entries.1);
        })?;
        if is_all {
            return device.upload(&mut self.now.offsets, &self.offsets);
        }
        device.upload(&mut self.spare.offsets, &self.offsets)?;
        device.upload(&mut self.sources, &sources)?;
        device.reserve(&mut self.spare.terms, end.max(1) as usize)?;
        device.reserve(&mut self.spare.values, end.max(1) as usize)?;
        let gathered = GatherArguments {
            before: self.now.matrix(),
            changed: self.sent.matrix(),
            offsets: self.spare.offsets.pointer(),
            terms: self.spare.terms.pointer(),
            values: self.spare.values.pointer(),
            sources: self.sources.pointer(),
            n_clusters: step.n_clusters as u32,
        };
        // SAFETY: offsets and sources are those of entries that are there, and the spare ones have
        // room for all. They live at least until the next step, which waits first.
        unsafe { device.launch(&GATHER_CENTROIDS, device.n_blocks(8), device.shape().threads, gathered)? };
        std::mem::swap(&mut self.now, &mut self.spare);
        Ok(())
    }
}

/// The centroids that changed, one after the other.
struct Changed<'s, 'a> {
    step: &'s Step<'a>,
    clusters: &'s [u32],
    /// Where the entries of each begin.
    starts: &'s [usize],
}

impl<'a> Changed<'_, 'a> {
    /// Writes a range of all their terms, or of all their values.
    fn fill<T: Copy + Send + Sync + 'a>(
        &self,
        range: Range<usize>,
        mut part: &mut [T],
        of: impl Fn(Sparse<'a>) -> &'a [T] + Sync,
    ) {
        let first = self.starts.partition_point(|&start| start <= range.start).saturating_sub(1);
        let mut places = Vec::new();
        for (&cluster, &start) in self.clusters[first..].iter().zip(&self.starts[first..]) {
            // Its own place ends where the next one begins.
            let skipped = range.start.saturating_sub(start);
            let length = (self.step.centroid)(cluster).0.len().saturating_sub(skipped).min(part.len());
            let place;
            (place, part) = part.split_at_mut(length);
            places.push((cluster, skipped, place));
            if part.is_empty() {
                break;
            }
        }
        places.into_par_iter().with_min_len(16).for_each(|(cluster, skipped, place)| {
            let entries = of((self.step.centroid)(cluster));
            place.copy_from_slice(&entries[skipped..skipped + place.len()]);
        });
    }
}
