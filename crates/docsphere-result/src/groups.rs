//! `groups.json`: clusters joined into groups, and the whole merge tree, so that another level can
//! be chosen later; and `groups.csv`, the group of every document.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use docsphere::{ClusterSummary, MemoryLimit, Merge, MergeTree, Model, group_keywords};
use serde::{Deserialize, Serialize};

use crate::assignments::{ReadAssignment, rounded};
use crate::clusters::{ClusterEntry, term_name};
use crate::error::{Error, Result};
use crate::files;
use crate::names;
use crate::naming::Names;

/// Number of keywords per group.
const KEYWORDS: usize = 5;

/// Number of keywords from which the name of a group is made: more than it needs, so that all names
/// differ.
const NAME_KEYWORDS: usize = 12;

/// Clusters have groups if [`MergeTree::structure`] is at least this.
///
/// Measured with √k groups. Where groups agree with the labels of documents no better than random
/// groups of clusters, it was 1.08 (20 unrelated subjects, k = 20), 1.13 (Stack Overflow titles,
/// k = 20) and 1.15 (BBC news, k = 5). Where they agree better, it was 1.33 and more: Stack
/// Overflow titles (k = 60), Debian packages (60, 200), tweets (30, 100), banking questions (77),
/// 20 Newsgroups (20, 100), BBC news (20, 60), abstracts (50, 168, 500: 2.0 to 2.5).
const MIN_STRUCTURE: f64 = 1.25;

/// A group of several clusters with a greater share of the documents makes more groups necessary.
const HALF: f64 = 0.5;

/// Number of keywords in the title of a node without a name.
const TITLE_KEYWORDS: usize = 3;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsFile {
    /// The number of clusters, empty ones included.
    pub n_clusters: usize,
    /// The number of groups.
    pub n_groups: usize,
    /// The groups, in the order of their numbers.
    pub groups: Vec<GroupEntry>,
    /// The group of each cluster; -1 for those without a centroid.
    pub group_of_cluster: Vec<i32>,
    /// How much more the default number of groups explains than groups of clusters without
    /// structure would; see [`MergeTree::structure`]. Below 1.25 all clusters are one group, unless
    /// another number is asked for. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<f64>,
    /// All merges, nearest first. Nodes are numbered consecutively: clusters, then merges.
    pub merges: Vec<MergeEntry>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupEntry {
    /// Its number.
    pub id: u32,
    /// Its name: its first keywords, or phrases with them; of a single cluster the cluster's. No
    /// other group or cluster has the same.
    pub name: String,
    /// The terms that together cover its clusters and distinguish it from the others, best first,
    /// as people write them.
    pub keywords: Vec<String>,
    /// The number of its documents.
    pub size: usize,
    /// The numbers of its clusters.
    pub clusters: Vec<u32>,
}

/// One step of the merge tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeEntry {
    /// The nodes that are joined, and their distance.
    #[serde(flatten)]
    pub merge: Merge,
    /// The name of the new node. Empty in results of older versions; see [`title`](Self::title).
    #[serde(default)]
    pub name: String,
    /// The keywords of the new node.
    pub keywords: Vec<String>,
}

impl MergeEntry {
    /// What to call the new node: its name, or else its first keywords.
    pub fn title(&self) -> String {
        if self.name.is_empty() {
            return self.keywords[..self.keywords.len().min(TITLE_KEYWORDS)].join(", ");
        }
        self.name.clone()
    }
}

impl GroupsFile {
    /// Names the nodes of the tree, and cuts it at the default level: as many groups as a
    /// group has clusters on average; more, up to twice as many, if a group of several clusters
    /// would have more than half of the documents; one if the tree has no structure.
    pub(crate) fn new(
        model: &Model,
        summaries: &[ClusterSummary],
        tree: &MergeTree,
        clusters: &[ClusterEntry],
        cluster_names: &Names,
    ) -> docsphere::Result<Self> {
        let keywords = group_keywords(model, summaries, tree, NAME_KEYWORDS);
        let keywords = &keywords[tree.n_clusters()..];
        let n_groups = default_groups(tree, clusters)?;
        let order = naming_order(tree, &tree.cut_balanced(n_groups, &sizes(clusters))?.nodes);
        let names = cluster_names.of_groups(model, keywords, &order);
        let merges = tree.merges().iter().zip(names).zip(keywords);
        let merges = merges.map(|((&merge, name), terms)| MergeEntry {
            merge,
            name,
            keywords: terms
                .iter()
                .take(KEYWORDS)
                .map(|&term| cluster_names.term(&term_name(model, term)))
                .collect(),
        });
        let merges = merges.collect();
        let mut groups = Self::cut(tree, merges, clusters, n_groups)?;
        groups.structure = Some(rounded(tree.structure(square_root(tree))));
        Ok(groups)
    }

