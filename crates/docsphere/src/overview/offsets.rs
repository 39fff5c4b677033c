//! The place of each document in the disc of its cluster, for a map that shows documents as points.
//!
//! A cluster is a disc of radius one. A document of the cluster C, with the similarity s to its
//! centroid c, is placed by two rules.
//!
//! - **Distance from the centre**: the documents of C are ranked by similarity, the greatest first,
//!   ties by number. The one of rank i (from 0) of n has the distance `sqrt((i + 0.5) / n)`, so
//!   that the disc is filled evenly whatever the similarities are.
//! - **Direction**: towards the neighbouring clusters that the document resembles more than its
//!   own centroid explains. A document whose similarity to c is s is expected to have the
//!   similarity `s (c . d)` to the centroid d of a neighbour. The *excess* is what it has beyond
//!   that, divided by s: `max(0, (x . d - s (c . d)) / s)`. The pull v is the sum over the
//!   neighbours of excess times the unit vector on the map from C to the neighbour. The direction
//!   is that of `2 v / (|v| + 0.15) + g`, where g is a point of the unit disc drawn by a hash of
//!   the document's number: documents without excess lie in all directions, those with much of it
//!   within about 30 degrees of the pull.
//!
//! Every step is one of addition, multiplication, division and square root in f64, each document by
//! itself: the result is the same on every machine, for every number of threads, and for every
//! division of the rows.
//!
//! **Cost.** One dot product of each row with at most [`MAX_DISC_NEIGHBOURS`] centroids: they are
//! merged into one table per cluster, so that a row is read once. A sort of each cluster. Memory:
//! 16 bytes per document, and for each thread 4 bytes per term and 36 per term of the neighbours of
//! one cluster.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::by_key::ByKey;
use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::labels::Labels;
use crate::model::Neighbour;
use crate::seeding::mix;
use crate::vectors::{Row, UnitRows};

/// Number of neighbours of a cluster that attract its documents. Further ones are ignored.
pub const MAX_DISC_NEIGHBOURS: usize = 8;

/// The length of a pull that is half as effective as an infinite one.
const HALF_PULL: f64 = 0.15;

/// The weight of an infinite pull; that of the hash is at most one.
const WHOLE_PULL: f64 = 2.0;

/// Documents per task.
const TASK_DOCS: usize = 8192;

/// The radius of a disc. One less than the greatest i16, so that rounding never leads out of it.
const RADIUS: f64 = 32_766.0;

/// A term that is in no centroid of a table.
const ABSENT: u32 = u32::MAX;

/// Where clusters are on a map, and which ones are near.
#[derive(Clone, Copy, Debug)]
pub struct Discs<'a> {
    /// The position of each cluster.
    pub places: &'a [[f32; 2]],
    /// The nearest other clusters of each cluster.
    pub neighbours: &'a [Vec<Neighbour>],
}

impl Discs<'_> {
    /// Upper bound on the bytes that [`document_offsets`] takes, its result included. `n_entries`
    /// is the number of entries of all centroids together.
    pub fn forecast_bytes(n_docs: usize, n_terms: usize, n_entries: u64, n_threads: usize) -> u64 {
        let lanes = 4 * MAX_DISC_NEIGHBOURS as u64 + 4;
        16 * n_docs as u64 + n_threads as u64 * (4 * n_terms as u64 + lanes * n_entries.min(n_terms as u64))
    }
}

