//! Edits applied to the clusters, groups, map and columns of a result, one after the other.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{Keyword, MemoryLimit, Model};

use super::joined::Centers;
use super::moves::{Moved, Relabelled, SplitCluster};
use super::operation::{Edit, Operation};
use super::parts::{Documents, Split};
use super::tree::{cut_again, with_parts, without_leaf};
use crate::assignments::rounded;
use crate::clusters::{ClusterEntry, ClustersFile, DocumentEntry, KeywordEntry, NeighbourEntry, term_name};
use crate::columns::{ColumnsFile, NO_BIN};
use crate::error::{Error, ErrorKind, Result};
use crate::groups::GroupsFile;
use crate::heaps;
use crate::map::MapFile;
use crate::names;
use crate::points::Points;

/// Number of neighbours of a cluster.
const MAX_NEIGHBOURS: usize = 5;

/// Distance of the parts of a cluster on the map from its place.
const PART_DISTANCE: f32 = 0.03;

/// The rest of a result, which some edits need. It is read once.
pub struct Rest<'a> {
    base: &'a Path,
    result: &'a Path,
    limit: &'a MemoryLimit,
    model: OnceCell<Model>,
    documents: OnceCell<Documents>,
}

impl<'a> Rest<'a> {
    /// The rest of a result with this base.
    pub fn new(base: &'a Path, result: &'a Path, limit: &'a MemoryLimit) -> Self {
        Rest { base, result, limit, model: OnceCell::new(), documents: OnceCell::new() }
    }

    fn model(&self) -> Result<&Model> {
        if self.model.get().is_none() {
            let _ = self.model.set(Model::load_within(self.result.join(names::MODEL), self.limit)?);
        }
        Ok(self.model.get().expect("it was set"))
    }

    fn documents(&self) -> Result<&Documents> {
        if self.documents.get().is_none() {
            let _ = self.documents.set(Documents::read(self.base, self.result, self.limit)?);
        }
        Ok(self.documents.get().expect("it was set"))
    }
}

/// The parts of a result that edits change, apart from the lines of documents.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The clusters.
    pub clusters: ClustersFile,
    /// The groups, if there are any.
    pub groups: Option<GroupsFile>,
    /// The map, if there is one.
    pub map: Option<MapFile>,
    /// The kept columns, if there are any.
    pub columns: Option<ColumnsFile>,
    /// What becomes of the documents.
    pub moves: Relabelled,
    /// The points of the run, if there are any.
    pub(super) points: Option<Points>,
    /// The names by the run.
    names: Vec<String>,
    centers: Option<Centers>,
}

pub(super) fn refused(problem: impl Into<String>) -> Error {
    ErrorKind::Edit { problem: problem.into() }.into()
}

impl Edited {
    /// The files of a result as the run has written them.
    pub fn new(
        clusters: ClustersFile,
        groups: Option<GroupsFile>,
        map: Option<MapFile>,
        columns: Option<ColumnsFile>,
    ) -> Self {
        let names = clusters.clusters.iter().map(ClusterEntry::title).collect();
        Edited {
            clusters,
            groups,
            map,
            columns,
            moves: Relabelled::default(),
            points: None,
            names,
            centers: None,
        }
    }

    /// Applies one edit. The rest of the result is read only for edits that need it.
    ///
    /// # Errors
    /// [`ErrorKind::Edit`] if the edit cannot be made here: there is no such cluster, or it has no
    /// documents; another cluster has the name. Errors of the model.
    pub fn apply(&mut self, edit: &Edit, rest: &Rest<'_>) -> Result<()> {
        let operation = edit.operation.clone().checked().map_err(refused)?;
        match operation {
            Operation::Rename { cluster, name } => self.rename(cluster, name),
            Operation::Merge { clusters, into } => self.merge(&clusters, into, rest),
            Operation::Split { cluster, parts } => self.split(cluster, parts as usize, rest),
            Operation::Hide { cluster } => {
                let entry = self.entry(cluster)?;
                if std::mem::replace(&mut entry.hidden, true) {
                    return Err(refused(format!("cluster {cluster} is hidden already")));
                }
                Ok(())
            }
            Operation::Outliers { cluster } => self.set_apart(cluster),
            Operation::Note { cluster, text } => {
                self.entry(cluster)?.note = Some(text).filter(|text| !text.is_empty());
                Ok(())
            }
        }
    }

    /// Cuts the groups again, after all edits.
    ///
    /// # Errors
    /// If the tree of the groups is damaged.
    pub fn finish(&mut self) -> Result<()> {
        self.groups =
            self.groups.take().map(|groups| cut_again(groups, &self.clusters.clusters)).transpose()?;
        Ok(())
    }

