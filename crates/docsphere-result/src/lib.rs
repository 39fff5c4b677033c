//! The files of a docsphere result: their content, and how to write and read them.
//!
//! | file | type | holds |
//! |---|---|---|
//! | `assignments.csv` (`.jsonl`, `.parquet`) | [`Assignments`], [`ReadAssignment`] | one line per document |
//! | `assignments/part-00000.csv` and so on | [`Assignments::write_part`], [`ReadAssignment`] | the same in parts |
//! | `clusters.json` | [`ClustersFile`] | size, keywords and documents of each cluster |
//! | `groups.json` | [`GroupsFile`] | clusters joined into groups, and the merge tree |
//! | `groups.csv` | [`GroupsFile::write_table`] | the group of each document |
//! | `map.json` | [`MapFile`] | positions of the clusters on the map |
//! | `run.toml` | [`Configuration`] | the options of the run, which repeat it |
//! | `trace.json` | [`TraceFile`], [`ReadTrace`] | counts and timings of the run |
//! | `points.docsphere` | [`Points`] | each document as a point in the disc of its cluster |
//! | `report.html` | [`Page`] | the whole result as one page |
//! | `sweep.json` | [`SweepFile`] | measures of several numbers of clusters; beside the results |
//! | `model.docsphere` | [`docsphere::Model`] | the model |
//! | `rows.docsphere` | [`docsphere::UnitRows`] | the rows of all documents |
//! | `texts.docsphere` | `docsphere::TextStore` | ids and texts of all documents |
//! | `columns.docsphere` | `docsphere::ColumnStore` | the raw values of kept columns |
//!
//! [`Description`] builds `clusters.json`, `groups.json` and `map.json` from a finished run, and
//! [`StoredPage`] reads them back. [`write_folder`] writes a folder atomically.
//!
//! Assignments are one file, or parts in the folder `assignments`, never both. Parts are whole
//! files of one format, numbered from 0 without gaps, in document order. [`read_assignments`] reads
//! either form.
//!
//! # Example
//!
//! ```
//! use docsphere::{MemoryLimit, SphericalKMeans, SummaryOptions, Vectorizer};
//! use docsphere_result::{Clustering, ClustersFile, Description, write_folder};
//!
//! let texts = ["cats purr", "a cat that purrs: cats", "stocks fall", "stocks rise, stocks fall"];
//! let text = Vectorizer::new().fit_texts(&texts)?;
//! let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows)?;
//! let clustering = Clustering {
//!     rows: &text.rows,
//!     ids: &["a", "b", "c", "d"].into_iter().collect(),
//!     labels: &fit.labels,
//!     similarities: &fit.similarities,
//!     model: &fit.model.with_text(text.model)?,
//!     n_copies: None,
//!     objective: fit.objective,
//! };
//! let texts_of = |numbers: &[u64]| {
//!     numbers.iter().map(|&number| (number, texts[number as usize].to_owned())).collect()
//! };
//! let description = Description::new(&clustering, SummaryOptions::default(), true, texts_of)?;
//!
//! let home = tempfile::tempdir()?;
//! let out = home.path().join("out");
//! write_folder(&out, |folder| description.write(folder))?;
//! let clusters = ClustersFile::read(&out, &MemoryLimit::default())?;
//! assert_eq!(clusters, description.clusters);
//! assert_eq!(clusters.clusters[0].size, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Results of older versions
//!
//! A field that was added later has a default, which its doc comment names, and readers ignore
//! fields that they do not know. A missing `map.json` is computed from the model. So every result
//! can still be read, and its report can be written.

mod assignments;
mod clusters;
mod columns;
mod comparison;
mod comparison_page;
mod configuration;
mod description;
pub mod documents;
pub mod edits;
mod error;
pub mod files;
mod folder;
mod groups;
mod heaps;
mod html;
#[cfg(feature = "png")]
#[doc(hidden)]
pub mod lettering;
mod map;
mod map_picture;
pub mod names;
mod naming;
mod outliers;
mod page;
#[cfg(feature = "parquet")]
mod parquet_table;
mod points;
mod report_data;
mod report_points;
mod svg;
mod sweep;
mod sweep_page;
mod table;
mod trace;

pub use assignments::{
    AssignedColumns, Assignment, Assignments, AssignmentsFormat, Copies, ReadAssignment, for_each_assignment,
    read_assignments, rounded,
};
pub use clusters::{
    ClusterEntry, ClustersFile, DocumentEntry, DuplicatesEntry, KeywordEntry, NeighbourEntry, PassagesEntry,
    ShownDocument, term_name,
};
pub use columns::{
    BadValue, Bins, ColumnBins, ColumnEntry, ColumnsFile, MAX_BINS, MAX_CELLS, NO_BIN, column_names,
    forecast_bytes as columns_forecast_bytes,
};
pub use comparison::{ComparedCluster, ComparedResult, Comparison, Fate, Flow, MATCH, MatchBy};
pub use configuration::{Configuration, ConfiguredOption, ConfiguredValue};
pub use description::{Clustering, Description, Totals};
pub use error::{Error, ErrorKind, Result};
pub use folder::{check_output, replace_folder, sync_folder, write_folder};
pub use groups::{GroupEntry, GroupsFile, MergeEntry};
pub use html::grouped;
pub use map::MapFile;
pub use outliers::set_outliers_apart;
pub use page::{MapImage, Page, PageLimits, Rendered, StoredPage, served_policy};
pub use points::{BinFilter, DocumentBins, Points, REPORT_POINTS};
pub use report_data::{
    BinsData, ClusterData, ColumnData, Curve, DocumentData, KeywordData, ReportData, TotalsData,
};
pub use report_points::PointsData;
pub use sweep::{AgreementEntry, ExampleEntry, Recommendation, StabilityEntry, SweepEntry, SweepFile};
pub use table::{TableFormat, WrittenTable, kept_values, write_table};
pub use trace::{ChangeEntry, Phases, ReadTrace, Seconds, Setting, TraceFile, timed};
