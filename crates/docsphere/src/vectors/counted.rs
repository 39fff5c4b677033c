//! Documents whose terms are counted but not yet chosen: the first of two steps from text to rows.
//!
//! One process takes both steps with [`Vectorizer::fit`](crate::Vectorizer::fit). Several processes
//! take the first step each for their part of a corpus, add up their [`TermCounts`], make the model
//! from them ([`Vectorizer::model`](crate::Vectorizer::model)) and take the second step with it.
//! The rows are the same bits.

use std::fmt;

use rayon::prelude::*;

use super::choosing::ChosenTerms;
use super::chunk_rows::{ChunkRows, ChunkTerms, MATRIX, join, join_bytes};
use super::counting::Shard;
use super::document_ids::Ids;
use super::kept_counts::{KeptChunk, KeptCounts};
use super::spill::{RowsShape, SpillFiles};
use super::term_counts::TermCounts;
use super::text_model::TextModel;
use super::tfidf::TfidfOptions;
use super::unit::UnitRows;
use crate::corpus::CorpusStats;
use crate::error::{ErrorKind, Result};
use crate::mapping::{Spillable, give_back_freed};
use crate::memory::MemoryLimit;
use crate::text::{LanguageCounts, LetterCounts, TextOptions};
use crate::threads::on_threads;

/// Marks a provisional number whose term is dropped.
pub(super) const DROPPED: u32 = u32::MAX;

/// Documents with the counts of their terms, before terms are chosen and weighted.
///
/// [`Vectorizer::count`](crate::Vectorizer::count) makes them.
///
/// ```
/// use docsphere::{TermCounts, Vectorizer};
///
/// let texts = ["cats purr", "cats sleep", "stocks fall", "stocks rise and fall"];
/// let vectorizer = Vectorizer::new();
/// // Two workers count the terms of their documents.
/// let parts = [vectorizer.count_texts(&texts[..1], 1)?, vectorizer.count_texts(&texts[1..], 2)?];
/// // One of them, or a third, adds the counts and makes the model.
/// let mut counts = TermCounts::default();
/// parts.iter().for_each(|part| counts.add(part.term_counts()));
/// let model = vectorizer.model(counts)?;
/// // Each worker makes the rows of its documents.
/// let [first, second] = parts.map(|part| part.into_rows(&model).unwrap());
///
/// let whole = vectorizer.fit_texts(&texts)?;
/// assert_eq!(model, whole.model);
/// assert_eq!(first.rows.row(0), whole.rows.row(0));
/// assert_eq!(second.rows.row(2), whole.rows.row(3));
/// assert_eq!(second.ids, ["2", "3", "4"]);
/// # Ok::<(), docsphere::Error>(())
/// ```
pub struct CountedDocuments {
    pub(super) counts: KeptCounts,
    /// Those that the counts may be in.
    pub(super) files: Option<SpillFiles>,
    pub(super) shards: Vec<Shard>,
    pub(super) stats: CorpusStats,
    pub(super) text: TextOptions,
    pub(super) memory: MemoryLimit,
    pub(super) n_threads: Option<usize>,
}

/// The rows of a part of a corpus.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VectorizedPart {
    /// One row per document; zero rows are documents without any kept term.
    pub rows: UnitRows<'static>,
    /// The id of each document.
    pub ids: Ids,
    /// Counts of what was read.
    pub stats: CorpusStats,
}

impl CountedDocuments {
    /// The number of documents; of passages, if documents are split.
    pub fn n_documents(&self) -> u64 {
        self.counts.n_documents
    }

    /// Counts of what was read.
    pub fn stats(&self) -> &CorpusStats {
        &self.stats
    }

    /// The letters of a sample of the documents, and the rules that drop them.
    pub fn letters(&self) -> LetterCounts {
        self.counts.letters
    }

    /// The languages of the documents, if they are detected.
    pub fn languages(&self) -> LanguageCounts {
        self.counts.languages.clone()
    }

    /// The terms of these documents, with the number of documents and occurrences of each.
    pub fn term_counts(&self) -> TermCounts {
        let counts = || TermCounts::from_terms(self.n_documents(), &ChosenTerms::all(&self.shards[..]));
        // Refused only if the system cannot start threads; the caller's pool will do.
        on_threads(self.n_threads, counts).unwrap_or_else(|_| counts())
    }