    /// A cluster that has documents.
    fn entry(&mut self, cluster: u32) -> Result<&mut ClusterEntry> {
        let n_clusters = self.clusters.clusters.len();
        let Some(entry) = self.clusters.clusters.get_mut(cluster as usize) else {
            let last = n_clusters.saturating_sub(1);
            return Err(refused(format!("there is no cluster {cluster}; they run from 0 to {last}")));
        };
        if entry.size == 0 {
            return Err(refused(format!("cluster {cluster} has no documents")));
        }
        Ok(entry)
    }

    fn rename(&mut self, cluster: u32, name: String) -> Result<()> {
        let own = self.entry(cluster)?.title();
        let is_same = |other: &str| other.to_lowercase() == name.to_lowercase();
        let others = self.clusters.clusters.iter().filter(|entry| entry.id != cluster && entry.size > 0);
        if let Some(other) = others.into_iter().find(|entry| is_same(&entry.title())) {
            let (id, title) = (other.id, other.title());
            return Err(refused(format!(
                "cluster {id} is called \"{title}\"; names differ, so choose another, or merge the two"
            )));
        }
        let groups = self.groups.iter().flat_map(|groups| &groups.merges);
        if let Some(node) = groups.into_iter().find(|node| is_same(&node.title())) {
            return Err(refused(format!(
                "a group of clusters is called \"{}\"; names differ, so choose another",
                node.title()
            )));
        }
        if own == name {
            return Err(refused(format!("cluster {cluster} is called \"{name}\" already")));
        }
        let former = self.names[cluster as usize].clone();
        let entry = self.entry(cluster)?;
        entry.renamed = (former != name).then_some(former);
        entry.name = name;
        Ok(())
    }

    fn merge(&mut self, clusters: &[u32], into: u32, rest: &Rest<'_>) -> Result<()> {
        let mut parts = Vec::with_capacity(clusters.len());
        for &cluster in clusters {
            parts.push(self.entry(cluster)?.clone());
        }
        // The largest first; of several the one that stays.
        parts.sort_by_key(|part| (std::cmp::Reverse(part.size), part.id != into, part.id));
        let model = rest.model()?;
        let mut centers = self.centers.take().unwrap_or_else(|| Centers::new(model.centroids()));
        let weights: Vec<f64> = parts.iter().map(|part| part.size as f64 * part.cohesion).collect();
        let order: Vec<u32> = parts.iter().map(|part| part.id).collect();
        centers.join(&order, &weights, into);
        let n_keywords = parts.iter().map(|part| part.keywords.len()).max().unwrap_or(0);
        let entry = merged(&parts, self.entry(into)?);
        self.clusters.clusters[into as usize] = entry;
        for &cluster in clusters.iter().filter(|cluster| **cluster != into) {
            self.empty(cluster);
        }
        let sizes: Vec<usize> = self.clusters.clusters.iter().map(|entry| entry.size).collect();
        let keywords = centers.keywords(into, &sizes, n_keywords)?;
        let neighbours = centers.neighbours(into, &self.clusters.clusters, MAX_NEIGHBOURS);
        let entry = &mut self.clusters.clusters[into as usize];
        entry.keywords = keywords.iter().map(|keyword| keyword_entry(keyword, &parts, model)).collect();
        entry.neighbours = neighbours;
        self.centers = Some(centers);
        self.replace_neighbours(clusters, Some(into));
        let facts: Vec<(usize, f64)> =
            self.clusters.clusters.iter().map(|entry| (entry.size, entry.cohesion)).collect();
        self.clusters.clusters[into as usize].heap = heaps::of_facts(&facts)[into as usize];
        self.clusters.silhouette = None;
        for bins in self.bins() {
            let mut sum = BTreeMap::<u32, u32>::new();
            for &cluster in clusters {
                let cells = std::mem::take(&mut bins[cluster as usize]);
                cells.into_iter().for_each(|(bin, n)| *sum.entry(bin).or_default() += n);
            }
            bins[into as usize] = sum.into_iter().collect();
        }
        self.moves.steps.push(Moved::Merged { clusters: clusters.to_vec(), into });
        Ok(())
    }

