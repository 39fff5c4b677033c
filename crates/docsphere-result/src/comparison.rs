//! Two results beside each other: which clusters stayed, split, merged, vanished and appeared.
//!
//! Clusters are matched by the documents that both results have, or by their centroids if the
//! documents differ. A cluster *goes* to the cluster that has most of its documents, if that is at
//! least half of them ([`MATCH`]); and it *comes* from the cluster that at least half of its
//! documents are from. All documents of a cluster count, also those that the other result does not
//! have or has in no cluster, and copies. With centroids, the most similar one counts, if its
//! similarity is at least [`MATCH`]. Then, for a cluster of the first result:
//!
//! 1. *split*: two or more clusters come from it;
//! 2. *merged*: it goes to a cluster to which others go, too;
//! 3. *kept*: it goes to a cluster, or a cluster comes from it;
//! 4. *vanished*: none of these.
//!
//! A cluster of the second result is *merged*, a part of a *split*, *kept* or *appeared*, in the
//! same way.
//!
//! **Cost.** The assignments of both results, and a sort of their ids; or the most similar
//! centroids of every centroid.

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{Centroids, Contingency, DocId, Labels, MemoryLimit, Model, SparseRows, TermId, UnitRows};
use serde::Serialize;

use crate::assignments::{ReadAssignment, read_assignments, rounded};
use crate::clusters::{ClustersFile, term_name};
use crate::comparison_page;
use crate::error::{Error, Result};
use crate::names;

/// The share of documents, or the similarity of centroids, from which on two clusters belong
/// together.
pub const MATCH: f64 = 0.5;

/// Most similar centroids that are looked at.
const NEAREST: usize = 5;

/// How clusters are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MatchBy {
    /// By the documents that both results have, with the same ids.
    Documents,
    /// By the similarity of centroids, over the terms that both results have.
    Centroids,
}

/// One of the two results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedResult {
    /// What it is called: its folder.
    pub name: String,
    /// The number of its documents.
    pub n_documents: usize,
    /// Its clusters that have documents, largest first.
    pub clusters: Vec<ComparedCluster>,
}

/// What became of a cluster, or where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fate {
    /// Several clusters of the second result come from one of the first.
    Split,
    /// Several clusters of the first result go to one of the second.
    Merged,
    /// It is in both.
    Kept,
    /// It is in the first result alone.
    Vanished,
    /// It is in the second result alone.
    Appeared,
}

/// A cluster of one of the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCluster {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The number of its documents, with copies.
    pub size: usize,
    /// What became of it, or where it comes from.
    pub fate: Fate,
    /// The clusters of the other result that the fate speaks of.
    pub others: Vec<u32>,
}

/// A cluster of the first result and one of the second that have something in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The cluster of the first result.
    pub from: u32,
    /// The cluster of the second result.
    pub to: u32,
    /// Documents that are in both clusters. Absent when centroids are matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_documents: Option<u64>,
    /// The similarity of the centroids. Absent when documents are matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// Two results beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How clusters are matched.
    pub by: MatchBy,
    /// The first result.
    pub first: ComparedResult,
    /// The second result.
    pub second: ComparedResult,
    /// Documents that both results have, whether in a cluster or not.
    pub n_shared_documents: usize,
    /// The adjusted Rand index over the documents that have a cluster in both. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ari: Option<f64>,
    /// Their normalised mutual information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nmi: Option<f64>,
    /// What clusters have in common, by cluster of the first result, most first.
    pub flows: Vec<Flow>,
}

/// A result that was read.
struct Side {
    name: String,
    clusters: ClustersFile,
    assignments: Vec<ReadAssignment>,
}

impl Side {
    fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        Ok(Side {
            name: folder.display().to_string(),
            clusters: ClustersFile::read(folder, limit)?,
            assignments: read_assignments(folder, limit)?,
        })
    }

    /// The documents by id. Documents with the same id follow each other in their order.
    fn by_id(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.assignments.len()).collect();
        order.sort_by(|&a, &b| self.assignments[a].id.cmp(&self.assignments[b].id));
        order
    }

    /// The number of documents of each cluster that has any.
    fn sizes(&self) -> BTreeMap<u32, usize> {
        let mut sizes = BTreeMap::new();
        for assignment in &self.assignments {
            if let Ok(cluster) = u32::try_from(assignment.cluster) {
                *sizes.entry(cluster).or_insert(0) += 1;
            }
        }
        sizes
    }

    fn compared(self, links: &Links, is_first: bool) -> ComparedResult {
        let sizes = self.sizes();
        let mut clusters: Vec<ComparedCluster> = Vec::new();
        for cluster in &self.clusters.clusters {
            let Some(&size) = sizes.get(&cluster.id) else { continue };
            let (fate, others) = links.fate(cluster.id, is_first);
            clusters.push(ComparedCluster { id: cluster.id, name: cluster.title(), size, fate, others });
        }
        clusters.sort_by_key(|cluster| (std::cmp::Reverse(cluster.size), cluster.id));
        ComparedResult { name: self.name, n_documents: self.assignments.len(), clusters }
    }
}

