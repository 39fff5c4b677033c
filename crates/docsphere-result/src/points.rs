//! `points.docsphere`: each document of a result as a point in the disc of its cluster.
//!
//! A file of named, checksummed sections (`container.rs` of the library). Numbers are little
//! endian, lists have one entry per document, in the order of the assignments.
//!
//! | section | what |
//! |---|---|
//! | `offsets` | two i16 each: the place in the disc, -32767 to 32767 for -1 to 1 |
//! | `clusters` | an i32 each: the cluster, -1 for none |
//! | `similarities` | a byte each: 255 times the similarity, rounded |
//! | `columns` | a u32 for each kept column with bins: its position in `columns.json` |
//! | `bins` | for each of these columns a byte per document: its bin, 255 for none |
//! | `sample` | the numbers of the documents that a report shows, a u32 each |
//! | `titles` | the beginnings of their texts, as a JSON list; empty if texts are unknown |
//!
//! The definition of the places is that of [`docsphere::document_offsets`]. A copy that was not
//! clustered has the place of its original. The sample is in the order of
//! [`docsphere::document_sample`]: its beginning is a smaller sample.
//!
//! Memory and disk: 9 bytes per document and one for each column, and the titles.

mod filter;
mod message;

use std::collections::BTreeMap;
use std::path::Path;

use docsphere::{
    ClusterId, Container, ContainerKind, Discs, DocId, Ids, Labels, MemoryLimit, Neighbour, document_offsets,
    document_sample,
};

use crate::columns::{ColumnBins, NO_BIN};
use crate::description::{Clustering, Description};
use crate::edits::Placed;
use crate::error::{Error, Result};
use crate::names;

pub use filter::{BinFilter, DocumentBins};

/// Number of documents that a report shows as points, at most.
pub const REPORT_POINTS: usize = 20_000;

/// Characters of a title.
const TITLE_CHARS: usize = 80;

/// Texts that are asked for at a time, since they may be long.
const TEXTS_PER_CALL: usize = 256;

/// What takes the memory, for messages.
const WHAT: &str = "the points";

const KIND: ContainerKind =
    ContainerKind { mark: *b"\x89POINTS\n", name: "file of points", whole: WHAT, version: 1 };

/// Bytes of memory per byte of the file while it is decoded.
const DECODED: u64 = 1;

/// The documents of a result as points.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    pub(crate) offsets: Vec<[i16; 2]>,
    pub(crate) clusters: Vec<i32>,
    pub(crate) similarities: Vec<u8>,
    pub(crate) bins: Vec<ColumnBins>,
    pub(crate) sample: Vec<u32>,
    pub(crate) titles: Vec<String>,
}

impl Points {
    /// Places the documents of a clustering; `None` if its description has no map. `rows` are the
    /// rows of the documents, if some of them are copies without a row of their own. `bins` are the
    /// bins of all documents.
    ///
    /// # Errors
    /// If the parts do not belong together.
    pub fn new(
        clustering: &Clustering<'_>,
        description: &Description,
        rows: Option<&[u32]>,
        bins: Vec<ColumnBins>,
    ) -> docsphere::Result<Option<Self>> {
        let Some(map) = &description.map else { return Ok(None) };
        let centroids = clustering.model.centroids();
        let near = |entry: &crate::ClusterEntry| {
            let near = entry.neighbours.iter();
            near.map(|near| Neighbour::new(ClusterId::new(near.id), near.similarity)).collect()
        };
        let neighbours: Vec<Vec<Neighbour>> = description.clusters.clusters.iter().map(near).collect();
        let discs = Discs { places: &map.places, neighbours: &neighbours };
        let Clustering { labels, similarities, .. } = *clustering;
        let offsets = document_offsets(clustering.rows, labels, similarities, centroids, &discs)?;
        let (labels, in_bytes) = (labels.as_slice(), |&similarity: &f64| in_byte(similarity));
        let mut points = match rows {
            None => Points {
                offsets,
                clusters: labels.to_vec(),
                similarities: similarities.iter().map(in_bytes).collect(),
                bins,
                sample: Vec::new(),
                titles: Vec::new(),
            },
            Some(rows) => Points {
                offsets: rows.iter().map(|&row| offsets[row as usize]).collect(),
                clusters: rows.iter().map(|&row| labels[row as usize]).collect(),
                similarities: rows.iter().map(|&row| in_byte(similarities[row as usize])).collect(),
                bins,
                sample: Vec::new(),
                titles: Vec::new(),
            },
        };
        let labels = Labels::from(points.clusters.clone());
        let sample = document_sample(&labels, centroids.n_clusters(), REPORT_POINTS);
        points.sample = sample.into_iter().map(DocId::number).collect();
        Ok(Some(points))
    }

