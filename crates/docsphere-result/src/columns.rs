//! `columns.json`: the kept columns of a result: what they are, and how their values are spread
//! over the clusters.
//!
//! Values are counted in *bins*: steps of time for dates, equal steps for numbers, the most
//! frequent values of categories, the most frequent hosts of addresses. Texts have none.
//! A column has at most [`MAX_BINS`] bins, and fewer if there are thousands of clusters, so that
//! all counts of a column are at most [`MAX_CELLS`], or 8 per cluster.

use std::collections::HashMap;
use std::path::Path;

use docsphere::{
    BadCell, Cell, Column, ColumnKind, ColumnReading, ColumnValue, Ids, KeptColumns, Labels, MemoryLimit,
    Moment, TimeStep, Timeline, host,
};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::files;
use crate::names;

/// The greatest number of bins of a column.
pub const MAX_BINS: usize = 60;

/// The fewest bins that a column may be limited to.
const MIN_BINS: usize = 8;

/// The greatest number of counts of a column: bins times clusters.
pub const MAX_CELLS: usize = 200_000;

/// Characters of a category that are told.
const LABEL_CHARS: usize = 100;

/// What takes the memory, for messages.
const WHAT: &str = "the kept columns";

/// Names that the files of a result use themselves, in any letter case.
const RESERVED: [&str; 12] = [
    "id",
    "cluster",
    "similarity",
    "runner_up",
    "runner_up_similarity",
    "silhouette",
    "duplicate_of",
    "unknown_share",
    "nearest",
    "group",
    "number",
    "text",
];

