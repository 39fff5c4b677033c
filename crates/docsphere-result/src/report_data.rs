//! The data of the report page.
//!
//! `explorer/src/types.ts` has the same schema for the page itself. A test of this crate writes an
//! example, `explorer/tests/report-data.ts`, which the type checker of the page compares with it.

use std::path::Path;

use docsphere::IterationRecord;
use serde::Serialize;

use crate::clusters::{ClusterEntry, DocumentEntry, KeywordEntry};
use crate::columns::{Bins, ColumnEntry};
use crate::page::Page;
use crate::report_points::PointsData;
use crate::trace::Setting;

/// Settings whose values may be paths.
const PATHS: [&str; 4] = ["INPUT", "--vocabulary", "--stop-words-file", "--init"];

/// The setting that names a stemmer, in the command and in Python.
const STEMMERS: [&str; 2] = ["--stem", "stemmer"];

/// Number of values shown per setting; further ones are only counted.
const MAX_VALUES: usize = 5;

/// The data of a page. Names are short, since there may be thousands of clusters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReportData<'a> {
    /// The name of the input.
    pub title: String,
    /// The version that made the result.
    pub version: &'a str,
    /// Whether the page is served by a server that provides documents.
    pub served: bool,
    /// Whether the server takes edits from the page.
    pub editable: bool,
    /// Numbers about the whole result.
    pub totals: TotalsData,
    /// Settings by name, as typed.
    pub settings: Vec<(&'a str, String)>,
    /// The course of the run.
    pub trace: &'a Curve,
    /// Whether terms are stems, so that they match prefixes of words.
    pub stemmed: bool,
    /// The clusters, in the order of their numbers.
    pub clusters: Vec<ClusterData<'a>>,
    /// Left node, right node, name. Empty if there are too many clusters for a tree.
    pub merges: Vec<(u32, u32, String)>,
    /// Number of groups shown initially.
    pub n_groups: usize,
    /// The kept columns.
    pub columns: Vec<ColumnData<'a>>,
    /// A sample of the documents as points. `None` in a page of a server, which has all of them,
    /// and for results without points.
    pub points: Option<&'a PointsData>,
}

/// The greatest number of counts by cluster of all columns. Further columns are named only.
const MAX_COLUMN_CELLS: usize = 200_000;

/// A kept column.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ColumnData<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its values are: date, number, category, address or text.
    pub kind: &'static str,
    /// Documents that have a value.
    pub values: u64,
    /// Those of them whose value is not what the column is.
    pub bad: u64,
    /// The values by cluster, if they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinsData<'a>>,
}

/// The values of a column by cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BinsData<'a> {
    /// The length of a bin of dates: day, week, month, year, decade or century.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<docsphere::TimeStep>,
    /// The first day of each bin, its category or its host; empty for numbers.
    pub labels: &'a [String],
    /// The ends of the bins of numbers, one more than there are bins; empty for others.
    pub edges: &'a [f64],
    /// All documents by bin.
    pub counts: &'a [u64],
    /// For each cluster its bins that have documents, and their numbers.
    pub clusters: &'a [Vec<(u32, u32)>],
}

impl<'a> ColumnData<'a> {
    /// The columns of a result, with bins as long as there is room.
    pub(crate) fn of_file(columns: &'a [ColumnEntry]) -> Vec<Self> {
        let mut n_cells = 0;
        let mut bins = |bins: &'a Bins| {
            n_cells += bins.n_cells();
            (n_cells <= MAX_COLUMN_CELLS).then_some(BinsData {
                step: bins.step,
                labels: &bins.labels,
                edges: &bins.edges,
                counts: &bins.counts,
                clusters: &bins.clusters,
            })
        };
        let column = |entry: &'a ColumnEntry| ColumnData {
            name: &entry.name,
            kind: entry.reading.kind.name(),
            values: entry.n_values,
            bad: entry.n_bad,
            bins: entry.bins.as_ref().and_then(&mut bins),
        };
        columns.iter().map(column).collect()
    }
}

