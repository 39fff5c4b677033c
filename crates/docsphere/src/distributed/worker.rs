//! A worker: one shard of the rows, and the answers to the coordinator's requests.
//!
//! A worker has a thread of its own, which owns its data and lives as long as it; parallel work
//! runs on a pool of the given size. It knows the number of the last request: if an answer was lost
//! on its way, the request comes again, and is answered again without being done again. Every
//! worker has a random number, its *incarnation*: a worker that replaces a lost one has another, so
//! that a request for the lost one is recognised.
//!
//! **Memory.** The shard's rows, labels and strategy as in a run on one machine; all centroids; the
//! last answer.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::message::{Answer, Begin, Head, PROTOCOL, Request, decode, encode};
use super::own::{GivenTexts, Own, out_of_turn};
use super::packed::{Packed, damaged};
use super::serving::{Serving, ShardView};
use crate::error::{Error, ErrorKind, Result};
use crate::shards::{Common, LocalShard, RowFacts};
use crate::threads::on_threads;
use crate::vectors::{RowWeights, UnitRows};

/// One worker of a cluster.
///
/// It is given its rows, or told by the coordinator which documents to read; from then on,
/// everything goes through [`handle`](Self::handle).
#[derive(Debug)]
pub struct ShardWorker {
    mailbox: Sender<Mail>,
}

/// Something that is done with the documents of a worker; `None` if there was no run.
type Look = Box<dyn FnOnce(Option<ShardView<'_>>) + Send>;

/// What a worker does beside its own requests, with bytes that only the caller understands.
pub type Extension = Box<dyn Fn(ShardView<'_>, &[u8]) -> Result<Vec<u8>, String> + Send>;

/// What reaches the thread of a worker.
enum Mail {
    Load(Box<Own>, Sender<()>),
    Look(Look),
    Request { head: Vec<u8>, body: Vec<u8>, answer: Sender<Vec<u8>> },
}

impl ShardWorker {
    /// A worker without rows, on `n_threads` threads. Texts are kept in files in `scratch`.
    /// `extension` answers [`DistributedFit::extend`](super::DistributedFit::extend).
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
        self.load(Own { rows: Some(rows), weights, ..Own::default() });
        Ok(())
    }

    /// Gives the worker its documents as texts, with their ids if there are any. Otherwise their
    /// ids are their numbers among the documents of all workers, from 1.
    ///
    /// # Errors
    /// Ids that are not one per text.
    pub fn load_texts(&self, texts: Vec<String>, ids: Option<Vec<String>>) -> Result<()> {
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != texts.len()) {
            let expected = format!("{}, one for each text", texts.len());
            let (what, got) = ("the number of ids", ids.len().to_string());
            return Err(ErrorKind::Mismatch { what, expected, got }.into());
        }
        self.load(Own { given: Some(GivenTexts { texts, ids }), ..Own::default() });
        Ok(())
    }

    fn load(&self, own: Own) {
        let (done, loaded) = channel();
        if self.mailbox.send(Mail::Load(Box::new(own), done)).is_ok() {
            // An error means that the thread has ended, as the next request will tell.
            let _ = loaded.recv();
        }
    }

    /// Does something with the documents and their clusters, on the worker's threads. `None` if
    /// there has been no run.
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
    Load(Box<Own>, Sender<()>),
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
                    own = *loaded;
                    let _ = done.send(());
                    self.next()
                }
                Next::Look(look) => {
                    look(None);
                    self.next()
                }
                Next::Request(Request::Begin(begin)) => self.serve(&own, &begin),
                Next::Request(Request::Hello) => {
                    self.greet(&own);
                    self.next()
                }
                Next::Request(request) => {
                    let answer = own.answer(request, &self.scratch);
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
                        && *sequence >= head.sequence
                        && head.incarnation == self.incarnation
                    {
                        // The same again; or one that came late, and that nobody waits for.
                        let is_same = *sequence == head.sequence;
                        let _ = answer.send(if is_same { bytes.clone() } else { encode(&Answer::Lost) });
                        continue;
                    }
                    match head.own.map_or_else(|| decode(&body), Ok) {
                        Ok(request) if head.incarnation == 0 && !matches!(request, Request::Hello) => {
                            Some(Answer::Lost)
                        }
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

    /// Answers a greeting. It changes nothing, and may come late: it is not remembered.
    fn greet(&mut self, own: &Own) {
        let hello = Answer::Hello { incarnation: self.incarnation, shape: own.shape() };
        if let Some((_, asking)) = self.asking.take() {
            let _ = asking.send(encode(&hello));
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
        let shard = LocalShard::new(begin.first_doc as usize, rows.part(0..rows.n_rows()), weights);
        let facts = RowFacts::of(rows, &weights);
        let mut serving = Serving::new(Common::new(&settings), shard, own, rows, begin);
        self.reply(Ok(Answer::Begun(serving.begun(facts))));
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
                Next::Request(Request::Hello) => self.greet(own),
                Next::Request(request) if !matches!(request, Request::Begin(_)) => {
                    let answer = serving.answer(request);
                    self.reply(answer);
                }
                other => return Some(other),
            }
        }
    }
}

fn failed(error: &Error) -> Answer {
    Answer::Failed { message: error.to_string() }
}
