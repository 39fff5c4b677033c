//! The whole job, as the coordinator sees it.

use super::link::{Link, Traffic, Transport};
use super::message::{Answer, Begin, Documents, Reading, Request, Shape, to_json};
use super::packed::{Packed, damaged};
use super::remote::{DELTA_ENTRIES, RemoteShards};
use super::team::Team;
use crate::corpus::{Corpus, CorpusOptions, CorpusPiece, CorpusStats};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::{Finished, FitOptions, LoopOptions, Params, ValidParams, restore, run_all};
use crate::ids::DocId;
use crate::model::Model;
use crate::observer::{Event, Observer};
use crate::record::{Device, StopReason, Trace};
use crate::shards::Shards;
use crate::summary::{ClusterSummary, SummaryOptions, summarize_source};
use crate::text::TextOptions;
use crate::threads::on_threads;
use crate::vectors::{
    MAX_ROWS, RowWeights, TermCounts, TextModel, TfidfOptions, Vectorizer, WeightScale, WeightTotal,
};

/// Pieces of the corpus per worker: more of them are of more equal size.
const PIECES_PER_WORKER: usize = 8;

/// Runs a job on workers: reads documents, makes rows, clusters them.
///
/// Memory: the vocabulary while documents are read; centroids and their sums, and the deltas of
/// some clusters, in the loop. Labels are in a temporary file, 4 bytes per document. Neither rows
/// nor texts are ever here.
pub struct Coordinator<'a> {
    team: Team<'a>,
    /// The rows of each worker, once they are known.
    shapes: Option<Vec<Shape>>,
}

/// The documents that workers have read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DistributedRead {
    /// Turns new documents into rows over the same terms.
    pub model: TextModel,
    /// Counts of what was read.
    pub stats: CorpusStats,
}

/// How documents become rows.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DistributedText {
    /// How text becomes terms.
    pub text: TextOptions,
    /// How terms are weighted and chosen.
    pub tfidf: TfidfOptions,
    /// Whether the workers keep the texts, for the documents that summaries show.
    pub keep_texts: bool,
}

impl DistributedText {
    /// Options for documents whose texts are kept, or not.
    pub fn new(text: TextOptions, tfidf: TfidfOptions, keep_texts: bool) -> Self {
        DistributedText { text, tfidf, keep_texts }
    }

    fn reading(&self, documents: Documents) -> Result<Reading> {
        let (text, tfidf) = (to_json(&self.text)?, to_json(&self.tfidf)?);
        Ok(Reading { documents, text, tfidf, keep_texts: self.keep_texts })
    }
}

impl<'a> Coordinator<'a> {
    /// A coordinator of these workers.
    pub fn new(transport: &'a mut dyn Transport) -> Self {
        Coordinator { team: Team::new(Link::new(transport)), shapes: None }
    }

    /// Divides a corpus among the workers, which must see the same files, and lets them turn it
    /// into rows.
    ///
    /// # Errors
    /// As [`Vectorizer::fit`]; inputs that cannot be divided; a worker that is lost again and
    /// again.
    pub fn read(
        &mut self,
        corpus: &Corpus,
        text: &DistributedText,
        observer: &mut dyn Observer,
    ) -> Result<DistributedRead> {
        let options = corpus.options();
        let expected = "nothing: workers keep no columns";
        Error::unless(options.keep.is_nothing(), "keep", expected, "some")?;
        self.team.shapes()?;
        let groups = self.pieces(corpus)?;
        let reading = |pieces: &Vec<CorpusPiece>| {
            text.reading(Documents::Pieces { pieces: to_json(pieces)?, options: to_json(options)? })
        };
        let readings: Result<Vec<Reading>> = groups.iter().map(reading).collect();
        let bytes: Vec<u64> =
            groups.iter().map(|group| group.iter().map(CorpusPiece::n_bytes).sum()).collect();
        self.vectorize(readings?, &bytes, text, observer, options)
    }

