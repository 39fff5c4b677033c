//! Reads new input as rows over a model's terms.

use anyhow::{Result, bail, ensure};
use docsphere::{Corpus, Model, Split, UnitRows};

use crate::args::InputArgs;
use crate::input::load_matrix;
use crate::output::remarks::Remarks;
use crate::progress::Progress;

/// Rows over the terms of a model.
pub(super) struct ModelRows {
    pub(super) rows: UnitRows<'static>,
    pub(super) ids: Vec<String>,
    /// Remarks collected while reading.
    pub(super) remarks: Remarks,
    /// How documents were cut into passages.
    pub(super) split: Option<Split>,
    /// The share of each document's words that the model does not know; empty for a matrix.
    unknown_shares: Vec<f32>,
}

impl ModelRows {
    pub(super) fn unknown_share(&self, doc: usize) -> f64 {
        self.unknown_shares.get(doc).map_or(0.0, |&share| f64::from(share))
    }
}

/// Reads the input with the model's own options.
pub(super) fn rows_for_model(model: &Model, input: &InputArgs, progress: &mut Progress) -> Result<ModelRows> {
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
        });
    }
    input.check_for_documents()?;
    let Some(text) = model.text() else {
        bail!("this model was made from a matrix and does not know how to read text; give it a matrix file");
    };
    let corpus = Corpus::open(&input.inputs, input.corpus_options_of_result(text.split()))?;
    let read = text.transform_corpus_watched(&corpus, progress)?;
    Ok(ModelRows {
        rows: read.transformed.rows,
        ids: read.ids,
        remarks: Remarks::of_reading(&read.stats),
        split: corpus.options().split,
        unknown_shares: read.transformed.unknown_shares,
    })
}
