//! A sample of documents that shows every cluster in proportion.

use rayon::prelude::*;

use crate::by_key::ByKey;
use crate::ids::DocId;
use crate::labels::Labels;
use crate::seeding::mix;

/// Some documents that have a cluster, at most `n`, such that the first m of them are a sample of
/// size m, for every m: no cluster has more than its share of it plus one document, and if m is at
/// least the number of clusters with documents, each has one at least.
///
/// The documents of a cluster are ordered by a hash of their numbers. The one at position i of n
/// has the key `i / n`; the sample are those with the smallest keys, ties by hash, then by number.
///
/// **Cost.** 12 bytes per document; each cluster is sorted only as far as the sample needs it.
///
/// ```
/// use docsphere::{Labels, document_sample};
///
/// let labels = Labels::from(vec![0, 0, 0, -1, 0, 1]);
/// let sample = document_sample(&labels, 2, 3);
/// assert_eq!(sample.len(), 3);
/// assert!(sample.iter().any(|doc| doc.index() == 5), "the only document of its cluster");
/// assert_eq!(document_sample(&labels, 2, 100).len(), 5);
/// ```
///
/// # Panics
/// If a label is not below `n_clusters`.
pub fn document_sample(labels: &Labels, n_clusters: usize, n: usize) -> Vec<DocId> {
    let labelled = (0u32..).zip(labels.as_slice()).filter(|(_, label)| **label >= 0);
    let members = ByKey::new(n_clusters, labelled.map(|(doc, &label)| (label as u32, doc)));
    let n_labelled: usize = (0..n_clusters as u32).map(|cluster| members.of(cluster).len()).sum();
    let of_cluster = |cluster: u32| {
        let own = members.of(cluster);
        // One more than its share, rounded up: no further ones can be in the sample.
        let share = (own.len() as u128 * n as u128).div_ceil(n_labelled.max(1) as u128) as usize + 1;
        let mut found: Vec<(u64, u32)> = own.iter().map(|&doc| (hash(doc), doc)).collect();
        if share < found.len() {
            found.select_nth_unstable(share);
            found.truncate(share);
        }
        found.sort_unstable();
        let key = |position: usize| ((position as u128) << 64) / own.len() as u128;
        let keyed = found.into_iter().enumerate();
        keyed.map(|(position, (hash, doc))| (key(position) as u64, hash, doc)).collect::<Vec<_>>()
    };
    let mut found: Vec<(u64, u64, u32)> =
        (0..n_clusters as u32).into_par_iter().flat_map_iter(of_cluster).collect();
    if n < found.len() {
        found.select_nth_unstable(n);
        found.truncate(n);
    }
    found.par_sort_unstable();
    found.into_iter().map(|(_, _, doc)| DocId::new(doc)).collect()
}

fn hash(doc: u32) -> u64 {
    mix(u64::from(doc) + 0x5851_f42d_4c95_7f2d)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_beginning_of_a_sample_is_a_smaller_one_and_clusters_have_their_shares(
            labels in prop::collection::vec(-1i32..6, 0..300),
            n in 0usize..320,
        ) {
            let labels = Labels::from(labels);
            let whole = document_sample(&labels, 6, labels.len());
            let sample = document_sample(&labels, 6, n);
            prop_assert_eq!(&sample[..], &whole[..n.min(whole.len())]);
            let label = |doc: &DocId| labels.as_slice()[doc.index()];
            let n_live = (0..6).filter(|cluster| labels.as_slice().contains(cluster)).count();
            for cluster in 0..6 {
                let size = labels.as_slice().iter().filter(|&&label| label == cluster).count();
                let found = sample.iter().filter(|doc| label(doc) == cluster).count();
                prop_assert!(n < n_live || found > 0 || size == 0);
                // Less than its share only because others are rounded up.
                let share = size as f64 * sample.len() as f64 / whole.len().max(1) as f64;
                let (found, least) = (found as f64, share - n_live as f64);
                prop_assert!(found <= share + 1.0 + 1e-9 && found >= least - 1e-9, "{found} of {share}");
            }
            let mut docs: Vec<usize> = whole.iter().map(|doc| doc.index()).collect();
            docs.sort_unstable();
            let expected: Vec<usize> =
                (0..labels.len()).filter(|&doc| labels.as_slice()[doc] >= 0).collect();
            prop_assert_eq!(docs, expected);
        }
    }
}
