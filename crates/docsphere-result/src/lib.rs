//! The files of a docsphere result: what they hold, how they are written, and how they are read.
//!
//! | file | type | holds |
//! |---|---|---|
//! | `assignments.csv`, `.jsonl` or `.parquet` | [`Assignments`], [`ReadAssignment`] | one line per document |
//! | `clusters.json` | [`ClustersFile`] | size, keywords and documents of each cluster |
//! | `groups.json` | [`GroupsFile`] | clusters joined to groups, and the merge tree |
//! | `groups.csv` | [`GroupsFile::write_table`] | the group of each document |
//! | `map.json` | [`MapFile`] | where the clusters lie on the map |
//! | `trace.json` | [`TraceFile`], [`ReadTrace`] | what happened in the run |
//! | `report.html` | [`Page`] | all of that as one page |
//! | `model.docsphere` | [`docsphere::Model`] | the model |
//!
//! [`Description`] makes the first files from a finished run, [`StoredPage`] reads them again.
//! [`write_folder`] writes a whole folder that appears at once.
//!
//! # Results of older versions
//!
//! A field that was added later has a default, which its doc comment names, and readers ignore
//! fields that they do not know. A missing `map.json` is computed from the model. So every result
//! can still be read, and a report of it can be made.

mod assignments;
mod clusters;
mod description;
mod error;
pub mod files;
mod folder;
mod groups;
mod map;
pub mod names;
mod page;
mod report_data;
mod trace;

pub use assignments::{
    Assignment, Assignments, AssignmentsFormat, ReadAssignment, read_assignments, rounded,
};
pub use clusters::{ClusterEntry, ClustersFile, DocumentEntry, KeywordEntry, NeighbourEntry, term_name};
pub use description::{Clustering, Description};
pub use error::{Error, ErrorKind, Result};
pub use folder::write_folder;
pub use groups::{GroupEntry, GroupsFile, MergeEntry};
pub use map::MapFile;
pub use page::{Page, PageLimits, Rendered, StoredPage, served_policy};
pub use report_data::{ClusterData, Curve, DocumentData, ReportData, TotalsData};
pub use trace::{ReadTrace, Seconds, Setting, TraceFile};
