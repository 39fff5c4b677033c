//! `groups.json`: clusters joined to groups, and the whole merge tree, so that another level can be chosen later.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use docsphere::{ClusterSummary, Merge, MergeTree, Model, group_keywords};
use serde::{Deserialize, Serialize};

use super::clusters::{ClusterEntry, term_name};
use crate::files;

/// The name of the file.
pub(crate) const NAME: &str = "groups.json";

/// Keywords of a group.
const KEYWORDS: usize = 5;

/// Keywords in a group's name.
const NAME_WORDS: usize = 3;

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupsFile {
    pub(crate) n_clusters: usize,
    pub(crate) n_groups: usize,
    pub(crate) groups: Vec<GroupEntry>,
    /// The group of each cluster; -1 for those without a centroid.
    pub(crate) group_of_cluster: Vec<i32>,
    /// All merges, nearest first. Nodes are clusters, then merges, numbered on.
    pub(crate) merges: Vec<MergeEntry>,
}

/// One group.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupEntry {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) keywords: Vec<String>,
    /// Its documents.
    pub(crate) size: usize,
    pub(crate) clusters: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MergeEntry {
    #[serde(flatten)]
    pub(crate) merge: Merge,
    pub(crate) keywords: Vec<String>,
}

/// What a group with these keywords is called.
pub(super) fn name(keywords: &[String]) -> String {
    keywords[..keywords.len().min(NAME_WORDS)].join(", ")
}

impl GroupsFile {
    /// Joins the clusters of a model, and cuts the tree at the usual level: as many groups as a group has clusters, on average.
    pub(crate) fn new(
        model: &Model,
        summaries: &[ClusterSummary],
        clusters: &[ClusterEntry],
    ) -> Result<Self> {
        let tree = MergeTree::new(model)?;
        let keywords = group_keywords(model, summaries, &tree, KEYWORDS);
        let named =
            |terms: &Vec<docsphere::TermId>| terms.iter().map(|&term| term_name(model, term)).collect();
        let merges = tree.merges().iter().zip(&keywords[tree.n_clusters()..]);
        let merges = merges.map(|(&merge, terms)| MergeEntry { merge, keywords: named(terms) }).collect();
        let n_groups = (tree.live().len() as f64).sqrt().round() as usize;
        Self::cut(&tree, merges, clusters, n_groups.max(1))
    }

    /// The same tree at another level.
    pub(crate) fn recut(self, clusters: &[ClusterEntry], n_groups: usize) -> Result<Self> {
        let leaves = self.group_of_cluster.iter().enumerate().filter(|(_, group)| **group >= 0);
        let live = leaves.map(|(cluster, _)| cluster as u32).collect();
        let merges = self.merges.iter().map(|entry| entry.merge).collect();
        let tree = MergeTree::from_merges(self.n_clusters, live, merges)?;
        Self::cut(&tree, self.merges, clusters, n_groups)
    }

    fn cut(
        tree: &MergeTree,
        merges: Vec<MergeEntry>,
        clusters: &[ClusterEntry],
        n_groups: usize,
    ) -> Result<Self> {
        let cut = tree.cut(n_groups)?;
        let group = |(id, &node): (usize, &u32)| {
            let members: Vec<u32> =
                tree.live().iter().copied().filter(|&c| cut.of_clusters[c as usize] == id as i32).collect();
            let keywords = match (node as usize).checked_sub(tree.n_clusters()) {
                Some(merge) => merges[merge].keywords.clone(),
                None => {
                    clusters[node as usize].keywords.iter().map(|k| k.term.clone()).take(KEYWORDS).collect()
                }
            };
            GroupEntry {
                id: id as u32,
                name: name(&keywords),
                keywords,
                size: members.iter().map(|&cluster| clusters[cluster as usize].size).sum(),
                clusters: members,
            }
        };
        let groups = cut.nodes.iter().enumerate().map(group).collect();
        Ok(GroupsFile {
            n_clusters: tree.n_clusters(),
            n_groups,
            groups,
            group_of_cluster: cut.of_clusters,
            merges,
        })
    }

    /// Reads the groups of a result.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        fs::metadata(&path).with_context(|| {
            format!("{}: cannot read; a result of docsphere cluster has this file, unless there are more than {} clusters", path.display(), MergeTree::MAX_CLUSTERS)
        })?;
        files::read_json(&path, "the groups", "holds no groups")
    }
}
