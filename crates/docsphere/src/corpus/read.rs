//! Reading a corpus: one thread cuts, the pool parses, results come back in order.

use std::io::BufRead;
use std::iter::repeat_n;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rayon::Scope;

use super::ahead::{Ahead, n_unpacking};
use super::chunk::{Chunk, InputContext, LONG_BYTES, LONG_RECORD, SendChunk};
use super::document::{ChunkTally, Document, NumberedId};
use super::encoding::Guesses;
use super::extract::Messages;
use super::format::CorpusFormat;
use super::html::{Html, plain};
use super::in_flight::{InFlight, LEAST_BYTES, Next};
use super::input::{Corpus, Input, Source};
use super::kept::Kept;
use super::piece::CorpusPiece;
use super::split::for_each_passage;
use super::stats::{CorpusStats, EncodingName};
use super::{delimited, folder, jsonl, lines, parquet_input, sheet};
use crate::error::{ErrorKind, Result};
use crate::observer::{Event, Observer, Silent};

/// Chunks per thread that are cut and not yet taken: one that is parsed, one that waits for that,
/// and one whose result waits for those before it.
const CHUNKS_PER_THREAD: usize = 3;

/// Chunks per thread that are decompressed and not yet cut, where threads decompress ahead.
const CHUNKS_AHEAD: usize = 2;

/// Copies of a long text that [`plain`] makes at most.
const HTML_COPIES: u64 = 2;

/// What takes the memory, for messages.
const DOCUMENTS: &str = "the documents";

/// The work done on the documents of a chunk, on a thread of the pool.
pub(crate) trait ChunkWork: Sync {
    /// The result for a chunk.
    type Output: Send;

    /// Called before the first document.
    fn start(&self) -> Self::Output;

    /// Called for each document, in order.
    fn document(&self, output: &mut Self::Output, document: Document<'_>) -> Result<()>;

    /// Called after the last document.
    fn finish(&self, output: &mut Self::Output) -> Result<()>;

    /// Bytes of memory per byte of a long document while it is processed, in addition to what the
    /// work itself requests.
    fn bytes_per_byte(&self) -> u64;
}

/// What all threads that read a corpus add to.
#[derive(Clone, Default)]
struct Shared {
    /// Bytes read from all files, before decompression.
    n_bytes: Arc<AtomicU64>,
    guesses: Arc<Guesses>,
}

impl Shared {
    fn complete(&self, stats: &mut CorpusStats) {
        stats.bytes_read = self.n_bytes.load(Ordering::Relaxed);
        let (n_guessed, encoding) = self.guesses.total();
        stats.n_guessed_encodings = n_guessed;
        stats.guessed_encoding = encoding.and_then(EncodingName::new);
    }
}

/// A chunk and the index of its input.
struct CutChunk {
    input: usize,
    chunk: Box<dyn Chunk>,
}

/// The result for a chunk, its counts, and the index of its input.
type Parsed<W> = Result<(<W as ChunkWork>::Output, ChunkTally, usize)>;

/// A reading of a corpus.
struct Parsing<'a, W: ChunkWork> {
    work: &'a W,
    shared: &'a Shared,
    in_flight: InFlight<Parsed<W>>,
    /// The files that other threads decompress.
    ahead: Option<Arc<Ahead>>,
}

/// Cuts an input into chunks: the only place that maps formats to their files. `unpacked` is the
/// decompressed file, if other threads decompress it.
fn cut_input(
    input: &Input,
    unpacked: Option<Box<dyn BufRead>>,
    context: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let bytes = || unpacked.map_or_else(|| input.bytes(context), Ok);
    let text = |bytes: Result<Box<dyn BufRead>>| input.text(bytes?, context);
    match (input.format, &input.source) {
        (CorpusFormat::Lines, _) => lines::cut(text(bytes())?, context, send),
        (CorpusFormat::JsonLines, _) => jsonl::cut(text(bytes())?, context, send),
        (CorpusFormat::Csv | CorpusFormat::Tsv, _) => {
            delimited::cut(input.format, text(bytes())?, context, send)
        }
        (CorpusFormat::Parquet, _) => {
            let groups = input.piece().and_then(CorpusPiece::row_groups);
            parquet_input::cut(&input.seekable()?, groups, context, send)
        }
        (CorpusFormat::Sheet, _) => {
            let file = input.seekable()?;
            let n_bytes = file.metadata().map_or(0, |found| found.len());
            let flow = delimited::cut(input.format, sheet::rows(file, context.options)?, context, send)?;
            // The reader jumps around in the file.
            context.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
            Ok(flow)
        }
        (CorpusFormat::Mbox, _) => Messages::cut(bytes()?, context, send),
        (CorpusFormat::Folder, Source::Folder(list)) => folder::cut(&list.files, context, send),
        (CorpusFormat::Folder, Source::Piece { files, .. }) => folder::cut(files, context, send),
        (CorpusFormat::Folder, _) => unreachable!("only a folder has this format"),
    }
}

