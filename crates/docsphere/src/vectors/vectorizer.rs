//! From a corpus to unit rows: counts terms, chooses them, weights them.
//!
//! Terms are numbered in ascending order, so the matrix depends only on the documents and their
//! order, not on threads or chunks.
//!
//! Memory: 8 bytes per distinct term of each document, first for counts, then for weights in the
//! same place, and once more while the chunks are concatenated; the ids; and the vocabulary (see
//! `vocabulary.rs`). The texts are not kept in memory: [`Vectorizer::fit_with_texts`] writes them
//! to a file.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::chunk_rows::{ChunkRows, MATRIX, TEXTS_PER_CHUNK, join};
use super::counting::{ChunkCounts, CountedTerm, Counting, Shard};
use super::text_model::TextModel;
use super::tfidf::TfidfOptions;
use super::unit::UnitRows;
use super::vocabulary::Vocabulary;
use crate::corpus::{ChunkWork, Corpus, CorpusStats, Document};
use crate::error::Result;
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::observer::{Observer, Silent};
use crate::store::{Storing, TextStoreWriter};
use crate::text::{TextOptions, Tokenizer};
use crate::threads::on_threads;

/// Marks a provisional number whose term is dropped.
const DROPPED: u32 = u32::MAX;

/// Turns documents into TF-IDF rows of length one.
///
/// ```
/// use docsphere::{SphericalKMeans, Vectorizer};
///
/// let texts =
///     ["cats purr and cats sleep", "a cat may purr", "stocks fall", "stocks rise and fall"];
/// let vectorized = Vectorizer::new().fit_texts(&texts)?;
/// assert_eq!(vectorized.rows.n_rows(), 4);
/// let fit = SphericalKMeans::params(2).seed(1).fit(&vectorized.rows)?;
/// assert_eq!(fit.labels.as_slice()[2], fit.labels.as_slice()[3]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectorizer {
    text: TextOptions,
    tfidf: TfidfOptions,
    n_threads: Option<usize>,
}

/// A corpus as rows, and the model fitted to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Vectorized {
    /// One row per document; zero rows are documents without any kept term.
    pub rows: UnitRows<'static>,
    /// Turns new documents into rows over the same terms.
    pub model: TextModel,
    /// The id of each document.
    pub ids: Vec<String>,
    /// The number of documents whose id occurred before.
    pub n_repeated_ids: u64,
    /// Counts of what was read.
    pub stats: CorpusStats,
}

impl Vectorized {
    /// The number of documents without any kept term. They cannot be clustered.
    pub fn n_docs_without_terms(&self) -> usize {
        self.rows.zero_rows().len()
    }
}

impl Vectorizer {
    /// A vectorizer with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// How text becomes terms.
    #[must_use]
    pub fn text(mut self, options: TextOptions) -> Self {
        self.text = options;
        self
    }

    /// How terms are weighted and chosen.
    #[must_use]
    pub fn tfidf(mut self, options: TfidfOptions) -> Self {
        self.tfidf = options;
        self
    }

    /// The number of threads; `None`, the default, for one per core. Never changes the result.
    #[must_use]
    pub fn n_threads(mut self, n_threads: impl Into<Option<usize>>) -> Self {
        self.n_threads = n_threads.into();
        self
    }

    /// Reads a corpus and turns it into rows.
    ///
    /// # Errors
    /// Options out of range; all errors of reading, see [`Corpus::for_each_document`]; `min_df`
    /// above `max_df`; more documents or terms than [`MAX_ROWS`](crate::MAX_ROWS) and
    /// [`MAX_TERMS`](crate::MAX_TERMS).
    pub fn fit(&self, corpus: &Corpus) -> Result<Vectorized> {
        self.fit_watched(corpus, &mut Silent)
    }

