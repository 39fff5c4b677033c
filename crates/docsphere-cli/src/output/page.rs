//! `report.html`: a result as one page that needs nothing else, neither files nor a network.
//!
//! The page itself is made in `explorer/` and checked in as `explorer/page.html`; here its data is
//! put in. Texts go in as JSON in which no `<` is left, so that no document can end the element it
//! stands in; the page shows them as text only. Its content security policy has the hashes of its
//! one script and its one style, which are made when it is built: nothing else can run.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use docsphere::{IterationRecord, Model};
use serde::{Deserialize, Serialize};

use super::clusters::{self, ClusterEntry, ClustersFile, DocumentEntry};
use super::groups::{self, GroupsFile};
use super::map::MapFile;
use super::names;
use crate::args::{PageArgs, Setting};
use crate::files;
use crate::memory::{self, megabytes};

/// The name of the file.
pub(crate) const NAME: &str = "report.html";

/// The page without data.
const PAGE: &str = include_str!("../explorer/page.html");

/// Stands where the data goes.
const DATA_MARK: &str = "{\"docsphere\":\"data\"}";

/// Stands where the page says what it may connect to: nothing.
const CONNECT_MARK: &str = "connect-src 'none'";

/// Stands before the policy of the page, which ends with a quote.
#[cfg(feature = "serve")]
const POLICY_MARK: &str = "http-equiv=\"Content-Security-Policy\" content=\"";

/// What a page may connect to that has a server.
const SERVER_ONLY: &str = "connect-src 'self'";

/// Settings whose values may be paths.
const PATHS: [&str; 4] = ["INPUT", "--vocabulary", "--stop-words-file", "--init"];

/// More values of a setting are counted, not shown.
const MAX_VALUES: usize = 5;

/// What a page is made of.
pub(crate) struct Page<'a> {
    pub(crate) clusters: &'a ClustersFile,
    /// Absent if there are too many clusters for a tree.
    pub(crate) groups: Option<&'a GroupsFile>,
    pub(crate) map: &'a MapFile,
    pub(crate) version: &'a str,
    pub(crate) settings: &'a [Setting],
    pub(crate) trace: Curve,
}

/// How the run went, by iteration.
#[derive(Serialize)]
pub(crate) struct Curve {
    objective: Vec<f64>,
    moved: Vec<u64>,
}

/// A finished page, and what a person should know about it.
pub(crate) struct Rendered {
    pub(crate) html: String,
    pub(crate) remark: Option<String>,
}

/// What a page is made of, read from a result folder.
pub(crate) struct StoredPage {
    clusters: ClustersFile,
    groups: Option<GroupsFile>,
    map: MapFile,
    trace: StoredTrace,
}

/// The part of `trace.json` that is shown.
#[derive(Deserialize)]
struct StoredTrace {
    version: String,
    #[serde(default)]
    settings: Vec<Setting>,
    iterations: Vec<IterationRecord>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    title: String,
    version: &'a str,
    /// Whether a server stands behind the page, which can be asked for documents.
    served: bool,
    totals: Totals,
    settings: Vec<(&'a str, String)>,
    trace: &'a Curve,
    stemmed: bool,
    clusters: Vec<ClusterData<'a>>,
    merges: Vec<(u32, u32, String)>,
    n_groups: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    documents: usize,
    terms: usize,
    without_terms: usize,
    outliers: usize,
    empty_clusters: usize,
    objective: f64,
    iterations: usize,
    converged: bool,
    /// As text: a browser's numbers end at 2^53.
    seed: String,
}

#[derive(Serialize)]
struct ClusterData<'a> {
    size: usize,
    cohesion: f64,
    x: f64,
    y: f64,
    /// Term, weight (unknown in results of older versions), score.
    keywords: Vec<(&'a str, Option<f64>, f64)>,
    typical: Vec<DocumentData<'a>>,
    least: Vec<DocumentData<'a>>,
    near: Vec<(u32, f64)>,
    histogram: &'a [u32],
}

#[derive(Serialize)]
struct DocumentData<'a> {
    id: &'a str,
    similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Curve {
    pub(crate) fn new(iterations: &[IterationRecord]) -> Self {
        Curve {
            objective: iterations.iter().map(|record| to_decimals(record.objective, 3)).collect(),
            moved: iterations.iter().map(|record| record.moved_docs).collect(),
        }
    }
}

impl StoredPage {
    /// Reads a result. The map is made if the result has none.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let clusters = clusters::read(folder)?;
        let groups = folder.join(groups::NAME).exists().then(|| GroupsFile::read(folder)).transpose()?;
        let map = match MapFile::read(folder)? {
            Some(map) => map,
            None => {
                let model = Model::load_within(folder.join(names::MODEL), &memory::of_readers())?;
                let is_empty = |cluster: usize| clusters.clusters.get(cluster).is_none_or(|c| c.size == 0);
                MapFile::of_model(&model, is_empty, clusters.seed)
            }
        };
        let k = clusters.clusters.len();
        ensure!(
            map.places.len() == k && groups.as_ref().is_none_or(|groups| groups.n_clusters == k),
            "{}: clusters.json, groups.json and map.json are of different numbers of clusters; run docsphere cluster again",
            folder.display()
        );
        let path = folder.join(names::TRACE);
        let trace = files::read_json(&path, "the trace", "is not the trace of a run")?;
        Ok(StoredPage { clusters, groups, map, trace })
    }

