//! The text part of a model: options, vocabulary and document frequencies, which turn text into
//! rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chunk_rows::{ChunkRows, TEXTS_PER_CHUNK, join};
use super::document_ids::Ids;
use super::rows::MAX_ROWS;
use super::tfidf::TfidfOptions;
use super::unit::UnitRows;
use super::vocabulary::Vocabulary;
use crate::corpus::{ChunkWork, Corpus, CorpusStats, Document, Split};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::TermId;
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::observer::{Observer, Silent};
use crate::store::{Stores, Storing};
use crate::text::{Hyphens, LanguageCounts, TextOptions, Tokenizer, TokenizerScratch};

/// Name of the format in messages.
const FORMAT: &str = "text model";
/// Version 2 has the segmentation `words`, version 3 its hyphens, and passages, version 4 languages
/// by document.
const VERSION: u32 = 4;

/// Turns new documents into rows over the terms of the corpus that it was fitted to.
#[derive(Clone, Debug)]
pub struct TextModel {
    tokenizer: Tokenizer,
    tfidf: TfidfOptions,
    // Shared with copies of the model, such as that in the model of a run.
    vocabulary: Arc<Vocabulary>,
    document_frequencies: Arc<[u32]>,
    n_docs: u64,
    split: Option<Split>,
    /// Derived from the frequencies.
    idf: Arc<[f64]>,
}

/// New documents as rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transformed {
    /// One row per document.
    pub rows: UnitRows<'static>,
    /// For each document the share of its terms that are unknown to the model, repeated terms
    /// counted each time; 0 for a document without terms.
    pub unknown_shares: Vec<f32>,
}

/// The documents of a corpus as rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TransformedCorpus {
    /// The rows.
    pub transformed: Transformed,
    /// The id of each document.
    pub ids: Ids,
    /// Counts of what was read.
    pub stats: CorpusStats,
    /// The languages of the documents, if the model detects them.
    pub languages: LanguageCounts,
}

/// The human-readable part of the bytes.
#[derive(Serialize, Deserialize)]
struct Description {
    text: TextOptions,
    tfidf: TfidfOptions,
    n_docs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
}

impl TextModel {
    pub(super) fn new(
        tokenizer: Tokenizer,
        tfidf: TfidfOptions,
        vocabulary: Vocabulary,
        document_frequencies: Vec<u32>,
        n_docs: u64,
    ) -> Self {
        let idf = document_frequencies.iter().map(|&df| tfidf.idf.weight(u64::from(df), n_docs)).collect();
        let (vocabulary, document_frequencies) = (Arc::new(vocabulary), document_frequencies.into());
        TextModel { tokenizer, tfidf, vocabulary, document_frequencies, n_docs, split: None, idf }
    }

    /// The same model, of a corpus whose documents were split like this.
    pub(crate) fn with_split(self, split: Option<Split>) -> Self {
        TextModel { split, ..self }
    }

    /// How text becomes terms.
    pub fn text_options(&self) -> &TextOptions {
        self.tokenizer.options()
    }

    /// How terms are weighted.
    pub fn tfidf_options(&self) -> &TfidfOptions {
        &self.tfidf
    }

    /// The terms.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The number of documents of the corpus in which each term occurs.
    pub fn document_frequencies(&self) -> &[u32] {
        &self.document_frequencies
    }

    /// The weight of each term, by [`IdfKind`](crate::IdfKind).
    pub fn idf(&self) -> &[f64] {
        &self.idf
    }

    /// How the documents of the corpus were cut into passages; `None` if they were whole. Texts
    /// that the model transforms are never cut: a [`Corpus`] cuts them
    /// ([`CorpusOptions::split`]).
    ///
    /// [`CorpusOptions::split`]: crate::CorpusOptions::split
    pub fn split(&self) -> Option<Split> {
        self.split
    }

    /// The name of a term, for callers that may have the counterpart of this type.
    pub(crate) fn term(&self, term: TermId) -> Option<&str> {
        Some(self.vocabulary.term(term))
    }

    /// The number of documents of the corpus.
    pub fn n_docs(&self) -> u64 {
        self.n_docs
    }