    fn split(&mut self, cluster: u32, n_parts: usize, rest: &Rest<'_>) -> Result<()> {
        let former = self.entry(cluster)?.clone();
        let n_before = self.clusters.clusters.len();
        let (model, documents) = (rest.model()?, rest.documents()?);
        let is_in =
            |&doc: &usize| self.moves.place(documents.lines[doc].cluster, doc).cluster == cluster as i32;
        let own: Vec<usize> = (0..documents.lines.len()).filter(is_in).collect();
        let seed = self.clusters.seed;
        let (mut split, entries) = documents.split(&own, (&former, n_parts), (model, seed), rest.limit)?;
        let new = n_before as u32..(n_before + n_parts - 1) as u32;
        split.numbers = [cluster].into_iter().chain(new).collect();
        self.add_counts(&split);
        let mut centers = self.centers.take().unwrap_or_else(|| Centers::new(model.centroids()));
        centers.split(cluster, &split.centroids);
        self.centers = Some(centers);
        if let Some(groups) = &mut self.groups {
            with_parts(groups, cluster, n_parts - 1, &former);
        }
        if let Some(map) = &mut self.map {
            let [x, y] = map.places[cluster as usize];
            for part in 1..n_parts {
                let angle = std::f32::consts::TAU * part as f32 / n_parts as f32;
                map.places.push([x + PART_DISTANCE * angle.cos(), y + PART_DISTANCE * angle.sin()]);
            }
        }
        self.clusters.n_clusters += n_parts - 1;
        self.clusters.silhouette = None;
        self.clusters.clusters[cluster as usize].size = 0;
        for mut entry in entries {
            let number = split.numbers[entry.id as usize];
            entry.id = number;
            entry.neighbours.iter_mut().for_each(|other| other.id = split.numbers[other.id as usize]);
            let others = former.neighbours.iter().filter(|other| !split.numbers.contains(&other.id));
            entry.neighbours.extend(others.cloned());
            entry.neighbours.truncate(MAX_NEIGHBOURS);
            entry.name = self.free_name(&entry.title());
            self.names.resize(self.names.len().max(number as usize + 1), String::new());
            self.names[number as usize].clone_from(&entry.name);
            match self.clusters.clusters.get_mut(number as usize) {
                Some(place) => *place = entry,
                None => self.clusters.clusters.push(entry),
            }
        }
        self.moves.steps.push(Moved::Split(SplitCluster(split)));
        Ok(())
    }

    /// A name that no other cluster and no group has: this one, or with a number.
    fn free_name(&self, name: &str) -> String {
        let is_taken = |name: &str| {
            let mut clusters = self.clusters.clusters.iter().filter(|entry| entry.size > 0);
            let mut merges = self.groups.iter().flat_map(|groups| &groups.merges);
            clusters.any(|entry| entry.title() == name) || merges.any(|node| node.title() == name)
        };
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut names = [name.to_owned()].into_iter().chain(numbered);
        names.find(|name| !is_taken(name)).expect("numbers do not end")
    }

    /// Counts the values of kept columns by part. They are known by the points of the result;
    /// without these, the parts have no counts.
    fn add_counts(&mut self, split: &Split) {
        let points = self.points.take();
        let of_column = |column: usize| {
            let points = points.as_ref()?;
            points.bins.iter().find(|bins| bins.column as usize == column)
        };
        let columns = self.columns.iter_mut().flat_map(|file| &mut file.columns).enumerate();
        for (place, bins) in columns.filter_map(|(place, column)| Some((place, column.bins.as_mut()?))) {
            let mut counts = vec![BTreeMap::<u32, u32>::new(); split.numbers.len()];
            if let Some(known) = of_column(place) {
                for (&doc, &(part, _)) in split.of_documents.iter() {
                    match known.of_documents.get(doc) {
                        Some(&bin) if bin != NO_BIN => {
                            *counts[part as usize].entry(u32::from(bin)).or_default() += 1;
                        }
                        _ => {}
                    }
                }
            }
            let mut counts = counts.into_iter().map(|counts| counts.into_iter().collect());
            bins.clusters[split.numbers[0] as usize] = counts.next().unwrap_or_default();
            bins.clusters.extend(counts);
        }
        self.points = points;
    }

    fn set_apart(&mut self, cluster: u32) -> Result<()> {
        let size = self.entry(cluster)?.size;
        if self.clusters.clusters.iter().all(|entry| entry.size == 0 || entry.id == cluster) {
            return Err(refused(format!("cluster {cluster} is the only one with documents")));
        }
        self.empty(cluster);
        self.clusters.n_outliers += size;
        self.clusters.silhouette = None;
        self.replace_neighbours(&[cluster], None);
        self.bins().for_each(|bins| bins[cluster as usize].clear());
        if let Some(centers) = &mut self.centers {
            centers.clear(cluster);
        }
        self.moves.steps.push(Moved::Outliers { cluster });
        Ok(())
    }