impl Corpus {
    /// Reads everything: `work` processes the documents of each chunk on a thread of the current
    /// rayon pool; `sink` gets the results in order and may end the reading.
    pub(crate) fn map_chunks<W: ChunkWork>(
        &self,
        observer: &mut dyn Observer,
        work: &W,
        mut sink: impl FnMut(W::Output) -> Result<ControlFlow<()>>,
    ) -> Result<CorpusStats> {
        let shared = Shared::default();
        let room = CHUNKS_PER_THREAD * rayon::current_num_threads() * self.chunk_bytes;
        let mut stats = CorpusStats::default();
        for input in &self.inputs {
            if let Source::Folder(list) = &input.source {
                stats.add(list.left_out.clone(), &input.path);
            }
        }
        self.options.memory.check(DOCUMENTS, 0)?;
        let n_threads = self.n_unpacking.unwrap_or_else(|| n_unpacking(rayon::current_num_threads()));
        let ahead = (n_threads > 0).then(|| self.ahead(&shared));
        let parsing = Parsing { work, shared: &shared, in_flight: InFlight::new(room), ahead };
        let is_whole = rayon::in_place_scope(|pool| {
            thread::scope(|threads| {
                // Whatever ends the reading, the cutter must not wait for room any more.
                let _closing = parsing.in_flight.closes_on_drop();
                threads.spawn(|| self.cut(&parsing, pool));
                for ahead in parsing.ahead.iter().flat_map(|ahead| repeat_n(ahead, n_threads)) {
                    threads.spawn(move || ahead.unpack());
                }
                self.take_all(&parsing, &mut stats, observer, &mut sink)
            })
        })?;
        shared.complete(&mut stats);
        // A piece is only a part: whoever has all counts checks them.
        if is_whole && self.inputs.iter().all(|input| input.piece().is_none()) {
            stats.check_encoding(&self.options)?;
            stats.check_fields(&self.options)?;
        }
        Ok(stats)
    }

    /// Takes all results, in order. Returns whether the sink wanted all of them.
    fn take_all<W: ChunkWork>(
        &self,
        Parsing { shared, in_flight, .. }: &Parsing<'_, W>,
        stats: &mut CorpusStats,
        observer: &mut dyn Observer,
        sink: &mut impl FnMut(W::Output) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        loop {
            let (output, tally, input) = match in_flight.next() {
                Next::Taken(result) => result?,
                Next::Ended => return Ok(true),
                // The scope of the tasks passes on the panic.
                Next::Lost => return Ok(false),
            };
            stats.add(tally, &self.inputs[input].path);
            if sink(output)?.is_break() {
                return Ok(false);
            }
            self.options.memory.check(DOCUMENTS, 0)?;
            let event = Event::Reading {
                bytes_read: shared.n_bytes.load(Ordering::Relaxed),
                bytes_total: self.bytes_total,
                n_documents: stats.n_documents,
            };
            if observer.observe(&event).is_break() {
                return Err(ErrorKind::Stopped { stage: "reading" }.into());
            }
        }
    }