/// The cluster that each cluster goes to and comes from.
#[derive(Default)]
struct Links {
    goes: BTreeMap<u32, u32>,
    comes: BTreeMap<u32, u32>,
    /// The clusters that come from each cluster, and those that go to each.
    pieces: BTreeMap<u32, Vec<u32>>,
    sources: BTreeMap<u32, Vec<u32>>,
}

impl Links {
    /// From flows with the weight that they have for both sides.
    fn new(flows: impl Iterator<Item = (u32, u32, f64, f64)> + Clone) -> Self {
        let mut links = Links::default();
        // Of several that weigh the same, the first.
        let mut best: [BTreeMap<u32, (f64, u32)>; 2] = Default::default();
        for (from, to, for_first, for_second) in flows {
            for (best, (one, other, weight)) in
                best.iter_mut().zip([(from, to, for_first), (to, from, for_second)])
            {
                let known = best.entry(one).or_insert((weight, other));
                if weight > known.0 {
                    *known = (weight, other);
                }
            }
        }
        let [goes, comes] = best.map(|best| {
            let matched = best.into_iter().filter(|(_, (weight, _))| *weight >= MATCH);
            matched.map(|(one, (_, other))| (one, other)).collect::<BTreeMap<u32, u32>>()
        });
        for (&from, &to) in &goes {
            links.sources.entry(to).or_default().push(from);
        }
        for (&to, &from) in &comes {
            links.pieces.entry(from).or_default().push(to);
        }
        (links.goes, links.comes) = (goes, comes);
        links
    }

    fn fate(&self, cluster: u32, is_first: bool) -> (Fate, Vec<u32>) {
        // Seen from the second result, everything is turned round.
        let (goes, fans, joins, whole, shared, alone) = if is_first {
            (&self.goes, &self.pieces, &self.sources, Fate::Split, Fate::Merged, Fate::Vanished)
        } else {
            (&self.comes, &self.sources, &self.pieces, Fate::Merged, Fate::Split, Fate::Appeared)
        };
        let fan = fans.get(&cluster).map_or(&[][..], Vec::as_slice);
        if fan.len() > 1 {
            return (whole, fan.to_vec());
        }
        match (goes.get(&cluster), fan) {
            (Some(to), _) if joins.get(to).is_some_and(|all| all.len() > 1) => (shared, vec![*to]),
            (Some(to), _) => (Fate::Kept, vec![*to]),
            (None, [to]) => (Fate::Kept, vec![*to]),
            _ => (alone, Vec::new()),
        }
    }
}

impl Comparison {
    /// Compares two results. Without `by`, documents are matched if at least half of the documents
    /// of the smaller result are in the other, and else centroids.
    ///
    /// # Errors
    /// If a file is missing or damaged, or needs more memory than `limit` allows; if there is
    /// nothing to match.
    pub fn read(first: &Path, second: &Path, by: Option<MatchBy>, limit: &MemoryLimit) -> Result<Self> {
        let sides = [Side::read(first, limit)?, Side::read(second, limit)?];
        let (labels, n_shared) = shared_labels(&sides);
        let smaller = sides[0].assignments.len().min(sides[1].assignments.len());
        let by = by.unwrap_or(if 2 * n_shared >= smaller.max(1) {
            MatchBy::Documents
        } else {
            MatchBy::Centroids
        });
        let both = Contingency::new(&labels[0], &labels[1])?;
        let agreement = (both.n_docs() > 0).then(|| both.agreement());
        let (flows, links) = match by {
            MatchBy::Documents => by_documents(&both, [&sides[0].sizes(), &sides[1].sizes()]),
            MatchBy::Centroids => by_centroids([first, second], limit)?,
        };
        if flows.is_empty() {
            let what = match by {
                MatchBy::Documents => {
                    "no document that is in a cluster of both results, by id; centroids can be matched instead"
                }
                MatchBy::Centroids => "no term that both results have; documents can be matched instead",
            };
            return Err(Error::malformed(format!("there is {what}")).at_path(second));
        }
        let [first, second] = sides;
        Ok(Comparison {
            by,
            first: first.compared(&links, true),
            second: second.compared(&links, false),
            n_shared_documents: n_shared,
            ari: agreement.map(|agreement| rounded(agreement.ari)),
            nmi: agreement.map(|agreement| rounded(agreement.nmi)),
            flows,
        })
    }