/// The place of each document in the disc of its cluster: coordinates from -32,767 to 32,767, which
/// stand for -1 to 1. The centre for documents without a cluster.
///
/// ```
/// use docsphere::{Discs, SphericalKMeans, SummaryOptions, Vectorizer};
/// use docsphere::{document_offsets, summarize};
///
/// let texts = ["cats purr", "cats hunt", "cats", "stocks fall", "stocks rise"];
/// let text = Vectorizer::new().fit_texts(&texts)?;
/// let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows)?;
/// let options = SummaryOptions::default();
/// let summaries = summarize(&text.rows, &fit.labels, &fit.similarities, &fit.model, options)?;
/// let neighbours: Vec<_> = summaries.into_iter().map(|summary| summary.neighbours).collect();
/// let discs = Discs { places: &[[-1.0, 0.0], [1.0, 0.0]], neighbours: &neighbours };
/// let (labels, similarities) = (&fit.labels, &fit.similarities);
/// let offsets =
///     document_offsets(&text.rows, labels, similarities, fit.model.centroids(), &discs)?;
/// assert_eq!(offsets.len(), 5);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if the parts do not belong together.
pub fn document_offsets(
    rows: &UnitRows<'_>,
    labels: &Labels,
    similarities: &[f64],
    centroids: &Centroids,
    discs: &Discs<'_>,
) -> Result<Vec<[i16; 2]>> {
    check(rows, labels, similarities, centroids, discs)?;
    let n_clusters = centroids.n_clusters();
    let labelled = (0u32..).zip(labels.as_slice()).filter(|(_, label)| **label >= 0);
    let members = ByKey::new(n_clusters, labelled.map(|(doc, &label)| (label as u32, doc)));
    let sizes: Vec<usize> = (0..n_clusters as u32).map(|cluster| members.of(cluster).len()).collect();
    let mut order = members.into_values();
    split_by(&mut order, &sizes).into_par_iter().for_each(|members| {
        let similarity = |doc: u32| similarities[doc as usize];
        members.sort_unstable_by(|&a, &b| similarity(b).total_cmp(&similarity(a)).then(a.cmp(&b)));
    });
    let docs = (0..rows.n_rows()).into_par_iter().with_min_len(TASK_DOCS);
    let ranks: Vec<AtomicU32> = docs.map(|_| AtomicU32::new(0)).collect();
    split_by(&mut order, &sizes).into_par_iter().for_each(|members| {
        (0..).zip(members).for_each(|(rank, doc)| ranks[*doc as usize].store(rank, Relaxed));
    });
    drop(order);
    let place = |tables: &mut Tables, task: Task<'_>| {
        let pulls = tables.prepare(task.cluster, centroids, discs);
        for (&doc, place) in task.docs.iter().zip(task.places) {
            let pull = tables.pull(rows.row(doc as usize), similarities[doc as usize], &pulls);
            let rank = f64::from(ranks[doc as usize].load(Relaxed));
            *place = placed_at(direction(pull, doc), ((rank + 0.5) / sizes[task.cluster] as f64).sqrt());
        }
    };
    let mut offsets = vec![[0; 2]; rows.n_rows()];
    for block in rows.blocks() {
        let labelled = block.clone().map(|doc| (labels.as_slice()[doc], doc as u32));
        let labelled = labelled.filter(|&(label, _)| label >= 0).map(|(label, doc)| (label as u32, doc));
        let members = ByKey::new(n_clusters, labelled);
        let sizes: Vec<usize> = (0..n_clusters as u32).map(|cluster| members.of(cluster).len()).collect();
        let order = members.into_values();
        // In the same order as the documents.
        let mut placed = vec![[0i16; 2]; order.len()];
        let mut tasks = Vec::new();
        let mut start = 0;
        for (cluster, own) in split_by(&mut placed, &sizes).into_iter().enumerate() {
            let docs = &order[start..start + own.len()];
            start += own.len();
            for (docs, places) in docs.chunks(TASK_DOCS).zip(own.chunks_mut(TASK_DOCS)) {
                tasks.push(Task { cluster, docs, places });
            }
        }
        tasks.into_par_iter().for_each_init(|| Tables::new(centroids.n_terms()), place);
        order.iter().zip(placed).for_each(|(&doc, place)| offsets[doc as usize] = place);
    }
    Ok(offsets)
}

/// Some documents of a cluster.
struct Task<'a> {
    cluster: usize,
    docs: &'a [u32],
    places: &'a mut [[i16; 2]],
}

fn check(
    rows: &UnitRows<'_>,
    labels: &Labels,
    similarities: &[f64],
    centroids: &Centroids,
    discs: &Discs<'_>,
) -> Result<()> {
    let (n_rows, k) = (rows.n_rows(), centroids.n_clusters());
    let greatest = labels.as_slice().iter().copied().max().unwrap_or(-1);
    let near = discs.neighbours.iter().flatten().map(|near| near.cluster.index() + 1).max().unwrap_or(0);
    let facts = [
        ("the number of terms of the rows", centroids.n_terms(), rows.n_terms()),
        ("the number of labels", n_rows, labels.len()),
        ("the number of similarities", n_rows, similarities.len()),
        ("the number of places", k, discs.places.len()),
        ("the number of lists of neighbours", k, discs.neighbours.len()),
        ("the number of clusters", k, k.max((greatest + 1) as usize).max(near)),
    ];
    match facts.into_iter().find(|(_, expected, got)| expected != got) {
        Some((what, expected, got)) => {
            let (expected, got) = (expected.to_string(), got.to_string());
            Err(ErrorKind::Mismatch { what, expected, got }.into())
        }
        None => Ok(()),
    }
}

/// Cuts a list into consecutive parts of these lengths.
fn split_by<'a, T>(mut list: &'a mut [T], sizes: &[usize]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let (part, rest) = list.split_at_mut(size);
        parts.push(part);
        list = rest;
    }
    parts
}

