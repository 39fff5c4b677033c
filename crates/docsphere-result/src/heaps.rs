//! Heaps: clusters whose documents have little in common.
//!
//! k-means puts every document somewhere. Documents that fit nowhere end up together, in clusters
//! whose cohesion is far below that of the others. How high a cohesion is depends on the texts and
//! on k, so a cluster is compared with the median of its result.
//!
//! The factor was chosen on labelled corpora, with seeds by k-means++. Of 30 clusters of Stack
//! Overflow questions with 20 subjects, four are below 0.7 times the median; the largest subject of
//! each has about a quarter of its documents or less, that of the others 86 % on average. Of 40
//! clusters of 20 newsgroups two are below it, with 31 % and 42 %, and the others have about 70 %.

use docsphere::ClusterSummary;

/// A heap has a cohesion below this share of the median.
const HEAP_SHARE: f64 = 0.7;

/// Clusters with fewer documents are no heaps, and do not count for the median: the cohesion of a
/// single document is 1.
const MIN_SIZE: usize = 2;

/// Which clusters are heaps: those of at least two documents whose cohesion is below 0.7 times the
/// median cohesion of all clusters of at least two documents.
pub(crate) fn heaps(summaries: &[ClusterSummary]) -> Vec<bool> {
    let facts: Vec<(usize, f64)> = summaries.iter().map(|summary| (summary.size, summary.cohesion)).collect();
    of_facts(&facts)
}

/// The same, by size and cohesion.
pub(crate) fn of_facts(facts: &[(usize, f64)]) -> Vec<bool> {
    let mut cohesions: Vec<f64> =
        facts.iter().filter(|facts| facts.0 >= MIN_SIZE).map(|facts| facts.1).collect();
    cohesions.sort_by(f64::total_cmp);
    // Of an even number the upper one of the two in the middle.
    let median = cohesions.get(cohesions.len() / 2).copied().unwrap_or(0.0);
    facts.iter().map(|&(size, cohesion)| size >= MIN_SIZE && cohesion < HEAP_SHARE * median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_far_below_the_median_is_a_heap() {
        let of = |cohesions: &[f64]| of_facts(&cohesions.iter().map(|&c| (9, c)).collect::<Vec<_>>());
        assert_eq!(of(&[0.3, 0.2, 0.3, 0.4]), [false, true, false, false]);
        assert_eq!(of(&[0.3, 0.22, 0.3]), [false, false, false]);
        assert_eq!(of(&[0.01]), [false]);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn empty_clusters_and_single_documents_do_not_count() {
        let facts = [(1, 1.0), (1, 1.0), (1, 1.0), (0, 0.0), (5, 0.3), (5, 0.2), (5, 0.31)];
        assert_eq!(of_facts(&facts), [false, false, false, false, false, true, false]);
    }
}
