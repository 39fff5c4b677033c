//! A worker: one shard of the rows, and the answers to the coordinator's requests.
//!
//! A worker has a thread of its own, which owns its data and lives as long as it; parallel work runs
//! on a pool of the given size. It knows the number of the last request: if an answer was lost on
//! its way, the request comes again, and is answered again without being done again. Every worker
//! has a random number, its *incarnation*: a worker that replaces a lost one has another, so that a
//! request for the lost one is recognised.
//!
//! **Memory.** The shard's rows, labels and strategy as in a run on one machine; all centroids; the
//! last answer.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::message::{
    Answer, Begin, Centers, Head, PROTOCOL, PassedDocuments, Request, Shape, decode, encode,
};
use super::packed::{Packed, damaged, unpack_all_labels};
use crate::assign::{AssignerSettings, Step};
use crate::centroids::{Centroid, Centroids, Moved, Movement};
use crate::error::{Error, ErrorKind, Result};
use crate::labels::Labels;
use crate::seeding::{Buckets, Lowered};
use crate::shards::{LocalShard, RowFacts, ShardSettings};
use crate::simd::Level;
use crate::threads::on_threads;
use crate::update::{Candidate, Fitting, Refill, Touched};
use crate::vectors::{Row, RowWeights, UnitRows, WeightTotal};

/// A delta with at most this many entries is sent with the answer to a pass.
const SMALL_DELTA: usize = 1 << 20;

/// One worker of a cluster.
///
/// It is given its rows, or told by the coordinator which documents to read; from then on, everything
/// goes through [`handle`](Self::handle).
#[derive(Debug)]
pub struct ShardWorker {
    mailbox: Sender<Mail>,
}

/// The documents of a worker and their clusters, after a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShardView<'a> {
    /// The rows.
    pub rows: &'a UnitRows<'a>,
    /// The ids of the documents; none if the worker was given rows.
    pub ids: &'a [String],
    /// The number of the first document.
    pub first_doc: u64,
    /// The cluster of each document.
    pub labels: Labels,
    /// The similarity of each document to its centroid.
    pub similarities: &'a [f64],
}

