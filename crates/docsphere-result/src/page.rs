//! `report.html`: a result as one self-contained page that needs no other files and no network.
//!
//! The page itself is built in `explorer/` and checked in as `page.html`; this module inserts its
//! data. Texts are inserted as JSON in which every `<` is escaped, so that no document can close
//! the element that holds it; the page shows them as text only. Its content security policy has the
//! hashes of its one script and its one style, computed when it is built: nothing else can run.

use std::path::Path;

use docsphere::{MemoryLimit, Model};
use rayon::prelude::*;
use serde::Serialize;

use crate::clusters::{ClusterEntry, ClustersFile, DocumentEntry};
use crate::columns::ColumnsFile;
use crate::error::{Error, Result};
use crate::groups::GroupsFile;
use crate::map::MapFile;
use crate::map_picture::Picture;
use crate::names;
use crate::points::Points;
use crate::report_data::{ColumnData, Curve, documents};
use crate::report_points::PointsData;
use crate::trace::{ReadTrace, Setting};

/// The page without data.
const PAGE: &str = include_str!("page.html");

/// The place for the data.
const DATA_MARK: &str = "{\"docsphere\":\"data\"}";

/// The directive of the page's policy that forbids all connections.
const CONNECT_MARK: &str = "connect-src 'none'";

/// The text before the page's policy, which ends with a quote.
const POLICY_MARK: &str = "http-equiv=\"Content-Security-Policy\" content=\"";

/// The directive for a page served by a server.
const SERVER_ONLY: &str = "connect-src 'self'";

/// The content of a page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The clusters.
    pub clusters: &'a ClustersFile,
    /// The groups. Absent if there are too many clusters for a tree.
    pub groups: Option<&'a GroupsFile>,
    /// The map, with the same number of clusters.
    pub map: &'a MapFile,
    /// The version that made the result.
    pub version: &'a str,
    /// The options of the run.
    pub settings: &'a [Setting],
    /// The course of the run.
    pub trace: Curve,
    /// The kept columns, if there are any.
    pub columns: Option<&'a ColumnsFile>,
    /// The documents as points, if they are known.
    pub points: Option<&'a Points>,
    /// Whether people may edit the result from the page, which a server must allow.
    pub editable: bool,
}

/// Size limits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Number of characters shown of each document.
    pub max_chars: usize,
    /// Maximum size of the page. Beyond it, fewer characters are shown. Points take at
    /// most a quarter of it.
    pub max_bytes: u64,
}

impl Default for PageLimits {
    fn default() -> Self {
        PageLimits { max_chars: 400, max_bytes: 10_000_000 }
    }
}

/// A finished page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The content of the file.
    pub html: String,
    /// Number of characters that it shows of each document.
    pub n_chars: usize,
    /// Number of documents that it shows as points.
    pub n_points: usize,
    /// Whether it would show more of them if it could be larger.
    pub has_fewer_points: bool,
    /// Whether it is within [`PageLimits::max_bytes`]. If not, it shows no texts and no points.
    pub is_within: bool,
}

/// The map as a picture in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapImage {
    /// The file.
    pub png: Vec<u8>,
    /// Names that are written.
    pub n_names: usize,
    /// Names with characters that no font has, which are boxes.
    pub n_boxed: usize,
}

/// The content of a page, read from a result folder.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPage {
    clusters: ClustersFile,
    groups: Option<GroupsFile>,
    map: MapFile,
    trace: ReadTrace,
    columns: Option<ColumnsFile>,
    points: Option<Points>,
}

impl StoredPage {
    /// Reads a result. The map is computed if the result has none.
    ///
    /// # Errors
    /// If a file is missing or damaged, needs more memory than `limit` allows, or does not belong
    /// to the others.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        let clusters = ClustersFile::read(folder, limit)?;
        let has_groups = folder.join(names::GROUPS).exists();
        let groups = has_groups.then(|| GroupsFile::read(folder, limit)).transpose()?;
        let map = match MapFile::read(folder, limit)? {
            Some(map) => map,
            None => {
                let model = Model::load_within(folder.join(names::MODEL), limit)?;
                let is_empty = |cluster: usize| clusters.clusters.get(cluster).is_none_or(|c| c.size == 0);
                MapFile::of_model(&model, is_empty, clusters.seed)
            }
        };
        let k = clusters.clusters.len();
        if map.places.len() != k || groups.as_ref().is_some_and(|groups| groups.n_clusters != k) {
            let problem = "clusters.json, groups.json and map.json are of different numbers of clusters; run docsphere cluster again";
            return Err(Error::malformed(problem).at_path(folder));
        }
        let columns = ColumnsFile::read(folder, limit)?;
        let points = Points::read(folder, limit)?;
        if let Some(points) = &points {
            let entries = columns.as_ref().map_or(&[][..], |file| &file.columns);
            let bins = |column: u32| entries.get(column as usize).and_then(|entry| entry.bins.as_ref());
            let n_bins = |column: u32| bins(column).map_or(0, |bins| bins.counts.len());
            let checked = points.check(clusters.n_assigned(), k, n_bins);
            checked.map_err(|error| error.at_path(&folder.join(names::POINTS)))?;
        }
        let trace = ReadTrace::read(folder, limit)?;
        Ok(StoredPage { clusters, groups, map, trace, columns, points })
    }

    /// The page.
    pub fn page(&self) -> Page<'_> {
        Page {
            clusters: &self.clusters,
            groups: self.groups.as_ref(),
            map: &self.map,
            version: &self.trace.version,
            settings: &self.trace.settings,
            trace: Curve::new(&self.trace.iterations),
            columns: self.columns.as_ref(),
            points: self.points.as_ref(),
            editable: false,
        }
    }

    /// The documents as points, if the result has them, taken out of the page.
    pub fn take_points(&mut self) -> Option<Points> {
        self.points.take()
    }

    /// The map of the clusters as a picture, SVG.
    pub fn map_picture(&self) -> String {
        self.picture().svg()
    }

    /// The same picture in pixels, PNG. `font` has the bytes of a font (TTF, OTF or TTC) that is
    /// tried before the one that is compiled in, which has Latin, Greek and Cyrillic letters.
    ///
    /// # Errors
    /// If this build has no PNG, or `font` is no font.
    pub fn map_image(&self, font: Option<&[u8]>) -> Result<MapImage> {
        self.picture().png(font)
    }

    fn picture(&self) -> Picture {
        Picture::new(&self.clusters, self.groups.as_ref(), &self.map)
    }

    /// The clusters.
    pub fn clusters(&self) -> &ClustersFile {
        &self.clusters
    }
}

