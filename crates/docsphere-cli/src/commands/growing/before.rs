//! A result as it is, before documents are added or removed.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use docsphere::{ColumnStore, Model, TextStore, UnitRows};
use docsphere_result::edits::base_of;
use docsphere_result::{ClustersFile, ReadAssignment, ReadTrace, names, read_assignments};

use crate::memory;
use crate::numbers::{counted, grouped};
use crate::output::result_lock::ResultLock;

/// A result with all that a run needs to go on with its documents.
pub(in crate::commands) struct Before {
    pub(in crate::commands) folder: PathBuf,
    pub(in crate::commands) model: Model,
    pub(in crate::commands) clusters: ClustersFile,
    pub(in crate::commands) trace: ReadTrace,
    /// Every document and its cluster.
    pub(in crate::commands) lines: Vec<ReadAssignment>,
    /// The rows of all documents, copies included.
    pub(in crate::commands) rows: UnitRows<'static>,
    /// Their texts; a result of a matrix has none.
    pub(in crate::commands) texts: Option<TextStore>,
    /// Their kept columns, if there are any.
    pub(in crate::commands) columns: Option<ColumnStore>,
}

impl Before {
    /// Locks a result and reads it.
    pub(in crate::commands) fn open(folder: &Path) -> Result<(Self, ResultLock)> {
        let shown = folder.display();
        let limit = memory::of_readers();
        let lock = ResultLock::take(folder)?;
        // Edits are applied again afterwards.
        let base = base_of(folder);
        let clusters = ClustersFile::read(&base, &limit)?;
        let path = |name: &str| folder.join(name);
        ensure!(
            path(names::ROWS).exists(),
            "{shown}: has no rows of its documents ({}), so none can be added or removed: it was made with --no-rows, by sweep, on several machines, or by an older version; cluster again with docsphere cluster",
            names::ROWS
        );
        let model = Model::load_within(path(names::MODEL), &limit)?;
        let trace = ReadTrace::read(folder, &limit)?;
        let lines = read_assignments(&base, &limit)?;
        let rows = UnitRows::load_within(path(names::ROWS), &limit)?;
        let texts = match model.text() {
            Some(_) => Some(TextStore::open_within(path(names::TEXTS), &limit)?),
            None => None,
        };
        let columns = match path(names::COLUMN_VALUES).exists() {
            true => Some(ColumnStore::open_within(path(names::COLUMN_VALUES), &limit)?),
            false => None,
        };
        let before =
            Before { folder: folder.to_owned(), model, clusters, trace, lines, rows, texts, columns };
        before.check()?;
        Ok((before, lock))
    }

    /// Refuses files that do not belong together.
    fn check(&self) -> Result<()> {
        let (shown, n_lines) = (self.folder.display(), self.lines.len());
        let n_texts = self.texts.as_ref().map(TextStore::n_documents);
        let n_values = self.columns.as_ref().map(ColumnStore::n_documents);
        let parts = [
            (names::ROWS, Some(self.rows.n_rows() as u64)),
            (names::TEXTS, n_texts),
            (names::COLUMN_VALUES, n_values),
            (names::CLUSTERS, Some(self.clusters.n_assigned() as u64)),
        ];
        for (name, n_documents) in parts {
            if let Some(n_documents) = n_documents.filter(|&n| n != n_lines as u64) {
                bail!(
                    "{shown}: {name} is of {}, the assignments are of {}: they do not belong together; cluster again",
                    counted(n_documents as usize, "document"),
                    grouped(n_lines)
                );
            }
        }
        let n_terms = self.model.centroids().n_terms();
        ensure!(
            self.rows.n_terms() == n_terms,
            "{shown}: {} has {} terms, the model has {}: they do not belong together; cluster again",
            names::ROWS,
            grouped(self.rows.n_terms()),
            grouped(n_terms)
        );
        Ok(())
    }

    /// The number of clusters.
    pub(in crate::commands) fn n_clusters(&self) -> usize {
        self.model.centroids().n_clusters()
    }

    /// Whether its documents are passages of others.
    pub(in crate::commands) fn has_passages(&self) -> bool {
        self.clusters.passages.is_some()
    }
}
