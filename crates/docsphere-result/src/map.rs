//! `map.json`: the positions of the clusters on the report's map.

use std::path::Path;

use docsphere::{ClusterSummary, MAP_NEIGHBOURS, MemoryLimit, Model, Neighbour, cluster_places};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::files;
use crate::names;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapFile {
    /// The seed of the map's random numbers.
    pub seed: u64,
    /// The position of each cluster, from -1 to 1 on both axes.
    pub places: Vec<[f32; 2]>,
}

impl MapFile {
    /// Computes the positions from summaries with [`MAP_NEIGHBOURS`] neighbours.
    pub fn new(summaries: &[ClusterSummary], seed: u64) -> Self {
        let neighbours: Vec<&[Neighbour]> = summaries.iter().map(|summary| &summary.neighbours[..]).collect();
        Self::of_neighbours(&neighbours, |cluster| summaries[cluster].size == 0, seed)
    }

    /// The same from the nearest clusters of each cluster. `is_empty` says which have no documents.
    pub(crate) fn of_neighbours(
        neighbours: &[&[Neighbour]],
        is_empty: impl Fn(usize) -> bool,
        seed: u64,
    ) -> Self {
        let of = |cluster: usize| if is_empty(cluster) { Vec::new() } else { neighbours[cluster].to_vec() };
        let neighbours: Vec<Vec<Neighbour>> = (0..neighbours.len()).map(of).collect();
        MapFile { seed, places: cluster_places(&neighbours, seed) }
    }

    /// The same from a model without summaries. `is_empty` says which clusters have no documents.
    pub fn of_model(model: &Model, is_empty: impl Fn(usize) -> bool, seed: u64) -> Self {
        let mut neighbours = model.neighbours(MAP_NEIGHBOURS);
        neighbours
            .iter_mut()
            .enumerate()
            .filter(|&(cluster, _)| is_empty(cluster))
            .for_each(|(_, found)| found.clear());
        MapFile { seed, places: cluster_places(&neighbours, seed) }
    }

    /// Reads the map of a result; `None` if it has none.
    ///
    /// # Errors
    /// If the file is damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Option<Self>> {
        let path = folder.join(names::MAP);
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, "the map", "holds no places of clusters", limit).map(Some)
    }

    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::MAP), self)
    }
}