    /// Like [`fit`](Self::fit), with an observer, which may stop the reading.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) if the observer
    /// stops the reading.
    pub fn fit_watched(&self, corpus: &Corpus, observer: &mut dyn Observer) -> Result<Vectorized> {
        self.run(&corpus.options().memory, move |counting| {
            let mut chunks = Vec::new();
            let stats = corpus.map_chunks(observer, counting, |chunk| {
                chunks.push(chunk);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((chunks, stats))
        })
    }

    /// Like [`fit`](Self::fit), but also writes the texts to a store, so that the corpus need not
    /// be read again.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and a store that cannot be written.
    pub fn fit_with_texts(&self, corpus: &Corpus, texts: &mut TextStoreWriter) -> Result<Vectorized> {
        self.fit_with_texts_watched(corpus, texts, &mut Silent)
    }

    /// Like [`fit_with_texts`](Self::fit_with_texts), with an observer, which may stop the reading.
    ///
    /// # Errors
    /// As [`fit_with_texts`](Self::fit_with_texts), and
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) if the observer stops the reading.
    pub fn fit_with_texts_watched(
        &self,
        corpus: &Corpus,
        texts: &mut TextStoreWriter,
        observer: &mut dyn Observer,
    ) -> Result<Vectorized> {
        self.run(&corpus.options().memory, move |counting| {
            let mut chunks = Vec::new();
            let stats = corpus.map_chunks(observer, &Storing::new(counting), |chunk| {
                let (counts, blocks) = chunk.into_parts();
                texts.write_chunk(blocks)?;
                chunks.push(counts);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((chunks, stats))
        })
    }

    /// Turns texts into rows. Their ids are their numbers, from 1.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), except those of reading.
    pub fn fit_texts<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<Vectorized> {
        self.run(&NO_LIMIT, |counting| {
            let chunk = |(group, texts): (usize, &[S])| {
                let mut chunk = counting.start();
                for (position, text) in texts.iter().enumerate() {
                    let id = (group * TEXTS_PER_CHUNK + position + 1).to_string();
                    counting.document(&mut chunk, Document { id: &id, text: text.as_ref() })?;
                }
                counting.finish(&mut chunk).map(|()| chunk)
            };
            let chunks: Result<Vec<_>> = texts.par_chunks(TEXTS_PER_CHUNK).enumerate().map(chunk).collect();
            let stats = CorpusStats { n_documents: texts.len() as u64, ..CorpusStats::default() };
            Ok((chunks?, stats))
        })
    }

    fn run(
        &self,
        memory: &MemoryLimit,
        count: impl FnOnce(&Counting<'_>) -> Result<(Vec<ChunkCounts>, CorpusStats)> + Send,
    ) -> Result<Vectorized> {
        self.tfidf.check()?;
        let tokenizer = Tokenizer::new(&self.text)?;
        on_threads(self.n_threads, || {
            let counting = Counting::new(&tokenizer, memory);
            let (chunks, stats) = count(&counting)?;
            let shards = counting.into_shards();
            let n_docs = stats.n_documents;
            let chosen = choose(&shards, &self.tfidf, n_docs, memory)?;
            drop(shards);
            let model = TextModel::new(
                tokenizer.clone(),
                self.tfidf,
                chosen.vocabulary,
                chosen.document_frequencies,
                n_docs,
            );
            memory.check(MATRIX, weighing_bytes(&chunks))?;
            let chunks = chunks
                .into_par_iter()
                .map(|chunk| weigh(chunk, &chosen.final_numbers, &self.tfidf, model.idf()))
                .collect();
            drop(chosen.final_numbers);
            let (rows, ids) = join(chunks, model.vocabulary().len(), memory)?;
            memory.check("the ids of the documents", (size_of::<&str>() * ids.len()) as u64)?;
            let n_repeated_ids = count_repeated(&ids);
            Ok(Vectorized { rows, model, ids, n_repeated_ids, stats })
        })?
    }
}

/// The kept terms.
struct Chosen {
    vocabulary: Vocabulary,
    document_frequencies: Vec<u32>,
    /// Maps provisional number to column.
    final_numbers: Vec<u32>,
}

/// Bytes per kept term while terms are chosen: twice in a sorted list, in the vocabulary, and in
/// the model.
const CHOSEN_TERM_BYTES: usize = 40 + 48 + 8 + 10 + 12;

/// Memory for weighting: the longest row of a document, on each thread.
fn weighing_bytes(chunks: &[ChunkCounts]) -> u64 {
    let longest = |chunk: &ChunkCounts| {
        let starts = [0].into_iter().chain(chunk.row_ends.iter().copied());
        chunk.row_ends.iter().zip(starts).map(|(end, start)| end - start).max().unwrap_or(0)
    };
    let longest = chunks.iter().map(longest).max().unwrap_or(0);
    // The list may be twice as long while it grows.
    (2 * 8 * longest * chunks.len().min(rayon::current_num_threads())) as u64
}

/// Chooses the terms and numbers them in ascending order.
fn choose(shards: &[Shard], options: &TfidfOptions, n_docs: u64, memory: &MemoryLimit) -> Result<Chosen> {
    let may_stay = options.document_filter(n_docs)?;
    let n_kept = |(number, shard): (usize, &Shard)| {
        shard.counted(number).filter(|counted| may_stay(counted.n_docs)).count()
    };
    let n_kept: usize = shards.par_iter().enumerate().map(n_kept).sum();
    let n_provisional = shards.iter().map(Shard::provisional_end).max().unwrap_or(0);
    let text_bytes: usize = shards.iter().map(Shard::text_bytes).sum();
    // The text of the vocabulary may be twice as long while it grows.
    let needed = CHOSEN_TERM_BYTES * n_kept + 4 * n_provisional + 2 * text_bytes;
    memory.check("the vocabulary", needed as u64)?;
    let mut kept: Vec<CountedTerm<'_>> = shards
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, shard)| shard.counted(number).filter(|counted| may_stay(counted.n_docs)))
        .collect();
    if let Some(max_terms) = options.max_terms.filter(|&max_terms| max_terms < kept.len()) {
        kept.par_sort_unstable_by(|a, b| {
            b.n_occurrences.cmp(&a.n_occurrences).then_with(|| a.term.cmp(b.term))
        });
        kept.truncate(max_terms);
    }
    // The first eight bytes decide most comparisons, without access to the text.
    let mut sorted: Vec<(u64, CountedTerm<'_>)> =
        kept.into_par_iter().map(|counted| (first_bytes(counted.term), counted)).collect();
    sorted.par_sort_unstable_by(|(a_first, a), (b_first, b)| {
        a_first.cmp(b_first).then_with(|| a.term.cmp(b.term))
    });
    let mut final_numbers = vec![DROPPED; n_provisional];
    for (number, (_, counted)) in sorted.iter().enumerate() {
        final_numbers[counted.provisional as usize] = number as u32;
    }
    Ok(Chosen {
        vocabulary: Vocabulary::from_sorted(sorted.iter().map(|(_, counted)| counted.term))?,
        // At most MAX_ROWS, which is checked when the rows are joined.
        document_frequencies: sorted.iter().map(|(_, counted)| counted.n_docs as u32).collect(),
        final_numbers,
    })
}

/// The first eight bytes as a number, so that numbers are ordered like the terms.
fn first_bytes(term: &str) -> u64 {
    let mut first = [0; 8];
    let length = term.len().min(8);
    first[..length].copy_from_slice(&term.as_bytes()[..length]);
    u64::from_be_bytes(first)
}

/// Turns counts into unit rows, in the memory of the counts.
fn weigh(chunk: ChunkCounts, final_numbers: &[u32], options: &TfidfOptions, idf: &[f64]) -> ChunkRows {
    let ChunkCounts { ids, mut row_ends, mut terms, counts: mut values, .. } = chunk;
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
    ChunkRows { ids, row_ends, terms, values }
}

/// The number of ids that occurred before.
fn count_repeated(ids: &[String]) -> u64 {
    let mut sorted: Vec<&str> = ids.par_iter().map(String::as_str).collect();
    sorted.par_sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64
}

#[cfg(test)]
mod tests;