    pub(crate) fn page(&self) -> Page<'_> {
        Page {
            clusters: &self.clusters,
            groups: self.groups.as_ref(),
            map: &self.map,
            version: &self.trace.version,
            settings: &self.trace.settings,
            trace: Curve::new(&self.trace.iterations),
        }
    }

    #[cfg(feature = "serve")]
    pub(crate) fn n_documents(&self) -> usize {
        self.clusters.n_documents
    }

    /// The number of documents of each cluster.
    #[cfg(feature = "serve")]
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (i32, usize)> {
        self.clusters.clusters.iter().map(|entry| (entry.id as i32, entry.size))
    }
}

/// The content security policy of the page that a server shows, for the head of its answers.
#[cfg(feature = "serve")]
pub(crate) fn served_policy() -> Result<String> {
    let policy = PAGE.split_once(POLICY_MARK).and_then(|(_, rest)| rest.split_once('"'));
    let (policy, _) = policy.context("explorer/page.html has no policy")?;
    // A page cannot say this of itself.
    Ok(format!("{}; frame-ancestors 'none'", policy.replace(CONNECT_MARK, SERVER_ONLY)))
}

impl Page<'_> {
    /// The page as a file of its own, or for a server that can be asked for documents.
    pub(crate) fn render(&self, limits: &PageArgs, served: bool) -> Result<Rendered> {
        let whole = self.html(limits.report_chars, served)?;
        let is_small = |html: &str| html.len() as u64 <= limits.report_size;
        if is_small(&whole) {
            return Ok(Rendered { html: whole, remark: None });
        }
        // The most characters with which it is small enough.
        let (mut fits, mut too_many) = (0, limits.report_chars);
        let mut html = self.html(0, served)?;
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            let candidate = self.html(middle, served)?;
            if is_small(&candidate) {
                (fits, html) = (middle, candidate);
            } else {
                too_many = middle;
            }
        }
        let remark = if is_small(&html) {
            format!("note: report.html shows {fits} characters of a document, to stay within --report-size")
        } else {
            let size = megabytes(html.len() as u64);
            format!(
                "note: report.html has {size} although it shows no texts, more than --report-size; a run with fewer --keywords, --representatives and --least-typical makes it smaller"
            )
        };
        Ok(Rendered { html, remark: Some(remark) })
    }

    fn html(&self, n_chars: usize, served: bool) -> Result<String> {
        let data = serde_json::to_string(&self.data(n_chars, served))?.replace('<', "\\u003c");
        let (start, end) = PAGE.split_once(DATA_MARK).context("explorer/page.html has no place for data")?;
        let start = if served { start.replace(CONNECT_MARK, SERVER_ONLY) } else { start.to_owned() };
        Ok([start.as_str(), &data, end].concat())
    }

    fn data(&self, n_chars: usize, served: bool) -> Data<'_> {
        let file = self.clusters;
        let setting = |name: &str| self.settings.iter().find(|setting| setting.name == name);
        let merges = self.groups.map_or(&[][..], |groups| groups.merges.as_slice());
        Data {
            title: setting("INPUT").map_or("docsphere".to_owned(), title),
            version: self.version,
            served,
            totals: Totals {
                documents: file.n_documents,
                terms: file.n_terms,
                without_terms: file.n_without_terms,
                outliers: file.n_outliers,
                empty_clusters: file.n_empty_clusters,
                objective: to_decimals(file.objective, 3),
                iterations: file.iterations,
                converged: file.converged,
                seed: file.seed.to_string(),
            },
            settings: self.settings.iter().map(|setting| (setting.name.as_str(), shown(setting))).collect(),
            trace: &self.trace,
            stemmed: setting("--stem").is_some(),
            clusters: (0..file.clusters.len()).map(|cluster| self.cluster(cluster, n_chars)).collect(),
            merges: merges
                .iter()
                .map(|entry| (entry.merge.left, entry.merge.right, groups::name(&entry.keywords)))
                .collect(),
            n_groups: self.groups.map_or(1, |groups| groups.n_groups),
        }
    }

    fn cluster(&self, cluster: usize, n_chars: usize) -> ClusterData<'_> {
        let entry: &ClusterEntry = &self.clusters.clusters[cluster];
        let [x, y] = self.map.places[cluster].map(|place| to_decimals(f64::from(place), 4));
        let keywords = entry.keywords.iter();
        ClusterData {
            size: entry.size,
            cohesion: to_decimals(entry.cohesion, 4),
            x,
            y,
            keywords: keywords
                .map(|k| {
                    (k.term.as_str(), k.weight.map(|weight| to_decimals(weight, 3)), to_decimals(k.score, 3))
                })
                .collect(),
            typical: documents(&entry.representatives, n_chars),
            least: documents(&entry.least_typical, n_chars),
            near: entry.neighbours.iter().map(|other| (other.id, to_decimals(other.similarity, 3))).collect(),
            histogram: &entry.histogram,
        }
    }
}

