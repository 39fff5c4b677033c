//! The data of a worker: documents or rows, as they were given or read.

use std::path::Path;

use super::message::{Answer, Begin, Documents, Reading, Request, Shape, from_json};
use super::packed::Packed;
use crate::assign::AssignerSettings;
use crate::corpus::{Corpus, CorpusOptions, CorpusPiece, Document};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::DocId;
use crate::observer::Silent;
use crate::shards::ShardSettings;
use crate::simd::Level;
use crate::store::{TextStore, TextStoreWriter};
use crate::vectors::{CountedDocuments, Ids, RowWeights, TextModel, UnitRows, Vectorizer, WeightTotal};

/// The data of a worker.
#[derive(Default)]
pub(super) struct Own {
    /// Documents that were given as texts, with their ids.
    pub(super) given: Option<GivenTexts>,
    pub(super) counted: Option<CountedDocuments>,
    pub(super) rows: Option<UnitRows<'static>>,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) ids: Ids,
    pub(super) texts: Option<TextStore>,
}

pub(super) struct GivenTexts {
    pub(super) texts: Vec<String>,
    /// `None`: they are numbered.
    pub(super) ids: Option<Vec<String>>,
}

impl Own {
    pub(super) fn shape(&self) -> Option<Shape> {
        let has_weights = self.weights.is_some();
        if let Some(rows) = &self.rows {
            let (n_docs, n_terms) = (rows.n_rows() as u64, Some(rows.n_terms() as u64));
            return Some(Shape { n_docs, n_terms, has_weights });
        }
        let n_docs = self.given.as_ref()?.texts.len() as u64;
        Some(Shape { n_docs, n_terms: None, has_weights })
    }

    pub(super) fn answer(&mut self, request: Request, scratch: &Path) -> Result<Answer> {
        match request {
            Request::CountLines { pieces } => {
                let pieces: Vec<CorpusPiece> = from_json(&pieces)?;
                Ok(Answer::Lines(pieces.iter().map(CorpusPiece::count_lines).collect::<Result<_>>()?))
            }
            Request::Read(reading) => self.read(&reading, scratch),
            Request::Vectorize { model } => {
                // All are asked again if one is lost: those that have rows of these documents keep
                // them.
                if self.rows.is_none() {
                    let model = TextModel::from_bytes(&model.0)?;
                    let counted = self.counted.take().ok_or_else(out_of_turn)?;
                    let part = counted.into_rows(&model)?;
                    (self.rows, self.ids) = (Some(part.rows), part.ids);
                }
                Ok(Answer::Vectorized(self.shape().ok_or_else(out_of_turn)?))
            }
            Request::Weights { ceiling: None } => {
                Ok(Answer::Ceiling(self.weights.as_deref().map(WeightTotal::ceiling)))
            }
            Request::Weights { ceiling: Some(ceiling) } => {
                let weights = self.weights.as_deref().unwrap_or_default();
                Ok(Answer::Weights(WeightTotal::of(weights, ceiling)))
            }
            _ => Err(out_of_turn()),
        }
    }

    /// Reads documents and counts their terms.
    pub(super) fn read(&mut self, reading: &Reading, scratch: &Path) -> Result<Answer> {
        let vectorizer = Vectorizer::new()
            .text(from_json(&reading.text)?)
            .tfidf(from_json(&reading.tfidf)?)
            .n_threads(rayon::current_num_threads());
        (self.rows, self.ids, self.texts) = (None, Ids::new(), None);
        let counted = match &reading.documents {
            Documents::Given { first_number } => {
                let given = self.given.as_ref().ok_or_else(out_of_turn)?;
                match &given.ids {
                    None => vectorizer.count_texts(&given.texts, *first_number)?,
                    Some(ids) => {
                        let documents: Vec<Document<'_>> =
                            ids.iter().zip(&given.texts).map(|(id, text)| Document::new(id, text)).collect();
                        vectorizer.count_documents(&documents)?
                    }
                }
            }
            Documents::Pieces { pieces, options } => {
                let pieces: Vec<CorpusPiece> = from_json(pieces)?;
                if pieces.is_empty() {
                    vectorizer.count_documents(&[])?
                } else {
                    let options: CorpusOptions = from_json(options)?;
                    let corpus = Corpus::from_pieces(&pieces, options)?;
                    let mut store = reading.keep_texts.then(|| Store::create(scratch)).transpose()?;
                    let writer = store.as_mut().map(|store| &mut store.writer);
                    let counted = vectorizer.count(&corpus, writer, &mut Silent)?;
                    self.texts = store.map(Store::finish).transpose()?;
                    counted
                }
            }
        };
        let read = counted.stats().clone();
        let terms = Packed(counted.term_counts().to_bytes());
        self.counted = Some(counted);
        Ok(Answer::Counted { read, terms })
    }

    /// Ids and texts of some documents, by position.
    pub(super) fn documents(
        &self,
        positions: &[usize],
        first_doc: u64,
    ) -> Result<Vec<(String, Option<String>)>> {
        let id = |&position: &usize| {
            let number = || (first_doc + position as u64 + 1).to_string();
            self.ids.get(position).map_or_else(number, str::to_owned)
        };
        let ids = positions.iter().map(id);
        if let Some(given) = &self.given {
            return Ok(ids.zip(positions.iter().map(|&p| given.texts.get(p).cloned())).collect());
        }
        let Some(texts) = &self.texts else { return Ok(ids.map(|id| (id, None)).collect()) };
        let docs: Vec<DocId> = positions.iter().map(|&position| DocId::new(position as u32)).collect();
        let found = texts.get_many(&docs)?;
        Ok(found.into_iter().map(|document| (document.id, Some(document.text))).collect())
    }

    /// Everything that a shard is made of.
    pub(super) fn ready(&self, begin: &Begin) -> Result<(&UnitRows<'static>, RowWeights<'_>, ShardSettings)> {
        let rows = self.rows.as_ref().ok_or_else(out_of_turn)?;
        let weights = match (&self.weights, begin.scale) {
            (Some(weights), Some(scale)) => RowWeights::on_scale(weights, scale),
            (None, None) => RowWeights::UNIFORM,
            _ => return Err(out_of_turn()),
        };
        let level = Level::of(begin.simd).ok_or_else(|| {
            let expected = "instructions that every machine has".to_owned();
            ErrorKind::Parameter { name: "simd", expected, got: begin.simd.to_string() }
        })?;
        let (lambdas, index_min_changed) = (begin.lambdas.clone(), begin.index_min_changed as usize);
        let assigner = AssignerSettings { lambdas, index_min_changed, level, scratch: None, device: None };
        let strategy = begin.strategy;
        Ok((rows, weights, ShardSettings { strategy, assigner, kept_folder: None }))
    }
}

/// A store of texts that is being written. Its file loses its name at the end, where the system
/// allows it, so that nothing is left behind if the worker is killed later.
struct Store {
    writer: TextStoreWriter,
    folder: tempfile::TempDir,
}

impl Store {
    fn create(scratch: &Path) -> Result<Self> {
        let failed = |error| Error::io("make a folder in", error).at_path(scratch);
        let folder = tempfile::tempdir_in(scratch).map_err(failed)?;
        Ok(Store { writer: TextStoreWriter::create(folder.path().join("texts"))?, folder })
    }

    fn finish(self) -> Result<TextStore> {
        let store = self.writer.finish()?;
        // Where an open file cannot be removed, it stays.
        let _ = self.folder.close();
        Ok(store)
    }
}

pub(super) fn out_of_turn() -> Error {
    Error::malformed("message", "requests in their order", "one out of turn")
}