    /// Rows for new texts, on the current rayon pool.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] for more than [`MAX_ROWS`] texts.
    pub fn transform<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<Transformed> {
        let work = Transforming(self);
        let chunk = |texts: &[S]| {
            let mut chunk = work.start();
            for text in texts {
                work.document(&mut chunk, Document::new("", text.as_ref()))?;
            }
            work.finish(&mut chunk).map(|()| chunk)
        };
        let chunks: Result<Vec<_>> = texts.par_chunks(TEXTS_PER_CHUNK).map(chunk).collect();
        Ok(self.assemble(chunks?, &NO_LIMIT)?.0)
    }

    /// Rows for the documents of a corpus, on the current rayon pool.
    ///
    /// # Errors
    /// As [`Corpus::for_each_document`], and [`ErrorKind::TooLarge`] for more than [`MAX_ROWS`]
    /// documents.
    pub fn transform_corpus(&self, corpus: &Corpus) -> Result<TransformedCorpus> {
        self.transform_corpus_watched(corpus, &mut Silent)
    }

    /// Like [`transform_corpus`](Self::transform_corpus), with an observer, which may stop the
    /// reading.
    ///
    /// # Errors
    /// As [`transform_corpus`](Self::transform_corpus), and [`ErrorKind::Stopped`] if the observer
    /// stops the reading.
    pub fn transform_corpus_watched(
        &self,
        corpus: &Corpus,
        observer: &mut dyn Observer,
    ) -> Result<TransformedCorpus> {
        self.transform_corpus_stored(corpus, Stores::default(), observer)
    }

    /// Like [`transform_corpus_watched`](Self::transform_corpus_watched), and keeps texts or
    /// columns for later.
    ///
    /// # Errors
    /// As [`transform_corpus_watched`](Self::transform_corpus_watched), and a store that cannot be
    /// written.
    pub fn transform_corpus_stored(
        &self,
        corpus: &Corpus,
        mut stores: Stores<'_>,
        observer: &mut dyn Observer,
    ) -> Result<TransformedCorpus> {
        let (mut chunks, mut languages) = (Vec::new(), LanguageCounts::default());
        let work = Transforming(self);
        let stats = corpus.map_chunks(observer, &Storing::new(&work, &stores), |chunk| {
            let chunk = stores.write(chunk)?;
            languages += &chunk.languages;
            chunks.push(chunk);
            Ok(ControlFlow::Continue(()))
        })?;
        let (transformed, ids) = self.assemble(chunks, &corpus.options().memory)?;
        Ok(TransformedCorpus { transformed, ids, stats, languages })
    }

    fn assemble(&self, chunks: Vec<TransformedChunk>, memory: &MemoryLimit) -> Result<(Transformed, Ids)> {
        let mut unknown_shares = Vec::new();
        let (mut parts, mut lists) = (Vec::with_capacity(chunks.len()), Vec::with_capacity(chunks.len()));
        for chunk in chunks {
            unknown_shares.extend(chunk.unknown_shares);
            parts.push(chunk.rows);
            lists.push(chunk.ids);
        }
        let rows = join(parts, self.vocabulary.len(), memory)?;
        Ok((Transformed { rows, unknown_shares }, Ids::concat(lists, memory)?))
    }

    /// The model as bytes, little endian: version (4), length of the description (8), the
    /// description as JSON, the number of terms (8), the document frequency of each (4 each), the
    /// vocabulary.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (text, tfidf) = (self.text_options().clone(), self.tfidf);
        let description = Description { text, tfidf, n_docs: self.n_docs, split: self.split };
        let description = serde_json::to_vec(&description).expect("plain numbers and strings");
        let mut bytes = VERSION.to_le_bytes().to_vec();
        bytes.extend((description.len() as u64).to_le_bytes());
        bytes.extend(description);
        bytes.extend((self.document_frequencies.len() as u64).to_le_bytes());
        self.document_frequencies.iter().for_each(|df| bytes.extend(df.to_le_bytes()));
        bytes.extend(self.vocabulary.to_bytes());
        bytes
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`ErrorKind::NewerFormat`] for bytes of a later version; otherwise [`ErrorKind::Malformed`],
    /// or an option's own error, for bytes that it did not write. Memory is at most proportional to
    /// the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = bytes;
        let found = u32::from_le_bytes(take(&mut rest)?);
        if found > VERSION {
            return Err(ErrorKind::NewerFormat { found, supported: VERSION }.into());
        }
        let length = u64::from_le_bytes(take(&mut rest)?);
        let mut description: Description = serde_json::from_slice(take_slice(&mut rest, length)?)
            .map_err(|error| damaged("a description", error))?;
        if found < 3 {
            description.text.hyphens = Hyphens::Split;
        }
        description.tfidf.check()?;
        let tokenizer = Tokenizer::new(&description.text)?;
        let n_terms = u64::from_le_bytes(take(&mut rest)?);
        let frequencies = take_slice(&mut rest, n_terms.saturating_mul(4))?;
        let frequencies: Vec<u32> = frequencies
            .chunks_exact(4)
            .map(|df| u32::from_le_bytes(df.try_into().expect("4 bytes")))
            .collect();
        let vocabulary = Vocabulary::from_bytes(rest)?;
        if vocabulary.len() != frequencies.len() {
            return Err(damaged(format!("{} terms", frequencies.len()), vocabulary.len()));
        }
        let n_docs = description.n_docs;
        let fits = n_docs <= MAX_ROWS && frequencies.iter().all(|&df| df >= 1 && u64::from(df) <= n_docs);
        if !fits {
            return Err(damaged("document frequencies from 1 to the number of documents", n_docs));
        }
        let model = TextModel::new(tokenizer, description.tfidf, vocabulary, frequencies, n_docs);
        Ok(model.with_split(description.split))
    }
}

