//! The merge tree of a result with other leaves: without clusters that have become empty, and with
//! the parts of a cluster that was split.
//!
//! Nodes are numbered: first the clusters, then the merges. So every change renumbers them.

use docsphere::Merge;

use crate::clusters::ClusterEntry;
use crate::error::Result;
use crate::groups::{GroupsFile, MergeEntry};

/// The same numbers in other merges.
fn renumbered(merges: &mut [MergeEntry], number: impl Fn(u32) -> u32) {
    for entry in merges {
        let (a, b) = (number(entry.merge.left), number(entry.merge.right));
        (entry.merge.left, entry.merge.right) = (a.min(b), a.max(b));
    }
}

/// Takes a leaf out of the tree: the node that it was merged with takes the place of both. The
/// groups are those of before, until they are [cut](cut_again) again.
pub(super) fn without_leaf(groups: &mut GroupsFile, leaf: u32) {
    groups.group_of_cluster[leaf as usize] = -1;
    let is_parent = |entry: &MergeEntry| [entry.merge.left, entry.merge.right].contains(&leaf);
    let Some(position) = groups.merges.iter().position(is_parent) else { return };
    let merge = groups.merges.remove(position).merge;
    let other = if merge.left == leaf { merge.right } else { merge.left };
    let gone = (groups.n_clusters + position) as u32;
    renumbered(&mut groups.merges, |node| {
        let node = if node == gone { other } else { node };
        if node > gone { node - 1 } else { node }
    });
}

/// Adds `n_new` clusters at the end, which with `leaf` are the parts of what `leaf` was. The nodes
/// that join them again have the name and the keywords of that.
pub(super) fn with_parts(groups: &mut GroupsFile, leaf: u32, n_new: usize, former: &ClusterEntry) {
    let n_before = groups.n_clusters as u32;
    let n_clusters = n_before + n_new as u32;
    let last = n_clusters + n_new as u32 - 1;
    renumbered(&mut groups.merges, |node| {
        if node == leaf {
            last
        } else if node >= n_before {
            node + 2 * n_new as u32
        } else {
            node
        }
    });
    let keywords: Vec<String> = former.keywords.iter().map(|keyword| keyword.shown().to_owned()).collect();
    let union = |number: usize| {
        let joined = if number == 0 { leaf } else { n_clusters + number as u32 - 1 };
        let part = n_before + number as u32;
        let n_parts = number + 2;
        let name = former.title();
        // No two nodes have the same name.
        let name = if number + 1 == n_new { name } else { format!("{name} ({n_parts} parts)") };
        let mut merge: Merge = groups.merges.first().map_or_else(lowest, |entry| entry.merge);
        (merge.left, merge.right, merge.height) = (joined.min(part), joined.max(part), 0.0);
        MergeEntry { merge, name, keywords: keywords.clone() }
    };
    let unions: Vec<MergeEntry> = (0..n_new).map(union).collect();
    groups.merges.splice(0..0, unions);
    groups.n_clusters = n_clusters as usize;
    let group = groups.group_of_cluster[leaf as usize];
    groups.group_of_cluster.resize(groups.n_clusters, group);
}

/// A merge, which has no public constructor.
fn lowest() -> Merge {
    serde_json::from_str("{\"left\": 0, \"right\": 0, \"height\": 0.0}").expect("a merge")
}

/// Cuts the tree at the number of groups that it had, or as many as there still are.
pub(super) fn cut_again(groups: GroupsFile, clusters: &[ClusterEntry]) -> Result<GroupsFile> {
    let n_live = groups.group_of_cluster.iter().filter(|group| **group >= 0).count();
    let n_groups = groups.n_groups.min(n_live);
    Ok(groups.recut(clusters, n_groups)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(id: u32, size: usize) -> ClusterEntry {
        serde_json::from_value(json!({
            "id": id, "name": format!("c{id}"), "size": size, "cohesion": 0.5, "keywords": [],
            "representatives": [], "neighbours": [],
        }))
        .unwrap()
    }

    /// Four clusters: 0 and 2, 1 and 3, then both pairs.
    fn four() -> GroupsFile {
        let groups: GroupsFile = serde_json::from_value(json!({
            "n_clusters": 4, "n_groups": 2, "groups": [], "group_of_cluster": [0, 1, 0, 1],
            "merges": [
                {"left": 0, "right": 2, "height": 0.5, "name": "a", "keywords": []},
                {"left": 1, "right": 3, "height": 0.6, "name": "b", "keywords": []},
                {"left": 4, "right": 5, "height": 0.9, "name": "c", "keywords": []},
            ],
        }))
        .unwrap();
        cut_again(groups, &[entry(0, 1), entry(1, 2), entry(2, 3), entry(3, 4)]).unwrap()
    }

    fn merges(groups: &GroupsFile) -> Vec<(u32, u32, &str)> {
        groups.merges.iter().map(|entry| (entry.merge.left, entry.merge.right, &entry.name[..])).collect()
    }

    #[test]
    fn without_a_leaf_its_sibling_takes_the_place_of_both() {
        let clusters = [entry(0, 1), entry(1, 2), entry(2, 0), entry(3, 4)];
        let mut groups = four();
        without_leaf(&mut groups, 2);
        assert_eq!(merges(&groups), [(1, 3, "b"), (0, 4, "c")]);
        let groups = cut_again(groups, &clusters).unwrap();
        assert_eq!(groups.group_of_cluster, [0, 1, -1, 1]);
        assert_eq!(groups.groups.iter().map(|group| group.size).collect::<Vec<_>>(), [1, 6]);
        // Down to the last one.
        let mut groups = groups;
        without_leaf(&mut groups, 3);
        without_leaf(&mut groups, 0);
        assert!(groups.merges.is_empty());
        let groups = cut_again(groups, &clusters).unwrap();
        assert_eq!((groups.n_groups, groups.group_of_cluster), (1, vec![-1, 0, -1, -1]));
    }

    #[test]
    fn parts_are_joined_below_everything_else() {
        let mut groups = four();
        with_parts(&mut groups, 1, 2, &entry(1, 2));
        assert_eq!(
            merges(&groups),
            [(1, 4, "c1 (2 parts)"), (5, 6, "c1"), (0, 2, "a"), (3, 7, "b"), (8, 9, "c")]
        );
        let sizes = [1, 1, 3, 4, 1, 0];
        let clusters: Vec<ClusterEntry> = sizes.iter().zip(0..).map(|(&size, id)| entry(id, size)).collect();
        let groups = cut_again(groups, &clusters).unwrap();
        assert_eq!(groups.group_of_cluster, [0, 1, 0, 1, 1, 1]);
    }
}