    /// Adds titles to the sample: the beginnings of texts, and ids where no text is known. `texts`
    /// is called with the ascending numbers of some documents at a time, and returns the texts that
    /// are known.
    #[must_use]
    pub fn with_titles(mut self, ids: &Ids, mut texts: impl FnMut(&[u64]) -> BTreeMap<u64, String>) -> Self {
        let mut order: Vec<usize> = (0..self.sample.len()).collect();
        order.sort_unstable_by_key(|&position| self.sample[position]);
        self.titles = vec![String::new(); self.sample.len()];
        for positions in order.chunks(TEXTS_PER_CALL) {
            let numbers: Vec<u64> =
                positions.iter().map(|&position| u64::from(self.sample[position])).collect();
            let texts = texts(&numbers);
            for (&position, number) in positions.iter().zip(&numbers) {
                let known = texts.get(number).map(|text| title(text)).filter(|title| !title.is_empty());
                self.titles[position] = known.unwrap_or_else(|| title(&ids[*number as usize]));
            }
        }
        self
    }

    /// Upper bound on the bytes that the points of a run take, beside the clustering.
    pub fn forecast_bytes(n_documents: usize, n_columns: usize) -> u64 {
        // What is computed, and once more as the content of a file.
        (2 * (9 + n_columns) + 12) as u64 * n_documents as u64
    }

    /// The points after edits: in other clusters, at the same place in the disc.
    pub(crate) fn relabelled(mut self, place: impl Fn(i32, usize) -> Placed) -> Self {
        for (doc, (cluster, byte)) in self.clusters.iter_mut().zip(&mut self.similarities).enumerate() {
            let placed = place(*cluster, doc);
            *cluster = placed.cluster;
            *byte = placed.similarity.map_or(*byte, in_byte);
        }
        let is_shown: Vec<bool> = self.sample.iter().map(|&doc| self.clusters[doc as usize] >= 0).collect();
        let mut shown = is_shown.iter();
        self.titles.retain(|_| shown.next().is_some_and(|&shown| shown));
        let mut shown = is_shown.iter();
        self.sample.retain(|_| shown.next().is_some_and(|&shown| shown));
        self
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The number of documents that have a cluster.
    pub fn n_labelled(&self) -> usize {
        self.clusters.iter().filter(|&&cluster| cluster >= 0).count()
    }

    /// The place of each document in the disc of its cluster.
    pub fn offsets(&self) -> &[[i16; 2]] {
        &self.offsets
    }

    /// The cluster of each document; -1 for none.
    pub fn clusters(&self) -> &[i32] {
        &self.clusters
    }

    /// The number of documents that a report shows, at most.
    pub fn sample_len(&self) -> usize {
        self.sample.len()
    }

    /// Reads the points of a result; `None` if it has none.
    ///
    /// # Errors
    /// If the file is damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Option<Self>> {
        let path = folder.join(names::POINTS);
        if !path.exists() {
            return Ok(None);
        }
        let container = Container::read(&path, &KIND, DECODED, limit)?;
        let points = Self::from_container(&container);
        points.map(Some).map_err(|error| Error::from(error).at_path(&path))
    }