/// Numbers about a whole result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TotalsData {
    /// The number of documents.
    pub documents: usize,
    /// The number of terms.
    pub terms: usize,
    /// Documents without a term.
    pub without_terms: usize,
    /// Documents that share no term with any cluster, or are less similar than wanted.
    pub outliers: usize,
    /// The similarity below which documents are outliers, if it was given.
    pub min_similarity: Option<f64>,
    /// The mean silhouette, if it was asked for.
    pub silhouette: Option<f64>,
    /// Clusters without a document.
    pub empty_clusters: usize,
    /// The sum of the similarities.
    pub objective: f64,
    /// The number of iterations.
    pub iterations: usize,
    /// Whether the run converged.
    pub converged: bool,
    /// The seed as text: a browser's integers are exact only up to 2^53.
    pub seed: String,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterData<'a> {
    /// Its name, or its first keywords.
    pub name: String,
    /// Its name by the run, if it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<&'a str>,
    /// True if it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    /// A note about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'a str>,
    /// The number of its documents.
    pub size: usize,
    /// The mean similarity of its documents to its centroid.
    pub cohesion: f64,
    /// Whether its documents have little in common.
    pub heap: bool,
    /// The mean silhouette of its documents, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silhouette: Option<f64>,
    /// Its place on the map, from -1 to 1.
    pub x: f64,
    /// Its place on the map, from -1 to 1.
    pub y: f64,
    /// Its keywords.
    pub keywords: Vec<KeywordData<'a>>,
    /// Representative documents.
    pub typical: Vec<DocumentData<'a>>,
    /// Least typical documents.
    pub least: Vec<DocumentData<'a>>,
    /// Similar clusters: number, similarity.
    pub near: Vec<(u32, f64)>,
    /// Documents by similarity, in equal steps from 0 to 1.
    pub histogram: &'a [u32],
}

/// Term, weight (unknown in results of older versions), score, full form if the term is a stem,
/// share of the documents that have it (unknown in results of older versions).
pub type KeywordData<'a> = (&'a str, Option<f64>, f64, Option<&'a str>, Option<f64>);

/// A document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DocumentData<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its similarity to the centroid.
    pub similarity: f64,
    /// The number of its near-duplicates that are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// The beginning of its text, if known and wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The course of a run, by iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// The objective.
    pub objective: Vec<f64>,
    /// Documents that changed their cluster.
    pub moved: Vec<u64>,
}

impl Curve {
    /// The curve of these iterations.
    pub fn new(iterations: &[IterationRecord]) -> Self {
        Curve {
            objective: iterations.iter().map(|record| to_decimals(record.objective, 3)).collect(),
            moved: iterations.iter().map(|record| record.moved_docs).collect(),
        }
    }
}