/// Something that is done with the documents of a worker; `None` if there was no run.
type Look = Box<dyn FnOnce(Option<ShardView<'_>>) + Send>;

/// What a worker does beside its own requests, with bytes that only the caller understands.
pub type Extension = Box<dyn Fn(ShardView<'_>, &[u8]) -> Result<Vec<u8>, String> + Send>;

/// What reaches the thread of a worker.
enum Mail {
    Load(Own, Sender<()>),
    Look(Look),
    Request { head: Vec<u8>, body: Vec<u8>, answer: Sender<Vec<u8>> },
}

/// The data of a worker.
#[derive(Default)]
struct Own {
    rows: Option<UnitRows<'static>>,
    weights: Option<Vec<f64>>,
}

impl ShardWorker {
    /// A worker without rows, on `n_threads` threads. Texts are kept in files in `scratch`.
    /// `extension` answers [`Coordinator::extend`](super::Coordinator::extend).
    ///
    /// # Errors
    /// If the system refuses to start a thread.
    pub fn new(n_threads: usize, scratch: impl Into<PathBuf>, extension: Extension) -> Result<Self> {
        crate::threads::check(Some(n_threads))?;
        let (mailbox, mail) = channel();
        let scratch = scratch.into();
        let live = move || {
            let life = Life::new(mail, scratch, extension);
            // Without a pool there is no one to answer: whoever asks is told.
            let _ = on_threads(Some(n_threads), || life.live());
        };
        let thread = thread::Builder::new().name("docsphere worker".to_owned()).spawn(live);
        thread.map_err(|error| Error::io("start threads", error))?;
        Ok(ShardWorker { mailbox })
    }

    /// Gives the worker its rows, and their weights if there are any.
    ///
    /// # Errors
    /// Weights that are not one per row, or not finite, or negative.
    pub fn load_rows(&self, rows: UnitRows<'static>, weights: Option<Vec<f64>>) -> Result<()> {
        if let Some(weights) = &weights {
            RowWeights::check(weights, rows.n_rows())?;
        }
        self.load(Own { rows: Some(rows), weights });
        Ok(())
    }

    fn load(&self, own: Own) {
        let (done, loaded) = channel();
        if self.mailbox.send(Mail::Load(own, done)).is_ok() {
            // An error means that the thread has ended, as the next request will tell.
            let _ = loaded.recv();
        }
    }

    /// Does something with the documents and their clusters, on the worker's threads. `None` if there
    /// has been no run.
    pub fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(ShardView<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, found) = channel();
        let look: Look = Box::new(move |view| {
            let _ = sender.send(view.map(work));
        });
        self.mailbox.send(Mail::Look(look)).ok()?;
        found.recv().ok().flatten()
    }

    /// Answers a request. Failures are part of the answer.
    pub fn handle(&self, request: &[u8], shared: &[u8]) -> Vec<u8> {
        let (answer, answered) = channel();
        let mail = Mail::Request { head: request.to_vec(), body: shared.to_vec(), answer };
        let sent = self.mailbox.send(mail).ok();
        sent.and_then(|()| answered.recv().ok()).unwrap_or_else(|| {
            let message = "the worker broke off; this is a defect of docsphere, please report it";
            encode(&Answer::Failed { message: message.to_owned() })
        })
    }
}

/// The thread of a worker.
struct Life {
    mail: Receiver<Mail>,
    scratch: PathBuf,
    extension: Extension,
    incarnation: u64,
    /// The number of the last request that was done, and its answer.
    last: Option<(u64, Vec<u8>)>,
    /// To whom the present request is to be answered, and its number.
    asking: Option<(u64, Sender<Vec<u8>>)>,
}

/// What a worker has to do next.
enum Next {
    Load(Own, Sender<()>),
    Look(Look),
    Request(Request),
}

impl Life {
    fn new(mail: Receiver<Mail>, scratch: PathBuf, extension: Extension) -> Self {
        // The standard library's hashers have random keys: a random number without another crate.
        let incarnation = RandomState::new().hash_one(thread::current().id()) | 1;
        Life { mail, scratch, extension, incarnation, last: None, asking: None }
    }

    fn live(mut self) {
        let mut own = Own::default();
        let mut next = self.next();
        while let Some(now) = next.take() {
            next = match now {
                Next::Load(loaded, done) => {
                    own = loaded;
                    let _ = done.send(());
                    self.next()
                }
                Next::Look(look) => {
                    look(None);
                    self.next()
                }
                Next::Request(Request::Begin(begin)) => self.serve(&own, &begin),
                Next::Request(Request::Hello) => {
                    self.reply(Ok(Answer::Hello { incarnation: self.incarnation, shape: own.shape() }));
                    self.next()
                }
                Next::Request(request) => {
                    let answer = own.answer(request);
                    self.reply(answer);
                    self.next()
                }
            };
        }
    }

    /// Waits for the next thing to do. `None` if nobody can ask any more.
    fn next(&mut self) -> Option<Next> {
        loop {
            let (head, body, answer) = match self.mail.recv().ok()? {
                Mail::Load(own, done) => return Some(Next::Load(own, done)),
                Mail::Look(look) => return Some(Next::Look(look)),
                Mail::Request { head, body, answer } => (head, body, answer),
            };
            let refused = match decode::<Head>(&head) {
                Err(_) => Some(failed(&damaged())),
                Ok(head) if head.protocol != PROTOCOL => {
                    let message = format!(
                        "speaks version {PROTOCOL} of the protocol, the coordinator version {}; install the same docsphere everywhere",
                        head.protocol
                    );
                    Some(Answer::Failed { message })
                }
                Ok(head) if ![0, self.incarnation].contains(&head.incarnation) => Some(Answer::Lost),
                Ok(head) => {
                    if let Some((sequence, bytes)) = &self.last
                        && *sequence == head.sequence
                        && head.incarnation == self.incarnation
                    {
                        let _ = answer.send(bytes.clone());
                        continue;
                    }
                    match head.own.map_or_else(|| decode(&body), Ok) {
                        Ok(request) => {
                            self.asking = Some((head.sequence, answer));
                            return Some(Next::Request(request));
                        }
                        Err(error) => Some(failed(&error)),
                    }
                }
            };
            if let Some(refused) = refused {
                let _ = answer.send(encode(&refused));
            }
        }
    }

    /// Answers the present request. The coordinator may have given up meanwhile.
    fn reply(&mut self, answer: Result<Answer>) {
        let bytes = encode(&answer.unwrap_or_else(|error| failed(&error)));
        if let Some((sequence, asking)) = self.asking.take() {
            let _ = asking.send(bytes.clone());
            self.last = Some((sequence, bytes));
        }
    }

    /// Serves runs over the rows until something else is to be done.
    fn serve(&mut self, own: &Own, begin: &Begin) -> Option<Next> {
        let (rows, weights, settings) = match own.ready(begin) {
            Ok(ready) => ready,
            Err(error) => {
                self.reply(Err(error));
                return self.next();
            }
        };
        let shard =
            LocalShard::new(begin.first_doc as usize, rows.part(0..rows.n_rows()), weights, &settings);
        let facts = RowFacts::of(rows, &weights);
        let mut serving = Serving { shard, rows, begin, centroids: None };
        self.reply(Ok(Answer::Begun(facts)));
        loop {
            match self.next()? {
                Next::Look(look) => look(serving.view()),
                Next::Request(Request::Extend { bytes }) => {
                    let done = match serving.view() {
                        Some(view) => (self.extension)(view, &bytes.0),
                        None => Err(out_of_turn().to_string()),
                    };
                    self.reply(Ok(match done {
                        Ok(bytes) => Answer::Extended(Packed(bytes)),
                        Err(message) => Answer::Failed { message },
                    }));
                }
                Next::Request(request) if !matches!(request, Request::Begin(_) | Request::Hello) => {
                    let answer = serving.answer(request);
                    self.reply(answer);
                }
                other => return Some(other),
            }
        }
    }
}

impl Own {
    fn shape(&self) -> Option<Shape> {
        let rows = self.rows.as_ref()?;
        let (n_docs, n_terms) = (rows.n_rows() as u64, rows.n_terms() as u64);
        Some(Shape { n_docs, n_terms, has_weights: self.weights.is_some() })
    }

    fn answer(&self, request: Request) -> Result<Answer> {
        match request {
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

    /// Everything that a shard is made of.
    fn ready(&self, begin: &Begin) -> Result<(&UnitRows<'static>, RowWeights<'_>, ShardSettings)> {
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
        let assigner = AssignerSettings { lambdas, index_min_changed, level };
        Ok((rows, weights, ShardSettings { strategy: begin.strategy, assigner }))
    }
}

/// A shard during runs.
struct Serving<'a> {
    shard: LocalShard<'a>,
    rows: &'a UnitRows<'static>,
    begin: &'a Begin,
    centroids: Option<Centroids>,
}

impl Serving<'_> {
    fn answer(&mut self, request: Request) -> Result<Answer> {
        match request {
            Request::BeginSeeding { bucket_docs, search } => {
                self.shard.clear();
                self.centroids = None;
                let buckets = Buckets::of_size(self.begin.n_docs as usize, bucket_docs as usize);
                Ok(Answer::Totals(Packed::of_numbers(self.shard.begin_seeding(buckets, search))))
            }
            Request::Pick { buckets } => {
                Ok(Answer::Picked(buckets.into_iter().map(|bucket| self.picked(bucket as usize)).collect()))
            }
            Request::Row { doc } => Ok(Answer::Row(Packed::of_rows([self.row(doc)?]))),
            Request::Take { doc } => Ok(Answer::Lowered(Packed::of_lowered(self.take(doc)))),
            Request::Absorb { seed } => {
                let seed = seed.reader().seed()?;
                let mut lowered = self.shard.absorb(self.checked(seed.row.as_row())?);
                lowered.extend(self.take(seed.doc));
                Ok(Answer::Lowered(Packed::of_lowered(lowered)))
            }
            Request::Join { first_member, seeds, again } => {
                let judged = self.judge(&again);
                let seeds = seeds.reader().seeds()?;
                let rows: Result<Vec<Row<'_>>> =
                    seeds.iter().map(|seed| self.checked(seed.row.as_row())).collect();
                Ok(Answer::Joined { gains: self.shard.join(first_member, &rows?), judged })
            }
            Request::Judge { members } => Ok(Answer::Judged(self.judge(&members))),
            Request::AbsorbMember { member, doc } => {
                let row = self.has(doc).then(|| self.row(doc)).transpose()?;
                let row = row.map(|row| Packed::of_rows([row]));
                if !self.shard.search_mut().has_list(member) {
                    return Ok(Answer::Absorbed { lowered: None, row });
                }
                let mut lowered = self.shard.search_mut().absorb_member(member);
                lowered.extend(self.take(doc));
                Ok(Answer::Absorbed { lowered: Some(Packed::of_lowered(lowered)), row })
            }
            Request::EndSeeding => {
                self.shard.end_seeding();
                Ok(Answer::Done)
            }
            Request::Checksums => {
                let [rows, weights] = self.shard.checksums();
                let n_rows = 8 * self.rows.n_rows() as u64;
                Ok(Answer::Checksums {
                    rows: (rows.finalize(), n_rows + 8 * self.rows.nnz() as u64),
                    weights: (weights.finalize(), n_rows),
                })
            }
            Request::Start { labels } => {
                let labels = labels.as_ref().map(unpack_all_labels).transpose()?;
                if labels.as_ref().is_some_and(|labels| labels.len() != self.rows.n_rows()) {
                    return Err(damaged());
                }
                self.centroids = None;
                self.shard.start(labels.as_deref())?;
                Ok(Answer::Done)
            }
            Request::Pass(centers) => self.pass(&centers),
            Request::Worst { after, n } => {
                let after = after.map(|(similarity, doc)| Fitting { similarity, doc });
                let found = self.shard.worst(after, n as usize);
                let fitting = |found: &Candidate| (found.fitting.similarity, found.fitting.doc, found.label);
                let row = |found: &Candidate| Centroid {
                    terms: found.terms.as_ref().into(),
                    values: found.values.clone(),
                };
                let rows: Vec<Centroid> = found.iter().map(row).collect();
                Ok(Answer::Worst {
                    fitting: found.iter().map(fitting).collect(),
                    rows: Packed::of_rows(rows.iter().map(Centroid::as_row)),
                })
            }
            Request::Refill { refills } => {
                for (doc, cluster) in refills {
                    if self.has(doc) {
                        self.shard.refill(&Refill { doc, cluster });
                    }
                }
                Ok(Answer::Touched(pairs(&self.shard.touched_by_refills())))
            }
            Request::Delta { first, last } => {
                Ok(Answer::Delta(Packed::of_delta(&self.shard.delta(first..=last))))
            }
            Request::Keep => {
                self.shard.keep();
                Ok(Answer::Done)
            }
            Request::Hello | Request::Weights { .. } | Request::Begin(_) | Request::Extend { .. } => {
                Err(out_of_turn())
            }
        }
    }

    fn view(&self) -> Option<ShardView<'_>> {
        let kept = self.shard.kept()?;
        Some(ShardView {
            rows: self.rows,
            ids: &[],
            first_doc: self.begin.first_doc,
            labels: Labels::from(kept),
            similarities: &kept.similarities,
        })
    }

    /// Whether a document is here.
    fn has(&self, doc: u32) -> bool {
        let first = self.begin.first_doc;
        (first..first + self.rows.n_rows() as u64).contains(&u64::from(doc))
    }

    fn row(&self, doc: u32) -> Result<Row<'_>> {
        if !self.has(doc) {
            return Err(damaged());
        }
        Ok(self.rows.row(self.shard.position(doc)))
    }

    /// A row of another worker, whose terms must be those of these rows.
    fn checked<'a>(&self, row: Row<'a>) -> Result<Row<'a>> {
        let fits = row.terms.last().is_none_or(|&last| (last as usize) < self.rows.n_terms());
        if fits { Ok(row) } else { Err(damaged()) }
    }

    fn take(&mut self, doc: u32) -> Vec<Lowered> {
        if !self.has(doc) {
            return Vec::new();
        }
        let position = self.shard.position(doc) as u32; // fits: at most MAX_ROWS
        vec![self.shard.search_mut().take(position)]
    }

    fn judge(&mut self, members: &[u32]) -> Vec<Option<u64>> {
        members.iter().map(|&member| self.shard.search_mut().judge(member)).collect()
    }

    /// The documents of a bucket that have weight, in order: number, weight, and row. Of equal rows
    /// only the first is there; the others have 1 in its place.
    fn picked(&self, bucket: usize) -> Packed {
        let mut packed = Packed::default();
        let mut before: Option<Row<'_>> = None;
        for drawable in self.shard.drawable(bucket) {
            let row = self.rows.row(self.shard.position(drawable.doc));
            packed.push(u64::from(drawable.doc));
            packed.push(drawable.weight);
            let is_same = before.is_some_and(|before| before == row);
            packed.push(u64::from(is_same));
            if !is_same {
                packed.push_row(row);
                before = Some(row);
            }
        }
        packed
    }

    fn pass(&mut self, centers: &Centers) -> Result<Answer> {
        let (n_clusters, n_terms) = (centers.n_clusters as usize, centers.n_terms as usize);
        if n_terms != self.rows.n_terms() {
            return Err(damaged());
        }
        let centroids = match &mut self.centroids {
            Some(centroids) if centers.changes && centroids.n_clusters() == n_clusters => centroids,
            _ if centers.changes => return Err(out_of_turn()),
            found => found.insert(Centroids::new(n_terms, vec![Centroid::default(); n_clusters])),
        };
        let mut movement = Movement::none(n_clusters);
        let (mut reader, mut moved) = (centers.rows.reader(), centers.moved.iter());
        while !reader.is_empty() {
            let cluster = reader.short()? as usize;
            let row = reader.row()?;
            if cluster >= n_clusters || row.terms.last().is_some_and(|&last| last as usize >= n_terms) {
                return Err(damaged());
            }
            centroids.set(cluster, row);
            if let Some(&(squared_distance, squared_rise)) = moved.next() {
                movement.record(cluster, Moved { squared_distance, squared_rise });
            }
        }
        movement.sort();
        let movement = centers.changes.then_some(&movement);
        let step = Step::new(centers.iteration as usize, centroids, movement, None);
        let passed = self.shard.pass(&step)?;
        let moved_nnz = self.shard.moved_nnz();
        let all = 0..=n_clusters.saturating_sub(1) as u32;
        let delta = (moved_nnz <= SMALL_DELTA).then(|| Packed::of_delta(&self.shard.delta(all)));
        let seconds = [passed.seconds.prepare, passed.seconds.assign, passed.seconds.compare];
        Ok(Answer::Passed(Box::new(PassedDocuments {
            touched: pairs(&passed.touched),
            objective: passed.objective,
            moved_docs: passed.moved_docs,
            unsettled_docs: passed.unsettled_docs,
            counters: passed.counters,
            strategy: passed.strategy,
            filters_off: passed.filters_off,
            index: passed.index,
            seconds,
            strategy_bytes: passed.strategy_bytes,
            relabelled: Packed::of_labels(&self.shard.relabelled()),
            moved_nnz: moved_nnz as u64,
            delta,
        })))
    }
}

fn pairs(touched: &[Touched]) -> Vec<(u32, i64)> {
    touched.iter().map(|touched| (touched.cluster, touched.members)).collect()
}

fn failed(error: &Error) -> Answer {
    Answer::Failed { message: error.to_string() }
}

fn out_of_turn() -> Error {
    Error::malformed("message", "requests in their order", "one out of turn")
}