    /// Makes a cluster empty, and takes it out of the tree.
    fn empty(&mut self, cluster: u32) {
        let entry = &mut self.clusters.clusters[cluster as usize];
        let n_steps = entry.histogram.len();
        *entry = ClusterEntry {
            id: cluster,
            name: String::new(),
            renamed: None,
            hidden: false,
            note: None,
            size: 0,
            copies: 0,
            cohesion: 0.0,
            heap: false,
            silhouette: None,
            keywords: Vec::new(),
            representatives: Vec::new(),
            least_typical: Vec::new(),
            histogram: vec![0; n_steps],
            neighbours: Vec::new(),
        };
        self.clusters.n_empty_clusters += 1;
        if let Some(groups) = &mut self.groups {
            without_leaf(groups, cluster);
        }
    }

    /// Puts one cluster, or none, in the place of others among the neighbours of all clusters.
    fn replace_neighbours(&mut self, clusters: &[u32], into: Option<u32>) {
        for entry in &mut self.clusters.clusters {
            if !entry.neighbours.iter().any(|other| clusters.contains(&other.id)) {
                continue;
            }
            let mut found: Vec<NeighbourEntry> = Vec::new();
            for mut other in std::mem::take(&mut entry.neighbours) {
                if clusters.contains(&other.id) {
                    let Some(into) = into else { continue };
                    other.id = into;
                }
                // The first of several is the nearest.
                if other.id != entry.id && !found.iter().any(|known| known.id == other.id) {
                    found.push(other);
                }
            }
            entry.neighbours = found;
        }
    }

    /// The counts by cluster of all columns.
    fn bins(&mut self) -> impl Iterator<Item = &mut Vec<Vec<(u32, u32)>>> {
        let columns = self.columns.iter_mut().flat_map(|file| &mut file.columns);
        columns.filter_map(|column| column.bins.as_mut().map(|bins| &mut bins.clusters))
    }
}

/// The entry of several clusters, largest first, that are merged into the one that is given, except
/// its keywords and neighbours.
fn merged(parts: &[ClusterEntry], into: &ClusterEntry) -> ClusterEntry {
    let size: usize = parts.iter().map(|part| part.size).sum();
    let sum: f64 = parts.iter().map(|part| part.size as f64 * part.cohesion).sum();
    let n_steps = parts.iter().map(|part| part.histogram.len()).max().unwrap_or(0);
    let step = |step: usize| parts.iter().filter_map(|part| part.histogram.get(step)).sum();
    let mut least_typical = shown(parts, |part| &part.least_typical);
    least_typical.sort_by(|a, b| a.similarity.total_cmp(&b.similarity));
    ClusterEntry {
        size,
        copies: parts.iter().map(|part| part.copies).sum(),
        cohesion: rounded(sum / size as f64),
        silhouette: None,
        representatives: shown(parts, |part| &part.representatives),
        least_typical,
        histogram: (0..n_steps).map(step).collect(),
        hidden: into.hidden,
        ..into.clone()
    }
}

/// As many documents of several clusters as one of them shows: the first of each, then the second
/// of each.
fn shown(parts: &[ClusterEntry], of: impl Fn(&ClusterEntry) -> &Vec<DocumentEntry>) -> Vec<DocumentEntry> {
    let n_shown = parts.iter().map(|part| of(part).len()).max().unwrap_or(0);
    let places = (0..n_shown).flat_map(|place| parts.iter().map(move |part| (part, place)));
    places.filter_map(|(part, place)| of(part).get(place)).take(n_shown).cloned().collect()
}

/// A keyword of a merged cluster. The share of the documents that have it is known if it is a
/// keyword of all parts.
fn keyword_entry(keyword: &Keyword, parts: &[ClusterEntry], model: &Model) -> KeywordEntry {
    let term = term_name(model, keyword.term);
    let known = |part: &ClusterEntry| part.keywords.iter().find(|known| known.term == term).cloned();
    let found: Vec<Option<KeywordEntry>> = parts.iter().map(known).collect();
    let n_docs: Option<f64> = found
        .iter()
        .zip(parts)
        .map(|(known, part)| known.as_ref()?.share.map(|share| share * part.size as f64))
        .sum();
    let size: usize = parts.iter().map(|part| part.size).sum();
    KeywordEntry {
        written: found.into_iter().flatten().find_map(|known| known.written),
        term,
        weight: Some(rounded(keyword.weight)),
        score: rounded(keyword.score),
        share: n_docs.map(|n_docs| rounded(n_docs / size as f64)),
    }
}