/// The names of columns in the files of a result. A name that these files use themselves gets
/// `input_` before it: `input_cluster`.
pub fn column_names<'a>(fields: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let fields: Vec<&str> = fields.into_iter().collect();
    let is_numbered = |name: &str| {
        let number = name.strip_prefix("cluster_").or_else(|| name.strip_prefix("similarity_"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let is_reserved = |name: &str| {
        let name = name.to_lowercase();
        RESERVED.contains(&&name[..]) || is_numbered(&name)
    };
    let mut names: Vec<String> = Vec::with_capacity(fields.len());
    for field in &fields {
        let mut name = (*field).to_owned();
        let is_other = |name: &str, names: &[String]| {
            names.iter().any(|other| other == name) || (name != *field && fields.contains(&name))
        };
        while is_reserved(&name) || is_other(&name, &names) {
            name.insert_str(0, "input_");
        }
        names.push(name);
    }
    names
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnsFile {
    /// The columns, in order.
    pub columns: Vec<ColumnEntry>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColumnEntry {
    /// Its name in the files of the result.
    pub name: String,
    /// Its name in the input.
    pub field: String,
    /// How its values were read.
    #[serde(flatten)]
    pub reading: ColumnReading,
    /// Documents that have a value.
    pub n_values: u64,
    /// Those of them whose value is not what the column is; they are left out.
    pub n_bad: u64,
    /// The first of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<BadValue>,
    /// Dates that could be read both day first and month first, if no date of the column decides.
    #[serde(default)]
    pub n_undecided: u64,
    /// The number of distinct categories or hosts, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_distinct: Option<usize>,
    /// The values by cluster. Absent for texts, for addresses of too many hosts, and if there are
    /// no values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Bins>,
}

/// A value that is not what its column is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadValue {
    /// The id of the document.
    pub id: String,
    /// Where it is in the input: `notes.csv:17`.
    pub place: String,
    /// The value, perhaps shortened.
    pub value: String,
}

impl BadValue {
    fn new(bad: &BadCell, ids: &Ids) -> Self {
        let id = usize::try_from(bad.doc).ok().and_then(|doc| ids.get(doc)).unwrap_or_default().to_owned();
        BadValue { id, place: bad.place.clone(), value: bad.value.clone() }
    }
}

/// The values of a column by cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bins {
    /// The length of a bin of dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<TimeStep>,
    /// The first day of each bin, its category or its host; none for numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The ends of the bins of numbers, one more than there are bins: a bin begins at its first
    /// end, and the last one also includes its second end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<f64>,
    /// All documents by bin, also those without a cluster.
    pub counts: Vec<u64>,
    /// For each cluster its bins that have documents, and their numbers.
    pub clusters: Vec<Vec<(u32, u32)>>,
}

impl Bins {
    /// The number of counts by cluster.
    pub fn n_cells(&self) -> usize {
        self.clusters.iter().map(Vec::len).sum()
    }
}

/// The bin of a document that has no value of a column, a bad one, or one that is in no bin.
pub const NO_BIN: u8 = u8::MAX;

/// The bin of each document in a column that has bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnBins {
    /// The position of the column in [`ColumnsFile::columns`].
    pub column: u32,
    /// A bin for each document, or [`NO_BIN`].
    pub of_documents: Vec<u8>,
}

impl ColumnsFile {
    /// Counts the values of all columns by cluster, in one pass over them.
    ///
    /// # Errors
    /// If the values cannot be read, or take more memory than `limit` allows.
    pub fn new(
        kept: &KeptColumns,
        ids: &Ids,
        labels: &Labels,
        n_clusters: usize,
        limit: &MemoryLimit,
    ) -> Result<Self> {
        Self::with_bins(kept, ids, labels, n_clusters, limit).map(|(file, _)| file)
    }

    /// The same, and the bins of all documents in the columns that have bins.
    ///
    /// # Errors
    /// As [`ColumnsFile::new`].
    pub fn with_bins(
        kept: &KeptColumns,
        ids: &Ids,
        labels: &Labels,
        n_clusters: usize,
        limit: &MemoryLimit,
    ) -> Result<(Self, Vec<ColumnBins>)> {
        let n_columns = kept.columns().len();
        let n_bytes = forecast_bytes(n_columns, n_clusters) + (n_columns * labels.len()) as u64;
        limit.check(WHAT, n_bytes)?;
        let max_bins = (MAX_CELLS / n_clusters.max(1)).clamp(MIN_BINS, MAX_BINS);
        let count = |column: &Column| Counting::new(column, max_bins, n_clusters);
        let mut counts: Vec<Counting> = kept.columns().iter().map(count).collect();
        let of_column = |(column, counting): (u32, &Counting)| {
            let of_documents = vec![NO_BIN; labels.len()];
            (counting.n_bins > 0).then_some(ColumnBins { column, of_documents })
        };
        let mut found: Vec<Option<ColumnBins>> = (0..).zip(&counts).map(of_column).collect();
        let mut rows = kept.rows();
        for (document, &label) in labels.as_slice().iter().enumerate() {
            let Some(row) = rows.next_row()? else { break };
            for ((counting, found), cell) in counts.iter_mut().zip(&mut found).zip(row.cells()) {
                if let (Cell::Good(value), Some(found)) = (cell, found) {
                    found.of_documents[document] = counting.add(value, label);
                }
            }
        }
        let names = column_names(kept.columns().iter().map(|column| &column.name[..]));
        let entry = |((column, counting), name): ((&Column, Counting), String)| ColumnEntry {
            name,
            field: column.name.clone(),
            reading: column.reading,
            n_values: column.n_values,
            n_bad: column.n_bad,
            first_bad: column.first_bad.as_ref().map(|bad| BadValue::new(bad, ids)),
            n_undecided: column.n_undecided,
            n_distinct: column.values.as_ref().map(Vec::len),
            bins: counting.finish(n_clusters),
        };
        let columns = kept.columns().iter().zip(counts).zip(names).map(entry).collect();
        Ok((ColumnsFile { columns }, found.into_iter().flatten().collect()))
    }

    /// Reads the columns of a result; `None` if it has none.
    ///
    /// # Errors
    /// If the file is damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Option<Self>> {
        let path = folder.join(names::COLUMNS);
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, WHAT, "holds no columns", limit).map(Some)
    }

    /// Writes it into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::COLUMNS), self)
    }

    /// The names of the columns in the files of the result.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }
}