    /// Writes the file into a folder.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut container = Container::default();
        container.push("offsets", self.offsets.iter().flatten().flat_map(|x| x.to_le_bytes()).collect());
        container.push("clusters", self.clusters.iter().flat_map(|x| x.to_le_bytes()).collect());
        container.push("similarities", self.similarities.clone());
        container.push("columns", self.bins.iter().flat_map(|bins| bins.column.to_le_bytes()).collect());
        container.push("bins", self.bins.iter().flat_map(|bins| &bins.of_documents).copied().collect());
        container.push("sample", self.sample.iter().flat_map(|x| x.to_le_bytes()).collect());
        container.push("titles", serde_json::to_vec(&self.titles).expect("plain strings"));
        Ok(container.write(&folder.join(names::POINTS), &KIND)?)
    }

    fn from_container(container: &Container) -> docsphere::Result<Self> {
        let section = |name| container.section(name, &KIND);
        let numbers = |name| Ok::<_, docsphere::Error>(section(name)?.chunks_exact(4).map(number).collect());
        let similarities = section("similarities")?.to_vec();
        let n = similarities.len();
        let offset = |bytes: &[u8]| {
            let coordinate = |at| i16::from_le_bytes([bytes[at], bytes[at + 1]]);
            [coordinate(0), coordinate(2)]
        };
        let columns: Vec<u32> = numbers("columns")?;
        let (clusters, sample): (Vec<u32>, Vec<u32>) = (numbers("clusters")?, numbers("sample")?);
        let (offsets, bins) = (section("offsets")?, section("bins")?);
        let titles: Vec<String> = serde_json::from_slice(section("titles")?)
            .map_err(|error| KIND.damaged("a list of titles", error))?;
        let sizes = [
            ("offsets", 4 * n, offsets.len()),
            ("clusters", 4 * n, section("clusters")?.len()),
            ("bins", n * columns.len(), bins.len()),
            ("titles", if titles.is_empty() { 0 } else { sample.len() }, titles.len()),
        ];
        for (name, expected, found) in sizes {
            if expected != found {
                return Err(KIND.damaged(format!("{expected} bytes or entries in \"{name}\""), found));
            }
        }
        let clusters: Vec<i32> = clusters.into_iter().map(|cluster| cluster as i32).collect();
        let is_shown = |&doc: &u32| clusters.get(doc as usize).is_some_and(|&cluster| cluster >= 0);
        if !sample.iter().all(is_shown) {
            return Err(KIND.damaged("a sample of documents that have clusters", "others"));
        }
        let bins = columns.into_iter().enumerate().map(|(position, column)| ColumnBins {
            column,
            of_documents: bins[position * n..][..n].to_vec(),
        });
        let bins = bins.collect();
        let offsets = offsets.chunks_exact(4).map(offset).collect();
        Ok(Points { offsets, clusters, similarities, bins, sample, titles })
    }

    /// Checks that the points are those of a result with so many documents, clusters, and bins of
    /// each column.
    pub(crate) fn check(
        &self,
        n_documents: usize,
        n_clusters: usize,
        n_bins: impl Fn(u32) -> usize,
    ) -> Result<()> {
        let is_bin = |bins: &ColumnBins, bin: u8| bin == NO_BIN || usize::from(bin) < n_bins(bins.column);
        let are_bins = |bins: &ColumnBins| bins.of_documents.iter().all(|&bin| is_bin(bins, bin));
        let is_cluster = |&cluster: &i32| cluster == -1 || (0..n_clusters as i64).contains(&cluster.into());
        let belongs = self.len() == n_documents
            && self.clusters.iter().all(is_cluster)
            && self.bins.iter().all(are_bins);
        if belongs {
            return Ok(());
        }
        Err(Error::malformed("is of another result; run docsphere cluster again"))
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
}

fn in_byte(similarity: f64) -> u8 {
    (255.0 * similarity.clamp(0.0, 1.0)).round() as u8
}

/// The beginning of a text on one line, cut after a word if there is one.
fn title(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * TITLE_CHARS {
            break;
        }
    }
    shortened(&line, TITLE_CHARS)
}

/// The first characters of a line, at most `n_chars` and an ellipsis: to the last word that fits,
/// or through a word that takes more than half.
pub(crate) fn shortened(line: &str, n_chars: usize) -> String {
    let Some((end, next)) = line.char_indices().nth(n_chars) else { return line.to_owned() };
    let fitting = &line[..end];
    let cut = match fitting.rfind(' ') {
        Some(at) if next != ' ' && fitting[..at].chars().count() >= n_chars / 2 => &fitting[..at],
        _ => fitting,
    };
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests;
