//! From a corpus to unit rows: counts terms, chooses them, weights them.
//!
//! Terms are numbered in ascending order, so the matrix depends only on the documents and their
//! order, not on threads or chunks.
//!
//! Memory: 8 bytes per distinct term of each document, first for counts, then for weights in the
//! same place, and once more while the chunks are concatenated; the ids; and the vocabulary (see
//! `vocabulary.rs`). All but the vocabulary may go to files (see `spill.rs`). The texts are not
//! kept in memory: [`Vectorizer::fit_with_texts`] writes them to a file.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rayon::prelude::*;

use super::choosing::ChosenTerms;
use super::chunk_rows::TEXTS_PER_CHUNK;
use super::counted::{CountedDocuments, DROPPED, VectorizedPart, n_provisional};
use super::counting::{Counting, N_SHARDS};
use super::document_ids::Ids;
use super::kept_counts::KeptCounts;
use super::losses::Losses;
use super::rare_terms::RareTerms;
use super::repeated_ids::count_repeated;
use super::returned_terms::Returned;
use super::rows::{MAX_ROWS, check_size};
use super::spill::{Spill, SpillFiles};
use super::term_counts::TermCounts;
use super::text_model::TextModel;
use super::tfidf::TfidfOptions;
use super::unit::UnitRows;
use crate::corpus::{ChunkWork, Corpus, CorpusStats, Document, Split};
use crate::error::Result;
use crate::memory::{MemoryLimit, NO_LIMIT};
use crate::observer::{Observer, Silent};
use crate::store::{Stores, Storing, TextStoreWriter};
use crate::text::{LanguageCounts, TextOptions, Tokenizer};
use crate::threads::on_threads;

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
    spill: Option<Spill>,
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
    pub ids: Ids,
    /// The number of documents whose id occurred before.
    pub n_repeated_ids: u64,
    /// Counts of what was read.
    pub stats: CorpusStats,
    /// Letters that reach no term.
    pub losses: Losses,
    /// The languages of the documents, if they are detected.
    pub languages: LanguageCounts,
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

    /// Where the ids of documents go, and their counts and rows if they take more memory than is
    /// stated; `None`, the default, to keep them in memory. Never changes the result, but rows and
    /// ids are in mapped files then ([`UnitRows::is_mapped`]). What of them stays in memory is
    /// limited by [`keep_resident_within`](crate::keep_resident_within). The vocabulary is in
    /// memory in any case, but for rare terms that are dropped ([`Spill::terms_bytes`]).
    ///
    /// Counts that are not written are written as rows all the same if the memory limit of the
    /// corpus leaves no room for the matrix beside them.
    ///
    /// On disk: see [`Spill`]. When the vectorizer fails or is stopped, it leaves nothing there.
    #[must_use]
    pub fn spill(mut self, spill: impl Into<Option<Spill>>) -> Self {
        self.spill = spill.into();
        self
    }

    /// Reads a corpus and turns it into rows.
    ///
    /// # Errors
    /// Options out of range; all errors of reading, see [`Corpus::for_each_document`]; `min_df`
    /// above `max_df`; more documents or terms than [`MAX_ROWS`] and
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
        self.fit_stored(corpus, Stores::default(), observer)
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
        self.fit_stored(corpus, Stores { texts: Some(texts), columns: None }, observer)
    }

    /// Like [`fit_watched`](Self::fit_watched), and keeps texts or columns for later.
    ///
    /// # Errors
    /// As [`fit_watched`](Self::fit_watched), and a store that cannot be written.
    pub fn fit_stored(
        &self,
        corpus: &Corpus,
        stores: Stores<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Vectorized> {
        let split = corpus.options().split;
        self.run(&corpus.options().memory, split, |counting| read(counting, corpus, stores, observer))
    }

    /// Turns texts into rows. Their ids are their numbers, from 1.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), except those of reading.
    pub fn fit_texts<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<Vectorized> {
        self.run(&NO_LIMIT, None, |counting| {
            count_all(counting, texts, |index, text| numbered(1, index, text))
        })
    }

    /// Reads a corpus, or a part of one, and counts the terms of its documents, without choosing
    /// terms yet. Also writes the texts to a store, if one is given.
    ///
    /// # Errors
    /// Options out of range; all errors of reading, see [`Corpus::for_each_document`]; a store that
    /// cannot be written; more terms than [`MAX_TERMS`](crate::MAX_TERMS);
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) if the observer stops the reading.
    pub fn count(
        &self,
        corpus: &Corpus,
        texts: Option<&mut TextStoreWriter>,
        observer: &mut dyn Observer,
    ) -> Result<CountedDocuments> {
        let stores = Stores { texts, columns: None };
        self.run_count(&corpus.options().memory, |counting| read(counting, corpus, stores, observer))
    }

    /// Like [`count`](Self::count), for given texts. Their ids are their numbers, from
    /// `first_number`.
    ///
    /// # Errors
    /// As [`count`](Self::count), except those of reading.
    pub fn count_texts<S: AsRef<str> + Sync>(
        &self,
        texts: &[S],
        first_number: u64,
    ) -> Result<CountedDocuments> {
        self.run_count(&NO_LIMIT, |counting| {
            count_all(counting, texts, |index, text| numbered(first_number, index, text))
        })
    }

    /// Like [`count`](Self::count), for given documents.
    ///
    /// # Errors
    /// As [`count`](Self::count), except those of reading.
    pub fn count_documents(&self, documents: &[Document<'_>]) -> Result<CountedDocuments> {
        self.run_count(&NO_LIMIT, |counting| {
            count_all(counting, documents, |_, document| (Cow::Borrowed(document.id), document.text))
        })
    }

    /// The model of a corpus, from the counts of all its parts: chooses terms and weights them.
    ///
    /// # Errors
    /// Options out of range; `min_df` above `max_df`; more documents or kept terms than
    /// [`MAX_ROWS`] and [`MAX_TERMS`](crate::MAX_TERMS).
    pub fn model(&self, counts: TermCounts) -> Result<TextModel> {
        let tokenizer = self.tokenizer()?;
        let n_docs = counts.n_documents();
        check_size("the number of rows", n_docs, MAX_ROWS)?;
        on_threads(self.n_threads, || {
            let chosen = ChosenTerms::new(&counts, &self.tfidf, n_docs, &NO_LIMIT, 0)?;
            let (vocabulary, frequencies) = chosen.into_vocabulary()?;
            Ok(TextModel::new(tokenizer, self.tfidf, vocabulary, frequencies, n_docs))
        })?
    }

    /// Checks the options.
    fn tokenizer(&self) -> Result<Tokenizer> {
        self.tfidf.check()?;
        Tokenizer::new(&self.text)
    }

    fn run_count(
        &self,
        memory: &MemoryLimit,
        count: impl FnOnce(&Counting<'_>) -> Result<Counts> + Send,
    ) -> Result<CountedDocuments> {
        let tokenizer = self.tokenizer()?;
        let counted = on_threads(self.n_threads, || self.counted(&tokenizer, memory, false, count))?;
        Ok(counted?.0)
    }

    /// The first step, on the current pool. If rare terms may leave memory, also what became of
    /// those that did.
    fn counted(
        &self,
        tokenizer: &Tokenizer,
        memory: &MemoryLimit,
        may_leave: bool,
        count: impl FnOnce(&Counting<'_>) -> Result<Counts>,
    ) -> Result<(CountedDocuments, Returned)> {
        let files = self.spill.as_ref().map(SpillFiles::new).transpose()?;
        let rare = files.as_ref().filter(|_| may_leave);
        let rare = rare
            .and_then(|files| RareTerms::new(files, |n_docs| self.tfidf.least_documents(n_docs), N_SHARDS));
        let counting = Counting::new(tokenizer, memory, files.as_ref(), rare.as_ref());
        let (counts, stats) = count(&counting)?;
        let mut shards = counting.into_shards();
        let returned = match &rare {
            Some(rare) => rare.bring_back(&mut shards, &self.tfidf, counts.n_documents, memory)?,
            None => Returned::default(),
        };
        drop(rare);
        let (text, n_threads) = (self.text.clone(), self.n_threads);
        let memory = memory.clone();
        Ok((CountedDocuments { counts, shards, files, stats, text, memory, n_threads }, returned))
    }

    /// Both steps. The counts of all documents are here, so each term's column is known from the
    /// choice, without a search.
    fn run(
        &self,
        memory: &MemoryLimit,
        split: Option<Split>,
        count: impl FnOnce(&Counting<'_>) -> Result<Counts> + Send,
    ) -> Result<Vectorized> {
        let tokenizer = self.tokenizer()?;
        on_threads(self.n_threads, || {
            let (mut counted, returned) = self.counted(&tokenizer, memory, true, count)?;
            let shards = std::mem::take(&mut counted.shards);
            let (n_docs, n_provisional) = (counted.n_documents(), n_provisional(&shards));
            // Terms that have left got another number each time.
            let files = counted.files.as_ref().filter(|_| returned.have_left);
            let beside = if files.is_some() { 0 } else { 4 * n_provisional };
            let chosen = ChosenTerms::new(&shards[..], &self.tfidf, n_docs, memory, beside)?;
            let mut final_numbers = match files {
                Some(files) => files.zeros(n_provisional)?,
                None => vec![0; n_provisional].into(),
            };
            final_numbers.fill(DROPPED);
            for (number, term) in chosen.iter().enumerate() {
                final_numbers[term.provisional as usize] = number as u32;
            }
            for (other, provisional) in returned.aliases {
                final_numbers[other as usize] = final_numbers[provisional as usize];
            }
            let mut all_letters = chosen.letters();
            all_letters += returned.letters;
            let losses = Losses::new(counted.letters(), all_letters);
            let languages = counted.languages();
            let (vocabulary, frequencies) = chosen.into_vocabulary()?;
            drop(shards);
            let model = TextModel::new(tokenizer.clone(), self.tfidf, vocabulary, frequencies, n_docs);
            let model = model.with_split(split);
            let VectorizedPart { rows, ids, stats } = counted.weigh(final_numbers, &model)?;
            let n_repeated_ids = count_repeated(&ids, memory).inspect_err(|_| {
                if let Some(path) = self.spill.as_ref().and_then(|spill| spill.rows.as_ref()) {
                    // It may be there, and is of no use.
                    let _ = std::fs::remove_file(path);
                }
            })?;
            ids.let_go();
            Ok(Vectorized { rows, model, ids, n_repeated_ids, stats, losses, languages })
        })?
    }
}

/// The counts of all chunks, in order.
type Counts = (KeptCounts, CorpusStats);

/// Counts the documents of a corpus.
fn read(
    counting: &Counting<'_>,
    corpus: &Corpus,
    mut stores: Stores<'_>,
    observer: &mut dyn Observer,
) -> Result<Counts> {
    let mut counts = KeptCounts::default();
    let stats = corpus.map_chunks(observer, &Storing::new(counting, &stores), |chunk| {
        counts.push(stores.write(chunk)?, counting.files())?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((counts, stats))
}

/// Counts given documents. `id_and_text` gets the index and the item.
fn count_all<'a, T: Sync>(
    counting: &Counting<'_>,
    items: &'a [T],
    id_and_text: impl Fn(usize, &'a T) -> (Cow<'a, str>, &'a str) + Sync,
) -> Result<Counts> {
    let chunk = |(group, items): (usize, &'a [T])| {
        let mut chunk = counting.start();
        for (position, item) in items.iter().enumerate() {
            let (id, text) = id_and_text(group * TEXTS_PER_CHUNK + position, item);
            counting.document(&mut chunk, Document::new(&id, text))?;
        }
        counting.finish(&mut chunk).map(|()| chunk)
    };
    let chunks: Result<Vec<_>> = items.par_chunks(TEXTS_PER_CHUNK).enumerate().map(chunk).collect();
    let n_documents = items.len() as u64;
    let stats = CorpusStats { n_documents, n_passages: n_documents, ..CorpusStats::default() };
    let mut counts = KeptCounts::default();
    chunks?.into_iter().try_for_each(|chunk| counts.push(chunk, counting.files()))?;
    Ok((counts, stats))
}

/// A text whose id is its number.
fn numbered<S: AsRef<str>>(first_number: u64, index: usize, text: &S) -> (Cow<'_, str>, &str) {
    (first_number.saturating_add(index as u64).to_string().into(), text.as_ref())
}

#[cfg(test)]
mod tests;