    /// Lets the workers turn texts that they were given into rows.
    ///
    /// # Errors
    /// As [`Vectorizer::fit_texts`]; a worker without texts, or one that is lost again and again.
    pub fn read_given(
        &mut self,
        text: &DistributedText,
        observer: &mut dyn Observer,
    ) -> Result<DistributedRead> {
        let mut first_number = 1;
        let mut readings = Vec::new();
        for shape in self.team.shapes()? {
            let shape = shape.ok_or_else(|| without("texts"))?;
            readings.push(text.reading(Documents::Given { first_number })?);
            first_number += shape.n_docs;
        }
        let bytes = vec![0; readings.len()];
        self.vectorize(readings, &bytes, text, observer, &CorpusOptions::default())
    }

    /// Consecutive pieces for each worker, of similar size in all.
    fn pieces(&mut self, corpus: &Corpus) -> Result<Vec<Vec<CorpusPiece>>> {
        let n_workers = self.team.n_workers();
        let pieces = corpus.pieces(PIECES_PER_WORKER * n_workers)?;
        let total: u64 = pieces.iter().map(CorpusPiece::n_bytes).sum();
        let mut groups: Vec<Vec<CorpusPiece>> = vec![Vec::new(); n_workers];
        let mut before = 0u64;
        for piece in pieces {
            let middle = u128::from(before) + u128::from(piece.n_bytes() / 2);
            before += piece.n_bytes();
            let worker = middle * n_workers as u128 / u128::from(total.max(1));
            groups[(worker as usize).min(n_workers - 1)].push(piece);
        }
        self.number_lines(&mut groups)?;
        Ok(groups)
    }

    /// Finds the line numbers of pieces from the middle of files.
    fn number_lines(&mut self, groups: &mut [Vec<CorpusPiece>]) -> Result<()> {
        self.team.link.stage = "counting lines";
        let lines = self.team.surely(|team| {
            let mut lines = vec![Vec::new(); groups.len()];
            let request = |pieces: &Vec<CorpusPiece>| {
                let request = || Ok(Request::CountLines { pieces: to_json(pieces)? });
                (!pieces.is_empty()).then(request).transpose()
            };
            let requests: Result<Vec<Option<Request>>> = groups.iter().map(request).collect();
            team.link.ask_each(requests?, |worker, answer| {
                let Answer::Lines(found) = answer else { return Err(damaged()) };
                lines[worker] = found;
                Ok(())
            })?;
            Ok(lines.concat())
        })?;
        let mut all = groups.concat();
        CorpusPiece::number_lines(&mut all, &lines)?;
        let mut all = all.into_iter();
        for group in groups {
            group.iter_mut().zip(&mut all).for_each(|(piece, numbered)| *piece = numbered);
        }
        Ok(())
    }

    fn vectorize(
        &mut self,
        readings: Vec<Reading>,
        bytes: &[u64],
        text: &DistributedText,
        observer: &mut dyn Observer,
        options: &CorpusOptions,
    ) -> Result<DistributedRead> {
        let (mut counts, mut stats) = (CountTree::default(), CorpusStats::default());
        let bytes_total = bytes.iter().sum();
        let mut bytes_read = 0;
        self.team.read(readings, |worker, answer| {
            let Answer::Counted { read, terms } = answer else { return Err(damaged()) };
            counts.add(TermCounts::from_bytes(&terms.0)?);
            stats += read;
            bytes_read += bytes[worker];
            let event = Event::Reading { bytes_read, bytes_total, n_documents: stats.n_documents };
            if observer.observe(&event).is_break() {
                return Err(ErrorKind::Stopped { stage: "reading" }.into());
            }
            Ok(())
        })?;
        stats.check_encoding(options)?;
        stats.check_fields(options)?;
        let vectorizer = Vectorizer::new().text(text.text.clone()).tfidf(text.tfidf);
        let model = vectorizer.model(counts.total())?.with_split(options.split);
        self.shapes = Some(self.team.vectorize(Packed(model.to_bytes()))?);
        Ok(DistributedRead { model, stats })
    }

