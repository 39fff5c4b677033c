//! `map.json`: where the clusters lie on the map of the report.

use std::path::Path;

use anyhow::Result;
use docsphere::{ClusterSummary, MAP_NEIGHBOURS, Model, Neighbour, cluster_places};
use serde::{Deserialize, Serialize};

use crate::files;

/// The name of the file.
pub(crate) const NAME: &str = "map.json";

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapFile {
    pub(crate) seed: u64,
    /// Of each cluster, from -1 to 1 on both axes.
    pub(crate) places: Vec<[f32; 2]>,
}

impl MapFile {
    /// From summaries with as many neighbours as a map needs.
    pub(crate) fn new(summaries: &[ClusterSummary], seed: u64) -> Self {
        let of = |summary: &ClusterSummary| {
            if summary.size > 0 { summary.neighbours.clone() } else { Vec::new() }
        };
        let neighbours: Vec<Vec<Neighbour>> = summaries.iter().map(of).collect();
        MapFile { seed, places: cluster_places(&neighbours, seed) }
    }

    /// The same, from a model whose summaries are not at hand. `is_empty` tells clusters without documents.
    pub(crate) fn of_model(model: &Model, is_empty: impl Fn(usize) -> bool, seed: u64) -> Self {
        let mut neighbours = model.neighbours(MAP_NEIGHBOURS);
        neighbours
            .iter_mut()
            .enumerate()
            .filter(|&(cluster, _)| is_empty(cluster))
            .for_each(|(_, found)| found.clear());
        MapFile { seed, places: cluster_places(&neighbours, seed) }
    }

    /// Reads the map of a result, if it has one.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, "the map", "holds no places of clusters").map(Some)
    }
}
