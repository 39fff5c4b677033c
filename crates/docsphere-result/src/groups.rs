//! `groups.json`: clusters joined into groups, and the whole merge tree, so that another level can
//! be chosen later; and `groups.csv`, the group of every document.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use docsphere::{ClusterSummary, MemoryLimit, Merge, MergeTree, Model, group_keywords};
use serde::{Deserialize, Serialize};

use crate::assignments::ReadAssignment;
use crate::clusters::{ClusterEntry, term_name};
use crate::error::{Error, Result};
use crate::files;
use crate::names;
use crate::naming::Names;

/// Number of keywords per group.
const KEYWORDS: usize = 5;

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
    /// All merges, nearest first. Nodes are numbered consecutively: clusters, then merges.
    pub merges: Vec<MergeEntry>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupEntry {
    /// Its number.
    pub id: u32,
    /// Its name: its first keywords, or phrases with them; of a single cluster the cluster's.
    pub name: String,
    /// The terms that distinguish it from the others, best first.
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
    /// Joins the clusters of a model, and cuts the tree at the default level: as many groups as a
    /// group has clusters on average.
    pub(crate) fn new(
        model: &Model,
        summaries: &[ClusterSummary],
        clusters: &[ClusterEntry],
        cluster_names: &Names,
    ) -> docsphere::Result<Self> {
        let tree = MergeTree::new(model)?;
        let keywords = group_keywords(model, summaries, &tree, KEYWORDS);
        let named =
            |terms: &Vec<docsphere::TermId>| terms.iter().map(|&term| term_name(model, term)).collect();
        let merges = tree.merges().iter().zip(&keywords[tree.n_clusters()..]);
        let merges = merges.map(|(&merge, terms)| MergeEntry {
            merge,
            name: cluster_names.of_group(model, terms),
            keywords: named(terms),
        });
        let merges = merges.collect();
        let n_groups = (tree.live().len() as f64).sqrt().round() as usize;
        Self::cut(&tree, merges, clusters, n_groups.max(1))
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
        Self::cut(&tree, self.merges, clusters, n_groups)
    }

    fn cut(
        tree: &MergeTree,
        merges: Vec<MergeEntry>,
        clusters: &[ClusterEntry],
        n_groups: usize,
    ) -> docsphere::Result<Self> {
        let cut = tree.cut(n_groups)?;
        let group = |(id, &node): (usize, &u32)| {
            let members: Vec<u32> =
                tree.live().iter().copied().filter(|&c| cut.of_clusters[c as usize] == id as i32).collect();
            let (name, keywords) = match (node as usize).checked_sub(tree.n_clusters()) {
                Some(merge) => (merges[merge].title(), merges[merge].keywords.clone()),
                None => {
                    let cluster = &clusters[node as usize];
                    let terms = cluster.keywords.iter().map(|keyword| keyword.term.clone());
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
                "cannot read; a result of docsphere cluster has this file, unless there are more than {} clusters: {error}",
                MergeTree::MAX_CLUSTERS
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