    /// The same tree cut at another level. `clusters` are those of the same result.
    ///
    /// # Errors
    /// If the tree is damaged, or cannot be cut into `n_groups` groups.
    ///
    /// # Panics
    /// If there are fewer clusters than [`n_clusters`](Self::n_clusters).
    pub fn recut(self, clusters: &[ClusterEntry], n_groups: usize) -> docsphere::Result<Self> {
        let leaves = self.group_of_cluster.iter().enumerate().filter(|(_, group)| **group >= 0);
        let live = leaves.map(|(cluster, _)| cluster as u32).collect();
        let merges = self.merges.iter().map(|entry| entry.merge).collect();
        let tree = MergeTree::from_merges(self.n_clusters, live, merges)?;
        let groups = Self::cut(&tree, self.merges, clusters, n_groups)?;
        Ok(GroupsFile { structure: self.structure, ..groups })
    }

    fn cut(
        tree: &MergeTree,
        merges: Vec<MergeEntry>,
        clusters: &[ClusterEntry],
        n_groups: usize,
    ) -> docsphere::Result<Self> {
        let cut = tree.cut_balanced(n_groups, &sizes(clusters))?;
        let group = |(id, &node): (usize, &u32)| {
            let members: Vec<u32> =
                tree.live().iter().copied().filter(|&c| cut.of_clusters[c as usize] == id as i32).collect();
            let (name, keywords) = match (node as usize).checked_sub(tree.n_clusters()) {
                Some(merge) => (merges[merge].title(), merges[merge].keywords.clone()),
                None => {
                    let cluster = &clusters[node as usize];
                    let terms = cluster.keywords.iter().map(|keyword| keyword.shown().to_owned());
                    (cluster.title(), terms.take(KEYWORDS).collect())
                }
            };
            GroupEntry {
                id: id as u32,
                name,
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
            structure: None,
            merges,
        })
    }

    /// Reads the groups of a result.
    ///
    /// # Errors
    /// If the file is missing or damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        let path = folder.join(names::GROUPS);
        if let Err(error) = fs::metadata(&path) {
            let problem = format!(
                "cannot read; a result of docsphere cluster has this file, unless an older version made it and it has more than 20,000 clusters: {error}"
            );
            return Err(Error::malformed(problem).at_path(&path));
        }
        files::read_json(&path, "the groups", "holds no groups", limit)
    }

    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::GROUPS), self)
    }

    /// Writes the content of `groups.json`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        files::put_json(out, self)
    }

    /// Writes the content of `groups.csv`: the group of every document.
    ///
    /// # Errors
    /// Those of `out`, and if a document is in a cluster that does not exist.
    pub fn write_table(&self, assignments: &[ReadAssignment], out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(["id", "group", "cluster", "similarity"])?;
        for line in assignments {
            let cluster = usize::try_from(line.cluster).ok();
            let group = cluster.map_or(Some(-1), |cluster| self.group_of_cluster.get(cluster).copied());
            let Some(group) = group else {
                let (id, cluster) = (&line.id, line.cluster);
                let message = format!("document {id:?} is in cluster {cluster}, which is not there");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            };
            let [group, cluster] = [group, line.cluster].map(|number| number.to_string());
            writer.write_record([&line.id, &group, &cluster, &format!("{:.6}", line.similarity)])?;
        }
        writer.flush()
    }
}

fn sizes(clusters: &[ClusterEntry]) -> Vec<usize> {
    clusters.iter().map(|cluster| cluster.size).collect()
}

/// The square root of the number of clusters: as many groups as a group has clusters on average.
fn square_root(tree: &MergeTree) -> usize {
    ((tree.live().len() as f64).sqrt().round() as usize).max(1)
}

/// The order in which merges are named: first those of the groups, then from the highest to the
/// lowest.
fn naming_order(tree: &MergeTree, groups: &[u32]) -> Vec<usize> {
    let merge = |&node: &u32| (node as usize).checked_sub(tree.n_clusters());
    let first: Vec<usize> = groups.iter().filter_map(merge).collect();
    let others = (0..tree.merges().len()).rev().filter(|merge| !first.contains(merge));
    first.iter().copied().chain(others).collect()
}

/// The number of groups if none is asked for.
fn default_groups(tree: &MergeTree, clusters: &[ClusterEntry]) -> docsphere::Result<usize> {
    let least = square_root(tree);
    if tree.structure(least) < MIN_STRUCTURE {
        return Ok(1);
    }
    let sizes = sizes(clusters);
    let n_docs: usize = sizes.iter().sum();
    for n_groups in least..(2 * least).min(tree.live().len()) {
        let groups = tree.cut_balanced(n_groups, &sizes)?;
        let mut of_groups = vec![0; n_groups];
        for (&group, size) in groups.of_clusters.iter().zip(&sizes) {
            if let Ok(group) = usize::try_from(group) {
                of_groups[group] += size;
            }
        }
        let is_merge = |group: usize| groups.nodes[group] as usize >= tree.n_clusters();
        let is_too_large = |group: usize| of_groups[group] as f64 > HALF * n_docs as f64 && is_merge(group);
        if !(0..n_groups).any(is_too_large) {
            return Ok(n_groups);
        }
    }
    Ok((2 * least).min(tree.live().len()))
}