    /// Cuts all inputs, in order, and has the pool parse each chunk. Ends when the receiver wants
    /// no more.
    fn cut<'scope, W: ChunkWork>(&'scope self, parsing: &'scope Parsing<'_, W>, pool: &Scope<'scope>) {
        let in_flight = &parsing.in_flight;
        let _ending = in_flight.ends_on_drop();
        let _closing = parsing.ahead.as_ref().map(|ahead| ahead.closes_on_drop());
        for (number, input) in self.inputs.iter().enumerate() {
            let mut send = |chunk: Box<dyn Chunk>| {
                let n_bytes = chunk.n_bytes().max(LEAST_BYTES);
                let Some(place) = in_flight.enter(n_bytes) else { return ControlFlow::Break(()) };
                pool.spawn(move |_| {
                    if place.is_wanted() {
                        place.fill(self.run(parsing, CutChunk { input: number, chunk }));
                    }
                });
                in_flight.spawned();
                ControlFlow::Continue(())
            };
            let unpacked = parsing.ahead.as_ref().and_then(|ahead| ahead.reader(number));
            match cut_input(input, unpacked, &self.context(input, parsing.shared), &mut send) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => {
                    if let Some(place) = in_flight.enter(0) {
                        place.fill(Err(error.at_path(&input.path)));
                    }
                    return;
                }
            }
        }
    }

    /// The files that may be decompressed ahead.
    fn ahead(&self, shared: &Shared) -> Arc<Ahead> {
        use CorpusFormat::{Csv, JsonLines, Lines, Mbox, Tsv};
        let is_stream = |(_, input): &(usize, &Input)| {
            matches!(input.source, Source::File)
                && matches!(input.format, Lines | JsonLines | Csv | Tsv | Mbox)
        };
        let files = self.inputs.iter().enumerate().filter(is_stream);
        let files = files.map(|(number, input)| (number, input.path.clone())).collect();
        let room = CHUNKS_AHEAD * rayon::current_num_threads() * self.chunk_bytes;
        Ahead::new(files, room, Arc::clone(&shared.n_bytes))
    }

    fn context<'a>(&'a self, input: &'a Input, shared: &'a Shared) -> InputContext<'a> {
        InputContext {
            id_prefix: &input.id_prefix,
            options: &self.options,
            chunk_bytes: self.chunk_bytes,
            first_line: input.piece().map_or(1, CorpusPiece::first_line),
            is_part: input.piece().is_some_and(CorpusPiece::is_part),
            n_bytes: &shared.n_bytes,
            guesses: &shared.guesses,
        }
    }

    /// Parses a chunk, on a thread of the pool.
    fn run<W: ChunkWork>(
        &self,
        &Parsing { work, shared, .. }: &Parsing<'_, W>,
        CutChunk { input: number, chunk }: CutChunk,
    ) -> Parsed<W> {
        let input = &self.inputs[number];
        let mut output = work.start();
        let memory = &self.options.memory;
        let first_line = chunk.first_line();
        let name = input.path.to_string_lossy();
        let html = self.options.html;
        let mut n_passages = 0;
        let bytes_per_byte = work.bytes_per_byte()
            + if html == Html::Keep { 0 } else { HTML_COPIES }
            + u64::from(self.options.split.is_some()); // a paragraph without line ends
        // The memory of a long record is reserved while it is processed: other threads have long
        // ones, too.
        let _parsing = match first_line {
            Some(line) if chunk.n_bytes() > LONG_BYTES => {
                let beside = chunk.parse_bytes();
                let more = beside.saturating_add(bytes_per_byte * chunk.n_bytes() as u64);
                let asked = memory.reserve(LONG_RECORD, more);
                Some(asked.map_err(|error| error.at_path(&input.path).at_line(line))?)
            }
            _ => None,
        };
        let tally = chunk.parse(&self.context(input, shared), &mut |document| {
            let _working = if first_line.is_none() && document.text.len() > LONG_BYTES {
                Some(memory.reserve(LONG_RECORD, bytes_per_byte * document.text.len() as u64)?)
            } else {
                None
            };
            let text = plain(document.text, html);
            let kept = document.kept.of_input(&name, input.format);
            let Some(split) = self.options.split else {
                n_passages += 1;
                return work.document(&mut output, Document { text: &text, kept, ..document });
            };
            let mut id = NumberedId::new(&format!("{}#", document.id));
            let mut number = 0;
            let passages = for_each_passage(&text, split, &mut |passage| {
                number += 1;
                work.document(&mut output, Document { id: id.with(number), text: passage, kept })
            });
            n_passages += number;
            passages
        });
        let mut tally = tally.map_err(|error| error.at_path(&input.path))?;
        tally.n_passages = n_passages;
        drop(chunk);
        work.finish(&mut output)?;
        Ok((output, tally, number))
    }

    /// Calls `document` for every document, in order, on this thread; parsing runs on the current
    /// rayon pool.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged; a record that cannot be read, unless bad records
    /// are skipped.
    pub fn for_each_document(&self, document: impl FnMut(Document<'_>)) -> Result<CorpusStats> {
        self.for_each_document_watched(&mut Silent, document)
    }

    /// Like [`for_each_document`](Self::for_each_document), with an observer, which may stop the
    /// reading.
    ///
    /// # Errors
    /// As [`for_each_document`](Self::for_each_document), and [`ErrorKind::Stopped`] if the
    /// observer stops the reading.
    pub fn for_each_document_watched(
        &self,
        observer: &mut dyn Observer,
        mut document: impl FnMut(Document<'_>),
    ) -> Result<CorpusStats> {
        let work = Copied { keeps_columns: !self.options.keep.is_nothing() };
        self.map_chunks(observer, &work, |chunk| {
            chunk.for_each(&mut document);
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Copies the documents of a chunk unchanged.
struct Copied {
    keeps_columns: bool,
}

/// Documents concatenated in two strings.
#[derive(Default)]
struct CopiedChunk {
    ids: String,
    texts: String,
    /// End of each document's id and text.
    ends: Vec<(usize, usize)>,
    /// The kept values of each document, if columns are kept.
    kept: Vec<Vec<(String, String)>>,
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
        if self.keeps_columns {
            let values = document.kept.values().iter();
            chunk.kept.push(values.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect());
        }
        Ok(())
    }

    fn finish(&self, _: &mut CopiedChunk) -> Result<()> {
        Ok(())
    }

    fn bytes_per_byte(&self) -> u64 {
        2 // a copy that may be twice as long while it grows
    }
}

impl CopiedChunk {
    fn n_documents(&self) -> usize {
        self.ends.len()
    }

    fn document(&self, index: usize) -> Document<'_> {
        let start = if index == 0 { (0, 0) } else { self.ends[index - 1] };
        let end = self.ends[index];
        Document::new(&self.ids[start.0..end.0], &self.texts[start.1..end.1])
    }

    fn for_each(&self, mut each: impl FnMut(Document<'_>)) {
        for index in 0..self.n_documents() {
            let document = self.document(index);
            let Some(values) = self.kept.get(index) else {
                each(document);
                continue;
            };
            let values: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            each(Document { kept: Kept::new(&values, 0), ..document });
        }
    }
}