/// The content security policy of a served page, for the headers of responses.
pub fn served_policy() -> String {
    let policy = PAGE.split_once(POLICY_MARK).and_then(|(_, rest)| rest.split_once('"'));
    let (policy, _) = policy.expect("the page has a policy");
    // This directive has no effect in a meta element.
    format!("{}; frame-ancestors 'none'", policy.replace(CONNECT_MARK, SERVER_ONLY))
}

impl Page<'_> {
    /// Renders the page as a standalone file, or for a server that provides documents.
    pub fn render(&self, limits: PageLimits, served: bool) -> Rendered {
        let mut points = if served { None } else { self.points(limits) };
        let n_sample = self.points.filter(|_| !served).map_or(0, Points::sample_len);
        let is_within = |html: &str| html.len() as u64 <= limits.max_bytes;
        let rendered = |html: String, n_chars, points: Option<&PointsData>| {
            let n_points = points.map_or(0, |points| points.n);
            let is_within = is_within(&html);
            Rendered { html, n_chars, n_points, has_fewer_points: n_points < n_sample, is_within }
        };
        let mut bare = self.html(0, served, points.as_ref());
        if !is_within(&bare) {
            points = None;
            bare = self.html(0, served, None);
        }
        // The largest number of characters that fits. Texts are all that depends on it.
        let room = limits.max_bytes.saturating_sub(bare.len() as u64);
        let has_room = |n_chars| self.text_bytes(n_chars) <= room;
        let (mut fits, mut too_many) = (0, limits.max_chars);
        if !is_within(&bare) {
            too_many = 0;
        } else if has_room(limits.max_chars) {
            fits = limits.max_chars;
        }
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            if has_room(middle) { fits = middle } else { too_many = middle }
        }
        let html = if fits > 0 { self.html(fits, served, points.as_ref()) } else { bare };
        rendered(html, fits, points.as_ref())
    }

    /// How much longer a page is that shows so many characters of each document than one that shows
    /// none.
    fn text_bytes(&self, n_chars: usize) -> u64 {
        let bytes = |told: &[DocumentEntry], n_chars| in_page(&documents(told, n_chars)).len() as u64;
        let of_cluster = |cluster: &ClusterEntry| -> u64 {
            let told = [&cluster.representatives[..], &cluster.least_typical[..]];
            told.map(|told| bytes(told, n_chars) - bytes(told, 0)).iter().sum()
        };
        self.clusters.clusters.par_iter().map(of_cluster).sum()
    }

    /// The points of a standalone page, as many as have room: in a quarter of the page, and in half
    /// of what is left beside all that is neither text nor point.
    pub fn points(&self, limits: PageLimits) -> Option<PointsData> {
        let points = self.points?;
        let left = limits.max_bytes.saturating_sub(self.html(0, false, None).len() as u64);
        let max_bytes = (limits.max_bytes / 4).min(left / 2);
        let entries = self.columns.map_or(&[][..], |file| &file.columns);
        let columns = ColumnData::of_file(entries);
        let has_bins = |column: u32| columns.get(column as usize).is_some_and(|data| data.bins.is_some());
        PointsData::new(points, limits.max_chars, max_bytes, has_bins)
    }

    fn html(&self, n_chars: usize, served: bool, points: Option<&PointsData>) -> String {
        let data = self.data(n_chars, served, points);
        let data = in_page(&data);
        let (start, end) = PAGE.split_once(DATA_MARK).expect("the page has a place for data");
        let start = if served { start.replace(CONNECT_MARK, SERVER_ONLY) } else { start.to_owned() };
        [start.as_str(), &data, end].concat()
    }
}

/// Data as it is in a page.
fn in_page(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("plain numbers and strings").replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_place_for_data_and_connects_to_nothing() {
        assert_eq!(PAGE.matches(DATA_MARK).count(), 1);
        assert_eq!(PAGE.split_once(DATA_MARK).unwrap().0.matches(CONNECT_MARK).count(), 1);
        let policy = served_policy();
        assert!(policy.contains(SERVER_ONLY) && !policy.contains(CONNECT_MARK), "{policy}");
    }
}
