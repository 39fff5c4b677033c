//! Names for groups of clusters, from the keywords of their clusters.

use std::collections::HashMap;

use super::MergeTree;
use crate::ids::TermId;
use crate::model::Model;
use crate::summary::ClusterSummary;

/// The keywords of every node of a tree, best first: for clusters their own, for merges the terms
/// that many of their clusters have in common, and few others have.
///
/// The weight of a term in a cluster is its value in the centroid times the number of documents; in
/// a node it is the sum over its clusters. The score is that weight, times the node's share of the
/// term's weight in all clusters, times the share of the node's documents whose clusters have it.
/// Only keywords of clusters count. `summaries` are those of all clusters of the model.
pub fn group_keywords(
    model: &Model,
    summaries: &[ClusterSummary],
    tree: &MergeTree,
    n_keywords: usize,
) -> Vec<Vec<TermId>> {
    let mut nodes: Vec<Node> = summaries.iter().map(|summary| Node::of_cluster(model, summary)).collect();
    let mut totals: HashMap<u32, f64> = HashMap::new();
    for (&term, found) in nodes.iter().flat_map(|node| &node.terms) {
        *totals.entry(term).or_default() += found.weight;
    }
    let own = |summary: &ClusterSummary| summary.keywords.iter().take(n_keywords).map(|k| k.term).collect();
    let mut keywords: Vec<Vec<TermId>> = summaries.iter().map(own).collect();
    for merge in tree.merges() {
        let left = std::mem::take(&mut nodes[merge.left as usize]);
        let right = std::mem::take(&mut nodes[merge.right as usize]);
        let node = left.joined(right);
        keywords.push(node.best(&totals, n_keywords));
        nodes.push(node);
    }
    keywords
}

/// The weights of the keywords of a node's clusters.
#[derive(Default)]
struct Node {
    n_docs: f64,
    terms: HashMap<u32, Found>,
}

#[derive(Clone, Copy, Default)]
struct Found {
    weight: f64,
    /// Documents of the clusters that have the term.
    n_docs: f64,
}

impl Node {
    fn of_cluster(model: &Model, summary: &ClusterSummary) -> Self {
        let centroid = model.centroids().centroid(summary.cluster);
        let n_docs = summary.size as f64;
        let weight = |term: TermId| match centroid.terms.binary_search(&term.number()) {
            Ok(position) => f64::from(centroid.values[position]) * n_docs,
            Err(_) => 0.0,
        };
        let found = |term: TermId| (term.number(), Found { weight: weight(term), n_docs });
        Node { n_docs, terms: summary.keywords.iter().map(|keyword| found(keyword.term)).collect() }
    }

    fn joined(self, other: Node) -> Node {
        let n_docs = self.n_docs + other.n_docs;
        let (mut large, small) =
            if self.terms.len() < other.terms.len() { (other, self) } else { (self, other) };
        for (term, found) in small.terms {
            let entry = large.terms.entry(term).or_default();
            entry.weight += found.weight;
            entry.n_docs += found.n_docs;
        }
        Node { n_docs, ..large }
    }

    fn best(&self, totals: &HashMap<u32, f64>, n_keywords: usize) -> Vec<TermId> {
        let score = |(&term, found): (&u32, &Found)| {
            let here = found.weight / totals[&term].max(f64::MIN_POSITIVE);
            (found.weight * here * found.n_docs / self.n_docs.max(1.0), term)
        };
        let mut scored: Vec<(f64, u32)> = self.terms.iter().map(score).collect();
        // The iteration order of a map varies; the order by score and number does not.
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.iter().take(n_keywords).map(|&(_, term)| TermId::new(term)).collect()
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
        let tree = MergeTree::new(&model).unwrap();
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