    /// The clusters of one fate: of the first result, and [`Fate::Appeared`] of the second.
    pub fn of_fate(&self, fate: Fate) -> impl Iterator<Item = &ComparedCluster> {
        let result = if matches!(fate, Fate::Appeared | Fate::Merged) { &self.second } else { &self.first };
        result.clusters.iter().filter(move |cluster| {
            // A merger is told once, by the cluster that it led to.
            cluster.fate == fate && (fate != Fate::Merged || cluster.others.len() > 1)
        })
    }

    /// The page, as a single file.
    pub fn page(&self) -> String {
        comparison_page::render(self)
    }
}

/// The labels of the documents that both results have, in the same order, and their number.
fn shared_labels(sides: &[Side; 2]) -> ([Labels; 2], usize) {
    let [first, second] = [sides[0].by_id(), sides[1].by_id()];
    let [in_first, in_second] = [&sides[0].assignments, &sides[1].assignments];
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    let mut labels = [Vec::new(), Vec::new()];
    while let (Some(&&x), Some(&&y)) = (a.peek(), b.peek()) {
        match in_first[x].id.cmp(&in_second[y].id) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                labels[0].push(in_first[x].cluster);
                labels[1].push(in_second[y].cluster);
                a.next();
                b.next();
            }
        }
    }
    let n_shared = labels[0].len();
    (labels.map(Labels::from), n_shared)
}

/// From the documents that are in a cluster of both results, and the sizes of all clusters.
fn by_documents(both: &Contingency, sizes: [&BTreeMap<u32, usize>; 2]) -> (Vec<Flow>, Links) {
    let mut flows: Vec<Flow> = Vec::new();
    for &((from, to), count) in both.cells() {
        let (from, to) = (from as u32, to as u32);
        flows.push(Flow { from, to, n_documents: Some(count), similarity: None });
    }
    flows.sort_by_key(|flow| (flow.from, std::cmp::Reverse(flow.n_documents), flow.to));
    let links = Links::new(both.cells().iter().map(|&((from, to), count)| {
        let share = |size: usize| count as f64 / size as f64;
        (from as u32, to as u32, share(sizes[0][&(from as u32)]), share(sizes[1][&(to as u32)]))
    }));
    (flows, links)
}

fn by_centroids(folders: [&Path; 2], limit: &MemoryLimit) -> Result<(Vec<Flow>, Links)> {
    let mut models = Vec::new();
    for folder in folders {
        let path = folder.join(names::MODEL);
        models.push(Model::load_within(&path, limit).map_err(|error| Error::from(error).at_path(&path))?);
    }
    let mut similar: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for (cluster, other, similarity) in nearest(&models[0], &models[1])? {
        similar.insert((cluster, other), similarity);
    }
    for (cluster, other, similarity) in nearest(&models[1], &models[0])? {
        similar.entry((other, cluster)).or_insert(similarity);
    }
    let mut flows: Vec<Flow> = Vec::new();
    for (&(from, to), &similarity) in &similar {
        flows.push(Flow { from, to, n_documents: None, similarity: Some(rounded(similarity)) });
    }
    flows.sort_by(|a, b| {
        a.from.cmp(&b.from).then(b.similarity.partial_cmp(&a.similarity).unwrap_or(a.to.cmp(&b.to)))
    });
    let links = Links::new(similar.iter().map(|(&(from, to), &weight)| (from, to, weight, weight)));
    Ok((flows, links))
}

/// The most similar clusters of a model for each cluster of another, over the terms that both have.
fn nearest(from: &Model, to: &Model) -> Result<Vec<(u32, u32, f64)>> {
    let (rows, norms) = translated(from, to)?;
    let found = to.predictor().nearest(&rows, NEAREST)?;
    let mut all = Vec::new();
    for (cluster, norm) in (0u32..).zip(norms) {
        for neighbour in found.of(DocId::new(cluster)) {
            if neighbour.similarity > 0.0 {
                all.push((cluster, neighbour.cluster.number(), neighbour.similarity * norm));
            }
        }
    }
    Ok(all)
}