impl PartialEq for TextModel {
    fn eq(&self, other: &Self) -> bool {
        // Everything else is derived from these.
        self.text_options() == other.text_options()
            && (self.tfidf, self.n_docs, self.split) == (other.tfidf, other.n_docs, other.split)
            && self.document_frequencies == other.document_frequencies
            && self.vocabulary == other.vocabulary
    }
}

fn damaged(expected: impl ToString, found: impl ToString) -> Error {
    Error::malformed(FORMAT, expected.to_string(), found.to_string())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or_else(|| damaged("more bytes", "their end"))?;
    *rest = tail;
    Ok(*head)
}

fn take_slice<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8]> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (head, tail) = rest.split_at_checked(length).ok_or_else(|| damaged("more bytes", "their end"))?;
    *rest = tail;
    Ok(head)
}

/// A chunk of new documents.
#[derive(Default)]
struct TransformedChunk {
    ids: Ids,
    rows: ChunkRows,
    unknown_shares: Vec<f32>,
    languages: LanguageCounts,
    scratch: TokenizerScratch,
    found: Vec<u32>,
    counts: Vec<u64>,
}

/// A model that processes chunks.
struct Transforming<'a>(&'a TextModel);

impl ChunkWork for Transforming<'_> {
    type Output = TransformedChunk;

    fn start(&self) -> TransformedChunk {
        TransformedChunk::default()
    }

    fn document(&self, chunk: &mut TransformedChunk, document: Document<'_>) -> Result<()> {
        let model = self.0;
        let TransformedChunk { ids, rows, unknown_shares, languages, scratch, found, counts } = chunk;
        found.clear();
        let mut n_unknown = 0u64;
        let rules = model.tokenizer.rules_of(document.text);
        if model.tokenizer.detects_languages() {
            languages.add(rules.language);
        }
        model.tokenizer.for_each_term_by(rules, document.text, scratch, |term| {
            match model.vocabulary.find(term) {
                Some(id) => found.push(id.number()),
                None => n_unknown += 1,
            }
        });
        found.sort_unstable();
        counts.clear();
        let packed =
            |run: &[u32]| u64::from(run[0]) << 32 | u64::from(u32::try_from(run.len()).unwrap_or(u32::MAX));
        counts.extend(found.chunk_by(|a, b| a == b).map(packed));
        model.tfidf.weigh_row(counts, &model.idf, |term, value| {
            rows.terms.push(term);
            rows.values.push(value.to_bits());
        });
        rows.row_ends.push(rows.terms.len());
        ids.push(document.id);
        let n_found = found.len() as u64;
        unknown_shares.push((n_unknown as f64 / (n_unknown + n_found).max(1) as f64) as f32);
        Ok(())
    }

    fn finish(&self, chunk: &mut TransformedChunk) -> Result<()> {
        // The chunk stays until the end; its scratch memory does not.
        chunk.scratch = TokenizerScratch::default();
        chunk.found = Vec::new();
        chunk.counts = Vec::new();
        Ok(())
    }

    fn bytes_per_byte(&self) -> u64 {
        // The numbers of words of two bytes or more, and for distinct ones count and weight.
        self.0.tokenizer.bytes_per_byte() + 8 + 16
    }
}