/// The neighbours of a cluster, lane by lane.
#[derive(Default)]
struct Pulls {
    /// The unit vectors from the cluster to its neighbours; zero in unused lanes.
    directions: [[f64; 2]; MAX_DISC_NEIGHBOURS],
    /// The similarities of the centroids.
    similarities: [f64; MAX_DISC_NEIGHBOURS],
}

/// The centroids near one cluster, side by side.
struct Tables {
    /// The position of each term in `values`, or [`ABSENT`].
    positions: Vec<u32>,
    /// The terms of these centroids.
    terms: Vec<u32>,
    /// Their values, one lane per centroid.
    values: Vec<[f32; MAX_DISC_NEIGHBOURS]>,
    cluster: Option<usize>,
}

impl Tables {
    fn new(n_terms: usize) -> Self {
        Tables { positions: vec![ABSENT; n_terms], terms: Vec::new(), values: Vec::new(), cluster: None }
    }

    /// Fills the table with the centroids near a cluster, unless it holds them already.
    fn prepare(&mut self, cluster: usize, centroids: &Centroids, discs: &Discs<'_>) -> Pulls {
        let mut pulls = Pulls::default();
        let own = discs.places[cluster].map(f64::from);
        let near = discs.neighbours[cluster].iter().take(MAX_DISC_NEIGHBOURS);
        for (lane, neighbour) in near.clone().enumerate() {
            let other = discs.places[neighbour.cluster.index()].map(f64::from);
            let way = [other[0] - own[0], other[1] - own[1]];
            let length = length(way);
            if length > 0.0 {
                pulls.directions[lane] = [way[0] / length, way[1] / length];
            }
            pulls.similarities[lane] = neighbour.similarity;
        }
        if self.cluster == Some(cluster) {
            return pulls;
        }
        self.cluster = Some(cluster);
        self.terms.drain(..).for_each(|term| self.positions[term as usize] = ABSENT);
        self.values.clear();
        for (lane, neighbour) in near.enumerate() {
            for (term, value) in centroids.centroid(neighbour.cluster).iter() {
                let position = &mut self.positions[term as usize];
                if *position == ABSENT {
                    *position = self.terms.len() as u32;
                    self.terms.push(term);
                    self.values.push([0.0; MAX_DISC_NEIGHBOURS]);
                }
                self.values[*position as usize][lane] = value;
            }
        }
        pulls
    }

    /// The pull of a document with this similarity to its own centroid.
    fn pull(&self, row: Row<'_>, similarity: f64, pulls: &Pulls) -> [f64; 2] {
        let mut sums = [0.0; MAX_DISC_NEIGHBOURS];
        for (term, x) in row.iter() {
            let position = self.positions[term as usize];
            if position != ABSENT {
                let values = &self.values[position as usize];
                sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(x) * f64::from(value));
            }
        }
        let mut pull = [0.0; 2];
        if similarity > 0.0 {
            for (lane, way) in pulls.directions.iter().enumerate() {
                let excess = (sums[lane] - similarity * pulls.similarities[lane]) / similarity;
                if excess > 0.0 {
                    pull = [pull[0] + excess * way[0], pull[1] + excess * way[1]];
                }
            }
        }
        pull
    }
}

/// The direction of a document with this pull, as a unit vector.
fn direction(pull: [f64; 2], doc: u32) -> [f64; 2] {
    let strength = length(pull);
    let factor = WHOLE_PULL / (strength + HALF_PULL);
    let chance = point_in_disc(doc);
    let sum = [pull[0] * factor + chance[0], pull[1] * factor + chance[1]];
    let length = length(sum);
    if length > 0.0 { [sum[0] / length, sum[1] / length] } else { [1.0, 0.0] }
}

/// A point of the unit disc, not its centre, by a hash of a document's number.
fn point_in_disc(doc: u32) -> [f64; 2] {
    let mut bits = u64::from(doc);
    loop {
        bits = mix(bits.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let coordinate = |half: u64| f64::from(half as u32 as i32) / 2_147_483_648.0;
        let point = [coordinate(bits), coordinate(bits >> 32)];
        let square = point[0] * point[0] + point[1] * point[1];
        if square > 0.0 && square <= 1.0 {
            return point;
        }
    }
}

fn placed_at(direction: [f64; 2], radius: f64) -> [i16; 2] {
    direction.map(|way| (way * radius * RADIUS).round() as i16)
}

fn length(vector: [f64; 2]) -> f64 {
    (vector[0] * vector[0] + vector[1] * vector[1]).sqrt()
}
