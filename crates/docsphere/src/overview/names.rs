//! Names for groups of clusters, from the keywords of their clusters.

use std::collections::HashMap;

use rayon::prelude::*;

use super::MergeTree;
use crate::ids::TermId;
use crate::model::Model;
use crate::summary::{ClusterSummary, Keyword};

/// The keywords of every node of a tree, best first: for clusters their own, for merges the terms
/// that together cover most of their clusters, and few others have.
///
/// The weight of a term in a cluster is its value in the centroid times the number of documents,
/// times 1 less its [`spread`](crate::Keyword::spread); in a node it is the sum over its clusters.
/// The score is that weight, times the node's share of the term's weight in all clusters, times the
/// share of the node's documents whose clusters have it. Keywords are chosen one by one: a cluster
/// counts half for each chosen keyword that it has, so that the next ones speak for the other
/// clusters. Only keywords of clusters count. `summaries` are those of all clusters of the model.
///
/// Cost: for every node, one pass over the keywords of its clusters per keyword wanted.
pub fn group_keywords(
    model: &Model,
    summaries: &[ClusterSummary],
    tree: &MergeTree,
    n_keywords: usize,
) -> Vec<Vec<TermId>> {
    let found: Vec<Vec<Found>> = summaries.iter().map(|summary| of_cluster(model, summary)).collect();
    let mut totals: HashMap<u32, f64> = HashMap::new();
    for found in found.iter().flatten() {
        *totals.entry(found.term).or_default() += found.weight;
    }
    let sizes: Vec<f64> = summaries.iter().map(|summary| summary.size as f64).collect();
    let own = |summary: &ClusterSummary| summary.keywords.iter().take(n_keywords).map(|k| k.term).collect();
    let mut keywords: Vec<Vec<TermId>> = summaries.iter().map(own).collect();
    let leaves = tree.leaves();
    let of_merge = |position: usize| {
        let clusters = leaves.of(position);
        let mut node = Node::new(clusters, &found, &sizes, &totals);
        (0..n_keywords).map_while(|_| node.next()).collect()
    };
    keywords.par_extend((0..tree.merges().len()).into_par_iter().map(of_merge));
    keywords
}

/// The factor of a term that is spread evenly over all clusters.
const LEAST_SPECIFIC: f64 = 0.05;

/// A keyword of a cluster.
#[derive(Clone, Copy)]
struct Found {
    term: u32,
    /// Its value in the centroid, times the number of documents, less for generic terms.
    weight: f64,
}

fn of_cluster(model: &Model, summary: &ClusterSummary) -> Vec<Found> {
    let centroid = model.centroids().centroid(summary.cluster);
    let found = |keyword: &Keyword| {
        let term = keyword.term.number();
        let value =
            centroid.terms.binary_search(&term).map_or(0.0, |place| f64::from(centroid.values[place]));
        Found { term, weight: value * summary.size as f64 * (1.0 - keyword.spread).max(LEAST_SPECIFIC) }
    };
    summary.keywords.iter().map(found).collect()
}

/// Number of terms among which the keywords of a node are chosen: those with the best scores while
/// all clusters count.
const CANDIDATES: usize = 40;

/// The search for the keywords of a node.
struct Node {
    n_docs: f64,
    candidates: Vec<Candidate>,
    clusters: Vec<Counted>,
}

struct Candidate {
    term: u32,
    /// The node's share of the term's weight in all clusters.
    here: f64,
    is_chosen: bool,
}

/// A cluster of the node.
struct Counted {
    n_docs: f64,
    /// How much it still counts.
    count: f64,
    /// Its keywords among the candidates, with their weights.
    found: Vec<(usize, f64)>,
}

impl Node {
    fn new(clusters: &[u32], found: &[Vec<Found>], sizes: &[f64], totals: &HashMap<u32, f64>) -> Self {
        let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
        for &cluster in clusters {
            for found in &found[cluster as usize] {
                let sums = sums.entry(found.term).or_default();
                *sums = (sums.0 + found.weight, sums.1 + sizes[cluster as usize]);
            }
        }
        let mut scored: Vec<(f64, Candidate)> = sums
            .into_iter()
            .map(|(term, (weight, n_docs))| {
                let here = weight / totals[&term].max(f64::MIN_POSITIVE);
                (weight * here * n_docs, Candidate { term, here, is_chosen: false })
            })
            .collect();
        // The iteration order of a map varies; the order by score and number does not.
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.term.cmp(&b.1.term)));
        scored.truncate(CANDIDATES);
        let candidates: Vec<Candidate> = scored.into_iter().map(|scored| scored.1).collect();
        let places: HashMap<u32, usize> = candidates.iter().map(|c| c.term).zip(0..).collect();
        let counted = |&cluster: &u32| Counted {
            n_docs: sizes[cluster as usize],
            count: 1.0,
            found: found[cluster as usize]
                .iter()
                .filter_map(|found| Some((*places.get(&found.term)?, found.weight)))
                .collect(),
        };
        let n_docs = clusters.iter().map(|&cluster| sizes[cluster as usize]).sum::<f64>().max(1.0);
        Node { n_docs, candidates, clusters: clusters.iter().map(counted).collect() }
    }

    /// The next keyword; on a tie the one that was better while all clusters counted.
    fn next(&mut self) -> Option<TermId> {
        let mut sums = vec![(0.0, 0.0); self.candidates.len()];
        for cluster in &self.clusters {
            for &(place, weight) in &cluster.found {
                let (all, n_docs) = sums[place];
                sums[place] = (all + cluster.count * weight, n_docs + cluster.count * cluster.n_docs);
            }
        }
        let score = |place: usize| sums[place].0 * self.candidates[place].here * sums[place].1 / self.n_docs;
        let open = (0..sums.len()).filter(|&place| !self.candidates[place].is_chosen);
        let best = open.max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)))?;
        for cluster in &mut self.clusters {
            if cluster.found.iter().any(|found| found.0 == best) {
                cluster.count /= 2.0;
            }
        }
        let best = &mut self.candidates[best];
        best.is_chosen = true;
        Some(TermId::new(best.term))
    }
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use super::*;
    use crate::fit::SphericalKMeans;
    use crate::summary::{SummaryOptions, summarize};
    use crate::vectors::Vectorizer;

    #[test]
    fn a_group_is_named_after_what_its_clusters_share() {
        let texts = [
            "cats purr loudly",
            "cats purr softly",
            "cats hunt mice",
            "cats hunt birds",
            "stocks fall today",
            "stocks fall again",
            "stocks rise today",
            "stocks rise slowly",
        ];
        let text = Vectorizer::new().fit_texts(&texts).unwrap();
        let fit = SphericalKMeans::params(4).seed(3).n_init(5).fit(&text.rows).unwrap();
        let model = fit.model.clone().with_text(text.model).unwrap();
        let options = SummaryOptions::default();
        let summaries = summarize(&text.rows, &fit.labels, &fit.similarities, &model, options).unwrap();
        let tree = MergeTree::new(&model);
        let keywords = group_keywords(&model, &summaries, &tree, 2);
        assert_eq!(keywords.len(), 4 + 3);
        let first = |node: usize| model.term_name(keywords[node][0]).unwrap();
        // The last merge joins cats and stocks; the two before made them.
        let mut names = [first(4), first(5)];
        names.sort_unstable();
        assert_eq!(names, ["cats", "stocks"]);
        assert_eq!(keywords, group_keywords(&model, &summaries, &tree, 2));
    }
}