fn documents(told: &[DocumentEntry], n_chars: usize) -> Vec<DocumentData<'_>> {
    let shown = |text: &String| shortened(text, n_chars);
    let parts = told.iter().map(|entry| (entry, entry.text.as_ref().filter(|_| n_chars > 0).map(shown)));
    parts
        .map(|(entry, text)| DocumentData {
            id: &entry.id,
            similarity: to_decimals(entry.similarity, 3),
            text,
        })
        .collect()
}

/// The first characters of a text.
fn shortened(text: &str, n_chars: usize) -> String {
    match text.char_indices().nth(n_chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The first input, and how many more there are.
fn title(inputs: &Setting) -> String {
    let first = inputs.values.first().map_or("docsphere".to_owned(), |path| without_folder(path));
    match inputs.values.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

/// The values of a setting, a few of them if there are many; of files their names.
fn shown(setting: &Setting) -> String {
    let is_path = PATHS.contains(&setting.name.as_str());
    let value = |value: &String| if is_path { without_folder(value) } else { value.clone() };
    let mut values: Vec<String> = setting.values.iter().take(MAX_VALUES).map(value).collect();
    if setting.values.len() > MAX_VALUES {
        values.push(format!("and {} more", setting.values.len() - MAX_VALUES));
    }
    if values.is_empty() { "yes".to_owned() } else { values.join(", ") }
}

/// The name of a file without the folder it lies in: a report may be mailed.
fn without_folder(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn to_decimals(value: f64, decimals: i32) -> f64 {
    let factor = 10_f64.powi(decimals);
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äö ü", 3), "äö…");
    }

    #[test]
    fn folders_are_not_told() {
        let setting = |name: &str, values: &[&str]| Setting {
            name: name.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let inputs = setting("INPUT", &["/home/anna smith/secret plan/tickets.csv", "more/", "-"]);
        assert_eq!(shown(&inputs), "tickets.csv, more, -");
        assert_eq!(title(&inputs), "tickets.csv and 2 more");
        assert_eq!(shown(&setting("--glob", &["2024/**/*.md"])), "2024/**/*.md");
        assert_eq!(shown(&setting("--keep-urls", &[])), "yes");
        assert_eq!(shown(&setting("INPUT", &["a"; 7])), "a, a, a, a, a, and 2 more");
    }

    #[test]
    fn the_page_has_a_place_for_data_and_connects_to_nothing() {
        assert_eq!(PAGE.matches(DATA_MARK).count(), 1);
        assert_eq!(PAGE.split_once(DATA_MARK).unwrap().0.matches(CONNECT_MARK).count(), 1);
    }
}