    /// The rows over the terms of a model, which was made from the counts of these documents and
    /// all others of the corpus.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if the model has other options for text; more documents than
    /// [`MAX_ROWS`](crate::MAX_ROWS); not enough memory.
    pub fn into_rows(mut self, model: &TextModel) -> Result<VectorizedPart> {
        if *model.text_options() != self.text {
            return Err(ErrorKind::Mismatch {
                what: "the text options of the model",
                expected: "those with which the documents were counted".to_owned(),
                got: "others".to_owned(),
            }
            .into());
        }
        on_threads(self.n_threads, || {
            let shards = std::mem::take(&mut self.shards);
            let n_provisional = n_provisional(&shards);
            // The columns of all terms, by shard and in one list.
            self.memory.check(MATRIX, 8 * n_provisional as u64)?;
            let columns = |shard: &Shard| -> Vec<(u32, u32)> {
                let column = |term| model.vocabulary().find(term).map(|id| id.number());
                shard
                    .counted()
                    .filter_map(|counted| Some((counted.provisional, column(counted.term)?)))
                    .collect()
            };
            let columns: Vec<Vec<(u32, u32)>> = shards.par_iter().map(columns).collect();
            drop(shards);
            let mut final_numbers = vec![DROPPED; n_provisional];
            for (provisional, column) in columns.into_iter().flatten() {
                final_numbers[provisional as usize] = column;
            }
            self.weigh(final_numbers.into(), model)
        })?
    }

    /// Turns the counts into rows. `final_numbers` maps provisional numbers to columns.
    pub(super) fn weigh(self, final_numbers: Spillable<u32>, model: &TextModel) -> Result<VectorizedPart> {
        let CountedDocuments { counts, files, stats, memory, .. } = self;
        let n_threads = counts.chunks.len().min(rayon::current_num_threads());
        // The longest row on each thread; the list may be twice as long while it grows.
        memory.check(MATRIX, (2 * 8 * counts.longest_row * n_threads) as u64)?;
        let (n_rows, n_terms) = (counts.n_documents as usize, model.vocabulary().len());
        let shape = RowsShape { n_rows, n_terms, most_nnz: counts.nnz };
        let largest = counts.largest_chunk;
        let (options, idf) = (model.tfidf_options(), model.idf());
        let files = files.as_ref();
        let (chunks, ids) = counts.into_parts(&memory, files)?;
        let weighed = |chunk: KeptChunk| Ok(weigh(chunk.into_terms(files)?, &final_numbers, options, idf));
        let rows = match files {
            Some(files) if files.in_use() => {
                memory.check(MATRIX, SpillFiles::weighing_bytes(largest))?;
                files.write_rows(chunks, shape, weighed)?
            }
            _ => {
                let chunks = chunks.into_par_iter().map(weighed).collect::<Result<Vec<_>>>()?;
                drop(final_numbers);
                match files {
                    // Chunk by chunk, what is written is freed.
                    Some(files) if memory.check(MATRIX, join_bytes(&chunks)).is_err() => {
                        files.write_rows(chunks, shape, Ok)?
                    }
                    _ => join(chunks, n_terms, &memory)?,
                }
            }
        };
        // Chunks of counts were some hundred kilobytes each, between what is kept.
        give_back_freed();
        Ok(VectorizedPart { rows, ids, stats })
    }
}

impl fmt::Debug for CountedDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedDocuments").field("stats", &self.stats).finish_non_exhaustive()
    }
}

/// Upper bound (exclusive) of the provisional numbers.
pub(super) fn n_provisional(shards: &[Shard]) -> usize {
    shards.iter().map(Shard::provisional_end).max().unwrap_or(0)
}

/// Turns counts into unit rows, in the memory of the counts.
fn weigh(chunk: ChunkTerms, final_numbers: &[u32], options: &TfidfOptions, idf: &[f64]) -> ChunkRows {
    let ChunkTerms { mut row_ends, mut terms, counts: mut values } = chunk;
    let mut row: Vec<u64> = Vec::new();
    let (mut start, mut written) = (0, 0);
    for row_end in &mut row_ends {
        let found = start..*row_end;
        row.clear();
        for (&term, &count) in terms[found.clone()].iter().zip(&values[found]) {
            let column = final_numbers[term as usize];
            if column != DROPPED {
                row.push(u64::from(column) << 32 | u64::from(count));
            }
        }
        row.sort_unstable();
        // A row never grows, so the write position never passes the read position.
        options.weigh_row(&row, idf, |term, value| {
            terms[written] = term;
            values[written] = value.to_bits();
            written += 1;
        });
        start = *row_end;
        *row_end = written;
    }
    terms.truncate(written);
    values.truncate(written);
    ChunkRows { row_ends, terms, values }
}