impl Page<'_> {
    /// The data of the page, with at most `n_chars` characters of each document, and these points.
    pub fn data<'b>(
        &'b self,
        n_chars: usize,
        served: bool,
        points: Option<&'b PointsData>,
    ) -> ReportData<'b> {
        let file = self.clusters;
        let setting = |name: &str| self.settings.iter().find(|setting| setting.name == name);
        let merges = self.groups.map_or(&[][..], |groups| groups.merges.as_slice());
        ReportData {
            title: setting("INPUT").map_or("docsphere".to_owned(), title),
            version: self.version,
            served,
            editable: self.editable,
            totals: TotalsData {
                documents: file.n_documents,
                terms: file.n_terms,
                without_terms: file.n_without_terms,
                outliers: file.n_outliers,
                min_similarity: file.min_similarity,
                silhouette: file.silhouette.map(|value| to_decimals(value, 4)),
                empty_clusters: file.n_empty_clusters,
                objective: to_decimals(file.objective, 3),
                iterations: file.iterations,
                converged: file.converged,
                seed: file.seed.to_string(),
            },
            settings: self.settings.iter().map(|setting| (setting.name.as_str(), shown(setting))).collect(),
            trace: &self.trace,
            stemmed: STEMMERS.iter().any(|name| setting(name).is_some()),
            clusters: (0..file.clusters.len()).map(|cluster| self.cluster(cluster, n_chars)).collect(),
            merges: merges.iter().map(|entry| (entry.merge.left, entry.merge.right, entry.title())).collect(),
            n_groups: self.groups.map_or(1, |groups| groups.n_groups),
            columns: ColumnData::of_file(self.columns.map_or(&[], |file| &file.columns)),
            points,
        }
    }

    fn cluster(&self, cluster: usize, n_chars: usize) -> ClusterData<'_> {
        let entry: &ClusterEntry = &self.clusters.clusters[cluster];
        let [x, y] = self.map.places[cluster].map(|place| to_decimals(f64::from(place), 4));
        let keywords = entry.keywords.iter();
        ClusterData {
            name: entry.title(),
            renamed: entry.renamed.as_deref(),
            hidden: entry.hidden.then_some(true),
            note: entry.note.as_deref(),
            size: entry.size,
            cohesion: to_decimals(entry.cohesion, 4),
            heap: entry.heap,
            silhouette: entry.silhouette.map(|value| to_decimals(value, 3)),
            x,
            y,
            keywords: keywords.map(keyword).collect(),
            typical: documents(&entry.representatives, n_chars),
            least: documents(&entry.least_typical, n_chars),
            near: entry.neighbours.iter().map(|other| (other.id, to_decimals(other.similarity, 3))).collect(),
            histogram: &entry.histogram,
        }
    }
}

fn keyword(entry: &KeywordEntry) -> KeywordData<'_> {
    let weight = entry.weight.map(|weight| to_decimals(weight, 3));
    let share = entry.share.map(|share| to_decimals(share, 3));
    (&entry.term, weight, to_decimals(entry.score, 3), entry.written.as_deref(), share)
}