/// The centroids of a model over the terms of another, each with the length that it has there.
fn translated(from: &Model, to: &Model) -> Result<(UnitRows<'static>, Vec<f64>)> {
    let n_terms = |model: &Model| model.centroids().n_terms();
    let named: BTreeMap<String, u32> =
        (0..n_terms(to) as u32).map(|term| (term_name(to, TermId::new(term)), term)).collect();
    let terms: Vec<Option<u32>> = (0..n_terms(from) as u32)
        .map(|term| named.get(&term_name(from, TermId::new(term))).copied())
        .collect();
    let centroids: &Centroids = from.centroids();
    let (mut starts, mut columns, mut values, mut norms) = (vec![0u64], Vec::new(), Vec::new(), Vec::new());
    for cluster in 0..centroids.n_clusters() {
        let row = centroids.centroid(docsphere::ClusterId::new(cluster as u32));
        let mut entries: Vec<(u32, f32)> =
            row.iter().filter_map(|(term, value)| Some((terms[term as usize]?, value))).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        norms.push(entries.iter().map(|entry| f64::from(entry.1).powi(2)).sum::<f64>().sqrt());
        columns.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
        starts.push(columns.len() as u64);
    }
    let rows = SparseRows::from_parts(n_terms(to), starts, columns, values)?;
    Ok((UnitRows::new(rows), norms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fates of both sides, for flows of documents. A cluster of -1 stands for documents that
    /// are outliers on that side, or that it does not have.
    fn fates(flows: &[(i32, i32, usize)]) -> (Vec<String>, Vec<String>) {
        let mut labels = [Vec::new(), Vec::new()];
        let mut sizes = [BTreeMap::new(), BTreeMap::new()];
        for &(from, to, count) in flows {
            for (side, cluster) in [from, to].into_iter().enumerate() {
                labels[side].extend(vec![cluster; count]);
                if cluster >= 0 {
                    *sizes[side].entry(cluster as u32).or_insert(0) += count;
                }
            }
        }
        let [a, b] = labels.map(Labels::from);
        let links = by_documents(&Contingency::new(&a, &b).unwrap(), [&sizes[0], &sizes[1]]).1;
        let tell = |id: u32, is_first| {
            let (fate, others) = links.fate(id, is_first);
            format!("{id} {fate:?} {others:?}")
        };
        (
            sizes[0].keys().map(|&id| tell(id, true)).collect(),
            sizes[1].keys().map(|&id| tell(id, false)).collect(),
        )
    }

    #[test]
    fn documents_of_one_side_count_as_documents_of_their_cluster() {
        let (first, second) = fates(&[
            (0, 10, 1), // one document stays, the others are gone, and those there are new
            (0, -1, 39),
            (-1, 10, 60),
            (1, 11, 20), // half of it
            (1, -1, 20),
            (-1, 11, 21),
            (2, 12, 20), // less than half of it, but half of the other
            (2, -1, 21),
            (-1, 12, 20),
            (3, -1, 5),
            (-1, 13, 5),
        ]);
        assert_eq!(first, ["0 Vanished []", "1 Kept [11]", "2 Kept [12]", "3 Vanished []"]);
        assert_eq!(second, ["10 Appeared []", "11 Kept [1]", "12 Kept [2]", "13 Appeared []"]);
    }

    #[test]
    fn a_cluster_has_one_fate() {
        let (first, second) = fates(&[
            (0, 10, 9), // kept, but for one document
            (0, 11, 1),
            (1, 11, 6), // split
            (1, 12, 5),
            (2, 13, 4), // merged
            (3, 13, 4),
            (4, 14, 4), // scattered over clusters that are mostly of others
            (4, 15, 4),
            (4, 16, 4),
            (5, 14, 9),
            (6, 15, 9),
            (7, 16, 9),
            (8, 17, 3), // from nowhere: a third each
            (9, 17, 3),
            (18, 17, 3),
            (8, 18, 9),
            (9, 19, 9),
            (18, 20, 9),
        ]);
        assert_eq!(
            first,
            [
                "0 Kept [10]",
                "1 Split [11, 12]",
                "2 Merged [13]",
                "3 Merged [13]",
                "4 Vanished []",
                "5 Kept [14]",
                "6 Kept [15]",
                "7 Kept [16]",
                "8 Kept [18]",
                "9 Kept [19]",
                "18 Kept [20]",
            ]
        );
        assert_eq!(
            second,
            [
                "10 Kept [0]",
                "11 Split [1]",
                "12 Split [1]",
                "13 Merged [2, 3]",
                "14 Kept [5]",
                "15 Kept [6]",
                "16 Kept [7]",
                "17 Appeared []",
                "18 Kept [8]",
                "19 Kept [9]",
                "20 Kept [18]",
            ]
        );
    }
}