    /// Clusters the rows of the workers: those that they were given, or made from documents.
    ///
    /// # Errors
    /// As [`ValidParams::fit_with`]; workers whose rows do not fit each other; a worker that is
    /// lost again and again.
    pub fn fit(mut self, params: &ValidParams, options: FitOptions<'_>) -> Result<DistributedFit<'a>> {
        let params = params.params();
        let shapes = match self.shapes.take() {
            Some(shapes) => shapes,
            None => {
                let given = self.team.shapes()?.into_iter().collect::<Option<Vec<Shape>>>();
                given.filter(|given| !given.is_empty()).ok_or_else(|| without("rows"))?
            }
        };
        check(&shapes)?;
        let scale = self.weight_scale(&shapes)?;
        let mut shards = RemoteShards::new(self.team, begins(&shapes, params, scale)?)?;
        let facts = shards.facts();
        let weights = scale.unwrap_or(RowWeights::UNIFORM.scale());
        let outcome = on_threads(params.n_threads, || {
            run_all(&mut shards, facts, weights, params, LoopOptions::new(options))
        })??;
        let Finished { model, objective, n_iter, stop, trace } =
            outcome.finished(params, scale.is_some(), facts.n_rows);
        let n_without_terms = facts.n_rows - facts.n_nonzero_rows;
        let n_documents = facts.n_rows;
        Ok(DistributedFit {
            model,
            objective,
            n_iter,
            stop,
            trace,
            n_documents,
            n_without_terms,
            n_threads: params.n_threads,
            shards,
        })
    }

    /// The scale of the weights of all rows; `None` without weights.
    fn weight_scale(&mut self, shapes: &[Shape]) -> Result<Option<WeightScale>> {
        if !shapes[0].has_weights {
            return Ok(None);
        }
        self.team.link.stage = "adding up the weights";
        let total = self.team.surely(|team| {
            let mut greatest = i32::MIN;
            team.link.ask_all(&Request::Weights { ceiling: None }, |_, answer| {
                let Answer::Ceiling(Some(ceiling)) = answer else { return Err(damaged()) };
                greatest = greatest.max(ceiling);
                Ok(())
            })?;
            let mut total: Option<WeightTotal> = None;
            team.link.ask_all(&Request::Weights { ceiling: Some(greatest) }, |_, answer| {
                let Answer::Weights(found) = answer else { return Err(damaged()) };
                total = Some(total.map_or(found, |total| total.plus(found)));
                Ok(())
            })?;
            total.ok_or_else(damaged)
        })?;
        total.scale().map(Some)
    }
}

/// The result of a fit on workers. Labels and similarities stay with them.
pub struct DistributedFit<'a> {
    /// Centroids and their provenance.
    pub model: Model,
    /// The weighted sum of the similarities: the quantity that the algorithm maximises.
    pub objective: f64,
    /// The number of iterations.
    pub n_iter: usize,
    /// Why the run ended.
    pub stop: StopReason,
    /// The record of the run, iteration by iteration.
    pub trace: Trace,
    /// The number of documents of all workers.
    pub n_documents: usize,
    /// How many of them have no terms.
    pub n_without_terms: usize,
    n_threads: Option<usize>,
    shards: RemoteShards<'a>,
}

impl DistributedFit<'_> {
    /// Summarises every cluster, as [`summarize`](crate::summarize) does. `model` has these
    /// centroids, and may have names of terms.
    ///
    /// # Errors
    /// A worker that is lost again and again.
    pub fn summarize(&mut self, model: &Model, options: SummaryOptions) -> Result<Vec<ClusterSummary>> {
        self.shards.set_stage("summarising");
        let n_threads = self.n_threads;
        self.surely(|shards| on_threads(n_threads, move || summarize_source(shards, model, options))?)
    }

    /// Ids and texts of some documents. Texts are there if the workers kept them.
    ///
    /// # Errors
    /// A worker that is lost again and again, or cannot read its texts.
    pub fn documents(&mut self, docs: &[DocId]) -> Result<Vec<(String, Option<String>)>> {
        self.shards.set_stage("fetching texts");
        let docs: Vec<u32> = docs.iter().map(|doc| doc.number()).collect();
        self.surely(|shards| shards.documents(&docs))
    }

    /// Sends bytes to the [`Extension`](super::Extension) of each worker, by its number, and
    /// returns the answers. May be repeated for a worker that was lost.
    ///
    /// # Errors
    /// Those of the extension; a worker that is lost again and again.
    pub fn extend(&mut self, stage: &'static str, requests: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        self.shards.set_stage(stage);
        self.surely(|shards| shards.extend(requests.to_vec()))
    }

    /// The clusters of all documents, in order; -1 for none. Takes 4 bytes per document.
    ///
    /// # Errors
    /// If the file that holds them cannot be read.
    pub fn labels(&self) -> Result<Vec<i32>> {
        Ok(self.shards.kept_labels()?.into_iter().map(|label| label as i32).collect())
    }

    /// Messages so far.
    pub fn traffic(&self) -> Traffic {
        self.shards.traffic()
    }

    /// The number of the first document of each worker.
    pub fn first_docs(&self) -> &[usize] {
        self.shards.first_docs()
    }

    /// Repeats a step until no worker is lost in it.
    fn surely<T>(&mut self, step: impl Fn(&mut RemoteShards<'_>) -> Result<T>) -> Result<T> {
        let mut result = step(&mut self.shards);
        loop {
            let error = match result {
                Ok(done) => {
                    self.shards.progressed();
                    return Ok(done);
                }
                Err(error) => error,
            };
            if !self.shards.recover(&error)? {
                return Err(error);
            }
            let (shards, centroids) = (&mut self.shards, self.model.centroids());
            let iteration = self.trace.iterations.len() - 1;
            result = restore(shards, centroids, iteration).and_then(|()| step(shards));
        }
    }
}

