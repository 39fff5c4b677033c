//! Reading a corpus: one thread cuts, the pool parses, results come back in order.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rayon::prelude::*;

use super::chunks::{self, Chunk};
use super::input::Corpus;
use super::parse::{self, ChunkTally, Document};
use crate::error::{Error, ErrorKind, Result};
use crate::observer::{Event, Observer, Silent};

/// Chunks a thread takes at a time: enough that threads seldom wait for the slowest, few enough for the memory.
const CHUNKS_A_THREAD: usize = 2;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorpusStats {
    /// Documents read.
    pub n_documents: u64,
    /// Records left out because they could not be read.
    pub n_bad_records: u64,
    /// Documents with bytes that were not UTF-8 and have been replaced.
    pub n_invalid_utf8: u64,
    /// Bytes read from the files, before they were unpacked.
    pub bytes_read: u64,
}

/// A document that was asked for by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentText {
    /// Its number in the corpus, from 0.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// What is done with the documents of a chunk, on a thread of the pool.
pub(crate) trait ChunkWork: Sync {
    /// What becomes of a chunk.
    type Output: Send;

    /// Before the first document.
    fn start(&self) -> Self::Output;

    /// For each document, in order.
    fn document(&self, output: &mut Self::Output, document: Document<'_>) -> Result<()>;

    /// After the last document.
    fn finish(&self, output: &mut Self::Output) -> Result<()>;
}

impl Corpus {
    /// Reads everything: `work` sees the documents of each chunk on a thread of the current rayon pool, `sink` gets the results in order
    /// and may end the reading.
    pub(crate) fn map_chunks<W: ChunkWork>(
        &self,
        observer: &mut dyn Observer,
        work: &W,
        mut sink: impl FnMut(W::Output) -> ControlFlow<()>,
    ) -> Result<CorpusStats> {
        let n_bytes = Arc::new(AtomicU64::new(0));
        let batch_chunks = CHUNKS_A_THREAD * rayon::current_num_threads();
        let mut stats = CorpusStats::default();
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(batch_chunks);
            let cutter_bytes = Arc::clone(&n_bytes);
            scope.spawn(move || {
                let mut send = |chunk| match sender.send(Ok(chunk)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()), // nobody wants more
                };
                if let Err(error) = chunks::cut(self, &cutter_bytes, &mut send) {
                    let _ = sender.send(Err(error));
                }
            });
            loop {
                let batch = next_batch(&receiver, batch_chunks);
                if batch.is_empty() {
                    stats.bytes_read = n_bytes.load(Ordering::Relaxed);
                    return Ok(stats);
                }
                let results: Vec<Result<(W::Output, ChunkTally)>> =
                    batch.into_par_iter().map(|chunk| self.run(work, &chunk?, &n_bytes)).collect();
                for result in results {
                    let (output, tally) = result?;
                    stats.n_documents += tally.n_documents;
                    stats.n_bad_records += tally.n_bad_records;
                    stats.n_invalid_utf8 += tally.n_invalid_utf8;
                    if sink(output).is_break() {
                        stats.bytes_read = n_bytes.load(Ordering::Relaxed);
                        return Ok(stats);
                    }
                }
                let event = Event::Reading {
                    bytes_read: n_bytes.load(Ordering::Relaxed),
                    bytes_total: self.bytes_total,
                    n_documents: stats.n_documents,
                };
                if observer.observe(&event).is_break() {
                    return Err(ErrorKind::Stopped { stage: "reading" }.into());
                }
            }
        })
    }

    fn run<W: ChunkWork>(
        &self,
        work: &W,
        chunk: &Chunk,
        n_bytes: &Arc<AtomicU64>,
    ) -> Result<(W::Output, ChunkTally)> {
        let mut output = work.start();
        let tally = parse::parse(self, chunk, n_bytes, &mut |document| work.document(&mut output, document))?;
        work.finish(&mut output)?;
        Ok((output, tally))
    }

    /// Calls `document` for every document, in order, on this thread; parsing is spread over the current rayon pool.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged; a record that cannot be read, unless such are skipped; a stop by the observer.
    pub fn for_each_document(
        &self,
        observer: Option<&mut dyn Observer>,
        mut document: impl FnMut(Document<'_>),
    ) -> Result<CorpusStats> {
        let mut silent = Silent;
        let observer = observer.unwrap_or(&mut silent);
        self.map_chunks(observer, &Copied, |chunk| {
            chunk.iter().for_each(&mut document);
            ControlFlow::Continue(())
        })
    }

    /// Reads the inputs again and returns the documents with these numbers (counted from 0, ascending), for example the representatives of
    /// clusters. Stops behind the last of them. Costs one pass over the files, without cutting texts into terms.
    ///
    /// # Errors
    /// As [`for_each_document`](Corpus::for_each_document); [`ErrorKind::Parameter`] if the numbers do not ascend strictly, and
    /// [`ErrorKind::Mismatch`] if the corpus has no such document.
    pub fn read_selected(&self, numbers: &[u64]) -> Result<Vec<DocumentText>> {
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] >= pair[1]) {
            let got = format!("{} before {}", pair[0], pair[1]);
            Error::unless(false, "numbers", "strictly ascending", got)?;
        }
        let mut texts = Vec::with_capacity(numbers.len());
        if numbers.is_empty() {
            return Ok(texts);
        }
        let mut first = 0;
        let stats = self.map_chunks(&mut Silent, &Copied, |chunk| {
            let end = first + chunk.n_documents() as u64;
            while let Some(&number) = numbers.get(texts.len()).filter(|&&number| number < end) {
                let Document { id, text } = chunk.document((number - first) as usize);
                texts.push(DocumentText { number, id: id.to_owned(), text: text.to_owned() });
            }
            first = end;
            if texts.len() == numbers.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(number) = numbers.get(texts.len()) {
            let expected = format!("below {}, the number of documents", stats.n_documents);
            let got = number.to_string();
            return Err(ErrorKind::Mismatch { what: "a document number", expected, got }.into());
        }
        Ok(texts)
    }
}

/// The next chunks: at least one, unless there are no more.
fn next_batch(receiver: &Receiver<Result<Chunk>>, size: usize) -> Vec<Result<Chunk>> {
    receiver.iter().take(size).collect()
}

/// Keeps the documents of a chunk as they are.
struct Copied;

/// Documents one after the other in two texts.
#[derive(Default)]
struct CopiedChunk {
    ids: String,
    texts: String,
    /// Where each document's id and text end.
    ends: Vec<(usize, usize)>,
}

impl ChunkWork for Copied {
    type Output = CopiedChunk;

    fn start(&self) -> CopiedChunk {
        CopiedChunk::default()
    }

    fn document(&self, chunk: &mut CopiedChunk, document: Document<'_>) -> Result<()> {
        chunk.ids.push_str(document.id);
        chunk.texts.push_str(document.text);
        chunk.ends.push((chunk.ids.len(), chunk.texts.len()));
        Ok(())
    }

    fn finish(&self, _: &mut CopiedChunk) -> Result<()> {
        Ok(())
    }
}

impl CopiedChunk {
    fn n_documents(&self) -> usize {
        self.ends.len()
    }

    fn document(&self, index: usize) -> Document<'_> {
        let start = if index == 0 { (0, 0) } else { self.ends[index - 1] };
        let end = self.ends[index];
        Document { id: &self.ids[start.0..end.0], text: &self.texts[start.1..end.1] }
    }

    fn iter(&self) -> impl Iterator<Item = Document<'_>> {
        (0..self.n_documents()).map(|index| self.document(index))
    }
}