/// Memory in bytes that counting takes, at most.
pub fn forecast_bytes(n_columns: usize, n_clusters: usize) -> u64 {
    let n_cells = (n_clusters * (MAX_CELLS / n_clusters.max(1)).clamp(MIN_BINS, MAX_BINS)) as u64;
    // The counts, and once more as lists.
    n_columns as u64 * (12 * n_cells + 24 * n_clusters as u64)
}

/// Into which bin a value belongs.
enum Binning {
    Times(Timeline),
    Numbers { least: f64, greatest: f64, n_bins: usize },
    Values(HashMap<String, u32>),
    None,
}

/// The counts of a column.
struct Counting {
    binning: Binning,
    labels: Vec<String>,
    is_address: bool,
    n_bins: usize,
    totals: Vec<u64>,
    /// Bins of the first cluster, then of the second, and so on.
    cells: Vec<u32>,
}

impl Counting {
    fn new(column: &Column, max_bins: usize, n_clusters: usize) -> Self {
        let (binning, labels) = match (column.reading.kind, column.range, &column.values) {
            (ColumnKind::Date, Some((first, last)), _) => {
                let moment = |micros: f64| Moment { micros: micros as i64, has_time: true };
                let line = Timeline::new(moment(first), moment(last), max_bins);
                let labels = (0..line.n_steps()).map(|step| line.start(step)).collect();
                (Binning::Times(line), labels)
            }
            (ColumnKind::Number, Some((least, greatest)), _) => {
                let n_bins = numbers_bins(column.reading, least, greatest, max_bins);
                (Binning::Numbers { least, greatest, n_bins }, Vec::new())
            }
            (ColumnKind::Category | ColumnKind::Address, _, Some(values)) => {
                let top = values.iter().take(max_bins);
                let numbers = top.clone().zip(0..).map(|((value, _), number)| (value.clone(), number));
                let short = |text: &String| text.chars().take(LABEL_CHARS).collect();
                (Binning::Values(numbers.collect()), top.map(|(value, _)| short(value)).collect())
            }
            _ => (Binning::None, Vec::new()),
        };
        let n_bins = match &binning {
            Binning::Times(line) => line.n_steps(),
            Binning::Numbers { n_bins, .. } => *n_bins,
            Binning::Values(values) => values.len(),
            Binning::None => 0,
        };
        Counting {
            binning,
            labels,
            is_address: column.reading.kind == ColumnKind::Address,
            n_bins,
            totals: vec![0; n_bins],
            cells: vec![0; n_bins * n_clusters],
        }
    }

    /// Counts a value, and returns its bin.
    fn add(&mut self, value: ColumnValue<'_>, label: i32) -> u8 {
        let bin = match (&self.binning, value) {
            (Binning::Times(line), ColumnValue::Date(moment)) => line.place(moment),
            (&Binning::Numbers { least, greatest, n_bins }, ColumnValue::Number(number)) => {
                let share = if (greatest - least).is_finite() {
                    (number - least) / (greatest - least)
                } else {
                    // Halves do not overflow.
                    (number / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0)
                };
                if share.is_nan() { 0 } else { ((share * n_bins as f64) as usize).min(n_bins - 1) }
            }
            (Binning::Values(values), ColumnValue::Text(text)) => {
                let text = if self.is_address { host(text).unwrap_or_default() } else { text.into() };
                match values.get(&*text) {
                    Some(&number) => number as usize,
                    None => return NO_BIN,
                }
            }
            _ => return NO_BIN,
        };
        self.totals[bin] += 1;
        if let Ok(cluster) = usize::try_from(label)
            && let Some(cell) = self.cells.get_mut(cluster * self.n_bins + bin)
        {
            *cell += 1;
        }
        // There are at most 60.
        bin as u8
    }