impl std::fmt::Debug for DistributedFit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DistributedFit").field("objective", &self.objective).finish_non_exhaustive()
    }
}

/// Term counts that are added up in pairs of similar size: each term is merged as often as the
/// number of workers has bits.
#[derive(Default)]
struct CountTree {
    /// Place i is empty or has the counts of `2^i` workers.
    levels: Vec<Option<TermCounts>>,
}

impl CountTree {
    fn add(&mut self, mut counts: TermCounts) {
        for level in &mut self.levels {
            match level.take() {
                Some(other) => counts.add(other),
                None => {
                    *level = Some(counts);
                    return;
                }
            }
        }
        self.levels.push(Some(counts));
    }

    fn total(self) -> TermCounts {
        let mut total = TermCounts::default();
        self.levels.into_iter().flatten().for_each(|counts| total.add(counts));
        total
    }
}

fn without(what: &str) -> ErrorKind {
    ErrorKind::Mismatch {
        what: "a worker",
        expected: format!("one with {what} of its own"),
        got: "one without".to_owned(),
    }
}

/// Checks that the rows of all workers fit each other.
fn check(shapes: &[Shape]) -> Result<()> {
    let first = shapes[0];
    if let Some(other) = shapes.iter().find(|shape| shape.n_terms != first.n_terms) {
        let number = |n_terms: Option<u64>| n_terms.map_or("unknown".to_owned(), |n| n.to_string());
        let expected = format!("{} with every worker, as with the first", number(first.n_terms));
        let (what, got) = ("the number of terms of the rows", number(other.n_terms));
        return Err(ErrorKind::Mismatch { what, expected, got }.into());
    }
    if shapes.iter().any(|shape| shape.has_weights != first.has_weights) {
        let (expected, got) = ("given to all workers or to none".to_owned(), "to some".to_owned());
        return Err(ErrorKind::Mismatch { what: "row weights", expected, got }.into());
    }
    Ok(())
}

/// How each worker begins.
fn begins(shapes: &[Shape], params: &Params, scale: Option<WeightScale>) -> Result<Vec<Begin>> {
    let is_cpu = params.device == Device::Cpu;
    Error::unless(is_cpu, "device", "cpu with workers of a cluster", params.device)?;
    let n_docs: u64 = shapes.iter().map(|shape| shape.n_docs).sum();
    if n_docs > MAX_ROWS {
        return Err(ErrorKind::TooLarge { what: "the number of rows", limit: MAX_ROWS, got: n_docs }.into());
    }
    let mut first_doc = 0;
    let begin = |shape: &Shape| {
        let begin = Begin {
            first_doc,
            n_docs,
            strategy: params.strategy,
            lambdas: params.lambdas.clone(),
            index_min_changed: params.index_min_changed as u64,
            simd: params.simd,
            scale,
            small_delta: DELTA_ENTRIES / shapes.len() as u64,
        };
        first_doc += shape.n_docs;
        begin
    };
    Ok(shapes.iter().map(begin).collect())
}