pub(crate) fn documents(told: &[DocumentEntry], n_chars: usize) -> Vec<DocumentData<'_>> {
    let shown = |text: &String| shortened(text, n_chars);
    let parts = told.iter().map(|entry| (entry, entry.text.as_ref().filter(|_| n_chars > 0).map(shown)));
    parts
        .map(|(entry, text)| DocumentData {
            id: &entry.id,
            similarity: to_decimals(entry.similarity, 3),
            duplicates: Some(entry.near_duplicates).filter(|&n| n > 0),
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

/// The values of a setting, at most [`MAX_VALUES`]; for files, their names.
fn shown(setting: &Setting) -> String {
    let is_path = PATHS.contains(&setting.name.as_str());
    let value = |value: &String| if is_path { without_folder(value) } else { value.clone() };
    let mut values: Vec<String> = setting.values.iter().take(MAX_VALUES).map(value).collect();
    if setting.values.len() > MAX_VALUES {
        values.push(format!("and {} more", setting.values.len() - MAX_VALUES));
    }
    if values.is_empty() { "yes".to_owned() } else { values.join(", ") }
}

/// The name of a file without its folder, since a report may be sent to others.
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
    use serde_json::json;

    use super::*;
    use crate::{ClustersFile, ColumnBins, ColumnsFile, GroupsFile, MapFile, NO_BIN, PageLimits, Points};

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

    /// A page with every kind of entry: with and without texts, weights and documents.
    #[test]
    fn the_example_for_the_type_checker_of_the_page_is_up_to_date() {
        let clusters: ClustersFile = serde_json::from_value(json!({
            "n_documents": 5, "n_terms": 4, "n_clusters": 3, "objective": 2.654321, "iterations": 2,
            "converged": true, "seed": u64::MAX, "n_without_terms": 1, "n_outliers": 1,
            "min_similarity": 0.1, "silhouette": 0.25, "n_empty_clusters": 1,
            "clusters": [
                {
                    "id": 0, "name": "cats", "renamed": "pets", "hidden": true, "note": "Check these.", "size": 2, "cohesion": 0.91, "heap": true, "silhouette": 0.3,
                    "keywords": [
                        {"term": "cat", "written": "cats", "weight": 0.8, "score": 1.0, "share": 0.5},
                    ],
                    "representatives": [{"id": "a", "similarity": 0.95, "near_duplicates": 2, "text": "cats </script> purr"}],
                    "least_typical": [{"id": "b", "similarity": 0.87}],
                    "histogram": [0, 2],
                    "neighbours": [{"id": 1, "similarity": 0.1}],
                },
                // As in a result of an older version.
                {
                    "id": 1, "size": 1, "cohesion": 1.0, "keywords": [{"term": "dogs", "score": 1.0}],
                    "representatives": [{"id": "c", "similarity": 1.0}], "neighbours": [],
                },
                {
                    "id": 2, "size": 0, "cohesion": 0.0, "keywords": [], "representatives": [],
                    "neighbours": [],
                },
            ],
        }))
        .unwrap();
        let groups: GroupsFile = serde_json::from_value(json!({
            "n_clusters": 3, "n_groups": 1, "groups": [], "group_of_cluster": [0, 0, -1],
            "merges": [{"left": 0, "right": 1, "height": 1.5, "keywords": ["cats", "dogs"]}],
        }))
        .unwrap();
        let map = MapFile { seed: 0, places: vec![[0.5, -0.25], [-1.0, 1.0], [0.0, 0.0]] };
        let setting = |name: &str, values: &[&str]| Setting {
            name: name.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let settings = [setting("INPUT", &["pets.txt"]), setting("--keep-urls", &[])];
        let trace = Curve { objective: vec![2.5, 2.654], moved: vec![5, 0] };
        let columns: ColumnsFile = serde_json::from_value(json!({"columns": [
            {
                "name": "day", "field": "day", "kind": "date", "n_values": 4, "n_bad": 1,
                "bins": {
                    "step": "day", "labels": ["2024-03-01", "2024-03-02"], "counts": [2, 1],
                    "clusters": [[[0, 1], [1, 1]], [], []],
                },
            },
            {
                "name": "n", "field": "n", "kind": "number", "n_values": 1, "n_bad": 0,
                "bins": {"edges": [0.5, 1.5], "counts": [1], "clusters": [[[0, 1]], [], []]},
            },
            {"name": "notes", "field": "notes", "kind": "text", "n_values": 5, "n_bad": 0},
        ]}))
        .unwrap();
        let points = Points {
            offsets: vec![[16_384, 0], [-8_192, 24_576], [0, -32_000], [0, 0], [0, 0]],
            clusters: vec![0, 0, 1, -1, -1],
            similarities: vec![242, 222, 255, 0, 0],
            bins: vec![ColumnBins { column: 0, of_documents: vec![0, 1, NO_BIN, 0, NO_BIN] }],
            sample: vec![1, 2, 0],
            titles: ["b", "c", "cats </script> purr"].map(str::to_owned).to_vec(),
        };
        let version = "1.2.3";
        let page = Page {
            clusters: &clusters,
            groups: Some(&groups),
            map: &map,
            version,
            settings: &settings,
            trace,
            columns: Some(&columns),
            points: Some(&points),
            editable: false,
        };
        let shown = page.points(PageLimits::default());
        let data = serde_json::to_string_pretty(&page.data(400, false, shown.as_ref())).unwrap();
        let found = format!(
            "// An example of a page's data. Written by a test of docsphere-result (UPDATE_GOLDEN=1), which owns\n\
             // the schema; the type checker compares it with the schema of the page.\n\
             import type {{ ReportData }} from \"../src/types\";\n\n\
             export default {data} satisfies ReportData;\n"
        );
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../explorer/tests/report-data.ts");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == expected, "{path} differs; UPDATE_GOLDEN=1 writes it again. Found:\n{found}");
    }
}
