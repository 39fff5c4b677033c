//! `report.html`: a result as one self-contained page that needs no other files and no network.
//!
//! The page itself is built in `explorer/` and checked in as `page.html`; this module inserts its
//! data. Texts are inserted as JSON in which every `<` is escaped, so that no document can close
//! the element that holds it; the page shows them as text only. Its content security policy has the
//! hashes of its one script and its one style, computed when it is built: nothing else can run.

use std::path::Path;

use docsphere::{MemoryLimit, Model};

use crate::clusters::ClustersFile;
use crate::columns::ColumnsFile;
use crate::error::{Error, Result};
use crate::groups::GroupsFile;
use crate::map::MapFile;
use crate::names;
use crate::report_data::Curve;
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
}

/// Size limits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Number of characters shown of each document.
    pub max_chars: usize,
    /// Maximum size of the page. Beyond it, fewer characters are shown.
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
    /// Whether it is within [`PageLimits::max_bytes`]. If not, it shows no texts at all.
    pub is_within: bool,
}

/// The content of a page, read from a result folder.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPage {
    clusters: ClustersFile,
    groups: Option<GroupsFile>,
    map: MapFile,
    trace: ReadTrace,
    columns: Option<ColumnsFile>,
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
        Ok(StoredPage { clusters, groups, map, trace: ReadTrace::read(folder, limit)?, columns })
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
        }
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
        let is_within = |html: &str| html.len() as u64 <= limits.max_bytes;
        let whole = self.html(limits.max_chars, served);
        if is_within(&whole) {
            return Rendered { html: whole, n_chars: limits.max_chars, is_within: true };
        }
        // Find the largest number of characters that fits.
        let (mut fits, mut too_many) = (0, limits.max_chars);
        let mut html = self.html(0, served);
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            let candidate = self.html(middle, served);
            if is_within(&candidate) {
                (fits, html) = (middle, candidate);
            } else {
                too_many = middle;
            }
        }
        Rendered { is_within: is_within(&html), html, n_chars: fits }
    }

    fn html(&self, n_chars: usize, served: bool) -> String {
        let data = serde_json::to_string(&self.data(n_chars, served)).expect("plain numbers and strings");
        let data = data.replace('<', "\\u003c");
        let (start, end) = PAGE.split_once(DATA_MARK).expect("the page has a place for data");
        let start = if served { start.replace(CONNECT_MARK, SERVER_ONLY) } else { start.to_owned() };
        [start.as_str(), &data, end].concat()
    }
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
