//! The runner-up: for some documents, the most similar centroid besides their own.
//!
//! A document knows the similarity to its own centroid after every assignment, but of the others
//! only that none is greater. A contest ([`crate::shards::Contest`]) asks more of those documents
//! for which the answer may matter.

use rayon::prelude::*;

use super::ShardStep;
use super::choice::greatest;
use super::postings::Postings;
use crate::record::Counters;

/// Documents per task.
const TASK_DOCS: usize = 256;

/// A document whose rival is wanted, if that is similar enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) doc: u32,
    /// The least similarity that matters.
    pub(crate) at_least: f64,
}

/// The most similar other centroid; on ties the one with the smallest number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rival {
    pub(crate) cluster: u32,
    pub(crate) similarity: f64,
}

/// The rivals of some documents, in their order, and what it took to find them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rivals {
    pub(crate) found: Vec<Option<Rival>>,
    pub(crate) counters: Counters,
}

impl Rival {
    /// Whether it comes before another.
    pub(super) fn beats(&self, other: &Rival) -> bool {
        self.similarity > other.similarity
            || (self.similarity == other.similarity && self.cluster < other.cluster)
    }
}

/// The rivals of these documents, by all similarities: the definition, and for strategies that keep
/// no bounds the fastest way.
pub(super) fn through_postings(step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
    if wanted.is_empty() {
        return Rivals::default();
    }
    let docs = wanted.iter().map(|wanted| wanted.doc as usize);
    through(&Postings::of_docs(step.centroids, step.rows, docs), step, wanted, labels)
}

/// The same through the posting lists of the step's centroids.
pub(super) fn through(
    postings: &Postings,
    step: &ShardStep<'_>,
    wanted: &[Wanted],
    labels: &[u32],
) -> Rivals {
    let scratch = || vec![0.0; step.centroids.n_clusters()];
    let rival = |similarities: &mut Vec<f64>, wanted: &Wanted| {
        if step.is_cancelled() {
            return (None, 0);
        }
        let n_postings = postings.similarities(step.rows.row(wanted.doc as usize), similarities);
        if let Some(own) = similarities.get_mut(labels[wanted.doc as usize] as usize) {
            *own = f64::NEG_INFINITY;
        }
        let best = greatest(similarities).filter(|&(_, similarity)| similarity >= wanted.at_least);
        (best.map(|(cluster, similarity)| Rival { cluster, similarity }), n_postings)
    };
    let (found, n_postings): (Vec<Option<Rival>>, Vec<u64>) =
        wanted.par_iter().with_min_len(TASK_DOCS).map_init(scratch, rival).unzip();
    let counters = Counters {
        similarities: (wanted.len() * step.live.len()) as u64,
        postings: n_postings.iter().sum(),
        skipped_docs: 0,
    };
    Rivals { found, counters }
}