    fn finish(self, n_clusters: usize) -> Option<Bins> {
        if self.n_bins == 0 {
            return None;
        }
        let filled = |cells: &[u32]| (0..).zip(cells.iter().copied()).filter(|(_, n)| *n > 0).collect();
        let mut clusters: Vec<Vec<(u32, u32)>> = self.cells.chunks(self.n_bins).map(filled).collect();
        clusters.resize(n_clusters, Vec::new());
        let (step, edges) = match self.binning {
            Binning::Times(line) => (Some(line.step()), Vec::new()),
            Binning::Numbers { least, greatest, n_bins } => {
                (None, (0..=n_bins).map(|number| edge(number, n_bins, (least, greatest))).collect())
            }
            _ => (None, Vec::new()),
        };
        Some(Bins { step, labels: self.labels, edges, counts: self.totals, clusters })
    }
}

/// Where a bin of numbers begins. Finite, however far the least and the greatest are apart.
fn edge(number: usize, n_bins: usize, (least, greatest): (f64, f64)) -> f64 {
    let share = |width: f64| number as f64 * (width / n_bins as f64);
    match greatest - least {
        _ if number == n_bins => greatest,
        width if width.is_finite() => least + share(width),
        // Halves do not overflow.
        _ => 2.0 * (least / 2.0 + share(greatest / 2.0 - least / 2.0)),
    }
}

/// The number of bins of numbers: one per integer if they are few.
fn numbers_bins(reading: ColumnReading, least: f64, greatest: f64, max_bins: usize) -> usize {
    if least == greatest {
        return 1;
    }
    let n_integers = greatest - least + 1.0;
    let max_bins = max_bins.min(20);
    if reading.is_integer && n_integers <= max_bins as f64 { n_integers as usize } else { max_bins }
}

#[cfg(test)]
mod tests {
    use docsphere::{ColumnStoreWriter, Corpus, CorpusOptions, Keep, Stores, Vectorizer};

    use super::*;

    /// The columns of a table.
    fn columns(table: &str, labels: &[i32], n_clusters: usize) -> ColumnsFile {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("table.csv");
        std::fs::write(&path, table).unwrap();
        let options = CorpusOptions::default().keep(Keep::All);
        let mut writer = ColumnStoreWriter::create(home.path().join("columns"), &options.keep).unwrap();
        let corpus = Corpus::open([path], options).unwrap();
        let stores = Stores { texts: None, columns: Some(&mut writer) };
        let observer = &mut |_: &docsphere::Event<'_>| std::ops::ControlFlow::Continue(());
        let read = Vectorizer::new().fit_stored(&corpus, stores, observer).unwrap();
        let limit = MemoryLimit::default();
        let kept = KeptColumns::recognise(writer.finish().unwrap(), None, &limit).unwrap();
        let labels = Labels::from(labels.to_vec());
        let file = ColumnsFile::new(&kept, &read.ids, &labels, n_clusters, &limit).unwrap();
        file.write(home.path()).unwrap();
        assert_eq!(ColumnsFile::read(home.path(), &limit).unwrap().as_ref(), Some(&file));
        file
    }

