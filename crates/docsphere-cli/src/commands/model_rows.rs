//! Reads new input as rows over a model's terms.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use docsphere::{ColumnStoreWriter, Corpus, Ids, KeptColumns, Model, Split, Stores, UnitRows};
use docsphere_result::{AssignedColumns, column_names, names};
use tempfile::TempDir;

use crate::args::{InputArgs, KeepArgs};
use crate::input::load_matrix;
use crate::memory;
use crate::output::remarks::{Remarks, add_columns};
use crate::progress::Progress;

/// Rows over the terms of a model.
pub(super) struct ModelRows {
    pub(super) rows: UnitRows<'static>,
    pub(super) ids: Ids,
    /// Remarks collected while reading.
    pub(super) remarks: Remarks,
    /// How documents were cut into passages.
    pub(super) split: Option<Split>,
    /// The share of each document's words that the model does not know; empty for a matrix.
    unknown_shares: Vec<f32>,
    /// The kept columns, if there are any, and the folder of their file.
    columns: Option<(KeptColumns, TempDir)>,
}

impl ModelRows {
    pub(super) fn unknown_share(&self, doc: usize) -> f64 {
        self.unknown_shares.get(doc).map_or(0.0, |&share| f64::from(share))
    }

    /// The names of the kept columns in the output.
    pub(super) fn column_names(&self) -> Vec<String> {
        let columns = self.columns.as_ref().map_or(&[][..], |(columns, _)| columns.columns());
        column_names(columns.iter().map(|column| &column.name[..]))
    }

    /// The kept columns under these names, if there are any.
    pub(super) fn columns<'a>(&'a self, names: &'a [String]) -> Option<AssignedColumns<'a>> {
        self.columns.as_ref().map(|(kept, _)| AssignedColumns { kept, names })
    }
}

/// The rows that a result keeps of its documents, without their ids.
pub(super) fn rows_of_result(result: &Path) -> Result<ModelRows> {
    let path = result.join(names::ROWS);
    ensure!(
        path.exists(),
        "{}: keeps no rows of its documents ({}); give the input of its run",
        result.display(),
        names::ROWS
    );
    Ok(ModelRows {
        rows: UnitRows::load_or_map(path, &memory::of_readers())?,
        ids: Ids::new(),
        remarks: Remarks::default(),
        split: None,
        unknown_shares: Vec::new(),
        columns: None,
    })
}

/// Reads the input with the model's own options.
pub(super) fn rows_for_model(
    model: &Model,
    input: &InputArgs,
    keep: &KeepArgs,
    progress: &mut Progress,
) -> Result<ModelRows> {
    keep.check(input)?;
    if let Some(format) = input.matrix_format() {
        let n_terms = model.centroids().n_terms();
        let loaded = load_matrix(input, format, Some(n_terms))?;
        let n_given = loaded.rows.n_terms();
        ensure!(
            n_given == n_terms,
            "{}: has {n_given} columns, but the model has {n_terms} terms",
            input.inputs[0].display()
        );
        return Ok(ModelRows {
            rows: loaded.rows,
            ids: loaded.ids,
            remarks: Remarks::default(),
            split: None,
            unknown_shares: Vec::new(),
            columns: None,
        });
    }
    input.check_for_documents()?;
    let Some(text) = model.text() else {
        bail!("this model was made from a matrix and does not know how to read text; give it a matrix file");
    };
    let mut options = input.corpus_options_of_result(text.split());
    options.keep = keep.keep();
    let corpus = Corpus::open(&input.inputs, options)?;
    let mut columns = match corpus.options().keep.is_nothing() {
        true => None,
        false => {
            let home = tempfile::tempdir()
                .context("cannot make a folder for temporary files (TMPDIR says where)")?;
            Some((ColumnStoreWriter::create(home.path().join("columns"), &corpus.options().keep)?, home))
        }
    };
    let stores = Stores { texts: None, columns: columns.as_mut().map(|(columns, _)| columns) };
    let read = text.transform_corpus_stored(&corpus, stores, progress)?;
    let mut remarks = Remarks::of_reading(&read.stats);
    remarks.add_languages(&read.languages);
    let columns = match columns {
        None => None,
        Some((columns, home)) => {
            let limit = memory::of_readers();
            let store = columns.finish()?.within(&limit);
            let columns = KeptColumns::recognise(store, keep.date_field.as_deref(), &limit)?;
            add_columns(&mut remarks, columns.columns());
            Some((columns, home))
        }
    };
    Ok(ModelRows {
        rows: read.transformed.rows,
        ids: read.ids,
        remarks,
        split: corpus.options().split,
        unknown_shares: read.transformed.unknown_shares,
        columns,
    })
}