    #[test]
    fn values_are_counted_by_cluster() {
        let file = columns(
            "text,day,n,kind,at\n\
             a,2024-03-01,1,x,http://x.org/1\n\
             b,2024-03-01,3,x,http://www.x.org/2\n\
             c,2024-03-03,2,y,https://y.org\n\
             d,,3,y,\n",
            &[0, 1, 1, -1],
            2,
        );
        assert_eq!(file.names(), ["day", "n", "kind", "at"]);
        let bins = |column: usize| file.columns[column].bins.as_ref().unwrap();
        assert_eq!(bins(0).labels, ["2024-03-01", "2024-03-02", "2024-03-03"]);
        assert_eq!((bins(0).step, &bins(0).counts[..]), (Some(TimeStep::Day), &[2, 0, 1][..]));
        assert_eq!(bins(0).clusters, [vec![(0, 1)], vec![(0, 1), (2, 1)]]);
        assert_eq!((bins(1).edges.len(), &bins(1).counts[..]), (4, &[1, 1, 2][..]));
        assert_eq!(bins(1).clusters, [vec![(0, 1)], vec![(1, 1), (2, 1)]]);
        assert_eq!(
            (&bins(2).labels[..], &bins(2).counts[..]),
            (&["x", "y"].map(str::to_owned)[..], &[2, 2][..])
        );
        assert_eq!(bins(3).labels, ["x.org", "y.org"]);
        assert_eq!(bins(3).clusters, [vec![(0, 1)], vec![(0, 1), (1, 1)]]);
        assert_eq!((file.columns[0].n_values, file.columns[3].n_distinct), (3, Some(2)));
    }

    #[test]
    fn the_first_bad_value_is_told_with_its_line() {
        let mut table = "text,n\n".to_owned();
        (0..40).for_each(|number| table.push_str(&format!("t{number},{number}\n")));
        table.push_str("\nbad,none\nbad,never\n");
        let file = columns(&table, &[0; 42], 1);
        let entry = &file.columns[0];
        assert_eq!((entry.reading.kind, entry.n_bad), (ColumnKind::Number, 2));
        let bad = entry.first_bad.as_ref().unwrap();
        assert_eq!((&bad.id[..], &bad.value[..]), ("41", "none"));
        assert!(bad.place.ends_with("/table.csv:43"), "{}", bad.place);
    }

    #[test]
    fn numbers_as_far_apart_as_can_be_have_finite_bins() {
        let file = columns("text,n\na,-1.7e308\nb,1.7e308\nc,0.5\nd,-1.7e308\n", &[0; 4], 1);
        let bins = file.columns[0].bins.as_ref().unwrap();
        assert!(bins.edges.iter().all(|edge| edge.is_finite()), "{:?}", bins.edges);
        assert!(bins.edges.is_sorted_by(|a, b| a < b), "{:?}", bins.edges);
        assert_eq!((bins.edges[0], bins.edges[20]), (-1.7e308, 1.7e308));
        assert_eq!((bins.counts[0], bins.counts[10], bins.counts[19]), (2, 1, 1));
    }

    #[test]
    fn dates_of_many_centuries_have_no_more_bins_than_others() {
        let mut table = "text,day\n".to_owned();
        (1..200).for_each(|number| table.push_str(&format!("t{number},{:04}-01-01\n", number * 50)));
        for (n_clusters, n_bins) in [(1, 50), (30_000, MIN_BINS)] {
            let file = columns(&table, &[0; 199], n_clusters);
            let bins = file.columns[0].bins.as_ref().unwrap();
            assert_eq!((bins.labels.len(), bins.counts.iter().sum::<u64>()), (n_bins, 199));
            assert_eq!(bins.step, Some(TimeStep::Century));
        }
    }

    #[test]
    fn counts_are_bounded_for_many_clusters() {
        let n_clusters = 30_000;
        let mut table = "text,n\n".to_owned();
        (0..200).for_each(|number| table.push_str(&format!("t{number},{}\n", number * 7)));
        let labels: Vec<i32> = (0..200).collect();
        let file = columns(&table, &labels, n_clusters);
        let bins = file.columns[0].bins.as_ref().unwrap();
        assert_eq!((bins.counts.len(), bins.clusters.len(), bins.n_cells()), (MIN_BINS, n_clusters, 200));
    }

    #[test]
    fn names_that_the_files_use_get_a_prefix() {
        let names = column_names(["Cluster", "input_cluster", "cluster", "date", "similarity_2", "ID"]);
        let expected = [
            "input_Cluster",
            "input_cluster",
            "input_input_cluster",
            "date",
            "input_similarity_2",
            "input_ID",
        ];
        assert_eq!(names, expected);
    }
}
